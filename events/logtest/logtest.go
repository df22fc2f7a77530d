// Package logtest is the conformance suite of [events.Log]: what every log must
// do, whatever keeps it. A log's own tests call [Run]:
//
//	func TestConformance(t *testing.T) {
//		logtest.RunInMemory(t, func(testing.TB) events.Log { return memlog.New() })
//	}
//
// What only a disk can do wrong (crashes, damage, a failing fsync) is tested
// with the log that uses one.
package logtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/campaignd/campaignd/events"
)

// Run checks every law of the contract as a subtest.
//
// open returns a new, empty log; the suite closes it. reopen closes a log and
// opens it again from what it stored. A log without reopen is refused and not
// passed in part: its author would believe that durability was tested.
func Run(
	t *testing.T, open func(testing.TB) events.Log, reopen func(testing.TB, events.Log) events.Log,
) {
	if reopen == nil {
		t.Fatal("logtest: without reopen the laws of durability are not tested: " +
			"give it, or call RunInMemory for a log that does not outlive its process")
	}
	run(t, laws, open, reopen)
}

// RunInMemory checks the laws of a log that does not outlive its process: all
// but those of durability.
func RunInMemory(t *testing.T, open func(testing.TB) events.Log) {
	volatile := slices.DeleteFunc(slices.Clone(laws), func(l law) bool { return l.durable })
	run(t, volatile, open, nil)
}

// run gives each law a log of its own, so that no law depends on another.
func run(
	t *testing.T, laws []law, open func(testing.TB) events.Log, reopen func(testing.TB, events.Log) events.Log,
) {
	for _, l := range laws {
		t.Run(l.name, func(t *testing.T) {
			// Far more than a check takes on a slow machine with the race detector or
			// on a bad line, and less than the patience of a test run.
			s := &subject{Log: open(t), patience: 2 * time.Minute}
			if reopen != nil {
				s.reopen = func(log events.Log) events.Log { return reopen(t, log) }
			}
			// Through s, since a check may have reopened the log. Some checks
			// close it themselves; that closing again is allowed is a law.
			defer func() { _ = s.Close() }()
			if err := l.check(s); err != nil {
				t.Errorf("broken law: %s\n%v", l.law, err)
			}
		})
	}
}

// law is one thing the contract promises, with the check that a log keeps it. A
// check returns an error rather than failing a test, so that the suite can be
// tested on logs that break the law.
type law struct {
	// name is that of the subtest; law is a sentence for the author of a log
	// that breaks it.
	name, law string
	durable   bool // needs subject.reopen
	check     func(*subject) error
}

// laws are those of every log. The text of a law reports the log that breaks it. Simple ones come
// first: where a log loses events, the failures of all others only repeat it.
var laws = []law{
	{"Order", "positions and sequences count up from 1 without a gap, and events come back as " +
		"they were written", false, checkOrder},
	{"ReadAfter", "Read yields exactly the events after a position that were there when it " +
		"was called", false, checkReadAfter},
	{"Identity", "an ID is kept, or is the decimal sequence where there was none",
		false, checkIdentity},
	{"Time", "a time is stored in UTC, to the microsecond", false, checkTime},
	{"Memory", "the log keeps its own copy of a payload", false, checkMemory},
	{"EmptyBatch", "an empty batch stores nothing, and still reports a conflict",
		false, checkEmptyBatch},
	{"Invalid", "a batch with an event that breaks the rules is refused whole",
		false, checkInvalid},
	{"Conflict", "a writer that has not seen the newest event is told so, and nothing is stored",
		false, checkConflict},
	{"Refused", "of a batch that met a conflict nothing is ever stored: not later, not by " +
		"reopening, not beside other writers", false, checkRefused},
	{"Contention", "of the writers that expect the same sequence exactly one succeeds",
		false, checkContention},
	{"AnySequence", "unconditional writers all succeed, in some order without a gap",
		false, checkAnySequence},
	{"Atomic", "a reader sees all of a batch or nothing of it, with no event of the campaign " +
		"in between", false, checkAtomic},
	{"Seen", "what one reader has been given, every reader finds from then on, where its " +
		"writer is told it is", false, checkSeen},
	{"Last", "Last is at least every position acknowledged or given to a reader, and is that " +
		"of an event; it never falls", false, checkLast},
	{"Follow", "Follow catches up and goes on, without gap or repeat, while 16 writers append",
		false, checkFollow},
	{"FollowEnds", "a done context ends Follow without an error, closing the log with ErrClosed",
		false, checkFollowEnds},
	{"Campaign", "ReadCampaign yields one campaign's events after a sequence",
		false, checkCampaign},
	{"Offsets", "a consumer reads the offset that it last set, and no other consumer's",
		false, checkOffsets},
	{"Cancelled", "a done context stops an operation with its error", false, checkCancelled},
	{"Abandoned", "writers who stop waiting, at whatever moment, leave the log to the others",
		false, checkAbandoned},
	{"Closed", "a closed log answers ErrClosed", false, checkClosed},
	{"Reopened", "what was acknowledged is there after reopening, and the log goes on from it",
		true, checkReopened},
}

