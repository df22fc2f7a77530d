// Package figure draws the figures of campaignd's pages: SVG on the server, as an element of an
// HTML page. [Canvas] has small primitives, and is a surface for package plot; [Chart] is a plot in
// one style, whose lines are named at their right end and whose spots react to the pointer.
//
// Colors are names. A [Palette] determines their form, so that one drawing serves a page that
// stands alone as well as one that follows a theme. Equal drawings give equal bytes.
package figure

import (
	"cmp"
	"html/template"
	"slices"
	"strings"

	"github.com/campaignd/campaignd/internal/view/plot"
)

// Chart is a plot with labels at the ends of its lines, and spots that react to the pointer.
type Chart struct {
	*plot.Plot
	page Page
	// Width and Height are in points.
	Width, Height plot.Length
	// Right is the room for labels beyond the right edge; it grows with them.
	Right plot.Length
	// Title stands above the vertical axis, where it can be read without
	// turning the head.
	Title string
	// After draws on top of everything, in the whole picture; data is the part
	// within the axes. May be nil.
	After func(whole, data plot.Canvas)

	ends  []endLabel
	spots []spot
}

// endLabel is the name of a line at its right end, at a height in the chart's
// own units.
type endLabel struct {
	y     float64
	text  string // lines
	color Color
}

// lines are the label's, from top to bottom; each is measured and drawn by
// itself.
func (e endLabel) lines() []string { return strings.Split(e.text, "\n") }

// spot is a place of the chart that shows a text under the pointer; id, if any, is its link.
type spot struct {
	x, y     float64
	text, id string
}

// FontSize is the size of all text in a chart, in points.
const FontSize = 9

// topMargin is the room above the axes.
const topMargin = 26

// Style returns the style of text of the given size, in points. The page chooses the font.
func Style(size plot.Length, c Color) plot.TextStyle {
	return plot.TextStyle{Color: c, Size: size, YAlign: plot.YCenter}
}

// Chart returns an empty chart of the given size in points.
func (on Page) Chart(width, height plot.Length, xTitle, yTitle string) *Chart {
	p := plot.New()
	for _, axis := range []*plot.Axis{&p.X, &p.Y} {
		axis.Tick.Marker = Ticks{Want: 6}
		axis.Tick.Label.Size, axis.Tick.Label.Color = FontSize, Muted
		axis.TitleStyle.Size, axis.TitleStyle.Color = FontSize, Ink
		axis.Padding = 6
	}
	p.X.Title, p.X.TitlePadding = xTitle, 4
	p.Add(plot.Grid{LineStyle: plot.LineStyle{Color: Hair, Width: 0.75}})
	return &Chart{Plot: p, page: on, Width: width, Height: height, Title: yTitle, Right: 8}
}

// Line adds a line through points.
func (c *Chart) Line(points plot.XYs, color Color, width plot.Length, dashes ...plot.Length) {
	if len(points) > 0 {
		style := plot.LineStyle{Color: color, Width: width, Dashes: dashes}
		c.Add(plot.Polyline{XYs: points, LineStyle: style})
	}
}

// Across draws a straight line over the whole width, at a height. The limits of
// the axis must be set before, since it ends at them.
func (c *Chart) Across(y float64, color Color, width plot.Length, dashes ...plot.Length) {
	c.Line(plot.XYs{{X: c.X.Min, Y: y}, {X: c.X.Max, Y: y}}, color, width, dashes...)
}

// Upright draws a straight line over the whole height. As for Across, the
// limits come first.
func (c *Chart) Upright(x float64, color Color, width plot.Length, dashes ...plot.Length) {
	c.Line(plot.XYs{{X: x, Y: c.Y.Min}, {X: x, Y: c.Y.Max}}, color, width, dashes...)
}

// Band fills the area between two lines over the same x.
func (c *Chart) Band(x, lower, upper []float64, fill Color) {
	if len(x) < 2 {
		return
	}
	ring := make(plot.XYs, 0, 2*len(x))
	for i := range x {
		ring = append(ring, plot.XY{X: x[i], Y: upper[i]})
	}
	for i := len(x) - 1; i >= 0; i-- {
		ring = append(ring, plot.XY{X: x[i], Y: lower[i]})
	}
	c.Add(plot.Polygon{XYs: ring, Color: fill})
}

// Points adds one glyph for each point.
func (c *Chart) Points(points plot.XYs, style plot.GlyphStyle) {
	if len(points) > 0 {
		c.Add(plot.Scatter{XYs: points, GlyphStyle: style})
	}
}

