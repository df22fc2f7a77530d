package sources

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/campaignd/campaignd/internal/num/gp"
	"github.com/campaignd/campaignd/internal/num/kernel"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// measured returns n measurements of sources in turn, some missing, in two dimensions: all see a part of one smooth function,
// and the more the share, the less they have of their own.
func measured(n, sources int, share float64, seed uint64) Data {
	rng := rand.New(rand.NewPCG(seed, 3))
	var data Data
	for i := range n {
		x := []float64{rng.Float64(), rng.Float64()}
		s := i % sources
		if rng.IntN(4) == 0 {
			s = 0
		}
		common := math.Sin(5*x[0]) + math.Cos(4*x[1])
		own := math.Sin(4*x[0]+3*float64(s)) * math.Cos(6*x[1]-2*float64(s))
		data.X, data.Source = append(data.X, x), append(data.Source, float64(s))
		data.Y = append(data.Y, share*common+(1-share)*own+0.05*rng.NormFloat64())
	}
	return data
}

// cut returns n measurements at fidelities.
func cut(n int, seed uint64) Data {
	rng := rand.New(rand.NewPCG(seed, 4))
	var data Data
	for i := range n {
		x := []float64{rng.Float64(), rng.Float64()}
		s := []float64{0.2, 0.6, 1}[i%3]
		data.X, data.Source = append(data.X, x), append(data.Source, s)
		bias := math.Pow(1-s, 1.5) * math.Cos(5*x[0])
		data.Y = append(data.Y, math.Sin(5*x[0])+x[1]+bias+0.05*rng.NormFloat64())
	}
	return data
}

func triple() ICM {
	return ICM{
		Lengthscales: []float64{0.4, 0.7}, W: [][]float64{{0.8}, {0.5, 1.1}, {-0.3, 0.4, 0.6}},
		Noise: []float64{0.02, 0.3, 0.05}, Mean: 0.2,
	}
}

func scale() Fidelity {
	return Fidelity{Lengthscales: []float64{0.4, 0.7}, OutputScale: 1.3, C: 0.6, Delta: 0.7, Noise: 0.04, Mean: -0.1}
}

// Law: the evidence is the one that the posterior of package gp has, which is computed in another way.
func TestEvidenceIsThePosteriors(t *testing.T) {
	data := measured(25, 3, 0.7, 1)
	value := must.Get(triple().LogMarginal(ctx, data, nil))(t)
	g := must.Get(triple().Posterior(ctx, data))(t)
	near(t, "evidence of sources", value, g.LogMarginal(), 1e-9)

	data = cut(25, 1)
	value = must.Get(scale().LogMarginal(ctx, data, nil))(t)
	g = must.Get(scale().Posterior(ctx, data))(t)
	near(t, "evidence of fidelities", value, g.LogMarginal(), 1e-9)
}

// checkGradient compares a gradient with central differences of value, which moves one parameter.
func checkGradient(t *testing.T, grad []float64, value func(parameter int, step float64) float64) {
	t.Helper()
	const h = 1e-5
	for j, got := range grad {
		want := (value(j, h) - value(j, -h)) / (2 * h)
		near(t, fmt.Sprint("derivative ", j), got, want, 1e-6*(1+math.Abs(want)))
	}
}

// Law: the derivatives of both evidences are those of central differences.
func TestEvidenceGradient(t *testing.T) {
	data := measured(30, 3, 0.7, 2)
	grad := make([]float64, 2+6+3+1)
	must.Get(triple().LogMarginal(ctx, data, grad))(t)
	checkGradient(t, grad, func(j int, step float64) float64 {
		h := triple()
		switch {
		case j < 2:
			h.Lengthscales[j] *= math.Exp(step)
		case j < 3:
			h.W[0][j-2] += step
		case j < 5:
			h.W[1][j-3] += step
		case j < 8:
			h.W[2][j-5] += step
		case j < 11:
			h.Noise[j-8] *= math.Exp(step)
		default:
			h.Mean += step
		}
		return must.Get(h.LogMarginal(ctx, data, nil))(t)
	})

	data = cut(30, 2)
	grad = make([]float64, 2+4+1)
	must.Get(scale().LogMarginal(ctx, data, grad))(t)
	checkGradient(t, grad, func(j int, step float64) float64 {
		h := scale()
		if j == 6 {
			h.Mean += step
		} else {
			*[]*float64{&h.Lengthscales[0], &h.Lengthscales[1], &h.OutputScale, &h.C, &h.Delta, &h.Noise}[j] *= math.Exp(step)
		}
		return must.Get(h.LogMarginal(ctx, data, nil))(t)
	})
}

