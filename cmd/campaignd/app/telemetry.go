package app

import (
	"context"

	"github.com/campaignd/campaignd/internal/ground/telemetry"
)

// telemetry begins the export of traces and metrics, where the environment asks for it, and ends no
// command: its faults are only reported. failing, if not nil, takes a line while the command runs.
// flush sends the last spans and is called however the command ends.
func (a *app) telemetry(ctx context.Context, failing func(format string, args ...any)) (flush func()) {
	failed := func(err error) {
		if failing != nil {
			failing("telemetry is not exported: %v", err)
		}
	}
	stop, err := telemetry.Setup(ctx, version(), failed)
	if err != nil {
		a.remark("Telemetry is off: %v", err)
	}
	return func() {
		// The context has ended where the person interrupted.
		if err := stop(context.WithoutCancel(ctx)); err != nil {
			a.remark("%v", err)
		}
	}
}
