// Package guess makes a campaign from a person's table: the varied columns, the measured ones,
// their ranges, and the direction of the better.
//
// It guesses, and gives its reasons in words; a person corrects the guesses ([Column.Role] and the
// fields after it), and [Guess.Source] writes the campaign file. internal/files/exchange reads the rows
// themselves, into a campaign of that file, with the uses in [Guess.Uses]: here nothing is
// recorded, and no cell is changed.
//
// It is a pure function of the table's text.
package guess

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"github.com/campaignd/campaignd/internal/files/exchange"
	"github.com/campaignd/campaignd/internal/ground/format"
	"github.com/campaignd/campaignd/internal/ground/plaintext"
	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/internal/ground/units"
)

// Role is a column's role in the campaign.
type Role string

// The roles.
const (
	Number   Role = "number"   // a parameter, anywhere in a range
	Values   Role = "values"   // a parameter with the values of the table alone
	Category Role = "category" // a parameter that names things
	Maximize Role = "maximize" // a quantity to be maximized
	Minimize Role = "minimize" // a quantity to be minimized
	Quantity Role = "quantity" // a quantity that is kept, and not sought
	Note     Role = "note"     // kept as a note on each experiment
	Leave    Role = "leave"    // left out
)

// Roles lists them in the order in which a person is offered them.
var Roles = []Role{Number, Values, Category, Maximize, Minimize, Quantity, Note, Leave}

// Varied reports whether the column is a parameter.
func (r Role) Varied() bool { return r == Number || r == Values || r == Category }

// Measured reports whether the column is a quantity.
func (r Role) Measured() bool { return r == Maximize || r == Minimize || r == Quantity }

// Sought reports whether the column is a quantity that decides.
func (r Role) Sought() bool { return r == Maximize || r == Minimize }

const (
	mostValues     = 20 // of a parameter that takes those of the table alone
	mostCategories = 50
	mostSought     = 4 // of a trade-off
	// fewCategories is how many different texts may stand in a column that names
	// things, for each row: where most rows have one of their own it names rows.
	fewCategories = 0.6
	// mostlyNumbers is the share of numbers from which a column counts as numeric, and its other
	// cells as mistakes.
	mostlyNumbers = 0.7
)

// Column is a column of the table, with its guessed role.
type Column struct {
	// Heading is that of the table.
	Heading string
	// Role and Why: its role, and the reason, a sentence.
	Role Role
	Why  string
	// Name and Unit are those in the campaign.
	Name, Unit string
	// Low and High bound a parameter that is a [Number], as a person types them.
	Low, High string
	// Found describes its cells, in words.
	Found string
	// May are the roles that its cells allow.
	May []Role

	numbers  []float64 // its numbers, in the order of the rows
	texts    []string  // its different texts, in the order of the rows
	given    []bool    // whether a row has a value in it
	decimals int       // the most that one of its numbers has
	empty    int       // rows without a value
	nameless bool      // without a heading of its own
}

// Sum is a set of parameters whose values have the same sum in each row, as the parts of
// a mixture do.
type Sum struct {
	// Columns are their places among the columns.
	Columns []int
	Total   float64
	// Off counts the rows that miss it by little, as rounded parts do.
	Off int
	// Keep is set where it becomes a constraint of the campaign.
	Keep bool
}

// Guess is a table with the guesses about it.
type Guess struct {
	// Name is the campaign's, Origin the table's name.
	Name, Origin string
	Columns      []Column
	// Sum is that of a mixture; nil without one.
	Sum *Sum
	// Rows counts the rows.
	Rows int
	// Budget is how many experiments may follow them, as it was typed.
	Budget string
	// Remarks describe the parts of the table left out before guessing.
	Remarks []string

	lines []row
}

// row is a line of the table.
type row struct {
	line  int
	cells []string
}

// budget is how many experiments follow unless a person says otherwise.
const budget = 20

