package bope

import (
	"context"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/campaignd/campaignd/internal/num/pref"
	"github.com/campaignd/campaignd/internal/num/special"
	"github.com/campaignd/campaignd/internal/tests/must"
)

var ctx = context.Background()

// judged returns n comparisons of random standardized outcomes of m quantities, by a person whose utility rises with the
// first, falls with the second and is best in the middle of the third.
func judged(tb testing.TB, n, m int, noise float64, seed uint64) pref.Duels {
	tb.Helper()
	rng := rand.New(rand.NewPCG(seed, 1))
	utility := func(y []float64) float64 {
		u := 1.5 * y[0]
		if m > 1 {
			u -= y[1]
		}
		if m > 2 {
			u -= y[2] * y[2]
		}
		return u
	}
	var winners, losers [][]float64
	for range n {
		a, b := make([]float64, m), make([]float64, m)
		for j := range m {
			a[j], b[j] = rng.NormFloat64(), rng.NormFloat64()
		}
		if utility(a)-utility(b)+math.Sqrt(2*noise)*rng.NormFloat64() < 0 {
			a, b = b, a
		}
		winners, losers = append(winners, a), append(losers, b)
	}
	return must.Get(pref.NewDuels(winners, losers, func([]float64) float64 { return noise }))(tb)
}

// learned returns the utility's posterior by expectation propagation at hyperparameters of the prior's size.
func learned(tb testing.TB, duels pref.Duels, m int) *pref.Posterior {
	tb.Helper()
	h := pref.Hyper{Lengthscales: slices.Repeat([]float64{2.5}, m), OutputScale: 4, Slope: Slope}
	k := must.Get(h.Kernel("rbf", m))(tb)
	res := must.Get(pref.EP(ctx, duels, pref.Probit, k, pref.EPConfig{}))(tb)
	return res.Posterior
}

// better returns the probability that the utility of a is greater than that of b.
func better(p *pref.Posterior, a, b []float64) float64 {
	mean, variance := p.Pair(a, b).Difference()
	return special.NormalCDF(mean / math.Sqrt(variance))
}

// Law: a declared direction holds, also where a person has said the opposite a few times, and is carried on beyond
// the outcomes that were declared by the linear part; the direction of what is not declared stays unknown.
func TestDeclaredDirectionsHold(t *testing.T) {
	var winners, losers [][]float64
	for range 3 {
		winners, losers = append(winners, []float64{-1, 0.5, 0}), append(losers, []float64{1, 0.5, 0})
	}
	duels := must.Get(pref.NewDuels(winners, losers, func([]float64) float64 { return 1 }))(t)
	best := [][]float64{{1, 0.5, 0}, {0, -1, 0}}
	declared := Declare(duels, best, []Better{Greater, Smaller, Undeclared}, Certain)
	if declared.Len() != duels.Len()+4 || duels.Len() != 3 || len(duels.X) != 2 {
		t.Fatalf("%d declared and %d other comparisons, want 4 and 3", declared.Len()-duels.Len(), duels.Len())
	}
	p := learned(t, declared, 3)
	for _, y := range best {
		up, down, more, less := slices.Clone(y), slices.Clone(y), slices.Clone(y), slices.Clone(y)
		up[1]++
		down[0]--
		for _, worse := range [][]float64{up, down} {
			if got := better(p, y, worse); !(got > 0.85) {
				t.Errorf("%v is better than %v with probability %v", y, worse, got)
			}
		}
		more[1] -= 4
		less[1] -= 3
		if got := better(p, more, less); !(got > 0.7) {
			t.Errorf("far away %v is better than %v with probability %v", more, less, got)
		}
		up[2], down[2] = 1, -1
		up[1], down[0] = y[1], y[0]
		if got := better(p, up, down); math.Abs(got-0.5) > 0.2 {
			t.Errorf("%v is better than %v with probability %v, nothing is known", up, down, got)
		}
	}
}

// Law: comparisons that share duels do not share memory.
func TestDeclareAddsToCopies(t *testing.T) {
	best, better := [][]float64{{1, 1}, {2, 2}}, []Better{Greater, Undeclared}
	want := Declare(judged(t, 3, 2, 1, 1), best, better, 0.1)
	duels := judged(t, 3, 2, 1, 1)
	duels.X, duels.Noise = slices.Grow(duels.X, 9), slices.Grow(duels.Noise, 9)
	duels.Winner, duels.Loser = slices.Grow(duels.Winner, 9), slices.Grow(duels.Loser, 9)
	got := Declare(duels, best, better, 0.1)
	Declare(duels, [][]float64{{2, 3}}, []Better{Greater, Smaller}, 0.2)
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v has become %+v", want, got)
	}
}

// Law: the noise of judgments is the unit of utilities: with four times the variance, at which each comparison has
// the same probability with four times the output scale, the fit finds that.
func TestFitConfigIsInUnitsOfNoise(t *testing.T) {
	duels := judged(t, 30, 3, 1, 4)
	one := must.Get(pref.Fit(ctx, duels, FitConfig(1)))(t)
	duels.Noise = slices.Repeat([]float64{4}, len(duels.X))
	four := must.Get(pref.Fit(ctx, duels, FitConfig(4)))(t)
	if math.Abs(four.Hyper.OutputScale/one.Hyper.OutputScale-4) > 1e-3 || math.Abs(four.LogEvidence-one.LogEvidence) > 1e-6 {
		t.Errorf("with the noise 1 %+v, with the noise 4 %+v", one, four)
	}
	if one.Hyper.Slope != Slope {
		t.Errorf("slope variance %v, want %v", one.Hyper.Slope, float64(Slope))
	}
	again, err := pref.Fit(ctx, duels, FitConfig(4))
	if err != nil || !reflect.DeepEqual(again, four) {
		t.Errorf("%+v, then %+v (%v)", four, again, err)
	}
}

// Law: with the prior, thirty comparisons of three quantities predict others.
func TestUtilityIsLearned(t *testing.T) {
	duels := judged(t, 30, 3, 0.3, 5)
	fit := must.Get(pref.Fit(ctx, duels, FitConfig(0.3)))(t)
	k := must.Get(fit.Hyper.Kernel("rbf", 3))(t)
	res := must.Get(pref.EP(ctx, duels, pref.Probit, k, pref.EPConfig{}))(t)
	others := judged(t, 400, 3, 1e-9, 6)
	right := 0
	for i, w := range others.Winner {
		if better(res.Posterior, others.X[w], others.X[others.Loser[i]]) > 0.5 {
			right++
		}
	}
	if right < 320 {
		t.Errorf("%d of 400 other comparisons predicted", right)
	}
}
