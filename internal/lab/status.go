package lab

import (
	"context"
	"sync"
	"time"

	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/view"
)

// cache keeps the status of a campaign up to an event: it takes a model, and
// pages ask for it often.
type cache struct {
	// busy is full while the status is computed: callers that come meanwhile wait for it, as
	// long as their contexts let them.
	busy     chan struct{}
	sequence events.Sequence
	status   *view.Status

	found found
}

// found keeps the best by a campaign's models, and the revision of their data.
type found struct {
	mu      sync.Mutex
	shown   view.Shown
	failed  error         // why it could not be worked out
	working chan struct{} // closed once it is worked out; nil where it is not being worked out
}

// keep keeps a computed summary, or the error of its computation.
func (f *found) keep(at engine.Revision, summary engine.Summary, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.shown.Keep(at, summary)
	f.failed = err
}

// fill adds the models' results to a standing, if they are known for the campaign as it is now.
// The evidence from experts' labels stays while the campaign is run here, since its loop
// updates it in a moment.
func (f *found) fill(s *Standing) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case !f.shown.Of(s.Revision):
		if s.Here {
			s.Helps = f.shown.Helps()
		}
	case f.failed != nil:
		s.Summary.NoModel = f.failed.Error()
	default:
		f.shown.Fill(&s.Summary)
	}
}

// keep keeps a summary computed for a page, unless the campaign has gone on meanwhile: its loop
// may have computed a newer one.
func (c *Campaign) keep(at engine.Revision, summary engine.Summary, err error) {
	if at == c.record.Stands().Revision {
		c.cache.found.keep(at, summary, err)
	}
}

// Shown returns the last predictions of the campaign's models, with their revision, for readers
// that need the same ones. It is empty if they could not be computed.
func (c *Campaign) Shown() view.Shown {
	f := &c.cache.found
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.failed != nil {
		return view.Shown{}
	}
	return f.shown
}

// Status returns how the campaign stands, with its model's diagnosis. The error
// is that of the context or of the log. One caller works it out and the others
// wait for that. The status is shared and must not be changed.
func (c *Campaign) Status(ctx context.Context) (*view.Status, error) {
	select {
	case c.cache.busy <- struct{}{}:
		defer func() { <-c.cache.busy }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if c.cache.status != nil && c.cache.sequence == c.Sequence() {
		return c.cache.status, nil
	}
	core, err := c.Load(ctx)
	if err != nil {
		return nil, err
	}
	status, err := view.StatusOf(ctx, core, c.Foregone())
	if err != nil {
		return nil, err
	}
	c.cache.status, c.cache.sequence = status, core.State().Sequence
	c.keep(core.Revision(), status.Summary, nil)
	return status, nil
}

// foregone is the best answer of an instrument whose answers are known
// beforehand, as its file had them a moment ago.
type foregone struct {
	mu   sync.Mutex
	of   *definition.Campaign
	read time.Time
	best *instruments.Foregone
}

// foregoneFor is the time that a file is taken as unchanged after it was read: it may be long,
// it is looked at on each page of its campaign, and it hardly ever changes.
const foregoneFor = time.Minute

// Foregone is [registry.Registry.Foregone] of the campaign, as it was at most a
// minute ago.
func (c *Campaign) Foregone() *instruments.Foregone {
	def := c.record.Definition()
	f := &c.foregone
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.of != def || time.Since(f.read) > foregoneFor {
		f.best = c.store.lab.Registry().Foregone(def, c.store.lab.Folder())
		f.of = def
		f.read = time.Now()
	}
	return f.best
}

// Find computes the best by the models of campaigns, which [Campaign.Standing] reports from
// then on. It waits until the context is done; longer computations go on, and the lab announces
// their end.
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

// find begins to compute the best by the campaign's models, unless that is known; the channel
// is closed once it is computed. The channel is nil if nothing has to be computed.
func (c *Campaign) find() <-chan struct{} {
	s := c.Standing()
	if s.Definition == nil ||
		s.Definition.Measures() && s.Summary.NoModel != engine.BeingWorkedOut {
		return nil
	}
	f := &c.cache.found
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.shown.Of(s.Revision) {
		return nil
	}
	if f.working != nil {
		return f.working
	}
	done := make(chan struct{})
	f.working = done
	l := c.store.lab
	l.wg.Go(func() {
		at, summary, err := c.workOut(l)
		if l.ctx.Err() == nil {
			c.keep(at, summary, err)
		}
		f.mu.Lock()
		f.working = nil
		f.mu.Unlock()
		close(done)
		l.announce()
	})
	return done
}

// workOut waits for a slot, so that a page of many campaigns leaves a processor
// for answers.
func (c *Campaign) workOut(l *Lab) (engine.Revision, engine.Summary, error) {
	select {
	case l.slots <- struct{}{}:
		defer func() { <-l.slots }()
	case <-l.ctx.Done():
		return engine.Revision{}, engine.Summary{}, context.Cause(l.ctx)
	}
	core, err := c.Load(l.ctx)
	if err != nil {
		return engine.Revision{}, engine.Summary{}, err
	}
	summary, err := core.Summarize(l.ctx)
	return core.Revision(), summary, err
}
