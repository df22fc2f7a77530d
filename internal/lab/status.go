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

	found found
}

// found keeps what the models of a campaign say is best, and what that follows from.
type found struct {
	mu      sync.Mutex
	seen    engine.Seen
	summary engine.Summary
	known   bool
	failed  error         // why it could not be worked out
	working chan struct{} // closed once it is worked out; nil where nobody works it out
}

// keep keeps what was worked out. It fails with why not.
func (f *found) keep(seen engine.Seen, summary engine.Summary, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.seen, f.summary, f.failed, f.known = seen, summary, err, true
}

// fill puts what the models say into a standing, where it is known of the campaign as it is now.
func (f *found) fill(now engine.Seen, s *Standing) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case !f.known || f.seen != now:
	case f.failed != nil:
		s.Summary.NoModel = f.failed.Error()
	default:
		s.Summary.BestByModel, s.Summary.NoModel = f.summary.BestByModel, f.summary.NoModel
		s.Summary.Preferred, s.Summary.Helps = f.summary.Preferred, f.summary.Helps
	}
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
	v, err := core.Read(ctx)
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
	registry, def := core.Registry(), core.State().Definition
	status.Backtest = view.Backtest(core, registry.Foregone(def, c.store.lab.Folder()))
	c.cache.status, c.cache.sequence = status, core.State().Sequence
	c.cache.found.keep(core.Seen(), status.Summary, nil)
	return status, nil
}

// Find works out what the models of campaigns say is best, as [Campaign.Standing] tells it from then on. It waits for
// that until the context is done; what takes longer goes on, and the lab announces it.
func (l *Lab) Find(ctx context.Context, campaigns []*Campaign) {
	var working []<-chan struct{}
	for _, c := range campaigns {
		if done := c.find(); done != nil {
			working = append(working, done)
		}
	}
	for _, done := range working {
		select {
		case <-done:
		case <-ctx.Done():
			return
		}
	}
}

// find begins to work out what the campaign's models say is best, unless that is known; the channel is closed once it
// is worked out.
func (c *Campaign) find() <-chan struct{} {
	s, now := c.standing()
	if s.Definition == nil || s.Definition.Measures() && s.Summary.NoModel != engine.BeingWorkedOut {
		return nil
	}
	f := &c.cache.found
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.known && f.seen == now {
		return nil
	}
	if f.working != nil {
		return f.working
	}
	done := make(chan struct{})
	f.working = done
	l := c.store.lab
	l.wg.Go(func() {
		seen, summary, err := c.workOut(l)
		if l.ctx.Err() == nil {
			f.keep(seen, summary, err)
		}
		f.mu.Lock()
		f.working = nil
		f.mu.Unlock()
		close(done)
		l.announce()
	})
	return done
}

func (c *Campaign) workOut(l *Lab) (engine.Seen, engine.Summary, error) {
	select {
	case l.slots <- struct{}{}:
		defer func() { <-l.slots }()
	case <-l.ctx.Done():
		return engine.Seen{}, engine.Summary{}, context.Cause(l.ctx)
	}
	core, err := c.Load(l.ctx)
	if err != nil {
		return engine.Seen{}, engine.Summary{}, err
	}
	summary, err := core.Summarize(l.ctx)
	return core.Seen(), summary, err
}
