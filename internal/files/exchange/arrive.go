package exchange

import (
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/view"
	"github.com/campaignd/campaignd/projections/campaign"
)

// A row can bring quantities that arrive after the end of an experiment, which it names in the
// column experiment. Tables of other campaigns have such a column too, with their names, and a
// campaign of the same definition has the same initial compositions. So a row with a
// composition adds quantities only where that is the experiment's, and the row has a value that
// it lacks; all others are rows of their own.

// named is the experiment to which a row adds quantities, nil where it is a row of its
// own.
func (im *Import) named(row Row) (*campaign.Experiment, Faults) {
	s := im.sheet
	c := s.cell(row, view.ColumnExperiment)
	composed := im.composed(row)
	if !im.several && (composed || !withoutCompositions(im.def, s.Header)) {
		return nil, nil
	}
	x := im.Core.State().Experiment(c.text)
	switch {
	case composed && (x == nil || im.failed(row) || !im.lacks(row, x)):
		return nil, nil
	case composed:
		point, faults := s.point(im.def, row, "")
		if faults != nil || !reflect.DeepEqual(point, x.Parameters) && !reflect.DeepEqual(point, x.Measurement.Actual) {
			return nil, nil // its faults are reported like those of any row
		}
	case c.text == "" && withoutCompositions(im.def, s.Header):
		return nil, Faults{s.fault(row, c, errors.New("it names no experiment, and the table has no compositions"))}
	case c.text != "" && x == nil:
		return nil, Faults{s.fault(row, c, fmt.Errorf("there is no experiment %q, and the row has no composition", c.text))}
	}
	return x, nil
}

// composed reports whether a row says a composition.
func (im *Import) composed(row Row) bool {
	return slices.ContainsFunc(im.def.Parameters, func(p definition.Parameter) bool {
		return im.sheet.cell(row, p.Name).text != ""
	})
}

// lacks reports whether a row has a value that an experiment could have and has not.
func (im *Import) lacks(row Row, x *campaign.Experiment) bool {
	if x.Status != campaign.Measured {
		return false
	}
	for _, name := range im.def.DeclaredNames() {
		if _, ok := x.Measurement.Of(name); !ok && im.sheet.cell(row, name).text != "" && !im.leftOut(row, name) {
			return true
		}
	}
	return false
}

// arrivals reads a row's values for an experiment. A value that the experiment has already
// counts once; a different one is refused in its column.
func (im *Import) arrivals(row Row, x *campaign.Experiment) (engine.Tell, Faults) {
	s, tell := im.sheet, engine.Tell{Experiment: x.ID}
	var faults Faults
	said := false
	for _, name := range im.def.DeclaredNames() {
		c := s.cell(row, name)
		if c.text == "" {
			continue
		}
		q, ok, wrong := im.quantity(row, name)
		if faults = append(faults, wrong...); !ok || wrong != nil {
			continue
		}
		if declared := im.def.Quantity(name); declared != nil {
			definition.Default(&q.Unit, declared.Unit)
		}
		said = true
		switch there, err := engine.There(im.Core.State(), x.ID, q); {
		case err != nil:
			faults = append(faults, s.fault(row, c, errors.New(im.Words.Clause(err))))
		case !there:
			tell.Quantities = append(tell.Quantities, q)
		}
	}
	awaited := im.Core.State().Awaited(x)
	for _, missing := range im.missing(row) {
		for _, a := range awaited {
			if a.Quantity == missing.Name {
				tell.Missing, said = append(tell.Missing, missing), true
			}
		}
	}
	if !said && faults == nil {
		faults = append(faults, s.Fault(row, fmt.Errorf("the row has no value for %s", x.ID)))
	}
	if !nothingNew(tell) {
		for _, column := range im.Notes {
			if text := s.cell(row, column).text; text != "" {
				tell.Notes = append(tell.Notes, column+": "+text)
			}
		}
	}
	return tell, faults
}

// nothingNew reports whether a row about an experiment adds nothing to it.
func nothingNew(t engine.Tell) bool {
	return t.Quantities == nil && t.Missing == nil && t.Value == nil && t.Failed == ""
}
