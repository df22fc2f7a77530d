package diagnose

import (
	"fmt"
	"testing"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/memlog"
	"github.com/campaignd/campaignd/internal/campaignfile"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/space"
	"github.com/campaignd/campaignd/internal/study"
	"github.com/campaignd/campaignd/policies"
)

// measured is a campaign of which n compositions were measured by hand: value
// says what came out at the i-th. Its objective was fitted once.
func measured(t testing.TB, def events.Definition, n int, value func(i int, p events.Point) float64) policies.View {
	t.Helper()
	def.Budget.Experiments = max(def.Budget.Experiments, 1)
	def.Instrument = events.Instrument{Manual: &events.ManualInstrument{}}
	if def.Name == "" {
		def.Name = "bench"
	}
	def = campaignfile.Complete(def)
	log := memlog.New()
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	now := time.Date(2026, 3, 2, 8, 0, 0, 0, time.UTC)
	check(engine.Define(t.Context(), log, events.CampaignDefined{Definition: def}, "person:ada", now, ""))
	s, err := space.New(def)
	check(err)
	points, err := s.Design(events.DesignSobol, n, def.Seed)
	check(err)
	var rows []engine.Tell
	for i, p := range points {
		rows = append(rows, engine.Tell{Parameters: p, Value: value(i, p)})
	}
	core, err := engine.Load(t.Context(), log, def.Name)
	check(err)
	_, err = engine.Submit(t.Context(), log, core, engine.Request{Actor: "person:ada", Import: rows}, now)
	check(err)
	core, err = engine.Load(t.Context(), log, def.Name)
	check(err)
	fitted, err := core.Fit(t.Context(), engine.Fit{Model: events.ModelObjective, Seed: 1}, events.Build{})
	check(err)
	e, err := events.New(def.Name, fitted)
	check(err)
	e.Time, e.Actor = now, "engine"
	_, err = log.Append(t.Context(), def.Name, events.AnySequence, e)
	check(err)
	core, err = engine.Load(t.Context(), log, def.Name)
	check(err)
	return core.View()
}

func diagnosis(t testing.TB, v policies.View) Diagnosis {
	t.Helper()
	d, err := Of(t.Context(), v, "lab.campaign")
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func codes(d Diagnosis) (out []string) {
	for _, f := range d.Findings {
		out = append(out, f.Code)
	}
	return out
}

func define(t testing.TB, task string, changes ...func(*events.Definition)) events.Definition {
	def, err := study.Define(task, 1, 30, changes...)
	if err != nil {
		t.Fatal(err)
	}
	return def
}

func box(d int) events.Definition {
	def := events.Definition{Name: "bench", Seed: 1, Objective: events.Objective{Name: "yield", Unit: "%", Goal: events.Maximize}}
	for i := range d {
		def.Parameters = append(def.Parameters, events.Parameter{Name: fmt.Sprintf("x%d", i+1), Min: pointer(0.0), Max: pointer(10.0)})
	}
	return def
}

// Every diagnosis of a campaign without a model says so and what comes next.
func TestNoModel(t *testing.T) {
	def := campaignfile.Complete(define(t, "branin"))
	log := memlog.New()
	if err := engine.Define(t.Context(), log, events.CampaignDefined{Definition: def}, "person:ada", time.Date(2026, 3, 2, 8, 0, 0, 0, time.UTC), ""); err != nil {
		t.Fatal(err)
	}
	core, err := engine.Load(t.Context(), log, def.Name)
	if err != nil {
		t.Fatal(err)
	}
	d := diagnosis(t, core.View())
	if d.Verdict != Untested || len(codes(d)) != 1 || codes(d)[0] != NoModel || d.Findings[0].Next != "Let the campaign measure 2 more: `campaignd run lab.campaign`." {
		t.Errorf("the verdict is %s, the findings are %+v", d.Verdict, d.Findings)
	}
}
