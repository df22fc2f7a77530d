package pref

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/campaignd/campaignd/internal/num/gp"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// Oracle j: the posterior given fixed differences to 1e-10, and the Gibbs sampler's mean within
// four standard errors of the rejection sampler's, whose standard error is stored. The chain is
// long enough for its own error to be as small.
func TestHallucinationOracle(t *testing.T) {
	o := readDuelOracle(t)
	p := must.Get(GivenDifferences(o.duels, o.kernel, o.vFixed))(t)
	mean, variance := moments(p, o.tests)
	wantNear(t, "posterior mean given v", mean, o.Result.FixedMean, 1e-10)
	wantNear(t, "posterior variance given v", variance, o.Result.FixedVar, 1e-10)

	h, err := Hallucinate(context.Background(), o.duels, Probit, o.kernel, HallucinateConfig{Sweeps: 300_000, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	for j, want := range o.Result.TruncMean {
		if z := (h.Mean[j] - want) / o.Result.TruncMeanErr[j]; math.Abs(z) > 4 {
			t.Errorf("mean of v_%d = %v, by rejection %v: %.1f standard errors apart", j, h.Mean[j], want, z)
		}
	}
}

// Over many seeds the hallucinated posteriors average to the exact one (law of total expectation
// and variance), known here from rejection sampling.
func TestHallucinationsMixToThePosterior(t *testing.T) {
	o := readDuelOracle(t)
	const draws = 2000
	n := len(o.tests)
	mean, square, inner := make([]float64, n), make([]float64, n), make([]float64, n)
	for seed := range uint64(draws) {
		h := must.Get(Hallucinate(context.Background(), o.duels, Probit, o.kernel,
			HallucinateConfig{BurnIn: 20, Seed: seed}))(t)
		m, v := moments(h.Posterior, o.tests)
		for i := range n {
			mean[i] += m[i] / draws
			square[i] += m[i] * m[i] / draws
			inner[i] += v[i] / draws
		}
	}
	for i := range n {
		between := square[i] - mean[i]*mean[i]
		if se := math.Sqrt(between / draws); math.Abs(mean[i]-o.Result.TrueMean[i]) > 4*se+0.004 {
			t.Errorf("mean %d = %v ± %v, exact %v", i, mean[i], se, o.Result.TrueMean[i])
		}
		// The variance of a variance of about 2·between²/draws.
		if se := between * math.Sqrt(2.0/draws); math.Abs(inner[i]+between-o.Result.TrueVar[i]) > 4*se+0.01 {
			t.Errorf("variance %d = %v ± %v, exact %v", i, inner[i]+between, se, o.Result.TrueVar[i])
		}
	}
}

// The sampler has the moments of the truncated normal, from where truncation hardly matters to far
// in the tail.
func TestNegativeNormal(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 0))
	const draws, sd = 100_000, 0.5
	for _, mean := range []float64{-20, -1, -0.1, 0, 0.1, 0.4, 2, 5, 100, 1e12} {
		_, h, rest := truncation(-mean / sd)
		sum, square := 0.0, 0.0 // in units of the expected mean
		for range draws {
			x := negativeNormal(mean, sd, rng)
			if !(x < 0) {
				t.Fatalf("mean %v: drew %v", mean, x)
			}
			y := x / (-sd * h)
			sum += y / draws
			square += y * y / draws
		}
		se := math.Sqrt(rest) / h / math.Sqrt(draws)
		if math.Abs(sum-1) > 4*se {
			t.Errorf("mean %v: average off by %.1f standard errors", mean, (sum-1)/se)
		}
		if ratio := (square - sum*sum) / (rest / (h * h)); math.Abs(ratio-1) > 0.05 {
			t.Errorf("mean %v: %v times the variance", mean, ratio)
		}
	}
}

// normalBetween has the moments of the standard normal between two borders, by quadrature.
func TestNormalBetween(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 0))
	inf := math.Inf(1)
	const draws, cells = 100_000, 20_000
	for _, c := range [][2]float64{
		{-inf, inf}, {-inf, 0}, {-3, -2.9}, {-1, 0.5}, {-0.5, 4}, {-8, 9}, {0, inf}, {1, 1.2}, {1, 9},
		{6, 6.1}, {6, inf}, {-inf, -30}, {40, 41},
	} {
		a, b := c[0], c[1]
		// The integrand is scaled by its largest value, which is at the border nearest to 0; beyond
		// 12 units it vanishes.
		from, to := max(a, -12), min(b, 12)
		if a > 0 {
			to = min(b, a+12)
		} else if b < 0 {
			from = max(a, b-12)
		}
		top := max(a, -b, 0)
		var mass, first, second float64
		for i := range cells {
			x := from + (to-from)*(float64(i)+0.5)/cells
			w := math.Exp((top*top - x*x) / 2)
			mass, first, second = mass+w, first+w*x, second+w*x*x
		}
		mean := first / mass
		variance := second/mass - mean*mean
		sum, square := 0.0, 0.0
		for range draws {
			x := normalBetween(a, b, rng)
			if !(x >= a && x <= b) {
				t.Fatalf("drew %v between %v and %v", x, a, b)
			}
			sum += (x - mean) / draws
			square += (x - mean) * (x - mean) / draws
		}
		if z := sum / math.Sqrt(variance/draws); math.Abs(z) > 4 {
			t.Errorf("between %v and %v the mean is off by %.1f standard errors", a, b, z)
		}
		if ratio := square / variance; math.Abs(ratio-1) > 0.05 {
			t.Errorf("between %v and %v: %v times the variance", a, b, ratio)
		}
	}
}

