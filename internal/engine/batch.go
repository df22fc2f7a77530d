package engine

import (
	"strconv"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/projections/campaign"
)

// envelope is what a batch's events have in common.
type envelope struct {
	actor, account, cause, trace string
	simulated                    func(events.Payload) bool
	// request and digest are of the first alone.
	request, digest string
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
		if i == 0 {
			e.Request, e.RequestDigest = env.request, env.digest
		} else { // the log names events by their sequence
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
	env := envelope{
		actor: r.Actor, account: r.Account, cause: s.LastEvent, trace: s.Trace, simulated: simulated,
		request: r.ID, digest: r.digest(),
	}
	batch, err := newBatch(s, now, env, payloads...)
	if err != nil {
		return nil, notPossible("it cannot be recorded: %w", err)
	}
	return batch, nil
}
