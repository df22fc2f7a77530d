package engine

import (
	"context"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/policies"
	"github.com/campaignd/campaignd/policies/search"
	"github.com/campaignd/campaignd/policies/seek"
	"github.com/campaignd/campaignd/projections/space"
)

// front returns the estimated front of a trade-off. It fails if one of its objectives has no
// model yet, and with the error of a cancelled context.
func front(ctx context.Context, v policies.View) (*seek.Front, error) {
	p, err := seek.NewProblem(v.Campaign, v.Space, v.Models)
	if err != nil {
		return nil, err
	}
	s, err := p.Standing()
	if err != nil {
		return nil, err
	}
	f, err := p.Front(v.Campaign, s)
	if err != nil {
		return nil, err
	}
	f.Expected, err = expectedFront(ctx, v, p, s)
	return f, err
}

// expectedFront looks for the front that the models expect, by one search for each of some
// fixed weights, from the measured front and from the result of the search before.
func expectedFront(
	ctx context.Context, v policies.View, p *seek.Problem, s *seek.Standing,
) ([]seek.Expected, error) {
	z, err := p.NewScalarizer(s)
	if err != nil {
		return nil, err
	}
	var starts, found [][]float64
	for _, i := range s.Front {
		starts = append(starts, s.Measured[i].X)
	}
	ways, err := space.NewFidelity(v.Campaign.Bounded(), v.Space)
	if err != nil {
		return nil, err
	}
	var points []definition.Point
	for _, weights := range seek.Weights(len(p.Aims)) {
		r, err := search.MinimizeAtTarget(ctx, ways, v.Space, z.Of(weights), search.Effort{}, v.Campaign.Definition.Seed, starts, nil)
		if err != nil {
			return nil, err
		}
		z.Learn(r.X)
		found, points = append(found, r.X), append(points, r.Point)
	}
	return z.Expect(s, found, points), nil
}
