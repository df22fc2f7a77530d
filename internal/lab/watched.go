package lab

import (
	"context"
	"errors"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/store"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/engine/control"
)

// watched is a store of a lab in a database that this process reads, and that
// another one may hold.
type watched struct {
	Copy    // of the member's log
	cluster *cluster
	options LocalOptions
}

// drives implements [holdable].
func (w *watched) drives(c *Campaign) bool { return c.store.custody.started(c.name) }

// hold implements [holdable]: it takes the store for a moment. Another process may have it for one, too.
func (w *watched) hold(ctx context.Context, do func(*Local) error) error {
	var local *Local
	err := Patiently(ctx, func() (err error) {
		local, err = OpenLocal(ctx, w.address, w.options)
		return err
	})
	if err != nil {
		return err
	}
	return errors.Join(do(local), local.Close())
}

// Submit implements [Store]: the process that holds the store records it, or this
// one where none does.
func (w *watched) Submit(ctx context.Context, campaign string, r engine.Request) ([]events.Event, error) {
	at, err := Take(ctx, w.address, w.options)
	if err != nil {
		return nil, err
	}
	stored, err := at.Submit(ctx, campaign, r)
	_ = at.Close() // what was recorded is recorded
	return stored, err
}

// Status implements [Store]: that of the process that holds it.
func (w *watched) Status() control.Status {
	status := w.cluster.status(store.Name(w.address))
	status.Last = w.log.Last()
	return status
}

// Close implements [Store]. The log stays open.
func (w *watched) Close() error { return nil }
