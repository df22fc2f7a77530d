package lab_test

import (
	"context"
	"encoding/json"
	"iter"
	"sync/atomic"
	"testing"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/store"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/lab"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// counting is a store that counts the events of campaigns that were read.
type counting struct {
	events.Store
	read *atomic.Int64
}

func (c counting) ReadCampaign(ctx context.Context, name string, after events.Sequence) iter.Seq2[events.Event, error] {
	return func(yield func(events.Event, error) bool) {
		for e, err := range c.Store.ReadCampaign(ctx, name, after) {
			if c.read.Add(1); !yield(e, err) {
				return
			}
		}
	}
}

// Law: a lab that opens a store from snapshots shows its campaigns as one that folds the log, at
// rest, too, and reads nothing that was folded before.
func TestOpensFromSnapshots(t *testing.T) {
	private(t)
	folder := t.TempDir()
	var read atomic.Int64
	open := func(build string) (*lab.Lab, *lab.Campaign) {
		read.Store(0)
		options := lab.Options{
			Folder: folder, Registry: builtin.Registry(), Log: t.Logf, Build: events.Build{Revision: build},
		}
		l, err := lab.Open(t.Context(), options.Opening(func(folder string, o store.Options) (events.Store, error) {
			s, err := store.Open(folder, o)
			if err != nil {
				return nil, err
			}
			return counting{s, &read}, nil
		}))
		if err != nil {
			t.Fatal(err)
		}
		c, err := l.Campaign("bench")
		if err != nil {
			c = nil
		}
		return l, c
	}
	stands := func(c *lab.Campaign) string {
		text := must.Get(json.Marshal(c.Record().Stands()))(t)
		return string(text)
	}
	l, _ := open("sha256:1")
	c := define(t, l, byHand)
	must.Do(t, c.Halt(engine.Request{Actor: "person:bo"}))
	for _, text := range []string{"one", "two", "three"} {
		must.Get(c.Submit(t.Context(), note(text)))(t)
	}
	last, shown := c.Sequence(), stands(c)
	l.Close()

	// In this order: the snapshot of one build takes the place of another's.
	for _, opened := range []struct {
		build string
		reads int64
	}{{"sha256:1", 0}, {"sha256:2", int64(last)}, {"", int64(last)}} {
		l, c := open(opened.build)
		if n := read.Load(); n != opened.reads {
			t.Errorf("build %q reads %d events, and needs to read %d", opened.build, n, opened.reads)
		}
		for range 3 {
			if got := stands(c); got != shown {
				t.Errorf("it stands as\n%s\nand stood as\n%s", got, shown)
			}
			l.Rest()
		}
		l.Close()
	}

	l, c = open("sha256:1")
	l.Rest()
	l.Rest()
	must.Get(c.Submit(t.Context(), note("at rest")))(t)
	var notes int
	c.Read(func(core *engine.Core) { notes = len(core.State().Notes) })
	if notes != 4 || c.Sequence() != last+1 {
		t.Errorf("%d notes after %d events", notes, c.Sequence())
	}
	l.Close()
	if l, c = open("sha256:1"); read.Load() != 0 || c.Sequence() != last+1 {
		t.Errorf("what the last lab kept is not believed: %d events were read", read.Load())
	}
	l.Close()
}