// logNormal is ln of the density of p whose logarithm is N(mu, sigma²).
func logNormal(p, mu, sigma float64) float64 { return gauss(math.Log(p), mu, sigma) - math.Log(p) }

func gauss(x, mu, sigma float64) float64 {
	return -(x-mu)*(x-mu)/(2*sigma*sigma) - math.Log(sigma*math.Sqrt(2*math.Pi))
}

// posterior is the log posterior density of sources, by hand.
func (h ICM) posterior(t *testing.T, data Data) float64 {
	t.Helper()
	v := must.Get(h.LogMarginal(ctx, data, nil))(t)
	for _, l := range h.Lengthscales {
		v += logNormal(l, math.Sqrt2+math.Log(2)/2, math.Sqrt(3))
	}
	for s, row := range h.W {
		v += logNormal(h.Noise[s], -4, 1)
		for _, w := range row {
			v += gauss(w, 0, 1)
		}
	}
	return v
}

// posterior is the log posterior density of fidelities, by hand.
func (h Fidelity) posterior(t *testing.T, data Data) float64 {
	t.Helper()
	v := must.Get(h.LogMarginal(ctx, data, nil))(t)
	for _, l := range h.Lengthscales {
		v += logNormal(l, math.Sqrt2+math.Log(2)/2, math.Sqrt(3))
	}
	return v + logNormal(h.OutputScale, 0, 1) + gauss(math.Log(h.C), 0, 0.5) + logNormal(h.Delta, 0, 0.5) +
		logNormal(h.Noise, -4, 1)
}

// Law: the fit's density is that of the priors written out, and no parameter moved a little, nor any other of many, has a greater
// one, the mean's included; a fit gives the same bits again.
func TestFitIsTheMaximum(t *testing.T) {
	data := measured(40, 3, 0.8, 3)
	h, res := must.Get2(FitICM(ctx, data, 3, FitConfig{Seed: 1}))(t)
	near(t, "log posterior of sources", res.LogPosterior, h.posterior(t, data), 1e-8)
	rng := rand.New(rand.NewPCG(1, 1))
	for i := range 600 {
		size := []float64{0.003, 0.05, 0.5}[i%3]
		o := ICM{Lengthscales: slices.Clone(h.Lengthscales), Noise: slices.Clone(h.Noise), Mean: h.Mean + size*rng.NormFloat64()}
		for _, row := range h.W {
			o.W = append(o.W, slices.Clone(row))
		}
		for j := range o.Lengthscales {
			o.Lengthscales[j] *= math.Exp(size * rng.NormFloat64())
		}
		for s := range o.W {
			o.Noise[s] = max(o.Noise[s]*math.Exp(size*rng.NormFloat64()), 1e-4)
			for k := range o.W[s] {
				o.W[s][k] += size * rng.NormFloat64()
			}
		}
		if v := o.posterior(t, data); v > res.LogPosterior+1e-6 {
			t.Fatalf("log posterior %v at %+v, the fit found %v at %+v", v, o, res.LogPosterior, h)
		}
	}
	again, _, err := FitICM(ctx, data, 3, FitConfig{Seed: 1})
	if err != nil || !reflect.DeepEqual(h, again) {
		t.Errorf("%+v, then %+v (%v)", h, again, err)
	}

	data = cut(40, 3)
	f, res := must.Get2(FitFidelity(ctx, data, FitConfig{Seed: 1}))(t)
	near(t, "log posterior of fidelities", res.LogPosterior, f.posterior(t, data), 1e-8)
	for i := range 600 {
		size := []float64{0.003, 0.05, 0.5}[i%3]
		o := f
		o.Lengthscales = slices.Clone(f.Lengthscales)
		o.Mean += size * rng.NormFloat64()
		for _, p := range []*float64{&o.Lengthscales[0], &o.Lengthscales[1], &o.OutputScale, &o.C, &o.Delta, &o.Noise} {
			*p = max(*p*math.Exp(size*rng.NormFloat64()), 1e-4)
		}
		if v := o.posterior(t, data); v > res.LogPosterior+1e-6 {
			t.Fatalf("log posterior %v at %+v, the fit found %v at %+v", v, o, res.LogPosterior, f)
		}
	}
}

