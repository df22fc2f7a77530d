package campaign

import (
	"maps"
	"slices"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/computed"
	"github.com/campaignd/campaignd/internal/formula"
)

// Keeps says whether measured values keep the constraints on outcomes; "" where
// there are none.
type Keeps string

const (
	KeepsAll     Keeps = "yes"
	KeepsNot     Keeps = "no"
	KeepsUnknown Keeps = "unknown" // a quantity is missing, and no constraint is known to be broken
)

// Before reports whether what keeps the constraints like this comes before what
// keeps them like that: what is known to keep them first, what is known to break
// one last.
func (k Keeps) Before(other Keeps) bool {
	rank := map[Keeps]int{KeepsAll: 0, KeepsUnknown: 1, KeepsNot: 2}
	return rank[k] < rank[other]
}

// Keeps says whether what an experiment measured keeps the constraints on outcomes,
// noise included.
func (s *State) Keeps(x *Experiment) Keeps {
	constraints := s.Definition.ConstraintsOnOutcomes
	if len(constraints) == 0 {
		return ""
	}
	var measured *events.Measurement
	if x != nil {
		measured = x.Measurement
	}
	reference, keeps := s.measuredReference(), KeepsAll
	for _, c := range constraints {
		kept, known := computed.Kept(s.Definition, c, measured, reference)
		switch known = known && countsIn(c, x); {
		case known && !kept:
			return KeepsNot
		case !known:
			keeps = KeepsUnknown
		}
	}
	return keeps
}

// measuredReference is what was measured at the reference composition; of one that was
// not, what is known of it without: its parameters. Nil where there is none.
func (s *State) measuredReference() *events.Measurement {
	r := s.Definition.Reference
	if r.Composition == nil {
		if x := s.Experiment(r.Experiment); x != nil {
			return x.Measurement
		}
		return nil
	}
	for x := range s.Results() {
		if maps.Equal(x.Measurement.Actual, r.Composition) {
			return x.Measurement
		}
	}
	return &events.Measurement{Actual: r.Composition}
}

// countsIn reports whether no quantity of a constraint was left out of what an
// experiment measured.
func countsIn(c definition.OutcomeConstraint, x *Experiment) bool {
	relation, err := formula.RelationOf(c.Require)
	return err == nil && !slices.ContainsFunc(relation.Excess().Names(), func(name string) bool { return !x.Counts(name) })
}
