package next_test

import (
	"math"
	"testing"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/files/builtin"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/policies"
	"github.com/campaignd/campaignd/policies/next"
	"github.com/campaignd/campaignd/projections/quantity"
)

// valley is a model of four measurements in one dimension, with hyperparameters of
// the test's own.
func valley(t *testing.T, goal string) *quantity.Model {
	t.Helper()
	p := quantity.New()
	apply := func(payload events.Payload) {
		must.Do(t, p.Apply(events.Event{}, payload))
	}
	apply(&events.CampaignDefined{Definition: definition.Campaign{
		Parameters: []definition.Parameter{{Name: "x", Min: ptr(0.0), Max: ptr(1.0)}}, Objective: definition.Objective{Goal: goal}}})
	for i, x := range []float64{0.1, 0.4, 0.7, 0.9} {
		y := []float64{1, -0.8, 0.3, 0.9}[i]
		if goal == definition.Maximize {
			y = -y
		}
		apply(&events.ExperimentMeasured{Experiment: "e" + string(rune('1'+i)), Measurement: events.Measurement{
			Actual: definition.Point{"x": definition.Number(x)}, Objective: definition.Quantity{Value: y}}})
	}
	apply(&events.ModelFitted{Model: events.ModelObjective, Objective: &events.ObjectiveFit{
		Kernel: "rbf", Lengthscales: []float64{0.15}, OutputScale: 1, Noise: 0.05, Scale: 1, Observations: 4}})
	return must.Get(p.Model(t.Context()))(t)
}

// Law: each acquisition is its formula, in the posterior of the objective turned so
// that smaller is better: μ − βσ, and −ln E max(0, best − f), here by the trapezoidal
// rule. So a campaign that maximizes measures where the one that minimizes would.
func TestAcquisitionsAreTheirFormulas(t *testing.T) {
	for _, goal := range []string{definition.Minimize, definition.Maximize} {
		m := valley(t, goal)
		best := math.Inf(1)
		for _, x := range m.X {
			mean, _ := m.Posterior(x)
			best = min(best, mean)
		}
		if best > -0.5 || best < -0.8 {
			t.Fatalf("the best posterior mean at a measurement is %v", best)
		}
		for _, x := range [][]float64{{0.05}, {0.33}, {0.41}, {0.55}, {1}} {
			mean, sd := m.Posterior(x)
			improvement, step := 0.0, 1e-3
			for z := -12.0; z < 12; z += step {
				improvement += step * max(0, best-mean-sd*z) * math.Exp(-z*z/2) / math.Sqrt(2*math.Pi)
			}
			gain := math.Sqrt(0.2 * 1 * math.Sqrt(2*(1+4))) // after four measurements in one dimension
			for name, want := range map[string]struct {
				rule  definition.Choice
				value float64
			}{
				"lcb":     {next.LCB{Beta: ptr(1.5), BetaRule: next.BetaFixed}.Choice(), mean - 1.5*sd},
				"growing": {next.LCB{Beta: ptr(9.0), BetaRule: next.BetaGrowing}.Choice(), mean - gain*sd},
				"logei":   {next.LogEI{}.Choice(), -math.Log(improvement)},
			} {
				rule := must.Get(builtin.Registry().Methods.Searched(policies.Alone(want.rule)))(t)
				f := must.Get(rule.Acquisition(m, 1))(t)
				if got := f(x, nil); math.Abs(got-want.value) > 1e-4*max(1, math.Abs(want.value)) {
					t.Errorf("%s, %s at %v: %v, want %v", goal, name, x, got, want.value)
				}
			}
			for _, w := range []float64{-2, 0, 3} {
				if got := next.Bound(m, w)(x, nil); math.Abs(got-mean-w*sd) > 1e-12 {
					t.Errorf("μ + %vσ at %v is %v, want %v", w, x, got, mean+w*sd)
				}
			}
		}
	}
}

// Law: a choice names its rule, and no design or person is a rule that searches a model;
// only Thompson sampling draws.
func TestNames(t *testing.T) {
	for want, choice := range map[string]definition.Choice{
		"lcb":      next.LCB{BetaRule: next.BetaGrowing}.Choice(),
		"logei":    next.LogEI{}.Choice(),
		"lognei":   next.LogNEI{}.Choice(),
		"thompson": next.Thompson{}.Choice(),
	} {
		rule := must.Get(builtin.Registry().Methods.Searched(policies.Alone(choice)))(t)
		if rule.Name() != want || rule.Rationale() == "" {
			t.Errorf("the rule of %q is %v", want, rule)
		}
		if draws := next.Draws(rule); draws != (want == "thompson") {
			t.Errorf("%q draws: %v", want, draws)
		}
	}
	if rule, err := builtin.Registry().Methods.Searched(policies.Alone(next.Sobol{}.Choice())); rule != nil {
		t.Errorf("a design is the rule %v, %v", rule, err)
	}
}
