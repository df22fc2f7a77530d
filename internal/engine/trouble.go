package engine

import (
	"fmt"
	"slices"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/projections/campaign"
)

// failuresInARow is how many experiments may end without a result in a row
// before the campaign pauses: an instrument that is out of order must not spend
// the budget.
const failuresInARow = 4

// nextTrouble pauses a campaign whose last experiments all gave nothing, until
// a person has looked. The last ones are those that ended last: with several
// under way that is not the order in which they were requested.
func (c *Core) nextTrouble(s *campaign.State, w World) (Step, error) {
	if s.Status == campaign.Paused || s.Spent() >= s.Definition.Budget.Experiments {
		return nil, nil
	}
	var ended []*campaign.Experiment
	for i := s.ResumedAt; i < len(s.Experiments); i++ {
		if x := &s.Experiments[i]; !x.Status.Open() {
			ended = append(ended, x)
		}
	}
	if len(ended) < failuresInARow {
		return nil, nil
	}
	slices.SortStableFunc(ended, func(a, b *campaign.Experiment) int { return a.EndedAt.Compare(b.EndedAt) })
	last := ended[len(ended)-failuresInARow:]
	for _, x := range last {
		if !fruitless(x) {
			return nil, nil
		}
	}
	x := last[failuresInARow-1]
	return Record{[]events.Payload{&events.CampaignPaused{Reason: fmt.Sprintf(
		"the last %d experiments gave no result, %s for this reason: %s; see to the instrument, then `campaignd resume`",
		failuresInARow, x.ID, x.Cause)}}}, nil
}

// fruitless reports whether an instrument was given the experiment, or a person
// tried it, and there is no result.
func fruitless(x *campaign.Experiment) bool {
	switch x.Status {
	case campaign.Failed, campaign.Infeasible, campaign.Deferred:
		return true
	case campaign.Cancelled: // without a command it was called off before anybody tried
		return x.Command != ""
	}
	return false
}
