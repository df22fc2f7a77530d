package exchange

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/files/registry"
	"github.com/campaignd/campaignd/internal/ground/format"
	"github.com/campaignd/campaignd/internal/view"
	"github.com/campaignd/campaignd/projections/campaign"
)

// Import turns the rows of a file into results.
type Import struct {
	// Registry holds the entries that definitions may name.
	Registry registry.Registry
	// Core is the campaign that takes them over.
	Core *engine.Core
	// Actor is the recorded requester of the import.
	Actor string
	// Again imports rows that the campaign has already, Anyway those that it could not have
	// requested.
	Again, Anyway bool
	// Once leaves out rows that the campaign has already, so that a file that
	// is read twice is taken over once.
	Once bool
	// Notes are the columns that become notes, Ignore those that are left out; with
	// [AllOthers] among them all that are not known.
	Notes, Ignore []string
	// Columns are the campaign's names of columns that the file has under
	// others: "salt (mol/kg)" is salt, "viscosity (mPa s)" is
	// further_viscosity.
	Columns map[string]string
	// Units are those of columns that are further quantities under another name; for a column
	// not listed here, the unit in its heading.
	Units map[string]string
	// MaxRows is the largest number of rows that a file may have; 0 for any number.
	MaxRows int
	// Words are the remedies in the words of the caller.
	Words Words

	// Rows are the results that were read.
	Rows []engine.Tell
	// Skipped counts the rows that are no measurements to be taken over, by the
	// reason.
	Skipped map[string]int
	// Remarks say how the file was read, and which of its lines are no rows.
	Remarks []string

	def *definition.Campaign
	// sought is the objective, several whether it declares its quantities.
	sought  definition.Objective
	several bool
	sheet   *Sheet
	// further are the names of the further quantities among the columns.
	further []string
}

// read takes over the definition of the campaign.
func (im *Import) read(def *definition.Campaign) {
	im.def = def
	im.sought = def.Sought()
	im.several = def.Several()
}

// AllOthers stands for all columns that an import does not know.
const AllOthers = "*"

// Words are clauses with the remedies for a row.
type Words struct {
	// Again takes a row over that is there, as in "import it --again", Anyway one that could
	// not be asked for, as in "take it --anyway". Note keeps a column of one's own, as in "with
	// --note NAME", Ignore leaves it out. Column assigns a column.
	Again, Anyway, Note, Ignore, Column string
	// Clause describes the fault of a row, with the remedy.
	Clause func(err error) string
}

// known reports whether a column of a header may be there, besides the
// parameters and the objective. A unit or standard deviation of a further
// quantity counts only where its value is there as well. So a table that was
// exported is read again without a flag.
func (im *Import) known(name string, header []string) bool {
	switch name {
	case view.ColumnUnit, view.ColumnSD:
		return true
	case view.ColumnMissing, view.ColumnLeftOut:
		return im.several
	case im.sought.Name: // of a formula it is not asked for
		return true
	}
	if im.several {
		for _, quantity := range im.def.DeclaredNames() {
			if name == quantity || name == view.FurtherUnitPrefix+quantity || name == view.FurtherSDPrefix+quantity {
				return true
			}
		}
	}
	if parameter, ok := strings.CutSuffix(name, view.ActualEnding); ok {
		for _, par := range im.def.Parameters {
			if par.Name == parameter {
				return true
			}
		}
	}
	for _, prefix := range []string{view.FurtherUnitPrefix, view.FurtherSDPrefix} {
		if of, ok := strings.CutPrefix(name, prefix); ok && slices.Contains(header, view.FurtherPrefix+of) {
			return true
		}
	}
	return view.AboutExperiments(name) || strings.HasPrefix(name, view.FurtherPrefix) &&
		name != view.FurtherPrefix || strings.HasPrefix(name, view.ComputedPrefix) || strings.HasPrefix(name, view.DrawnPrefix) ||
		slices.Contains(im.Notes, name) || slices.Contains(im.Ignore, name) || slices.Contains(im.Ignore, AllOthers) ||
		im.filledColumn(name, header)
}

