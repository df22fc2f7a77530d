package app

import tables "github.com/campaignd/campaignd/internal/sheet"

// asText writes a cell of a table, fromText reads it.
var asText, fromText = tables.AsText, tables.FromText
