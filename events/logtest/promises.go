package logtest

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/campaignd/campaignd/events"
)

// fates records the fate of several writers' events, by their IDs. A batch whose Append was
// uncertain is in neither map: both fates are allowed. mu is held for a look at the maps alone,
// never during a call of the log: the suite must not make the writers wait for each other where the
// log would not.
type fates struct {
	mu      sync.Mutex
	stored  map[string]events.Position // acknowledged, and where
	refused map[string]error           // never to be seen, and what its Append returned
}

// newFates knows of no event yet.
func newFates() *fates {
	return &fates{stored: make(map[string]events.Position), refused: make(map[string]error)}
}

// took notes what Append returned for a batch. A batch that failed for another reason than
// uncertainty was refused for good: so the contract reads, and its caller may append it again.
func (f *fates) took(batch, stored []events.Event, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, e := range stored {
		f.stored[e.ID] = e.Position
	}
	if err == nil || errors.Is(err, events.ErrUncertain) {
		return
	}
	for _, e := range batch {
		f.refused[e.ID] = err
	}
}

// met reports an event that was refused, or differs in position from the one that Append returned.
// It may be called before the event's own writer has noted anything, so an unknown event passes;
// agree is called when all have ended.
func (f *fates) met(e events.Event) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err, ok := f.refused[e.ID]; ok {
		return fmt.Errorf("position %d holds %s, whose writer was told: %w", e.Position, e.ID, err)
	}
	if p, ok := f.stored[e.ID]; ok && p != e.Position {
		return fmt.Errorf("position %d holds %s, whose writer was told that it is at %d",
			e.Position, e.ID, p)
	}
	return nil
}

// agree reports a log that lacks or repeats an acknowledged event, or holds a refused one. It is
// the promise of law 2 of docs/architecture.md, that acknowledged means durable, for writers that
// race. A retry inside the log stores events twice; a write behind the acknowledgement loses them.
func (f *fates) agree(s *subject) error {
	all, err := s.readAll(0)
	if err != nil {
		return err
	}
	there := make(map[string]bool)
	for _, e := range all {
		if err := f.met(e); err != nil {
			return err
		}
		if there[e.ID] {
			return fmt.Errorf("%s is there twice", e.ID)
		}
		there[e.ID] = true
	}
	for id, p := range f.stored {
		if !there[id] {
			return fmt.Errorf("%s was acknowledged at position %d and is not there", id, p)
		}
	}
	return contiguous(all)
}

// named returns n small events with IDs that begin alike. An ID of the suite's
// own tells each event from all others, also where the log numbers it wrongly.
func named(n int, format string, args ...any) []events.Event {
	batch := plain(n)
	for i := range batch {
		batch[i].ID = fmt.Sprintf(format+"-%d", append(args, i)...)
	}
	return batch
}

// endID is the ID of the event after which watchers stop. It is in a campaign
// of its own, so that no writer's expected sequence meets it.
const endID = "the end"

// watch follows the log until the event endID and calls f with each event
// before it. Without such an event a watcher could not know that it has seen
// all.
func (s *subject) watch(ctx context.Context, f func(events.Event) error) error {
	for e, err := range s.Follow(ctx, 0) {
		if err != nil || e.ID == endID {
			return err
		}
		if err := f(e); err != nil {
			return err
		}
	}
	return errors.New("following waited in vain for the last event")
}

// watched runs n writers at once with those who watch, and then writes the
// event that these wait for. It waits for all of them, also after an error: a
// goroutine that is left would use a log that the suite closes. The end is
// written also where a writer has failed: without it the watchers would wait
// until the patience is over, and hide the first error behind their own.
func (s *subject) watched(
	ctx context.Context, n int, write func(i int) error, watchers ...func(events.Event) error,
) error {
	ended := make(chan error, 1)
	go func() {
		ended <- together(len(watchers), func(i int) error { return s.watch(ctx, watchers[i]) })
	}()
	err := together(n, write)
	end := plain(1)
	end[0].ID = endID
	_, endErr := s.Append(ctx, "end", events.AnySequence, end...)
	return errors.Join(err, endErr, <-ended)
}

