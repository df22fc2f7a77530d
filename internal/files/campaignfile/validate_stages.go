package campaignfile

import (
	"fmt"
	"strings"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/files/yamltree"
	"github.com/campaignd/campaignd/internal/ground/format"
	"github.com/campaignd/campaignd/policies"
	"github.com/campaignd/campaignd/policies/next"
)

// initial validates the initial design, and the experts' initial questions.
//
// Points have to be allowed, since they are measured; the designs keep to the
// space by themselves.
func (v *validator) initial() {
	in, here := v.def.Initial, at("initial")
	if in.Design == definition.DesignPoints {
		if len(in.Points) == 0 {
			v.report(here.To("points"), `the design "points" has no points`,
				"list the compositions to begin with, or choose sobol or random")
		} else if in.Experiments != nil && *in.Experiments != len(in.Points) {
			v.report(here.To("experiments"),
				fmt.Sprintf("it is %d, and the number of points is %d", *in.Experiments, len(in.Points)),
				"remove experiments")
		}
	} else if len(in.Points) > 0 {
		v.report(here.To("points"), fmt.Sprintf("the design %q chooses its own points", in.Design),
			"remove points, or write design: points")
	}
	if v.points != nil {
		for i, p := range in.Points {
			if err := v.points.Contains(p); err != nil {
				v.report(here.To("points", i), reason(err), "correct or remove the point")
			}
		}
	}
	v.estimates()
	if in.Labels == nil || *in.Labels == 0 {
		return
	}
	switch {
	case len(v.def.Experts) == 0:
		v.report(here.To("labels"), "there is no expert who could give labels",
			"add experts, or remove labels")
	case in.Balanced != nil && *in.Balanced:
		for _, e := range v.def.Experts {
			if e.Asked() {
				v.report(here.To("balanced"),
					fmt.Sprintf("%s is not a simulation: it is not known beforehand what they accept", e.Name),
					"balanced is for simulated experts; remove it")
			}
		}
	}
}

// estimates validates the number of compositions that experts estimate initially: one number
// has no scale.
func (v *validator) estimates() {
	in, here := v.def.Initial, at("initial", "estimates")
	switch n := number(in.Estimates); {
	case n == 0:
		if in.Marks {
			v.report(at("initial", "marks"), "no estimates are asked for that could be marks",
				"add estimates, or remove marks")
		}
	case n == 1:
		v.report(here, "one number says nothing without another to compare it with",
			"ask for 20 to 40, or remove estimates")
	case !v.def.Measures():
		v.report(here, "nothing is measured that could be estimated", "remove it, or use comparisons")
	case len(v.def.Experts) == 0:
		v.report(here, "there is no expert who could estimate", "add experts, or remove estimates")
	}
}

// rules has the owners of the rules of a policy that measures check their settings.
func rules(v *validator) {
	for _, part := range policies.Parts(v.def.Policy) {
		v.rule(part)
	}
	if u := v.def.Model.Utility; u != (definition.Utility{}) {
		v.report(at("model", "utility"),
			"this policy models no utility: an instrument measures the objective",
			"remove it, or choose policy: raeubo, eubo or another that models a utility")
	}
}

// rule validates the choice in a part of the policy. The part is the key under policy, and so
// the place of the fault. Its settings are checked only where the rule is known, by its owner.
func (v *validator) rule(part policies.Part) {
	here := at("policy", string(part))
	choice := *policies.Choice(&v.def.Policy, part)
	names := v.reg.Methods.RuleNames(part)
	if choice.IsZero() {
		v.report(here, "it must name exactly one rule", "choose one of "+strings.Join(names, ", "))
		return
	}
	rule, known := v.reg.Methods.Rule(part, choice.Name)
	if !known {
		v.report(here, fmt.Sprintf("there is no rule %q", choice.Name), yamltree.Suggest(choice.Name, names))
		return
	}
	settings := rule.Settings()
	v.settings(here, choice, &v.def, settings, func(def *definition.Campaign, here path) []definition.Fault {
		return v.reg.Methods.Check(def, part, settings, here)
	})
}

