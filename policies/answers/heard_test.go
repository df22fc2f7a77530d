package answers

import (
	"testing"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/projections/campaign"
)

// Law: a named composition is compared with the best of what had been requested when the
// expert was asked. Recorded decisions fix which of equals that is: the later of a maximized
// objective, the earlier of a minimized one.
func TestBestBefore(t *testing.T) {
	s := &campaign.State{Definition: &definition.Campaign{}}
	for i, value := range []float64{1, 5, 1, 5, 9, 0} {
		s.Experiments = append(s.Experiments, campaign.Experiment{
			ID: events.ExperimentID(i + 1), Parameters: definition.Point{"at": definition.Number(float64(i + 1))},
			Status:      campaign.Measured,
			Measurement: &events.Measurement{Objective: definition.Quantity{Value: value}},
		})
	}
	for goal, want := range map[string]float64{definition.Maximize: 4, definition.Minimize: 1} {
		s.Definition.Objective.Goal = goal
		best := bestBefore(s, &campaign.Question{Experiments: 4})
		if at, _ := best["at"].Float(); at != want {
			t.Errorf("%s: the best of e1 to e4 is e%v, want e%v", goal, at, want)
		}
	}
	if best := bestBefore(s, &campaign.Question{}); best != nil {
		t.Errorf("before the first experiment the best is %v", best)
	}
}
