package decisions

import "github.com/campaignd/campaignd/events"

// Writes reports whether an audit knows who writes events of a kind.
func Writes(kind events.Kind) bool { return writers[kind] != 0 }
