package computed

import (
	"slices"
	"strings"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/formula"
	"github.com/campaignd/campaignd/internal/num/composite"
)

// Names are the quantities and parameters that a computed objective is of; none
// of one that is a quantity itself.
func Names(o definition.Objective) []string {
	if len(o.Desirability) > 0 {
		_, names, err := Desirability(o.Desirability)
		if err != nil {
			return nil
		}
		return names
	}
	f, err := formula.Of(o.Formula)
	if o.Formula == "" || err != nil {
		return nil
	}
	return f.Names()
}

// Desirability is what several quantities are worth together, as a function of
// them in the order of the names. It fails where one has no slope, or a side in
// the wrong place.
func Desirability(desires []definition.Desire) (d *composite.Desirability, names []string, err error) {
	goals := make([]composite.Goal, len(desires))
	for i, desire := range desires {
		argument := slices.Index(names, desire.Quantity)
		if argument < 0 {
			argument = len(names)
			names = append(names, desire.Quantity)
		}
		goal := composite.Goal{Argument: argument, From: *desire.From, To: *desire.To}
		if len(desire.Best) == 2 {
			goal.TwoSided = true
			goal.To, goal.Back, goal.Gone = desire.Best[0], desire.Best[1], *desire.To
		}
		if desire.Weight != nil {
			goal.Weight = *desire.Weight
		}
		goals[i] = goal
	}
	d, err = composite.NewDesirability(goals)
	return d, names, err
}

// Kept says whether a measurement keeps a constraint on outcomes. It is not
// known where a quantity is missing, or where the constraint is relative to a
// reference composition that was not measured: reference is its measurement, nil
// for none.
func Kept(
	def *definition.Campaign, c definition.OutcomeConstraint, m, reference *events.Measurement,
) (kept, known bool) {
	relation, err := formula.RelationOf(c.Require)
	if err != nil {
		return false, false
	}
	excess, known := evaluate(relation.Excess(), func(name string) (float64, bool) {
		if of, relative := strings.CutPrefix(name, formula.Reference+"."); relative {
			return number(def, reference, of)
		}
		return number(def, m, name)
	})
	return excess <= 0, known
}
