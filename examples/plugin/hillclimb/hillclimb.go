// Package hillclimb is a method that takes a small step from the best
// composition so far, a (1+1) evolution strategy, and lets an expert turn steps
// down.
package hillclimb

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

const (
	name  = "hillclimb" // of the family, its rule, its method and its candidate
	tries = 3           // steps that the experts may turn down in a row
)

// Family is the row of the table.
var Family = policies.Family{
	Name:    name,
	Version: 1,
	Rules: []policies.Rule{{Part: policies.Next, Name: name,
		Settings: func() definition.Settings { return new(Settings) }}},
	Methods: []policies.Method{{Name: name, Summary: "small steps from the best composition so far",
		Asks: "accept or reject", Form: events.FormLabel,
		Policy: policies.Alone(definition.NewChoice(name, nil))}},
	New: open,
}

// Settings are what a campaign file says of the method.
type Settings struct {
	// Step is the standard deviation of a step, as a share of each range.
	// Default 0.1.
	Step *float64 `json:"step,omitempty" jsonschema:"minimum=0.001,maximum=1"`
}

// Complete, Check and Words implement definition.Settings.
func (s *Settings) Complete(*definition.Campaign) { definition.DefaultTo(&s.Step, 0.1) }

func (*Settings) Check(*definition.Campaign, definition.Path) []definition.Fault { return nil }

func (s *Settings) Words(*definition.Campaign) string {
	return fmt.Sprintf("steps of %g of each range from the best composition", *s.Step)
}

// PartWords implements policies.PartSettings: the experts are asked by the rule
// itself.
func (*Settings) PartWords(policies.Part) string { return "experts accept or reject each step" }

type policy struct {
	def      definition.Campaign
	settings Settings
}

func open(def definition.Campaign, _ next.Rule) (policies.Policy, error) {
	p := &policy{def: def}
	err := def.Policy.Next.Decode(&p.settings)
	return p, err
}

func (*policy) Needs() policies.Needs { return policies.Needs{} }

func (p *policy) Decide(_ context.Context, v policies.View, seed uint64) (policies.Decision, error) {
	d := step.Stop(&p.def, v, step.Begin(v, seed))
	best := incumbent(v.Campaign, p.def.Sought().Goal)
	switch {
	case d.Made():
		return d, nil
	case best == nil:
		return step.Design(&p.def, v, d, definition.DesignSobol, " Nothing has been measured yet.")
	}
	asked := turn.Questions(v.Campaign) // in this turn
	if q := turn.Last(asked); q != nil && q.Status == campaign.Answered &&
		q.Answer.Label == events.LabelAccept {
		return step.Take(v, d, name, q.Composition(), policies.RuleAccepted, q.Expert+" accepted it."), nil
	}
	x, err := v.Space.Encode(best.Measurement.Actual)
	if err != nil {
		return d, err
	}
	random := rand.New(rand.NewPCG(seed, 0))
	for i := range x {
		x[i] += *p.settings.Step * random.NormFloat64()
	}
	point, err := v.Space.Snap(x)
	if err != nil {
		return d, err
	}
	d = step.Take(v, d, name, point, "step", "A step from "+best.ID+", the best so far.")
	if len(p.def.Experts) == 0 || len(asked) >= tries || turn.QuestionsSpent(v.Campaign, &p.def) {
		return d, nil
	}
	expert := p.def.Experts[turn.Expert(v.Campaign, &p.def)].Name
	return d.Ask(events.FormLabel, expert, policies.RuleAsk, d.Reason, d.Reason), nil
}

// incumbent returns the experiment with the best measurement, nil where there
// is none.
func incumbent(s *campaign.State, goal string) (best *campaign.Experiment) {
	var most float64
	for x, value := range s.Compared() {
		if best == nil || (value.Value > most) == (goal == definition.Maximize) {
			best, most = x, value.Value
		}
	}
	return best
}
