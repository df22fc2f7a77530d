package computed

import (
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
)

// Cost is what an experiment costs: what follows from the composition that was made,
// or else from the one that is asked for, or what was measured; never less than 0.
// ok is false where that is not known: it has no finite value, or nothing was
// measured of the quantity.
func Cost(def *definition.Campaign, asked definition.Point, m *events.Measurement) (cost float64, ok bool) {
	if def.Cost.IsZero() {
		return 0, false
	}
	q := CostFollows(def)
	if q == nil {
		measured, ok := Quantity(def, m, def.Cost.Of)
		return max(0, measured.Value), ok
	}
	if m != nil {
		asked = m.Actual
	}
	cost, ok = Follows(q, asked)
	return max(0, cost), ok
}

// CostFollows is the cost as a quantity that follows from the parameters; nil where it
// is measured.
func CostFollows(def *definition.Campaign) *definition.QuantityDef {
	q := def.Quantity(def.Cost.Of)
	switch {
	case q == nil:
		return &definition.QuantityDef{Name: "cost", Unit: def.Cost.Unit, From: def.Cost.Of}
	case q.From != "":
		return q
	}
	return nil
}
