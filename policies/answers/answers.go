// Package answers is the family of policies in which every answer of an expert
// is a measurement of the objective, through a channel that is learned (package
// internal/num/channel). An expert's answer about a composition x depends on
// the standardized objective f(x), of which less is better, through a slope of
// their own,
//
//	P(reject x) = S(b₀ + b f(x) + r(x)),     estimate = a₀ + a f(x) + r(x) + noise,
//
// where S is the logistic function and r a smooth prejudice. A positive slope
// is an expert who knows, 0 a guesser, and a negative one an expert who says
// the opposite; the prior is a mixture of the three. Given all answers and
// measurements f has a posterior again, the informed model. So a guesser's
// answers lose their weight by what they say, and those of an expert who says
// the opposite are used reversed.
//
// Each step searches for the composition at which the acquisition of the
// informed model is smallest (the aided candidate), and runs it.
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
	"math"
	"slices"
	"strings"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/format"
	"github.com/campaignd/campaignd/internal/num/channel"
	"github.com/campaignd/campaignd/policies"
	"github.com/campaignd/campaignd/policies/next"
	"github.com/campaignd/campaignd/policies/search"
	"github.com/campaignd/campaignd/policies/step"
	"github.com/campaignd/campaignd/policies/turn"
	"github.com/campaignd/campaignd/projections/objective"
)

// Family is the program's row for these policies.
var Family = policies.Family{
	Name:    "answers",
	Version: policies.Version,
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
	// compared is how many compositions an initial comparison orders; 0: two.
	compared int
	worth    *Worth // nil where experts are asked before the first experiment only
}

