package coexbo_test

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/campaignd/campaignd/internal/num/acquisition"
	"github.com/campaignd/campaignd/internal/num/coexbo"
	"github.com/campaignd/campaignd/internal/num/copeland"
	"github.com/campaignd/campaignd/internal/num/gp"
	"github.com/campaignd/campaignd/internal/num/optimize"
	"github.com/campaignd/campaignd/internal/num/pairgp"
	"github.com/campaignd/campaignd/internal/num/qmc"
	"github.com/campaignd/campaignd/internal/num/shapley"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// A pair of candidates made from the four packages as a policy would make it: models from recorded
// hyperparameters, one search without the prior and one with it, and both explained.

type campaign struct {
	data        gp.Data
	objective   gp.Hyper
	comparisons []pairgp.Comparison
	preference  pairgp.Hyper
	score       copeland.ModelHyper
	turn        int
}

type suggestion struct {
	x1, x2       []float64
	parts        coexbo.Parts
	explanations []shapley.Explanation
	strongest    []int
}

// suggest is the whole work of one suggestion; with fantasy the second search knows of the first
// candidate.
func suggest(ctx context.Context, c campaign, fantasy bool) (s suggestion, err error) {
	d := len(c.objective.Lengthscales)
	objective, err := gp.New(c.data, "rbf", c.objective)
	if err != nil {
		return s, err
	}
	pref, err := pairgp.New(c.comparisons, c.preference)
	if err != nil {
		return s, err
	}
	model, err := copeland.New(pref, copeland.Box{}, c.score)
	if err != nil {
		return s, err
	}
	sequence, err := qmc.NewScrambled(d, 7)
	if err != nil {
		return s, err
	}
	starts := sequence.Points(512)
	prior := model.NewPredictor()
	scores := make([]float64, len(starts))
	for i, x := range starts {
		scores[i], _ = prior.At(x, nil, nil)
	}
	lower, upper := make([]float64, d), make([]float64, d)
	for j := range upper {
		upper[j] = 1
	}
	region, err := optimize.NewRegion(optimize.Box(lower, upper))
	if err != nil {
		return s, err
	}
	cfg := coexbo.Config{Beta: acquisition.GrowingBeta(d, c.turn), T: c.turn, Scaling: coexbo.NewScaling(scores, 0, 1)}
	search := optimize.MultiStartConfig{Seed: 3, Local: optimize.Config{FTol: 1e-8}}

	first, err := optimize.MultiStart(ctx, coexbo.New(objective, nil, cfg).Negated, region, starts, search)
	if err != nil {
		return s, err
	}
	if fantasy {
		if objective, err = expected(objective, first.X); err != nil {
			return s, err
		}
	}
	joined := coexbo.New(objective, prior, cfg)
	second, err := optimize.MultiStart(ctx, joined.Negated, region, starts, search)
	if err != nil {
		return s, err
	}
	s.x1, s.x2, s.parts = first.X, second.X, joined.Explain(second.X)

	explainer, err := shapley.New(objective, c.data.X, shapley.Config{})
	if err != nil {
		return s, err
	}
	if s.explanations, err = explainer.Explain(ctx, [][]float64{s.x1, s.x2}, cfg.Beta); err != nil {
		return s, err
	}
	s.strongest = shapley.Strongest(2, s.explanations[0].UCB, s.explanations[1].UCB)
	return s, nil
}

// expected is the model as it would be had x been measured with the outcome
// that it expects there.
func expected(g *gp.GP, x []float64) (*gp.GP, error) {
	mean, _ := g.Posterior(x)
	out, err := g.Canonical()
	if err != nil {
		return nil, err
	}
	return out, out.Append(slices.Clone(x), mean, math.NaN())
}

// peak is the utility: its maximum lies at 0.7 in every parameter but the last, which does not
// matter.
func peak(x []float64) float64 {
	var s float64
	for _, v := range x[:len(x)-1] {
		s -= (v - 0.7) * (v - 0.7)
	}
	return s
}

// newCampaign has n measurements and m comparisons in d parameters; sign −1 is a person who always
// prefers the worse.
func newCampaign(t testing.TB, n, m, d int, sign float64) campaign {
	t.Helper()
	rng := rand.New(rand.NewPCG(5, 5))
	point := func() []float64 {
		x := make([]float64, d)
		for j := range x {
			x[j] = rng.Float64()
		}
		return x
	}
	c := campaign{turn: n}
	var mean, square float64
	for range n {
		x := point()
		c.data.X, c.data.Y = append(c.data.X, x), append(c.data.Y, peak(x)+0.01*rng.NormFloat64())
	}
	for _, y := range c.data.Y {
		mean += y / float64(n)
	}
	for _, y := range c.data.Y {
		square += (y - mean) * (y - mean) / float64(n)
	}
	for i := range c.data.Y {
		c.data.Y[i] = (c.data.Y[i] - mean) / math.Sqrt(square)
	}
	for range m {
		a, b := point(), point()
		if sign*peak(a) < sign*peak(b) {
			a, b = b, a
		}
		c.comparisons = append(c.comparisons, pairgp.Comparison{Chosen: a, Other: b})
	}
	ctx := context.Background()
	objective := must.Get(gp.Fit(ctx, c.data, gp.FitConfig{Seed: 1}))(t)
	preference := must.Get(pairgp.Fit(ctx, c.comparisons, pairgp.FitConfig{Seed: 1}))(t)
	pref := must.Get(pairgp.New(c.comparisons, preference.Hyper))(t)
	score := must.Get(copeland.Fit(ctx, pref, copeland.FitConfig{}))(t)
	c.objective, c.preference, c.score = objective.Hyper, preference.Hyper, score.Hyper()
	return c
}