// Discs adds a disc with a white edge for each point.
func (c *Chart) Discs(points plot.XYs, color Color, radius plot.Length) {
	c.Points(points, Filled(color, radius, 0))
}

// Shade marks a range of x over the whole height.
func (c *Chart) Shade(from, to float64) { c.Add(shading{from, to}) }

// shading is a vertical band from one x to another.
type shading struct{ from, to float64 }

// Plot implements plot.Plotter. It is cut off at the axes, since a range may
// begin before them.
func (s shading) Plot(canvas plot.Canvas, p *plot.Plot) {
	toX, _ := p.Transforms(canvas)
	x0, x1 := max(toX(s.from), canvas.Min.X), min(toX(s.to), canvas.Max.X)
	canvas.FillPolygon(Faded(Muted, 0.07), []plot.Point{
		{X: x0, Y: canvas.Min.Y},
		{X: x1, Y: canvas.Min.Y},
		{X: x1, Y: canvas.Max.Y},
		{X: x0, Y: canvas.Max.Y},
	})
}

// End names a line at its right end; the text may have several lines.
func (c *Chart) End(y float64, text string, color Color) {
	c.ends = append(c.ends, endLabel{y: y, text: text, color: color})
}

// Spot shows a text near the pointer, and links to the id, if it is not empty.
func (c *Chart) Spot(x, y float64, text, id string) {
	c.spots = append(c.spots, spot{x, y, text, id})
}

// widest is the allowance for text wider than in the measured font: a browser without that font
// takes another, and DejaVu Sans, which Linux has, cut the ends of labels off.
const widest = 1.2

// SVG draws the chart. title is the text for screen readers.
//
// The room for labels is known before anything is drawn, since it moves the axes. Elements that
// react to the pointer come last of all.
func (c *Chart) SVG(title string) template.HTML {
	for _, e := range c.ends {
		for _, line := range e.lines() {
			c.Right = max(c.Right, widest*Style(FontSize, Ink).Width(line)+14)
		}
	}
	top := plot.Length(topMargin)
	if c.Title == "" {
		top = 4
	}
	canvas := c.page.Canvas(c.Width.Points(), c.Height.Points(), "", title)
	whole := plot.NewCanvas(canvas)
	area := whole.Crop(0, -c.Right, 0, -top)
	c.Draw(area)

	data := c.DataCanvas(area)
	toX, toY := c.Transforms(data)
	if c.Title != "" {
		whole.FillText(Style(FontSize, Ink), plot.Point{X: 0, Y: c.Height - FontSize}, c.Title)
	}
	c.drawEnds(whole, data.Max.X, toY)
	if c.After != nil {
		c.After(whole, data)
	}

	for _, s := range c.spots { // on top, where the pointer finds them
		canvas.Spot(toX(s.x).Points(), (c.Height - toY(s.y)).Points(), s.text, s.id)
	}
	return canvas.SVG()
}

// drawEnds writes the labels of line ends, moved apart where they would
// overlap, and up where they would leave the chart.
//
// Two passes: from the top each label is pushed below the one before it, and
// from the bottom up again as far as the chart's edge demands. The order of
// labels stays that of the lines' ends.
func (c *Chart) drawEnds(whole plot.Canvas, x plot.Length, toY func(float64) plot.Length) {
	const leading, gap = FontSize + 2.5, 3
	ends := slices.Clone(c.ends)
	slices.SortStableFunc(ends, func(a, b endLabel) int { return cmp.Compare(b.y, a.y) })
	tops := make([]plot.Length, len(ends))
	height := func(e endLabel) plot.Length { return leading * plot.Length(len(e.lines())) }
	for i, e := range ends {
		tops[i] = toY(e.y) + height(e)/2
		if i > 0 {
			tops[i] = min(tops[i], tops[i-1]-height(ends[i-1])-gap)
		}
	}
	floor := plot.Length(leading)
	for i := len(ends) - 1; i >= 0; i-- {
		tops[i] = max(tops[i], floor+height(ends[i]))
		floor = tops[i] + gap
	}
	for i, e := range ends {
		for k, line := range e.lines() {
			at := plot.Point{X: x + 9, Y: tops[i] - leading*(plot.Length(k)+0.5)}
			whole.FillText(Style(FontSize, e.color), at, line)
		}
	}
}
