package outcomes

import (
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/campaignd/campaignd/internal/num/qmc"
	"github.com/campaignd/campaignd/internal/study/tasks"
)

// folder has what other optimizers did.
const folder = "../../peers/outcomes/"

// Law: what others recorded is what the problems here give: from the common
// starts, the noiseless values of each point and, with the common noise, the
// measured ones. Of fermentations one in twenty may differ by some thousandths: Euler's
// steps of an hour are unstable where the vessel is nearly empty, and roundings grow.
func TestRecordedCourses(t *testing.T) {
	starts := readStarts(t)
	courses := readCourses(t)
	grown, fermented := 0, 0
	for _, c := range courses {
		task, _ := Lookup(c.Task)
		start, ok := starts.Of(task, c.Seed)
		if !ok || !slices.EqualFunc(start, c.Points[:task.Initial], slices.Equal) {
			t.Errorf("%s, %s, seed %d does not begin with the start", c.Task, c.Arm, c.Seed)
		}
		for i, u := range c.Points {
			values, err := task.Values(u)
			if err != nil {
				t.Fatal(err)
			}
			if c.Task == "penicillin" {
				if fermented++; !near(c.Values[i], values, 1e-9) && near(c.Values[i], values, 5e-3) {
					grown++
					continue
				}
			}
			same(t, c, i, "true", c.Values[i], values)
			if task.Noise != nil {
				same(t, c, i, "measured", c.Measured[i], task.Measured(c.Seed, i+1, values))
			}
		}
	}
	if 20*grown > fermented {
		t.Errorf("%d of %d fermentations differ", grown, fermented)
	}
	t.Logf("%d campaigns", len(courses))
}

// near reports whether quantities agree to a tolerance, of great ones a relative one.
func near(got, want []float64, tolerance float64) bool {
	return slices.EqualFunc(got, want, func(g, w float64) bool {
		return math.Abs(g-w) <= tolerance*max(1, math.Abs(w))
	})
}

// same compares the quantities of an experiment: recorded ones have ten digits.
func same(t *testing.T, c Course, i int, what string, got, want []float64) {
	t.Helper()
	for k := range want {
		if !near(got[k:k+1], want[k:k+1], 1e-9) {
			t.Errorf("%s, %s, seed %d, experiment %d: %s quantity %d is %v, want %v",
				c.Task, c.Arm, c.Seed, i+1, what, k+1, got[k], want[k])
		}
	}
}

// Law: a recorded hypervolume is that of the noiseless feasible values so far.
// With two objectives it is a sum of strips.
func TestRecordedHypervolumes(t *testing.T) {
	for _, c := range readCourses(t) {
		task, _ := Lookup(c.Task)
		if task.Whole != nil || len(task.Problem.Objectives) != 2 {
			continue
		}
		for i, want := range c.Hypervolume {
			if got := strips(task.Problem, c.Values[:task.Initial+i]); math.Abs(got-want) > 1e-8*task.Problem.Hypervolume {
				t.Errorf("%s, %s, seed %d, after %d: %v in strips, recorded %v", c.Task, c.Arm, c.Seed, task.Initial+i, got, want)
			}
		}
	}
}

// Law: of a whole, what is recorded is the best noiseless value so far, and the
// greatest is nowhere exceeded, and is taken where a search found it.
func TestRecordedWholes(t *testing.T) {
	for _, c := range readCourses(t) {
		task, _ := Lookup(c.Task)
		if task.Whole == nil {
			continue
		}
		for i, want := range c.Hypervolume {
			var all []float64
			for _, v := range c.Values[:task.Initial+i] {
				all = append(all, task.Whole.Of(v))
			}
			if got := slices.Max(all); math.Abs(got-want) > 1e-8 {
				t.Errorf("%s, %s, seed %d, after %d: %v, recorded %v", c.Task, c.Arm, c.Seed, task.Initial+i, got, want)
			}
		}
	}
	for _, task := range Tasks() {
		if task.Whole == nil {
			continue
		}
		of := func(u []float64) float64 {
			values, err := task.Values(u)
			if err != nil {
				t.Fatal(err)
			}
			return task.Whole.Of(values)
		}
		// And a little to both sides: on a bound rounding decides.
		greatest, near := of(task.Whole.Best), slices.Clone(task.Whole.Best)
		for _, step := range []float64{-1e-9, 1e-9} {
			near[0] = task.Whole.Best[0] + step
			greatest = max(greatest, of(near))
		}
		if math.Abs(greatest-task.Greatest()) > 1e-6 {
			t.Errorf("%s: %v at %v, greatest %v", task.Name, greatest, task.Whole.Best, task.Greatest())
		}
		sobol, err := qmc.New(3)
		if err != nil {
			t.Fatal(err)
		}
		for _, u := range sobol.Points(1 << 14) {
			if got := of(u); got > task.Greatest() {
				t.Errorf("%s: %v at %v", task.Name, got, u)
			}
		}
	}
}

// strips is the area between the reference point and the feasible values of two
// minimized objectives: from left to right, each that is lower than all before
// adds what lies between.
func strips(problem tasks.Tradeoff, values [][]float64) float64 {
	right, top := problem.Objectives[0].Worst, problem.Objectives[1].Worst
	var inside [][]float64
	for _, v := range values {
		if problem.Feasible(v) && v[0] < right && v[1] < top {
			inside = append(inside, v)
		}
	}
	slices.SortFunc(inside, slices.Compare[[]float64])
	var area float64
	for _, v := range inside {
		if v[1] < top {
			area += (right - v[0]) * (top - v[1])
			top = v[1]
		}
	}
	return area
}

