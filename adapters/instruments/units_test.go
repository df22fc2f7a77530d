package instruments

import (
	"testing"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
)

// Law: a value in another spelling of the campaign's unit counts, in the campaign's spelling; one in another unit does
// not, though it be of the same dimension; and what is recorded is held to the campaign's spelling.
func TestSpellingsOfUnits(t *testing.T) {
	least, most := 0.0, 1.0
	varied := []definition.Parameter{{Name: "x", Min: &least, Max: &most}}
	made := definition.Point{"x": definition.Number(0.5)}
	several := definition.Campaign{Parameters: varied, Quantities: []definition.QuantityDef{
		{Name: "viscosity", Unit: "mPa·s"}, {Name: "conductivity", Unit: "µS/cm"}, {Name: "salt", Unit: "mol/kg"},
	}, Objective: definition.Objective{Name: "viscosity", Unit: "mPa·s", Goal: "minimize"}}
	one := definition.Campaign{Parameters: varied, Objective: definition.Objective{Name: "viscosity", Unit: "mPa·s", Goal: "minimize"}}
	q := func(name, unit string) definition.Quantity {
		return definition.Quantity{Name: name, Value: 3, Unit: unit}
	}
	reported := events.Measurement{
		Actual:  made,
		Further: []definition.Quantity{q("viscosity", "mPa.s"), q("conductivity", "uS/cm"), q("salt", "mol/L")},
	}
	m, err := Admit(several, reported)
	if err != nil {
		t.Fatal(err)
	}
	for name, unit := range map[string]string{"viscosity": "mPa·s", "conductivity": "µS/cm"} {
		if value, ok := m.Of(name); !ok || value.Unit != unit {
			t.Errorf("%s is %+v", name, value)
		}
	}
	if _, ok := m.Of("salt"); ok || len(m.Missing) != 1 || m.Missing[0].Reason != "salt is in mol/L, the campaign's in mol/kg" {
		t.Errorf("another unit: %+v", m.Missing)
	}
	if reported.Further[0].Unit != "mPa.s" {
		t.Error("what was reported has changed")
	}
	if m, err = Admit(one, events.Measurement{Actual: made, Objective: q("viscosity", "mPa s")}); err != nil ||
		m.Objective.Unit != "mPa·s" {
		t.Errorf("of one quantity: %+v, %v", m.Objective, err)
	}
	if _, err = Admit(one, events.Measurement{Actual: made, Objective: q("viscosity", "Pa.s")}); err == nil {
		t.Error("Pa.s is taken for mPa·s")
	}
	if err := Usable(&several.Quantities[0], q("viscosity", "mPa.s")); err == nil {
		t.Error("what stands in a log need not be in the campaign's spelling")
	}
}
