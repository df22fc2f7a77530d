package campaign_test

import (
	"math"
	"testing"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/projections/campaign"
)

// Law: what is spent is what all experiments cost that count against the budget, those under way
// among them; one whose cost is not known counts as the median of the others. A budget that is
// spent but for rounding is spent, and leaves no experiment.
func TestCost(t *testing.T) {
	def := &definition.Campaign{
		Objective:  definition.Objective{Name: "y", Goal: definition.Maximize},
		Quantities: []definition.QuantityDef{{Name: "y"}, {Name: "hours", Unit: "h", Scale: definition.ScaleLog}},
		Cost:       definition.Cost{Of: "hours", Unit: "h"},
		Budget:     definition.Budget{Experiments: 9, Cost: 21},
	}
	took := func(hours float64) *events.Measurement {
		return &events.Measurement{
			Objective: definition.Quantity{Name: "y"}, Further: []definition.Quantity{{Name: "hours", Value: hours, Unit: "h"}},
		}
	}
	s := &campaign.State{Definition: def, Experiments: []campaign.Experiment{
		{Status: campaign.Measured, Measurement: took(2)},
		{Status: campaign.Measured, Measurement: took(5)},
		{Status: campaign.Measured, Measurement: took(3), Excluded: true},
		{Status: campaign.Measured, Measurement: took(4)},
		{Status: campaign.Failed},  // 3.5
		{Status: campaign.Started}, // 3.5
		{Status: campaign.Cancelled},
		{Status: campaign.Measured, Measurement: took(100), Origin: events.OriginImport},
	}}
	if c := s.Cost(); c.Spent != 21 || c.Median != 3.5 || c.Budget != 21 || c.Unit != "h" || c.Left() != 0 || s.Left() != 0 {
		t.Errorf("%+v, %d left", c, s.Left())
	}
	def.Budget.Cost = 22
	if c := s.Cost(); c.Left() != 1 || s.Left() != 3 {
		t.Errorf("%+v leaves %v, and %d", c, c.Left(), s.Left())
	}
	def.Budget.Cost = 0
	if c := s.Cost(); !math.IsInf(c.Left(), 1) || s.Left() != 3 {
		t.Errorf("without a budget %v is left, and %d", c.Left(), s.Left())
	}
	def.Budget.Cost, def.Budget.Experiments = 5, 4
	if s.Left() != -2 {
		t.Errorf("%d is left, want two less than none", s.Left())
	}
	tenth := &campaign.State{Definition: &definition.Campaign{
		Parameters: []definition.Parameter{{Name: "x"}}, Cost: definition.Cost{Of: "x"}, Budget: definition.Budget{Experiments: 20, Cost: 1},
	}}
	for range 10 { // 0.1 ten times is 0.9999999999999999
		tenth.Experiments = append(tenth.Experiments, campaign.Experiment{
			Status: campaign.Measured, Parameters: definition.Point{"x": definition.Number(0.1)},
		})
	}
	if c := tenth.Cost(); c.Spent == 1 || tenth.Left() != 0 {
		t.Errorf("%v of 1 is spent, and %d left", c.Spent, tenth.Left())
	}
	def.Cost = definition.Cost{}
	if s.Cost() != nil {
		t.Errorf("nothing is said of costs: %+v", s.Cost())
	}
}
