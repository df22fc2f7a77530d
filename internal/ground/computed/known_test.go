package computed_test

import (
	"fmt"
	"testing"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/ground/computed"
)

// Law: a constraint on what follows from the parameters is known, and the linear one of them that it says where it is
// one; what is measured, and what an experiment has to show first, is not.
func TestKnown(t *testing.T) {
	def := definition.Campaign{
		Parameters: []definition.Parameter{{Name: "x"}, {Name: "y"}},
		Quantities: []definition.QuantityDef{
			{Name: "a"}, {Name: "price", From: "30*x + 1.5*y + 2"}, {Name: "ratio", From: "x/y"},
		},
		Objective: definition.Objective{Name: "a"},
	}
	at := definition.Point{"x": definition.Number(0.1), "y": definition.Number(2)}
	for _, c := range []struct {
		require   string
		reference definition.Reference
		known     bool
		linear    string
	}{
		{"price <= 5", definition.Reference{}, true, "map[x:30 y:1.5] <= 3"},
		{"2*price >= 10 - y", definition.Reference{}, true, "map[x:-60 y:-4] <= -6"},
		{"price <= 2*reference.price", definition.Reference{Composition: at}, true, "map[x:30 y:1.5] <= 14"},
		{"price <= 2*reference.price", definition.Reference{Experiment: "e1"}, true, ""},
		{"ratio <= 3", definition.Reference{}, true, ""},
		{"price + a <= 3", definition.Reference{}, false, ""},
		{"price <= reference.a", definition.Reference{Composition: at}, false, ""},
		{"x <= 3", definition.Reference{}, false, ""},
	} {
		def.Reference = c.reference
		required := definition.OutcomeConstraint{Require: c.require}
		if known := computed.Known(&def, required); known != c.known {
			t.Errorf("%s: known %t, want %t", c.require, known, c.known)
		}
		linear, ok := computed.Linear(&def, required)
		got := ""
		if ok {
			got = fmt.Sprint(linear.Terms, " <= ", *linear.AtMost)
		}
		if got != c.linear {
			t.Errorf("%s: %q, want %q", c.require, got, c.linear)
		}
	}
}

// Law: a composition at the edge of such a constraint keeps it, however its sum is rounded.
func TestKeptAtTheEdge(t *testing.T) {
	least, most := 0.0, 1.0
	def := definition.Campaign{
		Parameters: []definition.Parameter{{Name: "x", Min: &least, Max: &most}, {Name: "y", Min: &least, Max: &most}},
		Quantities: []definition.QuantityDef{{Name: "price", From: "0.1*x + 0.7*y"}},
		Objective:  definition.Objective{Name: "a"},
	}
	required := definition.OutcomeConstraint{Require: "price <= 0.29"}
	for i := range 11 {
		x := float64(i) / 10
		for beyond, want := range map[float64]bool{0: true, 1e-10: true, 1e-6: false} {
			y := (0.29-0.1*x)/0.7 + beyond
			m := &events.Measurement{Actual: definition.Point{"x": definition.Number(x), "y": definition.Number(y)}}
			if kept, known := computed.Kept(&def, required, m, nil); kept != want || !known {
				t.Errorf("at %v, %v beyond: kept %t, known %t", x, beyond, kept, known)
			}
		}
	}
}
