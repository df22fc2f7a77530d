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

// shades are the levels of a map, from the least to the greatest; each is a
// cell. They differ in density and not in color: the text goes through pipes
// and into files.
var shades = []string{"··", "░░", "▒▒", "▓▓", "██"}

// cellWidth is the width of a map's cell, in characters: two look square.
const cellWidth = 2

// planeCell is a cell of a map by its column and row.
type planeCell struct{ column, row int }

// planeLines draws the mean and the standard deviation over the plane side by
// side, the candidates and the best measured composition marked. Rows of the
// plane go upwards in y, lines of text downwards: they are written in reverse.
// Widths are counted in cells of a terminal, since units and names may hold
// wide characters.
func (d *Decision) planeLines(p *events.Plane) []string {
	marks, legend := d.planeMarks(p)
	mean, meanKey := shaded(p.Mean, marks)
	sd, sdKey := shaded(p.SD, marks)

	write := format.CompositionsOf(d.Definition)
	low := write.Number(p.Y, p.Ys[0])
	high := write.Number(p.Y, p.Ys[len(p.Ys)-1])
	left := write.Number(p.X, p.Xs[0])
	right := write.Number(p.X, p.Xs[len(p.Xs)-1])

	margin := max(ansi.StringWidth(low), ansi.StringWidth(high))
	width := cellWidth * len(p.Xs)
	twoMaps := func(first, second string) string { // a line over or under both maps
		return padRight("", margin+1) + padRight(first, width+3) + second
	}
	others := strings.TrimSpace(d.Letters()[p.Candidate] + " " + p.Candidate)
	lines := []string{
		fmt.Sprintf("%s upwards, %s to the right; the others as in %s",
			d.heading(p.Y), d.heading(p.X), others),
		"",
		twoMaps(format.Heading("mean", d.Definition.Sought().Unit), "standard deviation"),
	}
	for row := len(mean) - 1; row >= 0; row-- {
		label := ""
		switch row {
		case 0:
			label = low
		case len(mean) - 1:
			label = high
		}
		lines = append(lines, padLeft(label, margin)+" "+mean[row]+"   "+sd[row])
	}
	axis := left + strings.Repeat(" ", max(width-ansi.StringWidth(left+right), 1)) + right
	lines = append(lines, twoMaps(axis, axis), twoMaps(meanKey, sdKey))
	marked := strings.Join(legend, ", ") + "; the marks show only these two parameters of each"
	return append(lines, marked)
}

// heading names a parameter with its unit.
func (d *Decision) heading(parameter string) string {
	for _, p := range d.Definition.Parameters {
		if p.Name == parameter {
			return format.Heading(p.Name, p.Unit)
		}
	}
	return parameter
}

// planeMarks says which marks stand in which cell, and their meanings. A cell has room for two
// marks; a third hides the second.
func (d *Decision) planeMarks(p *events.Plane) (marks map[planeCell]string, legend []string) {
	marks = make(map[planeCell]string)
	mark := func(name string, point definition.Point) {
		at, ok := cellOf(p, point)
		if !ok {
			return
		}
		if marks[at] != "" {
			name = strings.TrimSpace(marks[at])[:1] + name // two in one cell
		}
		marks[at] = padRight(name, cellWidth)
	}
	letters := d.Letters()
	for _, c := range d.Decision.Candidates {
		name := letters[c.Name]
		if name == "" {
			name = strings.ToUpper(c.Name[:1])
		}
		mark(name, c.Parameters)
		legend = append(legend, name+" "+c.Name)
	}
	slices.Sort(legend)
	if d.BestMeasured != nil {
		mark("*", d.BestMeasured.Parameters)
		legend = append(legend, "* best measured so far ("+d.BestMeasured.Experiment+")")
	}
	return marks, legend
}

// cellOf is the cell of a plane in which a composition lies, as far as its two
// parameters say; ok is false where they are no numbers, or lie beyond the
// plane.
func cellOf(p *events.Plane, point definition.Point) (at planeCell, ok bool) {
	x, okX := point[p.X].Float()
	y, okY := point[p.Y].Float()
	if !okX || !okY {
		return at, false
	}
	at.column, okX = nearest(p.Xs, x)
	at.row, okY = nearest(p.Ys, y)
	return at, okX && okY
}

// nearest returns the index of the value of an even grid next to v; ok is false
// where v lies more than a step away.
func nearest(grid []float64, v float64) (best int, ok bool) {
	for i := range grid {
		if math.Abs(grid[i]-v) < math.Abs(grid[best]-v) {
			best = i
		}
	}
	step := math.Abs(grid[len(grid)-1]-grid[0]) / float64(max(len(grid)-1, 1))
	return best, math.Abs(grid[best]-v) <= step
}

// shaded draws a grid with shades between its least and greatest value, marks on top, and the
// meanings of the shades. Each grid has a scale of its own: mean and standard deviation are not
// compared.
func shaded(values [][]float64, marks map[planeCell]string) (rows []string, key string) {
	low, high := math.Inf(1), math.Inf(-1)
	for _, row := range values {
		for _, v := range row {
			low, high = min(low, v), max(high, v)
		}
	}
	for r, row := range values {
		var b strings.Builder
		for c, v := range row {
			if m, ok := marks[planeCell{c, r}]; ok {
				b.WriteString(m)
				continue
			}
			level := 0
			if high > low {
				level = min(int(float64(len(shades))*(v-low)/(high-low)), len(shades)-1)
			}
			b.WriteString(shades[level])
		}
		rows = append(rows, b.String())
	}
	least, most := shades[0], shades[len(shades)-1]
	return rows, fmt.Sprintf("%s %s to %s %s", least, format.Short(low), format.Short(high), most)
}
