package simulate

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/campaignd/campaignd/adapters/methods"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/events/memlog"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/engine/drive"
	"github.com/campaignd/campaignd/internal/lab/equip"
	"github.com/campaignd/campaignd/internal/study"
	"github.com/campaignd/campaignd/internal/study/pace"
	"github.com/campaignd/campaignd/policies"
)

// Run holds the options of a run.
type Run struct {
	Results *Results
	// Workers is the number of simultaneous campaigns, at least 1.
	Workers int
	// Build is recorded with results.
	Build events.Build
	// Finished, if set, is called after each campaign, from one goroutine at a
	// time.
	Finished func(u Unit)
}

// FailedError is a campaign that could not be run to its end.
type FailedError struct {
	Task, Arm string
	Seed      uint64
	Err       error
}

// Error names the campaign by its place in the study.
func (e *FailedError) Error() string {
	return fmt.Sprintf("%s, %s, seed %d: %v", e.Task, e.Arm, e.Seed, e.Err)
}

// Unwrap returns the cause.
func (e *FailedError) Unwrap() error { return e.Err }

// Missing returns the campaigns that the results do not hold yet, in the order
// they are run; equal campaigns once.
func (s *Study) Missing(results *Results) []Unit {
	return slices.DeleteFunc(s.distinct(), func(u Unit) bool { return results.Get(u.Key) != nil })
}

// distinct returns the campaigns in their order, equal ones once.
func (s *Study) distinct() []Unit {
	var units []Unit
	seen := map[string]bool{}
	for _, u := range s.Units {
		if !seen[u.Key] {
			units = append(units, u)
		}
		seen[u.Key] = true
	}
	return units
}

