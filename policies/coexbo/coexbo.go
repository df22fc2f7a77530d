// Package coexbo is the family of policies in which an expert chooses one of two candidates:
// CoExBO and the methods it is compared with (Adachi et al. 2024).
//
// The expert first compares pairs of compositions. From these comparisons a
// model learns the score π(x), the probability that x is preferred to a random
// composition (projections/preference). Each step has two candidates, written
// here for a maximum as in the paper,
//
//	x_1 = argmax μ(x) + βσ(x)                                  unaided
//	x_2 = argmax of the same bound of  N(f; μ, σ²) · N(π; μ_π, σ_π² + γt²σ²)   aided
//
// so that the prior's weight decays as t grows and σ stays. The expert is shown
// both, with Shapley values and predictions, and the chosen one is measured. An
// answer is one more comparison.
//
// Without the choice the expert's score bends a single candidate: πBO (Hvarfner
// et al. 2022) multiplies the acquisition with π(x)^(γ/t). The batch rules have
// no prior: there the second candidate is the next best of the same
// acquisition.
//
// Experts are followed while their choices agree with the measurements (the gate, ours).
package coexbo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/policies"
	"github.com/campaignd/campaignd/policies/handover"
	"github.com/campaignd/campaignd/policies/next"
	"github.com/campaignd/campaignd/policies/search"
	"github.com/campaignd/campaignd/policies/step"
	"github.com/campaignd/campaignd/policies/turn"
	"github.com/campaignd/campaignd/projections/preference"
)

// Family is the program's row for these policies.
var Family = policies.Family{
	Name:    "coexbo",
	Version: policies.Version, Earlier: policies.Earlier,
	Rules: []policies.Rule{
		{Part: policies.Trust, Name: Name, Settings: func() definition.Settings { return new(CoExBO) }},
		{Part: policies.Trust, Name: PiBOName, Settings: func() definition.Settings { return new(PiBO) }},
		{
			Part:     policies.Handover,
			Name:     ChooseName,
			Settings: func() definition.Settings { return new(Choose) },
		},
	},
	Methods: []policies.Method{
		{
			Name:    "coexbo",
			Summary: "the expert picks one of two, with explanations",
			Source:  "Adachi et al. 2024",
			Asks:    asks,
			Form:    events.FormComparison,
			Policy:  definition.Policy{Next: growing, Trust: CoExBO{}.Choice(), Handover: choose},
		},
		{
			Name:    "coexbo-pibo",
			Summary: "CoExBO with the acquisition of πBO",
			Source:  "Adachi et al. 2024, Table 1",
			Asks:    asks,
			Form:    events.FormComparison,
			Policy:  definition.Policy{Next: growing, Trust: PiBO{}.Choice(), Handover: choose},
		},
		{
			Name:    "pibo",
			Summary: "the expert's prior bends the bound; no one is asked after the initial comparisons",
			Source:  "Hvarfner et al. 2022",
			Asks:    "comparisons, at first",
			Policy: definition.Policy{
				Next:     growing,
				Trust:    PiBO{}.Choice(),
				Handover: definition.NewChoice(policies.Never, nil),
			},
		},
		{
			Name:    "batch-ucb",
			Summary: "the expert picks one of the two best bounds",
			Source:  "Adachi et al. 2024, Table 1",
			Asks:    asks,
			Form:    events.FormComparison,
			Policy:  definition.Policy{Next: growing, Trust: none, Handover: choose},
		},
		{
			Name:    "batch-thompson",
			Summary: "the expert picks one of two draws",
			Source:  "Adachi et al. 2024, Table 1",
			Asks:    asks,
			Form:    events.FormComparison,
			Policy:  definition.Policy{Next: next.Thompson{}.Choice(), Trust: none, Handover: choose},
		},
		{
			Name:    "random-choice",
			Summary: "the expert picks one of two at random",
			Source:  "Adachi et al. 2024, Table 1",
			Asks:    asks,
			Form:    events.FormComparison,
			Policy:  definition.Policy{Next: next.Random{}.Choice(), Trust: none, Handover: choose},
		},
	},
	New: New,
}

