package cobol

import (
	"fmt"
	"strings"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/policies"
	"github.com/campaignd/campaignd/policies/handover"
	"github.com/campaignd/campaignd/policies/search"
	"github.com/campaignd/campaignd/policies/step"
	"github.com/campaignd/campaignd/policies/turn"
	"github.com/campaignd/campaignd/projections/belief"
	"github.com/campaignd/campaignd/projections/campaign"
)

// admit looks for reasons not to use the expert's belief in this step: no verdict was given,
// there were enough questions, or the gate is closed. The order is from the certain to the
// costly: the log first, the cap next, and the gate, which reads a model, last.
func (p *policy) admit(
	s *step.Step, d policies.Decision, expert string, b *belief.Model, unaided search.Result,
) (policies.Decision, error) {
	if q := turn.Last(s.Turn); q != nil && q.Form == events.FormLabel && !q.IsLabel() {
		return d.Run(policies.Unaided, policies.RuleNoAnswer,
			fmt.Sprintf("%s was %s without a verdict: the campaign goes on unaided.", q.ID, q.Status)), nil
	}
	if n := len(s.Turn); n >= p.width.MaxPerExperiment {
		return d.Run(policies.Unaided, policies.RuleCap,
			fmt.Sprintf("%d questions before one experiment are enough: the campaign goes on unaided.", n)), nil
	}
	switch {
	case !p.width.Gate:
		return d, nil
	case p.assessed():
		return p.assess(s, d, expert, b, unaided)
	case p.ordered():
		return s.ChoiceGate(d, expert)
	}
	// The gate of COBOHL and HCEI, whose experts do not have to earn trust: it compares each
	// label with the prediction of the measurements' model there.
	mean := make([]float64, len(b.X))
	sd := make([]float64, len(b.X))
	reject := make([]bool, len(b.X))
	for i, x := range b.X {
		mean[i], sd[i] = s.View.Objective().Posterior(x)
		reject[i] = b.Labels[i].Reject
	}
	open, test := handover.OpenGate(mean, sd, reject)
	d.Tests = append(d.Tests, test)
	if !open {
		return d.Run(
			policies.Unaided,
			policies.RuleGate,
			fmt.Sprintf(
				"%s's labels do not predict what is measured (probability %.2f): the campaign goes on unaided.",
				expert,
				test.Left,
			),
		), nil
	}
	return d, nil
}

// question decides, from the interval of the belief at the aided candidate,
// whether the expert is asked about it, or which candidate is run without
// asking (Xu et al. 2024, Alg. 1 line 8). The paper asks wherever the interval
// is wider than g_thr; Judge also looks whether the answer could change
// anything, where the setting says so.
func (p *policy) question(
	s *step.Step, d policies.Decision, expert string, aided search.Result, interval events.Interval,
) policies.Decision {
	verdict, tests := p.width.Judge(interval)
	d.Tests = append(d.Tests, tests...)
	switch verdict {
	case handover.Sure:
		return d.Run(policies.Aided, policies.RuleSure,
			"It has the best bound once the expert's belief is weighed in, and the belief is sure enough not to ask.")
	case handover.Accepted:
		return d.Run(policies.Aided, policies.RuleAccepts,
			"It has the best bound once the expert's belief is weighed in, and the expert would accept it.")
	case handover.Rejected:
		return d.Run(
			policies.Unaided, policies.RuleRejects,
			"The expert would reject the aided candidate: the unaided one is taken.",
		)
	}
	// An expert who is asked the same thing again would answer the same. A
	// question costs a person's time. Without this look a belief that stays
	// wide at one point (B_g at its bound) would ask about it before every
	// experiment.
	if q := turn.AskedBefore(s.View.Campaign, s.View.Space, expert, aided.Point); q != nil {
		if q.Status == campaign.Answered && q.Answer.Label == events.LabelAccept {
			return d.Run(
				policies.Aided, policies.RuleAskedBefore,
				fmt.Sprintf("%s accepted this composition before (%s).", expert, q.ID),
			)
		}
		return d.Run(
			policies.Unaided,
			policies.RuleAskedBefore,
			fmt.Sprintf(
				"%s was asked about the aided candidate before (%s) and did not accept it: the unaided one is taken.",
				expert,
				q.ID,
			),
		)
	}
	if s.QuestionsSpent() {
		return s.Spent(d)
	}
	// Where the expert accepts, this is the candidate that the next decision
	// runs.
	d.Chosen = policies.Aided
	reason := fmt.Sprintf(
		"The belief about %s is wide: it is put to %s.", s.View.Space.Format(aided.Point), expert,
	)
	return d.Ask(events.FormLabel, expert, policies.RuleAsk, reason, p.explanation(s, d, s.Turn))
}

// explanation gives the model's prediction for the chosen candidate in a sentence. rejected are
// the compositions that it replaces in this turn. It is the model's alone: showing the belief's
// prediction would lead the expert to repeat it.
func (p *policy) explanation(s *step.Step, d policies.Decision, rejected []campaign.Question) string {
	c, sought := d.Candidate(), s.Def.Sought()
	best, mean := s.View.Objective().Best()
	text := fmt.Sprintf(
		"The model expects %s = %.4g ± %.2g %s here; the best so far is %.4g (%s).",
		sought.Name,
		c.Prediction.Mean,
		c.Prediction.SD,
		sought.Unit,
		mean,
		s.View.Objective().Observations[best].Experiment,
	)
	if len(s.Def.ConstraintsOnOutcomes) > 0 { // the best of those that keep them
		text = fmt.Sprintf("The model expects %s = %.4g ± %.2g %s here. %s",
			sought.Name, c.Prediction.Mean, c.Prediction.SD, sought.Unit, s.BestSoFar())
	}
	if len(rejected) > 0 {
		text += fmt.Sprintf(" It takes the place of the %d you rejected.", len(rejected))
	}
	return strings.TrimSpace(text)
}
