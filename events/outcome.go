package events

import (
	"math"

	"github.com/campaignd/campaignd/events/definition"
)

// Outcome is the result of one experiment in several quantities, as shown to an expert who compares
// outcomes.
type Outcome struct {
	// Experiment that measured it. Empty: it is the models' prediction for a composition that has
	// not been measured.
	Experiment string `json:"experiment,omitempty"`
	// Quantities are in the order of the definition's objective. SD belongs to predictions, and is
	// absent from measurements.
	Quantities []definition.Quantity `json:"quantities"`
}

// Of reports whether the outcome is of just the named quantities, in that order.
func (o *Outcome) Of(names []string) bool {
	if o == nil || len(o.Quantities) != len(names) {
		return false
	}
	for i, q := range o.Quantities {
		if q.Name != names[i] {
			return false
		}
	}
	return true
}

// OutcomeScale standardizes a quantity of outcomes: a value v is
// (v − Center)/Spread, or (ln v − Center)/Spread where Log is set. It stays as it
// was when outcomes were first compared, so that a utility that is learned from
// comparisons goes on being of the same numbers.
type OutcomeScale struct {
	Quantity string  `json:"quantity"`
	Log      bool    `json:"log,omitempty"`
	Center   float64 `json:"center"`
	Spread   float64 `json:"spread"`
}

// Standardized returns a value without unit. It is not finite where the logarithm does not exist.
func (s OutcomeScale) Standardized(value float64) float64 {
	if s.Log {
		value = math.Log(value)
	}
	return (value - s.Center) / s.Spread
}