// Law: sources that tell the same are found to, those that have little to do with each other are not; what one has measured
// then helps to predict another, and how the sources are numbered does not matter.
func TestSourcesAreLearned(t *testing.T) {
	correlation := func(data Data) float64 {
		h, _ := must.Get2(FitICM(ctx, data, 2, FitConfig{Seed: 2}))(t)
		return h.Correlation(0, 1)
	}
	if same := correlation(measured(50, 2, 1, 5)); !(same > 0.95) {
		t.Errorf("sources of one function have the correlation %v", same)
	}
	if other := correlation(measured(50, 2, 0, 5)); !(math.Abs(other) < 0.8) {
		t.Errorf("sources of two functions have the correlation %v", other)
	}

	data := measured(40, 2, 0.9, 6)
	h, res := must.Get2(FitICM(ctx, data, 2, FitConfig{Seed: 2}))(t)
	exchanged := data
	exchanged.Source = make([]float64, len(data.Source))
	for i, s := range data.Source {
		exchanged.Source[i] = 1 - s
	}
	back, res2 := must.Get2(FitICM(ctx, exchanged, 2, FitConfig{Seed: 2}))(t)
	near(t, "log posterior of exchanged sources", res2.LogPosterior, res.LogPosterior, 1e-4)
	near(t, "their correlation", back.Correlation(0, 1), h.Correlation(0, 1), 1e-2)

	// Of source 1 there are a few values only.
	few := Data{}
	seen := 0
	for i, s := range data.Source {
		if s == 1 {
			if seen++; seen > 5 {
				continue
			}
		}
		few.X, few.Source, few.Y = append(few.X, data.X[i]), append(few.Source, s), append(few.Y, data.Y[i])
	}
	with := must.Get(h.Posterior(ctx, few))(t)
	alone := Data{}
	for i, s := range few.Source {
		if s == 1 {
			alone.X, alone.Source, alone.Y = append(alone.X, few.X[i]), append(alone.Source, s), append(alone.Y, few.Y[i])
		}
	}
	without := must.Get(h.Posterior(ctx, alone))(t)
	var squaresWith, squaresWithout float64
	for i, s := range data.Source {
		if s != 1 {
			continue
		}
		p := Join(data.X[i], 1)
		a, _ := with.Posterior(p)
		b, _ := without.Posterior(p)
		squaresWith += (a - data.Y[i]) * (a - data.Y[i])
		squaresWithout += (b - data.Y[i]) * (b - data.Y[i])
	}
	if !(squaresWith < squaresWithout/3) {
		t.Errorf("squared errors %v with the other source, %v without", squaresWith, squaresWithout)
	}
}

