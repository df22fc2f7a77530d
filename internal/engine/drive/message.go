package drive

import (
	"context"
	"time"

	"github.com/campaignd/campaignd/adapters/humans"
	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/projections/campaign"
)

// message is a goroutine's report to the loop, which applies one after the other. An error ends
// the run. The campaign may have changed since a message was sent: each apply looks again at
// its subject.
type message interface {
	apply(ctx context.Context, r *Runner) error
}

// request is a person's request. Who made it waits for the reply, which has
// room in the channel.
type request struct {
	engine.Request
	reply chan<- reply
}

// reply is the answer to a request: the events that record it, of a repeat those
// of the first.
type reply struct {
	events []events.Event
	err    error
}

// apply fulfills a request. Its faults go to the person; a failure of the log ends the loop as
// well. A campaign that has lost its device resumes once the instrument has described itself.
//
// The batch is made before the instrument is asked, so that a request that is refused asks
// nothing; it is made again afterwards, since the campaign may have changed.
func (m request) apply(ctx context.Context, r *Runner) error {
	if first, err := r.core.Repeated(ctx, r.Log, m.Request); first != nil || err != nil {
		m.reply <- reply{events: first, err: err}
		return nil
	}
	if m.Abort != nil {
		abort := *m.Abort // it belongs to the caller
		abort.Secures = r.secures()
		m.Abort = &abort
	}
	batch, err := r.core.Granted(m.Request, r.Now(), r.simulated)
	if err != nil {
		m.reply <- reply{err: err}
		return nil
	}
	if d := r.lost(); m.Resume != nil && d != nil {
		r.team.describe(d, func(is instruments.Description, err error) message {
			return returned{d, is, err, m}
		})
		return nil
	}
	stored, err := r.record(ctx, batch)
	m.reply <- reply{events: stored, err: err}
	return err
}

// returned carries the instrument's description after a lost lease; the pending resume request
// is retried with it.
type returned struct {
	device      *device
	description instruments.Description
	err         error
	resume      request
}

// apply takes the lease anew, and then records the request; without the device
// it answers that the campaign stays paused.
func (m returned) apply(ctx context.Context, r *Runner) error {
	if m.device.lost != "" { // else another request to resume was quicker
		err := m.err
		if err == nil {
			err = r.take(m.device, m.description)
		}
		if err != nil {
			m.resume.reply <- reply{err: notBack(err)}
			return nil
		}
		m.device.restored()
	}
	return m.resume.apply(ctx, r)
}

// described carries the instrument's description of itself, before the first command.
type described struct {
	device      *device
	description instruments.Description
	err         error
}

// apply ends the run if the instrument does not describe itself: nothing can be dispatched
// without that.
func (m described) apply(_ context.Context, r *Runner) error {
	m.device.describing = false
	if m.err != nil {
		return m.err
	}
	return r.take(m.device, m.description)
}

// started reports that the instrument has confirmed a command.
type started struct{ subject, command string }

// apply records the confirmation, once: after a recovery it may come again.
func (m started) apply(ctx context.Context, r *Runner) error {
	delete(r.couriers.unheard, m.subject)
	o := r.core.State().Order(m.subject)
	if o.Fate != campaign.Sent {
		return nil
	}
	payloads := engine.Confirmed(r.core.State(), m.subject, m.command)
	return r.appendTraced(ctx, r.actor(o.Resource), o.LastEvent, o.Trace, payloads...)
}

// signalled is a sign of life of the instrument at work on a command.
type signalled struct {
	subject string
	sign    events.Sign
}

func (m signalled) apply(ctx context.Context, r *Runner) error {
	delete(r.couriers.unheard, m.subject)
	payload := engine.Signalled(r.core.At(engine.World{Now: r.Now()}), m.subject, m.sign)
	if payload == nil {
		return nil
	}
	o := r.core.State().Order(m.subject)
	if o.Instrument != r.devices[o.Resource].description.Name {
		return nil // it is another one now, and says nothing of the one that was sent the command
	}
	return r.appendTraced(ctx, r.actor(o.Resource), o.LastEvent, o.Trace, payload)
}

// concluded carries the end of a command, or the reason that it is unknown.
type concluded struct {
	subject string
	outcome instruments.Outcome
	err     error
}

