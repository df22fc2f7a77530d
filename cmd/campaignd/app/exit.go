package app

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/files/campaignfile"
	"github.com/campaignd/campaignd/internal/files/exchange"
	"github.com/campaignd/campaignd/internal/files/yamltree"
	"github.com/campaignd/campaignd/internal/ground/input"
	"github.com/campaignd/campaignd/internal/ground/plaintext"
	"github.com/campaignd/campaignd/internal/ground/problem"
)

// Exit codes; `campaignd --help` explains them. Scripts rely on
// them: they are never renumbered.
const (
	exitOK          = 0
	exitFailed      = 1
	exitInput       = 2
	exitStore       = 3
	exitInterrupted = 4
	exitUncounted   = 5
)

var (
	// errInterrupted is the cause of a context that a person's Ctrl-C ended.
	errInterrupted = errors.New("interrupted")
	// errNo is wrapped by the errors of commands with the answer "no". Its own text is empty,
	// because the answer has the words.
	errNo = errors.New("")
	// errReported means that the answer is "no" and has been printed already: only the exit code is
	// left to be chosen.
	errReported = errors.New("reported")
	// errUncounted is errReported where a check passed as far as could be seen
	// without counting acts.
	errUncounted = fmt.Errorf("%w: not counted", errReported)
)

// exits is the table of exit codes; each problem.Code has one. Problems that a person can mend at
// the store are exitStore, those that ask for a different request exitFailed.
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

// inputError is a mistake in a person's input or in a file they gave. Nothing was changed. It ends
// with exit code 2, which scripts take as "do not try again as it is".
type inputError struct{ error }

func (e inputError) Unwrap() error { return e.error }

// ProblemCode implements problem.Coded.
func (inputError) ProblemCode() problem.Code { return problem.Invalid }

// badInput returns an inputError; the format may wrap an error with %w.
func badInput(format string, args ...any) error { return inputError{fmt.Errorf(format, args...)} }

// storeError is a store that cannot be used: missing, in use, damaged, or of a
// newer version.
type storeError struct{ error }

func (e storeError) Unwrap() error { return e.error }

// ProblemCode implements problem.Coded. Where the store's own error says that
// it is damaged or of a newer version, that is kept, because the remedy
// differs.
func (e storeError) ProblemCode() problem.Code {
	if code := problem.CodeOf(e.error); code == problem.Damaged || code == problem.Unsupported {
		return code
	}
	return problem.Unavailable
}

// badStore returns a storeError. The format may wrap an error with %w, whose
// code then counts where it is one of damage.
func badStore(format string, args ...any) error { return storeError{fmt.Errorf(format, args...)} }

// exitCode is the exit code of an error, nil where nothing went wrong.
//
// A code without a row in exits would be 0, that is success: each new code needs
// one.
func exitCode(err error) int {
	switch {
	case err == nil:
		return exitOK
	case errors.Is(err, errUncounted):
		return exitUncounted
	}
	return exits[codeOf(err)]
}

// codeOf classifies an error, also one of a package that knows no codes. The
// interruption comes first: it is often the cause of another error.
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
	// A file that a command was given cannot be read. A store that is missing
	// has become a storeError before.
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrPermission):
		return problem.Invalid
	}
	return problem.Internal
}

// fail reports an error on standard error, with --json as a document on
// standard output too, and returns the exit code.
//
// It is called once, by Run, for every command.
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

// failure is the JSON document of a command that failed.
type failure struct {
	// Error is the text for a person, with commands.
	Error string `json:"error"`
	Exit  int    `json:"exit"`
	// Problem is the same as data; nil where nothing more is known.
	Problem *problem.Error `json:"problem,omitempty"`
}

// problemOf is an error as data; nil for one without a code, whose text says all. A program can act
// on it: the remedies have actions in place of command lines.
func problemOf(err error) *problem.Error {
	code := codeOf(err)
	if code == problem.Internal {
		return nil
	}
	known := problem.FromError(err)
	known.Code = code
	return known
}

// linesError is an error whose message has several lines on purpose. It marks
// such a text for ofLines; its code is that of the error within.
type linesError struct{ error }

func (e linesError) Unwrap() error { return e.error }

// ofLines reports whether an error's message has several lines that this
// program composed. In any other message a newline came from outside, from a
// device or a name, and is written as a blank: otherwise it could pass for a
// message of its own.
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

// explainError describes the failure, and its remedies as command lines. Damage has an advice of
// its own, and the log's words about it are cut to those that help.
//
// The specifics of an error are added where it is made; here are only those that need the command
// line (negative numbers) or that many packages share (a store in use).
func (a *app) explainError(err error) string {
	message := a.about.clause(strings.TrimPrefix(err.Error(), "store: "), problem.RemediesOf(err))
	switch {
	case errors.Is(err, events.ErrDamaged):
		message = fmt.Sprintf("%s; %s looks at all of it. Nothing was changed: go on from a copy that is whole",
			damageInWords(err), a.about.command("audit"))
	case errors.Is(err, events.ErrInUse):
		message += "; wait for it to finish, or end it, and try again"
	case errors.Is(err, events.ErrUnfinished):
		message += "; the command is `campaignd export STORE --to WHERE`, with --copy if it was begun with it"
	// pflag reads -3.2 as flags; the person meant a number.
	case strings.HasPrefix(message, "unknown shorthand flag: ") && strings.ContainsAny(message, "0123456789"):
		message += "; write a negative number as --value=-3.2, or after --"
	}
	return message
}

// clause is an error with its remedies.
func (a *app) clause(err error) string { return a.about.clause(err.Error(), problem.RemediesOf(err)) }

// damageInWords names the damage, in one line, without the database's words about its own files.
func damageInWords(err error) string {
	message, _, _ := strings.Cut(err.Error(), "\n")
	message, _, _ = strings.Cut(message, ": pebble: ")
	return strings.TrimPrefix(strings.TrimPrefix(message, "store: "), "open ")
}