const asks = "which of two is measured"

var (
	growing = next.LCB{BetaRule: next.BetaGrowing}.Choice()
	none    = definition.NewChoice(policies.None, nil)
	choose  = Choose{}.Choice()
)

// policy weighs a second candidate against the unaided one. Where there are
// several experts they take turns.
type policy struct {
	def   definition.Campaign
	rule  next.Rule // nil where both candidates are random
	prior prior     // nil where the second is the next best of the same acquisition
	// fantasize searches for the second candidate as if the first had been
	// measured.
	fantasize bool
	// spread names the variance of the expert's score that counts, see CoExBO.Spread.
	spread string
	choose *handover.Choose // nil where the expert does not choose
}

// New returns the policy of a complete definition. Only random candidates need
// no rule that searches, and no prior can bend those.
func New(def definition.Campaign, rule next.Rule) (policies.Policy, error) {
	p := &policy{def: def, rule: rule}
	switch def.Policy.Trust.Name {
	case Name:
		var s CoExBO
		if err := def.Policy.Trust.Decode(&s); err != nil {
			return nil, err
		}
		if err := policies.Has(Name, "gamma", s.Gamma != nil); err != nil {
			return nil, err
		}
		p.prior = product{gamma: *s.Gamma}
		p.spread = s.Spread
		p.fantasize = s.Fantasize
	case PiBOName:
		var s PiBO
		if err := def.Policy.Trust.Decode(&s); err != nil {
			return nil, err
		}
		if err := policies.Has(PiBOName, "gamma", s.Gamma != nil); err != nil {
			return nil, err
		}
		p.prior = power{gamma: *s.Gamma}
	}
	if s, ok := ChooseOf(def.Policy); ok {
		err := cmp.Or(
			policies.Has(ChooseName, "explain", s.Explain != nil),
			policies.Has(ChooseName, "gate", s.Gate != nil),
		)
		if err != nil {
			return nil, err
		}
		p.choose = &handover.Choose{Explain: *s.Explain, Gate: *s.Gate}
	}
	if p.rule == nil && (p.prior != nil || def.Policy.Next.Name != next.RandomName) {
		return nil, fmt.Errorf("there are no two candidates with the rule %q of next", def.Policy.Next.Name)
	}
	return p, nil
}

// Needs asks for the models that the parts of this policy read: a model of the objective for an
// acquisition, a gate or a target, one of the comparisons for a prior. Random choice reads a
// model only to stop at a target, or for the gate.
func (p *policy) Needs() policies.Needs {
	gated := p.choose != nil && p.choose.Gate
	needs := policies.Needs{Objective: p.rule != nil || gated || p.def.Stop.ByModels()}
	if p.prior != nil {
		needs.Preference = preference.Needs{Form: events.PreferenceChoice, Spread: p.spread}
	}
	return needs
}

// Decide looks back at the expert's last choice before anything else, so that
// the decision that ends the campaign has the review too.
func (p *policy) Decide(ctx context.Context, v policies.View, seed uint64) (policies.Decision, error) {
	d := step.Begin(v, seed)
	if p.choose != nil && v.Objective() != nil {
		review, err := reviewed(ctx, v)
		if err != nil {
			return d, err
		}
		d.Review = review
	}
	d = step.Stop(&p.def, v, d)
	switch {
	case d.Made():
		return d, nil
	case p.rule == nil:
		return p.twoAtRandom(v, d)
	}
	m := step.Modeled{Def: &p.def, Rule: p.rule, Choose: p.decide}
	return m.Decide(ctx, v, d)
}

