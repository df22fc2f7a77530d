package lab_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/bus"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/files/campaignfile"
	"github.com/campaignd/campaignd/internal/lab"
	"github.com/campaignd/campaignd/internal/tests/must"
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
		l := must.Get(lab.Open(t.Context(), lab.Options{
			Folder: folder, Registry: builtin.Registry(), Log: t.Logf,
			Reads: func(ctx context.Context, store string, b *bus.Bus, caught func()) {
				mu.Lock()
				reading++
				mu.Unlock()
				err := b.Consume(ctx, bus.Consumer{
					Name:   "reader",
					Caught: caught,
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
		}))(t)
		t.Cleanup(l.Close)
		return l
	}
	note := func(c *lab.Campaign, n int) {
		t.Helper()
		for range n {
			request := engine.Request{Actor: "person:ada", Note: &engine.Note{Text: "a new bottle"}}
			must.Get(c.Submit(t.Context(), request))(t)
		}
	}
	l := begin()
	c := define(t, l, byHand)
	note(c, 3)
	l.Close()
	l = begin()
	c = must.Get(l.Campaign("bench"))(t)
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

// Law: a lab is open once what reads the logs has read what was there, also what another process
// holds; a store that cannot be read is not waited for. What another process records is read
// too, through that process, and goes on to be read when the store is the lab's.
func TestReadsWhatAnotherHolds(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	options := lab.LocalOptions{Registry: builtin.Registry()}
	h := must.Get(lab.OpenLocal(t.Context(), filepath.Join(folder, "bench.campaign"), options))(t)
	file := must.Get(campaignfile.Parse(options.Registry, "bench.yaml", []byte(byHand)))(t)
	by := engine.Request{Actor: "person:bo"}
	must.Do(t, h.Define(t.Context(), events.CampaignDefined{Definition: file.Definition}, by))
	other := must.Get(h.Serve())(t)
	must.Do(t, os.MkdirAll(filepath.Join(folder, "odd.campaign", "no store"), 0o700))
	var mu sync.Mutex
	var last events.Position
	read := make(map[events.Sequence]int)
	keeps := make(map[bool]int)
	count := func(of func() int) int {
		mu.Lock()
		defer mu.Unlock()
		return of()
	}
	l := must.Get(lab.Open(t.Context(), lab.Options{
		Folder: folder, Registry: builtin.Registry(), Log: t.Logf,
		Reads: func(ctx context.Context, _ string, b *bus.Bus, caught func()) {
			time.Sleep(50 * time.Millisecond) // it is slow, and waited for
			mu.Lock()
			keeps[b.Keeps()]++
			after := last
			mu.Unlock()
			err := b.Consume(ctx, bus.Consumer{After: after, Caught: caught, Handle: func(_ context.Context, e events.Event) error {
				mu.Lock()
				defer mu.Unlock()
				read[e.Sequence]++
				last = e.Position
				return nil
			}})
			if err != nil {
				t.Log(err)
			}
		},
	}))(t)
	t.Cleanup(l.Close)
	if n := count(func() int { return read[1] }); n != 1 {
		t.Errorf("the lab is open, and the campaign's first event was read %d times", n)
	}
	c := must.Get(l.Campaign("bench"))(t)
	must.Get(c.Submit(t.Context(), note("through the other")))(t)
	until(t, "what another process records is read", func() bool { return count(func() int { return read[2] }) == 1 })
	other.Close()
	must.Do(t, h.Close())
	until(t, "the lab writes to the store itself", func() bool {
		_, err := c.Submit(t.Context(), note("our own"))
		return err == nil
	})
	until(t, "it is read from there on", func() bool { return count(func() int { return read[3] }) == 1 })
	mu.Lock()
	defer mu.Unlock()
	if read[1] != 1 || read[2] != 1 || keeps[true] == 0 || keeps[false] == 0 {
		t.Errorf("each event is read so often: %v; offsets are kept: %v", read, keeps)
	}
}

// Law: what gives up reading holds nothing up.
func TestReaderThatGivesUp(t *testing.T) {
	private(t)
	l := must.Get(lab.Open(t.Context(), lab.Options{
		Folder: t.TempDir(), Registry: builtin.Registry(), Log: t.Logf,
		Reads: func(context.Context, string, *bus.Bus, func()) {},
	}))(t)
	t.Cleanup(l.Close)
	define(t, l, byHand)
}
