package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/policies"
	"github.com/campaignd/campaignd/projections"
	"github.com/campaignd/campaignd/projections/belief"
	"github.com/campaignd/campaignd/projections/campaign"
	"github.com/campaignd/campaignd/projections/objective"
	"github.com/campaignd/campaignd/projections/preference"
)

// Read returns the campaign for those who look at it: [Core.View] with the models that no fit is recorded of yet,
// though there is what they are fitted to. That is so after an amendment, after an import, and in the initial
// design. They are those that the next decision would fit, for nothing else has a part in a fit; they are fitted in
// memory, once for each state of the campaign, and no decision reads them.
func (c *Core) Read(ctx context.Context) (policies.View, error) {
	read, err := c.fitted(ctx)
	if err != nil {
		return policies.View{}, err
	}
	view, err := read.View(ctx)
	if err == nil && view.Objective == nil && view.ObjectiveError == nil {
		view.ObjectiveError = read.display.unfit
	}
	return view, err
}

// LeastMeasured is how many measurements a model of the objective takes.
const LeastMeasured = objective.LeastObservations

// fitted returns the core with the fits that are missing: itself where none is.
func (c *Core) fitted(ctx context.Context) (*Core, error) {
	if c.display.fitted != nil {
		return c.display.fitted, nil
	}
	if _, missing := c.missingFit(); !missing {
		return c, nil
	}
	read := *c
	read.objective, read.belief, read.preference = objective.New(), belief.New(), preference.New()
	read.display = display{}
	needs := c.policy.Needs()
	read.belief.Configure(needs.Belief)
	read.preference.Configure(needs.Preference)
	for i, p := range read.models() {
		snapshot, err := c.models()[i].Snapshot()
		if err != nil {
			return nil, err
		}
		if err := p.Restore(snapshot); err != nil {
			return nil, err
		}
	}
	var made Fit
	for step, missing := read.missingFit(); missing; step, missing = read.missingFit() {
		if step == made { // its fit has no effect: it would be made for ever
			return nil, fmt.Errorf("the model of the %s was fitted, and is missing still", step.Model)
		}
		made = step
		payload, err := read.Fit(ctx, step, events.Build{})
		if err != nil {
			return nil, err
		}
		if failed, ok := payload.(*events.ModelFitFailed); ok && failed.Model == events.ModelObjective {
			read.display.unfit = errors.New(failed.Cause)
		}
		for _, p := range read.models() { // and not the campaign, to which nothing has happened
			if err := p.Apply(events.Event{}, payload); err != nil {
				return nil, fmt.Errorf("%s: %w", p.Name(), err)
			}
		}
	}
	c.display.fitted = &read
	return &read, nil
}

// models are the projections that fits are folded into.
func (c *Core) models() []projections.Projection {
	return []projections.Projection{c.objective, c.belief, c.preference}
}

// missingFit is a fit of a model of which none is recorded, if there is what it is fitted to.
func (c *Core) missingFit() (Fit, bool) {
	s := c.State()
	if s.Status == campaign.Undefined {
		return Fit{}, false
	}
	if s.Definition.Measures() && !c.objective.Fitted() && c.objective.Stale() {
		return c.fitObjective(), true
	}
	for _, e := range s.Definition.Experts {
		if c.objective.Fitted() && c.policy.Needs().Belief != nil && !c.belief.Fitted(e.Name) && c.belief.Stale(e.Name) {
			return c.fitBeliefOf(e.Name), true
		}
		if !c.preference.Fitted(e.Name) && c.preference.Stale(e.Name) {
			return c.fitPreferenceOf(e.Name), true
		}
	}
	return Fit{}, false
}
