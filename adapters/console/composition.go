package console

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/ground/format"
)

// Compositions writes the compositions of a campaign, each value with the
// decimals that matter for its parameter.
type Compositions = format.Compositions

// NewCompositions returns the writer of compositions of some parameters; steps
// are the dosing steps of those that have one.
func NewCompositions(parameters []definition.Parameter, steps map[string]float64) Compositions {
	return format.NewCompositions(parameters, steps)
}

// Composition writes a composition with units, one parameter a line, in order.
// Where that is too long it leaves out the descriptions; where that is still
// too long it writes the parameters in one paragraph.
func Composition(c Compositions, p definition.Point) Text {
	values := make([]string, len(c.Parameters()))
	for i, par := range c.Parameters() {
		values[i] = format.WithUnit(valueOf(c, i, p), par.Unit)
	}
	return Properties(c.Parameters(), values)
}

// valueOf writes the value of the i-th parameter, "?" for a missing one. A log from elsewhere may
// hold a composition that lacks one; a form that shows the rest is better than none.
func valueOf(c Compositions, i int, p definition.Point) string {
	if text, ok := c.Value(i, p); ok {
		return text
	}
	return "?"
}

// Properties writes a property of each parameter next to its name, as
// [Composition] does with values.
func Properties(parameters []definition.Parameter, values []string) Text {
	wide := 0
	for _, par := range parameters {
		wide = max(wide, utf8.RuneCountInString(par.Name))
	}
	rows := func(described bool) Text {
		return func(width, _ int) (lines []string) {
			for i, par := range parameters {
				text := values[i]
				if described && par.Description != "" {
					text += "  (" + par.Description + ")"
				}
				line := strings.TrimRight(pad(par.Name, wide)+"  "+text, " ")
				if utf8.RuneCountInString(line) <= width {
					lines = append(lines, line)
					continue
				}
				for k, rest := range Wrap(text, max(width-wide-2, width/3)) { // below its beginning
					name := ""
					if k == 0 {
						name = par.Name
					}
					lines = append(lines, pad(name, wide)+"  "+rest)
				}
			}
			return lines
		}
	}
	return Shortest(rows(true), rows(false), func(width, _ int) []string {
		items := make([]string, len(parameters))
		for i, par := range parameters {
			items[i] = par.Name + " " + values[i]
		}
		return list(items, width)
	})
}

// list writes items one after the other, breaking lines between them where it
// can. An item wider than a line is broken like any text.
//
// "lipf6 1.2 mol/kg" torn apart between number and unit is read wrongly, hence
// the glue.
func list(items []string, width int) []string {
	const glue = "\x00" // holds an item together while lines are broken
	text := make([]string, len(items))
	for i, item := range items {
		text[i] = item
		if i+1 < len(items) {
			text[i] += ","
		}
		if utf8.RuneCountInString(text[i]) <= width {
			text[i] = strings.ReplaceAll(text[i], " ", glue)
		}
	}
	lines := Wrap(strings.Join(text, " "), width)
	for i, line := range lines {
		lines[i] = strings.ReplaceAll(line, glue, " ")
	}
	return lines
}

// Options writes compositions side by side, for comparing them: a column for each, under the name
// that call gives to the i-th; a row for each parameter, with a * where they differ; and the
// model's predictions, where there are any. Columns that do not fit into the width follow below.
// Where there are too many lines, it leaves out units, breaks predictions, and at last lists in one
// sentence the values that all share.
func Options(c Compositions, options []events.Option, call func(i int) string) Text {
	draw := func(l layout) Text {
		return func(width, _ int) []string { return sideBySide(c, options, call, width, l) }
	}
	return Shortest(
		draw(layout{units: true, same: true}),
		draw(layout{same: true}),
		draw(layout{same: true, narrow: true}),
		draw(layout{}), draw(layout{narrow: true}))
}

// layout is a way to write the table of Options: whether names have their
// units, whether parameters that are the same in all options have rows, and
// whether predictions are broken before their ±, which makes columns narrower.
type layout struct{ units, same, narrow bool }

