package exchange

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/ground/format"
	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/internal/ground/units"
)

// Sheet is a CSV file of compositions, with further columns.
type Sheet struct {
	// Name is that of the file.
	Name string
	// Header holds the names of the columns, as the campaign has them, and
	// Columns as the file has them.
	Header, Columns []string
	// Rows are the lines below it, Left the lines that are not rows.
	Rows []Row
	Left []LeftLine
	// Units are those of a second header, by the column.
	Units map[string]string
	// Text is the file's text, and How says in which encoding it was read, where that is
	// worth a word.
	Text, How string

	// Nameless are the columns without a heading, by the names that they were given.
	Nameless []string

	doubled []string // columns whose heading another one has
	line    int      // of the header
	// comma is set where a number in it has a decimal comma for certain.
	comma bool
}

// Row is a line below the header.
type Row struct {
	line  int
	cells []sheetCell // as the header
}

// Line is the number of the row's line in the file, from 1.
func (r Row) Line() int { return r.line }

// Texts are the row's cells.
func (r Row) Texts() []string {
	texts := make([]string, len(r.cells))
	for i, c := range r.cells {
		texts[i] = c.text
	}
	return texts
}

// sheetCell is a text with the place it begins at.
type sheetCell struct {
	text   string
	column int
	name   string // of its column in the file
}

// has reports whether there is a column of a name.
func (s *Sheet) has(name string) bool { return slices.Contains(s.Header, name) }

// cell returns the cell of a row in a named column; an empty one if the column is missing.
func (s *Sheet) cell(row Row, name string) sheetCell {
	if i := slices.Index(s.Header, name); i >= 0 {
		return row.cells[i]
	}
	return sheetCell{column: 1, name: name}
}

// fault returns the fault of a cell.
func (s *Sheet) fault(row Row, c sheetCell, err error) Fault {
	return Fault{File: s.Name, Line: row.line, Column: c.column, Field: c.name, err: err}
}

// Fault returns the fault of a row.
func (s *Sheet) Fault(row Row, err error) Fault {
	return s.fault(row, sheetCell{column: row.cells[0].column}, err)
}

// Fault is a fault at a place of a file.
type Fault struct {
	File         string
	Line, Column int // counting from 1; a column of 0 is the whole line, a line of 0 the file
	// Field is the name of the column, where it is about a cell.
	Field string
	err   error
}

// Message describes the fault, without the place.
func (f Fault) Message() string { return f.err.Error() }

// Error names the place.
func (f Fault) Error() string {
	switch {
	case f.Line == 0:
		return fmt.Sprintf("%s %v", f.File, f.err)
	case f.Column == 0:
		return fmt.Sprintf("%s:%d: %v", f.File, f.Line, f.err)
	}
	return fmt.Sprintf("%s:%d:%d: %v", f.File, f.Line, f.Column, f.err)
}

// Unwrap returns the error, without the place.
func (f Fault) Unwrap() error { return f.err }

// ProblemCode implements problem.Coded.
func (Fault) ProblemCode() problem.Code { return problem.Invalid }

// Faults are the faults in the rows of a file, one at least.
type Faults []Fault

// maxFaults is the largest number of faulty rows that a message names.
const maxFaults = 20

// Error names them in lines, not too many.
func (f Faults) Error() string {
	var b strings.Builder
	for i, fault := range f {
		if i == maxFaults {
			fmt.Fprintf(&b, "and %d more\n", len(f)-maxFaults)
			break
		}
		fmt.Fprintf(&b, "%v\n", fault)
	}
	return b.String() + "Nothing was changed."
}

// ProblemCode implements problem.Coded.
func (Faults) ProblemCode() problem.Code { return problem.Invalid }

// Form lists the columns that a file may have.
type Form struct {
	// required are the columns that must be there, besides a column for each
	// parameter.
	required []string
	// arrives is set if rows may name an experiment in place of a composition.
	arrives bool
	// known reports whether another column may be there.
	known func(name string, header []string) bool
	// remedy is the remedy for one that may not.
	remedy string
	// columns are the campaign's names of columns that the file has under
	// others.
	columns map[string]string
	// missing, if set, takes columns that must be there and are not, which
	// is then no fault.
	missing func(name string)
}

