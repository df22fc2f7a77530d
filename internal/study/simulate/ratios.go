package simulate

import (
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"gonum.org/v1/gonum/stat/distuv"
)

// Ratios compare arms over all tasks by the mean regret along the campaign, that is the mean of
// simple regret over the steps after the initial design, as a ratio to each task's baseline, seed
// by seed. A ratio below 1 is a gain. Regrets of tasks have different units and spread over orders
// of magnitude: means of logarithms, geometric means of ratios, weigh tasks alike.
type Ratios struct {
	// Cells is the number of comparisons with a baseline, one for each of the
	// study's arms on each task.
	Cells int
	// Arms are those of the study, then its peers: other programs from the same
	// starts, whose cells are counted among themselves.
	Arms []ArmRatios
}

// ArmRatios is an arm in comparison with the baseline of each task.
type ArmRatios struct {
	Arm string
	// Along is pooled over the tasks on which the arm is not the baseline,
	// Final the same of the regret at the end. Their intervals hold the true
	// ratio with 95 % confidence by the bootstrap: seeds are drawn anew within
	// each task.
	Along, Final Ratio
	// Experiments is the geometric mean of Until/BaseUntil over the Reached tasks on which half of
	// the campaigns came to the baseline's final regret; NaN without such a task.
	Experiments float64
	Reached     int
	// Tasks are in the study's order.
	Tasks []TaskRatios
	// Peer is set of arms that other programs have run, and has their results
	// by task.
	Peer [][]*Result
}

// TaskRatios is an arm in comparison with the baseline of a task.
type TaskRatios struct {
	// Baseline is set if the arm is the task's baseline itself; then only Until is set.
	Baseline bool
	// Seeds is the number of seeds with a campaign of both.
	Seeds int
	// Along and Final have intervals of 95 % by Student's t of the logarithms,
	// one cell at a time.
	Along, Final Ratio
	// Strict is the interval of Along that all cells together hold with 95 %
	// confidence (Bonferroni).
	Strict Ratio
	// Until is the median number of experiments until the regret was at most the median final
	// regret of the baseline, BaseUntil that of the baseline itself; NaN if half of the campaigns
	// never got there.
	Until, BaseUntil float64
}

// Ratio is a geometric mean of ratios with an interval; NaN with nothing to compare, and unbounded
// for one seed.
type Ratio struct{ Mean, Lower, Upper float64 }

// leastShare is the share of a task's range of values below which regrets count as equal: a ratio
// of two values near 0 is meaningless.
const leastShare = 1e-6

// The bootstrap has a seed of its own, so that equal results give equal
// intervals.
const (
	resamples     = 2000
	bootstrapSeed = 1
)

// along is the mean simple regret over the steps after the first n, at least
// least. The initial design is left out: it is the same for all arms and would
// dilute the ratio. A campaign that ends early has fewer steps.
func along(r *Result, n int, least float64) float64 {
	steps := r.Trajectory[min(n, len(r.Trajectory)):]
	sum := 0.0
	for _, s := range steps {
		sum += s.Regret
	}
	return math.Max(sum/float64(len(steps)), least)
}

// ratios compares the arms. Peers are compared with the same baselines, but their cells are counted
// separately: adding a peer does not change the results of the study's own arms.
func (s *Study) ratios(tasks []TaskSummary, results *Results) (out Ratios) {
	rows := make([]contestant, 0, len(s.Arms))
	for j := range s.Arms {
		row := contestant{name: s.Arms[j].Name}
		for _, t := range tasks {
			row.results = append(row.results, t.Arms[j].Results)
			row.baseline = append(row.baseline, t.Baseline == j)
		}
		rows = append(rows, row)
	}
	out.Cells = cells(rows)
	for _, row := range rows {
		out.Arms = append(out.Arms, row.compare(tasks, out.Cells))
	}
	peers := s.peers(results)
	for _, row := range peers {
		compared := row.compare(tasks, cells(peers))
		compared.Peer = row.results
		out.Arms = append(out.Arms, compared)
	}
	return out
}

// cells counts the comparisons with a baseline. A strict interval is widened by their number.
func cells(rows []contestant) (n int) {
	for _, row := range rows {
		for i, results := range row.results {
			if !row.baseline[i] && len(results) > 0 {
				n++
			}
		}
	}
	return n
}

// peers returns the results of other programs from the starts of this study, by their own names of
// arms. A campaign that is in the file twice counts once, by its first result.
func (s *Study) peers(results *Results) (rows []contestant) {
	starts := make(map[string]int) // the task's index
	for _, start := range s.Starts() {
		starts[start.Key] = slices.Index(s.Tasks, start.Task)
	}
	seen := make(map[string]bool)
	for _, r := range results.peers {
		i, ours := starts[strings.TrimPrefix(r.Key, r.Arm+" ")]
		if !ours || seen[r.Key] {
			continue // of other seeds, or of an earlier version of the study
		}
		seen[r.Key] = true
		k := slices.IndexFunc(rows, func(c contestant) bool { return c.name == r.Arm })
		if k < 0 {
			k = len(rows)
			rows = append(rows, contestant{r.Arm, make([][]*Result, len(s.Tasks)),
				make([]bool, len(s.Tasks))})
		}
		rows[k].results[i] = append(rows[k].results[i], r)
	}
	return rows
}

// contestant is an arm that is compared: its results by task, and whether it is
// the task's baseline.
type contestant struct {
	name     string
	results  [][]*Result
	baseline []bool
}

