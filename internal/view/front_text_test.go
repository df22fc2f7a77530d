package view_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/view"
	"github.com/campaignd/campaignd/policies/seek"
	"github.com/campaignd/campaignd/projections/campaign"
)

// texts are rows as a page has them.
func texts(rows []view.Row) string {
	lines := make([]string, len(rows))
	for i, r := range rows {
		lines[i] = strings.TrimRight(fmt.Sprintf("%-11s %s", r.Name, r.Text), " ")
	}
	return strings.Join(lines, "\n")
}

// Law: a trade-off says its front with probabilities, calls a compromise a suggestion,
// and nothing the best; what holds little of a long front is counted, what is best in an
// objective never is.
func TestFrontInWords(t *testing.T) {
	def := &definition.Campaign{
		Parameters: []definition.Parameter{{Name: "salt", Unit: "mol/kg", Min: new(float64), Max: new(float64)}},
		Objective:  definition.Objective{Name: "flow", Tradeoff: []definition.Aim{{Name: "flow"}, {Name: "price"}}},
		Policy:     definition.Policy{Next: definition.NewChoice("lognehvi", nil)},
	}
	f := &seek.Front{Objectives: []seek.Traded{
		{Quantity: "flow", Unit: "L/h", Goal: definition.Maximize, Reference: 2, Given: true, Best: "e1"},
		{Quantity: "price", Unit: "EUR", Goal: definition.Minimize, Reference: 9.1234, Best: "e14"},
	}}
	for i := range 14 {
		f.Members = append(f.Members, seek.Member{
			Experiment: fmt.Sprint("e", i+1), OnFront: 0.93, Share: 0.001 * float64(i),
			Feasible:   &events.Feasible{Probability: 0.88},
			Quantities: []seek.Believed{{Quantity: "flow", Unit: "L/h", Mean: 4, SD: 0.5}, {Quantity: "price", Unit: "EUR", Mean: 7}},
		})
	}
	f.Compromise = &seek.Compromise{Experiment: "e7", Satisfaction: 0.62, Parameters: definition.Point{"salt": definition.Number(1)}}
	c := view.Campaign{Definition: def, Summary: engine.Summary{Bests: engine.Bests{Tradeoff: f}}}
	got := texts(c.Found())
	for _, want := range []string{
		"front       14 compositions of 14, by the models; P: on the front and feasible",
		"     flow         price  P     feasible  alone\n                 (L/h)        (EUR)\n",
		"e1   4.00 ± 0.50  7.000  0.93  0.88      0.0 %", "e14  4.00 ± 0.50",
		"and 2 more, which hold less of it",
		"suggestion  e7, a compromise: it goes at least 62 % of the way",
		"best in     flow: e1, price: e14",
		"of interest flow over 2 L/h, price below 9.123 EUR (inferred)",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("it does not say %q:\n%s", want, got)
		}
	}
	if strings.Contains(got, "e2 ") || strings.Contains(got, "e3 ") || strings.Contains(got, "optimal") {
		t.Errorf("it says too much:\n%s", got)
	}
	f.Members, f.Compromise, f.Closest = nil, nil, &seek.Closest{Experiment: "e12", Probability: 0.41}
	if got := texts(c.Found()); !strings.Contains(got, "nothing is rather feasible than not; e12 comes closest (0.41)") {
		t.Errorf("nothing is feasible:\n%s", got)
	}
}

// Law: a best composition under constraints says how probably it is feasible; where
// none is with confidence, which one comes closest. A measured value of which it is not
// known whether it keeps them is not said to break them.
func TestBestsUnderConstraintsInWords(t *testing.T) {
	def := &definition.Campaign{
		Parameters:            []definition.Parameter{{Name: "salt", Min: new(float64), Max: new(float64)}},
		Objective:             definition.Objective{Name: "flow", Unit: "L/h", Goal: definition.Maximize},
		Policy:                definition.Policy{Next: definition.NewChoice("lognei", nil)},
		ConstraintsOnOutcomes: []definition.OutcomeConstraint{{Require: "price <= 5"}},
	}
	model := &engine.ModelBest{Mean: 4, SD: 0.5, Unit: "L/h", Experiment: "e12", Feasible: &events.Feasible{Probability: 0.41}, Doubtful: true,
		Quantities: []events.QuantityPrediction{
			{Quantity: "flow", Prediction: events.Prediction{Mean: 4, SD: 0.5, Unit: "L/h"}},
			{Quantity: "price", Prediction: events.Prediction{Mean: 6, SD: 0.2, Unit: "EUR"}},
		}}
	measured := &engine.Best{Value: 5, Unit: "L/h", Experiment: "e3", Keeps: campaign.KeepsUnknown}
	c := view.Campaign{Definition: def, Summary: engine.Summary{Bests: engine.Bests{BestByModel: model, BestMeasured: measured}}}
	got := texts(c.Found())
	for _, want := range []string{
		"best        nothing measured is feasible with probability 0.9; e12 comes closest (0.41)",
		"by the model: flow 4.00 ± 0.50 L/h, in e12\n", "price 6.00 ± 0.20 EUR",
		"measured: flow 5.000 L/h, in e3; whether it keeps the constraints is not known",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("it does not say %q:\n%s", want, got)
		}
	}
	if strings.Contains(got, "does not keep") || strings.Contains(got, "flow 4.00 ± 0.50 L/h, price") {
		t.Errorf("it says too much:\n%s", got)
	}
	model.Doubtful, measured.Keeps = false, campaign.KeepsAll
	if got := texts(c.Found()); !strings.Contains(got, "in e12; feasible with probability 0.41") || strings.Contains(got, "not known") {
		t.Errorf("it is confident:\n%s", got)
	}
}
