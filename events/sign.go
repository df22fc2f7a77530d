package events

import (
	"cmp"
	"time"
)

// InstrumentSignalled is a sign of life of an instrument that is at work on a command. Only signs
// that tell something new are recorded: the first, a handle, and whatever moves the time at which
// the instrument counts as silent by a minute or more.
type InstrumentSignalled struct {
	Experiment string `json:"experiment,omitempty"`
	// Act is that of a campaign with a procedure; then no experiment is named.
	Act        string `json:"act,omitempty"`
	Command    string `json:"command"`
	Instrument string `json:"instrument"`
	Sign
}

// Sign is an instrument's word on a command that it is at work on. All of it is optional: a sign with
// nothing in it says that the device lives.
type Sign struct {
	// Handle is the device's own name of the run, by which it is found again: a program ID, a UUID
	// of an execution. At most 1,000 characters.
	Handle string `json:"handle,omitempty"`
	// Fraction is the part of the work that is done, from 0 to 1.
	Fraction *float64 `json:"fraction,omitempty"`
	// Text says how far it is, in the device's words: "cycle 12 of 30". At most 1,000 characters.
	Text string `json:"text,omitempty"`
	// NextBy is within how many seconds the next sign is to come, where that may be longer than
	// the campaign's stall_after.
	NextBy float64 `json:"next_by,omitempty"`
}

// Promised is NextBy as a duration.
func (s Sign) Promised() time.Duration { return time.Duration(s.NextBy * float64(time.Second)) }

// CommandID implements [Commanded].
func (p InstrumentSignalled) CommandID() string { return p.Command }

// Subject implements [Payload].
func (p InstrumentSignalled) Subject() string { return cmp.Or(p.Experiment, p.Act) }