// New returns the policy of a complete definition. worth is copied into the
// policy, so that nothing changes it afterwards.
func New(def definition.Campaign) (policies.Policy, error) {
	rule, err := next.New(def.Policy.Next)
	if err != nil {
		return nil, err
	}
	s, ok := definition.SettingsIf[Answers](def.Policy.Trust, Name)
	if !ok || rule == nil {
		return nil, fmt.Errorf("%s needs a rule of next that searches a model", Name)
	}
	err = cmp.Or(
		policies.Has(Name, "guess", s.Guess != nil),
		policies.Has(Name, "against", s.Against != nil),
		policies.Has(Name, "own", s.Own != nil),
	)
	if err != nil {
		return nil, err
	}
	p := &policy{def: def, rule: rule, config: channel.Config{Guess: *s.Guess, Against: *s.Against},
		own: *s.Own}
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

// choose weighs the informed candidate against the unaided one. The model's own
// experiment is chosen from the measurements alone, and yet shows what the
// informed model predicts, so that the two can be compared once it is measured.
func (p *policy) choose(ctx context.Context, s *step.Step, d policies.Decision) (policies.Decision, error) {
	var err error
	// A question of this family is no request to run its composition: the
	// answer is only one more measurement. A question of another family, from
	// before an amendment, may be one.
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
	said := hear(s.View, p.def.Experts)
	if len(said.channels) == 0 && p.worth == nil {
		return d.Run(policies.Unaided, policies.RuleUnaided,
			"No expert has answered anything yet. "+s.Because()), nil
	}
	learned, err := said.learn(ctx, s.Measured, p.config)
	if err != nil {
		if ctx.Err() != nil {
			return d, err
		}
		return d.Run(policies.Unaided, policies.RuleNoBelief,
			fmt.Sprintf("%v: the unaided candidate is taken.", err)), nil
	}
	d.Answers = said.weighed(learned, s.Measured)
	informed, err := s.Expecting(ctx, s.Measured.Given(learned.Objective))
	if err != nil {
		return d, err
	}
	predict(&d, informed, unaided)
	if n := s.View.Campaign.Turns + 1; p.own > 0 && n%p.own == 0 {
		return d.Run(policies.Unaided, policies.RuleModelsTurn, fmt.Sprintf(
			"One experiment in %d is the model's own. %s", p.own, s.Because())), nil
	}
	if s.Restarts() {
		return s.RunUnaided(d), nil
	}
	return p.follow(ctx, s, d, said, learned, informed, unaided)
}

// follow runs the informed candidate, or asks about another composition first,
// where that is worth a question. Seed and starts are those of the unaided
// search, too, so that a difference between the two is due to the answers.
func (p *policy) follow(
	ctx context.Context, s *step.Step, d policies.Decision, said heard, learned *channel.Posterior,
	informed *objective.Model, unaided search.Result,
) (policies.Decision, error) {
	acquisition, err := s.AcquisitionOf(informed)
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
	predict(&d, informed, aided)
	d, notAsked, err := p.ask(ctx, s, d, said, informed, aided)
	if err != nil || d.Made() {
		return d, err
	}
	reason := "It has " + s.Rule.Rationale() + ", the experts' answers counted as measurements."
	if slices.Equal(aided.X, unaided.X) {
		return d.Run(policies.Aided, policies.RuleAgree,
			reason+" It is the unaided candidate, too."+notAsked), nil
	}
	why, err := said.why(ctx, learned, s, p.config, aided.X, unaided.X)
	if err != nil {
		return d, err
	}
	return d.Run(policies.Aided, policies.RuleAnswers, reason+why+notAsked), nil
}

// predict adds to the latest candidate what the informed model predicts there.
// The candidates are cloned, since the slice may be shared with an earlier
// decision value.
func predict(d *policies.Decision, informed *objective.Model, r search.Result) {
	d.Candidates = slices.Clone(d.Candidates)
	prediction := informed.PredictAt(r.X)
	d.Candidates[len(d.Candidates)-1].Informed = &prediction
}

// learn returns the posterior of the objective and of each channel's slope,
// given the model of the measurements and everything that was said. Nothing is
// kept between decisions: what was learned follows from the log each time.
func (h heard) learn(
	ctx context.Context, m *objective.Model, cfg channel.Config,
) (*channel.Posterior, error) {
	var all []channel.Answers
	for _, c := range h.channels {
		all = append(all, c.answers)
	}
	return channel.Condition(ctx, m.GP(), h.points, all, cfg)
}

// weighed is the record of what was learned of each channel: the probabilities
// that it helps and misleads, and the worth of an answer. It goes into the
// event of the decision, so that pages need not compute it again.
func (h heard) weighed(p *channel.Posterior, m *objective.Model) (all []events.AnswersWeighed) {
	for i, c := range h.channels {
		helps, misleads := channel.Sides(p.Slopes[i])
		all = append(all, events.AnswersWeighed{
			Expert: c.expert, Kind: c.kind, Answers: c.count, Helps: helps, Misleads: misleads,
			Worth: channel.Worth(p.Slopes[i], m.Fit.Noise),
		})
	}
	return all
}

// whySo is of how many compositions, at most, the answers are examined one by
// one for the explanation: each costs a computation of the posterior.
// leastShare is by how much an answer must have moved the choice to be named,
// in standard deviations of what was measured.
const (
	whySo      = 4
	leastShare = 0.05
)

// why says what the answers changed in the expectations at the informed
// candidate and at the unaided one, and which answers speak most for the one or
// the other. An answer's part is the change of the difference between the two
// when the posterior is computed without it: the channels are learned anew, so
// an answer may speak by what it shows of its expert. Leaving out costs a
// computation each, so that only those are tried whose shares differ most
// between the two candidates.
func (h heard) why(
	ctx context.Context, p *channel.Posterior, s *step.Step, cfg channel.Config, aided, unaided []float64,
) (string, error) {
	here, there := p.Objective.Shares(aided), p.Objective.Shares(unaided)
	order, favor := make([]int, len(here)), make([]float64, len(here))
	moved, other := 0.0, 0.0
	for i := range here {
		order[i], favor[i] = i, there[i]-here[i] // smaller is better
		moved, other = moved+here[i], other+there[i]
	}
	if max(math.Abs(moved), math.Abs(other)) < leastShare {
		return " They hardly change what is expected of it, or of the unaided candidate; they make some of it better known.", nil
	}
	unit := s.Def.Sought().Unit
	change := func(z float64) string {
		by := s.Measured.Untransform(z) - s.Measured.Untransform(0)
		if by < 0 {
			return fmt.Sprintf("%s lower", amount(by, unit))
		}
		return fmt.Sprintf("%s higher", amount(by, unit))
	}
	text := fmt.Sprintf(
		" With them it is expected to be %s, and the unaided candidate %s.",
		change(moved),
		change(other),
	)
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(math.Abs(favor[j]), math.Abs(favor[i])) })
	order = order[:min(whySo, len(order))]
	for _, i := range order {
		without, err := h.without(i).learn(ctx, s.Measured, cfg)
		if err != nil {
			return "", err
		}
		favor[i] = other - moved - (sum(without.Objective.Shares(unaided)) - sum(without.Objective.Shares(aided)))
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(math.Abs(favor[j]), math.Abs(favor[i])) })
	var parts []string
	for _, i := range order {
		if math.Abs(favor[i]) < leastShare {
			break
		}
		speaks := "for"
		if favor[i] < 0 {
			speaks = "against"
		}
		parts = append(parts, fmt.Sprintf("%s (%s %s it)",
			strings.Join(h.questions[i], ", "), amount(favor[i]*s.Measured.Fit.Scale, unit), speaks))
	}
	if len(parts) > 0 {
		text += fmt.Sprintf(" Between the two, most is said by %s.", format.List(parts...))
	}
	return text, nil
}

