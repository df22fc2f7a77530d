package next_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/policies/next"
	"github.com/campaignd/campaignd/projections/quantity"
)

// cheaper returns a model of measurements in one dimension at hours from 1 to 10, the target; those at fewer hours read
// much less.
func cheaper(t *testing.T) *quantity.Model {
	t.Helper()
	p := quantity.New()
	apply := func(payload events.Payload) {
		must.Do(t, p.Apply(events.Event{}, payload))
	}
	target := definition.Number(10)
	apply(&events.CampaignDefined{Definition: definition.Campaign{
		Parameters: []definition.Parameter{
			{Name: "hours", Min: ptr(1.0), Max: ptr(10.0)}, {Name: "x", Min: ptr(0.0), Max: ptr(1.0)},
		},
		Fidelity:  definition.Fidelity{Parameter: "hours", Target: &target},
		Objective: definition.Objective{Goal: definition.Minimize, Noise: ptr(0.2)}}})
	for i, o := range [][3]float64{{0.1, 10, 1}, {0.4, 10, -0.8}, {0.45, 3, -2}, {0.7, 10, 0.3}, {0.8, 1, -2.5}, {0.9, 10, 0.9}} {
		apply(&events.ExperimentMeasured{Experiment: fmt.Sprintf("e%d", i+1), Measurement: events.Measurement{
			Actual:    definition.Point{"x": definition.Number(o[0]), "hours": definition.Number(o[1])},
			Objective: definition.Quantity{Value: o[2]}}})
	}
	apply(&events.ModelFitted{Model: events.ModelObjective, Objective: &events.ObjectiveFit{
		Kernel: "rbf", Lengthscales: []float64{events.Unscaled, 0.25}, OutputScale: 1, Noise: 0.05, Scale: 1, Observations: 6,
		Fidelity: &events.FidelityFit{C: 1, Delta: 0.4}}})
	return must.Get(p.Model(t.Context()))(t)
}

// Law: where experiments can be cheaper, the noisy expected improvement is that on what was measured at the target alone,
// drawn together from the posterior of all; what is cheaper or under way in a cheaper way is nothing to improve on, however
// little it reads.
func TestNoisyImprovementIsAtTheTarget(t *testing.T) {
	m := cheaper(t)
	pending := [][]float64{{0.1, 0.55}, {0.3, 0.2}}
	expecting := must.Get(m.Fantasize(t.Context(), pending))(t)
	f := acquisitionOf(t, next.LogNEI{}.Choice(), expecting, 3)
	for _, x := range []float64{0.25, 0.55, 0.6, 0.95} {
		at := []float64{1, x}
		joint := m.GP().Joint([][]float64{{1, 0.1}, {1, 0.4}, {1, 0.7}, {1, 0.9}, at})
		want, se := improvement(joint, 200_000)
		if got := math.Exp(-f(at, nil)); math.Abs(got-want) > 0.1*want+1e-3+4*se {
			t.Errorf("at %v it is %v, by draws %v ± %v", x, got, want, se)
		}
	}
	if i, _ := m.Best(); m.Observations[i].Experiment != "e2" {
		t.Errorf("the best is %s", m.Observations[i].Experiment)
	}
}
