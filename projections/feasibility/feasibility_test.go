package feasibility_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/projections/campaign"
	"github.com/campaignd/campaignd/projections/feasibility"
	"github.com/campaignd/campaignd/projections/space"
)

func ptr[T any](x T) *T { return &x }

// square is a campaign over the unit square with the given outcomes.
func square(t testing.TB, outcomes map[campaign.ExperimentStatus][][2]float64) (*campaign.State, *space.Space) {
	t.Helper()
	def := definition.Campaign{
		Name: "square", Objective: definition.Objective{Name: "y", Goal: definition.Minimize}, Model: definition.Model{Feasibility: ptr(true)},
		Parameters: []definition.Parameter{{Name: "a", Min: ptr(0.0), Max: ptr(1.0)}, {Name: "b", Min: ptr(0.0), Max: ptr(1.0)}},
	}
	sp := must.Get(space.New(def))(t)
	s := &campaign.State{Definition: &def}
	for _, status := range []campaign.ExperimentStatus{campaign.Measured, campaign.Failed, campaign.Infeasible, campaign.Deferred, campaign.Cancelled} {
		for _, x := range outcomes[status] {
			point := definition.Point{"a": definition.Number(x[0]), "b": definition.Number(x[1])}
			s.Experiments = append(s.Experiments, campaign.Experiment{
				ID: fmt.Sprintf("e%d", len(s.Experiments)+1), Status: status, Parameters: point, Measurement: &events.Measurement{Actual: point},
			})
		}
	}
	return s, sp
}

func model(t testing.TB, outcomes map[campaign.ExperimentStatus][][2]float64) *feasibility.Model {
	t.Helper()
	s, sp := square(t, outcomes)
	return must.Get(feasibility.New(t.Context(), s, sp))(t)
}

// Law: while nothing has failed there is no model, and everything is possible;
// what was put off or called off is not a failure. A campaign may do without.
func TestNothingFailed(t *testing.T) {
	outcomes := map[campaign.ExperimentStatus][][2]float64{
		campaign.Measured: {{0.5, 0.5}}, campaign.Deferred: {{0.1, 0.1}}, campaign.Cancelled: {{0.2, 0.2}},
	}
	if m := model(t, outcomes); m != nil || m.Probability([]float64{0.1, 0.1}) != 1 {
		t.Errorf("there is a model: %+v", m)
	}
	outcomes[campaign.Infeasible] = [][2]float64{{0.9, 0.9}}
	s, sp := square(t, outcomes)
	s.Definition.Model.Feasibility = ptr(false)
	if m, err := feasibility.New(t.Context(), s, sp); m != nil || err != nil {
		t.Errorf("it was not wanted: %+v %v", m, err)
	}
}

// Law: "can't" counts for more than a failure, what is measured nearby counts
// against either, and far away nothing is known.
func TestWhatCounts(t *testing.T) {
	here, near, far := []float64{0.2, 0.2}, [2]float64{0.25, 0.2}, []float64{1, 1}
	at := [][2]float64{{0.2, 0.2}}
	cannot := model(t, map[campaign.ExperimentStatus][][2]float64{campaign.Infeasible: at})
	failed := model(t, map[campaign.ExperimentStatus][][2]float64{campaign.Failed: at})
	refuted := model(t, map[campaign.ExperimentStatus][][2]float64{campaign.Failed: at, campaign.Measured: {near}})
	twice := model(t, map[campaign.ExperimentStatus][][2]float64{campaign.Infeasible: {at[0], near}})
	p := []float64{twice.Probability(here), cannot.Probability(here), failed.Probability(here), cannot.Probability(far), refuted.Probability(here)}
	t.Logf("can't twice %.2f, can't %.2f, failed %.2f, far away %.2f, failed beside a result %.2f", p[0], p[1], p[2], p[3], p[4])
	for i := 1; i < len(p); i++ {
		if p[i-1] >= p[i] {
			t.Errorf("the probabilities are not in order: %.3f", p)
		}
	}
	if p[0] > 0.1 || p[1] > 0.3 || p[2] < 0.4 || math.Abs(p[3]-0.9) > 0.02 {
		t.Errorf("the probabilities are %.3f", p)
	}
}

// Law: the gradient is that of −ln P, also at an experiment and where P is small.
func TestSurpriseGradient(t *testing.T) {
	f := model(t, map[campaign.ExperimentStatus][][2]float64{
		campaign.Infeasible: {{0.2, 0.2}, {0.3, 0.25}, {0.1, 0.3}}, campaign.Failed: {{0.7, 0.4}}, campaign.Measured: {{0.9, 0.9}, {0.6, 0.5}},
	}).NegLogFeasibility()
	grad := make([]float64, 2)
	const h = 1e-5
	for _, x := range [][]float64{{0.21, 0.22}, {0.5, 0.5}, {0.7, 0.41}, {0, 1}} {
		if value := f(x, grad); value < 0 || value != f(x, nil) {
			t.Errorf("at %v the value is %v, without a gradient %v", x, value, f(x, nil))
		}
		for j := range x {
			up, down := []float64{x[0], x[1]}, []float64{x[0], x[1]}
			up[j] += h
			down[j] -= h
			if numeric := (f(up, nil) - f(down, nil)) / (2 * h); math.Abs(numeric-grad[j]) > 1e-6*(1+math.Abs(numeric)) {
				t.Errorf("at %v the derivative %d is %v, by differences %v", x, j, grad[j], numeric)
			}
		}
	}
}

// Law: the cost is bounded however much has been measured.
func BenchmarkNew(b *testing.B) {
	outcomes := map[campaign.ExperimentStatus][][2]float64{campaign.Infeasible: {{0.2, 0.2}}}
	for i := range 2000 {
		x := float64(i)
		outcomes[campaign.Measured] = append(outcomes[campaign.Measured], [2]float64{math.Mod(0.618*x, 1), math.Mod(0.755*x, 1)})
	}
	s, sp := square(b, outcomes)
	for b.Loop() {
		must.Get(feasibility.New(b.Context(), s, sp))(b)
	}
}
