package pref

import (
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/campaignd/campaignd/internal/num/gp"
	"github.com/campaignd/campaignd/internal/num/kernel"
	"github.com/campaignd/campaignd/internal/num/optimize"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// TestEvidenceGradient against central differences, which feel the search for the mode at every
// shifted hyperparameter.
func TestEvidenceGradient(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawProblem(t)
		d := len(p.x)
		grad := make([]float64, d+1)
		value := must.Get(LogEvidence(ctx, p.duels, p.link, p.name, p.hyper, grad))(t)
		if res := p.laplace(t); !agree(value, res.LogEvidence, 1e-12) {
			t.Fatalf("log evidence %v, Laplace says %v", value, res.LogEvidence)
		}
		const h = 1e-4
		for j := range grad {
			at := func(step float64) float64 {
				q := p.hyper
				q.Lengthscales = slices.Clone(q.Lengthscales)
				if j < d {
					q.Lengthscales[j] *= math.Exp(step)
				} else {
					q.OutputScale *= math.Exp(step)
				}
				return must.Get(LogEvidence(ctx, p.duels, p.link, p.name, q, nil))(t)
			}
			if diff := (at(h) - at(-h)) / (2 * h); !agree(grad[j], diff, 1e-5) {
				t.Fatalf("∂ log evidence/∂θ_%d = %v, finite difference %v", j, grad[j], diff)
			}
		}
	})
}

func mustFit(t *testing.T, duels Duels, cfg FitConfig) FitResult {
	t.Helper()
	return must.Get(Fit(ctx, duels, cfg))(t)
}

// TestFitIsTheMaximum: no lengthscale on a grid over the bounds has a higher evidence, under both
// links.
func TestFitIsTheMaximum(t *testing.T) {
	for _, link := range []Link{Probit, Logistic} {
		duels := synthetic(t, 60, 2, 5)
		res := mustFit(t, duels, FitConfig{Link: link, Seed: 1})
		if res.Status != optimize.Converged || res.KKT > 1e-3 {
			t.Errorf("%s: %+v", link, res)
		}
		const n = 15
		l := func(i int) float64 { return 0.1 * math.Pow(10, float64(i)/(n-1)) }
		for i := range n {
			for j := range n {
				h := Hyper{Lengthscales: []float64{l(i), l(j)}, OutputScale: 1}
				if v, err := LogEvidence(ctx, duels, link, "rbf", h, nil); err != nil || v > res.LogEvidence+1e-6 {
					t.Errorf("%s: log evidence %v at %v (%v), the fit found %v at %v",
						link, v, h.Lengthscales, err, res.LogEvidence, res.Hyper.Lengthscales)
				}
			}
		}
	}
}

// TestFitWithPriors: no lengthscale and output scale on a grid, fine or coarse, has a higher log
// evidence plus log priors, which are written out here: a density of the lengthscale, one of the scale's logarithm.
func TestFitWithPriors(t *testing.T) {
	duels := synthetic(t, 40, 1, 5)
	prior, scalePrior := &gp.LogNormal{Mu: -1, Sigma: 0.7}, &gp.LogNormal{Mu: 1, Sigma: 1.2}
	posterior := func(l, s float64) float64 {
		v, err := LogEvidence(ctx, duels, Probit, "rbf", Hyper{Lengthscales: []float64{l}, OutputScale: s}, nil)
		if err != nil {
			t.Fatal(err)
		}
		normal := func(x, mu, sigma float64) float64 {
			return -(x-mu)*(x-mu)/(2*sigma*sigma) - math.Log(sigma*math.Sqrt(2*math.Pi))
		}
		return v + normal(math.Log(l), prior.Mu, prior.Sigma) - math.Log(l) + normal(math.Log(s), scalePrior.Mu, scalePrior.Sigma)
	}
	res := mustFit(t, duels, FitConfig{Prior: prior, FreeOutputScale: true, ScalePrior: scalePrior, Lower: 0.02, Upper: 5})
	if v := posterior(res.Hyper.Lengthscales[0], res.Hyper.OutputScale); math.Abs(v-res.LogPosterior) > 1e-9 {
		t.Errorf("log posterior %v, by hand %v", res.LogPosterior, v)
	}
	near := func(i int) float64 { return math.Exp(float64(i-12) / 500) }
	for i := range 25 {
		for j := range 25 {
			l, s := res.Hyper.Lengthscales[0]*near(i), res.Hyper.OutputScale*near(j)
			if v := posterior(l, s); v > res.LogPosterior+1e-7 {
				t.Errorf("log posterior %v at %v, %v; the fit found %v at %+v", v, l, s, res.LogPosterior, res.Hyper)
			}
			l, s = 0.02*math.Pow(250, float64(i)/24), 0.01*math.Pow(1e4, float64(j)/24)
			if v := posterior(l, s); v > res.LogPosterior+1e-6 {
				t.Errorf("log posterior %v at %v, %v; the fit found %v at %+v", v, l, s, res.LogPosterior, res.Hyper)
			}
		}
	}
}

