package pairgp

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"github.com/campaignd/campaignd/internal/num/gp"
	"github.com/campaignd/campaignd/internal/num/special"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// choices returns n comparisons of random points by a person whose utility is u, with a logistic
// error of the given scale.
func choices(n, d int, seed uint64, scale float64, u func(x []float64) float64) []Comparison {
	rng := rand.New(rand.NewPCG(seed, 7))
	point := func() []float64 {
		x := make([]float64, d)
		for j := range x {
			x[j] = rng.Float64()
		}
		return x
	}
	out := make([]Comparison, n)
	for i := range out {
		a, b := point(), point()
		if rng.Float64() > special.Logistic((u(a)-u(b))/scale) {
			a, b = b, a
		}
		out[i] = Comparison{Chosen: a, Other: b}
	}
	return out
}

func bump(x []float64) float64 {
	var s float64
	for _, v := range x {
		s -= (v - 0.6) * (v - 0.6)
	}
	return 6 * s
}

var testHyper = Hyper{Lengthscales: []float64{0.5, 0.9}, OutputScale: 8, Mean: -3.5, AlphaEps: DefaultAlphaEps}

func mustNew(t testing.TB, c []Comparison, h Hyper) *Model {
	t.Helper()
	return must.Get(New(c, h))(t)
}

// The law of the package: what is believed about (x, x') is what is believed about (x', x) seen
// from the other side, to the last bit, for any data and hyperparameters.
func TestSkewSymmetryIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := rapid.IntRange(1, 4).Draw(t, "d")
		point := rapid.SliceOfN(rapid.Float64Range(0, 1), d, d)
		var c []Comparison
		for range rapid.IntRange(1, 12).Draw(t, "n") {
			c = append(c, Comparison{Chosen: point.Draw(t, "chosen"), Other: point.Draw(t, "other")})
		}
		h := Hyper{
			Lengthscales: rapid.SliceOfN(rapid.Float64Range(0.05, 5), d, d).Draw(t, "l"),
			OutputScale:  rapid.Float64Range(0.1, 100).Draw(t, "s2"),
			Mean:         rapid.Float64Range(-7, 0).Draw(t, "mean"),
			AlphaEps:     rapid.SampledFrom([]float64{0.001, 0.01, 0.1}).Draw(t, "eps"),
		}
		m := must.Get(New(c, h))(t)
		x, y := point.Draw(t, "x"), point.Draw(t, "y")
		p, q := m.Preference(x, y), m.Preference(y, x)
		if p.Mean+q.Mean != 1 {
			t.Fatalf("P(x over y) + P(y over x) = %v + %v = %v, want exactly 1", p.Mean, q.Mean, p.Mean+q.Mean)
		}
		if math.Abs(p.Variance-q.Variance) > 1e-15 || p.Bernoulli != q.Bernoulli {
			t.Fatalf("spreads differ: %+v, %+v", p, q)
		}
		if same := m.Preference(x, x); same.Mean != 0.5 {
			t.Fatalf("P(x over x) = %v", same.Mean)
		}
		if p.Mean < 0 || p.Mean > 1 || p.Bernoulli < 0 || p.Bernoulli > 0.25 {
			t.Fatalf("no probability: %+v", p)
		}
	})
}

// The mirror stands for the second class: a regression of its own on the labels of class 0 gives
// the same posterior and the same marginal likelihood.
func TestMirrorIsTheOtherClass(t *testing.T) {
	c := choices(15, 2, 1, 0.3, bump)
	m := mustNew(t, c, testHyper)
	_, vChosen, tChosen := Label(true, testHyper.AlphaEps)
	_, vOther, tOther := Label(false, testHyper.AlphaEps)
	var class0 gp.Data // "the second of the pair is preferred"
	for _, c := range c {
		class0.X = append(class0.X, join(c.Chosen, c.Other), join(c.Other, c.Chosen))
		class0.Y = append(class0.Y, tOther, tChosen)
		class0.NoiseVar = append(class0.NoiseVar, vOther, vChosen)
	}
	f0 := must.Get(gp.New(class0, kernelName, testHyper.pair()))(t)
	if got, want := f0.LogMarginal(), m.LogMarginal(); math.Abs(got-want) > 1e-10 {
		t.Errorf("log marginal likelihood of class 0 is %v, of class 1 %v", got, want)
	}
	p := m.NewPredictor()
	rng := rand.New(rand.NewPCG(3, 3))
	for range 20 {
		x, y := []float64{rng.Float64(), rng.Float64()}, []float64{rng.Float64(), rng.Float64()}
		m1, s1 := m.latent.Posterior(join(x, y))
		m0, s0 := f0.Posterior(join(x, y))
		mean, variance := p.Latent(x, y)
		if math.Abs(mean-(m1-m0)) > 1e-10 || math.Abs(variance-(s1*s1+s0*s0)) > 1e-10 {
			t.Errorf("h ~ N(%v, %v), from two regressions N(%v, %v)", mean, variance, m1-m0, s1*s1+s0*s0)
		}
	}
}

