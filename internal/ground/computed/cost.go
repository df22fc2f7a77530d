package computed

import (
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
)

// Cost is the cost of an experiment: computed from the composition that was made, or else from the
// requested one, or measured; never less than 0. ok is false where it is not known: its value is
// not finite, or the quantity was not measured.
func Cost(def *definition.Campaign, asked definition.Point, m *events.Measurement) (cost float64, ok bool) {
	if def.Cost.IsZero() {
		return 0, false
	}
	if m != nil {
		asked = m.Actual
	}
	if CostOfSource(def) {
		source := def.Fidelity.Source(asked[def.Fidelity.Parameter].Name())
		if source == nil {
			return 0, false
		}
		return source.Cost, true
	}
	q := CostFollows(def)
	if q == nil {
		measured, ok := Quantity(def, m, def.Cost.Of)
		return max(0, measured.Value), ok
	}
	cost, ok = Follows(q, asked)
	return max(0, cost), ok
}

// CostOfSource reports whether an experiment costs what its source does.
func CostOfSource(def *definition.Campaign) bool {
	return len(def.Fidelity.Sources) > 0 && def.Cost.Of == def.Fidelity.Parameter
}

// CostFollows is the cost as a quantity that follows from numeric parameters; nil where
// it is measured, and where it is that of a source.
func CostFollows(def *definition.Campaign) *definition.QuantityDef {
	q := def.Quantity(def.Cost.Of)
	switch {
	case CostOfSource(def):
		return nil
	case q == nil:
		return &definition.QuantityDef{Name: "cost", Unit: def.Cost.Unit, From: def.Cost.Of}
	case q.From != "":
		return q
	}
	return nil
}