// remedy returns the remedy for an unknown column.
func (im *Import) remedy() string {
	return fmt.Sprintf(
		"; one that has another name is told %s; a column of your own is kept as a note on each experiment %s, "+
			"and left out %s; a further quantity is called %sNAME",
		im.Words.Column, im.Words.Note, im.Words.Ignore, view.FurtherPrefix)
}

// Read reads and checks the rows of a file of that name. Every fault is named,
// in a [Fault] or a [Faults], and then there are no rows. It reads the way a
// preview does, so that the two never disagree.
func (im *Import) Read(file string, in io.Reader) error {
	p, err := im.look(file, in, Form{known: im.known})
	if err != nil {
		return err
	}
	im.Skipped = p.LeftOut()
	var faults Faults
	var rows []engine.Tell
	for _, row := range p.Rows {
		switch row.Fate {
		case FateLeft:
		case FateKnown:
			if im.Once || row.tell.Experiment != "" { // a row about an experiment counts once
				continue
			}
			err := fmt.Errorf("this row is in the campaign already, as %s; leave it out, or %s",
				row.Experiment, im.Words.Again)
			faults = append(faults, im.sheet.Fault(row.row, err))
		case FateWrong:
			faults = append(faults, row.Faults...)
		default:
			rows = append(rows, row.tell)
		}
	}
	if faults != nil {
		return faults
	}
	if rows == nil {
		return faulty(p.Name, 0, "holds no measurement: %s", im.Left())
	}
	im.Rows = rows
	return nil
}

// skip says why a row of an exported table is not a measurement to import, "" for one that is.
// A table without a column of that kind is imported whole.
//
// A row that failed or was excluded is not a fault: exported tables have such rows, and their
// other rows are imported. A failed one that gave quantities is imported as such. The reason is
// in the words that [Import.Left] counts by.
func (im *Import) skip(row Row) string {
	if x, faults := im.waiting(row); x != nil && faults == nil && !im.says(row) {
		return "without a result"
	}
	status := im.sheet.cell(row, view.ColumnStatus).text
	if im.sheet.has(view.ColumnStatus) && status != string(campaign.Measured) && !im.failed(row) {
		if status == "" {
			return "without a status"
		}
		return status
	}
	if im.sheet.cell(row, view.ColumnExcluded).text == "true" {
		return "excluded from the models"
	}
	return im.open(row)
}

// open says that a row with a composition was not measured yet, as in a table that is only
// partly done: its quantities are empty, or at most have a word for a missing value; "" if one
// has a value.
func (im *Import) open(row Row) string {
	if !im.composed(row) || im.cause(row) != "" {
		return ""
	}
	names, word := im.def.DeclaredNames(), ""
	if len(names) == 0 {
		return ""
	}
	for _, name := range names {
		text := im.sheet.cell(row, name).text
		if !im.sheet.has(name) || im.leftOut(row, name) {
			continue
		}
		if text != "" && !noResult(text) {
			return ""
		}
		word = cmp.Or(word, text)
	}
	if word != "" {
		return fmt.Sprintf("without a result (%s)", word)
	}
	return "without a result"
}

// failed reports whether a row of its own failed but still gave a declared quantity.
func (im *Import) failed(row Row) bool {
	if im.sheet.cell(row, view.ColumnStatus).text != string(campaign.Failed) || !im.several || !im.composed(row) {
		return false
	}
	return slices.ContainsFunc(im.def.DeclaredNames(), func(name string) bool {
		return im.sheet.cell(row, name).text != "" && !im.leftOut(row, name)
	})
}

// Left describes the rows that were left out, in alphabetical order, so that the same file
// gives the same text.
func (im *Import) Left() string {
	var parts []string
	for why, n := range im.Skipped {
		parts = append(parts, fmt.Sprintf("%s %s", format.Count(n, "row"), why))
	}
	slices.Sort(parts)
	return strings.Join(parts, ", ")
}

