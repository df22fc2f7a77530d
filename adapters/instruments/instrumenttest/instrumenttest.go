// Package instrumenttest is the suite that every instrument passes before a
// real pump moves. [Run] runs it in a Go test, [Examine] anywhere else: it is
// what `campaignd instrument check` prints.
//
// The suite restarts campaignd's side of the instrument, repeats commands, loses
// answers and cancels, as crashes and networks do, and kills the program of an
// instrument that has one ([instruments.Killer]). It shows what a healthy
// instrument must survive. Faults of the instrument itself (a hang, two
// results) need an instrument that commits them: the drivers' own tests do that.
//
// # What is no fault
//
// An experiment may fail, be infeasible, deferred or refused, and an honest
// instrument says so. A check that meets this is repeated at other points, a few
// times. If no measurement can be had, it is skipped, with the reason, and not
// failed.
//
// # What moves
//
// Only the check "describe" sends no commands. Every other one may act, if only
// because the instrument is broken, and is skipped on an instrument that is not
// simulated unless [Env.AllowRuns] is set. Commands carry the points of
// [Env.Points], and nothing else, except in the check "out-of-limits", which
// needs [Env.AllowOutOfLimits] as well. Before the next check begins, every
// command of the last one has ended or has used up [Env.Patience].
package instrumenttest

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
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
	// least one. Two different ones let the suite see mixed-up results.
	Points []definition.Point
	// AllowRuns consents to experiments on an instrument that is not simulated.
	AllowRuns bool
	// NoKill spares the program of an instrument that is not simulated: it is not
	// killed in the middle of an experiment. What it knows after a crash is then
	// not judged.
	NoKill bool
	// AllowOutOfLimits consents to asking such an instrument for a composition
	// just outside the limits it describes.
	AllowOutOfLimits bool
	// Acts counts the physical actions of each command, by a record that the
	// instrument itself keeps. Nil where it keeps none: then the suite judges
	// by what the instrument says.
	Acts func() (map[string]int, error)
	// AnswersUnseen says that the instrument answers, by design, for commands it
	// has never seen: a person may have performed them. It is taken for granted
	// of a simulated instrument without a record of its actions, whose answers
	// are a function of the command.
	AnswersUnseen bool
	// Patience is the longest a measurement, or an answer, may take. Default 1 minute.
	Patience time.Duration
	// Prompt is how soon a method must return after its context is done.
	// Default 2 seconds.
	Prompt time.Duration
	// Prefix begins the ID of every command; it must be new in each run, since
	// instruments remember. Default: random.
	Prefix string
}

// Check is one law and how it is tested.
type Check struct {
	// Name is short and stable: "duplicate-start".
	Name string
	// Law is the obligation in a sentence.
	Law string
	// Runs is how many experiments the check performs on a healthy instrument.
	Runs int
	// Run returns why the instrument breaks the law, or an error that wraps
	// ErrSkipped.
	Run func(ctx context.Context, s *Session) error
}

// ErrSkipped is wrapped by the error of a check that does not apply.
var ErrSkipped = errors.New("skipped")

func skip(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrSkipped, fmt.Sprintf(format, args...))
}

// Checks returns the suite, in order.
func Checks() []Check {
	return []Check{
		{"describe", "Describe is complete, fits the campaign and stays the same, also after a restart.", 0, describe},
		{"never-started",
			"Await, Cancel and Recover of a command that was never started start nothing and find nothing.",
			0, neverStarted},
		{"measure",
			"A started command is measured: the campaign's objective and unit, a finite value in range, " +
				"every parameter as it was really made.",
			1, measure},
		{"await-again", "Await gives the same outcome again, and to several goroutines at once.", 0, awaitAgain},
		{"start-after-completion",
			"The same command again after its completion is no error, acts no more and changes no outcome.",
			0, startAfterCompletion},
		{"cancel-after-completion", "Cancelling a command that has ended does nothing.", 0, cancelAfterCompletion},
		{"duplicate-start",
			"The same command twice, one after the other and at once, acts once and is no error.", 2,
			duplicateStart},
		{"context", "A context that ends is a prompt error and never stops the experiment.", 1, contextEnds},
		{"lost-confirmation",
			"A start whose confirmation was lost is found again by its ID, and acts once.", 2, lostConfirmation},
		{"restart-before-start", "A new process learns that a command was never started, and can start it.",
			1, restartBeforeStart},
		{"restart-while-running",
			"A new process finds a running command by its ID and gets its outcome, without a second action.",
			1, restartWhileRunning},
		{"restart-after-completion",
			"A new process finds a finished command by its ID with the same outcome; starting it again acts no more.",
			0, restartAfterCompletion},
		{"other-parameters", "A known ID with other parameters is not taken for the command that it knows.",
			0, otherParameters},
		{"cancel-before-start", "Cancelling a command that was never started does nothing.", 1, cancelBeforeStart},
		{"cancel-while-running", "A cancelled command ends, whichever way, and its outcome is final.", 1,
			cancelWhileRunning},
		{"out-of-limits", "A composition outside the instrument's limits is refused and not acted on.", 0, outOfLimits},
		{"side-by-side",
			"Commands under way at once each get their own outcome, in whichever order they are waited for.",
			2, sideBySide},
		// These come last: a killed program may leave its device at work.
		{"kill-after-completion",
			"A program that is killed after a measurement never says afterwards that it did not take place.",
			1, killAfterCompletion},
		{"kill-while-running",
			"A program that is killed in the middle of a command it had confirmed never says afterwards " +
				"that it was not started, and does nothing twice.",
			1, killWhileRunning},
		{"kill-with-campaignd",
			"A program that is killed together with campaignd never says afterwards " +
				"that a confirmed command was not started, and does nothing twice.",
			1, killWithCampaignd},
	}
}

