package drive

import (
	"context"
	"strings"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/engine"
)

// append is appendTraced in the trace of the campaign.
func (r *Runner) append(ctx context.Context, actor, cause string, payloads ...events.Payload) error {
	return r.appendTraced(ctx, actor, cause, r.core.State().Trace, payloads...)
}

// appendTraced records payloads as one batch. The first is caused by cause, the
// others by the first.
func (r *Runner) appendTraced(
	ctx context.Context, actor, cause, trace string, payloads ...events.Payload,
) error {
	env := engine.Envelope{Actor: actor, Cause: cause, Trace: trace, Simulated: r.simulated}
	// An expert's answer here is reported by the account that runs the campaign.
	if expert, ok := strings.CutPrefix(actor, "expert:"); ok && !r.couriers.simulatedExpert(expert) {
		env.Account = r.Account
	}
	batch, err := engine.NewBatch(r.core.State(), r.Now(), env, payloads...)
	if err != nil {
		return err
	}
	_, err = r.record(ctx, batch)
	return err
}

// record is the only place where a running campaign changes.
//
// An error ends the run: whether the batch is on disk the log knows, and the
// next run reads it there.
func (r *Runner) record(ctx context.Context, batch []events.Event) ([]events.Event, error) {
	began := time.Now()
	s := r.core.State()
	// The log refuses the batch if another process has written since: the loop
	// is the campaign's single writer, or it ends.
	stored, err := r.Log.Append(ctx, s.Name, s.Sequence, batch...)
	if err != nil {
		return nil, err
	}
	r.Meter.ObserveDuration("append", time.Since(began))
	// Only events on disk are folded: nothing acts on an event that a crash could take back.
	for _, e := range stored {
		if err := r.core.Apply(e); err != nil {
			return nil, err
		}
		r.Meter.CountEvent(e)
	}
	// Experiments settled now are no longer awaited, and their places at the device are free.
	r.couriers.releaseSettled(s)
	r.couriers.releaseCalls(s)
	r.couriers.releaseSecured(s)
	for _, d := range r.devices {
		d.endTickets(s)
	}
	return stored, nil
}

// actor is the actor of an instrument's reports.
func (r *Runner) actor(resource string) string {
	return "instrument:" + r.devices[resource].description.Name
}

// simulated reports whether a payload is a fact about a simulated world. The name in the
// payload is compared, since a report may be about another instrument than the present one. All
// other payloads are about the campaign and not about a world.
func (r *Runner) simulated(p events.Payload) bool {
	measures := func(instrument string) bool {
		for _, d := range r.devices {
			if d.description.Simulated && d.description.Name == instrument {
				return true
			}
		}
		return false
	}
	switch p := p.(type) {
	case *events.ExperimentMeasured:
		return measures(p.Instrument) || r.simulatedBy(p.Experiment, p.Instrument)
	case *events.QuantityArrived:
		return measures(p.Instrument)
	case *events.ExperimentFailed:
		return measures(p.Instrument) || r.simulatedBy(p.Experiment, p.Instrument)
	case *events.ExperimentInfeasible:
		return measures(p.Instrument) || r.simulatedBy(p.Experiment, p.Instrument)
	case *events.ExperimentDeferred:
		return measures(p.Instrument)
	case *events.InstrumentSignalled:
		return measures(p.Instrument)
	case *events.ExperimentStarted:
		return r.devices[""].description.Simulated
	case *events.ExperimentDispatched:
		return r.devices[""].description.Simulated
	case *events.ActDispatched:
		return measures(p.Instrument)
	case *events.ActAccepted:
		return measures(p.Instrument)
	case *events.ActEnded:
		return measures(p.Instrument)
	case *events.QuestionAnswered:
		return r.couriers.simulatedExpert(p.Expert)
	}
	return false
}

// simulatedBy reports whether an outcome is that of a simulated act.
func (r *Runner) simulatedBy(experiment, instrument string) bool {
	s := r.core.State()
	x := s.Experiment(experiment)
	return x != nil && engine.SimulatedBy(s, x, instrument)
}
