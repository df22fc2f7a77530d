package copeland_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/stat"
	"pgregory.net/rapid"

	"github.com/campaignd/campaignd/internal/num/copeland"
	"github.com/campaignd/campaignd/internal/num/pairgp"
	"github.com/campaignd/campaignd/internal/num/qmc"
	_ "github.com/campaignd/campaignd/internal/tests/draws"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// choices returns n comparisons of random points of the unit cube by a person who always prefers
// the larger u.
func choices(n, d int, seed uint64, u func(x []float64) float64) []pairgp.Comparison {
	rng := rand.New(rand.NewPCG(seed, 7))
	point := func() []float64 {
		x := make([]float64, d)
		for j := range x {
			x[j] = rng.Float64()
		}
		return x
	}
	out := make([]pairgp.Comparison, n)
	for i := range out {
		a, b := point(), point()
		if u(a) < u(b) {
			a, b = b, a
		}
		out[i] = pairgp.Comparison{Chosen: a, Other: b}
	}
	return out
}

func bump(x []float64) float64 {
	s := 0.0
	for j, v := range x {
		c := v - 0.3 - 0.1*float64(j)
		s -= c * c
	}
	return s
}

func sobol(t testing.TB, n, d int) [][]float64 {
	t.Helper()
	s := must.Get(qmc.NewScrambled(d, 1))(t)
	return s.Points(n)
}

// fitted learns from comparisons and returns both stages.
func fitted(
	t testing.TB, c []pairgp.Comparison, measure copeland.Measure,
) (*pairgp.Model, copeland.FitResult, *copeland.Model) {
	t.Helper()
	fit := must.Get(pairgp.Fit(context.Background(), c, pairgp.FitConfig{Seed: 1}))(t)
	pref := must.Get(pairgp.New(c, fit.Hyper))(t)
	res := must.Get(copeland.Fit(context.Background(), pref, copeland.FitConfig{}))(t)
	m := must.Get(copeland.New(pref, measure, res.Hyper()))(t)
	return pref, res, m
}

func ranks(v []float64) []float64 {
	order := make([]int, len(v))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		if v[a] < v[b] {
			return -1
		}
		return 1
	})
	out := make([]float64, len(v))
	for r, i := range order {
		out[i] = float64(r)
	}
	return out
}

// What it is all for: from noiseless choices alone, the score orders points as the function behind
// the choices does.
func TestScoreRecoversTheOrder(t *testing.T) {
	for _, f := range []struct {
		name string
		u    func(x []float64) float64
		want float64
	}{
		{"bump", bump, 0.97},
		{"wave", func(x []float64) float64 { return math.Sin(5*x[0]) + 0.5*math.Cos(4*x[1]) }, 0.95},
	} {
		_, _, m := fitted(t, choices(200, 2, 3, f.u), copeland.Box{})
		p := m.NewPredictor()
		var score, truth []float64
		for _, x := range sobol(t, 512, 2) {
			s, _ := p.At(x, nil, nil)
			score, truth = append(score, s), append(truth, f.u(x))
		}
		if rho := stat.Correlation(ranks(score), ranks(truth), nil); rho < f.want {
			t.Errorf("%s: rank correlation %.3f, want at least %.3f", f.name, rho, f.want)
		} else {
			t.Logf("%s: rank correlation %.4f", f.name, rho)
		}
	}
}

// The two stages against the integrals they stand for: averages of g and of g(1 − g) over 1,024
// opponents. The second stage knows g at 100 pairs only, and g is not a draw of a stationary process;
// a root mean square error of a few hundredths, on scores that spread over 0.7, is what the closed
// form costs.
func TestTwoStagesAgainstDirectIntegration(t *testing.T) {
	pref, _, m := fitted(t, choices(100, 2, 5, bump), copeland.Box{})
	g, p := pref.NewPredictor(), m.NewPredictor()
	opponents := sobol(t, 1024, 2)
	var score, spread float64
	const n = 32
	for _, x := range sobol(t, n, 2) {
		var wantScore, wantSpread float64
		for _, y := range opponents {
			v := g.Preference(x, y)
			wantScore += v.Mean / 1024
			wantSpread += v.Bernoulli / 1024
		}
		gotScore, gotSpread := p.At(x, nil, nil)
		score += (gotScore - wantScore) * (gotScore - wantScore) / n
		spread += (gotSpread - wantSpread) * (gotSpread - wantSpread) / n
	}
	t.Logf("root mean square errors: score %.4f, spread %.4f", math.Sqrt(score), math.Sqrt(spread))
	if math.Sqrt(score) > 0.05 || math.Sqrt(spread) > 0.03 {
		t.Errorf("root mean square error of the score %.4f, of the spread %.4f", math.Sqrt(score), math.Sqrt(spread))
	}
}

// Fits are pure, and what a record of a fit gives back is the same model to the last bit.
func TestRebuiltFromItsRecord(t *testing.T) {
	c := choices(40, 2, 8, bump)
	pref, res, m := fitted(t, c, copeland.Box{})
	raw := must.Get(json.Marshal(res))(t)
	var read copeland.FitResult
	must.Do(t, json.Unmarshal(raw, &read))
	again := must.Get(copeland.New(pref, copeland.Box{}, read.Hyper()))(t)
	_, _, third := fitted(t, c, copeland.Box{})
	x := []float64{0.4, 0.7}
	s, v := m.NewPredictor().At(x, nil, nil)
	for _, other := range []*copeland.Model{again, third} {
		if s2, v2 := other.NewPredictor().At(x, nil, nil); s2 != s || v2 != v {
			t.Errorf("(%v, %v), want (%v, %v)", s2, v2, s, v)
		}
	}
	warm := must.Get(copeland.Fit(context.Background(), pref, copeland.FitConfig{Warm: &copeland.ModelHyper{
		Score: res.Score.Hyper, Variance: res.Variance.Hyper}}))(t)
	if warm.Score.LogMarginal < res.Score.LogMarginal-1e-3 {
		t.Errorf("warm fit ends at %v, started at %v", warm.Score.LogMarginal, res.Score.LogMarginal)
	}
}

