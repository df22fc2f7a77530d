// Package instrumenttest is the suite that every instrument passes before a real pump moves. [Run]
// runs it in a Go test, [Examine] anywhere else: `campaignd instrument check` prints its result.
//
// The suite restarts campaignd's side of the instrument, repeats commands, loses answers and
// cancels, as crashes and networks do, and kills the program of an instrument that has one
// ([instruments.Killer]). It shows what a healthy instrument must survive. Faults of the instrument
// itself (a hang, two results) need an instrument that commits them: the drivers' own tests do
// that.
//
// # Honest failures
//
// An experiment may fail, be infeasible, deferred or refused, and an honest instrument says so. A
// check that meets this is repeated at other points, a few times; after a deferral it waits first,
// as campaignd does. If no measurement can be had, the check could not be judged: it has not
// failed, and it has not passed.
//
// An answer that cannot be used (NaN, another unit) is a fault, and so is a program that ends by
// itself.
//
// # The record of acts
//
// An instrument's answers cannot show that it acted once. [Env.Acts] can: a record that the
// device's side keeps, read after every check. Without it the suite still sends the same starts
// twice, and reports that it did not see their effect.
//
// # Commands that move the device
//
// Only the check "describe" sends no commands, and where it fails, nothing is sent afterwards.
// Every other one may act, if only because the instrument is broken, and is skipped on an
// instrument that is not simulated unless [Env.AllowRuns] is set. Commands carry the points of
// [Env.Points], and nothing else, except in the check "out-of-limits", which needs
// [Env.AllowOutOfLimits] as well. Before the next check begins, every command of the last one has
// ended or has used up [Env.Patience].
package instrumenttest

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/events/definition"
)

// Env is the instrument under test and what may be done with it.
type Env struct {
	// Open returns the instrument as a new process would see it. It is called
	// for every restart, after the previous one was closed if it is an
	// io.Closer. Required.
	Open func(ctx context.Context) (instruments.Instrument, error)
	// Definition is the campaign: the suite reads its parameters and objective.
	Definition definition.Campaign
	// Points are compositions of the campaign that are safe to perform, at
	// least one. Only with two, at which other values are measured, does the
	// suite see results that are mixed up or belong to another run.
	Points []definition.Point
	// AllowRuns consents to experiments on an instrument that is not simulated.
	AllowRuns bool
	// NoKill spares the program of an instrument that is not simulated: it is
	// not killed in the middle of an experiment. What it knows after a crash is
	// then not judged.
	NoKill bool
	// AllowOutOfLimits consents to asking such an instrument for a composition
	// just outside the limits it describes.
	AllowOutOfLimits bool
	// Acts reads the record that the device's side keeps of its movements, oldest act first; see
	// [ActsIn]. Nil where it keeps none: then the suite judges by the instrument's answers, and
	// cannot see whether it acted once.
	Acts func() ([]Act, error)
	// AnswersUnseen says that the instrument answers, by design, for commands
	// it has never seen: a person may have performed them. It is taken for
	// granted of a simulated instrument without a record of its actions, whose
	// answers are a function of the command.
	AnswersUnseen bool
	// AllowUnjudged lets [Run] pass where checks could not be judged.
	AllowUnjudged bool
	// Readings is how many measurements the check "fresh" takes, and bounds the cost of the suite:
	// at least [LeastReadings]. Default [Readings]. With fewer, the check misses a value that now
	// and then belongs to another run, and carry-over from one run to the next.
	Readings int
	// Patience is the longest a measurement, or an answer, may take, and how
	// long the suite waits for an instrument that defers. Default 1 minute.
	Patience time.Duration
	// RetryAfter is the pause before a deferred command is repeated; it doubles
	// each time. Default 5 seconds, as campaignd waits.
	RetryAfter time.Duration
	// Prompt is how soon a method must return after its context is done.
	// Default 2 seconds.
	Prompt time.Duration
	// Prefix begins the ID of every command; it must be new in each run, since
	// instruments remember. Default: random.
	Prefix string

	only []string // checks, of the suite's own tests; nil for all
}

// Check is one law and how it is tested.
type Check struct {
	// Name is short and stable: "duplicate-start".
	Name string
	// Law is the obligation in a sentence, as far as the instrument's answers
	// show whether it is kept.
	Law string
	// Acts is the rest of it, which only a record of its acts shows; or empty.
	Acts string
	// Runs is how many experiments the check performs on a healthy instrument.
	Runs int
	// Run returns why the instrument breaks the law, or an error that wraps
	// ErrSkipped.
	Run func(ctx context.Context, s *Session) error
}

// ErrSkipped is wrapped by the error of a check that does not apply.
var ErrSkipped = errors.New("skipped")

