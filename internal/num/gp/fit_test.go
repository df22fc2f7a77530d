package gp

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/campaignd/campaignd/internal/num/kernel"
	"github.com/campaignd/campaignd/internal/num/optimize"
	_ "github.com/campaignd/campaignd/internal/tests/draws"
	"github.com/campaignd/campaignd/internal/tests/must"
)

func mustFamily(t interface {
	Helper()
	Fatal(...any)
}, name string) kernel.Family {
	t.Helper()
	return must.Get(kernel.ParseFamily(name))(t)
}

func mustFit(t testing.TB, data Data, cfg FitConfig) FitResult {
	t.Helper()
	return must.Get(Fit(context.Background(), data, cfg))(t)
}

// TestFitIsAMaximum: the gradient that Fit searches with is that of the log posterior, by finite
// differences over the hyperparameters with the mean profiled out; the result is stationary; and no
// other mean is better.
func TestFitIsAMaximum(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := draw(t)
		cfg := FitConfig{
			Kernel:          p.name,
			FreeOutputScale: rapid.Bool().Draw(t, "free"),
			Seed:            rapid.Uint64().Draw(t, "seed"),
		}
		res := must.Get(Fit(context.Background(), p.data, cfg))(t)
		// The search stops at a relative decrease, so the gradient left grows with the size of the
		// log density.
		if res.KKT > 1e-2+1e-4*math.Abs(res.LogPosterior) {
			t.Fatalf("KKT residual %v: %+v", res.KKT, res)
		}
		lml, err := LogMarginal(p.data, p.name, res.Hyper, nil)
		if err != nil || !near(lml, res.LogMarginal, 1e-12) {
			t.Fatalf("log marginal likelihood at the result is %v (%v), reported %v", lml, err, res.LogMarginal)
		}
		for _, step := range []float64{-0.01, 0.01} {
			h := res.Hyper
			h.Mean += step
			if v, _ := LogMarginal(p.data, p.name, h, nil); v > lml {
				t.Fatalf("mean %v is better than the fitted one by %v", h.Mean, v-lml)
			}
		}

		c := cfg.withDefaults(len(p.x)).forSize(len(p.data.X))
		o := newObjective(t.Context(), newLikelihood(merge(p.data), mustFamily(t, p.name)), c)
		for _, theta := range o.starts()[:3] {
			for j := range theta { // away from the bounds, where exp is clamped
				theta[j] = min(max(theta[j], o.lower[j]+0.1), o.upper[j]-0.1)
			}
			grad := make([]float64, len(theta))
			f := o.eval(theta, grad)
			for j := range theta {
				const h = 1e-5
				at := func(s float64) float64 {
					q := append([]float64{}, theta...)
					q[j] += s
					return o.eval(q, nil)
				}
				if fd := (at(h) - at(-h)) / (2 * h); math.Abs(grad[j]-fd) > 1e-5*(1+math.Abs(fd)+math.Abs(f)) { // f may be huge: its rounding too
					t.Fatalf("derivative %d is %v, finite difference %v", j, grad[j], fd)
				}
			}
		}
	})
}

// TestFitRecovers: lengthscales, noise and mean of a function drawn from the prior come back, with
// enough data, and an irrelevant dimension gets a long lengthscale.
func TestFitRecovers(t *testing.T) {
	truth := Hyper{Lengthscales: []float64{.2, .5, 50}, OutputScale: 1, Noise: .01, Mean: 0}
	rng := rand.New(rand.NewPCG(5, 5))
	// an observation too far to matter
	prior := must.Get(New(Data{X: [][]float64{{9, 9, 9}}, Y: []float64{0}}, "rbf", truth))(t)
	data := Data{X: make([][]float64, 150), Y: make([]float64, 150)}
	for i := range data.X {
		data.X[i] = []float64{rng.Float64(), rng.Float64(), rng.Float64()}
	}
	must.Do(t, prior.Joint(data.X).Sample(data.Y, rng))
	for i := range data.Y {
		data.Y[i] += math.Sqrt(truth.Noise) * rng.NormFloat64()
	}
	res := mustFit(t, data, FitConfig{})
	h := res.Hyper
	for j, want := range truth.Lengthscales[:2] {
		if r := h.Lengthscales[j] / want; r < 0.75 || r > 1.33 {
			t.Errorf("lengthscale %d is %v, want about %v", j, h.Lengthscales[j], want)
		}
	}
	if h.Lengthscales[2] < 3 || h.Noise < .007 || h.Noise > .014 || res.Status != optimize.Converged ||
		res.Jitter != 0 {
		t.Errorf("fit %+v", res)
	}
}

