package instrumenttest

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/campaignd/campaignd/events/definition"
)

// staleActuals is how many measurements have to give the composition of the run
// before as made. One may be a slip of the doses.
const staleActuals = 2

// actual looks at the compositions reported as made in all measurements of one command at a time: a
// model learns from them, and takes them for exact. A value from a register that is written too
// late looks as plausible as the right one.
func actual(_ context.Context, s *Session) error {
	var stale []made
	parameters := s.env.Definition.Parameters
	for _, m := range s.made {
		given := m.outcome.Measurement.Actual
		if m.before == nil || maps.Equal(m.before, m.command.Parameters) {
			continue
		}
		if apartIn(parameters, given, m.before) < apartIn(parameters, given, m.command.Parameters) {
			stale = append(stale, m)
		}
	}
	if len(stale) >= staleActuals {
		m := stale[0]
		return fmt.Errorf("%d measurements give as made what the run before was asked for, such as command %s: "+
			"asked for (%s), made (%s), and before it (%s)", len(stale), m.command.ID,
			composition(m.command.Parameters), composition(m.outcome.Measurement.Actual), composition(m.before))
	}
	if !s.acts.counted() {
		return nil
	}
	r, err := s.acts.record()
	if err != nil {
		return err
	}
	for _, m := range s.made {
		for _, act := range r.lines {
			if act.Command != m.command.ID || act.Set == "" {
				continue
			}
			if err := setAsSaid(parameters, m, act); err != nil {
				return err
			}
		}
	}
	return nil
}

const (
	// setAlike is the part of a parameter's range by which the set value may differ from those
	// requested and reported as made: a record is written with a few digits.
	setAlike = 1.0 / 200
	// setFar is the part beyond which the set value belongs to another composition than the
	// requested one, or than the one that a sensor found.
	setFar = 1.0 / 10
)

// setAsSaid compares the values that the record of acts gives as set with those requested and those
// reported as made. A device that doses in coarse steps is correct, as long as it reports what it
// made.
func setAsSaid(parameters []definition.Parameter, m made, act Act) error {
	var all map[string]json.RawMessage
	if err := json.Unmarshal([]byte(act.Set), &all); err != nil {
		return fmt.Errorf("the record of acts, command %s: %s is not a JSON object: %w",
			act.Command, act.Set, err)
	}
	for _, p := range parameters {
		text, there := all[p.Name]
		if !there {
			continue
		}
		var set definition.Value
		if err := json.Unmarshal(text, &set); err != nil {
			return fmt.Errorf("the record of acts, command %s: %s is set to %s: %w",
				act.Command, p.Name, text, err)
		}
		asked, made := m.command.Parameters[p.Name], m.outcome.Measurement.Actual[p.Name]
		switch {
		case made == asked && away(parameters, p.Name, set, made) > setAlike,
			away(parameters, p.Name, set, made) > setFar:
			return fmt.Errorf("command %s: %s was asked for as %v and given as made as %v, "+
				"and the record of acts says that %v was set: report in \"actual\" what was really made",
				act.Command, p.Name, asked, made, set)
		case away(parameters, p.Name, set, asked) > setFar:
			return fmt.Errorf("command %s: %s was asked for as %v, and the record of acts says that %v was set",
				act.Command, p.Name, asked, set)
		}
	}
	return nil
}

// apartIn is how far two compositions are from each other, in ranges of the
// parameters.
func apartIn(parameters []definition.Parameter, a, b definition.Point) (sum float64) {
	for _, name := range slices.Sorted(maps.Keys(a)) {
		sum += away(parameters, name, a[name], b[name])
	}
	return sum
}

// away is the distance of two values of a parameter, in parts of its range in
// the campaign; where it has none, of the greater value. Two names are 1 apart.
func away(parameters []definition.Parameter, name string, a, b definition.Value) float64 {
	x, number := a.Float()
	y, other := b.Float()
	switch {
	case number != other, !number && a.Name() != b.Name():
		return 1
	case !number || x == y:
		return 0
	}
	width := max(math.Abs(x), math.Abs(y))
	for _, p := range parameters {
		if p.Name == name && p.Min != nil && p.Max != nil && *p.Max > *p.Min {
			width = *p.Max - *p.Min
		}
	}
	return math.Abs(x-y) / width
}
