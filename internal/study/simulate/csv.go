package simulate

import (
	"encoding/csv"
	"io"
	"math"
	"slices"
	"strconv"

	"github.com/campaignd/campaignd/internal/study/studyfile"
)

// WriteExperiments writes a row for each experiment of each campaign, in the order of tasks, arms
// and seeds. It holds no measured time: equal studies give equal files. Studies with anchored
// experts have further columns, and those of trade-offs the covered hypervolume; all other numbers
// are per cents of its greatest value. Numbers have all their digits, so that another program
// computes from the file the same results as this one.
func (s Summary) WriteExperiments(w io.Writer) error {
	header := []string{
		"task", "policy", "expert", "arm", "seed", "experiment", "unit",
		"measured", "true", "best", "simple_regret", "cumulative_regret", "recommended_regret",
		"asked", "lambda", "helps", "source",
	}
	anchored := s.anchored()
	if anchored {
		header = append(header, "risk_adjusted", "risk_adjusted_compared", "queried_noise")
	}
	fronts := s.fronts()
	if fronts {
		header = append(header, "hypervolume")
	}
	t := newCSV(w, header...)
	s.each(func(task TaskSummary, a ArmSummary, r *Result) {
		for i, step := range r.Trajectory {
			row := []any{
				task.Task.Name, a.Arm.Policy.Name, a.Arm.Panel.Name, a.Arm.Name, r.Seed, i + 1,
				task.Task.Truth.Sought.Unit, orNaN(step.Measured), step.True, step.Best,
				step.Regret, step.Cumulative, step.Recommended, step.Asked,
				orNaN(step.Trust), orNaN(step.Helps), step.Source,
			}
			if anchored {
				row = append(row, step.Risk.adjusted(), step.Risk.best(), step.Risk.queried())
			}
			if fronts {
				row = append(row, task.Task.Truth.Front.volume(step.Regret))
			}
			t.row(row...)
		}
	})
	return t.flush()
}

// orNaN returns the value of x, NaN for nil. A cell of NaN is left empty: 0 would be a value.
func orNaN(x *float64) float64 {
	if x == nil {
		return math.NaN()
	}
	return *x
}

// WriteTimes writes the time of each suggestion, in seconds, also for other programs. Times have a
// file of their own, since they are the only numbers that differ from run to run.
func (s Summary) WriteTimes(w io.Writer) error {
	t := newCSV(w, "task", "policy", "expert", "arm", "seed", "experiment", "seconds")
	s.each(func(task TaskSummary, a ArmSummary, r *Result) {
		for i, seconds := range r.Seconds {
			t.row(task.Task.Name, a.Arm.Policy.Name, a.Arm.Panel.Name, a.Arm.Name, r.Seed, i+1, seconds)
		}
	})
	for _, a := range s.Ratios.Arms {
		for _, results := range a.Peer {
			for _, r := range results {
				for i, seconds := range r.Seconds {
					t.row(r.Task, r.Arm, studyfile.NoExpert, r.Arm, r.Seed, i+1, seconds)
				}
			}
		}
	}
	return t.flush()
}

