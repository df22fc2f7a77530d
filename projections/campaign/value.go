package campaign

import (
	"iter"

	"github.com/campaignd/campaignd/events/definition"
)

// Value is the value of what the campaign seeks that an experiment gave; ok is
// false where nothing was measured in it, and for no experiment. It is there of
// one that is excluded, too: pages show what was measured. What learns or
// compares takes [State.Results].
func (s *State) Value(x *Experiment) (value definition.Quantity, ok bool) {
	if x == nil || x.Measurement == nil {
		return definition.Quantity{}, false
	}
	return x.Measurement.Objective, true
}

// Results are the experiments whose measurement counts, in order of request,
// with their value of what the campaign seeks.
func (s *State) Results() iter.Seq2[*Experiment, definition.Quantity] {
	return func(yield func(*Experiment, definition.Quantity) bool) {
		for i := range s.Experiments {
			x := &s.Experiments[i]
			if value, ok := s.Value(x); ok && !x.Excluded && !yield(x, value) {
				return
			}
		}
	}
}

// Best is the best of the results, the first of equals, with its value; nil
// where there is none. It is by what was measured and not by a model, so that
// it is the same for every method.
func (s *State) Best() (best *Experiment, value definition.Quantity) {
	for x, v := range s.Results() {
		if best == nil || s.Definition.Sought().Better(v.Value, value.Value) {
			best, value = x, v
		}
	}
	return best, value
}
