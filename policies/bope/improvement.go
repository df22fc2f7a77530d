package bope

import (
	"context"
	"errors"
	"slices"

	"github.com/campaignd/campaignd/internal/num/bope"
	"github.com/campaignd/campaignd/policies/next"
	"github.com/campaignd/campaignd/policies/seek"
	"github.com/campaignd/campaignd/projections/quantity"
)

// improvement is −ln EIUU, and −ln of the probability that constraints on outcomes
// are kept. Without a sitting it is a name.
type improvement struct{ sitting *sitting }

// Name implements next.Rule.
func (improvement) Name() string { return EIUUName }

// Rationale implements next.Rule.
func (improvement) Rationale() string {
	return "the greatest expected improvement of what its outcome is worth to the expert"
}

// Acquisition implements next.Rule. One quantity has no outcomes to compare.
func (improvement) Acquisition(*quantity.Model, uint64) (next.Acquisition, error) {
	return nil, errors.New("eiuu is for several quantities")
}

// Composes implements next.Composer.
func (improvement) Composes(p *seek.Problem, _ *quantity.Model) bool { return p.Compared != nil }

// Compose implements next.Composer. Experiments under way count with their predictions: among
// the outcomes to improve on, and in the models.
func (r improvement) Compose(s next.Several) (next.Composed, error) {
	_, underWay := s.Objective.Expected()
	p, err := s.Problem.Expecting(context.Background(), underWay)
	if err != nil {
		return next.Composed{}, err
	}
	preferences, standard := r.sitting.preferences, r.sitting.known.Standard
	expected := p.NewCompared(standard)
	baseline := among(preferences)
	for _, x := range underWay {
		if expected.At(x); expected.Valued() {
			baseline = append(baseline, slices.Clone(expected.Mean))
		}
	}
	eiuu, err := bope.NewEIUU(preferences.Utility, baseline, s.Seed)
	if err != nil {
		return next.Composed{}, err
	}
	kept := func(x, grad []float64) float64 { clear(grad); return 0 }
	if p.Requires() {
		if kept, err = p.NegLogFeasible(); err != nil {
			return next.Composed{}, err
		}
	}
	byMean, bySD := make([]float64, len(standard)), make([]float64, len(standard))
	acquisition := func(x, grad []float64) float64 {
		if grad == nil {
			expected.At(x)
			return kept(x, nil) - eiuu.Log(expected.Mean, expected.SD)
		}
		expected.AtGrad(x)
		value := kept(x, grad) - eiuu.LogGrad(expected.Mean, expected.SD, byMean, bySD)
		expected.AddGrad(grad, byMean, bySD, -1)
		return value
	}
	return next.Composed{Acquisition: acquisition}, nil
}

// among are the measured outcomes that a new one is to be better than: those that
// keep the constraints, or all where none does.
func among(p *seek.Preferences) (baseline [][]float64) {
	for i, y := range p.Outcomes {
		if p.Confident[i] {
			baseline = append(baseline, y)
		}
	}
	if baseline == nil {
		return slices.Clone(p.Outcomes)
	}
	return baseline
}
