package step

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/policies"
	"github.com/campaignd/campaignd/policies/next"
	"github.com/campaignd/campaignd/policies/search"
	"github.com/campaignd/campaignd/projections/campaign"
	"github.com/campaignd/campaignd/projections/feasibility"
	"github.com/campaignd/campaignd/projections/quantity"
	"github.com/campaignd/campaignd/projections/space"
)

func number(x float64) *float64 { return &x }

// square is a campaign over the unit square, in which experiments of the given
// status were made at the given points.
func square(t *testing.T, steps map[string]float64, status campaign.ExperimentStatus, at ...[2]float64) *Step {
	t.Helper()
	def := definition.Campaign{
		Name: "square", Objective: definition.Objective{Name: "y", Goal: definition.Minimize}, Instrument: definition.Instrument{Steps: steps},
		Parameters: []definition.Parameter{{Name: "a", Min: number(0), Max: number(1)}, {Name: "b", Min: number(0), Max: number(1)}},
	}
	sp := must.Get(space.New(def))(t)
	s := &campaign.State{Definition: &def}
	for i, x := range at {
		s.Experiments = append(s.Experiments, campaign.Experiment{ID: fmt.Sprintf("e%d", i+1), Status: status,
			Parameters: definition.Point{"a": definition.Number(x[0]), "b": definition.Number(x[1])}})
	}
	v := policies.View{Campaign: s, Space: sp, Models: quantity.Models{{Model: &quantity.Model{}}}}
	step := &Step{Def: &def, View: v, seed: 1}
	step.avoid = must.Get(avoided(v))(t)
	return step
}

// bowl is an acquisition with its minimum at a point.
func bowl(x0, y0 float64) next.Acquisition {
	return func(x, grad []float64) float64 {
		if grad != nil {
			grad[0], grad[1] = 2*(x[0]-x0), 2*(x[1]-y0)
		}
		return (x[0]-x0)*(x[0]-x0) + (x[1]-y0)*(x[1]-y0)
	}
}

// Law: wherever the acquisition is smallest, no candidate is a composition under
// way, in steps coarser than the barrier too; in a finite space the others are
// tried first, and then there is nothing left.
func TestCandidatesKeepAway(t *testing.T) {
	for name, steps := range map[string]map[string]float64{
		"continuous": nil, "one in steps": {"a": 0.5}, "fine grid": {"a": 0.01, "b": 0.01}, "coarse grid": {"a": 0.5, "b": 0.5},
	} {
		t.Run(name, func(t *testing.T) {
			var taken [][2]float64
			for range 9 {
				m := square(t, steps, campaign.Dispatched, taken...)
				r := must.Get(m.Find(t.Context(), bowl(0.5, 0.5), SearchUnaided))(t)
				a, _ := r.Point["a"].Float()
				b, _ := r.Point["b"].Float()
				for _, other := range taken {
					if math.Hypot(a-other[0], b-other[1]) < 1e-3 {
						t.Fatalf("(%v, %v) is suggested beside %v", a, b, taken)
					}
				}
				if len(taken) == 0 && math.Hypot(a-0.5, b-0.5) > 1e-3 {
					t.Errorf("the first candidate is (%v, %v)", a, b)
				}
				taken = append(taken, [2]float64{a, b})
			}
			if name == "coarse grid" {
				m := square(t, steps, campaign.Dispatched, taken...)
				if _, err := m.Find(t.Context(), bowl(0.5, 0.5), SearchUnaided); !errors.Is(err, search.ErrExhausted) {
					t.Errorf("all nine are under way: %v", err)
				}
				m = square(t, steps, campaign.Infeasible, taken...)
				if _, err := m.Find(t.Context(), bowl(0.5, 0.5), SearchUnaided); err != nil {
					t.Errorf("all nine could not be made: %v", err)
				}
			}
		})
	}
}

// Law: a failure that a person excluded keeps no candidate away.
func TestExcludedFailureIsNotAvoided(t *testing.T) {
	m := square(t, nil, campaign.Infeasible, [2]float64{0.5, 0.5})
	if len(m.avoid.points) != 1 {
		t.Fatalf("the failure is not avoided: %+v", m.avoid)
	}
	m.View.Campaign.Experiments[0].Excluded = true
	a, err := avoided(m.View)
	if err != nil || len(a.points) != 0 || len(a.failed) != 0 {
		t.Errorf("%+v %v", a, err)
	}
	if believed, err := pessimistic(t.Context(), m.View); err != nil || believed != m.View.Objective() { // one that fails would be worse than all
		t.Errorf("the model believes it to be bad: %v", err)
	}
}

