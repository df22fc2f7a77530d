// Package projectiontest holds the law every projection obeys: live, replayed
// and restored are the same, to the last bit.
package projectiontest

import (
	"testing"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/projections"
)

// Run folds one campaign's history and checks, after every event, that
//
//   - projections restored from a snapshot have the digest of the live ones,
//   - they still do after folding the next event, so nothing but the snapshot
//     was needed,
//   - folding does not change what an earlier snapshot said,
//
// and, at the end, that a second fold from the beginning has the digest of the
// first. create returns new projections in a fixed order.
func Run(t testing.TB, create func() []projections.Projection, history []events.Event) {
	t.Helper()
	live, restored := create(), create()
	digests := make([]string, len(history))
	for i, e := range history {
		apply(t, live, e)
		apply(t, restored, e)
		digests[i] = digest(t, live)
		if got := digest(t, restored); got != digests[i] {
			t.Fatalf("after event %d (%s): restored before it and folded over it, the projections differ from the live ones", i+1, e.Kind)
		}
		next := create()
		for j, p := range live {
			snapshot, err := p.Snapshot()
			if err != nil {
				t.Fatalf("snapshot of %s after event %d: %v", p.Name(), i+1, err)
			}
			if err := next[j].Restore(snapshot); err != nil {
				t.Fatalf("restore %s after event %d: %v", p.Name(), i+1, err)
			}
		}
		if got := digest(t, next); got != digests[i] {
			t.Fatalf("after event %d (%s): the restored projections differ from the live ones", i+1, e.Kind)
		}
		restored = next
	}
	replayed := create()
	for i, e := range history {
		apply(t, replayed, e)
		if got := digest(t, replayed); got != digests[i] {
			t.Fatalf("after event %d (%s): the replayed projections differ from the live ones", i+1, e.Kind)
		}
	}
}

func apply(t testing.TB, all []projections.Projection, e events.Event) {
	t.Helper()
	payload, err := events.Decode(e)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range all {
		if err := p.Apply(e, payload); err != nil {
			t.Fatalf("%s: %v", p.Name(), err)
		}
	}
}

func digest(t testing.TB, all []projections.Projection) string {
	t.Helper()
	d, err := projections.Digest(all...)
	if err != nil {
		t.Fatal(err)
	}
	return d
}
