package engine

import (
	"context"
	"strings"
	"time"

	"github.com/campaignd/campaignd/events"
)

func (r *Runner) append(ctx context.Context, actor, cause string, payloads ...events.Payload) error {
	return r.appendTraced(ctx, actor, cause, r.core.State().Trace, payloads...)
}

func (r *Runner) appendTraced(
	ctx context.Context, actor, cause, trace string, payloads ...events.Payload,
) error {
	_, err := r.write(ctx, actor, cause, trace, payloads...)
	return err
}

// write appends payloads as one batch and folds it. The first is caused by
// cause, the others by the first.
func (r *Runner) write(
	ctx context.Context, actor, cause, trace string, payloads ...events.Payload,
) ([]events.Event, error) {
	batch, err := newBatch(r.core.State(), r.Now(), r.envelope(actor, cause, trace), payloads...)
	if err != nil {
		return nil, err
	}
	return r.record(ctx, batch)
}

// envelope is what the events that the loop writes have in common. What an expert
// answers here is told by the account that runs the campaign.
func (r *Runner) envelope(actor, cause, trace string) envelope {
	env := envelope{actor: actor, cause: cause, trace: trace, simulated: r.simulated}
	if expert, ok := strings.CutPrefix(actor, "expert:"); ok && !r.simulatedExpert(expert) {
		env.account = r.Account
	}
	return env
}

// record appends a batch and folds it.
func (r *Runner) record(ctx context.Context, batch []events.Event) ([]events.Event, error) {
	began := time.Now()
	s := r.core.State()
	stored, err := r.Log.Append(ctx, s.Name, s.Sequence, batch...)
	if err != nil {
		return nil, err
	}
	r.Meter.ObserveDuration("append", time.Since(began))
	for _, e := range stored {
		if err := r.core.Apply(e); err != nil {
			return nil, err
		}
		r.Meter.CountEvent(e)
	}
	if r.followed { // else the core aside reads the log
		r.behind = append(r.behind, stored...)
	}
	r.releaseSettled()
	r.endTickets()
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
	case *events.QuestionAnswered:
		return r.simulatedExpert(p.Expert)
	}
	return false
}

func (r *Runner) simulatedExpert(name string) bool {
	reviewer := r.Reviewers[name]
	return reviewer != nil && reviewer.Describe().Simulated
}