// records reads the lines of a table that have some text, whatever its columns are
// separated by: commas, semicolons or tabs.
func records(text string) ([]sheetLine, error) {
	reader := csv.NewReader(strings.NewReader(text))
	reader.Comma = format.Separator(text)
	// As copied from a spreadsheet: an empty cell must not be trimmed away, and a quote is not
	// CSV's.
	tabs := reader.Comma == '\t'
	reader.TrimLeadingSpace, reader.LazyQuotes = !tabs, tabs
	reader.FieldsPerRecord = -1
	var lines []sheetLine
	for {
		record, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return lines, nil
		}
		if err != nil {
			return nil, err
		}
		var line sheetLine
		line.number, _ = reader.FieldPos(0)
		for i, text := range record {
			_, column := reader.FieldPos(i)
			line.cells = append(line.cells, sheetCell{text: fromText(strings.TrimSpace(text)), column: column})
		}
		if line.width() > 0 {
			lines = append(lines, line)
		}
	}
}

// ReadSheet reads a CSV file of that name, whose columns are separated by commas, semicolons or
// tabs, in any encoding that [Text] reads. Cells are texts, which the caller interprets. Lines
// that are not rows, such as a title, are left out. The error is a [Fault], or that of reading.
func ReadSheet(def *definition.Campaign, name string, in io.Reader, form Form) (*Sheet, error) {
	all, err := io.ReadAll(in)
	if err != nil {
		return nil, fmt.Errorf("%s: %w; nothing was changed", name, err)
	}
	text, how, err := Text(all)
	if err != nil {
		return nil, faulty(name, 0, "cannot be read: %w", err)
	}
	lines, err := records(text)
	switch {
	case err != nil:
		return nil, unread(name, err)
	case lines == nil:
		return nil, faulty(name, 0, "is empty: its first line names the columns: %s", columnNames(def, form.required))
	}
	o := layoutOf(lines)
	s := &Sheet{Name: name, Text: text, How: how, Left: o.left, Units: make(map[string]string)}
	if err := s.fill(o); err != nil {
		return nil, err
	}
	if s.Header, err = form.rename(def, name, s.Columns); err != nil {
		return nil, err
	}
	if err := s.checkHeader(def, form); err != nil {
		return nil, err
	}
	if len(s.Rows) == 0 {
		return nil, faulty(name, 0, "has no rows below its header")
	}
	return s, s.checkUnits(def, o)
}

// fill takes the header and the rows of a layout.
func (s *Sheet) fill(o *layout) error {
	var names []string
	for _, c := range o.header.cells {
		names = append(names, c.text)
	}
	wide := func(line *sheetLine) int {
		n := len(line.cells)
		for n > len(names) && line.cells[n-1].text == "" {
			n--
		}
		return n
	}
	s.name(names)
	s.line = o.header.number
	for i, unit := range o.units {
		if i < len(s.Columns) {
			s.Units[s.Columns[i]] = unit
		}
	}
	for _, line := range o.rows {
		if n := wide(line); n != len(names) {
			return faulty(
				s.Name, line.number,
				"there are %d cells, and %d columns in the header; is there a number with a decimal comma between commas? Separate the columns with semicolons. Nothing was changed",
				n, len(names),
			)
		}
		row := Row{line: line.number, cells: line.cells[:len(names)]}
		for i := range row.cells {
			row.cells[i].name = s.Columns[i]
			s.comma = s.comma || format.DecimalComma(row.cells[i].text)
		}
		s.Rows = append(s.Rows, row)
	}
	return nil
}

// name gives each column a name of its own: one without a heading is called by its place,
// and of a heading that comes twice the second is numbered.
func (s *Sheet) name(header []string) {
	s.Columns = slices.Clone(header)
	for i, name := range header {
		another := name
		if name == "" {
			another = fmt.Sprintf("column %d", i+1)
		}
		taken := func(name string) bool {
			return slices.Contains(s.Columns[:i], name) || another != header[i] && slices.Contains(header, name)
		}
		first := another
		for n := 2; taken(another); n++ {
			another = fmt.Sprintf("%s %d", first, n)
		}
		switch s.Columns[i] = another; {
		case name == "":
			s.Nameless = append(s.Nameless, another)
		case name != another:
			s.doubled = append(s.doubled, another)
		}
	}
}

