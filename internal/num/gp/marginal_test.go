package gp

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/campaignd/campaignd/internal/tests/must"
	"gonum.org/v1/gonum/mat"
)

// Law: hyperparameters around a fit have the mean of the fit, and the covariance of the Gaussian with the curvature of
// the log posterior there: by second differences of its values. The constant mean is the best at each.
func TestAroundIsLaplace(t *testing.T) {
	data := oneOfMany("smooth", 40, 2, 2) // with noise, so that no bound holds the fit
	cfg := FitConfig{FreeOutputScale: true, Seed: 1}
	fit := mustFit(t, data, cfg)
	around, err := Around(t.Context(), data, cfg, fit.Hyper)
	if err != nil || len(around) != 8 {
		t.Fatalf("%d points, %v", len(around), err)
	}
	logs := func(h Hyper) []float64 {
		return []float64{math.Log(h.Lengthscales[0]), math.Log(h.Lengthscales[1]), math.Log(h.OutputScale), math.Log(h.Noise)}
	}
	priors := DefaultPriors(2)
	density := func(theta []float64) float64 { // minus the log posterior, the mean the best of a fine search
		h := Hyper{
			Lengthscales: []float64{math.Exp(theta[0]), math.Exp(theta[1])},
			OutputScale:  math.Exp(theta[2]), Noise: math.Exp(theta[3]),
		}
		h.Mean = bestMean(t, data, h)
		v := must.Get(LogMarginal(data, "rbf", h, nil))(t)
		for j, p := range []LogNormal{priors.Lengthscale, priors.Lengthscale, priors.OutputScale, priors.Noise} {
			z := (theta[j] - p.Mu) / p.Sigma
			v -= theta[j] + z*z/2
		}
		return -v
	}
	at := logs(fit.Hyper)
	hessian := mat.NewDense(4, 4, nil)
	const e = 1e-2
	for i := range 4 {
		for j := range 4 {
			shifted := func(a, b float64) float64 {
				theta := slices.Clone(at)
				theta[i] += a * e
				theta[j] += b * e
				return density(theta)
			}
			hessian.Set(i, j, (shifted(1, 1)-shifted(1, -1)-shifted(-1, 1)+shifted(-1, -1))/(4*e*e))
		}
	}
	var want mat.Dense
	must.Do(t, want.Inverse(hessian))
	for i := range 4 {
		for j := range 4 {
			mean, covariance := 0.0, 0.0
			for _, h := range around {
				theta := logs(h)
				mean += (theta[i] - at[i]) / 8
				covariance += (theta[i] - at[i]) * (theta[j] - at[j]) / 8
			}
			if math.Abs(mean) > 1e-9 || math.Abs(covariance-want.At(i, j)) > 0.02*math.Sqrt(want.At(i, i)*want.At(j, j)) {
				t.Errorf("%d, %d: mean %v, covariance %v, want %v", i, j, mean, covariance, want.At(i, j))
			}
		}
	}
	for _, h := range around {
		if best := bestMean(t, data, h); math.Abs(h.Mean-best) > 1e-6 {
			t.Errorf("a mean of %v, the best is %v", h.Mean, best)
		}
	}
}

// bestMean is the constant mean that maximizes the likelihood, a parabola of it: from three of its values.
func bestMean(t *testing.T, data Data, h Hyper) float64 {
	var v [3]float64
	for i := range v {
		h.Mean = float64(i - 1)
		var err error
		if v[i], err = LogMarginal(data, "rbf", h, nil); err != nil {
			t.Fatal(err)
		}
	}
	return (v[2] - v[0]) / (2 * (2*v[1] - v[0] - v[2]))
}

