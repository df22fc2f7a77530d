package definition_test

import (
	"strings"
	"testing"

	"github.com/campaignd/campaignd/events/definition"
)

// Law: of a definition that names what there is, once, nothing is said; of any other, where.
func TestMisnamed(t *testing.T) {
	sound := func() definition.Campaign {
		return definition.Campaign{
			Parameters: []definition.Parameter{{Name: "x"}, {Name: "y"}},
			Quantities: []definition.QuantityDef{{Name: "flow"}, {Name: "loss"}},
			Experts:    []definition.Expert{{Name: "ada"}, {Name: "bo"}},
			Objective:  definition.Objective{Name: "flow", Tradeoff: []definition.Aim{{Name: "flow"}, {Name: "loss"}}},
		}
	}
	def := sound()
	if faults := def.Misnamed(); faults != nil {
		t.Errorf("a sound one: %v", faults)
	}
	for want, change := range map[string]func(*definition.Campaign){
		`parameters/1/name "x"`:                    func(d *definition.Campaign) { d.Parameters[1].Name = "x" },
		`quantities/0/name ""`:                     func(d *definition.Campaign) { d.Quantities[0].Name = "" },
		`experts/1/name "ada"`:                     func(d *definition.Campaign) { d.Experts[1].Name = "ada" },
		`objective/name "flw"`:                     func(d *definition.Campaign) { d.Objective.Name = "flw" },
		`objective/tradeoff/1/name "price"`:        func(d *definition.Campaign) { d.Objective.Tradeoff[1].Name = "price" },
		`objective/desirability/0/quantity "cost"`: func(d *definition.Campaign) { d.Objective.Desirability = []definition.Desire{{Quantity: "cost"}} },
		`objective/preference/over/0 "taste"`: func(d *definition.Campaign) {
			d.Objective.Preference = &definition.Preference{Over: []string{"taste", "flow"}}
		},
		`fidelity/parameter "cell"`: func(d *definition.Campaign) { d.Fidelity.Parameter = "cell" },
	} {
		def := sound()
		change(&def)
		if faults := strings.Join(def.Misnamed(), ", "); !strings.Contains(faults, want) {
			t.Errorf("%q, want %s", faults, want)
		}
	}
}
