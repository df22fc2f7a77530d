package campaignfile

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/format"
)

func (v *validator) initial() {
	in, here := v.def.Initial, at("initial")
	if in.Design == definition.DesignPoints {
		if len(in.Points) == 0 {
			v.report(here.To("points"), `the design "points" has no points`, "list the compositions to begin with, or choose sobol or random")
		} else if in.Experiments != nil && *in.Experiments != len(in.Points) {
			v.report(here.To("experiments"), fmt.Sprintf("it is %d, and the number of points is %d", *in.Experiments, len(in.Points)), "remove experiments")
		}
	} else if len(in.Points) > 0 {
		v.report(here.To("points"), fmt.Sprintf("the design %q chooses its own points", in.Design), "remove points, or write design: points")
	}
	if v.points != nil {
		for i, p := range in.Points {
			if err := v.points.Contains(p); err != nil {
				v.report(here.To("points", i), reason(err), "correct or remove the point")
			}
		}
	}
	if in.Labels == nil || *in.Labels == 0 {
		return
	}
	switch {
	case len(v.def.Experts) == 0:
		v.report(here.To("labels"), "there is no expert who could give labels", "add experts, or remove labels")
	case in.Balanced != nil && *in.Balanced:
		for _, e := range v.def.Experts {
			if e.Person {
				v.report(here.To("balanced"), fmt.Sprintf("%s is a person: nobody knows beforehand what a person accepts", e.Name), "balanced is for simulated experts; remove it")
			}
		}
	}
}

// exactlyOne reports a choice that does not name one rule.
func (v *validator) exactlyOne(part string, named any) {
	choice := plain(named).(map[string]any)
	if len(choice) != 1 {
		v.report(at("policy", part), "it must name exactly one rule", "choose one of "+strings.Join(ruleNames(named), ", "))
	}
}

// ruleNames returns the names of the rules of a choice, in their order.
func ruleNames(choice any) (names []string) {
	t := reflect.TypeOf(choice)
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		names = append(names, name)
	}
	return names
}

func (v *validator) policy() {
	p := v.def.Policy
	if !p.Measures() {
		v.duel()
		return
	}
	v.exactlyOne("next", p.Next)
	v.exactlyOne("trust", p.Trust)
	v.exactlyOne("handover", p.Handover)

	experts, model := len(v.def.Experts) > 0, hasModel(p.Next)
	if p.Trust.None == nil {
		if !experts {
			v.report(at("policy", "trust"), v.trustName()+" trusts experts, and there are none", "add experts, or choose a policy that asks nobody, such as lcb or logei")
		}
		if !model {
			v.report(at("policy", "trust"), v.trustName()+" bends the choice of a model, and next has none", "choose next: lcb, logei or thompson, or trust: none")
		}
	}
	if p.Trust.HCEI != nil && model && p.Next.LogEI == nil {
		v.report(at("policy", "next"), "hcei weighs the expected improvement, and next is another rule", "write next: logei, or remove next")
	}
	if n := p.Next; (n.Prior != nil || n.Manual != nil) && !experts {
		v.report(at("policy", "next"), "there is no expert to take compositions from", "add experts")
	}
	v.handover()
	v.belief()
	if u := v.def.Model.Utility; u != (definition.Utility{}) {
		v.report(at("model", "utility"), "this policy models no utility: an instrument measures the objective", "remove it, or choose policy: raeubo, eubo or another that models a utility")
	}
}

func (v *validator) trustName() string {
	for name := range plain(v.def.Policy.Trust).(map[string]any) {
		return name
	}
	return "the rule"
}

func (v *validator) handover() {
	p := v.def.Policy
	if p.Handover.Width != nil && p.Trust.Belief() == nil {
		v.report(at("policy", "handover"), "width asks where an expert's belief is wide, and trust reads no belief", "write trust: cobol, or handover: never")
	}
	if p.Handover.Choose == nil {
		return
	}
	if len(v.def.Experts) == 0 && p.Trust.None != nil { // else the rule of trust says it
		v.report(at("policy", "handover"), "choose puts two candidates to an expert, and there is none", "add experts, or choose a policy that asks nobody, such as lcb or logei")
	}
	if p.Trust.Belief() != nil {
		v.report(at("policy", "handover"), v.trustName()+" asks to accept or reject, not to choose", "write handover: width, or trust: coexbo")
	}
	if p.Next.Sobol != nil || p.Next.Prior != nil || p.Next.Manual != nil {
		v.report(at("policy", "handover"), "choose needs a rule that gives two candidates", "write next: lcb, thompson or random")
	}
}

