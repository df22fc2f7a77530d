package seek

import (
	"slices"

	"github.com/campaignd/campaignd/internal/num/composite"
	"github.com/campaignd/campaignd/internal/num/jet"
)

// desired is a desirability whose quantities are arguments of the problem, or
// follow from those.
type desired struct {
	*composite.Desirability
	of     []Aim
	values []float64
	jets   []jet.Jet
}

// Value implements [composite.Function].
func (d *desired) Value(arguments []float64) float64 {
	for i, s := range d.of {
		if s.function != nil {
			d.values[i] = s.function.Value(arguments)
			continue
		}
		d.values[i] = arguments[s.Model]
	}
	return d.Desirability.Value(d.values)
}

// Jet implements [composite.Function].
func (d *desired) Jet(s *jet.Space, arguments []jet.Jet) jet.Jet {
	for i, from := range d.of {
		if from.function != nil {
			d.jets[i] = from.function.Jet(s, arguments)
			continue
		}
		d.jets[i] = arguments[from.Model]
	}
	return d.Desirability.Jet(s, d.jets)
}

// Uses implements [composite.Function].
func (d *desired) Uses(argument int) bool {
	return slices.ContainsFunc(d.of, func(a Aim) bool {
		return a.Model == argument || a.function != nil && a.function.Uses(argument)
	})
}

// Affine implements [composite.Function].
func (d *desired) Affine(marked []bool) bool {
	for a, m := range marked {
		if m && d.Uses(a) {
			return false
		}
	}
	return true
}
