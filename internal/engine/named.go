package engine

import (
	"slices"
	"strings"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/ground/format"
	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/projections/campaign"
)

// A person who reports a quantity has to name a declared one: a misspelled name would otherwise
// be recorded as another quantity, and the one they meant as missing. The report of an
// instrument is kept under whatever name.

// TellOf shows how to report the result of an experiment, or of a person's own experiment
// without an identifier: with quantities by name, if a value could belong to several.
// Quantities that arrive later are reported later.
func TellOf(def *definition.Campaign, text, experiment string) problem.Remedy {
	r := problem.Remedy{Text: text, Action: problem.Tell, Subject: experiment}
	if !def.Names() || def.Unnamed() != nil {
		return r
	}
	for _, q := range def.Declared() {
		if !q.Later() {
			r.Ways = append(r.Ways, q.Name)
		}
	}
	return r
}

// named holds the quantities that a person gives values of to the definition: declared
// are said to be the campaign's, further ones may have any name, and neither may
// follow from the parameters. A campaign that declares none keeps all as further ones.
func named(s *campaign.State, declared, further []definition.Quantity) error {
	if !s.Definition.Several() {
		return nil
	}
	for _, value := range declared {
		if err := measurable(s, value.Name); err != nil {
			return err
		}
	}
	for _, value := range further {
		if err := follows(s, value.Name); err != nil {
			return err
		}
	}
	return nil
}

// measurable refuses the name of a quantity that experiments do not measure.
func measurable(s *campaign.State, name string) error {
	if s.Definition.Quantity(name) != nil {
		return follows(s, name)
	}
	return undeclared(s, name).With(problem.Remedy{
		Text: "one that it does not declare is given as a further one,", Action: problem.Complete,
		Ways: []string{problem.WayFurther},
	})
}

// undeclared refuses a name that no declared quantity has, and lists those that exist.
func undeclared(s *campaign.State, name string) *problem.Error {
	var names []string
	for _, q := range s.Definition.Declared() {
		names = append(names, q.Name)
	}
	if near := format.Nearest(name, names); near != "" {
		return notPossible("the campaign declares no quantity %q; is %s meant?", name, near)
	}
	return notPossible("the campaign declares no quantity %q; it declares %s", name, strings.Join(names, ", "))
}

// CheckMeasured refuses the name of a quantity that is neither declared nor was measured as a
// further one; any is taken where the campaign declares none.
func CheckMeasured(s *campaign.State, name string) error {
	if name == "" || !s.Definition.Several() || s.Definition.Quantity(name) != nil {
		return nil
	}
	for x := range among(s) {
		if _, ok := given(x.Measurement, name); ok {
			return nil
		}
	}
	return undeclared(s, name)
}

// follows refuses a value of a quantity that is computed from the parameters.
func follows(s *campaign.State, name string) error {
	q := s.Definition.Quantity(name)
	if q == nil || q.From == "" {
		return nil
	}
	return notPossible("%s follows from the parameters, as %s, and is never measured", name, q.From).
		With(problem.Remedy{Text: "change its formula", Action: problem.Amend})
}

// without holds the quantities that are said to be missing to the definition, and to
// the values that are given with them.
func without(s *campaign.State, missing []events.Missing, values ...definition.Quantity) error {
	for _, m := range missing {
		if s.Definition.Quantity(m.Name) == nil {
			return undeclared(s, m.Name)
		}
		if err := follows(s, m.Name); err != nil {
			return err
		}
		if slices.ContainsFunc(values, func(v definition.Quantity) bool { return v.Name == m.Name }) {
			return notPossible("%s has a value, and is said to be missing: give one of the two", m.Name)
		}
	}
	return nil
}
