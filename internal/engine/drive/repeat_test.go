package drive_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/memlog"
	"github.com/campaignd/campaignd/internal/attest/decisions"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// aNote is a request of ada's to note something.
func aNote(id, text string) engine.Request {
	return engine.Request{Actor: "person:ada", Note: &engine.Note{Text: text}}.Identified(id)
}

// Law: a request that is sent again, to the loop, to another process or where nobody runs the
// campaign, is answered with the events of the first, whole, and recorded no more. Another
// request under its identifier is refused; one that was refused counts when it is possible.
func TestRepeatedRequests(t *testing.T) {
	log := memlog.New()
	r, waiting := start(t, log, electrolyte(t, 1, 6), nil)
	pause := engine.Request{Actor: "person:ada", Pause: &events.CampaignPaused{Reason: "lunch"}}.Identified("lunch")
	resume := engine.Request{Actor: "person:ada", Resume: &events.CampaignResumed{}}.Identified("lunch is over")
	if _, err := engine.Submit(t.Context(), log, r.Core(), resume, time.Now()); !errors.Is(err, problem.Conflict) {
		t.Errorf("resumed what runs: %v", err)
	}
	rows := engine.Request{Actor: "person:ada", Import: []engine.Tell{
		{Parameters: at(0.5, 0.35, 0.5), Value: new(9.0), Notes: []string{"batch: 7"}},
		{Parameters: at(0.6, 0.35, 0.5), Value: new(9.5)},
	}}.Identified("rows")
	ways := map[string]func(engine.Request) ([]events.Event, error){
		"directly": func(q engine.Request) ([]events.Event, error) {
			return engine.Submit(t.Context(), log, r.Core(), q, time.Now())
		},
		"by another process": func(q engine.Request) ([]events.Event, error) {
			return engine.Submit(t.Context(), log, mustLoad(t, log), q, time.Now())
		},
	}
	sent := []engine.Request{rows, aNote("n", "stirred"), pause}
	first := make(map[string][]events.Event)
	for _, q := range sent {
		stored := must.Get(engine.Submit(t.Context(), log, r.Core(), q, time.Now()))(t)
		first[q.ID] = stored
	}
	if len(first["rows"]) != 5 || first["rows"][0].Request != "rows" || first["rows"][1].Request != "" {
		t.Errorf("an import of two rows is %d events: %+v", len(first["rows"]), first["rows"])
	}
	again := func(way string) {
		t.Helper()
		before := len(history(t, log))
		for _, q := range sent {
			stored, err := ways[way](q)
			if diff := cmp.Diff(first[q.ID], stored); diff != "" || err != nil {
				t.Errorf("%s, %s: %v\n%s", way, q.ID, err, diff)
			}
		}
		if _, err := ways[way](aNote("n", "not stirred")); !errors.Is(err, problem.ErrInvalidRequest) {
			t.Errorf("%s: another note under the same identifier: %v", way, err)
		}
		if n := len(history(t, log)); n != before {
			t.Errorf("%s: %d events were recorded", way, n-before)
		}
	}
	again("directly")
	again("by another process")
	ended := run(t, r)
	until(t, waiting, "paused")
	ways["to the loop"] = func(q engine.Request) ([]events.Event, error) { return r.Submit(t.Context(), q) }
	again("to the loop")
	if _, err := r.Submit(t.Context(), resume); err != nil {
		t.Errorf("what was refused before, and is possible now: %v", err)
	}
	must.Do(t, ended())
	report, err := decisions.Audit(t.Context(), builtin.Registry(), log, "electrolyte", events.Build{}, nil)
	if err != nil || len(report.Mismatches) > 0 {
		t.Errorf("%v %v", report.Mismatches, err)
	}
}

// Law: of processes that race with the same requests over one log each request is recorded once,
// and each answers with the same events: the one that is overtaken folds on and finds the first.
func TestRacingRequests(t *testing.T) {
	log := memlog.New()
	defined := events.CampaignDefined{Definition: electrolyte(t, 1, 6)}
	must.Do(t, engine.Define(t.Context(), log, defined, "person:eve", time.Now(), ""))
	const requests, writers = 40, 4
	answers := make([][][]events.Event, writers)
	var all sync.WaitGroup
	for w := range writers {
		core := mustLoad(t, log)
		all.Go(func() {
			for n := range requests {
				stored, err := engine.Submit(t.Context(), log, core, aNote(fmt.Sprint("r", n), fmt.Sprint("note ", n)), time.Now())
				if err != nil {
					t.Errorf("writer %d, request %d: %v", w, n, err)
					return
				}
				answers[w] = append(answers[w], stored)
			}
		})
	}
	all.Wait()
	if n := len(history(t, log)); n != 1+requests {
		t.Errorf("%d events, want the definition and %d notes", n, requests)
	}
	for w := range writers {
		if diff := cmp.Diff(answers[0], answers[w]); diff != "" {
			t.Errorf("writer %d is answered otherwise:\n%s", w, diff)
		}
	}
}

// Law: to begin a campaign is a request like any other: sent again it is the same campaign, and
// with another definition, or by somebody else, the name is taken.
func TestRepeatedDefinition(t *testing.T) {
	log := memlog.New()
	define := func(by engine.Request) error {
		return engine.DefineBy(context.Background(), log, events.CampaignDefined{Definition: electrolyte(t, 1, 6)}, by, time.Now(), "")
	}
	by := engine.Request{Actor: "person:ada", ID: "begin", Digest: "d"}
	for range 3 {
		if err := define(by); err != nil {
			t.Error(err)
		}
	}
	if n := len(history(t, log)); n != 1 {
		t.Errorf("%d events", n)
	}
	var taken *events.ConflictError
	for _, other := range []engine.Request{
		{Actor: "person:ada"}, {Actor: "person:bo", ID: "begin", Digest: "d"}, {Actor: "person:ada", ID: "again", Digest: "d"},
	} {
		if err := define(other); !errors.As(err, &taken) {
			t.Errorf("%+v: %v", other, err)
		}
	}
	if err := define(engine.Request{Actor: "person:ada", ID: "begin", Digest: "e"}); !errors.Is(err, problem.ErrInvalidRequest) {
		t.Errorf("another definition by the same identifier: %v", err)
	}
}

// Law: an identifier that cannot be shown to people, or is too long, is refused.
func TestIdentifiersOfRequests(t *testing.T) {
	log, core := simulate(t, electrolyte(t, 1, 6))
	before := len(history(t, log))
	for _, id := range []string{"a\nb", "\u202egnp", "\xff", strings.Repeat("k", 201)} {
		if _, err := engine.Submit(t.Context(), log, core, aNote(id, "stirred"), time.Now()); !errors.Is(err, problem.ErrInvalidRequest) {
			t.Errorf("%q: %v", id, err)
		}
	}
	if n := len(history(t, log)); n != before {
		t.Errorf("%d events were recorded", n-before)
	}
}
