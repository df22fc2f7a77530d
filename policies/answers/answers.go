// Package answers is the family of policies in which every answer of an expert is a measurement
// of the objective, through a channel that is learned (package internal/num/channel). An
// expert's answer about a composition x depends on the standardized objective f(x), smaller
// being better, through a slope of their own,
//
//	P(reject x) = S(b₀ + b f(x) + r(x)),     estimate = a₀ + a f(x) + r(x) + noise,
//
// where S is the logistic function and r a smooth prejudice. A positive slope is an expert who
// knows, 0 a guesser, and a negative one an expert who says the opposite; the prior is a
// mixture of the three. Given all answers and measurements f has a posterior again, the
// informed model. So a guesser's answers lose their weight by their own content, and those of
// an expert who says the opposite are used reversed.
//
// Each step searches for the composition at which the acquisition of the
// informed model is smallest (the aided candidate), and runs it.
//
// Where experts estimate single quantities each quantity has channels and a posterior of its
// own, and the acquisition is that of all of them (package policies/next). Answers about a
// computed objective as a whole then move its prediction from the quantities: see
// seek.Problem.Informed, an approximation.
//
// Harm is bounded in two ways. Answers that say nothing are part of the mixture
// from the beginning, with the weight of Guess: all experiments together can
// speak against the informed model by −ln of that weight at most before the
// model of the measurements alone prevails. And one experiment in Own is the
// one that would be chosen without experts, given everything that has been
// measured.
package answers

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/num/channel"
	"github.com/campaignd/campaignd/policies"
	"github.com/campaignd/campaignd/policies/next"
	"github.com/campaignd/campaignd/policies/search"
	"github.com/campaignd/campaignd/policies/step"
	"github.com/campaignd/campaignd/policies/turn"
	"github.com/campaignd/campaignd/projections/quantity"
)

// Family is the program's row for these policies.
var Family = policies.Family{
	Name:    "answers",
	Version: policies.Version, Earlier: policies.Earlier,
	Rules: []policies.Rule{
		{Part: policies.Trust, Name: Name, Settings: func() definition.Settings { return new(Answers) }},
		{Part: policies.Handover, Name: WorthName,
			Settings: func() definition.Settings { return new(Worth) }},
	},
	Methods: []policies.Method{{
		Name:    "answers",
		Summary: "experts' answers are measurements, whose worth is learned",
		Asks:    "what they expect of some compositions, at first",
		Policy:  definition.Policy{Next: next.LogNEI{}.Choice(), Trust: Answers{}.Choice()},
	}},
	New: New,
}

// policy measures where answers and measurements together expect most.
type policy struct {
	def    definition.Campaign
	rule   next.Rule
	config channel.Config
	own    int
	tells  bool // whether answers about a computed objective move what its quantities say
	// compared is the number of compositions that an initial comparison orders; 0: two.
	compared int
	worth    *Worth // nil where experts are asked before the first experiment only
}

// New returns the policy of a complete definition. worth is copied into the
// policy, so that nothing changes it afterwards.
func New(def definition.Campaign, rule next.Rule) (policies.Policy, error) {
	s, ok := definition.SettingsIf[Answers](def.Policy.Trust, Name)
	if !ok || rule == nil {
		return nil, fmt.Errorf("%s needs a rule of next that searches a model", Name)
	}
	err := cmp.Or(
		policies.Has(Name, "guess", s.Guess != nil),
		policies.Has(Name, "against", s.Against != nil),
		policies.Has(Name, "own", s.Own != nil),
	)
	if err != nil {
		return nil, err
	}
	p := &policy{def: def, rule: rule, config: channel.Config{Guess: *s.Guess, Against: *s.Against},
		own: *s.Own, tells: s.Quantities || byQuantities(&def)}
	if s.Options != nil {
		p.compared = *s.Options
	}
	if w, asks := definition.SettingsIf[Worth](def.Policy.Handover, WorthName); asks {
		err := cmp.Or(
			policies.Has(WorthName, "least", w.Least != nil),
			policies.Has(WorthName, "share", w.Share != nil),
			policies.Has(WorthName, "per_experiment", w.MaxPerExperiment != nil),
		)
		if err != nil {
			return nil, err
		}
		p.worth = &w
	}
	return p, nil
}

// Needs asks for one model of the objective: the answers are measurements of it.
func (p *policy) Needs() policies.Needs { return policies.Needs{Objective: true, Compared: p.compared} }

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

