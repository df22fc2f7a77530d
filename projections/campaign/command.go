package campaign

import (
	"time"

	"github.com/campaignd/campaignd/events"
)

// Command is the order to an instrument to run an experiment, and its fate. What that makes of the
// experiment is in the table [made].
type Command struct {
	// ID is empty where no instrument was given anything.
	ID   string `json:"id,omitempty"`
	Fate Fate   `json:"fate"`
	// Instrument was given it, and gives the result; without a command, whoever gave the result.
	Instrument string `json:"instrument,omitempty"`
	// Identity names the device it was sent to, where that said so, and Real is set where the device
	// was not simulated.
	Identity string `json:"identity,omitempty"`
	Real     bool   `json:"real,omitempty"`
	// DispatchedAt is when it was sent, RecalledAt when the instrument said what had become of it, to
	// a process that had not sent it.
	DispatchedAt time.Time `json:"dispatched_at,omitzero"`
	RecalledAt   time.Time `json:"recalled_at,omitzero"`
	// Drawn are the parts of stocks that it uses up.
	Drawn []events.Drawn `json:"drawn,omitempty"`
	// Handle is the device's own name of the run, by which it is found again.
	Handle string `json:"handle,omitempty"`
	// Sign is the latest recorded sign of life, nil for none. One that does not say how far the
	// command is leaves the earlier word on that.
	Sign *Sign `json:"sign,omitempty"`
	// Stalled is set while the instrument is known to be silent.
	Stalled bool `json:"stalled,omitempty"`
	// CallOff is that it was called off; nil where it was not.
	CallOff *CallOff `json:"call_off,omitempty"`
}

// Fate says how far a command has come.
type Fate string

const (
	Unsent  Fate = ""        // no instrument was given it
	Sent    Fate = "sent"    // handed to an instrument
	Begun   Fate = "begun"   // confirmed by the instrument
	Unknown Fate = "unknown" // a person must find out
	Over    Fate = "over"    // nothing is awaited of it: the experiment has an outcome
)

// Sign is a sign of life, and when it came.
type Sign struct {
	events.Sign
	At time.Time `json:"at"`
	// Recorded is how many signs of the command the log has, this one included.
	Recorded int `json:"recorded"`
}

// Silence is since when nothing was heard of the command (it was sent, its fate was told, or a sign
// of life came), and how much longer than allowed it may stay so by the instrument's own promise.
func (c *Command) Silence(allowed time.Duration) (since time.Time, longer time.Duration) {
	since = c.DispatchedAt
	if c.RecalledAt.After(since) {
		since = c.RecalledAt
	}
	if c.Sign == nil {
		return since, 0
	}
	if c.Sign.At.After(since) {
		since = c.Sign.At
	}
	return since, max(0, c.Sign.At.Add(c.Sign.Promised()).Sub(since.Add(allowed)))
}

// made is the status that a command's fate gives to its experiment. What a command that is over
// has made of it, the event with the outcome says.
var made = map[Fate]ExperimentStatus{
	Unsent: Requested, Sent: Dispatched, Begun: Started, Unknown: Unresolved,
}

// fateOf is the fate of the command of an experiment with a status.
func fateOf(status ExperimentStatus) Fate {
	for fate, makes := range made {
		if makes == status {
			return fate
		}
	}
	return Over
}

// given are the fates of a command that an instrument may have.
var given = []Fate{Sent, Begun, Unknown, Over}

// commands is the state machine of commands, by the kind of event.
var commands = map[events.Kind]transition[Fate]{
	events.KindExperimentDispatched: {
		from: []Fate{Unsent}, to: []Fate{Sent},
		check: check(func(s *State, _ *Experiment, p *events.ExperimentDispatched) string {
			if s.procedural() {
				return "the campaign has a procedure"
			}
			return drawable(s, p.Drawn)
		}),
		then: then(func(s *State, x *Experiment, e events.Event, p *events.ExperimentDispatched) {
			use(s, p.Drawn)
			x.Command.Drawn = p.Drawn
			x.Command.ID = p.Command
			x.Command.Instrument = p.Instrument
			x.Command.Identity = p.Identity
			x.Command.Real = !e.Simulated
			x.Command.DispatchedAt = e.Time
		}),
	},
	events.KindExperimentStarted: {
		from: []Fate{Sent}, to: []Fate{Begun},
	},
	events.KindInstrumentStalled: {
		from: []Fate{Sent, Begun},
		then: func(_ *State, x *Experiment, _ events.Event, _ events.Payload) { x.Command.Stalled = true },
	},
	events.KindInstrumentSignalled: {
		from: []Fate{Sent, Begun, Unknown},
		then: then(func(_ *State, x *Experiment, e events.Event, p *events.InstrumentSignalled) {
			x.Command.signalled(e, p)
		}),
	},
	events.KindExperimentUnresolved: {
		from: []Fate{Sent, Begun}, to: []Fate{Unknown},
		then: then(func(_ *State, x *Experiment, _ events.Event, p *events.ExperimentUnresolved) {
			x.Cause = p.Cause
			x.Command.Stalled = false
		}),
	},
	events.KindCancellationOrdered: {
		from: given,
		check: check(func(_ *State, x *Experiment, _ *events.CancellationOrdered) string {
			return uncommanded(x)
		}),
		then: then(callOff),
	},
	events.KindCancellationAnswered: {
		from: given, to: given,
		check: check(answerable), then: then(void),
	},
	events.KindInstrumentAnswered: {
		from: given,
		then: then(heard),
	},
}

// signalled folds a sign of life.
func (c *Command) signalled(e events.Event, p *events.InstrumentSignalled) {
	c.Stalled = false
	sign := &Sign{Sign: p.Sign, At: e.Time, Recorded: 1}
	if before := c.Sign; before != nil {
		sign.Recorded += before.Recorded
		if p.Fraction == nil && p.Text == "" {
			sign.Fraction = before.Fraction
			sign.Text = before.Text
		}
	}
	c.Sign = sign
	if p.Handle != "" {
		c.Handle = p.Handle
	}
}

// UnderWay reports whether an instrument has the command, and is expected to answer.
func (c *Command) UnderWay() bool { return c.Fate == Sent || c.Fate == Begun }

// BeingCalledOff reports whether the command was called off and may still begin, as
// far as the log knows.
func (c *Command) BeingCalledOff() bool {
	return c.CallOff != nil && c.CallOff.Voided == "" && !c.CallOff.Over
}

// Void reports whether the command cannot begin any more.
func (c *Command) Void() bool {
	return c.CallOff != nil && (c.CallOff.Voided != "" || c.CallOff.Over)
}

// AtRest reports whether the command cannot begin any more and, as far as the
// instrument can tell, is not under way either. A command can be void and under way: a device that
// does not stop completes a command that it has begun.
func (c *Command) AtRest() bool {
	stands := c.CallOff != nil && c.CallOff.Fate != "" && c.CallOff.Fate != "running"
	return c.Void() && (c.CallOff.Over || stands || c.CallOff.Voided == events.VoidedByPower)
}

// AtWork reports whether the device may be at work on the command, or may still
// begin it.
func (c *Command) AtWork() bool {
	if c.UnderWay() || c.Fate == Unknown {
		return c.ID != ""
	}
	return c.BeingCalledOff()
}
