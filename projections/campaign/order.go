package campaign

import (
	"iter"

	"github.com/campaignd/campaignd/events"
)

// Order is a command that an instrument was given, and its subject: an experiment, or an act of a
// procedure.
type Order struct {
	// Subject is the experiment's identifier, or the act's.
	Subject string
	// Resource is the campaign's name of the instrument; empty for the only one.
	Resource string
	*Command
	// Open is set while the outcome is to come; Outcome says what it was.
	Open    bool
	Outcome string
	// Cause is the reason for a missing result, or for an unknown fate.
	Cause string
	// LastEvent is the ID of the latest event about the subject, Trace that event's trace.
	LastEvent, Trace string
}

// DidNotTakePlace reports whether the subject ended without having been performed.
func (o Order) DidNotTakePlace() bool {
	act := events.ActNumber(o.Subject) > 0
	return o.Outcome == string(Cancelled) || act && o.Outcome == string(events.ActDeferred)
}

// Orders yields the commands of a campaign, in the order in which their subjects were made.
func (s *State) Orders() iter.Seq[Order] {
	return func(yield func(Order) bool) {
		for i := range s.Experiments {
			if x := &s.Experiments[i]; x.Command.ID != "" && !yield(x.order()) {
				return
			}
		}
		for i := range s.Acts {
			if !yield(s.Acts[i].order()) {
				return
			}
		}
	}
}

// Order returns the command of an experiment or an act. Its Command is nil for an unknown subject.
func (s *State) Order(subject string) Order {
	if x := s.Experiment(subject); x != nil {
		return x.order()
	}
	if a := s.Act(subject); a != nil {
		return a.order()
	}
	return Order{}
}

func (x *Experiment) order() Order {
	return Order{
		Subject: x.ID, Command: &x.Command, Open: x.Status.Open(), Outcome: string(x.Status),
		Cause: x.Cause, LastEvent: x.LastEvent, Trace: x.Trace,
	}
}

func (a *Act) order() Order {
	return Order{
		Subject: a.ID, Resource: a.Resource, Command: &a.Command,
		Open: a.Open(), Outcome: string(a.Status), Cause: a.Cause, LastEvent: a.LastEvent, Trace: a.Trace,
	}
}

// BeingCalledOff returns the commands that are being called off.
func (s *State) BeingCalledOff() (all []Order) {
	for o := range s.Orders() {
		if o.BeingCalledOff() {
			all = append(all, o)
		}
	}
	return all
}

// AtWork counts the commands on which a device may be at work, or which it may still begin.
func (s *State) AtWork() (n int) {
	for o := range s.Orders() {
		if o.AtWork() {
			n++
		}
	}
	return n
}
