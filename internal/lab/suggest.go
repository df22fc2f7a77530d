package lab

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/events/store"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/engine/drive"
	"github.com/campaignd/campaignd/internal/ground/clock"
	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/internal/lab/equip"
	"github.com/campaignd/campaignd/internal/view"
	"github.com/campaignd/campaignd/projections/campaign"
)

// Suggest says which experiment a person or a script is to run next, once that is known. In a
// campaign that the lab runs it is the experiment that the campaign asks the person to measure;
// in one that is not run it is computed and recorded, as `campaignd suggest` does. The two ways
// must not mix: a campaign that is started while it is driven by hand would have two writers,
// which starting prevents.
//
// It waits for a store that changes hands meanwhile: nothing was recorded then.
func (c *Campaign) Suggest(ctx context.Context) (s *view.Suggestion, err error) {
	err = Patiently(ctx, func() (err error) {
		s, err = c.suggest(ctx)
		return err
	})
	return s, err
}

// suggest is Suggest of a store that stays where it is.
//
// In a campaign that is run it waits until the loop waits for a person or an instrument: an
// earlier suggestion may still be overtaken. It looks at the loop and at the log: the loop says
// that it waits, and the engine, asked about the newest state, that nothing has come since
// which would have it go on. Either alone would be too early: the event that the loop waits for
// may just have come. It does not wait for a campaign that suggests nothing to people, which
// may wait for its instrument for days.
func (c *Campaign) suggest(ctx context.Context) (*view.Suggestion, error) {
	at, err := c.store.holder()
	if err != nil {
		return nil, err
	}
	own, ok := at.(holdable)
	if !ok {
		return nil, problem.New(problem.NotNow,
			"process %d runs the campaign, and its instrument performs the experiments",
			at.Status().PID).About(c.name)
	}
	for {
		changed := c.store.lab.Changed()
		run := c.Running()
		switch {
		case run == nil && !own.drives(c):
			var core *engine.Core
			var suggestion engine.Suggestion
			err := own.hold(ctx, func(local *Local) (err error) {
				core, suggestion, err = c.suggestByHand(ctx, local)
				return err
			})
			if err != nil {
				return nil, err
			}
			if core == nil {
				continue // it was started just now
			}
			if _, err := c.store.await(ctx, c.name, core.State().Sequence); err != nil {
				return nil, err
			}
			return view.Suggest(ctx, core, at.Log(), suggestion)
		case run != nil && run.WaitingFor != "", c.unattended():
			core, err := c.Load(ctx)
			if err != nil {
				return nil, err
			}
			if unattended(core) || waits(core) {
				return c.suggestRun(ctx, core, at.Log())
			}
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// suggestRun returns the suggestion of a campaign that is run, and waits.
func (c *Campaign) suggestRun(ctx context.Context, core *engine.Core, log events.Log) (*view.Suggestion, error) {
	s := core.State()
	// The suggestion can be answered from now on.
	if _, err := c.store.await(ctx, c.name, s.Sequence); err != nil {
		return nil, err
	}
	if unattended(core) && !s.Status.Ended() {
		return nil, problem.New(problem.NotNow, "the campaign's instrument performs the "+
			"experiments itself").About(c.name)
	}
	now := view.CampaignOf(core, view.Shown{}, "")
	suggested := engine.Suggestion{Ended: now.Status.Ended(), Questions: now.Questions}
	for _, x := range now.UnderWay {
		if x.Status != campaign.Unresolved && now.Status != campaign.Paused {
			suggested.Experiments = append(suggested.Experiments, x)
		}
	}
	if suggested.Experiments == nil {
		run := c.Standing().Run
		suggested.WaitingFor = run.WaitingFor
		suggested.Remedies = run.Remedies
	}
	return view.Suggest(ctx, core, log, suggested)
}

// unattended reports whether a campaign will not suggest anything to a person, whatever its
// next step: its instrument performs the experiments, or it has ended.
func unattended(core *engine.Core) bool {
	s := core.State()
	return s.Status.Ended() || s.Definition.Measures() && !s.Definition.ByHand()
}

// unattended is the function unattended for the events that this process has folded.
func (c *Campaign) unattended() (so bool) {
	c.record.Read(func(core *engine.Core) { so = unattended(core) })
	return so
}

// waits reports whether the campaign has nothing to do that it could do by
// itself: a person has an experiment or a question, or nothing at all goes on.
// An error counts as waiting, since the campaign does nothing by itself then
// either.
func waits(core *engine.Core) bool {
	step, err := core.Next(engine.Attended(core.State(), engine.World{Now: clock.Now()}))
	if err != nil {
		return true
	}
	switch step.(type) {
	case engine.Wait, engine.Done:
		return true
	}
	return false
}

// suggestByHand is [Local.Suggest] of a campaign that the lab does not run. The
// core is nil where it is run by now.
func (c *Campaign) suggestByHand(
	ctx context.Context, local *Local,
) (*engine.Core, engine.Suggestion, error) {
	c.starting.Lock()
	defer c.starting.Unlock()
	if c.current() != nil {
		return nil, engine.Suggestion{}, nil
	}
	folder := c.store.lab.options.Folder
	if !store.InDatabase(c.store.path) {
		folder = filepath.Dir(c.store.path)
	}
	return local.Suggest(ctx, c.name, folder)
}

// Suggest drives a campaign that is not run up to the point where it needs a
// person. Its simulated experts are asked; their relative paths start from a
// folder. Answers of people come as requests, so that only simulated experts
// are opened here.
func (h *Local) Suggest(
	ctx context.Context, name, folder string,
) (core *engine.Core, suggestion engine.Suggestion, err error) {
	if core, err = h.Load(ctx, name); err != nil {
		return nil, suggestion, err
	}
	simulated := *core.State().Definition
	person := func(e definition.Expert) bool { return e.Person }
	simulated.Experts = slices.DeleteFunc(slices.Clone(simulated.Experts), person)
	logf := func(format string, args ...any) {
		if h.options.Remark != nil {
			h.options.Remark(name, fmt.Sprintf(format, args...))
		}
	}
	reviewers, err := equip.OpenReviewers(ctx, h.options.Registry, simulated, folder, nil, logf)
	if err != nil {
		return nil, suggestion, err
	}
	defer func() { err = errors.Join(err, equip.CloseReviewers(reviewers)) }()
	method, err := equip.OpenMethod(h.options.Registry, *core.State().Definition, folder, logf)
	if err != nil {
		return nil, suggestion, err
	}
	if method != nil {
		defer func() { err = errors.Join(err, method.Close()) }()
	}
	for {
		runner := &drive.Runner{
			Registry:  h.options.Registry,
			Log:       h.log,
			Campaign:  name,
			Reviewers: reviewers,
			Method:    method,
			Account:   h.options.Account,
			Build:     h.options.Build,
			Slots:     h.options.Slots,
		}
		suggestion, err = runner.Suggest(ctx)
		var overtaken *events.ConflictError
		if !errors.As(err, &overtaken) {
			return runner.Core(), suggestion, err
		}
		// A request was recorded meanwhile: it is decided again, with it.
	}
}
