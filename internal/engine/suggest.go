package engine

import (
	"context"
	"time"

	"github.com/campaignd/campaignd/internal/problem"
	"github.com/campaignd/campaignd/projections/campaign"
)

// Suggestion is what a person who runs the experiments themselves is to do.
type Suggestion struct {
	// Experiments are requested, and nobody has performed them yet.
	Experiments []campaign.Experiment
	// Questions are open to people.
	Questions []campaign.Question
	// WaitingFor says what else the campaign waits for, where it has no
	// experiment to suggest.
	WaitingFor string
	// Remedies are what a person can do about it, where it is for a person.
	Remedies []problem.Remedy
	// Ended is true where the campaign is over.
	Ended bool
}

// Suggest drives a campaign whose experiments a person runs, up to the point
// where it needs them: simulated experts answer, models are fitted and decisions
// made, all of it recorded, but nothing is handed to an instrument. Called
// again before anything was told, it suggests the same.
//
// It takes the place of Start and Run. The runner needs no Instrument, and
// Reviewers only for simulated experts; questions to others stay open until
// somebody tells the answer, or until the time that the definition sets for it.
func (r *Runner) Suggest(ctx context.Context) (Suggestion, error) {
	if err := r.load(ctx); err != nil {
		return Suggestion{}, err
	}
	asking, stop := context.WithCancel(ctx)
	defer r.wg.Wait()
	defer stop()

	for {
		step, err := r.core.Next(r.byHand())
		if err != nil {
			return Suggestion{}, err
		}
		switch step := step.(type) {
		case Done:
			return Suggestion{Ended: true}, nil
		case Wait:
			return r.suggestion(step), nil
		case Ask:
			if err := r.perform(ctx, asking, step); err != nil {
				return Suggestion{}, err
			}
			if err := r.wait(ctx, time.Time{}); err != nil { // for the simulated expert
				return Suggestion{}, err
			}
		default:
			if err := r.perform(ctx, asking, step); err != nil {
				return Suggestion{}, err
			}
		}
	}
}

// byHand is the world of a campaign without an instrument: nothing is
// dispatched, what an earlier run dispatched is left to the next one, and
// questions to people wait for them.
func (r *Runner) byHand() World {
	w := World{Now: r.Now(), Eager: r.Eager, ByHand: true, Capacity: 0, InFlight: make(map[string]bool)}
	s := r.core.State()
	for i := range s.Experiments {
		if x := &s.Experiments[i]; x.Status == campaign.Dispatched || x.Status == campaign.Started {
			w.InFlight[x.ID] = true
		}
	}
	for i := range s.Questions {
		if q := &s.Questions[i]; q.Status == campaign.Asked && r.Reviewers[q.Expert] == nil {
			w.InFlight[q.ID] = true
		}
	}
	return w
}

func (r *Runner) suggestion(wait Wait) Suggestion {
	var suggestion Suggestion
	s := r.core.State()
	for i := range s.Experiments {
		if x := &s.Experiments[i]; x.Status == campaign.Requested && s.Status != campaign.Paused {
			suggestion.Experiments = append(suggestion.Experiments, *x)
		}
	}
	for i := range s.Questions {
		if q := &s.Questions[i]; q.Status == campaign.Asked {
			suggestion.Questions = append(suggestion.Questions, *q)
		}
	}
	if suggestion.Experiments == nil {
		suggestion.WaitingFor, suggestion.Remedies = wait.For, wait.Remedies
	}
	return suggestion
}
