package trust_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/campaignd/campaignd/policies/next"
	"github.com/campaignd/campaignd/policies/trust"
	"github.com/campaignd/campaignd/projections/belief"
)

// plane is a belief whose rejection score is a plane: g̲ = 2x − 3y + 0.5, the likeliest
// one is 1 above; it fails where it is told to.
type plane struct{ wrong error }

func (p plane) at(x, grad []float64, above float64) float64 {
	if grad != nil {
		grad[0], grad[1] = 2, -3
	}
	return 2*x[0] - 3*x[1] + 0.5 + above
}

func (p plane) Lower(x, grad []float64) (float64, error) { return p.at(x, grad, 0), p.wrong }
func (p plane) Upper(x, grad []float64) (float64, error) { return p.at(x, grad, 5), p.wrong }
func (p plane) MLEAt(x, grad []float64) float64          { return p.at(x, grad, 1) }
func (p plane) Bounds(x []float64) (float64, float64, error) {
	return p.at(x, nil, 0), p.at(x, nil, 5), p.wrong
}

// slope is the acquisition 4x + 7y.
func slope(x, grad []float64) float64 {
	if grad != nil {
		grad[0], grad[1] = 4, 7
	}
	return 4*x[0] + 7*x[1]
}

// bent is an acquisition that a belief bends.
type bent interface {
	At(x, grad []float64) float64
	Err() error
}

// sure is one that cannot fail.
type sure struct{ acquisition next.Acquisition }

func (s sure) At(x, grad []float64) float64 { return s.acquisition(x, grad) }
func (sure) Err() error                     { return nil }

// Law: a belief bends an acquisition as its paper prints it, with the gradient of that.
// Where the bound cannot be solved the function is +Inf and says why.
func TestBentAcquisitions(t *testing.T) {
	cobol := trust.COBOL{Lambda0: 1, Zeta: 0.02, Eta: 3}
	errBound := errors.New("no bound")
	for _, x := range [][]float64{{0.2, 0.9}, {0.9, 0.1}, {0.5, 0.5}} {
		g := 2*x[0] - 3*x[1] + 0.5
		f := 4*x[0] + 7*x[1]
		positive := max(0, g)
		reject := 1 / (1 + math.Exp(-(g + 1))) // by the likeliest score
		for name, c := range map[string]struct {
			bent  func(b *belief.Model) bent
			value float64
			grad  []float64
			fails bool
		}{
			"f̲ + λg̲": {func(b *belief.Model) bent { return cobol.Augment(slope, b, 0.7) },
				f + 0.7*g, []float64{4 + 0.7*2, 7 - 0.7*3}, true},
			"f̲ with λ = 0": {func(b *belief.Model) bent { return cobol.Augment(slope, b, 0) },
				f, []float64{4, 7}, false},
			"f̲ + w·max(0, g̲)²": {func(b *belief.Model) bent { return trust.Constrained(slope, b, 10) },
				f + 10*positive*positive, []float64{4 + 20*positive*2, 7 - 20*positive*3}, true},
			"−ln((1 − S(ĝ))·EI)": {func(b *belief.Model) bent { return sure{trust.Weighed(slope, b)} },
				f - math.Log(1-reject), []float64{4 + reject*2, 7 - reject*3}, false},
		} {
			bent := c.bent(&belief.Model{Function: plane{}})
			grad := make([]float64, 2)
			if got := bent.At(x, nil); math.Abs(got-c.value) > 1e-12 || bent.At(x, grad) != got || bent.Err() != nil {
				t.Errorf("%s at %v is %v (%v), want %v", name, x, got, bent.Err(), c.value)
			}
			if math.Abs(grad[0]-c.grad[0]) > 1e-12 || math.Abs(grad[1]-c.grad[1]) > 1e-12 {
				t.Errorf("the gradient of %s at %v is %v, want %v", name, x, grad, c.grad)
			}
			unbounded := c.bent(&belief.Model{Function: plane{errBound}})
			if got := unbounded.At(x, grad); c.fails && (!math.IsInf(got, 1) || !errors.Is(unbounded.Err(), errBound)) {
				t.Errorf("%s without a bound is %v: %v", name, got, unbounded.Err())
			}
		}
	}
}

// Law: the tests of harm are recorded as they were made, with η from the definition,
// and begin with their prefix.
func TestNoHarmIsRecorded(t *testing.T) {
	tests := trust.NoHarm(-1, -0.5, 0.4, 0.1, 3)
	want := [][3]float64{{-1, -0.5, 1}, {0.4, 0.3, 0}} // left, right, holds
	for i, test := range tests {
		holds := map[bool]float64{true: 1}[test.Holds]
		if math.Abs(test.Left-want[i][0]) > 1e-15 || math.Abs(test.Right-want[i][1]) > 1e-15 || holds != want[i][2] || test.Relation != "<=" || !strings.HasPrefix(test.Name, trust.NoHarmPrefix) {
			t.Errorf("test %d is %+v, want %v", i, test, want[i])
		}
	}
}
