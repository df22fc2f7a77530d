package figure

import (
	"html/template"
	"math"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Solid is a disc (Corners 0) or a regular polygon with an edge, so that points
// on top of each other stay apart. Spiky makes it a star.
type Solid struct {
	Corners int
	Spiky   bool
	Turn    float64 // from a corner on top, radians
	Edge    Color
	Width   vg.Length // default 0.6
}

// DrawGlyph implements draw.GlyphDrawer. The edge fades with the color, or a
// faded crowd of points would be a crowd of white rings.
func (s Solid) DrawGlyph(c *draw.Canvas, style draw.GlyphStyle, at vg.Point) {
	var path vg.Path
	corners := s.Corners
	if s.Spiky {
		corners *= 2
	}
	if corners == 0 {
		path.Move(vg.Point{X: at.X + style.Radius, Y: at.Y})
		path.Arc(at, style.Radius, 0, 2*math.Pi)
	}
	for i := range corners {
		r := style.Radius
		if s.Spiky && i%2 == 1 {
			r *= 0.45
		}
		sin, cos := math.Sincos(s.Turn + math.Pi/2 + 2*math.Pi*float64(i)/float64(corners))
		corner := vg.Point{X: at.X + r*vg.Length(cos), Y: at.Y + r*vg.Length(sin)}
		if i == 0 {
			path.Move(corner)
		} else {
			path.Line(corner)
		}
	}
	path.Close()
	c.SetColor(style.Color)
	c.Fill(path)
	width, edge := s.Width, s.Edge
	if width == 0 {
		width = 0.6
	}
	if width <= 1 { // else the edge carries the color: its opacity is its own
		edge = Faded(edge, named(style.Color).opacity)
	}
	c.SetLineStyle(draw.LineStyle{Color: edge, Width: width})
	c.Stroke(path)
}

// Filled is a disc, or a polygon with so many corners, with a thin white edge.
func Filled(c Color, radius vg.Length, corners int) draw.GlyphStyle {
	return draw.GlyphStyle{Color: c, Radius: radius, Shape: Solid{Corners: corners, Edge: Paper}}
}

// Hollow is a circle with an edge of the given width.
func Hollow(edge Color, radius, width vg.Length) draw.GlyphStyle {
	return draw.GlyphStyle{Color: Paper, Radius: radius, Shape: Solid{Edge: edge, Width: width}}
}

// Star marks the best composition.
var Star = draw.GlyphStyle{
	Color:  Orange,
	Radius: 6.5,
	Shape:  Solid{Corners: 5, Spiky: true, Edge: Paper, Width: 1},
}

// Cross is a ×.
type Cross struct{}

// DrawGlyph implements draw.GlyphDrawer.
func (Cross) DrawGlyph(c *draw.Canvas, style draw.GlyphStyle, at vg.Point) {
	r := style.Radius * 0.8
	line := draw.LineStyle{Color: style.Color, Width: 1.6}
	c.StrokeLine2(line, at.X-r, at.Y-r, at.X+r, at.Y+r)
	c.StrokeLine2(line, at.X-r, at.Y+r, at.X+r, at.Y-r)
}

// StruckOut is a circle with a bar through it.
type StruckOut struct{}

// DrawGlyph implements draw.GlyphDrawer.
func (StruckOut) DrawGlyph(c *draw.Canvas, style draw.GlyphStyle, at vg.Point) {
	circle := Hollow(Gray, style.Radius, 1.2)
	circle.Shape.DrawGlyph(c, circle, at)
	r := style.Radius * 1.2
	c.StrokeLine2(draw.LineStyle{Color: style.Color, Width: 1.2}, at.X-r, at.Y-r, at.X+r, at.Y+r)
}

// Glyph draws one glyph by itself, for legends and tables. It is not clipped,
// since a glyph may be wider than its place.
func (p Page) Glyph(style draw.GlyphStyle, name string) template.HTML {
	const size = 12
	canvas := p.Canvas(size, size, "", name)
	c := draw.New(canvas)
	c.DrawGlyphNoClip(style, vg.Point{X: size / 2, Y: size / 2})
	return canvas.SVG()
}

// Swatch draws a piece of a line, for legends.
func (p Page) Swatch(c Color, dashes ...vg.Length) template.HTML {
	canvas := p.Canvas(18, 8, "", "")
	canvas.Line(Look{Stroke: c, Width: 2.2, Dashes: dashes}, 0, 4, 18, 4)
	return canvas.SVG()
}
