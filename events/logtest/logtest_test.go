package logtest

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/memlog"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// broken is a sound log with one fault.
type broken struct {
	*memlog.Log
	append func(*memlog.Log, context.Context, string, events.Sequence, []events.Event) ([]events.Event, error)
	read   func(*memlog.Log, iter.Seq2[events.Event, error]) iter.Seq2[events.Event, error]
	follow func(*memlog.Log, context.Context, iter.Seq2[events.Event, error]) iter.Seq2[events.Event, error]
	last   func(*memlog.Log, string) events.Sequence
	end    func(*memlog.Log) events.Position
	offset func(*memlog.Log, string) (events.Position, error)
}

func (b *broken) Append(ctx context.Context, campaign string, expected events.Sequence, batch ...events.Event) ([]events.Event, error) {
	if b.append != nil {
		return b.append(b.Log, ctx, campaign, expected, batch)
	}
	return b.Log.Append(ctx, campaign, expected, batch...)
}

func (b *broken) Read(ctx context.Context, after events.Position) iter.Seq2[events.Event, error] {
	if b.read != nil {
		return b.read(b.Log, b.Log.Read(ctx, after))
	}
	return b.Log.Read(ctx, after)
}

func (b *broken) Follow(ctx context.Context, after events.Position) iter.Seq2[events.Event, error] {
	if b.follow != nil {
		return b.follow(b.Log, ctx, b.Log.Follow(ctx, after))
	}
	return b.Log.Follow(ctx, after)
}

func (b *broken) LastSequence(ctx context.Context, campaign string) (events.Sequence, error) {
	if b.last != nil {
		return b.last(b.Log, campaign), nil
	}
	return b.Log.LastSequence(ctx, campaign)
}

func (b *broken) Last() events.Position {
	if b.end != nil {
		return b.end(b.Log)
	}
	return b.Log.Last()
}

func (b *broken) Offset(consumer string) (events.Position, error) {
	if b.offset != nil {
		return b.offset(b.Log, consumer)
	}
	return b.Log.Offset(consumer)
}

// edit changes a sequence of events: it yields what change returns for each.
func edit(seq iter.Seq2[events.Event, error], change func(events.Event) []events.Event) iter.Seq2[events.Event, error] {
	return func(yield func(events.Event, error) bool) {
		for e, err := range seq {
			if err != nil {
				yield(e, err)
				return
			}
			for _, e := range change(e) {
				if !yield(e, nil) {
					return
				}
			}
		}
	}
}

// field returns a log that loses or changes one field of what it reads.
func field(change func(*events.Event)) *broken {
	return &broken{read: func(_ *memlog.Log, seq iter.Seq2[events.Event, error]) iter.Seq2[events.Event, error] {
		return edit(seq, func(e events.Event) []events.Event { change(&e); return []events.Event{e} })
	}}
}

