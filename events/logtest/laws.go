package logtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/ground/clock"
)

// checkOrder looks at an empty log, then at three campaigns whose names begin
// alike. One name is the beginning of another, and one has a slash and a letter
// beyond ASCII: a store that finds campaigns by a key's beginning would mix
// them up. A new log is looked at, too: one whose count begins at 0, or with an
// event of its own, is out of step with every position that is ever recorded.
func checkOrder(s *subject) error {
	if err := s.holds(nil); err != nil {
		return fmt.Errorf("a new log: %w", err)
	}
	all, err := s.fill(40)
	if err != nil {
		return err
	}
	return s.holds(all)
}

// checkReadAfter asks from every position and from beyond the end. A Read is of
// the log at its call, even where it is iterated later. Otherwise a reader that
// is slow could run for ever behind a writer. An index that is off by one is
// the usual fault, at the first and the last event of a chunk above all; so
// every position is asked for.
func checkReadAfter(s *subject) error {
	all, err := s.fill(12)
	if err != nil {
		return err
	}
	// 12 events: the last three positions lie at the end and beyond.
	for after := range 15 {
		got, err := s.readAll(events.Position(after))
		if err != nil {
			return err
		}
		if err := sameAll(got, all[min(after, len(all)):]); err != nil {
			return fmt.Errorf("after %d: %w", after, err)
		}
	}
	// A reader may stop early, and does not see what comes later.
	ctx, cancel := s.context()
	defer cancel()
	// Called before the append below, iterated after it.
	early := s.Read(ctx, 0)
	for _, err := range s.Read(ctx, 3) {
		if err != nil {
			return err
		}
		break
	}
	if _, err := s.Append(ctx, "a", events.AnySequence, plain(5)...); err != nil {
		return err
	}
	n := 0
	for _, err := range early {
		if err != nil {
			return err
		}
		n++
	}
	if n != len(all) {
		return fmt.Errorf("the log's Read was called on %d events and yielded %d", len(all), n)
	}
	return nil
}

// checkIdentity mixes events with and without IDs in one batch, and checks that the caller's batch
// stays unchanged. Causes and corrections name events by their IDs, so a caller's own must stay. An
// ID made by the log is the sequence in decimal, since the event itself has no other name that a
// replay would find again; a random one would differ in a copy.
func checkIdentity(s *subject) error {
	ctx, cancel := s.context()
	defer cancel()
	batch := plain(12)
	// 12 events, so that a sequence of two digits is among them: a log that
	// counts bytes or sorts text gives 12 another name.
	batch[3].ID = "mine"
	stored, err := s.Append(ctx, "a", 0, batch...)
	if err != nil {
		return err
	}
	if stored[3].ID != "mine" || stored[0].ID != "1" || stored[11].ID != "12" {
		return fmt.Errorf("IDs are %q, %q, %q; want mine, 1, 12",
			stored[3].ID, stored[0].ID, stored[11].ID)
	}
	if batch[0].ID != "" || batch[0].Position != 0 {
		return errors.New("the log's Append changed the caller's batch")
	}
	return s.holds(stored)
}

// checkTime appends a time in another zone, one with a monotonic reading, and none: readers get the
// precision that a disk can keep. A time that came back with more digits after a restart than
// before, or fewer, would change the folded state. All logs keep microseconds in UTC. The third has
// no time: a log that put its own clock in its place would record something that did not happen.
func checkTime(s *subject) error {
	ctx, cancel := s.context()
	defer cancel()
	batch := plain(3)
	// 789 ns are cut and not rounded.
	batch[0].Time = time.Date(2024, 5, 6, 7, 8, 9, 123456789, time.FixedZone("", 3600))
	batch[1].Time = clock.Now()
	batch[2].Time = time.Time{}
	stored, err := s.Append(ctx, "a", 0, batch...)
	if err != nil {
		return err
	}
	for i := range batch {
		if want := batch[i].Time.UTC().Truncate(time.Microsecond); stored[i].Time != want {
			return fmt.Errorf("time %v became %v, want %v", batch[i].Time, stored[i].Time, want)
		}
	}
	return s.holds(stored)
}