// checkRefused has writers meet conflicts by racing and on purpose, and looks for their batches
// among the followed events, the read ones and, after reopening, the stored ones. Reopening is
// tried twice, with an event in between. A conflict is a promise, too: the engine makes its
// decision anew after one, and would act twice if the first were recorded after all.
func checkRefused(s *subject) error {
	// A third of the tries races, a third is behind and a third ahead of the
	// log.
	const writers, tries = 8, 24
	ctx, cancel := s.context()
	defer cancel()
	told := newFates()
	write := func(i int) error {
		for n := range tries {
			seen, err := s.LastSequence(ctx, "a")
			if err != nil {
				return err
			}
			// Besides the conflicts of a race, some with a sequence of the past, and some with one
			// of the future. A slow writer is behind by one; a writer that believes an uncertain
			// batch to be stored is ahead by two.
			switch {
			case n%3 == 1 && seen > 0:
				seen--
			case n%3 == 2:
				seen += 2
			}
			batch := named(2, "w%d-%d", i, n)
			stored, err := s.Append(ctx, "a", seen, batch...)
			told.took(batch, stored, err)
			var conflict *events.ConflictError
			if err != nil && (!errors.As(err, &conflict) || errors.Is(err, events.ErrUncertain)) {
				return fmt.Errorf("expecting %d: %w; want a ConflictError, which is certain",
					seen, err)
			}
		}
		return nil
	}
	var watched []events.Event
	err := s.watched(ctx, writers, write, func(e events.Event) error {
		watched = append(watched, e)
		return told.met(e)
	})
	if err != nil {
		return err
	}
	for _, e := range watched { // some were refused only after they were seen
		if err := told.met(e); err != nil {
			return err
		}
	}
	// The oracle needs conflicts to look for. Each writer asks ahead of the log
	// in a third of its tries, so that there are some on any machine.
	if len(told.refused) == 0 {
		return errors.New("no conflict in all those tries")
	}
	// Not later either. A refused batch that is left in a buffer or in the
	// write-ahead log comes back at the next write or at the next opening:
	// hence a write, and an opening, each twice.
	for round := range 2 {
		if err := told.agree(s); err != nil {
			return fmt.Errorf("round %d: %w", round, err)
		}
		if s.reopen != nil {
			if s.Log = s.reopen(s.Log); s.Log == nil {
				return errors.New("the log does not open again")
			}
			if err := told.agree(s); err != nil {
				return fmt.Errorf("round %d, after reopening: %w", round, err)
			}
		}
		batch := named(1, "later-%d", round)
		stored, err := s.Append(ctx, "a", events.AnySequence, batch...)
		if err != nil {
			return err
		}
		told.took(batch, stored, err)
	}
	return told.agree(s)
}

// checkSeen asks, with each event that a follower is given, everything else
// that could know of it: no reader may be behind another. Otherwise a page that
// hears of an event could ask for it and not find it. The reads run while
// writers write, where a log that announces before it has stored is caught. The
// usual fault is an index, or a count, that is brought up to date after the
// followers are woken. It is a race of microseconds, which a busy machine makes longer.
func checkSeen(s *subject) error {
	const writers, batches = 4, 25
	ctx, cancel := s.context()
	defer cancel()
	told := newFates()
	write := func(i int) error {
		for n := range batches {
			batch := named(2, "w%d-%d", i, n)
			stored, err := s.Append(ctx, fmt.Sprintf("c%d", i%2), events.AnySequence, batch...)
			if err != nil {
				return err
			}
			told.took(batch, stored, nil)
		}
		return nil
	}
	// What was seen is found by others at once.
	see := func(e events.Event) error {
		if last := s.Last(); last < e.Position {
			return fmt.Errorf("position %d was seen while Last is %d", e.Position, last)
		}
		if last, err := s.LastSequence(ctx, e.Campaign); err != nil || last < e.Sequence {
			return fmt.Errorf("sequence %d of %q was seen while LastSequence is %d, %v",
				e.Sequence, e.Campaign, last, err)
		}
		for again, err := range s.Read(ctx, e.Position-1) {
			if err != nil {
				return err
			}
			if err := same(again, e); err != nil {
				return fmt.Errorf("what was seen is read again as\n%w", err)
			}
			return nil
		}
		return fmt.Errorf("position %d was seen, and a Read that was called afterwards ends "+
			"before it", e.Position)
	}
	var seen []events.Event
	err := s.watched(ctx, writers, write, see, func(e events.Event) error {
		seen = append(seen, e)
		return nil
	})
	if err != nil {
		return err
	}
	for _, e := range seen {
		if told.stored[e.ID] != e.Position {
			return fmt.Errorf("%s was seen at position %d, and its writer was told %d",
				e.ID, e.Position, told.stored[e.ID])
		}
	}
	if len(seen) != len(told.stored) {
		return fmt.Errorf("%d events were acknowledged and %d seen", len(told.stored), len(seen))
	}
	return told.agree(s)
}

// checkLast compares Last with acknowledged events and with those that followers get. Last never
// falls, and the event at it exists. Last is read without the log's lock in many a log, and rises
// in two places, that of the writer and that of the reader: one of them sets it back. A caller that
// asks Last where to stop would then stop too early.
func checkLast(s *subject) error {
	const writers, batches = 4, 25
	ctx, cancel := s.context()
	defer cancel()
	write := func(i int) error {
		before := events.Position(0)
		for range batches {
			stored, err := s.Append(ctx, fmt.Sprintf("c%d", i), events.AnySequence, plain(2)...)
			if err != nil {
				return err
			}
			last := s.Last()
			if acked := stored[1].Position; last < acked {
				return fmt.Errorf("position %d was acknowledged while Last is %d", acked, last)
			}
			if last < before {
				return fmt.Errorf("the log's Last fell from %d to %d", before, last)
			}
			before = last
			// A count that is raised before the event is stored is caught by
			// reading at it.
			there := false
			for _, err := range s.Read(ctx, last-1) {
				if err != nil {
					return err
				}
				there = true
				break
			}
			if !there {
				return fmt.Errorf("the log's Last is %d, and that event does not exist", last)
			}
		}
		return nil
	}
	return s.watched(ctx, writers, write, func(e events.Event) error {
		if last := s.Last(); last < e.Position {
			return fmt.Errorf("position %d was seen while Last is %d", e.Position, last)
		}
		return nil
	})
}
