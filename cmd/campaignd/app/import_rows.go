package app

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/format"
	"github.com/campaignd/campaignd/internal/problem"
	"github.com/campaignd/campaignd/internal/registry"
	"github.com/campaignd/campaignd/projections/campaign"
)

// importer turns the rows of a file into results.
type importer struct {
	registry registry.Registry
	core     *engine.Core
	def      *definition.Campaign
	// again takes rows over that the campaign has already, anyway those that it could
	// not have asked for.
	again, anyway bool
	// notes are the columns that become notes, ignore those that are left out.
	notes, ignore []string

	sheet *sheet
	// further are the names of the further quantities among the columns.
	further []string
	rows    []engine.Tell
	skipped map[string]int // why, to how many rows
}

// known reports whether a column of a header may be there, beside the parameters
// and the objective.
func (im *importer) known(name string, header []string) bool {
	switch name {
	case columnStatus, columnUnit, columnSD, columnExcluded, columnSimulated:
		return true
	}
	if parameter, ok := strings.CutSuffix(name, actualEnding); ok {
		for _, par := range im.def.Parameters {
			if par.Name == parameter {
				return true
			}
		}
	}
	for _, prefix := range []string{furtherUnitPrefix, furtherSDPrefix} {
		if of, ok := strings.CutPrefix(name, prefix); ok && slices.Contains(header, furtherPrefix+of) {
			return true
		}
	}
	return slices.Contains(recordColumns, name) || strings.HasPrefix(name, furtherPrefix) && name != furtherPrefix ||
		slices.Contains(im.notes, name) || slices.Contains(im.ignore, name)
}

// importRemedy says what to do about a column that import does not know.
const importRemedy = `; a column of your own is kept as a note on each experiment with --note NAME, and left out with --ignore NAME; ` +
	`a further quantity is called ` + furtherPrefix + `NAME`

// read reads and checks the rows of a file. Every fault is named, and then there are
// no rows.
func (im *importer) read(a *app, path string) error {
	name := im.def.Objective.Name
	actor, err := a.actor()
	if err != nil {
		return err
	}
	s, err := a.readSheet(im.def, path, sheetForm{required: []string{name}, known: im.known, remedy: importRemedy})
	if err != nil {
		return err
	}
	for _, column := range slices.Concat(im.notes, im.ignore) {
		if !s.has(column) {
			return badInput("%s:1: there is no column %q", s.name, column)
		}
	}
	im.sheet = s
	im.further = furtherColumns(s.header)
	im.skipped = make(map[string]int)
	before, err := im.measuredBefore()
	if err != nil {
		return err
	}
	var faults []error
	for _, row := range s.rows {
		if why := im.skip(row); why != "" {
			im.skipped[why]++
			continue
		}
		tell, wrong := im.tell(row)
		if wrong != nil {
			faults = append(faults, wrong...)
			continue
		}
		at := sheetCell{column: 1}
		if _, err := im.core.Handle(engine.Request{Actor: actor, Import: []engine.Tell{tell}}); err != nil {
			text := strings.TrimPrefix(a.about.clause(err.Error(), problem.RemediesOf(err)), "row 1: ")
			faults = append(faults, s.fault(row, at, errors.New(text)))
			continue
		}
		key, err := im.core.Space().Key(tell.Parameters)
		if err != nil {
			return err
		}
		if x, ok := before[importKey(key, tell.Value)]; ok && !im.again {
			err := fmt.Errorf("this row is in the campaign already, as %s; leave it out, or import it --again", x)
			faults = append(faults, s.fault(row, at, err))
			continue
		}
		im.rows = append(im.rows, tell)
	}
	if faults != nil {
		return rowFaults(faults)
	}
	if im.rows == nil {
		return badInput("%s holds no measurement: %s", s.name, im.left())
	}
	return nil
}

// skip says why a row of an exported table is no measurement to be taken over, ""
// for one that is.
func (im *importer) skip(row sheetRow) string {
	status := im.sheet.cell(row, columnStatus).text
	if im.sheet.has(columnStatus) && status != string(campaign.Measured) {
		if status == "" {
			return "without a status"
		}
		return status
	}
	if im.sheet.cell(row, columnExcluded).text == "true" {
		return "excluded from the models"
	}
	return ""
}

// left says in words which rows were left out.
func (im *importer) left() string {
	var parts []string
	for why, n := range im.skipped {
		parts = append(parts, fmt.Sprintf("%s %s", format.Count(n, "row"), why))
	}
	slices.Sort(parts)
	return strings.Join(parts, ", ")
}

// tell reads a row.
func (im *importer) tell(row sheetRow) (engine.Tell, []error) {
	s, def := im.sheet, im.def
	tell := engine.Tell{Anyway: im.anyway}
	var faults []error
	at := func(c sheetCell, err error) {
		if err != nil {
			faults = append(faults, s.fault(row, c, err))
		}
	}
	tell.Parameters, faults = s.point(def, row, "")
	made := false // whether the row says what was made
	for _, par := range def.Parameters {
		made = made || s.cell(row, par.Name+actualEnding).text != ""
	}
	if made {
		actual, wrong := s.point(def, row, actualEnding)
		tell.Actual, faults = actual, append(faults, wrong...)
	}
	value := s.cell(row, def.Objective.Name)
	var err error
	tell.Value, err = number(def.Objective.Name, value.text)
	at(value, err)
	tell.Unit = s.cell(row, columnUnit).text
	sd := s.cell(row, columnSD)
	tell.SD, err = optionalNumber(columnSD, sd.text)
	at(sd, err)
	for _, name := range im.further {
		c, deviation := s.cell(row, furtherPrefix+name), s.cell(row, furtherSDPrefix+name)
		if c.text == "" {
			continue
		}
		q := definition.Quantity{Name: name, Unit: s.cell(row, furtherUnitPrefix+name).text}
		q.Value, err = number(name, c.text)
		at(c, err)
		q.SD, err = optionalNumber(furtherSDPrefix+name, deviation.text)
		at(deviation, err)
		tell.Further = append(tell.Further, q)
	}
	for _, column := range im.notes {
		if text := s.cell(row, column).text; text != "" {
			tell.Notes = append(tell.Notes, column+": "+text)
		}
	}
	if c := s.cell(row, columnSimulated); c.text == "true" && !im.anyway && !simulates(im.registry, *def) {
		at(c, errors.New("it was simulated, and this campaign measures; leave the row out, or take it --anyway"))
	}
	return tell, faults
}

// furtherColumns returns the names of the further quantities among columns.
func furtherColumns(header []string) (names []string) {
	for _, column := range header {
		if name, ok := strings.CutPrefix(column, furtherPrefix); ok {
			names = append(names, name)
		}
	}
	return names
}

// measuredBefore returns the experiments that have a result, by composition and
// value.
func (im *importer) measuredBefore() (map[string]string, error) {
	measured := make(map[string]string)
	s := im.core.State()
	for i := range s.Experiments {
		x := &s.Experiments[i]
		if x.Measurement == nil {
			continue
		}
		key, err := im.core.Space().Key(x.Parameters)
		if err != nil {
			return nil, err
		}
		measured[importKey(key, x.Measurement.Objective.Value)] = x.ID
	}
	return measured, nil
}

func importKey(point string, value float64) string { return fmt.Sprintf("%s\x00%x", point, value) }

// simulates reports whether the definition says that its instrument is simulated.
func simulates(reg registry.Registry, def definition.Campaign) bool {
	driver, _ := reg.Driver(def.Instrument.Driver.Name)
	if driver.Identify == nil {
		return false
	}
	_, simulated := driver.Identify(def)
	return simulated
}
