package plot

// Length is a length in points, 1/72 of an inch.
type Length float64

// Points is the length as a number of points.
func (l Length) Points() float64 { return float64(l) }

// Point is a place; x grows to the right and y upwards, from the lower left.
type Point struct{ X, Y Length }

// Add returns p + q.
func (p Point) Add(q Point) Point { return Point{p.X + q.X, p.Y + q.Y} }

// Rectangle is an area between its lower left and its upper right.
type Rectangle struct{ Min, Max Point }

// Size returns width and height.
func (r Rectangle) Size() Point { return Point{r.Max.X - r.Min.X, r.Max.Y - r.Min.Y} }

// Add returns the rectangle moved by p.
func (r Rectangle) Add(p Point) Rectangle { return Rectangle{r.Min.Add(p), r.Max.Add(p)} }

// slop is how far beyond an edge a point still counts as on it: rounding puts points on an edge a
// last digit beyond.
const slop = 3e-8

func (r Rectangle) containsX(x Length) bool { return x <= r.Max.X+slop && x >= r.Min.X-slop }
func (r Rectangle) containsY(y Length) bool { return y <= r.Max.Y+slop && y >= r.Min.Y-slop }

// x and y return the places of shares of width and height.
func (r Rectangle) x(share float64) Length { return Length(share)*(r.Max.X-r.Min.X) + r.Min.X }
func (r Rectangle) y(share float64) Length { return Length(share)*(r.Max.Y-r.Min.Y) + r.Min.Y }

// Path is the movement of a pen, step by step.
type Path []Step

// Step is one movement of the pen.
type Step struct {
	Kind StepKind
	Pos  Point // where Move and Line lead, and the center of an Arc
	// Of an Arc: its radius, and the angles in radians, counterclockwise from the
	// direction of x, at which it begins and by which it turns.
	Radius       Length
	Start, Angle float64
}

// StepKind is a kind of movement.
type StepKind int

// The kinds: without drawing, along a line, along a circle, and back to where the
// path began.
const (
	Move StepKind = iota
	Line
	Arc
	Close
)

// Move lifts the pen to a place.
func (p *Path) Move(to Point) { *p = append(*p, Step{Kind: Move, Pos: to}) }

// Line draws a straight line.
func (p *Path) Line(to Point) { *p = append(*p, Step{Kind: Line, Pos: to}) }

// Arc draws a part of a circle.
func (p *Path) Arc(center Point, radius Length, start, angle float64) {
	*p = append(*p, Step{Kind: Arc, Pos: center, Radius: radius, Start: start, Angle: angle})
}

// Close draws a straight line to where the path began.
func (p *Path) Close() { *p = append(*p, Step{Kind: Close}) }

// half is a half plane with an edge along an axis.
type half struct {
	of    func(Point) Length // the coordinate that the edge bounds
	bound Length
	below bool // whether the half is that below the bound, else above
}

func (h half) contains(p Point) bool {
	if h.below {
		return h.of(p) <= h.bound+slop
	}
	return h.of(p) >= h.bound-slop
}

// crossing is where a line from a to b meets the edge.
func (h half) crossing(a, b Point) Point {
	t := (h.of(a) - h.bound) / (h.of(a) - h.of(b))
	return Point{a.X + t*(b.X-a.X), a.Y + t*(b.Y-a.Y)}
}

// halves are the four half planes whose intersection is a rectangle.
func (r Rectangle) halves() [4]half {
	x, y := func(p Point) Length { return p.X }, func(p Point) Length { return p.Y }
	return [4]half{{x, r.Min.X, false}, {x, r.Max.X, true}, {y, r.Min.Y, false}, {y, r.Max.Y, true}}
}

// ClipLine returns the parts of a line within the rectangle.
func (r Rectangle) ClipLine(line []Point) [][]Point {
	parts := [][]Point{line}
	for _, h := range r.halves() {
		var within [][]Point
		for _, part := range parts {
			within = append(within, h.clipLine(part)...)
		}
		parts = within
	}
	return parts
}

func (h half) clipLine(points []Point) (parts [][]Point) {
	var part []Point
	for i, p := range points {
		in := h.contains(p)
		if i > 0 && in != h.contains(points[i-1]) {
			part = append(part, h.crossing(points[i-1], p))
		}
		switch {
		case in:
			part = append(part, p)
		case len(part) > 0:
			parts, part = append(parts, part), nil
		}
	}
	if len(part) > 1 {
		parts = append(parts, part)
	}
	return parts
}

// ClipPolygon returns the part of a closed polygon within the rectangle
// (Sutherland and Hodgman 1974).
func (r Rectangle) ClipPolygon(ring []Point) []Point {
	for _, h := range r.halves() {
		var within []Point
		for i, p := range ring {
			next := ring[(i+1)%len(ring)]
			if h.contains(p) {
				within = append(within, p)
			}
			if h.contains(p) != h.contains(next) {
				within = append(within, h.crossing(p, next))
			}
		}
		ring = within
	}
	return ring
}
