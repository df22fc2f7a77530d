// Package bope is the family of policies that seek an expert's preferred outcome, several
// quantities of an experiment: Bayesian optimization with preference exploration (Lin et al.
// 2022). The expert's utility g of standardized outcomes is learned from their choices
// (projections/preference), the quantities are modelled one by one, and
//
//   - the pair of outcomes that is asked about has the greatest EUBO,
//     E max(g(y), g(y'));
//   - the composition that is measured has the greatest EIUU, the expected improvement of g
//     over the best measured outcome.
//
// Formulas are in internal/num/bope; utilities are MAXIMIZED, acquisitions here
// minimized.
package bope

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/policies"
	"github.com/campaignd/campaignd/policies/next"
	"github.com/campaignd/campaignd/policies/seek"
	"github.com/campaignd/campaignd/policies/step"
	"github.com/campaignd/campaignd/policies/turn"
	"github.com/campaignd/campaignd/projections/campaign"
	"github.com/campaignd/campaignd/projections/preference"
)

// Family is the program's row for these policies.
var Family = policies.Family{
	Name:    "bope",
	Version: policies.Version, Earlier: policies.Earlier,
	Rules: []policies.Rule{
		{Part: policies.Next, Name: EIUUName, Settings: func() definition.Settings { return new(EIUU) },
			Preference: true},
		{Part: policies.Handover, Name: OutcomesName, Settings: func() definition.Settings { return new(Outcomes) }},
	},
	Methods: []policies.Method{{
		Name: "bope", Summary: "what an expert prefers among outcomes of several quantities",
		Source: "Lin et al. 2022", Asks: "which of two outcomes is better", Form: events.FormOutcomes,
		Preference: true,
		Policy: definition.Policy{
			Next: EIUU{}.Choice(), Trust: definition.NewChoice(policies.None, nil), Handover: Outcomes{}.Choice(),
		},
	}},
	New: New,
}

// Rules that settle a decision. They stand in recorded events and never change.
const (
	RuleSitting   = "sitting"   // the expert is asked, in the first sitting
	RulePreferred = "preferred" // the expert has been asked, or is not to be: EIUU decides
	RuleSettled   = "settled"   // EIUU decides, and no comparison is worth asking
)

// policy makes the decisions of a campaign with one expert.
type policy struct {
	def definition.Campaign
	ask *Outcomes // nil where no one is asked
}

// New returns the policy of a complete definition.
func New(def definition.Campaign, _ next.Rule) (policies.Policy, error) {
	p := &policy{def: def}
	if def.Policy.Next.Name != EIUUName {
		return nil, fmt.Errorf("answers to comparisons of outcomes are not read by the rule %q of next", def.Policy.Next.Name)
	}
	if def.Policy.Handover.Name != OutcomesName {
		return p, nil
	}
	p.ask = new(Outcomes)
	if err := def.Policy.Handover.Decode(p.ask); err != nil {
		return nil, err
	}
	return p, cmp.Or(
		policies.Has(OutcomesName, "first", p.ask.First != nil),
		policies.Has(OutcomesName, "worth", p.ask.Worth != nil),
	)
}

// Needs implements policies.Policy.
func (p *policy) Needs() policies.Needs {
	return policies.Needs{Objective: true, Preference: preference.Needs{Form: events.PreferenceOutcomes}}
}

// Decide implements policies.Policy.
func (p *policy) Decide(ctx context.Context, v policies.View, seed uint64) (policies.Decision, error) {
	d := step.Stop(&p.def, v, step.Begin(v, seed))
	if d.Made() {
		return d, nil
	}
	m := step.Modeled{Def: &p.def, Rule: improvement{}, Choose: p.choose}
	return m.Decide(ctx, v, d)
}

// errIncomplete is the error of a campaign without a known outcome.
var errIncomplete = errors.New("no experiment has all quantities that are compared")

// choose asks, or measures.
func (p *policy) choose(ctx context.Context, s *step.Step, d policies.Decision) (policies.Decision, error) {
	d, err := s.Answered(d)
	if err != nil || d.Made() {
		return d, err
	}
	problem, err := seek.NewProblem(s.View.Campaign, s.View.Space, s.View.Models.With(s.Measured))
	if err != nil {
		return d, err
	}
	known, err := p.known(s)
	if err != nil {
		return d, err
	}
	preferences, err := problem.Preferences(ctx, known)
	if err != nil {
		return d, fmt.Errorf("what is preferred: %w", err)
	}
	d.Standard = known.Standard
	if m := s.View.Preferences[0]; m != nil && m.Fit.Form != "" {
		fit := m.Fit
		d.Preference = &fit
	}
	b := &sitting{Step: s, policy: p, problem: problem, known: known, preferences: preferences}
	d, measured, err := b.ask(d)
	if err != nil || d.Made() {
		return d, err
	}
	return b.measure(ctx, d, measured)
}

// known returns the model of the expert's utility. Outcomes are standardized by the
// measurements so far until the first question records the scales.
func (p *policy) known(s *step.Step) (*preference.Outcomes, error) {
	if len(s.View.Preferences) == 0 {
		return nil, errors.New("there is no expert whose preferences are sought")
	}
	if err := s.View.PreferenceErrors[0]; err != nil {
		return nil, err
	}
	if m := s.View.Preferences[0]; m != nil {
		return m.Outcomes, nil
	}
	all := seek.CompleteOutcomes(s.View.Campaign)
	if !s.View.Version2 { // which compared nothing once a value was none
		all = slices.DeleteFunc(all, func(c seek.Complete) bool { return !c.Valued() })
	}
	standard := seek.Standard(&p.def, all)
	if standard == nil {
		return nil, errIncomplete
	}
	return preference.NewOutcomes(&p.def, standard), nil
}

// sitting is a step with the model of the expert's preferences.
type sitting struct {
	*step.Step
	policy      *policy
	problem     *seek.Problem
	known       *preference.Outcomes
	preferences *seek.Preferences
}

// because says by which rule a composition is measured, and why no one is asked
// before.
type because struct{ rule, text string }

// measure runs the composition with the greatest EIUU.
func (b *sitting) measure(ctx context.Context, d policies.Decision, why because) (policies.Decision, error) {
	b.Rule = improvement{sitting: b}
	acquisition, err := b.Acquisition()
	if err != nil {
		return d, err
	}
	d, found, err := b.Unaided(ctx, d, acquisition)
	if err != nil || d.Made() {
		return d, err
	}
	d.Candidates[len(d.Candidates)-1].Score = b.score(found.X)
	return d.Run(policies.Unaided, why.rule, why.text+b.Because()), nil
}

// score is the utility of the predicted outcome at a point of the unit cube.
func (b *sitting) score(x []float64) *events.Score {
	e := b.problem.NewCompared(b.known.Standard)
	e.At(x)
	mean, sd := b.preferences.Utility.Posterior(e.Mean)
	return &events.Score{Mean: mean, SD: sd}
}

// answered counts the comparisons of outcomes that the expert has answered, "can't
// tell" included. Those that expired do not count: who was away has them before
// them when they are back.
func answered(s *campaign.State) (n int) {
	for i := range s.Questions {
		if q := &s.Questions[i]; q.Form == events.FormOutcomes && q.Status == campaign.Answered {
			n++
		}
	}
	return n
}

// lastInTurn returns the last question of the turn about outcomes, or nil.
func (b *sitting) lastInTurn() *campaign.Question {
	q := turn.Last(b.Turn)
	if q == nil || q.Form != events.FormOutcomes {
		return nil
	}
	return q
}