// apply records the outcome in the trace of its experiment. The instrument's answer may be
// useless by now; then nothing is recorded.
func (m concluded) apply(ctx context.Context, r *Runner) error {
	r.couriers.release(m.subject) // its goroutine has ended
	o := r.core.State().Order(m.subject)
	from := r.devices[o.Resource].description
	payloads := engine.Concluded(r.core.At(engine.World{}), m.subject, m.outcome, m.err, from)
	if payloads == nil {
		return nil
	}
	trace, end := r.Meter.Trace(o.Trace, "measurement")
	end(nil)
	return r.appendTraced(ctx, r.actor(o.Resource), o.LastEvent, trace, payloads...)
}

// delivered carries the quantities that came after the end of an experiment, or the fact that
// the instrument gives none then.
type delivered struct {
	experiment string
	delivery   instruments.Delivery
	none       error
}

func (m delivered) apply(ctx context.Context, r *Runner) error {
	delete(r.couriers.collecting, m.experiment)
	if m.none != nil {
		r.devices[""].noDelivery = true
		return nil
	}
	if err := (unasked{m.experiment, m.delivery}).apply(ctx, r); err != nil {
		return err
	}
	r.listen(m.experiment)
	return nil
}

// unasked is an unsolicited value for an experiment, whether or not it awaits others.
type unasked struct {
	experiment string
	delivery   instruments.Delivery
}

func (m unasked) apply(ctx context.Context, r *Runner) error {
	x := r.core.State().Experiment(m.experiment)
	payloads := engine.Delivered(r.core.State(), m.experiment, m.delivery)
	if payloads == nil {
		return nil
	}
	return r.appendTraced(ctx, r.actor(""), x.LastEvent, x.Trace, payloads...)
}

// replied carries a reviewer's reply to a question, or the reason for its absence.
type replied struct {
	question string
	reply    humans.Reply
	over     bool // the wait for the reply had ended before it came
	err      error
}

// apply records the answer as the expert's, or its absence and the reason as the engine's.
func (m replied) apply(ctx context.Context, r *Runner) error {
	s := r.core.State()
	actor, payloads := engine.Heard(r.core.At(engine.World{}), m.question, m.reply, m.over, m.err)
	if payloads == nil {
		return nil
	}
	q := s.Question(m.question)
	if actor == "engine" {
		return r.append(ctx, actor, q.LastEvent, payloads...)
	}
	return r.appendTraced(ctx, actor, q.LastEvent, q.Trace, payloads...)
}

// prompted carries the examples that an expert was asked for. They are recorded once the
// campaign asks for them: it may have been paused meanwhile.
type prompted struct{ examples }

func (m prompted) apply(_ context.Context, r *Runner) error {
	r.couriers.examples = &m.examples
	r.couriers.prompted = ""
	return nil
}

// proposed carries the answer of the program that is the campaign's method.
type proposed struct {
	step   engine.Consult
	answer events.MethodAnswered
	took   time.Duration
}

// apply records it, unless the campaign has gone on since.
func (m proposed) apply(ctx context.Context, r *Runner) error {
	if r.couriers.consulting == m.step {
		r.couriers.consulting, r.couriers.dismiss = engine.Consult{}, nil
	}
	r.Meter.ObserveDuration("proposal", m.took)
	actor, payload := engine.Proposed(r.core.At(engine.World{}), m.step, m.answer)
	if payload == nil {
		return nil
	}
	return r.append(ctx, actor, r.core.State().LastEvent, payload)
}

// recalled carries the fates of all commands that recovery asked about. They are recorded
// before the next step.
type recalled struct{ verdicts []verdict }

func (m recalled) apply(_ context.Context, r *Runner) error {
	r.couriers.recovery.verdicts = m.verdicts
	return nil
}

// ticketed is heard of the ticket of the next command.
type ticketed struct {
	device *device
	queued *queued
	ticket HeldTicket // nil while it is waited for
	behind string     // who comes first
	err    error
}

func (m ticketed) apply(_ context.Context, r *Runner) error {
	m.device.ticketed(m)
	return nil
}

// lost carries the reason that the campaign lost its device, and the number of the lease it is
// about.
type lost struct {
	device *device
	why    string
	leased int
}

// apply gives the lease up, unless it has been taken anew since the command was
// dispatched.
func (m lost) apply(context.Context, *Runner) error {
	if m.leased == m.device.leased {
		m.device.lose(m.why)
	}
	return nil
}

// panicked is a programmer's mistake in an adapter or a method. It is thrown again in the loop,
// whose caller can handle it: in a goroutine of its own it would end the whole process.
type panicked struct{ what any }

func (m panicked) apply(context.Context, *Runner) error { panic(m.what) }
