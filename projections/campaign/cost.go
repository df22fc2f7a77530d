package campaign

import (
	"math"
	"slices"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/computed"
)

// Cost is what the experiments of a campaign have cost, in Unit.
type Cost struct {
	// Spent is what all cost that count against the budget, those under way among
	// them. One whose cost is not known, since it failed or is under way, counts as
	// Median.
	Spent float64 `json:"spent"`
	// Budget is what may be spent; 0 for no limit.
	Budget float64 `json:"budget,omitempty"`
	Unit   string  `json:"unit,omitempty"`
	// Median is that of the costs that are known; 0 while there is none.
	Median float64 `json:"-"`
}

// spentShare of a budget counts as all of it: sums of costs are rounded.
const spentShare = 1 - 1e-9

// Left is what is left of the budget: infinite where there is none.
func (c *Cost) Left() float64 {
	switch {
	case c.Budget == 0:
		return math.Inf(1)
	case c.Spent >= spentShare*c.Budget:
		return 0
	}
	return c.Budget - c.Spent
}

// Cost returns what the experiments have cost; nil where the campaign does not say
// what one costs.
func (s *State) Cost() *Cost {
	def := s.Definition
	if def == nil || def.Cost.IsZero() {
		return nil
	}
	c := &Cost{Budget: def.Budget.Cost, Unit: def.Cost.Unit}
	var known []float64
	unknown := 0
	for i := range s.Experiments {
		x := &s.Experiments[i]
		if !x.counted() {
			continue
		}
		cost, ok := computed.Cost(def, x.Parameters, x.Measurement)
		if !ok {
			unknown++
			continue
		}
		known = append(known, cost)
		c.Spent += cost
	}
	if n := len(known); n > 0 {
		slices.Sort(known)
		c.Median = (known[(n-1)/2] + known[n/2]) / 2
	}
	c.Spent += float64(unknown) * c.Median
	return c
}

// Left is how many experiments the budget has room for: none where its cost is spent.
func (s *State) Left() int {
	left := s.Definition.Budget.Experiments - s.Spent()
	if c := s.Cost(); c != nil && c.Left() == 0 {
		return min(left, 0)
	}
	return left
}

// counted reports whether the experiment counts against the budget.
func (x *Experiment) counted() bool {
	return x.Origin != events.OriginImport && !x.Status.CalledOff()
}
