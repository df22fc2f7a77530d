package kernel

import (
	"errors"
	"math"
	"testing"

	"github.com/campaignd/campaignd/internal/tests/must"
	"pgregory.net/rapid"
)

// checkKernel checks a kernel against its formula at the points X and x: all methods agree, Gram is exactly
// symmetric with the diagonal of Diag, and gradients are those of central differences to a tolerance relative to scale.
func checkKernel(t *rapid.T, k Kernel, formula func(x, y []float64) float64, X [][]float64, x []float64, scale float64) {
	n, d := len(X), len(x)
	gram, cross, dst, grad := make([]float64, n*n), make([]float64, n), make([]float64, n), make([]float64, n*d)
	k.Gram(gram, X)
	k.Cross(cross, X, x)
	k.CrossGrad(dst, grad, X, x)
	near := func(what string, got, want, tolerance float64) {
		if !(math.Abs(got-want) <= tolerance*scale) {
			t.Fatalf("%s is %v, want %v", what, got, want)
		}
	}
	const h = 1e-5
	slope := func(j int, f func(x []float64) float64) float64 {
		up, down := append([]float64{}, x...), append([]float64{}, x...)
		up[j] += h
		down[j] -= h
		return (f(up) - f(down)) / (2 * h)
	}
	for i := range X {
		want := formula(X[i], x)
		near("k(X_i, x)", cross[i], want, 1e-13)
		near("Eval", k.Eval(X[i], x), want, 1e-13)
		if cross[i] != dst[i] {
			t.Fatalf("CrossGrad and Cross differ: %v, %v", dst[i], cross[i])
		}
		if gram[i*n+i] != k.Diag(X[i], nil) {
			t.Fatalf("the diagonal is %v, Diag says %v", gram[i*n+i], k.Diag(X[i], nil))
		}
		for j := range X {
			near("Gram", gram[i*n+j], formula(X[i], X[j]), 1e-13)
			if gram[i*n+j] != gram[j*n+i] {
				t.Fatal("Gram is not exactly symmetric")
			}
		}
		for j := range d {
			near("∂k(X_i, x)/∂x", grad[i*d+j], slope(j, func(x []float64) float64 { return formula(X[i], x) }), 1e-6)
		}
	}
	diag := make([]float64, d)
	near("Diag", k.Diag(x, diag), formula(x, x), 1e-13)
	for j := range d {
		near("∂k(x, x)/∂x", diag[j], slope(j, func(x []float64) float64 { return formula(x, x) }), 1e-6)
	}
}

// Law: the kernel with a linear part is the sum of its formulas, and its gradients are their derivatives.
func TestLinearIsTheFormula(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawProblem(t)
		p.name = "rbf" // the others' third derivatives are the business of another test
		for j := range p.l {
			p.l[j] = max(p.l[j], 0.2)
		}
		slope := rapid.Float64Range(0.1, 3).Draw(t, "slope")
		base := must.Get(New(p.name, p.l, p.s2))(t)
		k := must.Get(WithLinear(base, slope))(t)
		checkKernel(t, k, func(x, y []float64) float64 {
			sum := formula(p.name, x, y, p.l, p.s2)
			for j := range x {
				sum += slope * p.s2 * x[j] * y[j]
			}
			return sum
		}, p.X, p.x, 10*p.s2*(1+slope))
	})
}

// Law: a slope variance of 0 leaves the kernel as it is; one that is none is refused.
func TestLinearSettings(t *testing.T) {
	base := must.Get(New("rbf", []float64{1}, 1))(t)
	if k, err := WithLinear(base, 0); err != nil || k != base {
		t.Errorf("a slope variance of 0 gives %v, %v", k, err)
	}
	for _, slope := range []float64{-1, math.Inf(1), math.NaN()} {
		if _, err := WithLinear(base, slope); !errors.Is(err, ErrHyperparameter) {
			t.Errorf("a slope variance of %v gives %v", slope, err)
		}
	}
}
