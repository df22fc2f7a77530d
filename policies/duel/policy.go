package duel

import (
	"context"
	"errors"
	"fmt"

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
	Name:    "duel",
	Version: policies.Version, Earlier: policies.Earlier,
	Rules: []policies.Rule{
		{Part: policies.Duel, Name: MRLPFName, Settings: func() definition.Settings { return new(MRLPF) }},
		{
			Part:     policies.Duel,
			Name:     MaxMinLCBName,
			Settings: func() definition.Settings { return new(MaxMinLCB) },
		},
		{Part: policies.Duel, Name: EUBOName, Settings: func() definition.Settings { return new(EUBO) }},
		{Part: policies.Duel, Name: RAEUBOName, Settings: func() definition.Settings { return new(RAEUBO) }},
		{Part: policies.Duel, Name: EIName, Settings: func() definition.Settings { return new(EI) }},
		{Part: policies.Duel, Name: UCBName, Settings: func() definition.Settings { return new(UCB) }},
		{Part: policies.Duel, Name: ANPEIName, Settings: func() definition.Settings { return new(ANPEI) }},
		{Part: policies.Duel, Name: RAHBOName, Settings: func() definition.Settings { return new(RAHBO) }},
		{Part: policies.Duel, Name: RandomName, Settings: func() definition.Settings { return new(Random) }},
	},
	Methods: []policies.Method{
		method(
			"mr-lpf", "comparisons alone: rounds of elimination", "Kayal et al. 2025, Alg. 1",
			MRLPF{}.Choice(),
		),
		method(
			"maxmin-lcb", "comparisons alone: a leader against its strongest rival",
			"Kayal et al. 2025, App. D", MaxMinLCB{}.Choice(),
		),
		method(
			"eubo", "comparisons alone: the pair whose better one is expected to be best", "",
			EUBO{}.Choice(),
		),
		method(
			"raeubo", "EUBO where the expert's judgment is reliable", "Sinaga et al. 2026, Eq. 11",
			RAEUBO{}.Choice(),
		),
		method("utility-ei", "comparisons alone: expected improvement of the utility", "", EI{}.Choice()),
		method("utility-ucb", "comparisons alone: confidence bound of the utility", "", UCB{}.Choice()),
		method(
			"anpei", "expected improvement less the noise of judgment",
			"Sinaga et al. 2026, Eq. 9", ANPEI{}.Choice(),
		),
		method(
			"rahbo", "a confidence bound less the noise of judgment", "Sinaga et al. 2026, Eq. 10",
			RAHBO{}.Choice(),
		),
		method("random-duels", "comparisons at random", "", Random{}.Choice()),
	},
	New: NewPolicy,
}

// method is a row of the table of methods: all of them compare two.
func method(name, summary, source string, d definition.Choice) policies.Method {
	return policies.Method{
		Name: name, Summary: summary, Source: source, Asks: "which of two is better",
		Form:   events.FormComparison,
		Policy: definition.Policy{Duel: d},
	}
}

// policy has experts compare. Each has a utility of their own; the one who was
// asked least is next.
type policy struct {
	def  definition.Campaign
	rule *Rule
}

// NewPolicy returns the policy of a complete definition.
func NewPolicy(def definition.Campaign, _ next.Rule) (policies.Policy, error) {
	rule, err := New(def)
	if err != nil {
		return nil, err
	}
	return &policy{def, rule}, nil
}

// Needs asks for a utility only where the rule has one, and for a model of the
// objective only where a target could stop the campaign.
func (p *policy) Needs() policies.Needs {
	needs := policies.Needs{Objective: p.def.Stop.ByModels()}
	if p.rule.candidates == nil && p.rule.name != RandomName {
		needs.Preference.Form = events.PreferenceUtility
	}
	return needs
}

