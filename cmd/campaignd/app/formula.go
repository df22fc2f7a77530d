package app

import "github.com/campaignd/campaignd/internal/sheet"

// asText writes a cell of a table, fromText reads it.
var asText, fromText = sheet.AsText, sheet.FromText