// sum adds in the order of the slice, which is part of the result's bits.
func sum(x []float64) (sum float64) {
	for _, v := range x {
		sum += v
	}
	return sum
}

// without returns what was said except for the answers about one of the points.
// An order that contains it is left out as a whole. The points stay, so that
// their indices do.
func (h heard) without(point int) heard {
	less := heard{points: h.points, questions: h.questions}
	for _, c := range h.channels {
		var a channel.Answers
		for _, l := range c.answers.Labels {
			if l.Point != point {
				a.Labels = append(a.Labels, l)
			}
		}
		for _, order := range c.answers.Orders {
			if !slices.Contains(order, point) {
				a.Orders = append(a.Orders, order)
			}
		}
		for _, e := range c.answers.Estimates {
			if e.Point != point {
				a.Estimates = append(a.Estimates, e)
			}
		}
		c.answers = a
		less.channels = append(less.channels, c)
	}
	return less
}

// amount writes a difference of the objective, without its sign.
func amount(x float64, unit string) string {
	return format.WithUnit(format.Significant(math.Abs(x), 2), unit)
}

// Informed implements policies.Informer.
func (p *policy) Informed(ctx context.Context, v policies.View) (*objective.Model, error) {
	said := hear(v, p.def.Experts)
	if v.Objective == nil || len(said.channels) == 0 {
		return nil, nil
	}
	learned, err := said.learn(ctx, v.Objective, p.config)
	if err != nil {
		return nil, err
	}
	return v.Objective.Given(learned.Objective), nil
}

// Helps implements policies.Helper. An expert who has said nothing yet is given
// the prior. It is for showing; where nothing can be learned it shows nothing.
func (p *policy) Helps(v policies.View) []policies.Help {
	if v.Objective == nil {
		return nil
	}
	said := hear(v, p.def.Experts)
	learned, err := said.learn(context.Background(), v.Objective, p.config)
	if err != nil {
		return nil
	}
	weighed := said.weighed(learned, v.Objective)
	var all []policies.Help
	for _, e := range p.def.Experts {
		before := len(all)
		for _, w := range weighed {
			if w.Expert == e.Name {
				all = append(all, policies.Help{Expert: w.Expert, Kind: w.Kind, Labels: w.Answers,
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
