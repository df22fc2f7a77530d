package drive

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/projections/campaign"
)

// How a command is called off: an instrument that does not answer within the
// first is asked again, after pauses that grow to the last.
const (
	callOffWithin       = 30 * time.Second
	firstCallOffPause   = time.Second
	longestCallOffPause = 30 * time.Second
)

// call is a call to the instrument that a command is off.
type call struct {
	order  string // the event that it answers to
	why    string // it is not answered yet
	cancel context.CancelFunc
}

// callOff tells the instrument that a command is off, until it has answered. It
// goes to the device past every queue: in a goroutine of its own, and under no
// lease or ticket. An order that follows takes the place of the one before.
func (c *couriers) callOff(t *team, s *campaign.State, o campaign.Order) {
	if before := c.calls[o.Subject]; before != nil {
		before.cancel()
	}
	ctx, cancel := context.WithCancel(t.awaiting)
	if c.calls == nil {
		c.calls = make(map[string]*call)
	}
	c.calls[o.Subject] = &call{order: o.CallOff.Order, cancel: cancel}
	off := callingOff{
		team: t, instrument: c.instruments[o.Resource], cmd: engine.CommandOf(s, o.Subject), order: *o.CallOff,
		asks:    !o.UnderWay(),
		settled: !o.Open && !o.DidNotTakePlace(),
		byHand:  s.Definition.At(o.Resource).ByHand,
	}
	t.consult(func() {
		defer cancel()
		off.untilAnswered(ctx)
	})
}

// releaseCalls ends the calls that need no answer any more.
func (c *couriers) releaseCalls(s *campaign.State) {
	for id, call := range c.calls {
		if o := s.Order(id); o.Command == nil || !o.BeingCalledOff() {
			call.cancel()
			delete(c.calls, id)
		}
	}
}

// callingOff is a call on its way, in a goroutine of its own.
type callingOff struct {
	team       *team
	instrument instruments.Instrument
	cmd        instruments.Command
	order      campaign.CallOff
	// asks is set where the fate is asked once more: no one waits for the outcome. settled is
	// set if a person said that it took place: the device is free once the call is done,
	// whatever its answer.
	asks, settled, byHand bool
}

// untilAnswered calls the command off until that is answered.
func (o callingOff) untilAnswered(ctx context.Context) {
	var by events.Voided
	try := func() (err error) {
		by, err = o.void(ctx)
		return err
	}
	failed := func(err error) { o.team.send(ctx, notCalledOff{o.cmd.Subject(), o.order.Order, err.Error()}) }
	if untilDone(ctx, try, failed) {
		o.answered(ctx, by)
	}
}

// untilDone tries until it succeeds, after pauses that grow; false where the context has ended before. Each
// failure is reported.
func untilDone(ctx context.Context, try func() error, failed func(error)) bool {
	for wait := firstCallOffPause; ; wait = min(2*wait, longestCallOffPause) {
		err := try()
		if err == nil {
			return true
		}
		if ctx.Err() != nil {
			return false
		}
		failed(err)
		if !pause(ctx, wait) {
			return false
		}
	}
}

// void makes sure that the command never begins any more, and returns the means.
//
// A program that was ended gets the order in its next run, for its ledger: it would otherwise
// find the command there, if it had read it. An instrument without a program is asked as
// always: the order must not hold the campaign up for good.
func (o callingOff) void(ctx context.Context) (events.Voided, error) {
	ctx, stop := context.WithTimeout(ctx, callOffWithin)
	defer stop()
	ender, ends := o.instrument.(instruments.Ender)
	if !o.order.EndProgram || !ends {
		err := o.instrument.Cancel(ctx, o.cmd)
		if errors.Is(err, instruments.ErrUnstoppable) {
			err = nil // an answer, too: what has begun goes on, and nothing more begins
		}
		return events.VoidedByInstrument, err
	}
	if err := ender.End(ctx); err != nil {
		return "", fmt.Errorf("its program does not end: %w", err)
	}
	_ = o.instrument.Cancel(ctx, o.cmd)
	return events.VoidedByProgram, nil
}

