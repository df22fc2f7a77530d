package events

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/campaignd/campaignd/events/definition"
)

// MostEstimates is how many compositions one question can ask estimates of.
const MostEstimates = 100

// MostColumns is of how many quantities one question can ask estimates.
const MostColumns = 4

// Marks is the best mark of the scale of marks, whose worst is 1.
const Marks = 5

// Which of two numbers of a scale says more for a composition.
const (
	BetterHigher = "higher"
	BetterLower  = "lower"
)

// Scale says what the numbers of an estimate mean.
type Scale struct {
	// Quantity is the name of the estimated quantity: the objective, or one that the campaign
	// declares.
	Quantity string `json:"quantity"`
	// Unit of the numbers, where they are in the quantity's. Marks have none.
	Unit string `json:"unit,omitempty"`
	// Better is "higher" or "lower": which of two numbers is the better
	// composition's. Of marks it is always the higher.
	// Absent where a first column has no better side.
	Better string `json:"better,omitempty" jsonschema:"enum=higher,enum=lower"`
	// Marks is the best of the marks that are asked for: whole numbers from 1,
	// the worst. Absent: numbers in Unit.
	Marks int `json:"marks,omitempty" jsonschema:"minimum=2"`
	// Columns are asked for in place of one number for each composition: a table with a column for
	// each quantity, the first being that of the fields above. Absent: one number for each.
	Columns []Column `json:"columns,omitempty"`
}

