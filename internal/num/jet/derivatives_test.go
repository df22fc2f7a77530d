package jet_test

import (
	"encoding/json"
	"math"
	"os"
	"testing"

	"github.com/campaignd/campaignd/internal/num/formula"
	"github.com/campaignd/campaignd/internal/num/jet"
	"github.com/campaignd/campaignd/internal/tests/must"
)

type derivatives struct {
	Formula           string
	Value, Laplacian  float64
	Gradient          []float64
	Hessian           [][]float64
	LaplacianGradient []float64
}

// Law: every derivative of every operation is right to 1e-13 of its size. The reference was
// computed symbolically (testdata/derivatives.py).
func TestDerivatives(t *testing.T) {
	data := must.Get(os.ReadFile("testdata/derivatives.json"))(t)
	var o struct {
		At, Weights []float64
		Cases       []derivatives
	}
	must.Do(t, json.Unmarshal(data, &o))
	s := jet.NewSpace(2, 1)
	s.Weigh(o.Weights)
	full := true // as it is made
	for _, c := range o.Cases {
		f := must.Get(formula.Parse(c.Formula))(t)
		b := must.Get(f.Bind([]string{"a", "b", "p"}))(t)
		same := func(what string, got, want float64) {
			t.Helper()
			if !(math.Abs(got-want) <= 1e-13*math.Max(1, math.Abs(want))) {
				t.Errorf("%s: %s = %.17g, want %.17g", c.Formula, what, got, want)
			}
		}
		// Also without the derivatives that a component does not need, which leaves the others undefined.
		for _, all := range []bool{true, false, true} {
			if all != full {
				s.Differentiate(all)
				full = all
			}
			arguments := make([]jet.Jet, 3)
			for i, x := range o.At {
				arguments[i] = s.New()
				for j := range arguments[i] {
					arguments[i][j] = math.NaN()
				}
				s.Linear(arguments[i], i, x, 1)
			}
			j := b.Jet(s, arguments)
			if v := b.Value(o.At); j.Value() != v {
				t.Errorf("%s: %v as a jet and %v as a number", c.Formula, j.Value(), v)
			}
			same("value", j.Value(), c.Value)
			same("L", j.Laplacian(), c.Laplacian)
			for k := range 2 {
				same("random gradient", s.Gradient(j)[k], c.Gradient[k])
			}
			if !all {
				continue
			}
			for i := range 3 {
				same("gradient", s.Gradient(j)[i], c.Gradient[i])
				same("gradient of L", s.LaplacianGradient(j)[i], c.LaplacianGradient[i])
				for k := range 2 {
					same("Hessian", s.Hessian(j, k)[i], c.Hessian[k][i])
				}
			}
		}
	}
}

// Law: a power of what is not known is not known.
func TestPow(t *testing.T) {
	nan := math.NaN()
	for _, c := range [][3]float64{{nan, 0, nan}, {1, nan, nan}, {nan, nan, nan}, {-2, 3, -8}, {2, 0.5, math.Sqrt2}, {0, 0, 1}} {
		if got := jet.Pow(c[0], c[1]); got != c[2] && !(math.IsNaN(got) && math.IsNaN(c[2])) {
			t.Errorf("%v^%v = %v", c[0], c[1], got)
		}
	}
	// The derivatives of a square have no 0·∞ at 0.
	s := jet.NewSpace(1, 0)
	s.Weigh([]float64{2})
	x, y := s.New(), s.New()
	s.Linear(x, 0, 0, 1)
	s.Power(y, x, 2)
	if y.Value() != 0 || y.Laplacian() != 4 || s.Gradient(y)[0] != 0 || s.LaplacianGradient(y)[0] != 0 {
		t.Errorf("it is %v", y)
	}
}

// Law: there is room for four random coordinates and any number of fixed ones.
func TestRoom(t *testing.T) {
	s := jet.NewSpace(4, 20)
	if s.All() != 24 || len(s.Gradient(s.New())) != 24 || len(s.Hessian(s.New(), 3)) != 24 {
		t.Errorf("there are %d coordinates", s.All())
	}
}

// Law: more random coordinates than there is room for are a programmer's mistake.
func TestTooManyCoordinates(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("there is a space of five random coordinates")
		}
	}()
	jet.NewSpace(jet.MaxRandom+1, 0)
}
