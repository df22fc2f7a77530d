package main

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/explain"
	"github.com/campaignd/campaignd/internal/format"
	"github.com/campaignd/campaignd/internal/num/shapley"
	"github.com/campaignd/campaignd/policies/coexbo"
)

// printAttributions writes what the models base their view of the candidates
// on: Shapley values as bars, and the plane of the two strongest parameters.
func (a *app) printAttributions(ex *explained) {
	shares := explain.Shares(ex.def, ex.Decision)
	if shares != nil {
		a.printf("\nWhat each parameter does (Shapley values)\n")
		if explain.AddUp(shares) {
			a.printf("  They add up to what the model says, from what it says on average of the compositions that were measured.\n\n")
		} else {
			a.printf("  They explain what the measured compositions tell. Where nothing was measured nearby, the model itself\n  falls back to what it expects of any composition, and is less sure.\n\n")
		}
		for _, line := range shareLines(ex, shares) {
			a.printf("%s\n", strings.TrimRight("  "+line, " "))
		}
	}
	choose, _ := coexbo.ChooseOf(ex.def.Policy)
	if shares == nil && ex.Decision.Form == events.FormComparison && choose.Explain != nil && *choose.Explain {
		a.printf("\nThere are no Shapley values: they are worked out for at most %d parameters.\n", shapley.MaxPlayers)
	}
	if at := ex.Decision.Attributions; at != nil && at.Plane != nil {
		a.printf("\nThe two strongest parameters\n")
		for _, line := range planeLines(ex, at.Plane) {
			a.printf("%s\n", strings.TrimRight("  "+line, " "))
		}
	}
}

// arm is the greatest length of a bar to either side of its axis, in cells.
const arm = 8

// shareLines writes a table for each quantity: a row for each parameter, a
// column with bars for each candidate, and under it how they add up.
func shareLines(ex *explained, shares []explain.Share) (lines []string) {
	var candidates []string
	unit := ex.def.Objective.Unit
	name := ansi.StringWidth("the model itself")
	for _, q := range quantitiesOf(ex.def) {
		name = max(name, ansi.StringWidth(format.Heading(q.name, unit)))
	}
	greatest := 0.0
	for _, s := range shares {
		if !slices.Contains(candidates, s.Candidate) {
			candidates = append(candidates, s.Candidate)
		}
		for i, v := range s.Values {
			greatest = max(greatest, math.Abs(v))
			name = max(name, min(ansi.StringWidth(s.Parameters[i]), 24))
		}
	}
	letter := letters(ex)
	if ex.Asked != nil { // in the order in which the expert saw them
		slices.SortStableFunc(candidates, func(a, b string) int { return strings.Compare(letter[a], letter[b]) })
	}
	const column = 2*arm + 1 + 1 + 9 // bar, space, number
	row := func(what string, cell func(s *explain.Share) string, quantity string) {
		text := pad(ansi.Truncate(what, name, "…"), name)
		for _, c := range candidates {
			shown := ""
			if s := explain.Of(shares, c, quantity); s != nil {
				shown = cell(s)
			}
			text += "  " + pad(shown, column)
		}
		lines = append(lines, text)
	}
	number := func(x float64) string { return fmt.Sprintf("%*s", column, format.Short(x)) }
	for _, q := range quantitiesOf(ex.def) {
		if !slices.ContainsFunc(shares, func(s explain.Share) bool { return s.Quantity == q.quantity }) {
			continue
		}
		if lines != nil {
			lines = append(lines, "")
		}
		row(format.Heading(q.name, unit), func(s *explain.Share) string {
			return fmt.Sprintf("%*s", column, strings.TrimSpace(letter[s.Candidate]+" "+s.Candidate))
		}, q.quantity)
		row("base", func(s *explain.Share) string { return number(s.Base) }, q.quantity)
		var parameters []string
		for i := range shares {
			if shares[i].Quantity == q.quantity {
				parameters = shares[i].Parameters
			}
		}
		for i, p := range parameters {
			row("  "+p, func(s *explain.Share) string {
				return fmt.Sprintf("%s %9s", bar(s.Values[i], greatest), signed(s.Values[i]))
			}, q.quantity)
		}
		row("base + sum", func(s *explain.Share) string {
			return fmt.Sprintf("%*s", column, fmt.Sprintf("%s %s = %s", format.Short(s.Base), spaced(s.Total-s.Base), format.Short(s.Total)))
		}, q.quantity)
		if explain.AddUp(shares) {
			continue
		}
		row("the model itself", func(s *explain.Share) string {
			if s.Model == nil {
				return ""
			}
			return number(*s.Model)
		}, q.quantity)
	}
	return lines
}

// quantitiesOf names the quantities with Shapley values, in the words of the goal.
func quantitiesOf(def *definition.Campaign) []struct{ quantity, name string } {
	bound := "upper bound"
	if def.Objective.Goal == definition.Minimize {
		bound = "lower bound"
	}
	return []struct{ quantity, name string }{
		{events.QuantityUCB, bound}, {events.QuantityMean, "mean"}, {events.QuantitySD, "sd"},
	}
}

// bar draws a number as a bar from an axis, to the left where it is negative;
// greatest fills one side. Half cells count.
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
		return strings.Repeat(" ", arm-ansi.StringWidth(full)) + full + "│" + strings.Repeat(" ", arm)
	}
	if halves%2 == 1 {
		full += "▌"
	}
	return strings.Repeat(" ", arm) + "│" + full + strings.Repeat(" ", arm-ansi.StringWidth(full))
}

