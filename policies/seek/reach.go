package seek

import (
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/projections/campaign"
	"github.com/campaignd/campaignd/projections/quantity"
	"github.com/campaignd/campaignd/projections/space"
)

// Reached is a measured composition that reaches a target of several bounds.
type Reached struct {
	Experiment string
	// Probability is that of keeping all bounds.
	Probability float64
}

// ReachedBy returns the measured composition that most probably keeps all bounds of the
// campaign's target (see [definition.Stop]), by the models of its objective and of its other
// quantities: nil where none does with [definition.DefaultConfidence] that also keeps the
// constraints with theirs, and while a bound cannot be judged.
func ReachedBy(
	s *campaign.State, sp *space.Space, models quantity.Models,
) (*Reached, error) {
	bounds := make([]definition.OutcomeConstraint, len(s.Definition.Stop.Reach))
	for i, text := range s.Definition.Stop.Reach {
		bounds[i].Require = text
	}
	target, reaches, err := keeper(s, sp, models, bounds)
	if err != nil || len(bounds) == 0 || len(target.Waiting) > 0 {
		return nil, err
	}
	constraints, keeps, err := keeper(s, sp, models, s.Definition.ConstraintsOnOutcomes)
	if err != nil {
		return nil, err
	}
	var best *Reached
	for _, m := range target.Measured() {
		p := reaches.At(m.X).Feasible.Probability
		if p >= definition.DefaultConfidence && (best == nil || p > best.Probability) &&
			constraints.Confident(keeps.At(m.X).Feasible) {
			best = &Reached{m.Experiment, p}
		}
	}
	return best, nil
}

// keeper judges constraints alone: nothing is sought.
func keeper(
	s *campaign.State, sp *space.Space, models quantity.Models,
	constraints []definition.OutcomeConstraint,
) (*Problem, *Predictor, error) {
	p, err := newProblem(s, sp, models, definition.Objective{}, constraints)
	if err != nil {
		return nil, nil, err
	}
	w, err := p.NewPredictor()
	return p, w, err
}
