package simulate

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/campaignd/campaignd/events/definition"
)

// courses are campaigns with the given regrets after one initial experiment, for the seeds 1, 2, …
func courses(regrets ...[]float64) (results []*Result) {
	for i, course := range regrets {
		r := &Result{Seed: uint64(i + 1), Trajectory: Trajectory{{Regret: 100}}}
		for _, v := range course {
			r.Trajectory = append(r.Trajectory, Step{Regret: v})
		}
		results = append(results, r)
	}
	return results
}

func contest(arms ...[]*Result) TaskSummary {
	t := TaskSummary{Task: &Task{Truth: Truth{Best: 0, Worst: 100, Sought: definition.Objective{Goal: definition.Minimize}}}}
	for _, results := range arms {
		t.Arms = append(t.Arms, ArmSummary{Results: results})
		t.initial = append(t.initial, 1)
		t.Seeds = make([]uint64, len(results))
	}
	return t
}

// Law: the regret along a campaign is the mean over the experiments after the design; the ratio to the
// baseline is taken seed by seed, wherever the seed stands in the list, and averaged as a logarithm.
//
//	seed        1            2            3
//	baseline    4 2 → 3      8 8 → 8      1 0 → ½
//	arm         4 2 → 3      4 0 → 2      4 0 → 2
//	ratio       1            ¼            4          geometric mean 1
//	final       1            1e-4/8       1          1e-4 being a millionth of the range
//
// Median final regret of the baseline 2: the baseline is there after 3, never, 2 experiments (of the
// initial one's 100 counts as one), the arm after 3, 3, 3.
func TestRatiosByHand(t *testing.T) {
	base := courses([]float64{4, 2}, []float64{8, 8}, []float64{1, 0})
	arm := courses([]float64{4, 2}, []float64{4, 0}, []float64{4, 0})
	arm[0], arm[2] = arm[2], arm[0]
	c, logs, _ := contest(base).against(arm, false, 1)
	if math.Abs(c.Along.Mean-1) > 1e-12 || len(logs) != 3 || math.Abs(logs[0]-math.Log(4)) > 1e-12 {
		t.Errorf("along %+v, logarithms %v", c.Along, logs)
	}
	if want := math.Cbrt(1e-4 / 8); math.Abs(c.Final.Mean-want) > 1e-12 {
		t.Errorf("final %v, want %v", c.Final.Mean, want)
	}
	// The logarithms 0, ±log 4 have the standard deviation log 4, and t(0.975, 2) is 4.302653.
	if want := math.Exp(4.302653 * math.Log(4) / math.Sqrt(3)); math.Abs(c.Along.Upper/want-1) > 1e-6 {
		t.Errorf("upper end %v, want %v", c.Along.Upper, want)
	}
	if c.Until != 3 || c.BaseUntil != 3 {
		t.Errorf("%v experiments, the baseline %v, want 3 and 3", c.Until, c.BaseUntil)
	}
}

// Law: the more cells are judged, the wider each interval, so that all of them hold together: with 20 cells
// of pure chance hardly one study in twenty shows a significant cell.
func TestStrictIntervalsHoldTogether(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 0))
	const cells, seeds, studies = 20, 30, 300
	wrong := 0
	for range studies {
		missed := false
		for range cells {
			logs := make([]float64, seeds)
			for i := range logs {
				logs[i] = rng.NormFloat64()
			}
			r := student(logs, 0.05/cells)
			missed = missed || r.Lower > 1 || r.Upper < 1
		}
		if missed {
			wrong++
		}
	}
	// 0.0488 expected: 14.6 ± 3.7 studies.
	if wrong > 29 || wrong < 3 {
		t.Errorf("%d of %d studies of chance have a significant cell", wrong, studies)
	}
}

// Law: the pooled interval is that of the mean over tasks: for normal logarithms of sd s over n seeds of each
// of k tasks its half width is 1.96 s/√(nk), and it holds the truth in about 95 of 100 studies.
func TestPooledIntervals(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 0))
	const tasks, seeds, studies = 5, 40, 200
	held, width := 0, 0.0
	for range studies {
		logs := make([][]float64, tasks)
		for i := range logs {
			for range seeds { // tasks differ, and only their mean is pooled
				logs[i] = append(logs[i], float64(i-2)+0.5*rng.NormFloat64())
			}
		}
		r := pooled(logs)
		width += math.Log(r.Upper/r.Lower) / 2 / studies
		if r.Lower <= 1 && r.Upper >= 1 {
			held++
		}
	}
	if want := 1.96 * 0.5 / math.Sqrt(tasks*seeds); math.Abs(width/want-1) > 0.05 {
		t.Errorf("half width %v, want %v", width, want)
	}
	if held < 180 || held > 199 {
		t.Errorf("%d of %d intervals hold the truth", held, studies)
	}
}

// Law: an arm is not compared with itself, and neither counts as a cell nor weighs in its own pooled ratio.
func TestBaselineOfATask(t *testing.T) {
	a := courses([]float64{5, 3}, []float64{5, 3}) // 3 after three experiments, b after two
	b := courses([]float64{2, 2}, []float64{2, 2})
	first, second := contest(a, b), contest(a, b)
	second.Baseline = 1
	row := contestant{name: "b", results: [][]*Result{b, b}, baseline: []bool{false, true}}
	got := row.compare([]TaskSummary{first, second}, 2)
	if got.Reached != 1 || math.Abs(got.Experiments-2./3) > 1e-12 {
		t.Errorf("on %d tasks it takes %v of the experiments of the baseline", got.Reached, got.Experiments)
	}
	if math.Abs(got.Along.Mean-0.5) > 1e-12 || !got.Tasks[1].Baseline || !math.IsNaN(got.Tasks[1].Along.Mean) {
		t.Errorf("%+v", got)
	}
}
