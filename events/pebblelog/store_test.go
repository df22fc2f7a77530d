package pebblelog

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// testEvent returns the i'th event of the deterministic workload, from 1. With
// its payload of 2 to 10 KB some hundred of them fill several tables.
func testEvent(i int) events.Event {
	return events.Event{
		ID: fmt.Sprintf("e%d", i), Kind: "test.crash", Version: 1, Actor: "engine",
		Data: bytes.Repeat([]byte{byte('a' + i%26)}, 2000+i*131%8000),
	}
}

// batchEnds reports whether a batch of the workload ends with event i: the
// batches hold 1, 2, 3, 4, 1, 2, … events.
func batchEnds(i int) bool {
	switch i % 10 {
	case 1, 3, 6, 0:
		return true
	}
	return false
}

// mustOpen opens a store that has to open.
func mustOpen(t testing.TB, fsys vfs.FS, o Options) *Log {
	t.Helper()
	o.FS = fsys
	return must.Get(Open("store", o))(t)
}

// work appends the workload's events from..to, a batch at a time, and calls
// acked with the number of the last event after each.
func work(t testing.TB, log *Log, from, to int, acked func(int)) error {
	var batch []events.Event
	for i := from; i <= to; i++ {
		if batch = append(batch, testEvent(i)); !batchEnds(i) {
			continue
		}
		if _, err := log.Append(t.Context(), "c", events.Sequence(i-len(batch)), batch...); err != nil {
			return err
		}
		batch = batch[:0]
		acked(i)
		if i%5 == 0 {
			if err := log.SetOffset("consumer", events.Position(i)); err != nil {
				return err
			}
		}
	}
	return nil
}

// sound reports anything wrong with a store that holds the workload's first
// events: at least acked of them, whole batches only.
func sound(t testing.TB, fsys vfs.FS, o Options, acked int) (n int, err error) {
	o.FS = fsys
	log, err := Open("store", o)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	n = int(log.Last())
	if n < acked {
		return n, fmt.Errorf("%d events were acknowledged and %d are there", acked, n)
	}
	if n > 0 && !batchEnds(n) {
		return n, fmt.Errorf("there are %d events: the last batch is not whole", n)
	}
	if err := holds(t, log, n); err != nil {
		return n, err
	}
	report, err := log.Verify(t.Context())
	if err != nil {
		return n, err
	}
	if !report.Sound() || report.Read != events.Position(n) {
		return n, fmt.Errorf("verified: %+v", report)
	}
	if offset, err := log.Offset("consumer"); err != nil || int(offset) > n {
		return n, fmt.Errorf("a consumer's offset is %d, %v, with %d events", offset, err, n)
	}
	// It goes on from there.
	if err := work(t, log, n+1, n+10, func(i int) { n = i }); err != nil {
		return n, err
	}
	return n, holds(t, log, n)
}

// holds reports whether the log holds exactly the workload's first n events.
func holds(t testing.TB, log events.Log, n int) error {
	i := 0
	for e, err := range log.Read(t.Context(), 0) {
		if err != nil {
			return err
		}
		i++
		want := testEvent(i)
		if e.Position != events.Position(i) || e.Sequence != events.Sequence(i) || e.ID != want.ID || !bytes.Equal(e.Data, want.Data) {
			return fmt.Errorf("position %d, the %dth that was read, holds %s", e.Position, i, e.ID)
		}
	}
	if i != n {
		return fmt.Errorf("read %d events, want %d", i, n)
	}
	return nil
}
