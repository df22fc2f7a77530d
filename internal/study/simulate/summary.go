package simulate

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/study/studyfile"
)

// Summary compares the arms of a study.
type Summary struct {
	Tasks []TaskSummary
	// Ranks has, for each arm, its mean rank over the tasks: 1 is best. NaN
	// where no task has a result of every arm.
	Ranks []float64
	// Builds are the programs whose results the summary holds.
	Builds []events.Build
	// Ratios compare the whole course of the campaigns over all tasks.
	Ratios Ratios
}

// TaskSummary compares the arms on one task, over the seeds for which every arm
// has a result.
type TaskSummary struct {
	Task  *Task
	Seeds []uint64
	// Missing is the number of seeds that lack a result of some arm.
	Missing int
	// Experiments is the greatest number of steps of a campaign, Steps their kind: "experiment",
	// "comparison", or "step" where arms of both kinds are compared.
	Experiments int
	Steps       string
	// Compares is set where some arm measures nothing.
	Compares bool
	// Anchored is set where some arm's experts compare by anchors.
	Anchored bool
	// Baseline is the index of the arm that the others are compared with.
	Baseline int
	Arms     []ArmSummary
	// initial is the size of each arm's initial design.
	initial []int
}

// ArmSummary is the result of an arm on a task.
type ArmSummary struct {
	Arm *studyfile.Arm
	// Results are the campaigns, by the task's seeds.
	Results []*Result

	// Regret, Recommended and Cumulative are those of the last step.
	Regret, Recommended, Cumulative Mean
	// Difference is that of Regret to the baseline, CumulativeDifference that
	// of Cumulative, seed by seed; nil for the baseline itself.
	Difference, CumulativeDifference *Interval
	// Asked, AskedFirst and AskedLast are the mean numbers of questions: all,
	// and those before the first and last fifth of the experiments after the
	// design.
	Asked, AskedFirst, AskedLast float64
	// Within2 and Within1 count the campaigns whose recommended composition is
	// truly within 2 % and 1 % of the optimum.
	Within2, Within1 int
	// Reached counts the campaigns that came near the optimum: to a simple regret of at most
	// NearShare of the range between the task's worst and best value. Until is the median number of
	// experiments it took; NaN if half of them never did.
	Reached int
	Until   float64
	// Risk is set where the arm's experts compare by anchors.
	Risk *RiskSummary
	// Rank is the mean rank of Regret among the arms, ties sharing theirs.
	Rank float64
	// Seconds are all times to suggest an experiment, those of the initial
	// design left out, sorted.
	Seconds []float64
	// FromLog and FromSurrogate are the shares of the experiments that a
	// store's log and its surrogate answered; both 0 for other tasks.
	FromLog, FromSurrogate float64
	// Curves over the experiments.
	RegretCurve, RecommendedCurve, CumulativeCurve, AskedCurve, TrustCurve, HelpsCurve []Mean
}

// NearShare is the share of the range within which a regret counts as near.
const NearShare = 0.01

// Mean is a mean over seeds and its standard error s/√n, which is NaN for one seed. N is 0 with
// nothing to average.
type Mean struct {
	N        int
	Mean, SE float64
}

// Interval is the mean of paired differences over n seeds, with the interval
// that holds the true one with 95 % confidence by Student's t with n − 1
// degrees of freedom; unbounded for one seed.
type Interval struct {
	Mean, Lower, Upper float64
	// Better and Worse count the seeds with a negative and a positive
	// difference.
	Better, Worse int
}

// Summarize compares the arms by the present results.
//
// It may be called while campaigns are missing: seeds without a result of every arm are left out,
// and counted in Missing.
func (s *Study) Summarize(results *Results) Summary {
	var out Summary
	for i, t := range s.Tasks {
		task := s.summarizeTask(i, t, results)
		out.Tasks = append(out.Tasks, task)
		for _, a := range task.Arms {
			for _, r := range a.Results {
				if !slices.Contains(out.Builds, r.Build) {
					out.Builds = append(out.Builds, r.Build)
				}
			}
		}
	}
	for j := range s.Arms {
		sum, n := 0.0, 0
		for _, t := range out.Tasks {
			if len(t.Seeds) > 0 {
				sum, n = sum+t.Arms[j].Rank, n+1
			}
		}
		out.Ranks = append(out.Ranks, sum/float64(n))
	}
	out.Ratios = s.ratios(out.Tasks, results)
	return out
}

// Words are those of all tasks together: of a trade-off where each is one.
func (s Summary) Words() Words {
	for _, t := range s.Tasks {
		if t.Task.Truth.Front == nil {
			return t.Task.Truth.Words()
		}
	}
	return Truth{Front: new(Front)}.Words()
}

