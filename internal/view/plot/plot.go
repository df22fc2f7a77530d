// Package plot lays out a plot: axes with their labels, a grid, and lines, areas, marks and
// pictures over it, on any [Surface]. It knows no colors, no fonts but the measures of one, and no
// file formats.
//
// The layout, and the order of drawing, are those of gonum/plot; this is the part that campaignd's
// figures use, written anew: it needs neither the fonts, nor the formats that come with it.
package plot

import "math"

// Plotter draws data on the part of a canvas that the axes span.
type Plotter interface {
	Plot(c Canvas, p *Plot)
}

// Ranger is a plotter over which the axes are extended when it is added.
type Ranger interface {
	DataRange() (xmin, xmax, ymin, ymax float64)
}

// Boxer is a plotter that needs room around its points.
type Boxer interface {
	Boxes(p *Plot) []Box
}

// Box is room around a point: X and Y are shares of the axes.
type Box struct {
	X, Y float64
	Rectangle
}

// Plot is a pair of axes with the plotters over them.
type Plot struct {
	X, Y     Axis
	plotters []Plotter
}

// New returns an empty plot, with labels below and at the left.
func New() *Plot {
	axis := func(x XAlignment, y YAlignment) Axis {
		a := Axis{Min: math.Inf(1), Max: math.Inf(-1), Scale: LinearScale{}}
		a.TitleStyle = TextStyle{XAlign: XCenter, YAlign: YBottom}
		a.Tick.Label = TextStyle{XAlign: x, YAlign: y}
		return a
	}
	return &Plot{X: axis(XCenter, YTop), Y: axis(XRight, YCenter)}
}

// Add adds plotters, drawn on top of earlier ones.
func (p *Plot) Add(plotters ...Plotter) {
	for _, what := range plotters {
		if r, ok := what.(Ranger); ok {
			xmin, xmax, ymin, ymax := r.DataRange()
			p.X.extend(xmin, xmax)
			p.Y.extend(ymin, ymax)
		}
	}
	p.plotters = append(p.plotters, plotters...)
}

// Draw draws the plot.
func (p *Plot) Draw(c Canvas) {
	data := p.DataCanvas(c)
	left, below := p.Y.width(), p.X.height()
	p.X.drawLying(p.padX(c.Crop(left, 0, 0, 0)))
	p.Y.drawStanding(p.padY(c.Crop(0, 0, below, 0)))
	for _, what := range p.plotters {
		what.Plot(data, p)
	}
}

// DataCanvas is the part of a canvas that the axes span.
func (p *Plot) DataCanvas(c Canvas) Canvas {
	p.X.settle()
	p.Y.settle()
	return p.padY(p.padX(c.Crop(p.Y.width(), 0, p.X.height(), 0)))
}

// Transforms return where numbers are on a data canvas.
func (p *Plot) Transforms(data Canvas) (x, y func(float64) Length) {
	return func(v float64) Length { return data.x(p.X.Share(v)) },
		func(v float64) Length { return data.y(p.Y.Share(v)) }
}

// boxes is the room that data needs around its points.
func (p *Plot) boxes() (boxes []Box) {
	outside := func(share float64, size Length) bool { return size > 0 && (share < 0 || share > 1) }
	for _, what := range p.plotters {
		if b, ok := what.(Boxer); ok {
			for _, box := range b.Boxes(p) {
				if !outside(box.X, box.Size().X) && !outside(box.Y, box.Size().Y) {
					boxes = append(boxes, box)
				}
			}
		}
	}
	return boxes
}

// padX moves the sides in until all drawings around points, and the labels, fit between them.
func (p *Plot) padX(c Canvas) Canvas {
	lying := func(b Box) extent { return extent{b.X, b.Min.X, b.Max.X, b.Size().X} }
	c.Min.X, c.Max.X = padded(c.Min.X, c.Max.X, p.boxes(), p.X.boxesLying(), c.x, lying)
	return c
}

// padY is the same for the lower and the upper edge.
func (p *Plot) padY(c Canvas) Canvas {
	standing := func(b Box) extent { return extent{b.Y, b.Min.Y, b.Max.Y, b.Size().Y} }
	c.Min.Y, c.Max.Y = padded(c.Min.Y, c.Max.Y, p.boxes(), p.Y.boxesStanding(), c.y, standing)
	return c
}

// extent is a box in one direction: the share of the axis at which it lies, and how
// far it reaches to both sides of that.
type extent struct {
	share             float64
	least, most, size Length
}

// padded returns the ends of one direction, moved in until the boxes around points
// fit, and the labels at the greater end. at is where a share of the axis lies.
func padded(
	low, high Length, around, labels []Box, at func(float64) Length, along func(Box) extent,
) (from, to Length) {
	first, last := low, high
	lowest, highest := extent{}, extent{share: 1}
	for _, box := range around {
		b := along(box)
		if v := at(b.share) + b.least; b.size > 0 && b.share >= 0 && v < first {
			first, lowest = v, b
		}
	}
	for _, box := range append(around, labels...) {
		b := along(box)
		if v := at(b.share) + b.most; b.size > 0 && b.share <= 1 && v > last {
			last, highest = v, b
		}
	}
	return fit(low-lowest.least, high-highest.most, lowest.share, highest.share)
}

// fit returns the ends of an axis on which the share l lies at low, and the share
// r at high.
func fit(low, high Length, l, r float64) (from, to Length) {
	a, b := Length(l), Length(r)
	return (a*high - b*low) / (a - b), ((a-1)*high - b*low + low) / (a - b)
}
