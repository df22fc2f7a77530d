package policies

import (
	"context"
	"fmt"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/projections/campaign"
	"github.com/campaignd/campaignd/projections/objective"
)

// Names of candidates.
const (
	Unaided = "unaided" // x_u, the optimum of the acquisition alone
	Aided   = "aided"   // x_c, the optimum with the expert's belief
	Design  = "design"  // a point of a space-filling design
	Named   = "named"   // a composition of the expert's own, which nothing is weighed against
	Sampled = "sampled" // a sample of what the expert prefers
)

// Rules that settle a decision.
const (
	RuleBudget      = "budget"        // stop: the budget of experiments is spent
	RuleTarget      = "target"        // stop: the target is reached
	RuleConverged   = "converged"     // stop: no further improvement
	RuleExhausted   = "exhausted"     // stop: nothing is left to measure
	RuleDesign      = "design"        // a design, or no model yet
	RuleUnaided     = "unaided"       // nobody's belief is used
	RuleAccepted    = "accepted"      // the expert accepted the aided candidate
	RuleNoAnswer    = "no answer"     // the expert could not tell, or did not answer
	RuleCap         = "cap"           // enough questions before this experiment
	RuleLabelBudget = "label budget"  // no questions are left, of whatever form
	RuleGate        = "gate"          // the expert's answers do not go with what is measured
	RuleNoHarm      = "no harm"       // the aided candidate could do harm
	RuleAskedBefore = "asked before"  // the expert has already judged this composition
	RuleSure        = "belief sure"   // the belief is narrow: nobody needs to be asked
	RuleAccepts     = "belief accept" // the expert would accept
	RuleRejects     = "belief reject" // the expert would reject
	RuleAsk         = "ask"           // the expert is asked
	RuleNever       = "never"         // the policy asks no one
	RuleChosen      = "chosen"        // the expert chose the candidate
	RuleAgree       = "agree"         // both candidates are the same
	RulePrior       = "prior"         // a sample of the expert's prior
	RulePinpointed  = "pinpointed"    // the expert named the composition
	RuleCompare     = "compare"       // the expert compares, nothing is measured
	RuleIdentified  = "identified"    // stop: every expert's best candidate is identified
	RuleNoBelief    = "no belief"     // there is no usable model of the expert's belief
)

// Decide returns the next step. It is deterministic in (view, seed); a
// cancelled context is an error, never a hastier decision.
func (p *Policy) Decide(ctx context.Context, v View, seed uint64) (Decision, error) {
	d := Decision{DecisionMade: events.DecisionMade{Seed: seed, Policy: p.Ref()}}
	if v.Objective != nil {
		fit := v.Objective.Fit
		d.Objective = &fit
	}
	if p.duels != nil {
		return d, p.duel(ctx, v, seed, &d)
	}
	if p.choose != nil && v.Objective != nil {
		if err := (&maker{Policy: p, ctx: ctx, v: v, seed: seed, d: &d}).review(); err != nil {
			return d, err
		}
	}
	if p.stop(v, &d) {
		return d, nil
	}
	if done, err := p.bare(v, seed, &d); done || err != nil {
		return d, err
	}
	if p.next == nil || v.Objective == nil {
		return d, p.design(v, &d, v.ObjectiveError)
	}
	before := d
	err := p.model(ctx, v, seed, &d)
	if err == nil || ctx.Err() != nil {
		return d, err
	}
	// A model that cannot be used must not stop the campaign.
	d = before
	return d, p.design(v, &d, err)
}

// model decides from the models.
func (p *Policy) model(ctx context.Context, v View, seed uint64, d *Decision) (err error) {
	if v.FeasibilityError != nil {
		return v.FeasibilityError
	}
	avoid, err := avoided(v)
	if err != nil {
		return err
	}
	if v.Objective, err = p.avoidFailed(v); err != nil {
		return err
	}
	if v.Objective, err = v.Objective.Expecting(avoid.underWay); err != nil {
		return err
	}
	m := &maker{Policy: p, ctx: ctx, v: v, seed: seed, d: d, avoid: avoid}
	if err := m.decide(); err != nil {
		return err
	}
	return feasible(v, d)
}

