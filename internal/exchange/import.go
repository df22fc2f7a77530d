package exchange

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/format"
	"github.com/campaignd/campaignd/internal/registry"
	"github.com/campaignd/campaignd/projections/campaign"
)

// Import turns the rows of a file into results.
type Import struct {
	// Registry holds what definitions may name.
	Registry registry.Registry
	// Core is the campaign that takes them over.
	Core *engine.Core
	// Actor is who imports, as it is recorded.
	Actor string
	// Again takes rows over that the campaign has already, Anyway those that it could
	// not have asked for.
	Again, Anyway bool
	// Notes are the columns that become notes, Ignore those that are left out.
	Notes, Ignore []string
	// Words say what to do, in the words of whoever asks.
	Words Words

	// Rows are the results that were read.
	Rows []engine.Tell
	// Skipped counts the rows that are no measurements to be taken over, by the reason.
	Skipped map[string]int

	def   *definition.Campaign
	sheet *Sheet
	// further are the names of the further quantities among the columns.
	further []string
}

// Words are clauses that say what to do about a row.
type Words struct {
	// Again takes a row over that is there, as in "import it --again", Anyway one that
	// could not be asked for, as in "take it --anyway". Note keeps a column of one's own,
	// as in "with --note NAME", Ignore leaves it out.
	Again, Anyway, Note, Ignore string
	// Clause says what went wrong with a row, and what can be done about it.
	Clause func(err error) string
}

// known reports whether a column of a header may be there, beside the parameters
// and the objective.
func (im *Import) known(name string, header []string) bool {
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
		slices.Contains(im.Notes, name) || slices.Contains(im.Ignore, name)
}

// remedy says what to do about a column that is not known.
func (im *Import) remedy() string {
	return fmt.Sprintf(
		"; a column of your own is kept as a note on each experiment %s, and left out %s; a further quantity is called %sNAME",
		im.Words.Note,
		im.Words.Ignore,
		furtherPrefix,
	)
}

// Read reads and checks the rows of a file of that name. Every fault is named, in a
// [Fault] or a [Faults], and then there are no rows.
func (im *Import) Read(file string, in io.Reader) error {
	im.def = im.Core.State().Definition
	name := im.def.Objective.Name
	s, err := ReadSheet(im.def, file, in, Form{required: []string{name}, known: im.known, remedy: im.remedy()})
	if err != nil {
		return err
	}
	for _, column := range slices.Concat(im.Notes, im.Ignore) {
		if !s.has(column) {
			return faulty(s.Name, 1, "there is no column %q", column)
		}
	}
	im.sheet = s
	im.further = furtherColumns(s.Header)
	im.Skipped = make(map[string]int)
	before, err := im.measuredBefore()
	if err != nil {
		return err
	}
	var faults Faults
	var rows []engine.Tell
	for _, row := range s.Rows {
		if why := im.skip(row); why != "" {
			im.Skipped[why]++
			continue
		}
		tell, wrong := im.tell(row)
		if wrong != nil {
			faults = append(faults, wrong...)
			continue
		}
		at := sheetCell{column: 1}
		if _, err := im.Core.Handle(engine.Request{Actor: im.Actor, Import: []engine.Tell{tell}}); err != nil {
			text := strings.TrimPrefix(im.Words.Clause(err), "row 1: ")
			faults = append(faults, s.fault(row, at, errors.New(text)))
			continue
		}
		key, err := im.Core.Space().Key(tell.Parameters)
		if err != nil {
			return err
		}
		if x, ok := before[importKey(key, tell.Value)]; ok && !im.Again {
			err := fmt.Errorf("this row is in the campaign already, as %s; leave it out, or %s", x, im.Words.Again)
			faults = append(faults, s.fault(row, at, err))
			continue
		}
		rows = append(rows, tell)
	}
	if faults != nil {
		return faults
	}
	if rows == nil {
		return faulty(s.Name, 0, "holds no measurement: %s", im.Left())
	}
	im.Rows = rows
	return nil
}

// skip says why a row of an exported table is no measurement to be taken over, ""
// for one that is.
func (im *Import) skip(row Row) string {
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

// Left says in words which rows were left out.
func (im *Import) Left() string {
	var parts []string
	for why, n := range im.Skipped {
		parts = append(parts, fmt.Sprintf("%s %s", format.Count(n, "row"), why))
	}
	slices.Sort(parts)
	return strings.Join(parts, ", ")
}

// tell reads a row.
func (im *Import) tell(row Row) (engine.Tell, Faults) {
	s, def := im.sheet, im.def
	tell := engine.Tell{Anyway: im.Anyway}
	var faults Faults
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
	tell.Value, err = Number(def.Objective.Name, value.text)
	at(value, err)
	tell.Unit = s.cell(row, columnUnit).text
	sd := s.cell(row, columnSD)
	tell.SD, err = OptionalNumber(columnSD, sd.text)
	at(sd, err)
	for _, name := range im.further {
		c, deviation := s.cell(row, furtherPrefix+name), s.cell(row, furtherSDPrefix+name)
		if c.text == "" {
			continue
		}
		q := definition.Quantity{Name: name, Unit: s.cell(row, furtherUnitPrefix+name).text}
		q.Value, err = Number(name, c.text)
		at(c, err)
		q.SD, err = OptionalNumber(furtherSDPrefix+name, deviation.text)
		at(deviation, err)
		tell.Further = append(tell.Further, q)
	}
	for _, column := range im.Notes {
		if text := s.cell(row, column).text; text != "" {
			tell.Notes = append(tell.Notes, column+": "+text)
		}
	}
	if c := s.cell(row, columnSimulated); c.text == "true" && !im.Anyway && !simulates(im.Registry, *def) {
		at(c, fmt.Errorf("it was simulated, and this campaign measures; leave the row out, or %s", im.Words.Anyway))
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
func (im *Import) measuredBefore() (map[string]string, error) {
	measured := make(map[string]string)
	s := im.Core.State()
	for i := range s.Experiments {
		x := &s.Experiments[i]
		if x.Measurement == nil {
			continue
		}
		key, err := im.Core.Space().Key(x.Parameters)
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