// TestFitLearnsWhatMatters: utilities drawn with lengthscales 0.25 and 1 are told apart, and the
// third dimension, which does not matter, is put at the upper bound or near it.
func TestFitLearnsWhatMatters(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	var winners, losers [][]float64
	utility := func(x []float64) float64 { return 2*math.Sin(9*x[0]) + math.Sin(2*x[1]) }
	for range 150 {
		x := []float64{rng.Float64(), rng.Float64(), rng.Float64()}
		y := []float64{rng.Float64(), rng.Float64(), rng.Float64()}
		if utility(x)-utility(y)+0.5*rng.NormFloat64() < 0 {
			x, y = y, x
		}
		winners, losers = append(winners, x), append(losers, y)
	}
	duels := must.Get(NewDuels(winners, losers, func([]float64) float64 { return 0.125 }))(t)
	l := mustFit(t, duels, FitConfig{Seed: 2}).Hyper.Lengthscales
	if !(l[0] < 0.5*l[1] && l[2] > 0.6) {
		t.Errorf("lengthscales %v", l)
	}
	// The model then predicts new duels.
	k := must.Get(Hyper{Lengthscales: l, OutputScale: 1}.Kernel("rbf", 3))(t)
	res := must.Get(Laplace(ctx, duels, Probit, k, LaplaceConfig{}))(t)
	right := 0
	for range 500 {
		x := []float64{rng.Float64(), rng.Float64(), rng.Float64()}
		y := []float64{rng.Float64(), rng.Float64(), rng.Float64()}
		m := res.Posterior.Pair(x, y)
		if (m.MeanX > m.MeanY) == (utility(x) > utility(y)) {
			right++
		}
	}
	if right < 425 {
		t.Errorf("%d of 500 new duels predicted", right)
	}
}

// TestFitRepeats: the same input gives the same bits; a warm start at the result does not lose it;
// the result survives JSON.
func TestFitRepeats(t *testing.T) {
	duels := synthetic(t, 40, 3, 2)
	res := mustFit(t, duels, FitConfig{Seed: 9})
	if again := mustFit(t, duels, FitConfig{Seed: 9}); !reflect.DeepEqual(res, again) {
		t.Errorf("%+v, then %+v", res, again)
	}
	warm := mustFit(t, duels, FitConfig{Seed: 10, Warm: &res.Hyper, Starts: 1, Searches: 1})
	if warm.LogEvidence < res.LogEvidence-1e-7 {
		t.Errorf("log evidence %v from a warm start at %v", warm.LogEvidence, res.LogEvidence)
	}
	raw := must.Get(json.Marshal(res))(t)
	var back FitResult
	if err := json.Unmarshal(raw, &back); err != nil || !reflect.DeepEqual(res, back) {
		t.Errorf("%s read as %+v (%v)", raw, back, err)
	}
	// The recorded evidence is that of the recorded hyperparameters, to the last bit.
	if v, err := LogEvidence(ctx, duels, Probit, "rbf", res.Hyper, nil); err != nil || v != res.LogEvidence {
		t.Errorf("log evidence %v (%v), recorded %v", v, err, res.LogEvidence)
	}
}

