package lab

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/bus"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/view"
	"github.com/campaignd/campaignd/projections/campaign"
)

// The events in a member's store are read, and folded into its campaigns: by the process that
// holds the store and by all others alike.

// openToRead opens the log that stays open while the store changes hands, if the lab has one
// and it is not open yet, or has stopped.
func (s *member) openToRead() error {
	if log := s.reading(); log != nil && log.Err() == nil {
		return nil
	}
	s.stopReading()
	log, err := s.lab.custodian.reading(s.path)
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.log = log
	s.mu.Unlock()
	return nil
}

// reading is the log of a store in a database, nil before it is open.
func (s *member) reading() events.Store {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.log
}

func (s *member) stopReading() {
	s.mu.Lock()
	log := s.log
	s.log = nil
	s.mu.Unlock()
	if log != nil {
		_ = log.Close() // it says again what failed
	}
}

// readers begins the readers of a store's log; end ends them, and waits for that. It has a
// context of its own and not the lab's: release ends it at its place in the order.
func (s *member) readers(log events.Log) (end func()) {
	reads, forwards := s.lab.options.Reads, s.lab.options.Forwards
	if !s.lab.custodian.forwards() {
		forwards = nil
	}
	b := bus.New(log, bus.Config{})
	ctx, cancel := context.WithCancel(context.Background())
	var reading sync.WaitGroup
	if forwards != nil {
		reading.Go(func() { forwards(ctx, s.base(), b) })
	}
	reading.Go(func() {
		defer s.caught()
		if reads != nil {
			reads(ctx, s.base(), b, s.caught)
		}
	})
	return func() {
		cancel()
		reading.Wait()
		_ = b.Close() // it has nothing left to close
	}
}

// follow folds the log for as long as it can be read. Campaigns that were
// started go on before ready is closed, and only where this process holds the
// store.
func (s *member) follow(ctx context.Context, at Store) error {
	last, err := s.catchUp(ctx, at)
	if err != nil {
		return err
	}
	s.has(last)
	if _, ours := at.(*Local); ours {
		for _, c := range s.list() {
			c.goOn()
		}
	}
	s.once.Do(func() { close(s.ready) }) // after that: what was started is not driven by hand
	s.lab.announce()
	for e, err := range at.Log().Follow(ctx, last) {
		if err != nil {
			return err
		}
		s.fold(e)
		if away, ok := at.(*watched); ok && gives(e) {
			var state campaign.State
			s.campaign(e.Campaign).Read(func(core *engine.Core) { state = *core.State() })
			away.witness(ctx, &state)
		}
		s.has(e.Position)
		s.lab.announce()
	}
	return context.Cause(ctx)
}

// catchUp folds the events in a store, so that ready means: everything up to now. It returns
// the position of an event that is folded with all before it. Campaigns are folded side by
// side, each from where its record was or a snapshot has it, in the order of its events.
func (s *member) catchUp(ctx context.Context, at Store) (last events.Position, err error) {
	last = at.Status().Last
	names, err := Campaigns(ctx, at)
	if err != nil {
		return 0, err
	}
	next := make(chan string)
	failed := make([]error, runtime.GOMAXPROCS(0))
	var folding sync.WaitGroup
	for i := range failed {
		folding.Go(func() {
			for name := range next {
				if failed[i] == nil {
					failed[i] = s.bring(ctx, at.Log(), name)
				}
			}
		})
	}
	for _, name := range names {
		next <- name
	}
	close(next)
	folding.Wait()
	began := make(map[string]int)
	for i, name := range names {
		began[name] = i
	}
	s.mu.Lock()
	slices.SortStableFunc(s.order, func(a, b string) int { return began[a] - began[b] })
	s.mu.Unlock()
	if err := errors.Join(failed...); err != nil {
		return 0, err
	}
	if ctx.Err() != nil {
		return 0, context.Cause(ctx)
	}
	return last, nil
}

// bring folds the events of a campaign up to the end of its log. A snapshot serves only where
// no event that it skips must still be given to Heard. A restored record that holds nothing is
// not entered: listed campaigns have definitions.
func (s *member) bring(ctx context.Context, log events.Log, name string) error {
	c := s.campaign(name)
	if snapshots := s.kept(); c == nil && snapshots != nil {
		restored := newCampaign(s, name)
		snapshots.Restore(ctx, restored.record)
		if restored.Sequence() > 0 {
			c = restored
			s.enter(c)
		}
	}
	var after events.Sequence
	if c != nil {
		after = c.Sequence()
	}
	for e, err := range events.ReadCampaign(ctx, log, name, after) {
		if err != nil {
			return err
		}
		s.fold(e)
	}
	return nil
}

// enter lists a campaign, which has a definition.
func (s *member) enter(c *Campaign) {
	s.mu.Lock()
	s.campaigns[c.name] = c
	s.order = append(s.order, c.name)
	s.mu.Unlock()
	s.lab.mu.Lock()
	s.lab.campaigns = nil
	s.lab.came++
	s.lab.mu.Unlock()
}

// kept are the snapshots in the store, nil where another process holds it.
func (s *member) kept() *view.Snapshots {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.snapshots
}

// closingWithin is the time that a store waits for snapshots before it is let go: without them
// the next one to open it takes longer.
const closingWithin = 2 * time.Second

// keep writes the snapshots of campaigns that have changed since theirs.
func (s *member) keep() {
	ctx, cancel := context.WithTimeout(context.Background(), closingWithin)
	defer cancel()
	snapshots := s.kept()
	for _, c := range s.list() {
		if snapshots == nil || ctx.Err() != nil || snapshots.Write(ctx, c.record) != nil {
			return // the missing events are folded from the log
		}
	}
}

// rest takes campaigns out of memory that were not read since the last call.
// Their snapshots make it cheap to bring them back.
func (s *member) rest() {
	snapshots := s.kept()
	for _, c := range s.list() {
		if s.lab.ctx.Err() != nil {
			return
		}
		if c.record.Rest() && snapshots != nil {
			_ = snapshots.Write(s.lab.ctx, c.record) // else it is folded from the log
		}
	}
}

// fold folds an event into its campaign. An event that was folded before is
// left alone. It may be called side by side for events of different campaigns.
// Events of one campaign must come in order and not side by side.
func (s *member) fold(e events.Event) {
	c := s.campaign(e.Campaign)
	if c != nil {
		c.record.Take(e)
		return
	}
	c = newCampaign(s, e.Campaign)
	c.record.Take(e)
	s.enter(c) // and not before: a campaign that is listed has a definition
}

// await waits until a campaign is folded up to a sequence. The channel is taken
// before looking, so that no change between the two is missed.
func (s *member) await(ctx context.Context, name string, at events.Sequence) (*Campaign, error) {
	for {
		changed := s.lab.Changed()
		if c := s.campaign(name); c != nil && c.Sequence() >= at {
			return c, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-s.lab.ctx.Done():
			return nil, events.ErrClosed
		}
	}
}
