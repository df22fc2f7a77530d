package cobol

import (
	"fmt"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/policies"
	"github.com/campaignd/campaignd/policies/handover"
	"github.com/campaignd/campaignd/policies/search"
	"github.com/campaignd/campaignd/policies/step"
	"github.com/campaignd/campaignd/policies/trust"
	"github.com/campaignd/campaignd/policies/turn"
	"github.com/campaignd/campaignd/projections/belief"
	"github.com/campaignd/campaignd/projections/campaign"
)

// schedule returns the progress of the campaign, in experiments of the policy (turns): those
// chosen, and those that the budget still has room for. Replicates belong to one turn, hence
// the division, rounded up. Experiments that people run on their own spend the budget too, and
// so shorten the rest.
func (p *policy) schedule(s *campaign.State) handover.Schedule {
	left := max(0, p.def.Budget.Experiments-s.Spent())
	turns := (left + p.def.Replicates - 1) / p.def.Replicates
	chosen := s.Turns
	return handover.Schedule{Chosen: chosen, Budget: chosen + turns, Experts: len(p.def.Experts)}
}

// judged runs the unaided candidate where the expert has just been asked about it: it is
// measured whatever the answer. Where a measurement has moved the candidate since, the
// question's composition is another one, and the answer counts as one about an aided candidate.
// Keys are compared, not coordinates, since the candidate was snapped anew.
func judged(s *step.Step, d policies.Decision, unaided search.Result) (policies.Decision, error) {
	q := turn.Last(s.Turn)
	if q == nil || q.Form != events.FormLabel {
		return d, nil
	}
	asked, err := s.View.Space.Key(q.Composition())
	if err != nil {
		return d, nil // an amendment has excluded it since
	}
	key, err := s.View.Space.Key(unaided.Point)
	if err != nil || key != asked {
		return d, err
	}
	said := string(q.Status)
	if q.Status == campaign.Answered {
		said = q.Answer.String()
	}
	reason := fmt.Sprintf(
		"It is measured whatever %s says (%s: %s): the result shows how far their judgment goes with what is measured.",
		q.Expert, q.ID, said,
	)
	return d.Run(policies.Unaided, policies.RuleJudged, reason), nil
}

// assess decides whether the expert may be followed in this step and, where they may not,
// whether the unaided candidate is put to them so that they can show their knowledge. It is the
// gate of experts who earn trust (see [handover.Schedule]). The schedule bounds the cost of an
// expert, whatever the evidence (docs/decisions/18-trust.md); both tests are recorded, so that
// an audit shows why no one was asked.
func (p *policy) assess(
	s *step.Step, d policies.Decision, expert string, b *belief.Model, unaided search.Result,
) (policies.Decision, error) {
	evidence, err := evidenceOf(s.View, b)
	if err != nil {
		return d, fmt.Errorf("%w: %w", step.ErrBelief, err)
	}
	schedule := p.schedule(s.View.Campaign)
	open, test := handover.Opens(evidence.Helps)
	d.Tests = append(d.Tests, test)
	switch {
	case schedule.Over():
		return d.Run(
			policies.Unaided, policies.RuleHandedOver,
			"The rest of the campaign is the model's: nobody is asked any more.",
		), nil
	case open && schedule.Aided():
		return d, nil
	}
	worth, test := handover.AsksAgain(evidence.Helps)
	d.Tests = append(d.Tests, test)
	// One question of this kind before an experiment, and never twice about one
	// composition.
	asked := len(s.Turn) > 0 || turn.AskedBefore(s.View.Campaign, s.View.Space, expert, unaided.Point) != nil
	switch {
	case schedule.Judged() && worth && !asked && !s.QuestionsSpent():
		return p.judge(s, d, expert, unaided), nil
	// The gate is open and it is not the expert's turn.
	case open:
		reason := fmt.Sprintf("This experiment is the model's; %s may choose again after it.", expert)
		return d.Run(policies.Unaided, policies.RuleModelsTurn, reason), nil
	case len(b.Labels) == 0:
		reason := fmt.Sprintf("%s has judged nothing yet: the campaign goes on unaided.", expert)
		return d.Run(policies.Unaided, policies.RuleGate, reason), nil
	}
	reason := fmt.Sprintf(
		"%s's labels have not shown that they go with what is measured (probability %.2f that they do, %.2f that they go against it): the campaign goes on unaided.",
		expert,
		evidence.Helps,
		evidence.Misleads,
	)
	return d.Run(policies.Unaided, policies.RuleGate, reason), nil
}

