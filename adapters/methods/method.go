// Package methods is the contract between campaignd and a method that is not
// its own: a program of the user's that proposes what to measure next.
//
// # Obligations
//
//   - Propose returns what the method said, or why it said nothing: silence, an
//     end and nonsense are answers of a kind, and never errors. The only error is
//     that of the context.
//   - What is returned can be recorded: texts are cut and safe to show, numbers
//     finite, and their number bounded.
//   - An answer is to the question that was asked, and to no earlier one.
//   - Whether a proposal can be measured is not the method's to say, nor the
//     adapter's: the policy that records it does (policies/process).
//
// adapters/methods/methodtest holds the suite for programs.
package methods

import (
	"context"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
)

// Method proposes what to measure next.
type Method interface {
	// Describe starts the method where it does not run, and says what it is. The
	// error says why it cannot be used: the program, or its settings.
	Describe(ctx context.Context) (Description, error)
	// Propose asks what to measure next.
	Propose(ctx context.Context, q Question) (events.MethodAnswered, error)
	// Close ends it.
	Close() error
}

// Description is what a method says that it is.
type Description struct {
	Name, Version string
	// Deterministic: it gives the same answer to the same view and seed.
	Deterministic bool
}

// Question is what a method is asked.
type Question struct {
	// Decision is the one that it is asked for, Seed what it draws its random
	// numbers from, and Attempt counts the questions for the decision from 1.
	Decision string
	Seed     uint64
	Attempt  int
	// Refused says what was wrong with its answers to the questions before.
	Refused []string
	// View is the campaign as JSON (package internal/shown), and Shown which one
	// that is; the other fields of Shown are empty.
	View  []byte
	Shown events.Program
}

// Driver is a kind of method that is asked from outside: a row of the program's
// table.
type Driver struct {
	// Rule is the rule of next whose proposals it gets.
	Rule string
	// Open returns the method of a complete definition, whose relative paths
	// start from a folder. It asks nothing yet.
	Open func(def definition.Campaign, folder string, logf func(format string, args ...any)) (Method, error)
}
