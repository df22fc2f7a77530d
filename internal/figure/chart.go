// Package figure draws the figures of campaignd's pages: SVG on the server with
// gonum/plot, in one style, as an element of an HTML page.
//
// Lines are named at their right end, spots answer to the pointer, and equal
// charts give equal bytes.
package figure

import (
	"bytes"
	"cmp"
	"fmt"
	"html/template"
	"image/color"
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"

	"github.com/campaignd/campaignd/internal/format"
)

// Colors: Okabe and Ito's palette, which readers with any color vision can tell
// apart, darkened where they are of text, and grays.
var (
	Ink    = color.NRGBA{0x1f, 0x29, 0x33, 0xff}
	Muted  = color.NRGBA{0x61, 0x6e, 0x7c, 0xff}
	Hair   = color.NRGBA{0xe8, 0xec, 0xf0, 0xff}
	White  = color.NRGBA{0xff, 0xff, 0xff, 0xff}
	Gray   = color.NRGBA{0x8a, 0x94, 0xa0, 0xff}
	Blue   = color.NRGBA{0x00, 0x72, 0xb2, 0xff}
	Sky    = color.NRGBA{0x56, 0xb4, 0xe9, 0xff}
	Orange = color.NRGBA{0xe6, 0x9f, 0x00, 0xff}
	Green  = color.NRGBA{0x00, 0x9e, 0x73, 0xff}
	Red    = color.NRGBA{0xd5, 0x5e, 0x00, 0xff}
	Purple = color.NRGBA{0xaa, 0x5b, 0x93, 0xff}
)

// Faded returns a color with the given opacity.
func Faded(c color.NRGBA, opacity float64) color.NRGBA {
	c.A = uint8(math.Round(255 * opacity))
	return c
}

// OfText returns a color dark enough to be read as text on white.
func OfText(c color.NRGBA) color.NRGBA {
	for luminance(c) > 0.2 { // contrast of at least 4.2 : 1
		c.R = uint8(float64(c.R) * 0.9)
		c.G = uint8(float64(c.G) * 0.9)
		c.B = uint8(float64(c.B) * 0.9)
	}
	return c
}

// luminance is the relative luminance of WCAG 2, 0 black to 1 white.
func luminance(c color.NRGBA) float64 {
	linear := func(v uint8) float64 { return math.Pow(float64(v)/255, 2.2) }
	return 0.2126*linear(c.R) + 0.7152*linear(c.G) + 0.0722*linear(c.B)
}

// Chart is a plot with labels at the ends of its lines, and spots that answer to
// the pointer.
type Chart struct {
	*plot.Plot
	// Width and Height are in points.
	Width, Height vg.Length
	// Right is the room for labels beyond the right edge; it grows with them.
	Right vg.Length
	// Title stands above the vertical axis, where it can be read without turning
	// the head.
	Title string
	// After draws on top of everything, in the whole picture; data is the part
	// within the axes. May be nil.
	After func(whole *draw.Canvas, data draw.Canvas)

	ends  []endLabel
	spots []spot
}

type endLabel struct {
	y     float64
	text  string // lines
	color color.NRGBA
}

func (e endLabel) lines() []string { return strings.Split(e.text, "\n") }

type spot struct {
	x, y       float64
	text, href string
}

// FontSize is that of everything written in a chart, in points.
const FontSize = 9

const topMargin = 26

// Style returns how text of the given size, in points, is drawn.
func Style(size vg.Length, c color.Color) draw.TextStyle {
	return draw.TextStyle{
		Color: c, Font: font.Font{Typeface: "Liberation", Variant: "Sans", Size: size},
		Handler: text.Plain{Fonts: font.DefaultCache}, YAlign: draw.YCenter,
	}
}

// New returns an empty chart of the given size in points.
func New(width, height vg.Length, xTitle, yTitle string) *Chart {
	p := plot.New()
	p.BackgroundColor = nil
	for _, axis := range []*plot.Axis{&p.X, &p.Y} {
		axis.Tick.Marker = Ticks{Want: 6}
		axis.Tick.LineStyle.Width = 0
		axis.Tick.Length = 0
		axis.LineStyle.Width = 0
		axis.Padding = 6
		style := axis.Tick.Label // keeps the alignment
		axis.Tick.Label = Style(FontSize, Muted)
		axis.Tick.Label.XAlign, axis.Tick.Label.YAlign = style.XAlign, style.YAlign
		axis.Label.TextStyle.Font = Style(FontSize, Ink).Font
		axis.Label.TextStyle.Color = Ink
		axis.Label.TextStyle.Handler = Style(FontSize, Ink).Handler
	}
	p.X.Label.Text = xTitle
	p.X.Label.Padding = 4
	grid := plotter.NewGrid()
	grid.Horizontal = draw.LineStyle{Color: Hair, Width: 0.75}
	grid.Vertical = draw.LineStyle{Color: Hair, Width: 0.75}
	p.Add(grid)
	return &Chart{Plot: p, Width: width, Height: height, Title: yTitle, Right: 8}
}

