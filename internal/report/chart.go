package report

import (
	"bytes"
	"cmp"
	"fmt"
	"html/template"
	"image/color"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// Colours: Okabe and Ito's palette, which readers with any colour vision can
// tell apart, and greys. Shapes always say the same thing as colours.
var (
	ink     = color.NRGBA{0x1f, 0x29, 0x33, 0xff}
	muted   = color.NRGBA{0x61, 0x6e, 0x7c, 0xff}
	hairbar = color.NRGBA{0xe8, 0xec, 0xf0, 0xff}
	white   = color.NRGBA{0xff, 0xff, 0xff, 0xff}
	grey    = color.NRGBA{0x8a, 0x94, 0xa0, 0xff}
	blue    = color.NRGBA{0x00, 0x72, 0xb2, 0xff}
	sky     = color.NRGBA{0x56, 0xb4, 0xe9, 0xff}
	orange  = color.NRGBA{0xe6, 0x9f, 0x00, 0xff}
	green   = color.NRGBA{0x00, 0x9e, 0x73, 0xff}
	red     = color.NRGBA{0xd5, 0x5e, 0x00, 0xff}
	purple  = color.NRGBA{0xaa, 0x5b, 0x93, 0xff}
)

// faded returns a colour with the given opacity.
func faded(c color.NRGBA, opacity float64) color.NRGBA {
	c.A = uint8(math.Round(255 * opacity))
	return c
}

// chart is a plot with labels at the ends of its lines, and spots that answer to
// the pointer.
type chart struct {
	*plot.Plot
	width, height vg.Length
	right         vg.Length                                  // room for labels beyond the right edge
	yTitle        string                                     // written above the axis, where it can be read without turning the head
	after         func(whole *draw.Canvas, data draw.Canvas) // draws on top, may be nil
	ends          []endLabel
	spots         []spot
}

// endLabel names a line at its right end.
type endLabel struct {
	y     float64
	text  string // lines
	color color.NRGBA
}

// spot is a place that shows a text under the pointer and leads to a row of a table.
type spot struct {
	x, y       float64
	text, href string
}

const (
	fontSize  = 9
	topMargin = 26
)

func textStyle(size vg.Length, c color.Color) draw.TextStyle {
	return draw.TextStyle{
		Color: c, Font: font.Font{Typeface: "Liberation", Variant: "Sans", Size: size},
		Handler: text.Plain{Fonts: font.DefaultCache}, YAlign: draw.YCenter,
	}
}

// newChart returns an empty chart of the given size in points.
func newChart(width, height vg.Length, xTitle, yTitle string) *chart {
	p := plot.New()
	p.BackgroundColor = nil
	for _, axis := range []*plot.Axis{&p.X, &p.Y} {
		axis.Tick.Marker = ticks{want: 6}
		axis.Tick.LineStyle.Width = 0
		axis.Tick.Length = 0
		axis.LineStyle.Width = 0
		axis.Padding = 6
		style := axis.Tick.Label // keeps the alignment
		axis.Tick.Label = textStyle(fontSize, muted)
		axis.Tick.Label.XAlign, axis.Tick.Label.YAlign = style.XAlign, style.YAlign
		axis.Label.TextStyle.Font = textStyle(fontSize, ink).Font
		axis.Label.TextStyle.Color = ink
		axis.Label.TextStyle.Handler = textStyle(fontSize, ink).Handler
	}
	p.X.Label.Text = xTitle
	p.X.Label.Padding = 4
	grid := plotter.NewGrid()
	grid.Horizontal = draw.LineStyle{Color: hairbar, Width: 0.75}
	grid.Vertical = draw.LineStyle{Color: hairbar, Width: 0.75}
	p.Add(grid)
	return &chart{Plot: p, width: width, height: height, yTitle: yTitle, right: 8}
}

// limits sets the range of an axis: the given values with a margin around them.
func limits(axis *plot.Axis, margin float64, values ...float64) {
	low, high := math.Inf(1), math.Inf(-1)
	for _, v := range values {
		if !math.IsNaN(v) && !math.IsInf(v, 0) {
			low, high = min(low, v), max(high, v)
		}
	}
	switch {
	case low > high:
		low, high = 0, 1
	case low == high:
		pad := max(math.Abs(low)*0.05, 1e-9)
		if low == 0 {
			pad = 1
		}
		low, high = low-pad, high+pad
	}
	pad := margin * (high - low)
	axis.Min, axis.Max = low-pad, high+pad
}

// line adds a line through points.
func (c *chart) line(points plotter.XYs, color color.NRGBA, width vg.Length, dashes ...vg.Length) {
	if len(points) == 0 {
		return
	}
	c.Add(&plotter.Line{XYs: points, LineStyle: draw.LineStyle{Color: color, Width: width, Dashes: dashes}})
}

// band fills the area between two lines over the same x.
func (c *chart) band(x, lower, upper []float64, fill color.NRGBA) {
	if len(x) < 2 {
		return
	}
	ring := make(plotter.XYs, 0, 2*len(x))
	for i := range x {
		ring = append(ring, plotter.XY{X: x[i], Y: upper[i]})
	}
	for i := len(x) - 1; i >= 0; i-- {
		ring = append(ring, plotter.XY{X: x[i], Y: lower[i]})
	}
	c.Add(&plotter.Polygon{XYs: []plotter.XYs{ring}, Color: fill})
}

// points adds one glyph for each point.
func (c *chart) points(points plotter.XYs, style draw.GlyphStyle) {
	if len(points) > 0 {
		c.Add(&plotter.Scatter{XYs: points, GlyphStyle: style})
	}
}

// crowded shrinks a glyph where n of them would hide each other.
func crowded(radius vg.Length, n int) vg.Length {
	switch {
	case n > 400:
		return radius * 0.45
	case n > 120:
		return radius * 0.65
	}
	return radius
}

// end labels a line at its right end.
func (c *chart) end(y float64, text string, color color.NRGBA) {
	c.ends = append(c.ends, endLabel{y: y, text: text, color: color})
}

// svg draws the chart. title is what a screen reader says.
func (c *chart) svg(title string) template.HTML {
	for _, e := range c.ends {
		for _, line := range e.lines() {
			c.right = max(c.right, textStyle(fontSize, ink).Width(line)+14)
		}
	}
	canvas := vgsvg.New(c.width, c.height)
	area := draw.Crop(draw.New(canvas), 0, -c.right, 0, -topMargin)
	c.Draw(area)

	data := c.DataCanvas(area)
	toX, toY := c.Transforms(&data)
	title0 := textStyle(fontSize, ink)
	whole := draw.New(canvas)
	whole.FillText(title0, vg.Point{X: 0, Y: c.height - fontSize}, c.yTitle)
	c.drawEnds(&whole, data.Max.X, toY)
	if c.after != nil {
		c.after(&whole, data)
	}

	var overlay strings.Builder
	for _, s := range c.spots {
		x, y := toX(s.x), c.height-toY(s.y)
		tip := template.HTMLEscapeString(s.text)
		mark := fmt.Sprintf(`<circle cx="%.1f" cy="%.1f" r="6" fill="transparent"><title>%s</title></circle>`, x.Points(), y.Points(), tip)
		if s.href != "" {
			mark = fmt.Sprintf(`<a href="#%s">%s</a>`, template.HTMLEscapeString(s.href), mark)
		}
		overlay.WriteString(mark + "\n")
	}
	return finish(canvas, title, overlay.String())
}

// drawEnds writes the labels of line ends, moved apart where they would overlap.
func (c *chart) drawEnds(whole *draw.Canvas, x vg.Length, toY func(float64) vg.Length) {
	const leading = fontSize + 2.5
	ends := slices.Clone(c.ends)
	slices.SortStableFunc(ends, func(a, b endLabel) int { return cmp.Compare(b.y, a.y) }) // from the top
	tops := make([]vg.Length, len(ends))
	for i, e := range ends {
		height := leading * vg.Length(len(e.lines()))
		tops[i] = toY(e.y) + height/2
		if i > 0 {
			above := tops[i-1] - leading*vg.Length(len(ends[i-1].lines())) - 3
			tops[i] = min(tops[i], above)
		}
	}
	for i, e := range ends {
		for k, line := range e.lines() {
			whole.FillText(textStyle(fontSize, e.color), vg.Point{X: x + 9, Y: tops[i] - leading*(vg.Length(k)+0.5)}, line)
		}
	}
}

func (e endLabel) lines() []string { return strings.Split(e.text, "\n") }

// finish returns what was drawn as an element of an HTML page: without the XML
// header and the fixed size, with a title, and overlay on top in coordinates
// from the upper left.
func finish(canvas *vgsvg.Canvas, title, overlay string) template.HTML {
	var b bytes.Buffer
	if _, err := canvas.WriteTo(&b); err != nil {
		panic(err) // a bytes.Buffer does not fail
	}
	body := b.String()
	body = body[strings.Index(body, "<svg"):]
	body = body[strings.Index(body, ">")+1:]
	body = strings.TrimSuffix(strings.TrimSpace(body), "</svg>")
	body = strings.ReplaceAll(body, "font-family:Liberation Sans;font-variant:normal;font-weight:normal;font-style:normal;", "")
	w, h := canvas.Size()
	// An image fills its place, whatever its proportions.
	body = strings.ReplaceAll(body, "<image ", `<image preserveAspectRatio="none" `)
	title = template.HTMLEscapeString(title)
	return template.HTML(fmt.Sprintf("<svg viewBox=\"0 0 %g %g\" style=\"max-width:%gpx\" role=\"img\" aria-label=\"%s\">\n%s%s</svg>",
		w.Points(), h.Points(), math.Round(w.Points()*4/3), title, body, overlay))
}

// ticks places about want round numbers on an axis; whole restricts them to
// integers.
type ticks struct {
	want  int
	whole bool
}

// Ticks implements plot.Ticker.
func (t ticks) Ticks(low, high float64) []plot.Tick {
	span := high - low
	if !(span > 0) || math.IsInf(span, 0) {
		return nil
	}
	step := math.Pow(10, math.Floor(math.Log10(span/float64(t.want))))
	for _, factor := range []float64{1, 2, 5, 10} {
		if span/(step*factor) <= float64(t.want) {
			step *= factor
			break
		}
	}
	if t.whole {
		step = max(1, math.Round(step))
	}
	decimals := max(0, -int(math.Floor(math.Log10(step)+1e-9)))
	var out []plot.Tick
	for k := math.Ceil(low/step - 1e-9); k*step <= high+1e-9*span; k++ {
		out = append(out, plot.Tick{Value: k * step, Label: typeset(fixed(k*step, decimals))})
	}
	return out
}

// shade marks a range of x over the whole height.
func (c *chart) shade(from, to float64) {
	c.Add(shading{from, to})
}

// shading is a rectangle over the whole height of a chart.
type shading struct{ from, to float64 }

// Plot implements plot.Plotter.
func (s shading) Plot(canvas draw.Canvas, p *plot.Plot) {
	toX, _ := p.Transforms(&canvas)
	x0, x1 := max(toX(s.from), canvas.Min.X), min(toX(s.to), canvas.Max.X)
	canvas.FillPolygon(color.NRGBA{0x61, 0x6e, 0x7c, 0x12}, []vg.Point{
		{X: x0, Y: canvas.Min.Y}, {X: x1, Y: canvas.Min.Y}, {X: x1, Y: canvas.Max.Y}, {X: x0, Y: canvas.Max.Y},
	})
}

// figure is a chart as the page shows it.
type figure struct {
	ID      string
	Title   string // empty where the section's heading says it
	Wide    bool   // over the whole width of the page
	SVG     template.HTML
	Legend  []legendEntry
	Caption string
}
