package engine

import (
	"strconv"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/projections/campaign"
)

// Envelope holds the actor, time and trace that all events of a batch share; an audit holds
// them to that (internal/attest/decisions).
type Envelope struct {
	// Actor, Account and Trace are those of [events.Event].
	Actor, Account, Trace string
	// Cause is the event that led to the first; the first leads to the others.
	Cause string
	// Simulated reports whether a payload is a fact about a simulated world;
	// nil where none is.
	Simulated func(events.Payload) bool
	// request and digest are of the first alone.
	request, digest string
}

// NewBatch returns the events of payloads behind the state's last event. It
// fails where the log would refuse them: then nothing was written.
//
// The caller appends the batch with the state's sequence as the expected one. Assign makes here
// the checks that the log makes, so that invalid events are refused before anything is written.
func NewBatch(
	s *campaign.State, now time.Time, env Envelope, payloads ...events.Payload,
) ([]events.Event, error) {
	batch := make([]events.Event, len(payloads))
	for i, payload := range payloads {
		e, err := events.New(s.Name, payload)
		if err != nil {
			return nil, err
		}
		e.Actor = env.Actor
		e.Account = env.Account
		e.Cause = env.Cause
		e.Time = Stamp(now)
		e.Trace = env.Trace
		if i == 0 {
			e.Request, e.RequestDigest = env.request, env.digest
		} else { // the log names events by their sequence
			e.Cause = strconv.FormatUint(uint64(s.Sequence)+1, 10)
		}
		if env.Simulated != nil {
			e.Simulated = env.Simulated(payload)
		}
		batch[i] = e
	}
	if _, err := events.Assign(s.Name, s.Sequence, batch); err != nil {
		return nil, err
	}
	return batch, nil
}

// Granted returns the events of a person's request, or why they cannot be had.
// The whole of it is checked before anything is written.
//
// simulated marks payloads as in [Envelope]; nil where no payload of a request
// is about a simulated world. Nothing of the core changes: the caller appends
// the events, and then folds them.
func (c *Core) Granted(
	r Request, now time.Time, simulated func(events.Payload) bool,
) ([]events.Event, error) {
	payloads, err := c.Handle(r)
	if err != nil {
		return nil, err
	}
	s := c.State()
	// Two batches with one time could not be distinguished by ReadBatch, which
	// finds the events of a request by their cause and time. With a coarse clock
	// the next request would otherwise become part of the last batch.
	if Stamp(now).Equal(c.last) {
		now = now.Add(time.Microsecond)
	}
	env := Envelope{
		Actor: r.Actor, Account: r.Account, Cause: s.LastEvent, Trace: s.Trace, Simulated: simulated,
		request: r.ID, digest: r.digest(),
	}
	batch, err := NewBatch(s, now, env, payloads...)
	if err != nil {
		return nil, notPossible("it cannot be recorded: %w", err)
	}
	return batch, nil
}