// checkMemory changes a batch after it was appended. The writer goes on with
// its batch, and the log with its own copy: neither may see the other's. A log
// in memory breaks this by keeping the caller's slice, and one on disk by
// handing the slice to a goroutine that writes it later.
func checkMemory(s *subject) error {
	ctx, cancel := s.context()
	defer cancel()
	batch := plain(2)
	stored, err := s.Append(ctx, "a", 0, batch...)
	if err != nil {
		return err
	}
	batch[0].Data[0], batch[1].Kind = 'X', "test.changed"
	got, err := s.readAll(0)
	if err != nil {
		return err
	}
	if len(got) != 2 || !bytes.Equal(got[0].Data, []byte(`{}`)) ||
		!bytes.Equal(stored[0].Data, []byte(`{}`)) ||
		got[1].Kind != "test.plain" {
		return errors.New("changing a batch after Append changed the log")
	}
	return nil
}

// checkEmptyBatch: with an empty batch a writer asks whether it has seen all, and waits for events
// on their way. It stores nothing and is checked against the expected sequence like any other. A
// log that stores an empty batch as a mark of its own, or answers it before those that came
// earlier, breaks that question.
func checkEmptyBatch(s *subject) error {
	ctx, cancel := s.context()
	defer cancel()
	all, err := s.fill(3)
	if err != nil {
		return err
	}
	for _, expected := range []events.Sequence{events.AnySequence, 0} {
		if stored, err := s.Append(ctx, "new", expected); err != nil || len(stored) != 0 {
			return fmt.Errorf("an empty batch: %d events, %v", len(stored), err)
		}
	}
	var conflict *events.ConflictError
	if _, err := s.Append(ctx, "new", 7); !errors.As(err, &conflict) {
		return fmt.Errorf("an empty batch that expects sequence 7 of a new campaign: %v, want "+
			"a ConflictError", err)
	}
	return s.holds(all)
}

// checkInvalid breaks each rule of an event once, in the last event of a batch.
// A refused batch leaves nothing behind, not even its good events, and the log
// takes the next one. The bounds are those of the vocabulary: what a log stores
// it must be able to show, in a terminal and as JSON. Once a bad event is
// acknowledged it can never be removed (law 1 of docs/architecture.md), and
// each reader from then on must bear it. So it is refused at the only place
// that all writers pass.
func checkInvalid(s *subject) error {
	all, err := s.fill(2)
	if err != nil {
		return err
	}
	long := strings.Repeat("x", events.MaxStringSize+1)
	for _, c := range []struct {
		name     string
		campaign string
		change   func(*events.Event)
	}{
		{"no campaign", "", func(*events.Event) {}},
		{"a long campaign", long, func(*events.Event) {}},
		{"a campaign that is not UTF-8", "a\xff", func(*events.Event) {}},
		{"another campaign", "a", func(e *events.Event) { e.Campaign = "b" }},
		{"no kind", "a", func(e *events.Event) { e.Kind = "" }},
		{"no version", "a", func(e *events.Event) { e.Version = 0 }},
		{"a negative version", "a", func(e *events.Event) { e.Version = -1 }},
		{"a long ID", "a", func(e *events.Event) { e.ID = long }},
		{"a long actor", "a", func(e *events.Event) { e.Actor = long }},
		{"a control character", "a", func(e *events.Event) { e.Actor = "person:\x1b[2J" }},
		{"an impossible time", "a",
			func(e *events.Event) { e.Time = time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC) }},
		{"a large payload", "a",
			func(e *events.Event) { e.Data = make([]byte, events.MaxDataSize+1) }},
	} {
		batch := plain(3)
		c.change(&batch[2]) // last, so that a log that stores as it goes is caught
		ctx, cancel := s.context()
		_, err := s.Append(ctx, c.campaign, events.AnySequence, batch...)
		cancel()
		if !errors.Is(err, events.ErrInvalidEvent) {
			return fmt.Errorf("%s: %v, want ErrInvalidEvent", c.name, err)
		}
		if err := s.holds(all); err != nil {
			return fmt.Errorf("after %s was refused: %w", c.name, err)
		}
	}
	return nil
}

