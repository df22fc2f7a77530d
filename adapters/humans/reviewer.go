// Package humans is the contract between campaignd and the people who are
// asked: in the terminal, in a browser, or simulated.
//
// # Obligations
//
//   - Ask blocks until the person has answered or the context is done. A
//     context that ends means the question has expired or been withdrawn: the
//     adapter stops showing it and returns the context's error.
//   - The same ID is the same question. Within a process, asked again or by
//     several goroutines at once, it gets the one answer, and the person is not
//     asked twice. After a restart the engine asks open questions again under
//     the same ID; an adapter whose memory outlives the process gives the answer
//     it has, any other asks the person again.
//   - An answer that comes after the question was withdrawn answers no other
//     question.
//   - The adapter shows everything the question carries that a person needs:
//     the log records the question as what was shown.
//   - Answers come from the person the question names; the adapter is
//     responsible for knowing who that is. A question to someone else is an
//     error.
//   - All methods are safe for concurrent use.
//
// adapters/humans/humantest holds the suite every reviewer passes.
package humans

import (
	"context"
	"time"

	"github.com/campaignd/campaignd/events"
)

// Reviewer puts questions to one expert.
type Reviewer interface {
	// Describe says who answers.
	Describe() Description
	// Ask puts the question and waits for the answer.
	Ask(ctx context.Context, q Question) (Answer, error)
}

// Exampler is a Reviewer whose expert can name examples unasked, before there
// is any question.
type Exampler interface {
	// Examples returns n labelled compositions: n/2 accepted and n−n/2
	// rejected where balanced is true, else labels of n random compositions.
	// Equal arguments give equal examples.
	Examples(ctx context.Context, n int, balanced bool) ([]Example, error)
}

// Description says who answers.
type Description struct {
	Expert    string
	Simulated bool
}

// Question asks whether a composition is worth the experiment.
type Question struct {
	// ID is unique for ever: "CAMPAIGN/q3".
	ID       string
	Campaign string
	Expert   string
	// Parameters in the campaign's order, with units, for showing Point.
	Parameters []events.Parameter
	// Point is the composition asked about.
	Point events.Point
	// Objective is what the campaign seeks.
	Objective events.Objective
	// Prediction and Belief are what the models say, where there are models.
	Prediction *events.Prediction
	Belief     *events.Interval
	// Explanation says in a sentence why this is asked.
	Explanation string
	// Asked and Expires are when the question was asked and when the campaign
	// goes on without an answer; a zero Expires means never.
	Asked, Expires time.Time
}

// Answer is what the person said: one of the Answer constants of package
// events, and a comment if they left one.
type Answer struct {
	Answer  string
	Comment string
}

// Example is a composition with the expert's label, accept or reject.
type Example struct {
	Point  events.Point
	Answer string
}
