package lab_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/bus"
	"github.com/campaignd/campaignd/internal/builtin"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/lab"
)

// Law: what reads the logs of a lab has every event of every store that the lab
// holds, in order, once over restarts of the lab; a store is closed once it has
// been let go of.
func TestReads(t *testing.T) {
	private(t)
	folder := t.TempDir()
	var mu sync.Mutex
	read := make(map[string][]events.Sequence)
	reading := 0
	begin := func() *lab.Lab {
		l, err := lab.Open(t.Context(), lab.Options{
			Folder: folder, Registry: builtin.Registry(), Log: t.Logf,
			Reads: func(ctx context.Context, store string, b *bus.Bus) {
				mu.Lock()
				reading++
				mu.Unlock()
				err := b.Consume(ctx, bus.Consumer{
					Name: "reader",
					Handle: func(_ context.Context, e events.Event) error {
						mu.Lock()
						defer mu.Unlock()
						if store != e.Campaign {
							t.Errorf("an event of %s is in the store %s", e.Campaign, store)
						}
						read[store] = append(read[store], e.Sequence)
						return nil
					},
				})
				time.Sleep(10 * time.Millisecond) // it has something left to do
				mu.Lock()
				defer mu.Unlock()
				reading--
				if _, err := b.Behind("reader"); err != nil {
					t.Errorf("the store %s is closed under its reader: %v", store, err)
				}
				if err != nil {
					t.Error(err)
				}
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(l.Close)
		return l
	}
	note := func(c *lab.Campaign, n int) {
		t.Helper()
		for range n {
			request := engine.Request{Actor: "person:ada", Note: &engine.Note{Text: "a new bottle"}}
			if _, err := c.Submit(t.Context(), request); err != nil {
				t.Fatal(err)
			}
		}
	}
	l := begin()
	c := define(t, l, byHand)
	note(c, 3)
	l.Close()
	l = begin()
	c, err := l.Campaign("bench")
	if err != nil {
		t.Fatal(err)
	}
	note(c, 2)
	last := c.Sequence()
	for began := time.Now(); ; time.Sleep(time.Millisecond) {
		mu.Lock()
		n := len(read["bench"])
		mu.Unlock()
		if n >= int(last) { // what the campaign shows may be behind its log
			break
		}
		if time.Since(began) > 10*time.Second {
			t.Fatalf("%d of %d events were read: %v", n, last, read["bench"])
		}
	}
	l.Close()
	var want []events.Sequence
	for i := range max(len(read["bench"]), int(last)) {
		want = append(want, events.Sequence(i+1))
	}
	if !slices.Equal(read["bench"], want) || reading != 0 {
		t.Errorf("read %v of %d events; %d are still reading", read["bench"], last, reading)
	}
}
