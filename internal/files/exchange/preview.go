package exchange

import (
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/campaignd/campaignd/internal/engine"
)

// Fate is the fate of an imported row.
type Fate string

const (
	FateNew   Fate = "new"      // it is taken over
	FateKnown Fate = "known"    // the campaign has measured the same at the same composition
	FateLeft  Fate = "left out" // no measurement: it failed and gave nothing, or was excluded
	FateWrong Fate = "faulty"   // something is wrong with it, and nothing is taken over
)

// Preview is a table as an import sees it.
type Preview struct {
	// Name is that of the file.
	Name   string       `json:"-"`
	Header []string     `json:"header" doc:"The names of the columns."`
	Rows   []PreviewRow `json:"rows"`
	// Unknown are the columns without a choice, so far, to keep them as notes or leave them
	// out.
	Unknown []string `json:"unknown" doc:"Columns of which it is not said what becomes of them."`
	// Missing are the columns that must be there, and are not. Then no row is
	// judged.
	Missing []string `json:"-"`
}

// PreviewRow is a row of a table, and its fate.
type PreviewRow struct {
	Line  int      `json:"line"`
	Cells []string `json:"cells" doc:"As in the header."`
	Fate  Fate     `json:"fate" enum:"new,known,left out,faulty"`
	// Experiment is the one that has measured the same, or to which the row adds
	// quantities.
	Experiment string `json:"experiment,omitempty"`
	// Why is the reason that it is left out, Faults are its faults.
	Why    string `json:"why,omitempty"`
	Faults Faults `json:"-"`

	row  Row
	tell engine.Tell
	// refused is set where the row is read, and the campaign does not take it.
	refused bool
}

// Count returns how many rows have a fate.
func (p *Preview) Count(f Fate) (n int) {
	for _, row := range p.Rows {
		if row.Fate == f {
			n++
		}
	}
	return n
}

// LeftOut counts the rows that are no measurements to be taken over, by the
// reason; those that the campaign has already are among them.
func (p *Preview) LeftOut() map[string]int {
	left := make(map[string]int)
	for _, row := range p.Rows {
		switch row.Fate {
		case FateLeft:
			left[row.Why]++
		case FateKnown:
			left["in the campaign already"]++
		}
	}
	return left
}

// Preview reads a file as [Import.Read] does, and reports the fate that each row would have.
// Unknown or missing columns are not a fault yet. The error is a [Fault]: the file is not such
// a table.
func (im *Import) Preview(file string, in io.Reader) (*Preview, error) {
	unknown := []string{}
	var missing []string
	p, err := im.look(file, in, Form{
		known: func(name string, header []string) bool {
			if !im.known(name, header) {
				unknown = append(unknown, name)
			}
			return true
		},
		missing: func(name string) { missing = append(missing, name) },
	})
	if err != nil {
		return nil, err
	}
	p.Unknown, p.Missing = unknown, missing
	if missing != nil {
		p.Rows = nil
	}
	return p, nil
}

// look reads a file and judges its rows. Known rows are found for the whole file
// at once, after each was judged alone: a row that the campaign refuses may be
// one that it has taken before.
func (im *Import) look(file string, in io.Reader, form Form) (*Preview, error) {
	im.read(im.Core.State().Definition)
	if !im.def.Names() {
		form.required = []string{im.sought.Name}
	}
	form.arrives = true
	form.remedy = im.remedy()
	form.columns = im.Columns
	s, err := ReadSheet(im.def, file, in, form)
	if err != nil {
		return nil, err
	}
	if im.MaxRows > 0 && len(s.Rows) > im.MaxRows {
		return nil, faulty(s.Name, 0, "has %d rows; at most %d are taken over at once: bring it in parts, each with the header",
			len(s.Rows), im.MaxRows)
	}
	for _, column := range slices.Concat(im.Notes, im.Ignore) {
		if !s.has(column) && column != AllOthers && column != "" {
			return nil, faulty(s.Name, s.line, "there is no column %q", column)
		}
	}
	im.sheet = s
	im.further = furtherColumns(s.Header)
	im.Remarks = s.Remarks()
	p := &Preview{Name: s.Name, Header: s.Columns, Unknown: []string{}}
	tells := make([]engine.Tell, len(s.Rows))
	for i, row := range s.Rows {
		seen := im.judge(row)
		p.Rows, tells[i] = append(p.Rows, seen), seen.tell
	}
	before, err := engine.Known(im.Core.At(engine.World{}), tells)
	if err != nil {
		return nil, err
	}
	for i := range p.Rows {
		row := &p.Rows[i]
		if (row.Fate == FateNew || row.refused) && before[i] != "" && !im.Again {
			row.Fate = FateKnown
			row.Experiment = before[i]
			row.Faults = nil // what was taken once was allowed then
		}
	}
	return p, nil
}

// judge returns the fate of a row, apart from the campaign's measurements. The engine is asked
// with each row alone, and its events are thrown away: a decision about a request changes no
// state.
func (im *Import) judge(row Row) PreviewRow {
	seen := PreviewRow{Line: row.line, Fate: FateNew, row: row}
	for _, c := range row.cells {
		seen.Cells = append(seen.Cells, c.text)
	}
	if seen.Why = im.skip(row); seen.Why != "" {
		seen.Fate = FateLeft
		return seen
	}
	if seen.tell, seen.Faults = im.tell(row); seen.Faults != nil {
		seen.Fate = FateWrong
		return seen
	}
	if seen.Experiment = seen.tell.Experiment; seen.Experiment != "" && nothingNew(seen.tell) {
		seen.Fate = FateKnown
		return seen
	}
	if _, err := im.Core.Handle(engine.Request{Actor: im.Actor,
		Import: []engine.Tell{seen.tell}}); err != nil {
		text := strings.TrimPrefix(im.Words.Clause(err), "row 1: ")
		seen.Fate = FateWrong
		seen.Faults = Faults{im.sheet.Fault(row, errors.New(text))}
		seen.refused = true
	}
	return seen
}
