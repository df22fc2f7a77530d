package lab_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/store"
	"github.com/campaignd/campaignd/internal/attest/decisions"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/ground/lock"
	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/internal/lab"
	"github.com/campaignd/campaignd/internal/lab/lablog"
	"github.com/campaignd/campaignd/internal/tests/must"
)

const byHand = `
name: bench
parameters: [{name: x, min: 0, max: 1}]
objective: {name: flow, goal: maximize}
initial: {experiments: 2}
budget: {experiments: 4}
instrument: manual
`

func open(t *testing.T, folder string) *lab.Lab {
	t.Helper()
	l, err := lab.Open(t.Context(), lab.Options{Folder: folder, Registry: builtin.Registry(), Log: t.Logf})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Close)
	return l
}

func private(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	t.Setenv(lock.Variable, t.TempDir())
}

func define(t *testing.T, l *lab.Lab, source string) *lab.Campaign {
	t.Helper()
	file := must.Get(l.Parse(t.Context(), "campaign.yaml", []byte(source)))(t)
	return must.Get(l.Define(t.Context(), file, engine.Request{Actor: "person:ada"}))(t)
}

// Law: a campaign that is run by hand goes on from suggestion to result, over restarts of the
// lab at any point, to its end; the same is suggested until it is told.
func TestByHand(t *testing.T) {
	private(t)
	folder := t.TempDir()
	l := open(t, folder)
	c := define(t, l, byHand)
	for i := range 4 {
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		first := must.Get(c.Suggest(ctx))(t)
		again := must.Get(c.Suggest(ctx))(t)
		if first.Experiment == nil || again.Experiment == nil || first.Experiment.ID != again.Experiment.ID {
			t.Fatalf("experiment %d: %+v, then %+v", i+1, first, again)
		}
		x, _ := first.Experiment.Parameters["x"].Float()
		request := engine.Request{Actor: "person:ada", Tell: &engine.Tell{Experiment: first.Experiment.ID, Value: new(x)}}
		must.Get(c.Submit(ctx, request))(t)
		cancel()
		if i == 1 {
			l.Close()
			l = open(t, folder)
			c = must.Get(l.Campaign("bench"))(t)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	last, err := c.Suggest(ctx)
	if err != nil || last.Stopped == "" || last.Experiment != nil {
		t.Fatalf("after the budget: %+v, %v", last, err)
	}
	log := must.Get(c.Log())(t)
	report, err := decisions.Audit(ctx, builtin.Registry(), log, "bench", events.Build{}, nil)
	if err != nil || len(report.Mismatches) > 0 {
		t.Errorf("audit: %v, %v", report.Mismatches, err)
	}
	if _, err := os.Stat(filepath.Join(folder, "bench.campaign")); err != nil {
		t.Error(err)
	}
}

// Law: a campaign that is begun by a request is begun once, however often it is sent, over
// restarts of the lab; whether it goes on is what was said of it last. By another request the name
// is taken.
func TestBegunOnce(t *testing.T) {
	private(t)
	folder := t.TempDir()
	l := open(t, folder)
	by := engine.Request{Actor: "person:ada", ID: "begin", Digest: "d"}
	begin := func(by engine.Request) (*lab.Campaign, error) {
		t.Helper()
		file := must.Get(l.Parse(t.Context(), "bench.yaml", []byte(byHand)))(t)
		return l.Define(t.Context(), file, by)
	}
	for range 2 {
		c, err := begin(by)
		if err != nil || c.Sequence() < 1 {
			t.Fatalf("%v, %v", c, err)
		}
		for began := time.Now(); c.Running() == nil; time.Sleep(time.Millisecond) {
			if time.Since(began) > 10*time.Second {
				t.Fatal("it does not go on")
			}
		}
		l.Close()
		l = open(t, folder)
	}
	c := must.Get(begin(by))(t)
	must.Do(t, c.Halt(engine.Request{Actor: "person:bo"}))
	if c, err := begin(by); err != nil || c.Running() != nil {
		t.Errorf("it was halted, and begun again: %v, %v", c.Running(), err)
	}
	if _, err := begin(engine.Request{Actor: "person:ada", ID: "another"}); !errors.Is(err, problem.Conflict) {
		t.Errorf("another request of that name: %v", err)
	}
	if _, err := begin(engine.Request{Actor: "person:ada", ID: "begin", Digest: "e"}); !errors.Is(err, problem.ErrInvalidRequest) {
		t.Errorf("another file by the same identifier: %v", err)
	}
}

// Law: the lab's log says who had a campaign run and who halted it; what the lab does by itself is
// the engine's.
func TestRunsNameWhoAsked(t *testing.T) {
	private(t)
	folder := t.TempDir()
	l := open(t, folder)
	file := must.Get(l.Parse(t.Context(), "bench.yaml", []byte(byHand)))(t)
	c := must.Get(l.Define(t.Context(), file, engine.Request{Actor: "person:ada", Account: "ada-at-home"}))(t)
	bo := engine.Request{Actor: "person:bo", Account: "bo-at-work"}
	must.Do(t, errors.Join(c.Halt(bo), c.Start(t.Context(), bo)))
	l.Close()
	own := must.Get(store.Open(lablog.Dir(folder), store.Options{ReadOnly: true}))(t)
	defer own.Close()
	var said []string
	for e := range must.Each(t, own.Read(t.Context(), 0)) {
		if _, ok := events.StoreOfStream(e.Campaign); ok {
			said = append(said, strings.TrimSpace(fmt.Sprintln(e.Kind, e.Actor, e.Account)))
		}
	}
	want := []string{
		"store.held engine", "run.started person:ada ada-at-home", "run.ended person:bo bo-at-work",
		"run.started person:bo bo-at-work", "store.released engine",
	}
	if !slices.Equal(said, want) {
		t.Errorf("the lab's log says %q", said)
	}
}
