// Package cobol is the family of policies in which an expert's belief bends the
// choice: COBOL, COBOHL and HCEI (Xu et al. 2024), with every form of feedback
// of its Appendix H.
//
// The expert labels compositions with accept or reject. A kernel logistic model
// of the labels (projections/belief) gives the score g of rejection, in logits,
// with a confidence interval [g̲(x), ḡ(x)]; g > 0 means likely rejected. Each
// step has two candidates,
//
//	x_u = argmin  μ(x) − βσ(x)                  unaided
//	x_c = argmin  μ(x) − βσ(x) + λ g̲(x)         aided (COBOL)
//
// COBOL's dual variable moves with the constraint, λ ← max(0, λ + ζ g̲(x_c)): it falls while
// the expert may accept the choice. x_c is run only if it can do no harm: its bound lies below
// the worst case of the model, and the model is at most η times as sure of it as of x_u. COBOHL
// searches for x_c where g̲ ≤ 0 and makes no such test; HCEI weighs the expected improvement
// with the probability of acceptance.
//
// Where the interval at x_c is wider than a threshold, and contains 0, the expert is asked
// about x_c before it is run. Ours differs from the paper in the times of asking: an expert
// first has to earn trust (policies/handover.Schedule; docs/results.md shows the harm that this
// prevents).
package cobol

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/policies"
	"github.com/campaignd/campaignd/policies/handover"
	"github.com/campaignd/campaignd/policies/next"
	"github.com/campaignd/campaignd/policies/search"
	"github.com/campaignd/campaignd/policies/step"
	"github.com/campaignd/campaignd/policies/trust"
	"github.com/campaignd/campaignd/projections/belief"
)

// Family is the program's row for these policies.
var Family = policies.Family{
	Name:    "cobol",
	Version: policies.Version, Earlier: policies.Earlier,
	Rules: []policies.Rule{
		{Part: policies.Trust, Name: Name, Settings: func() definition.Settings { return new(COBOL) }},
		{Part: policies.Trust, Name: COBOHLName, Settings: func() definition.Settings { return new(COBOHL) }},
		{Part: policies.Trust, Name: HCEIName, Settings: func() definition.Settings { return new(HCEI) }},
		{
			Part:     policies.Handover,
			Name:     WidthName,
			Settings: func() definition.Settings { return new(Width) },
		},
	},
	Methods: []policies.Method{
		{
			Name:    "cobol",
			Summary: "accept or reject, with no-harm and handover",
			Source:  "Xu et al. 2024, Alg. 1",
			Asks:    asks,
			Form:    events.FormLabel,
			Policy:  definition.Policy{Next: next.LCB{}.Choice(), Trust: COBOL{}.Choice()},
		},
		{
			Name:    "cobohl",
			Summary: "accept or reject with an expert who is known to help",
			Source:  "Xu et al. 2024, Alg. 2",
			Asks:    asks,
			Form:    events.FormLabel,
			Policy:  definition.Policy{Next: next.LCB{}.Choice(), Trust: COBOHL{}.Choice()},
		},
		{
			Name:    "hcei",
			Summary: "expected improvement weighed with acceptance",
			Source:  "Xu et al. 2024, Eq. 70",
			Asks:    asks,
			Form:    events.FormLabel,
			Policy:  definition.Policy{Next: next.LogEI{}.Choice(), Trust: HCEI{}.Choice()},
		},
	},
	New: New,
}

// The question to experts, in the table of methods.
const asks = "accept or reject"

// policy weighs an aided candidate, to which an expert's belief leads, against
// the unaided one. Where there are several experts they take turns.
type policy struct {
	def    definition.Campaign
	rule   next.Rule
	belief belief.Needs
	// cobol is nil for the other two rules, which cobohl tells apart.
	cobol  *trust.COBOL
	cobohl bool
	// width is nil where no expert is asked.
	width *handover.Width
}

