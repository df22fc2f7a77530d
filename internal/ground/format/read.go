package format

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/campaignd/campaignd/events/definition"
)

// ErrNotFinite is wrapped by the errors of infinite and undefined numbers.
var ErrNotFinite = errors.New("not a finite number")

// ReadNumber reads a finite number as people write it: with a decimal point, or with a decimal
// comma, "9,4", if that is unambiguous. "1,234" may be 1.234 or 1234, and is refused with both.
// Commands, forms and tables read the numbers of people only in this way; programs write JSON.
func ReadNumber(text string) (float64, error) { return ReadNumberIn(text, false) }

// ReadValue reads a parameter's value: a number, with the comma of
// [ReadNumberIn], or the name of a category.
func ReadValue(par definition.Parameter, text string, comma bool) (definition.Value, error) {
	if par.Categories == nil {
		x, err := ReadNumberIn(text, comma)
		if err != nil {
			return definition.Value{}, fmt.Errorf("%s: %w", par.Name, err)
		}
		return definition.Number(x), nil
	}
	names := make([]string, len(par.Categories))
	for i, c := range par.Categories {
		names[i] = c.Name
	}
	if !slices.Contains(names, text) {
		return definition.Value{}, fmt.Errorf("%s: %q is none of %s", par.Name, text,
			strings.Join(names, ", "))
	}
	return definition.Category(text), nil
}

// ReadNumberIn reads a number of a table. comma means that numbers of the same table have a decimal
// comma for certain (see [DecimalComma]): then "1,234" is 1.234, and "1.234" may be either.
func ReadNumberIn(text string, comma bool) (float64, error) {
	text = strings.TrimSpace(text)
	plain := strings.ReplaceAll(text, "\u2212", "-")
	switch commas := strings.Count(plain, ","); {
	case commas > 1 || commas == 1 && strings.Contains(plain, "."):
		return 0, fmt.Errorf("%q is not a number; write it with a decimal point and nothing between the thousands", text)
	case commas == 1:
		pointed := strings.Replace(plain, ",", ".", 1)
		if !decimal.MatchString(pointed) {
			break
		}
		if !comma && thousands.MatchString(pointed) {
			return 0, ambiguous(text, pointed, strings.Replace(plain, ",", "", 1))
		}
		plain = pointed
	case comma && thousands.MatchString(plain):
		return 0, ambiguous(text, strings.Replace(plain, ".", ",", 1), strings.Replace(plain, ".", "", 1))
	}
	x, err := strconv.ParseFloat(plain, 64)
	switch {
	case strings.Contains(plain, "_"): // Go reads 12_5 as 125
		return 0, fmt.Errorf("%q is not a number; write it with a decimal point and no underscore", text)
	case err != nil && strings.Contains(plain, ","):
		return 0, fmt.Errorf("%q is not a number; write it with a decimal point", text)
	case err != nil && !errors.Is(err, strconv.ErrRange):
		return 0, fmt.Errorf("%q is not a number", text)
	case math.IsNaN(x) || math.IsInf(x, 0):
		return 0, fmt.Errorf("%q is %w", text, ErrNotFinite)
	}
	return x, nil
}

var (
	// decimal is a number with a mark before its decimals.
	decimal = regexp.MustCompile(`^[+-]?(\d+\.\d+|\.\d+)([eE][+-]?\d+)?$`)
	// thousands is a number whose mark may as well be between the thousands and the hundreds.
	thousands = regexp.MustCompile(`^[+-]?[1-9]\d{0,2}\.\d{3}([eE][+-]?\d+)?$`)
)

// ambiguous names both numbers that a text may be, each as it is read.
func ambiguous(text, small, great string) error {
	return fmt.Errorf("%q may be %s or %s: write the one that is meant", text, small, great)
}

// DecimalComma reports whether a text is a number that has a decimal comma for
// certain: "9,4" or "0,125", but not "1,234".
func DecimalComma(text string) bool {
	if !strings.Contains(text, ",") {
		return false
	}
	_, err := ReadNumber(text)
	return err == nil
}

// Separator returns the separator of the columns of a table: a comma, a semicolon or a tab,
// whichever most of its first lines have equally often. Decimal commas of a table with semicolons
// are in some lines only, and a title above has none. Of two equal candidates it is the one that
// the first line has more often.
func Separator(table string) rune {
	const (
		first = 20 // lines
		marks = ",;\t"
	)
	var lines []map[rune]int
	for line := range strings.Lines(table) {
		if len(lines) == first {
			break
		}
		if strings.TrimSpace(line) != "" {
			lines = append(lines, outsideQuotes(line, marks))
		}
	}
	best, most := ',', 0
	for _, mark := range marks {
		often := make(map[int]int) // lines that have it so many times
		alike := 0
		for _, counts := range lines {
			if n := counts[mark]; n > 0 {
				often[n]++
				alike = max(alike, often[n])
			}
		}
		if alike > most || alike > 0 && alike == most && lines[0][mark] > lines[0][best] {
			best, most = mark, alike
		}
	}
	return best
}

// outsideQuotes counts marks in a line, without those between quotes.
func outsideQuotes(line, marks string) map[rune]int {
	quoted := false
	counts := make(map[rune]int)
	for _, r := range line {
		if r == '"' {
			quoted = !quoted
		}
		if !quoted && strings.ContainsRune(marks, r) {
			counts[r]++
		}
	}
	return counts
}
