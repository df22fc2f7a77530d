package app

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/campaignfile"
	"github.com/campaignd/campaignd/internal/exchange"
	"github.com/campaignd/campaignd/internal/input"
	"github.com/campaignd/campaignd/internal/plaintext"
	"github.com/campaignd/campaignd/internal/problem"
	"github.com/campaignd/campaignd/internal/yamltree"
)

// Exit codes. exitHelp is what `campaignd --help` says about them.
const (
	exitOK          = 0
	exitFailed      = 1
	exitInput       = 2
	exitStore       = 3
	exitInterrupted = 4
)

const exitHelp = `Exit codes:
  0  done
  1  the answer is no: a check failed, the campaign does not allow it now, or it needs a person first
  2  wrong usage or bad input: nothing was changed
  3  the store: there is none, it is in use, damaged, or of a newer version
  4  interrupted: what was recorded is safe, the same command goes on`

var (
	// errInterrupted is the cause of a context that a person's Ctrl-C ended.
	errInterrupted = errors.New("interrupted")
	// errNo is wrapped by the errors of commands whose answer is no.
	errNo = errors.New("")
	// errReported means that the answer is no and has been printed already.
	errReported = errors.New("reported")
)

// exits is the table of exit codes.
var exits = map[problem.Code]int{
	problem.Invalid:         exitInput,
	problem.NotPossible:     exitFailed,
	problem.NotFound:        exitFailed,
	problem.Conflict:        exitFailed,
	problem.NotNow:          exitFailed,
	problem.Gone:            exitFailed,
	problem.Internal:        exitFailed,
	problem.Unauthenticated: exitFailed,
	problem.Forbidden:       exitFailed,
	problem.TooMany:         exitFailed,
	problem.NoCampaign:      exitStore,
	problem.Unavailable:     exitStore,
	problem.Uncertain:       exitStore,
	problem.Damaged:         exitStore,
	problem.Unsupported:     exitStore,
	problem.Interrupted:     exitInterrupted,
}

// inputError is a mistake in what a person typed or in a file they gave.
type inputError struct{ error }

func (e inputError) Unwrap() error { return e.error }

// ProblemCode implements problem.Coded.
func (inputError) ProblemCode() problem.Code { return problem.Invalid }

// badInput returns an inputError.
func badInput(format string, args ...any) error { return inputError{fmt.Errorf(format, args...)} }

// storeError is a store that cannot be used.
type storeError struct{ error }

func (e storeError) Unwrap() error { return e.error }

// ProblemCode implements problem.Coded: what the store itself says goes before.
func (e storeError) ProblemCode() problem.Code {
	if code := problem.CodeOf(e.error); code == problem.Damaged || code == problem.Unsupported {
		return code
	}
	return problem.Unavailable
}

func badStore(format string, args ...any) error { return storeError{fmt.Errorf(format, args...)} }

// exitCode is the exit code of an error, nil where nothing went wrong.
func exitCode(err error) int {
	if err == nil {
		return exitOK
	}
	return exits[codeOf(err)]
}

// codeOf classifies an error, also those of packages that know nothing of
// codes.
func codeOf(err error) problem.Code {
	if errors.Is(err, errInterrupted) {
		return problem.Interrupted
	}
	if code := problem.CodeOf(err); code != problem.Internal {
		return code
	}
	var (
		file  *yamltree.Error
		unfit *input.Error
	)
	switch {
	case errors.As(err, &file), errors.As(err, &unfit):
		return problem.Invalid
	case errors.Is(err, events.ErrStopped):
		return problem.Unavailable
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrPermission):
		return problem.Invalid
	}
	return problem.Internal
}

// fail reports an error to the person, or as JSON to a program, and returns the
// exit code.
func (a *app) fail(err error) int {
	code := exitCode(err)
	if errors.Is(err, errReported) {
		return code
	}
	message := a.explainError(err)
	if a.json {
		// A program that reads standard output gets one document in any case.
		text, _ := json.Marshal(failure{Error: message, Exit: code, Problem: problemOf(err)})
		fmt.Fprintln(a.stdout, string(text))
	}
	if ofLines(err) {
		fmt.Fprintf(a.stderr, "%s\n", message)
	} else {
		fmt.Fprintf(a.stderr, "campaignd: %s\n", plaintext.Line(message))
	}
	return code
}

// failure is what a command prints for a program when it fails.
type failure struct {
	// Error is what a person reads, with commands.
	Error string `json:"error"`
	Exit  int    `json:"exit"`
	// Problem is the same as data, nil where nothing more is known.
	Problem *problem.Error `json:"problem,omitempty"`
}

func problemOf(err error) *problem.Error {
	code := codeOf(err)
	if code == problem.Internal {
		return nil
	}
	known := problem.FromError(err)
	known.Code = code
	return known
}

// linesError is an error whose message has several lines.
type linesError struct{ error }

func (e linesError) Unwrap() error { return e.error }

// ofLines reports whether an error's message has several lines, each of them
// ours. In any other a newline came from somewhere else, and is not one.
func ofLines(err error) bool {
	var (
		file     *yamltree.Error
		amended  *campaignfile.AmendError
		mismatch *instruments.MismatchError
		rows     exchange.Faults
		lines    linesError
	)
	return errors.As(err, &file) || errors.As(err, &amended) || errors.As(err, &mismatch) ||
		errors.As(err, &rows) ||
		errors.As(err, &lines)
}

// explainError says what happened, and what to do in the words of the command
// line.
func (a *app) explainError(err error) string {
	message := a.about.clause(strings.TrimPrefix(err.Error(), "store: "), problem.RemediesOf(err))
	switch {
	case errors.Is(err, events.ErrDamaged):
		message = fmt.Sprintf("%s; %s looks at all of it. Nothing was changed: go on from a copy that is whole",
			damageInWords(err), a.about.command("audit"))
	case errors.Is(err, events.ErrInUse):
		message += "; wait for it to finish, or end it, and try again"
	case strings.HasPrefix(message, "unknown shorthand flag: ") && strings.ContainsAny(message, "0123456789"):
		message += "; write a negative number as --value=-3.2, or after --"
	}
	return message
}

// damageInWords says what is damaged, in one line, without what Pebble says of
// its own files.
func damageInWords(err error) string {
	message, _, _ := strings.Cut(err.Error(), "\n")
	message, _, _ = strings.Cut(message, ": pebble: ")
	return strings.TrimPrefix(strings.TrimPrefix(message, "store: "), "open ")
}
