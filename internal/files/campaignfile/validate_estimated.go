package campaignfile

import (
	"fmt"
	"slices"
	"strings"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/ground/computed"
	"github.com/campaignd/campaignd/internal/num/formula"
	"github.com/campaignd/campaignd/policies/next"
)

// estimated checks the quantities that an expert estimates: the policy makes data of
// their numbers, each has a model, and decisions depend on it.
func (v *validator) estimated(here path, e definition.Expert) {
	if len(e.Quantities) == 0 {
		return
	}
	here = here.To("quantities")
	switch {
	case v.def.Policy.Trust.Name != defaultTrust:
		v.report(here, "this policy makes no data of numbers", "choose policy: answers, or leave it out")
		return
	case v.def.Initial.Marks:
		v.report(here, "marks are of the whole, and not of single quantities", "leave marks out, or quantities")
		return
	case v.def.Initial.Estimates != nil && *v.def.Initial.Estimates == 0:
		v.report(here, "no estimates are asked for", "add initial: {estimates: 20}, or leave it out")
		return
	}
	used := v.decisive()
	for i, name := range e.Quantities {
		q := v.def.Quantity(name)
		switch {
		case slices.Contains(e.Quantities[:i], name):
			v.report(here.To(i), name+" stands twice", "leave one of them out")
		case q == nil:
			v.report(here.To(i), fmt.Sprintf("%s is not a declared quantity", name), "declare it under quantities, or correct its name")
		case q.From != "":
			v.report(here.To(i), name+" follows from the parameters: it need not be estimated", "leave it out")
		case q.Record:
			v.report(here.To(i), name+" is recorded, and not modelled", "leave record out")
		case !slices.Contains(used, name):
			v.report(here.To(i), "no decision rests on a model of "+name,
				"leave it out, or seek or bound it; a formula is sought by its quantities with next: {lognei: {quantities: true}}")
		}
	}
}

// decisive returns the names on whose models decisions rest: those of the objectives and of the
// constraints.
func (v *validator) decisive() (names []string) {
	o := v.def.Objective
	switch {
	case o.Computed():
		if next.Quantities(v.def.Policy) && computed.ByModels(&v.def) {
			names = computed.Names(o)
		}
	case v.def.Tradeoff() != nil:
		names = aims(&v.def)
	default:
		names = []string{o.Name}
	}
	for _, c := range v.def.ConstraintsOnOutcomes {
		r, err := formula.ParseRelation(c.Require)
		if err != nil {
			continue // reported where it stands
		}
		for _, name := range r.Excess().Names() {
			names = append(names, strings.TrimPrefix(name, formula.Reference+"."))
		}
	}
	return names
}