func (v *validator) belief() {
	belief := v.def.Policy.Trust.Belief()
	if belief == nil {
		return
	}
	here := at("policy", "trust", v.trustName())
	if belief.Options != nil && belief.Feedback != definition.FeedbackRanking {
		v.report(here.To("options"), "only a ranking has options", "write feedback: ranking, or remove options")
	}
	if belief.Feedback == definition.FeedbackGaussian {
		for i, e := range v.def.Experts {
			if e.Belief == nil {
				v.report(at("experts", i), fmt.Sprintf("%s has not stated a belief", e.Name), "add belief: {mean: …, sd: …}, or choose another feedback")
			}
		}
		if v.def.Policy.Handover.Width != nil {
			v.report(at("policy", "handover"), "a stated belief leaves nothing to ask", "write handover: never")
		}
	}
}

// duel checks a campaign whose objective is what experts prefer.
func (v *validator) duel() {
	p := v.def.Policy
	v.exactlyOne("duel", p.Duel)
	if p.Next != (definition.Next{}) || p.Trust != (definition.Trust{}) || p.Handover != (definition.Handover{}) {
		v.report(at("policy"), "duel takes the place of next, trust and handover", "remove them, or remove duel")
	}
	if d := p.Duel.MaxMinLCB; d != nil && d.BetaRule == definition.BetaCalibrated {
		v.report(at("policy", "duel", "maxmin-lcb", "beta_rule"), "calibrated is for mr-lpf, which eliminates candidates", "choose paper or eq14, or give beta")
	}
	if name, d := duelingOf(p.Duel); d != nil && d.Beta != nil && d.BetaRule != "" {
		v.report(at("policy", "duel", name, "beta"), fmt.Sprintf("the rule %q gives β", d.BetaRule), "remove beta, or beta_rule")
	}
	if len(v.def.Experts) == 0 {
		v.report(at("policy", "duel"), "there is nobody who could compare", "add experts")
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
	if u := v.def.Model.Utility; u.Posterior != definition.PosteriorLaplace && u.Posterior != "" && u.Link == definition.LinkLogistic {
		v.report(at("model", "utility", "posterior"), u.Posterior+" is for the probit link", "write link: probit, or posterior: laplace")
	}
	if in := v.def.Initial; in.Comparisons != nil && v.def.Budget.Comparisons > 0 && *in.Comparisons*len(v.def.Experts) > v.def.Budget.Comparisons {
		v.report(at("budget", "comparisons"), fmt.Sprintf("%d comparisons are fewer than the %d initial ones", v.def.Budget.Comparisons, *in.Comparisons*len(v.def.Experts)),
			"raise the budget, or write fewer initial.comparisons, which each expert makes")
	}
	if in := v.def.Initial; in.Comparisons != nil && usesUtility(p) && *in.Comparisons < 1 {
		v.report(at("initial", "comparisons"), "a utility cannot be modelled before the first comparison", "write at least 1")
	}
}

// duelingOf returns the rule on candidates that is named, with its settings.
func duelingOf(d definition.Duel) (name string, settings *definition.Dueling) {
	switch {
	case d.MRLPF != nil:
		return "mr-lpf", &d.MRLPF.Dueling
	case d.MaxMinLCB != nil:
		return "maxmin-lcb", &d.MaxMinLCB.Dueling
	}
	return "", nil
}

func (v *validator) budget() {
	b, in := v.def.Budget, v.def.Initial
	if !v.def.Measures() {
		return // checked with the rule
	}
	if b.Experiments == 0 {
		v.report(at("budget"), `"experiments" is missing`, "say after how many experiments the campaign completes")
		return
	}
	if b.Comparisons != 0 {
		v.report(at("budget", "comparisons"), "it is for campaigns without an instrument", "use labels to limit how often experts are asked")
	}
	if in.Experiments != nil && *in.Experiments*v.def.Replicates > b.Experiments {
		p := at("budget", "experiments")
		text := fmt.Sprintf("%d experiments are fewer than the %d of the initial design", b.Experiments, *in.Experiments*v.def.Replicates)
		if v.def.Replicates > 1 {
			text += fmt.Sprintf(" (%d compositions, %d times each)", *in.Experiments, v.def.Replicates)
		}
		v.report(p, text, "raise the budget, or lower initial.experiments")
	}
	if b.Labels != nil && in.Labels != nil && *in.Labels*len(v.def.Experts) > *b.Labels {
		v.report(at("budget", "labels"), fmt.Sprintf("%d labels are fewer than the %d initial ones", *b.Labels, *in.Labels*len(v.def.Experts)), "raise the budget, or lower initial.labels")
	}
}

func (v *validator) stop() {
	s, o := v.def.Stop, v.def.Objective
	if s.Improvement != nil && s.Window == 0 {
		v.report(at("stop", "improvement"), "without a window the rule is off", "add window, the number of experiments without improvement")
	}
	if s.Target != nil && (o.Min != nil && *s.Target < *o.Min || o.Max != nil && *s.Target > *o.Max) {
		v.report(at("stop", "target"), fmt.Sprintf("the target %s lies outside the plausible results of the objective", format.SettingIn(*s.Target, o.Unit)), "correct it, or objective.min and objective.max")
	}
}