// sideBySide is the table of Options. It calls itself at most once, without
// units, where the names would crowd out the columns.
func sideBySide(
	c Compositions, options []events.Option, call func(i int) string, width int, l layout,
) []string {
	head := row{"", make([]string, len(options))}
	for i := range options {
		head.cells[i] = call(i)
	}
	differing, alike := parameterRows(c, options, l)
	rows := slices.Concat([]row{head}, differing, predictionRows(options, l))

	widths := widthsOf(rows)
	// Names leave room for two columns, and narrow ones for as many as can
	// stand next to a short name.
	room := width
	for i := range options {
		if left := room - 2 - widths[1+i]; i < 2 || l.narrow && left >= shortName {
			room = left
		}
	}
	if room = max(room, shortName); widths[0] > room {
		if l.units {
			l.units = false
			return sideBySide(c, options, call, width, l)
		}
		widths[0] = room
	}
	lines := paragraphs(rows, widths, width)
	if alike != nil {
		alike[0] = "the same in all: " + alike[0]
		lines = append(lines, list(alike, width)...)
	}
	return lines
}

// row is a line of the table of Options: a name, and a cell for each option.
type row struct {
	name  string
	cells []string
}

// heading is a name with its unit, where there is room for units.
func (l layout) heading(name, unit string) string {
	if l.units {
		return format.Heading(name, unit)
	}
	return name
}

// parameterRows returns a row for each parameter, with a star where the options
// differ. Where the layout has no rows for those that are the same in all, they
// are returned as texts.
func parameterRows(c Compositions, options []events.Option, l layout) (rows []row, alike []string) {
	for k, par := range c.Parameters() {
		r := row{"  " + l.heading(par.Name, par.Unit), make([]string, len(options))}
		differ := false
		for i, o := range options {
			r.cells[i] = valueOf(c, k, o.Parameters)
			if o.Parameters[par.Name] != options[0].Parameters[par.Name] {
				r.name, differ = "*"+r.name[1:], true
			}
		}
		if differ || l.same {
			rows = append(rows, r)
		} else {
			alike = append(alike, format.WithUnit(par.Name+" "+r.cells[0], par.Unit))
		}
	}
	return rows, alike
}

// predictionRows returns the predictions of the options, "?" for a missing one, and no row where
// all are missing. A column without a prediction stays among the others, so that one option's
// prediction is not read under another.
func predictionRows(options []events.Option, l layout) []row {
	expects := row{"  predicted", make([]string, len(options))}
	predicted := false
	for i, o := range options {
		expects.cells[i] = "?"
		if p := o.Prediction; p != nil {
			predicted = true
			expects.name = "  " + l.heading("predicted", p.Unit)
			expects.cells[i] = format.PlusMinus(p.Mean, p.SD, "")
		}
	}
	switch {
	case !predicted:
		return nil
	case !l.narrow:
		return []row{expects}
	}
	below := row{"", make([]string, len(options))}
	for i, cell := range expects.cells {
		mean, sd, found := strings.Cut(cell, " ± ")
		if expects.cells[i] = mean; found {
			below.cells[i] = "± " + sd
		}
	}
	return []row{expects, below}
}

// widthsOf is the width of the names, and of each column. The width of the
// names comes first. In characters and not in bytes: units have characters that
// take several.
func widthsOf(rows []row) []int {
	widths := make([]int, 1+len(rows[0].cells))
	for _, r := range rows {
		widths[0] = max(widths[0], utf8.RuneCountInString(r.name))
		for i, cell := range r.cells {
			widths[1+i] = max(widths[1+i], utf8.RuneCountInString(cell))
		}
	}
	return widths
}

// paragraphs writes the table with as many columns next to each other as there
// is room for, the others below, each time with the names.
func paragraphs(rows []row, widths []int, width int) (lines []string) {
	columns := len(widths) - 1
	for from := 0; from < columns; {
		to, used := from, widths[0]
		for to < columns && (to == from || used+2+widths[1+to] <= width) {
			used += 2 + widths[1+to]
			to++
		}
		for _, r := range rows {
			line := pad(format.Shorten(r.name, widths[0]), widths[0])
			for i := from; i < to; i++ {
				line += "  " + pad(r.cells[i], widths[1+i])
			}
			lines = append(lines, strings.TrimRight(line, " "))
		}
		from = to
	}
	return lines
}

