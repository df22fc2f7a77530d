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
//   - An answer fits the question's form ([Answer.Check]), and a pinpointed
//     composition is allowed. What is neither is explained to the person and
//     asked for again.
//   - Answers come from the person the question names; the adapter is
//     responsible for knowing who that is. A question to someone else is an
//     error.
//   - All methods are safe for concurrent use.
//
// adapters/humans/humantest holds the suite every reviewer passes.
package humans

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
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

// Comparer is a Reviewer whose expert can compare examples unasked, before
// there is any question.
type Comparer interface {
	// Comparisons returns n comparisons of size random compositions each. Equal
	// arguments give equal comparisons.
	Comparisons(ctx context.Context, n, size int) ([]Compared, error)
}

// Description says who answers.
type Description struct {
	Expert    string
	Simulated bool
}

// Form is what a question asks for.
type Form string

const (
	// Label asks whether a composition is worth the experiment: accept, reject,
	// can't tell, or won't.
	Label Form = "label"
	// Comparison asks for an order of two or more compositions.
	Comparison Form = "comparison"
	// Pinpoint asks for a composition of the expert's own.
	Pinpoint Form = "pinpoint"
)

// Question is one question to an expert.
type Question struct {
	// ID is unique for ever: "CAMPAIGN/q3".
	ID       string
	Campaign string
	Expert   string
	// Form is what is asked for; empty means Label.
	Form Form
	// Parameters in the campaign's order, with units, for showing and entering
	// compositions.
	Parameters []events.Parameter
	// Steps are the dosing steps of those parameters that have one.
	Steps map[string]float64
	// Point is the composition a Label asks about, or what the campaign would
	// take in place of a Pinpoint; nil where it has no view.
	Point events.Point
	// Allowed says why a pinpointed composition cannot be taken, nil where it can;
	// itself nil for other forms.
	Allowed func(events.Point) error
	// Options are what a Comparison is between.
	Options []events.Option
	// Objective is what the campaign seeks.
	Objective events.Objective
	// Prediction and Belief are what the models say about Point, where there are models.
	Prediction *events.Prediction
	Belief     *events.Interval
	// Explanation says in a sentence why this is asked, Attributions what the
	// models base their view of the options on.
	Explanation  string
	Attributions *events.Attributions
	// Asked and Expires are when the question was asked and when the campaign
	// goes on without an answer; a zero Expires means never.
	Asked, Expires time.Time
}

// Answer is what the person said.
type Answer struct {
	// Answer to a Label is one of the Answer constants of package events; to any
	// form it is "unsure" where the person cannot tell. Else it is empty.
	Answer string
	// Order answers a Comparison: options from best to worst, counting from 0.
	Order []int
	// Point answers a Pinpoint.
	Point events.Point
	// Comment is what else they said.
	Comment string
}

// Equal reports whether two answers say the same.
func (a Answer) Equal(b Answer) bool {
	return a.Answer == b.Answer && slices.Equal(a.Order, b.Order) && maps.Equal(a.Point, b.Point) && a.Comment == b.Comment
}

// ErrAnswer is wrapped by the error of [Answer.Check].
var ErrAnswer = errors.New("this is not an answer to the question")

// Check reports what is wrong with an answer to a question of a form with that
// many options. Whether a pinpointed composition can be made is not checked.
func (a Answer) Check(form Form, options int) error {
	fault := func(format string, args ...any) error {
		return fmt.Errorf("%w: %s", ErrAnswer, fmt.Sprintf(format, args...))
	}
	unsure := a.Answer == events.AnswerUnsure
	switch {
	case form != Comparison && len(a.Order) > 0:
		return fault("an order answers a comparison alone")
	case form != Pinpoint && a.Point != nil:
		return fault("a composition answers a pinpoint alone")
	}
	switch form {
	case Comparison:
		if a.Answer != "" && !unsure || unsure == (len(a.Order) > 0) {
			return fault("a comparison is answered with an order, or with %s", events.AnswerUnsure)
		}
		seen := make([]bool, options)
		for _, i := range a.Order {
			if i < 0 || i >= options || seen[i] {
				return fault("the order %v is not one of %d options", a.Order, options)
			}
			seen[i] = true
		}
	case Pinpoint:
		if a.Answer != "" && !unsure || unsure == (a.Point != nil) {
			return fault("a pinpoint is answered with a composition, or with %s", events.AnswerUnsure)
		}
	default:
		if !slices.Contains([]string{events.AnswerAccept, events.AnswerReject, events.AnswerUnsure, events.AnswerRefuse}, a.Answer) {
			return fault("%q is not an answer; say accept, reject, unsure or refuse", a.Answer)
		}
	}
	return nil
}

// ParseOrder reads an order of n options, which are called A, B, C, …: "B" for
// the better of two, "B A C" or "BAC" from best to worst. Options left out come
// after the others in no order; a single one is added, so that "B" and "B A" are
// the same.
func ParseOrder(text string, n int) ([]int, error) {
	var order []int
	for _, r := range strings.ToUpper(text) {
		if strings.ContainsRune(" ,;>", r) {
			continue
		}
		i := int(r - 'A')
		if i < 0 || i >= n || slices.Contains(order, i) {
			return nil, fmt.Errorf("%w: %q is no order of %s", ErrAnswer, text, OptionNames(n))
		}
		order = append(order, i)
	}
	if len(order) == 0 {
		return nil, fmt.Errorf("%w: name the best of %s first", ErrAnswer, OptionNames(n))
	}
	if len(order) == n-1 {
		for i := range n {
			if !slices.Contains(order, i) {
				order = append(order, i)
			}
		}
	}
	return order, nil
}

// OptionName is what the i-th option is called, counting from 0: A, B, C, …
func OptionName(i int) string { return string(rune('A' + i)) }

// OptionNames lists the names of n options.
func OptionNames(n int) string {
	names := make([]string, n)
	for i := range names {
		names[i] = OptionName(i)
	}
	return strings.Join(names, ", ")
}

// Example is a composition with the expert's label, accept or reject.
type Example struct {
	Point  events.Point
	Answer string
}

// Compared is a comparison the expert made unasked: Points[Order[0]] is best.
type Compared struct {
	Points []events.Point
	Order  []int
}
