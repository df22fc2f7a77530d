package coexbo

import (
	"context"
	"errors"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/num/coexbo"
	"github.com/campaignd/campaignd/internal/num/shapley"
	"github.com/campaignd/campaignd/policies"
	"github.com/campaignd/campaignd/policies/search"
	"github.com/campaignd/campaignd/policies/step"
)

// planeSize is the number of grid lines of a plane in each direction: the
// record of a decision holds a mean and a standard deviation for each of its
// points. 121 points, with two numbers each, in the event of every question.
const planeSize = 11

// attribute explains two candidates: Shapley values of the model's mean,
// standard deviation and upper bound there (after Adachi et al. 2024, §3.3),
// and the plane of the two strongest parameters. With more parameters than
// coalitions can be enumerated for it explains nothing and returns nil. An
// explanation decides nothing; it is in the record because it may have moved
// the expert's choice.
func attribute(
	ctx context.Context, s *step.Step, unaided, aided search.Result,
) (*events.Attributions, error) {
	maximized, err := s.View.Objective().Negated(ctx)
	if err != nil {
		return nil, err
	}
	groups := s.View.Space.Coordinates()
	explainer, err := shapley.New(maximized, shapley.Distinct(s.View.Objective().X),
		shapley.Config{Groups: groups, Replaced: true})
	var players *shapley.PlayersError
	// All subsets are taken up to ten parameters (Adachi et al. 2024, Prop. 4,
	// is exact); a sample of them would be another number with each seed.
	if errors.As(err, &players) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	// Package shapley writes the bound μ + √β σ.
	both, err := explainer.Explain(ctx, [][]float64{unaided.X, aided.X}, s.Beta*s.Beta)
	if err != nil {
		return nil, err
	}
	names := s.View.Space.Parameters()
	all := new(events.Attributions)
	for i, name := range []string{policies.Unaided, policies.Aided} {
		for _, q := range []struct {
			quantity string
			values   shapley.Values
		}{{events.QuantityUCB, both[i].UCB}, {events.QuantityMean, both[i].Mean},
			{events.QuantitySD, both[i].SD}} {
			all.Shapley = append(all.Shapley, events.Shapley{
				Candidate: name, Quantity: q.quantity, Base: q.values.Base, Parameters: names,
				Values: q.values.Phi,
			})
		}
	}
	all.Plane = planeOf(s, shapley.Strongest(len(names), both[0].UCB, both[1].UCB), groups, unaided, aided)
	return all, nil
}

// planeOf is the objective over the two strongest numerical parameters, with the others as in
// the aided candidate; nil where there are not two. The window is large enough to hold both
// candidates and the best measurement. Categories have no axis. Values of the grid of the plane
// are relaxed: it shows the model, not compositions that can be made.
func planeOf(s *step.Step, strongest []int, groups [][]int, unaided, aided search.Result) *events.Plane {
	var axes []int // parameters
	for _, p := range strongest {
		if len(s.Def.Parameters[p].Categories) == 0 && len(axes) < 2 {
			axes = append(axes, p)
		}
	}
	if len(axes) < 2 {
		return nil
	}
	i, j := groups[axes[0]][0], groups[axes[1]][0]
	best, _ := s.View.Objective().Best()
	window := coexbo.NewWindow(i, j, unaided.X, aided.X, s.View.Objective().X[best])
	plane := &events.Plane{
		Candidate: policies.Aided, X: s.Def.Parameters[axes[0]].Name,
		Y: s.Def.Parameters[axes[1]].Name,
	}
	x := append([]float64(nil), aided.X...)
	outside := func(name string) float64 {
		value, _ := s.View.Space.Decode(x)[name].Float()
		return value
	}
	// Line k of planeSize, in the unit cube.
	at := func(axis, k int) float64 {
		return window.Lower[axis] + (window.Upper[axis]-window.Lower[axis])*float64(k)/(planeSize-1)
	}
	for k := range planeSize {
		x[i], x[j] = at(0, k), at(1, k)
		plane.Xs, plane.Ys = append(plane.Xs, outside(plane.X)), append(plane.Ys, outside(plane.Y))
	}
	for row := range planeSize {
		mean, sd := make([]float64, planeSize), make([]float64, planeSize)
		for column := range planeSize {
			x[i], x[j] = at(0, column), at(1, row)
			p := s.View.Objective().PredictAt(x)
			mean[column], sd[column] = p.Mean, p.SD
		}
		plane.Mean, plane.SD = append(plane.Mean, mean), append(plane.SD, sd)
	}
	return plane
}
