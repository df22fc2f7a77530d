// Package step performs a step of a campaign that measures, for every family of policies: it
// ends, it takes a point of a design, it runs an expert's latest answer, or it searches a model
// of the objective for candidates.
//
// Functions take the decision as it is so far and return it: made, or further
// on the way (see [policies.Decision.Made]).
package step

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/policies"
	"github.com/campaignd/campaignd/policies/next"
	"github.com/campaignd/campaignd/policies/turn"
	"github.com/campaignd/campaignd/projections/campaign"
	"github.com/campaignd/campaignd/projections/quantity"
	"github.com/campaignd/campaignd/projections/space"
)

// ErrBelief is wrapped by errors of a model of an expert: they cost the expert's help, not the
// decision.
var ErrBelief = errors.New("the expert's belief cannot be used")

// ErrNoFit says that an expert has no model yet.
var ErrNoFit = errors.New("it has not been fitted")

// Begin returns a decision before anything is decided.
func Begin(v policies.View, seed uint64) policies.Decision {
	d := policies.Decision{DecisionMade: events.DecisionMade{Seed: seed}}
	if v.Objective() != nil {
		fit := v.Objective().Fit
		d.Objective = &fit
	}
	return d
}

// Step is one step of a policy that searches a model of the objective.
type Step struct {
	Def *definition.Campaign
	// View is the policy's view; its Objective expects the results of the experiments under
	// way.
	View policies.View
	// Measured is the model without the experiments under way, whose results the one in View
	// expects.
	Measured *quantity.Model
	// Rule makes the acquisition of the unaided candidate; Beta is β of the
	// confidence bounds μ ∓ βσ.
	Rule next.Rule
	Beta float64
	// Turn holds the questions of this turn so far.
	Turn []campaign.Question

	seed  uint64
	avoid avoidance
	// several is nil where the campaign seeks one quantity and requires nothing.
	several *several
	// weighing is nil where the campaign says nothing of costs.
	weighing *weighing
	// ways are the fidelities of experiments in the space; nil if all tell the same.
	ways *space.Fidelity
	// rougher is a model with shorter lengthscales by which the unaided
	// candidate is chosen, since nothing has improved for idle turns; nil where
	// it is chosen by that of the view.
	rougher *quantity.Model
	idle    int
	// tried are the compositions that have been requested, where the campaign
	// has a list of candidates: each is tried once.
	tried map[string]bool
}

// Modeled makes the decisions of a policy that searches a model.
type Modeled struct {
	Def  *definition.Campaign
	Rule next.Rule
	// Choose makes the decision of a step.
	Choose func(ctx context.Context, s *Step, d policies.Decision) (policies.Decision, error)
}

// Decide makes the decision. Without a usable model that is a point of a design: a model must
// not stop the campaign.
func (m Modeled) Decide(
	ctx context.Context, v policies.View, d policies.Decision,
) (policies.Decision, error) {
	if v.Objective() == nil {
		remark := " There is no model of the objective yet."
		if v.Campaign.Outside != nil {
			remark = " Too little of what was measured lies within the space as it is now for a model."
		}
		if v.ObjectiveError() != nil {
			remark = Unusable(v.ObjectiveError())
		}
		return Design(m.Def, v, d, definition.DesignSobol, remark)
	}
	if v.Objective().IsNowhere() {
		return Design(m.Def, v, d, definition.DesignSobol, " Nothing that was measured lies within the space as it is now.")
	}
	made, err := m.decide(ctx, v, d)
	if err == nil || ctx.Err() != nil {
		return made, err
	}
	return Design(m.Def, v, d, definition.DesignSobol, Unusable(err))
}

// decide opens a step, has Choose make the decision, and adds how likely its
// experiment is to give a result.
func (m Modeled) decide(
	ctx context.Context, v policies.View, d policies.Decision,
) (policies.Decision, error) {
	s, err := open(ctx, m, v, d.Seed)
	if err != nil {
		return d, err
	}
	if d, err = m.Choose(ctx, s, d); err != nil {
		return d, err
	}
	if d, err = s.traded(d); err != nil {
		return d, err
	}
	if d, err = s.measuredIn(d); err != nil {
		return d, err
	}
	if d, err = s.costs(s.feasibly(d)); err != nil {
		return d, err
	}
	return s.likelihood(d)
}

