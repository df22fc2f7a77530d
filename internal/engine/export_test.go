package engine

import (
	"time"

	"context"

	"github.com/campaignd/campaignd/events"
)

// Hold has a function called before each computation, beside the loop.
func (r *Runner) Hold(hold func(context.Context, Step)) { r.hold = hold }

// Writes reports whether an audit knows who writes events of a kind.
func Writes(kind events.Kind) bool { return writers[kind] != 0 }

// CountOf writes a number of things.
func CountOf(n int, thing string) string { return countOf(n, thing) }

// LookAtLeases sets how often a lease is looked at, for a test that runs alone.
func LookAtLeases(every time.Duration) (restore func()) {
	before := leaseEvery
	leaseEvery = every
	return func() { leaseEvery = before }
}
