package quantity

import (
	"context"
	"slices"
)

// Experiments outside the space as it is now (see [campaign.Experiment.Outside]) are in the
// model that people are shown, and decide nothing. They would affect decisions otherwise than
// as the incumbent, too: after an exclusion around a peak of 95 the values within, 0 to 11,
// were all far below the mean, every composition without a measurement promised more than the
// best, and the search went to the corners. It found 26 of 49 in seven experiments, and without
// these rows 49.
//
// If another composition was made than the requested one, and it lies outside, it stays in the
// model, too, and is compared with nothing: without it the same composition would be requested
// again and again of a device that always goes too far.

// Inside returns the model of the observations within the space alone, fitted anew; nil if they
// are too few for one. It is the model itself if none of them lies outside. It depends on the
// state and the seed alone.
func (m *Model) Inside(ctx context.Context, seed uint64) (*Model, error) {
	if m == nil || !slices.ContainsFunc(m.Observations, m.of.isLeftOut) {
		return m, nil
	}
	p := *m.of
	p.state.Observations = slices.DeleteFunc(slices.Clone(m.Observations), p.isLeftOut)
	p.model = nil
	if p.Observed() < LeastObservations {
		return nil, nil
	}
	fit, err := p.Fit(ctx, seed)
	if err != nil {
		return nil, err
	}
	p.state.Fit = &fit
	return p.Model(ctx)
}

// isLeftOut reports whether an observation is in no model of decisions.
func (p *Projection) isLeftOut(o Observation) bool {
	return p.isOutside(o) && !slices.Contains(p.astray, o.Experiment)
}

// IsOutside reports whether an observation lies outside, by its index.
func (m *Model) IsOutside(i int) bool { return m.of.isOutside(m.Observations[i]) }

// IsNowhere reports whether results lie outside the space, and none within: nothing
// is compared then.
func (m *Model) IsNowhere() bool {
	return m.HasOutside() && !slices.ContainsFunc(m.Observations, func(o Observation) bool { return !o.Failed && !m.of.isOutside(o) })
}

// HasOutside reports whether an observation of the model lies outside.
func (m *Model) HasOutside() bool { return slices.ContainsFunc(m.Observations, m.of.isOutside) }

// Everywhere is the model that compares all observations, as decisions of version 2
// did.
func (m *Model) Everywhere() *Model {
	if m == nil || m.of == nil || m.of.outside == nil {
		return m
	}
	p := *m.of
	p.outside = nil
	p.astray = nil
	own := *m
	own.of = &p
	own.results = nil
	own.place(&p)
	return &own
}
