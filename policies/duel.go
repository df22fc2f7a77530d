package policies

import (
	"context"
	"errors"
	"fmt"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/policies/duel"
	"github.com/campaignd/campaignd/projections/campaign"
)

// duel decides what an expert compares in a campaign without measurements.
// Experts take turns; each has a utility of their own.
func (p *Policy) duel(ctx context.Context, v View, seed uint64, d *Decision) error {
	asked := make(map[string]int, len(p.def.Experts))
	total, answered := 0, 0
	for i := range v.Campaign.Questions {
		q := &v.Campaign.Questions[i]
		if q.Form != events.FormComparison || q.Volunteered || p.uncounted(q) {
			continue
		}
		asked[q.Expert]++
		total++
		if q.Status == campaign.Answered {
			answered++
		}
	}
	if total >= p.def.Budget.Comparisons {
		d.Action, d.Rule = events.ActionStop, RuleBudget
		d.Reason = fmt.Sprintf("All %d comparisons have been made.", p.def.Budget.Comparisons)
		if answered < total && p.version >= sinceThree {
			d.Reason = fmt.Sprintf("All %d comparisons have been asked, and %d of them answered.", total, answered)
		}
		d.Completed = &events.CampaignCompleted{Reason: events.CompletedBudget, Detail: d.Reason}
		return nil
	}
	// The expert who has compared least is next; of those who need no more
	// comparisons nobody is.
	done, spent := make(map[string]bool), false
	for len(done) < len(p.def.Experts) {
		i := p.least(asked, done)
		proposal, err := p.duels.Propose(ctx, p.input(v, i, seed))
		if err != nil {
			return err
		}
		if proposal.Identified || proposal.Spent {
			done[p.def.Experts[i].Name] = true
			spent = spent || proposal.Spent
			continue
		}
		d.ask(events.FormComparison, p.def.Experts[i].Name, RuleCompare)
		d.Candidates, d.Elimination, d.Reason = proposal.Candidates, proposal.Elimination, proposal.Reason
		d.Explanation = "Which of the two is better?"
		if m := v.Preferences[i]; m != nil && m.Form != "" {
			fit := m.Fit
			d.Preference = &fit
		}
		return nil
	}
	if spent {
		d.Action, d.Rule = events.ActionStop, RuleBudget
		d.Reason = fmt.Sprintf("Every expert has made their share of the %d comparisons, or needs no more.", p.def.Budget.Comparisons)
		d.Completed = &events.CampaignCompleted{Reason: events.CompletedBudget, Detail: d.Reason}
		return nil
	}
	d.Action, d.Rule = events.ActionStop, RuleIdentified
	d.Reason = "The best composition is identified: comparisons have nothing more to tell."
	d.Completed = &events.CampaignCompleted{Reason: events.CompletedIdentified, Detail: d.Reason}
	return nil
}

// least returns the expert who was asked least, of those who are not done; the
// first of equals.
func (p *Policy) least(asked map[string]int, done map[string]bool) (index int) {
	index = -1
	for i, e := range p.def.Experts {
		if !done[e.Name] && (index < 0 || asked[e.Name] < asked[p.def.Experts[index].Name]) {
			index = i
		}
	}
	return index
}

func (p *Policy) input(v View, expert int, seed uint64) duel.Input {
	in := duel.Input{Space: v.Space, Questions: v.Campaign.Questions, Expert: p.def.Experts[expert].Name, Model: v.Preferences[expert], Seed: seed}
	if p.version >= sinceThree {
		in.Trouble = untaught(v, expert, in.Expert)
	}
	return in
}

// untaught says why there is no model of what an expert prefers, or none that has
// learnt anything; nil where it is not known.
func untaught(v View, expert int, name string) error {
	if err := v.PreferenceErrors[expert]; err != nil {
		return err
	}
	for i := range v.Campaign.Questions {
		if q := &v.Campaign.Questions[i]; q.Expert == name && q.Form == events.FormComparison && len(q.Answer.Order) > 0 {
			if v.Campaign.Failure != "" {
				return errors.New(v.Campaign.Failure)
			}
			return nil
		}
	}
	return fmt.Errorf("%s has compared nothing yet", name)
}

// Preferred returns what each expert prefers to everything else so far, in a
// campaign without measurements; experts who have said nothing yet are left out.
func (p *Policy) Preferred(ctx context.Context, v View) ([]duel.Best, error) {
	if p.duels == nil {
		return nil, nil
	}
	var all []duel.Best
	for i := range p.def.Experts {
		best, ok, err := p.duels.Best(ctx, p.input(v, i, p.def.Seed))
		if err != nil {
			return nil, err
		}
		if ok {
			all = append(all, best)
		}
	}
	return all, nil
}
