package engine

import "github.com/campaignd/campaignd/events"

// Writes reports whether an audit knows who writes events of a kind.
func Writes(kind events.Kind) bool { return writers[kind] != 0 }

// CountOf writes a number of things.
func CountOf(n int, thing string) string { return countOf(n, thing) }