// WriteSummary writes a row for each task and arm. It holds no measured time.
//
// The columns of anchored experts come last and only where a study has any, so
// that other studies keep their header.
func (s Summary) WriteSummary(w io.Writer) error {
	header := []string{
		"task", "policy", "expert", "arm", "unit", "seeds",
		"simple_regret", "simple_regret_se", "difference", "difference_lower", "difference_upper",
		"seeds_better", "seeds_worse",
		"cumulative_regret", "cumulative_regret_se", "cumulative_difference",
		"cumulative_difference_lower", "cumulative_difference_upper",
		"recommended_regret", "recommended_regret_se", "rank",
		"near", "experiments_until_near", "asked", "asked_first_fifth", "asked_last_fifth",
		"within_2_percent", "within_1_percent", "from_log", "from_surrogate",
	}
	anchored := s.anchored()
	if anchored {
		header = append(header,
			"risk_adjusted", "risk_adjusted_se", "risk_adjusted_difference",
			"risk_adjusted_difference_lower", "risk_adjusted_difference_upper",
			"risk_adjusted_compared", "risk_adjusted_compared_se",
			"queried_noise", "queried_noise_se", "queried_noise_difference",
			"queried_noise_difference_lower", "queried_noise_difference_upper")
	}
	columns, fronts := len(header), s.fronts()
	if fronts {
		header = append(header, "hypervolume", "greatest_hypervolume")
	}
	t := newCSV(w, header...)
	for _, task := range s.Tasks {
		for _, a := range task.Arms {
			row := []any{task.Task.Name, a.Arm.Policy.Name, a.Arm.Panel.Name, a.Arm.Name,
				task.Task.Truth.Sought.Unit, len(task.Seeds), a.Regret.Mean, a.Regret.SE}
			if d := a.Difference; d != nil {
				row = append(row, d.Mean, d.Lower, d.Upper, d.Better, d.Worse)
			} else {
				row = append(row, "", "", "", "", "")
			}
			row = append(row, a.Cumulative.Mean, a.Cumulative.SE)
			row = append(row, a.CumulativeDifference.cells()...)
			row = append(row, a.Recommended.Mean, a.Recommended.SE, a.Rank, a.Reached, a.Until, a.Asked,
				a.AskedFirst, a.AskedLast, a.Within2, a.Within1)
			if task.Task.Kind == Store {
				row = append(row, a.FromLog, a.FromSurrogate)
			} else {
				row = append(row, "", "")
			}
			if r := a.Risk; r != nil {
				row = append(row, r.Adjusted.Mean, r.Adjusted.SE)
				row = append(row, r.AdjustedDifference.cells()...)
				row = append(row, r.Best.Mean, r.Best.SE, r.Queried.Mean, r.Queried.SE)
				row = append(row, r.QueriedDifference.cells()...)
			} else if anchored {
				row = append(row, slices.Repeat([]any{""}, columns-len(row))...)
			}
			if fronts {
				front := task.Task.Truth.Front
				row = append(row, front.volume(a.Regret.Mean), front.volume(0))
			}
			t.row(row...)
		}
	}
	return t.flush()
}

// cells are the mean and the ends of an interval; empty without one.
func (d *Interval) cells() []any {
	if d == nil {
		return []any{"", "", ""}
	}
	return []any{d.Mean, d.Lower, d.Upper}
}

// anchored reports whether some arm's experts compare by anchors. One such task
// gives all files of the study their columns: a file has one header.
func (s Summary) anchored() bool {
	return slices.ContainsFunc(s.Tasks, func(t TaskSummary) bool { return t.Anchored })
}

// fronts reports whether some task is a trade-off.
func (s Summary) fronts() bool {
	return slices.ContainsFunc(s.Tasks, func(t TaskSummary) bool { return t.Task.Truth.Front != nil })
}

// volume returns the hypervolume at a missing percentage of the greatest one; NaN without a front.
func (f *Front) volume(missing float64) float64 {
	if f == nil {
		return math.NaN()
	}
	return f.Hypervolume * (1 - missing/100)
}

// each visits the compared campaigns, in the order of the tables. No file contains seeds without a
// result of every arm.
func (s Summary) each(f func(TaskSummary, ArmSummary, *Result)) {
	for _, task := range s.Tasks {
		for _, a := range task.Arms {
			for _, r := range a.Results {
				f(task, a, r)
			}
		}
	}
}

// csvTable writes rows as CSV; the first error stays until flush. A caller
// writes all rows and looks at the error once.
type csvTable struct {
	w   *csv.Writer
	err error
}

// newCSV begins a table. Errors are kept until flush, so that rows are written without checks.
func newCSV(w io.Writer, header ...string) *csvTable {
	t := &csvTable{w: csv.NewWriter(w)}
	t.err = t.w.Write(header)
	return t
}

// row writes strings, whole numbers and numbers, these with all their digits; NaN and infinities
// are left empty. A cell of another type stays empty.
func (t *csvTable) row(cells ...any) {
	text := make([]string, len(cells))
	for i, cell := range cells {
		switch c := cell.(type) {
		case string:
			text[i] = c
		case int:
			text[i] = strconv.Itoa(c)
		case uint64:
			text[i] = strconv.FormatUint(c, 10)
		case float64:
			if !math.IsNaN(c) && !math.IsInf(c, 0) {
				text[i] = strconv.FormatFloat(c, 'g', -1, 64)
			}
		}
	}
	if t.err == nil {
		t.err = t.w.Write(text)
	}
}

// flush ends the table, and returns the first error.
func (t *csvTable) flush() error {
	t.w.Flush()
	if t.err != nil {
		return t.err
	}
	return t.w.Error()
}