// tell reads a row. Whether the campaign would take the measurement is not
// asked here. Simulated values enter a campaign that measures only on purpose.
// All faults of the row are collected, so that a person mends the file once.
func (im *Import) tell(row Row) (engine.Tell, Faults) {
	s, def := im.sheet, im.def
	x, faults := im.waiting(row)
	if x == nil && faults == nil {
		x, faults = im.named(row)
	}
	switch {
	case faults != nil:
		return engine.Tell{}, faults
	case x == nil:
	case engine.ByHand(im.Core.State(), x):
		return im.filled(row, x)
	case x.Measurement == nil && im.ofSheet(s.Header):
		return im.closed(row, x)
	default:
		return im.arrivals(row, x)
	}
	tell := engine.Tell{Anyway: im.Anyway}
	at := func(c sheetCell, err error) {
		if err != nil {
			faults = append(faults, s.fault(row, c, err))
		}
	}
	tell.Parameters, faults = s.point(def, row, "")
	made := false // whether the row says what was made
	for _, par := range def.Parameters {
		made = made || s.cell(row, par.Name+view.ActualEnding).text != ""
	}
	if made {
		actual, wrong := s.point(def, row, view.ActualEnding)
		tell.Actual, faults = actual, append(faults, wrong...)
	}
	if im.failed(row) {
		tell.Failed = cmp.Or(s.cell(row, view.ColumnCause).text, "it failed")
	}
	faults = append(faults, im.values(row, &tell)...)
	tell.Missing = im.missing(row)
	if tell.Value == nil && tell.Quantities == nil && faults == nil {
		at(s.cell(row, im.sought.Name), errors.New("the row has no value in any of the quantities"))
	}
	faults = append(faults, im.extras(row, &tell)...)
	if c := s.cell(row, view.ColumnSimulated); c.text == "true" && !im.Anyway && !im.Registry.Simulates(def) {
		at(c, fmt.Errorf("it was simulated, and this campaign measures; leave the row out, or %s",
			im.Words.Anyway))
	}
	return tell, faults
}

// extras reads the other columns of a row, besides the quantities that the campaign measures:
// further quantities, and columns kept as notes.
func (im *Import) extras(row Row, tell *engine.Tell) (faults Faults) {
	s := im.sheet
	at := func(c sheetCell, err error) {
		if err != nil {
			faults = append(faults, s.fault(row, c, err))
		}
	}
	for _, name := range im.further {
		c, deviation := s.cell(row, view.FurtherPrefix+name), s.cell(row, view.FurtherSDPrefix+name)
		if c.text == "" {
			continue
		}
		q := definition.Quantity{Name: name, Unit: im.unit(row, name)}
		var err error
		q.Value, err = numberIn(name, c.text, s.comma)
		at(c, err)
		q.SD, err = optionalIn(view.FurtherSDPrefix+name, deviation.text, s.comma)
		at(deviation, err)
		tell.Further = append(tell.Further, q)
	}
	for _, column := range im.Notes {
		if text := s.cell(row, column).text; text != "" {
			tell.Notes = append(tell.Notes, column+": "+text)
		}
	}
	if remark := s.cell(row, columnRemark).text; remark != "" && im.filledColumn(columnRemark, s.Header) {
		tell.Notes = append(tell.Notes, remark)
	}
	return faults
}

// values reads a row's values of the measured quantities. The objective is the result's value,
// unless a result names each of its quantities.
func (im *Import) values(row Row, tell *engine.Tell) (faults Faults) {
	for _, name := range im.def.DeclaredNames() {
		if tell.Experiment != "" && im.sheet.cell(row, name).text == "" {
			continue // the engine says what a result lacks
		}
		q, ok, wrong := im.quantity(row, name)
		faults = append(faults, wrong...)
		switch {
		case !ok:
		case name != im.sought.Name || im.def.Names() || tell.Failed != "":
			tell.Quantities = append(tell.Quantities, q)
		default:
			tell.Value = &q.Value
			tell.Unit = q.Unit
			tell.SD = q.SD
		}
	}
	return faults
}

