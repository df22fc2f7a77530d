package step

import (
	"fmt"
	"math"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/ground/format"
	"github.com/campaignd/campaignd/internal/num/acquisition"
	"github.com/campaignd/campaignd/policies"
	"github.com/campaignd/campaignd/policies/next"
	"github.com/campaignd/campaignd/policies/seek"
	"github.com/campaignd/campaignd/projections/campaign"
)

// The cost of an experiment is weighed against its expected worth: α ln c is added to an
// acquisition −ln a, with the expected cost c, and α the share of the budget of cost that is
// left (cost cooling: Lee et al. 2020, §4), ½ without one. So cheap experiments come first.
// Candidates avoid experiments that cost more than is left.

// weighing holds a step's knowledge of costs.
type weighing struct {
	cost  *seek.Cost
	spent *campaign.Cost
	alpha float64
	// limit is ln of the budget left; infinite without a budget.
	limit float64
}

const (
	// steepness of the penalty on experiments that cost more than is left, by the logarithm of
	// the cost: an experiment would have to promise e^1000 times as much for twice the cost.
	steepness = 1000
	// short is the distance below the limit, as a share of it, at which the penalty begins, so
	// that a search that ends at the limit ends within it.
	short = 1e-3
)

// openCost reads the cost of experiments; nothing if the campaign does not give it, or if it is
// not known yet.
func (s *Step) openCost() error {
	if s.Rule == nil || !next.Logarithm(s.Rule) {
		return nil
	}
	cost, err := seek.NewCost(s.View.Campaign, s.View.Space, s.View.Models.With(s.Measured))
	if err != nil || cost == nil {
		return err
	}
	spent := s.View.Campaign.Cost()
	s.weighing = &weighing{
		cost: cost, spent: spent, alpha: acquisition.Cooling(spent.Spent, spent.Budget),
		limit: math.Log(spent.Left()),
	}
	return nil
}

// added returns the cost's term in an acquisition at a point of the unit cube; grad is filled
// if it is not nil.
func (w *weighing) added(x, grad []float64) float64 {
	log := w.cost.Log(x, grad)
	weight, value := w.alpha, w.alpha*log
	if over := log - (w.limit - short); over > 0 {
		weight += steepness
		value += steepness * over
	}
	for i := range grad {
		grad[i] *= weight
	}
	return value
}

// withCost adds the cost of its experiment to an acquisition; nil stays nil.
func (s *Step) withCost(f next.Acquisition) next.Acquisition {
	if f == nil || s.weighing == nil {
		return f
	}
	return sum(f, s.weighing.added)
}

// costs adds the expected cost of its experiment to a decision, and completes the campaign
// instead if that is more than is left.
func (s *Step) costs(d policies.Decision) (policies.Decision, error) {
	c := d.Candidate()
	if s.weighing == nil || c == nil || d.Action != events.ActionRun {
		return d, nil
	}
	x, err := s.View.Space.Encode(c.Parameters)
	if err != nil {
		return d, err
	}
	spent, expected := s.weighing.spent, s.weighing.cost.At(x)
	if left := spent.Left(); expected.Mean > left {
		d.Chosen = ""
		return d.Stop(policies.RuleBudget, events.CompletedBudget,
			fmt.Sprintf("Of the budget of %s, %s are left, and the best experiment that was found would cost %s.",
				format.SettingIn(spent.Budget, spent.Unit), format.Quantity(left, spent.Unit),
				format.Quantity(expected.Mean, spent.Unit))), nil
	}
	c.Cost = &expected
	verb := "It costs"
	if s.weighing.cost.Measured() {
		verb = "It is expected to cost"
	}
	d.Reason += fmt.Sprintf(" %s %s, after %s.", verb, format.Quantity(expected.Mean, spent.Unit),
		format.SpentOf(spent.Spent, spent.Budget, spent.Unit))
	return d, nil
}
