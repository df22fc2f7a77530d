package decisions

import (
	"context"
	"runtime"
	"sync"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/files/registry"
)

// The slow parts of an audit, fits, judgments and decisions, are made ahead of it on all cores.
// Each of several workers folds all events into a core of its own and, from the state before each
// record, makes the records of the parts of the log that no other worker has taken: each reaches
// from one measurement to the next, and shares its models. The results depend on the events and the
// step alone, so they equal those the audit would have made, in its own order; the audit makes the
// missing ones itself.
//
// Only the map of these parts is shared and locked. Each worker has a core of its own, and its
// results are read only after done is closed. With one processor there are no workers: folding the
// log twice would only cost time.
type ahead struct {
	ctx   context.Context
	stop  context.CancelFunc
	work  sync.WaitGroup
	build events.Build

	mu        sync.Mutex
	stretches map[int]*stretch
}

// stretch is the part of a log between two measurements.
type stretch struct {
	done chan struct{} // closed at the end of the work on it
	made map[events.Sequence]remade
}

// remade is the result of a step. step is kept, so that the audit uses it only for the step that it
// would have made itself.
type remade struct {
	step     engine.Step
	payloads []events.Payload
	err      error
}

// lookAhead starts the workers for a campaign's log. end must be called.
func lookAhead(
	ctx context.Context, reg registry.Registry, log events.Log, name string, build events.Build,
) *ahead {
	h := &ahead{build: build, stretches: make(map[int]*stretch)}
	h.ctx, h.stop = context.WithCancel(ctx)
	workers := runtime.GOMAXPROCS(0)
	if workers == 1 {
		return h
	}
	for range workers {
		h.work.Go(func() { h.walk(engine.NewCore(reg), log, name) })
	}
	return h
}

// end stops the workers and waits for them.
func (h *ahead) end() {
	h.stop()
	h.work.Wait()
}

// take returns one of them, and whether it is the caller's to make. The first to
// ask makes it, worker or audit; no one asks twice for the same work.
func (h *ahead) take(number int) (s *stretch, own bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if s, taken := h.stretches[number]; taken {
		return s, false
	}
	s = &stretch{done: make(chan struct{}), made: make(map[events.Sequence]remade)}
	h.stretches[number] = s
	return s, true
}

// walk is the work of one worker. It reads the log itself, since it makes a step again in the state
// before its event. Any fault of the log ends it: the audit reports the fault, or panics where its
// caller sees it.
//
// Every worker folds the whole log, which is cheap compared with a fit, and computes only between
// measurements that it has taken. It closes what it took, even after a panic: the audit must not
// wait for ever.
func (h *ahead) walk(core *engine.Core, log events.Log, name string) {
	var own *stretch
	leave := func() {
		if own != nil {
			close(own.done)
			own = nil
		}
	}
	defer func() {
		_ = recover()
		leave()
	}()
	number, looked := 0, -1
	var now time.Time
	for e, err := range events.ReadCampaign(h.ctx, log, name, 0) {
		if err != nil || h.ctx.Err() != nil {
			return
		}
		payload, err := events.Decode(e)
		if err != nil || core.Complete(e, payload) != nil {
			return
		}
		if step := recordedStep(core, payload, now); step != nil {
			if looked != number {
				looked = number
				if s, mine := h.take(number); mine {
					own = s
				}
			}
			if own != nil {
				payloads, err := core.Make(h.ctx, step, buildOf(payload, h.build), engine.World{Now: e.Time})
				if h.ctx.Err() != nil {
					return
				}
				own.made[e.Sequence] = remade{step, payloads, err}
			}
		}
		if core.Apply(e) != nil {
			return
		}
		if _, measured := payload.(*events.ExperimentMeasured); measured {
			leave()
			number++
		}
		now = e.Time
	}
}

// recordedStep returns the step that a payload records, if the core would take it next; nil for
// other payloads than a fit, a judgment or a decision, and for steps that the audit will not make
// again.
//
// It returns nil rather than guess: the audit then makes the step itself, and finds the fault.
func recordedStep(core *engine.Core, payload events.Payload, now time.Time) engine.Step {
	var recorded engine.Step
	switch p := payload.(type) {
	case *events.DecisionMade:
		if !decides(core, p.Policy) || p.At != core.State().Sequence {
			return nil
		}
		if nextAttended(core, now) != (engine.Decide{Decision: p.Decision, Seed: p.Seed}) {
			return nil
		}
		return stepOf(core, p)
	case *events.ModelFitted:
		recorded = engine.Fit{ModelName: p.Of(), Seed: p.Seed}
		if !ownModels(p.Version) {
			return nil
		}
	case *events.ModelFitFailed:
		recorded = engine.Fit{ModelName: p.Of(), Seed: p.Seed}
		if !ownModels(p.Version) {
			return nil
		}
	case *events.MeasurementsJudged:
		if !ownModels(p.Version) {
			return nil
		}
		step := nextAttended(core, now)
		if _, judges := step.(engine.Judge); !judges {
			return nil
		}
		return step
	default:
		return nil
	}
	if nextAttended(core, now) != recorded {
		return nil
	}
	return recorded
}

// buildOf is the build that a payload is made again for; a failed fit does not
// say its own.
func buildOf(payload events.Payload, own events.Build) events.Build {
	switch p := payload.(type) {
	case *events.DecisionMade:
		return p.Build
	case *events.ModelFitted:
		return p.Build
	case *events.MeasurementsJudged:
		return p.Build
	}
	return own
}

// again makes the step that the present event records: it waits for the worker
// that has taken it, if any.
//
// What the audit itself has taken has no one who would close done, so it is not
// waited for (a.own).
func (a *auditor) again(ctx context.Context, step engine.Step, build events.Build) ([]events.Payload, error) {
	s, own := a.ahead.take(a.measurements)
	if !own && s != a.own {
		select {
		case <-s.done:
			if m, ok := s.made[a.event.Sequence]; ok && m.step == step {
				return m.payloads, m.err
			}
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	if own {
		a.own = s
	}
	return a.core.Make(ctx, step, build, engine.World{Now: a.event.Time})
}
