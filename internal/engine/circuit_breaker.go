package engine

import (
	"fmt"
	"slices"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/projections/campaign"
)

// failuresInARow is how many experiments may end without a result in a row
// before the campaign pauses: an instrument that is out of order must not spend
// the budget.
const failuresInARow = 4

// nextCircuitBreak is the circuit breaker: it pauses a campaign whose last experiments all
// gave nothing, until a person has looked, also where they were the last of the budget:
// else it would end with what a broken instrument left of it. What did not take place
// costs nothing and is tried again for a good while first.
func (c *Core) nextCircuitBreak(s *campaign.State, w World) (Step, error) {
	spent := s.Spent() >= s.Definition.Budget.Experiments
	if s.Status == campaign.Paused || spent && w.Eager {
		return nil, nil
	}
	pause := func(format string, args ...any) (Step, error) {
		reason := fmt.Sprintf(format, args...) + "; see to the instrument"
		if spent {
			reason += ". The budget is spent with them"
		}
		return Record{[]events.Payload{&events.CampaignPaused{Reason: reason}}}, nil
	}
	gave := func(x *campaign.Experiment) bool { return !withoutResult(x) }
	if last := lastEnded(s, w); len(last) == failuresInARow && !slices.ContainsFunc(last, gave) {
		x := last[failuresInARow-1]
		return pause(
			"the last %d experiments gave no result, %s for this reason: %s", failuresInARow, x.ID,
			x.Cause,
		)
	}
	if row := failingRow(s); len(row) > failuresInARow {
		first, x := row[0], row[len(row)-1]
		if long := x.EndedAt.Sub(first.EndedAt); long >= patience {
			return pause(
				"the instrument has put off everything for %s, %s for this reason: %s",
				long.Round(time.Minute), x.ID, x.Cause,
			)
		}
	}
	return nil, nil
}

// lastEnded returns the failuresInARow experiments that ended last since the
// campaign was resumed, in the order of their ends, or fewer. What was put off
// has not been tried.
func lastEnded(s *campaign.State, w World) []*campaign.Experiment {
	var ended []*campaign.Experiment
	for i := s.ResumedAt; i < len(s.Experiments); i++ {
		if x := &s.Experiments[i]; !x.Status.Open() && (x.Status != campaign.Deferred || w.Eager) {
			ended = append(ended, x)
		}
	}
	slices.SortStableFunc(ended, func(a, b *campaign.Experiment) int { return a.EndedAt.Compare(b.EndedAt) })
	return ended[max(0, len(ended)-failuresInARow):]
}

// withoutResult reports whether an instrument was given the experiment, or a person
// tried it, and there is no result.
func withoutResult(x *campaign.Experiment) bool {
	switch x.Status {
	case campaign.Failed, campaign.Infeasible, campaign.Deferred:
		return true
	case campaign.Cancelled: // without a command it was called off before anybody tried
		return x.Command != ""
	}
	return false
}
