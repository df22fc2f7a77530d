package plot

import (
	"fmt"
	"image"
	"image/color"
	"math"
	"math/rand/v2"
	"testing"
)

// Law: of a line, what is kept lies within, and what is left out does not. The
// oracle is dense points of the line.
func TestClipLine(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	within := Rectangle{Point{2, 3}, Point{7, 5}}
	for range 300 {
		line := make([]Point, 2+random.IntN(5))
		for i := range line {
			line[i] = Point{Length(10 * random.Float64()), Length(10 * random.Float64())}
		}
		var kept Length
		for _, part := range within.ClipLine(line) {
			for i, p := range part {
				if !within.containsX(p.X) || !within.containsY(p.Y) {
					t.Fatalf("%v of %v is outside", p, line)
				}
				if i > 0 {
					kept += distance(part[i-1], p)
				}
			}
		}
		var want Length
		for i := 1; i < len(line); i++ {
			const n = 2000
			for k := range n {
				s := (Length(k) + 0.5) / n
				at := Point{line[i-1].X + s*(line[i].X-line[i-1].X), line[i-1].Y + s*(line[i].Y-line[i-1].Y)}
				if within.containsX(at.X) && within.containsY(at.Y) {
					want += distance(line[i-1], line[i]) / n
				}
			}
		}
		if math.Abs(float64(kept-want)) > 0.05 { // a step of the oracle is up to 14/2000, at ten ends
			t.Fatalf("of %v %g is kept, want %g", line, kept, want)
		}
	}
}

func distance(a, b Point) Length { return Length(math.Hypot(float64(b.X-a.X), float64(b.Y-a.Y))) }

// Law: of an area, what is kept is its part within. The oracle counts places in
// triangles.
func TestClipPolygon(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	within := Rectangle{Point{2, 3}, Point{7, 5}}
	for range 100 {
		var ring []Point
		for range 3 {
			ring = append(ring, Point{Length(10 * random.Float64()), Length(10 * random.Float64())})
		}
		var kept float64 // by the shoelace formula
		part := within.ClipPolygon(ring)
		for i, p := range part {
			q := part[(i+1)%len(part)]
			kept += float64(p.X*q.Y-q.X*p.Y) / 2
		}
		side := func(a, b, p Point) bool { return (b.X-a.X)*(p.Y-a.Y) > (b.Y-a.Y)*(p.X-a.X) }
		want, step := 0.0, 0.02
		for x := 2 + step/2; x < 7; x += step {
			for y := 3 + step/2; y < 5; y += step {
				p := Point{Length(x), Length(y)}
				a, b, c := side(ring[0], ring[1], p), side(ring[1], ring[2], p), side(ring[2], ring[0], p)
				if a == b && b == c {
					want += step * step
				}
			}
		}
		if math.Abs(math.Abs(kept)-want) > 0.15 {
			t.Fatalf("of %v %g is kept, want %g", ring, kept, want)
		}
	}
}

// Law: letters are as wide as in Helvetica, whose widths Adobe has published, in
// 1/1000 of the size (Helvetica.afm).
func TestWidths(t *testing.T) {
	for text, want := range map[string]float64{" ": 278, "0": 556, "A": 667, "W": 944, "i": 222, "m": 833, "mi": 1055, "": 0} {
		if got := (TextStyle{Size: 1000}).Width(text).Points(); math.Abs(got-want) > 1 {
			t.Errorf("%q is %g wide, want %g", text, got, want)
		}
	}
	for _, r := range "éßΩ−≤µ·日 " {
		if widthOf(r) < 300 {
			t.Errorf("%q has no width", r)
		}
	}
}

// sheet is a surface that knows what area was drawn on.
type sheet struct{ drawn Rectangle }

func (s *sheet) Size() (w, h Length)                 { return 300, 200 }
func (s *sheet) Stroke(path Path, _ LineStyle)       { s.path(path) }
func (s *sheet) Fill(path Path, _ color.Color)       { s.path(path) }
func (s *sheet) Image(area Rectangle, _ image.Image) { s.point(area.Min, 0); s.point(area.Max, 0) }
func (s *sheet) point(at Point, radius Length) {
	s.drawn.Min = Point{min(s.drawn.Min.X, at.X-radius), min(s.drawn.Min.Y, at.Y-radius)}
	s.drawn.Max = Point{max(s.drawn.Max.X, at.X+radius), max(s.drawn.Max.Y, at.Y+radius)}
}

func (s *sheet) path(path Path) {
	for _, step := range path {
		if step.Kind != Close {
			s.point(step.Pos, step.Radius)
		}
	}
}

func (s *sheet) Write(text string, from Point, size Length, _ color.Color) {
	style := TextStyle{Size: size}
	s.point(Point{from.X, from.Y - style.descent()}, 0)
	s.point(Point{from.X + style.Width(text), from.Y + 0.73*size}, 0) // a capital, or a digit
}

// disc is a mark.
type disc struct{}

func (disc) DrawGlyph(c Canvas, style GlyphStyle, at Point) {
	var path Path
	path.Arc(at, style.Radius, 0, 2*math.Pi)
	c.Fill(path, style.Color)
}

// Law: labels and marks fit on the sheet, however long and large they are, also
// where they are at its edges; and a number is drawn where its axis says.
func TestAllFits(t *testing.T) {
	for _, radius := range []Length{0, 3, 30} {
		for _, label := range []string{"", "1", "a very long label"} {
			for _, title := range []string{"", "of the axis"} {
				for _, scale := range []Scale{LinearScale{}, LogScale{}} {
					p := New()
					for _, a := range []*Axis{&p.X, &p.Y} {
						a.Scale, a.Padding = scale, 6
						a.Tick.Label.Size, a.TitleStyle.Size = 9, 9
						a.Tick.Marker = ConstantTicks{{1, label}, {10, label}, {100, label}}
					}
					p.X.Title = title
					corners := XYs{{1, 1}, {100, 100}}
					p.Add(Grid{LineStyle{Width: 1}}, Picture{image.NewGray(image.Rect(0, 0, 1, 1)), corners[0], corners[1]},
						Polyline{corners, LineStyle{Width: 1}}, Scatter{corners, GlyphStyle{Radius: radius, Shape: disc{}}})
					s := &sheet{drawn: Rectangle{Point{150, 100}, Point{150, 100}}}
					c := NewCanvas(s)
					p.Draw(c)
					name := fmt.Sprintf("radius %g, label %q, title %q, %T", radius, label, title, scale)
					if d := s.drawn; d.Min.X < -slop || d.Min.Y < -slop || d.Max.X > 300+slop || d.Max.Y > 200+slop {
						t.Errorf("%s: drawn on %v", name, d)
					}
					toX, toY := p.Transforms(p.DataCanvas(c))
					if x, y := toX(100), toY(100); x-toX(1) < 50 || y-toY(1) < 50 || toX(10) <= toX(1) || toY(10) >= y {
						t.Errorf("%s: the data are at %g, %g to %g, %g", name, toX(1), toY(1), x, y)
					}
				}
			}
		}
	}
}