// Of guesses a campaign from a table; name is the table's name. An unsuitable table gives an
// [exchange.Fault].
//
// The returned text is the table's, in UTF-8. Lines keep their numbers.
func Of(name, table string) (*Guess, string, error) {
	if strings.TrimSpace(table) == "" {
		return nil, "", problem.New(problem.Invalid, "there is no table").
			With(problem.Remedy{Text: "choose a file, or paste its text"})
	}
	sheet, err := exchange.ReadTexts(name, strings.NewReader(table))
	if err != nil {
		return nil, "", err
	}
	g := &Guess{
		Name: nameOf(name), Origin: plaintext.Line(name), Rows: len(sheet.Rows), Budget: strconv.Itoa(budget),
		Remarks: sheet.Remarks(),
	}
	for _, r := range sheet.Rows {
		g.lines = append(g.lines, row{r.Line(), r.Texts()})
	}
	empty := 0
	for i, heading := range sheet.Columns {
		c := g.look(i, sheet, heading)
		if c.nameless && c.texts == nil {
			empty++
			continue
		}
		g.Columns = append(g.Columns, c)
	}
	if empty > 0 {
		g.Remarks = append(g.Remarks, format.Count(empty, "empty column")+" left out.")
	}
	g.assign()
	g.sums()
	return g, sheet.Text, nil
}

// cell is a cell of a column that may hold numbers.
type cell struct {
	number float64
	unit   string // behind it
	read   bool   // as a number
	word   string // a text without a number
}

// cells reads a column as one of numbers. All have one unit behind them, or none.
func (g *Guess) cells(i int, comma bool) (all []cell, unit string) {
	for _, line := range g.lines {
		text := line.cells[i]
		c := cell{word: text}
		number, behind := exchange.Apart(text)
		if x, err := format.ReadNumberIn(number, comma); err == nil && (behind == "" || exchange.IsUnit(behind)) {
			c = cell{number: x, unit: behind, read: true}
			unit = cmp.Or(unit, behind)
		}
		all = append(all, c)
	}
	for k := range all {
		if c := &all[k]; c.read && c.unit != "" && c.unit != unit {
			*c = cell{word: g.lines[k].cells[i]}
		}
	}
	return all, unit
}

// look reads the cells of a column: it describes them, without deciding their role.
func (g *Guess) look(i int, sheet *exchange.Sheet, heading string) Column {
	c := Column{Heading: heading, nameless: slices.Contains(sheet.Nameless, heading)}
	var name string
	name, c.Unit = exchange.Heading(plaintext.Line(heading))
	c.Unit = cmp.Or(c.Unit, plaintext.Line(sheet.Units[heading]))
	c.Name = g.free(exchange.Identifier(name), i)
	cells, unit := g.cells(i, sheet.DecimalComma())
	numeric := numbers(cells) && (unit == "" || c.Unit == "" || units.Same(unit, c.Unit))
	var words []string
	wrong := 0
	blank := 0
	first := ""
	for k, cell := range cells {
		text := g.lines[k].cells[i]
		c.given = append(c.given, text != "" && (cell.read || !numeric))
		switch {
		case text == "":
			blank++
			continue
		case !slices.Contains(c.texts, text):
			c.texts = append(c.texts, text)
		}
		switch {
		case !numeric:
		case cell.read:
			c.numbers = append(c.numbers, cell.number)
			c.decimals = max(c.decimals, decimals(cell.number))
		default:
			if wrong++; wrong == 1 {
				first = fmt.Sprintf("line %d", g.lines[k].line)
			}
			if !slices.Contains(words, text) {
				words = append(words, text)
			}
		}
	}
	c.empty = blank + wrong
	if numeric {
		c.Unit = cmp.Or(c.Unit, plaintext.Line(unit))
	}
	switch {
	case blank == len(cells):
		c.Found = "nothing"
	case numeric:
		low, high := slices.Min(c.numbers), slices.Max(c.numbers)
		c.Found = fmt.Sprintf("%s to %s", format.Setting(low), format.Setting(high))
		if low == high {
			c.Found = "always " + format.Setting(low)
		}
	case len(c.texts) <= 4, len(c.texts) <= 8 && len(strings.Join(c.texts, ", ")) <= 60:
		c.Found = strings.Join(c.texts, ", ")
	default:
		c.Found = fmt.Sprintf("%s, … (%d different)", strings.Join(c.texts[:4], ", "), len(c.texts))
	}
	if wrong > 0 {
		const most = 3 // words that are named
		if len(words) > most {
			words = append(words[:most], "…")
		}
		c.Found += fmt.Sprintf("; %s without a number (%s: %s)", format.Count(wrong, "cell"), first, strings.Join(words, ", "))
	}
	if blank > 0 && blank < len(cells) {
		c.Found += "; " + format.Count(blank, "empty cell")
	}
	c.May = c.allowed(numeric)
	if numeric {
		c.Low, c.High = rangeOf(c.numbers, c.Unit)
	}
	return c
}

