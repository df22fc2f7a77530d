package engine

import (
	"context"

	"github.com/campaignd/campaignd/events"
)

// Hold has a function called before each computation, beside the loop.
func (r *Runner) Hold(hold func(context.Context, Step)) { r.hold = hold }

// Writes reports whether an audit knows who writes events of a kind.
func Writes(kind events.Kind) bool { return writers[kind] != 0 }

// CountOf writes a number of things.
func CountOf(n int, thing string) string { return countOf(n, thing) }
