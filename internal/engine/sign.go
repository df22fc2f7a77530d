package engine

import (
	"strings"
	"time"

	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/ground/format"
	"github.com/campaignd/campaignd/projections/campaign"
)

const (
	// signEvery is the time in which a sign that tells nothing new is not recorded again: a cycler
	// that says each second how far it is would fill the log.
	signEvery = time.Minute
	// signsToSpare is how many more signs of a command are recorded than one in that time: a device
	// that gives its run another name each second would fill it, too.
	signsToSpare = 10
)

// Signalled returns the record of a sign of life of a command, by its subject; nil where it tells
// nothing new: it is not the first, brings no handle, and moves the time at which the instrument
// counts as silent by less than a minute, or than half of stall_after where that is shorter. In the
// long run one is recorded in that time, whatever the instrument says.
func Signalled(c Now, about string, sign events.Sign) events.Payload {
	o := c.Order(about)
	if o.Command == nil || !o.UnderWay() && o.Fate != campaign.Unknown {
		return nil
	}
	sign = instruments.RecordableSign(sign)
	next := &events.InstrumentSignalled{Command: o.ID, Instrument: o.Instrument, Sign: sign}
	next.Experiment, next.Act = subject(o)
	before := o.Sign
	if before == nil {
		return next
	}
	every := signEvery
	stall, _ := c.Definition.At(o.Resource).Silence()
	if stall > 0 {
		every = max(time.Millisecond, min(every, stall/2))
	}
	if before.Recorded >= signsToSpare+max(0, int(c.Now.Sub(o.DispatchedAt)/every)) {
		return nil
	}
	if sign.Handle != "" && sign.Handle != o.Handle {
		return next
	}
	moved := c.Now.Sub(before.At) + max(sign.Promised(), stall) - max(before.Promised(), stall)
	if c.Now.Sub(before.At) < every && moved.Abs() < every {
		return nil
	}
	return next
}

// SignText writes how far a command is by a sign of life: "40 %, cycle 12 of 30"; empty for a sign
// that says neither.
func SignText(s events.Sign) string {
	var parts []string
	if s.Fraction != nil {
		parts = append(parts, format.Percent(*s.Fraction))
	}
	if s.Text != "" {
		parts = append(parts, s.Text)
	}
	return strings.Join(parts, ", ")
}