// Law: where the data say little, the prior bounds what is around a fit: no hyperparameter is outside its bounds, and
// none further from the fit than √p of the widest prior's standard deviations. Where all noise is known none is varied.
func TestAroundIsBounded(t *testing.T) {
	data := oneOfMany("noise", 5, 3, 0)
	priors := DefaultPriors(3)
	fit := mustFit(t, data, FitConfig{})
	around, err := Around(t.Context(), data, FitConfig{}, fit.Hyper)
	if err != nil || len(around) != 8 {
		t.Fatal(len(around), err)
	}
	furthest := 0.0
	for _, h := range around {
		for j, l := range h.Lengthscales {
			furthest = max(furthest, math.Abs(math.Log(l/fit.Hyper.Lengthscales[j])))
			if l < priors.Lengthscale.Lower || l > priors.Lengthscale.Upper {
				t.Errorf("a lengthscale of %v", l)
			}
		}
		if h.Noise < priors.Noise.Lower || h.Noise > priors.Noise.Upper {
			t.Errorf("noise of %v", h.Noise)
		}
	}
	if most := math.Sqrt(4) * priors.Lengthscale.Sigma; furthest > most+1e-9 || furthest < most/10 {
		t.Errorf("the furthest is by e^%v away, of at most e^%v", furthest, most)
	}
	data.NoiseVar = []float64{0.1, 0.1, 0.1, 0.1, 0.1}
	if around, err = Around(t.Context(), data, FitConfig{}, fit.Hyper); err != nil || len(around) != 6 || around[5].Noise != around[0].Noise {
		t.Errorf("all noise known: %+v, %v", around, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Around(ctx, data, FitConfig{}, fit.Hyper); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// Law: a marginal posterior has the mean of its process, and the standard deviation of the mixture about that mean,
// stretched as q constants ask that were fitted to n points; leaving one out is a process without it.
func TestMarginalIsTheFormula(t *testing.T) {
	data := oneOfMany("rough", 12, 2, 1)
	fit := mustFit(t, data, FitConfig{})
	around := must.Get(Around(t.Context(), data, FitConfig{}, fit.Hyper))(t)
	of := func(data Data, noise bool) func(x []float64) (mean, sd float64) {
		return func(x []float64) (mean, sd float64) {
			predict := func(h Hyper) (m, v float64) {
				g := must.Get(New(data, "rbf", h))(t)
				m, s := g.Posterior(x)
				if noise {
					return m, s*s + h.Noise
				}
				return m, s * s
			}
			mean, _ = predict(fit.Hyper)
			variance := 0.0
			for _, h := range around {
				m, v := predict(h)
				variance += v + (m-mean)*(m-mean)
			}
			return mean, math.Sqrt(variance / 6 * (1 + 4./12))
		}
	}
	g := must.Get(New(data, "rbf", fit.Hyper))(t)
	m := must.Get(g.Marginal(t.Context(), around))(t)
	for _, x := range [][]float64{{0.2, 0.7}, {0.5, 0.5}, data.X[3]} {
		mean, sd := m.Posterior(x)
		if wantMean, wantSD := of(data, false)(x); mean != wantMean || math.Abs(sd-wantSD) > 1e-9 {
			t.Errorf("at %v it is %v ± %v, want %v ± %v", x, mean, sd, wantMean, wantSD)
		}
	}
	y, mean, sd := m.LeaveOneOut()
	for i := range y {
		rest := Data{X: slices.Delete(slices.Clone(data.X), i, i+1), Y: slices.Delete(slices.Clone(data.Y), i, i+1)}
		if wantMean, wantSD := of(rest, true)(data.X[i]); math.Abs(mean[i]-wantMean) > 1e-8 || math.Abs(sd[i]-wantSD) > 1e-8 {
			t.Errorf("without %d it is %v ± %v, want %v ± %v", i, mean[i], sd[i], wantMean, wantSD)
		}
	}
}

// Law: rounding moves what is around a fit by no more than rounding, also where two directions are as open as each other
// and have no axes of their own: a program built otherwise has the same intervals.
func TestAroundIsStable(t *testing.T) {
	data := oneOfMany("rough", 9, 3, 1)
	for i, x := range data.X { // the second and third coordinate hardly differ: nothing says what their lengthscales are
		x[1], x[2] = 0.5+1e-7*float64(i%3), 0.5+1e-7*float64(i%2)
	}
	h := mustFit(t, data, FitConfig{}).Hyper
	around := must.Get(Around(t.Context(), data, FitConfig{}, h))(t)
	rounded := Data{X: data.X, Y: slices.Clone(data.Y)}
	for i := range rounded.Y {
		rounded.Y[i] += 1e-9 * float64(i%3-1)
	}
	again := must.Get(Around(t.Context(), rounded, FitConfig{}, h))(t)
	for k := range around {
		for j, l := range around[k].Lengthscales {
			if by := math.Abs(math.Log(l / again[k].Lengthscales[j])); by > 1e-5 {
				t.Errorf("lengthscale %d of point %d moves by e^%v", j, k, by)
			}
		}
	}
}
