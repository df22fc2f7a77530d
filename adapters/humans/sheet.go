package humans

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/ground/format"
)

// Sheet is a table of estimates that a person fills in: a row for each option, with a
// cell for each column of the scale, which holds a number or none. Cells are counted
// from 0 along the rows; where there is one column they are the rows.
type Sheet struct {
	scale   events.Scale
	columns []events.Column
	values  []*float64
}

// NewSheet returns a sheet of so many rows that holds the given estimates.
func NewSheet(rows int, scale events.Scale, given []events.Estimate) *Sheet {
	columns := scale.Table()
	s := &Sheet{scale: scale, columns: columns, values: make([]*float64, rows*len(columns))}
	for _, e := range given {
		s.values[e.Option*len(columns)+scale.Column(e)] = &e.Value
	}
	return s
}

// Columns returns how many columns there are.
func (s *Sheet) Columns() int { return len(s.columns) }

// Cells returns how many cells there are.
func (s *Sheet) Cells() int { return len(s.values) }

// Size says how many rows there are, and columns where there are several.
func (s *Sheet) Size() string {
	rows := fmt.Sprintf("%d rows", len(s.values)/len(s.columns))
	if len(s.columns) > 1 {
		rows += fmt.Sprintf(" of %d columns", len(s.columns))
	}
	return rows
}

// Name returns a person's name for a cell: its row, counted from 1, and where there are several
// columns the column's letter: "3B".
func (s *Sheet) Name(cell int) string {
	name := strconv.Itoa(cell/len(s.columns) + 1)
	if len(s.columns) > 1 {
		name += ColumnLetter(cell % len(s.columns))
	}
	return name
}

// ColumnLetter is the letter of a column in the names of cells, counted from 0.
func ColumnLetter(column int) string { return string(rune('A' + column)) }

// Value returns the number in a cell; ok is false for an empty cell.
func (s *Sheet) Value(cell int) (x float64, ok bool) {
	if s.values[cell] == nil {
		return 0, false
	}
	return *s.values[cell], true
}

// Estimates returns the numbers of the sheet.
func (s *Sheet) Estimates() (list []events.Estimate) {
	for i, x := range s.values {
		if x == nil {
			continue
		}
		e := s.scale.In(i/len(s.columns), i%len(s.columns))
		e.Value = *x
		list = append(list, e)
	}
	return list
}

// String writes all cells in order, in a form that Fill reads: "11.2, -, 7".
func (s *Sheet) String() string {
	texts := make([]string, len(s.values))
	for i, x := range s.values {
		texts[i] = "-"
		if x != nil {
			texts[i] = strconv.FormatFloat(*x, 'g', -1, 64)
		}
	}
	return strings.Join(texts, ", ")
}

// entry is a person's entry in a cell.
type entry struct {
	cell  int
	value *float64
}

// Fill reads a line that a person typed and returns the cells that it says
// something about, in the line's order. They have their names in it:
//
//   - "3=11.2 7=9", "3B=11.2", or "3 11.2" alone: these cells;
//   - "11.2", or "11.2, 9, , 7" or "11.2 9 - 7": the cells from the given one on, or all of
//     them where it is as many as there are cells.
//
// Nothing, "-" and "?" leave a cell out. The unit may follow a number. Of a line
// that is not understood nothing is taken; the error says why.
func (s *Sheet) Fill(line string, from int) (cells []int, err error) {
	var entries []entry
	if strings.Contains(line, "=") {
		entries, err = s.pairs(line)
	} else {
		entries, err = s.list(line, from)
	}
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		s.values[e.cell] = e.value
		cells = append(cells, e.cell)
	}
	return cells, nil
}

// pairs reads "3=11.2 7=9".
func (s *Sheet) pairs(line string) (entries []entry, err error) {
	for _, pair := range pairsOf(line) {
		if s.unit(pair) {
			continue
		}
		name, text, _ := strings.Cut(pair, "=")
		cell, ok := s.cell(name)
		if !ok {
			return nil, fmt.Errorf("%q is no %s: write %s=NUMBER",
				name, s.which(), strings.ToUpper(s.noun()))
		}
		if slices.ContainsFunc(entries, func(e entry) bool { return e.cell == cell }) {
			return nil, fmt.Errorf("%s %s is there twice", s.noun(), s.Name(cell))
		}
		value, err := s.number(cell, text)
		if err != nil {
			return nil, err
		}
		entries = append(entries, entry{cell, value})
	}
	return entries, nil
}