// TestSuiteCatches runs the suite on logs that each break one law.
func TestSuiteCatches(t *testing.T) {
	type seq = iter.Seq2[events.Event, error]
	var left sync.Map // logs that a writer has left
	for _, c := range []struct {
		name   string
		log    *broken
		caught string // a law that must be found broken
	}{
		{"skips an event", &broken{read: func(_ *memlog.Log, s seq) seq {
			return edit(s, func(e events.Event) []events.Event {
				if e.Position == 5 {
					return nil
				}
				return []events.Event{e}
			})
		}}, "Order"},
		{"repeats an event", &broken{read: func(_ *memlog.Log, s seq) seq {
			return edit(s, func(e events.Event) []events.Event {
				return slices.Repeat([]events.Event{e}, 1+int(e.Position/12))
			})
		}}, "Order"},
		{"loses the last event", &broken{read: func(l *memlog.Log, s seq) seq {
			last := l.Last()
			return edit(s, func(e events.Event) []events.Event {
				if e.Position == last {
					return nil
				}
				return []events.Event{e}
			})
		}}, "ReadAfter"},
		{"skips an event while following", &broken{follow: func(_ *memlog.Log, _ context.Context, s seq) seq {
			return edit(s, func(e events.Event) []events.Event {
				if e.Position == 307 {
					return nil
				}
				return []events.Event{e}
			})
		}}, "Follow"},
		{"repeats an event where catching up ends", &broken{follow: func(l *memlog.Log, _ context.Context, s seq) seq {
			last := l.Last()
			return edit(s, func(e events.Event) []events.Event {
				if e.Position == last {
					return []events.Event{e, e}
				}
				return []events.Event{e}
			})
		}}, "Follow"},
		{"catches up and never goes live", &broken{follow: func(l *memlog.Log, ctx context.Context, _ seq) seq {
			return func(yield func(events.Event, error) bool) {
				for e, err := range l.Read(ctx, 0) {
					if !yield(e, err) {
						return
					}
				}
				<-ctx.Done()
			}
		}}, "Follow"},
		{"ends Follow with the context's error", &broken{follow: func(_ *memlog.Log, ctx context.Context, s seq) seq {
			return func(yield func(events.Event, error) bool) {
				for e, err := range s {
					if !yield(e, err) {
						return
					}
				}
				if ctx.Err() != nil {
					yield(events.Event{}, ctx.Err())
				}
			}
		}}, "FollowEnds"},
		{"swallows the end of the log", &broken{follow: func(_ *memlog.Log, _ context.Context, s seq) seq {
			return func(yield func(events.Event, error) bool) {
				for e, err := range s {
					if err != nil || !yield(e, err) {
						return
					}
				}
			}
		}}, "FollowEnds"},
		{"stores a batch event by event", &broken{append: func(l *memlog.Log, ctx context.Context, campaign string, expected events.Sequence, batch []events.Event) ([]events.Event, error) {
			var all []events.Event
			for i := range batch {
				stored, err := l.Append(ctx, campaign, expected, batch[i])
				if err != nil {
					return nil, err
				}
				all = append(all, stored...)
				if expected != events.AnySequence {
					expected++
				}
				runtime.Gosched()
			}
			return all, nil
		}}, "Atomic"},
		{"ignores the expected sequence", &broken{append: func(l *memlog.Log, ctx context.Context, campaign string, _ events.Sequence, batch []events.Event) ([]events.Event, error) {
			return l.Append(ctx, campaign, events.AnySequence, batch...)
		}}, "Conflict"},
		{"checks, and then appends", &broken{append: func(l *memlog.Log, ctx context.Context, campaign string, expected events.Sequence, batch []events.Event) ([]events.Event, error) {
			actual, err := l.LastSequence(ctx, campaign)
			if err != nil {
				return nil, err
			}
			if expected != actual && expected != events.AnySequence {
				return nil, &events.ConflictError{Campaign: campaign, Expected: expected, Actual: actual}
			}
			time.Sleep(10 * time.Microsecond) // others get in between
			return l.Append(ctx, campaign, events.AnySequence, batch...)
		}}, "Contention"},
		{"conflicts with everyone", &broken{append: func(l *memlog.Log, ctx context.Context, campaign string, expected events.Sequence, batch []events.Event) ([]events.Event, error) {
			if expected == events.AnySequence {
				expected, _ = l.LastSequence(ctx, campaign)
			}
			runtime.Gosched()
			return l.Append(ctx, campaign, expected, batch...)
		}}, "Atomic"},
		{"stores and then reports a conflict", &broken{append: func(l *memlog.Log, ctx context.Context, campaign string, expected events.Sequence, batch []events.Event) ([]events.Event, error) {
			actual, _ := l.LastSequence(ctx, campaign)
			stored, err := l.Append(ctx, campaign, events.AnySequence, batch...)
			if err == nil && expected != events.AnySequence && expected != actual {
				return nil, &events.ConflictError{Campaign: campaign, Expected: expected, Actual: actual}
			}
			return stored, err
		}}, "Conflict"},
		{"takes its own first attempt for another writer's", &broken{append: func(l *memlog.Log, ctx context.Context, campaign string, expected events.Sequence, batch []events.Event) ([]events.Event, error) {
			stored, err := l.Append(ctx, campaign, expected, batch...)
			if len(stored) > 0 && stored[0].Position%7 == 0 && expected != events.AnySequence { // no answer: it tries again
				return l.Append(ctx, campaign, expected, batch...)
			}
			return stored, err
		}}, "Refused"},
		{"is not sure of a conflict", &broken{append: func(l *memlog.Log, ctx context.Context, campaign string, expected events.Sequence, batch []events.Event) ([]events.Event, error) {
			stored, err := l.Append(ctx, campaign, expected, batch...)
			if err != nil {
				err = errors.Join(err, events.ErrUncertain)
			}
			return stored, err
		}}, "Refused"},
		{"forgets what it acknowledged", &broken{end: func(l *memlog.Log) events.Position { return l.Last() - min(l.Last(), 1) }}, "Last"},
		{"promises more than there is", &broken{end: func(l *memlog.Log) events.Position { return l.Last() + 1 }}, "Last"},
		{"keeps the sequence of another campaign", &broken{last: func(l *memlog.Log, campaign string) events.Sequence {
			n, _ := l.LastSequence(context.Background(), strings.TrimSuffix(campaign, "b"))
			return n
		}}, "Order"},
		{"lets an invalid event through", &broken{append: func(l *memlog.Log, ctx context.Context, campaign string, expected events.Sequence, batch []events.Event) ([]events.Event, error) {
			batch = slices.Clone(batch)
			for i := range batch {
				batch[i].Version = max(batch[i].Version, 1)
			}
			return l.Append(ctx, campaign, expected, batch...)
		}}, "Invalid"},
		{"writes into the caller's batch", &broken{append: func(l *memlog.Log, ctx context.Context, campaign string, expected events.Sequence, batch []events.Event) ([]events.Event, error) {
			stored, err := l.Append(ctx, campaign, expected, batch...)
			copy(batch, stored)
			return stored, err
		}}, "Identity"},
		{"keeps the caller's memory", &broken{append: func(l *memlog.Log, ctx context.Context, campaign string, expected events.Sequence, batch []events.Event) ([]events.Event, error) {
			stored, err := l.Append(ctx, campaign, expected, batch...)
			for i := range stored {
				stored[i].Data = batch[i].Data
			}
			return stored, err
		}}, "Memory"},
		{"waits for ever behind a writer who left", &broken{append: func(l *memlog.Log, ctx context.Context, campaign string, expected events.Sequence, batch []events.Event) ([]events.Event, error) {
			if _, stuck := left.Load(l); stuck {
				return nil, fmt.Errorf("nobody answers: %w", context.DeadlineExceeded)
			}
			stored, err := l.Append(ctx, campaign, expected, batch...)
			if ctx.Err() != nil {
				left.Store(l, true)
			}
			return stored, err
		}}, "Abandoned"},
		{"ignores the context", &broken{append: func(l *memlog.Log, _ context.Context, campaign string, expected events.Sequence, batch []events.Event) ([]events.Event, error) {
			return l.Append(context.Background(), campaign, expected, batch...)
		}}, "Cancelled"},
		{"refuses an empty batch", &broken{append: func(l *memlog.Log, ctx context.Context, campaign string, expected events.Sequence, batch []events.Event) ([]events.Event, error) {
			if len(batch) == 0 {
				return nil, errors.New("nothing to append")
			}
			return l.Append(ctx, campaign, expected, batch...)
		}}, "EmptyBatch"},
		{"mixes up consumers", &broken{offset: func(l *memlog.Log, consumer string) (events.Position, error) {
			return l.Offset(strings.TrimRight(consumer, "2"))
		}}, "Offsets"},
		{"answers after it is closed", &broken{last: func(*memlog.Log, string) events.Sequence { return 5 }}, "Closed"},
		{"counts positions from 0", field(func(e *events.Event) { e.Position-- }), "Order"},
		{"loses the actor", field(func(e *events.Event) { e.Actor = "" }), "Order"},
		{"loses the cause", field(func(e *events.Event) { e.Cause = "" }), "Order"},
		{"loses the trace", field(func(e *events.Event) { e.Trace = "" }), "Order"},
		{"loses the simulated mark", field(func(e *events.Event) { e.Simulated = false }), "Order"},
		{"loses the version", field(func(e *events.Event) { e.Version = 1 }), "Order"},
		{"rounds the time", field(func(e *events.Event) { e.Time = e.Time.Truncate(time.Millisecond) }), "Order"},
		{"tidies the payload", field(func(e *events.Event) { e.Data = []byte(strings.ReplaceAll(string(e.Data), "  ", " ")) }), "Order"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var found []string
			for _, l := range laws {
				if l.durable {
					continue
				}
				log := *c.log
				log.Log = memlog.New()
				if err := l.check(&subject{Log: &log, patience: time.Second}); err != nil {
					found = append(found, l.name)
				}
			}
			if !slices.Contains(found, c.caught) {
				t.Errorf("the law %s was not found broken; found %v", c.caught, found)
			}
		})
	}
}

