package exchange

import (
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/campaignd/campaignd/internal/ground/format"
	"github.com/campaignd/campaignd/internal/ground/units"
)

// A table that people keep is more than a header with rows below it: a title stands above,
// units or types in a second header, an average at the end. Which line is which follows from
// the lines alone, so that an import reads a table as it was read when the campaign was made of
// it. Lines that are not rows are left out, and named ([Sheet.Left]).

// LeftLine is a line of a table that is neither the header nor a row.
type LeftLine struct {
	Line int
	// Text is its text, Why the reason for leaving it out: "a title".
	Text, Why string
}

// sheetLine is a line of a table with some text.
type sheetLine struct {
	number int
	cells  []sheetCell
}

// width counts the cells with text.
func (l *sheetLine) width() (n int) {
	for _, c := range l.cells {
		if c.text != "" {
			n++
		}
	}
	return n
}

// numbers reports whether a line has numbers, and nothing else.
func (l *sheetLine) numbers() bool {
	return !slices.ContainsFunc(l.cells, func(c sheetCell) bool { return c.text != "" && !isNumber(c.text) })
}

// text is that of a cell, "" beyond the last.
func (l *sheetLine) text(i int) string {
	if i < len(l.cells) {
		return l.cells[i].text
	}
	return ""
}

// left returns the line as one that is left out.
func (l *sheetLine) left(why string) LeftLine {
	const most = 40 // characters
	var texts []string
	for _, c := range l.cells {
		if c.text != "" {
			texts = append(texts, c.text)
		}
	}
	text := []rune(strings.Join(texts, ", "))
	if len(text) > most {
		text = append(text[:most-1], '…')
	}
	return LeftLine{l.number, string(text), why}
}

// layout holds the role of each line of a table.
type layout struct {
	header *sheetLine
	rows   []*sheetLine
	left   []LeftLine
	units  map[int]string // of columns, by a second header of units
}

// namedShare is the least share of the usual number of cells in a line that a header has: it
// names most columns, while a title stands in a few.
const namedShare = 0.6

// layoutOf finds the header, the lines above and right below it, and the summaries of the rows
// at the end. There is one line at least.
func layoutOf(lines []sheetLine) *layout {
	widths := make([]int, len(lines))
	for i := range lines {
		widths[i] = lines[i].width()
	}
	usual := slices.Sorted(slices.Values(widths))[len(widths)/2]
	top := max(0, slices.IndexFunc(widths, func(n int) bool {
		return usual < 2 || n >= 2 && float64(n) >= namedShare*float64(usual)
	}))
	for top > 0 && lines[top].numbers() { // names stand above numbers, and be they too few
		top--
	}
	o := &layout{header: &lines[top], units: make(map[int]string)}
	for i := range lines[:top] {
		o.left = append(o.left, lines[i].left("a title"))
	}
	for i := range lines[top+1:] {
		if line := &lines[top+1+i]; o.repeats(line) {
			o.left = append(o.left, line.left("the header once more"))
		} else {
			o.rows = append(o.rows, line)
		}
	}
	for len(o.rows) > 1 && o.second() {
	}
	for len(o.rows) > 1 && o.foot(usual) {
	}
	slices.SortFunc(o.left, func(a, b LeftLine) int { return a.Line - b.Line })
	return o
}

// repeats reports whether a line is the header again, as where tables were joined.
func (o *layout) repeats(line *sheetLine) bool {
	n := max(len(line.cells), len(o.header.cells))
	for i := range n {
		if line.text(i) != o.header.text(i) {
			return false
		}
	}
	return true
}

// second takes the first row for a second header, where it is one: in columns of numbers it
// has texts, and no number. A row that was not measured yet has words there, too; but
// those of [noValue], those that come again, or a single one.
func (o *layout) second() bool {
	row, rows := o.rows[0], o.rows[1:]
	named := make(map[int]string) // its headings of columns of numbers
	known, types := 0, 0
	for i, c := range row.cells {
		if c.text == "" {
			continue
		}
		numbers, texts := 0, 0
		for _, other := range rows {
			switch text := other.text(i); {
			case strings.EqualFold(text, c.text):
				return false
			case isNumber(text):
				numbers++
			case text != "" && !noValue.MatchString(text):
				texts++
			}
		}
		if numbers == 0 || numbers < texts {
			continue
		}
		if isNumber(c.text) {
			return false
		}
		if noValue.MatchString(c.text) {
			continue
		}
		named[i] = c.text
		if IsUnit(c.text) {
			known++
		}
		if typeWord.MatchString(c.text) {
			types++
		}
	}
	switch {
	case len(named) == 0:
		return false
	case 2*known >= len(named) && types < len(named), row.width() == 1 && len(row.cells) > 2 && types == 0:
		for i, text := range named {
			o.units[i] = bareUnit(text)
		}
		o.left = append(o.left, row.left("units"))
	case len(named) == 1 && types == 0:
		return false
	default:
		o.left = append(o.left, row.left("a second header"))
	}
	o.rows = rows
	return true
}

// foot takes the last row for one that sums up the others, or for a remark beneath them,
// where it is one.
func (o *layout) foot(usual int) bool {
	last := len(o.rows) - 1
	row, rows := o.rows[last], o.rows[:last]
	why := ""
	for i, c := range row.cells {
		if c.text == "" {
			continue
		}
		of := func(other *sheetLine) string { return other.text(i) }
		numbers := slices.ContainsFunc(rows, func(other *sheetLine) bool { return isNumber(of(other)) })
		again := slices.ContainsFunc(rows, func(other *sheetLine) bool { return strings.EqualFold(of(other), c.text) })
		switch {
		case again || isNumber(c.text):
		case summary.MatchString(c.text):
			why = "sums up the rows"
		case row.width() > 1:
		case usual > 1 && numbers && !noValue.MatchString(c.text), usual > 2 && footnote.MatchString(c.text):
			why = "a remark"
		}
		break // it is the first text of a line that says what the line is
	}
	if why == "" {
		return false
	}
	o.left = append(o.left, row.left(why))
	o.rows = rows
	return true
}

