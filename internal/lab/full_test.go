package lab_test

import (
	"errors"
	"fmt"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/pebblelog"
	"github.com/campaignd/campaignd/events/store"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/internal/lab"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// Law: a store on a disk that was full takes events again once there is room, without a restart;
// what was acknowledged is there, what was refused is not, and while the disk is full what is there
// can be read.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	var full atomic.Bool
	files := errorfs.Wrap(vfs.Default, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if full.Load() && op.Kind.ReadOrWrite() == errorfs.OpIsWrite && op.Kind != errorfs.OpRemove {
			return syscall.ENOSPC
		}
		return nil
	}))
	options := lab.Options{Folder: t.TempDir(), Registry: builtin.Registry(), Log: t.Logf}
	open := func(folder string, o store.Options) (events.Store, error) {
		log, err := pebblelog.Open(folder, pebblelog.Options{FS: files, MustExist: o.MustExist, Check: o.Check})
		if err != nil {
			return nil, err
		}
		return log, nil
	}
	l := must.Get(lab.Open(t.Context(), options.Opening(open)))(t)
	t.Cleanup(l.Close)
	c := define(t, l, byHand)
	taken, uncertain := make(map[string]bool), make(map[string]bool)
	note := func(text string) error {
		_, err := c.Submit(t.Context(), engine.Request{Actor: "person:ada", Note: &engine.Note{Text: text}})
		switch {
		case err == nil:
			taken[text] = true
		case errors.Is(err, events.ErrUncertain):
			uncertain[text] = true
		}
		return err
	}
	read := func() map[string]int {
		t.Helper()
		log := must.Get(c.Log())(t)
		found := make(map[string]int)
		for e, err := range events.ReadCampaign(t.Context(), log, c.Name(), 0) {
			if err != nil {
				t.Fatal(err)
			}
			if payload, err := events.Decode(e); err == nil {
				if n, ok := payload.(*events.NoteAdded); ok {
					found[n.Text]++
				}
			}
		}
		return found
	}
	until := func(what string, done func() bool) {
		t.Helper()
		for late := time.Now().Add(time.Minute); !done(); time.Sleep(10 * time.Millisecond) {
			if time.Now().After(late) {
				t.Fatal(what)
			}
		}
	}
	for round := range 2 { // what is mended can fail again
		must.Do(t, note(fmt.Sprint("before ", round)))
		full.Store(true)
		if note(fmt.Sprint("full ", round)) == nil {
			t.Error("a full disk takes a note")
		}
		until("what is refused is not said to be for the disk", func() bool {
			return errors.Is(note(fmt.Sprint("still full ", round)), problem.Unavailable)
		})
		until("nobody is told", func() bool { stores, troubled := l.Health(); return stores == 1 && troubled == 1 })
		if found := read(); found[fmt.Sprint("before ", round)] != 1 {
			t.Errorf("while the disk is full there are %v", found)
		}
		full.Store(false)
		until("the store takes no note with room", func() bool { return note(fmt.Sprint("after ", round)) == nil })
		until("trouble stays", func() bool { _, troubled := l.Health(); return troubled == 0 })
	}
	found := read()
	for text := range taken {
		if found[text] != 1 {
			t.Errorf("%q is there %d times", text, found[text])
		}
	}
	for text := range found {
		if !taken[text] && !uncertain[text] {
			t.Errorf("%q was refused, and is there", text)
		}
	}
}
