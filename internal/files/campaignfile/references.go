package campaignfile

import (
	"fmt"
	"maps"
	"slices"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/files/yamltree"
	"github.com/campaignd/campaignd/internal/ground/format"
	"github.com/campaignd/campaignd/internal/num/shewhart"
)

// references checks the reference experiments: that they can be made, when, and their limits.
func (v *validator) references() {
	for name, r := range v.def.References() {
		here := at("reference_experiments", name)
		if !stockName.MatchString(name) {
			v.report(here, fmt.Sprintf("%q is not a name", name),
				"write letters, digits, dots, dashes and underscores, 64 at most")
		}
		if r.Every == 0 && r.Within == 0 {
			v.report(here, "it does not say how often it is measured",
				"write every: 10, after so many experiments, or within: 24h, or both")
		}
		if v.points != nil { // else a fault of the space is reported
			if err := v.points.Contains(r.Composition); err != nil {
				v.report(here.To("composition"), reason(err), "give every parameter a value that it can have")
			}
		}
		for other, composition := range v.def.References() {
			if other < name && maps.Equal(composition.Composition, r.Composition) {
				v.report(here.To("composition"), fmt.Sprintf("it is that of %s", other), "keep one of them")
			}
		}
		for _, quantity := range sortedKeys(r.Limits) {
			v.controlLimits(here.To("limits", quantity), quantity, r.Limits[quantity])
		}
	}
}

// controlLimits checks the known limits of a quantity.
func (v *validator) controlLimits(here path, quantity string, l definition.ControlLimits) {
	measured := v.def.DeclaredNames()
	if !slices.Contains(measured, quantity) {
		v.report(here, fmt.Sprintf("%s is not measured", quantity), yamltree.Suggest(quantity, measured))
		return
	}
	if !(l.Tolerance > 0) { // as the schema has it, of a definition that another program sends
		v.report(here.To("tolerance"), "it is not more than 0", "write how far from the target a value may be")
	}
}

// referencesText describes the reference experiments.
func referencesText(def *definition.Campaign) (lines []string) {
	for name, r := range def.References() {
		text := fmt.Sprintf("%s (%s)", name, format.CompositionsOf(def).LineWithUnits(r.Composition))
		switch often := fmt.Sprintf(", at the beginning and after every %s", format.Count(r.Every, "experiment")); {
		case r.Every == 0:
			text += fmt.Sprintf(", at the beginning and %s after the last one", r.Within.Days())
		case r.Within == 0:
			text += often
		default:
			text += often + fmt.Sprintf(", or %s after the last one", r.Within.Days())
		}
		for _, quantity := range def.DeclaredNames() {
			if l, known := r.Limits[quantity]; known {
				text += fmt.Sprintf("; %s is to be %s ± %s", quantity, format.Setting(l.Target),
					format.WithUnit(format.Setting(l.Tolerance), def.Quantity(quantity).Unit))
			}
		}
		if len(r.Limits) < len(def.DeclaredNames()) {
			text += fmt.Sprintf("; from the %dth value on it is to be within 3 standard deviations of those before", shewhart.Few+1)
		}
		if r.Pause {
			text += "; otherwise the campaign pauses"
		} else {
			text += "; otherwise there is an alarm"
		}
		lines = append(lines, text)
	}
	return lines
}