// checkConflict expects sequences of the past and sequences that never were, of a campaign whose
// name begins with another's; the error must name all three values. Afterwards the campaign accepts
// a correct expectation: a conflict leaves no state behind. A name that begins another's is how an
// index over text goes wrong: the newest event of "ab" is taken for that of "a".
func checkConflict(s *subject) error {
	ctx, cancel := s.context()
	defer cancel()
	all, err := s.fill(20)
	if err != nil {
		return err
	}
	actual, err := s.LastSequence(ctx, "ab")
	if err != nil {
		return err
	}
	// One that will be is refused like one that was: a writer ahead of the log
	// has read another log. 1 << 40 finds a comparison in 32 bits.
	for _, expected := range []events.Sequence{0, actual - 1, actual + 1, 1 << 40} {
		_, err := s.Append(ctx, "ab", expected, plain(2)...)
		var conflict *events.ConflictError
		if !errors.As(err, &conflict) {
			return fmt.Errorf("expecting %d of a campaign at %d: %v, want a ConflictError",
				expected, actual, err)
		}
		if want := (events.ConflictError{Campaign: "ab", Expected: expected,
			Actual: actual}); *conflict != want {
			return fmt.Errorf("the conflict says %+v, want %+v", *conflict, want)
		}
	}
	if err := s.holds(all); err != nil {
		return fmt.Errorf("after conflicts: %w", err)
	}
	_, err = s.Append(ctx, "ab", actual, plain(1)...)
	return err
}

// checkCampaign reads each campaign from each sequence, and campaigns that do not exist, which
// yield nothing. It holds for a log without an index of its own too, where events.ReadCampaign
// reads everything. The faults are those of a second index: it names an event of another campaign,
// misses the newest ones, or goes on into events appended after the call.
func checkCampaign(s *subject) error {
	ctx, cancel := s.context()
	defer cancel()
	all, err := s.fill(40)
	if err != nil {
		return err
	}
	for _, campaign := range []string{"a", "ab", "a/ü", "never used", ""} {
		for after := range events.Sequence(20) {
			var got []events.Event
			for e, err := range events.ReadCampaign(ctx, s.Log, campaign, after) {
				if err != nil {
					return err
				}
				got = append(got, e)
			}
			want := slices.Clone(all)
			want = slices.DeleteFunc(want,
				func(e events.Event) bool { return e.Campaign != campaign || e.Sequence <= after })
			if err := sameAll(got, want); err != nil {
				return fmt.Errorf("campaign %q after %d: %w", campaign, after, err)
			}
		}
	}
	// Where it ends is settled by the call.
	early := events.ReadCampaign(ctx, s.Log, "a", 0)
	seen, err := s.LastSequence(ctx, "a")
	if err != nil {
		return err
	}
	if _, err := s.Append(ctx, "a", seen, plain(2)...); err != nil {
		return err
	}
	for e, err := range early {
		if err != nil {
			return err
		}
		if e.Sequence > seen {
			return fmt.Errorf("a ReadCampaign that was called at sequence %d yielded sequence %d",
				seen, e.Sequence)
		}
	}
	return nil
}

// checkOffsets sets an offset back as well: a consumer may want to read again. Names of consumers
// that begin alike are different ones, and none is an event. A log that treats an offset as a mark
// that only rises would keep a consumer from starting over, although a consumer that lost its own
// state recovers by that.
func checkOffsets(s *subject) error {
	store, ok := s.Log.(events.OffsetStore)
	if !ok {
		return nil // optional
	}
	all, err := s.fill(5)
	if err != nil {
		return err
	}
	for _, set := range []struct {
		consumer string
		position events.Position
	}{{"report", 3}, {"report2", 5}, {"report", 4}, {"report", 2}} {
		if err := store.SetOffset(set.consumer, set.position); err != nil {
			return err
		}
		if got, err := store.Offset(set.consumer); err != nil || got != set.position {
			return fmt.Errorf("offset of %q is %d, %v; want %d",
				set.consumer, got, err, set.position)
		}
	}
	for consumer, want := range map[string]events.Position{"report": 2, "report2": 5, "repor": 0,
		"": 0} {
		if got, err := store.Offset(consumer); err != nil || got != want {
			return fmt.Errorf("offset of %q is %d, %v; want %d", consumer, got, err, want)
		}
	}
	if err := s.holds(all); err != nil {
		return fmt.Errorf("offsets are not events: %w", err)
	}
	return nil
}

