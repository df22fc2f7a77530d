package view

import (
	"math"
	"testing"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
)

// Law: in the campaign's unit a share still adds up, a mean and a bound are
// turned back where the goal is to minimize, and a standard deviation is only scaled.
func TestShares(t *testing.T) {
	d := &events.DecisionMade{
		Objective: &events.ObjectiveFit{Shift: 10, Scale: 2},
		Candidates: []events.Candidate{{
			Name: "aided", Prediction: &events.Prediction{Mean: 11, SD: 3}, Optimistic: new(float64),
		}},
		Attributions: &events.Attributions{Shapley: []events.Shapley{
			{Candidate: "aided", Quantity: events.QuantityMean, Base: 0.5, Parameters: []string{"a", "b"},
				Values: []float64{1, -0.25}},
			{Candidate: "aided", Quantity: events.QuantitySD, Base: 0.5, Parameters: []string{"a", "b"},
				Values: []float64{1, -0.25}},
			{Candidate: "unaided", Quantity: events.QuantityMean, Base: 0.5, Parameters: []string{"a", "b"},
				Values: []float64{1, -0.25}},
		}},
	}
	for _, test := range []struct {
		goal                string
		base, first, second float64
		total               float64
	}{
		{definition.Maximize, 11, 2, -0.5, 12.5},
		{definition.Minimize, 9, -2, 0.5, 7.5},
	} {
		shares := Shares(&definition.Campaign{Objective: definition.Objective{Goal: test.goal}}, d)
		mean := ShareOf(shares, "aided", events.QuantityMean)
		if mean.Base != test.base || mean.Values[0] != test.first || mean.Values[1] != test.second ||
			mean.Total != test.total || *mean.Model != 11 {
			t.Errorf("%s: the mean is %+v", test.goal, *mean)
		}
		sd := ShareOf(shares, "aided", events.QuantitySD)
		if sd.Base != 1 || sd.Values[0] != 2 || math.Abs(sd.Total-2.5) > 1e-15 || *sd.Model != 3 {
			t.Errorf("%s: the standard deviation is %+v", test.goal, *sd)
		}
		wide := &definition.Campaign{
			Objective: definition.Objective{Goal: test.goal}, Model: definition.Model{Intervals: definition.IntervalsMarginal},
		}
		if sd := ShareOf(Shares(wide, d), "aided", events.QuantitySD); sd.Model != nil || math.Abs(sd.Total-2.5) > 1e-15 {
			t.Errorf("%s: beside the interval that is told, the standard deviation is %+v", test.goal, *sd)
		}
		if other := ShareOf(shares, "unaided", events.QuantityMean); other.Model != nil {
			t.Errorf("%s: nothing was recorded of the unaided candidate, and %v is said to be", test.goal, *other.Model)
		}
	}
	if AddUp(Shares(&definition.Campaign{Objective: definition.Objective{Goal: definition.Maximize}}, d)) {
		t.Error("shares whose sum is another than the model's add up")
	}
	d.Attributions.Shapley = d.Attributions.Shapley[:1]
	d.Attributions.Shapley[0].Values[0] = 0.25 // 0.5 + 0.25 − 0.25, of which 11 is made
	if !AddUp(Shares(&definition.Campaign{Objective: definition.Objective{Goal: definition.Maximize}}, d)) {
		t.Error("shares that are the model's do not add up")
	}
	if Shares(&definition.Campaign{}, &events.DecisionMade{}) != nil {
		t.Error("a decision without attributions has shares")
	}
}