// After the default burn-in the draws no longer remember where the chain began, also with many
// duels and little noise, where a chain along the coordinates alone is stuck for thousands of
// sweeps. Expectation propagation, whose moments are within a few hundredths of a standard
// deviation, is the yardstick.
func TestHallucinationMixes(t *testing.T) {
	d, k := randomDuels(100, 4, 0.001, 1), mustKernel(t, 4, 0.5)
	r := must.Get(EP(context.Background(), d, Probit, k, EPConfig{}))(t)
	const seeds = 40
	bias := make([]float64, d.Len()) // in standard deviations
	square := 0.0
	for seed := range uint64(seeds) {
		h := must.Get(Hallucinate(context.Background(), d, Probit, k, HallucinateConfig{Seed: seed}))(t)
		for j, v := range h.V {
			z := (v - r.Mean[j]) / math.Sqrt(r.Var[j])
			bias[j] += z / seeds
			square += z * z / float64(seeds*len(bias))
		}
	}
	mean := 0.0
	for _, b := range bias {
		mean += math.Abs(b) / float64(len(bias))
	}
	// Independent draws of the right distribution give √(2/π)/√40 = 0.13 and 1.
	if mean > 0.4 || square < 0.7 || square > 1.5 {
		t.Errorf("mean distance %.3f, mean square %.3f; want about 0.13 and 1", mean, square)
	}
	t.Logf("mean distance %.3f, mean square %.3f", mean, square)
}

// Equal seeds give equal bits, other seeds other draws; and the draw alone gives the posterior
// back, bit for bit.
func TestHallucinationIsReproducible(t *testing.T) {
	d, k := randomDuels(40, 3, 0.1, 2), mustKernel(t, 3, 0.5)
	draw := func(seed uint64) *Hallucination {
		h, err := Hallucinate(context.Background(), d, Probit, k, HallucinateConfig{BurnIn: 50, Seed: seed})
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	a, b, c := draw(1), draw(1), draw(2)
	if !slices.Equal(a.V, b.V) || slices.Equal(a.V, c.V) {
		t.Error("the draw is not a function of the seed")
	}
	if !slices.Equal(a.V, a.Mean) {
		t.Error("one sweep's mean is not its draw")
	}
	again := must.Get(GivenDifferences(d, k, a.V))(t)
	if !slices.Equal(again.w, a.Posterior.w) || !slices.Equal(again.c, a.Posterior.c) {
		t.Error("the draw does not give its posterior back")
	}
}

func TestHallucinationErrors(t *testing.T) {
	d, k := randomDuels(10, 2, 0.1, 1), mustKernel(t, 2, 0.5)
	if _, err := Hallucinate(context.Background(), d, Logistic, k,
		HallucinateConfig{}); !errors.Is(err, ErrProbitOnly) {
		t.Errorf("logistic: %v", err)
	}
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Hallucinate(cancelled, d, Probit, k, HallucinateConfig{}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	twice := Duels{X: d.X[:2], Winner: []int{0, 0}, Loser: []int{1, 1}, Noise: []float64{1e-18, 1e-18}}
	if _, err := Hallucinate(context.Background(), twice, Probit, k,
		HallucinateConfig{}); !errors.Is(err, gp.ErrNotPositiveDefinite) {
		t.Errorf("no noise to speak of: %v", err)
	}
	h, err := Hallucinate(context.Background(), Duels{}, Probit, k, HallucinateConfig{})
	if err != nil || h.Posterior.Len() != 0 {
		t.Errorf("without duels: %v, %v; want the prior", h, err)
	}
}

func BenchmarkHallucinate(b *testing.B) {
	for _, n := range []int{50, 100, 200, 400} {
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
			d, k := randomDuels(n, 4, 0.02, 1), mustKernel(b, 4, 0.5)
			for b.Loop() {
				must.Get(Hallucinate(context.Background(), d, Probit, k, HallucinateConfig{Seed: 1}))(b)
			}
		})
	}
}
