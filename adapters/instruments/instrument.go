// Package instruments is the contract between campaignd and whatever performs
// an experiment: a simulation, a table of past results, a person with a
// pipette, a robot behind a program.
//
// # The life of a command
//
// The engine writes the command into the log, then calls Start, then Await. A
// command's ID is unique for ever, and an instrument performs one command at
// most once: that is the whole safety of the system. If campaignd is killed, a
// new process asks what became of each dispatched command through [Recoverer];
// an instrument that cannot say, or does not know, leaves the command to a
// person. No command is ever sent again on a guess.
//
// # Obligations
//
//   - Start is idempotent by command ID: a second Start of the same command,
//     even after it has completed, acts once and is not an error. A Start that
//     returns an error other than [ErrRefused] may have acted.
//   - An ID stands for one experiment for ever. Asked about a known ID with other
//     parameters (by a campaign whose store is an old copy), an instrument does
//     not act, and does not give the outcome of the first experiment: the fate is
//     unknown.
//   - Await may be called any number of times, also after completion, also
//     from a new process on an instrument that can recover, and always gives
//     the same outcome for the same command. It never starts anything.
//   - All methods are safe for concurrent use and return soon after their
//     context is done. A context that ends is an error, never an outcome, and
//     never stops the experiment: only Cancel does.
//   - A command that Cancel was answered for never begins afterwards, whatever is
//     still on its way to the instrument.
//   - An outcome is final. A late or second result for a command is dropped by
//     the adapter.
//   - Results are returned as they are. The engine checks names, units, ranges
//     and NaN (see [Admit]), and records what it refuses. It compares the
//     description with the campaign (see [Compatible]) before anything starts.
//
// # Optional capabilities
//
// [Recoverer] for instruments whose memory outlives the process, [Deliverer] for
// those that give quantities after an experiment has ended, [Listener] for those that
// may say more of them unasked, [Confirmer] for those whose confirmation of a start
// may come late, [Candidates] for those that can only measure a list, [Voider] for
// those whose answer to Cancel is binding, [Batcher] for those that perform acts for several
// experiments together, [Safer] for those whose device has a safe state, [Keeper] for those whose ledger is durable
// and complete, [Ender], [Killer], [Holder], [Redeliverer] and [Watched]
// for those that run a program, io.Closer for those that hold resources.
// adapters/instruments/instrumenttest holds the suite every instrument passes;
// `campaignd instrument check` runs it.
package instruments

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
)

// Instrument performs experiments. See the package documentation for its
// obligations.
type Instrument interface {
	// Describe returns the instrument's identity and capabilities. It has no effect. Where the
	// device cannot be described yet the error wraps [ErrLater].
	Describe(ctx context.Context) (Description, error)
	// Start hands over a command. It returns nil once the instrument has
	// accepted it (or had accepted it before), an error that wraps [ErrRefused]
	// if it certainly did not and will not act, and any other error if that is
	// not known.
	Start(ctx context.Context, cmd Command) error
	// Await waits for the outcome of a started command. For a command it was
	// never given it returns an error: [ErrNotStarted] if it is sure.
	Await(ctx context.Context, cmd Command) (Outcome, error)
	// Cancel asks the instrument never to begin the command any more, and to stop it where it can.
	// Once it returns nil, the command does not begin: neither by a start that is still on its way
	// nor by one that is sent later. A program that hangs on its serial port reads the start after
	// a person has reported that nothing moved; only an answered Cancel rules that start out.
	//
	// A command that had begun by then may go on. Await gives the outcome, which may still be a
	// measurement. For a command that was never started it is Cancelled, or a later Start is
	// refused. Cancelling a command that has ended changes nothing.
	//
	// An error that wraps [ErrUnstoppable] is an answer, too. After any other error nothing is
	// known: the command may be on its way.
	Cancel(ctx context.Context, cmd Command) error
}

// Voider is an Instrument that declares whether its Cancel keeps the contract for commands that
// were never started. A program of an earlier time answers, forgets, and begins with a start that
// it reads later.
type Voider interface {
	// Voids reports whether an answered Cancel is binding for as long as the
	// instrument remembers commands. It is known once Describe has returned.
	Voids() bool
}

