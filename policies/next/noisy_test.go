package next_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/num/gp"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/policies/next"
	"github.com/campaignd/campaignd/projections/quantity"
)

// noisy returns a model of measurements in one dimension, two of them equal, with the given standard deviation of
// their noise.
func noisy(t *testing.T, sd float64) *quantity.Model {
	t.Helper()
	p := quantity.New()
	apply := func(payload events.Payload) {
		must.Do(t, p.Apply(events.Event{}, payload))
	}
	apply(&events.CampaignDefined{Definition: definition.Campaign{
		Parameters: []definition.Parameter{{Name: "x", Min: ptr(0.0), Max: ptr(1.0)}},
		Objective:  definition.Objective{Goal: definition.Minimize, Noise: ptr(sd)}}})
	for i, x := range []float64{0.1, 0.4, 0.45, 0.45, 0.7, 0.9} {
		y := []float64{1, -0.8, -0.75, -0.9, 0.3, 0.9}[i]
		apply(&events.ExperimentMeasured{Experiment: fmt.Sprintf("e%d", i+1), Measurement: events.Measurement{
			Actual: definition.Point{"x": definition.Number(x)}, Objective: definition.Quantity{Value: y}}})
	}
	apply(&events.ModelFitted{Model: events.ModelObjective, Objective: &events.ObjectiveFit{
		Kernel: "matern52", Lengthscales: []float64{0.25}, OutputScale: 1, Noise: 0.05, Scale: 1, Observations: 6}})
	return must.Get(p.Model(t.Context()))(t)
}

func acquisitionOf(t *testing.T, c definition.Choice, m *quantity.Model, seed uint64) next.Acquisition {
	t.Helper()
	return must.Get(ruleOf(t, c).Acquisition(m, seed))(t)
}

// improvement draws f at the compositions tried and at x together, and returns the mean of what x is better
// by, with its standard error: the definition.
func improvement(joint *gp.Joint, n int) (mean, se float64) {
	rng := rand.New(rand.NewPCG(5, 6))
	f := make([]float64, len(joint.Mean))
	squares := 0.0
	for range n {
		if err := joint.Sample(f, rng); err != nil {
			panic(err)
		}
		best := math.Inf(1)
		for _, y := range f[:len(f)-1] {
			best = min(best, y)
		}
		gain := max(best-f[len(f)-1], 0)
		mean, squares = mean+gain/float64(n), squares+gain*gain/float64(n)
	}
	return mean, math.Sqrt((squares - mean*mean) / float64(n))
}

// Law: the noisy expected improvement is what its definition says: the mean of how much less f is at a
// composition than at all that were measured or are under way, drawn together from the posterior. That is not
// the improvement on the best posterior mean; and so also where the model knows more than its measurements.
func TestNoisyImprovementIsItsDefinition(t *testing.T) {
	m := noisy(t, 0.4)
	known := must.Get(m.Conditioned().Given([][]float64{{0.3}}, [][]float64{{-1.1}}, 0.1))(t)
	pending := [][]float64{{0.55}, {0.02}}
	differs := 0
	for name, model := range map[string]*quantity.Model{"measured": m, "told more": m.Given(known)} {
		for underWay := range 2 {
			tried := append([][]float64{}, model.X...)
			expecting := model
			for _, x := range pending[:2*underWay] { // in two steps, as the second of two candidates is
				tried = append(tried, x)
				expecting = must.Get(expecting.Fantasize(t.Context(), [][]float64{x}))(t)
			}
			f := acquisitionOf(t, next.LogNEI{}.Choice(), expecting, 3)
			plain := acquisitionOf(t, next.LogEI{}.Choice(), expecting, 3)
			for _, x := range [][]float64{{0.2}, {0.33}, {0.5}, {0.6}, {0.8}} {
				want, se := improvement(model.Conditioned().Joint(append(tried[:len(tried):len(tried)], x)), 60_000)
				got := math.Exp(-f(x, nil))
				// The draws are few: good to a part in ten, less so where hardly one has anything to gain.
				if math.Abs(got-want) > 0.1*want+1e-3+4*se {
					t.Errorf("%s, %d under way, at %v: %v, want %v ± %v", name, 2*underWay, x, got, want, se)
				}
				if plugged := math.Exp(-plain(x, nil)); math.Abs(plugged-want) > 0.25*want {
					differs++
				}
			}
		}
	}
	if differs < 5 {
		t.Errorf("the improvement on the best mean differs at %d of 20 points only: the test tells nothing", differs)
	}
}

