package policies

import (
	"fmt"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/policies/handover"
	"github.com/campaignd/campaignd/policies/search"
	"github.com/campaignd/campaignd/policies/trust"
	"github.com/campaignd/campaignd/projections/belief"
	"github.com/campaignd/campaignd/projections/campaign"
)

// Rules that settle the decisions of a campaign in which trust is earned, with RuleGate.
const (
	RuleJudge      = "judge"        // the unaided candidate is put to the expert, to judge them
	RuleJudged     = "judged"       // it is run, whatever the expert said
	RuleModelsTurn = "model's turn" // the expert is trusted, but this experiment is the model's
	RuleHandedOver = "handed over"  // the rest of the campaign is the model's
)

// earns reports whether an expert has to earn the trust in them (see
// [handover.Course]): with cobol, its gate, and labels.
func (m *maker) earns() bool {
	return m.trust != nil && len(m.def.Experts) > 0 && m.handover != nil && m.handover.Gate && m.feedback() == definition.FeedbackLabel
}

// optimism is how many standard deviations below the mean the aided candidate may lie.
func (m *maker) optimism() float64 {
	if m.earns() {
		return trust.Optimism * m.beta
	}
	return m.beta
}

// course is where the campaign stands.
func (m *maker) course() handover.Course {
	left := max(0, m.def.Budget.Experiments-m.v.Campaign.Spent())
	turns := (left + m.def.Replicates - 1) / m.def.Replicates
	return handover.Course{Chosen: m.chosen(), Budget: m.chosen() + turns, Experts: len(m.def.Experts)}
}

// takeJudged runs the unaided candidate where the expert has just been asked
// about it. Where a measurement has moved it since, the answer counts as one
// about an aided candidate.
func (m *maker) takeJudged(turn []campaign.Question, unaided search.Result) (done bool, err error) {
	if len(turn) == 0 || turn[len(turn)-1].Form != events.FormLabel {
		return false, nil
	}
	q := turn[len(turn)-1]
	asked, err := m.v.Space.Key(q.Composition())
	if err != nil {
		return false, nil // an amendment has excluded it since
	}
	if key, err := m.v.Space.Key(unaided.Point); err != nil || key != asked {
		return false, err
	}
	said := string(q.Status)
	if q.Status == campaign.Answered {
		said = q.Answer.String()
	}
	return true, m.run(Unaided, RuleJudged, fmt.Sprintf("It is measured whatever %s says (%s: %s): the result shows how far their judgement goes with what is measured.",
		q.Expert, q.ID, said))
}

// earn decides whether the expert may be followed in this step, and whether the
// unaided candidate is put to them where they may not.
func (m *maker) earn(turn []campaign.Question, expert string, b *belief.Model, unaided search.Result) (done bool, err error) {
	evidence, err := m.evidence(b)
	if err != nil {
		return false, fmt.Errorf("%w: %w", errBelief, err)
	}
	course := m.course()
	open, test := handover.Opens(evidence.Helps)
	m.d.Tests = append(m.d.Tests, test)
	switch {
	case course.Over():
		return true, m.run(Unaided, RuleHandedOver, "The rest of the campaign is the model's: nobody is asked any more.")
	case open && course.Aided():
		return false, nil
	}
	worth, test := handover.AsksAgain(evidence.Helps)
	m.d.Tests = append(m.d.Tests, test)
	if course.Judged() && worth && !m.questionsSpent() && len(turn) == 0 && m.askedBefore(expert, unaided.Point) == nil {
		m.d.ask(events.FormLabel, expert, RuleJudge)
		m.d.Chosen = Unaided
		m.d.Reason = fmt.Sprintf("%s is measured next. What %s says of it before shows how far their judgement goes with what is measured.",
			m.v.Space.Format(unaided.Point), expert)
		m.d.Explanation = m.explain(nil) + " It is measured whatever you say: the result shows how far your judgement can be relied on here."
		return true, nil
	}
	if open {
		return true, m.run(Unaided, RuleModelsTurn, fmt.Sprintf("This experiment is the model's; %s may choose again after it.", expert))
	}
	if len(b.Labels) == 0 {
		return true, m.run(Unaided, RuleGate, fmt.Sprintf("%s has judged nothing yet: the campaign goes on unaided.", expert))
	}
	return true, m.run(Unaided, RuleGate, fmt.Sprintf("%s's labels have not shown that they go with what is measured (probability %.2f that they do, %.2f that they go against it): the campaign goes on unaided.",
		expert, evidence.Helps, evidence.Misleads))
}

// evidence weighs the expert's labels against what was measured.
func (m *maker) evidence(b *belief.Model) (trust.Evidence, error) {
	reject, example := make([]bool, len(b.Labels)), make([]bool, len(b.Labels))
	for i, label := range b.Labels {
		reject[i] = label.Reject
		q := m.v.Campaign.Question(label.Question)
		example[i] = q != nil && q.Volunteered
	}
	return trust.Weigh(m.v.Objective.GP().Joint(b.X), reject, example)
}

// Help is what an expert's labels have shown so far: what people mean by trust in
// an expert. The weight λ with which their belief bends a choice is another
// matter, and falls while the expert may accept what is chosen.
type Help struct {
	Expert string `json:"expert"`
	// Labels counts the labels it rests on; without any, Helps is what is assumed of anybody.
	Labels int `json:"labels"`
	// Helps is the probability that the labels go with what is measured, Misleads
	// that they go against it; else they say nothing of it.
	Helps    float64 `json:"helps"`
	Misleads float64 `json:"misleads"`
}

// Helps returns what the labels of each expert have shown, in a campaign whose
// policy reads labels; nil without a model of the objective. An expert whose labels
// cannot be weighed is left out.
func Helps(v View) (all []Help) {
	def := v.Campaign.Definition
	b := def.Policy.Trust.Belief()
	if v.Objective == nil || b == nil || b.Feedback != definition.FeedbackLabel {
		return nil
	}
	for _, expert := range def.Experts {
		var x [][]float64
		var reject, example []bool
		for i := range v.Campaign.Questions {
			q := &v.Campaign.Questions[i]
			if q.Expert != expert.Name || !q.IsLabel() {
				continue
			}
			u, err := v.Space.Encode(q.Composition())
			if err != nil {
				continue
			}
			x, reject, example = append(x, u), append(reject, q.Answer.Label == events.LabelReject), append(example, q.Volunteered)
		}
		if b.Window != nil {
			first := max(0, len(x)-*b.Window)
			x, reject, example = x[first:], reject[first:], example[first:]
		}
		evidence, err := trust.Weigh(v.Objective.GP().Joint(x), reject, example)
		if err != nil {
			continue
		}
		all = append(all, Help{Expert: expert.Name, Labels: len(x), Helps: evidence.Helps, Misleads: evidence.Misleads})
	}
	return all
}
