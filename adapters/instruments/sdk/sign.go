package sdk

import (
	"context"
	"fmt"

	"github.com/campaignd/campaignd/adapters/instruments/internal/wire"
	"github.com/campaignd/campaignd/events"
)

// signalling is the key of the function that sends the signs of a command.
type signalling struct{}

// Signal gives a sign of life of the command whose Measure or Resume was given ctx: how far it is,
// the device's own handle of the run, when the next sign is due. People see it while they wait, and
// the silence that they are told of is measured from it. With a handle a run is found again after a
// crash, also where the ledger is gone: Resume is given it with the command.
func Signal(ctx context.Context, sign events.Sign) {
	if signal, ok := ctx.Value(signalling{}).(func(events.Sign)); ok {
		signal(sign)
	}
}

// signals returns the function that sends the signs of an entry's command.
func (s *server) signals(e *entry) func(events.Sign) {
	id := e.command.ID
	return func(sign events.Sign) {
		if sign.Handle != "" {
			if err := e.name(sign.Handle); err != nil {
				s.say(wire.Reply{Error: fmt.Sprintf("the handle of command %s cannot be kept in the ledger: %v", id, err)})
			}
		}
		s.signal(id, sign)
	}
}

// signal sends a sign. One that cannot be written as JSON tells at least that the device lives.
func (s *server) signal(command string, sign events.Sign) {
	raw, err := wire.EncodeSign(sign)
	if err != nil {
		raw = []byte("{}")
	}
	s.say(wire.Reply{Command: command, Sign: raw})
}
