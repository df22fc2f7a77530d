package next_test

import (
	"math"
	"testing"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/events/memlog"
	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/study/studytest"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/policies"
	"github.com/campaignd/campaignd/policies/next"
	"github.com/campaignd/campaignd/projections/quantity"
)

func ptr[T any](x T) *T { return &x }

// model returns the objective model of a small Branin campaign.
func model(t *testing.T) *quantity.Model {
	t.Helper()
	def := must.Get(studytest.Define("branin", 4, 12))(t)
	core := must.Get(studytest.Simulate(t.Context(), memlog.New(), def))(t)
	view := must.Get(core.View(t.Context()))(t)
	return view.Objective()
}

var rules = map[string]definition.Choice{
	"lcb":      next.LCB{Beta: ptr(1.5), BetaRule: next.BetaFixed}.Choice(),
	"lemma":    next.LCB{Beta: ptr(1.0), BetaRule: next.BetaLemma}.Choice(),
	"logei":    next.LogEI{}.Choice(),
	"lognei":   next.LogNEI{}.Choice(),
	"thompson": next.Thompson{}.Choice(),
}

// ruleOf returns the rule that is chosen.
func ruleOf(t *testing.T, c definition.Choice) next.Rule {
	t.Helper()
	return must.Get(builtin.Registry().Methods.Searched(policies.Alone(c)))(t)
}

// The gradient of each acquisition is that of its value, by central
// differences; asking for it does not change the value.
func TestGradients(t *testing.T) {
	m := model(t)
	for name, n := range rules {
		t.Run(name, func(t *testing.T) {
			f := must.Get(ruleOf(t, n).Acquisition(m, 7))(t)
			const h = 1e-6
			for _, x := range [][]float64{{0.31, 0.62}, {0.9, 0.05}, {0.5, 0.5}} {
				grad := make([]float64, 2)
				value := f(x, grad)
				if plain := f(x, nil); math.Abs(plain-value) > 1e-12*math.Max(1, math.Abs(value)) {
					t.Errorf("at %v the value is %v with the gradient and %v without", x, value, plain)
				}
				for j := range x {
					up, down := []float64{x[0], x[1]}, []float64{x[0], x[1]}
					up[j] += h
					down[j] -= h
					want := (f(up, nil) - f(down, nil)) / (2 * h)
					// Central differences of values of order one with h = 1e-6 are good to about 1e-9 relative to the curvature.
					if math.Abs(grad[j]-want) > 1e-5*math.Max(1, math.Abs(want)) {
						t.Errorf("at %v the derivative %d is %v, by differences %v", x, j, grad[j], want)
					}
				}
			}
		})
	}
}

// A Thompson draw is the same for the same seed and another for another, and
// many draws have the posterior's mean and standard deviation.
func TestThompsonDrawsFromThePosterior(t *testing.T) {
	m := model(t)
	rule := ruleOf(t, rules["thompson"])
	x := []float64{0.8, 0.75}
	draw := func(seed uint64) float64 {
		f := must.Get(rule.Acquisition(m, seed))(t)
		return f(x, nil)
	}
	if draw(1) != draw(1) || draw(1) == draw(2) {
		t.Error("draws do not follow their seeds")
	}
	const n = 400
	sum, squares := 0.0, 0.0
	for seed := range uint64(n) {
		v := draw(seed)
		sum, squares = sum+v, squares+v*v
	}
	mean, sd := m.Posterior(x)
	gotMean := sum / n
	gotSD := math.Sqrt(squares/n - gotMean*gotMean)
	// Five standard errors of the mean, and of the standard deviation.
	if math.Abs(gotMean-mean) > 5*sd/math.Sqrt(n) || math.Abs(gotSD/sd-1) > 5/math.Sqrt(2*n) {
		t.Errorf("draws have mean %v and sd %v, the posterior %v and %v", gotMean, gotSD, mean, sd)
	}
}

// The lemma's β is at least its norm bound, and a fixed one is as given.
func TestBeta(t *testing.T) {
	m := model(t)
	for name, want := range map[string]func(float64) bool{
		"lcb":   func(beta float64) bool { return beta == 1.5 },
		"lemma": func(beta float64) bool { return beta > 1 && beta < 1.01 }, // methods: 1.0004, for σ = 1e-4
		"logei": func(beta float64) bool { return beta == 1 },
	} {
		beta, err := next.Beta(ruleOf(t, rules[name]), m)
		if err != nil || !want(beta) {
			t.Errorf("%s: β = %v, %v", name, beta, err)
		}
	}
}
