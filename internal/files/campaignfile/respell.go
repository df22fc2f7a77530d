package campaignfile

import (
	"slices"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/ground/units"
)

// Respelled is a definition with the units of parameters and quantities written as in another
// one of the campaign, where they are the same unit: mPa.s as mPa·s. Another spelling is not a
// change, and the measurements have the first one.
func Respelled(as, def definition.Campaign) definition.Campaign {
	respell := func(unit *string, before string) {
		if units.Same(*unit, before) {
			*unit = before
		}
	}
	def.Parameters = slices.Clone(def.Parameters)
	for i := range def.Parameters {
		p := &def.Parameters[i]
		named := func(q definition.Parameter) bool { return q.Name == p.Name }
		if was := slices.IndexFunc(as.Parameters, named); was >= 0 {
			respell(&p.Unit, as.Parameters[was].Unit)
		}
	}
	def.Quantities = slices.Clone(def.Quantities)
	for i := range def.Quantities {
		if q := &def.Quantities[i]; as.Quantity(q.Name) != nil {
			respell(&q.Unit, as.Quantity(q.Name).Unit)
		}
	}
	if def.Objective.Name == as.Objective.Name {
		respell(&def.Objective.Unit, as.Objective.Unit)
	}
	return def
}
