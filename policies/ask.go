package policies

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/policies/handover"
	"github.com/campaignd/campaignd/policies/search"
	"github.com/campaignd/campaignd/projections/belief"
	"github.com/campaignd/campaignd/projections/campaign"
)

// takeAnswer runs the composition that the expert has just accepted. No aided
// candidate is weighed then, nor where a turn ends before one (the cap, no
// answer, a closed gate): the dual variable stays where it is.
func (m *maker) takeAnswer(turn []campaign.Question) (done bool, err error) {
	if len(turn) == 0 || turn[len(turn)-1].Status != campaign.Answered || turn[len(turn)-1].Answer.Label != events.LabelAccept {
		return false, nil
	}
	q := turn[len(turn)-1]
	if m.v.Space.Contains(q.Composition()) != nil {
		return false, nil // an amendment has excluded it since
	}
	x, err := m.v.Space.Encode(q.Composition())
	if err != nil {
		return false, err
	}
	if err := m.add(Aided, search.Result{X: x, Point: q.Composition(), Value: math.NaN()}); err != nil && !errors.Is(err, errBelief) {
		return false, err
	}
	return true, m.run(Aided, RuleAccepted, fmt.Sprintf("%s accepted it (%s).", q.Expert, q.ID))
}

// beforeAiding looks for reasons not to use the expert's belief in this step.
func (m *maker) beforeAiding(turn []campaign.Question, expert string, b *belief.Model, unaided search.Result) (done bool, err error) {
	if n := len(turn); n > 0 && turn[n-1].Form == events.FormLabel && !turn[n-1].IsLabel() {
		return true, m.run(Unaided, RuleNoAnswer, fmt.Sprintf("%s was %s without a verdict: the campaign goes on unaided.", turn[n-1].ID, turn[n-1].Status))
	}
	if len(turn) >= m.handover.PerExperiment {
		return true, m.run(Unaided, RuleCap, fmt.Sprintf("%d questions before one experiment are enough: the campaign goes on unaided.", len(turn)))
	}
	if !m.handover.Gate {
		return false, nil
	}
	if m.earns() {
		return m.earn(turn, expert, b, unaided)
	}
	if f := m.feedback(); f == definition.FeedbackComparison || f == definition.FeedbackRanking {
		return m.choiceGate(expert)
	}
	mean, sd, reject := make([]float64, len(b.X)), make([]float64, len(b.X)), make([]bool, len(b.X))
	for i, x := range b.X {
		mean[i], sd[i] = m.v.Objective.Posterior(x)
		reject[i] = b.Labels[i].Reject
	}
	open, test := handover.OpenGate(mean, sd, reject)
	m.d.Tests = append(m.d.Tests, test)
	if !open {
		return true, m.run(Unaided, RuleGate, fmt.Sprintf("%s's labels do not predict what is measured (probability %.2f): the campaign goes on unaided.", expert, test.Left))
	}
	return false, nil
}

// handOver decides whether the expert is asked about the aided candidate.
func (m *maker) handOver(turn []campaign.Question, expert string, unaided, aided search.Result, interval events.Interval) error {
	if f := m.feedback(); m.handover != nil && (f == definition.FeedbackComparison || f == definition.FeedbackRanking) {
		return m.compare(expert, unaided, aided)
	}
	if m.handover == nil {
		return m.run(Aided, RuleNever, "It has the best bound once the expert's belief is weighed in; the policy asks no one.")
	}
	verdict, tests := m.handover.Judge(interval)
	m.d.Tests = append(m.d.Tests, tests...)
	switch verdict {
	case handover.Sure:
		return m.run(Aided, RuleSure, "It has the best bound once the expert's belief is weighed in, and the belief is sure enough not to ask.")
	case handover.Accepted:
		return m.run(Aided, RuleAccepts, "It has the best bound once the expert's belief is weighed in, and the expert would accept it.")
	case handover.Rejected:
		return m.run(Unaided, RuleRejects, "The expert would reject the aided candidate: the unaided one is taken.")
	}
	if q := m.askedBefore(expert, aided.Point); q != nil {
		if q.Status == campaign.Answered && q.Answer.Label == events.LabelAccept {
			return m.run(Aided, RuleAskedBefore, fmt.Sprintf("%s accepted this composition before (%s).", expert, q.ID))
		}
		return m.run(Unaided, RuleAskedBefore, fmt.Sprintf("%s was asked about the aided candidate before (%s) and did not accept it: the unaided one is taken.", expert, q.ID))
	}
	if m.questionsSpent() {
		return m.run(Unaided, RuleLabelBudget, "The budget of questions is spent: the campaign goes on unaided.")
	}
	m.d.ask(events.FormLabel, expert, RuleAsk)
	m.d.Chosen = Aided
	m.d.Reason = fmt.Sprintf("The belief about %s is wide: it is put to %s.", m.v.Space.Format(aided.Point), expert)
	m.d.Explanation = m.explain(turn)
	return nil
}

// questionsSpent reports whether no question is left of the budget of questions.
func (m *maker) questionsSpent() bool {
	limit := m.def.Budget.Labels
	if limit == nil {
		return false
	}
	asked := m.v.Campaign.AskedCount()
	for i := range m.v.Campaign.Questions {
		if m.uncounted(&m.v.Campaign.Questions[i]) {
			asked--
		}
	}
	return asked >= *limit
}

// uncounted reports whether a question counts against no budget: the campaign
// itself withdrew it.
func (p *Policy) uncounted(q *campaign.Question) bool { return p.version >= sinceThree && q.Moot }

// askedBefore returns the expert's latest question about a composition, or nil.
func (m *maker) askedBefore(expert string, point definition.Point) *campaign.Question {
	key, err := m.v.Space.Key(point)
	if err != nil {
		return nil
	}
	for i := len(m.v.Campaign.Questions) - 1; i >= 0; i-- {
		q := &m.v.Campaign.Questions[i]
		if q.Expert != expert {
			continue
		}
		if other, err := m.v.Space.Key(q.Composition()); err == nil && other == key {
			return q
		}
	}
	return nil
}

// explain says in a sentence why the expert is asked.
func (m *maker) explain(turn []campaign.Question) string {
	c := m.d.Candidate()
	best, mean := m.v.Objective.Best()
	text := fmt.Sprintf("The model expects %s = %.4g ± %.2g %s here; the best so far is %.4g (%s).",
		m.def.Objective.Name, c.Prediction.Mean, c.Prediction.SD, m.def.Objective.Unit, mean, m.v.Objective.Observations[best].Experiment)
	if len(turn) > 0 {
		text += fmt.Sprintf(" It takes the place of the %d you rejected.", len(turn))
	}
	return strings.TrimSpace(text)
}
