package computed

import (
	"fmt"
	"slices"
	"strings"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/num/composite"
	"github.com/campaignd/campaignd/internal/num/formula"
	"github.com/campaignd/campaignd/internal/num/jet"
)

// MostQuantities is the largest number of measured quantities that one function
// can be of whose distribution is to follow from their models.
const MostQuantities = jet.MaxRandom

// Measured counts the measured quantities among some names.
func Measured(def *definition.Campaign, names []string) (n int) {
	for i, name := range names {
		if q := def.Quantity(name); q != nil && q.From == "" && !slices.Contains(names[:i], name) {
			n++
		}
	}
	return n
}

// ByModels reports whether the objective is computed from few enough quantities that their models
// can search for it, and not only a model of its values.
func ByModels(def *definition.Campaign) bool {
	o := def.Objective
	return o.Computed() && Measured(def, Names(o)) <= MostQuantities
}

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

// Desirability is the joint worth of several quantities, as a function of them in the order of the
// names. It fails where one lacks an end, has no slope, or a side in the wrong place.
func Desirability(desires []definition.Desire) (d *composite.Desirability, names []string, err error) {
	goals := make([]composite.Goal, len(desires))
	for i, desire := range desires {
		if desire.From == nil || desire.To == nil {
			return nil, nil, fmt.Errorf("the desire for %s lacks an end", desire.Quantity)
		}
		argument := slices.Index(names, desire.Quantity)
		if argument < 0 {
			argument = len(names)
			names = append(names, desire.Quantity)
		}
		goal := composite.Goal{Argument: argument, From: *desire.From, To: *desire.To}
		if len(desire.Best) == 2 {
			goal.TwoSided = true
			goal.To = desire.Best[0]
			goal.Back = desire.Best[1]
			goal.Gone = *desire.To
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
	return excess <= Slack(def, c), known
}