// numbers reports whether a column is numeric, so that its other cells are mistakes, or words for a
// missing value: most cells are numbers; or half of them are, and the others few words; or the
// others are words for missing values.
func numbers(cells []cell) bool {
	read := 0
	words := 0
	others := []string(nil)
	for _, c := range cells {
		switch {
		case c.read:
			read++
		case c.word != "":
			words++
			if !exchange.NoValue(c.word) && !slices.Contains(others, c.word) {
				others = append(others, c.word)
			}
		}
	}
	const fewWords = 2
	switch filled := read + words; {
	case read == 0:
		return false
	case float64(read) >= mostlyNumbers*float64(filled), read > 1 && others == nil:
		return true
	default:
		return read > 2 && 2*read >= filled && len(others) <= fewWords
	}
}

// allowed are the roles that the cells of a column allow.
func (c *Column) allowed(numeric bool) (may []Role) {
	if numeric {
		if slices.Min(c.numbers) < slices.Max(c.numbers) {
			may = append(may, Number)
		}
		if n := len(distinct(c.numbers)); n >= 2 && n <= mostValues {
			may = append(may, Values)
		}
	}
	if n := len(c.texts); n >= 2 && n <= mostCategories && !slices.ContainsFunc(c.texts, unseen) {
		may = append(may, Category)
	}
	if numeric {
		may = append(may, Maximize, Minimize, Quantity)
	}
	return append(may, Note, Leave)
}

// unseen reports whether a text holds characters that no campaign file may.
func unseen(text string) bool { return plaintext.Line(text) != text }

// assign guesses the roles: by the cells, else by the heading, else by the place, since people
// write results to the right of their settings.
func (g *Guess) assign() {
	var open []int // columns of numbers that may be varied or measured
	for i := range g.Columns {
		c := &g.Columns[i]
		heading := words(c.Heading)
		switch {
		case len(c.texts) == 0:
			c.Role, c.Why = Leave, "It is empty."
		case len(c.texts) == 1 && c.empty == 0 && g.Rows > 1:
			c.Role, c.Why = Leave, "It is the same in all rows."
		case c.numbers != nil && g.counts(c, i):
			c.Role, c.Why = Leave, "It counts the rows."
		case dates(c.texts), g.serialDates(c, heading):
			c.Role, c.Why = Note, "It holds dates."
		case naming.MatchString(heading) && (c.numbers == nil || whole(c.numbers)) && len(c.texts) >= g.Rows-c.empty:
			c.Role, c.Why = Note, "It has another value in each row, and its heading names things: it tells rows apart."
		case deviation.MatchString(heading) && c.numbers != nil:
			c.Role, c.Why = Note, "Its heading reads as that of a standard deviation."
		case c.numbers != nil:
			open = append(open, i)
		case slices.Contains(c.May, Category) && c.empty == 0 && (kinds.MatchString(heading) || float64(len(c.texts)) <= max(2, fewCategories*float64(g.Rows))):
			c.Role, c.Why = Category, fmt.Sprintf("It has %d different texts.", len(c.texts))
		default:
			c.Role, c.Why = Note, "It holds text that hardly comes twice."
		}
	}
	measured := g.measured(open)
	sought := g.sought(measured)
	for _, i := range open {
		c := &g.Columns[i]
		switch {
		case !slices.Contains(measured, i):
			c.vary()
		case i == sought && lessIsBetter.MatchString(words(c.Heading)):
			c.Role = Minimize
			c.Why += " By its heading less of it is better."
		case i == sought:
			c.Role = Maximize
			c.Why += " More of it is taken to be better."
		default:
			c.Role = Quantity
			c.Why += " Another one is sought."
		}
	}
}

