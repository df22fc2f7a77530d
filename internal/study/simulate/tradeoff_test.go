package simulate

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/study/studyfile"
	"github.com/campaignd/campaignd/internal/study/tasks"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// read reads a study in a folder.
func read(t *testing.T, folder, text string) *Study {
	t.Helper()
	file := must.Get(studyfile.Parse(filepath.Join(folder, "study.yaml"), []byte(text), studyfile.Options{}))(t)
	return must.Get(New(t.Context(), file, Environment{}))(t)
}

// grid is a table of whole numbers, so that hypervolumes can be counted: strength is
// maximized, cost minimized, and heat bounded. Two rows have one composition, and
// mean values of 5.5 and 4.
const grid = `x,strength,cost,heat
1,1,1,1
2,3,2,1
3,5,4,1
3,6,4,1
4,9,9,1
5,8,1,9
6,2,8,1
7,7,6,2
8,4,3,1
`

// studyOnGrid is a study of that table, all of whose rows are measured.
func studyOnGrid(t *testing.T, worst string) *Study {
	t.Helper()
	folder := t.TempDir()
	must.Do(t, os.WriteFile(filepath.Join(folder, "grid.csv"), []byte(grid), 0o600))
	return read(t, folder, `name: grid
seeds: 3
experiments: 8
tasks:
  - table: grid.csv
    parameters: [{name: x, min: 1, max: 8}]
    quantities: [{name: strength, unit: MPa}, {name: cost}, {name: heat}]
    objective: {tradeoff: [{maximize: strength`+worst+`}, {minimize: cost, worst: 10}]}
    constraints_on_outcomes: [heat <= 5]
policies: {random: random, lognehvi: lognehvi}
base: {initial: {experiments: 2}}
`)
}

// count is the hypervolume of the rows of some compositions beyond (0, 10), in cells
// of a half by a half: every value of the table is a corner of one. It looks at each
// cell by itself, and knows nothing of fronts.
func count(rows map[float64][2]float64, measured []float64) (covered float64) {
	for s := 0.25; s < 10; s += 0.5 {
		for c := 0.25; c < 10; c += 0.5 {
			for _, x := range measured {
				if v, feasible := rows[x]; feasible && s < v[0] && c > v[1] {
					covered += 0.25
					break
				}
			}
		}
	}
	return covered
}

// Law: after each experiment of a trade-off the study says which part of the greatest
// hypervolume the compositions measured so far cover, by the table's rows, as a slow count of
// cells has it: it never falls, what breaks a bound adds nothing, and all rows cover all.
func TestFrontOfATable(t *testing.T) {
	s := studyOnGrid(t, ", worst: 0")
	feasible := map[float64][2]float64{ // without 5, which is too hot
		1: {1, 1}, 2: {3, 2}, 3: {5.5, 4}, 4: {9, 9}, 6: {2, 8}, 7: {7, 6}, 8: {4, 3},
	}
	greatest := count(feasible, []float64{1, 2, 3, 4, 5, 6, 7, 8})
	if front := s.Tasks[0].Truth.Front; front.Hypervolume != greatest || front.Searched {
		t.Fatalf("the greatest hypervolume is %+v, want %g, for certain", front, greatest)
	}
	for _, u := range s.Units {
		r, _ := must.Get2(s.RunCampaign(t.Context(), s.Tasks[0], u.Definition, events.Build{}))(t)
		result := must.Get(s.campaign(t.Context(), u, events.Build{}))(t)
		var measured []float64
		before, sum := 0.0, 0.0
		for i, x := range r.Core().State().Experiments {
			at, _ := x.Parameters["x"].Float()
			measured = append(measured, at)
			step, want := result.Trajectory[i], 100*count(feasible, measured)/greatest
			sum += 100 - want
			if math.Abs(step.Best-want) > 1e-9 || math.Abs(step.Regret-(100-want)) > 1e-9 || math.Abs(step.Cumulative-sum) > 1e-9 {
				t.Errorf("%s, seed %d, after %v: %+v, want %g %% of the hypervolume", result.Arm, u.Seed, measured, step, want)
			}
			if step.Best < before || at == 5 && step.Best != before || step.Measured != nil || step.Recommended != step.Regret {
				t.Errorf("%s, seed %d, after %v: %+v, before %g", result.Arm, u.Seed, measured, step, before)
			}
			before = step.Best
		}
		slices.Sort(measured)
		if !slices.Equal(measured, []float64{1, 2, 3, 4, 5, 6, 7, 8}) || before != 100 {
			t.Errorf("%s, seed %d: all of %v cover %g %%", result.Arm, u.Seed, measured, before)
		}
	}
}

