package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/policies"
	"github.com/campaignd/campaignd/projections"
	"github.com/campaignd/campaignd/projections/campaign"
	"github.com/campaignd/campaignd/projections/quantity"
)

// Reading is a campaign as its readers see it, including models that have data but no recorded
// fit yet. That is so after an amendment, after an import, and in the initial design. They are
// the models that the next decision would fit, for nothing else has a part in a fit; they are
// fitted in memory, and no decision reads them.
//
// A fit can take long: a page that shows several things of one state reads it
// once.
//
// It is not safe for concurrent use, like the core that it is of.
type Reading struct {
	core  *Core // with the fits that were missing
	unfit error // why the one of the objective failed
}

// LeastMeasured is the number of measurements that a model of the objective needs.
const LeastMeasured = quantity.LeastObservations

// View is [Core.View] with all models that there can be.
func (r *Reading) View(ctx context.Context) (policies.View, error) {
	view, err := r.core.View(ctx)
	if err == nil && view.Objective() == nil && view.ObjectiveError() == nil {
		view.Models[0].Err = r.unfit
	}
	return view, err
}

// Read fits the models that are missing, on copies of their projections: the
// campaign stays as it is, and the reading as it was.
//
// Where nothing is missing the reading is of the core itself, and follows it;
// otherwise it stays at this event.
func (c *Core) Read(ctx context.Context) (*Reading, error) {
	if _, missing := missingFit(c.At(World{})); !missing {
		return &Reading{core: c}, nil
	}
	fitted := c.Clone()
	read := &Reading{core: fitted}
	var made Fit
	for step, missing := missingFit(fitted.At(World{})); missing; step, missing = missingFit(fitted.At(World{})) {
		if step == made { // its fit has no effect: it would be made for ever
			return nil, fmt.Errorf("the model of the %s was fitted, and is missing still", step.Model)
		}
		made = step
		payload, err := fitted.Fit(ctx, step, events.Build{})
		if err != nil {
			return nil, err
		}
		if failed, ok := payload.(*events.ModelFitFailed); ok && failed.Model == events.ModelObjective {
			read.unfit = errors.New(failed.Cause)
		}
		for _, p := range fitted.models() { // and not the campaign, to which nothing has happened
			if err := p.Apply(events.Event{}, payload); err != nil {
				return nil, fmt.Errorf("%s: %w", p.Name(), err)
			}
		}
	}
	return read, nil
}

// models are the projections that fits are folded into.
func (c *folded) models() []projections.Projection {
	return []projections.Projection{c.quantities, c.belief, c.preference}
}

// missingFit returns a fit for a model that has data but no recorded fit.
func missingFit(c Now) (Fit, bool) {
	if c.Status == campaign.Undefined {
		return Fit{}, false
	}
	for _, q := range c.quantities.All() {
		if c.Definition.Measures() && !q.Fitted() && q.Stale() {
			return fitOf(c.State, q.Fits(), q.Revision()), true
		}
	}
	for _, e := range c.Definition.Experts {
		if c.objective.Fitted() && c.policy.Needs().Belief != nil && !c.belief.Fitted(e.Name) &&
			c.belief.Stale(e.Name) {
			return fitOf(c.State, events.ModelName{Model: events.ModelBelief, Expert: e.Name}, c.belief.Revision(e.Name)), true
		}
		if !c.preference.Fitted(e.Name) && c.preference.Stale(e.Name) {
			return fitOf(c.State, events.ModelName{Model: events.ModelPreference, Expert: e.Name}, c.preference.Revision(e.Name)), true
		}
	}
	return Fit{}, false
}