// compare pools the tasks on which the contestant is not the baseline itself.
func (c contestant) compare(tasks []TaskSummary, cells int) ArmRatios {
	out := ArmRatios{Arm: c.name}
	var along, final [][]float64 // logarithms of ratios, by task and seed
	experiments := 0.0
	for i, t := range tasks {
		cell, a, f := t.against(c.results[i], c.baseline[i], cells)
		out.Tasks = append(out.Tasks, cell)
		if len(a) > 0 {
			along, final = append(along, a), append(final, f)
			if !math.IsNaN(cell.Until) {
				experiments += math.Log(cell.Until / cell.BaseUntil)
				out.Reached++
			}
		}
	}
	out.Experiments = math.Exp(experiments / float64(out.Reached))
	out.Along, out.Final = pooled(along), pooled(final)
	return out
}

// against compares campaigns with the task's baseline, seed by seed, and returns the logarithms of
// the ratios.
//
// A seed counts if both have a campaign with it. Regrets are bounded below by leastShare of the
// task's range, to avoid logarithms of zero.
func (t TaskSummary) against(
	results []*Result, baseline bool, cells int,
) (out TaskRatios, inTotal, atEnd []float64) {
	out = TaskRatios{Baseline: baseline}
	base := t.Arms[t.Baseline].Results
	truth := t.Task.Truth
	least := leastShare * truth.Regret(truth.Worst)
	var own, others []*Result
	for _, r := range results {
		if k := slices.IndexFunc(base, func(b *Result) bool { return b.Seed == r.Seed }); k >= 0 &&
			len(r.Trajectory) > 0 {
			own, others = append(own, r), append(others, base[k])
		}
	}
	out.Seeds = len(own)
	if len(own) == 0 {
		out.Until, out.BaseUntil = math.NaN(), math.NaN()
		out.Along = none
		out.Final = none
		out.Strict = none
		return out, nil, nil
	}
	initial := t.initial[t.Baseline]
	target := make([]float64, len(others))
	for k, b := range others {
		target[k] = last(b).Regret
		inTotal = append(inTotal, math.Log(along(own[k], initial, least)/along(b, initial, least)))
		atEnd = append(atEnd, math.Log(math.Max(last(own[k]).Regret, least)/math.Max(last(b).Regret, least)))
	}
	slices.Sort(target)
	reach := func(results []*Result) float64 {
		a := ArmSummary{Results: results}
		a.until(Quantile(0.5, target))
		return a.Until
	}
	out.Until, out.BaseUntil = reach(own), reach(others)
	if baseline {
		out.Along = none
		out.Final = none
		out.Strict = none
		return out, nil, nil
	}
	out.Along, out.Final = student(inTotal, 0.05), student(atEnd, 0.05)
	out.Strict = student(inTotal, 0.05/float64(cells))
	return out, inTotal, atEnd
}

// none is the ratio without data. It is not 1, which would mean that two are alike.
var none = Ratio{math.NaN(), math.NaN(), math.NaN()}

// student is the geometric mean of ratios, given by their logarithms, and its
// interval at the level 1 − alpha by Student's t. Logarithms of ratios are taken
// to be roughly normal over the seeds.
func student(logs []float64, alpha float64) Ratio {
	m := mean(logs)
	out := Ratio{Mean: math.Exp(m.Mean), Lower: 0, Upper: math.Inf(1)}
	if m.N > 1 {
		half := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: float64(m.N - 1)}.Quantile(1-alpha/2) * m.SE
		out.Lower, out.Upper = math.Exp(m.Mean-half), math.Exp(m.Mean+half)
	}
	return out
}

// pooled is the geometric mean over tasks of the geometric means over seeds,
// with the percentile interval of the bootstrap (Efron and Tibshirani 1993,
// §13.3), seeds drawn within each task. Tasks are not drawn: they were chosen
// and are no sample. With one seed on some task nothing is known of its spread,
// and the interval is unbounded.
func pooled(logs [][]float64) Ratio {
	if len(logs) == 0 {
		return none
	}
	center := 0.0
	for _, task := range logs {
		center += mean(task).Mean / float64(len(logs))
	}
	rng := rand.New(rand.NewPCG(bootstrapSeed, 0))
	if slices.ContainsFunc(logs, func(task []float64) bool { return len(task) < 2 }) {
		return Ratio{math.Exp(center), 0, math.Inf(1)}
	}
	drawn := make([]float64, resamples)
	for b := range drawn {
		for _, task := range logs {
			sum := 0.0
			for range task {
				sum += task[rng.IntN(len(task))]
			}
			drawn[b] += sum / float64(len(task)) / float64(len(logs))
		}
	}
	slices.Sort(drawn)
	return Ratio{math.Exp(center), math.Exp(Quantile(0.025, drawn)), math.Exp(Quantile(0.975, drawn))}
}

// WriteRatios writes a row for each arm over all tasks, and one for each of its
// tasks. It holds no measured time. The row of an arm has no task and comes
// before those of its tasks.
func (s Summary) WriteRatios(w io.Writer) error {
	t := newCSV(w, "arm", "task", "baseline", "seeds",
		"along", "along_lower", "along_upper", "along_strict_lower", "along_strict_upper",
		"final", "final_lower", "final_upper", "experiments_until", "baseline_experiments_until",
		"experiments", "tasks_reached")
	for _, a := range s.Ratios.Arms {
		t.row(a.Arm, "", "", "", a.Along.Mean, a.Along.Lower, a.Along.Upper, "", "",
			a.Final.Mean, a.Final.Lower, a.Final.Upper, "", "", a.Experiments, a.Reached)
		for i, c := range a.Tasks {
			task := s.Tasks[i]
			t.row(a.Arm, task.Task.Name, task.Arms[task.Baseline].Arm.Name, c.Seeds,
				c.Along.Mean, c.Along.Lower, c.Along.Upper, c.Strict.Lower, c.Strict.Upper,
				c.Final.Mean, c.Final.Lower, c.Final.Upper, c.Until, c.BaseUntil, "", "")
		}
	}
	return t.flush()
}