// choose weighs the informed candidate against the unaided one. The model's own experiment is
// chosen from the measurements alone, and yet shows the informed model's prediction, so that
// the two can be compared once it is measured.
func (p *policy) choose(ctx context.Context, s *step.Step, d policies.Decision) (policies.Decision, error) {
	var err error
	// A question of this family does not ask to run its composition: the answer is only one
	// more measurement. A question of another family, from before an amendment, may be one.
	if q := turn.Last(s.Turn); q == nil || q.Options == nil || q.Options[0].Candidate != policies.Queried {
		if d, err = s.Answered(d); err != nil || d.Made() {
			return d, err
		}
	}
	acquisition, err := s.Acquisition()
	if err != nil {
		return d, err
	}
	d, unaided, err := s.Unaided(ctx, d, acquisition)
	if err != nil || d.Made() {
		return d, err
	}
	said := hear(s.View, &p.def)
	if silent(said) && p.worth == nil {
		return d.Run(policies.Unaided, policies.RuleUnaided,
			"No expert has answered anything yet. "+s.Because()), nil
	}
	learned, err := p.learn(ctx, said, s.View.Models.With(s.Measured))
	if err != nil {
		if ctx.Err() != nil {
			return d, err
		}
		return d.Run(policies.Unaided, policies.RuleNoBelief,
			fmt.Sprintf("%v: the unaided candidate is taken.", err)), nil
	}
	d.Answers = learned.weighed()
	informed, err := s.Expecting(ctx, learned.models.Objective())
	if err != nil {
		return d, err
	}
	if err := learned.predict(s, &d, informed, unaided); err != nil {
		return d, err
	}
	if n := s.View.Campaign.Turns + 1; p.own > 0 && n%p.own == 0 {
		return d.Run(policies.Unaided, policies.RuleModelsTurn, fmt.Sprintf(
			"One experiment in %d is the model's own. %s", p.own, s.Because())), nil
	}
	if s.Restarts() {
		return s.RunUnaided(d), nil
	}
	return p.follow(ctx, s, d, learned, informed, unaided)
}

// follow runs the informed candidate, or asks about another composition first,
// where that is worth a question. Seed and starts are those of the unaided
// search, too, so that a difference between the two is due to the answers.
func (p *policy) follow(
	ctx context.Context, s *step.Step, d policies.Decision, l *learned, informed *quantity.Model,
	unaided search.Result,
) (policies.Decision, error) {
	acquisition, err := s.AcquisitionWith(l.models.With(informed), l.tells)
	if err != nil {
		return d, err
	}
	// The same search as for the unaided candidate: answers that say nothing
	// lead to the same one.
	aided, err := s.Find(ctx, acquisition, step.SearchUnaided)
	if err != nil {
		return d, err
	}
	if d, err = s.Add(d, policies.Aided, aided); err != nil {
		return d, err
	}
	if err = l.predict(s, &d, informed, aided); err != nil {
		return d, err
	}
	d, notAsked, err := p.ask(ctx, s, d, l, informed, aided)
	if err != nil || d.Made() {
		return d, err
	}
	reason := "It has " + s.Rule.Rationale() + ", the experts' answers counted as measurements."
	if slices.Equal(aided.X, unaided.X) {
		return d.Run(policies.Aided, policies.RuleAgree,
			reason+" It is the unaided candidate, too."+notAsked), nil
	}
	why, err := l.why(ctx, s, p.config, aided.X, unaided.X)
	if err != nil {
		return d, err
	}
	return d.Run(policies.Aided, policies.RuleAnswers, reason+why+notAsked), nil
}

// Informed implements policies.Informer.
func (p *policy) Informed(ctx context.Context, v policies.View) (*quantity.Model, error) {
	said := hear(v, &p.def)
	if v.Objective() == nil || silent(said) {
		return nil, nil
	}
	learned, err := p.learn(ctx, said, v.Models)
	if err != nil || !learned.models.Objective().Informed() {
		return nil, err
	}
	return learned.models.Objective(), nil
}

// Helps implements policies.Helper. An expert who has said nothing yet is given
// the prior. It is for showing; where nothing can be learned it shows nothing.
func (p *policy) Helps(v policies.View) []policies.Help {
	if v.Objective() == nil {
		return nil
	}
	learned, err := p.learn(context.Background(), hear(v, &p.def), v.Models)
	if err != nil {
		return nil
	}
	weighed := learned.weighed()
	var all []policies.Help
	for _, e := range p.def.Experts {
		before := len(all)
		for _, w := range weighed {
			if w.Expert == e.Name {
				all = append(all, policies.Help{Expert: w.Expert, Kind: w.Kind, Quantity: w.Quantity, Labels: w.Answers,
					Helps: w.Helps, Misleads: w.Misleads, Worth: w.Worth})
			}
		}
		if len(all) == before { // the prior
			all = append(all, policies.Help{Expert: e.Name,
				Helps: 1 - p.config.Guess - p.config.Against, Misleads: p.config.Against})
		}
	}
	return all
}
