// Package direct is the family of policies that measure the experts' own choices, without a
// model of the objective. With manual the experts name each composition, with prior-sampling
// (Adachi et al. 2024, Table 1) it is a draw from the density
//
//	p(x) ∝ π(x),   π(x) the probability that x is preferred to a random composition,
//
// by rejection. They are baselines: comparison with them shows the benefit of a model.
package direct

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/policies"
	"github.com/campaignd/campaignd/policies/next"
	"github.com/campaignd/campaignd/policies/step"
	"github.com/campaignd/campaignd/policies/turn"
	"github.com/campaignd/campaignd/projections/campaign"
)

// Family is the program's row for these policies.
var Family = policies.Family{
	Name:    "direct",
	Version: policies.Version, Earlier: policies.Earlier,
	Rules: []policies.Rule{
		{Part: policies.Next, Name: PriorName, Settings: func() definition.Settings { return new(Prior) },
			Preference: true},
		{Part: policies.Next, Name: ManualName, Settings: func() definition.Settings { return new(Manual) },
			Preference: true},
	},
	Methods: []policies.Method{
		{
			Name:    "prior-sampling",
			Summary: "samples of the expert's prior",
			Source:  "Adachi et al. 2024, Table 1",
			Asks:    "comparisons, at first",
			Policy:  policies.Alone(Prior{}.Choice()),
		},
		{Name: "manual", Summary: "the expert names each composition",
			Asks: "what to measure", Form: events.FormPinpoint, Policy: policies.Alone(Manual{}.Choice())},
	},
	New: New,
}

// policy takes each composition from the experts, who take turns.
type policy struct {
	def   definition.Campaign
	drawn step.Drawn
}

// New returns the policy of a complete definition.
func New(def definition.Campaign, _ next.Rule) (policies.Policy, error) {
	return &policy{def: def}, nil
}

func (p *policy) Needs() policies.Needs {
	needs := policies.Needs{Objective: p.def.Stop.ByModels()}
	if p.def.Policy.Next.Name == PriorName {
		needs.Preference.Form = events.PreferenceChoice
	}
	return needs
}

func (p *policy) Decide(_ context.Context, v policies.View, seed uint64) (policies.Decision, error) {
	d := step.Stop(&p.def, v, step.Begin(v, seed))
	switch {
	case d.Made():
		return d, nil
	case p.def.Policy.Next.Name == ManualName:
		return p.manual(v, d)
	}
	return p.sample(v, d)
}

// manual runs the composition that the expert names, and a random one where
// they name none.
func (p *policy) manual(v policies.View, d policies.Decision) (policies.Decision, error) {
	q := turn.Last(turn.Questions(v.Campaign))
	switch {
	case q == nil && turn.QuestionsSpent(v.Campaign, &p.def):
		return step.AtRandom(
			v,
			d,
			policies.RuleLabelBudget,
			fmt.Sprintf(
				"Nobody is asked, since %s: a composition at random is taken.",
				turn.WhyNotAsked(v.Campaign, &p.def),
			),
		)
	case q == nil:
		expert := p.def.Experts[turn.Expert(v.Campaign, &p.def)].Name
		return d.Ask(
			events.FormPinpoint,
			expert,
			policies.RuleAsk,
			"The policy is to measure what the expert names.",
			"Which composition shall be measured next?",
		), nil
	case q.Form == events.FormPinpoint && q.Status == campaign.Answered && q.Answer.Point != nil &&
		v.Space.Contains(q.Answer.Point) == nil:
		reason := fmt.Sprintf("%s named it (%s).", q.Expert, q.ID)
		return step.Take(v, d, policies.Named, q.Answer.Point, policies.RulePinpointed, reason), nil
	}
	reason := fmt.Sprintf("%s was %s without a composition: one at random is taken.", q.ID, q.Status)
	return step.AtRandom(v, d, policies.RuleNoAnswer, reason)
}

// priorDraws is the largest number of compositions drawn. If none is accepted the first one is
// taken, so that a decision always ends.
const priorDraws = 1000

// sample draws from the expert's prior: it accepts a random composition with a
// probability proportional to its score. Until there is a model of the score it
// takes a point of a design.
func (p *policy) sample(v policies.View, d policies.Decision) (policies.Decision, error) {
	i := turn.Expert(v.Campaign, &p.def)
	prefs := v.Preferences[i]
	if prefs == nil || prefs.Score == nil {
		return p.drawn.Design(&p.def, v, d, definition.DesignSobol, p.without(v, i))
	}
	fit := prefs.Fit
	d.Preference = &fit
	points, err := v.Space.Sample(priorDraws, d.Seed)
	if err != nil {
		return d, err
	}
	greatest := 0.0
	for _, score := range prefs.Sampled {
		greatest = max(greatest, score)
	}
	predictor, chance := prefs.Score.NewPredictor(), rand.New(rand.NewPCG(d.Seed, 1))
	chosen := points[0]
	for _, point := range points {
		x, err := v.Space.Encode(point)
		if err != nil {
			return d, err
		}
		if score, _ := predictor.At(x, nil, nil); chance.Float64()*greatest < score {
			chosen = point
			break
		}
	}
	reason := fmt.Sprintf("A sample of what %s prefers.", prefs.Expert)
	return step.Take(v, d, policies.Sampled, chosen, policies.RulePrior, reason), nil
}

// without says, for the reason, why a design is taken in place of a draw.
func (p *policy) without(v policies.View, expert int) string {
	if v.ObjectiveError() != nil {
		return step.Unusable(v.ObjectiveError())
	}
	remark := fmt.Sprintf(" There is no model of what %s prefers to draw from", p.def.Experts[expert].Name)
	if err := v.PreferenceErrors[expert]; err != nil {
		remark += ": " + err.Error()
	}
	return remark + "."
}
