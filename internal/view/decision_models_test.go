package view_test

import (
	"math"
	"strings"
	"testing"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/events/memlog"
	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/files/campaignfile"
	"github.com/campaignd/campaignd/internal/study/studytest"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/internal/view"
)

const boxFile = `
name: box
seed: 4
parameters:
  - {name: lipf6, unit: mol/kg, min: 0.2, max: 2.1}
  - {name: ec, unit: kg/kg, min: 0.30, max: 0.52}
  - {name: dmc, min: 0, max: 1}
quantities:
  - {name: conductivity, unit: mS/cm}
  - {name: viscosity, unit: mPa·s, scale: log}
objective: {maximize: conductivity}
constraints_on_outcomes: [viscosity <= 3]
initial: {experiments: 6}
budget: {experiments: 8}
instrument: {simulated: {task: electrolyte, noise: 0.14, noises: {viscosity: 0.05}}}
`

// Law: a decision of several quantities lists the fit of each by name, in text and as
// data, and attributes what is expected of each to the parameters: in the quantity's unit
// they add up to what the decision expected of it, of a logarithm they multiply. It shows
// no acquisition, and says of one quantity under constraints how probably they are kept.
func TestDecisionOfSeveralQuantities(t *testing.T) {
	for _, objective := range []string{"{maximize: conductivity}", "{tradeoff: [{maximize: conductivity}, {minimize: viscosity}]}", "{maximize: conductivity/viscosity}"} {
		source := strings.Replace(boxFile, "{maximize: conductivity}", objective, 1)
		file := must.Get(campaignfile.Parse(builtin.Registry(), "box.yaml", []byte(source)))(t)
		log := memlog.New()
		core := must.Get(studytest.Simulate(t.Context(), log, file.Definition))(t)
		d, err := recordOf(t, log, core).Decision(t.Context(), log, events.DecisionID(core.State().Decisions))
		if err != nil {
			t.Fatal(err)
		}
		if d.Decision.Action != events.ActionRun {
			d, err = recordOf(t, log, core).Decision(t.Context(), log, events.DecisionID(core.State().Decisions-1))
		}
		if err != nil || len(d.Quantities) != 2 {
			t.Fatalf("%s: the models are %+v, %v", objective, d.Quantities, err)
		}
		for i, name := range []string{"conductivity", "viscosity"} {
			m, expected := d.Quantities[i], d.Decision.Candidates[0].Outcomes[i]
			if m.Quantity != name || m.Fit.Observations < 6 || m.Log != (name == "viscosity") || m.Attributed == nil {
				t.Fatalf("%s: the model of %s is %+v", objective, name, m)
			}
			total := m.Attributed.Base
			for _, v := range m.Attributed.Values {
				if m.Log {
					total *= v
				} else {
					total += v
				}
			}
			if off := math.Abs(total - expected.Mean); off > 1e-6*expected.Mean || math.Abs(m.Attributed.Total-total) > 1e-9*total {
				t.Errorf("%s: what parameters do to %s comes to %v (%v), and %v was expected", objective, name, total, m.Attributed.Total, expected.Mean)
			}
		}
		var b strings.Builder
		must.Do(t, d.Write(&b, how))
		text := b.String()
		for _, want := range []string{"conductivity: rbf kernel on ", "viscosity: rbf kernel on ", "(Shapley values)", "feasible"} {
			if !strings.Contains(text, want) {
				t.Errorf("%s: it does not say %q:\n%s", objective, want, text)
			}
		}
		if strings.Contains(text, "acquisition") || !strings.Contains(text, "\n  worth ") {
			t.Errorf("%s: an acquisition is shown, or no worth:\n%s", objective, text)
		}
	}
}

// Law: a prediction lists every quantity by its name and unit, what is sought and what
// follows from the parameters among them; the mean and sd of what is sought stay where
// they stood.
func TestPredictionListsEveryQuantity(t *testing.T) {
	source := strings.Replace(boxFile, "scale: log}", "scale: log}\n  - {name: price, unit: EUR/kg, from: 2*lipf6}", 1)
	file := must.Get(campaignfile.Parse(builtin.Registry(), "box.yaml", []byte(source)))(t)
	core := must.Get(studytest.Simulate(t.Context(), memlog.New(), file.Definition))(t)
	predictor := must.Get(view.NewPredictor(t.Context(), core))(t)
	p, err := predictor.Predict(t.Context(), definition.Point{
		"lipf6": definition.Number(1.5), "ec": definition.Number(0.4), "dmc": definition.Number(0.5),
	})
	if err != nil || len(p.Quantities) != 3 || p.Objective != "conductivity" || p.Unit != "mS/cm" {
		t.Fatalf("%+v, %v", p, err)
	}
	for i, want := range []struct{ name, unit string }{{"conductivity", "mS/cm"}, {"viscosity", "mPa·s"}, {"price", "EUR/kg"}} {
		if q := p.Quantities[i]; q.Quantity != want.name || q.Unit != want.unit {
			t.Errorf("quantity %d is %+v, want %v", i, q, want)
		}
	}
	if p.Quantities[0].Mean != *p.Mean || p.Quantities[0].SD != *p.SD || p.Quantities[2].Mean != 3 || p.Quantities[2].SD != 0 {
		t.Errorf("they are %+v", p.Quantities)
	}
	var b strings.Builder
	if err := view.WritePredictions(&b, core.State().Definition, []view.Prediction{p}); err != nil || strings.Count(b.String(), "conductivity") != 1 {
		t.Errorf("%v: the table is\n%s", err, b.String())
	}
}
