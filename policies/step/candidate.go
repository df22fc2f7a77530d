package step

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/policies"
	"github.com/campaignd/campaignd/policies/next"
	"github.com/campaignd/campaignd/policies/search"
	"github.com/campaignd/campaignd/projections/quantity"
)

// Search is one of the searches of a step. It keeps their seeds apart.
type Search uint64

const (
	SearchUnaided   Search = 1 // for the best candidate of the model alone
	SearchAided     Search = 2 // for the one with the expert's help
	SearchWorstCase Search = 3 // for the least pessimistic bound
)

// Minimize minimizes an acquisition over the space, from further starts besides the measured
// compositions. It may end anywhere: see [Step.Find] for the composition to measure.
func (s *Step) Minimize(
	ctx context.Context, f next.Acquisition, which Search, starts ...[]float64,
) (search.Result, error) {
	return s.minimize(ctx, f, s.screen(which), which, nil, starts)
}

// minimize starts from the measured compositions and from the rule's own starts. The seed of
// the unaided candidate does not depend on the questions that were asked: see unaidedSeed.
func (s *Step) minimize(
	ctx context.Context,
	f, screen next.Acquisition,
	which Search,
	skip map[string]bool,
	starts [][]float64,
) (search.Result, error) {
	seed := s.seed + uint64(which)
	if which == SearchUnaided {
		seed = s.unaidedSeed()
	}
	all := append(starts[:len(starts):len(starts)], s.View.Objective().X...)
	if rule, ok := s.Rule.(next.Starter); ok {
		all = append(all, rule.Starts(s.View.Objective(), seed)...)
	}
	effort := search.Effort{Screen: screen}
	if composed := s.composed(which); composed != nil {
		all = append(all, composed.Starts...)
		effort.Searches = composed.Searches
	}
	return search.MinimizeAtTarget(ctx, s.ways, s.View.Space, f, effort, seed, all, skip)
}

// composed is the acquisition of several quantities that a search minimizes, or nil.
func (s *Step) composed(which Search) *next.Composed {
	if which != SearchUnaided || s.several == nil {
		return nil
	}
	return s.several.composed
}

// screen is the function by which a search compares its starts, nil for its acquisition.
func (s *Step) screen(which Search) next.Acquisition {
	if composed := s.composed(which); composed != nil {
		return composed.Screen
	}
	return nil
}

// Acquisition is that of the unaided candidate.
func (s *Step) Acquisition() (next.Acquisition, error) {
	return s.AcquisitionOf(cmp.Or(s.rougher, s.View.Objective()))
}

// AcquisitionOf returns the rule's acquisition for another model of the objective.
func (s *Step) AcquisitionOf(m *quantity.Model) (next.Acquisition, error) {
	return s.AcquisitionWith(s.View.Models.With(m), false)
}

// Expecting returns a model that expects the results of the experiments under way.
func (s *Step) Expecting(ctx context.Context, m *quantity.Model) (*quantity.Model, error) {
	return m.Fantasize(ctx, s.avoid.underWay)
}

// Unaided returns the decision with the unaided candidate: the optimum of the
// acquisition alone. Where nothing is left to measure the decision is made.
func (s *Step) Unaided(
	ctx context.Context, d policies.Decision, acquisition next.Acquisition,
) (policies.Decision, search.Result, error) {
	unaided, err := s.Find(ctx, acquisition, SearchUnaided)
	if errors.Is(err, search.ErrExhausted) {
		return exhausted(d), unaided, nil
	}
	if err != nil {
		return d, unaided, err
	}
	d, err = s.Add(d, policies.Unaided, unaided)
	if err != nil && !errors.Is(err, ErrBelief) {
		return d, unaided, err
	}
	return d, unaided, nil
}

// Add appends a candidate to the decision with the models' predictions. If only the belief
// fails, which the error then wraps as ErrBelief, it is added without.
func (s *Step) Add(d policies.Decision, name string, r search.Result) (policies.Decision, error) {
	c, err := s.describe(name, r)
	d.Candidates = append(d.Candidates[:len(d.Candidates):len(d.Candidates)], c)
	return d, err
}

// describe returns a candidate with the models' predictions. Bounds are in the objective's
// unit: optimistic is the better one, since smaller is better inside.
func (s *Step) describe(name string, r search.Result) (events.Candidate, error) {
	model := s.View.Objective()
	mean, sd := model.Posterior(r.X)
	prediction := model.PredictAt(r.X)
	optimistic, pessimistic := model.Untransform(mean-s.Beta*sd), model.Untransform(mean+s.Beta*sd)
	c := events.Candidate{
		Name: name, Parameters: r.Point, Prediction: &prediction, Optimistic: &optimistic,
		Pessimistic: &pessimistic,
	}
	s.outlook(&c, r.X)
	if !math.IsNaN(r.Value) {
		value := r.Value
		c.Acquisition = &value
	}
	if len(s.View.Beliefs) == 0 || s.View.Beliefs[s.Expert()] == nil {
		return c, nil
	}
	lower, upper, err := s.View.Beliefs[s.Expert()].Bounds(r.X)
	if err != nil {
		return c, fmt.Errorf("%w: at the %s candidate: %w", ErrBelief, name, err)
	}
	c.Belief = &events.Interval{Lower: lower, Upper: upper}
	return c, nil
}

// Place returns a composition as a candidate that no acquisition has found.
func (s *Step) Place(point definition.Point) (search.Result, error) {
	x, err := s.View.Space.Encode(point)
	return search.Result{X: x, Point: point, Value: math.NaN()}, err
}