// New returns the policy of a complete definition. An incomplete definition is an error and
// gets no defaults here: the meaning of a recorded definition must not depend on the version of
// the program.
func New(def definition.Campaign, rule next.Rule) (policies.Policy, error) {
	name := def.Policy.Trust.Name
	b := belief.SettingsOf(def.Policy.Trust)
	if rule == nil || b == nil {
		return nil, fmt.Errorf("%s needs a rule of next that searches a model, and a belief", name)
	}
	if err := b.Missing(); err != nil {
		return nil, err
	}
	p := &policy{def: def, rule: rule, belief: belief.Needs{Settings: *b}, cobohl: name == COBOHLName}
	if s, ok := SettingsOf(def.Policy); ok {
		err := cmp.Or(
			policies.Has(name, "lambda0", s.Lambda0 != nil),
			policies.Has(name, "zeta", s.Zeta != nil),
			policies.Has(name, "eta", s.Eta != nil),
		)
		if err != nil {
			return nil, err
		}
		p.cobol = &trust.COBOL{Lambda0: *s.Lambda0, Zeta: *s.Zeta, Eta: *s.Eta}
		p.belief.DoubleConfidence = s.Paper
	}
	var err error
	p.width, err = widthOf(def.Policy)
	return p, err
}

// widthOf returns the rule by which experts are asked, nil if none is. A handover of another
// name (never) asks no one.
func widthOf(policy definition.Policy) (*handover.Width, error) {
	s, ok := WidthOf(policy)
	if !ok {
		return nil, nil
	}
	err := cmp.Or(
		policies.Has(WidthName, "threshold", s.Threshold != nil),
		policies.Has(WidthName, "per_experiment", s.MaxPerExperiment != nil),
		policies.Has(WidthName, "where_it_matters", s.OnlyIfDecisive != nil),
		policies.Has(WidthName, "gate", s.Gate != nil),
	)
	if err != nil {
		return nil, err
	}
	return &handover.Width{
		Threshold: *s.Threshold, MaxPerExperiment: *s.MaxPerExperiment,
		OnlyIfDecisive: *s.OnlyIfDecisive, Gate: *s.Gate,
	}, nil
}

// Needs asks for the experts' beliefs only where there are experts: without them
// this is the policy of its acquisition alone.
func (p *policy) Needs() policies.Needs {
	needs := policies.Needs{Objective: true}
	if len(p.def.Experts) > 0 {
		needs.Belief = &p.belief
	}
	return needs
}

// Decide asks first whether the campaign is over; choose does the rest on a
// model.
func (p *policy) Decide(ctx context.Context, v policies.View, seed uint64) (policies.Decision, error) {
	d := step.Stop(&p.def, v, step.Begin(v, seed))
	if d.Made() {
		return d, nil
	}
	m := step.Modeled{Def: &p.def, Rule: p.rule, Choose: p.choose}
	return m.Decide(ctx, v, d)
}

// assessed reports whether experts have to earn trust (see
// [handover.Schedule]): with cobol, its gate, and labels.
func (p *policy) assessed() bool {
	return p.cobol != nil && len(p.def.Experts) > 0 && p.width != nil && p.width.Gate &&
		p.belief.Feedback == belief.FeedbackLabel
}

// ordered reports whether experts order candidates instead of labeling one.
func (p *policy) ordered() bool {
	return p.belief.Feedback == belief.FeedbackComparison || p.belief.Feedback == belief.FeedbackRanking
}

// optimism is the number of standard deviations below the mean at which an aided candidate is
// valued. Where experts earn trust they get more credit than the model: the test of harm then
// rules out less. The credit counts in the search for the aided candidate and in the test of
// harm alike, or the search would find candidates that the test rules out.
func (p *policy) optimism(beta float64) float64 {
	if p.assessed() {
		return trust.Optimism * beta
	}
	return beta
}

