package computed

import (
	"slices"
	"strings"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/num/formula"
)

// Undefined says why the objective has no value in a measurement although all of its quantities do:
// "ln(a - b) is not defined at -0.21". It is empty where it has one, where a quantity is missing,
// and where the objective is not a formula.
func Undefined(def *definition.Campaign, m *events.Measurement) string {
	f, err := formula.Of(def.Sought().Formula)
	if def.Sought().Formula == "" || err != nil || m == nil {
		return ""
	}
	return undefined(f, func(name string) (value float64, ok bool, why string) {
		if value, ok = number(def, m, name); ok {
			return value, true, ""
		}
		q := def.Quantity(name)
		if q == nil || q.From == "" {
			return 0, false, ""
		}
		from, err := formula.Of(q.From)
		if err != nil {
			return 0, false, ""
		}
		why = undefined(from, func(name string) (float64, bool, string) {
			value, ok := m.Actual[name].Float()
			return value, ok, ""
		})
		return 0, false, why
	})
}

// undefined is [formula.Formula.Undefined] at values of names, or the reason why a name has no
// value.
func undefined(f *formula.Formula, of func(name string) (value float64, ok bool, why string)) string {
	names := f.Names()
	values := make([]float64, len(names))
	for i, name := range names {
		value, ok, why := of(name)
		if !ok {
			return why
		}
		values[i] = value
	}
	return f.Undefined(values)
}

// Sought are the measured quantities of the objective, each once: one, those of a formula or a
// desirability, those of a trade-off, or those that an expert compares.
func Sought(def *definition.Campaign) (names []string) {
	o := def.Sought()
	switch {
	case o.Computed():
		names = Names(o)
	case def.Tradeoff() != nil:
		for _, a := range def.Tradeoff() {
			names = append(names, a.Name)
		}
	case def.Preferred() != nil:
		names = def.Preferred()
	default:
		names = []string{o.Name}
	}
	return measuredAmong(def, names)
}

// Required are the measured quantities that a constraint on outcomes is on, each once.
func Required(def *definition.Campaign, c definition.OutcomeConstraint) []string {
	relation, err := formula.RelationOf(c.Require)
	if err != nil {
		return nil
	}
	var names []string
	for _, name := range relation.Excess().Names() {
		of, _ := strings.CutPrefix(name, formula.Reference+".")
		names = append(names, of)
	}
	return measuredAmong(def, names)
}

// Decisive are the measured quantities that decisions rest on, in the order of the definition:
// those of the objective, and those of constraints on outcomes.
func Decisive(def *definition.Campaign) (all []definition.QuantityDef) {
	names := Sought(def)
	for _, c := range def.ConstraintsOnOutcomes {
		names = append(names, Required(def, c)...)
	}
	for _, q := range def.Declared() {
		if slices.Contains(names, q.Name) {
			all = append(all, q)
		}
	}
	return all
}

// measuredAmong are the names of declared quantities that do not follow from the
// parameters, each once.
func measuredAmong(def *definition.Campaign, names []string) (measured []string) {
	all := def.Declared()
	for _, name := range names {
		declared := slices.ContainsFunc(all,
			func(q definition.QuantityDef) bool { return q.Name == name })
		if declared && !slices.Contains(measured, name) {
			measured = append(measured, name)
		}
	}
	return measured
}
