package computed

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/num/formula"
)

// Known reports whether a constraint on outcomes follows from the parameters: it names quantities,
// but no measured one, so that each composition keeps it or breaks it for certain.
func Known(def *definition.Campaign, c definition.OutcomeConstraint) bool {
	relation, err := formula.RelationOf(c.Require)
	if err != nil {
		return false
	}
	follows := false
	for _, name := range relation.Excess().Names() {
		of, _ := strings.CutPrefix(name, formula.Reference+".")
		if q := def.Quantity(of); q != nil {
			if q.From == "" {
				return false
			}
			follows = true
		}
	}
	return follows
}

// OnParameters are those constraints on outcomes that are linear in the parameters, as constraints
// on these: a bound on a price that is a weighted sum of the composition. The design space is as
// much smaller, and nothing outside of it is ever measured. A comparison with the composition of an
// experiment is left out, since that is not known beforehand.
func OnParameters(def *definition.Campaign) (constraints []definition.Constraint) {
	for _, c := range def.ConstraintsOnOutcomes {
		if linear, ok := Linear(def, c); ok {
			constraints = append(constraints, linear)
		}
	}
	return constraints
}

// Linear is a constraint on outcomes as a linear one of the parameters; false where it is not
// linear.
func Linear(
	def *definition.Campaign, c definition.OutcomeConstraint,
) (linear definition.Constraint, ok bool) {
	if !Known(def, c) {
		return linear, false
	}
	relation, err := formula.RelationOf(c.Require)
	if err != nil {
		return linear, false
	}
	excess, err := inlined(def, relation.Excess())
	if err != nil {
		return linear, false
	}
	l, ok := excess.Linear()
	if !ok || len(l.Names) == 0 {
		return linear, false
	}
	linear = definition.Constraint{Name: c.Require, Terms: make(map[string]float64)}
	for i, name := range l.Names {
		if !slices.ContainsFunc(def.Parameters, func(p definition.Parameter) bool { return p.Name == name }) {
			return linear, false
		}
		if l.Coefficients[i] != 0 {
			linear.Terms[name] = l.Coefficients[i]
		}
	}
	most := -l.Constant
	linear.AtMost = &most
	return linear, len(linear.Terms) > 0
}

// inlined puts what follows from the parameters in the place of quantities, and the
// numbers of a reference composition that is given in the place of its parameters.
func inlined(def *definition.Campaign, f *formula.Formula) (*formula.Formula, error) {
	at := make(map[string]*formula.Formula)
	for _, name := range slices.Sorted(maps.Keys(def.Reference.Composition)) {
		if x, ok := def.Reference.Composition[name].Float(); ok {
			number, err := formula.Of(strconv.FormatFloat(x, 'g', -1, 64))
			if err != nil {
				return nil, fmt.Errorf("the reference: %w", err)
			}
			at[name] = number
		}
	}
	of := make(map[string]*formula.Formula)
	for name, number := range at {
		of[formula.Reference+"."+name] = number
	}
	for _, q := range def.Quantities {
		if q.From == "" {
			continue
		}
		from, err := formula.Of(q.From)
		if err != nil {
			return nil, err
		}
		of[q.Name] = from
		if len(at) > 0 {
			if of[formula.Reference+"."+q.Name], err = from.Inline(at); err != nil {
				return nil, err
			}
		}
	}
	return f.Inline(of)
}

// Slack is the tolerance of a constraint on outcomes that is linear in the parameters: a little
// more than the design space allows for rounding, so that no composition of it breaks the
// constraint. It is 0 for all others.
func Slack(def *definition.Campaign, c definition.OutcomeConstraint) float64 {
	linear, ok := Linear(def, c)
	if !ok {
		return 0
	}
	magnitude := math.Abs(*linear.AtMost)
	for _, p := range def.Parameters {
		greatest := 0.0
		for _, x := range p.Values {
			greatest = max(greatest, math.Abs(x))
		}
		for _, x := range []*float64{p.Min, p.Max} {
			if x != nil {
				greatest = max(greatest, math.Abs(*x))
			}
		}
		magnitude += math.Abs(linear.Terms[p.Name]) * 3 * greatest // a value, and a range of at most two
	}
	return rounding * magnitude
}

// rounding is how far a linear constraint may be off, relative to the magnitude of its
// terms: twice the tolerance of the design space.
const rounding = 2e-9