// TestFitRepeats bit for bit; a warm start at the result does not make it worse; more starts never
// do either.
func TestFitRepeats(t *testing.T) {
	data := synthetic(40, 4, 2)
	a, b := mustFit(t, data, FitConfig{Seed: 3}), mustFit(t, data, FitConfig{Seed: 3})
	ja, _ := json.Marshal(a)
	jb, _ := json.Marshal(b)
	if string(ja) != string(jb) {
		t.Errorf("two fits differ:\n%s\n%s", ja, jb)
	}
	warm := mustFit(t, data, FitConfig{Seed: 4, Warm: &a.Hyper})
	if warm.LogPosterior < a.LogPosterior-1e-9 {
		t.Errorf("warm start lost: %v after %v", warm.LogPosterior, a.LogPosterior)
	}
}

// oneOfMany is a data set of the given kind, standardized: "smooth" and "rough" are sums of waves of long
// and of short lengths, half of them with noise; "noise" is nothing else.
func oneOfMany(kind string, n, d int, seed uint64) Data {
	rng := rand.New(rand.NewPCG(seed, uint64(100*n+d)))
	const waves = 12
	var turns [waves][]float64 // per unit of a dimension
	var phase, height [waves]float64
	spread := map[string]float64{"smooth": 0.7, "rough": 2.5}[kind]
	for i := range waves {
		for range d {
			turns[i] = append(turns[i], spread*rng.NormFloat64()*math.Exp(0.5*rng.NormFloat64()))
		}
		phase[i], height[i] = rng.Float64(), rng.NormFloat64()
	}
	data := Data{X: make([][]float64, n), Y: make([]float64, n)}
	for t := range n {
		for range d {
			data.X[t] = append(data.X[t], rng.Float64())
		}
		if kind == "noise" {
			data.Y[t] = rng.NormFloat64()
			continue
		}
		for i := range waves {
			a := phase[i]
			for j, x := range data.X[t] {
				a += turns[i][j] * x
			}
			data.Y[t] += height[i] * math.Sin(2*math.Pi*a) / 2
		}
		if seed%2 == 0 {
			data.Y[t] += 0.1 * rng.NormFloat64()
		}
	}
	mean, sd := 0.0, 0.0
	for _, y := range data.Y {
		mean += y / float64(n)
	}
	for _, y := range data.Y {
		sd += (y - mean) * (y - mean) / float64(n-1)
	}
	for t := range data.Y {
		data.Y[t] = (data.Y[t] - mean) / math.Sqrt(sd)
	}
	return data
}

// Law: Fit finds the optimum: in all but one of 48 data sets, smooth, rough and mere noise, it ends within
// 1e-3 of the log posterior that is the best of forty complete searches from random hyperparameters.
func TestFitFindsTheOptimum(t *testing.T) {
	missed := 0
	for i := range 48 {
		kind := []string{"smooth", "rough", "noise"}[i%3]
		n, d := []int{5, 10, 25, 50}[i/3%4], []int{1, 2, 4, 6}[i/12]
		cfg := FitConfig{
			Kernel: []string{"rbf", "matern52", "rbf", "matern32"}[i%4], FreeOutputScale: i%2 == 1,
			Seed: uint64(i),
		}
		data := oneOfMany(kind, n, d, uint64(i))
		res := mustFit(t, data, cfg)

		o := newObjective(t.Context(), newLikelihood(merge(data), mustFamily(t, cfg.Kernel)), cfg.withDefaults(d))
		region := must.Get(optimize.NewRegion(optimize.Box(o.lower, o.upper)))(t)
		rng := rand.New(rand.NewPCG(uint64(i), 40))
		starts := make([][]float64, 40)
		for k := range starts {
			for j := range o.priors {
				low, high := math.Log(0.03), math.Log(5)
				if j == o.noise {
					low, high = math.Log(1e-3), 0
				}
				starts[k] = append(starts[k], low+(high-low)*rng.Float64())
			}
		}
		best, err := optimize.MultiStart(t.Context(), o.eval, region, starts, optimize.MultiStartConfig{Searches: len(starts)})
		if err != nil {
			t.Fatal(err)
		}
		if short := -best.F - res.LogPosterior; short > 1e-3 {
			missed++
			t.Logf("%s, n = %d, d = %d, %s: %v below %v", kind, n, d, cfg.Kernel, short, -best.F)
		}
	}
	if missed > 1 {
		t.Errorf("%d of 48 fits missed the best mode", missed)
	}
}