// subject is the log under test. A check that reopens puts the new log in place
// of the old.
type subject struct {
	events.Log
	// reopen is nil for a log that does not outlive its process; it returns nil
	// where opening failed, which it has reported itself.
	reopen func(events.Log) events.Log
	// patience is how long to wait for something that must happen before
	// concluding that it never will.
	patience time.Duration
}

// context returns a context that ends when patience does. Each check has one,
// so that a log that hangs fails its law by name, and not the whole run by its
// time limit.
func (s *subject) context() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), s.patience)
}

// sample returns an event whose every field is particular to i. Its payload has two spaces, an
// escape and a letter of two bytes, which a log that parses it and writes it anew would change.
// Times differ by microseconds and lie on a leap day, versions and kinds repeat, every other event
// is simulated: a log that mixes up two fields of two events is found out.
func sample(i int) events.Event {
	return events.Event{
		ID:        fmt.Sprintf("id-%d", i),
		Kind:      events.Kind(fmt.Sprintf("test.kind%d", i%3)),
		Version:   1 + i%4,
		Time:      time.Date(2024, 2, 29, 23, 59, 59, 123456000+i*1000, time.UTC),
		Actor:     fmt.Sprintf("person:ada%d", i),
		Cause:     fmt.Sprintf("cause-%d", i),
		Simulated: i%2 == 0,
		Trace:     fmt.Sprintf("00-%032x-%016x-01", i+1, i+1),
		Data:      fmt.Appendf(nil, `{"i": %d,  "text":"é\u0000"}`, i),
	}
}

// plain returns n small events without IDs. Where a check is about numbers and order, larger events
// only cost time.
func plain(n int) []events.Event {
	batch := make([]events.Event, n)
	for i := range batch {
		batch[i] = events.Event{Kind: "test.plain", Version: 1, Data: []byte(`{}`)}
	}
	return batch
}

// same reports how two events differ. Times are compared by ==, and not by
// Equal: a location or a monotonic reading that comes back from one log and not
// from another would make the same log fold into different states. Payloads are
// compared as bytes, where nil and empty are the same.
func same(got, want events.Event) error {
	gotData, wantData := got.Data, want.Data
	got.Data, want.Data = nil, nil
	if fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", want) || got.Time != want.Time ||
		!bytes.Equal(gotData, wantData) {
		got.Data, want.Data = gotData, wantData
		return fmt.Errorf("got  %+v\nwant %+v", got, want)
	}
	return nil
}

