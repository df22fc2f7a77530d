package engine_test

import (
	"testing"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/engine/shown"
	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/files/campaignfile"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// referencing is the core of a campaign by hand with references, and the fold of its next events, at a time in
// hours.
func referencing(t *testing.T, file string) (core *engine.Core, fold func(hour int, payload events.Payload)) {
	t.Helper()
	def := must.Get(campaignfile.Parse(builtin.Registry(), "x.yaml", []byte(`
name: x
parameters: [{name: salt, min: 0, max: 1}]
objective: {maximize: yield}
budget: {experiments: 8}
policy: {next: random}
instrument: manual
`+file)))(t)
	core = engine.NewCore(builtin.Registry())
	fold = func(hour int, payload events.Payload) {
		t.Helper()
		e := must.Get(events.New("x", payload))(t)
		e.Sequence = core.State().Sequence + 1
		e.Time = hours(float64(hour))
		must.Do(t, core.Apply(e))
	}
	fold(0, &events.CampaignDefined{Definition: def.Definition})
	return core, fold
}

func hours(n float64) time.Time {
	return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(n * float64(time.Hour)))
}

// requests is the next step of a core at a time in hours: the experiment that it requests, or the time until
// which it waits.
func requests(t *testing.T, core *engine.Core, hour float64) (*events.ExperimentRequested, time.Time) {
	t.Helper()
	switch step := must.Get(core.Next(engine.Attended(core.State(), engine.World{Now: hours(hour)})))(t).(type) {
	case engine.Record:
		if p, ok := step.Payloads[0].(*events.ExperimentRequested); ok {
			return p, time.Time{}
		}
	case engine.Wait:
		return nil, step.Until
	}
	return nil, time.Time{}
}

func measuredAt(id string, salt, yield float64) *events.ExperimentMeasured {
	point := definition.Point{"salt": definition.Number(salt)}
	return &events.ExperimentMeasured{Experiment: id, Instrument: "person", Requested: point, Measurement: events.Measurement{
		Actual: point, Objective: definition.Quantity{Name: "yield", Value: yield},
	}}
}

// Law: a campaign that waits goes on when a reference is due by the time since the last one, which is not
// requested again while it is under way.
func TestReferenceDueByTime(t *testing.T) {
	core, fold := referencing(t, "parallel: 3\ninitial: {experiments: 1}\nreference_experiments: {standard: {composition: {salt: 0.5}, within: 5h}}\n")
	for range 2 { // the reference, and the design
		p, _ := requests(t, core, 0)
		fold(0, p)
	}
	if p, until := requests(t, core, 7); p != nil || !until.IsZero() {
		t.Errorf("while it is under way %+v is requested, and it waits until %s", p, until)
	}
	fold(1, measuredAt("e1", 0.5, 3))
	if p, until := requests(t, core, 4.99); p != nil || !until.Equal(hours(5)) {
		t.Errorf("before it is due %+v is requested, and it waits until %s", p, until)
	}
	p, _ := requests(t, core, 5)
	if p == nil || p.Origin != events.OriginReference || p.Replicate != 2 || p.Experiment != "e3" {
		t.Errorf("when it is due, %+v is requested", p)
	}
}

// Law: a reference is shown to no program that chooses, and is no run of its composition for others; where
// people exclude its composition it is not measured.
func TestReferenceIsNoRun(t *testing.T) {
	core, fold := referencing(t, "parallel: 3\nreference_experiments: {standard: {composition: {salt: 0.5}, every: 1}}\n")
	p, _ := requests(t, core, 0)
	fold(0, p)
	if v := shown.Of(core.State()); len(v.UnderWay) > 0 {
		t.Errorf("under way: %+v", v.UnderWay)
	}
	fold(1, measuredAt("e1", 0.5, 3))
	if v := shown.Of(core.State()); len(v.Experiments) > 0 {
		t.Errorf("shown: %+v", v.Experiments)
	}
	if n := engine.RunsOf(core.At(engine.World{}), p.Parameters); n != 0 {
		t.Errorf("%d runs", n)
	}
	from := 0.4
	fold(1, &events.RegionExcluded{Exclusion: "n1", Region: definition.Region{Where: map[string]definition.RegionSide{"salt": {Min: &from}}}})
	for range 2 {
		p, _ = requests(t, core, 1)
		if p == nil || p.Origin != events.OriginInitial {
			t.Fatalf("requested: %+v", p)
		}
		fold(1, p)
	}
}

// Law: a reference waits for a place among those under way.
func TestReferenceWaitsForAPlace(t *testing.T) {
	core, fold := referencing(t, "reference_experiments: {a: {composition: {salt: 0.5}, every: 1}, b: {composition: {salt: 0.6}, every: 1}}\n")
	p, _ := requests(t, core, 0)
	fold(0, p)
	if p, _ := requests(t, core, 0); p != nil {
		t.Errorf("two at once: %+v", p)
	}
	fold(1, measuredAt("e1", 0.5, 3))
	if p, _ := requests(t, core, 1); p == nil || p.Origin != events.OriginReference {
		t.Errorf("then %+v", p)
	}
}

// Law: of a list of candidates none is taken by a reference.
func TestReferenceTakesNoCandidate(t *testing.T) {
	core, fold := referencing(t, `parallel: 3
candidates: [{salt: 0.25}, {salt: 0.5}, {salt: 0.75}]
initial: {points: [{salt: 0.25}, {salt: 0.75}]}
reference_experiments: {standard: {composition: {salt: 0.5}, every: 5}}
`)
	for range 3 {
		p, _ := requests(t, core, 0)
		fold(0, p)
	}
	fold(1, measuredAt("e2", 0.25, 3))
	fold(1, measuredAt("e3", 0.75, 4))
	step := must.Get(core.Next(engine.Attended(core.State(), engine.World{Now: hours(1)})))(t)
	if _, ok := step.(engine.Decide); !ok {
		t.Errorf("the third candidate is not decided on: %+v", step)
	}
}
