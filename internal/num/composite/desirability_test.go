package composite

import (
	"encoding/json"
	"math"
	"os"
	"testing"

	"github.com/campaignd/campaignd/internal/num/jet"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// Law: the logarithm of the ramp and its derivatives are right, however far a value is from what is
// desired. The reference was computed with 1,500 digits (testdata/ramp.py).
func TestRamp(t *testing.T) {
	data := must.Get(os.ReadFile("testdata/ramp.json"))(t)
	var cases []struct {
		U           float64
		Derivatives [4]float64
	}
	must.Do(t, json.Unmarshal(data, &cases))
	for _, c := range cases {
		r := logRamp(c.U)
		for i, got := range [4]float64{r.value, r.first, r.second, r.third} {
			// A derivative is what is left of terms as large as powers of 1/τ.
			size := math.Pow(1/ramp, float64(i))
			if want := c.Derivatives[i]; !(math.Abs(got-want) <= 1e-13*math.Abs(want)+1e-15*size) {
				t.Errorf("derivative %d at %v is %.17g, want %.17g", i, c.U, got, want)
			}
		}
	}
}

// Law: the exact value is 0 where a goal is missed and 1 where all are met; a goal in the wrong order
// is refused.
func TestClipped(t *testing.T) {
	d := must.Get(NewDesirability([]Goal{
		{Argument: 1, From: 6, To: 12, Weight: 3},
		{Argument: 0, From: 5, To: 6.75, TwoSided: true, Back: 7.25, Gone: 9},
	}))(t)
	for _, c := range []struct{ ph, conductivity, want float64 }{
		{7, 12, 1}, {7, 15, 1}, {7, 6, 0}, {7, 2, 0}, {5, 20, 0}, {9.5, 20, 0}, {6.75, 20, 1}, {7.25, 20, 1},
		{7, 9, math.Pow(0.5, 0.75)}, {5.875, 20, math.Pow(0.5, 0.25)}, {8.125, 20, math.Pow(0.5, 0.25)},
	} {
		if got := d.Clipped([]float64{c.ph, c.conductivity}); !(math.Abs(got-c.want) <= 1e-15) {
			t.Errorf("at %v it is %v, want %v", c, got, c.want)
		}
		// The smooth one differs at the ends of ramps, by ln 2 of τ.
		smooth := d.Value([]float64{c.ph, c.conductivity})
		if d := math.Abs(smooth - c.want); !(d <= 0.02) && c.want > 0 {
			t.Errorf("at %v the smooth one is %v, want about %v", c, smooth, c.want)
		}
	}
	for _, g := range []Goal{
		{From: 1, To: 1}, {From: math.NaN(), To: 1}, {From: 0, To: math.Inf(1)}, {From: 0, To: 1, Weight: -1},
		{From: 0, To: 1, Weight: math.Inf(1)},
		{From: 0, To: 1, TwoSided: true, Back: 0.5, Gone: 2}, {From: 0, To: 1, TwoSided: true, Back: 2, Gone: 1.5},
		{From: 0, To: 1, TwoSided: true, Back: 2, Gone: 2}, {From: 1, To: 0, TwoSided: true, Back: 0.5, Gone: -1},
	} {
		if _, err := NewDesirability([]Goal{g}); err == nil {
			t.Errorf("the goal %+v is taken", g)
		}
	}
	for _, g := range []Goal{
		{From: 1, To: 0, TwoSided: true, Back: 0, Gone: -2}, {From: 0, To: 1, TwoSided: true, Back: 1, Gone: 2},
	} {
		if _, err := NewDesirability([]Goal{g}); err != nil {
			t.Errorf("the goal %+v: %v", g, err)
		}
	}
	if _, err := NewDesirability(nil); err == nil {
		t.Error("no goal is a desirability")
	}
}

// Law: a desirability is a function of a problem like any other: it depends on what it has goals for, and is
// affine in nothing of that.
func TestDesirabilityOfAProblem(t *testing.T) {
	d := must.Get(NewDesirability([]Goal{{Argument: 1, From: 0, To: 2}}))(t)
	if d.Uses(0) || !d.Uses(1) || !d.Affine([]bool{true, false}) || d.Affine([]bool{false, true}) {
		t.Error("it depends on another argument")
	}
	m := mixture(t, Problem{Quantities: plain, Objective: d, Maximize: true}, 64)
	if m.Components() != 256 {
		t.Errorf("it has %d components", m.Components())
	}
	// In the middle of the ramp it is half of the argument.
	p := m.Predict(Posterior{Means: [][]float64{{0}, {1}}, SDs: []float64{1, 0.05}})
	near(t, "the mean", p.Mean, 0.5, 1e-3)
	near(t, "the standard deviation", p.SD, 0.025, 1e-3)
}

// Law: as a jet the desirability has the same value, and the derivatives of its definition, by
// differences of the exponential of the sum of logarithms.
func TestDesirabilityJet(t *testing.T) {
	d := must.Get(NewDesirability([]Goal{
		{Argument: 0, From: 0, To: 2, Weight: 2},
		{Argument: 1, From: 5, To: 6.75, TwoSided: true, Back: 7.25, Gone: 9},
	}))(t)
	s := jet.NewSpace(2, 0)
	s.Weigh([]float64{0.04, 0.09})
	at := func(y []float64) jet.Jet {
		arguments := []jet.Jet{s.New(), s.New()}
		for i, v := range y {
			s.Linear(arguments[i], i, v, 1)
		}
		out := s.New()
		copy(out, d.Jet(s, arguments))
		return out
	}
	for _, y := range [][]float64{{0.9, 5.5}, {-0.02, 7}, {1.98, 8.9}, {0.05, 7.27}} {
		j := at(y)
		if v := d.Value(y); !(math.Abs(j.Value()-v) <= 1e-15) {
			t.Errorf("at %v it is %v as a jet and %v as a number", y, j.Value(), v)
		}
		for i := range y {
			const h = 1e-5
			up, down := append([]float64{}, y...), append([]float64{}, y...)
			up[i] += h
			down[i] -= h
			same := func(what string, got, up, down float64) {
				t.Helper()
				if want := (up - down) / (2 * h); !(math.Abs(got-want) <= 1e-5*(1+math.Abs(want))) {
					t.Errorf("at %v: %s %d is %v, by differences %v", y, what, i, got, want)
				}
			}
			same("gradient", s.Gradient(j)[i], d.Value(up), d.Value(down))
			same("gradient of L", s.LaplacianGradient(j)[i], at(up).Laplacian(), at(down).Laplacian())
			for k := range y {
				same("Hessian", s.Hessian(j, k)[i], s.Gradient(at(up))[k], s.Gradient(at(down))[k])
			}
		}
	}
}
