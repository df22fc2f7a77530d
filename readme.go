// Package campaignd holds the README, so that the program can show it.
package campaignd

import _ "embed"

// Readme is the text of README.md.
//
//go:embed README.md
var Readme []byte