// Decide stops where the budget is spent, or no expert has anything more to
// compare; otherwise it asks. Taking the one who was asked least spreads the
// comparisons, and follows from the log alone.
func (p *policy) Decide(ctx context.Context, v policies.View, seed uint64) (policies.Decision, error) {
	d := step.Begin(v, seed)
	made := p.made(v)
	if most := p.def.Budget.Comparisons; made.asked >= most {
		detail := fmt.Sprintf("All %d comparisons have been made.", most)
		if made.answered < made.asked {
			detail = fmt.Sprintf(
				"All %d comparisons have been asked, and %d of them answered.", made.asked,
				made.answered,
			)
		}
		return d.Stop(policies.RuleBudget, events.CompletedBudget, detail), nil
	}
	// The expert who was asked least is next. One who needs no more comparisons
	// is passed over; when all are, the campaign is complete.
	done := make(map[string]bool)
	spent := false
	late := false
	for len(done) < len(p.def.Experts) {
		i := p.least(made.by, done)
		if e := &p.def.Experts[i]; turn.TimeSpent(v.Campaign, e) {
			done[e.Name] = true
			spent = true
			late = true
			continue
		}
		proposal, err := p.rule.Propose(ctx, p.input(v, i, seed))
		if err != nil {
			return d, err
		}
		if !proposal.Identified && !proposal.Spent {
			return p.compare(v, d, i, proposal), nil
		}
		done[p.def.Experts[i].Name] = true
		spent = spent || proposal.Spent
	}
	if spent {
		detail := fmt.Sprintf(
			"Every expert has made their share of the %d comparisons, or needs no more.",
			p.def.Budget.Comparisons,
		)
		if late {
			detail = "Every expert's time is spent, or they have made their share of the comparisons."
		}
		return d.Stop(policies.RuleBudget, events.CompletedBudget, detail), nil
	}
	return d.Stop(policies.RuleIdentified, events.CompletedIdentified,
		"The best composition is identified: comparisons have nothing more to tell."), nil
}

// comparisons counts those that count against the budget: all but those that were volunteered
// or withdrawn by the campaign. asked counts those put to experts, answered those with an
// answer, "can't tell" included.
type comparisons struct {
	asked, answered int
	by              map[string]int // by expert, asked
}

// made counts the comparisons of the campaign so far. Questions that expired
// count: they have cost the expert's attention, and a campaign whose expert
// never answers must end.
func (p *policy) made(v policies.View) comparisons {
	c := comparisons{by: make(map[string]int, len(p.def.Experts))}
	for i := range v.Campaign.Questions {
		q := &v.Campaign.Questions[i]
		if q.Form != events.FormComparison || q.Volunteered || q.Moot {
			continue
		}
		c.by[q.Expert]++
		c.asked++
		if q.Status == campaign.Answered {
			c.answered++
		}
	}
	return c
}

// least returns the index of the expert who was asked least among those who are
// not done, the first of equals; −1 where all are done. The order of ties is
// that of the definition.
func (p *policy) least(asked map[string]int, done map[string]bool) (index int) {
	index = -1
	for i, e := range p.def.Experts {
		if !done[e.Name] && (index < 0 || asked[e.Name] < asked[p.def.Experts[index].Name]) {
			index = i
		}
	}
	return index
}

// compare puts a pair to an expert. The fit that the pair was chosen by is
// recorded, so that an audit can make the choice again.
func (p *policy) compare(
	v policies.View, d policies.Decision, expert int, proposal Proposal,
) policies.Decision {
	d.Candidates, d.Elimination = proposal.Candidates, proposal.Elimination
	if m := v.Preferences[expert]; m != nil && m.Form != "" {
		fit := m.Fit
		d.Preference = &fit
	}
	return d.Ask(
		events.FormComparison, p.def.Experts[expert].Name, policies.RuleCompare, proposal.Reason,
		"Which of the two is better?",
	)
}

// input returns the rule's view of an expert. The questions are those of all experts; a rule
// picks out those of this one.
func (p *policy) input(v policies.View, expert int, seed uint64) Input {
	name := p.def.Experts[expert].Name
	return Input{
		Space: v.Space, Questions: v.Campaign.Questions, Expert: name,
		Model: v.Preferences[expert], Trouble: untaught(v, expert, name), Seed: seed,
	}
}

// untaught says why the model of an expert's preferences is missing, or has learned nothing;
// nil where the reason is not known.
func untaught(v policies.View, expert int, name string) error {
	if err := v.PreferenceErrors[expert]; err != nil {
		return err
	}
	for i := range v.Campaign.Questions {
		if q := &v.Campaign.Questions[i]; q.Expert == name && q.Form == events.FormComparison &&
			len(q.Answer.Order) > 0 {
			if v.Campaign.Failure != "" {
				return errors.New(v.Campaign.Failure)
			}
			return nil
		}
	}
	return fmt.Errorf("%s has compared nothing yet", name)
}

// Preferred implements policies.Preferrer.
func (p *policy) Preferred(ctx context.Context, v policies.View) ([]policies.Best, error) {
	var all []policies.Best
	for i := range p.def.Experts {
		best, ok, err := p.rule.Best(ctx, p.input(v, i, p.def.Seed))
		if err != nil {
			return nil, err
		}
		if ok {
			all = append(all, best)
		}
	}
	return all, nil
}