var (
	// typeWord matches the types that programs write below a heading.
	typeWord = regexp.MustCompile(`(?i)^(data|type|float\d*|double|int\d*|integer|number|numeric|continuous|discrete|str|string|object|text|bool|` +
		`category|categorical|input|output|factor|response|parameter|objective|target|feature)$`)
	// summary matches the beginning of a line that sums up the others.
	summary = regexp.MustCompile(`(?i)^(arithmetic |overall |grand |column )?(mean|avg|average|median|sum|total|subtotal|min|max|minimum|maximum|` +
		`sd|s\.d\.|std|stdev|std\.? ?dev\.?|st\.? ?dev\.?|standard deviation|standard error|sem|rsd|cv|var|variance|range|count|n|best|` +
		`mw|mittel|mittelwert|durchschnitt|summe|gesamt|standardabweichung|stabw|anzahl|spannweite|moyenne|somme|media|promedio)( ?[:=(±+/].*)?[.:]?$`)
	infinite = regexp.MustCompile(`(?i)^[-+]?(inf|infinity)$`)
	footnote = regexp.MustCompile(`(?i)^(\*|†|[¹²³]|note|notes|source|legend|remark|comment|anmerkung|hinweis|quelle)`)
	// noValue matches what people and programs write for a missing value.
	noValue = regexp.MustCompile(`(?i)^([-–—?.*/\\_]+|x+|#.*|n\.? ?[adbqm]\.?|n/[adm]|nan|null|none|nil|void|empty|blank|missing|lost|` +
		`tbd|tba|tbc|todo|to do|open|pending|planned|running|waiting|later|queued|in progress|ongoing|not yet|` +
		`failed|fail|error|err|invalid|aborted|broken|not (measured|determined|done|available|detected|tested|applicable)|` +
		`trace|traces|spuren?|offen|ausstehend|fehlt|k\.? ?a\.?|nicht (gemessen|bestimmt|verfügbar)|` +
		`b?lo[dq]|(<|below) ?lo[dq]|[<>≤≥~≈].*)$`)
)

// NoValue reports whether a cell is a word that people and programs write where they have
// no value: "n.d.", "PENDING", "<1".
func NoValue(text string) bool { return text != "" && noValue.MatchString(text) }

// noResult reports whether a cell of a measured quantity declares the value missing: it is
// empty, has no digit in it and so cannot be a number that was mistyped, or bounds one, as "<1"
// below the limit of detection. An infinite value is a mistake, not a word.
func noResult(text string) bool {
	if infinite.MatchString(text) {
		return false
	}
	return !strings.ContainsFunc(text, unicode.IsDigit) || strings.ContainsAny(text[:1], "<>~") ||
		strings.HasPrefix(text, "≤") || strings.HasPrefix(text, "≥") || strings.HasPrefix(text, "≈")
}

// isNumber reports whether a cell is a number, as people write them, also with its unit.
func isNumber(text string) bool {
	number, unit := Apart(text)
	return reads(number) && (unit == "" || IsUnit(unit))
}

func reads(number string) bool {
	_, err := format.ReadNumberIn(number, true)
	if err != nil {
		_, err = format.ReadNumberIn(number, false)
	}
	return err == nil
}

// Apart splits a cell into a number and the unit behind it: "23.1 %", "45mL". A missing unit is
// empty; if the text does not begin with a number, the whole of it is returned as the number.
func Apart(text string) (number, unit string) {
	parts := withUnit.FindStringSubmatch(text)
	if parts == nil {
		return text, ""
	}
	return parts[1], parts[2]
}

// withUnit is a number with something behind it that begins with no digit.
var withUnit = regexp.MustCompile(`^([-+−]?[0-9][0-9.,]*(?:[eE][-+]?[0-9]+)?)\s*([^\s0-9.,eE+\-−_][^_,;]*|[Ee][A-Za-z][^_,;]*)$`)

// Bare is the number of a cell that repeats the unit of its column: 61.2 of "61.2 %".
// Any other text stays as it is.
func Bare(text, unit string) string {
	if number, behind := Apart(text); behind != "" && unit != "" && units.Same(behind, unit) {
		return number
	}
	return text
}

// IsUnit reports whether a text is a unit that laboratories use, also in brackets.
func IsUnit(text string) bool {
	unit := bareUnit(text)
	if _, known := units.Code(unit); known || commonUnit.MatchString(unit) {
		return true
	}
	return text != unit && unit != "" // in brackets it is one, whichever
}

// commonUnit are units without a code, and those that people write otherwise.
var commonUnit = regexp.MustCompile(`(?i)^(%|‰|wt[ .-]?%|vol[ .-]?%|mol[ .-]?%|w/w|v/v|°c|°f|deg ?c|a\.?u\.?|rpm|equiv\.?|eq\.?|ppm|ppb|eur|usd|€|\$|1)$`)

// bareUnit is a unit without the brackets around it.
func bareUnit(text string) string {
	for _, brackets := range []string{"()", "[]"} {
		if strings.HasPrefix(text, brackets[:1]) && strings.HasSuffix(text, brackets[1:]) {
			return strings.TrimSpace(text[1 : len(text)-1])
		}
	}
	return text
}
