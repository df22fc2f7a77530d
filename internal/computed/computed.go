// Package computed is what follows from a measurement under a definition: the
// value of a declared quantity as it counts now, and that of a formula. Nothing
// of it is recorded, so that a campaign can be amended over its past.
package computed

import (
	"math"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/formula"
)

// Value is the value of what a campaign seeks in a measurement, nil for none.
// A formula is computed from the values of its quantities, as they are declared
// now, and from the composition that was made; ok is false where one of them is
// missing, or where it has no finite value.
func Value(def *definition.Campaign, m *events.Measurement) (value definition.Quantity, ok bool) {
	sought := def.Sought()
	if sought.Formula == "" {
		return Quantity(def, m, sought.Name)
	}
	f, err := formula.Of(sought.Formula)
	if err != nil || m == nil {
		return definition.Quantity{}, false
	}
	names := f.Names()
	arguments := make([]float64, len(names))
	for i, name := range names {
		if q, ok := Quantity(def, m, name); ok {
			arguments[i] = q.Value
			continue
		}
		setting, made := m.Actual[name]
		x, isNumber := setting.Float()
		if def.Quantity(name) != nil || !made || !isNumber {
			return definition.Quantity{}, false
		}
		arguments[i] = x
	}
	bound, err := f.Bind(names)
	if err != nil {
		return definition.Quantity{}, false
	}
	x := bound.Value(arguments)
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return definition.Quantity{}, false
	}
	return sought.Quantity(x, nil), true
}

// Quantity is the value of a quantity in a measurement, nil for none. Where the
// campaign declares quantities, one that was recorded before it was declared
// counts too, if it has the unit and lies in the range that are declared:
// otherwise it is not known to be of the same thing.
func Quantity(
	def *definition.Campaign, m *events.Measurement, name string,
) (value definition.Quantity, ok bool) {
	if m == nil {
		return definition.Quantity{}, false
	}
	if !def.Several() {
		return m.Objective, name == def.Sought().Name
	}
	value, ok = m.Of(name)
	if !ok {
		return value, false
	}
	q := def.Quantity(name)
	if q == nil || value.Unit != q.Unit || !q.Plausible(value.Value) {
		return definition.Quantity{}, false
	}
	return value, true
}
