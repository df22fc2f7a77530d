package events

import (
	"errors"
	"fmt"
	"math"

	"github.com/campaignd/campaignd/events/definition"
)

// MostEstimates is how many compositions one question can ask estimates of.
const MostEstimates = 100

// Marks is the best mark of the scale of marks, whose worst is 1.
const Marks = 5

// Which of two numbers of a scale says more for a composition.
const (
	BetterHigher = "higher"
	BetterLower  = "lower"
)

// Scale says what the numbers of an estimate mean.
type Scale struct {
	// Quantity is what is estimated: the objective, by its name.
	Quantity string `json:"quantity"`
	// Unit of the numbers, where they are in the quantity's. Marks have none.
	Unit string `json:"unit,omitempty"`
	// Better is "higher" or "lower": which of two numbers is the better
	// composition's. Of marks it is always the higher.
	Better string `json:"better" jsonschema:"enum=higher,enum=lower"`
	// Marks is the best of the marks that are asked for: whole numbers from 1,
	// the worst. Absent: numbers in Unit.
	Marks int `json:"marks,omitempty" jsonschema:"minimum=2"`
}

// ScaleOf returns the scale of estimates of an objective: in its unit, or in
// marks from 1, the worst, to [Marks], the best.
func ScaleOf(o definition.Objective, marks bool) *Scale {
	switch {
	case marks:
		return &Scale{Quantity: o.Name, Better: BetterHigher, Marks: Marks}
	case o.Goal == definition.Minimize:
		return &Scale{Quantity: o.Name, Unit: o.Unit, Better: BetterLower}
	}
	return &Scale{Quantity: o.Name, Unit: o.Unit, Better: BetterHigher}
}

// Check reports what is wrong with a scale.
func (s Scale) Check() error {
	switch {
	case s.Quantity == "":
		return errors.New("the scale does not say what is estimated")
	case s.Better != BetterHigher && s.Better != BetterLower:
		return fmt.Errorf("the scale says that %q is better: write higher or lower", s.Better)
	case s.Marks != 0 && (s.Marks < 2 || s.Unit != "" || s.Better != BetterHigher):
		return fmt.Errorf("marks are whole numbers without a unit from 1 to 2 or more, the best, not as in %+v", s)
	}
	return nil
}

// Takes reports what is wrong with a number on the scale.
func (s Scale) Takes(x float64) error {
	switch {
	case math.IsNaN(x) || math.Abs(x) > definition.Greatest:
		return fmt.Errorf("%v is not a number that an expert may expect", x)
	case s.Marks > 0 && (x != math.Trunc(x) || x < 1 || x > float64(s.Marks)):
		return fmt.Errorf("%v is no mark from 1, the worst, to %d, the best", x, s.Marks)
	}
	return nil
}

// Estimate is the number that an expert expects of one of the options.
type Estimate struct {
	// Option counts from 0.
	Option int `json:"option"`
	// Value is a number of the question's scale.
	Value float64 `json:"value"`
}

// String returns the estimate as "3=11.2", the option counted from 0.
func (e Estimate) String() string { return fmt.Sprintf("%d=%v", e.Option, e.Value) }

func checkEstimates(a Answer, options int, scale *Scale) error {
	if !a.Equal(Answer{Estimates: a.Estimates}) {
		return errors.New("an estimate is answered with numbers alone")
	}
	if scale == nil {
		return errors.New("numbers without a scale mean nothing")
	}
	next := 0
	for _, e := range a.Estimates {
		if e.Option < next || e.Option >= options {
			return fmt.Errorf("%v are not numbers for %d options, one for each in their order",
				a.Estimates, options)
		}
		if err := scale.Takes(e.Value); err != nil {
			return err
		}
		next = e.Option + 1
	}
	return nil
}
