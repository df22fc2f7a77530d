package definition

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
)

// Greatest is the greatest magnitude of a number that a person may have measured or set: a larger
// one is a typing error, or a program's word for "nothing", and its square would not be a number
// any more.
const Greatest = 1e100

// Value is the value of one parameter: a number in the parameter's unit, or the
// name of a category. The zero Value is the number 0.
type Value struct {
	number   float64
	category string
	// named is set for a category, so that an empty name is never read as the
	// number 0.
	named bool
}

// Number returns a numeric value, in the parameter's unit.
func Number(x float64) Value { return Value{number: x} }

// Category returns a categorical value. One with an empty name is not a number either: no parameter
// has it, and it cannot be written.
func Category(name string) Value { return Value{category: name, named: true} }

// Float returns the number; ok is false for a category.
func (v Value) Float() (x float64, ok bool) { return v.number, !v.named }

// Name returns the category's name; empty for a number.
func (v Value) Name() string { return v.category }

// String formats the value as a person would write it.
func (v Value) String() string {
	if v.named {
		return v.category
	}
	return strconv.FormatFloat(v.number, 'g', 6, 64)
}

var errNoName = errors.New("a category must have a name")

// MarshalJSON writes a JSON number or a non-empty JSON string.
func (v Value) MarshalJSON() ([]byte, error) {
	switch {
	case !v.named:
		return json.Marshal(v.number)
	case v.category == "":
		return nil, errNoName
	}
	return json.Marshal(v.category)
}

// UnmarshalJSON reads a JSON number or a non-empty JSON string.
func (v *Value) UnmarshalJSON(data []byte) error {
	*v = Value{}
	if len(data) > 0 && data[0] == '"' {
		var name string
		if err := json.Unmarshal(data, &name); err != nil {
			return err
		}
		if name == "" {
			return errNoName
		}
		*v = Category(name)
		return nil
	}
	x, err := strconv.ParseFloat(string(data), 64)
	if err != nil {
		return fmt.Errorf("%s is neither a number nor the name of a category", data)
	}
	v.number = x
	return nil
}

// Point is a composition: a value for each parameter by name, in the campaign's
// units. It is read in the order of the campaign's parameters, never in map
// order.
type Point map[string]Value

// Quantity is a measured quantity with its unit.
type Quantity struct {
	// Name is the quantity's name, for example "conductivity".
	Name string `json:"name"`
	// Value is in Unit.
	Value float64 `json:"value"`
	// Unit is as in the campaign, for example "mS/cm".
	Unit string `json:"unit,omitempty"`
	// SD is the standard deviation of the value, in Unit, where the instrument
	// knows it.
	SD *float64 `json:"sd,omitempty"`
}