// summarizeTask compares the arms on a task. Only seeds with a result of every arm count, so that
// differences are paired.
func (s *Study) summarizeTask(task int, t *Task, results *Results) TaskSummary {
	out := TaskSummary{Task: t, Baseline: t.source.Baseline, Arms: make([]ArmSummary, len(s.Arms))}
	bySeed := make([][]*Result, s.File.Seeds.Count) // then by arm
	definitions := make([]definition.Campaign, len(s.Arms))
	for _, u := range s.Units {
		if u.Task == task {
			k := u.Seed - s.File.Seeds.First
			bySeed[k] = append(bySeed[k], results.Get(u.Key))
			definitions[u.Arm] = u.Definition
		}
	}
	out.Steps = "experiment"
	comparing := 0
	for j := range s.Arms {
		out.Arms[j].Arm = &s.Arms[j]
		if !definitions[j].Policy.Measures() {
			comparing++
		}
	}
	if comparing > 0 {
		out.Steps, out.Compares = "step", true
	}
	if comparing == len(s.Arms) {
		out.Steps = "comparison"
	}
	for k, row := range bySeed {
		if slices.Contains(row, nil) {
			out.Missing++
			continue
		}
		out.Seeds = append(out.Seeds, s.File.Seeds.First+uint64(k))
		regrets := make([]float64, len(row))
		for j, r := range row {
			out.Arms[j].Results = append(out.Arms[j].Results, r)
			out.Experiments = max(out.Experiments, len(r.Trajectory))
			regrets[j] = last(r).Regret
		}
		for j, rank := range ranks(regrets) {
			out.Arms[j].Rank += rank
		}
	}
	for j := range out.Arms {
		if Anchored(definitions[j]) {
			initial, _ := Extent(definitions[j])
			out.Anchored, out.Arms[j].Risk = true, summarizeRisk(out.Arms[j].Results, initial,
				out.Experiments)
		}
	}
	for j := range out.Arms {
		a := &out.Arms[j]
		a.Rank /= float64(len(out.Seeds))
		a.summarize(t, definitions[j], out.Experiments)
		first, _ := Extent(definitions[j])
		out.initial = append(out.initial, first)
		if j != out.Baseline {
			base := out.Arms[out.Baseline].Results
			a.Difference = paired(a.Results, base, func(r *Result) float64 { return last(r).Regret })
			a.CumulativeDifference = paired(a.Results, base,
				func(r *Result) float64 { return last(r).Cumulative })
			a.Risk.compare(out.Arms[out.Baseline].Risk)
		}
	}
	return out
}

// Extent returns how many steps a campaign's initial design has, and its
// budget: experiments, or comparisons where nothing is measured. The definition
// must be complete.
func Extent(def definition.Campaign) (initial, budget int) {
	if !def.Measures() {
		return *def.Initial.Comparisons * len(def.Experts), def.Budget.Comparisons
	}
	return *def.Initial.Experiments * max(1, def.Replicates), def.Budget.Experiments
}

// last returns a campaign's last step. Without a step all regrets are NaN.
func last(r *Result) Step {
	if len(r.Trajectory) == 0 {
		return Step{Regret: math.NaN(), Recommended: math.NaN(), Cumulative: math.NaN()}
	}
	return r.Trajectory[len(r.Trajectory)-1]
}

// summarize fills in the means and curves of an arm over its campaigns. Within2
// and Within1 are shares of the optimum's size, which means nothing for an
// optimum of 0.
func (a *ArmSummary) summarize(t *Task, def definition.Campaign, experiments int) {
	column := func(f func(*Result) float64) []float64 {
		values := make([]float64, len(a.Results))
		for i, r := range a.Results {
			values[i] = f(r)
		}
		return values
	}
	a.Regret = mean(column(func(r *Result) float64 { return last(r).Regret }))
	a.Recommended = mean(column(func(r *Result) float64 { return last(r).Recommended }))
	a.Cumulative = mean(column(func(r *Result) float64 { return last(r).Cumulative }))

	first, budget := Extent(def)
	fifth := max(0, budget-first) / 5
	a.Asked = mean(column(func(r *Result) float64 { return float64(last(r).Asked) })).Mean
	a.AskedFirst = mean(column(func(r *Result) float64 { return float64(askedBy(r, first+fifth)) })).Mean
	a.AskedLast = mean(column(func(r *Result) float64 {
		return float64(last(r).Asked - askedBy(r, budget-fifth))
	})).Mean

	log := 0
	surrogate := 0
	all := 0
	for _, r := range a.Results {
		off := last(r).Recommended / math.Abs(t.Truth.Best)
		if off <= 0.02 {
			a.Within2++
		}
		if off <= 0.01 {
			a.Within1++
		}
		for _, step := range r.Trajectory {
			all++
			switch step.Source {
			case fromLog:
				log++
			case fromSurrogate:
				surrogate++
			}
		}
		if first < len(r.Seconds) {
			a.Seconds = append(a.Seconds, r.Seconds[first:]...)
		}
	}
	slices.Sort(a.Seconds)
	a.until(NearShare * t.Truth.Regret(t.Truth.Worst))
	if all > 0 {
		a.FromLog, a.FromSurrogate = float64(log)/float64(all), float64(surrogate)/float64(all)
	}
	curve := func(f func(Step) float64) []Mean { return curve(a.Results, experiments, f) }
	a.RegretCurve = curve(func(s Step) float64 { return s.Regret })
	a.RecommendedCurve = curve(func(s Step) float64 { return s.Recommended })
	a.CumulativeCurve = curve(func(s Step) float64 { return s.Cumulative })
	a.AskedCurve = curve(func(s Step) float64 { return float64(s.Asked) })
	known := func(x *float64) float64 {
		if x == nil {
			return math.NaN()
		}
		return *x
	}
	a.TrustCurve = curve(func(s Step) float64 { return known(s.Trust) })
	a.HelpsCurve = curve(func(s Step) float64 { return known(s.Helps) })
}

