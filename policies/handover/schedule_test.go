package handover_test

import (
	"testing"

	"github.com/campaignd/campaignd/policies/handover"
)

// A campaign of 50 chosen experiments: the first ten are the model's, then every
// second one may be the expert's, and from the 36th on nobody is asked.
func TestSchedule(t *testing.T) {
	aided := 0
	for chosen := range 50 {
		c := handover.Schedule{Chosen: chosen, Budget: 50, Experts: 1}
		if c.Aided() {
			aided++
		}
		want := chosen >= 10 && chosen < 35 && chosen%2 == 0
		if c.Aided() != want || c.Judged() != (chosen < 25) || c.Over() != (chosen >= 35) {
			t.Errorf("after %d experiments: aided %v, judged %v, over %v", chosen, c.Aided(), c.Judged(), c.Over())
		}
	}
	if aided != 13 {
		t.Errorf("%d of 50 experiments may be aided", aided)
	}
}

// Each of several experts gets the same share of aided experiments: taking
// turns must not give one of them all of the model's.
func TestScheduleOfSeveralExperts(t *testing.T) {
	for experts := 1; experts <= 4; experts++ {
		count := make([]int, experts)
		for chosen := range 240 {
			if (handover.Schedule{Chosen: chosen, Budget: 240, Experts: experts}).Aided() {
				count[chosen%experts]++
			}
		}
		for i := range count {
			if count[i] < 120/experts/2-2 || count[i] > 120/experts/2+2 {
				t.Errorf("%d experts: aided experiments by expert %v", experts, count)
			}
		}
	}
}

// A campaign without an experiment to choose is handed over from the beginning.
func TestScheduleWithoutBudget(t *testing.T) {
	if c := (handover.Schedule{}); c.Aided() || c.Judged() || !c.Over() {
		t.Error("somebody is asked though there is nothing to choose")
	}
}

// Trust is not given at the beginning, and little evidence against an expert
// does not silence them.
func TestOpens(t *testing.T) {
	for _, c := range []struct {
		helps     float64
		open, ask bool
	}{{0, false, false}, {0.04, false, false}, {1. / 3, false, true}, {0.4, true, true}, {1, true, true}} {
		open, _ := handover.Opens(c.helps)
		ask, _ := handover.AsksAgain(c.helps)
		if open != c.open || ask != c.ask {
			t.Errorf("P(helps) = %v: open %v, ask %v", c.helps, open, ask)
		}
	}
}
