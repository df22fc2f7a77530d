package exchange

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/format"
	"github.com/campaignd/campaignd/internal/problem"
)

// Sheet is a CSV file of compositions, with further columns.
type Sheet struct {
	// Name is that of the file.
	Name string
	// Header holds the names of the columns, as the campaign has them, and
	// Columns as the file has them.
	Header, Columns []string
	// Rows are the lines below it.
	Rows []Row
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

// cell returns the cell of a row in a named column, an empty one where there is
// no such column.
func (s *Sheet) cell(row Row, name string) sheetCell {
	if i := slices.Index(s.Header, name); i >= 0 {
		return row.cells[i]
	}
	return sheetCell{column: 1, name: name}
}

// fault is what is wrong with a cell.
func (s *Sheet) fault(row Row, c sheetCell, err error) Fault {
	return Fault{File: s.Name, Line: row.line, Column: c.column, Field: c.name, err: err}
}

// Fault is what is wrong with a row.
func (s *Sheet) Fault(row Row, err error) Fault {
	return s.fault(row, sheetCell{column: row.cells[0].column}, err)
}

// Fault is what is wrong at a place of a file.
type Fault struct {
	File         string
	Line, Column int // counting from 1; a column of 0 is the whole line, a line of 0 the file
	// Field is the name of the column, where it is about a cell.
	Field string
	err   error
}

// Message says what is wrong, without the place.
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

// Unwrap returns what is wrong.
func (f Fault) Unwrap() error { return f.err }

// ProblemCode implements problem.Coded.
func (Fault) ProblemCode() problem.Code { return problem.Invalid }

// Faults are what is wrong with the rows of a file, one at least.
type Faults []Fault

// maxFaults is how many faulty rows a message names.
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

// Form says which columns a file may have.
type Form struct {
	// required are the columns that must be there, besides a column for each
	// parameter.
	required []string
	// arrives says that rows may name an experiment in place of a composition.
	arrives bool
	// known says of another column whether it may be there.
	known func(name string, header []string) bool
	// remedy is what to do about one that may not.
	remedy string
	// columns are the campaign's names of columns that the file has under
	// others.
	columns map[string]string
	// missing, if set, takes columns that must be there and are not, which
	// is then no fault.
	missing func(name string)
}

// NewReader reads a table as text, whatever its columns are separated by:
// commas, semicolons or tabs, as its first line shows. Its beginning must not
// be a byte order mark.
func NewReader(in *bufio.Reader) *csv.Reader {
	header, _ := in.Peek(in.Size()) // less where there is less
	reader := csv.NewReader(in)
	reader.Comma = format.Separator(string(header))
	tabs := reader.Comma == '\t' // as copied from a spreadsheet: an empty cell is no space, and a quote none of CSV's
	reader.TrimLeadingSpace, reader.LazyQuotes = !tabs, tabs
	return reader
}

// ReadSheet reads a CSV file of that name, whose columns are separated by
// commas, semicolons or tabs. Cells are texts: what they mean is for the caller
// to say. The error is a [Fault], or that of reading.
func ReadSheet(def *definition.Campaign, name string, in io.Reader, form Form) (*Sheet, error) {
	buffered := bufio.NewReader(in)
	if err := skipMark(buffered, name); err != nil {
		return nil, err
	}
	reader := NewReader(buffered)
	header, err := reader.Read()
	if errors.Is(err, io.EOF) {
		return nil, faulty(name, 0, "is empty: its first line names the columns: %s",
			columnNames(def, form.required))
	}
	if err != nil {
		return nil, unread(name, err)
	}
	columns := Names(header)
	if header, err = form.rename(def, name, columns); err != nil {
		return nil, err
	}
	if err := checkHeader(def, name, header, form); err != nil {
		return nil, err
	}
	s := &Sheet{Name: name, Header: header, Columns: columns}
	for {
		record, err := reader.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if errors.Is(err, csv.ErrFieldCount) {
			line, _ := reader.FieldPos(0)
			return nil, faulty(
				name,
				line,
				"there are %d cells, and %d columns in the header; is there a number with a decimal comma between commas? Separate the columns with semicolons. Nothing was changed",
				len(record),
				len(header),
			)
		}
		if err != nil {
			return nil, unread(name, err)
		}
		row := Row{cells: make([]sheetCell, len(record))}
		row.line, _ = reader.FieldPos(0)
		for i, text := range record {
			_, column := reader.FieldPos(i)
			row.cells[i] = sheetCell{fromText(strings.TrimSpace(text)), column, columns[i]}
			s.comma = s.comma || format.DecimalComma(row.cells[i].text)
		}
		s.Rows = append(s.Rows, row)
	}
	if len(s.Rows) == 0 {
		return nil, faulty(name, 0, "has no rows below its header")
	}
	return s, nil
}

// ReadTexts reads a table before it is known what its columns mean.
func ReadTexts(name string, in io.Reader) (*Sheet, error) {
	all := Form{known: func(string, []string) bool { return true }}
	return ReadSheet(new(definition.Campaign), name, in, all)
}

// DecimalComma reports whether a number of the table has a decimal comma for certain.
func (s *Sheet) DecimalComma() bool { return s.comma }

// Names are the names of columns, as the cells of a header say them.
func Names(header []string) []string {
	names := make([]string, len(header))
	for i, cell := range header {
		names[i] = fromText(strings.TrimSpace(cell))
	}
	return names
}

// faulty is what is wrong with a line, or with the whole file.
func faulty(name string, line int, format string, args ...any) Fault {
	return Fault{File: name, Line: line, err: fmt.Errorf(format, args...)}
}

// unread is why a file cannot be read: its fault where it is no CSV.
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

// Workbook reports whether a file begins as those of spreadsheets do: .xls; and
// .xlsx and .ods, which are archives.
func Workbook(file string) bool {
	return strings.HasPrefix(file, "PK\x03\x04") || strings.HasPrefix(file, "\xd0\xcf\x11\xe0")
}

// skipMark skips the byte order mark that spreadsheets write, and names a file
// that is no text, or none in UTF-8.
func skipMark(in *bufio.Reader, name string) error {
	start, _ := in.Peek(4)
	switch {
	case Workbook(string(start)):
		return faulty(name, 0, "is a workbook of a spreadsheet (as .xlsx), and no table of text: save it as CSV")
	case bytes.HasPrefix(start, []byte("\ufeff")):
		_, _ = in.Discard(3)
	case bytes.HasPrefix(start, []byte{0xff, 0xfe}), bytes.HasPrefix(start, []byte{0xfe, 0xff}):
		return faulty(name, 0, "is UTF-16 text: save it as CSV UTF-8")
	}
	return nil
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
