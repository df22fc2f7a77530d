package logtest

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"

	"github.com/campaignd/campaignd/events"
)

// together runs n functions at once and returns their errors. It waits for
// each, so that a check leaves no goroutine behind. Errors come back joined in
// the order of the functions and not in that in which they happened, so that a
// failure reads the same each time.
func together(n int, f func(i int) error) error {
	errs := make([]error, n)
	var group sync.WaitGroup
	for i := range n {
		group.Go(func() { errs[i] = f(i) })
	}
	group.Wait()
	return errors.Join(errs...)
}

// checkContention: each writer reads the sequence and appends with it, until it
// has won ten times. Every loss must be explained by a sequence past the one
// that it saw. This is how an optimistic writer works; a log that lets two of
// the same sequence in, or refuses one without cause, is caught by the counts.
// A log that compares the sequence outside the lock under which it writes loses
// here: two writers pass the comparison, and one's events lie behind the
// other's. The engine would have decided twice from the same state, and acted
// twice.
func checkContention(s *subject) error {
	const writers, wins = 8, 10
	ctx, cancel := s.context()
	defer cancel()
	err := together(writers, func(i int) error {
		for won := 0; won < wins; {
			seen, err := s.LastSequence(ctx, "a")
			if err != nil {
				return err
			}
			// Two events a batch: with one, a log that counts batches in place
			// of events would look right.
			stored, err := s.Append(ctx, "a", seen, plain(2)...)
			var conflict *events.ConflictError
			switch {
			case errors.As(err, &conflict):
				// A conflict without another's event is a refusal without
				// cause: a writer that obeys it reads again, finds nothing new,
				// and tries for ever.
				if conflict.Actual <= seen {
					return fmt.Errorf("expecting %d conflicts with %d", seen, conflict.Actual)
				}
			case err != nil:
				return err
			case len(stored) != 2 || stored[0].Sequence != seen+1:
				return fmt.Errorf("expecting %d, stored %d events from sequence %d",
					seen, len(stored), stored[0].Sequence)
			default:
				won++
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	all, err := s.readAll(0)
	if err != nil {
		return err
	}
	if len(all) != 2*writers*wins {
		return fmt.Errorf("%d events, want %d", len(all), 2*writers*wins)
	}
	return contiguous(all)
}

// checkAnySequence: more writers than campaigns, so that some share one.
// Nothing can be refused then, and nothing may be lost. Logs break this by
// treating AnySequence as a sequence that is compared, or by assigning a number
// from a count that another writer has used meanwhile, so that one event
// overwrites the other.
func checkAnySequence(s *subject) error {
	const writers, each = 16, 20
	ctx, cancel := s.context()
	defer cancel()
	err := together(writers, func(i int) error {
		campaign := fmt.Sprintf("c%d", i%3)
		for range each {
			if _, err := s.Append(ctx, campaign, events.AnySequence, plain(1)...); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	all, err := s.readAll(0)
	if err != nil {
		return err
	}
	if len(all) != writers*each {
		return fmt.Errorf("%d events, want %d", len(all), writers*each)
	}
	return contiguous(all)
}

// checkAtomic reads the whole log over and over while batches are appended, and once more after the
// last: half a batch would be seen at some moment. A decision and its consequences are one batch
// (docs/engine.md): a reader of half of it would act on half a decision. A log that writes a batch
// event by event, or announces it before its last event, is caught. Batches of several writers in
// one campaign show in addition whether they are mixed.
func checkAtomic(s *subject) error {
	// Five events, so that a batch can be cut at four places.
	const writers, batches, size = 4, 25, 5
	ctx, cancel := s.context()
	defer cancel()
	writing, done := context.WithCancel(ctx)
	// With room for one: the reader ends though the writers have failed before.
	reader := make(chan error, 1)
	go func() {
		for writing.Err() == nil {
			if err := wholeBatches(ctx, s.Log, size); err != nil {
				reader <- err
				return
			}
		}
		reader <- wholeBatches(ctx, s.Log, size)
	}()
	err := together(writers, func(i int) error {
		for b := range batches {
			batch := plain(size)
			for j := range batch {
				batch[j].ID = fmt.Sprintf("w%d-b%d-%d", i, b, j)
				batch[j].Cause = fmt.Sprintf("w%d-b%d", i, b)
			}
			if _, err := s.Append(ctx, "a", events.AnySequence, batch...); err != nil {
				return err
			}
		}
		return nil
	})
	// Only now the reader looks for the last time: a batch that was
	// acknowledged must be whole by then.
	done()
	return errors.Join(err, <-reader)
}

// wholeBatches reports a batch that is not there whole and in order. Each batch
// has size events with the same cause. The batch is taken from its first event,
// so that the order of writers does not matter.
func wholeBatches(ctx context.Context, log events.Log, size int) error {
	n, cause := 0, ""
	for e, err := range log.Read(ctx, 0) {
		if err != nil {
			return err
		}
		if n%size == 0 {
			cause = e.Cause
		}
		if want := fmt.Sprintf("%s-%d", cause, n%size); e.ID != want {
			return fmt.Errorf("position %d holds %s, want %s of the same batch",
				e.Position, e.ID, want)
		}
		n++
	}
	if n%size != 0 {
		return fmt.Errorf("the last batch has %d of its %d events", n%size, size)
	}
	return nil
}

// checkFollow has followers begin at the start, in the middle, at the end and
// beyond what there is, and others that come late: catching up and waiting meet
// in every way. Every follower is given each event once, in the order of
// positions.
func checkFollow(s *subject) error {
	// More followers and writers than processors, and more events before the start than a log is
	// likely to fetch first.
	const writers, each, before = 16, 25, 100
	const total = before + writers*each
	ctx, cancel := s.context()
	defer cancel()
	if _, err := s.Append(ctx, "c0", 0, plain(before)...); err != nil {
		return err
	}
	// The last start may lie beyond the end of the log when it is asked: its follower must then
	// wait and not take that for an error.
	starts := []events.Position{0, before / 2, before, before + 50}
	return together(writers+len(starts), func(i int) error {
		if i >= writers {
			return follow(ctx, s.Log, starts[i-writers], total)
		}
		for range each {
			if _, err := s.Append(ctx, fmt.Sprintf("c%d", i%3), events.AnySequence, plain(1)...); err != nil {
				return err
			}
		}
		// The last writers follow too: they start when nearly all is written.
		if i < 4 {
			return follow(ctx, s.Log, 0, total)
		}
		return nil
	})
}

// follow reports a gap or repeat among the events from start to total. It also
// looks at Last with each event: a page shows both, and an event that is newer
// than the log's own end would look made up.
func follow(ctx context.Context, log events.Log, start, total events.Position) error {
	next := start + 1
	for e, err := range log.Follow(ctx, start) {
		if err != nil {
			return err
		}
		if e.Position != next {
			return fmt.Errorf("following after %d: got position %d, want %d",
				start, e.Position, next)
		}
		if last := log.Last(); e.Position > last {
			return fmt.Errorf("following after %d: got position %d while Last is %d",
				start, e.Position, last)
		}
		if next++; e.Position == total {
			return nil
		}
	}
	return fmt.Errorf("following after %d: waited in vain for position %d", start, next)
}

// checkFollowEnds ends a context in the middle of catching up and while a follower waits, and
// closes the log under a waiting one. A follower that does not end is found by the patience of the
// suite. A done context is how a reader stops, and no error comes of it; a log that is closed under
// it is an error, since there may be more to come. Real logs leak here: a goroutine that waits on a
// condition does not see a context, and a wake-up that is sent between a look and a wait is lost.
func checkFollowEnds(s *subject) error {
	all, err := s.fill(5)
	if err != nil {
		return err
	}
	patience, stop := s.context()
	defer stop()

	// In the middle, and while waiting.
	for _, at := range []int{2, len(all)} {
		ctx, cancel := context.WithCancel(patience)
		n := 0
		for _, err := range s.Follow(ctx, 0) {
			if err != nil {
				cancel()
				return fmt.Errorf("the log's Follow of a context that is done after %d events "+
					"yielded the error %v", at, err)
			}
			if n++; n == at {
				// At the end the follower is about to wait, and is to be woken
				// by the context: it is ended from another goroutine a moment
				// later. In the middle the loop itself ends it.
				if at == len(all) {
					go cancel()
				} else {
					cancel()
				}
			}
		}
		cancel()
		if patience.Err() != nil {
			return fmt.Errorf("the log's Follow of a context that is done after %d events did "+
				"not end", at)
		}
	}

	// Closing the log while a reader waits.
	var last error
	n := 0
	for _, err := range s.Follow(patience, 0) {
		// It goes on after an error, so that a log that yields more than one is
		// found by what it ends with.
		if last = err; err != nil {
			continue
		}
		if n++; n == len(all) {
			go func() { _ = s.Close() }()
		}
	}
	if !errors.Is(last, events.ErrClosed) {
		return fmt.Errorf("the log's Follow of a log that was closed ended with %v, want ErrClosed",
			last)
	}
	return nil
}

// checkAbandoned has writers stop waiting at all sorts of moments: before their
// batch is looked at, while it is, and while it is on its way to the disk. Each
// round ends with a writer who waits. That one must be served: a log that
// leaves a lock or a place in its queue with a writer who has gone would stand
// still here. What became of an abandoned batch is not looked at: stored or
// not, both are right. That the positions have no gap is.
func checkAbandoned(s *subject) error {
	const rounds, writers = 300, 3
	patience, stop := s.context()
	defer stop()
	for round := range rounds {
		ctx, cancel := context.WithCancel(patience)
		err := together(writers+1, func(i int) error {
			if i == writers {
				// The pause differs from round to round, so that contexts end
				// at each stage of an append; a sleep would be far longer than
				// a stage.
				for range round % 10 {
					runtime.Gosched()
				}
				cancel()
				return nil
			}
			_, err := s.Append(ctx, "a", events.AnySequence, plain(1)...)
			if err != nil && !errors.Is(err, context.Canceled) {
				return fmt.Errorf("the log's Append that is abandoned: %w", err)
			}
			return nil
		})
		cancel()
		if err != nil {
			return err
		}
		if _, err := s.Append(patience, "a", events.AnySequence, plain(1)...); err != nil {
			return fmt.Errorf("the log's Append after others were abandoned: %w", err)
		}
	}
	all, err := s.readAll(0)
	if err != nil {
		return err
	}
	return contiguous(all)
}
