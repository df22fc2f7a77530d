package exchange

import (
	"strings"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/ground/format"
	"github.com/campaignd/campaignd/internal/ground/problem"
)

// Number reads a finite number as people write it. what names it in messages.
func Number(what, text string) (float64, error) { return numberIn(what, text, false) }

// numberIn is Number in a table where the decimal comma is certain, or is not.
// One cell may be ambiguous (“1,500”) where another of the table settles how
// commas are meant.
//
// Where it is not settled an ambiguous number is refused: to read 1,500 as one
// and a half, or as one and a half thousand, would be a guess that is recorded
// for good.
func numberIn(what, text string, comma bool) (float64, error) {
	x, err := format.ReadNumberIn(text, comma)
	if err != nil {
		return 0, problem.New(problem.Invalid, "%s: %w", what, err)
	}
	return x, nil
}

// OptionalNumber is Number, nil for an empty text.
func OptionalNumber(what, text string) (*float64, error) {
	return optionalIn(what, strings.TrimSpace(text), false)
}

// optionalIn is numberIn, nil for an empty text. An empty cell is not a fault: a table may have
// a column that only some rows fill.
func optionalIn(what, text string, comma bool) (*float64, error) {
	if text == "" {
		return nil, nil
	}
	x, err := numberIn(what, text, comma)
	if err != nil {
		return nil, err
	}
	return &x, nil
}

// Value reads a parameter's value. It does not check bounds, which the engine
// does for the whole composition.
func Value(def *definition.Campaign, name, text string) (definition.Value, error) {
	return valueIn(def, name, text, false)
}

// valueIn is Value in a table where the decimal comma is certain, or is not.
func valueIn(def *definition.Campaign, name, text string, comma bool) (definition.Value, error) {
	for _, par := range def.Parameters {
		if par.Name != name {
			continue
		}
		v, err := format.ReadValue(par, Bare(strings.TrimSpace(text), par.Unit), comma)
		if err != nil {
			return v, problem.New(problem.Invalid, "%w", err)
		}
		return v, nil
	}
	return definition.Value{}, problem.New(problem.Invalid, "there is no parameter %q; the parameters are %s",
		name, ParameterNames(def))
}

// ParameterNames lists the parameters.
func ParameterNames(def *definition.Campaign) string {
	names := make([]string, len(def.Parameters))
	for i, par := range def.Parameters {
		names[i] = par.Name
	}
	return strings.Join(names, ", ")
}