// answered reports that the command is void, with its fate.
//
// That a device is out of reach when it is asked for the fate is not an answer: a person may have said
// before that the command was not performed, and it is repeated on the device's word. So it is asked
// until it answers, and a command that it is at work on is awaited until its end is known.
func (o callingOff) answered(ctx context.Context, by events.Voided) {
	said := calledOff{subject: o.cmd.Subject(), order: o.order.Order, by: by}
	for wait := firstCallOffPause; o.asks && !o.byHand; wait = min(2*wait, longestCallOffPause) {
		v, err := askedFor(ctx, o.instrument, o.cmd)
		acted := v.fate == instruments.FateRunning || v.fate == instruments.FateFinished
		if err == nil && o.settled && acted {
			if v.fate == instruments.FateRunning {
				o.team.send(ctx, notCalledOff{o.cmd.Subject(), o.order.Order, "it is still at work on it"})
			}
			var outcome instruments.Outcome
			if outcome, err = o.instrument.Await(ctx, o.cmd); err == nil {
				said.ended = &outcome
			}
		}
		if err == nil {
			said.fate = v.fate
			break
		}
		if ctx.Err() != nil {
			return
		}
		o.team.send(ctx, notCalledOff{o.cmd.Subject(), o.order.Order, "it does not say what became of it: " + err.Error()})
		if !pause(ctx, wait) {
			return
		}
	}
	if ctx.Err() == nil {
		o.team.send(ctx, said)
	}
}

// calledOff reports that a command cannot begin any more, with the order that led to that.
type calledOff struct {
	subject, order string
	by             events.Voided
	fate           instruments.Fate
	ended          *instruments.Outcome // where it was asked for and is known
}

// apply records it as the instrument's answer, or as the engine's where the
// program was ended.
func (m calledOff) apply(ctx context.Context, r *Runner) error {
	s := r.core.State()
	o := s.Order(m.subject)
	if o.CallOff == nil || o.CallOff.Order != m.order {
		return nil // another order was given since
	}
	if m.fate == "" && !o.UnderWay() && !s.Definition.At(o.Resource).ByHand {
		delete(r.couriers.calls, m.subject) // given up since: called again, and asked
		return nil
	}
	if r.couriers.inFlight[m.subject] != nil {
		m.ended = nil // who waits for it says it
	}
	from := r.devices[o.Resource].description
	known := evidenceOf(o.Command, from)
	payloads := engine.CalledOff(r.core.At(engine.World{}), m.subject, m.by, m.fate, r.couriers.unheard[m.subject], m.ended, from)
	if payloads == nil {
		return nil
	}
	var err error
	if m.by == events.VoidedByProgram {
		err = r.append(ctx, "engine", s.LastEvent, payloads...)
	} else {
		err = r.appendTraced(ctx, "instrument:"+o.Instrument, o.LastEvent, o.Trace, payloads...)
	}
	if err != nil {
		return err
	}
	// The instrument has just reported its fate: it need not be asked again.
	if o = s.Order(m.subject); o.Fate == campaign.Begun && r.couriers.inFlight[o.Subject] == nil {
		r.await(o, verdict{fate: m.fate}, known)
	}
	return nil
}

// notCalledOff carries the reason that a call is not answered yet.
type notCalledOff struct{ subject, order, why string }

// apply keeps it for readers of the campaign. The fate of the device's commands is unknown from
// then on: no one can tell whether it stops.
func (m notCalledOff) apply(ctx context.Context, r *Runner) error {
	c := r.couriers.calls[m.subject]
	if c == nil || c.order != m.order {
		return nil
	}
	c.why = m.why
	o := r.core.State().Order(m.subject)
	if !o.UnderWay() {
		return nil
	}
	outcome := instruments.Outcome{
		Status: instruments.Unknown, Cause: "it was called off, and that was not answered: " + m.why,
	}
	from := r.devices[o.Resource].description
	payloads := engine.Concluded(r.core.At(engine.World{}), m.subject, outcome, nil, from)
	return r.appendTraced(ctx, "instrument:"+o.Instrument, o.LastEvent, o.Trace, payloads...)
}

// hear listens for confirmations of starts that were given up, for as long as the
// run lasts.
func (c *couriers) hear(t *team) {
	for _, instrument := range c.instruments {
		witness, ok := instrument.(instruments.Confirmer)
		if !ok {
			continue
		}
		t.consult(func() {
			for {
				cmd, err := witness.Confirmed(t.awaiting)
				if err != nil {
					return
				}
				t.send(t.awaiting, confirmed{cmd.Subject(), cmd.ID})
			}
		})
	}
}

// confirmed reports that the instrument has confirmed a start that was given up.
type confirmed struct{ subject, command string }

func (m confirmed) apply(ctx context.Context, r *Runner) error {
	payloads := engine.Confirmed(r.core.State(), m.subject, m.command)
	if payloads == nil {
		return nil
	}
	o := r.core.State().Order(m.subject)
	return r.appendTraced(ctx, "instrument:"+o.Instrument, o.LastEvent, o.Trace, payloads...)
}
