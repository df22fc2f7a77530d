package confset

import (
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/campaignd/campaignd/internal/tests/must"
	"gonum.org/v1/gonum/floats"
	"pgregory.net/rapid"
)

// drawValues draws two vectors of latent values for a problem.
func drawValues(t *rapid.T, n int) (z, step []float64) {
	z, step = make([]float64, n), make([]float64, n)
	for i := range n {
		z[i] = rapid.Float64Range(-6, 6).Draw(t, "z")
		step[i] = rapid.Float64Range(-1, 1).Draw(t, "step")
	}
	return z, step
}

// The likelihood is what Pair, Ranking and Labels say of the values of g, whatever latent values
// stand for them.
func TestLikelihoodIsThatOfThePoints(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawProblem(t, 10)
		l := must.Get(p.feedback.likelihood(p.kernel.Dim()))(t)
		at, _ := drawValues(t, len(l.points))
		z := slices.Clone(at)
		l.differences(z, 1)
		want, _ := plainLogLik(p.feedback, l.points, at)
		if got := l.logLik(z[:l.size()]); math.Abs(got-want) > 1e-12*(1+math.Abs(want)) {
			t.Fatalf("ℓ = %v, by its definition %v", got, want)
		}
	})
}

// The gradient and the Hessian agree with central differences along a random direction, and ℓ is
// concave there: so the confidence set is convex.
func TestDerivatives(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawProblem(t, 10)
		l := must.Get(p.feedback.likelihood(p.kernel.Dim()))(t)
		n := l.size()
		z, step := drawValues(t, n)
		grad, up, down := make([]float64, n), make([]float64, n), make([]float64, n)
		const h = 1e-4
		at := func(s float64, grad []float64) float64 {
			moved := slices.Clone(z)
			floats.AddScaled(moved, s, step)
			return l.slope(grad, moved)
		}
		value, above, below := at(0, grad), at(h, up), at(-h, down)
		if value != l.logLik(z) {
			t.Fatalf("slope has ℓ = %v, logLik %v", value, l.logLik(z))
		}
		scale := 1 + float64(p.feedback.Answers())*5
		if got, want := floats.Dot(grad, step), (above-below)/(2*h); math.Abs(got-want) > 1e-6*scale {
			t.Fatalf("slope %v, differences give %v", got, want)
		}
		w, curved := l.newCurvature(), make([]float64, n)
		l.curvature(w, z)
		w.mul(curved, step)
		for i := range curved {
			if want := (down[i] - up[i]) / (2 * h); math.Abs(curved[i]-want) > 1e-6*scale {
				t.Fatalf("curvature along z_%d: %v, differences give %v", i, curved[i], want)
			}
		}
		if sag := above + below - 2*value; sag > 1e-13*scale {
			t.Fatalf("ℓ is convex by %v along %v", sag, step)
		}
		dense, identity := make([]float64, n*n), make([]float64, n*n)
		for i := range n {
			identity[i*n+i] = 1
		}
		w.mulMatrix(dense, 2, identity)
		for i := range n {
			if got := floats.Dot(dense[i*n:(i+1)*n], step); math.Abs(got-2*curved[i]) > 1e-12*scale {
				t.Fatalf("row %d of the matrix gives %v, the product %v", i, got, 2*curved[i])
			}
		}
	})
}

// What is all but certain keeps its digits: the search for the MLE of a nearly saturated likelihood
// rests on them.
func TestNearCertainChoice(t *testing.T) {
	f := Feedback{Rankings: []Ranking{{Order: [][]float64{{1}}, Rest: [][]float64{{2}, {3}}}}}
	l := must.Get(f.likelihood(1))(t)
	z, grad := []float64{40, 20}, make([]float64, 2) // of the other points above the chosen one, their reference
	rate := math.Exp(-40) + math.Exp(-20)
	if value := l.slope(grad, z); math.Abs(value+rate) > 1e-8*rate {
		t.Errorf("ℓ = %g, want %g", value, -rate)
	}
	for i := range z {
		if want := math.Exp(-z[i]); math.Abs(grad[i]-want) > 1e-8*want {
			t.Errorf("∂ℓ/∂z_%d = %g, want %g", i, grad[i], want)
		}
	}
}

