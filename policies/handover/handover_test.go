package handover_test

import (
	"math/rand/v2"
	"testing"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/num/special"
	"github.com/campaignd/campaignd/policies/handover"
)

// The verdict follows from where the belief's interval lies.
func TestJudge(t *testing.T) {
	rule := handover.Width{Threshold: 0.1, MaxPerExperiment: 10, OnlyIfDecisive: true}
	paper := handover.Width{Threshold: 0.1, MaxPerExperiment: 10}
	for _, c := range []struct {
		name         string
		belief       events.Interval
		ours, papers handover.Verdict
	}{
		{"wide around zero", events.Interval{Lower: -1, Upper: 1}, handover.Ask, handover.Ask},
		{"narrow", events.Interval{Lower: 0.5, Upper: 0.55}, handover.Sure, handover.Sure},
		{"as wide as the threshold", events.Interval{Lower: 0, Upper: 0.1}, handover.Sure, handover.Sure},
		{"wide, surely accepted", events.Interval{Lower: -2, Upper: -0.5}, handover.Accepted, handover.Ask},
		{"wide, surely rejected", events.Interval{Lower: 0.5, Upper: 2}, handover.Rejected, handover.Ask},
	} {
		if got, _ := rule.Judge(c.belief); got != c.ours {
			t.Errorf("%s: %s, want %s", c.name, got, c.ours)
		}
		if got, _ := paper.Judge(c.belief); got != c.papers {
			t.Errorf("%s, paper: %s, want %s", c.name, got, c.papers)
		}
	}
}

// The gate stays open for experts whose rejections go with bad results, closes
// for adversaries, and is open before there are labels. The labels follow the
// model of Xu et al. 2024, Example 2.2, with known ranks: 40 labels are enough in at least nine
// of ten runs.
func TestGate(t *testing.T) {
	if open, _ := handover.OpenGate(nil, nil, nil); !open {
		t.Error("the gate is closed before there are labels")
	}
	for _, c := range []struct {
		accuracy float64
		open     bool
	}{{2, true}, {1, true}, {-1, false}, {-2, false}} {
		right := 0
		for seed := range uint64(100) {
			rng := rand.New(rand.NewPCG(seed, 1))
			mean, sd, reject := make([]float64, 40), make([]float64, 40), make([]bool, 40)
			for i := range mean {
				mean[i] = rng.NormFloat64()
				sd[i] = 0.3
				reject[i] = rng.Float64() < special.Logistic(c.accuracy*1.5*mean[i])
			}
			if open, _ := handover.OpenGate(mean, sd, reject); open == c.open {
				right++
			}
		}
		if right < 90 {
			t.Errorf("accuracy %v: the gate is right in %d of 100 runs", c.accuracy, right)
		}
	}
}
