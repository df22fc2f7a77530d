package transfer

import (
	"context"
	"fmt"

	"github.com/campaignd/campaignd/events"
)

// Copy copies a store, as [Move] does between two addresses.
func Copy(ctx context.Context, from, to events.Store) (Report, error) {
	var report Report
	err := sound(ctx, from)
	if err == nil {
		report, err = copySound(ctx, from, to)
	}
	if err != nil {
		return report, fmt.Errorf("transfer: %w", err)
	}
	return report, nil
}

// AtSteps has a function called between the steps of a copy, until the result is.
func AtSteps(f func(step string)) (stop func()) {
	steps = f
	return func() { steps = func(string) {} }
}
