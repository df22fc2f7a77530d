package forward

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/bus"
	"github.com/campaignd/campaignd/events/memlog"
	"github.com/campaignd/campaignd/internal/files/labfile"
)

// Law: what options leave out, and what cannot be, is the default; what they say is kept.
func TestDefaults(t *testing.T) {
	for _, said := range []time.Duration{0, -1} {
		o := New(Options{Within: said, RetryPause: said, RetryPauseMax: said}).options
		if o.Within != 30*time.Second || o.RetryPause != time.Second || o.RetryPauseMax != time.Minute || o.Log == nil || o.Now == nil {
			t.Errorf("%v: %+v", said, o)
		}
	}
	if o := New(Options{Within: 1, RetryPause: 2, RetryPauseMax: 3}).options; o.Within != 1 || o.RetryPause != 2 || o.RetryPauseMax != 3 {
		t.Errorf("%+v", o)
	}
}

// unreadable is a log of which nothing can be read.
type unreadable struct{ *memlog.Log }

func (unreadable) Follow(context.Context, events.Position) iter.Seq2[events.Event, error] {
	return func(yield func(events.Event, error) bool) { yield(events.Event{}, errors.New("the disk is gone")) }
}

// Law: that the events of a store are not sent any more is said, with why, where the store
// cannot be read, and not where the server ends.
func TestTheEndOfSendingIsSaid(t *testing.T) {
	to := map[string]labfile.Forward{"archive": {}}
	said := make(chan string, 10)
	f := New(Options{Targets: to, Log: func(line string) { said <- line }})
	broken := bus.New(unreadable{memlog.New()}, bus.Config{})
	f.Serve(t.Context(), "bench", broken)
	if len(said) == 0 {
		t.Fatal("nothing is said")
	}
	if line := <-said; !strings.Contains(line, "events of bench are not sent to archive any more") || !strings.Contains(line, "the disk is gone") {
		t.Error(line)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	log := memlog.New()
	if _, err := log.Append(t.Context(), "bread", 0, events.Event{Kind: "test.noted", Version: 1, Data: []byte("{}")}); err != nil {
		t.Fatal(err)
	}
	sound := bus.New(log, bus.Config{})
	f.Serve(ctx, "bench", sound)
	if s := f.Status()[0]; s.Behind != 0 {
		t.Errorf("of a store that is not served any more it says %+v", s)
	}
	for _, b := range []*bus.Bus{broken, sound} {
		if err := b.Close(); err != nil && b == sound {
			t.Error(err)
		}
	}
	if len(said) > 0 {
		t.Errorf("a server that ends says %q", <-said)
	}
}

// Law: that a target refuses the events of a store is said at the first refusal, and again only
// once it has taken one in between. The status is about the first store by name that is refused,
// with why it was last; of none where none is, and whichever stores stand before and behind it.
func TestRefusalsAreSaidOnce(t *testing.T) {
	var said []string
	at := time.Date(2026, 3, 1, 9, 30, 0, 0, time.UTC)
	f := New(Options{
		Targets: map[string]labfile.Forward{"archive": {}},
		Log:     func(line string) { said = append(said, line) },
		Now:     func() time.Time { return at },
	})
	archive, carrier := f.targets[0], bus.New(memlog.New(), bus.Config{})
	defer carrier.Close()
	for _, store := range []string{"attic", "bench", "cellar", "depot"} {
		archive.routes[store] = &route{bus: carrier}
	}
	refuse := func(store, why string) {
		f.refused(archive, store, archive.routes[store], events.Event{Campaign: "bread", Sequence: 3}, errors.New(why), time.Second)
	}
	status := func(want Status) {
		t.Helper()
		if want.Name = "archive"; f.Status()[0] != want {
			t.Errorf("it is %+v, want %+v", f.Status()[0], want)
		}
	}
	status(Status{})
	refuse("cellar", "no disk")
	refuse("bench", "no right")
	first := at
	at = at.Add(time.Minute)
	refuse("bench", "no power")
	status(Status{Store: "bench", Error: "bread, event 3: no power", Failed: at, Again: at.Add(time.Second)})
	f.took(archive, "bench", archive.routes["bench"])
	f.took(archive, "bench", archive.routes["bench"])
	status(Status{
		Delivered: at, Store: "cellar", Error: "bread, event 3: no disk", Failed: first, Again: first.Add(time.Second),
	})
	refuse("bench", "no air")
	want := []string{
		"events of cellar, and is tried again: bread, event 3: no disk", "events of bench, and is tried again: bread, event 3: no right",
		"takes the events of bench again", "events of bench, and is tried again: bread, event 3: no air",
	}
	if !slices.EqualFunc(said, want, strings.HasSuffix) {
		t.Errorf("it says %q", said)
	}
}
