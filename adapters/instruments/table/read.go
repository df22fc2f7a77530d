package table

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/ground/format"
)

// FileError is a fault in the file.
type FileError struct {
	File string
	// Line counts from 1, the header included; 0 means the file as a whole.
	Line    int
	Problem string
}

// Error gives the fault as editors understand it, file:line: problem.
func (e *FileError) Error() string {
	if e.Line == 0 {
		return e.File + ": " + e.Problem
	}
	return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Problem)
}

// maxFaults is how many faulty rows are reported before reading gives up. A
// file of another kind has a fault in each of its rows, and no one reads a
// thousand.
const maxFaults = 10

// read fills in points and rows. Columns that neither a parameter nor the
// objective is read from are ignored. Faulty rows are collected, up to
// maxFaults, so that a file is mended once; then nothing of it is used. The
// file is text that was read whole, so that the same bytes are hashed and
// parsed.
func (i *Instrument) read(path, data string, columns map[string]string) error {
	fault := func(line int, format string, args ...any) error {
		return &FileError{File: path, Line: line, Problem: fmt.Sprintf(format, args...)}
	}
	data = strings.TrimPrefix(data, "\uFEFF") // as spreadsheets begin a file
	r := csv.NewReader(strings.NewReader(data))
	r.Comma = format.Separator(data)
	comma := decimalComma(data)
	header, err := r.Read()
	if err == io.EOF {
		return fault(0, "it is empty; it needs a header and rows")
	}
	if err != nil {
		return csvFault(path, err)
	}
	at, err := i.columns(header, columns)
	if err != nil {
		return fault(1, "%v", err)
	}
	var faults []error
	for len(faults) < maxFaults {
		record, err := r.Read()
		if err == io.EOF {
			break
		}
		if err != nil {
			// The reader cannot tell where the next row begins.
			faults = append(faults, csvFault(path, err))
			break
		}
		// Not the number of the record: a quoted cell may hold newlines.
		line, _ := r.FieldPos(0)
		point, values, err := i.parse(record, at, comma)
		if err != nil {
			faults = append(faults, fault(line, "%v", err))
			continue
		}
		k, err := i.key(point)
		if err != nil {
			return fault(line, "%v", err)
		}
		if i.rows[k] == nil {
			i.points = append(i.points, point)
		}
		i.rows[k] = append(i.rows[k], row{line: line, values: values})
	}
	if len(faults) == maxFaults {
		faults = append(faults, fault(0, "reading stopped after %d faulty rows", maxFaults))
	}
	if len(faults) == 0 && len(i.points) == 0 {
		return fault(0, "it has a header and no rows")
	}
	return errors.Join(faults...)
}

// columns returns the column of each parameter, in order, and behind them that of
// each quantity. A column that two names are read from is refused: it is a slip in the
// mapping far more often than meant, and a parameter that is the objective
// would be a perfect model. Empty headings may stand twice; nothing is read
// from them.
func (i *Instrument) columns(header []string, mapping map[string]string) ([]int, error) {
	var names []string
	for _, p := range i.def.Parameters {
		names = append(names, p.Name)
	}
	for _, q := range i.measured {
		names = append(names, q.Name)
	}
	for _, name := range slices.Sorted(maps.Keys(mapping)) {
		if !slices.Contains(names, name) {
			return nil, fmt.Errorf("columns names %q, which is neither a parameter nor a measured quantity",
				name)
		}
	}
	position := make(map[string]int, len(header))
	for k, h := range header {
		h = strings.TrimSpace(h)
		if _, twice := position[h]; twice && h != "" {
			return nil, fmt.Errorf("the header has two columns %q", h)
		}
		position[h] = k
	}
	at := make([]int, len(names))
	taken := make(map[int]string, len(names))
	for k, name := range names {
		column := name
		if c, ok := mapping[name]; ok {
			column = c
		}
		pos, ok := position[column]
		if !ok || column == "" {
			return nil, fmt.Errorf("no column %q for %s; the header has %s (say which with columns: {%s: COLUMN})",
				column, name, quoted(header), name)
		}
		if other, ok := taken[pos]; ok {
			return nil, fmt.Errorf("column %q is read for both %s and %s", column, other, name)
		}
		at[k], taken[pos] = pos, name
	}
	return at, nil
}

// parse reads one row; at is as columns returns it. Where the campaign declares
// its quantities a cell may be empty: the quantity is missing then. The reader has made sure
// that each record has as many fields as the header. Bounds are not looked at:
// a row outside of the campaign's space is left out where the space takes its
// candidates.
func (i *Instrument) parse(
	record []string, at []int, comma bool,
) (definition.Point, []definition.Quantity, error) {
	point := make(definition.Point, len(i.def.Parameters))
	for k, p := range i.def.Parameters {
		cell := strings.TrimSpace(record[at[k]])
		if len(p.Categories) > 0 {
			if !slices.ContainsFunc(p.Categories,
				func(c definition.CategoryDef) bool { return c.Name == cell }) {
				return nil, nil, fmt.Errorf("%s is %q, which is not one of its categories", p.Name, cell)
			}
			point[p.Name] = definition.Category(cell)
			continue
		}
		x, err := number(cell, comma)
		if err != nil {
			return nil, nil, fmt.Errorf("%s %w", p.Name, err)
		}
		point[p.Name] = definition.Number(x)
	}
	var values []definition.Quantity
	for k, q := range i.measured {
		cell := strings.TrimSpace(record[at[len(i.def.Parameters)+k]])
		if cell == "" && i.def.Several() {
			continue
		}
		x, err := number(cell, comma)
		if err != nil {
			return nil, nil, fmt.Errorf("%s %w", q.Name, err)
		}
		values = append(values, definition.Quantity{Name: q.Name, Value: x, Unit: q.Unit})
	}
	if len(values) == 0 {
		return nil, nil, errors.New("it has no value in any of the quantities")
	}
	return point, values, nil
}

// decimalComma reports whether a number of the table has a decimal comma for
// certain. It reads the whole file before any number is read: one cell may
// settle how all are meant. Rows may be uneven here, since the first pass only
// looks for a sign; the second one reports them.
func decimalComma(data string) bool {
	r := csv.NewReader(strings.NewReader(data))
	r.Comma, r.FieldsPerRecord = format.Separator(data), -1
	for {
		record, err := r.Read()
		if slices.ContainsFunc(record, format.DecimalComma) {
			return true
		}
		if err != nil {
			return false
		}
	}
}

// number reads a cell. Zero has no sign, so that equal compositions have equal keys. Infinite
// values and NaN are refused: neither can be modeled.
func number(cell string, comma bool) (float64, error) {
	if cell == "" {
		return 0, errors.New("is empty")
	}
	x, err := format.ReadNumberIn(cell, comma)
	if err != nil {
		return 0, fmt.Errorf("is not a finite number: %w", err)
	}
	return x + 0, nil // −0 becomes 0
}

// csvFault turns an error of the CSV reader into a FileError.
func csvFault(path string, err error) error {
	var parse *csv.ParseError
	if errors.As(err, &parse) {
		return &FileError{File: path, Line: parse.Line, Problem: parse.Err.Error()}
	}
	return &FileError{File: path, Problem: err.Error()}
}

// quoted lists the columns for a message.
func quoted(header []string) string {
	q := make([]string, len(header))
	for k, h := range header {
		q[k] = strconv.Quote(strings.TrimSpace(h))
	}
	return strings.Join(q, ", ")
}
