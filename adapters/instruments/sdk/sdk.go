// Package sdk makes a campaignd instrument of a Go value. The program that
// serves it is named in the campaign file:
//
//	instrument:
//	  process:
//	    command: [./robot]
//
// and its main function is one line:
//
//	func main() { os.Exit(sdk.Main("robot.ledger", robot{})) }
//
// The package makes sure that no pump moves twice. A command is written to the
// ledger, and synced to disk, before Measure is called, and its outcome before
// campaignd learns of it. Measure is called at most once for a command,
// whatever is sent twice, killed or restarted, and even if several instances of
// the program share the ledger. Protocol and ledger format:
// docs/process-instrument.md.
package sdk

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"

	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
)

// Instrument is implemented by a device driver.
type Instrument interface {
	// Describe returns the instrument's identity and capabilities. It has no effect. Name must be
	// set. Commands outside the limits of Parameters are refused before Measure sees them; at most
	// Capacity calls of Measure run at once (0 stands for 1), and further commands wait. An error
	// that wraps [ErrTryAgain] says that the device cannot be described yet: campaignd waits and
	// asks again. Any other ends the program.
	Describe(ctx context.Context) (instruments.Description, error)
	// Measure performs the command and returns the measurement. It is called at most once for a
	// command. An Actual left nil stands for the composition that was requested.
	//
	// ctx ends only when the command is cancelled. An error has to state its meaning, by wrapping
	// one of these: [ErrFailed] says that the experiment took place and gave nothing usable,
	// [ErrInfeasible] that the composition cannot be made or measured, [ErrTryAgain] that nothing
	// took place and the campaign should ask again (the device is off, a door is open),
	// [ErrNotPerformed] that nothing took place and the campaign should not ask again. Any other
	// error, and a panic, leaves the experiment unknown, and a person looks: a line that broke says
	// nothing about the composition, and it does not show whether the device has acted.
	//
	// In a procedure cmd.Stage says what to do. A stage without cmd.Gives is done when Measure
	// returns, and nothing of the measurement counts but the composition made.
	Measure(ctx context.Context, cmd instruments.Command) (events.Measurement, error)
}

// Batcher is an [Instrument] that performs acts for several experiments: a stage that is done for the
// whole batch together, as a plate is loaded.
type Batcher interface {
	// Batch performs an act for cmd.Experiments, as Measure does for one, and returns what it gave for
	// each. One that is not listed is done; one that has failed has the Status failed, or infeasible,
	// and a Cause. An error is about all of them, and means what one of Measure does.
	Batch(ctx context.Context, cmd instruments.Command) ([]events.Given, error)
}

// BatchResumer is a [Batcher] that can also find out what became of an act that was cut short, as a
// [Resumer] does.
type BatchResumer interface {
	// ResumeBatch is called in place of Batch, and must not act again.
	ResumeBatch(ctx context.Context, cmd instruments.Command) ([]events.Given, error)
}

// Configurer is an [Instrument] that wants to know the campaign before it is
// first described. An error ends the program.
type Configurer interface {
	Configure(ctx context.Context, campaign Campaign) error
}

// Resumer is an [Instrument] that can find out what became of a command whose
// Measure was cut short by a crash of the program, for example because the
// device goes on by itself and remembers. Without it such a command is unknown,
// and waits for a person.
type Resumer interface {
	// Resume is called in place of Measure, at most once in each run of the
	// program. It must not perform the experiment again. Its errors mean what
	// those of Measure do.
	Resume(ctx context.Context, cmd instruments.Command) (events.Measurement, error)
}

// Keeper is an [Instrument] whose ledger is durable and complete, so that a command that is not in
// it is known not to have begun: after a crash between a command and its start campaignd calls the
// command off and asks for the experiment again, and no person has to look. The person who installs
// the device declares it, in its settings for example: the ledger lies on a disk that keeps synced
// data through a power cut, it is the only one with which the device is driven, from any machine,
// and it is neither deleted nor put back to an earlier day while campaigns are under way. The
// device needs an Identity. A ledger that this run of the program has begun tells nothing about the
// time before, and is not believed.
type Keeper interface {
	// Keeps is called once, after Configure and Describe.
	Keeps() bool
}