// curve is the mean of f over campaigns after each of n steps. A campaign that
// ended earlier keeps its last value, so that the mean is over the same
// campaigns everywhere.
func curve(results []*Result, n int, f func(Step) float64) []Mean {
	means := make([]Mean, n)
	for i := range means {
		values := make([]float64, len(results))
		for k, r := range results {
			values[k] = math.NaN()
			if len(r.Trajectory) > 0 {
				values[k] = f(r.Trajectory[min(i, len(r.Trajectory)-1)]) // it stays where it ended
			}
		}
		means[i] = mean(values)
	}
	return means
}

// until finds when the campaigns came within a simple regret. Campaigns that never did count as
// infinitely long, so that the median is not one of the lucky ones.
func (a *ArmSummary) until(regret float64) {
	var first []float64
	for _, r := range a.Results {
		i := slices.IndexFunc(r.Trajectory, func(s Step) bool { return s.Regret <= regret })
		if i >= 0 {
			a.Reached++
			first = append(first, float64(i+1))
		} else {
			first = append(first, math.Inf(1))
		}
	}
	slices.Sort(first)
	a.Until = Quantile(0.5, first)
	if math.IsInf(a.Until, 1) {
		a.Until = math.NaN()
	}
}

// askedBy counts the questions before the first n experiments had been requested. A campaign that
// ended earlier has asked all its questions.
func askedBy(r *Result, n int) int {
	if n < 1 || len(r.Trajectory) == 0 {
		return 0
	}
	return r.Trajectory[min(n, len(r.Trajectory))-1].Asked
}

// mean averages the numbers. NaN stands for a campaign without a value; N counts those with one.
func mean(values []float64) Mean {
	values = slices.DeleteFunc(slices.Clone(values), math.IsNaN)
	n := len(values)
	if n == 0 {
		return Mean{Mean: math.NaN(), SE: math.NaN()}
	}
	m, sd := stat.MeanStdDev(values, nil)
	return Mean{N: n, Mean: m, SE: sd / math.Sqrt(float64(n))}
}

// paired is the mean difference of f over common seeds, with its interval. Both have the same seeds
// in the same order: the difficulty of a seed cancels out.
func paired(a, b []*Result, f func(*Result) float64) *Interval {
	differences := make([]float64, len(a))
	for i := range a {
		differences[i] = f(a[i]) - f(b[i])
	}
	return interval(differences)
}

// interval is that of the mean of differences. A difference of 0 counts neither
// as better nor as worse; less is better.
func interval(differences []float64) *Interval {
	out := &Interval{}
	for i := range differences {
		switch {
		case differences[i] < 0:
			out.Better++
		case differences[i] > 0:
			out.Worse++
		}
	}
	m := mean(differences)
	out.Mean = m.Mean
	out.Lower = math.Inf(-1)
	out.Upper = math.Inf(1)
	if m.N > 1 {
		half := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: float64(m.N - 1)}.Quantile(0.975) * m.SE
		out.Lower, out.Upper = m.Mean-half, m.Mean+half
	}
	return out
}

// ranks returns the rank of each value, 1 for the smallest; equal ones share
// the mean of theirs.
func ranks(values []float64) []float64 {
	order := make([]int, len(values))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(values[i], values[j]) })
	out := make([]float64, len(values))
	for from := 0; from < len(order); {
		to := from + 1
		for to < len(order) && values[order[to]] == values[order[from]] {
			to++
		}
		for _, i := range order[from:to] {
			out[i] = float64(from+1+to) / 2
		}
		from = to
	}
	return out
}

// Quantile returns the quantile of sorted values; NaN for none. It is one of the values and never
// between two: the median of campaigns is a campaign, even if some never succeeded and count as
// infinite.
func Quantile(p float64, sorted []float64) float64 {
	if len(sorted) == 0 {
		return math.NaN()
	}
	return stat.Quantile(p, stat.Empirical, sorted, nil)
}
