package guess

import (
	"bufio"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/campaignd/campaignd/internal/exchange"
	"github.com/campaignd/campaignd/internal/format"
	"github.com/campaignd/campaignd/internal/problem"
)

// mend leaves out what spreadsheets leave behind: columns and lines without any text, and
// gives a column without a heading one, and one whose heading came before a number. A
// table with none of that stays as it is, to the letter. Cells are not changed, and lines
// keep their numbers.
func mend(table string) (mended string, remarks []string, err error) {
	if exchange.Workbook(table) {
		return "", nil, problem.New(problem.Invalid, "it is a workbook of a spreadsheet (as .xlsx), and no table of text").
			With(problem.Remedy{Text: "save it as CSV, or copy its cells and paste them"})
	}
	text := strings.TrimPrefix(strings.ReplaceAll(table, "\r\n", "\n"), "\ufeff")
	reader := exchange.NewReader(bufio.NewReader(strings.NewReader(text)))
	reader.FieldsPerRecord = -1
	var records [][]string
	var lines []int
	for {
		record, err := reader.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return text, nil, nil // the next reader says where it is wrong
		}
		line, _ := reader.FieldPos(0)
		records, lines = append(records, record), append(lines, line)
	}
	if len(records) == 0 {
		return "", nil, problem.New(problem.Invalid, "there is no table").
			With(problem.Remedy{Text: "choose a file, or paste its text"})
	}
	blank := func(cell string) bool { return strings.TrimSpace(cell) == "" }
	var drop []int // columns
	for i := range records[0] {
		if !slices.ContainsFunc(records, func(r []string) bool { return i < len(r) && !blank(r[i]) }) {
			drop = append(drop, i)
		}
	}
	empty := 0 // lines
	for _, r := range records[1:] {
		if !slices.ContainsFunc(r, func(cell string) bool { return !blank(cell) }) {
			empty++
		}
	}
	renamed := headings(records[0])
	if len(drop) == 0 && empty == 0 && renamed == nil && !overhang(records) {
		return text, nil, nil
	}
	if len(drop) > 0 {
		remarks = append(remarks, format.Count(len(drop), "empty column")+" left out.")
	}
	if empty > 0 {
		remarks = append(remarks, format.Count(empty, "empty line")+" left out.")
	}
	var b strings.Builder
	out := csv.NewWriter(&b)
	out.Comma = reader.Comma
	at := 1
	for n, r := range records {
		if n > 0 && !slices.ContainsFunc(r, func(cell string) bool { return !blank(cell) }) {
			continue
		}
		r = slices.Clone(r)
		for len(r) > len(records[0]) && blank(r[len(r)-1]) {
			r = r[:len(r)-1]
		}
		if n == 0 && renamed != nil {
			r = renamed
		}
		for _, i := range slices.Backward(drop) {
			if i < len(r) {
				r = slices.Delete(r, i, i+1)
			}
		}
		for ; at < lines[n]; at++ { // so that faults name the line of the person's table
			b.WriteByte('\n')
		}
		before := b.Len()
		if err := out.Write(r); err != nil {
			return "", nil, err
		}
		out.Flush()
		at += strings.Count(b.String()[before:], "\n")
	}
	return b.String(), remarks, out.Error()
}

// overhang reports whether a line goes on beyond the headings with cells that are empty.
func overhang(records [][]string) bool {
	return slices.ContainsFunc(records, func(r []string) bool {
		return len(r) > len(records[0]) && strings.TrimSpace(r[len(r)-1]) == ""
	})
}

// headings gives each column a heading of its own; nil where they have that already.
func headings(header []string) []string {
	names := slices.Clone(header)
	changed := false
	for i, name := range exchange.Names(header) {
		another := name
		if name == "" {
			another = fmt.Sprintf("column %d", i+1)
		}
		taken := func(name string) bool {
			return slices.Contains(exchange.Names(names[:i]), name) || another != name && slices.Contains(exchange.Names(header), name)
		}
		for n := 2; taken(another); n++ {
			another = fmt.Sprintf("%s %d", name, n)
		}
		if another != name {
			names[i], changed = another, true
		}
	}
	if !changed {
		return nil
	}
	return names
}
