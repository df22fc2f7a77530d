// Package computed holds the values that follow from a measurement under a definition: the value of
// a declared quantity as it counts now, that of a formula or of a desirability, and whether the
// constraints on outcomes are kept. None of it is recorded, so that a campaign can be amended over
// its past.
package computed

import (
	"math"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/num/formula"
)

// Value is the objective's value in a measurement; ok is false without a measurement. A formula and
// a desirability are computed from the values of their quantities, as they are declared now, and
// from the composition that was made; ok is false where one of them is missing, or where the value
// is not finite.
func Value(def *definition.Campaign, m *events.Measurement) (value definition.Quantity, ok bool) {
	sought := def.Sought()
	switch {
	case len(sought.Desirability) > 0:
		return desirability(def, sought, m)
	case sought.Formula == "":
		return Quantity(def, m, sought.Name)
	}
	f, err := formula.Of(sought.Formula)
	if err != nil {
		return definition.Quantity{}, false
	}
	x, ok := evaluate(f, func(name string) (float64, bool) { return number(def, m, name) })
	if !ok {
		return definition.Quantity{}, false
	}
	return sought.Quantity(x, nil), true
}

// desirability is [Value] for a desirability.
func desirability(
	def *definition.Campaign, sought definition.Objective, m *events.Measurement,
) (value definition.Quantity, ok bool) {
	d, names, err := Desirability(sought.Desirability)
	if err != nil {
		return value, false
	}
	arguments := make([]float64, len(names))
	for i, name := range names {
		if arguments[i], ok = number(def, m, name); !ok {
			return value, false
		}
	}
	return sought.Quantity(d.Clipped(arguments), nil), true
}

// evaluate returns a formula's value, where every name has one and it is finite.
func evaluate(f *formula.Formula, of func(name string) (float64, bool)) (value float64, ok bool) {
	names := f.Names()
	arguments := make([]float64, len(names))
	for i, name := range names {
		if arguments[i], ok = of(name); !ok {
			return 0, false
		}
	}
	bound, err := f.Bind(names)
	if err != nil {
		return 0, false
	}
	x := bound.Value(arguments)
	return x, !math.IsNaN(x) && !math.IsInf(x, 0)
}

// number is the value of a quantity or a numeric parameter in a measurement.
func number(def *definition.Campaign, m *events.Measurement, name string) (value float64, ok bool) {
	if m == nil {
		return 0, false
	}
	if def.Quantity(name) != nil {
		q, ok := Quantity(def, m, name)
		return q.Value, ok
	}
	return m.Actual[name].Float()
}

// Quantity is the value of a quantity in a measurement, nil for none. Where the
// campaign declares quantities, one that was recorded before it was declared
// counts too, if it has the unit and lies in the range that are declared:
// otherwise it is not known to be of the same thing. One that follows from the
// parameters is computed from the composition that was made.
func Quantity(
	def *definition.Campaign, m *events.Measurement, name string,
) (value definition.Quantity, ok bool) {
	if m == nil {
		return definition.Quantity{}, false
	}
	if !def.Several() {
		return m.Objective, name == def.Sought().Name
	}
	q := def.Quantity(name)
	if q != nil && q.From != "" {
		x, ok := Follows(q, m.Actual)
		return definition.Quantity{Name: q.Name, Value: x, Unit: q.Unit}, ok
	}
	value, ok = m.Of(name)
	if !ok {
		return value, false
	}
	if q == nil || value.Unit != q.Unit || !q.Plausible(value.Value) {
		return definition.Quantity{}, false
	}
	return value, true
}

// Follows is the value at a composition of a quantity that follows from the parameters; ok is false
// where it is not finite, or needs a parameter that is not numeric.
func Follows(q *definition.QuantityDef, at definition.Point) (value float64, ok bool) {
	f, err := formula.Of(q.From)
	if err != nil {
		return 0, false
	}
	return evaluate(f, func(name string) (float64, bool) { return at[name].Float() })
}
