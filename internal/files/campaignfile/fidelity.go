package campaignfile

import (
	"fmt"
	"slices"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/ground/computed"
	"github.com/campaignd/campaignd/internal/ground/format"
	"github.com/campaignd/campaignd/policies/next"
)

// fidelity checks how an experiment becomes cheaper: the parameter and its target, or the
// sources, that their costs are known, and that one model of compositions and fidelities can
// predict the campaign's objective.
func (v *validator) fidelity() {
	f := v.def.Fidelity
	if len(f.Sources) > 0 {
		v.sources()
	} else {
		v.fidelityParameter()
	}
	if len(v.def.Parameters) == 1 {
		v.report(at("parameters"), "there is nothing to vary but the fidelity", "add a parameter of the composition")
	}
	for i, c := range v.def.Constraints {
		if _, named := c.Terms[f.Parameter]; named {
			v.report(at("constraints", i, "terms"), fmt.Sprintf("%s is the fidelity, which is chosen apart from the composition", f.Parameter),
				"leave it out of the constraint")
		}
	}
	v.fidelityOf()
}

// sources checks names and costs of sources, and that the parameter that chooses between
// them has these categories and no others.
func (v *validator) sources() {
	f, here := v.def.Fidelity, at("fidelity", "sources")
	var names []string
	for i, s := range f.Sources {
		if slices.Contains(names, s.Name) {
			v.report(here.To(i), fmt.Sprintf("%s stands twice", s.Name), "leave one of them out")
		}
		names = append(names, s.Name)
	}
	if n := len(f.Sources); n < 2 || n > definition.MaxSources {
		v.report(here, fmt.Sprintf("there are %d sources", n), fmt.Sprintf("name from 2 to %d", definition.MaxSources))
	}
	if name := f.Target.Name(); f.Source(name) == nil {
		v.report(at("fidelity", "target"), fmt.Sprintf("%s is not a source", f.Target), "name one of "+format.List(names...))
	}
	p := parameterOf(&v.def, f.Parameter)
	same := p != nil && len(p.Categories) == len(names)
	for i := 0; same && i < len(names); i++ {
		same = p.Categories[i].Name == names[i] && p.Categories[i].Descriptors == nil
	}
	if !same {
		v.report(at("fidelity", "parameter"), fmt.Sprintf("the parameter %s is not the choice between %s", f.Parameter, format.List(names...)),
			"leave the parameter out: the sources declare it; or give it these categories, in this order")
	}
	if !computed.CostOfSource(&v.def) {
		v.report(at("cost"), "each source has its cost already", "leave cost out, and say the unit under fidelity")
	}
}

// fidelityParameter checks a numeric fidelity.
func (v *validator) fidelityParameter() {
	f := v.def.Fidelity
	switch p := parameterOf(&v.def, f.Parameter); {
	case f.Parameter == "":
		v.report(at("fidelity"), "it does not say by what an experiment becomes cheaper",
			"name it: fidelity: {parameter: hours, target: 100}, or sources: [{name: simulation, cost: 0.1}, …]")
		return
	case p == nil:
		v.report(at("fidelity", "parameter"), fmt.Sprintf("%s is not a parameter", f.Parameter), "name a numeric parameter")
		return
	case !numeric(*p):
		v.report(at("fidelity", "parameter"), fmt.Sprintf("%s is not a number", f.Parameter),
			"write its categories as sources, each with its cost")
		return
	}
	lo, hi := v.def.FidelityRange()
	least, greatest := definition.Number(lo), definition.Number(hi)
	if f.Target == nil {
		v.report(at("fidelity"), "it does not say which value is sought", fmt.Sprintf("write target: %s", greatest))
	} else if x, number := f.Target.Float(); !number || x != lo && x != hi {
		v.report(at("fidelity", "target"), fmt.Sprintf("%s is neither the least nor the greatest value of %s", f.Target, f.Parameter),
			fmt.Sprintf("write %s or %s, or change the parameter's range", least, greatest))
	}
	if f.Unit != "" {
		v.report(at("fidelity", "unit"), "it is the unit of what sources cost", "write it under cost")
	}
	if v.def.Cost.IsZero() {
		v.report(at("fidelity"), "it does not say what an experiment costs",
			fmt.Sprintf("add it: cost: {of: 1 + %s, unit: h}", f.Parameter))
	}
}

// fidelityOf checks that cheaper experiments can serve the campaign's objective and its policy.
func (v *validator) fidelityOf() {
	o := v.def.Objective
	refuse := func(p path, what, advice string) {
		v.report(p, what+" at several fidelities", advice)
	}
	if o.Preference != nil {
		refuse(at("objective"), "experts do not compare outcomes", "seek quantities, or leave fidelity out")
	}
	if len(v.def.Experts) > 0 {
		refuse(at("experts"), "experts' answers are not weighed", "leave the experts or fidelity out")
	}
	if len(v.def.Candidates) > 0 {
		refuse(at("candidates"), "a list of compositions is not measured", "list the values of each parameter instead")
	}
	if v.def.Model.Kernel != "rbf" {
		refuse(at("model", "kernel"), fmt.Sprintf("%s is not fitted", v.def.Model.Kernel), "write rbf, or leave it out")
	}
	if v.def.Model.Intervals != definition.IntervalsFitted {
		refuse(at("model", "intervals"), "intervals are not marginal", "write fitted, or leave it out")
	}
	rule, known := v.next()
	if known && !(rule.Fidelity && rule.Tradeoff == (v.def.Tradeoff() != nil)) {
		v.report(at("policy", "next"), fmt.Sprintf("%s does not choose between fidelities", rule.Name),
			fmt.Sprintf("write %s, or leave fidelity out", next.Default(&v.def).Name))
	}
}

// chosenBy describes the choice of the way in which a composition is measured.
const chosenBy = "the way that tells most of it for its cost is taken, it itself at least every fifth time and at the end"

// fidelityText says in which ways experiments are made.
func fidelityText(def *definition.Campaign) string {
	f := def.Fidelity
	if len(f.Sources) > 0 {
		var sources []string
		for _, s := range f.Sources {
			sources = append(sources, fmt.Sprintf("%s (%s)", s.Name, format.SettingIn(s.Cost, def.Cost.Unit)))
		}
		return fmt.Sprintf("what %s gives is sought, of %s; %s", f.Target, format.List(sources...), chosenBy)
	}
	unit := ""
	for _, p := range def.Parameters {
		if p.Name == f.Parameter {
			unit = p.Unit
		}
	}
	return fmt.Sprintf("what %s gives is sought; %s",
		format.WithUnit(f.Parameter+" "+f.Target.String(), unit), chosenBy)
}