// TestFitSettings: bounds hold exactly, equal ones fix the lengthscale; a prior pulls; a free
// output scale fits better.
func TestFitSettings(t *testing.T) {
	duels := synthetic(t, 40, 2, 4)
	plain := mustFit(t, duels, FitConfig{})
	fixed := mustFit(t, duels, FitConfig{Lower: 0.3, Upper: 0.3})
	if !slices.Equal(fixed.Hyper.Lengthscales, []float64{0.3, 0.3}) || fixed.LogEvidence > plain.LogEvidence {
		t.Errorf("fixed: %+v", fixed)
	}
	narrow := mustFit(t, duels, FitConfig{Prior: &gp.LogNormal{Mu: math.Log(0.2), Sigma: 0.01}})
	for _, l := range narrow.Hyper.Lengthscales {
		if math.Abs(l-0.2) > 0.01 {
			t.Errorf("a narrow prior at 0.2 gives %v", l)
		}
	}
	if narrow.LogPosterior == narrow.LogEvidence || plain.LogPosterior != plain.LogEvidence {
		t.Error("the log posterior is the log evidence plus the log prior")
	}
	if free := mustFit(t, duels, FitConfig{FreeOutputScale: true}); free.LogEvidence < plain.LogEvidence {
		t.Errorf("free: %+v, fixed at 1: %+v", free, plain)
	}
	// The prior of a free scale pulls as well: to its mode, unless the bounds stop it.
	for _, c := range []struct{ mode, want float64 }{{7, 7}, {1e4, 100}} {
		prior := &gp.LogNormal{Mu: math.Log(c.mode), Sigma: 1e-3}
		if pulled := mustFit(t, duels, FitConfig{FreeOutputScale: true, ScalePrior: prior}); math.Abs(pulled.Hyper.OutputScale-c.want) > 0.01 {
			t.Errorf("a narrow prior at %v gives %v", c.mode, pulled.Hyper.OutputScale)
		}
	}
	// A linear part is recorded with the result, whose evidence counts it.
	straight := mustFit(t, duels, FitConfig{Slope: 2})
	if v, err := LogEvidence(ctx, duels, Probit, "rbf", straight.Hyper, nil); err != nil ||
		straight.Hyper.Slope != 2 || v != straight.LogEvidence || v == plain.LogEvidence {
		t.Errorf("with a linear part: %+v, log evidence %v (%v)", straight, v, err)
	}
	if ignored := mustFit(t, duels, FitConfig{ScalePrior: &gp.LogNormal{Sigma: 1}}); !reflect.DeepEqual(ignored, plain) {
		t.Error("a fixed scale has no prior")
	}
	for _, c := range []struct {
		name string
		cfg  FitConfig
		want error
	}{
		{"bounds", FitConfig{Lower: 2}, ErrHyper},
		{"negative bound", FitConfig{Lower: -1}, ErrHyper},
		{"output scale", FitConfig{OutputScale: -1}, ErrHyper},
		{"starts", FitConfig{Starts: -1}, ErrHyper},
		{"prior", FitConfig{Prior: &gp.LogNormal{}}, ErrHyper},
		{"prior of the scale", FitConfig{ScalePrior: &gp.LogNormal{}}, ErrHyper},
		{"slope", FitConfig{Slope: -1}, ErrHyper},
		{"warm", FitConfig{Warm: &Hyper{Lengthscales: []float64{1}, OutputScale: 1}}, ErrHyper},
		{"warm number", FitConfig{Warm: &Hyper{Lengthscales: []float64{1, 0}, OutputScale: 1}},
			kernel.ErrHyperparameter},
		{"kernel", FitConfig{Kernel: "cubic"}, kernel.ErrUnknown},
		{"link", FitConfig{Link: "cauchy"}, ErrLink},
	} {
		if _, err := Fit(ctx, duels, c.cfg); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
	}
	tiny := duels
	tiny.Noise = slices.Repeat([]float64{1e-300}, len(duels.X))
	if _, err := Fit(ctx, tiny, FitConfig{}); !errors.Is(err, ErrNotConverged) {
		t.Errorf("noise of 1e-300: %v", err)
	}
}
