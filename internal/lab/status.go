package lab

import (
	"context"
	"sync"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/diagnose"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/view"
)

// cache keeps the status of a campaign up to an event: it takes a model, and pages ask for
// it often.
type cache struct {
	mu       sync.Mutex // held while the status is worked out: those who ask meanwhile wait for it
	sequence events.Sequence
	status   *view.Status

	bestMu sync.Mutex
	bestAt events.Sequence
	best   *engine.Best
}

// Status returns how the campaign stands, with its model's diagnosis. The error is that of
// the context or of the log.
func (c *Campaign) Status(ctx context.Context) (*view.Status, error) {
	c.cache.mu.Lock()
	defer c.cache.mu.Unlock()
	if c.cache.status != nil && c.cache.sequence == c.Sequence() {
		return c.cache.status, nil
	}
	core, err := c.Load(ctx)
	if err != nil {
		return nil, err
	}
	v, err := core.View(ctx)
	if err != nil {
		return nil, err
	}
	diagnosis, err := diagnose.Run(ctx, v)
	if err != nil {
		return nil, err
	}
	status, err := view.StatusOf(ctx, core, diagnosis)
	if err != nil {
		return nil, err
	}
	c.cache.status, c.cache.sequence = status, core.State().Sequence
	c.cache.bestMu.Lock()
	c.cache.best, c.cache.bestAt = status.Best, core.State().Sequence
	c.cache.bestMu.Unlock()
	return status, nil
}

// bestKnown is the best composition by the model, where it has been worked out for that
// event.
func (c *Campaign) bestKnown(at events.Sequence) *engine.Best {
	c.cache.bestMu.Lock()
	defer c.cache.bestMu.Unlock()
	if c.cache.bestAt != at {
		return nil
	}
	return c.cache.best
}