// Column is one of the quantities that experts estimate.
type Column struct {
	// Quantity is a declared quantity, by its name.
	Quantity string `json:"quantity" jsonschema:"required"`
	Unit     string `json:"unit,omitempty"`
	// Better is "higher" or "lower"; absent where neither is better by itself.
	Better string `json:"better,omitempty" jsonschema:"enum=higher,enum=lower"`
	// Positive says that the numbers are greater than 0, since the quantity is modelled
	// by its logarithm.
	Positive bool `json:"positive,omitempty"`
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

// ScaleOfQuantities returns the scale of a table with a column for each of some
// declared quantities of a campaign, one at least.
func ScaleOfQuantities(def *definition.Campaign, quantities []string) *Scale {
	s := &Scale{Columns: make([]Column, len(quantities))}
	for i, name := range quantities {
		c := Column{Quantity: name, Better: betterOf(def, name)}
		if q := def.Quantity(name); q != nil {
			c.Unit, c.Positive = q.Unit, q.Scale == definition.ScaleLog
		}
		s.Columns[i] = c
	}
	first := s.Columns[0]
	s.Quantity = first.Quantity
	s.Unit = first.Unit
	s.Better = first.Better
	return s
}

// betterOf is which of two values of a quantity is better as far as the campaign says
// so: by what it seeks, or by the quantity itself.
func betterOf(def *definition.Campaign, quantity string) string {
	aims := def.Tradeoff()
	if o := def.Objective; aims == nil && !o.Computed() && o.Preference == nil {
		aims = []definition.Aim{{Name: o.Name, Goal: o.Goal}}
	}
	for _, a := range aims {
		switch {
		case a.Name != quantity:
		case a.Goal == definition.Minimize:
			return BetterLower
		default:
			return BetterHigher
		}
	}
	if q := def.Quantity(quantity); q != nil {
		return q.Better
	}
	return ""
}

// Table returns the columns of the answer: one, unless more are asked for.
func (s *Scale) Table() []Column {
	switch {
	case s == nil: // of an estimate from before there were scales
		return []Column{{}}
	case len(s.Columns) > 0:
		return s.Columns
	}
	return []Column{{Quantity: s.Quantity, Unit: s.Unit, Better: s.Better}}
}

// Time returns how long it takes to fill in so many rows, where a row of one number
// takes each: of several columns a number takes half of that. A nil scale is of one
// judgment a row.
func (s *Scale) Time(rows int, each time.Duration) time.Duration {
	taken := time.Duration(rows) * each
	if s != nil && len(s.Columns) > 1 {
		taken = taken * time.Duration(len(s.Columns)) / 2
	}
	return taken
}

// Equal reports whether two scales ask for the same numbers.
func (s *Scale) Equal(t *Scale) bool {
	if s == nil || t == nil {
		return s == t
	}
	return s.Quantity == t.Quantity && s.Unit == t.Unit && s.Better == t.Better &&
		s.Marks == t.Marks &&
		slices.Equal(s.Columns, t.Columns)
}

// Check validates a scale.
func (s *Scale) Check() error {
	switch {
	case s.Quantity == "":
		return errors.New("the scale names no quantity to estimate")
	case len(s.Columns) > 0:
		return s.checkColumns()
	case s.Better != BetterHigher && s.Better != BetterLower:
		return fmt.Errorf("the scale says that %q is better: write higher or lower", s.Better)
	case s.Marks != 0 && (s.Marks < 2 || s.Unit != "" || s.Better != BetterHigher):
		return fmt.Errorf("marks are whole numbers without a unit from 1 to 2 or more, the best, not as in %+v", *s)
	}
	return nil
}

func (s *Scale) checkColumns() error {
	first := s.Columns[0]
	switch {
	case s.Marks != 0:
		return errors.New("marks are of the whole, and have no columns")
	case len(s.Columns) > MostColumns:
		return fmt.Errorf("a table has %d columns at most, not %d", MostColumns, len(s.Columns))
	case s.Quantity != first.Quantity || s.Unit != first.Unit || s.Better != first.Better:
		return fmt.Errorf("the scale is of %s, and its first column of %s", s.Quantity, first.Quantity)
	}
	for i, c := range s.Columns {
		switch {
		case c.Quantity == "":
			return fmt.Errorf("column %d names no quantity to estimate", i+1)
		case slices.ContainsFunc(s.Columns[:i], func(d Column) bool { return d.Quantity == c.Quantity }):
			return fmt.Errorf("%s has two columns", c.Quantity)
		case c.Better != "" && c.Better != BetterHigher && c.Better != BetterLower:
			return fmt.Errorf("the column %s says that %q is better: write higher or lower",
				c.Quantity, c.Better)
		}
	}
	return nil
}

// Takes validates a number in a column, counted from 0.
func (s *Scale) Takes(column int, x float64) error {
	switch {
	case math.IsNaN(x) || math.Abs(x) > definition.Greatest:
		return fmt.Errorf("%v is not a number that an expert may expect", x)
	case s.Marks > 0 && (x != math.Trunc(x) || x < 1 || x > float64(s.Marks)):
		return fmt.Errorf("%v is not a mark from 1, the worst, to %d, the best", x, s.Marks)
	case s.Table()[column].Positive && x <= 0:
		return fmt.Errorf("%v is not a value of %s, which is greater than 0", x, s.Table()[column].Quantity)
	}
	return nil
}

// Estimate is the number that an expert expects of one of the options.
type Estimate struct {
	// Option counts from 0.
	Option int `json:"option"`
	// Value is a number of the question's scale.
	Value float64 `json:"value"`
	// Quantity names the column that it is of; absent where the scale has none.
	Quantity string `json:"quantity,omitempty"`
}

// String returns the estimate as "3=11.2", or "3 viscosity=2.1", the option counted
// from 0.
func (e Estimate) String() string {
	if e.Quantity != "" {
		return fmt.Sprintf("%d %s=%v", e.Option, e.Quantity, e.Value)
	}
	return fmt.Sprintf("%d=%v", e.Option, e.Value)
}

// In is the estimate of an option in a column, before it has a value.
func (s *Scale) In(option, column int) Estimate {
	e := Estimate{Option: option}
	if len(s.Columns) > 0 {
		e.Quantity = s.Columns[column].Quantity
	}
	return e
}

// Column returns the column of an estimate, counted from 0; -1 where the scale has
// no such column.
func (s *Scale) Column(e Estimate) int {
	if len(s.Columns) == 0 && e.Quantity == "" {
		return 0
	}
	return slices.IndexFunc(s.Columns, func(c Column) bool { return c.Quantity == e.Quantity })
}

func checkEstimates(a Answer, options int, scale *Scale) error {
	if !a.Equal(Answer{Estimates: a.Estimates}) {
		return errors.New("an estimate is answered with numbers alone")
	}
	if scale == nil {
		return errors.New("numbers without a scale mean nothing")
	}
	columns, next := len(scale.Table()), 0
	for _, e := range a.Estimates {
		column := scale.Column(e)
		if column < 0 {
			return fmt.Errorf("no number is asked for of %q", e.Quantity)
		}
		cell := e.Option*columns + column
		if cell < next || e.Option >= options {
			return fmt.Errorf("%v are not numbers for %d options, one for each in their order",
				a.Estimates, options)
		}
		if err := scale.Takes(column, e.Value); err != nil {
			return err
		}
		next = cell + 1
	}
	return nil
}