// judge puts the unaided candidate to the expert. It is measured whatever the answer, so the
// question costs an answer and no experiment. The composition is shown with the model's
// prediction, and the expert knows that it is run in any case: there is nothing to gain by an
// answer that is not meant.
func (p *policy) judge(
	s *step.Step, d policies.Decision, expert string, unaided search.Result,
) policies.Decision {
	d.Chosen = policies.Unaided
	reason := fmt.Sprintf(
		"%s is measured next. What %s says of it before shows how far their judgment goes with what is measured.",
		s.View.Space.Format(unaided.Point),
		expert,
	)
	explanation := p.explanation(s, d, nil) +
		" It is measured whatever you say: the result shows how far your judgment can be relied on here."
	return d.Ask(events.FormLabel, expert, policies.RuleJudge, reason, explanation)
}

// evidenceOf weighs the labels that an expert's belief rests on against the model of the
// measurements. Examples are kept apart, since they may have been chosen to be balanced, and
// then do not show how often the expert rejects.
func evidenceOf(v policies.View, b *belief.Model) (trust.Evidence, error) {
	reject, example := make([]bool, len(b.Labels)), make([]bool, len(b.Labels))
	for i, label := range b.Labels {
		reject[i] = label.Reject
		q := v.Campaign.Question(label.Question)
		example[i] = q != nil && q.Volunteered
	}
	return trust.Weigh(v.Objective().GP().Joint(b.X), reject, example)
}

// Helps implements policies.Helper. It weighs labels; for other forms of
// feedback it returns nothing. An expert whose evidence cannot be computed is
// left out: it is for showing, and decides nothing.
func (p *policy) Helps(v policies.View) []policies.Help {
	if v.Objective() == nil || p.belief.Feedback != belief.FeedbackLabel {
		return nil
	}
	var all []policies.Help
	for _, expert := range p.def.Experts {
		labels := p.labels(v, expert.Name)
		evidence, err := trust.Weigh(v.Objective().GP().Joint(labels.x), labels.reject, labels.example)
		if err != nil {
			continue
		}
		all = append(all, policies.Help{
			Expert: expert.Name, Labels: len(labels.x), Helps: evidence.Helps,
			Misleads: evidence.Misleads,
		})
	}
	return all
}

// labels are the labels that count, a row for each.
type labels struct {
	x               [][]float64 // in the unit cube
	reject, example []bool
}

// labels returns an expert's labels of compositions: the latest ones, if the belief has a
// window. It reads the log and not the belief, which may not be fitted yet; so Helps has an
// answer from the first label on.
func (p *policy) labels(v policies.View, expert string) labels {
	var l labels
	for i := range v.Campaign.Questions {
		q := &v.Campaign.Questions[i]
		if q.Expert != expert || !q.IsLabel() {
			continue
		}
		x, err := v.Space.Encode(q.Composition())
		if err != nil {
			continue // outside the space since an amendment
		}
		l.x = append(l.x, x)
		l.reject = append(l.reject, q.Answer.Label == events.LabelReject)
		l.example = append(l.example, q.Volunteered)
	}
	if p.belief.Window != nil {
		first := max(0, len(l.x)-*p.belief.Window)
		l = labels{l.x[first:], l.reject[first:], l.example[first:]}
	}
	return l
}
