package engine

import (
	"context"
	"strconv"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/projections/campaign"
)

func (r *Runner) append(ctx context.Context, actor, cause string, payloads ...events.Payload) error {
	return r.appendTraced(ctx, actor, cause, r.core.State().Trace, payloads...)
}

func (r *Runner) appendTraced(ctx context.Context, actor, cause, trace string, payloads ...events.Payload) error {
	_, err := r.write(ctx, actor, cause, trace, payloads...)
	return err
}

// write appends payloads as one batch and folds it. The first is caused by
// cause, the others by the first.
func (r *Runner) write(ctx context.Context, actor, cause, trace string, payloads ...events.Payload) ([]events.Event, error) {
	began := time.Now()
	stored, err := appendBatch(ctx, r.Log, r.core.State(), r.Now(), envelope{actor: actor, cause: cause, trace: trace, simulated: r.simulated}, payloads...)
	if err != nil {
		return nil, err
	}
	r.Meter.Took("append", time.Since(began))
	for _, e := range stored {
		if err := r.core.Apply(e); err != nil {
			return nil, err
		}
		r.Meter.Happened(e)
	}
	r.forget()
	return stored, nil
}

// simulated reports whether a payload is a fact about a simulated world.
func (r *Runner) simulated(p events.Payload) bool {
	switch p := p.(type) {
	case *events.ExperimentMeasured:
		return r.description.Simulated && p.Instrument == r.description.Name
	case *events.ExperimentFailed:
		return r.description.Simulated && p.Instrument == r.description.Name
	case *events.ExperimentInfeasible:
		return r.description.Simulated && p.Instrument == r.description.Name
	case *events.ExperimentDeferred:
		return r.description.Simulated && p.Instrument == r.description.Name
	case *events.ExperimentStarted, *events.ExperimentDispatched:
		return r.description.Simulated
	case *events.LabelGiven:
		return r.simulatedExpert(p.Expert)
	case *events.ComparisonGiven:
		return r.simulatedExpert(p.Expert)
	case *events.PinpointGiven:
		return r.simulatedExpert(p.Expert)
	}
	return false
}

func (r *Runner) simulatedExpert(name string) bool {
	reviewer := r.Reviewers[name]
	return reviewer != nil && reviewer.Describe().Simulated
}

// envelope is what a batch's events have in common.
type envelope struct {
	actor, cause, trace string
	simulated           func(events.Payload) bool
}

// appendBatch writes payloads behind the state's last event.
func appendBatch(ctx context.Context, log events.Log, s *campaign.State, now time.Time, env envelope, payloads ...events.Payload) ([]events.Event, error) {
	batch := make([]events.Event, len(payloads))
	for i, payload := range payloads {
		e, err := events.New(s.Name, payload)
		if err != nil {
			return nil, err
		}
		e.Actor, e.Cause, e.Time, e.Trace = env.actor, env.cause, stamp(now), env.trace
		if i > 0 { // the log names events by their sequence
			e.Cause = strconv.FormatUint(uint64(s.Sequence)+1, 10)
		}
		if env.simulated != nil {
			e.Simulated = env.simulated(payload)
		}
		batch[i] = e
	}
	return log.Append(ctx, s.Name, s.Sequence, batch...)
}
