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
// device is as good as at work: see [Experiment.BeingCalledOff].
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

// BeingCalledOff reports whether the experiment's command was called off and may
// still begin, as far as the log knows.
func (x *Experiment) BeingCalledOff() bool {
	return x.CallOff != nil && x.CallOff.Voided == "" && !x.CallOff.Over
}

// BeingCalledOff returns the experiments whose commands are being called off.
func (s *State) BeingCalledOff() (all []*Experiment) {
	for i := range s.Experiments {
		if x := &s.Experiments[i]; x.BeingCalledOff() {
			all = append(all, x)
		}
	}
	return all
}

// Void reports whether the experiment's command cannot begin any more.
func (x *Experiment) Void() bool {
	return x.CallOff != nil && (x.CallOff.Voided != "" || x.CallOff.Over)
}

// AtRest reports whether the experiment's command cannot begin any more and, as far as the
// instrument can tell, is not under way either. A command can be void and under way: a device that
// does not stop completes a command that it has begun.
func (x *Experiment) AtRest() bool {
	return x.Void() &&
		(x.CallOff.Over || x.CallOff.Fate != "" || x.CallOff.Voided == events.VoidedByPower)
}

// AtWork reports whether the device may be at work on the experiment, or may
// still begin it.
func (x *Experiment) AtWork() bool {
	switch x.Status {
	case Dispatched, Started, Unresolved:
		return x.Command != ""
	}
	return x.BeingCalledOff()
}

// AtWork counts the experiments on which the device may be at work, or which it
// may still begin.
func (s *State) AtWork() (n int) {
	for i := range s.Experiments {
		if s.Experiments[i].AtWork() {
			n++
		}
	}
	return n
}

// uncommanded says that an experiment was given to no instrument, or "".
func uncommanded(x *Experiment) (problem string) {
	if x != nil && x.Command == "" {
		return fmt.Sprintf("experiment %s was given to no instrument", x.ID)
	}
	return ""
}

// callOff folds the order to call a command off.
func callOff(_ *State, x *Experiment, e events.Event, p *events.CancellationOrdered) {
	order := CallOff{
		Order: e.ID, By: e.Actor, At: e.Time, Reason: p.Reason, EndProgram: p.EndProgram, Repeat: p.Repeat,
		Settled: !x.Status.Open(),
	}
	if x.CallOff != nil && order.Repeat == "" {
		order.Repeat = x.CallOff.Repeat
	}
	x.CallOff = &order
}

// answerable checks the word that a command is void.
func answerable(_ *State, x *Experiment, p *events.CancellationAnswered) (problem string) {
	if x != nil && x.Command != "" && p.By != events.VoidedByPower && !x.BeingCalledOff() {
		return fmt.Sprintf("experiment %s is not being called off", x.ID)
	}
	return uncommanded(x)
}

// void folds the word that a command cannot begin any more. What the device has
// done meanwhile overtakes a person's word that it was not performed: its
// outcome is awaited again.
func void(_ *State, x *Experiment, e events.Event, p *events.CancellationAnswered) {
	answered := CallOff{
		Order: e.ID, By: e.Actor, At: e.Time, Reason: p.Reason, Settled: !x.Status.Open(),
	}
	if x.CallOff != nil {
		answered = *x.CallOff // the value of before is shared with clones
	}
	answered.Voided = p.By
	answered.Fate = p.Fate
	acted := p.Acted() || answered.Performed
	if acted && (x.Status == Unresolved || x.Status == Cancelled) {
		answered.Overtaken = x.Status == Cancelled
		x.Status = Started
		x.Cause = ""
		x.Source = ""
		x.EndedAt = time.Time{}
		x.RecalledAt = e.Time
	}
	x.CallOff = &answered
}

// heard folds what an instrument said too late. Where it contradicts a fate that
// is settled, the campaign pauses: see [State.Contradicted].
func heard(s *State, x *Experiment, _ events.Event, p *events.InstrumentAnswered) {
	if x.BeingCalledOff() { // what became of it is still being asked
		performed := *x.CallOff
		performed.Performed = performed.Performed || !ExperimentStatus(p.Answer).CalledOff()
		x.CallOff = &performed
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
func (x *Experiment) overByOutcome(e events.Event) {
	if x.BeingCalledOff() && strings.HasPrefix(e.Actor, "instrument:") {
		over := *x.CallOff
		over.Over = true
		x.CallOff = &over
	}
}