// Law: where nothing is noisy and nothing under way it is the expected improvement on the best, so far from what
// was measured that its little noise does not matter.
func TestNoisyImprovementWithoutNoise(t *testing.T) {
	m := noisy(t, 0)
	f, plain := acquisitionOf(t, next.LogNEI{}.Choice(), m, 3), acquisitionOf(t, next.LogEI{}.Choice(), m, 3)
	for _, x := range [][]float64{{0.2}, {0.3}, {0.35}, {0.55}, {0.6}} {
		// A standard deviation of 1e-3 of what is known at best.
		if got, want := f(x, nil), plain(x, nil); math.Abs(got-want) > 0.02 {
			t.Errorf("at %v it is %v, without noise %v", x, got, want)
		}
	}
}

// Law: nothing is to be gained where something was measured, with noise or without, or is under way;
// and the acquisition is finite everywhere, however little there is.
func TestNothingIsGainedTwice(t *testing.T) {
	branin := model(t)
	f := acquisitionOf(t, next.LogNEI{}.Choice(), branin, 3)
	for _, x := range branin.X {
		if got := f(x, nil); math.IsInf(got, 0) || math.IsNaN(got) || got < 10 {
			t.Errorf("without noise, at %v it is %v", x, got)
		}
	}
	for _, noise := range []float64{0, 0.01, 0.4} {
		m := noisy(t, noise)
		elsewhere := acquisitionOf(t, next.LogNEI{}.Choice(), m, 3)([]float64{0.55}, nil)
		expecting := must.Get(m.Fantasize(t.Context(), [][]float64{{0.55}}))(t)
		f := acquisitionOf(t, next.LogNEI{}.Choice(), expecting, 3)
		for _, x := range append([][]float64{{0.55}}, m.X...) {
			if got := f(x, nil); math.IsInf(got, 0) || math.IsNaN(got) || got < elsewhere+5 { // e⁻⁵ is 0.007
				t.Errorf("noise %v: at %v it is %v, at a composition that is new %v", noise, x, got, elsewhere)
			}
		}
	}
}

// Law: equal seeds give equal bits, of the acquisition and of where searches begin; other seeds other draws.
func TestNoisyImprovementRepeats(t *testing.T) {
	m := noisy(t, 0.4)
	at := func(seed uint64) float64 {
		return acquisitionOf(t, next.LogNEI{}.Choice(), m, seed)([]float64{0.6}, make([]float64, 1))
	}
	if at(1) != at(1) || at(1) == at(2) {
		t.Errorf("it is %v, again %v, and by another seed %v", at(1), at(1), at(2))
	}
	starter := ruleOf(t, next.LogNEI{}.Choice()).(next.Starter)
	starts := starter.Starts(m, 1)
	if fmt.Sprint(starts) != fmt.Sprint(starter.Starts(m, 1)) || fmt.Sprint(starts) == fmt.Sprint(starter.Starts(m, 2)) {
		t.Error("the starts do not follow their seed")
	}
	beside := 0
	for _, x := range starts {
		if x[0] < 0 || x[0] > 1 {
			t.Errorf("a start at %v", x)
		}
		if math.Abs(x[0]-0.45) < 0.02 && x[0] != 0.45 {
			beside++
		}
	}
	if beside == 0 {
		t.Errorf("no search begins beside the best composition: %v", starts)
	}
}