// Signaller is an [Instrument] that gives signs of life of each command by [Signal], and says so:
// the conformance suite holds it to that. Others may give some, too.
type Signaller interface {
	Signals()
}

// Safer is an [Instrument] whose device has a safe state.
type Safer interface {
	// Safe brings the device to a state in which nothing moves, flows or heats, and returns nil once it is
	// there. It may be called at any time, also during a Measure, and again. campaignd calls the commands
	// under way off at the same time, by the ctx of their Measure.
	Safe(ctx context.Context, reason string) error
}

// Filer is an [Instrument] that leaves files behind, such as spectra, traces and
// pictures. Its campaign keeps them with the experiment.
type Filer interface {
	// Files returns the files of a command whose Measure or Resume has ended, in whichever way. A
	// Path is in the folder that the program was started in, and its bytes do not change any more;
	// a URI says where a file stays. It is called once, before the outcome is kept in the ledger.
	Files(ctx context.Context, cmd instruments.Command) []instruments.File
}

// Deliverer is an [Instrument] whose experiments give quantities after they have
// ended, such as a capacity after 100 cycles.
type Deliverer interface {
	// Deliver waits until one of the named quantities of a measured command is there, or will not
	// be, and returns those that are. It has no effect, and is called again after a restart of
	// either side: the values have to be remembered where a restart does not reach them. ctx ends
	// with the program.
	Deliver(
		ctx context.Context, cmd instruments.Command, quantities []string,
	) (instruments.Delivery, error)
}

// Campaign is the content of the handshake.
type Campaign struct {
	Name       string
	Parameters []definition.Parameter
	Objective  definition.Objective
	// Quantities are those that the campaign declares, where it does.
	Quantities []definition.QuantityDef
	// Settings of the process instrument in the campaign file.
	Settings map[string]any
}

var (
	// ErrNotPerformed is wrapped by the error of a Measure that stopped before
	// anything physical took place.
	ErrNotPerformed = errors.New("the experiment did not take place")
	// ErrInfeasible is wrapped by the error of a Measure that found out that
	// the composition, and others like it, cannot be made or measured: it does
	// not dissolve, it is too thick to pump. The campaign learns to stay away.
	ErrInfeasible = errors.New("the composition cannot be made or measured")
	// ErrTryAgain is wrapped by the error of a Measure that stopped before
	// anything physical took place, for a reason that has nothing to do with
	// the composition. The campaign asks for it again, by a new command.
	ErrTryAgain = errors.New("the experiment did not take place; it is to be tried again")
	// ErrFailed is wrapped by the error of a Measure or Resume that knows that
	// the experiment took place and gave nothing usable: a bubble in the cell,
	// a vial that broke. It counts as an experiment and says something about
	// the composition.
	ErrFailed = errors.New("the experiment took place and gave no result")
	// ErrUnknown is wrapped by the error of a Measure or Resume after which
	// it is not known whether the experiment took place, as after any error
	// that says nothing of it.
	ErrUnknown = errors.New("nobody can tell what became of the experiment")
)

// Serve answers campaignd on in and out until in ends or ctx is done. It then takes no more
// commands, finishes those under way, keeps their results and returns. Neither the end of in nor
// that of ctx cuts an experiment short.
//
// Ledger is the directory that records the performed commands, one file for each; it is created if
// need be and must be on a file system with working locks (flock). It must be the same in every run
// of the program, and belong to this instrument alone. A command ID found in it is never acted on
// again.
func Serve(ctx context.Context, in io.Reader, out io.Writer, ledger string, inst Instrument) error {
	l, err := openLedger(ledger)
	if err != nil {
		return fmt.Errorf("sdk: ledger: %w", err)
	}
	s := &server{inst: inst, ledger: l, out: out, jobs: make(map[string]*job)}
	return s.serve(ctx, in)
}

// Main serves inst on standard input and output and returns the exit status. An
// interrupt ends it as the end of input does.
func Main(ledger string, inst Instrument) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, terminate)
	defer stop()
	// Standard output breaks when campaignd is killed. The experiment goes on.
	signal.Ignore(brokenPipe)
	if err := Serve(ctx, os.Stdin, os.Stdout, ledger, inst); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}
