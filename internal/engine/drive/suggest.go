package drive

import (
	"context"
	"time"

	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/projections/campaign"
)

// Suggest drives a campaign whose experiments a person runs, up to the point
// where it needs them: simulated experts answer, models are fitted and
// decisions made, all of it recorded, but nothing is handed to an instrument.
// Called again before anything was reported, it suggests the same.
//
// It takes the place of Start and Run. The runner needs no Instrument, and
// Reviewers only for simulated experts; questions to others stay open until
// an answer is reported, or until the time that the definition sets for it.
func (r *Runner) Suggest(ctx context.Context) (engine.Suggestion, error) {
	if err := r.load(ctx); err != nil {
		return engine.Suggestion{}, err
	}
	asking, stop := context.WithCancel(ctx)
	r.team.awaiting = asking
	defer r.team.wg.Wait()
	defer stop()
	for {
		step, err := r.core.Next(r.byHand())
		if err != nil {
			return engine.Suggestion{}, err
		}
		switch step := step.(type) {
		case engine.Done:
			return engine.Suggestion{Ended: true}, nil
		case engine.Wait:
			if !step.Pending {
				return engine.SuggestionOf(r.core.State(), step), nil
			}
			err = r.wait(ctx, time.Time{}) // for the examples
		case engine.Ask:
			if err = r.perform(ctx, step); err == nil {
				err = r.wait(ctx, time.Time{}) // for the simulated expert
			}
		case engine.Fit, engine.Decide, engine.Judge:
			err = r.computeHere(ctx, step)
		default:
			err = r.perform(ctx, step)
		}
		if err != nil {
			return engine.Suggestion{}, err
		}
	}
}

// byHand is the world of a campaign without an instrument: nothing is dispatched, commands of
// an earlier run are left to the next one, and questions to people wait for them. Questions to
// experts that a reviewer of this process speaks for are put; all others count as attended.
func (r *Runner) byHand() engine.World {
	w := engine.Attended(r.core.State(), engine.World{
		Now: r.Now(), Eager: r.Eager, ByHand: true, Prompted: r.couriers.prompted,
		Consulting: r.couriers.consulting,
	})
	s := r.core.State()
	for i := range s.Questions {
		if q := &s.Questions[i]; q.Status == campaign.Asked && r.Reviewers[q.Expert] != nil {
			delete(w.InFlight, q.ID)
		}
	}
	return w
}

// computeHere makes a step in the loop, where nothing else goes on: a person
// waits for a suggestion.
func (r *Runner) computeHere(ctx context.Context, step engine.Step) error {
	if err := r.bench.slot(ctx); err != nil {
		return err
	}
	defer r.bench.freeSlot()
	s := r.core.State()
	kind, name := measuredAs(step)
	began := time.Now()
	trace, end := r.Meter.Trace(s.Trace, name)
	payloads, err := r.core.Make(ctx, step, r.Build, r.byHand())
	end(err)
	if err != nil {
		return err
	}
	r.Meter.ObserveDuration(kind, time.Since(began))
	return r.appendTraced(ctx, "engine", s.LastEvent, trace, payloads...)
}
