package events

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/campaignd/campaignd/events/definition"
)

// Form is the kind of answer that a question asks for.
type Form string

const (
	FormLabel      Form = "label"      // accept or reject a composition
	FormComparison Form = "comparison" // an order of two compositions or more
	FormPinpoint   Form = "pinpoint"   // a composition of the expert's own
	FormEstimate   Form = "estimate"   // a number for each of several compositions
	FormOutcomes   Form = "outcomes"   // the better one of two outcomes
)

// forms is the list of every form with what depends on it in this package: of
// how many compositions a question of the form is, whether it has a scale, and
// what answers it other than "can't tell".
var forms = []struct {
	form        Form
	least, most int
	scaled      bool
	check       func(a Answer, options int, scale *Scale) error
}{
	{FormLabel, 1, 1, false, checkLabel},
	{FormComparison, 2, math.MaxInt, false, checkOrder},
	{FormPinpoint, 0, 0, false, checkPoint},
	{FormEstimate, 2, MostEstimates, true, checkEstimates},
	{FormOutcomes, 2, 2, false, checkOrder},
}

// Forms returns every form, in a fixed order.
func Forms() []Form {
	list := make([]Form, len(forms))
	for i, row := range forms {
		list[i] = row.form
	}
	return list
}

// Check validates the number of compositions and the scale of a question of this form; scale is nil
// for forms without one.
func (f Form) Check(options int, scale *Scale) error {
	for _, row := range forms {
		if row.form != f {
			continue
		}
		switch {
		case options < row.least || options > row.most:
			return fmt.Errorf("a %s cannot be about %d compositions", f, options)
		case scale == nil && row.scaled:
			return fmt.Errorf("a %s needs a scale", f)
		case scale != nil && !row.scaled:
			return fmt.Errorf("a %s has no scale", f)
		case scale != nil:
			return scale.Check()
		}
		return nil
	}
	return fmt.Errorf("%q is not a form of question", f)
}

// Label is an expert's word on whether a composition is worth the experiment.
type Label string

const (
	LabelAccept Label = "accept" // worth the experiment
	LabelReject Label = "reject" // not worth it
)

// Answer is an expert's answer: the one of its parts that the question's form
// calls for. The zero Answer says that the expert cannot tell, whatever the
// form.
type Answer struct {
	// Label answers a label.
	Label Label `json:"label,omitempty"`
	// Order answers a comparison, of compositions or of outcomes: options from the best to the
	// worst, counting from 0. An expert may leave out the ones that they cannot place; those come
	// after the others in no order.
	Order []int `json:"order,omitempty"`
	// Point answers a pinpoint.
	Point definition.Point `json:"point,omitempty"`
	// Estimates answer an estimate, in the order of the options. An expert may
	// leave out what they cannot tell.
	Estimates []Estimate `json:"estimates,omitempty"`
}

// Unsure reports whether the expert cannot tell.
func (a Answer) Unsure() bool {
	return a.Label == "" && len(a.Order) == 0 && len(a.Point) == 0 && len(a.Estimates) == 0
}

// Equal reports whether two answers say the same.
func (a Answer) Equal(b Answer) bool {
	return a.Label == b.Label && slices.Equal(a.Order, b.Order) && maps.Equal(a.Point, b.Point) &&
		slices.Equal(a.Estimates, b.Estimates)
}

// String returns the answer in a word or two, "unsure" where the expert cannot
// tell.
func (a Answer) String() string {
	switch {
	case len(a.Order) > 0:
		return fmt.Sprint(a.Order)
	case len(a.Point) > 0:
		return fmt.Sprint(a.Point)
	case len(a.Estimates) > 0:
		return fmt.Sprint(a.Estimates)
	case a.Label != "":
		return string(a.Label)
	}
	return "unsure"
}

// ErrAnswer is wrapped by the error of [Answer.Check].
var ErrAnswer = errors.New("this is not an answer to the question")

// Check validates an answer against the question's form, number of compositions and scale. Errors
// wrap [ErrAnswer]. Whether a pinpointed composition can be made is not checked.
func (a Answer) Check(form Form, options int, scale *Scale) error {
	if a.Unsure() {
		return nil
	}
	for _, row := range forms {
		if row.form != form {
			continue
		}
		if err := row.check(a, options, scale); err != nil {
			return fmt.Errorf("%w: %w", ErrAnswer, err)
		}
		return nil
	}
	return fmt.Errorf("%w: %q is not a form of question", ErrAnswer, form)
}

func checkLabel(a Answer, _ int, _ *Scale) error {
	switch {
	case !a.Equal(Answer{Label: a.Label}):
		return errors.New("a label is answered with accept or reject alone")
	case a.Label != LabelAccept && a.Label != LabelReject:
		return fmt.Errorf("%q is neither accept nor reject", a.Label)
	}
	return nil
}

func checkOrder(a Answer, options int, _ *Scale) error {
	if !a.Equal(Answer{Order: a.Order}) {
		return errors.New("a comparison is answered with an order alone")
	}
	seen := make([]bool, options)
	for _, i := range a.Order {
		if i < 0 || i >= options || seen[i] {
			return fmt.Errorf("%v is not an order of %d options", a.Order, options)
		}
		seen[i] = true
	}
	return nil
}

func checkPoint(a Answer, _ int, _ *Scale) error {
	if !a.Equal(Answer{Point: a.Point}) {
		return errors.New("a pinpoint is answered with a composition alone")
	}
	return nil
}