// What says the same gives the same bits: labels alone and in Feedback, and a ranking of two,
// however written, and a pair.
func TestSameAnswersSameBits(t *testing.T) {
	labels, k := benchmarkLabels(20)
	x := randomPoints(6, 4)
	mixed := Feedback{Labels: labels, Pairs: []Pair{{x[0], x[1]}, {x[1], x[2]}, {x[3], labels.X[0]}}}
	ranked, rest := Feedback{Labels: labels}, Feedback{Labels: labels}
	for _, p := range mixed.Pairs {
		ranked.Rankings = append(ranked.Rankings, Ranking{Order: [][]float64{p.Better, p.Worse}})
		rest.Rankings = append(rest.Rankings, Ranking{Order: [][]float64{p.Better}, Rest: [][]float64{p.Worse}})
	}
	for _, pair := range [][2]Evidence{{labels, Feedback{Labels: labels}}, {mixed, ranked}, {mixed, rest}} {
		if pair[0].Answers() != pair[1].Answers() {
			t.Errorf("%d and %d answers", pair[0].Answers(), pair[1].Answers())
		}
		var lower [2]float64
		for i, e := range pair {
			s := must.Get(NewSet(e, k, 2, 0.05, DefaultJitter))(t)
			lower[i] = must.Get(s.Lower(x[5], nil))(t)
		}
		if lower[0] != lower[1] {
			t.Errorf("bounds %v and %v", lower[0], lower[1])
		}
	}
}

// One comparison moves the two points apart as far as the norm allows, evenly: g(worse) − g(better)
// is B times the norm of that difference, and the belief of least norm has its mean at 0.
func TestOnePair(t *testing.T) {
	k := rbf(t, 0.3)
	a, b := []float64{0.2}, []float64{0.7}
	fit := must.Get(MLE(Feedback{Pairs: []Pair{{Better: a, Worse: b}}}, k, 2, 1e-8))(t)
	want := math.Sqrt(2*(1+1e-8)-2*k.Eval(a, b)) * 2 / 2
	if !floats.EqualApprox(fit.Z, []float64{-want, want}, 1e-10) {
		t.Errorf("Z = %v, want ∓%v", fit.Z, want)
	}
	// A label at one of them ties g down at both.
	labeled := Feedback{Labels: Labels{X: [][]float64{a}, Reject: []bool{true}}, Pairs: []Pair{{Better: a, Worse: b}}}
	fit = must.Get(MLE(labeled, k, 2, 1e-8))(t)
	if z := fit.Z; !(len(z) == 3 && z[0] == z[1] && z[0] > 0 && z[2] > z[0]) {
		t.Errorf("Z = %v: a rejected point that is better than another has 0 < g(better) < g(worse)", z)
	}
}

// Comparisons that go round in a circle teach nothing: the likeliest belief is none, at every norm
// bound.
func TestCircle(t *testing.T) {
	x := [][]float64{{0.1}, {0.5}, {0.9}}
	circle := Feedback{Pairs: []Pair{{x[0], x[1]}, {x[1], x[2]}, {x[2], x[0]}}}
	fit := must.Get(MLE(circle, rbf(t, 0.3), 2, 1e-8))(t)
	if floats.Norm(fit.Z, math.Inf(1)) != 0 || fit.Multiplier != 0 || math.Abs(fit.LogLik+3*math.Ln2) > 1e-14 {
		t.Errorf("Z = %v, multiplier %v, ℓ = %v", fit.Z, fit.Multiplier, fit.LogLik)
	}
	norm, _, err := AdaptNorm(circle, rbf(t, 0.3), 1, 0.01, PaperRule())
	if err != nil || norm != 1 {
		t.Errorf("B = %v, %v", norm, err)
	}
}

