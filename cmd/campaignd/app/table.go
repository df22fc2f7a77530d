package app

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
	"github.com/campaignd/campaignd/internal/input"
)

// sheet is a CSV file of compositions, with further columns.
type sheet struct {
	name string
	// header holds the names of the columns.
	header []string
	rows   []sheetRow
}

// sheetRow is a line below the header.
type sheetRow struct {
	line  int
	cells []sheetCell // as the header
}

// sheetCell is a text with the place it begins at.
type sheetCell struct {
	text   string
	column int
}

// has reports whether there is a column of a name.
func (s *sheet) has(name string) bool { return slices.Contains(s.header, name) }

// cell returns the cell of a row in a named column, an empty one where there is no
// such column.
func (s *sheet) cell(row sheetRow, name string) sheetCell {
	if i := slices.Index(s.header, name); i >= 0 {
		return row.cells[i]
	}
	return sheetCell{column: 1}
}

// fault is what is wrong with a cell.
func (s *sheet) fault(row sheetRow, c sheetCell, err error) error {
	return fmt.Errorf("%s:%d:%d: %w", s.name, row.line, c.column, err)
}

// maxFaults is how many faulty rows are named.
const maxFaults = 20

// maxSheet is how large a CSV file may be, in bytes.
const maxSheet = 256 << 20

// sheetForm says which columns a file may have.
type sheetForm struct {
	// required are the columns that must be there, beside a column for each parameter.
	required []string
	// known says of another column whether it may be there.
	known func(name string, header []string) bool
	// remedy is what to do about one that may not.
	remedy string
}

// readSheet reads a CSV file. The name "-" is standard input. Cells are texts: what
// they mean is for the caller to say.
func (a *app) readSheet(def *definition.Campaign, path string, form sheetForm) (*sheet, error) {
	in := a.stdin
	if path != "-" {
		f, err := input.Open(path, maxSheet)
		if err != nil {
			return nil, inputError{err}
		}
		defer f.Close()
		in = f
	} else {
		path = "standard input"
	}
	buffered := bufio.NewReader(in)
	if err := skipMark(buffered, path); err != nil {
		return nil, err
	}
	reader := csv.NewReader(buffered)
	reader.TrimLeadingSpace = true
	header, err := reader.Read()
	if errors.Is(err, io.EOF) {
		return nil, badInput("%s is empty: its first line names the columns: %s",
			path, columnNames(def, form.required))
	}
	if err != nil {
		return nil, badInput("%s: %w; nothing was changed", path, err)
	}
	for i := range header {
		header[i] = fromText(strings.TrimSpace(header[i]))
	}
	if err := checkHeader(def, path, header, form); err != nil {
		return nil, err
	}
	s := &sheet{name: path, header: header}
	for {
		record, err := reader.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if errors.Is(err, csv.ErrFieldCount) {
			line, _ := reader.FieldPos(0)
			return nil, badInput(
				"%s:%d: there are %d cells, and %d columns in the header; is there a number with a decimal comma? Write it with a point. Nothing was changed",
				path,
				line,
				len(record),
				len(header),
			)
		}
		if err != nil {
			return nil, badInput("%s: %w; nothing was changed", path, err)
		}
		row := sheetRow{cells: make([]sheetCell, len(record))}
		row.line, _ = reader.FieldPos(0)
		for i, text := range record {
			_, column := reader.FieldPos(i)
			row.cells[i] = sheetCell{fromText(strings.TrimSpace(text)), column}
		}
		s.rows = append(s.rows, row)
	}
	if len(s.rows) == 0 {
		return nil, badInput("%s has no rows below its header", path)
	}
	return s, nil
}

// skipMark skips the byte order mark that spreadsheets write, and names a file that
// is no UTF-8.
func skipMark(in *bufio.Reader, path string) error {
	start, _ := in.Peek(3)
	switch {
	case bytes.HasPrefix(start, []byte("\ufeff")):
		_, _ = in.Discard(3)
	case bytes.HasPrefix(start, []byte{0xff, 0xfe}), bytes.HasPrefix(start, []byte{0xfe, 0xff}):
		return badInput("%s is UTF-16 text: save it as CSV UTF-8, separated by commas", path)
	}
	return nil
}

// point reads the composition of a row from the columns of the parameters' names
// and the ending.
func (s *sheet) point(def *definition.Campaign, row sheetRow, ending string) (definition.Point, []error) {
	point := make(definition.Point)
	var faults []error
	for _, par := range def.Parameters {
		c := s.cell(row, par.Name+ending)
		v, err := parameterFrom(def, par.Name, c.text)
		if err != nil {
			faults = append(faults, s.fault(row, c, err))
		}
		point[par.Name] = v
	}
	return point, faults
}

// points reads the compositions of all rows.
func (s *sheet) points(def *definition.Campaign) ([]definition.Point, error) {
	points := make([]definition.Point, len(s.rows))
	var faults []error
	for i, row := range s.rows {
		point, wrong := s.point(def, row, "")
		points[i], faults = point, append(faults, wrong...)
	}
	if faults != nil {
		return nil, rowFaults(faults)
	}
	return points, nil
}

// rowFaults reports faulty rows, not too many.
func rowFaults(faults []error) error {
	more := ""
	if n := len(faults) - maxFaults; n > 0 {
		faults = faults[:maxFaults]
		more = fmt.Sprintf("and %d more\n", n)
	}
	return linesError{badInput("%w\n%sNothing was changed.", errors.Join(faults...), more)}
}

func checkHeader(def *definition.Campaign, path string, header []string, form sheetForm) error {
	if len(header) == 1 {
		for separator, name := range map[string]string{";": ";", "\t": "tabs"} {
			if strings.Contains(header[0], separator) {
				return badInput(
					"%s:1: the columns are separated by %s: save it as CSV separated by commas, with decimal points",
					path,
					name,
				)
			}
		}
	}
	var wanted []string
	for _, par := range def.Parameters {
		wanted = append(wanted, par.Name)
	}
	wanted = append(wanted, form.required...)
	var faults []string
	foreign := false
	for i, name := range header {
		switch {
		case slices.Contains(header[:i], name):
			faults = append(faults, fmt.Sprintf("%q is there twice", name))
		case !slices.Contains(wanted, name) && (form.known == nil || !form.known(name, header)):
			foreign = true
			faults = append(faults, fmt.Sprintf("there is no %q", name))
		}
	}
	for _, name := range wanted {
		if !slices.Contains(header, name) {
			faults = append(faults, fmt.Sprintf("%q is missing", name))
		}
	}
	if faults == nil {
		return nil
	}
	remedy := ""
	if foreign {
		remedy = form.remedy
	}
	return badInput("%s:1: the columns: %s; they must be %s%s",
		path, strings.Join(faults, ", "), columnNames(def, form.required), remedy)
}

func columnNames(def *definition.Campaign, extra []string) string {
	names := parameterNames(def)
	if len(extra) > 0 {
		names += ", " + strings.Join(extra, ", ")
	}
	return names
}