// duel validates a campaign whose objective is the experts' preference: a rule of duel in place
// of all others, experts, a budget of comparisons, and no experiments.
//
// Everything about experiments is refused and not ignored: a file with both
// would be one whose author expects measurements.
func (v *validator) duel() {
	p := v.def.Policy
	v.rule(policies.Duel)
	if !p.Next.IsZero() || !p.Trust.IsZero() || !p.Handover.IsZero() {
		v.report(at("policy"), "duel takes the place of next, trust and handover",
			"remove them, or remove duel")
	}
	if len(v.def.Experts) == 0 {
		v.report(at("policy", "duel"), "there is no expert who could compare", "add experts")
	}
	if v.def.Budget.Comparisons == 0 {
		v.report(at("budget"), "it does not say how many comparisons there may be", "add comparisons")
	}
	if v.def.Budget.Experiments != 0 {
		v.report(at("budget", "experiments"), "a campaign of comparisons has no experiments", "remove it")
	}
	if n := v.def.Initial.Experiments; n != nil && *n != 0 {
		v.report(at("initial", "experiments"), "a campaign of comparisons has no experiments", "remove it")
	}
	if u := v.def.Model.Utility; u.Posterior != definition.PosteriorLaplace && u.Posterior != "" &&
		u.Link == definition.LinkLogistic {
		v.report(at("model", "utility", "posterior"), u.Posterior+" is for the probit link",
			"write link: probit, or posterior: laplace")
	}
	if in := v.def.Initial; in.Comparisons != nil && v.def.Budget.Comparisons > 0 &&
		*in.Comparisons*len(v.def.Experts) > v.def.Budget.Comparisons {
		v.report(at("budget", "comparisons"),
			fmt.Sprintf("%d comparisons are fewer than the %d initial ones",
				v.def.Budget.Comparisons, *in.Comparisons*len(v.def.Experts)),
			"raise the budget, or write fewer initial.comparisons, which each expert makes")
	}
}

// budget checks that the initial design and the initial labels fit into it.
// Replicates count as experiments. A design that needs more than the budget
// could never be finished; one that needs all of it is allowed.
func (v *validator) budget() {
	b, in := v.def.Budget, v.def.Initial
	if b.Experiments == 0 {
		v.report(at("budget"), `"experiments" is missing`,
			"say after how many experiments the campaign completes")
		return
	}
	if b.Comparisons != 0 {
		v.report(at("budget", "comparisons"), "it is for campaigns without an instrument",
			"use labels to limit how often experts are asked")
	}
	if in.Experiments != nil && *in.Experiments*v.def.Replicates > b.Experiments {
		p := at("budget", "experiments")
		text := fmt.Sprintf("%d experiments are fewer than the %d of the initial design",
			b.Experiments, *in.Experiments*v.def.Replicates)
		if v.def.Replicates > 1 {
			text += fmt.Sprintf(" (%d compositions, %d times each)", *in.Experiments, v.def.Replicates)
		}
		v.report(p, text, "raise the budget, or lower initial.experiments")
	}
	if b.Labels != nil && in.Labels != nil && *in.Labels*len(v.def.Experts) > *b.Labels {
		v.report(at("budget", "labels"),
			fmt.Sprintf("%d labels are fewer than the %d initial ones", *b.Labels,
				*in.Labels*len(v.def.Experts)),
			"raise the budget, or lower initial.labels")
	}
}

// reach checks a target of bounds: something in it is measured. The quantities of the other
// bounds may follow from the parameters.
func (v *validator) reach() {
	measured, sound := false, true
	for i, bound := range v.def.Stop.Reach {
		m, s := v.requirement(at("stop", "target", i), bound)
		measured, sound = measured || m, sound && s
	}
	if v.def.Stop.Reach != nil && sound && !measured {
		v.report(at("stop", "target"), "nothing in it is measured", "name a quantity that the campaign measures")
	}
}

// growth checks the rules that are about the front of a trade-off.
func (v *validator) growth() {
	s := v.def.Stop
	if v.def.Tradeoff() != nil {
		if rule, known := v.next(); s.Gain != nil && known && (rule.Searched() == nil || !rule.Tradeoff) {
			v.report(at("stop", "gain"), fmt.Sprintf("%s expects no gain of an experiment", rule.Name),
				"write next: "+next.LogNEHVIName+", or use hypervolume")
		}
		return
	}
	const problem, advice = "without a trade-off there is no front", "write window and improvement, or a target"
	if s.Hypervolume != (definition.Growth{}) {
		v.report(at("stop", "hypervolume"), problem, advice)
	}
	if s.Gain != nil {
		v.report(at("stop", "gain"), problem, advice)
	}
}

// next returns the rule of next, if it is known.
func (v *validator) next() (rule policies.Rule, known bool) {
	return v.reg.Methods.Rule(policies.Next, v.def.Policy.Next.Name)
}

// stop checks the stopping rules against the objective. A rule that can never
// come true is refused, since its author counts on it.
func (v *validator) stop() {
	s, o := v.def.Stop, v.def.Objective
	if s.Improvement != nil && s.Window == 0 {
		v.report(at("stop", "improvement"), "without a window the rule is off",
			"add window, the number of experiments without improvement")
	}
	v.reach()
	v.growth()
	if s.Target != nil && (o.Min != nil && *s.Target < *o.Min || o.Max != nil && *s.Target > *o.Max) {
		v.report(at("stop", "target"),
			fmt.Sprintf("the target %s lies outside the plausible results of the objective",
				format.SettingIn(*s.Target, o.Unit)),
			"correct it, or objective.min and objective.max")
	}
}
