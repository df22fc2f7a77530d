package engine

import (
	"fmt"
	"slices"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/projections/campaign"
)

// failuresInARow is the number of experiments in a row without a result that pauses the
// campaign: an instrument that is out of order must not spend the budget.
const failuresInARow = 4

// nextCircuitBreak is the circuit breaker: it pauses a campaign whose last experiments all gave
// nothing, until a person has looked, even if they were the last of the budget: otherwise a
// broken instrument would use up the budget and so end the campaign. An experiment that did not
// take place costs nothing and is tried again for a good while first.
//
// Experiments that ended together count once (see together.go), as long as
// another such occurrence leaves something of the budget.
//
// It stands before nextDispatch in the list of rules: nothing more is sent once the row is long
// enough. Both rows are looked at: fruitless has the experiments tried since the campaign was
// resumed, failingRow also those that the instrument keeps putting off, which cost only time.
func nextCircuitBreak(c Now, group func([]*campaign.Experiment) [][]*campaign.Experiment) (Step, error) {
	left := c.Left()
	if c.Status == campaign.Paused || left <= 0 && c.Eager {
		return nil, nil
	}
	pause := func(row []*campaign.Experiment, times int, format string, args ...any) (Step, error) {
		x := row[len(row)-1]
		reason := fmt.Sprintf(format, args...) +
			fmt.Sprintf(", %s for this reason: %s; see to the instrument", x.ID, x.Cause)
		if left <= 0 {
			reason += ". The budget is spent with them"
		}
		// Occurrences is set only if it differs from the number of experiments: a pause without
		// it counted each experiment, as earlier programs did.
		payload := &events.CampaignPaused{Reason: reason}
		if times < len(row) {
			payload.Occurrences = times
		}
		return Record{[]events.Payload{payload}}, nil
	}
	// The last case looks ahead: where one more occurrence as large as the last
	// would spend the budget, four occurrences would never be seen.
	if row := fruitless(c); len(row) >= failuresInARow {
		groups := group(row)
		times := len(groups)
		another := len(groups[times-1]) // as many as the last occurrence cost
		switch {
		case times == len(row):
			return pause(row, times, "the last %d experiments gave no result", failuresInARow)
		case times >= failuresInARow:
			return pause(row, times, "the last %d experiments gave no result, %d times in a row",
				len(row), times)
		case left <= another:
			return pause(
				row, times, "the last %d experiments gave no result, and %d more like the last would spend the budget",
				len(row), another,
			)
		}
	}
	row := failingRow(c.State)
	if times := len(group(row)); times > failuresInARow {
		if long := row[len(row)-1].EndedAt.Sub(row[0].EndedAt); long >= patience {
			return pause(row, times, "the instrument has put off everything for %s", long.Round(time.Minute))
		}
	}
	return nil, nil
}

// fruitless returns the experiments without a result that ended last since the campaign was
// resumed, one after the other, in the order of their ends. An experiment that was put off has
// not been tried.
//
// In an Eager campaign those put off count too, since no time passes in which they could be
// tried again.
func fruitless(c Now) []*campaign.Experiment {
	var ended []*campaign.Experiment
	for i := c.ResumedAt; i < len(c.Experiments); i++ {
		if x := &c.Experiments[i]; !x.Status.Open() && (x.Status != campaign.Deferred || c.Eager) {
			ended = append(ended, x)
		}
	}
	sortByEnd(ended)
	first := len(ended)
	for first > 0 && withoutResult(ended[first-1]) {
		first--
	}
	return ended[first:]
}

// withoutResult reports whether an instrument or a person tried the experiment without a
// result. An experiment that can be measured only once ([campaign.Experiment].Once) and was
// called off for that reason does not count against the instrument, and neither does one that a
// person called off while it was under way.
func withoutResult(x *campaign.Experiment) bool {
	if x.Command.CallOff != nil && !x.Command.CallOff.Settled {
		return false
	}
	switch x.Status {
	case campaign.Failed, campaign.Infeasible, campaign.Deferred:
		return true
	case campaign.Cancelled: // without a command it was called off before anybody tried
		return x.Command.ID != "" && !x.Once
	}
	return false
}

// sortByEnd sorts experiments by when they ended, and then by their numbers. The
// sort is stable and the list comes in the order of numbers, so that equal times
// have one order in every process.
func sortByEnd(list []*campaign.Experiment) {
	slices.SortStableFunc(list, func(a, b *campaign.Experiment) int { return a.EndedAt.Compare(b.EndedAt) })
}