// A maximum inside the ball is found without it, also where comparisons couple the values: with 3
// of 4 comparisons one way along a chain, differences are ln 3. No larger ball is asked for.
func TestIdleBallOfComparisons(t *testing.T) {
	k := rbf(t, 0.2)
	x := [][]float64{{0.1}, {0.5}, {0.9}}
	var f Feedback
	for i := range 2 {
		one, other := Pair{x[i], x[i+1]}, Pair{x[i+1], x[i]}
		f.Pairs = append(f.Pairs, one, one, one, other)
	}
	// one each way
	f.Rankings = []Ranking{{Order: [][]float64{x[0]}, Rest: [][]float64{x[1]}}, {Order: [][]float64{x[1], x[0]}}}
	fit := must.Get(MLE(f, k, 8, 1e-8))(t)
	first, second := fit.Z[1]-fit.Z[0], fit.Z[9]-fit.Z[8]
	if math.Abs(first-math.Log(2)) > 1e-4 || math.Abs(second-math.Log(3)) > 1e-4 {
		t.Errorf("differences %v, %v; want ln 2, ln 3", first, second)
	}
	if norm, _, err := AdaptNorm(f, k, 8, 0.01, PaperRule()); err != nil || norm != 8 {
		t.Errorf("B = %v, %v", norm, err)
	}
}

// Comparisons tell the norm too: clear ones double it, and the rule ends where its criterion says.
func TestAdaptNormOfPairs(t *testing.T) {
	f, k := benchmarkPairs(60, true)
	norm, c, err := AdaptNorm(f, k, 1, 0.01, PaperRule())
	if err != nil || !(norm >= 2) || c != 0.01*norm {
		t.Errorf("B = %v, c = %v, %v", norm, c, err)
	}
}

// A ranking says of any two points in it which is better, if it says so.
func TestComparisons(t *testing.T) {
	x := [][]float64{{1}, {2}, {3}, {4}}
	got := Ranking{Order: x[:2], Rest: x[2:]}.Comparisons()
	want := []Pair{{x[0], x[1]}, {x[0], x[2]}, {x[0], x[3]}, {x[1], x[2]}, {x[1], x[3]}}
	if !slices.EqualFunc(got, want,
		func(a, b Pair) bool { return a.Better[0] == b.Better[0] && a.Worse[0] == b.Worse[0] }) {
		t.Errorf("%v", got)
	}
}

// Feedback that cannot be used is refused, whatever its form.
func TestUnusableFeedback(t *testing.T) {
	k := rbf(t, 1)
	a, b := []float64{0.1}, []float64{0.2}
	for name, f := range map[string]Feedback{
		"compared with itself":  {Pairs: []Pair{{a, a}}},
		"not finite":            {Pairs: []Pair{{a, []float64{math.NaN()}}}},
		"another dimension":     {Pairs: []Pair{{a, []float64{0.1, 0.2}}}},
		"ranking of one":        {Rankings: []Ranking{{Order: [][]float64{a}}}},
		"nothing ordered":       {Rankings: []Ranking{{Rest: [][]float64{a, b}}}},
		"ranked twice":          {Rankings: []Ranking{{Order: [][]float64{a, b, a}}}},
		"best and not the best": {Rankings: []Ranking{{Order: [][]float64{a}, Rest: [][]float64{b, a}}}},
	} {
		if _, err := NewSet(f, k, 1, 0.1, 1e-8); !errors.Is(err, ErrFeedback) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Many comparisons, scattered or each with the winner so far: every bound is found, and by the fast
// method.
func TestManyPairs(t *testing.T) {
	for _, chain := range []bool{false, true} {
		f, k := benchmarkPairs(80, chain)
		for _, norm := range []float64{1, 4, 32} {
			s := must.Get(NewSet(f, k, norm, Margin(0.01*math.Max(1, norm/4), f.Answers()), DefaultJitter))(t)
			for _, x := range append(randomPoints(3, 4), f.Pairs[0].Better, f.Pairs[9].Worse) {
				lower, upper := must.Get2(s.Bounds(x))(t)
				if mle := s.MLEAt(x, nil); !(lower <= mle && mle <= upper) {
					t.Errorf("MLE %v outside %v, %v", mle, lower, upper)
				}
				if s.work.deeper > 0 {
					t.Errorf("B = %v, chain %v: the bound at %v took the interior-point method", norm, chain, x)
				}
			}
		}
	}
}
