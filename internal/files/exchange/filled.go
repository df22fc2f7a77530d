package exchange

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/ground/format"
	"github.com/campaignd/campaignd/internal/view"
	"github.com/campaignd/campaignd/projections/campaign"
)

// A run sheet that was filled in comes back as a table. Its column campaign names its campaign,
// and such a row is about its experiment and nothing else: a row with another composition, or
// of another campaign, is refused. In a person's own table a row brings the result of the
// experiment that it names, if that waits for one and the row has no composition or the
// experiment's. An export has a column status; its rows are always their own, since another
// campaign of the same file has experiments of the same names and compositions.

// ofSheet reports whether a table is a run sheet.
func (im *Import) ofSheet(header []string) bool {
	return slices.Contains(header, columnCampaign) && slices.Contains(header, view.ColumnExperiment) &&
		!slices.Contains(header, view.ColumnStatus)
}

// filledColumn reports whether a column is one that a run sheet has besides those of any table.
// A parameter or quantity of the campaign with that name takes precedence.
func (im *Import) filledColumn(name string, header []string) bool {
	if !slices.Contains(header, view.ColumnExperiment) || slices.Contains(header, view.ColumnStatus) {
		return false
	}
	switch name {
	case columnFailed, columnRemark:
		return true
	case columnCampaign, columnWell, columnUses:
		return im.ofSheet(header)
	}
	return im.ofSheet(header) && strings.HasPrefix(name, takePrefix)
}

// waiting is the experiment whose result a row brings, as far as that is known
// without a doubt; nil where the row is something else.
func (im *Import) waiting(row Row) (*campaign.Experiment, Faults) {
	s, state := im.sheet, im.Core.State()
	c := s.cell(row, view.ColumnExperiment)
	x := state.Experiment(c.text)
	if im.ofSheet(s.Header) {
		of := s.cell(row, columnCampaign)
		switch {
		case of.text != state.Name:
			return nil, Faults{s.fault(row, of, fmt.Errorf("the row is of the campaign %q, and this is %q", of.text, state.Name))}
		case x == nil:
			return nil, Faults{s.fault(row, c, fmt.Errorf("there is no experiment %q", c.text))}
		case im.composed(row) && !im.asAsked(row, x):
			return nil, Faults{s.Fault(row, fmt.Errorf(
				"it has another composition than %s; leave that as it was, and say what was made in columns NAME%s", x.ID, view.ActualEnding))}
		}
		return x, nil
	}
	if x == nil || s.has(view.ColumnStatus) || !engine.ByHand(state, x) || im.composed(row) && !im.asAsked(row, x) {
		return nil, nil
	}
	return x, nil
}

// asAsked reports whether a row has the composition of an experiment, as exactly as a
// run sheet writes it, or wrote it before something was excluded next to it.
func (im *Import) asAsked(row Row, x *campaign.Experiment) bool {
	write := format.CompositionsToMake(im.def)
	for k, par := range im.def.Parameters {
		c := im.sheet.cell(row, par.Name)
		is, err := valueIn(im.def, par.Name, c.text, im.sheet.comma)
		if err != nil {
			return false
		}
		asWritten := func(write format.Compositions) bool {
			text, _ := write.Value(k, x.Parameters)
			written, err := valueIn(im.def, par.Name, text, false)
			return err == nil && is == written
		}
		if is != x.Parameters[par.Name] && !asWritten(write) && !asWritten(write.Nearest()) {
			return false
		}
	}
	return true
}

// says reports whether a row gives any outcome of its experiment.
func (im *Import) says(row Row) bool {
	return im.cause(row) != "" || slices.ContainsFunc(im.def.DeclaredNames(), func(name string) bool {
		return im.sheet.cell(row, name).text != ""
	})
}

// cause is the reason that the experiment of a filled row has no result.
func (im *Import) cause(row Row) string {
	if !im.filledColumn(columnFailed, im.sheet.Header) {
		return ""
	}
	return im.sheet.cell(row, columnFailed).text
}

// filled reads the result that a row brings of an experiment that waits for it.
func (im *Import) filled(row Row, x *campaign.Experiment) (engine.Tell, Faults) {
	s, def := im.sheet, im.def
	tell := engine.Tell{Experiment: x.ID, Anyway: im.Anyway, Failed: im.cause(row)}
	var faults Faults
	made := make(definition.Point)
	maps.Copy(made, x.Parameters)
	for _, par := range def.Parameters {
		if c := s.cell(row, par.Name+view.ActualEnding); c.text != "" {
			v, err := valueIn(def, par.Name, c.text, s.comma)
			if err != nil {
				faults = append(faults, s.fault(row, c, err))
			}
			made[par.Name], tell.Actual = v, made
		}
	}
	faults = append(faults, im.values(row, &tell)...)
	tell.Missing = im.missing(row)
	faults = append(faults, im.extras(row, &tell)...)
	return tell, faults
}

// closed returns a run sheet row's addition to an experiment that has meanwhile ended without a
// measurement: nothing if it repeats that end.
func (im *Import) closed(row Row, x *campaign.Experiment) (engine.Tell, Faults) {
	if cause := im.cause(row); cause != "" && cause == x.Cause {
		return engine.Tell{Experiment: x.ID}, nil
	}
	_, err := im.Core.Handle(engine.Request{Actor: im.Actor, Tell: &engine.Tell{Experiment: x.ID, Failed: "x"}})
	if err == nil {
		err = errors.New("it has ended")
	}
	return engine.Tell{}, Faults{im.sheet.fault(row, im.sheet.cell(row, view.ColumnExperiment), errors.New(im.Words.Clause(err)))}
}