// choose makes the decision of a step (Xu et al. 2024, Alg. 1). An answer is looked at before
// any search, except where it may be about the unaided candidate: the searches are the cost of
// a decision.
func (p *policy) choose(ctx context.Context, s *step.Step, d policies.Decision) (policies.Decision, error) {
	var err error
	// The answer of an expert who has to earn trust may be about the unaided
	// candidate, which is not known yet: it is looked at below.
	if !p.assessed() {
		if d, err = s.Accepted(d); err != nil || d.Made() {
			return d, err
		}
	}
	if d, err = s.Chosen(d); err != nil || d.Made() {
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
	if p.assessed() {
		if d, err = judged(s, d, unaided); err != nil || d.Made() {
			return d, err
		}
		if d, err = s.Accepted(d); err != nil || d.Made() {
			return d, err
		}
	}
	if len(p.def.Experts) == 0 {
		return s.RunUnaided(d), nil
	}
	return p.consult(ctx, s, d, acquisition, unaided)
}

// consult lets the expert of this step contribute. Where their belief cannot be
// used the decision is made without it, with the reason.
func (p *policy) consult(
	ctx context.Context, s *step.Step, d policies.Decision, acquisition next.Acquisition,
	unaided search.Result,
) (policies.Decision, error) {
	// Experts take turns by the log, so that the same state asks the same one.
	i := s.Expert()
	expert := p.def.Experts[i].Name
	var decided policies.Decision
	var err error
	switch b := s.View.Beliefs[i]; {
	case p.belief.Feedback == belief.FeedbackPinpoint:
		decided, err = p.pinpoint(ctx, s, d, expert, unaided)
	case b == nil:
		err = fmt.Errorf("%w: %w", step.ErrBelief, cmp.Or(s.View.BeliefErrors[i], step.ErrNoFit))
	default:
		if b.Fit != nil {
			fit := *b.Fit
			d.Belief = &fit
		}
		decided, err = p.weigh(ctx, s, d, expert, b, acquisition, unaided)
	}
	// A belief that cannot be solved costs its expert this step and nothing more: law 5 of
	// docs/architecture.md: the reason mentions it, and the campaign goes on.
	if errors.Is(err, step.ErrBelief) {
		return d.Run(
			policies.Unaided, policies.RuleNoBelief,
			fmt.Sprintf("%v: the unaided candidate is taken.", err),
		), nil
	}
	return decided, err
}

// weigh weighs the aided candidate against the unaided one (Xu et al. 2024, Alg. 1 and 2). The
// dual variable moves before the test of harm: it follows the constraint and not the experiment
// that is run.
func (p *policy) weigh(
	ctx context.Context, s *step.Step, d policies.Decision, expert string, b *belief.Model,
	acquisition next.Acquisition, unaided search.Result,
) (policies.Decision, error) {
	if p.width != nil {
		var err error
		if d, err = p.admit(s, d, expert, b, unaided); err != nil || d.Made() {
			return d, err
		}
	}
	if p.assessed() {
		acquisition = next.Bound(s.View.Objective(), -p.optimism(s.Beta))
	}
	aided, err := p.aided(ctx, s, expert, b, acquisition, unaided)
	if err != nil {
		return d, err
	}
	if aided.Point == nil {
		return d.Run(
			policies.Unaided, policies.RuleRejects,
			"The expert would accept nothing: the unaided candidate is taken.",
		), nil
	}
	if d, err = s.Add(d, policies.Aided, aided); err != nil {
		return d, err
	}
	interval := *d.Candidates[1].Belief // of the aided candidate, which was added second
	if p.cobol != nil {
		d = p.adjust(d, expert, p.lambda(s, expert), interval.Lower)
	}
	if d, err = p.noHarm(ctx, s, d, unaided, aided); err != nil || d.Made() {
		return d, err
	}
	switch {
	case p.width == nil:
		return d.Run(
			policies.Aided, policies.RuleNever,
			"It has the best bound once the expert's belief is weighed in; the policy asks no one.",
		), nil
	case p.ordered():
		return p.compare(s, d, expert, unaided, aided)
	}
	return p.question(s, d, expert, aided, interval), nil
}

// lambda is the expert's dual variable λ, as it was last recorded.
func (p *policy) lambda(s *step.Step, expert string) float64 {
	if lambda, ok := s.View.Campaign.Lambda(expert); ok {
		return lambda
	}
	return p.cobol.Lambda0
}

// adjust moves the dual variable by one step of gradient ascent on the
// constraint: bound is its violation g̲(x_c), in logits. The move is recorded
// as an event of its own. λ ← [λ + ζ g̲(x_c)]⁺: where even the most favorable
// belief rejects x_c the weight rises, else it falls towards 0.
func (p *policy) adjust(d policies.Decision, expert string, lambda, bound float64) policies.Decision {
	to := p.cobol.Step(lambda, bound)
	d.Lambda = &to
	d.Trust = &events.TrustAdjusted{Expert: expert, From: lambda, To: to, Violation: bound}
	return d
}

// acceptable is the largest lower belief bound that COBOHL's candidate may have, in logits
// above 0: the penalties meet the constraint only in the limit. At a logit of 0.01 the expert
// accepts with probability 0.4975 at least by the most favorable belief.
const acceptable = 1e-2

// penalties are the growing weights of COBOHL's constraint, one search after
// the other, each from the result of the one before: a large weight alone has a
// narrow valley that searches do not find. Their number and size are a choice.
var penalties = []float64{10, 1e3, 1e5}

// aided searches for the aided candidate by the policy's rule. The result has
// no point where COBOHL finds none that the expert may accept. Every rule
// starts from the unaided candidate besides its own starts, so that without a
// belief to speak of the two agree.
func (p *policy) aided(
	ctx context.Context, s *step.Step, expert string, b *belief.Model, acquisition next.Acquisition,
	unaided search.Result,
) (search.Result, error) {
	switch {
	case p.cobol != nil:
		augmented := p.cobol.Augment(acquisition, b, p.lambda(s, expert))
		aided, err := s.Find(ctx, augmented.At, step.SearchAided, unaided.X)
		return aided, cmp.Or(unusable(ctx, augmented.Err()), err)
	case p.cobohl:
		return p.constrained(ctx, s, b, acquisition, unaided)
	}
	return s.Find(ctx, trust.Weighed(acquisition, b), step.SearchAided, unaided.X)
}

// constrained searches for the best composition that the expert may accept,
// g̲(x) ≤ 0, by a quadratic penalty (Xu et al. 2024, Alg. 2 line 4). A smooth
// penalty and not a constraint of the search: g̲ is itself the solution of a
// convex problem at each point, and its set is not convex.
func (p *policy) constrained(
	ctx context.Context, s *step.Step, b *belief.Model, acquisition next.Acquisition,
	unaided search.Result,
) (search.Result, error) {
	aided := unaided
	var unsolved error
	for _, weight := range penalties {
		penalized := trust.Constrained(acquisition, b, weight)
		found, err := s.Find(ctx, penalized.At, step.SearchAided, unaided.X, aided.X)
		unsolved = cmp.Or(penalized.Err(), unsolved)
		if err != nil {
			return search.Result{}, cmp.Or(unusable(ctx, unsolved), err)
		}
		aided = found
	}
	if err := unusable(ctx, unsolved); err != nil {
		return search.Result{}, err
	}
	lower, err := b.Lower(aided.X, nil)
	if err != nil {
		return search.Result{}, unusable(ctx, err)
	}
	if lower > acceptable {
		return search.Result{}, nil
	}
	// The value is that of the acquisition alone, as of the other candidates.
	aided.Value = acquisition(aided.X, nil)
	return aided, nil
}

// unusable returns the error of a belief that could not be solved somewhere
// during a search, nil where it could everywhere. It takes precedence over the
// search's own error, except for a cancelled context. A value of NaN inside a
// search only looks like a place that the acquisition is not defined at: the
// search then goes elsewhere and succeeds, with a result that is not that of
// the rule.
func unusable(ctx context.Context, unsolved error) error {
	switch {
	case unsolved == nil:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	}
	return fmt.Errorf("%w: %w", step.ErrBelief, unsolved)
}

// noHarm takes the unaided candidate where the aided one could do harm: where its bound is not
// below the worst case of the best composition, or the model knows it too well to learn from it
// (Xu et al. 2024, Alg. 1 line 6). COBOHL makes no such test. The worst case is the minimum of
// μ + βσ over the space, searched from both candidates too, so that it is never above its value
// at either of them. With HCEI, which has no η of its own, COBOL's default is taken.
func (p *policy) noHarm(
	ctx context.Context, s *step.Step, d policies.Decision, unaided, aided search.Result,
) (policies.Decision, error) {
	if p.cobohl {
		return d, nil
	}
	worst, err := s.Minimize(
		ctx,
		next.Bound(s.View.Objective(), s.Beta),
		step.SearchWorstCase,
		unaided.X,
		aided.X,
	)
	if err != nil {
		return d, err
	}
	_, sdUnaided := s.View.Objective().Posterior(unaided.X)
	meanAided, sdAided := s.View.Objective().Posterior(aided.X)
	eta := trust.DefaultEta
	if p.cobol != nil {
		eta = p.cobol.Eta
	}
	d.Tests = append(
		d.Tests,
		trust.NoHarm(meanAided-p.optimism(s.Beta)*sdAided, worst.Value, sdUnaided, sdAided, eta)...,
	)
	if failed := trust.FirstFailed(d.Tests); failed != "" {
		reason := "The expert's candidate could do harm (" + failed + "): the unaided one is taken."
		return d.Run(policies.Unaided, policies.RuleNoHarm, reason), nil
	}
	return d, nil
}
