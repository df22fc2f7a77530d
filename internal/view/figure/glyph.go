package figure

import (
	"html/template"
	"math"

	"github.com/campaignd/campaignd/internal/view/plot"
)

// Solid is a disc (Corners 0) or a regular polygon with an edge, so that points
// on top of each other stay apart. Spiky makes it a star.
type Solid struct {
	Corners int
	Spiky   bool
	Turn    float64 // from a corner on top, radians
	Edge    Color
	Width   plot.Length // default 0.6
}

// DrawGlyph implements plot.GlyphDrawer. The edge fades with the color, or a
// faded crowd of points would be a crowd of white rings.
func (s Solid) DrawGlyph(c plot.Canvas, style plot.GlyphStyle, at plot.Point) {
	var path plot.Path
	corners := s.Corners
	if s.Spiky {
		corners *= 2
	}
	if corners == 0 {
		path.Move(plot.Point{X: at.X + style.Radius, Y: at.Y})
		path.Arc(at, style.Radius, 0, 2*math.Pi)
	}
	for i := range corners {
		r := style.Radius
		if s.Spiky && i%2 == 1 {
			r *= 0.45
		}
		sin, cos := math.Sincos(s.Turn + math.Pi/2 + 2*math.Pi*float64(i)/float64(corners))
		corner := plot.Point{X: at.X + r*plot.Length(cos), Y: at.Y + r*plot.Length(sin)}
		if i == 0 {
			path.Move(corner)
		} else {
			path.Line(corner)
		}
	}
	path.Close()
	c.Fill(path, style.Color)
	width, edge := s.Width, s.Edge
	if width == 0 {
		width = 0.6
	}
	if width <= 1 { // else the edge carries the color: its opacity is its own
		edge = Faded(edge, named(style.Color).opacity)
	}
	c.Stroke(path, plot.LineStyle{Color: edge, Width: width})
}

// Filled is a disc, or a polygon with so many corners, with a thin white edge.
func Filled(c Color, radius plot.Length, corners int) plot.GlyphStyle {
	return plot.GlyphStyle{Color: c, Radius: radius, Shape: Solid{Corners: corners, Edge: Paper}}
}

// Hollow is a circle with an edge of the given width.
func Hollow(edge Color, radius, width plot.Length) plot.GlyphStyle {
	return plot.GlyphStyle{Color: Paper, Radius: radius, Shape: Solid{Edge: edge, Width: width}}
}

// Star marks the best composition.
var Star = plot.GlyphStyle{
	Color:  Orange,
	Radius: 6.5,
	Shape:  Solid{Corners: 5, Spiky: true, Edge: Paper, Width: 1},
}

// Cross is a ×.
type Cross struct{}

// DrawGlyph implements plot.GlyphDrawer.
func (Cross) DrawGlyph(c plot.Canvas, style plot.GlyphStyle, at plot.Point) {
	r := style.Radius * 0.8
	line := plot.LineStyle{Color: style.Color, Width: 1.6}
	c.StrokeLine(line, at.X-r, at.Y-r, at.X+r, at.Y+r)
	c.StrokeLine(line, at.X-r, at.Y+r, at.X+r, at.Y-r)
}

// StruckOut is a circle with a bar through it.
type StruckOut struct{}

// DrawGlyph implements plot.GlyphDrawer.
func (StruckOut) DrawGlyph(c plot.Canvas, style plot.GlyphStyle, at plot.Point) {
	circle := Hollow(Gray, style.Radius, 1.2)
	circle.Shape.DrawGlyph(c, circle, at)
	r := style.Radius * 1.2
	c.StrokeLine(plot.LineStyle{Color: style.Color, Width: 1.2}, at.X-r, at.Y-r, at.X+r, at.Y+r)
}

// Glyph draws one glyph by itself, for legends and tables.
func (p Page) Glyph(style plot.GlyphStyle, name string) template.HTML {
	const size = 12
	canvas := p.Canvas(size, size, "", name)
	plot.NewCanvas(canvas).DrawGlyph(style, plot.Point{X: size / 2, Y: size / 2})
	return canvas.SVG()
}

// Swatch draws a piece of a line, for legends.
func (p Page) Swatch(c Color, dashes ...plot.Length) template.HTML {
	canvas := p.Canvas(18, 8, "", "")
	canvas.Line(Look{Stroke: c, Width: 2.2, Dashes: dashes}, 0, 4, 18, 4)
	return canvas.SVG()
}
