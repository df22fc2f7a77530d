package report

import (
	"html/template"
	"image/color"
	"math"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"

	"github.com/campaignd/campaignd/events"
	chart "github.com/campaignd/campaignd/internal/figure"
)

// class says where an experiment comes from; it decides how its point is drawn.
type class int

const (
	classInitial class = iota
	classPolicy
	classAided
	classPerson
	classImport
	classExcluded
	classFailed
	classes
)

// classNames are the entries of the legend.
var classNames = [classes]string{
	classInitial:  "initial design",
	classPolicy:   "chosen by the policy",
	classAided:    "chosen with the expert",
	classPerson:   "run by a person",
	classImport:   "imported",
	classExcluded: "left out of the models",
	classFailed:   "failed, no value",
}

// classOf returns the class of an experiment by its origin and the candidate its
// decision chose.
func classOf(origin events.Origin, chosen string) class {
	switch origin {
	case events.OriginInitial:
		return classInitial
	case events.OriginPerson:
		return classPerson
	case events.OriginImport:
		return classImport
	}
	if chosen == "aided" {
		return classAided
	}
	return classPolicy
}

// glyph returns how a class is drawn, at the given radius in points.
func (k class) glyph(radius vg.Length) draw.GlyphStyle {
	style := draw.GlyphStyle{Radius: radius, Color: chart.Blue, Shape: solid{corners: 0, edge: chart.White}}
	switch k {
	case classInitial:
		style.Color, style.Shape = chart.White, solid{corners: 0, edge: chart.Muted, width: 1.4}
	case classAided:
		style.Color, style.Shape = chart.Orange, solid{corners: 4, edge: chart.White}
		style.Radius *= 1.3
	case classPerson:
		style.Color, style.Shape = chart.Purple, solid{corners: 3, edge: chart.White}
		style.Radius *= 1.3
	case classImport:
		style.Color = chart.White
		style.Shape = solid{corners: 4, turn: math.Pi / 4, edge: chart.Sky, width: 1.4}
		style.Radius *= 1.15
	case classExcluded:
		style.Color, style.Shape = chart.Gray, struckOut{}
	case classFailed:
		style.Color, style.Shape = chart.Red, cross{}
	}
	return style
}

// svg draws the glyph of a class, for legends and tables.
func (k class) svg() template.HTML { return glyphSVG(k.glyph(3.6), classNames[k]) }

// glyphSVG draws one glyph by itself.
func glyphSVG(style draw.GlyphStyle, name string) template.HTML {
	const size = 12
	canvas := vgsvg.New(size, size)
	c := draw.New(canvas)
	c.DrawGlyphNoClip(style, vg.Point{X: size / 2, Y: size / 2})
	return chart.Finish(canvas, name, "")
}

// solid is a disc (corners 0) or a regular polygon with an edge, so that points
// on top of each other stay apart.
type solid struct {
	corners int
	turn    float64 // from a corner on top, radians
	edge    color.NRGBA
	width   vg.Length // default 0.6
}

// DrawGlyph implements draw.GlyphDrawer.
func (s solid) DrawGlyph(c *draw.Canvas, style draw.GlyphStyle, at vg.Point) {
	var path vg.Path
	if s.corners == 0 {
		path.Move(vg.Point{X: at.X + style.Radius, Y: at.Y})
		path.Arc(at, style.Radius, 0, 2*math.Pi)
	}
	for i := range s.corners {
		sin, cos := math.Sincos(s.turn + math.Pi/2 + 2*math.Pi*float64(i)/float64(s.corners))
		corner := vg.Point{X: at.X + style.Radius*vg.Length(cos), Y: at.Y + style.Radius*vg.Length(sin)}
		if i == 0 {
			path.Move(corner)
		} else {
			path.Line(corner)
		}
	}
	path.Close()
	c.SetColor(style.Color)
	c.Fill(path)
	width := s.width
	if width == 0 {
		width = 0.6
	}
	_, _, _, alpha := style.Color.RGBA()
	edge := s.edge
	edge.A = uint8(alpha >> 8)
	if width > 1 { // the edge carries the color: its opacity is its own
		edge.A = s.edge.A
	}
	c.SetLineStyle(draw.LineStyle{Color: edge, Width: width})
	c.Stroke(path)
}

// cross is a ×.
type cross struct{}

// DrawGlyph implements draw.GlyphDrawer.
func (cross) DrawGlyph(c *draw.Canvas, style draw.GlyphStyle, at vg.Point) {
	r := style.Radius * 0.8
	line := draw.LineStyle{Color: style.Color, Width: 1.6}
	c.StrokeLine2(line, at.X-r, at.Y-r, at.X+r, at.Y+r)
	c.StrokeLine2(line, at.X-r, at.Y+r, at.X+r, at.Y-r)
}

// struckOut is a circle with a bar through it.
type struckOut struct{}

// DrawGlyph implements draw.GlyphDrawer.
func (struckOut) DrawGlyph(c *draw.Canvas, style draw.GlyphStyle, at vg.Point) {
	solid{edge: chart.Gray, width: 1.2}.DrawGlyph(c, draw.GlyphStyle{Color: chart.White, Radius: style.Radius}, at)
	r := style.Radius * 1.2
	c.StrokeLine2(draw.LineStyle{Color: style.Color, Width: 1.2}, at.X-r, at.Y-r, at.X+r, at.Y+r)
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
