package campaign

import (
	"iter"
	"slices"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/ground/computed"
)

// Value is the objective's value that an experiment has as its result; ok is false where it has
// none, and for a nil experiment. Excluded experiments have one, too: pages show all measurements.
// Models and comparisons take [State.Results].
func (s *State) Value(x *Experiment) (value definition.Quantity, ok bool) {
	if x == nil || x.Status != Measured {
		return definition.Quantity{}, false
	}
	return s.Given(x)
}

// Given is as [State.Value], but includes an experiment that gave the value before it failed.
func (s *State) Given(x *Experiment) (value definition.Quantity, ok bool) {
	return computed.Value(s.Definition, x.Measurement)
}

// Quantity is the value that an experiment gave of a declared quantity, as [State.Value] is of the
// objective. A value that was recorded before the quantity was declared counts too, where it has
// the declared unit and lies in the declared range: otherwise it may belong to something else.
func (s *State) Quantity(x *Experiment, name string) (value definition.Quantity, ok bool) {
	if x == nil {
		return definition.Quantity{}, false
	}
	return computed.Quantity(s.Definition, x.Measurement, name)
}

// Counts reports whether the value of a quantity that an experiment gave is in
// the models: a person can leave out the whole measurement, or one quantity.
func (x *Experiment) Counts(name string) bool {
	return !x.Excluded && !slices.Contains(x.Without, name)
}

// Counts reports whether the objective's value of an experiment is in the models. For a computed
// objective all of its quantities have to be.
func (s *State) Counts(x *Experiment) bool {
	sought := s.Definition.Sought()
	if !sought.Computed() {
		return x.Counts(sought.Name)
	}
	left := func(name string) bool { return slices.Contains(x.Without, name) }
	return !x.Excluded && !slices.ContainsFunc(computed.Names(sought), left)
}

// Results are the experiments whose measurement counts, in order of request, with the objective's
// value: where they differ in fidelity, those at the target.
func (s *State) Results() iter.Seq2[*Experiment, definition.Quantity] {
	return func(yield func(*Experiment, definition.Quantity) bool) {
		for i := range s.Experiments {
			x := &s.Experiments[i]
			if value, ok := s.Value(x); ok && s.Counts(x) && s.AtTarget(x) && !yield(x, value) {
				return
			}
		}
	}
}

// AtTarget reports whether an experiment is at the target of the campaign's fidelity: as it was
// made, or else as requested. Without a fidelity all are.
func (s *State) AtTarget(x *Experiment) bool {
	if x.Measurement != nil {
		return s.Definition.AtTarget(x.Measurement.Actual)
	}
	return s.Definition.AtTarget(x.Parameters)
}

// Best is the best of the results that are compared, the first of equals, with its value; nil
// without results. It is by measured values and not by a model, so that it is the same for every
// method.
func (s *State) Best() (best *Experiment, value definition.Quantity) {
	for x, v := range s.Compared() {
		if best == nil || s.Definition.Sought().Better(v.Value, value.Value) {
			best, value = x, v
		}
	}
	return best, value
}
