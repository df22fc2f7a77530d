package exchange

import (
	"errors"
	"math"
	"strconv"
	"strings"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/problem"
)

// ErrNotFinite is wrapped by the errors of numbers that are none to reckon with.
var ErrNotFinite = errors.New("not a finite number")

// Number reads a finite number. what names it in messages.
func Number(what, text string) (float64, error) {
	x, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	switch {
	case err != nil && strings.Contains(text, ","):
		return 0, problem.New(problem.Invalid, "%s: %q is not a number; write it with a decimal point", what, text)
	case err != nil:
		return 0, problem.New(problem.Invalid, "%s: %q is not a number", what, text)
	case math.IsNaN(x) || math.IsInf(x, 0):
		return 0, problem.New(problem.Invalid, "%s: %q is %w", what, text, ErrNotFinite)
	}
	return x, nil
}

// OptionalNumber is Number, nil for an empty text.
func OptionalNumber(what, text string) (*float64, error) {
	if text == "" {
		return nil, nil
	}
	x, err := Number(what, text)
	if err != nil {
		return nil, err
	}
	return &x, nil
}

// Value reads a parameter's value.
func Value(def *definition.Campaign, name, text string) (definition.Value, error) {
	text = strings.TrimSpace(text)
	for _, par := range def.Parameters {
		if par.Name != name {
			continue
		}
		if par.Categories == nil {
			x, err := Number(name, text)
			return definition.Number(x), err
		}
		names := make([]string, len(par.Categories))
		for i, c := range par.Categories {
			if c.Name == text {
				return definition.Category(text), nil
			}
			names[i] = c.Name
		}
		return definition.Value{}, problem.New(problem.Invalid, "%s: %q is none of %s", name, text, strings.Join(names, ", "))
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