// What the paper samples (Eq. 53), sampled: the average of the softmax of independent draws of f₁
// and f₀.
func TestPreferenceAgainstMonteCarlo(t *testing.T) {
	m := mustNew(t, choices(12, 2, 2, 0.3, bump), testHyper)
	rng := rand.New(rand.NewPCG(11, 11))
	const draws = 400_000
	for range 5 {
		x, y := []float64{rng.Float64(), rng.Float64()}, []float64{rng.Float64(), rng.Float64()}
		m1, s1 := m.latent.Posterior(join(x, y))
		m0, s0 := m.latent.Posterior(join(y, x))
		var g, g2 float64
		for range draws {
			e1 := math.Exp(m1 + s1*rng.NormFloat64())
			e0 := math.Exp(m0 + s0*rng.NormFloat64())
			v := e1 / (e1 + e0)
			g += v
			g2 += v * v
		}
		g, g2 = g/draws, g2/draws
		got := m.Preference(x, y)
		// Four standard errors of an average of values in [0, 1].
		const tol = 4 * 0.5 / 632
		if math.Abs(got.Mean-g) > tol || math.Abs(got.Bernoulli-(g-g2)) > tol || math.Abs(got.Variance-(g2-g*g)) > tol {
			t.Errorf("%+v, sampled mean %v, E[g(1-g)] %v, variance %v", got, g, g-g2, g2-g*g)
		}
	}
}

// A person who is decided in one direction is believed there, and not far away.
func TestLearnsWhatWasChosen(t *testing.T) {
	m := mustNew(t, []Comparison{{Chosen: []float64{0.8, 0.8}, Other: []float64{0.2, 0.2}}},
		Hyper{Lengthscales: []float64{0.1, 0.1}, OutputScale: 8, Mean: -3.5, AlphaEps: 0.01})
	if p := m.Preference([]float64{0.8, 0.8}, []float64{0.2, 0.2}); p.Mean < 0.8 {
		t.Errorf("P(chosen over other) = %v", p.Mean)
	}
	far := m.Preference([]float64{0.1, 0.9}, []float64{0.9, 0.1})
	prior := m.Prior()
	if math.Abs(far.Mean-0.5) > 1e-6 || math.Abs(far.Bernoulli-prior.Bernoulli) > 1e-6 ||
		math.Abs(far.Variance-prior.Variance) > 1e-6 {
		t.Errorf("far away %+v, the prior is %+v", far, prior)
	}
}

// The derivatives that the fit follows, by central differences.
func TestFitGradient(t *testing.T) {
	lengthscale, scale := DefaultLengthscale(2), DefaultOutputScale(0.01)
	o := newObjective(choices(20, 2, 5, 0.3, bump), 2, FitConfig{
		AlphaEps:    0.01,
		Lengthscale: &lengthscale,
		OutputScale: &scale,
	})
	theta := []float64{math.Log(0.4), math.Log(1.3), math.Log(6), -2.5}
	grad := make([]float64, 4)
	o.eval(theta, grad)
	for j := range theta {
		const h = 1e-5
		up, down := append([]float64(nil), theta...), append([]float64(nil), theta...)
		up[j] += h
		down[j] -= h
		fd := (o.eval(up, nil) - o.eval(down, nil)) / (2 * h)
		if math.Abs(grad[j]-fd) > 1e-6*(1+math.Abs(fd)) {
			t.Errorf("∂/∂θ_%d = %v, finite difference %v", j, grad[j], fd)
		}
	}
}

