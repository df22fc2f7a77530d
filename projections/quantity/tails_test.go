package quantity_test

import (
	"math"
	"slices"
	"testing"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// valley are results around a flat valley between walls that rise by orders of magnitude: at x from 0 to 10 the
// best is 0 at x = 4, and 24 of 25 differ by less than what the walls make a hundredth of a standard deviation.
func valley(sign float64) (x, y []float64) {
	for i := range 25 {
		x = append(x, 0.4*float64(i))
		y = append(y, sign*(10+(x[i]-4)*(x[i]-4)+math.Exp(3*(x[i]-5))/100))
	}
	return x, y
}

// fold25 is a campaign with the results of a valley, fitted.
func fold25(t *testing.T, goal, tails string, sign float64) (*fold, events.ObjectiveFit) {
	t.Helper()
	def := line(goal)
	def.Model.Tails = tails
	f := begin(t, def)
	x, y := valley(sign)
	for i := range x {
		f.apply(measured(i+1, at(x[i]), y[i]))
	}
	fit := must.Get(f.Fit(t.Context(), 1))(t)
	f.apply(&events.ModelFitted{Model: events.ModelObjective, Objective: &fit})
	return f, fit
}

// Law: results that are far worse than most count by their logarithm, whichever way is better, and what the model
// says is in the user's unit: so it tells the good ones apart, which it took for noise. A definition that does not ask
// for it has the model that it always had.
func TestTails(t *testing.T) {
	for _, c := range []struct {
		goal string
		sign float64
	}{{definition.Minimize, 1}, {definition.Maximize, -1}} {
		for _, tails := range []string{"", definition.TailsKeep, definition.TailsCompress} {
			f, fit := fold25(t, c.goal, tails, c.sign)
			m := must.Get(f.Model(t.Context()))(t)
			x, y := valley(c.sign)
			wrong, missed := 0.0, 0
			for i := range x {
				p := must.Get(m.Predict(at(x[i])))(t)
				if !near(m.Untransform(m.Z[i]), y[i]) {
					t.Errorf("%s, %q: %v is %v to the model", c.goal, tails, y[i], m.Untransform(m.Z[i]))
				}
				if math.Abs(x[i]-4) < 2 { // among the good ones
					wrong = max(wrong, math.Abs(p.Mean-y[i]))
				}
				if math.Abs(p.Mean-y[i]) > 4*p.SD+0.01*math.Abs(y[i]) {
					missed++
				}
			}
			compressed := tails == definition.TailsCompress
			if (fit.Compressed != nil) != compressed || compressed && (wrong > 0.1 || missed > 0) || !compressed && wrong < 0.3 {
				t.Errorf("%s, %q: compressed %v, wrong by %v among the good, %d predictions far off",
					c.goal, tails, fit.Compressed, wrong, missed)
			}
			if index, best := m.Best(); compressed && (index != 10 || math.Abs(best-c.sign*10) > 0.2) {
				t.Errorf("%s: the best is that of index %d, %v", c.goal, index, best)
			}
		}
	}
}

// Law: only a heavy tail of bad results is compressed, of eight or more that are apart: not one of good results, and
// only one more than twenty times as far from their median as the best. How often a campaign has looked where it
// is good changes nothing.
func TestWhichTailIsHeavy(t *testing.T) {
	many := func(worst float64) []float64 { return []float64{0, 1, 1, 1, 1, 2, 2, 2, 2, worst} } // median 1.5
	for _, c := range []struct {
		name       string
		y          []float64
		goal       string
		beside     int
		compressed bool
	}{
		{"bad and far", many(31.6), definition.Minimize, 0, true},
		{"bad, not far enough", many(31.4), definition.Minimize, 0, false},
		{"good and far", many(1000), definition.Maximize, 0, false},
		{"bad and far below", []float64{0, -1, -1, -1, -1, -2, -2, -2, -2, -1000}, definition.Maximize, 0, true},
		{"converged", []float64{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, definition.Minimize, 20, false},
		{"too few", many(1000)[3:], definition.Minimize, 0, false},
		{"half are the best", []float64{1, 1, 1, 1, 1, 1, 2, 2, 2, 1000}, definition.Minimize, 0, false},
	} {
		def := line(c.goal)
		def.Model.Tails = definition.TailsCompress
		f := begin(t, def)
		for i, y := range c.y {
			f.apply(measured(i+1, at(1.1*float64(i)), y))
		}
		for i := range c.beside { // the first composition
			f.apply(measured(100+i, at(0.01*float64(i)), 0.001*float64(i)))
		}
		fit := must.Get(f.Fit(t.Context(), 1))(t)
		if (fit.Compressed != nil) != c.compressed {
			t.Errorf("%s: compressed %+v", c.name, fit.Compressed)
		}
	}
}

// Law: a measurement is held against what the others make expect of it by as many standard deviations as the model
// has it, also where the unit is stretched: a wall is not an outlier, and a wrong value in the valley is.
func TestDoubtsOfHeavyTails(t *testing.T) {
	doubt := func(otherwise int, value float64) (z float64) {
		def := line(definition.Minimize)
		def.Model.Tails = definition.TailsCompress
		f := begin(t, def)
		x, y := valley(1)
		order := slices.Delete([]int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24}, otherwise, otherwise+1)
		for n, i := range order {
			f.apply(measured(n+1, at(x[i]), y[i]))
		}
		fit := must.Get(f.Fit(t.Context(), 1))(t)
		f.apply(&events.ModelFitted{Model: events.ModelObjective, Objective: &fit}, measured(25, at(x[otherwise]), value))
		e, ok, err := f.LeaveOneOut(t.Context(), *f.Of("e25"), 1)
		if err != nil || !ok {
			t.Fatal(ok, err)
		}
		return math.Abs(value-e.Predicted.Mean) / e.Predicted.SD
	}
	_, y := valley(1)
	if z := doubt(22, y[22]); z > 4 {
		t.Errorf("a wall of %v is %v standard deviations from what is expected", y[22], z)
	}
	if z := doubt(10, 40); z < 4 {
		t.Errorf("a wrong value in the valley is only %v standard deviations from what is expected", z)
	}
}