// refill returns a log with events of another.
func refill(t testing.TB, all []events.Event) *memlog.Log {
	t.Helper()
	log := memlog.New()
	for _, e := range all {
		must.Get(log.Append(t.Context(), e.Campaign, events.AnySequence, e))(t)
	}
	return log
}

// contents returns the events of a log.
func contents(t testing.TB, log events.Log) []events.Event {
	t.Helper()
	return must.Get((&subject{Log: log, patience: time.Minute}).readAll(0))(t)
}

// TestSuiteCatchesForgetting runs the law of durability on logs that come back
// from reopening with something else than was acknowledged.
func TestSuiteCatchesForgetting(t *testing.T) {
	for _, c := range []struct {
		name string
		keep func(n int) int
		want bool
	}{
		{"keeps all", func(n int) int { return n }, true},
		{"forgets the newest", func(n int) int { return n - 1 }, false},
		{"forgets everything", func(int) int { return 0 }, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := &subject{Log: memlog.New(), patience: time.Minute}
			s.reopen = func(old events.Log) events.Log {
				all := contents(t, old)
				return refill(t, all[:c.keep(len(all))])
			}
			for _, l := range laws {
				if l.durable {
					if err := l.check(s); (err == nil) != c.want {
						t.Errorf("%s: %v", l.name, err)
					}
				}
			}
		})
	}
}