// shortName is how many characters of a name are shown in any case.
const shortName = 12

// pad fills a text up with spaces. A text that is wider stays as it is: cutting
// is for the caller, who knows what may be cut.
func pad(text string, width int) string {
	return text + strings.Repeat(" ", max(width-utf8.RuneCountInString(text), 0))
}

// Wrap breaks a text into lines of at most width characters, between words. A
// word that is wider has a line of its own and is not broken: it may be a path
// or a name that is copied.
func Wrap(text string, width int) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(text) {
		switch {
		case line == "":
			line = word
		case utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) <= width:
			line += " " + word
		default:
			lines = append(lines, line)
			line = word
		}
	}
	if line != "" {
		lines = append(lines, line)
	}
	return lines
}

// assignment is the beginning of a parameter's value: NAME=.
var assignment = regexp.MustCompile(`(?:^|[\s,;]+)([A-Za-z_][A-Za-z0-9_.-]*)\s*=\s*`)

// ParseComposition reads a whole composition that a person wrote: by name, as
// in "lipf6=1.2 ec=0.36 dmc=1" with spaces or commas between, or the values
// alone in the parameters' order, "1.2 0.36 1". A unit may follow a number. The
// error says all that is missing or wrong; whether the composition can be made
// is not checked.
func ParseComposition(parameters []definition.Parameter, text string) (definition.Point, error) {
	values, faults := split(parameters, text)
	point := make(definition.Point, len(parameters))
	var missing []string
	for _, par := range parameters {
		value, ok := values[par.Name]
		if !ok {
			missing = append(missing, par.Name)
			continue
		}
		if par.Categories == nil {
			value = strings.TrimSuffix(value, par.Unit)
		}
		v, err := format.ReadValue(par, value, false)
		if err != nil {
			faults = append(faults, err.Error())
		}
		point[par.Name] = v
	}
	switch len(missing) {
	case 0:
	case 1:
		faults = append(faults, missing[0]+" is missing")
	default:
		faults = append(faults, format.List(missing...)+" are missing")
	}
	if faults != nil {
		return nil, fmt.Errorf("%s; write %s", strings.Join(faults, "; "), format.Blank(parameters))
	}
	return point, nil
}

// split takes a composition apart into the texts of its values. Without any
// NAME= the values are those of the parameters in order, separated by commas or
// semicolons where there are two such parts, otherwise by spaces. A text that
// names one parameter must name all: what stands before the first name belongs
// to none.
//
// The separators are looked at in that order since a value may hold spaces:
// "1.2 mol/kg, 0.36" are two.
func split(parameters []definition.Parameter, text string) (values map[string]string, faults []string) {
	values = make(map[string]string, len(parameters))
	fault := func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) }
	found := assignment.FindAllStringSubmatchIndex(text, -1)
	if found == nil {
		list := strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ';' })
		if len(list) < 2 {
			list = strings.Fields(text)
		}
		for i, value := range list {
			if i >= len(parameters) {
				fault("%d values are more than the %d parameters", len(list), len(parameters))
				break
			}
			values[parameters[i].Name] = strings.TrimSpace(value)
		}
		return values, faults
	}
	if before := strings.TrimSpace(text[:found[0][0]]); before != "" {
		fault("%q belongs to no parameter", before)
	}
	for i, at := range found {
		end := len(text)
		if i+1 < len(found) {
			end = found[i+1][0]
		}
		name := text[at[2]:at[3]]
		switch _, twice := values[name]; {
		case !slices.ContainsFunc(parameters,
			func(p definition.Parameter) bool { return p.Name == name }):
			fault("there is no parameter %s", name)
		case twice:
			fault("%s is there twice", name)
		default:
			values[name] = strings.Trim(text[at[1]:end], " \t,;")
		}
	}
	return values, faults
}
