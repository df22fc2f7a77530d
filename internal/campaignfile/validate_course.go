package campaignfile

import (
	"fmt"

	"github.com/campaignd/campaignd/events"
)

func (v *validator) initial() {
	in, here := v.def.Initial, at("initial")
	if in.Design == events.DesignPoints {
		if len(in.Points) == 0 {
			v.report(here.to("points"), `the design "points" has no points`, "list the compositions to begin with, or choose sobol or random")
		} else if in.Experiments != nil && *in.Experiments != len(in.Points) {
			v.report(here.to("experiments"), fmt.Sprintf("it is %d, and the number of points is %d", *in.Experiments, len(in.Points)), "remove experiments")
		}
	} else if len(in.Points) > 0 {
		v.report(here.to("points"), fmt.Sprintf("the design %q chooses its own points", in.Design), "remove points, or write design: points")
	}
	if v.points != nil {
		for i, p := range in.Points {
			if err := v.points.Contains(p); err != nil {
				v.report(here.to("points", i), reason(err), "correct or remove the point")
			}
		}
	}
	if in.Labels == nil || *in.Labels == 0 {
		return
	}
	switch {
	case len(v.def.Experts) == 0:
		v.report(here.to("labels"), "there is no expert who could give labels", "add experts, or remove labels")
	case in.Balanced != nil && *in.Balanced:
		for _, e := range v.def.Experts {
			if e.Simulated == nil {
				v.report(here.to("balanced"), fmt.Sprintf("%s is a person: nobody knows beforehand what a person accepts", e.Name), "balanced is for simulated experts; remove it")
			}
		}
	}
}

func (v *validator) policy() {
	p := v.def.Policy
	n := p.Next
	if count(n.LCB != nil, n.LogEI != nil, n.Thompson != nil, n.Sobol != nil, n.Random != nil) != 1 {
		v.report(at("policy", "next"), "it must name exactly one rule", "choose one of lcb, logei, thompson, sobol, random")
	}
	if count(p.Trust.None != nil, p.Trust.COBOL != nil) != 1 {
		v.report(at("policy", "trust"), "it must name exactly one rule", "choose one of none, cobol")
	}
	if count(p.Handover.Never != nil, p.Handover.Width != nil) != 1 {
		v.report(at("policy", "handover"), "it must name exactly one rule", "choose one of never, width")
	}
	if p.Trust.COBOL != nil {
		if len(v.def.Experts) == 0 {
			v.report(at("policy", "trust"), "cobol trusts experts, and there are none", "add experts, or write trust: none")
		}
		if n.Sobol != nil || n.Random != nil {
			v.report(at("policy", "trust"), "cobol bends the choice of a model, and next has none", "choose next: lcb, logei or thompson, or trust: none")
		}
	}
	if p.Handover.Width != nil && p.Trust.COBOL == nil {
		v.report(at("policy", "handover"), "width asks where an expert's belief is wide, and trust reads no belief", "write trust: cobol, or handover: never")
	}
}

func (v *validator) budget() {
	b, in := v.def.Budget, v.def.Initial
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
		v.report(at("stop", "target"), fmt.Sprintf("the target %s lies outside the plausible results of the objective", withUnit(*s.Target, o.Unit)), "correct it, or objective.min and objective.max")
	}
}
