package terminal

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/campaignd/campaignd/adapters/console"
	"github.com/campaignd/campaignd/adapters/humans"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/ground/format"
)

// quantities are those whose Shapley values are shown, as their columns are
// headed.
var quantities = []struct{ quantity, head string }{
	{events.QuantityUCB, "bound"}, {events.QuantityMean, "mean"}, {events.QuantitySD, "sd"},
}

// The longest bar, and the longest name of a parameter that is written in full
// next to bars, in characters.
const (
	longestBar   = 7
	longestName  = 24
	shortestName = 8 // where the screen is narrow
)

// attributions writes the basis of the models' view of the options: for each the Shapley values by
// parameter, as numbers and bars, and a sentence about the two strongest parameters.
//
// All bars have one scale, that of the largest value of any option and quantity, so that they can
// be compared. A screen too narrow for bars keeps the numbers.
func attributions(a events.Attributions, q humans.Question, width int) []string {
	var lines []string
	// Three columns of bars, or of numbers alone, next to names that leave them
	// room.
	bar := longestBar
	if width < 2+shortestName+2+len(quantities)*(2+6+1+longestBar) {
		bar = 0
	}
	most := min(max(width-4-len(quantities)*(2+6+1+bar), shortestName), longestName)
	shortened := func(name string) string { return format.Shorten(name, most) }
	greatest, wide := 0.0, utf8.RuneCountInString("in all")
	for _, s := range a.Shapley {
		for i, v := range s.Values {
			greatest = max(greatest, math.Abs(v))
			wide = max(wide, utf8.RuneCountInString(shortened(s.Parameters[i])))
		}
	}
	for i, o := range q.Options {
		columns := make([]*events.Shapley, len(quantities))
		for k := range a.Shapley {
			s := &a.Shapley[k]
			for c := range quantities {
				if s.Candidate == o.Candidate && s.Quantity == quantities[c].quantity {
					columns[c] = s
				}
			}
		}
		lines = append(lines, bars(humans.OptionName(i), columns, wide, bar, greatest, shortened)...)
	}
	if lines != nil {
		lines = append(console.Wrap("what each parameter adds, in standard deviations of "+q.Objective.Name+
			" with + for better: to the bound (how good it may be), the mean, "+
			"and the sd (how little is known)", width), lines...)
	}
	return append(lines, console.Wrap(strongest(a, q), width)...)
}

// bars writes the Shapley values at one option, a parameter a line; nothing without values. columns
// are in the order of quantities, nil where the explanation lacks one; the first that is there
// names the parameters. The last line is base plus values: the quantity itself, in standard
// deviations.
func bars(
	option string, columns []*events.Shapley, wide, bar int, greatest float64, shortened func(string) string,
) []string {
	line := func(name string, cell func(*events.Shapley) string) string {
		text := fmt.Sprintf("%-*s", wide+2, name)
		for _, s := range columns {
			if s != nil {
				text += fmt.Sprintf("  %-*s", 6+1+bar, cell(s))
			}
		}
		return strings.TrimRight(text, " ")
	}
	var first *events.Shapley
	for _, s := range slices.Backward(columns) {
		if s != nil {
			first = s
		}
	}
	if first == nil {
		return nil
	}
	lines := []string{line(option, func(s *events.Shapley) string {
		for _, c := range quantities {
			if c.quantity == s.Quantity {
				return " " + c.head
			}
		}
		return s.Quantity
	})}
	for i, name := range first.Parameters {
		lines = append(lines, line("  "+shortened(name), func(s *events.Shapley) string {
			sign := "+"
			if s.Values[i] < 0 {
				sign = "-"
			}
			n := 0
			if greatest > 0 {
				n = int(math.Round(float64(bar) * math.Abs(s.Values[i]) / greatest))
			}
			return hundredths(s.Values[i]) + " " + strings.Repeat(sign, n)
		}))
	}
	return append(lines, line("  in all", func(s *events.Shapley) string {
		sum := s.Base
		for _, v := range s.Values {
			sum += v
		}
		return hundredths(sum)
	}))
}

// hundredths writes a number with its sign and two decimals; what rounds to 0
// has no sign. The width is always the same, so that columns need no measuring.
func hundredths(x float64) string {
	if math.Round(100*x) == 0 {
		return "  0.00"
	}
	return fmt.Sprintf("%+6.2f", x)
}

// strongest is a sentence about the two parameters that count most. Where the explanation has their
// plane, that names them. Otherwise they are those with the largest sum of absolute Shapley values
// of the bound over the options; equals keep the order of the parameters. With fewer than two
// parameters it is empty.
func strongest(a events.Attributions, q humans.Question) string {
	if plane := a.Plane; plane != nil {
		return best(*plane, q)
	}
	weights := make(map[string]float64)
	var names []string
	for _, s := range a.Shapley {
		if s.Quantity != events.QuantityUCB {
			continue
		}
		for i, name := range s.Parameters {
			if _, ok := weights[name]; !ok {
				names = append(names, name)
			}
			weights[name] += math.Abs(s.Values[i])
		}
	}
	if len(names) < 2 {
		return ""
	}
	slices.SortStableFunc(names, func(x, y string) int {
		switch {
		case weights[x] > weights[y]:
			return -1
		case weights[x] < weights[y]:
			return 1
		}
		return 0
	})
	return fmt.Sprintf("%s and %s count most", names[0], names[1])
}

// best says where in the plane of the two strongest parameters the model
// expects the best of the objective. It is the best point of the grid that was
// recorded, not an optimum: coordinates are rounded to three digits.
func best(p events.Plane, q humans.Question) string {
	sought := q.Objective
	row, column := -1, -1
	for y := range p.Mean {
		for x, mean := range p.Mean[y] {
			if row < 0 || sought.Better(mean, p.Mean[row][column]) {
				row, column = y, x
			}
		}
	}
	if row < 0 {
		return ""
	}
	rest := ""
	if i := slices.IndexFunc(q.Options,
		func(o events.Option) bool { return o.Candidate == p.Candidate }); i >= 0 && len(q.Parameters) > 2 {
		rest = " with the rest as in " + humans.OptionName(i)
	}
	at := func(name string, x float64) string {
		unit := ""
		for _, par := range q.Parameters {
			if par.Name == name {
				unit = par.Unit
			}
		}
		return format.WithUnit(name+" "+format.Rounded(x, 3), unit) // the grid is not finer
	}
	expected := format.PlusMinus(p.Mean[row][column], p.SD[row][column], sought.Unit)
	return fmt.Sprintf("%s and %s count most:%s the model expects the best %s, %s, near %s, %s",
		p.X, p.Y, rest, sought.Name, expected, at(p.X, p.Xs[column]), at(p.Y, p.Ys[row]))
}
