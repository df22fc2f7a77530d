package transfer_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/store"
	"github.com/campaignd/campaignd/events/transfer"
	"github.com/campaignd/campaignd/internal/tests/must"
)

func open(t *testing.T, name string) events.Store {
	t.Helper()
	s := must.Get(store.Open(filepath.Join(t.TempDir(), name), store.Options{}))(t)
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// fill appends n batches of different lengths to three campaigns in turn, so that
// their events lie between each other's.
func fill(t *testing.T, s events.Store, n int) {
	t.Helper()
	for i := range n {
		var batch []events.Event
		for j := range 1 + i%5 {
			batch = append(batch, events.Event{
				ID: fmt.Sprintf("%d-%d", i, j), Kind: "test.happened", Version: 1 + j, Time: time.UnixMicro(int64(i)).UTC(),
				Actor: "person:ada", Cause: fmt.Sprint(i - 1), Simulated: i%2 == 0, Data: fmt.Appendf(nil, `{"i": %d}`, i),
			})
		}
		if i%3 == 0 {
			batch[0].Request, batch[0].RequestDigest = fmt.Sprintf("request %d", i), "digest"
		}
		must.Get(s.Append(t.Context(), []string{"a", "b", "a/ü"}[i/2%3], events.AnySequence, batch...))(t)
	}
}

func all(t *testing.T, s events.Store) (read []events.Event) {
	t.Helper()
	for e := range must.Each(t, s.Read(t.Context(), 0)) {
		read = append(read, e)
	}
	return read
}

// Law: a copy has the same events at the same places, the same root hash and proofs, the same
// campaigns and values; a copy that has begun is gone on with, to where the source is by then.
func TestCopy(t *testing.T) {
	from, to := open(t, "from"), open(t, "to")
	set := func(s events.Store, changes ...events.KeyValue) {
		t.Helper()
		must.Do(t, s.SetValues(t.Context(), changes...))
	}
	set(from, events.KeyValue{Key: "kept", Value: []byte("1")}, events.KeyValue{Key: "empty", Value: []byte{}})
	before := int64(0)
	for _, batches := range []int{0, 1, 700, 40} {
		fill(t, from, batches)
		report := must.Get(transfer.Copy(t.Context(), from, to))(t)
		head, err := from.Head(t.Context())
		if err != nil || report.Head != head || report.Already != before || report.Copied != head.N-before || report.Values != 2 {
			t.Errorf("of %v, %v: %+v", head, err, report)
		}
		before = head.N
		if got, err := to.Head(t.Context()); err != nil || got != head {
			t.Errorf("the copy's head is %v, %v; the source's %v", got, err, head)
		}
		was, is := all(t, from), all(t, to)
		if len(was) != int(head.N) || fmt.Sprint(was) != fmt.Sprint(is) {
			t.Error("the events differ")
		}
		set(to, events.KeyValue{Key: "forgotten since", Value: []byte("2")})
	}
	names, err := to.Campaigns(t.Context())
	if want, _ := from.Campaigns(t.Context()); err != nil || !slices.Equal(names, want) {
		t.Errorf("the campaigns are %q, %v; the source's %q", names, err, want)
	}
	one, err1 := from.ProveEvent(t.Context(), 17, before)
	other, err2 := to.ProveEvent(t.Context(), 17, before)
	if err := errors.Join(err1, err2); err != nil || !slices.Equal(one, other) {
		t.Errorf("the proofs are %v and %v, %v", one, other, err)
	}
	must.Get(transfer.Copy(t.Context(), from, to))(t)
	var values []string
	for kv := range must.Each(t, to.Values(t.Context(), "")) {
		values = append(values, kv.Key+"="+string(kv.Value))
	}
	if !slices.Equal(values, []string{"empty=", "kept=1"}) {
		t.Errorf("the copy's values are %q", values)
	}
}

// Law: where the destination holds anything else, also something more, nothing is written to it.
func TestCopyRefuses(t *testing.T) {
	from := open(t, "from")
	fill(t, from, 20)
	for name, make := range map[string]func(t *testing.T, to events.Store){
		"other events": func(t *testing.T, to events.Store) {
			if _, err := to.Append(t.Context(), "a", 0, events.Event{Kind: "test.else", Version: 1, Data: []byte("{}")}); err != nil {
				t.Fatal(err)
			}
		},
		"more events": func(t *testing.T, to events.Store) {
			must.Get(transfer.Copy(t.Context(), from, to))(t)
			fill(t, to, 1)
		},
	} {
		t.Run(name, func(t *testing.T) {
			to := open(t, "to")
			make(t, to)
			before, _ := to.Head(t.Context())
			_, err := transfer.Copy(t.Context(), from, to)
			if after, _ := to.Head(t.Context()); !errors.Is(err, transfer.ErrDiffers) || after != before {
				t.Errorf("%v; it had %d events and has %d", err, before.N, after.N)
			}
		})
	}
}

// changed is a store that does not give what it was given: in Read a word of an event is another.
type changed struct{ events.Store }

func (c changed) Read(ctx context.Context, after events.Position) iter.Seq2[events.Event, error] {
	return func(yield func(events.Event, error) bool) {
		for e, err := range c.Store.Read(ctx, after) {
			if e.Position == 30 {
				e.Actor = "person:eve"
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

// forgetful is a store that says it is not sound.
type forgetful struct{ events.Store }

func (f forgetful) Verify(ctx context.Context) (events.Report, error) {
	r, err := f.Store.Verify(ctx)
	r.Faults = append(r.Faults, events.Fault{From: 3, To: 3, What: "it is not there"})
	return r, err
}

// Law: what is not the same is not a copy, and the store that is not sound is not copied at all.
func TestCopyIsTheSameOrNone(t *testing.T) {
	from := open(t, "from")
	fill(t, from, 20)
	if _, err := transfer.Copy(t.Context(), changed{from}, open(t, "to")); !errors.Is(err, transfer.ErrDiffers) {
		t.Errorf("an event that changed on the way: %v", err)
	}
	to := open(t, "empty")
	_, err := transfer.Copy(t.Context(), forgetful{from}, to)
	if head, _ := to.Head(t.Context()); !errors.Is(err, events.ErrDamaged) || head.N != 0 {
		t.Errorf("a store that is not sound: %v, and %d events", err, head.N)
	}
}

// growing is a store to which something is appended while it is read for the first time.
type growing struct {
	events.Store
	once *sync.Once
	grow func()
}

func (g growing) Read(ctx context.Context, after events.Position) iter.Seq2[events.Event, error] {
	read := g.Store.Read(ctx, after)
	g.once.Do(g.grow)
	return read
}

// Law: what is appended to the source while it is copied is copied too.
func TestCopyOfWhatGrows(t *testing.T) {
	from, to := open(t, "from"), open(t, "to")
	fill(t, from, 20)
	grows := growing{from, new(sync.Once), func() { fill(t, from, 5) }}
	report, err := transfer.Copy(t.Context(), grows, to)
	if head, _ := from.Head(t.Context()); err != nil || report.Head != head || report.Copied != head.N {
		t.Errorf("of %v: %+v, %v", head, report, err)
	}
}