// twoAtRandom lets the expert choose between two random compositions: the baseline that shows
// the worth of the choice alone. A choice that cannot be taken, and no choice, lead to a fresh
// draw, so that no expert can steer it by silence.
func (p *policy) twoAtRandom(v policies.View, d policies.Decision) (policies.Decision, error) {
	q := turn.Last(turn.Questions(v.Campaign))
	if q != nil {
		if option := q.Winner(); option != nil && v.Space.Contains(option.Parameters) == nil {
			reason := fmt.Sprintf("%s chose it (%s).", q.Expert, q.ID)
			return step.Take(v, d, option.Candidate, option.Parameters, policies.RuleChosen, reason), nil
		}
		return step.AtRandom(
			v, d, policies.RuleNoAnswer, "There was no choice: a composition at random is taken.",
		)
	}
	if turn.QuestionsSpent(v.Campaign, &p.def) {
		return step.AtRandom(
			v, d, policies.RuleLabelBudget,
			fmt.Sprintf("Nobody is asked, since %s: a composition at random is taken.",
				turn.WhyNotAsked(v.Campaign, &p.def)),
		)
	}
	points, err := v.Space.Sample(2, d.Seed)
	if err != nil {
		return d, err
	}
	d.Candidates = []events.Candidate{
		{Name: policies.Unaided, Parameters: points[0]},
		{Name: policies.Aided, Parameters: points[1]},
	}
	expert := p.def.Experts[turn.Expert(v.Campaign, &p.def)].Name
	return d.Ask(events.FormComparison, expert, policies.RuleAsk,
		"The expert chooses between two compositions at random.", "Which of the two shall be measured?"), nil
}

// decide makes the decision of a step that has a model (Adachi et al. 2024,
// Alg. 1).
func (p *policy) decide(ctx context.Context, s *step.Step, d policies.Decision) (policies.Decision, error) {
	d, err := s.Answered(d)
	if err != nil || d.Made() {
		return d, err
	}
	acquisition, err := s.Acquisition()
	if err != nil {
		return d, err
	}
	d, unaided, err := s.Unaided(ctx, d, acquisition)
	if err != nil || d.Made() {
		return d, err
	}
	if len(p.def.Experts) == 0 {
		return s.RunUnaided(d), nil
	}
	decided, err := p.pair(ctx, s, d, acquisition, unaided)
	if errors.Is(err, step.ErrBelief) {
		return d.Run(
			policies.Unaided, policies.RuleNoBelief,
			fmt.Sprintf("%v: the unaided candidate is taken.", err),
		), nil
	}
	return decided, err
}

// pair runs the optimum of the acquisition that an expert's preferences
// augment, or lets the expert choose between it and the unaided one. The gate
// comes before the search: an expert who is not followed costs nothing.
func (p *policy) pair(
	ctx context.Context, s *step.Step, d policies.Decision, acquisition next.Acquisition,
	unaided search.Result,
) (policies.Decision, error) {
	i := s.Expert()
	expert := p.def.Experts[i].Name
	if p.choose != nil {
		var err error
		if d, err = p.admit(s, d, expert); err != nil || d.Made() {
			return d, err
		}
	}
	var prefs *preference.Model
	if p.prior != nil {
		if prefs = s.View.Preferences[i]; prefs == nil || prefs.Score == nil {
			return d, fmt.Errorf("%w: %w", step.ErrBelief, cmp.Or(s.View.PreferenceErrors[i], step.ErrNoFit))
		}
		fit := prefs.Fit
		d.Preference = &fit
	}
	second, err := p.second(ctx, s, acquisition, unaided, prefs)
	if err != nil {
		return d, err
	}
	aided, err := s.Find(ctx, second, step.SearchAided, unaided.X)
	if errors.Is(err, search.ErrExhausted) {
		return d.Run(policies.Unaided, policies.RuleUnaided, "It is the last composition that is left."), nil
	}
	if err != nil {
		return d, err
	}
	if d, err = s.Add(d, policies.Aided, aided); err != nil {
		return d, err
	}
	if prefs != nil {
		d = scored(d, prefs, unaided, aided)
	}
	switch {
	case p.choose == nil:
		return d.Run(
			policies.Aided,
			policies.RuleNever,
			"It has the best acquisition once what the expert prefers is weighed in; the policy asks no one.",
		), nil
	case search.Near(unaided.X, aided.X):
		return d.Run(policies.Unaided, policies.RuleAgree,
			"The expert's preferences lead to the same composition: there is nothing to choose."), nil
	case s.QuestionsSpent():
		return s.Spent(d), nil
	}
	return p.offer(ctx, s, d, expert, unaided, aided)
}