// measured returns the columns of numbers that hold results, and gives the reason. A heading that
// names a result is a better reason than gaps, and gaps are a better one than the place. Gaps to
// the left of a named result belong to settings.
func (g *Guess) measured(open []int) (measured []int) {
	first := slices.IndexFunc(open, func(i int) bool { return results.MatchString(words(g.Columns[i].Heading)) })
	for at, i := range open {
		c := &g.Columns[i]
		heading := words(c.Heading)
		switch {
		case results.MatchString(heading):
			c.Why = "Its heading names a result."
		case c.empty > 0 && !factors.MatchString(heading) && (first < 0 || at > first || 2*c.empty >= g.Rows):
			c.Why = "Some rows have no value: what was done is known of each, what came of it not always."
		default:
			continue
		}
		measured = append(measured, i)
	}
	if len(measured) > 0 || len(open) == 0 {
		return measured
	}
	last := open[len(open)-1]
	c := &g.Columns[last]
	c.Why = "It is the last column of numbers, where results mostly stand."
	if factors.MatchString(words(c.Heading)) { // a table whose results stand first
		for _, i := range slices.Backward(open) {
			if !factors.MatchString(words(g.Columns[i].Heading)) {
				last, c = i, &g.Columns[i]
				c.Why = "Its heading names nothing that people set, as those of the other columns of numbers do."
				break
			}
		}
	}
	return []int{last}
}

// sought returns the column of the objective: of those with a heading that names a result the
// first, and a cost only if there is nothing else; −1 for none.
func (g *Guess) sought(measured []int) int {
	best, rank := -1, 0
	for _, i := range measured {
		c := &g.Columns[i]
		heading := words(c.Heading)
		this := 2
		switch {
		case costs.MatchString(heading):
			this = 1
		case results.MatchString(heading):
			this = 3
		}
		if this > rank {
			best, rank = i, this
		}
	}
	return best
}

// vary makes a column of numbers a parameter.
func (c *Column) vary() {
	values := distinct(c.numbers)
	switch {
	case len(values) == 1:
		c.Role, c.Why = Leave, "It is the same in all rows that have it."
	case len(values) == 2 && values[0] == 0 && values[1] == 1:
		c.Role, c.Why = Values, "It is 0 or 1."
	default:
		c.Role, c.Why = Number, "It has a number in each row, and its heading names no result."
	}
}

