package campaignfile

import (
	"fmt"
	"slices"

	"github.com/campaignd/campaignd/policies"
)

// preferenceAlone checks that a preference has nothing that belongs to a quantity.
func preferenceAlone(v *validator) {
	if o := v.def.Objective; o.Noise != nil || o.Min != nil || o.Max != nil || o.Unit != "" {
		v.report(at("objective"), "a preference has no unit, noise and range of its own", "say them of its quantities")
	}
}

// preference checks the quantities among which an expert has preferences, that an expert is
// asked, and that the policy can work on their answers.
func (v *validator) preference() {
	here := at("objective", "preference", "over")
	measured := false
	over := v.def.Preferred()
	for i, name := range over {
		if slices.Contains(over[:i], name) {
			v.report(here.To(i), fmt.Sprintf("%s stands twice", name), "leave one of them out")
		}
		q := v.def.Quantity(name)
		switch {
		case q == nil:
			v.report(here.To(i), fmt.Sprintf("%s is not a declared quantity", name),
				"outcomes are of declared quantities; declare what follows from the parameters with from")
			continue
		case q.Record:
			v.report(here.To(i), fmt.Sprintf("%s is recorded, and not modelled", name), "leave record out")
		}
		measured = measured || q.From == ""
	}
	if !measured {
		v.report(here, "nothing in it is measured", "name a quantity that the campaign measures")
	}
	v.preferencePolicy()
}

// preferencePolicy checks who is asked, and that nothing in the campaign compares
// values of one quantity.
func (v *validator) preferencePolicy() {
	switch n := len(v.def.Experts); {
	case n == 0:
		v.report(at("experts"), "there is no one whose preference is sought", "add an expert, or seek a formula or a desirability")
	case n > 1:
		v.report(at("experts"), "there are several experts, who may prefer different things",
			"keep the one whose preference is sought")
	}
	p := v.def.Policy
	if rule, known := v.next(); known && !rule.Preference {
		v.report(at("policy", "next"), fmt.Sprintf("%s seeks one value, and the objective is what an expert prefers", p.Next.Name),
			"write eiuu, sobol or random, or seek a formula, a desirability or one quantity")
	}
	if p.Trust.Name != policies.None {
		v.report(at("policy", "trust"), "an expert whose preference is sought is not judged by what is measured",
			"write trust: none, or leave it out")
	}
	if v.def.Stop.Target != nil || v.def.Stop.Window != 0 {
		v.report(at("stop"), "what an expert prefers is not a value that could be reached", "leave target and window out")
	}
}

// better checks that directions are declared only where an expert would otherwise
// be asked.
func (v *validator) better() {
	for i, q := range v.def.Quantities {
		if q.Better != "" && !slices.Contains(v.def.Preferred(), q.Name) {
			v.report(at("quantities", i, "better"), fmt.Sprintf("no expert compares %s", q.Name),
				"leave it out; what is maximized or minimized stands under objective")
		}
	}
}