// A fit finds which parameter the person looks at, is the same each time, and survives its JSON to
// the last bit.
func TestFit(t *testing.T) {
	c := choices(60, 2, 9, 0.05, func(x []float64) float64 { return math.Sin(4 * x[0]) })
	res := must.Get(Fit(context.Background(), c, FitConfig{Seed: 1}))(t)
	if l := res.Hyper.Lengthscales; l[1] < 3*l[0] {
		t.Errorf("lengthscales %v: the second parameter does not matter", l)
	}
	again := must.Get(Fit(context.Background(), c, FitConfig{Seed: 1}))(t)
	raw := must.Get(json.Marshal(res))(t)
	var read FitResult
	must.Do(t, json.Unmarshal(raw, &read))
	a, b := mustNew(t, c, again.Hyper), mustNew(t, c, read.Hyper)
	x, y := []float64{0.3, 0.4}, []float64{0.9, 0.1}
	if a.Preference(x, y) != b.Preference(x, y) {
		t.Error("the same fit, once made again and once read from JSON, predicts differently")
	}
	if got := a.LogMarginal(); math.Abs(got-res.LogMarginal) > 1e-9 {
		t.Errorf("log marginal likelihood %v, the fit says %v", got, res.LogMarginal)
	}
	warm, err := Fit(context.Background(), c, FitConfig{Seed: 1, Warm: &res.Hyper, Starts: 1, Searches: 1})
	if err != nil {
		t.Fatal(err)
	}
	if warm.LogPosterior < res.LogPosterior-1e-6 {
		t.Errorf("warm fit ends at %v, below its start %v", warm.LogPosterior, res.LogPosterior)
	}
}

func TestRefuses(t *testing.T) {
	ok := []Comparison{{Chosen: []float64{0.1, 0.2}, Other: []float64{0.3, 0.4}}}
	bad := []Comparison{{Chosen: []float64{0.1, math.NaN()}, Other: []float64{0.3, 0.4}}}
	with := func(change func(*Hyper)) Hyper {
		h := testHyper
		change(&h)
		return h
	}
	for _, c := range []struct {
		name string
		c    []Comparison
		h    Hyper
		want error
	}{
		{"no comparisons", nil, testHyper, ErrData},
		{"not a number", bad, testHyper, ErrData},
		{"lengthscales", ok, with(func(h *Hyper) { h.Lengthscales = []float64{1} }), ErrHyper},
		{"negative lengthscale", ok, with(func(h *Hyper) { h.Lengthscales = []float64{1, -1} }), ErrHyper},
		{"output scale", ok, with(func(h *Hyper) { h.OutputScale = 0 }), ErrHyper},
		{"mean", ok, with(func(h *Hyper) { h.Mean = math.Inf(1) }), ErrHyper},
		{"alpha", ok, with(func(h *Hyper) { h.AlphaEps = 0 }), ErrHyper},
	} {
		if _, err := New(c.c, c.h); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
	}
	if _, err := Fit(context.Background(), nil, FitConfig{}); !errors.Is(err, ErrData) {
		t.Errorf("fit without comparisons: %v", err)
	}
	if _, err := Fit(context.Background(), ok, FitConfig{AlphaEps: -1}); !errors.Is(err, ErrHyper) {
		t.Errorf("fit with a negative α_ε: %v", err)
	}
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Fit(cancelled, ok, FitConfig{}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled fit: %v", err)
	}
}

// Comparisons made twice, against each other, or of a point with itself are data like any other.
func TestContradictions(t *testing.T) {
	a, b := []float64{0.2, 0.3}, []float64{0.7, 0.6}
	m := mustNew(t, []Comparison{{a, b}, {a, b}, {b, a}, {b, a}, {a, a}}, testHyper)
	if p := m.Preference(a, b); math.Abs(p.Mean-0.5) > 1e-12 {
		t.Errorf("chosen twice each way, P = %v", p.Mean)
	}
	m = mustNew(t, []Comparison{{a, b}, {a, b}, {b, a}}, testHyper)
	if p := m.Preference(a, b); p.Mean < 0.5 {
		t.Errorf("chosen two times of three, P = %v", p.Mean)
	}
}