// Law: kept away from is what is under way and what only ever failed: what could not be made,
// and, where there is a model of what is feasible, what gave no result. What was measured once
// has not only failed, and each composition is avoided once.
func TestWhatIsAvoided(t *testing.T) {
	for _, c := range []struct {
		name            string
		statuses        []campaign.ExperimentStatus // of experiments with one composition
		feasibility     bool
		pending, failed bool
	}{
		{"measured", []campaign.ExperimentStatus{campaign.Measured}, true, false, false},
		{"cancelled", []campaign.ExperimentStatus{campaign.Cancelled}, true, false, false},
		{"under way", []campaign.ExperimentStatus{campaign.Dispatched}, false, true, false},
		{"under way twice", []campaign.ExperimentStatus{campaign.Requested, campaign.Dispatched}, false, true, false},
		{"measured, and under way again", []campaign.ExperimentStatus{campaign.Measured, campaign.Dispatched}, true, true, false},
		{"not feasible", []campaign.ExperimentStatus{campaign.Infeasible}, false, false, true},
		{"not feasible twice", []campaign.ExperimentStatus{campaign.Infeasible, campaign.Infeasible}, true, false, true},
		{"failed", []campaign.ExperimentStatus{campaign.Failed}, false, false, false},
		{"failed, with a model of that", []campaign.ExperimentStatus{campaign.Failed}, true, false, true},
		{"not feasible, then measured", []campaign.ExperimentStatus{campaign.Infeasible, campaign.Measured}, true, false, false},
		{"measured, then failed", []campaign.ExperimentStatus{campaign.Measured, campaign.Failed}, true, false, false},
		{"failed, and under way again", []campaign.ExperimentStatus{campaign.Failed, campaign.Dispatched}, true, true, true},
	} {
		s := square(t, nil, campaign.Requested)
		point := definition.Point{"a": definition.Number(0.25), "b": definition.Number(0.75)}
		for _, status := range c.statuses {
			x := campaign.Experiment{Status: status, Parameters: point}
			if status == campaign.Measured {
				x.Measurement = &events.Measurement{Actual: point}
			}
			s.View.Campaign.Experiments = append(s.View.Campaign.Experiments, x)
		}
		if c.feasibility {
			s.View.Feasibility = new(feasibility.Model)
		}
		a := must.Get(avoided(s.View))(t)
		key := must.Get(s.View.Space.Key(point))(t)
		points, underWay := 0, 0
		if c.pending || c.failed {
			points = 1
		}
		if c.pending {
			underWay = 1
		}
		if a.pending[key] != c.pending || a.failed[key] != c.failed || len(a.points) != points || len(a.underWay) != underWay {
			t.Errorf("%s: %+v", c.name, a)
		}
	}
}

// Law: what is under way in a region that was excluded since is nothing that a
// candidate keeps away from, or is to be better than, and so is what waits there for
// a quantity; decisions of version 2 expected its result. What went astray is kept
// away from, as what failed.
func TestUnderWayOutsideIsNotExpected(t *testing.T) {
	s := square(t, nil, campaign.Started, [2]float64{0.2, 0.2}, [2]float64{0.9, 0.9})
	def := *s.Def
	def.Excluded = []definition.Region{{Where: map[string]definition.RegionSide{"a": {Min: number(0.8)}}}}
	var err error
	s.View.Space = must.Get(space.New(def))(t)
	underWay := func(v policies.View) int {
		t.Helper()
		a, err := avoided(v)
		if err != nil || len(a.points) != len(a.underWay) {
			t.Fatalf("%v, %v of %v", err, a.underWay, a.points)
		}
		return len(a.underWay)
	}
	now, before := underWay(s.View), s.View
	before.Version2 = true
	if now != 1 || underWay(before) != 2 {
		t.Errorf("%d are expected, and %d by version 2", now, underWay(before))
	}

	x := &s.View.Campaign.Experiments[0]
	x.Status = campaign.Measured
	x.Measurement = &events.Measurement{Actual: definition.Point{"a": definition.Number(0.85), "b": definition.Number(0.2)}}
	x.Outside = "a is 0.85"
	x.Astray = true
	a, err := avoided(s.View)
	if err != nil || len(a.failed) != 1 || len(a.points) != 1 || len(a.underWay) != 0 {
		t.Errorf("of what went astray %v is avoided, %v is under way (%v)", a.points, a.underWay, err)
	}
}

// Law: a barrier's gradient is that of its value, it is finite at its center and
// nothing far away.
func TestBarrier(t *testing.T) {
	f := barrier([][]float64{{0.5, 0.5}, {0.52, 0.51}}, 0.03)
	grad := make([]float64, 2)
	const h = 1e-6
	for _, x := range [][]float64{{0.51, 0.52}, {0.47, 0.5}, {0.6, 0.4}} {
		f(x, grad)
		for j := range x {
			up, down := []float64{x[0], x[1]}, []float64{x[0], x[1]}
			up[j] += h
			down[j] -= h
			if numeric := (f(up, nil) - f(down, nil)) / (2 * h); math.Abs(numeric-grad[j]) > 1e-5*(1+math.Abs(numeric)) {
				t.Errorf("at %v the derivative %d is %v, by differences %v", x, j, grad[j], numeric)
			}
		}
	}
	if at := f([]float64{0.5, 0.5}, nil); math.IsInf(at, 0) || at < 20 {
		t.Errorf("at its center it is %v", at)
	}
	if far := f([]float64{0.9, 0.1}, nil); far > 1e-12 {
		t.Errorf("far away it is %v", far)
	}
}