// errUnjudged is wrapped by the error of a check that applies and could not be
// judged.
var errUnjudged = fmt.Errorf("%w: it could not be judged", ErrSkipped)

// unjudged is the error of a check that applies and says nothing: [Run] does not
// take it for passed.
func unjudged(format string, args ...any) error {
	return fmt.Errorf("%w: %s", errUnjudged, fmt.Sprintf(format, args...))
}

// describes is the name of the check that sends no commands.
const describes = "describe"

// skip is the error of a check that does not apply.
func skip(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrSkipped, fmt.Sprintf(format, args...))
}

// Checks returns the suite, in order.
func Checks() []Check {
	return []Check{
		{describes,
			"Describe is complete, fits the campaign and stays the same, also after a restart.", "",
			0, describe},
		{"never-started",
			"Await, Cancel and Recover of a command that was never started find nothing.",
			"and start nothing",
			0, neverStarted},
		{"measure",
			"A started command is measured: the campaign's objective and unit, a finite value in range, " +
				"every parameter as it was really made.", "by one act",
			1, measure},
		{"await-again", "Await gives the same outcome again, and to several goroutines at once.",
			"", 0, awaitAgain},
		{"start-after-completion",
			"The same command again after its completion is not an error and changes no outcome.",
			"and acts no more",
			0, startAfterCompletion},
		{"cancel-after-completion",
			"Cancelling a command that has ended changes no outcome.", "and moves nothing",
			0, cancelAfterCompletion},
		{"fresh",
			"A value belongs to its composition: measured in turn at two, it is neither that of the run before " +
				"nor always the same, and not now and then that of another run.", "", Readings - 1, fresh},
		{"carry", "A value does not depend on the run before: A after A is A after B.", "", 0, carry},
		{"actual",
			"The composition that is given as made is that of the command, and not that of the run before.",
			"and what the record of acts says was set", 0, actual},
		{"unattended", "A started command is carried out although nobody waits for it.", "", 1,
			unattended},
		{"duplicate-start",
			"The same command twice, one after the other and at once, is not an error.", "and acts once", 2,
			duplicateStart},
		{"context", "A context that ends is a prompt error and never stops the experiment.", "", 1,
			contextEnds},
		{"lost-confirmation",
			"A start whose confirmation was lost is found again by its ID.", "and acts once", 2,
			lostConfirmation},
		{"restart-before-start",
			"A new process learns that a command was never started, and can start it.", "",
			1, restartBeforeStart},
		{"restart-while-running",
			"A new process finds a running command by its ID and gets its outcome.", "without a second act",
			1, restartWhileRunning},
		{"restart-after-completion",
			"A new process finds a finished command by its ID with the same outcome, also after another start.",
			"and acts no more",
			0, restartAfterCompletion},
		{"second-process",
			"A second process that receives a start, while the first one works on it, takes it for the same command.",
			"and acts no more",
			1, secondProcess},
		{"other-parameters",
			"A known ID with other parameters is not taken for the command that it knows.", "",
			0, otherParameters},
		{"cancel-before-start",
			"Cancelling a command that was never started is not an error, and where the instrument voids, " +
				"it does not begin by a start that comes later, also after a restart.", "and nothing moves",
			1, cancelBeforeStart},
		{"cancel-while-running", "A cancelled command ends, whichever way, and its outcome is final.",
			"and nothing moves afterwards", 1,
			cancelWhileRunning},
		{"cancel-one-of-two",
			"Cancelling one of two commands under way leaves the other one alone.", "", 2, cancelOneOfTwo},
		{"out-of-limits",
			"A composition outside the instrument's limits is refused.", "and not acted on",
			0, outOfLimits},
		{"side-by-side",
			"Commands under way at once each get their own outcome, in whichever order they are waited for, " +
				"and it is what they measure alone.", "",
			2, sideBySide},
		{"signs",
			"Signs of life can be shown and recorded, and an instrument that declares them gives them.", "",
			1, signs},
		{"handle",
			"A new process whose ledger is lost finds a run by its handle, or does not know it: " +
				"it never says that it was not started.", "and nothing moves",
			0, handle},
		{"gave",
			"An act for several experiments gives each its own result, or the reason for none.", "and is performed once",
			1, together},
		{"voids",
			"A program that was stopped reads a start that was given up, and its cancel: " +
				"once that is answered, Recover tells the truth.", "and nothing begins",
			1, voids},
		// These come last: a killed program may leave its device at work.
		{"durable-ledger",
			"A program that declares its ledger to be durable and complete never says that a command was not started " +
				"which it has read, or acts on.", "and nothing begins",
			2, durableLedger},
		{"kill-after-completion",
			"A program that is killed after a measurement never says afterwards that it did not take place.", "",
			1, killAfterCompletion},
		{"kill-while-running",
			"A program that is killed in the middle of a command it had confirmed never says afterwards " +
				"that it was not started.", "and acts on nothing twice",
			1, killWhileRunning},
		{"kill-with-campaignd",
			"A program that is killed together with campaignd never says afterwards " +
				"that a confirmed command was not started.", "and acts on nothing twice",
			1, killWithCampaignd},
		{"killed-thrice",
			"A program that is killed three times in a row with one command under way never says " +
				"that it was not started.", "and acts on it no more",
			1, killedThrice},
		{"safe",
			"A device with a safe state is brought there in the middle of a command, which ends, and again with nothing under way.", "",
			1, safe},
		// It looks at what the record holds of all the others.
		{"drawn",
			"A command uses up the labels that it was given.", "by the record of acts",
			0, drawn},
	}
}