// Law: a worst value that is not given lies behind the true front by a tenth of its range, once for all arms.
func TestWorstOfTheTruth(t *testing.T) {
	front := studyOnGrid(t, "").Tasks[0].Truth.Front
	if want := []float64{1 - 0.1*(9-1), 10}; math.Abs(front.Worst[0]-want[0]) > 1e-12 || front.Worst[1] != want[1] {
		t.Errorf("beyond %v, want %v", front.Worst, want)
	}
}

// Law: of one value under a bound the best counts that keeps it, and nothing else is found; a formula is judged by
// what it makes of the rows, in its own unit.
func TestBoundedAndComputed(t *testing.T) {
	for _, c := range []struct {
		objective   string
		best, worst float64
		of          func(strength, cost float64) float64
	}{
		{"{maximize: strength}", 9, 1, func(s, _ float64) float64 { return s }},
		{"{name: value, maximize: strength / cost}", 1.5, 0.25, func(s, c float64) float64 { return s / c }},
	} {
		folder := t.TempDir()
		must.Do(t, os.WriteFile(filepath.Join(folder, "grid.csv"), []byte(grid), 0o600))
		s := read(t, folder, fmt.Sprintf(`name: grid
seeds: 2
experiments: 8
tasks:
  - table: grid.csv
    parameters: [{name: x, min: 1, max: 8}]
    quantities: [{name: strength}, {name: cost}, {name: heat}]
    objective: %s
    constraints_on_outcomes: [heat <= 5]
policies: {random: random}
base: {initial: {experiments: 2}}
`, c.objective))
		truth := s.Tasks[0].Truth
		if truth.Best != c.best || truth.Worst != c.worst {
			t.Errorf("%s: from %g to %g, want from %g to %g", c.objective, truth.Worst, truth.Best, c.worst, c.best)
		}
		hot, regret, err := truth.At(definition.Point{"x": definition.Number(5)})
		if err != nil || hot != c.of(8, 1) || regret != c.best-c.worst {
			t.Errorf("%s: what is too hot has %g and a regret of %g, %v", c.objective, hot, regret, err)
		}
		for _, u := range s.Units {
			result := must.Get(s.campaign(t.Context(), u, events.Build{}))(t)
			best := c.worst
			for i, step := range result.Trajectory {
				if step.True != c.of(8, 1) { // that of x = 5 alone
					best = max(best, step.True)
				}
				if step.Regret != c.best-best {
					t.Errorf("%s, seed %d, experiment %d: %+v, want a regret of %g", c.objective, u.Seed, i+1, step, c.best-best)
				}
			}
		}
	}
}

// Law: the search for a front finds nearly all of the hypervolume that is known of test problems, and never more than there is.
func TestSearchedFront(t *testing.T) {
	for _, c := range []struct {
		name  string
		least float64
	}{
		{"branin-currin", 0.998}, {"zdt1", 0.99}, {"dtlz2-2", 0.99}, {"c2-dtlz2", 0.98}, {"vehicle-safety", 0.97},
	} {
		problem, _ := tasks.LookupTradeoff(c.name)
		s := read(t, t.TempDir(), "name: s\nseeds: 1\nexperiments: 9\ntasks: ["+c.name+"]\npolicies: {random: random}\n")
		known := s.Tasks[0].Truth.Front
		if known.Hypervolume != problem.Hypervolume || known.Searched {
			t.Errorf("%s: %+v, want what is known", c.name, known)
		}
		searched := must.Get(truthOf(s.Units[0].Definition, ofTradeoff(s.Units[0].Definition, problem), 0))(t)
		found := searched.Front.Hypervolume / problem.Hypervolume
		t.Logf("%s: %.5f", c.name, found)
		if !(found >= c.least && found < 1.001) || !searched.Front.Searched {
			t.Errorf("%s: the search has found %.4f of the greatest hypervolume", c.name, found)
		}
	}
}

// Law: what experts prefer, and bounds that compare with an experiment of the campaign's own, have no truth; what is
// said names what to write instead.
func TestWithoutATruth(t *testing.T) {
	aims := definition.Objective{Preference: &definition.Preference{Over: []string{"a", "b"}}}
	_, err := truthOf(definition.Campaign{Name: "taste", Objective: aims}, nil, 0)
	if err == nil || !strings.Contains(err.Error(), "taste seeks what an expert prefers") || !strings.Contains(err.Error(), "tradeoff") {
		t.Errorf("%v", err)
	}
	def := studyOnGrid(t, "").Units[0].Definition
	def.ConstraintsOnOutcomes = []definition.OutcomeConstraint{{Require: "heat <= reference.heat"}}
	def.Reference.Experiment = "e1"
	if _, err = truthOf(def, nil, 0); err == nil || !strings.Contains(err.Error(), "give the composition") {
		t.Errorf("%v", err)
	}
}
