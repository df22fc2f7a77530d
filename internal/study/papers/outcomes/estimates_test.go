package outcomes_test

import (
	"fmt"
	"math"
	"os"
	"slices"
	"testing"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/events/memlog"
	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/files/campaignfile"
	"github.com/campaignd/campaignd/internal/study/studytest"
	"github.com/campaignd/campaignd/internal/study/tasks"
)

// electrolyteFile begins the campaigns of TestEstimates.
const electrolyteFile = `
name: electrolyte
seed: %d
parameters:
  - {name: lipf6, unit: mol/kg, min: 0.2, max: 2.1}
  - {name: ec, unit: kg/kg, min: 0.30, max: 0.52}
  - {name: dmc, min: 0, max: 1}
quantities:
  - {name: conductivity, unit: mS/cm, min: 0, max: 30}
  - {name: viscosity, unit: mPa·s, scale: log}
budget: {experiments: %d}
instrument: {simulated: {task: electrolyte, noise: 0.14, noises: {viscosity: 0.05}}}
`

// TestEstimates measures the gain by estimates of single quantities (docs/results-journal.md):
//
//	CAMPAIGND_STUDIES=estimates go -C internal/study/papers test ./outcomes -run Estimates -v -timeout 1h
func TestEstimates(t *testing.T) {
	seeds, experiments := 1, 6
	if os.Getenv("CAMPAIGND_STUDIES") == "estimates" {
		seeds, experiments = 20, 16
	}
	const expert = "experts: [{name: ada, quantities: [%s], simulated: {correlations: {%s}}}]\n"
	arms := []struct{ name, text string }{
		{"nobody", ""},
		{"knows the viscosity", fmt.Sprintf(expert, "viscosity", "viscosity: 0.9")},
		{"guesses the viscosity", fmt.Sprintf(expert, "viscosity", "viscosity: 0")},
		{"is wrong about the viscosity", fmt.Sprintf(expert, "viscosity", "viscosity: -0.9")},
		{"knows both", fmt.Sprintf(expert, "conductivity, viscosity", "conductivity: 0.9, viscosity: 0.9")},
		{"knows the conductivity, guesses the viscosity",
			fmt.Sprintf(expert, "conductivity, viscosity", "conductivity: 0.9, viscosity: 0")},
	}
	for _, c := range []struct {
		name, text string
		value      func(conductivity, viscosity float64) (value float64, kept bool)
	}{
		{"viscosity <= 1.8", "objective: {maximize: conductivity}\nconstraints_on_outcomes: [viscosity <= 1.8]\n",
			func(c, v float64) (float64, bool) { return c, v <= 1.8 }},
		{"conductivity / sqrt(viscosity)", "objective: {maximize: conductivity / sqrt(viscosity)}\n",
			func(c, v float64) (float64, bool) { return c / math.Sqrt(v), true }},
	} {
		truth := truthOf(t, c.value)
		for _, arm := range arms {
			var early, late, needed []float64
			for seed := 1; seed <= seeds; seed++ {
				regret := truth.regret(t, fmt.Sprintf(electrolyteFile, seed, experiments)+c.text+arm.text)
				early, late = append(early, regret[len(regret)/2-1]), append(late, regret[len(regret)-1])
				n := slices.IndexFunc(regret, func(r float64) bool { return r <= 0.02 })
				if n < 0 {
					n = len(regret) // one more than there were
				}
				needed = append(needed, float64(n+1))
			}
			slices.Sort(needed)
			t.Logf("%s | %s | after %d: %s | after %d: %s | within 2 %%: median %.0f, quartiles %.0f to %.0f", c.name, arm.name,
				experiments/2, percent(early), experiments, percent(late),
				needed[len(needed)/2], needed[len(needed)/4], needed[len(needed)*3/4])
		}
	}
}

// truth is the noiseless value of a composition, whether it keeps the constraints, and the best and the worst
// value in the space.
type truth struct {
	task        tasks.Tradeoff
	value       func(conductivity, viscosity float64) (float64, bool)
	best, worst float64
}

func truthOf(t *testing.T, value func(conductivity, viscosity float64) (float64, bool)) truth {
	t.Helper()
	task, ok := tasks.LookupTradeoff("electrolyte")
	if !ok {
		t.Fatal("there is no electrolyte")
	}
	out := truth{task: task, value: value, best: math.Inf(-1), worst: math.Inf(1)}
	const n = 40
	for i := range (n + 1) * (n + 1) * (n + 1) {
		u := []float64{float64(i%(n+1)) / n, float64(i/(n+1)%(n+1)) / n, float64(i/(n+1)/(n+1)) / n}
		if v, kept := out.at(t, task.At(u)); kept {
			out.best, out.worst = max(out.best, v), min(out.worst, v)
		}
	}
	return out
}

func (s truth) at(t *testing.T, p definition.Point) (float64, bool) {
	t.Helper()
	values, err := s.task.Values(p)
	if err != nil {
		t.Fatal(err)
	}
	of := make(map[string]float64)
	for i, o := range s.task.Objectives {
		of[o.Name] = values[i]
	}
	return s.value(of["conductivity"], of["viscosity"])
}

// regret is by how much the best noiseless value of what was measured, after each experiment, falls short of the best in
// the space, as a part of the range; 1 before anything keeps the constraints.
func (s truth) regret(t *testing.T, text string) (regret []float64) {
	t.Helper()
	file, err := campaignfile.Parse(builtin.Registry(), "campaign.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	core, err := studytest.Simulate(t.Context(), memlog.New(), file.Definition)
	if err != nil {
		t.Fatal(err)
	}
	best := s.worst
	for _, x := range core.State().Experiments {
		if v, kept := s.at(t, x.Parameters); kept {
			best = max(best, v)
		}
		regret = append(regret, max(0, s.best-best)/(s.best-s.worst))
	}
	return regret
}