// open begins a step. The order matters: the model first learns of failures, then of the
// experiments under way; β and the choice of a rougher model follow from the result.
func open(ctx context.Context, m Modeled, v policies.View, seed uint64) (*Step, error) {
	if v.FeasibilityError != nil {
		return nil, v.FeasibilityError
	}
	s := &Step{Def: m.Def, Rule: m.Rule, View: v, Turn: turn.Questions(v.Campaign), seed: seed}
	var err error
	if s.avoid, err = avoided(v); err != nil {
		return nil, err
	}
	if s.Measured, err = pessimistic(ctx, v); err != nil {
		return nil, err
	}
	expecting, err := s.Measured.Fantasize(ctx, s.avoid.underWay)
	if err != nil {
		return nil, err
	}
	s.View.Models = s.View.Models.With(expecting)
	if s.ways, err = waysOf(v); err != nil {
		return nil, err
	}
	if err = s.openSeveral(); err != nil {
		return nil, err
	}
	if err = s.openCost(); err != nil {
		return nil, err
	}
	if s.Beta, err = next.Beta(m.Rule, s.View.Objective()); err != nil {
		return nil, err
	}
	if err = s.restart(ctx); err != nil {
		return nil, err
	}
	if len(m.Def.Candidates) > 0 {
		s.tried, err = keys(v, func(x *campaign.Experiment) bool { return !x.Status.CalledOff() })
	}
	return s, err
}

// Seed is that of the decision.
func (s *Step) Seed() uint64 { return s.seed }

// unaidedSeed is the seed of the unaided candidate: that of the experiment, not of the
// decision, since questions add decisions. So a question leaves the candidate where it is, and
// a campaign whose expert is never followed is, bit for bit, the campaign without one.
func (s *Step) unaidedSeed() uint64 {
	return rand.New(rand.NewPCG(s.Def.Seed, uint64(turn.Experiments(s.View.Campaign)))).Uint64()
}

// BestSoFar names the best measured composition, by the model, in a sentence.
func (s *Step) BestSoFar() string {
	sought := s.Def.Sought()
	best, err := best(s.Def, s.View)
	if err != nil || best == nil {
		return ""
	}
	experiment := s.View.Objective().Observations[best.Index].Experiment
	if !best.Confident {
		return fmt.Sprintf("Nothing that was measured keeps the constraints with confidence; %s comes closest (probability %.2f).",
			experiment, best.Outlook.Feasible.Probability)
	}
	return fmt.Sprintf("The best so far is %s = %.4g %s (%s).",
		sought.Name, best.Value.Mean, sought.Unit, experiment)
}

// Expert returns the index of the expert of this step. It panics without experts.
func (s *Step) Expert() int { return turn.Expert(s.View.Campaign, s.Def) }

// QuestionsSpent reports whether no question is left of the budget of
// questions, or none of the time of the expert of this step.
func (s *Step) QuestionsSpent() bool { return turn.QuestionsSpent(s.View.Campaign, s.Def) }

// Spent is the decision for the unaided candidate where no question is left.
func (s *Step) Spent(d policies.Decision) policies.Decision {
	return d.Run(
		policies.Unaided,
		policies.RuleLabelBudget,
		fmt.Sprintf(
			"Nobody is asked, since %s: the campaign goes on unaided.",
			turn.WhyNotAsked(s.View.Campaign, s.Def),
		),
	)
}

// RunUnaided is the decision for the unaided candidate where no expert's
// help is used.
func (s *Step) RunUnaided(d policies.Decision) policies.Decision {
	rule := policies.RuleUnaided
	if s.rougher != nil {
		rule = policies.RuleRestart
	}
	return d.Run(policies.Unaided, rule, s.Because())
}
