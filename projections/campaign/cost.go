package campaign

import (
	"math"
	"slices"

	"github.com/campaignd/campaignd/internal/ground/computed"
)

// Cost sums up the cost of a campaign's experiments, in Unit.
type Cost struct {
	// Spent is the cost of all experiments that count against the budget, those under way among
	// them. One whose cost is not known, since it failed or is under way, counts as Median.
	Spent float64 `json:"spent"`
	// Budget for all of them; 0 for no limit.
	Budget float64 `json:"budget,omitempty"`
	Unit   string  `json:"unit,omitempty"`
	// Median of the known costs; 0 before the first.
	Median float64 `json:"-"`
}

// spentShare of a budget counts as all of it: sums of costs are rounded.
const spentShare = 1 - 1e-9

// Left is the rest of the budget: infinite without one.
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
		if !x.Counted() {
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

// Way is how many experiments were made in a way, and what they cost.
type Way struct {
	// Name is that of a source; of a number "at the target" or "cheaper".
	Name        string `json:"way"`
	Target      bool   `json:"target,omitempty"`
	Experiments int    `json:"experiments"`
	// Cost is the sum of their known costs, in the unit of the campaign's cost.
	Cost float64 `json:"cost"`
}

// Ways are the experiments that count against the budget in each way to measure, the
// target last; nil where the campaign has no fidelity.
func (s *State) Ways() (ways []Way) {
	def := s.Definition
	if def == nil || def.Fidelity.Target == nil {
		return nil
	}
	for _, source := range def.Fidelity.Sources {
		if source.Name != def.Fidelity.Target.Name() {
			ways = append(ways, Way{Name: source.Name})
		}
	}
	target := def.Fidelity.Target.Name()
	if ways == nil {
		ways, target = []Way{{Name: "cheaper"}}, "at the target"
	}
	ways = append(ways, Way{Name: target, Target: true})
	for i := range s.Experiments {
		x := &s.Experiments[i]
		if !x.Counted() {
			continue
		}
		way := len(ways) - 1
		if !s.AtTarget(x) {
			name := x.Parameters[def.Fidelity.Parameter].Name()
			way = max(0, slices.IndexFunc(ways, func(w Way) bool { return w.Name == name }))
		}
		ways[way].Experiments++
		if cost, ok := computed.Cost(def, x.Parameters, x.Measurement); ok {
			ways[way].Cost += cost
		}
	}
	return ways
}
