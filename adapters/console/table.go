package console

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/ground/format"
)

// Table writes compositions one below the other, for saying something about each: a row for each,
// numbered from 1, a column for each parameter, and last ones for the person's entries.
type Table struct {
	Compositions Compositions
	Points       []definition.Point
	// Said are the last columns: the entries for the compositions.
	Said []Said
}

// Said is a column of entries, one for each composition.
type Said struct {
	// Head stands over the column, Unit below it.
	Head, Unit string
	// Of returns the entry for the i-th composition so far, empty where there is nothing yet.
	Of func(i int) string
}

// Text writes the table with a mark at the i-th row; −1: at none. Where columns do not fit into the
// width, parameters with the same value in all rows are left out, then names become letters; where
// that does not help each composition is a paragraph. Of rows that do not fit into the height those
// around the mark are written.
func (t Table) Text(at int) Text {
	return func(width, height int) []string {
		l := t.layout(width, at)
		all := slices.Concat(l.head, slices.Concat(l.rows...), l.foot)
		if len(all) <= height {
			return all
		}
		from, to := window(l.rows, max(at, 0), height-len(l.head)-1)
		note := fmt.Sprintf("rows %d to %d of %d", from+1, to, len(l.rows))
		if to == from+1 {
			note = fmt.Sprintf("row %d of %d", to, len(l.rows))
		}
		return slices.Concat(l.head, slices.Concat(l.rows[from:to]...), []string{note})
	}
}

// Rows writes some rows, as they stand in the table, with a mark at the last.
func (t Table) Rows(rows ...int) Text {
	return func(width, _ int) (lines []string) {
		l := t.layout(width, rows[len(rows)-1])
		for _, i := range rows {
			lines = append(lines, l.rows[i]...)
		}
		return lines
	}
}

// window is the rows around one that have room: from the first to the one
// before to. It grows by a row below and a row above in turn. The row itself is
// in it even where it has no room.
func window(rows [][]string, at, room int) (from, to int) {
	from, to = at, at+1
	room -= len(rows[at])
	for {
		below := to < len(rows) && len(rows[to]) <= room
		if below {
			room -= len(rows[to])
			to++
		}
		above := from > 0 && len(rows[from-1]) <= room
		if above {
			from--
			room -= len(rows[from])
		}
		if !below && !above {
			return from, to
		}
	}
}

// laid is a table laid out: lines above the rows and below, and the lines of
// each row.
type laid struct {
	head, foot []string
	rows       [][]string
}

// layout lays the table out for a width, in the first way that fits. A row of a
// table is one line, a paragraph may be several: hence rows are lists of lines.
func (t Table) layout(width, at int) laid {
	parameters := t.Compositions.Parameters()
	var all, varying []int
	for k, par := range parameters {
		all = append(all, k)
		if slices.ContainsFunc(t.Points,
			func(p definition.Point) bool { return p[par.Name] != t.Points[0][par.Name] }) {
			varying = append(varying, k)
		}
	}
	for _, way := range []struct {
		shown   []int
		letters bool
	}{{all, false}, {varying, false}, {varying, true}} {
		if l, wide := t.columns(way.shown, way.letters, width, at); wide <= width {
			return l
		}
	}
	l := laid{}
	number := len(strconv.Itoa(len(t.Points)))
	for i, p := range t.Points {
		lines := list(strings.Split(t.Compositions.LineWithUnits(p), ", "), width-number-3)
		for _, s := range t.Said {
			if said := s.Of(i); said != "" {
				lines = append(lines, s.Head+": "+format.WithUnit(said, s.Unit))
			}
		}
		for k, line := range lines {
			name := ""
			if k == 0 {
				name = strconv.Itoa(i + 1)
			}
			lines[k] = mark(i == at && k == 0) + fmt.Sprintf("%*s  ", number, name) + line
		}
		l.rows = append(l.rows, lines)
	}
	return l
}

// mark stands before a row.
func mark(marked bool) string {
	if marked {
		return "›"
	}
	return " "
}

// columns lays the table out with columns for some parameters, under letters or names. Parameters
// without a column are the same in all rows and are named once below; wide is the width that the
// table needs, for the caller to compare with the screen's.
func (t Table) columns(shown []int, letters bool, width, at int) (l laid, wide int) {
	parameters := t.Compositions.Parameters()
	lines := make([]string, len(t.Points)+2) // names, units, and the rows
	number := len(strconv.Itoa(len(t.Points)))
	for i := range lines {
		lines[i] = strings.Repeat(" ", number+1)
		if i > 1 {
			lines[i] = mark(i-2 == at) + fmt.Sprintf("%*d", number, i-1)
		}
	}
	add := func(name, unit string, cell func(i int) string) {
		cells := []string{name, unit}
		for i := range t.Points {
			cells = append(cells, cell(i))
		}
		for i, text := range aligned(cells) {
			lines[i] += "  " + text
		}
	}
	var legend, alike []string
	for k, par := range parameters {
		switch at := slices.Index(shown, k); {
		case at < 0:
			alike = append(alike, format.WithUnit(par.Name+" "+
				valueOf(t.Compositions, k, t.Points[0]), par.Unit))
			continue
		case letters:
			letter := string(rune('a' + at%26))
			if at >= 26 { // a to z, a1 to z1, and so on
				letter += strconv.Itoa(at / 26)
			}
			legend = append(legend, letter+" "+format.Heading(par.Name, par.Unit))
			par.Name, par.Unit = letter, ""
		}
		add(par.Name, par.Unit, func(i int) string { return valueOf(t.Compositions, k, t.Points[i]) })
	}
	for _, s := range t.Said {
		add(s.Head, s.Unit, s.Of)
	}
	for i, line := range lines {
		lines[i] = strings.TrimRight(line, " ")
		wide = max(wide, utf8.RuneCountInString(line))
	}
	if legend != nil {
		l.head = list(legend, width)
	}
	l.head = append(l.head, lines[0])
	if lines[1] != "" {
		l.head = append(l.head, lines[1])
	}
	for _, line := range lines[2:] {
		l.rows = append(l.rows, []string{line})
	}
	if alike != nil {
		alike[0] = "the same in all: " + alike[0]
		l.foot = list(alike, width)
	}
	return l, wide
}

// aligned pads the cells of a column below its name and unit to one width:
// numbers with their decimal points below each other, right of where they end,
// and words on the left.
func aligned(cells []string) []string {
	whole, part := 0, 0
	numbers := true
	point := func(text string) int { // where a decimal point is or would be
		if k := strings.IndexByte(text, '.'); k >= 0 {
			return k
		}
		return len(text)
	}
	for _, text := range cells[2:] {
		if _, err := strconv.ParseFloat(text, 64); err == nil {
			whole, part = max(whole, point(text)), max(part, len(text)-point(text))
		} else if text != "" && text != "–" {
			numbers = false
		}
	}
	texts, wide := slices.Clone(cells), 0
	for i, text := range texts {
		if numbers && i > 1 && text != "" && text != "–" {
			texts[i] = strings.Repeat(" ", whole-point(text)) + text +
				strings.Repeat(" ", part-(len(text)-point(text)))
		}
		wide = max(wide, utf8.RuneCountInString(texts[i]))
	}
	for i, text := range texts {
		if space := strings.Repeat(" ", wide-utf8.RuneCountInString(text)); numbers {
			texts[i] = space + text
		} else {
			texts[i] = text + space
		}
	}
	return texts
}
