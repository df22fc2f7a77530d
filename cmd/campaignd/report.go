package main

import (
	"context"

	"github.com/campaignd/campaignd/events"
)

// writeReport writes report.html beside the store and returns its path.
func (a *app) writeReport(ctx context.Context, log events.Log, name, store string) (string, error) {
	return "", nil
}