// pairsOf splits at blanks, semicolons, and commas that are not decimal ones: "3=11,2" is one pair,
// "3=11,7=9" are two.
func pairsOf(line string) (pairs []string) {
	for _, word := range strings.FieldsFunc(line,
		func(r rune) bool { return unicode.IsSpace(r) || r == ';' }) {
		word = strings.Trim(word, ",")
		if strings.Count(word, "=") > 1 {
			pairs = append(pairs, strings.Split(word, ",")...)
		} else if word != "" {
			pairs = append(pairs, word)
		}
	}
	return pairs
}

// list reads numbers of rows that follow each other, and the row and the number
// of one.
func (s *Sheet) list(line string, from int) (entries []entry, err error) {
	texts := strings.Split(line, ",")
	words := strings.Fields(line)
	switch {
	case len(texts) == 2 && len(words) == 2 && len(s.values) > 2 && format.DecimalComma(words[1]):
		cell, ok := s.cell(words[0])
		if !ok {
			return nil, fmt.Errorf("%q is no %s", words[0], s.which())
		}
		from, texts = cell, words[1:]
	case len(texts) == 2 && s.scale.Marks == 0 && from == len(s.values)-1 && format.DecimalComma(line):
		texts = []string{line} // only one number has room
	case strings.Contains(line, ";"):
		texts = strings.Split(line, ";")
	case len(texts) == 1:
		texts = slices.DeleteFunc(strings.Fields(line),
			s.unit)
		if len(texts) == 0 {
			return nil, fmt.Errorf("%q is not a number", line)
		}
		if cell, ok := s.cell(texts[0]); len(texts) == 2 && len(s.values) > 2 {
			if !ok {
				return nil, fmt.Errorf("%q is no %s; numbers of several %ss have a comma between",
					texts[0], s.which(), s.noun())
			}
			from, texts = cell, texts[1:]
		}
	case len(texts) == 2 && s.scale.Marks == 0 && digits(texts[0]) && digits(texts[1]):
		return nil, fmt.Errorf("%q may be one number or two: write a decimal point, or a semicolon between numbers", line)
	}
	if len(texts) == len(s.values) {
		from = 0
	}
	if left := len(s.values) - from; len(texts) > left {
		return nil, fmt.Errorf("%d numbers are more than the %d %ss from %s on",
			len(texts), left, s.noun(), s.Name(from))
	}
	for i, text := range texts {
		value, err := s.number(from+i, text)
		if err != nil {
			return nil, err
		}
		entries = append(entries, entry{from + i, value})
	}
	return entries, nil
}

// cell reads the name of a cell.
func (s *Sheet) cell(text string) (cell int, ok bool) {
	column := 0
	if n := len(s.columns); n > 1 {
		for column = range n {
			if row, found := strings.CutSuffix(strings.ToUpper(text), ColumnLetter(column)); found {
				text, ok = row, true
				break
			}
		}
		if !ok {
			return 0, false
		}
	}
	n, err := strconv.Atoi(text)
	cell = (n-1)*len(s.columns) + column
	return cell, err == nil && digits(text) && n >= 1 && cell < len(s.values)
}

// noun names the place of a number, for error messages: a cell, or a row.
func (s *Sheet) noun() string {
	if len(s.columns) > 1 {
		return "cell"
	}
	return "row"
}

func (s *Sheet) which() string {
	return fmt.Sprintf("%s from %s to %s", s.noun(), s.Name(0), s.Name(len(s.values)-1))
}

// unit reports whether a word is the unit of a column.
func (s *Sheet) unit(text string) bool {
	return slices.ContainsFunc(s.columns, func(c events.Column) bool { return c.Unit == text })
}

// digits reports whether a text is a whole number without a sign.
func digits(text string) bool {
	return text != "" && strings.Trim(text, "0123456789") == ""
}

// number reads a number of a cell, nil where it is left out.
func (s *Sheet) number(cell int, text string) (*float64, error) {
	column := cell % len(s.columns)
	unit := s.columns[column].Unit
	text = strings.TrimSpace(text)
	if slices.Contains([]string{"", "-", "–", "—", "?"}, text) {
		return nil, nil
	}
	plain := strings.ReplaceAll(text, "−", "-")
	if first, _ := utf8.DecodeRuneInString(unit); !unicode.IsDigit(first) {
		plain = strings.TrimSpace(strings.TrimSuffix(plain, unit))
	}
	x, err := format.ReadNumber(plain)
	if err != nil {
		return nil, err
	}
	if err := s.scale.Takes(column, x); err != nil {
		return nil, err
	}
	return &x, nil
}
