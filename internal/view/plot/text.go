package plot

import "image/color"

// TextStyle is how a line of text is drawn, and on which side of a point.
type TextStyle struct {
	Color  color.Color
	Size   Length
	XAlign XAlignment
	YAlign YAlignment
}

// XAlignment is the share of a text's width by which it is moved to the right.
type XAlignment float64

// YAlignment is the share of a text's height by which it is moved up.
type YAlignment float64

// The sides of a point on which a text may be: XLeft begins at it.
const (
	XLeft   XAlignment = 0
	XCenter XAlignment = -0.5
	XRight  XAlignment = -1

	YTop    YAlignment = -1
	YCenter YAlignment = -0.5
	YBottom YAlignment = 0
)

// Width is how much room a line of text takes.
func (s TextStyle) Width(text string) Length {
	width := 0
	for _, r := range text {
		width += widthOf(r)
	}
	return s.units(width)
}

// Height is that of a line of text.
func (s TextStyle) Height() Length { return s.ascent() + s.descent() }

func (s TextStyle) ascent() Length  { return s.units(ascent) }
func (s TextStyle) descent() Length { return s.units(descent) }

func (s TextStyle) units(n int) Length { return Length(n) * s.Size / perSize }

// rectangle is the room of a text, from its point.
func (s TextStyle) rectangle(text string) Rectangle {
	w, h := s.Width(text), s.Height()
	from := Point{Length(s.XAlign) * w, Length(s.YAlign)*h - s.units(descent+leading)}
	return Rectangle{from, from.Add(Point{w, h})}
}
