package manual

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/ground/format"
)

// parse understands a person's entry for cmd:
//
//	12.9                       the objective, in the campaign's unit
//	12.9 mS/cm                 the same, with the unit as a check
//	12.9 lipf6=1.08 solvent=EC a composition that came out different
//	failed the cell leaked     no usable result
//	can't it does not dissolve the composition cannot be made or measured
//	again the door was open    nothing took place; it is to be tried again
//	cancel                     it was called off and not done
//	done                       an act that measures nothing is done
//
// The error tells the person the right form.
func parse(def definition.Campaign, cmd instruments.Command, line string) (instruments.Outcome, error) {
	words := strings.Fields(line)
	if len(words) == 0 {
		return instruments.Outcome{}, errors.New("nothing was entered")
	}
	rest := strings.Join(words[1:], " ")
	switch strings.ToLower(words[0]) {
	case "failed", "fail":
		return because(instruments.Failed, rest, "failed the cell leaked")
	case "can't", "cant", "can’t", "cannot", "infeasible":
		return because(instruments.Infeasible, rest, "can't it does not dissolve")
	case "again", "deferred":
		return because(instruments.Deferred, rest, "again the door was open")
	case "cancel", "cancelled":
		cause := "cancelled by the person who measures"
		if rest != "" {
			cause += ": " + rest
		}
		return instruments.Outcome{Status: instruments.Cancelled, Cause: cause}, nil
	}
	if cmd.Idle() {
		if strings.EqualFold(line, "done") {
			return instruments.Outcome{Status: instruments.Done}, nil
		}
		return instruments.Outcome{}, fmt.Errorf("%s measures nothing: enter done, or: failed REASON", cmd.Stage)
	}
	return measured(def, cmd, words)
}

// because is an outcome without a result, which needs a cause.
func because(status instruments.Status, cause, example string) (instruments.Outcome, error) {
	if cause == "" {
		return instruments.Outcome{}, fmt.Errorf("say why, for example: %s", example)
	}
	return instruments.Outcome{Status: status, Cause: cause}, nil
}

// measured reads a value, perhaps its unit, and perhaps the composition; of
// declared quantities the values by name, "conductivity=9.3 viscosity=3.1".
func measured(
	def definition.Campaign, cmd instruments.Command, words []string,
) (instruments.Outcome, error) {
	hasName := func(word string) bool { return strings.Contains(word, "=") }
	first := slices.IndexFunc(words, hasName) // of the composition
	if first < 0 {
		first = len(words)
	}
	sought := def.Sought()
	m := events.Measurement{}
	only := def.Unnamed()
	switch {
	case first > 0 && def.Names() && only == nil:
		return instruments.Outcome{}, fmt.Errorf("the quantity is missing: enter %s", values(&def))
	case first > 0 && def.Names():
		value, err := number(strings.Join(words[:first], " "), only.Unit)
		if err != nil {
			return instruments.Outcome{}, fmt.Errorf("%s: %w", only.Name, err)
		}
		m.Quantities = append(m.Quantities,
			definition.Quantity{Name: only.Name, Value: value, Unit: only.Unit})
	case first > 0 || !def.Several():
		value, err := number(strings.Join(words[:first], " "), sought.Unit)
		if err != nil {
			return instruments.Outcome{}, fmt.Errorf("%w; "+
				"enter the %s, or: failed REASON, or: can't REASON, or: again REASON, or: cancel",
				err, quantity(sought))
		}
		m.Objective = sought.Quantity(value, nil)
	}
	actual := maps.Clone(cmd.Parameters)
	for k := first; k < len(words); {
		name, text, _ := strings.Cut(words[k], "=")
		for k++; k < len(words) && !hasName(words[k]); k++ {
			text += " " + words[k] // its unit
		}
		if q := def.Quantity(name); q != nil && def.Several() {
			x, err := number(text, q.Unit)
			if err != nil {
				return instruments.Outcome{}, fmt.Errorf("%s: %w", name, err)
			}
			m.Quantities = append(m.Quantities, definition.Quantity{Name: name, Value: x, Unit: q.Unit})
			continue
		}
		at := slices.IndexFunc(def.Parameters,
			func(p definition.Parameter) bool { return p.Name == name })
		if at < 0 {
			var names []string
			for _, p := range def.Parameters {
				names = append(names, p.Name)
			}
			return instruments.Outcome{}, fmt.Errorf("there is no parameter %q; the parameters are %s",
				name, strings.Join(names, ", "))
		}
		p := def.Parameters[at]
		if len(p.Categories) > 0 {
			if text == "" {
				return instruments.Outcome{}, fmt.Errorf("%s= lacks the category", name)
			}
			actual[name] = definition.Category(text)
			continue
		}
		x, err := number(text, p.Unit)
		if err != nil {
			return instruments.Outcome{}, fmt.Errorf("%s: %w", name, err)
		}
		actual[name] = definition.Number(x)
	}
	m.Actual = actual
	m = instruments.Respelled(&def, m)
	if err := instruments.Check(def, m); err != nil {
		// Reported now, while it can be corrected: the engine would make it a
		// failure.
		var refused *instruments.MeasurementError
		if errors.As(err, &refused) {
			err = errors.New(strings.Join(refused.Faults, "; "))
		}
		return instruments.Outcome{}, fmt.Errorf("%w; enter it again, or: failed REASON", err)
	}
	m = instruments.Arranged(&def, m)
	if cmd.Act != "" && maps.Equal(m.Actual, cmd.Parameters) {
		m.Actual = nil // the engine knows the rest of it
	}
	return instruments.Outcome{Status: instruments.Measured, Measurement: &m}, nil
}

// number reads a number that may be followed by the unit it must be in.
func number(text, unit string) (float64, error) {
	text = strings.TrimSpace(text)
	digits := text
	if unit != "" {
		digits = strings.TrimSpace(strings.TrimSuffix(text, unit))
	}
	x, err := format.ReadNumber(digits)
	if err == nil {
		return x, nil
	}
	if head, tail, ok := strings.Cut(digits, " "); ok {
		if _, other := format.ReadNumber(head); other == nil {
			if unit == "" {
				return 0, fmt.Errorf("%q follows the number, which has no unit here", tail)
			}
			return 0, fmt.Errorf("the unit is %s and not %q: convert the value", unit, tail)
		}
	}
	return 0, err
}