// avoidFailed returns the objective model with each composition that only ever
// failed believed to be as bad as the worst result: a failure is not an
// observation of the objective, but suggesting it again would be no use. It is
// what campaigns do that do not want a model of what is feasible; with one, the
// objective is not told anything that was not measured.
func (p *Policy) avoidFailed(v View) (*objective.Model, error) {
	if v.Feasibility != nil {
		return v.Objective, nil
	}
	measured, err := triedBy(v, func(x *campaign.Experiment) bool { return x.Measurement != nil })
	if err != nil {
		return nil, err
	}
	var failed [][]float64
	for i := range v.Campaign.Experiments {
		x := &v.Campaign.Experiments[i]
		if x.Status != campaign.Failed && x.Status != campaign.Infeasible || x.Excluded {
			continue
		}
		key, err := v.Space.Key(x.Parameters)
		if err != nil {
			return nil, err
		}
		if measured[key] {
			continue
		}
		measured[key] = true // believed once
		u, err := v.Space.Encode(x.Parameters)
		if err != nil {
			return nil, err
		}
		failed = append(failed, u)
	}
	return v.Objective.Believing(failed)
}

// design takes the next point of a space-filling design. trouble says why the
// model cannot be used, where there is one.
func (p *Policy) design(v View, d *Decision, trouble error) error {
	kind := definition.DesignSobol
	if p.def.Policy.Next.Random != nil {
		kind = definition.DesignRandom
	}
	points, err := v.Space.Design(kind, p.def.Budget.Experiments, p.def.Seed^designSalt)
	if err != nil {
		return err
	}
	tried, err := triedBy(v, func(x *campaign.Experiment) bool { return !x.Status.CalledOff() })
	if err != nil {
		return err
	}
	taken := 0
	for ; taken < len(points); taken++ {
		key, err := v.Space.Key(points[taken])
		if err != nil {
			return err
		}
		if !tried[key] {
			break
		}
	}
	if taken == len(points) {
		exhausted(d)
		return nil
	}
	d.Action, d.Rule, d.Chosen = events.ActionRun, RuleDesign, Design
	d.Candidates = []events.Candidate{{Name: Design, Parameters: points[taken]}}
	d.Reason = fmt.Sprintf("Point %d of the %s design.", taken+1, kind)
	switch {
	case trouble != nil:
		d.Reason += fmt.Sprintf(" The model cannot be used: %v.", trouble)
	case p.def.Policy.Next.Prior != nil:
		m := &maker{Policy: p, v: v, d: d}
		d.Reason += fmt.Sprintf(" There is no model of what %s prefers to draw from%s.", p.def.Experts[m.expert()].Name, because(v.PreferenceErrors[m.expert()]))
	case p.next != nil:
		d.Reason += " There is no model of the objective yet."
	}
	return nil
}

// because is ": " and the error, or nothing.
func because(err error) string {
	if err == nil {
		return ""
	}
	return ": " + err.Error()
}

// triedBy returns the keys of the compositions of the experiments that satisfy
// a condition.
func triedBy(v View, condition func(*campaign.Experiment) bool) (map[string]bool, error) {
	keys := make(map[string]bool)
	for i := range v.Campaign.Experiments {
		x := &v.Campaign.Experiments[i]
		if !condition(x) {
			continue
		}
		key, err := v.Space.Key(x.Parameters)
		if err != nil {
			return nil, err
		}
		keys[key] = true
	}
	return keys, nil
}

func exhausted(d *Decision) {
	d.Action, d.Rule, d.Reason = events.ActionStop, RuleExhausted, "Every composition of the list has been tried."
	d.Completed = &events.CampaignCompleted{Reason: events.CompletedExhausted, Detail: d.Reason}
}

// designSalt keeps a design that serves as policy apart from the initial one.
const designSalt = 0x9e3779b97f4a7c15