// Verdicts of a check.
const (
	Pass = "pass"
	Fail = "fail"
	Skip = "skip"
)

// Result is the outcome of one check.
type Result struct {
	Check   string `json:"check"`
	Law     string `json:"law"`
	Verdict string `json:"verdict"` // Pass, Fail or Skip
	// Reason says why it failed or was skipped, or remarks on how it passed.
	Reason string `json:"reason,omitempty"`
	// Unjudged: it was skipped because no measurement could be had.
	Unjudged bool `json:"unjudged,omitempty"`
	// Dispatched is how many different commands were handed to the instrument.
	Dispatched int `json:"dispatched"`
	// Seconds is how long it took.
	Seconds float64 `json:"seconds"`
}

// Report is the outcome of the suite.
type Report struct {
	Instrument instruments.Description `json:"instrument"`
	// Counted says that actions were counted by the instrument's own record.
	Counted bool     `json:"counted"`
	Results []Result `json:"results"`
	// Dispatched is the sum over all checks. On an instrument that is not
	// simulated each of these may have been a physical action.
	Dispatched int `json:"dispatched"`
}

// Failed returns the checks that failed.
func (r Report) Failed() []Result {
	var failed []Result
	for _, result := range r.Results {
		if result.Verdict == Fail {
			failed = append(failed, result)
		}
	}
	return failed
}

// WriteText writes the report for people.
func (r Report) WriteText(w io.Writer) error {
	var b strings.Builder
	kind := "REAL: commands move things"
	if r.Instrument.Simulated {
		kind = "simulated"
	}
	fmt.Fprintf(&b, "instrument  %s, %s, capacity %d\n",
		cmp.Or(r.Instrument.Name, "(unknown)"), kind, r.Instrument.Capacity)
	if r.Counted {
		fmt.Fprintf(&b, "actions     counted by the instrument's own record\n\n")
	} else {
		fmt.Fprintf(&b, "actions     not counted: the instrument keeps no record of them that can be read\n\n")
	}
	counts := map[string]int{}
	for _, result := range r.Results {
		counts[result.Verdict]++
		fmt.Fprintf(&b, "%-4s  %-24s  %s\n", result.Verdict, result.Check, result.Law)
		indent := "\n" + strings.Repeat(" ", 32)
		if result.Reason != "" {
			fmt.Fprintf(&b, "%s→ %s\n", indent[1:], strings.ReplaceAll(result.Reason, "\n", indent+"  "))
		}
		if result.Dispatched > 0 {
			fmt.Fprintf(&b, "%s%s\n", indent[1:], dispatched(result.Dispatched, r.Instrument.Simulated))
		}
	}
	fmt.Fprintf(&b, "\n%d checks: %d passed, %d failed, %d skipped; %s\n", len(r.Results),
		counts[Pass], counts[Fail], counts[Skip], dispatched(r.Dispatched, r.Instrument.Simulated))
	if slices.ContainsFunc(r.Results, func(r Result) bool { return r.Unjudged }) {
		fmt.Fprint(&b, "Some could not be judged, because nothing could be measured: say where it can be, with --at\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func dispatched(n int, simulated bool) string {
	what := "commands"
	if n == 1 {
		what = "command"
	}
	if simulated {
		return fmt.Sprintf("%d %s dispatched, nothing physical", n, what)
	}
	return fmt.Sprintf("%d %s dispatched to the real instrument", n, what)
}

// Examine runs the suite. The error says that the suite could not be run; what
// the instrument does wrong is in the report.
func Examine(ctx context.Context, env Env) (Report, error) {
	s, err := newSession(ctx, env)
	if err != nil {
		return Report{}, err
	}
	defer s.close()
	report := Report{Instrument: s.description, Counted: env.Acts != nil}
	for _, check := range Checks() {
		result := s.run(ctx, check)
		if err := ctx.Err(); err != nil {
			return report, err
		}
		report.Results = append(report.Results, result)
		report.Dispatched += result.Dispatched
	}
	return report, nil
}

// Run runs the suite as subtests of t, one for each check.
func Run(t *testing.T, env Env) {
	t.Helper()
	s, err := newSession(t.Context(), env)
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	for _, check := range Checks() {
		t.Run(check.Name, func(t *testing.T) {
			switch result := s.run(t.Context(), check); result.Verdict {
			case Fail:
				t.Errorf("%s\n%s", check.Law, result.Reason)
			case Skip:
				t.Skip(result.Reason)
			default:
				if result.Reason != "" {
					t.Log(result.Reason)
				}
			}
		})
	}
}

func (e *Env) complete() error {
	var faults []error
	if e.Open == nil {
		faults = append(faults, errors.New("the field Open is missing"))
	}
	if len(e.Points) == 0 {
		faults = append(faults, errors.New("there is no safe point"))
	}
	if e.Definition.Objective.Name == "" {
		faults = append(faults, errors.New("the campaign has no objective"))
	}
	e.Patience = cmp.Or(e.Patience, time.Minute)
	e.Prompt = cmp.Or(e.Prompt, 2*time.Second)
	e.Prefix = cmp.Or(e.Prefix, "check-"+strings.ToLower(rand.Text()[:10]))
	if len(faults) > 0 {
		return fmt.Errorf("instrumenttest: %w", errors.Join(faults...))
	}
	return nil
}