// With few measurements a person who knows brings the second candidate nearer to the best point
// than the first; one who is always wrong moves nothing after many measurements; and a parameter
// that does not matter is then not among the strongest.
func TestSuggestion(t *testing.T) {
	distance := func(x []float64) float64 { return math.Sqrt(-peak(x)) }
	ctx := context.Background()

	early := newCampaign(t, 4, 60, 3, 1)
	s := must.Get(suggest(ctx, early, false))(t)
	t.Logf("4 measurements: %.2f alone, %.2f with the person, share %.2f, strongest %v",
		distance(s.x1), distance(s.x2), s.parts.Share, s.strongest)
	if !(distance(s.x2) < distance(s.x1)) {
		t.Errorf("the first candidate is %.3f from the best point, the second %.3f", distance(s.x1), distance(s.x2))
	}

	late := newCampaign(t, 40, 60, 3, -1)
	late.turn = 400
	s = must.Get(suggest(ctx, late, false))(t)
	t.Logf("t = 400: %.3f alone, %.3f with the person, share %.2g", distance(s.x1), distance(s.x2), s.parts.Share)
	for j := range s.x1 {
		if math.Abs(s.x1[j]-s.x2[j]) > 0.02 {
			t.Errorf("after 400 measurements a wrong person moves the candidate from %v to %v", s.x1, s.x2)
		}
	}
	for _, j := range s.strongest {
		if j == 2 {
			t.Errorf("strongest parameters %v, the last does not matter: %+v", s.strongest, s.explanations)
		}
	}

	again := must.Get(suggest(ctx, late, false))(t)
	if again.parts != s.parts {
		t.Errorf("the same campaign gives %+v and then %+v", s.parts, again.parts)
	}
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := suggest(cancelled, early, false); err == nil {
		t.Error("a cancelled search has a result")
	}
}

// BenchmarkSuggest is a pair with explanations, 50 measurements and 150 comparisons in 4
// parameters, without and with a fantasy, and with the hyperparameters of all models fitted anew
// from the last ones.
func BenchmarkSuggest(b *testing.B) {
	ctx := context.Background()
	c := newCampaign(b, 50, 150, 4, 1)
	c.turn = 10
	for _, v := range []struct {
		name    string
		fantasy bool
	}{{"plain", false}, {"fantasy", true}} {
		b.Run(v.name, func(b *testing.B) {
			for b.Loop() {
				must.Get(suggest(ctx, c, v.fantasy))(b)
			}
		})
	}
	b.Run("refit", func(b *testing.B) {
		for b.Loop() {
			objective := must.Get(gp.Fit(ctx, c.data, gp.FitConfig{Seed: 1, Warm: &c.objective}))(b)
			preference := must.Get(pairgp.Fit(ctx, c.comparisons, pairgp.FitConfig{Warm: &c.preference,
				Starts: 1, Searches: 1}))(b)
			pref := must.Get(pairgp.New(c.comparisons, preference.Hyper))(b)
			score := must.Get(copeland.Fit(ctx, pref, copeland.FitConfig{Warm: &c.score}))(b)
			fitted := c
			fitted.objective, fitted.preference, fitted.score = objective.Hyper, preference.Hyper, score.Hyper()
			must.Get(suggest(ctx, fitted, false))(b)
		}
	})
}

// BenchmarkAcquisition is one value with its gradient.
func BenchmarkAcquisition(b *testing.B) {
	c := newCampaign(b, 50, 150, 4, 1)
	objective := must.Get(gp.New(c.data, "rbf", c.objective))(b)
	pref := must.Get(pairgp.New(c.comparisons, c.preference))(b)
	model := must.Get(copeland.New(pref, copeland.Box{}, c.score))(b)
	a := coexbo.New(objective, model.NewPredictor(), coexbo.Config{Beta: 2, T: 10,
		Scaling: coexbo.Scaling{ScoreMean: 0.5, ScoreSD: 0.2, ObjectiveSD: 1}})
	x, grad := []float64{.1, .3, .5, .7}, make([]float64, 4)
	b.ReportAllocs()
	for b.Loop() {
		a.At(x, grad)
	}
}