// Examine runs the suite. The error says that the suite could not be run; the instrument's faults
// are in the report.
func Examine(ctx context.Context, env Env) (Report, error) {
	s, err := newSession(ctx, env)
	if err != nil {
		return Report{}, err
	}
	_, program := s.inst.(instruments.Killer)
	report := Report{
		Instrument: s.description, Counted: s.acts.counted(), Countable: program || !s.description.Simulated,
	}
	for _, check := range Checks() {
		if env.only != nil && !slices.Contains(env.only, check.Name) {
			continue
		}
		result := s.run(ctx, check)
		if err = ctx.Err(); err != nil {
			break
		}
		report.Results = append(report.Results, result)
		report.Dispatched += result.Dispatched
	}
	report.Redelivered = s.redelivered
	report.Left = s.end()
	return report, err
}

// Experiments is how many commands the suite has a healthy instrument act on at most, not counting
// the experiments that it repeats after a failure or on a suspicion.
func Experiments(env Env) int {
	sum := 0
	for _, check := range Checks() {
		sum += check.Runs
	}
	return sum - (Readings - max(LeastReadings, cmp.Or(env.Readings, Readings)))
}

// Run runs the suite and reports each check as a subtest of t. What could not
// be judged is not passed: on an instrument that is not simulated
// [Env.AllowRuns] has to be set, and where checks cannot be judged for other
// reasons, [Env.AllowUnjudged].
func Run(t *testing.T, env Env) {
	t.Helper()
	report, err := Examine(t.Context(), env)
	if err != nil {
		t.Fatal(err)
	}
	for _, result := range report.Results {
		t.Run(result.Check, func(t *testing.T) {
			switch {
			case result.Verdict == Fail:
				t.Errorf("%s\n%s", result.Law, result.Reason)
			case result.Verdict == Skip:
				t.Skip(result.Reason)
			case result.Reason != "":
				t.Log(result.Reason)
			}
		})
	}
	n := len(report.Unjudged())
	switch {
	case n == 0 || env.AllowUnjudged:
	case !report.Instrument.Simulated && !env.AllowRuns:
		t.Errorf("%d of %d checks were not run, because %s does not describe itself as simulated: "+
			"set Env.AllowRuns where it may act, or test a twin that is simulated; "+
			"Env.AllowUnjudged accepts that nothing was tested", n, len(report.Results),
			report.Instrument.Name)
	default:
		t.Errorf("%d of %d checks could not be judged, for the reasons given there: "+
			"set Env.Points to compositions that can be measured, or accept it with Env.AllowUnjudged",
			n, len(report.Results))
	}
	if !report.Counted {
		t.Logf("whether %s acted once was NOT seen: set Env.Acts", report.Instrument.Name)
	}
}

// complete sets the defaults and reports all that is missing.
func (e *Env) complete() error {
	var faults []error
	if e.Open == nil {
		faults = append(faults, errors.New("the field Open is missing"))
	}
	if len(e.Points) == 0 {
		faults = append(faults, errors.New("safe points are missing"))
	}
	if e.Definition.Sought().Name == "" {
		faults = append(faults, errors.New("the campaign has no objective"))
	}
	e.Readings = max(LeastReadings, cmp.Or(e.Readings, Readings))
	e.Patience = cmp.Or(e.Patience, time.Minute)
	e.Prompt = cmp.Or(e.Prompt, 2*time.Second)
	e.RetryAfter = cmp.Or(e.RetryAfter, 5*time.Second)
	e.Prefix = cmp.Or(e.Prefix, "check-"+strings.ToLower(rand.Text()[:10]))
	if len(faults) > 0 {
		return fmt.Errorf("instrumenttest: %w", errors.Join(faults...))
	}
	return nil
}
