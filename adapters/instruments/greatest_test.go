package instruments

import (
	"strings"
	"testing"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
)

// Law: what is more than anything measures is refused, as a value, as a standard
// deviation and among the further quantities: no model could be fitted to it.
func TestBeyondReason(t *testing.T) {
	def := definition.Campaign{
		Objective:  definition.Objective{Name: "y"},
		Parameters: []definition.Parameter{{Name: "x", Values: []float64{1}}},
	}
	for _, beyond := range []float64{1e101, -1e308, 1e308} {
		sd := max(beyond, -beyond)
		for what, q := range map[string]definition.Quantity{"value": {Name: "y", Value: beyond}, "spread": {Name: "y",
			Value: 1, SD: &sd}} {
			m := events.Measurement{Actual: definition.Point{"x": definition.Number(1)}, Objective: q}
			if err := Check(def, m); err == nil || !strings.Contains(err.Error(), "more than anything measures") {
				t.Errorf("%s %g: %v", what, beyond, err)
			}
			m.Objective, q.Name = definition.Quantity{Name: "y", Value: 1}, "z"
			m.Further = []definition.Quantity{q}
			if err := Check(def, m); err == nil || !strings.Contains(err.Error(), "more than anything measures") {
				t.Errorf("further %s %g: %v", what, beyond, err)
			}
		}
	}
}
