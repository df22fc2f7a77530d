package policies

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/policies/search"
	"github.com/campaignd/campaignd/projections"
	"github.com/campaignd/campaignd/projections/campaign"
)

// compare asks for a comparison or a ranking in place of a label (Xu et al. 2024,
// App. H): the expert orders the aided and the unaided candidate, and in a
// ranking the best measured compositions beside them. One question settles the
// step: what the expert places higher of the two is run.
func (m *maker) compare(expert string, unaided, aided search.Result) error {
	if search.Near(unaided.X, aided.X) {
		return m.run(Unaided, RuleAgree, "The expert's belief leads to the same composition: there is nothing to compare.")
	}
	if m.questionsSpent() {
		return m.run(Unaided, RuleLabelBudget, "The budget of questions is spent: the campaign goes on unaided.")
	}
	if m.feedback() == definition.FeedbackRanking {
		for i, x := range m.bestMeasured(*m.def.Policy.Trust.Belief().Options - 2) {
			if err := m.add(fmt.Sprintf("other %d", i+1), x); err != nil {
				return err
			}
		}
	}
	m.shuffle()
	m.d.ask(events.FormComparison, expert, RuleAsk)
	m.d.Reason = fmt.Sprintf("%s orders the candidate with the best bound and the one that their belief bends it to.", expert)
	m.d.Explanation = "Which is best? Of the two that are new the one you place higher is measured."
	return nil
}

// bestMeasured returns the n measured compositions of the best posterior mean,
// each once, best first.
func (m *maker) bestMeasured(n int) []search.Result {
	var all []search.Result
	for i, x := range m.v.Objective.X {
		if slices.ContainsFunc(all, func(r search.Result) bool { return equal(r.X, x) }) {
			continue
		}
		mean, _ := m.v.Objective.Posterior(x)
		all = append(all, search.Result{X: x, Point: m.v.Objective.Observations[i].Point, Value: mean})
	}
	slices.SortStableFunc(all, func(a, b search.Result) int { return cmp.Compare(a.Value, b.Value) })
	all = all[:min(n, len(all))]
	for i := range all {
		all[i].Value = math.NaN() // a mean is no acquisition
	}
	return all
}

// refusedInARow is how many compositions that an expert named may be refused in
// a row before they are asked no more: their word no longer changes anything.
const refusedInARow = 3

// pinpoint asks the expert for a composition of their own, which takes the place
// of the aided candidate (Xu et al. 2024, App. H).
func (m *maker) pinpoint(turn []campaign.Question, expert string, unaided search.Result) error {
	if m.handover == nil {
		return m.run(Unaided, RuleNever, "The policy asks no one.")
	}
	if len(turn) == 0 {
		if n := m.refused(expert); m.handover.Gate && n >= refusedInARow {
			return m.run(Unaided, RuleGate, fmt.Sprintf("The last %d compositions that %s named could do harm: the campaign goes on unaided.", n, expert))
		}
		if m.questionsSpent() {
			return m.run(Unaided, RuleLabelBudget, "The budget of questions is spent: the campaign goes on unaided.")
		}
		m.d.ask(events.FormPinpoint, expert, RuleAsk)
		m.d.Reason = fmt.Sprintf("%s names a composition; the unaided one is what the campaign would measure.", expert)
		best, mean := m.v.Objective.Best()
		m.d.Explanation = fmt.Sprintf("What would you measure next? The best so far is %s = %.4g %s (%s).",
			m.def.Objective.Name, mean, m.def.Objective.Unit, m.v.Objective.Observations[best].Experiment)
		return nil
	}
	q := &turn[len(turn)-1]
	if q.Form != events.FormPinpoint || q.Answer.Point == nil || m.v.Space.Contains(q.Answer.Point) != nil {
		return m.run(Unaided, RuleNoAnswer, fmt.Sprintf("%s was %s without a composition that can be taken: the campaign goes on unaided.", q.ID, q.Status))
	}
	x, err := m.v.Space.Encode(q.Answer.Point)
	if err != nil {
		return err
	}
	named := search.Result{X: x, Point: q.Answer.Point, Value: math.NaN()}
	if err := m.add(Aided, named); err != nil {
		return err
	}
	if harmful, err := m.harmful(unaided, named); harmful || err != nil {
		return err
	}
	return m.run(Aided, RulePinpointed, fmt.Sprintf("%s named it (%s), and it can do no harm.", expert, q.ID))
}

// refused counts how many of the compositions that an expert named last were not
// measured.
func (m *maker) refused(expert string) (n int) {
	s := m.v.Campaign
	for i := len(s.Questions) - 1; i >= 0; i-- {
		q := &s.Questions[i]
		if q.Expert != expert || q.Form != events.FormPinpoint || q.Answer.Point == nil {
			continue
		}
		named, err := m.v.Space.Key(q.Answer.Point)
		if err != nil {
			return n
		}
		if ran := m.ranAfter(projections.Number(q.Decision)); ran != nil {
			if key, err := m.v.Space.Key(ran.Parameters); err != nil || key == named {
				return n
			}
		}
		n++
	}
	return n
}
