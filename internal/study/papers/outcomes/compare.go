package outcomes

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// Compare writes, of each task and each other arm, how campaigns of this program
// differ from that arm's over the seeds that both have: of log₁₀ of what the
// hypervolume lacks of the greatest, at the end and in the mean along the
// campaign, with 95 % intervals of the paired difference; below 0 is better. Last
// comes how many times the processor time of a suggestion the other arm takes.
// Where something is required, it says when the first experiment kept it, and how far
// the probabilities of this program's decisions came true.
func Compare(ours, others []Course) (lines []string) {
	var tasks, arms []string
	for _, c := range ours {
		if !slices.Contains(tasks, c.Task) {
			tasks = append(tasks, c.Task)
		}
	}
	for _, c := range others {
		if !slices.Contains(arms, c.Arm) {
			arms = append(arms, c.Arm)
		}
	}
	for _, task := range tasks {
		for _, arm := range arms {
			if line := compare(ours, others, task, arm); line != "" {
				lines = append(lines, line)
			}
		}
		if t, _ := Lookup(task); t.bounded() {
			lines = append(lines, t.calibration(ours))
		}
	}
	return lines
}

// calibration compares how probable it was that experiments keep what is required
// with what came: the mean of both, and the Brier score and that of always saying
// the share that came.
func (t Task) calibration(ours []Course) string {
	var said, came, brier, n float64
	for _, c := range ours {
		if c.Task != t.Name {
			continue
		}
		for i, p := range c.Feasible {
			kept := 0.0
			if t.keeps(c.Values[t.Initial+i]) {
				kept = 1
			}
			said, came, brier, n = said+p, came+kept, brier+(p-kept)*(p-kept), n+1
		}
	}
	share := came / n
	return fmt.Sprintf("%s: said to be feasible %.3f, were %.3f of %.0f; Brier score %.3f, of the share alone %.3f",
		t.Name, said/n, share, n, brier/n, share*(1-share))
}

// first is the number of the first experiment that keeps what is required; one more
// than there are where none does.
func (t Task) first(c Course) float64 {
	if i := slices.IndexFunc(c.Values, t.keeps); i >= 0 {
		return float64(i + 1)
	}
	return float64(t.Experiments + 1)
}

// compare compares the campaigns of one task with those of one arm; "" where no
// seed has both.
func compare(ours, others []Course, task, arm string) string {
	var end, along, first []float64
	t, _ := Lookup(task)
	var own, their, spent, theirs float64
	for _, c := range ours {
		i := slices.IndexFunc(others, func(o Course) bool {
			return o.Task == task && o.Arm == arm && o.Seed == c.Seed
		})
		if c.Task != task || i < 0 {
			continue
		}
		a, b := t.lacks(c), t.lacks(others[i])
		end = append(end, a[len(a)-1]-b[len(b)-1])
		along = append(along, stat.Mean(a, nil)-stat.Mean(b, nil))
		first = append(first, t.first(c)-t.first(others[i]))
		own, their = own+a[len(a)-1], their+b[len(b)-1]
		spent += stat.Mean(c.SearchSeconds, nil)
		theirs += mean(others[i].FitSeconds) + mean(others[i].SearchSeconds)
	}
	n := float64(len(end))
	if n == 0 {
		return ""
	}
	line := fmt.Sprintf("%s, %s, %d seeds: %.3f and %.3f at the end: %s; along the campaign %s",
		task, arm, len(end), own/n, their/n, interval(end), interval(along))
	if t.bounded() {
		line += "; first feasible " + interval(first) + " experiments later"
	}
	if theirs > 0 && spent > 0 {
		line += fmt.Sprintf("; %.2f and %.2f s a suggestion: %.0f times", spent/n, theirs/n, theirs/spent)
	}
	return line
}

// lacks is log₁₀ of what the hypervolume lacks of the greatest, after the start and
// after each further experiment.
func (t Task) lacks(c Course) []float64 {
	values := make([]float64, len(c.Hypervolume))
	for i, v := range c.Hypervolume {
		values[i] = math.Log10(t.Greatest() - v)
	}
	return values
}

// mean is 0 of nothing.
func mean(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	return stat.Mean(values, nil)
}

// interval writes the mean of paired differences with its 95 % interval, by
// Student's distribution.
func interval(differences []float64) string {
	n := float64(len(differences))
	middle, sd := stat.MeanStdDev(differences, nil)
	if n < 2 {
		return fmt.Sprintf("%+.3f", middle)
	}
	half := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: n - 1}.Quantile(0.975) * sd / math.Sqrt(n)
	return fmt.Sprintf("%+.3f [%+.3f, %+.3f]", middle, middle-half, middle+half)
}
