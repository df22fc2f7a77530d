package cobol

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/policies"
	"github.com/campaignd/campaignd/policies/search"
	"github.com/campaignd/campaignd/policies/step"
	"github.com/campaignd/campaignd/policies/turn"
	"github.com/campaignd/campaignd/projections/belief"
	"github.com/campaignd/campaignd/projections/quantity"
)

// compare asks for a comparison or a ranking instead of a label (Xu et al.
// 2024, App. H): the expert orders the aided and the unaided candidate, in a
// ranking together with the best measured compositions. One question settles
// the step: of the two new ones, the one placed higher is run. No test of the
// width: an order of candidates that differ always says something.
func (p *policy) compare(
	s *step.Step, d policies.Decision, expert string, unaided, aided search.Result,
) (policies.Decision, error) {
	if search.Near(unaided.X, aided.X) {
		return d.Run(policies.Unaided, policies.RuleAgree,
			"The expert's belief leads to the same composition: there is nothing to compare."), nil
	}
	if s.QuestionsSpent() {
		return s.Spent(d), nil
	}
	if p.belief.Feedback == belief.FeedbackRanking {
		for i, x := range bestMeasured(s.View.Objective(), *p.belief.Options-2) {
			var err error
			if d, err = s.Add(d, fmt.Sprintf("other %d", i+1), x); err != nil {
				return d, err
			}
		}
	}
	// In a random order, so that the place of a candidate does not tell which
	// one is the model's.
	d = step.Shuffled(d)
	reason := fmt.Sprintf(
		"%s orders the candidate with the best bound and the one that their belief bends it to.",
		expert,
	)
	return d.Ask(events.FormComparison, expert, policies.RuleAsk, reason,
		"Which is best? Of the two that are new the one you place higher is measured."), nil
}

// bestMeasured returns the n measured compositions with the best posterior
// mean, each once, best first. Their Value is NaN. Equal compositions are those
// of equal coordinates, bit for bit, as replicates have.
func bestMeasured(m *quantity.Model, n int) []search.Result {
	var all []search.Result
	for i, x := range m.X {
		if m.IsOutside(i) || slices.ContainsFunc(all, func(r search.Result) bool { return slices.Equal(r.X, x) }) {
			continue
		}
		mean, _ := m.Posterior(x)
		all = append(all, search.Result{X: x, Point: m.Observations[i].Point, Value: mean})
	}
	slices.SortStableFunc(all, func(a, b search.Result) int { return cmp.Compare(a.Value, b.Value) })
	all = all[:min(n, len(all))]
	for i := range all {
		all[i].Value = math.NaN() // a mean is not an acquisition
	}
	return all
}

// harmfulInARow is the number of an expert's compositions turned down in a row after which they
// are asked no more: further ones would hardly change anything. Three are a choice, as the gate
// of pinpoints has no model of the expert.
const harmfulInARow = 3

// pinpoint asks the expert for a composition of their own, which takes the place of the aided
// candidate (Xu et al. 2024, App. H). One question a turn: an experiment follows any answer. A
// composition that an exclusion has ruled out since counts as none.
func (p *policy) pinpoint(
	ctx context.Context, s *step.Step, d policies.Decision, expert string, unaided search.Result,
) (policies.Decision, error) {
	if p.width == nil {
		return d.Run(policies.Unaided, policies.RuleNever, "The policy asks no one."), nil
	}
	q := turn.Last(s.Turn)
	if q == nil {
		return p.askToName(s, d, expert), nil
	}
	if q.Form != events.FormPinpoint || q.Answer.Point == nil ||
		s.View.Space.Contains(q.Answer.Point) != nil {
		return d.Run(policies.Unaided, policies.RuleNoAnswer,
			fmt.Sprintf("%s was %s without a composition that can be taken: the campaign goes on unaided.", q.ID, q.Status)), nil
	}
	named, err := s.Place(q.Answer.Point)
	if err != nil {
		return d, err
	}
	if d, err = s.Add(d, policies.Aided, named); err != nil {
		return d, err
	}
	if d, err = p.noHarm(ctx, s, d, unaided, named); err != nil || d.Made() {
		return d, err
	}
	return d.Run(
		policies.Aided, policies.RulePinpointed,
		fmt.Sprintf("%s named it (%s), and it can do no harm.", expert, q.ID),
	), nil
}

// askToName asks the expert for a composition, unless their last ones were all
// turned down or no questions are left.
func (p *policy) askToName(s *step.Step, d policies.Decision, expert string) policies.Decision {
	if n := turnedDown(s.View, expert); p.width.Gate && n >= harmfulInARow {
		return d.Run(policies.Unaided, policies.RuleGate,
			fmt.Sprintf("The last %d compositions that %s named could do harm: the campaign goes on unaided.", n, expert))
	}
	if s.QuestionsSpent() {
		return s.Spent(d)
	}
	reason := fmt.Sprintf(
		"%s names a composition; the unaided one is what the campaign would measure.", expert,
	)
	explanation := "What would you measure next? " + s.BestSoFar()
	return d.Ask(events.FormPinpoint, expert, policies.RuleAsk, reason, explanation)
}

// turnedDown counts the compositions, back from the latest, that an expert named and that were
// not measured. It stops at the first one that was measured. Compositions are compared by key,
// since the measured one may have been written with other digits.
func turnedDown(v policies.View, expert string) (n int) {
	questions := v.Campaign.Questions
	for i := len(questions) - 1; i >= 0; i-- {
		q := &questions[i]
		if q.Expert != expert || q.Form != events.FormPinpoint || q.Answer.Point == nil {
			continue
		}
		named, err := v.Space.Key(q.Answer.Point)
		if err != nil {
			return n
		}
		if ran := v.Campaign.RanIn(q.Turn); ran != nil {
			if key, err := v.Space.Key(ran.Parameters); err != nil || key == named {
				return n
			}
		}
		n++
	}
	return n
}
