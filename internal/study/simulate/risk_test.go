package simulate_test

import (
	"math"
	"strings"
	"testing"

	"github.com/campaignd/campaignd/adapters/humans/simulated"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/study/simulate"
	"github.com/campaignd/campaignd/internal/study/tasks"
	"github.com/campaignd/campaignd/internal/tests/must"
)

const reliable = `name: reliable
seeds: 2
comparisons: 14
tasks:
  - {task: hartmann3, anchors: [{x1: 0.5, x2: 0.5, x3: 0.5}, {x1: 0.6, x2: 0.5, x3: 0.4}]}
policies: {EUBO: eubo, RAEUBO: {duel: {raeubo: {alpha: 10}}}}
experts: {ada: [{simulated: {anchored: true}}]}
`

// Law: after each comparison by an anchored expert a trajectory says how noisy the
// judgment of it was, and the risk-adjusted values are true: none is above the best
// there is, that of the compositions compared never falls, and rules that heed the
// noise ask where there is less.
func TestRisk(t *testing.T) {
	s := newStudy(t, reliable, simulate.Environment{})
	folder := t.TempDir()
	_, csv := runAll(t, s, folder, 2)
	r := open(t, folder)
	task, _ := tasks.Lookup("hartmann3")
	for _, u := range s.Units {
		noise := must.Get(simulated.NoiseOf(u.Definition.Experts[0], u.Definition))(t)
		most := math.Inf(-1) // by a grid, with what a step of it can miss
		for i := range 21 * 21 * 21 {
			p := task.Point([]float64{float64(i%21) / 20, float64(i/21%21) / 20, float64(i/441) / 20})
			value, _ := task.Value(p)
			sigma := must.Get(noise(p))(t)
			most = max(most, -value-simulate.RiskWeight*sigma)
		}
		before := math.Inf(-1)
		for i, step := range r.Get(u.Key).Trajectory {
			switch risk := step.Risk; {
			case risk == nil:
				t.Fatalf("comparison %d has no risk", i+1)
			case risk.Queried <= 0 || risk.Queried > 1:
				t.Errorf("comparison %d: noise %g", i+1, risk.Queried)
			case risk.Best < before || risk.Best > most+0.05:
				t.Errorf("comparison %d: best %g after %g, and %g is the most there is", i+1, risk.Best, before, most)
			case i >= 8 && (risk.Adjusted == nil || *risk.Adjusted > most+0.05):
				t.Errorf("comparison %d: adjusted %v, and %g is the most there is", i+1, risk.Adjusted, most)
			default:
				before = risk.Best
			}
		}
	}
	arms := s.Summarize(r).Tasks[0].Arms
	if eubo, raeubo := arms[0].Risk.Queried.Mean, arms[1].Risk.Queried.Mean; raeubo > 0.5*eubo {
		t.Errorf("RAEUBO compares at noise %g, EUBO at %g", raeubo, eubo)
	}
	if d := arms[1].Risk.QueriedDifference; d.Better != 2 || arms[0].Risk.QueriedDifference != nil {
		t.Errorf("differences %+v", d)
	}
	for _, want := range []string{",risk_adjusted,risk_adjusted_compared,queried_noise\n",
		",queried_noise_difference_upper\n"} {
		if !strings.Contains(csv, want) {
			t.Errorf("no %q in the tables", want)
		}
	}
}

// Law: the cumulative regret of an anchored expert is by the chance with which that
// expert prefers the optimum, noise at both places.
func TestRiskOfRegret(t *testing.T) {
	s := newStudy(t, reliable, simulate.Environment{})
	folder := t.TempDir()
	runAll(t, s, folder, 2)
	task, _ := tasks.Lookup("hartmann3")
	u := s.Units[0]
	noise := must.Get(simulated.NoiseOf(u.Definition.Experts[0], u.Definition))(t)
	there := must.Get(noise(task.Point(task.Best.At)))(t)
	// Whatever was compared, nobody can be surer than where the noise is least.
	least := math.Exp(-4) / 2
	trajectory := open(t, folder).Get(u.Key).Trajectory
	surest := 0.5 * math.Erfc(-(task.Worst.Value-task.Best.Value)/math.Sqrt(2*(there+least)))
	before := 0.0
	for i, step := range trajectory {
		if chance := step.Cumulative - before; !(chance >= 0 && chance <= surest-0.5) {
			t.Errorf("comparison %d has regret %g, at most %g", i+1, chance, surest-0.5)
		}
		before = step.Cumulative
	}
	if !simulate.Anchored(u.Definition) || simulate.Anchored(definition.Campaign{}) {
		t.Error("who is anchored")
	}
}
