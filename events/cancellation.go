package events

import "cmp"

// CancellationOrdered says that a command is to be called off: its instrument
// shall never begin it any more, and stop it where it can. It is durable before
// the instrument hears of it, and holds until [CancellationAnswered] or an outcome.
type CancellationOrdered struct {
	Experiment string `json:"experiment,omitempty"`
	// Act is that of a campaign with a procedure; then no experiment is named.
	Act     string `json:"act,omitempty"`
	Command string `json:"command"`
	// Repeat is the experiment that was requested in the place of this one,
	// since a person said that it was not performed. It is withdrawn if the
	// instrument then says that it was.
	Repeat string `json:"repeat,omitempty"`
	// EndProgram has the instrument's program ended, instead of asked: a start
	// that it has not read dies with its input.
	EndProgram bool   `json:"end_program,omitempty"`
	Reason     string `json:"reason,omitempty"`
}

// Voided is why a command cannot begin any more.
type Voided string

const (
	VoidedByInstrument Voided = "instrument" // the instrument answered that it never begins it
	VoidedByProgram    Voided = "program"    // the instrument's program was ended
	VoidedByPower      Voided = "power"      // a person says that the device was without power
)

// CancellationAnswered says that a command that was called off cannot begin any
// more. It says nothing of whether it had begun before.
type CancellationAnswered struct {
	Experiment string `json:"experiment,omitempty"`
	// Act is that of a campaign with a procedure; then no experiment is named.
	Act     string `json:"act,omitempty"`
	Command string `json:"command"`
	By      Voided `json:"by"`
	// Instrument is the one that was called; empty where a person answers.
	Instrument string `json:"instrument,omitempty"`
	// Fate is the instrument's word on the command, asked once more after it had
	// answered: as in [RecoveredCommand]. It is empty where no one asked, since the
	// outcome was awaited or a person answers.
	Fate string `json:"fate,omitempty"`
	// Again says that a person had reported before that the command was not performed, and that the instrument
	// does not know: it may have begun since they looked, so that they are asked again.
	Again  bool   `json:"again,omitempty"`
	Reason string `json:"reason,omitempty"`
}

// InstrumentAnswered is an instrument's word on a command that came too late: the
// start was given up, or a person had settled the experiment. It changes no
// result.
type InstrumentAnswered struct {
	Experiment string `json:"experiment,omitempty"`
	// Act is that of a campaign with a procedure; then no experiment is named.
	Act        string `json:"act,omitempty"`
	Command    string `json:"command"`
	Instrument string `json:"instrument"`
	// Answer is "started", where the instrument confirms the start, or the
	// status of an outcome.
	Answer string `json:"answer"`
	// Text is the outcome as the instrument gave it: its cause, or the
	// measurement as JSON.
	Text string `json:"text,omitempty"`
}

// Acted reports whether the instrument said that the command is under way or has
// ended.
func (p CancellationAnswered) Acted() bool { return p.Fate == "running" || p.Fate == "finished" }

func (p CancellationOrdered) CommandID() string  { return p.Command }
func (p CancellationAnswered) CommandID() string { return p.Command }
func (p InstrumentAnswered) CommandID() string   { return p.Command }

// Subject implements Payload.
func (p CancellationOrdered) Subject() string  { return cmp.Or(p.Experiment, p.Act) }
func (p CancellationAnswered) Subject() string { return cmp.Or(p.Experiment, p.Act) }
func (p InstrumentAnswered) Subject() string   { return cmp.Or(p.Experiment, p.Act) }
