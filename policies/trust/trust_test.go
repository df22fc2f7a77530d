package trust_test

import (
	"math"
	"testing"

	"github.com/campaignd/campaignd/events/memlog"
	"github.com/campaignd/campaignd/internal/study/studytest"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/policies/next"
	"github.com/campaignd/campaignd/policies/trust"
)

func cobol(t *testing.T) *trust.COBOL {
	t.Helper()
	return &trust.COBOL{Lambda0: 1, Zeta: 0.02, Eta: 3}
}

// The dual variable rises where the belief rejects, falls where it accepts,
// and never below zero (Xu et al. 2024, §4; ζ = 0.02).
func TestStep(t *testing.T) {
	c := cobol(t)
	for _, s := range []struct{ lambda, bound, want float64 }{
		{1, 2, 1.04}, {1, -2, 0.96}, {0.01, -2, 0}, {0, -1, 0}, {0, 1, 0.02},
	} {
		if got := c.Step(s.lambda, s.bound); math.Abs(got-s.want) > 1e-15 {
			t.Errorf("λ = %v after g̲ = %v becomes %v, want %v", s.lambda, s.bound, got, s.want)
		}
	}
}

// Both no-harm tests must hold (Xu et al. 2024, Alg. 1 line 6; η = 3).
func TestNoHarm(t *testing.T) {
	for _, s := range []struct {
		name                              string
		optimistic, worst, unaided, aided float64
		want                              [2]bool
	}{
		{"possibly better and as uncertain", -1, -0.5, 0.3, 0.3, [2]bool{true, true}},
		{"surely worse than the worst case of the optimum", 0, -0.5, 0.3, 0.3, [2]bool{false, true}},
		{"more than three times as sure", -1, -0.5, 0.3, 0.09, [2]bool{true, false}},
		{"on both edges", -0.5, -0.5, 0.3, 0.1, [2]bool{true, true}},
	} {
		tests := trust.NoHarm(s.optimistic, s.worst, s.unaided, s.aided, 3)
		if got := [2]bool{tests[0].Holds, tests[1].Holds}; got != s.want {
			t.Errorf("%s: %v, want %v", s.name, got, s.want)
		}
	}
}

// The aided acquisition is f̲ + λg̲ with its gradient; λ = 0 leaves f̲ alone.
func TestAcquisition(t *testing.T) {
	def := must.Get(studytest.Define("branin", 1, 8, studytest.WithExpert(1)))(t)
	core := must.Get(studytest.Simulate(t.Context(), memlog.New(), def))(t)
	view := must.Get(core.View(t.Context()))(t)
	c, b := cobol(t), view.Beliefs[0]
	base := next.Bound(view.Objective(), -1)
	augmented := c.Augment(base, b, 0.7)
	f := augmented.At
	x := []float64{0.37, 0.58}
	lower, _ := must.Get2(b.Bounds(x))(t)
	grad := make([]float64, 2)
	value := f(x, grad)
	if want := base(x, nil) + 0.7*lower; math.Abs(value-want) > 1e-9 {
		t.Errorf("the aided acquisition is %v, want %v", value, want)
	}
	for j := range x {
		const h = 1e-5
		up, down := []float64{x[0], x[1]}, []float64{x[0], x[1]}
		up[j] += h
		down[j] -= h
		if want := (f(up, nil) - f(down, nil)) / (2 * h); math.Abs(grad[j]-want) > 1e-4*math.Max(1, math.Abs(want)) {
			t.Errorf("derivative %d is %v, by differences %v", j, grad[j], want)
		}
	}
	if got := c.Augment(base, b, 0).At(x, nil); got != base(x, nil) {
		t.Errorf("with λ = 0 the acquisition is %v, want %v", got, base(x, nil))
	}
	if err := augmented.Err(); err != nil {
		t.Error(err)
	}
}
