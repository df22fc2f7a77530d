package instruments

import (
	"context"
	"errors"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
)

// Deliverer is an Instrument whose experiments give quantities after they have
// ended: those that the campaign declares to arrive later.
type Deliverer interface {
	// Deliver waits until at least one of the named quantities of a measured command arrives, or is
	// known never to, and returns those that have arrived. It has no effect on the experiment, and
	// may be called any number of times, also from a new process on an instrument that can recover.
	// An error that wraps [ErrNoDelivery] says that this instrument never gives anything later;
	// after any other error it is asked again.
	Deliver(ctx context.Context, cmd Command, quantities []string) (Delivery, error)
}

// Listener is a Deliverer that also hears unsolicited values.
type Listener interface {
	Deliverer
	// Unasked waits for values of a measured command that arrive while no call of Deliver waits for
	// them, such as a second value of a quantity. It asks for nothing, and has no effect on the
	// experiment. Any error ends it.
	Unasked(ctx context.Context, cmd Command) (Delivery, error)
}

// ErrNoDelivery is wrapped by the error of an instrument that gives nothing after
// an experiment has ended.
var ErrNoDelivery = errors.New("the instrument gives nothing after an experiment has ended")

// Delivery holds values that came after the end of an experiment, as reported: the engine checks it
// as it does a measurement.
type Delivery struct {
	Quantities []definition.Quantity `json:"quantities,omitempty"`
	Missing    []events.Missing      `json:"missing,omitempty"`
	// Unread are the reported parts that are not quantities.
	Unread []events.Unread `json:"unread,omitempty"`
}

// Empty reports whether it says nothing.
func (d Delivery) Empty() bool { return len(d.Quantities)+len(d.Missing)+len(d.Unread) == 0 }

// Names are those of the quantities that it says something of.
func (d Delivery) Names() (names []string) {
	for _, q := range d.Quantities {
		names = append(names, q.Name)
	}
	for _, m := range d.Missing {
		names = append(names, m.Name)
	}
	return names
}
