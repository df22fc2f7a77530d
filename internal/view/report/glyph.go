package report

import (
	"fmt"
	"html/template"
	"math"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/view/figure"
	"github.com/campaignd/campaignd/internal/view/plot"
)

// class says where an experiment comes from, or why it does not count; it
// decides how its point is drawn. Classes are drawn in this order, so the last
// lie on top.
type class int

const (
	classInitial class = iota
	classPolicy
	classAided
	classPerson
	classImport
	classBreaks
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
	classBreaks:   "breaks a constraint on outcomes",
	classExcluded: "left out of the models",
	classFailed:   "failed, no value",
}

// classOf returns the class of an experiment by its origin and the name of the
// candidate that its decision chose. chosen is empty where no decision led to
// it. Failure, exclusion and constraints are not its business: see [history.class].
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

// glyph returns how a class is drawn, at the given radius in points. Shape and
// color both differ, so that a page printed in gray can still be read. Shapes
// with corners are larger, to weigh the same to the eye.
func (k class) glyph(radius plot.Length) plot.GlyphStyle {
	switch k {
	case classInitial:
		return figure.Hollow(figure.Muted, radius, 1.4)
	case classAided:
		return figure.Filled(figure.Orange, 1.3*radius, 4)
	case classPerson:
		return figure.Filled(figure.Purple, 1.3*radius, 3)
	case classImport:
		square := figure.Hollow(figure.Sky, 1.15*radius, 1.4)
		square.Shape = figure.Solid{Corners: 4, Turn: math.Pi / 4, Edge: figure.Sky, Width: 1.4}
		return square
	case classBreaks:
		return figure.Hollow(figure.Red, radius, 1.6)
	case classExcluded:
		return plot.GlyphStyle{Color: figure.Gray, Radius: radius, Shape: figure.StruckOut{}}
	case classFailed:
		return plot.GlyphStyle{Color: figure.Red, Radius: radius, Shape: figure.Cross{}}
	}
	return figure.Filled(figure.Blue, radius, 0)
}

// symbol draws the glyph of a class, for legends and tables. Its size does not follow the size of
// the points in the figure.
func (h *history) symbol(k class) template.HTML {
	return h.target.Glyph(k.glyph(3.6), classNames[k])
}

// counted is the entry of a legend for so many points; empty for no points.
func (h *history) counted(style plot.GlyphStyle, name string, points plot.XYs) []Symbol {
	if len(points) == 0 {
		return nil
	}
	return []Symbol{{Symbol: h.target.Glyph(style, name), Text: fmt.Sprintf("%s (%d)", name, len(points))}}
}

// crowded shrinks a glyph where n of them would hide each other. The limits
// were chosen by eye on a chart of full width. Tooltips keep their size, so that
// a small point can still be hit.
func crowded(radius plot.Length, n int) plot.Length {
	switch {
	case n > 400:
		return radius * 0.45
	case n > 120:
		return radius * 0.65
	}
	return radius
}