// Run runs the missing campaigns. A campaign that fails does not stop the others: the error joins a
// [FailedError] for each. If the context ends, the written results stay, and the error is the
// context's cause.
//
// Workers take campaigns from one channel in the order of Missing, so that an interrupted study has
// whole seeds. A campaign's result does not depend on its worker.
func (s *Study) Run(ctx context.Context, run Run) error {
	missing := s.Missing(run.Results)
	work := make(chan Unit)
	var (
		wg     sync.WaitGroup
		mu     sync.Mutex
		failed []*FailedError
		stop   error // a result that cannot be written ends the run
	)
	working, cancel := context.WithCancel(ctx)
	defer cancel()
	for range max(1, run.Workers) {
		wg.Go(func() {
			for u := range work {
				result, err := s.campaign(working, u, run.Build)
				if working.Err() != nil {
					continue // it was cut off
				}
				mu.Lock()
				if err != nil {
					failed = append(failed,
						&FailedError{s.Tasks[u.Task].Name, s.Arms[u.Arm].Name, u.Seed, err})
				} else if err := run.Results.Add(result); err != nil {
					stop = fmt.Errorf("a result cannot be written: %w", err)
					cancel()
				} else if run.Finished != nil {
					run.Finished(u)
				}
				mu.Unlock()
			}
		})
	}
feeding:
	for _, u := range missing {
		select {
		case work <- u:
		case <-working.Done():
			break feeding
		}
	}
	close(work)
	wg.Wait()
	if stop != nil {
		return stop
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return join(failed)
}

// mostFailed is the number of failed campaigns named.
const mostFailed = 5

// join reports the first mostFailed failed campaigns, in an order that does not
// depend on which ended first.
func join(failed []*FailedError) error {
	slices.SortFunc(failed, func(a, b *FailedError) int { return strings.Compare(a.Error(), b.Error()) })
	var errs []error
	for i, f := range failed {
		if i == mostFailed {
			errs = append(errs, fmt.Errorf("and %d more", len(failed)-mostFailed))
			break
		}
		errs = append(errs, f)
	}
	return errors.Join(errs...)
}

// epoch is when simulated campaigns begin; they take no simulated time. It is
// fixed, since times are part of a log and a result must not depend on the day.
var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// campaign runs one campaign in memory. Its log lives in memory and is dropped once the trajectory
// has been folded from it. A truth that is not a finite number is refused here: in a sum over seeds
// it would spoil the whole arm, and no one could tell which campaign it was.
func (s *Study) campaign(ctx context.Context, u Unit, build events.Build) (*Result, error) {
	t := s.Tasks[u.Task]
	r, seconds, err := s.RunCampaign(ctx, t, u.Definition, build)
	if err != nil {
		return nil, err
	}
	trajectory, seconds, err := follow(ctx, s.File.Registry, r.Log, u.Definition.Name, t.Truth, seconds)
	if err != nil {
		return nil, err
	}
	for _, step := range trajectory {
		if math.IsNaN(step.Cumulative) || math.IsInf(step.Cumulative, 0) {
			return nil, errors.New("a true value is not a finite number")
		}
	}
	return &Result{
		Key:        u.Key,
		Task:       t.Name,
		Arm:        s.Arms[u.Arm].Name,
		Seed:       u.Seed,
		Build:      build,
		Ended:      r.Core().State().Reason,
		Trajectory: trajectory,
		Seconds:    seconds,
	}, nil
}

// RunCampaign runs a campaign on a task to its end, and returns its runner and the time of each
// request.
//
// It is the same engine and loop as for a real campaign, with three substitutes for the world: a
// clock independent of the machine's, an instrument that is paced, so that results come one at a
// time, and simulated experts.
func (s *Study) RunCampaign(
	ctx context.Context, t *Task, def definition.Campaign, build events.Build,
) (*drive.Runner, []float64, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	steady := pace.New(cancel)
	r := &drive.Runner{
		Registry: s.File.Registry,
		Campaign: def.Name,
		Build:    build,
		Now:      study.Clock(),
		Observe:  steady.Observe,
		Eager:    true,
	}
	if def.Measures() { // else nothing is measured
		instrument, err := t.Instrument(def)
		if err != nil {
			return nil, nil, err
		}
		steady.Instrument, r.Instrument = instrument, steady
	}
	var err error
	if r.Reviewers, err = t.reviewers(def); err != nil {
		return nil, nil, err
	}
	method, err := s.method(ctx, def)
	if err != nil {
		return nil, nil, err
	}
	if method != nil {
		defer method.Close()
		r.Method = method
	}
	log, watch := memlog.New(), &stopwatch{compares: !def.Measures()}
	if err := engine.Define(ctx, log, events.CampaignDefined{Definition: def, Build: build}, "person:study",
		epoch, ""); err != nil {
		return nil, nil, err
	}
	r.Log, r.Meter = log, watch
	if err := r.Start(ctx); err != nil {
		return nil, nil, err
	}
	if err := r.Run(ctx); err != nil {
		return nil, nil, err
	}
	if method != nil {
		err = own(ctx, log, def.Name)
	}
	return r, watch.seconds, err
}

// method starts the program that is the method of a campaign, nil for a built-in method: a process
// for each campaign.
func (s *Study) method(ctx context.Context, def definition.Campaign) (methods.Method, error) {
	method, err := equip.OpenMethod(s.File.Registry, def, filepath.Dir(s.File.Path), nil)
	if method == nil || err != nil {
		return nil, err
	}
	if _, err := method.Describe(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("policy.%s: %w", def.Policy.Next.Name, err), method.Close())
	}
	return method, nil
}

// own refuses a campaign in which the program did not choose: its results are
// not the method's.
func own(ctx context.Context, log events.Log, name string) error {
	for e, err := range events.ReadCampaign(ctx, log, name, 0) {
		if err != nil {
			return err
		}
		if e.Kind != events.KindDecisionMade {
			continue
		}
		payload, err := events.Decode(e)
		if err != nil {
			return err
		}
		if d := payload.(*events.DecisionMade); d.Rule == policies.RuleFallback {
			return fmt.Errorf("%s is not the program's: %s", d.Decision, d.Reason)
		}
	}
	return nil
}
