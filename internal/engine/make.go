package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/projections"
)

// Make computes a fit, a judgment or a decision, which can take long, and returns the events to
// record. It depends on the folded events and the world alone; the only error of a fit is that
// of a cancelled context.
//
// It may run in another goroutine than the loop's, on a core of its own (drive's
// bench, the workers of an audit). It changes the caches of models and nothing
// else.
func (c *Core) Make(
	ctx context.Context, step Step, build events.Build, w World,
) ([]events.Payload, error) {
	// Building the model takes long, and every step but its own fit needs it.
	if fit, ok := step.(Fit); !ok || fit.Model == events.ModelBelief {
		if _, err := c.objective.Model(ctx); err != nil && ctx.Err() != nil {
			return nil, err
		}
	}
	switch step := step.(type) {
	case Fit:
		payload, err := c.Fit(ctx, step, build)
		return []events.Payload{payload}, err
	case Judge:
		payload, err := judge(ctx, c.At(w), build)
		return []events.Payload{payload}, err
	case Decide:
		return c.Decide(ctx, step, build, w)
	}
	panic(fmt.Sprintf("engine: %T is not made", step))
}

// Fit makes the fit of a step. A fit that does not succeed is an event too; the
// only error is that of a cancelled context.
//
// A cancelled fit leaves nothing: a shorter search would be another result than
// an audit gets.
func (c *Core) Fit(ctx context.Context, step Fit, build events.Build) (events.Payload, error) {
	fitted := &events.ModelFitted{
		Model: step.Model, Expert: step.Expert, Quantity: step.Quantity, At: c.State().Sequence, Seed: step.Seed,
		Build: build, Version: projections.Version,
	}
	var err error
	switch step.Model {
	case events.ModelObjective, events.ModelQuantity:
		var fit events.ObjectiveFit
		fit, err = c.quantities.Of(step.ModelName).Fit(ctx, step.Seed)
		fitted.Objective = &fit
	case events.ModelBelief:
		var fit events.BeliefFit
		fit, err = fitBelief(ctx, c.At(World{}), step.Expert)
		fitted.Belief = &fit
	case events.ModelPreference:
		var fit events.PreferenceFit
		fit, err = c.preference.Fit(ctx, step.Expert, step.Seed)
		fitted.Preference = &fit
	default:
		panic("engine: there is no model " + step.Model)
	}
	if err == nil {
		return fitted, nil
	}
	if ctx.Err() != nil {
		return nil, fmt.Errorf("the fit was interrupted: %w", context.Cause(ctx))
	}
	return &events.ModelFitFailed{
		Model: step.Model, Expert: step.Expert, Quantity: step.Quantity, At: fitted.At, Seed: step.Seed, Cause: err.Error(),
		Version: projections.Version,
	}, nil
}

// fitBelief needs a model of the objective, whose kernel the belief shares.
func fitBelief(ctx context.Context, c Now, expert string) (events.BeliefFit, error) {
	model, err := c.objective.Model(ctx)
	if err != nil {
		return events.BeliefFit{}, err
	}
	if model == nil {
		return events.BeliefFit{}, errors.New("there is no objective model whose kernel it could share")
	}
	return c.belief.FitBelief(expert, model)
}

// Decide makes the decision of a step and returns the events to record, the decision first. The
// world determines when a question expires; the decision does not depend on it.
//
// All payloads belong in one batch, so that no crash separates a decision from its requests.
func (c *Core) Decide(
	ctx context.Context, step Decide, build events.Build, w World,
) ([]events.Payload, error) {
	s := c.State()
	view, err := c.View(ctx)
	if err != nil {
		return nil, fmt.Errorf("decision %s: %w", step.Decision, err)
	}
	version := cmp.Or(step.Version, c.ref.Version)
	view, err = c.registry.Methods.View(ctx, s.Definition.Policy, version, view, step.Seed)
	if err != nil {
		return nil, fmt.Errorf("decision %s: %w", step.Decision, err)
	}
	d, err := c.policy.Decide(ctx, view, step.Seed)
	if err != nil {
		return nil, fmt.Errorf("decision %s: %w", step.Decision, err)
	}
	// The policy knows nothing of the log: where the decision stands, and who
	// made it, is added here.
	d.Decision = step.Decision
	d.At = s.Sequence
	d.Build = build
	d.Policy = c.ref
	d.Policy.Version = version
	payloads := []events.Payload{&d.DecisionMade}
	if d.Trust != nil {
		d.Trust.Decision = step.Decision
		payloads = append(payloads, d.Trust)
	}
	switch d.Action {
	case events.ActionRun:
		payloads = append(payloads, &events.ExperimentRequested{
			Experiment: events.ExperimentID(len(s.Experiments) + 1), Parameters: d.Candidate().Parameters,
			Origin: events.OriginPolicy, Decision: step.Decision,
			Replicate: 1 + RunsOf(c.At(World{}), d.Candidate().Parameters),
		})
	case events.ActionAsk:
		payloads = append(payloads, ask(c.At(w), &d.DecisionMade, d.Explanation))
	case events.ActionStop:
		payloads = append(payloads, d.Completed)
	}
	return payloads, nil
}
