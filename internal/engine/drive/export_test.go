package drive

import (
	"context"
	"time"

	"github.com/campaignd/campaignd/internal/engine"
)

// Hold has a function called before each computation, in the background.
func (r *Runner) Hold(hold func(context.Context, engine.Step)) { r.bench.hold = hold }

// LookAtLeases sets how often a lease is checked, for a test that runs alone.
func LookAtLeases(every time.Duration) (restore func()) {
	before := leaseEvery
	leaseEvery = every
	return func() { leaseEvery = before }
}
