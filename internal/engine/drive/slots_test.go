package drive_test

import (
	"context"
	"testing"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/memlog"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// Law: a campaign that waits for room to compute hears what it is told, and loses nothing of
// it; a decision that holds everybody up does not wait; and with room it goes on.
func TestWaitsForRoomToCompute(t *testing.T) {
	log := memlog.New()
	r, _ := start(t, log, electrolyte(t, 1, 6, unaided), nil)
	r.Slots = make(chan struct{}, 1)
	steps, decisions := make(chan engine.Step, 1000), 0
	r.Hold(func(_ context.Context, step engine.Step) {
		if _, decide := step.(engine.Decide); !decide {
			return
		}
		if decisions++; decisions == 3 {
			r.Slots <- struct{}{} // another campaign computes
		}
		if decisions >= 3 {
			steps <- step
		}
	})
	ended := run(t, r)

	for range 3 { // each overtakes the decision that waits
		<-steps
		note := engine.Request{Actor: "person:eve", Note: &engine.Note{Text: "and another thing"}}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		if _, err := r.Submit(ctx, note); err != nil {
			t.Fatalf("while it waits for room, a note is answered with %v", err)
		}
		cancel()
	}
	<-steps // the same decision once more, and now everybody waits for it
	decided := func() (n int) {
		for _, e := range history(t, log) {
			if e.Kind == events.KindDecisionMade {
				n++
			}
		}
		return n
	}
	for deadline := time.Now().Add(10 * time.Second); decided() < 3; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("a decision that holds everybody up waits for another campaign")
		}
	}
	if s := len(steps); s > 0 {
		t.Errorf("%d further decisions are under way though there is no room for a fit", s)
	}

	<-r.Slots
	must.Do(t, ended())
	if len(r.Slots) > 0 {
		t.Error("it has ended and keeps the room it computed in")
	}
	if problem := unsound(t, log, r.Core()); problem != "" {
		t.Error(problem)
	}
}

// Law: whatever is called off waits for no computation: not for a decision either for which
// everybody else waits.
func TestAbortWaitsForNoDecision(t *testing.T) {
	r, _ := start(t, memlog.New(), electrolyte(t, 1, 6, unaided), nil)
	steps, release := make(chan engine.Step, 1000), make(chan struct{})
	r.Hold(func(_ context.Context, step engine.Step) {
		if _, decide := step.(engine.Decide); decide {
			steps <- step
			<-release // however long it takes
		}
	})
	ended := run(t, r)
	for range 3 { // each overtakes the decision, and then everybody waits for it
		<-steps
		note := engine.Request{Actor: "person:eve", Note: &engine.Note{Text: "and another thing"}}
		must.Get(r.Submit(t.Context(), note))(t)
		release <- struct{}{}
	}
	<-steps
	stop := engine.Request{Actor: "person:eve", Abort: &engine.Abort{Stop: true, Reason: "solvent leak"}}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if _, err := r.Submit(ctx, stop); err != nil {
		t.Fatalf("while a decision is made, an abort is answered with %v", err)
	}
	close(release)
	must.Do(t, ended())
}
