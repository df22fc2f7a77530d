package campaign_test

import (
	"reflect"
	"testing"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/projections/campaign"
)

// Law: what the acts of a procedure have used up is that of their experiments, each with its own part: of
// a plate its labels, in the order of the plate, and the amount of its composition; of an act that was
// tried again both.
func TestUsedInAProcedure(t *testing.T) {
	act := func(id, stage string, drawn []events.Drawn, experiments ...string) campaign.Act {
		return campaign.Act{ID: id, Batch: "b1", Stage: stage, Experiments: experiments, Command: campaign.Command{Drawn: drawn}}
	}
	tips := func(labels ...string) events.Drawn { return events.Drawn{Stock: "tips", Labels: labels} }
	acid := func(amount float64) events.Drawn { return events.Drawn{Stock: "acid", Amount: amount, Unit: "mL"} }
	experiment := func(id string, x float64) campaign.Experiment {
		return campaign.Experiment{ID: id, Batch: "b1", Parameters: definition.Point{"x": definition.Number(x)}}
	}
	s := &campaign.State{
		Definition: &definition.Campaign{
			Parameters: []definition.Parameter{{Name: "x"}},
			Stocks:     map[string]definition.Stock{"tips": {Labels: "A1-H12"}}, // acid was taken out since
		},
		Experiments: []campaign.Experiment{experiment("e1", 0), experiment("e2", 0.5), experiment("e3", 1)},
		Batches: []campaign.Batch{{
			ID: "b1", Experiments: []string{"e1", "e2", "e3"}, Acts: []string{"a1", "a2", "a3"},
			Procedure: []definition.Stage{
				{Name: "dose", Together: true, Draws: map[string]definition.Draw{"tips": "2", "acid": "4*x mL"}},
				{Name: "read", Draws: map[string]definition.Draw{"tips": "1", "acid": "1 mL"}},
			},
		}},
		Acts: []campaign.Act{
			act("a1", "dose", []events.Drawn{acid(6), tips("A1", "B1", "C1", "D1", "E1", "F1")}, "e1", "e2", "e3"),
			act("a2", "read", []events.Drawn{acid(1), tips("G1")}, "e1"),
			act("a3", "read", []events.Drawn{acid(1), tips("H1")}, "e1"),
		},
	}
	for i, want := range [][]events.Drawn{
		{acid(2), tips("A1", "B1", "G1", "H1")}, {acid(2), tips("C1", "D1")}, {acid(4), tips("E1", "F1")},
	} {
		if got := s.Used(&s.Experiments[i]); !reflect.DeepEqual(got, want) {
			t.Errorf("e%d has used up %v, want %v", i+1, got, want)
		}
	}
	if got := s.Acts[0].Command.Drawn[1].Labels; len(got) != 6 || got[2] != "C1" {
		t.Errorf("the act itself is changed: %v", got)
	}
}
