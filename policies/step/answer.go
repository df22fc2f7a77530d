package step

import (
	"errors"
	"fmt"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/policies"
	"github.com/campaignd/campaignd/policies/turn"
	"github.com/campaignd/campaignd/projections/campaign"
)

// Answered runs the expert's latest answer in this turn, whichever policy asked: the
// composition they accepted, or the one they chose.
func (s *Step) Answered(d policies.Decision) (policies.Decision, error) {
	d, err := s.Accepted(d)
	if err != nil || d.Made() {
		return d, err
	}
	return s.Chosen(d)
}

// Accepted runs the composition that the expert has just accepted. No aided
// candidate is weighed then, nor where a turn ends before one (the cap, no
// answer, a closed gate): the dual variable stays where it is. A decision that
// is not made goes on to the next way of making it.
func (s *Step) Accepted(d policies.Decision) (policies.Decision, error) {
	q := turn.Last(s.Turn)
	if q == nil || q.Status != campaign.Answered || q.Answer.Label != events.LabelAccept {
		return d, nil
	}
	if s.View.Space.Contains(q.Composition()) != nil {
		return d, nil // an amendment has excluded it since
	}
	accepted, err := s.Place(q.Composition())
	if err != nil {
		return d, err
	}
	d, err = s.Add(d, policies.Aided, accepted)
	if err != nil && !errors.Is(err, ErrBelief) {
		return d, err
	}
	return d.Run(policies.Aided, policies.RuleAccepted,
		fmt.Sprintf("%s accepted it (%s).", q.Expert, q.ID)), nil
}

// Chosen runs the expert's latest choice, or the unaided candidate if they could not tell. A
// belief that cannot be used costs the candidate its bounds, not its experiment.
func (s *Step) Chosen(d policies.Decision) (policies.Decision, error) {
	q := turn.Last(s.Turn)
	if q == nil || q.Form != events.FormComparison {
		return d, nil
	}
	option, rule := preferred(q), policies.RuleChosen
	reason := fmt.Sprintf("%s chose it (%s).", q.Expert, q.ID)
	if option == nil {
		option, rule = unaidedOption(q), policies.RuleNoAnswer
		reason = fmt.Sprintf("%s was %s without a choice: the unaided candidate is taken.", q.ID, q.Status)
	}
	if s.View.Space.Contains(option.Parameters) != nil {
		return d, nil // an amendment or a refusal has excluded it since
	}
	chosen, err := s.Place(option.Parameters)
	if err != nil {
		return d, err
	}
	d, err = s.Add(d, option.Candidate, chosen)
	if err != nil && !errors.Is(err, ErrBelief) {
		return d, err
	}
	return d.Run(option.Candidate, rule, reason), nil
}

// preferred returns the option that the expert placed highest of the two that
// the decision would run, nil where they placed neither; the others of a
// ranking were measured before.
func preferred(q *campaign.Question) *events.Option {
	for _, i := range q.Answer.Order {
		if c := q.Options[i].Candidate; c == policies.Unaided || c == policies.Aided {
			return &q.Options[i]
		}
	}
	return nil
}

// unaidedOption returns the last of the options that is the unaided candidate,
// the first option where none is.
func unaidedOption(q *campaign.Question) *events.Option {
	option := &q.Options[0]
	for i := range q.Options {
		if q.Options[i].Candidate == policies.Unaided {
			option = &q.Options[i]
		}
	}
	return option
}
