package kernel

import (
	"errors"
	"math"
	"testing"

	"pgregory.net/rapid"
)

// Law: the kernel of fidelities is its formula, and its gradients are the derivatives, also by the fidelity.
func TestDownsamplingIsTheFormula(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawProblem(t)
		d := len(p.l)
		for j := range p.l {
			p.l[j] = max(p.l[j], 0.2)
		}
		c, delta := rapid.Float64Range(0.2, 3).Draw(t, "c"), rapid.Float64Range(0.2, 3).Draw(t, "delta")
		fidelity := rapid.Float64Range(0, 0.95)
		for i := range p.X {
			p.X[i] = append(p.X[i], fidelity.Draw(t, "s"))
		}
		p.X[0][d] = 1
		p.x = append(p.x, fidelity.Draw(t, "s"))
		k, err := Downsampling("rbf", p.l, p.s2, c, delta)
		if err != nil {
			t.Fatal(err)
		}
		checkKernel(t, k, func(x, y []float64) float64 {
			s := math.Pow(1-x[d], 1+delta) * math.Pow(1-y[d], 1+delta)
			return formula("rbf", x[:d], y[:d], p.l, p.s2) * (c + s)
		}, p.X, p.x, 10*p.s2*(1+c))
	})
}

// Law: at the target, where a power with a real exponent ends, all stays finite, and so it does beyond by rounding.
func TestDownsamplingAtTheTarget(t *testing.T) {
	k, err := Downsampling("rbf", []float64{1}, 2, 0.5, 0.3)
	if err != nil {
		t.Fatal(err)
	}
	grad := []float64{9, 9}
	for _, s := range []float64{1, 1 + 1e-16, 1 + 1e-9} {
		if v := k.Diag([]float64{0.2, s}, grad); v != 1 || grad[0] != 0 || grad[1] != 0 {
			t.Errorf("at %v the variance is %v, its derivatives are %v", s, v, grad)
		}
	}
}

// Law: the kernel of sources is B[t][t']·ρ, and says nothing of slopes by the source.
func TestCoregionalIsTheFormula(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawProblem(t)
		d := len(p.l)
		for j := range p.l {
			p.l[j] = max(p.l[j], 0.2)
		}
		B := [][]float64{{0.5, 0.2, -0.1}, {0.2, 1.3, 0.7}, {-0.1, 0.7, 2}}
		source := rapid.IntRange(0, 2)
		for i := range p.X {
			p.X[i] = append(p.X[i], float64(source.Draw(t, "t")))
		}
		p.x = append(p.x, float64(source.Draw(t, "t")))
		k, err := Coregional("rbf", p.l, B)
		if err != nil {
			t.Fatal(err)
		}
		checkKernel(t, k, func(x, y []float64) float64 {
			// Rounded, since the differences move it a little.
			return B[int(math.Round(x[d]))][int(math.Round(y[d]))] * formula("rbf", x[:d], y[:d], p.l, 1)
		}, p.X, p.x, 10)
	})
}

// Law: what is no kernel is refused; a source that is none panics.
func TestProductSettings(t *testing.T) {
	l := []float64{1}
	for _, c := range []struct{ c, delta float64 }{{0, 1}, {1, 0}, {math.Inf(1), 1}, {1, math.NaN()}} {
		if _, err := Downsampling("rbf", l, 1, c.c, c.delta); !errors.Is(err, ErrHyperparameter) {
			t.Errorf("c = %v, δ = %v: %v", c.c, c.delta, err)
		}
	}
	if _, err := Downsampling("cubic", l, 1, 1, 1); !errors.Is(err, ErrUnknown) {
		t.Errorf("cubic: %v", err)
	}
	for _, B := range [][][]float64{{{0}}, {{math.NaN()}}, {{1, 0.2}, {0.3, 1}}, {{1, math.Inf(1)}, {math.Inf(1), 1}}} {
		if _, err := Coregional("rbf", l, B); !errors.Is(err, ErrHyperparameter) {
			t.Errorf("B = %v: %v", B, err)
		}
	}
	k, err := Coregional("rbf", l, [][]float64{{1, 0.2}, {0.2, 1}})
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := FamilyOf(k); ok {
		t.Error("it is no stationary kernel")
	}
	for _, source := range []float64{-1, 0.5, 2, math.NaN()} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("source %v did not panic", source)
				}
			}()
			k.Diag([]float64{0, source}, nil)
		}()
	}
}
