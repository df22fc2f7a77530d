package confset

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/campaignd/campaignd/internal/tests/must"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat/distuv"
)

// coverage is the share of simulated experts whose true belief lies in the set of NewSet.
func coverage(
	t *testing.T, freedom float64, answer func(g func(x []float64) float64, random *rand.Rand) Evidence,
) (share, sd float64) {
	t.Helper()
	k := rbf(t, 0.3)
	centers := [][]float64{{0.1}, {0.4}, {0.8}}
	const experts, norm, level = 400, 6, 0.9
	alpha := distuv.ChiSquared{K: freedom}.Quantile(level) / 2 // Wilks
	covered := 0
	for e := range experts {
		random := rand.New(rand.NewPCG(17, uint64(e)))
		weights := []float64{random.NormFloat64(), random.NormFloat64(), random.NormFloat64()}
		var size float64
		for i := range weights {
			for j := range weights {
				size += weights[i] * weights[j] * k.Eval(centers[i], centers[j])
			}
		}
		floats.Scale(2/math.Sqrt(size), weights) // a true norm of 2, well inside the ball
		g := func(x []float64) float64 {
			var sum float64
			for i, w := range weights {
				sum += w * k.Eval(centers[i], x)
			}
			return sum
		}
		evidence := answer(g, random)
		s := must.Get(NewSet(evidence, k, norm, alpha, DefaultJitter))(t)
		z := make([]float64, len(s.answers.points))
		for i, x := range s.answers.points {
			z[i] = g(x)
		}
		s.answers.differences(z, 1)
		if s.answers.logLik(z[:s.answers.size()]) < s.floor {
			continue
		}
		covered++
		for _, x := range [][]float64{{0.25}, {0.4}, {0.95}} {
			lower, upper := must.Get2(s.Bounds(x))(t)
			if v := g(x); !(lower <= v+1e-6 && v <= upper+1e-6) {
				t.Fatalf("the belief is in the set but g(%v) = %v not in [%v, %v]", x, v, lower, upper)
			}
		}
	}
	return float64(covered) / experts, math.Sqrt(level * (1 - level) / experts)
}

// asked are the points of the coverage tests: four latent values, or three differences.
var asked = [][]float64{{0.05}, {0.35}, {0.6}, {0.9}}

// rank draws an order of points by Plackett and Luce.
func rank(g func(x []float64) float64, points [][]float64, random *rand.Rand) [][]float64 {
	left := slices.Clone(points)
	var order [][]float64
	for len(left) > 0 {
		weights := make([]float64, len(left))
		for i, x := range left {
			weights[i] = math.Exp(-g(x))
		}
		u := random.Float64() * floats.Sum(weights)
		best := 0
		for u > weights[best] && best < len(left)-1 {
			u -= weights[best]
			best++
		}
		order = append(order, left[best])
		left = slices.Delete(left, best, best+1)
	}
	return order
}

// By Wilks' theorem ℓ(MLE) − ℓ(g) is at most half a χ² variable with as many degrees of freedom as
// latent values (less where the norm binds). With its 90 % quantile as the margin, 90 % of true
// beliefs lie in the set, and then within the bounds at every point: for each form of answers that
// an expert gives by the model's probabilities, and for a mixture.
func TestCoverage(t *testing.T) {
	label := func(g func(x []float64) float64, x []float64, random *rand.Rand, l *Labels) {
		l.X = append(l.X, x)
		l.Reject = append(l.Reject, random.Float64() < 1/(1+math.Exp(-g(x))))
	}
	some := func(random *rand.Rand, k int) [][]float64 {
		var points [][]float64
		for _, i := range random.Perm(len(asked))[:k] {
			points = append(points, asked[i])
		}
		return points
	}
	for _, c := range []struct {
		name    string
		freedom float64
		answer  func(g func(x []float64) float64, random *rand.Rand) Evidence
	}{
		{"labels", 4, func(g func(x []float64) float64, random *rand.Rand) Evidence {
			var l Labels
			for i := range 200 {
				label(g, asked[i%4], random, &l)
			}
			return l
		}},
		{"pairs", 3, func(g func(x []float64) float64, random *rand.Rand) Evidence {
			var f Feedback
			for range 200 {
				order := rank(g, some(random, 2), random)
				f.Pairs = append(f.Pairs, Pair{order[0], order[1]})
			}
			return f
		}},
		{"partial rankings", 3, func(g func(x []float64) float64, random *rand.Rand) Evidence {
			var f Feedback
			for i := range 100 {
				order := rank(g, some(random, 4), random)
				f.Rankings = append(f.Rankings, Ranking{Order: order[:1+i%4], Rest: order[1+i%4:]})
			}
			return f
		}},
		{"mixed", 4, func(g func(x []float64) float64, random *rand.Rand) Evidence {
			var f Feedback
			for i := range 60 {
				label(g, asked[i%4], random, &f.Labels)
				order := rank(g, some(random, 2), random)
				f.Pairs = append(f.Pairs, Pair{order[0], order[1]})
				f.Rankings = append(f.Rankings, Ranking{Order: rank(g, some(random, 3), random)})
			}
			return f
		}},
	} {
		share, sd := coverage(t, c.freedom, c.answer)
		t.Logf("%s: %.3f of the true beliefs in the set of level 0.9", c.name, share)
		if share < 0.9-3*sd {
			t.Errorf("%s: only %.3f of the true beliefs lie in the set of level 0.9 ± %.3f", c.name, share, sd)
		}
	}
}

// Rankings taken apart into pairs do not cover what they say they do.
func TestComparisonsCountTwice(t *testing.T) {
	share, sd := coverage(t, 3, func(g func(x []float64) float64, random *rand.Rand) Evidence {
		var f Feedback
		for range 60 {
			f.Pairs = append(f.Pairs, Ranking{Order: rank(g, asked, random)}.Comparisons()...)
		}
		return f
	})
	t.Logf("%.3f of the true beliefs in the set of level 0.9", share)
	if share > 0.9-3*sd {
		t.Errorf("%.3f of the true beliefs lie in the set of level 0.9: Comparisons need no warning", share)
	}
}
