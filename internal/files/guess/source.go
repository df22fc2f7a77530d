package guess

import (
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/campaignd/campaignd/internal/files/exchange"
	"github.com/campaignd/campaignd/internal/ground/format"
)

// What people dose in steps: finer ones, and greater numbers, were computed. A step is
// never wider than the range.
const (
	leastStep = 1e-4
	mostDosed = 1e6
)

func setting(x float64) string { return format.Setting(x) }

// Fault keeps a guess from being a campaign; Column is its place among the columns, −1 for none.
type Fault struct {
	Column int
	Text   string
}

// Faults returns the faults of the present roles, names and ranges.
func (g *Guess) Faults() (faults []Fault) {
	add := func(i int, format string, args ...any) {
		faults = append(faults, Fault{i, fmt.Sprintf(format, args...)})
	}
	varied, sought := 0, 0
	for i := range g.Columns {
		c := &g.Columns[i]
		if !slices.Contains(c.May, c.Role) {
			add(i, "%s cannot be that: it holds %s", c.Heading, c.Found)
			continue
		}
		if c.Role.Varied() {
			varied++
		}
		if c.Role.Sought() {
			sought++
		}
		if !c.Role.Varied() && !c.Role.Measured() {
			continue
		}
		if !isName.MatchString(c.Name) {
			add(i, "%s: %q is not a valid name; write letters, digits and underscores, a letter first", c.Heading, c.Name)
		}
		for k := range g.Columns[:i] {
			other := &g.Columns[k]
			if other.Name == c.Name && (other.Role.Varied() || other.Role.Measured()) {
				add(i, "%s and %s are both called %s: give one another name", other.Heading, c.Heading, c.Name)
			}
		}
		if c.Role == Number {
			low, wrong := format.ReadNumber(c.Low)
			high, alsoWrong := format.ReadNumber(c.High)
			switch {
			case wrong != nil:
				add(i, "%s, from: %v", c.Heading, wrong)
			case alsoWrong != nil:
				add(i, "%s, to: %v", c.Heading, alsoWrong)
			case !(low < high):
				add(i, "%s: the range must begin below its end, and is %s to %s", c.Heading, c.Low, c.High)
			}
		}
	}
	switch {
	case varied == 0:
		add(-1, "nothing is varied: say which column is a parameter")
	case sought == 0:
		add(-1, "nothing is sought: say which column is to be maximized or minimized")
	case sought > mostSought:
		add(-1, "%d quantities are sought, and a trade-off is of %d at most: keep some as quantities that are not sought",
			sought, mostSought)
	}
	if n, err := strconv.Atoi(g.Budget); err != nil || n < 1 {
		add(-1, "%q is not a number of further experiments: write a whole number, at least 1", g.Budget)
	}
	return faults
}

