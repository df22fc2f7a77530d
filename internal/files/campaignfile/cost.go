package campaignfile

import (
	"fmt"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/files/registry"
	"github.com/campaignd/campaignd/internal/ground/computed"
	"github.com/campaignd/campaignd/internal/ground/format"
	"github.com/campaignd/campaignd/internal/num/formula"
	"github.com/campaignd/campaignd/policies"
	"github.com/campaignd/campaignd/policies/next"
)

// unpriced refuses a budget of cost where the cost is not known.
func unpriced(v *validator) {
	if v.def.Cost.IsZero() && v.def.Budget.Cost != 0 {
		v.report(at("budget", "cost"), "it does not say what an experiment costs",
			"add it: cost: {of: 2 + 0.5*temperature/100, unit: h}")
	}
}

// cost validates the cost of experiments: it can be read, it depends on known values alone, and
// the policy can weigh it.
func (v *validator) cost() {
	switch q := v.def.Quantity(v.def.Cost.Of); {
	case computed.CostOfSource(&v.def):
	case q != nil:
		v.costQuantity(q)
	default:
		v.costFormula()
	}
	rule, _ := v.next()
	if searched := rule.Searched(); searched != nil && !next.Logarithm(searched) {
		v.report(at("policy", "next"), fmt.Sprintf("%s is not a logarithm of what an experiment is worth, and cannot be weighed against its cost", rule.Name),
			"write lognei, logei or lognehvi, or leave cost out")
	}
}

// costQuantity checks a declared quantity that is the cost.
func (v *validator) costQuantity(q *definition.QuantityDef) {
	here := at("cost")
	switch {
	case q.Record:
		v.report(here.To("of"), fmt.Sprintf("%s is recorded, and not modelled", q.Name), "leave record out")
	case q.From == "" && q.Scale != definition.ScaleLog:
		v.report(here.To("of"), fmt.Sprintf("%s is not modelled by its logarithm", q.Name),
			"a cost is greater than 0: write scale: log in the quantity")
	}
	if u := v.def.Cost.Unit; u != q.Unit {
		v.report(here.To("unit"), fmt.Sprintf("%s is in %q", q.Name, q.Unit), "leave unit out")
	}
}

// costFormula checks a cost that follows from the parameters.
func (v *validator) costFormula() {
	here := at("cost", "of")
	f, err := formula.Parse(v.def.Cost.Of)
	if err != nil {
		v.formulaFault(here, err)
		return
	}
	faults := len(v.faults)
	for _, name := range f.Names() {
		p := parameterOf(&v.def, name)
		switch {
		case v.def.Quantity(name) != nil:
			v.report(here, fmt.Sprintf("%s is a quantity", name),
				"a cost follows from numeric parameters, or is one declared quantity")
		case p == nil:
			v.report(here, fmt.Sprintf("%s is neither a parameter nor a quantity", name),
				"name a numeric parameter, or a declared quantity that is the cost")
		case len(p.Categories) > 0:
			v.report(here, fmt.Sprintf("%s is not a number", name), "leave it out of the formula")
		}
	}
	if v.somewhere(here, f); len(v.faults) > faults {
		return
	}
	r := f.Range(rangesOf(&v.def, f))
	switch budget := v.def.Budget.Cost; {
	case !(r.Upper > 0):
		v.report(here, "it is never greater than 0", "correct it: a cost is what an experiment takes")
	case budget > 0 && r.Lower > budget:
		v.report(at("budget", "cost"), fmt.Sprintf("no experiment costs as little as %s", format.SettingIn(budget, v.def.Cost.Unit)),
			"raise the budget, or correct the cost")
	}
}

// costText describes the cost of an experiment.
func costText(reg registry.Registry, def *definition.Campaign) string {
	text := "an experiment costs "
	if computed.CostOfSource(def) {
		text += "what its " + def.Cost.Of + " does"
	} else if computed.CostFollows(def) == nil {
		text += "its " + def.Cost.Of + ", as measured"
	} else {
		text += format.WithUnit(def.Cost.Of, def.Cost.Unit)
	}
	rule, _ := reg.Methods.Rule(policies.Next, def.Policy.Next.Name)
	switch {
	case !next.Logarithm(rule.Searched()):
		return text + "; the choice is made without it"
	case def.Budget.Cost > 0:
		return text + "; cheap ones come first, and it matters less the more of its budget is spent"
	}
	return text + "; of two that promise as much the cheaper one comes first"
}