// Keeper is an Instrument that says whether its ledger is durable and complete: a
// start is in it, on the disk, before anything moves, whichever process or machine
// drives the device, and nothing is ever lost of it. What is not in it has not begun.
type Keeper interface {
	// Keeps reports whether the ledger is. It is known once Describe has returned,
	// and holds for an instrument that voids (see [Voider]) and can recover.
	Keeps() bool
}

// Recoverer is an Instrument that can say, from a new process, what became of a
// command.
type Recoverer interface {
	// Recover has no effect on the experiment. An error is not a fate: nothing
	// was learned, and the question can be asked again.
	Recover(ctx context.Context, cmd Command) (Fate, error)
}

// Killer is an Instrument that runs a program of its own, which the conformance
// suite may end as crashes do.
type Killer interface {
	// Kill ends the program without warning, as `kill -9` does, and returns when it has ended;
	// without a running program it does nothing. Where severed is true, the connection to it is cut
	// first, as if campaignd had been killed with it: its further output is lost. Kill does not
	// stop movements of the device.
	Kill(ctx context.Context, severed bool) error
}

// Confirmer is an Instrument that may confirm a start after Start has given up
// waiting for it.
type Confirmer interface {
	// Confirmed waits for the next such confirmation, and returns its command.
	Confirmed(ctx context.Context) (Command, error)
}

// Ender is an Instrument that runs a program which a person may order to end.
type Ender interface {
	// End ends the program without warning, and every earlier run of it that is left, and returns
	// once they have ended: a command that they have not read they never perform. It does not stop
	// movements of the device.
	End(ctx context.Context) error
}

// Holder is an Instrument that runs a program of its own, which the conformance
// suite may stop where it stands, as a port does that hangs.
type Holder interface {
	// Hold stops the running program and returns what lets it go on, which may be
	// called more than once. The error wraps errors.ErrUnsupported where the
	// system cannot stop a program.
	Hold() (release func(), err error)
}

// Redeliverer is an Instrument that hands commands on to a program, and answers
// repetitions of Start itself. The conformance suite needs the program's own
// answer.
type Redeliverer interface {
	// Redeliver sends the program the start of a command that it may know
	// already, as a network does that delivers twice, and waits for its answer
	// until ctx is done. It returns what Start would return for that answer.
	Redeliver(ctx context.Context, cmd Command) error
}

// Watched is an Instrument that runs a program and keeps account of its behaviour apart from
// answers.
type Watched interface {
	Watch() Watch
}

// Watch counts events in the life of a program other than its answers.
type Watch struct {
	// Exits counts the times that the program ended by itself, and LastExit
	// says how it did so last.
	Exits    int
	LastExit string
	// StrayLines counts the lines on its standard output that were not messages, and FirstStray is
	// the first of them.
	StrayLines int
	FirstStray string
	// Left is the process that was left at work when the instrument was closed,
	// for as long as it lives; otherwise 0.
	Left int
}

// Batcher is an Instrument that says whether it performs acts for several experiments together.
type Batcher interface {
	// Batches is known once Describe has returned.
	Batches() bool
}

// Candidates is an Instrument that can measure only the compositions it lists.
type Candidates interface {
	Candidates(ctx context.Context) ([]definition.Point, error)
}

// Fate is the state of a command as known by the instrument.
type Fate string

const (
	// FateNotStarted: never acted on, as far as the instrument remembers. Only
	// a simulation is started again on that, since nothing physical can have
	// happened. Of a [Keeper] the command is called off, and another one takes its
	// place. For any other real instrument a person decides.
	FateNotStarted Fate = "not started"
	FateRunning    Fate = "running"  // Await will give the outcome
	FateFinished   Fate = "finished" // Await gives the outcome at once
	FateUnknown    Fate = "unknown"  // it is not known: a person must look
)