// isName is the name of a parameter or a quantity.
var isName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,63}$`)

// Source writes the campaign file. [Guess.Faults] must find nothing.
func (g *Guess) Source() string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	taken := len(g.Taken())
	line("name: %s", scalar(g.Name))
	line("description: %s", scalar(fmt.Sprintf("Begun with %s from %s.", format.Count(taken, "measurement"), g.Origin)))
	line("")
	line("# What may be varied. Ranges are those of the table, rounded outwards: widen or narrow")
	line("# them to where you could and would measure.")
	line("parameters:")
	steps := make([]string, 0, len(g.Columns))
	for i := range g.Columns {
		c := &g.Columns[i]
		if !c.Role.Varied() {
			continue
		}
		unit := ""
		if c.Unit != "" {
			unit = ", unit: " + scalar(c.Unit)
		}
		switch c.Role {
		case Number:
			low, _ := format.ReadNumber(c.Low)
			high, _ := format.ReadNumber(c.High)
			line("  - {name: %s%s, min: %s, max: %s} # %s to %s in the table", scalar(c.Name), unit, setting(low), setting(high),
				setting(slices.Min(c.numbers)), setting(slices.Max(c.numbers)))
			if step := math.Pow10(-g.finest(i)); step >= leastStep && step <= high-low && max(math.Abs(low), math.Abs(high)) <= mostDosed {
				steps = append(steps, fmt.Sprintf("%s: %s", scalar(c.Name), setting(step)))
			}
		case Values:
			values := distinct(c.numbers)
			texts := make([]string, len(values))
			for k, x := range values {
				texts[k] = setting(x)
			}
			line("  - {name: %s%s, values: [%s]}", scalar(c.Name), unit, strings.Join(texts, ", "))
		case Category:
			names := make([]string, len(c.texts))
			for k, text := range c.texts {
				names[k] = scalar(text)
			}
			line("  - {name: %s, categories: [%s]}", scalar(c.Name), strings.Join(names, ", "))
		}
	}
	g.writeSum(line)
	g.writeSought(line)
	line("")
	line("# Further experiments: those of the table cost nothing.")
	experiments, _ := strconv.Atoi(g.Budget)
	line("budget: {experiments: %d}", experiments)
	line("")
	line("# Who measures: manual asks a person and waits for the result.")
	if len(steps) > 0 {
		line("# Steps: as finely as the table is written; suggestions are multiples.")
		line("instrument: {manual: {}, steps: {%s}}", strings.Join(steps, ", "))
	} else {
		line("instrument: manual")
	}
	return b.String()
}

// writeSum writes the constraint of a mixture whose parts are all still varied.
func (g *Guess) writeSum(line func(string, ...any)) {
	if !g.SumHolds() || !g.Sum.Keep {
		return
	}
	terms := make([]string, len(g.Sum.Columns))
	for k, i := range g.Sum.Columns {
		terms[k] = scalar(g.Columns[i].Name) + ": 1"
	}
	line("")
	line("# In each row of the table these sum to %s.", setting(g.Sum.Total))
	line("constraints:")
	line("  - {name: sum, terms: {%s}, equals: %s}", strings.Join(terms, ", "), setting(g.Sum.Total))
}

// SumHolds reports whether there is a sum, of columns that are all parameters in ranges.
func (g *Guess) SumHolds() bool {
	return g.Sum != nil && !slices.ContainsFunc(g.Sum.Columns, func(i int) bool { return g.Columns[i].Role != Number })
}

// writeSought writes the measured quantities, and the objectives among them: one quantity in a
// line, several with a declaration each.
func (g *Guess) writeSought(line func(string, ...any)) {
	var measured, aims []string
	var one *Column
	for i := range g.Columns {
		c := &g.Columns[i]
		if !c.Role.Measured() {
			continue
		}
		unit := ""
		if c.Unit != "" {
			unit = ", unit: " + scalar(c.Unit)
		}
		measured = append(measured, fmt.Sprintf("  - {name: %s%s}", scalar(c.Name), unit))
		if c.Role.Sought() {
			aims = append(aims, fmt.Sprintf("{%s: %s}", c.Role, scalar(c.Name)))
			one = c
		}
	}
	line("")
	if len(measured) == 1 {
		unit := ""
		if one.Unit != "" {
			unit = ", unit: " + scalar(one.Unit)
		}
		line("# What is measured, and which way is better: maximize or minimize.")
		line("objective: {name: %s%s, goal: %s}", scalar(one.Name), unit, one.Role)
		return
	}
	line("# What is measured.")
	line("quantities:")
	for _, q := range measured {
		line("%s", q)
	}
	line("")
	if len(aims) == 1 {
		line("# What is sought: maximize or minimize one, or {tradeoff: [{maximize: a}, {minimize: b}]}.")
		line("objective: %s", aims[0])
		return
	}
	line("# What is sought: none of these is worse without another one being better.")
	line("objective: {tradeoff: [%s]}", strings.Join(aims, ", "))
}

// Uses says how [exchange.Import] is to read the table: the campaign's names of its
// columns, those that become notes, and those that are left out.
func (g *Guess) Uses() (columns map[string]string, notes, ignore []string) {
	columns = make(map[string]string)
	for i := range g.Columns {
		switch c := &g.Columns[i]; {
		case c.Role.Varied(), c.Role.Measured():
			columns[c.Heading] = c.Name
		case c.nameless && c.Role == Leave: // it is left out anyway
		case c.Role == Note:
			notes = append(notes, c.Heading)
		default:
			ignore = append(ignore, c.Heading)
		}
	}
	return columns, notes, ignore
}

// Taken are the lines of the rows that have a value in one of the quantities, and in each
// parameter: the others are no measurements, and stay behind.
func (g *Guess) Taken() []int { return g.rows(g.gave) }

// Left are the lines of the rows that are no measurements.
func (g *Guess) Left() []int { return g.rows(func(row int) bool { return !g.gave(row) }) }

// Open are the lines of the rows that are to be measured yet: of a composition, and
// without a value of any quantity.
func (g *Guess) Open() []int {
	return g.rows(func(row int) bool { return !g.gave(row) && !g.torn(row) })
}

// Torn are the lines of the rows that lack a value of a parameter, or have one that
// cannot be read.
func (g *Guess) Torn() []int { return g.rows(g.torn) }

// LeftText names the rows that stay behind; "" where none does.
func (g *Guess) LeftText() string {
	left := g.Left()
	if left == nil {
		return ""
	}
	return format.RowsAt(left)
}

// rows are the lines of the rows that fit.
func (g *Guess) rows(fits func(row int) bool) (lines []int) {
	for k, row := range g.lines {
		if fits(k) {
			lines = append(lines, row.line)
		}
	}
	return lines
}

// gave reports whether a row is a measurement.
func (g *Guess) gave(row int) bool {
	measured := func(c Column) bool { return c.Role.Measured() && c.given[row] }
	return !g.torn(row) && slices.ContainsFunc(g.Columns, measured)
}

// torn reports whether a row lacks a value of a parameter.
func (g *Guess) torn(row int) bool {
	return slices.ContainsFunc(g.Columns, func(c Column) bool { return c.Role.Varied() && !c.given[row] })
}

// Import gives an import its columns, and the table without the rows that are no
// measurements, each line in its place.
func (g *Guess) Import(im *exchange.Import, table string) string {
	im.Columns, im.Notes, im.Ignore = g.Uses()
	rows, left := make([]int, len(g.lines)), make([]bool, len(g.lines))
	for k, row := range g.lines {
		rows[k], left[k] = row.line, !g.gave(k)
	}
	return exchange.WithoutRows(table, rows, left)
}

// plain is a text that YAML reads as the same text without quotes.
var plain = regexp.MustCompile(`^[A-Za-zµμ°Ω][A-Za-z0-9µμ°·Ω²³⁻¹_/.-]*( [A-Za-z0-9µμ°·Ω²³⁻¹_/.-]+)*$`)

// meant are texts that YAML reads as something else.
var meant = regexp.MustCompile(`(?i)^(y|n|yes|no|on|off|true|false|null|nan|inf)$`)

// scalar writes a text as YAML reads it again, with quotes where they are needed.
func scalar(text string) string {
	if plain.MatchString(text) && !meant.MatchString(text) {
		return text
	}
	var b strings.Builder
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(text) // a text has JSON
	return strings.TrimSuffix(b.String(), "\n")
}
