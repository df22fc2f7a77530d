package diagnose

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/campaignd/campaignd/adapters/instruments/manual"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/events/memlog"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/files/campaignfile"
	"github.com/campaignd/campaignd/internal/study/tasks"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/policies"
	"github.com/campaignd/campaignd/projections/space"
)

// bench is a campaign in memory whose measurements and fits are made by hand.
type bench struct {
	t   testing.TB
	def definition.Campaign
	log events.Log
	now time.Time
}

func newBench(t testing.TB, def definition.Campaign) *bench {
	t.Helper()
	def.Name = "bench"
	def.Budget.Experiments = 30
	def.Instrument = definition.Instrument{Driver: manual.Choose(manual.Settings{})}
	b := &bench{
		t:   t,
		def: campaignfile.Complete(builtin.Registry(), def),
		log: memlog.New(),
		now: time.Date(2026, 3, 2, 8, 0, 0, 0, time.UTC),
	}
	b.check(engine.Define(t.Context(), b.log, events.CampaignDefined{Definition: b.def}, "person:ada", b.now, ""))
	return b
}

func (b *bench) check(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) core() *engine.Core {
	b.t.Helper()
	core, err := engine.Load(b.t.Context(), builtin.Registry(), b.log, b.def.Name)
	b.check(err)
	return core
}

func (b *bench) submit(r engine.Request) *bench {
	b.t.Helper()
	r.Actor = "person:ada"
	_, err := engine.Submit(b.t.Context(), b.log, b.core(), r, b.now)
	b.check(err)
	return b
}

// points are the first n of a space-filling design.
func (b *bench) points(n int) []definition.Point {
	b.t.Helper()
	s, err := space.New(b.def)
	b.check(err)
	points, err := s.Design(definition.DesignSobol, n, b.def.Seed)
	b.check(err)
	return points
}

// measure tells what came out at each of some compositions.
func (b *bench) measure(points []definition.Point, value func(i int, p definition.Point) float64) *bench {
	b.t.Helper()
	var rows []engine.Tell
	for i, p := range points {
		rows = append(rows, engine.Tell{Parameters: p, Value: new(value(i, p))})
	}
	return b.submit(engine.Request{Import: rows})
}

// fit fits the objective; change may spoil the fit.
func (b *bench) fit(change func(*events.ObjectiveFit)) *bench {
	b.t.Helper()
	payload, err := b.core().Fit(b.t.Context(), engine.Fit{ModelName: events.ModelName{Model: events.ModelObjective}, Seed: 1}, events.Build{})
	b.check(err)
	fitted, ok := payload.(*events.ModelFitted)
	if !ok {
		b.t.Fatalf("the fit failed: %+v", payload)
	}
	if change != nil {
		change(fitted.Objective)
	}
	return b.record(fitted)
}

func (b *bench) record(payloads ...events.Payload) *bench {
	b.t.Helper()
	for _, p := range payloads {
		e, err := events.New(b.def.Name, p)
		b.check(err)
		e.Time, e.Actor = b.now, "engine"
		_, err = b.log.Append(b.t.Context(), b.def.Name, events.AnySequence, e)
		b.check(err)
	}
	return b
}

func (b *bench) view() policies.View {
	b.t.Helper()
	view, err := b.core().View(b.t.Context())
	b.check(err)
	return view
}

// diagnosis diagnoses a view, checks the laws that hold for every diagnosis, and
// returns it.
func diagnosis(t testing.TB, v policies.View) Diagnosis {
	t.Helper()
	d := must.Get(Run(t.Context(), v))(t)
	if _, err := json.Marshal(d); err != nil { // no NaN, no infinity
		t.Error(err)
	}
	if d.Headline == "" {
		t.Error("there is no headline")
	}
	for i, f := range d.Findings {
		if f.Title == "" || f.Text == "" || f.Next == "" && f.Remedies == nil ||
			strings.Contains(f.Title+f.Text+f.Next, "%!") {
			t.Errorf("a finding says not all: %+v", f)
		}
		if i > 0 && gravity[f.Level] > gravity[d.Findings[i-1].Level] {
			t.Errorf("%s comes after %s", f.Level, d.Findings[i-1].Level)
		}
		if gravity[f.Level] > gravity[d.Verdict] {
			t.Errorf("the verdict is %s with a finding that is %s", d.Verdict, f.Level)
		}
	}
	return d
}

func (b *bench) diagnosis() Diagnosis {
	b.t.Helper()
	return diagnosis(b.t, b.view())
}

// found returns the finding of a code, nil where there is none.
func found(d Diagnosis, code string) *Finding {
	if i := slices.IndexFunc(d.Findings, func(f Finding) bool { return f.Code == code }); i >= 0 {
		return &d.Findings[i]
	}
	return nil
}

// box is a campaign over d parameters from 0 to 10.
func box(d int, seed uint64) definition.Campaign {
	def := definition.Campaign{
		Seed:      seed,
		Objective: definition.Objective{Name: "yield", Unit: "%", Goal: definition.Maximize},
	}
	for i := range d {
		def.Parameters = append(def.Parameters, definition.Parameter{
			Name: fmt.Sprintf("x%d", i+1),
			Unit: "mm",
			Min:  pointer(0.0),
			Max:  pointer(10.0),
		})
	}
	return def
}

// at returns the coordinates of a composition of a box, 0 to 1.
func at(p definition.Point) []float64 {
	x := make([]float64, len(p))
	for i := range x {
		v, _ := p[fmt.Sprintf("x%d", i+1)].Float()
		x[i] = v / 10
	}
	return x
}

// electrolyte is a campaign on the electrolyte, and what a composition really gives.
func electrolyte(t testing.TB, seed uint64) (definition.Campaign, func(definition.Point) float64) {
	task, ok := tasks.Lookup("electrolyte")
	if !ok {
		t.Fatal("there is no electrolyte")
	}
	return definition.Campaign{
			Seed:       seed,
			Parameters: task.Parameters,
			Objective:  task.Objective,
		}, func(p definition.Point) float64 {
			return must.Get(task.Value(p))(t)
		}
}
