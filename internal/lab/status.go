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
	// busy is full while the status is worked out: those who ask meanwhile wait
	// for it, as long as their contexts let them.
	busy     chan struct{}
	sequence events.Sequence
	status   *view.Status

	found found
}

// found keeps what the models of a campaign say is best, and what that follows
// from.
type found struct {
	mu      sync.Mutex
	shown   view.Shown
	failed  error         // why it could not be worked out
	working chan struct{} // closed once it is worked out; nil where it is not being worked out
}

// keep keeps what was worked out. It fails with why not.
func (f *found) keep(at engine.Revision, summary engine.Summary, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.shown.Keep(at, summary)
	f.failed = err
}

// fill puts what the models say into a standing, where it is known of the
// campaign as it is now. What experts' labels have shown stays while the
// campaign is run here, for its loop brings what follows in a moment.
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

// keep keeps what was worked out for a page, unless the campaign has gone
// on meanwhile: its loop may have worked out what follows.
func (c *Campaign) keep(at engine.Revision, summary engine.Summary, err error) {
	if at == c.record.Stands().Revision {
		c.cache.found.keep(at, summary, err)
	}
}

// Shown is what the models of the campaign were last found to say, for readers that need
// the same: it tells of which revision it is. It is empty where that could not be worked
// out.
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

// foregoneFor is how long a file that was read stands for itself: it may be
// long, it is looked at on each page of its campaign, and it hardly ever
// changes.
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

// Find works out what the models of campaigns say is best, as
// [Campaign.Standing] tells it from then on. It waits for that until the
// context is done; what takes longer goes on, and the lab announces it.
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

// find begins to work out what the campaign's models say is best, unless that
// is known; the channel is closed once it is worked out. The channel is nil
// where nothing is to be worked out.
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
