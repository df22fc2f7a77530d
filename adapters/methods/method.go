// Package methods is the contract between campaignd and a method that is not its own: a program of
// the user's that proposes the next measurement.
//
// # Obligations
//
//   - Propose returns the method's answer, or the reason why there was no answer: silence, an end and
//     nonsense are answers of a kind, and never errors. The only error is that of the context.
//   - The result can be recorded: texts are cut and safe to show, numbers finite, and their number
//     bounded.
//   - An answer is to the question that was asked, and to no earlier one.
//   - Neither the method nor the adapter decides whether a proposal can be measured: the policy that
//     records it does (policies/process).
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
	// Describe starts the method where it does not run, and returns its description. The error says
	// why it cannot be used: the program, or its settings.
	Describe(ctx context.Context) (Description, error)
	// Propose asks what to measure next.
	Propose(ctx context.Context, q Question) (events.MethodAnswered, error)
	// Close ends it.
	Close() error
}

// Description is a method's description of itself.
type Description struct {
	Name, Version string
	// Deterministic: it gives the same answer to the same view and seed.
	Deterministic bool
}

// Question is a request to a method.
type Question struct {
	// Decision is the one that it is asked for, Seed the seed of its random numbers, and Attempt
	// counts the questions for the decision from 1.
	Decision string
	Seed     uint64
	Attempt  int
	// Refused holds the faults of its answers to the questions before.
	Refused []string
	// View is the campaign as JSON (package internal/engine/shown), and Shown which one
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
	Open func(
		def definition.Campaign, folder string, logf func(format string, args ...any),
	) (Method, error)
}
