package kernel

import (
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/campaignd/campaignd/internal/tests/must"
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
		k := must.Get(Downsampling("rbf", p.l, p.s2, c, delta))(t)
		checkKernel(t, k, func(x, y []float64) float64 {
			s := math.Pow(1-x[d], 1+delta) * math.Pow(1-y[d], 1+delta)
			return formula("rbf", x[:d], y[:d], p.l, p.s2) * (c + s)
		}, p.X, p.x, 10*p.s2*(1+c))
	})
}

// Law: at the target, where a power with a real exponent ends, all stays finite, and so it does beyond by rounding.
func TestDownsamplingAtTheTarget(t *testing.T) {
	k := must.Get(Downsampling("rbf", []float64{1}, 2, 0.5, 0.3))(t)
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
		k := must.Get(Coregional("rbf", p.l, B))(t)
		checkKernel(t, k, func(x, y []float64) float64 {
			// Rounded, since the differences move it a little.
			return B[int(math.Round(x[d]))][int(math.Round(y[d]))] * formula("rbf", x[:d], y[:d], p.l, 1)
		}, p.X, p.x, 10)
	})
}

// Law: what is not a kernel is refused; a source that is none panics.
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
	k := must.Get(Coregional("rbf", l, [][]float64{{1, 0.2}, {0.2, 1}}))(t)
	if _, ok := FamilyOf(k); ok {
		t.Error("it is not a stationary kernel")
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

// Law: a kernel whose source stands among the coordinates is that of the coordinates in order, with the source last; its
// derivatives are those of central differences.
func TestAmong(t *testing.T) {
	fidelities := must.Get(Downsampling("rbf", []float64{0.4, 0.7}, 1.3, 0.8, 0.5))(t)
	between := must.Get(Coregional("rbf", []float64{0.4, 0.7}, [][]float64{{1, 0.5}, {0.5, 2}}))(t)
	for name, c := range map[string]struct {
		of   Kernel
		at   Place
		x, y []float64 // in order, with the source last: xs and ys
		xs   []float64
		ys   []float64
	}{
		"a number":          {fidelities, Place{At: 1, Width: 1}, []float64{0.2, 0.3, 0.9}, []float64{0.5, 0.8, 0.4}, []float64{0.2, 0.9, 0.3}, []float64{0.5, 0.4, 0.8}},
		"the least matters": {fidelities, Place{At: 0, Width: 1, Reversed: true}, []float64{0.75, 0.2, 0.9}, []float64{0.25, 0.5, 0.4}, []float64{0.2, 0.9, 0.25}, []float64{0.5, 0.4, 0.75}},
		"sources":           {between, Place{At: 1, Width: 2}, []float64{0.2, 1, 0, 0.9}, []float64{0.5, 0, 1, 0.4}, []float64{0.2, 0.9, 0}, []float64{0.5, 0.4, 1}},
	} {
		k := Among(c.of, c.at, 1e6)
		if got, want := k.Eval(c.x, c.y), c.of.Eval(c.xs, c.ys); math.Abs(got-want) > 1e-9 {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
		d := k.Dim()
		value, grad, slope := make([]float64, 1), make([]float64, d), make([]float64, d)
		k.CrossGrad(value, grad, [][]float64{c.y}, c.x)
		if math.Abs(value[0]-k.Eval(c.x, c.y)) > 1e-15 || math.Abs(k.Diag(c.x, slope)-k.Eval(c.x, c.x)) > 1e-15 {
			t.Errorf("%s: its values differ", name)
		}
		for j := range d {
			if c.at.Width > 1 && j >= c.at.At && j < c.at.At+c.at.Width {
				continue // sources have no slope
			}
			const step = 1e-6
			up, down := slices.Clone(c.x), slices.Clone(c.x)
			up[j] += step
			down[j] -= step
			if want := (k.Eval(up, c.y) - k.Eval(down, c.y)) / (2 * step); math.Abs(grad[j]-want) > 1e-8 {
				t.Errorf("%s: the derivative by %d is %v, want %v", name, j, grad[j], want)
			}
			if want := (k.Diag(up, nil) - k.Diag(down, nil)) / (2 * step); math.Abs(slope[j]-want) > 1e-8 {
				t.Errorf("%s: the derivative of the variance by %d is %v, want %v", name, j, slope[j], want)
			}
		}
	}
}