// checkCancelled: an Append that fails by its context may have stored its batch only if it reports
// that this is uncertain. An error comes once and ends its sequence, so that no reader loops on it.
// Where it is certain that nothing is stored, a caller may try again at once; after a wrong report,
// the retry stores the batch twice.
func checkCancelled(s *subject) error {
	all, err := s.fill(5)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := s.Append(ctx, "a", events.AnySequence, plain(1)...); !errors.Is(err, context.Canceled) {
		return fmt.Errorf("the log's Append: %v, want context.Canceled", err)
	} else if !errors.Is(err, events.ErrUncertain) {
		// Uncertain is allowed, even for a context that was done before the call:
		// the contract does not say how far a log looks ahead.
		if err := s.holds(all); err != nil {
			return fmt.Errorf("a cancelled Append that is not uncertain: %w", err)
		}
	}
	n := 0
	for _, err := range s.Read(ctx, 0) {
		if n++; !errors.Is(err, context.Canceled) {
			return fmt.Errorf("the log's Read: %v, want context.Canceled", err)
		}
	}
	if n != 1 {
		return fmt.Errorf("a cancelled Read yielded %d times, want its error once", n)
	}

	// In the middle of reading, the error comes sooner or later, and ends it.
	ctx, cancel = context.WithCancel(context.Background())
	defer cancel()
	var last error
	for _, err := range s.Read(ctx, 0) {
		if last != nil {
			return errors.New("the log's Read went on after an error")
		}
		cancel()
		// The context ends at the first event. A log that has fetched more may
		// still yield it, so that the error need not come next; after the error
		// nothing may.
		last = err
	}
	if last != nil && !errors.Is(last, context.Canceled) {
		return fmt.Errorf("the log's Read: %v, want context.Canceled", last)
	}
	return nil
}

// checkClosed calls everything on a closed log, a Read that was made before among it. Ending
// without an error would look like the end of the log. A follower that took it for the end would
// believe to have seen all. Closing twice is allowed, since several parts of a program may close a
// log that they share. Use after closing happens whenever a page or a consumer is slower than the
// process that ends. The log's own users would see a panic, or a wait for ever.
func checkClosed(s *subject) error {
	ctx, cancel := s.context()
	defer cancel()
	if _, err := s.fill(5); err != nil {
		return err
	}
	before := s.Read(ctx, 0)
	if err := s.Close(); err != nil {
		return fmt.Errorf("the log's Close: %w", err)
	}
	_, appendErr := s.Append(ctx, "a", events.AnySequence, plain(1)...)
	_, sequenceErr := s.LastSequence(ctx, "a")
	// A map, and below a list of names: a call without an answer is not in the map, and errors are
	// reported in one order.
	errs := map[string]error{"Append": appendErr, "LastSequence": sequenceErr}
	for _, err := range before {
		errs["a Read called before"] = err
	}
	for _, err := range s.Read(ctx, 0) {
		errs["Read"] = err
	}
	for _, err := range s.Read(ctx, 99) {
		errs["Read beyond the end"] = err
	}
	for _, err := range s.Follow(ctx, 0) {
		errs["Follow"] = err
	}
	for _, err := range events.ReadCampaign(ctx, s.Log, "a", 0) {
		errs["ReadCampaign"] = err
	}
	if store, ok := s.Log.(events.OffsetStore); ok {
		_, errs["Offset"] = store.Offset("c")
		errs["SetOffset"] = store.SetOffset("c", 1)
	}
	for _, name := range []string{"Append", "LastSequence", "a Read called before", "Read",
		"Read beyond the end", "Follow", "ReadCampaign", "Offset", "SetOffset"} {
		if err, ok := errs[name]; ok && !errors.Is(err, events.ErrClosed) {
			return fmt.Errorf("%s: %v, want ErrClosed", name, err)
		}
	}
	for _, name := range []string{"a Read called before", "Read", "Read beyond the end", "Follow",
		"ReadCampaign"} {
		if _, ok := errs[name]; !ok {
			return fmt.Errorf("%s ended without a word", name)
		}
	}
	if err := s.Close(); err != nil && !errors.Is(err, events.ErrClosed) {
		return fmt.Errorf("closing again: %w", err)
	}
	return nil
}

// checkReopened appends and reopens in turn, so that the second opening is of a log that was opened
// before. Acknowledged events are there after each, in their places, and the sequences go on. A log
// that keeps its counters in memory and guesses them at opening, from the last event that it
// happens to find, gives a number twice.
func checkReopened(s *subject) error {
	var all []events.Event
	for range 3 {
		ctx, cancel := s.context()
		stored, err := s.Append(ctx, "a", events.AnySequence, plain(7)...)
		cancel()
		if err != nil {
			return err
		}
		all = append(all, stored...)
		if s.Log = s.reopen(s.Log); s.Log == nil {
			return errors.New("the log does not open again")
		}
		if err := s.holds(all); err != nil {
			return fmt.Errorf("after reopening: %w", err)
		}
	}
	ctx, cancel := s.context()
	defer cancel()
	_, err := s.Append(ctx, "a", events.Sequence(len(all)), plain(1)...)
	return err
}