// Command is one experiment to perform.
type Command struct {
	// ID is unique for ever: "CAMPAIGN/INSTANCE/e7".
	ID string `json:"id"`
	// Campaign and Experiment say where it comes from.
	Campaign   string `json:"campaign"`
	Experiment string `json:"experiment"`
	// Parameters is the composition, in the campaign's units.
	Parameters definition.Point `json:"parameters"`
	// Replicate counts runs of the same composition, from 1.
	Replicate int `json:"replicate"`
	// Handle is the device's own name of the run, where a sign has given it: by it the device finds
	// the run again, also where the ledger is gone.
	Handle string `json:"handle,omitempty"`
	// Act, Stage and Batch are set where the command is an act of a procedure: its identifier, the
	// stage that it performs, and the batch that it is for.
	Act   string `json:"act,omitempty"`
	Stage string `json:"stage,omitempty"`
	Batch string `json:"batch,omitempty"`
	// Gives are the quantities that the stage is to measure.
	Gives []string `json:"gives,omitempty"`
	// Experiments are those of the batch that one act serves together; then Experiment, Parameters
	// and Replicate are empty.
	Experiments []Sample `json:"experiments,omitempty"`
	// Drawn are the parts of the campaign's stocks that the command uses up: tips to be taken, wells to
	// be filled. No other command is given them.
	Drawn []events.Drawn `json:"drawn,omitempty"`
}

// Subject is the purpose of the command: the act, or the experiment.
func (c Command) Subject() string { return cmp.Or(c.Act, c.Experiment) }

// Same reports whether two commands ask for the same: their identifier stands for one composition, or
// one plate of them, for ever.
func (c Command) Same(other Command) bool {
	return maps.Equal(c.Parameters, other.Parameters) && slices.EqualFunc(c.Experiments, other.Experiments,
		func(a, b Sample) bool {
			return a.Experiment == b.Experiment && a.Position == b.Position && maps.Equal(a.Parameters, b.Parameters)
		})
}

// Cloned returns the command with compositions of its own.
func (c Command) Cloned() Command {
	c.Parameters = maps.Clone(c.Parameters)
	c.Experiments = slices.Clone(c.Experiments)
	for i := range c.Experiments {
		c.Experiments[i].Parameters = maps.Clone(c.Experiments[i].Parameters)
	}
	return c
}

// Compositions are those that the command asks for.
func (c Command) Compositions() []definition.Point {
	if c.Experiments == nil {
		return []definition.Point{c.Parameters}
	}
	var all []definition.Point
	for _, x := range c.Experiments {
		all = append(all, x.Parameters)
	}
	return all
}

// Serves are the experiments that the command is for.
func (c Command) Serves() []string {
	if c.Experiments == nil {
		return []string{c.Experiment}
	}
	var all []string
	for _, x := range c.Experiments {
		all = append(all, x.Experiment)
	}
	return all
}

// Idle reports whether the command is to measure nothing: an act of a stage that gives no quantities.
func (c Command) Idle() bool { return c.Act != "" && len(c.Gives) == 0 }

// Sample is an experiment of an act that serves several.
type Sample struct {
	Experiment string `json:"experiment"`
	// Position is its place in the batch, from 1.
	Position int `json:"position"`
	// Parameters is the composition, in the campaign's units.
	Parameters definition.Point `json:"parameters"`
}

// Description says what an instrument is and can do.
type Description struct {
	// Name of the instrument in the log, for example "simulated/electrolyte".
	Name string `json:"name"`
	// Identity names the device: model, serial number, firmware, calibration.
	Identity string `json:"identity,omitempty"`
	// Parameters it takes. Empty: whatever the campaign defines.
	Parameters []ParameterSpec `json:"parameters,omitempty"`
	// Outputs it measures, the objective among them. Empty: whatever the
	// campaign defines.
	Outputs []OutputSpec `json:"outputs,omitempty"`
	// Capacity is how many commands it works on at once, at least 1.
	Capacity int `json:"capacity"`
	// Simulated is true where no physical action takes place.
	Simulated bool `json:"simulated"`
}

// ParameterSpec is a parameter an instrument takes.
type ParameterSpec struct {
	Name string `json:"name"`
	Unit string `json:"unit,omitempty"`
	// Min and Max are its limits, in Unit; absent: none.
	Min *float64 `json:"min,omitempty"`
	Max *float64 `json:"max,omitempty"`
	// Step is the resolution it can dose in, in Unit; 0: any.
	Step float64 `json:"step,omitempty"`
	// Categories lists the values of a categorical parameter.
	Categories []string `json:"categories,omitempty"`
}

