package campaign

import (
	"iter"
	"slices"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/computed"
)

// Value is the value of what the campaign seeks that an experiment has as its
// result; ok is false where it has none, and for no experiment. It is there of one
// that is excluded, too: pages show what was measured. What learns or compares
// takes [State.Results].
func (s *State) Value(x *Experiment) (value definition.Quantity, ok bool) {
	if x == nil || x.Status != Measured {
		return definition.Quantity{}, false
	}
	return s.Given(x)
}

// Given is as [State.Value], and there too of an experiment that gave the value and
// failed all the same.
func (s *State) Given(x *Experiment) (value definition.Quantity, ok bool) {
	return computed.Value(s.Definition, x.Measurement)
}

// Quantity is the value that an experiment gave of a declared quantity, as
// [State.Value] is of what is sought. One that was recorded before the quantity
// was declared counts too, where it has the unit and lies in the range that are
// declared: otherwise it is not known to be of the same thing.
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

// Counts reports whether the value of what the campaign seeks that an experiment
// gave is in the models. Of one that is computed all quantities have to be.
func (s *State) Counts(x *Experiment) bool {
	sought := s.Definition.Sought()
	if !sought.Computed() {
		return x.Counts(sought.Name)
	}
	left := func(name string) bool { return slices.Contains(x.Without, name) }
	return !x.Excluded && !slices.ContainsFunc(computed.Names(sought), left)
}

// Results are the experiments whose measurement counts, in order of request,
// with their value of what the campaign seeks: of those that differ in fidelity
// the ones at the target.
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

// AtTarget reports whether an experiment is at the target of the campaign's fidelity: as
// it was made, or else as it is asked for. All are where there is none.
func (s *State) AtTarget(x *Experiment) bool {
	if x.Measurement != nil {
		return s.Definition.AtTarget(x.Measurement.Actual)
	}
	return s.Definition.AtTarget(x.Parameters)
}

// Best is the best of the results that are compared, the first of equals, with its value; nil
// where there is none. It is by what was measured and not by a model, so that
// it is the same for every method.
func (s *State) Best() (best *Experiment, value definition.Quantity) {
	for x, v := range s.Compared() {
		if best == nil || s.Definition.Sought().Better(v.Value, value.Value) {
			best, value = x, v
		}
	}
	return best, value
}
