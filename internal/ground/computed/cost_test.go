package computed_test

import (
	"testing"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/ground/computed"
)

// Law: a cost follows from the composition that was made, before that from the one that is asked
// for, or is what was measured of a quantity; it is never less than 0, and not known where there
// is no finite value of it.
func TestCost(t *testing.T) {
	at := func(x float64) definition.Point { return definition.Point{"x": definition.Number(x)} }
	measured := func(x, hours float64) *events.Measurement {
		return &events.Measurement{
			Actual: at(x), Objective: definition.Quantity{Name: "y", Value: 1},
			Further: []definition.Quantity{{Name: "hours", Value: hours, Unit: "h"}},
		}
	}
	for _, c := range []struct {
		name, of string
		asked    float64
		m        *events.Measurement
		cost     float64
		known    bool
	}{
		{"asked for", "1 + 2*x", 3, nil, 7, true},
		{"made", "1 + 2*x", 3, measured(4, 0), 9, true},
		{"of a quantity that follows", "price", 3, measured(4, 0), 12, true},
		{"less than nothing", "x - 5", 3, nil, 0, true},
		{"infinite", "1/(x - 3)", 3, nil, 0, false},
		{"measured", "hours", 3, measured(4, 2.5), 2.5, true},
		{"not measured yet", "hours", 3, nil, 0, false},
		{"nothing said", "", 3, measured(4, 2.5), 0, false},
	} {
		def := &definition.Campaign{
			Parameters: []definition.Parameter{{Name: "x"}},
			Objective:  definition.Objective{Name: "y", Goal: definition.Maximize},
			Quantities: []definition.QuantityDef{{Name: "hours", Unit: "h", Scale: definition.ScaleLog}, {Name: "price", From: "3*x"}},
			Cost:       definition.Cost{Of: c.of},
		}
		if cost, known := computed.Cost(def, at(c.asked), c.m); known != c.known || known && cost != c.cost {
			t.Errorf("%s: %v, %v, want %v, %v", c.name, cost, known, c.cost, c.known)
		}
	}
}
