package engine

import (
	"fmt"

	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/projections/campaign"
)

// An act of a repeatable stage whose fate is unknown does no harm if it is made again. What must not happen
// is that both are at work at once: a meter that could not stop, and did not know what it did, was given the
// next act while it measured. So the command is called off first. Where its instrument then says that it was
// not started, it counts as an act that failed, and its stage says how often it is tried; a person is asked
// where the instrument does not know.

// Remade reports whether an act whose fate is unknown may be made again without a person, as far as is known.
func Remade(s *campaign.State, a *campaign.Act) bool {
	return a.Command.Fate == campaign.Unknown && s.Batch(a.Batch).Stage(a.Stage).Repeatable &&
		!s.Definition.At(a.Resource).ByHand &&
		(a.Command.CallOff == nil || a.Command.BeingCalledOff() ||
			a.Command.AtRest() && a.Command.CallOff.Fate == string(instruments.FateNotStarted))
}

// Remake is the next event on the way to make acts again whose fate is unknown, nil for none.
func Remake(s *campaign.State) events.Payload {
	for i := range s.Acts {
		a := &s.Acts[i]
		switch {
		case !Remade(s, a):
		case a.Command.CallOff == nil:
			return &events.CancellationOrdered{
				Act: a.ID, Command: a.Command.ID,
				Reason: fmt.Sprintf("its fate is unknown, and %s is repeatable", a.Stage),
			}
		case a.Command.AtRest():
			return &events.ActEnded{
				Act: a.ID, Command: a.Command.ID, Instrument: a.Command.Instrument, Status: events.ActFailed,
				Cause: recordableCause("it was called off, and had not been started: " + a.Cause),
			}
		}
	}
	return nil
}
