package engine

import (
	"context"
	"errors"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/policies"
	"github.com/campaignd/campaignd/policies/seek"
)

// Liked is a measured composition in the expert's predicted order of preference.
type Liked struct {
	Experiment string           `json:"experiment"`
	Parameters definition.Point `json:"parameters"`
	// Quantities are the predictions of those that the expert compares.
	Quantities []events.QuantityPrediction `json:"quantities"`
	// Utility is what that is worth to the expert. It has no unit, and its level no
	// meaning: differences do.
	Utility events.Score `json:"utility"`
	// Before is the probability that it is preferred to the next one in the order;
	// absent of the last.
	Before *float64 `json:"before,omitempty"`
	// Doubtful is set where it does not keep the constraints on outcomes with their
	// confidence.
	Doubtful bool `json:"doubtful,omitempty"`
}

// errUncompared is the reason that nothing is preferred yet.
var errUncompared = errors.New("no outcomes have been compared yet")

// ranking returns the measured experiments in the expert's predicted order of preference, the
// best first.
func ranking(ctx context.Context, c Now, v policies.View) ([]Liked, error) {
	experts := v.Campaign.Definition.Experts
	if len(experts) == 0 {
		return nil, errUncompared
	}
	known, err := c.preference.Model(ctx, experts[0].Name)
	switch {
	case err != nil:
		return nil, err
	case known == nil || known.Outcomes == nil:
		return nil, errUncompared
	}
	p, err := seek.NewProblem(v.Campaign, v.Space, v.Models)
	if err != nil {
		return nil, err
	}
	found, err := p.Preferences(ctx, known.Outcomes)
	if err != nil {
		return nil, err
	}
	predictor, err := p.NewPredictor()
	if err != nil {
		return nil, err
	}
	all := make([]Liked, len(found.Order))
	for k, i := range found.Order {
		m := found.Measured[i]
		mean, sd := found.At(i)
		all[k] = Liked{
			Experiment: m.Experiment, Parameters: m.Point, Quantities: predictor.At(m.X).Quantities,
			Utility: events.Score{Mean: mean, SD: sd}, Doubtful: !found.Confident[i],
		}
		if k+1 < len(found.Order) {
			before := found.Probability(i, found.Order[k+1])
			all[k].Before = &before
		}
	}
	return all, nil
}