// checkUnits holds the units of a second header to the campaign's: a value in °F is
// nothing in °C.
func (s *Sheet) checkUnits(def *definition.Campaign, o *layout) error {
	is := make(map[string]string)
	for _, par := range def.Parameters {
		is[par.Name] = par.Unit
	}
	for _, q := range def.Declared() {
		is[q.Name] = q.Unit
	}
	for i, column := range s.Columns {
		said, want := s.Units[column], is[s.Header[i]]
		if said != "" && want != "" && !units.Same(said, want) {
			at := slices.IndexFunc(o.left, func(l LeftLine) bool { return l.Why == "units" })
			return faulty(s.Name, o.left[at].Line, "%s is in %s there, and the campaign has it in %s", column, said, want)
		}
	}
	return nil
}

// ReadTexts reads a table before the meaning of its columns is known.
func ReadTexts(name string, in io.Reader) (*Sheet, error) {
	all := Form{known: func(string, []string) bool { return true }}
	return ReadSheet(new(definition.Campaign), name, in, all)
}

// Remarks say, a sentence each, how the file was read where that is worth a word, and
// which of its lines are no rows.
func (s *Sheet) Remarks() (remarks []string) {
	if s.How != "" {
		remarks = append(remarks, s.How)
	}
	for _, left := range s.Left {
		remarks = append(remarks, fmt.Sprintf("Line %d (%s) is left out: %s.", left.Line, left.Text, left.Why))
	}
	return remarks
}

// WithoutRows empties the lines of some rows of a table; the others keep their numbers.
// rows are the lines at which its rows begin: a cell may hold line ends.
func WithoutRows(table string, rows []int, without []bool) string {
	lines := strings.Split(table, "\n")
	for i, line := range rows {
		end := len(lines)
		if i+1 < len(rows) {
			end = rows[i+1] - 1
		}
		for at := line; without[i] && at <= end; at++ {
			lines[at-1] = ""
		}
	}
	return strings.Join(lines, "\n")
}

// DecimalComma reports whether a number of the table has a decimal comma for certain.
func (s *Sheet) DecimalComma() bool { return s.comma }

// faulty returns the fault of a line, or of the whole file.
func faulty(name string, line int, format string, args ...any) Fault {
	return Fault{File: name, Line: line, err: fmt.Errorf(format, args...)}
}

// unread is the error for a file that cannot be read: its fault if it is not CSV.
func unread(name string, err error) error {
	var wrong *csv.ParseError
	if errors.As(err, &wrong) {
		return Fault{
			File:   name,
			Line:   wrong.Line,
			Column: wrong.Column,
			err:    fmt.Errorf("%w; nothing was changed", wrong.Err),
		}
	}
	return fmt.Errorf("%s: %w; nothing was changed", name, err)
}

// point reads the composition of a row from the columns of the parameters'
// names and the ending.
func (s *Sheet) point(def *definition.Campaign, row Row, ending string) (definition.Point, Faults) {
	point := make(definition.Point)
	var faults Faults
	for _, par := range def.Parameters {
		c := s.cell(row, par.Name+ending)
		v, err := valueIn(def, par.Name, c.text, s.comma)
		if err != nil {
			faults = append(faults, s.fault(row, c, err))
		}
		point[par.Name] = v
	}
	return point, faults
}

// Points reads the compositions of all rows. The error is a [Faults].
func (s *Sheet) Points(def *definition.Campaign) ([]definition.Point, error) {
	points := make([]definition.Point, len(s.Rows))
	var faults Faults
	for i, row := range s.Rows {
		point, wrong := s.point(def, row, "")
		points[i], faults = point, append(faults, wrong...)
	}
	if faults != nil {
		return nil, faults
	}
	return points, nil
}