// Words of headings, as [words] writes them.
var (
	naming = regexp.MustCompile(`\b(id|nr|no|num|number|index|idx|sample|run|exp|experiment|trial|row|name|label|code|lot|batch|entry|probe|versuch|nummer|proben?)\b`)
	days   = regexp.MustCompile(`\b(date|datum|dates?|day|tag|timestamp|time stamp|measured on|created|performed|when|zeitpunkt|fecha)\b`)
	// factors are what people set.
	factors = regexp.MustCompile(`\b(t|temp|temps|temperature|temperatur|time|zeit|dauer|pressure|druck|conc|concentration|konzentration|flow|flowrate|speed|rpm|stirring|ph|ratio|equiv|equivalents|eq|loading|amount|menge|volume|volumen|mass|masse|weight|power|leistung|voltage|spannung|current|strom|dose|dosage|residence|catalyst|solvent|base|acid|ligand|additive|molality|molarity|salt|width|height|length|thickness|layers?|depth)\b`)
	// kinds are what people choose by name.
	kinds        = regexp.MustCompile(`\b(solvent|ligand|base|catalyst|additive|acid|salt|metal|support|electrolyte|substrate|reagent|method|type|loesungsmittel|losungsmittel|katalysator)\b`)
	deviation    = regexp.MustCompile(`\b(sd|std|stdev|stddev|sem|rsd|deviation|uncertainty|standardabweichung)\b`)
	lessIsBetter = regexp.MustCompile(`\b(cost|costs|price|kosten|preis|loss|losses|error|fehler|impurity|impurities|byproduct|waste|viscosity|viskositaet|viskositat|roughness|resistance|resistivity|impedance|toxicity|degradation|defects?|duration|haze|overpotential|rmse|mse|emissions?|shrinkage|wear|friction)\b`)
	costs        = regexp.MustCompile(`\b(cost|costs|price|kosten|preis|duration)\b`)
	results      = regexp.MustCompile(`\b(yields?|yld|ausbeute|conversion|conv|umsatz|selectivity|sel|purity|reinheit|ee|conductivity|leitfaehigkeit|leitfahigkeit|kappa|capacity|kapazitat|efficiency|strength|festigkeit|hardness|modulus|toughness|activity|turnover|ton|tof|score|rating|quality|result|response|output|target|objective|measured|signal|absorbance|intensity|titer|titre|growth|viability|recovery|retention|performance|fom|outcome|potency|throughput|permeability|fluorescence|luminescence|reinigungsleistung|reinigung|wirkungsgrad|haltbarkeit|qualitat|qualitaet|ergebnis|plqy|bandgap|density|stability|lifetime|` +
		`cost|costs|price|kosten|preis|loss|losses|error|fehler|impurity|impurities|byproduct|waste|viscosity|viskositaet|viskositat|roughness|resistance|resistivity|impedance|toxicity|degradation|defects?|haze|overpotential|rmse|mse|emissions?|shrinkage|wear|friction)\b`)
)

// words writes a heading in lower case, without accents, its words apart.
func words(heading string) string {
	var b strings.Builder
	before := 'A'
	for _, r := range norm.NFD.String(heading) {
		switch {
		case unicode.Is(unicode.Mn, r):
			continue
		case !unicode.IsLetter(r) && !unicode.IsDigit(r):
			b.WriteByte(' ')
		case unicode.IsUpper(r) && unicode.IsLower(before):
			b.WriteByte(' ')
			fallthrough
		default:
			b.WriteRune(unicode.ToLower(r))
		}
		before = r
	}
	return b.String()
}

// counts reports whether a column counts the rows: 1, 2, 3, or from 0. Without a heading that says
// so it must be the first one, of a table in which that cannot be chance. A first column without a
// heading is the index of a program, also with gaps, as in a table of selected rows.
func (g *Guess) counts(c *Column, i int) bool {
	if len(c.numbers) != g.Rows || g.Rows < 2 {
		return false
	}
	index := c.nameless || unnamed.MatchString(c.Heading)
	if index && i == 0 && whole(c.numbers) && slices.Min(c.numbers) >= 0 && len(distinct(c.numbers)) == g.Rows {
		return true
	}
	said := naming.MatchString(words(c.Heading)) || index
	if g.Rows < 3 || !said && (i > 0 || g.Rows < 6) {
		return false
	}
	for i, x := range c.numbers {
		if x != c.numbers[0]+float64(i) {
			return false
		}
	}
	return c.numbers[0] == 0 || c.numbers[0] == 1
}

// unnamed is how pandas calls an index that it has read again.
var unnamed = regexp.MustCompile(`^(Unnamed: \d+|level_\d+|index)$`)

// serialDates reports whether a column holds days as Excel counts them, from 1900: by its
// heading, or by cells of this century that nothing else is written like.
func (g *Guess) serialDates(c *Column, heading string) bool {
	if len(c.numbers) == 0 || len(c.numbers) < g.Rows-c.empty {
		return false
	}
	least, most := slices.Min(c.numbers), slices.Max(c.numbers)
	if days.MatchString(heading) {
		return least >= 20000 && most <= 80000 // 1954 to 2119
	}
	round := !slices.ContainsFunc(c.numbers, func(x float64) bool { return math.Mod(x, 5) != 0 })
	return c.Unit == "" && !round && least >= 40179 && most <= 54788 && most-least <= 1500 && // 2010 to 2049
		slices.IsSorted(c.numbers) && len(distinct(c.numbers)) > 2 && !results.MatchString(heading)
}

