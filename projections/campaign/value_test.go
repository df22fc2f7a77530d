package campaign_test

import (
	"slices"
	"testing"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/projections/campaign"
)

// Law: results are what was measured and counts, in order of request; the best is the first of
// equals in the sense of the goal; what is excluded keeps its value and is not a result.
func TestResults(t *testing.T) {
	measured := func(n int, value float64, excluded bool) campaign.Experiment {
		return campaign.Experiment{ID: events.ExperimentID(n), Excluded: excluded, Status: campaign.Measured,
			Measurement: &events.Measurement{Objective: definition.Quantity{Name: "yield", Value: value}}}
	}
	s := &campaign.State{
		Definition: &definition.Campaign{},
		Experiments: []campaign.Experiment{
			{ID: "e1", Status: campaign.Failed},
			measured(2, 5, false), measured(3, 1, false), measured(4, 9, true), measured(5, 5, false),
			measured(6, 0, true), measured(7, 1, false),
		},
	}
	var ids []string
	for x, value := range s.Results() {
		if value.Value != x.Measurement.Objective.Value {
			t.Errorf("%s gave %v", x.ID, value)
		}
		ids = append(ids, x.ID)
	}
	if want := []string{"e2", "e3", "e5", "e7"}; !slices.Equal(ids, want) {
		t.Errorf("the results are those of %v, want %v", ids, want)
	}
	for range s.Results() {
		break // without a panic: the reader may stop
	}
	for goal, want := range map[string]string{definition.Maximize: "e2", definition.Minimize: "e3"} {
		s.Definition.Objective.Goal = goal
		if best, value := s.Best(); best.ID != want || value != best.Measurement.Objective {
			t.Errorf("%s: the best is %s, %v; want %s", goal, best.ID, value, want)
		}
	}
	if value, ok := s.Value(s.Experiment("e4")); !ok || value.Value != 9 {
		t.Errorf("excluded, e4 gave %v, %v", value, ok)
	}
	for _, id := range []string{"e1", "e99"} {
		if value, ok := s.Value(s.Experiment(id)); ok {
			t.Errorf("%s gave %v", id, value)
		}
	}
	s.Experiments = nil
	if best, _ := s.Best(); best != nil {
		t.Errorf("the best of nothing is %s", best.ID)
	}
}
