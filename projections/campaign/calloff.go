package campaign

import (
	"fmt"
	"strings"
	"time"

	"github.com/campaignd/campaignd/events"
)

// CallOff is the order that a command is never begun any more.
//
// A start that the instrument has not read yet may still lie in its input when a
// person looks and says that nothing has moved. Until the order is answered the
// device is as good as at work: see [Command.BeingCalledOff].
type CallOff struct {
	// Order is the ID of the event that ordered it last, By its actor.
	Order  string    `json:"order"`
	By     string    `json:"by"`
	At     time.Time `json:"at"`
	Reason string    `json:"reason,omitempty"`
	// EndProgram and Repeat are as in [events.CancellationOrdered].
	EndProgram bool   `json:"end_program,omitempty"`
	Repeat     string `json:"repeat,omitempty"`
	// Settled is set where a person had said before what became of it.
	Settled bool `json:"settled,omitempty"`
	// Voided is why the command cannot begin any more, empty while it may.
	Voided events.Voided `json:"voided,omitempty"`
	// Fate is the instrument's word on the command after that, empty where no one
	// asked.
	Fate string `json:"fate,omitempty"`
	// Over is set where an outcome of the instrument made an answer needless.
	Over bool `json:"over,omitempty"`
	// Performed is set where the instrument said meanwhile, unasked, that it was
	// performed.
	Performed bool `json:"performed,omitempty"`
	// Overtaken is set where a person had said that it was not performed, and
	// the instrument said that it was.
	Overtaken bool `json:"overtaken,omitempty"`
}

// uncommanded says that an experiment was given to no instrument, or "".
func uncommanded(x *Experiment) (problem string) {
	if x != nil && x.Command.ID == "" {
		return fmt.Sprintf("experiment %s was given to no instrument", x.ID)
	}
	return ""
}

// callOff folds the order to call a command off.
func callOff(_ *State, x *Experiment, e events.Event, p *events.CancellationOrdered) {
	x.Command.CallOff = ordered(x.Command.CallOff, e, p, !x.Status.Open())
}

// ordered is the order to call a command off, after an earlier one if there was any; settled is set
// where a person had said before what became of it.
func ordered(before *CallOff, e events.Event, p *events.CancellationOrdered, settled bool) *CallOff {
	order := CallOff{
		Order: e.ID, By: e.Actor, At: e.Time, Reason: p.Reason, EndProgram: p.EndProgram, Repeat: p.Repeat,
		Settled: settled,
	}
	if before != nil && order.Repeat == "" {
		order.Repeat = before.Repeat
	}
	return &order
}

// answerable checks the word that a command is void.
func answerable(_ *State, x *Experiment, p *events.CancellationAnswered) (problem string) {
	if x != nil && x.Command.ID != "" && p.By != events.VoidedByPower && !x.Command.BeingCalledOff() {
		return fmt.Sprintf("experiment %s is not being called off", x.ID)
	}
	return uncommanded(x)
}

// LookAgain is the cause of an unknown fate that a person had settled too early.
const LookAgain = "it was said not to have been performed before it was certain that it cannot begin any more, " +
	"and the instrument does not know: look again"

// void folds the word that a command cannot begin any more. What the device has
// done meanwhile overtakes a person's word that it was not performed: its
// outcome is awaited again. Where the device does not know, the person is asked again.
func void(_ *State, x *Experiment, e events.Event, p *events.CancellationAnswered) {
	x.Command.CallOff = answered(x.Command.CallOff, e, p, !x.Status.Open())
	if x.Command.CallOff.acted(p) && (x.Status == Unresolved || x.Status == Cancelled) {
		x.Command.CallOff.Overtaken = x.Status == Cancelled
		x.Command.Fate = Begun
		x.Cause = ""
		x.Source = ""
		x.EndedAt = time.Time{}
		x.Command.RecalledAt = e.Time
	} else if p.Again && x.Status == Cancelled {
		x.Command.CallOff.Overtaken = true
		x.Command.Fate = Unknown
		x.Cause = LookAgain
		x.Source = ""
		x.EndedAt = time.Time{}
	}
}

// answered is an order to call a command off with its answer, or the answer of a person to none.
func answered(before *CallOff, e events.Event, p *events.CancellationAnswered, settled bool) *CallOff {
	order := CallOff{Order: e.ID, By: e.Actor, At: e.Time, Reason: p.Reason, Settled: settled}
	if before != nil {
		order = *before // the value of before is shared with clones
	}
	order.Voided = p.By
	order.Fate = p.Fate
	return &order
}

// acted reports whether the instrument has said, with its answer or before, that it performed the
// command.
func (o *CallOff) acted(p *events.CancellationAnswered) bool { return p.Acted() || o.Performed }

// performed is an order with what the instrument said while it was being called off.
func performed(before *CallOff, now bool) *CallOff {
	order := *before
	order.Performed = order.Performed || now
	return &order
}

// heard folds what an instrument said too late. Where it contradicts a fate that
// is settled, the campaign pauses: see [State.Contradicted].
func heard(s *State, x *Experiment, _ events.Event, p *events.InstrumentAnswered) {
	if x.Command.BeingCalledOff() { // what became of it is still being asked
		x.Command.CallOff = performed(x.Command.CallOff, !ExperimentStatus(p.Answer).CalledOff())
		return
	}
	switch said := ExperimentStatus(p.Answer); {
	case x.Status.Open(), said == x.Status:
	case said.CalledOff(): // a device that has forgotten denies what it is asked to call off
	case said == Started && !x.Status.CalledOff(): // it took place, and that is known
	default:
		s.Contradicted = x.ID
	}
}

// overByOutcome ends the call-off of a command whose instrument has said how it
// ended: it will not begin any more.
func (c *Command) overByOutcome(e events.Event) {
	if c.BeingCalledOff() && strings.HasPrefix(e.Actor, "instrument:") {
		over := *c.CallOff
		over.Over = true
		c.CallOff = &over
	}
}
