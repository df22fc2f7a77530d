//go:build unix

package pglog

import (
	"context"
	"testing"
	"time"

	"github.com/campaignd/campaignd/internal/tests/must"
)

// Law: the numbers say what happened: which stores are held, were taken over and were
// lost, whether heartbeats are answered, what was asked, and how far a reader is behind.
func TestStats(t *testing.T) {
	l := newLab(t, brief)
	first, second := l.worker("first"), l.worker("second")
	log := l.took(first, "s")
	if s := first.db.Stats(); s.Held != 1 || s.TakenOver != 0 || s.Lost != 0 || s.Heartbeat == 0 {
		t.Errorf("a holder: %+v", s)
	}
	must.Get(log.Append(t.Context(), "c", 0, testEvents(5, "e")...))(t)
	reader := mustOpen(t, second.db, "s", Options{ReadOnly: true})
	n := int64(0)
	for range must.Each(t, reader.Follow(t.Context(), 0)) {
		// What is being given counts as given.
		if n++; second.db.Stats().Behind != 5-n {
			t.Errorf("behind by %d after %d of 5 events", second.db.Stats().Behind, n)
		}
		if n == 5 {
			break
		}
	}
	if s := second.db.Stats(); s.Behind != 0 {
		t.Errorf("behind by %d without a follower", s.Behind)
	}

	go first.Answer(t.Context(), func(_ context.Context, request []byte) []byte { return request })
	must.Get(second.db.Ask(t.Context(), "first", []byte("?")))(t)
	eventually(t, "the letter counts", func() bool { return first.db.Stats().Answered == 1 })
	if s := second.db.Stats(); s.Asked != 1 || s.Answered != 0 {
		t.Errorf("who asked: %+v", s)
	}

	// The first is silent, and the second takes over.
	speak := l.mute("first")
	eventually(t, "the first is unsure", func() bool { return !first.Sure() })
	if s := first.db.Stats(); s.Missed == 0 || s.Heartbeat < first.db.lapseTime() {
		t.Errorf("a silent worker: %+v", s)
	}
	l.tookOver(second, "s")
	speak()
	if s := second.db.Stats(); s.Held != 1 || s.TakenOver != 1 {
		t.Errorf("who took over: %+v", s)
	}
	if s := first.db.Stats(); s.Held != 0 || s.Lost != 1 {
		t.Errorf("who lost it: %+v", s)
	}
}

func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for range 600 {
		if is() {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Fatalf("%s: waited in vain", what)
}