// quantity reads a measured quantity of a row; ok is false where the campaign declares
// several and its cell is empty, or it was left out of the models where the table came
// from.
func (im *Import) quantity(row Row, name string) (q definition.Quantity, ok bool, faults Faults) {
	s := im.sheet
	c := s.cell(row, name)
	if im.several && (c.text == "" || noResult(c.text)) || im.leftOut(row, name) {
		return q, false, nil
	}
	at := func(c sheetCell, err error) {
		if err != nil {
			faults = append(faults, s.fault(row, c, err))
		}
	}
	unit, err := im.columnOf(row, name, view.ColumnUnit, view.FurtherUnitPrefix)
	at(unit, err)
	q = definition.Quantity{Name: name, Unit: unit.text}
	bare := c.text
	if declared := im.def.Quantity(name); declared != nil {
		bare = Bare(bare, declared.Unit)
	}
	if q.Value, err = numberIn(name, Bare(bare, unit.text), s.comma); err != nil && c.text != "" {
		err = fmt.Errorf("%w; where there is no value, leave the cell empty", err)
	}
	at(c, err)
	deviation, err := im.columnOf(row, name, view.ColumnSD, view.FurtherSDPrefix)
	at(deviation, err)
	q.SD, err = optionalIn(deviation.name, deviation.text, s.comma)
	at(deviation, err)
	return q, true, faults
}

// columnOf is the cell with the unit or the standard deviation of a quantity. The objective's
// is in a column without its name, as an export writes it, or in one with it, as for any other
// quantity; the two must not contradict each other.
func (im *Import) columnOf(row Row, name, plain, prefix string) (sheetCell, error) {
	named := im.sheet.cell(row, prefix+name)
	if name != im.sought.Name {
		return named, nil
	}
	unnamed := im.sheet.cell(row, plain)
	switch {
	case named.text == "":
		return unnamed, nil
	case unnamed.text != "" && unnamed.text != named.text:
		return named, fmt.Errorf("it is %s, and in the column %s %s: leave one of the two empty",
			named.text, unnamed.name, unnamed.text)
	}
	return named, nil
}

// missing reads why quantities of a row have no value, as an exported table says
// it, or a word in place of the value, as "n.d.". A cell that is written otherwise says
// nothing of any.
func (im *Import) missing(row Row) (list []events.Missing) {
	for _, part := range strings.Split(im.sheet.cell(row, view.ColumnMissing).text, "; ") {
		name, reason, ok := strings.Cut(part, ": ")
		if ok && im.several && im.def.Quantity(name) != nil {
			list = append(list, events.Missing{Name: name, Reason: reason})
		}
	}
	for _, name := range im.def.DeclaredNames() {
		said := slices.ContainsFunc(list, func(m events.Missing) bool { return m.Name == name })
		text := im.sheet.cell(row, name).text
		if im.several && !said && text != "" && noResult(text) && !im.leftOut(row, name) {
			list = append(list, events.Missing{Name: name, Reason: text})
		}
	}
	return list
}

// leftOut reports whether a row marks a quantity as left out of the models.
func (im *Import) leftOut(row Row, name string) bool {
	return slices.Contains(strings.Split(im.sheet.cell(row, view.ColumnLeftOut).text, ", "), name)
}

// unit is that of a further quantity in a row. The row's own unit takes precedence over the
// caller's for the column, and that over the heading's; a heading counts only where the column
// was renamed, since further_x (g) is a name.
func (im *Import) unit(row Row, name string) string {
	if unit := im.sheet.cell(row, view.FurtherUnitPrefix+name).text; unit != "" {
		return unit
	}
	column := im.sheet.Columns[slices.Index(im.sheet.Header, view.FurtherPrefix+name)]
	if _, renamed := im.Columns[column]; !renamed {
		return ""
	}
	if unit, told := im.Units[column]; told {
		return unit
	}
	_, unit := Heading(column)
	return unit
}

// furtherColumns returns the names of the further quantities among columns.
// They keep the order of the file, in which they are then recorded with each
// measurement.
func furtherColumns(header []string) (names []string) {
	for _, column := range header {
		if name, ok := strings.CutPrefix(column, view.FurtherPrefix); ok {
			names = append(names, name)
		}
	}
	return names
}