// Law: there is a start for each task and seed, inside the unit cube, no two seeds
// of a dimension have the same, and a task takes its number of points.
func TestStarts(t *testing.T) {
	starts := readStarts(t)
	for _, task := range Tasks() {
		var before [][][]float64
		for seed := 1; seed <= task.Seeds; seed++ {
			points, ok := starts.Of(task, seed)
			if !ok {
				t.Fatalf("%s has no start of seed %d", task.Name, seed)
			}
			for _, p := range points {
				if slices.Min(p) < 0 || slices.Max(p) > 1 {
					t.Errorf("%s, seed %d: %v is outside the unit cube", task.Name, seed, p)
				}
			}
			for _, other := range before {
				if slices.Equal(other[0], points[0]) {
					t.Errorf("%s: two seeds begin with %v", task.Name, points[0])
				}
			}
			before = append(before, points)
		}
	}
	task := Tasks()[0]
	rows := slices.Repeat([][]float64{{0.5, 0.5}}, task.Initial+1)
	if points, ok := (Starts{{2, 1}: rows}).Of(task, 1); !ok || len(points) != task.Initial {
		t.Errorf("%d points of %d, want %d", len(points), len(rows), task.Initial)
	}
	if _, ok := (Starts{{2, 1}: rows[2:]}).Of(task, 1); ok {
		t.Error("a start with too few points")
	}
}

// Law: the noise is standard normal, and depends on each of task, seed,
// experiment and quantity.
func TestDeviate(t *testing.T) {
	const n = 20000
	var mean, square, tail float64
	for i := range n {
		z := Deviate("vehicle-safety", 1+i%30, 1+i/30, 2)
		mean += z / n
		square += z * z / n
		if math.Abs(z) > 1.959964 {
			tail += 1.0 / n
		}
	}
	if math.Abs(mean) > 0.02 || math.Abs(square-1) > 0.03 || math.Abs(tail-0.05) > 0.005 {
		t.Errorf("mean %.3f, mean square %.3f, %.3f beyond the 95 %% interval", mean, square, tail)
	}
	// By another implementation, with Python's NormalDist.
	if got, want := Deviate("electrolyte", 2, 9, 1), -0.21990206073417956; math.Abs(got-want) > 1e-13 {
		t.Errorf("%.17g, want %.17g", got, want)
	}
	one := Deviate("electrolyte", 2, 9, 1)
	for _, other := range []float64{
		Deviate("penicillin", 2, 9, 1), Deviate("electrolyte", 3, 9, 1),
		Deviate("electrolyte", 2, 8, 1), Deviate("electrolyte", 2, 9, 2),
	} {
		if other == one {
			t.Errorf("%v twice", one)
		}
	}
}

// Law: a line that is not a campaign's is refused, with its number and a reason.
func TestReadCoursesRefuses(t *testing.T) {
	data, err := os.ReadFile(folder + "courses.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	whole, _, _ := strings.Cut(string(data), "\n")
	for _, c := range []struct{ from, to, want string }{
		{`"task":"branin-currin"`, `"task":"branin"`, "no such task"},
		{`"arm":"qLogNEHVI"`, `"arm":""`, "no arm"},
		{`"seed":1`, `"seed":31`, "seeds are 1 to 30"},
		{`"initial":10`, `"initial":11`, "11 initial experiments, want 10"},
		{`"initial":10`, `"initial":10,"shed":1`, "unknown field"},
		{`"reference":[18.0,6.0]`, `"reference":[18.0,6.5]`, "want [18 6]"},
		{`"points":[[`, `"points":[[0.5,`, "3 points in row 1"},
		{`"values":[[`, `"values":[[1,2],[`, "41 rows of values"},
		{`"values"`, `"measured":[[1,2]],"values"`, "1 rows of measured values, want 0"},
		{`"hypervolume":[`, `"hypervolume":[0,`, "32 hypervolumes, want 31"},
		{`"hypervolume":[0.0`, `"hypervolume":[1000`, "less than the one before"},
		{`"log10_difference":0.`, `"log10_difference":1.`, "of the hypervolume is missing"},
		{`"fit_s":[`, `"fit_s":[1,`, "seconds of 31 suggestions"},
		{`}}`, `}}{}`, "follows the object"},
		{`}}`, "}}\n" + whole, "stands in line 2, too"},
	} {
		bad := strings.Replace(whole, c.from, c.to, 1)
		if bad == whole {
			t.Fatalf("the first line has no %s", c.from)
		}
		other := strings.Replace(whole, `"seed":1`, `"seed":2`, 1)
		_, err := ReadCourses(strings.NewReader(other + "\n" + bad))
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "line ") {
			t.Errorf("%s: %v, want %q", c.to[:min(len(c.to), 40)], err, c.want)
		}
	}
}

// Law: a start that does not fit its dimension, or stands twice, is refused.
func TestReadStartsRefuses(t *testing.T) {
	for _, bad := range []string{
		`{"dimension":2,"seed":1,"points":[[0.5]]}`,
		`{"dimension":1,"seed":1,"points":[[0.5]],"of":3}`,
		"{\"dimension\":1,\"seed\":1,\"points\":[[0.5]]}\n{\"dimension\":1,\"seed\":1,\"points\":[[0.6]]}",
	} {
		if _, err := ReadStarts(strings.NewReader(bad)); err == nil {
			t.Errorf("taken: %s", bad)
		}
	}
}

func readStarts(t *testing.T) Starts {
	t.Helper()
	file, err := os.Open(folder + "starts.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	starts, err := ReadStarts(file)
	if err != nil {
		t.Fatal(err)
	}
	return starts
}

func readCourses(t *testing.T) []Course {
	t.Helper()
	file, err := os.Open(folder + "courses.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	courses, err := ReadCourses(file)
	if err != nil {
		t.Fatal(err)
	}
	return courses
}
