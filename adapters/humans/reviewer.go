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
//   - An answer fits the question's form ([Reply.Check]), and a pinpointed
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
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
)

// Reviewer puts questions to one expert.
type Reviewer interface {
	// Describe says who answers.
	Describe() Description
	// Ask puts the question and waits for the answer.
	Ask(ctx context.Context, q Question) (Reply, error)
}

// InitialLabeler is a Reviewer whose expert can name examples unasked, before
// there is any question.
type InitialLabeler interface {
	// Examples returns n labeled compositions: n/2 accepted and n−n/2 rejected
	// where balanced is true, else labels of n random compositions. Equal
	// arguments give equal examples.
	Examples(ctx context.Context, n int, balanced bool) ([]Example, error)
}

// InitialComparer is a Reviewer whose expert can compare examples unasked,
// before there is any question.
type InitialComparer interface {
	// Comparisons returns n comparisons of size random compositions each. Equal
	// arguments give equal comparisons.
	Comparisons(ctx context.Context, n, size int) ([]Ranking, error)
}

// Description says who answers.
type Description struct {
	Expert    string
	Simulated bool
	// OneAtATime says that the expert is shown one question at a time: of
	// several that are open the next is put when there is an answer to the one
	// before.
	OneAtATime bool
}

// Question is one question to an expert.
type Question struct {
	// ID is unique for ever: "CAMPAIGN/q3".
	ID       string
	Campaign string
	Expert   string
	// Form of the answer that is asked for.
	Form events.Form
	// Parameters in the campaign's order, with units, for showing and entering
	// compositions.
	Parameters []definition.Parameter
	// Steps holds the dosing step of each parameter that has one.
	Steps map[string]float64
	// Excluded are regions in which nothing is to be made: compositions are rounded
	// away from them.
	Excluded []definition.Region
	// Options are the compositions that the question is about, with the models' predictions for
	// each: the one to be labeled, those to be compared or estimated.
	Options []events.Option
	// Scale gives the meaning of an estimate's numbers; nil for other forms.
	Scale *events.Scale
	// Suggestion is the campaign's own choice, for a pinpoint question; nil where it has no view.
	Suggestion *events.Option
	// Allowed says why a pinpointed composition cannot be taken, nil where it
	// can; itself nil for other forms.
	Allowed func(definition.Point) error
	// Objective of the campaign.
	Objective definition.Objective
	// Explanation is the reason for the question in one sentence, Attributions the basis of the
	// models' view of the options.
	Explanation  string
	Attributions *events.Attributions
	// Asked and Expires are when the question was asked and when the campaign
	// goes on without an answer; a zero Expires means never.
	Asked, Expires time.Time
	// View is the campaign as programs are shown it (package internal/engine/shown), and
	// Shown which view that is; only where a program answers.
	View  []byte
	Shown events.Program
}

// Reply is the person's answer, with the circumstances.
type Reply struct {
	Answer events.Answer `json:"answer"`
	// Exclude is set where the person wants nothing near the composition
	// suggested any more. It is allowed only with a label that rejects.
	Exclude bool `json:"exclude,omitempty"`
	// Comment that they added.
	Comment string `json:"comment,omitempty"`
	// Took is how long they had the question before them, in seconds, and Shown the content of
	// their screen, where the channel knows.
	Took  float64       `json:"took,omitempty"`
	Shown *events.Shown `json:"shown,omitempty"`
	// Program is the program that answered, where one did. No request says it.
	Program *events.Program `json:"-"`
}

// Equal reports whether two replies say the same.
func (r Reply) Equal(other Reply) bool {
	return r.Answer.Equal(other.Answer) && r.Exclude == other.Exclude && r.Comment == other.Comment
}

// Check validates a reply against the question's form, number of options and scale; the error wraps
// [events.ErrAnswer]. Whether a pinpointed composition can be made is not checked.
func (r Reply) Check(form events.Form, options int, scale *events.Scale) error {
	if r.Exclude && r.Answer.Label != events.LabelReject {
		return fmt.Errorf("%w: only a composition that is rejected can be excluded", events.ErrAnswer)
	}
	if r.Took < 0 {
		return fmt.Errorf("%w: nobody answers %v seconds after a question was shown",
			events.ErrAnswer, r.Took)
	}
	return r.Answer.Check(form, options, scale)
}

// ParseOrder reads an order of n options, which are called A, B, C, …: "B" for
// the better of two, "B A C" or "BAC" from best to worst. Options left out come
// after the others in no order; a single one is added, so that "B" and "B A"
// are the same.
func ParseOrder(text string, n int) ([]int, error) {
	var order []int
	for _, r := range strings.ToUpper(text) {
		if strings.ContainsRune(" ,;>", r) {
			continue
		}
		i := int(r - 'A')
		if i < 0 || i >= n || slices.Contains(order, i) {
			return nil, fmt.Errorf("%w: %q is not an order of %s", events.ErrAnswer, text, OptionNames(n))
		}
		order = append(order, i)
	}
	if len(order) == 0 {
		return nil, fmt.Errorf("%w: name the best of %s first", events.ErrAnswer, OptionNames(n))
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

// OptionName names the i-th option, counting from 0: A, B, C, …
func OptionName(i int) string { return string(rune('A' + i)) }

// OptionNames lists the names of n options.
func OptionNames(n int) string {
	names := make([]string, n)
	for i := range names {
		names[i] = OptionName(i)
	}
	return strings.Join(names, ", ")
}

// Example is a composition with the expert's label.
type Example struct {
	Point definition.Point
	Label events.Label
}

// Ranking is a comparison the expert made unasked: Points[Order[0]] is best.
type Ranking struct {
	Points []definition.Point
	Order  []int
}
