package drive

import (
	"context"
	"testing"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/memlog"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/files/campaignfile"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// small is a campaign that decides without a model, so that a step is made at once.
const small = `
name: small
parameters: [{name: x, min: 0, max: 1}]
objective: {name: y, goal: maximize, unit: mS}
initial: {points: [{x: 0.1}]}
policy: sobol
budget: {experiments: 9}
instrument: {process: {command: [robot]}}
`

// fixture is a campaign whose first experiment has a result: it is to decide.
type fixture struct {
	t    *testing.T
	log  *memlog.Log
	core *engine.Core
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	file := must.Get(campaignfile.Parse(builtin.Registry(), "small.yaml", []byte(small)))(t)
	f := &fixture{t: t, log: memlog.New()}
	defined := events.CampaignDefined{Definition: file.Definition}
	must.Do(t, engine.Define(t.Context(), f.log, defined, "person:ada", time.Now(), ""))
	f.core = must.Get(engine.Load(t.Context(), builtin.Registry(), f.log, "small"))(t)
	value := engine.Tell{Parameters: file.Definition.Initial.Points[0], Value: new(1.0)}
	f.submit(engine.Request{Tell: &value})
	return f
}

// submit has a request recorded, and returns its events.
func (f *fixture) submit(r engine.Request) []events.Event {
	f.t.Helper()
	r.Actor = "person:ada"
	return must.Get(engine.Submit(f.t.Context(), f.log, f.core, r, time.Now()))(f.t)
}

// note has something recorded that no decision is about.
func (f *fixture) note() []events.Event {
	f.t.Helper()
	return f.submit(engine.Request{Note: &engine.Note{Text: "and another thing"}})
}

// decision is the step that the campaign is at.
func (f *fixture) decision() engine.Step {
	f.t.Helper()
	step, err := f.core.Next(engine.World{Now: time.Now()})
	if _, ok := step.(engine.Decide); !ok || err != nil {
		f.t.Fatalf("the next step is %+v, %v", step, err)
	}
	return step
}

func (f *fixture) bench() *bench {
	return &bench{
		registry: builtin.Registry(), log: f.log, campaign: "small", meter: noMeter{},
		results: make(chan result, 1),
	}
}

// made begins a step and waits for what comes of it.
func (b *bench) made(ctx context.Context, core *engine.Core, step engine.Step) {
	b.begin(ctx, core, step, engine.World{Now: time.Now()})
	b.arrived(<-b.results)
}

// Law: a decision is called for at the event that it was made from and at no other; one that was
// overtaken three times is made before anything else is taken in, and waits for no slot.
func TestBenchOvertaken(t *testing.T) {
	f := newFixture(t)
	b := f.bench()
	b.slots = make(chan struct{}, 1)
	step := f.decision()
	for n := range mostOvertaken {
		if b.made(t.Context(), f.core, step); !b.calledFor(f.core, step) || b.current.result.err != nil {
			t.Fatalf("%d: it is not called for (%v)", n, b.current.result.err)
		}
		f.note()
		if b.calledFor(f.core, step) {
			t.Fatalf("%d: it is called for behind another event", n)
		}
		b.drop()
		if b.exclusive() {
			t.Errorf("after %d of %d it holds everything up, and nothing is computed", n+1, mostOvertaken)
		}
	}
	b.slots <- struct{}{} // another campaign computes
	b.begin(t.Context(), f.core, step, engine.World{Now: time.Now()})
	if !b.exclusive() {
		t.Error("it can be overtaken for ever")
	}
	b.arrived(<-b.results)
	if b.exclusive() || !b.isMade() {
		t.Error("what is made still holds everything up")
	}
	if c := b.take(); c.result.err != nil || b.overtaken != 0 {
		t.Errorf("taken: %v, overtaken %d times", c.result.err, b.overtaken)
	}
}

// Law: what is computed is computed on the events up to where it was begun, the first time and
// once more has happened; a computation without a slot waits for one, or for its end.
func TestBenchFollows(t *testing.T) {
	f := newFixture(t)
	b := f.bench()
	for range 3 {
		at := f.core.State().Sequence
		b.made(t.Context(), f.core, f.decision())
		made, ok := b.take().result.payloads[0].(*events.DecisionMade)
		if !ok || made.At != at {
			t.Errorf("it is made from event %d, begun behind event %d", made.At, at)
		}
		f.note()
	}
	b.slots = make(chan struct{}, 1)
	b.slots <- struct{}{}
	ctx, cancel := context.WithCancel(t.Context())
	b.begin(ctx, f.core, f.decision(), engine.World{Now: time.Now()})
	cancel()
	if b.arrived(<-b.results); b.take().result.err == nil {
		t.Error("it was computed without a slot")
	}
}

// Law: a method's panic is thrown again where the result arrives, and not in the goroutine.
func TestBenchPanic(t *testing.T) {
	f := newFixture(t)
	b := f.bench()
	b.hold = func(context.Context, engine.Step) { panic("a mistake") }
	b.begin(t.Context(), f.core, f.decision(), engine.World{Now: time.Now()})
	made := <-b.results
	defer func() {
		if recover() == nil {
			t.Error("the mistake is forgotten")
		}
	}()
	b.arrived(made)
}