// admit decides for the unaided candidate if the expert's choices do not agree with the
// measurements, or if their answer can no longer be used. A comparison in this turn that
// [step.Step.Answered] has not settled has no answer that can be run.
func (p *policy) admit(s *step.Step, d policies.Decision, expert string) (policies.Decision, error) {
	if q := turn.Last(s.Turn); q != nil { // an answer that can no longer be taken
		reason := fmt.Sprintf("The choice of %s can no longer be taken: the campaign goes on unaided.", q.ID)
		return d.Run(policies.Unaided, policies.RuleNoAnswer, reason), nil
	}
	if !p.choose.Gate {
		return d, nil
	}
	return s.ChoiceGate(d, expert)
}

// secondDraw gives the second draw of batch Thompson a seed of its own. The
// number itself means nothing, and never changes: recorded decisions rest on
// it.
const secondDraw = 0x5bd1e995

// second is the acquisition of the second candidate. Without a prior (batch
// rules) it is the same acquisition once the first candidate is assumed to be
// measured as predicted, or another draw. A fantasy keeps the second candidate
// from being the first one again: at a point that counts as measured σ is
// small.
func (p *policy) second(
	ctx context.Context, s *step.Step, acquisition next.Acquisition, unaided search.Result,
	prefs *preference.Model,
) (next.Acquisition, error) {
	model := s.View.Objective()
	if p.prior == nil {
		if next.Draws(p.rule) {
			return p.rule.Acquisition(model, s.Seed()+secondDraw)
		}
		measured, err := model.Fantasize(ctx, [][]float64{unaided.X})
		if err != nil {
			return nil, err
		}
		return p.rule.Acquisition(measured, s.Seed())
	}
	if p.fantasize {
		var err error
		if model, err = model.Fantasize(ctx, [][]float64{unaided.X}); err != nil {
			return nil, err
		}
	}
	return p.prior.acquisition(ctx, given{
		model: model, base: acquisition, logarithm: next.Logarithm(p.rule),
		prefs: prefs, beta: s.Beta, turn: s.View.Campaign.Turns + 1,
	})
}

// scored adds the expert's score of the two candidates to the decision. Only
// candidates of a policy with a prior have a score; batch rules ask without
// one.
func scored(d policies.Decision, prefs *preference.Model, unaided, aided search.Result) policies.Decision {
	predictor := prefs.Score.NewPredictor()
	for i, x := range [][]float64{unaided.X, aided.X} {
		score, variance := predictor.At(x, nil, nil)
		d.Candidates[i].Score = &events.Score{Mean: score, SD: math.Sqrt(variance)}
	}
	return d
}

// offer asks the expert to choose between the two candidates, in random order.
// The order is random, or experts who take the first one would be followed to
// the model's own.
func (p *policy) offer(
	ctx context.Context, s *step.Step, d policies.Decision, expert string, unaided,
	aided search.Result,
) (policies.Decision, error) {
	if p.choose.Explain {
		attributions, err := attribute(ctx, s, unaided, aided)
		if err != nil {
			return d, err
		}
		d.Attributions = attributions
	}
	d = step.Shuffled(d)
	reason := fmt.Sprintf(
		"%s chooses between the best bound and the best once what they prefer is weighed in.",
		expert,
	)
	if p.prior == nil {
		reason = fmt.Sprintf("%s chooses between the two best candidates.", expert)
	}
	explanation := "Which of the two shall be measured? " + s.BestSoFar()
	if r := d.Review; r != nil && r.Expert == expert {
		explanation += fmt.Sprintf(
			" Your choice in %s was right with probability %.2f, now that %s is measured.",
			r.Question, r.Probability, r.Experiment,
		)
	}
	return d.Ask(events.FormComparison, expert, policies.RuleAsk, reason, explanation), nil
}