// sameAll reports how two sequences of events differ. The first difference is
// reported, and lengths last: where an event is missing, the first one that is
// out of place shows where.
func sameAll(got, want []events.Event) error {
	for i := range min(len(got), len(want)) {
		if err := same(got[i], want[i]); err != nil {
			return fmt.Errorf("event %d of %d:\n%w", i+1, len(want), err)
		}
	}
	if len(got) != len(want) {
		return fmt.Errorf("got %d events, want %d", len(got), len(want))
	}
	return nil
}

// readAll returns the events after a position. What was read before an error is
// returned with it.
func (s *subject) readAll(after events.Position) ([]events.Event, error) {
	ctx, cancel := s.context()
	defer cancel()
	var all []events.Event
	for e, err := range s.Read(ctx, after) {
		if err != nil {
			return all, fmt.Errorf("read after %d: %w", after, err)
		}
		all = append(all, e)
	}
	return all, nil
}

// contiguous reports positions that do not count up from 1 and sequences that do not count up
// within their campaign. Only without gaps is a position a count: a consumer knows by its own
// position alone whether it has missed something.
func contiguous(all []events.Event) error {
	last := map[string]events.Sequence{}
	for i, e := range all {
		if e.Position != events.Position(i)+1 {
			return fmt.Errorf("event %d is at position %d", i+1, e.Position)
		}
		if e.Sequence != last[e.Campaign]+1 {
			return fmt.Errorf("position %d: campaign %q goes from sequence %d to %d",
				e.Position, e.Campaign, last[e.Campaign], e.Sequence)
		}
		last[e.Campaign] = e.Sequence
	}
	return nil
}

// holds reports whether the log holds exactly want, by every way of asking.
// Ways that disagree are a fault even where each is right by itself: readers
// choose among them by speed.
func (s *subject) holds(want []events.Event) error {
	got, err := s.readAll(0)
	if err != nil {
		return err
	}
	if err := errors.Join(sameAll(got, want), contiguous(got)); err != nil {
		return err
	}
	// Having been read to its end, the log knows it.
	if last := s.Last(); last != events.Position(len(want)) {
		return fmt.Errorf("the log's Last is %d, want %d", last, len(want))
	}
	// A campaign without events has the sequence 0, which its first writer expects.
	count := map[string]events.Sequence{"never used": 0}
	for _, e := range want {
		count[e.Campaign]++
	}
	ctx, cancel := s.context()
	defer cancel()
	for campaign, n := range count {
		if got, err := s.LastSequence(ctx, campaign); err != nil || got != n {
			return fmt.Errorf("the log's LastSequence(%q) is %d, %v; want %d",
				campaign, got, err, n)
		}
	}
	return nil
}

// fill appends n samples to three campaigns in batches of one to four and returns them as stored.
// The names are chosen to be confused: one begins another, and one holds a slash and a letter of
// two bytes. The result of Append is compared with the batch, place by place: the engine folds the
// result, and does not read it back.
func (s *subject) fill(n int) ([]events.Event, error) {
	ctx, cancel := s.context()
	defer cancel()
	var all []events.Event
	for i := 0; len(all) < n; i++ {
		campaign := []string{"a", "ab", "a/ü"}[i%3]
		var batch []events.Event
		for len(batch) < min(1+i%4, n-len(all)) {
			batch = append(batch, sample(len(all)+len(batch)))
		}
		seen, err := s.LastSequence(ctx, campaign)
		if err != nil {
			return all, err
		}
		stored, err := s.Append(ctx, campaign, seen, batch...)
		if err != nil {
			return all, fmt.Errorf("append to %q after %d: %w", campaign, seen, err)
		}
		want := slices.Clone(batch)
		for j := range want {
			want[j].Campaign = campaign
			want[j].Position = events.Position(len(all) + j + 1)
			want[j].Sequence = seen + events.Sequence(j) + 1
		}
		if err := sameAll(stored, want); err != nil {
			return all, fmt.Errorf("what Append returned: %w", err)
		}
		all = append(all, stored...)
	}
	return all, nil
}
