package engine

import "github.com/campaignd/campaignd/events"

import (
	"context"
	"math"
)

// Hold has a function called before each computation, beside the loop.
func (r *Runner) Hold(hold func(context.Context, Step)) { r.hold = hold }

// DecideAs has the runner decide as a version of the policies did. It is for a campaign
// to which nothing happens while it decides.
func (r *Runner) DecideAs(version int) {
	r.hold = func(ctx context.Context, _ Step) {
		if r.aside == nil && r.catchUp(ctx, math.MaxUint64, nil) != nil {
			return // the computation meets the same error
		}
		r.aside.decideAs(version)
	}
}

// Writes reports whether an audit knows who writes events of a kind.
func Writes(kind events.Kind) bool { return writers[kind] != 0 }
