package figure

import (
	"html/template"
	"math"

	"github.com/campaignd/campaignd/internal/ground/format"
	"github.com/campaignd/campaignd/internal/view/plot"
)

// Ternary is a map over the mixtures of three components, in a triangle: a component has its
// greatest amount in its corner, and its least along the edge on the other side. Mixtures are three
// shares, which sum to 1: 0 where the amount is least, and 1 where it is greatest.
type Ternary struct {
	// Corners are the top, the left and the right.
	Corners [3]Corner
	// Value returns the value shown for a mixture; painted is false if it has none.
	Value func(shares [3]float64) (value float64, painted bool)
	Bands Bands
	Unit  string // of the values
	// Points are measured mixtures; Best is marked, nil for none.
	Points []Mixture
	Best   *[3]float64
}

// Corner is a component, with its amounts at the edge and in the corner.
type Corner struct {
	Name, Unit string
	Low, High  float64
}

// Mixture is a measured one.
type Mixture struct {
	Shares   [3]float64
	ID, Text string // of its spot
}

// Sizes of a triangle, in points, and its height in pixels of the map.
const (
	side          = 230
	ternaryLeft   = 44 // the margins
	ternaryRight  = 44
	ternaryTop    = 30
	ternaryBottom = 36
	ternaryPixels = 208
)

// rise is the height of an equilateral triangle of side 1.
var rise = math.Sqrt(3) / 2

// place returns the place of a mixture, in points from the lower left of the drawing.
func place(shares [3]float64) plot.Point {
	return plot.Point{
		X: ternaryLeft + side*plot.Length(float64(shares[0]/2)+shares[2]),
		Y: ternaryBottom + side*plot.Length(rise*shares[0]),
	}
}

// sharesAt returns the shares at a place in the square around the triangle, x and y from 0 to 1
// from its lower left; inside is false beyond the triangle.
func sharesAt(x, y float64) (shares [3]float64, inside bool) {
	shares[0] = y
	shares[2] = x - y/2
	shares[1] = 1 - shares[0] - shares[2]
	return shares, shares[1] >= 0 && shares[2] >= 0
}

// Ternary draws a map. title is the text for screen readers.
func (on Page) Ternary(t Ternary, title string) template.HTML {
	width := ternaryLeft + side + ternaryRight + KeyWidth
	height := ternaryBottom + side*plot.Length(rise) + ternaryTop
	canvas := on.Canvas(width.Points(), height.Points(), "", title)
	c := plot.NewCanvas(canvas)
	columns := int(math.Round(ternaryPixels / rise))
	area := plot.Rectangle{Min: place([3]float64{0, 1, 0})}
	area.Max = area.Min.Add(plot.Point{X: side, Y: side * plot.Length(rise)})
	c.Image(area, t.Bands.Image(columns, ternaryPixels, func(x, y int) (float64, bool) {
		shares, inside := sharesAt((float64(x)+0.5)/float64(columns), 1-(float64(y)+0.5)/ternaryPixels)
		if !inside {
			return 0, false
		}
		return t.Value(shares)
	}))
	t.axes(c)
	for _, p := range t.Points {
		c.DrawGlyph(Hollow(Ink, 2.4, 1.1), place(p.Shares))
	}
	if t.Best != nil {
		c.DrawGlyph(Star, place(*t.Best))
	}
	area.Max.X += ternaryRight - 14
	t.Bands.key(c, area, t.Unit)
	for _, p := range t.Points {
		at := place(p.Shares)
		canvas.Spot(at.X.Points(), (height - at.Y).Points(), p.Text, p.ID)
	}
	return canvas.SVG()
}

// axes draws the triangle, lines of equal amounts, each with its amount where it
// ends (the top component's at the right, the left one's at the left, the right
// one's below), and the names at the corners.
func (t Ternary) axes(c plot.Canvas) {
	line := plot.LineStyle{Color: Faded(Muted, 0.35), Width: 0.6}
	for k, corner := range t.Corners {
		after, before := (k+1)%3, (k+2)%3 // the rest at the line's two ends
		for _, tick := range (Ticks{Want: 6}).Ticks(corner.Low, corner.High) {
			share := (tick.Value - corner.Low) / (corner.High - corner.Low)
			if share < 0.02 || share > 0.98 {
				continue // it is at the edge, or in the corner
			}
			var from, to [3]float64
			from[k], from[after] = share, 1-share
			to[k], to[before] = share, 1-share
			c.StrokeLines(line, []plot.Point{place(from), place(to)})
			t.amount(c, k, place(to), tick.Label)
		}
	}
	c.StrokeLines(plot.LineStyle{Color: Muted, Width: 1}, []plot.Point{
		place([3]float64{1, 0, 0}), place([3]float64{0, 1, 0}), place([3]float64{0, 0, 1}), place([3]float64{1, 0, 0}),
	})
	name := Style(FontSize, Ink)
	name.XAlign = plot.XCenter
	top := place([3]float64{1, 0, 0})
	left := place([3]float64{0, 1, 0})
	right := place([3]float64{0, 0, 1})
	c.FillText(name, top.Add(plot.Point{Y: 14}), t.Corners[0].text())
	name.XAlign = plot.XLeft
	c.FillText(name, plot.Point{X: 2, Y: left.Y - 26}, t.Corners[1].text())
	name.XAlign = plot.XRight
	c.FillText(name, plot.Point{X: right.X + ternaryRight - 2, Y: right.Y - 26}, t.Corners[2].text())
}

// text is the component with its greatest amount.
func (c Corner) text() string {
	return c.Name + " " + Typeset(format.SettingIn(c.High, c.Unit))
}

// amount writes an amount of the k-th component at the end of its line.
func (t Ternary) amount(c plot.Canvas, k int, end plot.Point, label string) {
	style := Style(8, Muted)
	switch k {
	case 0:
		c.FillText(style, end.Add(plot.Point{X: 4}), label)
	case 1:
		style.XAlign = plot.XRight
		c.FillText(style, end.Add(plot.Point{X: -4}), label)
	case 2:
		style.XAlign = plot.XCenter
		c.FillText(style, end.Add(plot.Point{Y: -8}), label)
	}
}
