package definition

import (
	"iter"
	"maps"
	"slices"
)

// ReferenceExperiment is a composition that is measured again and again, a standard or a sample of
// known value, so that a drift of the instrument shows. It costs no budget and is in no model. The
// first is measured at the beginning, the others when they are due: Every or Within is set.
type ReferenceExperiment struct {
	// Composition gives every parameter.
	Composition Point `json:"composition" jsonschema:"required"`
	// Every is the number of experiments after which it is measured again.
	Every int `json:"every,omitempty" jsonschema:"minimum=1"`
	// Within is the time after which it is measured again, whatever was measured since.
	Within Duration `json:"within,omitempty"`
	// Limits of its control charts that are known beforehand, by quantity. Absent: three standard
	// deviations on both sides of the mean, from the first values of the campaign.
	Limits map[string]ControlLimits `json:"limits,omitempty"`
	// Pause the campaign where a value is outside its limits. Default: it goes on, with an alarm.
	Pause bool `json:"pause,omitempty"`
}

// ControlLimits are the values that a quantity may have: the target, give or take the tolerance.
type ControlLimits struct {
	// Target is the known value, in the unit of the quantity.
	Target float64 `json:"target"`
	// Tolerance on both sides of the target, in the same unit.
	Tolerance float64 `json:"tolerance" jsonschema:"required,exclusiveMinimum=0"`
}

// References yields the reference experiments in the order of their names.
func (c *Campaign) References() iter.Seq2[string, ReferenceExperiment] {
	return func(yield func(string, ReferenceExperiment) bool) {
		for _, name := range slices.Sorted(maps.Keys(c.ReferenceExperiments)) {
			if !yield(name, c.ReferenceExperiments[name]) {
				return
			}
		}
	}
}
