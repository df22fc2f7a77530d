package answers_test

import (
	"fmt"
	"reflect"
	"regexp"
	"testing"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/memlog"
	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/files/campaignfile"
	"github.com/campaignd/campaignd/internal/study/studytest"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/policies"
)

// bounded seeks a conductivity under a bound on the viscosity.
const bounded = `
name: bounded
seed: 3
parameters:
  - {name: lipf6, unit: mol/kg, min: 0.2, max: 2.1}
  - {name: ec, unit: kg/kg, min: 0.30, max: 0.52}
  - {name: dmc, min: 0, max: 1}
quantities:
  - {name: conductivity, unit: mS/cm, min: 0, max: 30}
  - {name: viscosity, unit: mPa·s, scale: log}
objective: {maximize: conductivity}
constraints_on_outcomes: [viscosity <= 2.5]
budget: {experiments: 10}
instrument: {simulated: {task: electrolyte, noise: 0.14, noises: {viscosity: 0.05}}}
`

// knowing is an expert whose estimates correlate so far with the truth.
func knowing(conductivity, viscosity float64) string {
	return fmt.Sprintf("experts: [{name: ada, quantities: [conductivity, viscosity], simulated: "+
		"{correlations: {conductivity: %v, viscosity: %v}}}]\n", conductivity, viscosity)
}

// course runs the campaign of a file and returns the decisions that run an experiment.
func course(t *testing.T, text string) (made []events.DecisionMade) {
	t.Helper()
	file := must.Get(campaignfile.Parse(builtin.Registry(), "campaign.yaml", []byte(text)))(t)
	log := memlog.New()
	must.Get(studytest.Simulate(t.Context(), log, file.Definition))(t)
	for e := range must.Each(t, log.Read(t.Context(), 0)) {
		payload := must.Get(events.Decode(e))(t)
		if d, ok := payload.(*events.DecisionMade); ok && d.Action == events.ActionRun {
			made = append(made, *d)
		}
	}
	if len(made) < 5 {
		t.Fatalf("%d decisions run an experiment", len(made))
	}
	return made
}

// Law: each quantity has channels of its own. An expert is believed in the one that they know, not in the one that
// they guess, and turned over in the one of which they say the opposite.
func TestKnowsOneQuantity(t *testing.T) {
	for name, c := range map[string]struct{ conductivity, viscosity float64 }{
		"knows the viscosity":         {0, 0.95},
		"says its opposite":           {0.9, -0.95},
		"knows only the conductivity": {0.95, 0},
	} {
		made := course(t, bounded+knowing(c.conductivity, c.viscosity))
		trusted := made[len(made)-1].Answers
		if len(trusted) != 2 || trusted[0].Quantity != "conductivity" || trusted[1].Quantity != "viscosity" {
			t.Fatalf("%s: %+v is weighed", name, trusted)
		}
		for i, correlation := range []float64{c.conductivity, c.viscosity} {
			w := trusted[i]
			switch {
			case w.Answers != 20:
				t.Errorf("%s: %d numbers of %s count", name, w.Answers, w.Quantity)
			case correlation > 0 && w.Helps < 0.9, correlation < 0 && w.Misleads < 0.9, correlation == 0 && max(w.Helps, w.Misleads) > 0.6:
				t.Errorf("%s: of %s they help with %.2f and mislead with %.2f", name, w.Quantity, w.Helps, w.Misleads)
			}
		}
	}
}

// Law: what an expert says of one quantity moves no other. In the first decision, after the same measurements, what is
// expected of the conductivity is the same to the last bit whatever was said of the viscosity.
func TestMovesNoOther(t *testing.T) {
	of := func(d events.DecisionMade) (conductivity, viscosity events.Prediction) {
		for _, q := range d.Candidates[0].InformedOutcomes {
			if q.Quantity == "conductivity" {
				conductivity = q.Prediction
			} else {
				viscosity = q.Prediction
			}
		}
		return conductivity, viscosity
	}
	first, viscosity := of(course(t, bounded+knowing(0.8, 0.9))[0])
	second, other := of(course(t, bounded+knowing(0.8, -0.9))[0])
	if first.Mean == 0 || first != second {
		t.Errorf("the conductivity is expected to be %+v, and %+v where something else is said of the viscosity", first, second)
	}
	if viscosity == other {
		t.Errorf("what is said of the viscosity does not move it: %+v", viscosity)
	}
}

// Law: a campaign whose experts' numbers are sure to mean nothing, or which follows nobody, is the one without
// experts, bit for bit, under constraints, of a formula and of a trade-off; and one experiment in Own is the base's.
func TestQuantitiesAndTheBase(t *testing.T) {
	const head = bounded
	for name, sought := range map[string]string{"bound": "", "formula": "objective: {maximize: conductivity/viscosity}\n",
		"trade-off": "objective: {tradeoff: [{maximize: conductivity}, {minimize: viscosity}]}\n"} {
		text := head
		if sought != "" {
			text = replaceLine(head, "objective:", sought)
		}
		alone := course(t, text)
		rule := "lognei"
		if name == "trade-off" {
			rule = "lognehvi"
		}
		for setting, wants := range map[string]string{"{guess: 1, against: 0}": "", "{own: 1}": policies.Unaided, "{own: 3}": ""} {
			made := course(t, text+knowing(0.9, 0.9)+fmt.Sprintf("policy: {next: %s, trust: {answers: %s}}\n", rule, setting))
			for i, d := range made {
				if setting == "{own: 3}" {
					if (i+1)%3 == 0 && d.Chosen != policies.Unaided {
						t.Errorf("%s: %s is to be the base's own, and runs the %s candidate", name, d.Decision, d.Chosen)
					}
					continue
				}
				if wants != "" && d.Chosen != wants {
					t.Errorf("%s, %s: %s runs the %s candidate", name, setting, d.Decision, d.Chosen)
				}
				got, want := d.Candidate(d.Chosen).Parameters, alone[i].Candidates[0].Parameters
				if !reflect.DeepEqual(got, want) {
					t.Fatalf("%s, %s: %s is at %v, alone at %v", name, setting, d.Decision, got, want)
				}
			}
		}
	}
}

// replaceLine replaces the line that begins with a key.
func replaceLine(text, key, by string) string {
	return regexp.MustCompile(`(?m)^`+key+`.*\n`).ReplaceAllLiteralString(text, by)
}
