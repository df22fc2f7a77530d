package gp

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/campaignd/campaignd/internal/num/kernel"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// fidelities returns a kernel whose variance depends on the point, and n observations.
func fidelities(t *testing.T, n int) (kernel.Kernel, Data) {
	t.Helper()
	k := must.Get(kernel.Downsampling("matern52", []float64{0.5, 0.7}, 1.3, 0.4, 0.8))(t)
	rng := rand.New(rand.NewPCG(1, uint64(n)))
	var data Data
	for range n {
		data.X = append(data.X, []float64{rng.Float64(), rng.Float64(), rng.Float64()})
		data.Y = append(data.Y, rng.NormFloat64())
	}
	return k, data
}

// Law: the posterior of a kernel that is not stationary is its definition, with dense matrices; so are covariances with
// fixed points, and all derivatives are those of central differences.
func TestPosteriorOfAnyKernel(t *testing.T) {
	const n, noise, mean = 12, 0.03, 0.2
	k, data := fidelities(t, n)
	g := must.Get(NewWithKernel(context.Background(), data, k, noise, mean))(t)
	gram := make([]float64, n*n)
	k.Gram(gram, data.X)
	K := mat.NewDense(n, n, gram)
	rest := mat.NewVecDense(n, nil)
	for i := range n {
		K.Set(i, i, K.At(i, i)+noise)
		rest.SetVec(i, data.Y[i]-mean)
	}
	against := func(x []float64) *mat.VecDense {
		v := mat.NewVecDense(n, nil)
		k.Cross(v.RawVector().Data, data.X, x)
		return v
	}
	covariance := func(x, y []float64) float64 {
		var solved mat.VecDense
		must.Do(t, solved.SolveVec(K, against(y)))
		return k.Eval(x, y) - mat.Dot(against(x), &solved)
	}
	var alpha mat.VecDense
	must.Do(t, alpha.SolveVec(K, rest))
	near := func(what string, got, want, tolerance float64) {
		t.Helper()
		if !(math.Abs(got-want) <= tolerance) {
			t.Errorf("%s is %v, want %v", what, got, want)
		}
	}
	points := [][]float64{{0.1, 0.9, 1}, {0.5, 0.5, 0.3}, {0.8, 0.2, 0}}
	with := g.NewCovariances(points)
	weights := []float64{0.5, -2, 1}
	joint := g.Joint(points)
	for i, x := range [][]float64{{0.3, 0.4, 0.2}, {0.6, 0.1, 0.9}, {0.5, 0.5, 0.05}} {
		dMean, dSD, dSum := make([]float64, 3), make([]float64, 3), make([]float64, 3)
		m, sd := g.PosteriorGrad(x, dMean, dSD)
		near("mean", m, mean+mat.Dot(against(x), &alpha), 1e-11)
		near("variance", sd*sd, covariance(x, x), 1e-11)
		if m2, sd2 := g.Posterior(x); m2 != m || sd2 != sd {
			t.Errorf("without derivatives %v ± %v, with %v ± %v", m2, sd2, m, sd)
		}
		cov, sd2 := with.AtGrad(x, dSD)
		near("sd next to covariances", sd2, sd, 0)
		for j, p := range points {
			near("covariance", cov[j], covariance(p, x), 1e-11)
			near("joint covariance", joint.Cov[i*3+j], covariance(points[i], p), 1e-11)
		}
		with.Grad(dSum, weights)
		const h = 1e-6
		for j := range x {
			slope := func(f func(x []float64) float64) float64 {
				up, down := slices.Clone(x), slices.Clone(x)
				up[j] += h
				down[j] -= h
				return (f(up) - f(down)) / (2 * h)
			}
			near("∂ mean", dMean[j], slope(func(x []float64) float64 { m, _ := g.Posterior(x); return m }), 1e-6)
			near("∂ sd", dSD[j], slope(func(x []float64) float64 { _, sd := g.Posterior(x); return sd }), 1e-6)
			near("∂ covariances", dSum[j], slope(func(x []float64) float64 {
				cov, _ := with.At(x)
				return dot(cov, weights)
			}), 1e-6)
		}
	}
}

// Law: what is appended, and what With adds, is learned as if it had been there, and an approximation with all points as inducing
// ones is exact, also where the prior's variance depends on the point.
func TestGrowingWithAnyKernel(t *testing.T) {
	ctx := context.Background()
	const n, noise = 20, 0.05
	k, data := fidelities(t, n)
	all := must.Get(NewWithKernel(ctx, data, k, noise, 0.1))(t)
	few := Data{X: data.X[:n-2], Y: data.Y[:n-2]}
	appended := must.Get(NewWithKernel(ctx, few, k, noise, 0.1))(t)
	added := must.Get(appended.With(ctx, data.X[n-2:], data.Y[n-2:]))(t)
	for i := n - 2; i < n; i++ {
		must.Do(t, appended.Append(data.X[i], data.Y[i], math.NaN()))
	}
	canonical := must.Get(appended.Canonical())(t)
	approximate := must.Get(build(ctx, data, k, all.hyper, 0, n))(t)
	x := []float64{0.4, 0.3, 0.7}
	mean, sd := all.Posterior(x)
	for name, g := range map[string]*GP{
		"appended": appended, "added": added, "canonical": canonical, "approximate": approximate,
	} {
		if m, s := g.Posterior(x); math.Abs(m-mean) > 1e-8 || math.Abs(s-sd) > 1e-8 {
			t.Errorf("%s: %v ± %v, want %v ± %v", name, m, s, mean, sd)
		}
	}
	if m, s := canonical.Posterior(x); m != mean || s != sd {
		t.Error("the canonical form has other bits")
	}
	if _, err := NewWithKernel(ctx, data, k, 0, 0); err == nil {
		t.Error("no noise is not refused")
	}
}

// Law: what only stationary kernels have is not made of another kernel in silence.
func TestStationaryOnly(t *testing.T) {
	k, data := fidelities(t, 5)
	g := must.Get(NewWithKernel(context.Background(), data, k, 0.1, 0))(t)
	for name, use := range map[string]func(){
		"path":     func() { g.Path(rand.New(rand.NewPCG(1, 1))) },
		"marginal": func() { _, _ = g.Marginal(context.Background(), []Hyper{g.Hyper()}) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("a %s of a kernel that is not stationary", name)
				}
			}()
			use()
		}()
	}
}