// Pairs compared again, in either order, are one row: the model exists and does not change its
// size.
func TestRepeatedComparisons(t *testing.T) {
	a, b, c := []float64{0.2, 0.3}, []float64{0.7, 0.6}, []float64{0.9, 0.1}
	_, _, m := fitted(t,
		[]pairgp.Comparison{{Chosen: a, Other: b}, {Chosen: a, Other: b}, {Chosen: b, Other: a},
			{Chosen: a, Other: c}, {Chosen: a, Other: a}},
		copeland.Box{})
	p := m.NewPredictor()
	better, _ := p.At(a, nil, nil)
	worse, _ := p.At(c, nil, nil)
	if !(better > worse) {
		t.Errorf("score %v of the winner, %v of the loser", better, worse)
	}
}

// Whatever was compared, however often and however little, there is a model with finite values:
// fits do not fail on data.
func TestAnyComparisons(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		d := rapid.IntRange(1, 3).Draw(rt, "d")
		coordinate := rapid.SampledFrom([]float64{0, 1e-9, 0.3, 0.5, 1})
		point := rapid.SliceOfN(coordinate, d, d)
		var c []pairgp.Comparison
		for range rapid.IntRange(1, 6).Draw(rt, "n") {
			c = append(c, pairgp.Comparison{Chosen: point.Draw(rt, "chosen"), Other: point.Draw(rt, "other")})
		}
		_, res, m := fitted(t, c, copeland.Box{})
		x := point.Draw(rt, "x")
		ds, dv := make([]float64, d), make([]float64, d)
		s, v := m.NewPredictor().At(x, ds, dv)
		for _, value := range slices.Concat(ds, dv, []float64{s, v, m.Score().Variance(x), res.Score.LogMarginal}) {
			if math.IsNaN(value) || math.IsInf(value, 0) {
				rt.Fatalf("score %v (%v), variance %v (%v), fit %+v", s, ds, v, dv, res)
			}
		}
		if s < -1 || s > 2 || v < 0 || v > 0.5 {
			rt.Fatalf("score %v, variance %v", s, v)
		}
	})
}

// Far from all comparisons every spread is what it is without any.
func TestSpread(t *testing.T) {
	pref, _, _ := fitted(t, choices(30, 2, 8, bump), copeland.Box{})
	for _, spread := range []copeland.Spread{copeland.Expected, copeland.Total, copeland.Epistemic} {
		res := must.Get(copeland.Fit(context.Background(), pref, copeland.FitConfig{Spread: spread}))(t)
		m := must.Get(copeland.New(pref, copeland.Box{}, res.Hyper()))(t)
		prior := pref.Prior()
		want := map[copeland.Spread]float64{
			copeland.Expected: prior.Bernoulli, copeland.Total: 0.25, copeland.Epistemic: prior.Variance}[spread]
		if _, v := m.NewPredictor().At([]float64{50, 50}, nil, nil); math.Abs(v-want) > 1e-9 {
			t.Errorf("%s spread far away is %v, want %v", spread, v, want)
		}
	}
	if _, err := copeland.Fit(context.Background(), pref, copeland.FitConfig{Spread: "other"}); err == nil {
		t.Error("an unknown spread is accepted")
	}
}

var sizes = []int{50, 100, 150, 200, 400}

func BenchmarkFit(b *testing.B) {
	for _, n := range sizes {
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
			pref := benchPreference(b, n)
			evaluations := 0
			for b.Loop() {
				res := must.Get(copeland.Fit(context.Background(), pref, copeland.FitConfig{}))(b)
				evaluations = res.Score.Evaluations + res.Variance.Evaluations
			}
			b.ReportMetric(float64(evaluations), "evaluations")
		})
	}
}

func BenchmarkNew(b *testing.B) {
	for _, n := range sizes {
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
			pref := benchPreference(b, n)
			for b.Loop() {
				must.Get(copeland.New(pref, copeland.Box{}, benchHyper))(b)
			}
		})
	}
}

func BenchmarkAtGrad(b *testing.B) {
	for _, n := range sizes {
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
			m := must.Get(copeland.New(benchPreference(b, n), copeland.Box{}, benchHyper))(b)
			p := m.NewPredictor()
			x, ds, dv := []float64{.1, .3, .5, .7}, make([]float64, 4), make([]float64, 4)
			b.ReportAllocs()
			for b.Loop() {
				p.At(x, ds, dv)
			}
		})
	}
}

var benchHyper = copeland.ModelHyper{
	Score:    copeland.Hyper{Lengthscales: []float64{0.5, 0.7, 0.9, 1.2}, OutputScale: 0.1, Noise: 1e-4},
	Variance: copeland.Hyper{Lengthscales: []float64{0.5, 0.7, 0.9, 1.2}, OutputScale: 0.01, Noise: 1e-5},
	Spread:   copeland.Expected,
}

func benchPreference(b *testing.B, n int) *pairgp.Model {
	pref := must.Get(pairgp.New(choices(n, 4, 1, bump),
		pairgp.Hyper{Lengthscales: []float64{0.5, 0.7, 0.9, 1.2}, OutputScale: 10, Mean: -3.5, AlphaEps: 0.01}))(b)
	return pref
}
