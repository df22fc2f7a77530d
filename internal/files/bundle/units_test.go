package bundle

import "testing"

// Law: a value says its unit as the campaign has it, and its UCUM code where it is one.
func TestUnitCodes(t *testing.T) {
	for unit, want := range map[string]any{
		"mPa·s": "https://w3id.org/uom/mPa.s", "mS/cm": "https://w3id.org/uom/mS%2Fcm", "EUR/kg": nil, "": nil,
	} {
		g := &graph{known: make(map[string]bool)}
		g.property("x", "x", "1", unit)
		if got := g.nodes[0]["unitCode"]; got != want {
			t.Errorf("%q has the code %v, want %v", unit, got, want)
		}
	}
}
