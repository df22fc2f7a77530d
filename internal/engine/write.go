package engine

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/projections/campaign"
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

// envelope is what a batch's events have in common.
type envelope struct {
	actor, account, cause, trace string
	simulated                    func(events.Payload) bool
}

// newBatch returns the events of payloads behind the state's last event. It fails
// where the log would refuse them: then nothing was written.
func newBatch(
	s *campaign.State, now time.Time, env envelope, payloads ...events.Payload,
) ([]events.Event, error) {
	batch := make([]events.Event, len(payloads))
	for i, payload := range payloads {
		e, err := events.New(s.Name, payload)
		if err != nil {
			return nil, err
		}
		e.Actor = env.actor
		e.Account = env.account
		e.Cause = env.cause
		e.Time = stamp(now)
		e.Trace = env.trace
		if i > 0 { // the log names events by their sequence
			e.Cause = strconv.FormatUint(uint64(s.Sequence)+1, 10)
		}
		if env.simulated != nil {
			e.Simulated = env.simulated(payload)
		}
		batch[i] = e
	}
	if _, err := events.Assign(s.Name, s.Sequence, batch); err != nil {
		return nil, err
	}
	return batch, nil
}

// requested returns the events of a person's request, or why they cannot be had. The
// whole of it is checked before anything is written.
func (c *Core) requested(
	r Request, now time.Time, simulated func(events.Payload) bool,
) ([]events.Event, error) {
	payloads, err := c.Handle(r)
	if err != nil {
		return nil, err
	}
	s := c.State()
	if stamp(now).Equal(c.last) { // a coarse clock: what was asked for next is no part of what was recorded before
		now = now.Add(time.Microsecond)
	}
	batch, err := newBatch(
		s,
		now,
		envelope{actor: r.Actor, account: r.Account, cause: s.LastEvent, trace: s.Trace, simulated: simulated},
		payloads...)
	if err != nil {
		return nil, notPossible("it cannot be recorded: %w", err)
	}
	return batch, nil
}
