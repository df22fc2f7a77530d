package campaignfile

import (
	"fmt"
	"slices"
	"strings"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/ground/computed"
	"github.com/campaignd/campaignd/internal/ground/format"
	"github.com/campaignd/campaignd/internal/num/formula"
)

// soughtText describes a campaign's objective: "maximize conductivity (mS/cm)".
func soughtText(def *definition.Campaign) string {
	if over := def.Preferred(); over != nil {
		parts := make([]string, len(over))
		for i, name := range over {
			parts[i] = format.HeadingOf(def.ObjectiveOf(definition.Aim{Name: name}))
		}
		return "what " + experts(def) + " prefers of " + andList(parts)
	}
	var parts []string
	for _, o := range def.Objectives() {
		parts = append(parts, o.Goal+" "+format.HeadingOf(o))
	}
	return strings.Join(parts, ", ")
}

// severalText describes which outcomes are better if several quantities count; "" for one.
func severalText(def definition.Campaign, o definition.Objective) string {
	var text string
	switch {
	case def.Tradeoff() != nil:
		text = "the front: compositions than which no other one is better in all of " + andList(aims(&def))
		if worst := worstText(&def); worst != "" {
			text += "; worse than " + worst + " is of no interest"
		}
	case def.Preferred() != nil:
		text = "by comparisons of outcomes, whose utility is learned" + betterText(&def)
	case len(o.Desirability) > 0:
		parts := make([]string, len(o.Desirability))
		for i := range o.Desirability {
			parts[i] = desireText(&def, &o.Desirability[i])
		}
		text = "from 0 to 1, the geometric mean of what each is worth: " + strings.Join(parts, "; ")
	case o.Formula != "":
		text = "computed from each experiment that has all of its quantities; where one is missing there is no value"
	default:
		return ""
	}
	if def.Replicates > 1 {
		text += fmt.Sprintf("; each composition is measured %d times", def.Replicates)
	}
	return text
}

// experts names those whose preference is sought.
func experts(def *definition.Campaign) string {
	names := make([]string, len(def.Experts))
	for i, e := range def.Experts {
		names[i] = e.Name
	}
	if len(names) == 0 {
		return "an expert"
	}
	return andList(names)
}

// betterText names the directions that need not be asked.
func betterText(def *definition.Campaign) (text string) {
	for _, name := range def.Preferred() {
		if q := def.Quantity(name); q != nil && q.Better != "" {
			text += "; " + q.Better + " " + name + " is better"
		}
	}
	return text
}

// aims returns the names of the objectives of a trade-off.
func aims(def *definition.Campaign) (names []string) {
	for _, a := range def.Tradeoff() {
		names = append(names, a.Name)
	}
	return names
}

// andList writes a list: "a, b and c".
func andList(list []string) string {
	if len(list) < 2 {
		return strings.Join(list, "")
	}
	return strings.Join(list[:len(list)-1], ", ") + " and " + list[len(list)-1]
}

// worstText names the worst values of interest that are given.
func worstText(def *definition.Campaign) string {
	var parts []string
	for _, a := range def.Tradeoff() {
		if a.Worst != nil {
			parts = append(parts, a.Name+" "+format.SettingIn(*a.Worst, def.ObjectiveOf(a).Unit))
		}
	}
	return strings.Join(parts, " or ")
}

// desireText describes the desirability of a quantity.
func desireText(def *definition.Campaign, d *definition.Desire) string {
	unit := ""
	if q := def.Quantity(d.Quantity); q != nil {
		unit = q.Unit
	}
	text := fmt.Sprintf("%s nothing at %s, all at %s", d.Quantity, format.Optional(d.From), format.WithUnit(format.Optional(d.To), unit))
	if len(d.Best) == 2 {
		text = fmt.Sprintf("%s all from %s to %s, nothing at %s and %s", d.Quantity, format.Setting(d.Best[0]),
			format.Setting(d.Best[1]), format.Optional(d.From), format.WithUnit(format.Optional(d.To), unit))
	}
	if d.Weight != nil && *d.Weight != 1 {
		text += ", with weight " + format.Setting(*d.Weight)
	}
	return text
}

// requirementText describes a constraint on outcomes, and the time from which it is known.
func requirementText(def *definition.Campaign, c definition.OutcomeConstraint) string {
	text := "where " + c.Require
	if _, linear := computed.Linear(def, c); linear {
		return text + ", which follows from the parameters: no other composition is ever chosen"
	}
	if computed.Known(def, c) {
		text += ", which follows from the parameters: known of each composition, and heeded where models choose, not in a design"
	} else if c.Confidence != nil {
		text += fmt.Sprintf(" with probability %s or more", format.Setting(*c.Confidence))
	}
	relation, err := formula.ParseRelation(c.Require)
	relative := func(name string) bool { return strings.HasPrefix(name, formula.Reference+".") }
	if err != nil || !slices.ContainsFunc(relation.Excess().Names(), relative) {
		return text
	}
	if def.Reference.Experiment != "" {
		return text + "; reference: what is expected of " + def.Reference.Experiment
	}
	return text + "; reference: what is expected of " +
		format.CompositionsOf(def).LineWithUnits(def.Reference.Composition)
}