// Law: what cannot be modelled is refused, and a search that is called off ends.
func TestRefused(t *testing.T) {
	good := measured(6, 2, 0.5, 1)
	with := func(change func(d *Data)) Data {
		d := Data{X: slices.Clone(good.X), Source: slices.Clone(good.Source), Y: slices.Clone(good.Y)}
		change(&d)
		return d
	}
	for name, d := range map[string]Data{
		"nothing":     {},
		"third":       with(func(d *Data) { d.Source[1] = 2 }),
		"between":     with(func(d *Data) { d.Source[1] = 0.5 }),
		"negative":    with(func(d *Data) { d.Source[1] = -1 }),
		"no number":   with(func(d *Data) { d.Source[1] = math.NaN() }),
		"no value":    with(func(d *Data) { d.Y[1] = math.NaN() }),
		"no position": with(func(d *Data) { d.X[1] = []float64{0, math.Inf(1)} }),
	} {
		if _, _, err := FitICM(ctx, d, 2, FitConfig{}); !errors.Is(err, gp.ErrData) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, _, err := FitFidelity(ctx, with(func(d *Data) { d.Source[0] = 1.1 }), FitConfig{}); !errors.Is(err, gp.ErrData) {
		t.Errorf("a fidelity of 1.1: %v", err)
	}
	for _, sources := range []int{0, MaxSources + 1} {
		if _, _, err := FitICM(ctx, good, sources, FitConfig{}); !errors.Is(err, gp.ErrHyper) {
			t.Errorf("%d sources: %v", sources, err)
		}
	}
	for name, h := range map[string]ICM{
		"row":         {Lengthscales: []float64{1, 1}, W: [][]float64{{1}, {1}}, Noise: []float64{1, 1}},
		"noise":       {Lengthscales: []float64{1, 1}, W: [][]float64{{1}, {1, 1}}, Noise: []float64{1, 0}},
		"noises":      {Lengthscales: []float64{1, 1}, W: [][]float64{{1}, {1, 1}}, Noise: []float64{1}},
		"lengthscale": {Lengthscales: []float64{1}, W: [][]float64{{1}, {1, 1}}, Noise: []float64{1, 1}},
		"mean":        {Lengthscales: []float64{1, 1}, W: [][]float64{{1}, {1, 1}}, Noise: []float64{1, 1}, Mean: math.NaN()},
	} {
		if _, err := h.Posterior(ctx, good); !errors.Is(err, gp.ErrHyper) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := h.LogMarginal(ctx, good, nil); !errors.Is(err, gp.ErrHyper) {
			t.Errorf("evidence, %s: %v", name, err)
		}
	}
	bad := scale()
	bad.C = 0
	if _, err := bad.LogMarginal(ctx, cut(6, 1), nil); !errors.Is(err, kernel.ErrHyperparameter) {
		t.Errorf("c = 0: %v", err)
	}
	bad = scale()
	bad.Noise = 0
	if _, err := bad.LogMarginal(ctx, cut(6, 1), nil); !errors.Is(err, gp.ErrHyper) {
		t.Errorf("no noise: %v", err)
	}
}

// expiring is a context that is done once it was asked so many times.
type expiring struct {
	context.Context
	left *int
}

func (e expiring) Err() error {
	if *e.left--; *e.left < 0 {
		return context.Canceled
	}
	return nil
}

// Law: a fit that is called off, whenever, fails; it never returns what a shorter search has found.
func TestFitCalledOff(t *testing.T) {
	data := measured(8, 2, 0.5, 1)
	want, _ := must.Get2(FitICM(ctx, data, 2, FitConfig{Starts: 2, Searches: 1}))(t)
	for asked := 0; ; asked++ {
		left := asked
		got, _, err := FitICM(expiring{ctx, &left}, data, 2, FitConfig{Starts: 2, Searches: 1})
		if err == nil {
			if !reflect.DeepEqual(got, want) {
				t.Errorf("called off when asked for the %dth time: %+v, want %+v", asked, got, want)
			}
			break
		}
		if !errors.Is(err, context.Canceled) {
			t.Fatalf("called off when asked for the %dth time: %v", asked, err)
		}
	}
}

func BenchmarkEvidence(b *testing.B) {
	for _, n := range []int{50, 100, 200, 400} {
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
			data := measured(n, 3, 0.8, 7)
			c := newBetween(3)
			e := newEvidence(data, c, c.size())
			theta := []float64{-1, -0.5, 0.8, 0.5, 1.1, -0.3, 0.4, 0.6, -4, -2, -3}
			grad := make([]float64, len(theta)+1)
			for b.Loop() {
				if _, _, err := e.eval(ctx, theta, math.NaN(), grad); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkFitICM(b *testing.B) {
	for _, n := range []int{50, 100, 200} {
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
			data := measured(n, 3, 0.8, 7)
			var res FitResult
			for b.Loop() {
				var err error
				if _, res, err = FitICM(ctx, data, 3, FitConfig{Seed: 1}); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(res.Evaluations), "evaluations")
		})
	}
}