// keeping is a log that keeps the batches that it refused.
type keeping struct {
	*memlog.Log
	mu      sync.Mutex
	refused []events.Event
	later   bool // it stores them with the next batch
}

func (l *keeping) Append(ctx context.Context, campaign string, expected events.Sequence, batch ...events.Event) ([]events.Event, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	stored, err := l.Log.Append(ctx, campaign, expected, batch...)
	switch {
	case err != nil:
		for _, e := range batch {
			e.Campaign = campaign
			l.refused = append(l.refused, e)
		}
	case l.later:
		for _, e := range l.refused {
			if _, err := l.Log.Append(ctx, e.Campaign, events.AnySequence, e); err != nil {
				return nil, err
			}
		}
		l.refused = nil
	}
	return stored, err
}

// TestSuiteCatchesRevival: it is found where a refused batch is stored after all, with
// a later one or by opening the log again.
func TestSuiteCatchesRevival(t *testing.T) {
	s := &subject{Log: &keeping{Log: memlog.New(), later: true}, patience: time.Minute}
	if err := checkRefused(s); err == nil {
		t.Error("a refused batch that was stored later was not found")
	}
	s = &subject{Log: &keeping{Log: memlog.New()}, patience: time.Minute}
	s.reopen = func(old events.Log) events.Log {
		all := contents(t, old)
		return &keeping{Log: refill(t, append(all, old.(*keeping).refused...))}
	}
	if err := checkRefused(s); err == nil || !strings.Contains(err.Error(), "after reopening") {
		t.Errorf("a refused batch that reopening brings back was not found: %v", err)
	}
}