// OutputSpec is a quantity an instrument measures.
type OutputSpec struct {
	Name string `json:"name"`
	Unit string `json:"unit,omitempty"`
}

// OutputOf is the quantity that a campaign seeks, for an instrument that
// measures that alone.
func OutputOf(q definition.Objective) OutputSpec { return OutputSpec{Name: q.Name, Unit: q.Unit} }

// Status says how a command ended.
type Status string

const (
	Measured  Status = "measured"
	Done      Status = "done"      // an act of a procedure is done; Gave says what it gave
	Failed    Status = "failed"    // it took place, or was tried, without a usable result
	Cancelled Status = "cancelled" // it was called off and did not take place
	Unknown   Status = "unknown"   // it is not known: a person must look

	// Infeasible: "can't". The composition cannot be made or measured, now or
	// ever, and neither can others like it: the campaign learns to stay away.
	Infeasible Status = "infeasible"
	// Deferred: "try again". Nothing took place, for a reason that has nothing
	// to do with the composition (a door was open, a bottle empty). The
	// campaign asks for the same composition again, by a new command.
	Deferred Status = "deferred"
)

// Outcome is how a command ended.
type Outcome struct {
	Status Status `json:"status"`
	// Measurement is set where Status is Measured. Where it is Failed, and the campaign declares
	// its quantities, it may hold values that were measured before the failure.
	Measurement *events.Measurement `json:"measurement,omitempty"`
	// Gave are the results of an act for several experiments, for each of them, where Status is Done: one that
	// is not listed is done, without a measurement.
	Gave []events.Given `json:"gave,omitempty"`
	// Cause says why, where Status is not Measured.
	Cause string `json:"cause,omitempty"`
	// Files are those that belong to the experiment, whatever became of it.
	Files []File `json:"files,omitempty"`
	// Remarks inform a person about the answer where no other field does: such as that a file could
	// not be kept, and why.
	Remarks []string `json:"-"`
	// Rejected is the instrument's answer where Status is Failed because it
	// could not be used: as it was given, for the record.
	Rejected string `json:"-"`
	// Once is set by the engine where Status is Failed because of [ErrOnce].
	Once bool `json:"-"`
}

// File is a file that an instrument names.
type File struct {
	// Path is where it lies, in the folder that the instrument works in. The
	// adapter keeps its bytes and sets Digest and Size; then Path is empty.
	Path string `json:"path,omitempty"`
	events.Attachment
}

// Recordable returns the outcome with texts that the log can hold: readable, and
// clipped, with a mark, where they are too long.
func (o Outcome) Recordable() Outcome {
	o.Cause, o.Rejected = Legible(o.Cause, MaxCause), Legible(o.Rejected, MaxRejected)
	return o
}

// ErrRefused is wrapped by the error of a Start that certainly did not and will
// not act on the command: the door is open, the instrument is not ready or out
// of reach. The experiment is postponed and tried again later by a new command.
var ErrRefused = errors.New("the instrument refused the command")

// ErrCalledOff is wrapped with [ErrRefused] by the error of a Start of a command
// that was called off before.
var ErrCalledOff = errors.New("it was called off")

// ErrPermanent is wrapped with [ErrRefused] where every later command of this
// kind would be refused as well: the composition is out of limits, a table has
// no such row. The experiment has failed.
var ErrPermanent = errors.New("permanently")

// ErrUnstoppable is wrapped by the error of a Cancel of a command that has begun
// and that the device cannot stop. It goes on to its end, and Await gives its
// outcome.
var ErrUnstoppable = errors.New("the command has begun and cannot be stopped")

// ErrLater is wrapped by the error of a Describe that may succeed later: the
// device behind the instrument is off, or starts up. The caller asks again.
var ErrLater = errors.New("the instrument does not describe itself yet")

// ErrOnce is wrapped with [ErrPermanent] where the composition was measured
// before and cannot be measured again: a table of past results has one row of
// it. Where the campaign only wanted to know whether a measurement in doubt is
// right, that costs nothing, and says nothing against the instrument.
var ErrOnce = errors.New("it cannot be measured again")

// ErrNotStarted is wrapped by the error of an Await of a command that the
// instrument has never been given, where it can tell.
var ErrNotStarted = errors.New("the command was never started")