// Law: a fit from the priors' mode ends in the basin of that, whatever the last fit was and the seed is: it is no
// better than the other, and of some data it is another.
func TestFitFromTheMode(t *testing.T) {
	others := 0
	for _, kind := range []string{"smooth", "rough", "noise"} {
		data := oneOfMany(kind, 14, 4, 2)
		best := mustFit(t, data, FitConfig{})
		got := mustFit(t, data, FitConfig{FromMode: true})
		again := mustFit(t, data, FitConfig{FromMode: true, Seed: 9, Warm: &best.Hyper})
		if !reflect.DeepEqual(got, again) || got.Start != "mode" || got.LogPosterior > best.LogPosterior+1e-6 {
			t.Errorf("%s: %+v, with another seed and start %+v; at best %v", kind, got, again, best.LogPosterior)
		}
		if got.LogPosterior < best.LogPosterior-1e-3 {
			others++
		}
	}
	if others == 0 {
		t.Error("the mode's basin is the best of all: the test tells nothing")
	}
}

// Law: of many points a subset is fitted: as many as are asked for, evenly spread over the order in which they
// came, each with all its repetitions.
func TestFitOfASubset(t *testing.T) {
	const n, m = 90, 30
	all := oneOfMany("smooth", n, 2, 2)
	var some Data
	for k := 0; k < n; k += n / m {
		some.X, some.Y = append(some.X, all.X[k]), append(some.Y, all.Y[k])
	}
	repeated := Data{X: append(slices.Clone(all.X), all.X[3], all.X[4]), Y: append(slices.Clone(all.Y), 0.5, -7)}
	some.X, some.Y = append(some.X, all.X[3]), append(some.Y, 0.5) // the 4th is left out, with its repetition
	got, want := mustFit(t, repeated, FitConfig{Subset: m}), mustFit(t, some, FitConfig{})
	if !reflect.DeepEqual(got, want) || got.Distinct != m {
		t.Errorf("it is %+v, the fit of the subset %+v", got, want)
	}
	if got := mustFit(t, repeated, FitConfig{Subset: n}); got.Distinct != n {
		t.Errorf("as many as there are: %+v", got)
	}
}

// TestFitOfNoise: known noise is not fitted, a fixed one neither, and one observation is enough for
// a fit.
func TestFitOfNoise(t *testing.T) {
	data := synthetic(20, 2, 3)
	data.NoiseVar = make([]float64, 20)
	for i := range data.NoiseVar {
		data.NoiseVar[i] = 0.01
	}
	p := DefaultPriors(2)
	if r := mustFit(t, data, FitConfig{}); r.NoiseInferred || r.Hyper.Noise != p.Noise.Mode() {
		t.Errorf("all noise known: %+v", r)
	}
	data.NoiseVar[3] = math.NaN()
	if r := mustFit(t, data, FitConfig{}); !r.NoiseInferred {
		t.Errorf("one unknown: %+v", r)
	}
	if r := mustFit(t, data, FitConfig{FixedNoise: 0.02}); r.NoiseInferred || r.Hyper.Noise != 0.02 {
		t.Errorf("fixed noise: %+v", r)
	}
	one := mustFit(t, Data{X: [][]float64{{.3, .4}}, Y: []float64{2}}, FitConfig{})
	if one.Hyper.Mean != 2 {
		t.Errorf("one observation: %+v", one)
	}
}

func TestFitRefusesAndCancels(t *testing.T) {
	data := synthetic(5, 2, 3)
	ctx, cancel := context.WithCancel(context.Background())
	for _, cfg := range []FitConfig{
		{FixedNoise: -1}, {OutputScale: math.NaN()}, {Warm: &Hyper{}},
		{Priors: &Priors{Lengthscale: LogNormal{Lower: 2, Upper: 1}, Noise: DefaultPriors(2).Noise}},
	} {
		if _, err := Fit(ctx, data, cfg); !errors.Is(err, ErrHyper) {
			t.Errorf("%+v: %v", cfg, err)
		}
	}
	cancel()
	if _, err := Fit(ctx, data, FitConfig{}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// TestPriors: the mode is where the density of p, not of ln p, is greatest: slope of the log
// density in ln p plus one for the change of variable vanish elsewhere.
func TestPriors(t *testing.T) {
	p := DefaultPriors(4)
	for _, l := range []LogNormal{p.Lengthscale, p.OutputScale} {
		if _, s := l.LogDensity(math.Log(l.Mode())); math.Abs(s) > 1e-12 {
			t.Errorf("slope %v at the mode", s)
		}
	}
	if m := p.Lengthscale.Mode(); math.Abs(m-2*math.Exp(math.Sqrt2-3)) > 1e-12 {
		t.Errorf("lengthscale mode %v", m)
	}
}
