package lab_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/builtin"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/lab"
)

// Law: a lab that opens a store from snapshots shows its campaigns as one that folds the log, at
// rest, too, and gives every event that is not said to be seen to Heard, in order.
func TestOpensFromSnapshots(t *testing.T) {
	private(t)
	folder := t.TempDir()
	var heard []events.Sequence
	open := func(build string, seen events.Sequence) (*lab.Lab, *lab.Campaign) {
		heard = nil
		l, err := lab.Open(t.Context(), lab.Options{
			Folder: folder, Registry: builtin.Registry(), Log: t.Logf, Build: events.Build{Revision: build},
			Heard: func(_ string, def *definition.Campaign, e events.Event, _ events.Payload) {
				if heard = append(heard, e.Sequence); def == nil || def.Name != "bench" {
					t.Errorf("event %d is heard with the definition %v", e.Sequence, def)
				}
			},
			Seen: func(campaign, instance string) events.Sequence {
				if campaign != "bench" || instance == "" {
					t.Errorf("asked for %q of %q", instance, campaign)
				}
				return seen
			},
		})
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
		text, err := json.Marshal(c.Record().Stands())
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	l, _ := open("sha256:1", 0)
	c := define(t, l, byHand)
	if err := c.Halt(); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"one", "two", "three"} {
		if _, err := c.Submit(t.Context(), note(text)); err != nil {
			t.Fatal(err)
		}
	}
	last, want := c.Sequence(), stands(c)
	l.Close()

	for _, seen := range []events.Sequence{0, 1, last - 1, last, last + 7} {
		for _, build := range []string{"sha256:2", "sha256:1", ""} {
			l, c := open(build, seen)
			for after := seen + 1; after <= last; after++ {
				if !slices.Contains(heard, after) {
					t.Errorf("seen up to %d by build %q, and event %d is not heard", seen, build, after)
				}
			}
			if !slices.IsSorted(heard) || len(slices.Compact(slices.Clone(heard))) != len(heard) {
				t.Errorf("heard are %v", heard)
			}
			for range 3 {
				if got := stands(c); got != want {
					t.Errorf("it stands as\n%s\nand stood as\n%s", got, want)
				}
				l.Rest()
			}
			l.Close()
		}
	}

	l, c = open("sha256:1", last)
	l.Rest()
	l.Rest()
	if _, err := c.Submit(t.Context(), note("at rest")); err != nil {
		t.Fatal(err)
	}
	var notes int
	c.Read(func(core *engine.Core) { notes = len(core.State().Notes) })
	if notes != 4 || c.Sequence() != last+1 {
		t.Errorf("%d notes after %d events", notes, c.Sequence())
	}
	l.Close()
	if l, c = open("sha256:1", last+1); len(heard) != 0 || c.Sequence() != last+1 {
		t.Errorf("what the last lab kept is not believed: %v were folded", heard)
	}
	l.Close()
}
