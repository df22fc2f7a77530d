package drive_test

import (
	"testing"

	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/adapters/instruments/simulated"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/events/memlog"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/files/campaignfile"
	"github.com/campaignd/campaignd/internal/study/studytest"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// sought is what the campaign of [tradedOff] seeks and requires, one after the other.
var sought = []struct {
	objective definition.Objective
	require   []string
	reference string
}{
	{definition.Objective{Name: "conductivity", Goal: "maximize", Tradeoff: []definition.Aim{
		{Name: "conductivity", Goal: "maximize"}, {Name: "viscosity", Goal: "minimize", Worst: ptr(7.0)},
	}}, []string{"conductivity <= 14"}, ""},
	{definition.Objective{Name: "price", Goal: "minimize", Tradeoff: []definition.Aim{
		{Name: "price", Goal: "minimize"}, {Name: "viscosity", Goal: "minimize"}, {Name: "conductivity", Goal: "maximize", Worst: ptr(3.0)},
	}}, []string{"conductivity / viscosity >= 1", "viscosity <= 1.5 * reference.viscosity"}, "e3"},
	{definition.Objective{Goal: "maximize", Formula: "conductivity / sqrt(viscosity)"}, []string{"viscosity <= 5"}, ""},
	{definition.Objective{Name: "desirability", Goal: "maximize", Desirability: []definition.Desire{
		{Quantity: "conductivity", From: ptr(4.0), To: ptr(12.0), Weight: ptr(2.0)},
		{Quantity: "viscosity", From: ptr(1.0), Best: []float64{2, 3}, To: ptr(7.0)},
		{Quantity: "price", From: ptr(8.0), To: ptr(1.0)},
	}}, nil, ""},
	{definition.Objective{Name: "conductivity", Goal: "maximize"}, []string{"viscosity <= 4", "price * viscosity <= 20"}, ""},
}

// tradedOff is a campaign that seeks a trade-off, another one with an objective that follows from the parameters, a
// formula, a desirability, and one quantity under constraints, of which one is missing here and there.
func tradedOff(t *testing.T) []events.Event {
	t.Helper()
	def := electrolyte(t, 4, 7, unaided, func(def *definition.Campaign) {
		studytest.Simulated(def, func(s *simulated.Settings) { s.FailureRate = 0 })
	})
	simulation := must.Get(simulated.Driver.Open(t.Context(), def, instruments.Environment{}))(t)
	def.Quantities = []definition.QuantityDef{
		{Name: "conductivity", Unit: "mS/cm"}, {Name: "viscosity", Unit: "mPa·s", Scale: definition.ScaleLog},
		{Name: "price", From: "12 * lipf6 * ec"},
	}
	seek := func(def *definition.Campaign, i int) {
		def.Objective, def.ConstraintsOnOutcomes, def.Reference = sought[i].objective, nil, definition.Reference{Experiment: sought[i].reference}
		for _, text := range sought[i].require {
			def.ConstraintsOnOutcomes = append(def.ConstraintsOnOutcomes, definition.OutcomeConstraint{Require: text})
		}
		def.Policy, def.Model.Tails = definition.Policy{}, ""
		*def = campaignfile.Complete(builtin.Registry(), *def)
	}
	seek(&def, 0)
	log := memlog.New()
	for i := range sought {
		if i > 0 {
			core := must.Get(engine.Load(t.Context(), builtin.Registry(), log, def.Name))(t)
			amended := *core.State().Definition
			amended.Budget.Experiments += 3
			seek(&amended, i)
			r := engine.Request{Actor: "person:eve", Amend: &events.CampaignAmended{Definition: amended, Reason: "something else is sought"}}
			must.Get(engine.Submit(t.Context(), log, core, r, core.Last()))(t)
		}
		r := must.Get(studytest.Runner(t.Context(), log, def, viscometer{simulation, new(int)}))(t)
		must.Do(t, r.Run(t.Context()))
	}
	return history(t, log)
}

// Law: what a campaign seeks and requires of several quantities decides: each decision after the first models names
// what is expected of the quantities, and of the front, the value or the constraints.
func TestOutcomesDecide(t *testing.T) {
	kinds := make(map[string]int)
	for _, e := range tradedOff(t) {
		payload := must.Get(events.Decode(e))(t)
		d, decided := payload.(*events.DecisionMade)
		if !decided || d.Action != events.ActionRun || len(d.Candidates) == 0 {
			continue
		}
		c := d.Candidate(d.Chosen)
		switch {
		case len(c.Outcomes) < 2 && d.Tradeoff != nil:
			t.Errorf("%s expects %v", d.Decision, c.Outcomes)
		case d.Tradeoff != nil:
			kinds["front"]++
		case c.Value != nil:
			kinds["value"]++
		}
		if c.Feasible != nil {
			kinds["feasible"]++
		}
	}
	if kinds["front"] < 6 || kinds["value"] < 6 || kinds["feasible"] < 9 {
		t.Errorf("the decisions are of %v", kinds)
	}
}
