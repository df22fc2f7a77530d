package pebblelog

import (
	"errors"
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// forged returns a log that somebody with all the means of this package made of
// others' events: records, tree, index and HEAD are right for what it holds.
func forged(t *testing.T, batches ...[]events.Event) *Log {
	t.Helper()
	log := mustOpen(t, vfs.NewMem(), Options{})
	t.Cleanup(func() { _ = log.Close() })
	for _, batch := range batches {
		must.Get(log.Append(t.Context(), "c", events.AnySequence, slices.Clone(batch)...))(t)
	}
	return log
}

// Law: a log in which anything before an earlier head was changed, removed, swapped
// or added, or which was cut before it or went on from an older copy, does not extend
// that head, though it is sound in itself; and one that has only grown does.
func TestForgedLogs(t *testing.T) {
	var batches [][]events.Event
	var batch []events.Event
	for i := 1; i <= 60; i++ {
		e := testEvent(i)
		e.Data = e.Data[:40]
		if batch = append(batch, e); batchEnds(i) {
			batches, batch = append(batches, batch), nil
		}
	}
	original := forged(t, batches...)
	earlier := original.durableHead()

	refused := func(what string, log *Log, head tlog.Tree) {
		t.Helper()
		if r, err := log.Verify(t.Context()); err != nil || !r.Sound() {
			t.Errorf("%s: the forgery is not sound in itself: %v %v", what, r.Faults, err)
		}
		if err := log.VerifyExtends(t.Context(), head); !errors.Is(err, events.ErrNotExtended) {
			t.Errorf("%s: %v, want ErrNotExtended", what, err)
		}
	}
	more := make([]events.Event, 10)
	for i := range more {
		more[i] = testEvent(1000 + i)
	}
	for end := range batches { // rolled back to, and gone on from, the end of each batch
		cut := batches[:end]
		refused("rolled back", forged(t, cut...), earlier)
		other := slices.Clone(cut)
		for range batches[end:] {
			other = append(other, more)
		}
		refused("forked", forged(t, other...), earlier)
	}
	flat := slices.Concat(batches...)
	for i := range flat { // each event rewritten in turn
		changed := slices.Clone(flat)
		changed[i].Actor = "person:mallory"
		refused("changed", forged(t, changed), earlier)
		refused("removed", forged(t, slices.Delete(slices.Clone(flat), i, i+1), more), earlier)
		refused("added", forged(t, slices.Insert(slices.Clone(flat), i, more[0])), earlier)
		if i > 0 {
			swapped := slices.Clone(flat)
			swapped[i-1], swapped[i] = swapped[i], swapped[i-1]
			refused("swapped", forged(t, swapped), earlier)
		}
	}

	grown := forged(t, append(slices.Clone(batches), more)...)
	for n := range int64(len(flat) + 1) {
		hash := must.Get(tlog.TreeHash(n, hashReader{original.db}))(t)
		if err := grown.VerifyExtends(t.Context(), tlog.Tree{N: n, Hash: hash}); err != nil {
			t.Errorf("grown since %d events: %v", n, err)
		}
	}
}