func whole(numbers []float64) bool {
	return !slices.ContainsFunc(numbers, func(x float64) bool { return x != math.Trunc(x) })
}

// date is a day, with or without a time, as people and programs write it.
var date = regexp.MustCompile(`^(\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[./-]\d{1,2}[./-]\d{2,4})([T ].*)?$`)

func dates(texts []string) bool {
	return len(texts) > 0 && !slices.ContainsFunc(texts, func(t string) bool { return !date.MatchString(t) })
}

func distinct(numbers []float64) []float64 {
	return slices.Compact(slices.Sorted(slices.Values(numbers)))
}

// decimals counts the decimals that a number is written with.
func decimals(x float64) int {
	_, after, _ := strings.Cut(strconv.FormatFloat(x, 'f', -1, 64), ".")
	return len(after)
}

// rangeOf returns the range of a parameter: that of its numbers, rounded outwards to a tenth of the
// span's order of magnitude, within the limits of a part or a percentage.
func rangeOf(numbers []float64, unit string) (low, high string) {
	least, most := slices.Min(numbers), slices.Max(numbers)
	span := most - least
	if !(span > 0) || math.IsInf(span, 0) {
		return format.Setting(least), format.Setting(most)
	}
	exponent := int(math.Floor(math.Log10(span))) - 1
	ends := [2]string{outwards(least, exponent, math.Floor), outwards(most, exponent, math.Ceil)}
	if least >= 0 && most <= 1 && format.Setting(most) == "1" {
		ends[1] = "1"
	}
	if unit == "%" && least >= 0 && most <= 100 && exceeds(ends[1], 100) {
		ends[1] = "100"
	}
	return ends[0], ends[1]
}

// outwards rounds x by floor or ceiling to a multiple of a power of ten. A multiple up to the last
// binary digits stays one.
func outwards(x float64, exponent int, round func(float64) float64) string {
	if exponent < -12 || exponent > 12 {
		return format.Setting(x)
	}
	unit := math.Pow(10, math.Abs(float64(exponent)))
	scaled := x * unit
	if exponent > 0 {
		scaled = x / unit
	}
	if near := math.Round(scaled); math.Abs(scaled-near) > 1e-9*max(1, math.Abs(near)) {
		scaled = round(scaled)
	} else {
		scaled = near
	}
	if exponent > 0 {
		scaled *= unit
	} else {
		scaled /= unit
	}
	if scaled == 0 {
		scaled = 0 // no negative zero
	}
	return format.Setting(scaled)
}

func exceeds(text string, most float64) bool {
	x, err := format.ReadNumber(text)
	return err == nil && x > most
}

// free makes a name unique among the columns before.
func (g *Guess) free(name string, i int) string {
	if name == "" {
		name = fmt.Sprintf("column_%d", i+1)
	}
	taken := func(name string) bool {
		return slices.ContainsFunc(g.Columns, func(c Column) bool { return strings.EqualFold(c.Name, name) })
	}
	another := name
	for n := 2; taken(another); n++ {
		another = fmt.Sprintf("%s_%d", name, n)
	}
	return another
}

// notCampaign matches the characters that the name of a campaign cannot hold.
var notCampaign = regexp.MustCompile(`[^A-Za-z0-9._-]+`)

// nameOf is a name for the campaign of a table.
func nameOf(file string) string {
	stem := strings.TrimSuffix(file, ".csv")
	for _, ending := range []string{".CSV", ".tsv", ".txt"} {
		stem = strings.TrimSuffix(stem, ending)
	}
	stem = stem[strings.LastIndexAny(stem, `/\`)+1:]
	stem = strings.Trim(notCampaign.ReplaceAllString(stem, "-"), ".-_")
	if stem == "" || stem == "the-table" {
		return "my-campaign"
	}
	return strings.ToLower(stem[:min(len(stem), 60)])
}
