package coexbo

import (
	"context"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/num/coexbo"
	"github.com/campaignd/campaignd/policies"
)

// reviewed looks back at the choice that led to the latest measurement: the
// probability that it was right, given everything measured by now (Adachi et
// al. 2024, Eq. 101). It is nil where no choice led to that measurement. It is
// for the expert, who learns how good their choices are, and decides nothing.
func reviewed(ctx context.Context, v policies.View) (*events.ChoiceReview, error) {
	s := v.Campaign
	last := len(s.Experiments) - 1
	for last >= 0 && s.Experiments[last].Measurement == nil {
		last--
	}
	if last < 0 || s.Experiments[last].Origin != events.OriginPolicy {
		return nil, nil
	}
	questions := s.QuestionsIn(s.Experiments[last].Turn)
	// The latest choice of the turn is the one that led to the experiment.
	for i := len(questions) - 1; i >= 0; i-- {
		q := &questions[i]
		if q.Form != events.FormComparison || len(q.Answer.Order) < 2 {
			continue
		}
		chosen, err := v.Space.Encode(q.Options[q.Answer.Order[0]].Parameters)
		if err != nil {
			return nil, err
		}
		other, err := v.Space.Encode(q.Options[q.Answer.Order[1]].Parameters)
		if err != nil {
			return nil, err
		}
		maximized, err := v.Objective().Negated(ctx)
		if err != nil {
			return nil, err
		}
		verdict := coexbo.ChoiceWasRight(maximized.Joint([][]float64{chosen, other}), v.Objective().Fit.Noise)
		return &events.ChoiceReview{
			Question: q.ID, Expert: q.Expert, Experiment: s.Experiments[last].ID,
			Probability: verdict.Probability,
		}, nil
	}
	return nil, nil
}
