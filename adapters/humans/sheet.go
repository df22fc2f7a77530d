package humans

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/format"
)

// Sheet is a table of estimates that a person fills in: a row for each option,
// counted from 0, with a number or none.
type Sheet struct {
	scale  events.Scale
	values []*float64
}

// NewSheet returns a sheet of so many rows that holds the given estimates.
func NewSheet(rows int, scale events.Scale, given []events.Estimate) *Sheet {
	s := &Sheet{scale: scale, values: make([]*float64, rows)}
	for _, e := range given {
		s.values[e.Option] = &e.Value
	}
	return s
}

// Value returns the number in a row; ok is false where there is none.
func (s *Sheet) Value(row int) (x float64, ok bool) {
	if s.values[row] == nil {
		return 0, false
	}
	return *s.values[row], true
}

// Estimates returns the numbers of the sheet.
func (s *Sheet) Estimates() (list []events.Estimate) {
	for i, x := range s.values {
		if x != nil {
			list = append(list, events.Estimate{Option: i, Value: *x})
		}
	}
	return list
}

// String writes all rows in order, in a form that Fill reads: "11.2, -, 7".
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

// entry is what a person says of a row.
type entry struct {
	row   int
	value *float64
}

// Fill reads a line that a person typed and returns the rows that it says
// something about, in the line's order. Rows are counted from 1 in it:
//
//   - "3=11.2 7=9", or "3 11.2" alone: these rows;
//   - "11.2", or "11.2, 9, , 7" or "11.2 9 - 7": the rows from the given one on, or all of
//     them where it is as many as there are rows.
//
// Nothing, "-" and "?" leave a row out. The unit may follow a number. Of a line
// that is not understood nothing is taken; the error says why.
func (s *Sheet) Fill(line string, from int) (rows []int, err error) {
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
		s.values[e.row] = e.value
		rows = append(rows, e.row)
	}
	return rows, nil
}

// pairs reads "3=11.2 7=9".
func (s *Sheet) pairs(line string) (entries []entry, err error) {
	for _, pair := range pairsOf(line) {
		if pair == s.scale.Unit {
			continue
		}
		name, text, _ := strings.Cut(pair, "=")
		row, ok := s.row(name)
		if !ok {
			return nil, fmt.Errorf("%q is no row from 1 to %d: write ROW=NUMBER", name, len(s.values))
		}
		if slices.ContainsFunc(entries, func(e entry) bool { return e.row == row }) {
			return nil, fmt.Errorf("row %d is there twice", row+1)
		}
		value, err := s.number(text)
		if err != nil {
			return nil, err
		}
		entries = append(entries, entry{row, value})
	}
	return entries, nil
}

// pairsOf are what stands between blanks, semicolons, and commas that are no
// decimal ones: "3=11,2" is one pair, "3=11,7=9" are two.
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
		row, ok := s.row(words[0])
		if !ok {
			return nil, fmt.Errorf("%q is no row from 1 to %d", words[0], len(s.values))
		}
		from, texts = row, words[1:]
	case len(texts) == 2 && s.scale.Marks == 0 && from == len(s.values)-1 && format.DecimalComma(line):
		texts = []string{line} // only one number has room
	case strings.Contains(line, ";"):
		texts = strings.Split(line, ";")
	case len(texts) == 1:
		texts = slices.DeleteFunc(strings.Fields(line),
			func(text string) bool { return text == s.scale.Unit })
		if len(texts) == 0 {
			return nil, fmt.Errorf("%q is not a number", line)
		}
		if row, ok := s.row(texts[0]); len(texts) == 2 && len(s.values) > 2 {
			if !ok {
				return nil, fmt.Errorf("%q is no row from 1 to %d; numbers of several rows have a comma between",
					texts[0], len(s.values))
			}
			from, texts = row, texts[1:]
		}
	case len(texts) == 2 && s.scale.Marks == 0 && digits(texts[0]) && digits(texts[1]):
		return nil, fmt.Errorf("%q may be one number or two: write a decimal point, or a semicolon between numbers", line)
	}
	if len(texts) == len(s.values) {
		from = 0
	}
	if left := len(s.values) - from; len(texts) > left {
		return nil, fmt.Errorf("%d numbers are more than the %d rows from %d on", len(texts), left, from+1)
	}
	for i, text := range texts {
		value, err := s.number(text)
		if err != nil {
			return nil, err
		}
		entries = append(entries, entry{from + i, value})
	}
	return entries, nil
}

// row reads a row.
func (s *Sheet) row(text string) (row int, ok bool) {
	n, err := strconv.Atoi(text)
	return n - 1, err == nil && digits(text) && n <= len(s.values) && n >= 1
}

// digits reports whether a text is a whole number without a sign.
func digits(text string) bool {
	return text != "" && strings.Trim(text, "0123456789") == ""
}

// number reads a number of the scale, nil where a row is left out.
func (s *Sheet) number(text string) (*float64, error) {
	text = strings.TrimSpace(text)
	if slices.Contains([]string{"", "-", "–", "—", "?"}, text) {
		return nil, nil
	}
	plain := strings.ReplaceAll(text, "−", "-")
	if first, _ := utf8.DecodeRuneInString(s.scale.Unit); !unicode.IsDigit(first) {
		plain = strings.TrimSpace(strings.TrimSuffix(plain, s.scale.Unit))
	}
	x, err := format.ReadNumber(plain)
	if err != nil {
		return nil, err
	}
	if err := s.scale.Takes(0, x); err != nil {
		return nil, err
	}
	return &x, nil
}
