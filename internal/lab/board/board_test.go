//go:build unix

package board_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/store"
	"github.com/campaignd/campaignd/internal/lab/board"
	"github.com/campaignd/campaignd/internal/lab/lablog"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/internal/tests/pgtest"
)

// boards are those of several processes of a lab. lives says of each whether it does.
func boards(t *testing.T, lives map[string]bool, names ...string) (all []*board.Board) {
	t.Helper()
	database := pgtest.URL(t)
	for _, name := range names {
		// An address of its own is a process to the others.
		log, err := store.Open(lablog.Address(database+"&application_name="+name), store.Options{Shared: true})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = log.Close() })
		all = append(all, &board.Board{
			Prefix: "what/", Letter: "w", Most: 3, Self: name, Log: func() (events.Store, error) { return log, nil },
			Lives: func(process string) bool { return lives[process] },
		})
	}
	return all
}

// Law: a request begins one run, at however many servers it is made at the same time; runs that others
// begin have other names; all servers show what is written of one, and that it is to end.
func TestOneRun(t *testing.T) {
	all := boards(t, map[string]bool{"a": true, "b": true}, "a", "b")
	var mu sync.Mutex
	var at sync.WaitGroup
	begun, ids := make(map[string]int), make(map[string]bool)
	for n := range 8 {
		at.Go(func() {
			request := ""
			if n < 6 {
				request = "the same"
			}
			note, again, err := all[n%2].Begin(t.Context(), request, func(id string) any { return id })
			if err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			if ids[note.ID] = true; !again {
				begun[request]++
			}
		})
	}
	at.Wait()
	if begun["the same"] != 1 || begun[""] != 2 || len(ids) != 3 {
		t.Errorf("begun are %v, as %v", begun, ids)
	}
	must.Do(t, all[0].Put(t.Context(), "w1", "half", false))
	must.Do(t, all[1].Cancel(t.Context(), "w1"))
	if err := all[0].Put(t.Context(), "w1", "whole", false); err != nil { // it has not heard of that
		t.Fatal(err)
	}
	for _, b := range all {
		n, err := b.Get(t.Context(), "w1")
		if err != nil || n == nil || string(n.Text) != `"whole"` || !n.Cancelled || n.Over {
			t.Errorf("%+v, %v", n, err)
		}
	}
	for _, id := range []string{"w9", "w01", "a1", "", "w1x"} {
		if n, err := all[0].Get(t.Context(), id); n != nil || err != nil {
			t.Errorf("there is a note %q: %+v, %v", id, n, err)
		}
	}
}

// Law: a run whose process has ended is lost, and of more than are kept the oldest go that are over or
// lost, and no other.
func TestOldRunsGo(t *testing.T) {
	lives := map[string]bool{"a": true, "b": true}
	all := boards(t, lives, "a", "b")
	begin := func(b *board.Board) string {
		t.Helper()
		n, _ := must.Get2(b.Begin(t.Context(), "", func(id string) any { return id }))(t)
		return n.ID
	}
	for _, b := range []*board.Board{all[0], all[1], all[0]} {
		begin(b)
	}
	must.Do(t, all[0].Put(t.Context(), "w3", "done", true))
	begin(all[0])
	kept := func() (ids []string) {
		notes := must.Get(all[1].All(t.Context()))(t)
		for _, n := range notes {
			ids = append(ids, n.ID)
		}
		return ids
	}
	if got := fmt.Sprint(kept()); got != "[w1 w2 w4]" {
		t.Errorf("kept are %s", got)
	}
	lives["b"] = false
	n, err := all[0].Get(t.Context(), "w2")
	if err != nil || !all[0].Lost(n) {
		t.Errorf("it is not lost: %+v, %v", n, err)
	}
	begin(all[0])
	if got := fmt.Sprint(kept()); got != "[w1 w4 w5]" {
		t.Errorf("kept are %s", got)
	}
}
