package plot

import (
	"image"
	"image/color"
)

// Surface is drawn on. Colors are passed unchanged: a surface that knows names for its colors finds
// them behind the interface.
type Surface interface {
	Size() (width, height Length)
	Stroke(path Path, style LineStyle)
	Fill(path Path, fill color.Color)
	// Write writes a line of text from a point of its baseline.
	Write(text string, from Point, size Length, c color.Color)
	// Image fills an area with a picture, whatever its proportions.
	Image(area Rectangle, img image.Image)
}

// LineStyle is how a line is drawn; without a width it is not.
type LineStyle struct {
	Color  color.Color
	Width  Length
	Dashes []Length // lengths of strokes and gaps in turn
}

// Canvas is a part of a surface.
type Canvas struct {
	Surface
	Rectangle
}

// NewCanvas returns the whole of a surface.
func NewCanvas(s Surface) Canvas {
	w, h := s.Size()
	return Canvas{s, Rectangle{Max: Point{w, h}}}
}

// Crop returns a part of it: the arguments are added to its edges, so that right and top are
// negative for a smaller part.
func (c Canvas) Crop(left, right, bottom, top Length) Canvas {
	c.Min, c.Max = c.Min.Add(Point{left, bottom}), c.Max.Add(Point{right, top})
	return c
}

// StrokeLines draws lines through points.
func (c Canvas) StrokeLines(style LineStyle, lines ...[]Point) {
	for _, line := range lines {
		if len(line) > 0 {
			c.Stroke(through(line), style)
		}
	}
}

// StrokeLine draws a straight line.
func (c Canvas) StrokeLine(style LineStyle, x0, y0, x1, y1 Length) {
	c.StrokeLines(style, []Point{{x0, y0}, {x1, y1}})
}

// FillPolygon fills the area within a ring of points.
func (c Canvas) FillPolygon(fill color.Color, ring []Point) {
	if len(ring) > 0 {
		path := through(ring)
		path.Close()
		c.Fill(path, fill)
	}
}

// through is the path through points.
func through(points []Point) Path {
	path := make(Path, 0, len(points)+1)
	path.Move(points[0])
	for _, p := range points[1:] {
		path.Line(p)
	}
	return path
}

// GlyphStyle is a mark at a point.
type GlyphStyle struct {
	color.Color
	Radius Length
	Shape  GlyphDrawer
}

// GlyphDrawer draws a mark.
type GlyphDrawer interface {
	DrawGlyph(c Canvas, style GlyphStyle, at Point)
}

// DrawGlyph draws a mark, also where it lies outside of the canvas.
func (c Canvas) DrawGlyph(style GlyphStyle, at Point) { style.Shape.DrawGlyph(c, style, at) }

// FillText writes a line of text; the style says on which side of the point.
func (c Canvas) FillText(style TextStyle, at Point, text string) {
	if text == "" {
		return
	}
	height := style.Height()
	at.X += Length(style.XAlign) * style.Width(text)
	at.Y += height*Length(style.YAlign) - style.ascent() + style.Size
	c.Write(text, at, style.Size, style.Color)
}
