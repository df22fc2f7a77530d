package view

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/ground/format"
)

// SharedQuantity is a quantity that Shapley values are worked out of.
type SharedQuantity struct{ Quantity, Name string }

// SharedQuantities names them in the words of the goal, in the order in which
// they are printed.
func SharedQuantities(def *definition.Campaign) []SharedQuantity {
	bound := def.Sought().Pick("upper bound", "lower bound")
	return []SharedQuantity{
		{events.QuantityUCB, bound},
		{events.QuantityMean, "mean"},
		{events.QuantitySD, "standard deviation"},
	}
}

// Cells of a table of shares, in characters.
const (
	arm         = 8                 // the longest bar to either side of its axis
	barColumn   = 2*arm + 1 + 1 + 9 // a bar, a space, a number
	longestName = 24                // of a parameter
)

// sharesTable writes Shapley values: a table for each quantity, with a row for
// each parameter and a column with bars for each candidate.
type sharesTable struct {
	shares     []Share
	candidates []string          // in the order in which the expert saw them
	letters    map[string]string // of the candidates
	unit       string
	greatest   float64 // magnitude of a share
	names      int     // how wide the names of rows are
	exact      bool    // the shares add up to the model's prediction
	lines      []string
}

// shareLines writes the shares of the decision's candidates, and under them how
// they add up. Bars of all quantities have one scale, that of the largest
// share. So a quantity with small shares looks small.
func (d *Decision) shareLines(shares []Share) []string {
	quantities := SharedQuantities(d.Definition)
	t := sharesTable{
		shares: shares, letters: d.Letters(), unit: d.Definition.Sought().Unit,
		names: ansi.StringWidth("the model itself"),
		exact: AddUp(shares),
	}
	for _, q := range quantities {
		t.names = max(t.names, ansi.StringWidth(format.Heading(q.Name, t.unit)))
	}
	for _, s := range shares {
		if !slices.Contains(t.candidates, s.Candidate) {
			t.candidates = append(t.candidates, s.Candidate)
		}
		for i, v := range s.Values {
			t.greatest = max(t.greatest, math.Abs(v))
			t.names = max(t.names, min(ansi.StringWidth(s.Parameters[i]), longestName))
		}
	}
	slices.SortStableFunc(t.candidates, func(a, b string) int {
		return strings.Compare(t.letters[a], t.letters[b])
	})
	for _, q := range quantities {
		t.quantity(q)
	}
	return t.lines
}

// quantity writes the shares of a quantity, if there are any.
func (t *sharesTable) quantity(q SharedQuantity) {
	first := slices.IndexFunc(t.shares, func(s Share) bool { return s.Quantity == q.Quantity })
	if first < 0 {
		return
	}
	if t.lines != nil {
		t.lines = append(t.lines, "")
	}
	t.row(q, format.Heading(q.Name, t.unit), func(s *Share) string {
		return strings.TrimSpace(t.letters[s.Candidate] + " " + s.Candidate)
	})
	t.row(q, "base", func(s *Share) string { return format.Short(s.Base) })
	for i, parameter := range t.shares[first].Parameters {
		t.row(q, "  "+parameter, func(s *Share) string {
			return fmt.Sprintf("%s %9s", bar(s.Values[i], t.greatest), signed(s.Values[i]))
		})
	}
	t.row(q, "base + sum", func(s *Share) string {
		sum := summand(s.Total - s.Base)
		return fmt.Sprintf("%s %s = %s", format.Short(s.Base), sum, format.Short(s.Total))
	})
	if !t.exact {
		t.row(q, "the model itself", func(s *Share) string { return optional(s.Model) })
	}
}

// row writes a row: a cell for each candidate, at the right of its column.
func (t *sharesTable) row(q SharedQuantity, name string, cell func(*Share) string) {
	line := padRight(ansi.Truncate(name, t.names, "…"), t.names)
	for _, c := range t.candidates {
		text := ""
		if s := ShareOf(t.shares, c, q.Quantity); s != nil {
			text = cell(s)
		}
		line += "  " + padLeft(text, barColumn)
	}
	t.lines = append(t.lines, line)
}

// bar draws a number as a bar from an axis, to the left where it is negative;
// greatest fills one side. Half cells count. The axis stands in the middle of a
// fixed width, so that bars of all rows align.
func bar(x, greatest float64) string {
	halves := 0
	if greatest > 0 {
		halves = int(math.Round(2 * arm * math.Abs(x) / greatest))
	}
	full := strings.Repeat("█", halves/2)
	if x < 0 {
		if halves%2 == 1 {
			full = "▐" + full
		}
		return padLeft(full, arm) + "│" + strings.Repeat(" ", arm)
	}
	if halves%2 == 1 {
		full += "▌"
	}
	return strings.Repeat(" ", arm) + "│" + padRight(full, arm)
}

func signed(x float64) string {
	if x > 0 {
		return "+" + format.Short(x)
	}
	return strings.ReplaceAll(format.Short(x), "-", "−")
}

// summand writes a term of a sum: "+ 0.17", "− 0.17".
func summand(x float64) string {
	if x < 0 {
		return "− " + format.Short(-x)
	}
	return "+ " + format.Short(x)
}

// padRight and padLeft fill a text up with spaces behind it, and before it.
func padRight(text string, width int) string {
	return text + strings.Repeat(" ", max(width-ansi.StringWidth(text), 0))
}

// padLeft counts the cells of a terminal, as padRight does: some characters take
// two.
func padLeft(text string, width int) string {
	return strings.Repeat(" ", max(width-ansi.StringWidth(text), 0)) + text
}
