package campaign

import (
	"maps"
	"math"
	"slices"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/ground/computed"
	"github.com/campaignd/campaignd/internal/num/formula"
)

// Keeps says whether measured values keep the constraints on outcomes; "" where
// there are none.
type Keeps string

const (
	KeepsAll     Keeps = "yes"
	KeepsNot     Keeps = "no"
	KeepsUnknown Keeps = "unknown" // a quantity is missing, and no constraint is known to be broken
)

// Before ranks experiments by how they keep the constraints: those known to keep them first, those
// known to break one last.
func (k Keeps) Before(other Keeps) bool {
	rank := map[Keeps]int{KeepsAll: 0, KeepsUnknown: 1, KeepsNot: 2}
	return rank[k] < rank[other]
}

// Judged is a measured value with what decides whether it is the best measured.
type Judged struct {
	Value float64 // NaN of what has none, or is not compared (see [State.Compared])
	Keeps Keeps
}

// Before reports whether a value comes before another as the best measured: what keeps
// the constraints on outcomes before all else, and then the better value. What does not
// count comes last.
func (j Judged) Before(other Judged, sought definition.Objective) bool {
	switch {
	case math.IsNaN(j.Value) || math.IsNaN(other.Value):
		return !math.IsNaN(j.Value)
	case j.Keeps != other.Keeps:
		return j.Keeps.Before(other.Keeps)
	}
	return sought.Better(j.Value, other.Value)
}

// BestSoFar returns the place of the best measured of the values up to each, the first of equals.
// It is −1 as long as every value that counts breaks a constraint on outcomes: such a value is
// never the best. A value that is known to keep all of them takes the place of one that is only not
// known to break one, so that with it the best can become worse.
func BestSoFar(values []Judged, sought definition.Objective) []int {
	places, best := make([]int, len(values)), -1
	for i, v := range values {
		if !math.IsNaN(v.Value) && v.Keeps != KeepsNot && (best < 0 || v.Before(values[best], sought)) {
			best = i
		}
		places[i] = best
	}
	return places
}

// ValuesAt are the values at places, NaN at −1: with those of [BestSoFar] the line of the
// best so far.
func ValuesAt(places []int, values []Judged) []float64 {
	line := make([]float64, len(places))
	for i, at := range places {
		line[i] = math.NaN()
		if at >= 0 {
			line[i] = values[at].Value
		}
	}
	return line
}

// Judge returns the objective's value of an experiment, as the best so far takes it.
func (s *State) Judge(x *Experiment) Judged {
	j := Judged{math.NaN(), s.Keeps(x)}
	if value, ok := s.Value(x); ok && s.Counts(x) && s.AtTarget(x) && x.Outside == "" {
		j.Value = value.Value
	}
	return j
}

// Judged are those of all experiments, in order of request.
func (s *State) Judged() []Judged {
	all := make([]Judged, len(s.Experiments))
	for i := range s.Experiments {
		all[i] = s.Judge(&s.Experiments[i])
	}
	return all
}

// Breaks reports whether what an experiment measured is known to break a constraint on
// outcomes.
func (s *State) Breaks(x *Experiment) bool {
	return x.Status == Measured && s.Keeps(x) == KeepsNot
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

// measuredReference is the measurement at the reference composition; without one, the parameters,
// which are known even so. Nil where the campaign has no reference.
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
	return err == nil && !slices.ContainsFunc(relation.Excess().Names(),
		func(name string) bool { return !x.Counts(name) })
}
