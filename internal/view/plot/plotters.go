package plot

import (
	"image"
	"image/color"
	"math"
)

// XY is a point in the units of the axes.
type XY struct{ X, Y float64 }

// XYs are points.
type XYs []XY

// span is the range of points; NaN are left out.
func span(lists ...XYs) (xmin, xmax, ymin, ymax float64) {
	xmin = math.Inf(1)
	xmax = math.Inf(-1)
	ymin = math.Inf(1)
	ymax = math.Inf(-1)
	for _, points := range lists {
		for _, p := range points {
			if !math.IsNaN(p.X) {
				xmin, xmax = min(xmin, p.X), max(xmax, p.X)
			}
			if !math.IsNaN(p.Y) {
				ymin, ymax = min(ymin, p.Y), max(ymax, p.Y)
			}
		}
	}
	return
}

// places are points on a data canvas.
func places(points XYs, c Canvas, p *Plot) []Point {
	toX, toY := p.Transforms(c)
	out := make([]Point, len(points))
	for i, at := range points {
		out[i] = Point{toX(at.X), toY(at.Y)}
	}
	return out
}

// around is the room of so much around each point.
func around(points XYs, r Length, p *Plot) []Box {
	boxes := make([]Box, len(points))
	for i, at := range points {
		boxes[i] = Box{p.X.Share(at.X), p.Y.Share(at.Y), Rectangle{Point{-r, -r}, Point{r, r}}}
	}
	return boxes
}

// Polyline is a line through points, cut off at the axes' ends.
type Polyline struct {
	XYs
	LineStyle
}

// Plot implements [Plotter].
func (l Polyline) Plot(c Canvas, p *Plot) {
	c.StrokeLines(l.LineStyle, c.ClipLine(places(l.XYs, c, p))...)
}

// DataRange implements [Ranger].
func (l Polyline) DataRange() (xmin, xmax, ymin, ymax float64) { return span(l.XYs) }

// Boxes implements [Boxer].
func (l Polyline) Boxes(p *Plot) []Box { return around(l.XYs, l.Width/2, p) }

// Polygon is a filled area within a ring of points, cut off at the axes' ends.
type Polygon struct {
	XYs
	Color color.Color
}

// Plot implements [Plotter].
func (a Polygon) Plot(c Canvas, p *Plot) { c.FillPolygon(a.Color, c.ClipPolygon(places(a.XYs, c, p))) }

// DataRange implements [Ranger].
func (a Polygon) DataRange() (xmin, xmax, ymin, ymax float64) { return span(a.XYs) }

// Scatter is a mark at each point; a point beyond the axes' ends has none.
type Scatter struct {
	XYs
	GlyphStyle
}

// Plot implements [Plotter].
func (s Scatter) Plot(c Canvas, p *Plot) {
	for _, at := range places(s.XYs, c, p) {
		if c.containsX(at.X) && c.containsY(at.Y) {
			c.DrawGlyph(s.GlyphStyle, at)
		}
	}
}

// DataRange implements [Ranger].
func (s Scatter) DataRange() (xmin, xmax, ymin, ymax float64) { return span(s.XYs) }

// Boxes implements [Boxer].
func (s Scatter) Boxes(p *Plot) []Box { return around(s.XYs, s.Radius, p) }

// Grid is a line across the plot at each tick.
type Grid struct{ LineStyle }

// Plot implements [Plotter].
func (g Grid) Plot(c Canvas, p *Plot) {
	toX, toY := p.Transforms(c)
	for _, t := range p.X.ticks() {
		if x := toX(t.Value); x >= c.Min.X && x <= c.Max.X {
			c.StrokeLine(g.LineStyle, x, c.Min.Y, x, c.Max.Y)
		}
	}
	for _, t := range p.Y.ticks() {
		if y := toY(t.Value); y >= c.Min.Y && y <= c.Max.Y {
			c.StrokeLine(g.LineStyle, c.Min.X, y, c.Max.X, y)
		}
	}
}

// Picture fills an area, whose corners are in the units of the axes, with an
// image. The axes must be linear.
type Picture struct {
	image.Image
	From, To XY // the lower left and the upper right
}

// Plot implements [Plotter].
func (i Picture) Plot(c Canvas, p *Plot) {
	at := places(XYs{i.From, i.To}, c, p)
	c.Surface.Image(Rectangle{at[0], at[1]}, i.Image)
}

// DataRange implements [Ranger].
func (i Picture) DataRange() (xmin, xmax, ymin, ymax float64) { return span(XYs{i.From, i.To}) }