// late is a sound log that knows as little as the contract allows: a position only
// once a batch is acknowledged, which is a while after readers see it, and the end of
// the log only as far as it was written or read here.
type late struct {
	*memlog.Log
	known atomic.Uint64
	// blind has Read end where this log knows the end to be, though readers were
	// given more: a fault.
	blind bool
}

func (l *late) learn(p events.Position) {
	for known := l.known.Load(); known < uint64(p) && !l.known.CompareAndSwap(known, uint64(p)); {
		known = l.known.Load()
	}
}

func (l *late) Append(ctx context.Context, campaign string, expected events.Sequence, batch ...events.Event) ([]events.Event, error) {
	stored, err := l.Log.Append(ctx, campaign, expected, batch...)
	time.Sleep(200 * time.Microsecond) // an answer on its way
	if len(stored) > 0 {
		l.learn(stored[len(stored)-1].Position)
	}
	return stored, err
}

func (l *late) Read(ctx context.Context, after events.Position) iter.Seq2[events.Event, error] {
	if l.blind {
		last := events.Position(l.known.Load())
		return func(yield func(events.Event, error) bool) {
			for e, err := range l.Log.Read(ctx, after) {
				if e.Position > last || !yield(e, err) {
					return
				}
			}
		}
	}
	return l.learning(l.Log.Read(ctx, after))
}

func (l *late) Follow(ctx context.Context, after events.Position) iter.Seq2[events.Event, error] {
	if l.blind {
		return l.Log.Follow(ctx, after)
	}
	return l.learning(l.Log.Follow(ctx, after))
}

func (l *late) ReadCampaign(ctx context.Context, campaign string, after events.Sequence) iter.Seq2[events.Event, error] {
	return l.learning(l.Log.ReadCampaign(ctx, campaign, after))
}

func (l *late) learning(seq iter.Seq2[events.Event, error]) iter.Seq2[events.Event, error] {
	return edit(seq, func(e events.Event) []events.Event {
		l.learn(e.Position)
		return []events.Event{e}
	})
}

func (l *late) Last() events.Position { return events.Position(l.known.Load()) }

// TestSoundLog shows that the suite finds nothing wrong where nothing is: neither in a
// log that knows everything at once, nor in one that learns it as late as it may.
func TestSoundLog(t *testing.T) {
	t.Run("prompt", func(t *testing.T) {
		RunInMemory(t, func(testing.TB) events.Log { return &broken{Log: memlog.New()} })
	})
	t.Run("late", func(t *testing.T) {
		open := func(testing.TB) events.Log { return &late{Log: memlog.New()} }
		Run(t, open, func(t testing.TB, old events.Log) events.Log {
			return &late{Log: refill(t, contents(t, old))}
		})
	})
}

// TestSuiteCatchesBlindness: a log whose readers are given what others do not find yet
// is found out. On a busy machine the others may find it in time, so that it is tried several times.
func TestSuiteCatchesBlindness(t *testing.T) {
	for name, check := range map[string]func(*subject) error{"Seen": checkSeen, "Last": checkLast, "Follow": checkFollow} {
		found := false
		for try := 0; try < 20 && !found; try++ {
			found = check(&subject{Log: &late{Log: memlog.New(), blind: true}, patience: time.Second}) != nil
		}
		if !found {
			t.Errorf("the law %s was not found broken", name)
		}
	}
}

// runVariable has TestRunWithoutReopen run the suite as an author's test does.
const runVariable = "LOGTEST_RUN_WITHOUT_REOPEN"

// Law: a suite that was given no way to reopen a log does not pass as if durability had
// been tested.
func TestRunWithoutReopen(t *testing.T) {
	if os.Getenv(runVariable) != "" {
		Run(t, func(testing.TB) events.Log { return memlog.New() }, nil)
		return
	}
	cmd := exec.Command(os.Args[0], "-test.run", "^TestRunWithoutReopen$")
	cmd.Env = append(os.Environ(), runVariable+"=1")
	out, err := cmd.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "RunInMemory") {
		t.Errorf("it passes, or does not say what to do: %v\n%s", err, out)
	}
}
