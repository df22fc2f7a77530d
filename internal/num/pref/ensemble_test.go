package pref

import (
	"errors"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/campaignd/campaignd/internal/num/gp"
	_ "github.com/campaignd/campaignd/internal/tests/draws"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// Law: each member is the normal distribution of f(x) conditioned on the values supposed, by its definition. Derivatives
// are those of central differences.
func TestEnsembleIsConditioned(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawProblem(t)
		res := p.laplace(t)
		// Two points that do not determine each other: the covariance is divided by.
		P := [][]float64{slices.Clone(p.x), slices.Clone(p.x)}
		P[1][0] += 0.7
		values := [][]float64{{0.3, -0.2}, {1.5, 2}, {-4, 0}}
		m := res.Posterior.Pair(P[0], P[1])
		det := m.VarX*m.VarY - m.Cov*m.Cov
		if det < 1e-3*p.hyper.OutputScale*p.hyper.OutputScale {
			t.Skip("the points determine each other")
		}
		e := must.Get(res.Posterior.Given(P, values))(t)
		x := p.y
		q := e.NewPredictor()
		means, sd := q.Means(x)
		means = slices.Clone(means)
		a, b := res.Posterior.Pair(x, P[0]), res.Posterior.Pair(x, P[1])
		u, v := (a.Cov*m.VarY-b.Cov*m.Cov)/det, (b.Cov*m.VarX-a.Cov*m.Cov)/det
		variance := a.VarX - u*a.Cov - v*b.Cov
		if math.Abs(sd*sd-math.Max(variance, 0)) > 1e-9*(1+a.VarX) {
			t.Fatalf("variance %v, want %v", sd*sd, variance)
		}
		for s, value := range values {
			want := a.MeanX + u*(value[0]-m.MeanX) + v*(value[1]-m.MeanY)
			if !agree(means[s], want, 1e-8) {
				t.Fatalf("member %d has the mean %v, want %v", s, means[s], want)
			}
		}
		if sd < 0.05 { // differences of a root near 0 tell little
			t.Skip("f(x) is determined")
		}
		byMean, bySD := []float64{0.4, -2, 1}, 1.7
		at := func(j int, h float64) float64 {
			y := slices.Clone(x)
			y[j] += h
			means, sd := q.Means(y)
			return byMean[0]*means[0] + byMean[1]*means[1] + byMean[2]*means[2] + bySD*sd
		}
		const h = 1e-5
		want := make([]float64, len(x))
		for j := range x {
			want[j] = (at(j, h) - at(j, -h)) / (2 * h)
		}
		got := make([]float64, len(x))
		q.MeansGrad(x)
		q.AddGrad(got, byMean, bySD)
		for j := range x {
			// A kernel that is once differentiable has a kink in its slope at a design.
			if !agree(got[j], want[j], 1e-4) && p.name != "matern32" {
				t.Fatalf("derivative %d is %v, finite difference %v", j, got[j], want[j])
			}
		}
	})
}

// Law: nothing supposed is the posterior itself, also of no duels; a point twice is refused.
func TestEnsembleOfNothing(t *testing.T) {
	duels := synthetic(t, 12, 2, 3)
	k := Hyper{Lengthscales: []float64{0.4, 0.6}, OutputScale: 1, Slope: 1}
	of := must.Get(k.Kernel("rbf", 2))(t)
	res := must.Get(Laplace(ctx, duels, Probit, of, LaplaceConfig{}))(t)
	x := []float64{0.3, 0.9}
	for _, p := range []*Posterior{res.Posterior, Prior(of)} {
		e := must.Get(p.Given(nil, [][]float64{{}}))(t)
		means, sd := e.NewPredictor().Means(x)
		if mean, want := p.Posterior(x); means[0] != mean || sd != want {
			t.Errorf("nothing supposed gives %v ± %v, the posterior is %v ± %v", means[0], sd, mean, want)
		}
		if _, err := p.Given([][]float64{x, x}, [][]float64{{1, 1}}); !errors.Is(err, gp.ErrNotPositiveDefinite) {
			t.Errorf("a point twice: %v", err)
		}
	}
}