func signed(x float64) string {
	if x > 0 {
		return "+" + format.Short(x)
	}
	return strings.ReplaceAll(format.Short(x), "-", "−")
}

// spaced writes a summand: "+ 0.17", "− 0.17".
func spaced(x float64) string {
	if x < 0 {
		return "− " + format.Short(-x)
	}
	return "+ " + format.Short(x)
}

func pad(text string, width int) string {
	return text + strings.Repeat(" ", max(width-ansi.StringWidth(text), 0))
}

// shades are the levels of a map, from the least to the greatest.
var shades = []string{"··", "░░", "▒▒", "▓▓", "██"}

// planeLines draws the mean and the standard deviation over the plane side by
// side, the candidates and the best measured composition marked.
func planeLines(ex *explained, p *events.Plane) []string {
	def := ex.def
	marks := make(map[[2]int]string)
	mark := func(name string, point definition.Point) {
		column, row, ok := cell(p, point)
		if !ok {
			return
		}
		at := [2]int{column, row}
		if marks[at] != "" {
			name = strings.TrimSpace(marks[at])[:1] + name // two in one cell
		}
		marks[at] = pad(name, 2)
	}
	letter := letters(ex)
	var legend []string
	for _, c := range ex.Decision.Candidates {
		name := letter[c.Name]
		if name == "" {
			name = strings.ToUpper(c.Name[:1])
		}
		mark(name, c.Parameters)
		legend = append(legend, name+" "+c.Name)
	}
	slices.Sort(legend)
	if ex.Best != nil {
		mark("*", ex.Best.Parameters)
		legend = append(legend, "* best measured so far ("+ex.Best.Experiment+")")
	}
	mean, meanKey := shaded(p.Mean, marks)
	sd, sdKey := shaded(p.SD, marks)
	var x, y definition.Parameter
	for _, par := range def.Parameters {
		switch par.Name {
		case p.X:
			x = par
		case p.Y:
			y = par
		}
	}
	write := format.CompositionsOf(def)
	at := func(par definition.Parameter, v float64) string { return write.Number(par.Name, v) }
	low, high := at(y, p.Ys[0]), at(y, p.Ys[len(p.Ys)-1])
	margin := max(ansi.StringWidth(low), ansi.StringWidth(high))
	width := 2 * len(p.Xs)
	lines := []string{
		fmt.Sprintf("%s upwards, %s to the right; the others as in %s", format.Heading(p.Y, y.Unit), format.Heading(p.X, x.Unit),
			strings.TrimSpace(letter[p.Candidate]+" "+p.Candidate)),
		"",
		pad("", margin+1) + pad(format.Heading("mean", def.Objective.Unit), width+3) + "standard deviation",
	}
	for row := len(mean) - 1; row >= 0; row-- {
		label := ""
		switch row {
		case 0:
			label = low
		case len(mean) - 1:
			label = high
		}
		lines = append(lines, fmt.Sprintf("%*s %s   %s", margin, label, mean[row], sd[row]))
	}
	left, right := at(x, p.Xs[0]), at(x, p.Xs[len(p.Xs)-1])
	axis := left + strings.Repeat(" ", max(width-ansi.StringWidth(left+right), 1)) + right
	lines = append(lines, pad("", margin+1)+pad(axis, width+3)+axis, pad("", margin+1)+pad(meanKey, width+3)+sdKey)
	return append(lines, strings.Join(legend, ", ")+"; the marks show only these two parameters of each")
}

// cell is the cell of a plane in which a composition lies, as far as its two
// parameters say.
func cell(p *events.Plane, point definition.Point) (column, row int, ok bool) {
	x, okX := point[p.X].Float()
	y, okY := point[p.Y].Float()
	if !okX || !okY {
		return 0, 0, false
	}
	nearest := func(grid []float64, v float64) (int, bool) {
		best := 0
		for i := range grid {
			if math.Abs(grid[i]-v) < math.Abs(grid[best]-v) {
				best = i
			}
		}
		step := math.Abs(grid[len(grid)-1]-grid[0]) / float64(max(len(grid)-1, 1))
		return best, math.Abs(grid[best]-v) <= step
	}
	column, okX = nearest(p.Xs, x)
	row, okY = nearest(p.Ys, y)
	return column, row, okX && okY
}

// shaded draws a grid with shades between its least and greatest value, marks on
// top, and says what the shades mean.
func shaded(values [][]float64, marks map[[2]int]string) (rows []string, key string) {
	low, high := math.Inf(1), math.Inf(-1)
	for _, row := range values {
		for _, v := range row {
			low, high = min(low, v), max(high, v)
		}
	}
	for r, row := range values {
		var b strings.Builder
		for c, v := range row {
			k := 0
			if high > low {
				k = min(int(float64(len(shades))*(v-low)/(high-low)), len(shades)-1)
			}
			if m, ok := marks[[2]int{c, r}]; ok {
				b.WriteString(m)
			} else {
				b.WriteString(shades[k])
			}
		}
		rows = append(rows, b.String())
	}
	return rows, fmt.Sprintf("%s %s to %s %s", shades[0], format.Short(low), format.Short(high), shades[len(shades)-1])
}