// Limits sets the range of an axis: the given values with a margin around them,
// as a share of their range. What is not finite is left out.
func Limits(axis *plot.Axis, margin float64, values ...float64) {
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

// Line adds a line through points.
func (c *Chart) Line(points plotter.XYs, color color.NRGBA, width vg.Length, dashes ...vg.Length) {
	if len(points) > 0 {
		c.Add(&plotter.Line{XYs: points, LineStyle: draw.LineStyle{Color: color, Width: width, Dashes: dashes}})
	}
}

// Band fills the area between two lines over the same x.
func (c *Chart) Band(x, lower, upper []float64, fill color.NRGBA) {
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

// Points adds one glyph for each point.
func (c *Chart) Points(points plotter.XYs, style draw.GlyphStyle) {
	if len(points) > 0 {
		c.Add(&plotter.Scatter{XYs: points, GlyphStyle: style})
	}
}

// Discs adds a disc with a white edge for each point.
func (c *Chart) Discs(points plotter.XYs, color color.NRGBA, radius vg.Length) {
	c.Points(points, draw.GlyphStyle{Color: color, Radius: radius, Shape: disc{}})
}

// disc is a disc with a white edge, so that discs on top of each other stay apart.
type disc struct{}

// DrawGlyph implements draw.GlyphDrawer.
func (disc) DrawGlyph(c *draw.Canvas, style draw.GlyphStyle, at vg.Point) {
	var path vg.Path
	path.Move(vg.Point{X: at.X + style.Radius, Y: at.Y})
	path.Arc(at, style.Radius, 0, 2*math.Pi)
	path.Close()
	c.SetColor(style.Color)
	c.Fill(path)
	c.SetLineStyle(draw.LineStyle{Color: White, Width: 0.6})
	c.Stroke(path)
}

// Shade marks a range of x over the whole height.
func (c *Chart) Shade(from, to float64) { c.Add(shading{from, to}) }

type shading struct{ from, to float64 }

// Plot implements plot.Plotter.
func (s shading) Plot(canvas draw.Canvas, p *plot.Plot) {
	toX, _ := p.Transforms(&canvas)
	x0, x1 := max(toX(s.from), canvas.Min.X), min(toX(s.to), canvas.Max.X)
	canvas.FillPolygon(color.NRGBA{0x61, 0x6e, 0x7c, 0x12}, []vg.Point{
		{X: x0, Y: canvas.Min.Y}, {X: x1, Y: canvas.Min.Y}, {X: x1, Y: canvas.Max.Y}, {X: x0, Y: canvas.Max.Y},
	})
}

// End names a line at its right end; the text may have several lines.
func (c *Chart) End(y float64, text string, color color.NRGBA) {
	c.ends = append(c.ends, endLabel{y: y, text: text, color: color})
}

// Spot shows a text where the pointer is near, and leads to href where it is not
// empty: the id of an element of the page.
func (c *Chart) Spot(x, y float64, text, href string) {
	c.spots = append(c.spots, spot{x, y, text, href})
}

// SVG draws the chart. title is what a screen reader says.
func (c *Chart) SVG(title string) template.HTML {
	for _, e := range c.ends {
		for _, line := range e.lines() {
			c.Right = max(c.Right, Style(FontSize, Ink).Width(line)+14)
		}
	}
	top := vg.Length(topMargin)
	if c.Title == "" {
		top = 4
	}
	canvas := vgsvg.New(c.Width, c.Height)
	area := draw.Crop(draw.New(canvas), 0, -c.Right, 0, -top)
	c.Draw(area)

	data := c.DataCanvas(area)
	toX, toY := c.Transforms(&data)
	whole := draw.New(canvas)
	if c.Title != "" {
		whole.FillText(Style(FontSize, Ink), vg.Point{X: 0, Y: c.Height - FontSize}, c.Title)
	}
	c.drawEnds(&whole, data.Max.X, toY)
	if c.After != nil {
		c.After(&whole, data)
	}

	var overlay strings.Builder
	for _, s := range c.spots {
		mark := fmt.Sprintf(`<circle cx="%.1f" cy="%.1f" r="6" fill="transparent"><title>%s</title></circle>`,
			toX(s.x).Points(), (c.Height - toY(s.y)).Points(), template.HTMLEscapeString(s.text))
		if s.href != "" {
			mark = fmt.Sprintf(`<a href="#%s">%s</a>`, template.HTMLEscapeString(s.href), mark)
		}
		overlay.WriteString(mark + "\n")
	}
	return Finish(canvas, title, overlay.String())
}

// drawEnds writes the labels of line ends, moved apart where they would overlap,
// and up where they would leave the chart.
func (c *Chart) drawEnds(whole *draw.Canvas, x vg.Length, toY func(float64) vg.Length) {
	const leading, gap = FontSize + 2.5, 3
	ends := slices.Clone(c.ends)
	slices.SortStableFunc(ends, func(a, b endLabel) int { return cmp.Compare(b.y, a.y) }) // from the top
	tops := make([]vg.Length, len(ends))
	height := func(e endLabel) vg.Length { return leading * vg.Length(len(e.lines())) }
	for i, e := range ends {
		tops[i] = toY(e.y) + height(e)/2
		if i > 0 {
			tops[i] = min(tops[i], tops[i-1]-height(ends[i-1])-gap)
		}
	}
	floor := vg.Length(leading)
	for i := len(ends) - 1; i >= 0; i-- {
		tops[i] = max(tops[i], floor+height(ends[i]))
		floor = tops[i] + gap
	}
	for i, e := range ends {
		for k, line := range e.lines() {
			whole.FillText(Style(FontSize, e.color), vg.Point{X: x + 9, Y: tops[i] - leading*(vg.Length(k)+0.5)}, line)
		}
	}
}

// Finish returns what was drawn as an element of an HTML page: without the XML
// header and the fixed size, with a title, and overlay on top in coordinates from
// the upper left.
func Finish(canvas *vgsvg.Canvas, title, overlay string) template.HTML {
	var b bytes.Buffer
	if _, err := canvas.WriteTo(&b); err != nil {
		panic(err) // a bytes.Buffer does not fail
	}
	body := b.String()
	body = body[strings.Index(body, "<svg"):]
	body = body[strings.Index(body, ">")+1:]
	body = strings.TrimSuffix(strings.TrimSpace(body), "</svg>")
	body = strings.ReplaceAll(body,
		"font-family:Liberation Sans;font-variant:normal;font-weight:normal;font-style:normal;", "")
	w, h := canvas.Size()
	// An image fills its place, whatever its proportions.
	body = strings.ReplaceAll(body, "<image ", `<image preserveAspectRatio="none" `)
	title = template.HTMLEscapeString(title)
	return template.HTML(fmt.Sprintf("<svg viewBox=\"0 0 %g %g\" style=\"max-width:%gpx\" role=\"img\" aria-label=\"%s\">\n%s%s</svg>",
		w.Points(), h.Points(), math.Round(w.Points()*4/3), title, body, overlay))
}

// Swatch draws a piece of a line, for legends.
func Swatch(c color.NRGBA, dashes ...vg.Length) template.HTML {
	canvas := vgsvg.New(18, 8)
	d := draw.New(canvas)
	d.StrokeLine2(draw.LineStyle{Color: c, Width: 2.2, Dashes: dashes}, 0, 4, 18, 4)
	return Finish(canvas, "", "")
}

// Ticks places about Want round numbers on an axis; Whole restricts them to
// integers.
type Ticks struct {
	Want  int
	Whole bool
}

// Ticks implements plot.Ticker.
func (t Ticks) Ticks(low, high float64) []plot.Tick {
	span := high - low
	if !(span > 0) || math.IsInf(span, 0) {
		return nil
	}
	step := math.Pow(10, math.Floor(math.Log10(span/float64(t.Want))))
	for _, factor := range []float64{1, 2, 5, 10} {
		if span/(step*factor) <= float64(t.Want) {
			step *= factor
			break
		}
	}
	if t.Whole {
		step = max(1, math.Round(step))
	}
	decimals := max(0, -int(math.Floor(math.Log10(step)+1e-9)))
	var out []plot.Tick
	for k := math.Ceil(low/step - 1e-9); k*step <= high+1e-9*span; k++ {
		out = append(out, plot.Tick{Value: k * step, Label: Typeset(format.Fixed(k*step, decimals))})
	}
	return out
}

// LogTicks places the powers of ten on a logarithmic axis, and 2 and 5 times them
// where there are few.
type LogTicks struct{}

// Ticks implements plot.Ticker.
func (LogTicks) Ticks(low, high float64) []plot.Tick {
	if !(low > 0) || !(high > low) {
		return nil
	}
	from, to := int(math.Floor(math.Log10(low))), int(math.Ceil(math.Log10(high)))
	factors := []float64{1}
	every := 1
	switch decades := math.Log10(high / low); {
	case decades < 2.5:
		factors = []float64{1, 2, 5}
	case decades > 7:
		every = int(math.Ceil(decades / 7))
	}
	var out []plot.Tick
	for e := from; e <= to; e += every {
		for _, f := range factors {
			x := f * math.Pow(10, float64(e))
			if x < low*(1-1e-9) || x > high*(1+1e-9) {
				continue
			}
			out = append(out, plot.Tick{Value: x, Label: Typeset(strconv.FormatFloat(x, 'g', 3, 64))})
		}
	}
	return out
}

// Minus is the typographic minus sign.
const Minus = "\u2212"

// Typeset turns the hyphen of a negative number, and of a negative exponent, into
// a minus sign.
func Typeset(number string) string { return strings.ReplaceAll(number, "-", Minus) }
