// Package unaided is the family of policies that ask no expert. In each step
// they take the composition x at which an acquisition of the model of the
// objective is smallest,
//
//	x = argmin a(x),   a = −EI, the bound μ − βσ, a draw of the model, …
//
// (package policies/next; the model is of a quantity that is minimized, see
// projections/quantity), or else the next point of a space-filling or random
// design. A campaign whose experts are never followed makes the same decisions.
package unaided

import (
	"context"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/policies"
	"github.com/campaignd/campaignd/policies/next"
	"github.com/campaignd/campaignd/policies/step"
)

// Family is the program's row for these policies.
var Family = policies.Family{
	Name:    "unaided",
	Version: policies.Version, Earlier: policies.Earlier,
	Rules: []policies.Rule{
		{Part: policies.Next, Name: next.LCBName,
			Settings: func() definition.Settings { return new(next.LCB) }},
		{Part: policies.Next, Name: next.LogEIName,
			Settings: func() definition.Settings { return new(next.LogEI) }},
		{Part: policies.Next, Name: next.LogNEIName, Fidelity: true,
			Settings: func() definition.Settings { return new(next.LogNEI) }},
		{Part: policies.Next, Name: next.LogNEHVIName, Tradeoff: true, Fidelity: true,
			Settings: func() definition.Settings { return new(next.LogNEHVI) }},
		{Part: policies.Next, Name: next.ThompsonName,
			Settings: func() definition.Settings { return new(next.Thompson) }},
		{Part: policies.Next, Name: next.SobolName, Tradeoff: true, Preference: true,
			Settings: func() definition.Settings { return new(next.Sobol) }},
		{Part: policies.Next, Name: next.RandomName, Tradeoff: true, Preference: true,
			Settings: func() definition.Settings { return new(next.Random) }},
		{Part: policies.Trust, Name: policies.None,
			Settings: func() definition.Settings { return new(None) }},
		{Part: policies.Handover, Name: policies.Never,
			Settings: func() definition.Settings { return new(Never) }},
	},
	Methods: []policies.Method{
		{
			Name: "lcb", Summary: "confidence bound, no expert is asked",
			Policy: policies.Alone(next.LCB{}.Choice()),
		},
		{
			Name: "logei", Summary: "expected improvement, no expert is asked",
			Policy: policies.Alone(next.LogEI{}.Choice()),
		},
		{
			Name: "lognei", Summary: "noisy expected improvement with restarts, no expert is asked",
			Policy: policies.Alone(next.LogNEI{}.Choice()),
		},
		{
			Name: "lognehvi", Summary: "noisy expected hypervolume improvement of a trade-off, no expert is asked",
			Policy: policies.Alone(next.LogNEHVI{}.Choice()), Tradeoff: true,
		},
		{
			Name: "thompson", Summary: "Thompson sampling, no expert is asked",
			Policy: policies.Alone(next.Thompson{}.Choice()),
		},
		{Name: "sobol", Summary: "a space-filling design", Policy: policies.Alone(next.Sobol{}.Choice())},
		{Name: "random", Summary: "compositions at random", Policy: policies.Alone(next.Random{}.Choice())},
	},
	New: New,
}

// policy runs the unaided candidate of each step, or the next point of a
// design.
type policy struct {
	def  definition.Campaign
	rule next.Rule // nil for a design

	drawn step.Drawn
}

// New returns the policy of a complete definition.
func New(def definition.Campaign, rule next.Rule) (policies.Policy, error) {
	return &policy{def: def, rule: rule}, nil
}

func (p *policy) Needs() policies.Needs {
	return policies.Needs{Objective: p.rule != nil || p.def.Stop.ByModels()}
}

func (p *policy) Decide(ctx context.Context, v policies.View, seed uint64) (policies.Decision, error) {
	d := step.Stop(&p.def, v, step.Begin(v, seed))
	if d.Made() {
		return d, nil
	}
	if p.rule != nil {
		m := step.Modeled{Def: &p.def, Rule: p.rule, Choose: choose}
		return m.Decide(ctx, v, d)
	}
	remark := ""
	if v.ObjectiveError() != nil {
		remark = step.Unusable(v.ObjectiveError())
	}
	return p.drawn.Design(&p.def, v, d, p.def.Policy.Next.Name, remark)
}

// choose runs the unaided candidate, unless a question of another policy, from
// before an amendment, has an answer that settles the step.
func choose(ctx context.Context, s *step.Step, d policies.Decision) (policies.Decision, error) {
	d, err := s.Answered(d)
	if err != nil || d.Made() {
		return d, err
	}
	acquisition, err := s.Acquisition()
	if err != nil {
		return d, err
	}
	d, _, err = s.Unaided(ctx, d, acquisition)
	if err != nil || d.Made() {
		return d, err
	}
	return s.RunUnaided(d), nil
}
