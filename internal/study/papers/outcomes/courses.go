package outcomes

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
)

// Course is a campaign as it went.
type Course struct {
	Task string `json:"task"`
	Arm  string `json:"arm"`
	Seed int    `json:"seed"`
	// Initial is how many of the points are the start's.
	Initial int `json:"initial"`
	// Reference is the worst value of interest of each objective.
	Reference []float64 `json:"reference"`
	// Points has an experiment in each row, in the unit cube.
	Points [][]float64 `json:"points"`
	// Values are the noiseless objectives and slacks at each point.
	Values [][]float64 `json:"values"`
	// Measured is what the arm saw in their place; nil in a task without noise.
	Measured [][]float64 `json:"measured,omitempty"`
	// Hypervolume is that of the feasible noiseless values after Initial
	// experiments, then after each further one.
	Hypervolume []float64 `json:"hypervolume"`
	// Log10Difference is log₁₀ of what the last hypervolume lacks of the greatest.
	Log10Difference float64 `json:"log10_difference"`
	// FitSeconds and SearchSeconds are processor seconds of each suggestion. Where
	// an arm does not tell the two apart, all are of the search.
	FitSeconds    []float64 `json:"fit_s,omitempty"`
	SearchSeconds []float64 `json:"search_s,omitempty"`
	// Feasible is how probable it was, by the decision for each further experiment,
	// that it keeps what is required; of this program's campaigns alone.
	Feasible []float64 `json:"feasible,omitempty"`
	// Versions of the arm's packages.
	Versions map[string]string `json:"versions"`
}

// ReadCourses reads campaigns, a line of JSON for each. The error names the first
// line that is not of a task, contradicts itself, repeats another, or has a field
// that no campaign has.
func ReadCourses(r io.Reader) ([]Course, error) {
	var courses []Course
	type key struct {
		task, arm string
		seed      int
	}
	seen := map[key]int{}
	err := lines(r, func(n int, line []byte) error {
		var c Course
		if err := strict(line, &c); err != nil {
			return err
		}
		if err := c.check(); err != nil {
			return fmt.Errorf("%s, %s, seed %d: %w", c.Task, c.Arm, c.Seed, err)
		}
		k := key{c.Task, c.Arm, c.Seed}
		if at, ok := seen[k]; ok {
			return fmt.Errorf("%s, %s, seed %d stands in line %d, too", c.Task, c.Arm, c.Seed, at)
		}
		seen[k] = n
		courses = append(courses, c)
		return nil
	})
	return courses, err
}

// check compares a course with its task, and its parts with one another.
func (c Course) check() error {
	t, ok := Lookup(c.Task)
	if !ok {
		return errors.New("there is no such task")
	}
	quantities := len(t.Problem.Objectives) + len(t.Problem.Slacks)
	measured := t.Experiments
	if t.Noise == nil {
		measured = 0
	}
	steps := t.Experiments - t.Initial
	switch {
	case c.Arm == "" || len(c.Versions) == 0:
		return errors.New("it has no arm, or no versions")
	case c.Seed < 1 || c.Seed > t.Seeds:
		return fmt.Errorf("the seeds are 1 to %d", t.Seeds)
	case c.Initial != t.Initial:
		return fmt.Errorf("%d initial experiments, want %d", c.Initial, t.Initial)
	case !slices.Equal(c.Reference, t.reference()):
		return fmt.Errorf("reference %v, want %v", c.Reference, t.reference())
	case len(c.Hypervolume) != steps+1:
		return fmt.Errorf("%d hypervolumes, want %d", len(c.Hypervolume), steps+1)
	case !slices.IsSorted(c.Hypervolume) || c.Hypervolume[0] < 0:
		return errors.New("a hypervolume is negative, or less than the one before")
	}
	left := t.Greatest() - c.Hypervolume[steps]
	rounding := 1e-9 * t.Greatest() / left // of ten digits
	if !(math.Abs(math.Log10(left)-c.Log10Difference) <= 1e-5+rounding) {
		return fmt.Errorf("log10 difference %v, but %v of the hypervolume is missing", c.Log10Difference, left)
	}
	for _, seconds := range [][]float64{c.FitSeconds, c.SearchSeconds} {
		if len(seconds) != 0 && len(seconds) != steps {
			return fmt.Errorf("seconds of %d suggestions, want %d", len(seconds), steps)
		}
	}
	return errors.Join(
		table("points", c.Points, t.Experiments, len(t.Problem.Parameters)),
		table("values", c.Values, t.Experiments, quantities),
		table("measured values", c.Measured, measured, quantities))
}

// reference lists the worst value of each objective.
func (t Task) reference() []float64 {
	var list []float64
	for _, o := range t.Problem.Objectives {
		list = append(list, o.Worst)
	}
	return list
}

// table checks a table's numbers of rows and columns.
func table(what string, got [][]float64, rows, columns int) error {
	if len(got) != rows {
		return fmt.Errorf("%d rows of %s, want %d", len(got), what, rows)
	}
	for i, row := range got {
		if len(row) != columns {
			return fmt.Errorf("%d %s in row %d, want %d", len(row), what, i+1, columns)
		}
	}
	return nil
}

// Starts are the initial points by dimension and seed.
type Starts map[StartOf][][]float64

// StartOf is whose start it is: tasks of one dimension share theirs.
type StartOf struct{ Dimension, Seed int }

// Of returns a task's initial points for a seed, in the unit cube. The second
// result says whether there are enough.
func (s Starts) Of(t Task, seed int) ([][]float64, bool) {
	points := s[StartOf{len(t.Problem.Parameters), seed}]
	if len(points) < t.Initial {
		return nil, false
	}
	return points[:t.Initial], true
}

// ReadStarts reads starts, a line of JSON for each dimension and seed. The error
// names the first line that is wrong.
func ReadStarts(r io.Reader) (Starts, error) {
	starts := Starts{}
	err := lines(r, func(_ int, line []byte) error {
		var l struct {
			Dimension int         `json:"dimension"`
			Seed      int         `json:"seed"`
			Points    [][]float64 `json:"points"`
		}
		if err := strict(line, &l); err != nil {
			return err
		}
		of := StartOf{l.Dimension, l.Seed}
		if _, ok := starts[of]; ok {
			return fmt.Errorf("dimension %d, seed %d stands in two lines", l.Dimension, l.Seed)
		}
		starts[of] = l.Points
		return table("points", l.Points, len(l.Points), l.Dimension)
	})
	return starts, err
}

// longestLine is far above a campaign's length, 20 kB.
const longestLine = 1 << 20

// lines calls f with each line and its number. An error is of that line.
func lines(r io.Reader, f func(n int, line []byte) error) error {
	scan := bufio.NewScanner(r)
	scan.Buffer(nil, longestLine)
	n := 0
	for scan.Scan() {
		n++
		if err := f(n, scan.Bytes()); err != nil {
			return fmt.Errorf("line %d: %w", n, err)
		}
	}
	return scan.Err()
}

// strict decodes one value that has no field v does not know, and nothing after
// it.
func strict(line []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("something follows the object")
	}
	return nil
}
