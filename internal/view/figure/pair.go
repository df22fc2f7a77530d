package figure

import (
	"cmp"
	"fmt"
	"html/template"
	"math"
	"slices"

	"github.com/campaignd/campaignd/internal/ground/format"
	"github.com/campaignd/campaignd/internal/view/plot"
)

// Pair plots two objectives of a trade-off against each other: all trials, and the front. Values
// are in the objectives' units.
type Pair struct {
	X, Y  Aim
	Tried []Tried
	// Expected is the front that models expect beyond what was measured, in any
	// order; empty for none.
	Expected plot.XYs
}

// Aim is an objective as an axis.
type Aim struct {
	Name, Unit string
	Log        bool // its axis is logarithmic, where all values have a logarithm
	Less       bool // less is better
	// Worst is the worst value of interest; the area beyond it is shaded. nil for none.
	Worst *float64
	// Bounds are the constraints' bounds on it.
	Bounds []Bound
}

// Bound is a bound on a quantity: values beyond it are infeasible.
type Bound struct {
	At    float64
	Above bool // values above are infeasible, otherwise those below
	Text  string
}

// Tried is a composition that was measured.
type Tried struct {
	X, Y float64
	// SDX and SDY are the standard deviations of the expected values there, drawn for the front; 0
	// if unknown.
	SDX, SDY float64
	Kind     Kind
	// Suggested marks the compromise.
	Suggested bool
	ID, Text  string // of its spot
}

// Kind is the role of a composition in a trade-off.
type Kind int

// The kinds, in the order in which they are drawn.
const (
	Infeasible Kind = iota
	Beaten
	Perhaps
	OnFront
	kinds
)

// words are the entries of the legend.
var words = [kinds]string{
	Infeasible: "infeasible",
	Beaten:     "another one is better in everything",
	Perhaps:    "perhaps on the front",
	OnFront:    "on the front",
}

// glyph returns the mark of a kind. Shape and color both differ, so that it can be read in gray.
func (k Kind) glyph() plot.GlyphStyle {
	switch k {
	case Infeasible:
		return plot.GlyphStyle{Color: Red, Radius: 3.2, Shape: Cross{}}
	case Beaten:
		return Hollow(Gray, 2.8, 1.1)
	case Perhaps:
		return Hollow(Green, 3.6, 1.6)
	}
	return Filled(Green, 4.2, 0)
}

// suggested is the mark of the compromise: a ring around its own mark.
func suggested(radius plot.Length) plot.GlyphStyle {
	return plot.GlyphStyle{Color: Faded(Paper, 0), Radius: radius, Shape: Solid{Edge: Ink, Width: 1.4}}
}

// expectedDashes are those of the front that models expect.
var expectedDashes = []plot.Length{4, 3}

// Symbol is an entry of a legend: a drawn mark, and what it stands for.
type Symbol struct {
	Symbol template.HTML
	Text   string
}

// Legend explains the marks that occur in the pair.
func (t Pair) Legend(on Page) (legend []Symbol) {
	for k := kinds - 1; k >= 0; k-- {
		n := 0
		for _, p := range t.Tried {
			if p.Kind == k {
				n++
			}
		}
		if n > 0 {
			legend = append(legend, Symbol{on.Glyph(k.glyph(), ""), fmt.Sprintf("%s (%d)", words[k], n)})
		}
	}
	if slices.ContainsFunc(t.Tried, func(p Tried) bool { return p.Suggested }) {
		legend = append(legend, Symbol{on.Glyph(suggested(5), ""), "the suggested compromise"})
	}
	if len(t.Expected) > 0 {
		legend = append(legend, Symbol{on.Swatch(Purple, expectedDashes...), "expected by the models, not measured"})
	}
	return legend
}

// Size of a pair, in points: narrow enough for its letters to be read on a phone.
const (
	pairWidth  = 330
	pairHeight = 290
)

// Pair draws a pair. title is the text for screen readers.
func (on Page) Pair(t Pair, title string) template.HTML {
	t.settle()
	c := on.Chart(pairWidth, pairHeight, t.X.across(), t.Y.up())
	c.Right = 12
	t.limits(&c.X, t.X, func(p plot.XY) float64 { return p.X })
	t.limits(&c.Y, t.Y, func(p plot.XY) float64 { return p.Y })
	c.Add(towards{t.X.Less, t.Y.Less})
	t.shade(c)
	front := t.front()
	if stairs := t.stairs(front, c); stairs != nil {
		c.Add(plot.Polygon{XYs: t.covered(stairs, c), Color: Faded(Green, 0.09)})
		c.Line(stairs, Faded(Green, 0.8), 1.2)
	}
	c.Line(t.beyond(t.Expected), Purple, 1.6, expectedDashes...)
	t.marks(c)
	c.After = func(whole, data plot.Canvas) { t.names(whole, data, c.Plot) }
	for _, p := range t.Tried {
		c.Spot(p.X, p.Y, p.Text, p.ID)
	}
	return c.SVG(title)
}

// settle removes points without a place, and logarithmic axes that would need the logarithm of
// zero.
func (t *Pair) settle() {
	finite := func(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }
	t.Tried = slices.DeleteFunc(slices.Clone(t.Tried), func(p Tried) bool { return !finite(p.X) || !finite(p.Y) })
	for _, at := range t.places() {
		t.X.Log = t.X.Log && at.X > 0
		t.Y.Log = t.Y.Log && at.Y > 0
	}
}

// places returns the places of all drawn points.
func (t Pair) places() plot.XYs {
	all := slices.Clone(t.Expected)
	for _, p := range t.Tried {
		all = append(all, plot.XY{X: p.X, Y: p.Y})
	}
	return all
}

// gap is an em space: others are drawn as one narrow space, whatever their number.
const gap = "\u2003"

// across is the title of an objective on the horizontal axis: the arrow points
// where it is better.
func (a Aim) across() string {
	if a.Less {
		return "← better" + gap + format.Heading(a.Name, a.Unit)
	}
	return format.Heading(a.Name, a.Unit) + gap + "better →"
}

// up is the title of an objective on the vertical axis.
func (a Aim) up() string {
	if a.Less {
		return format.Heading(a.Name, a.Unit) + gap + "↓ better"
	}
	return format.Heading(a.Name, a.Unit) + gap + "↑ better"
}

// limits sets the range of an axis to the drawn points.
func (t Pair) limits(axis *plot.Axis, a Aim, of func(plot.XY) float64) {
	axis.Tick.Marker = Ticks{Want: 5}
	var values []float64
	for _, at := range t.places() {
		v := of(at)
		if a.Log {
			v = math.Log(v)
		}
		values = append(values, v)
	}
	Limits(axis, 0.08, values...)
	if a.Log {
		axis.Min, axis.Max = math.Exp(axis.Min), math.Exp(axis.Max)
		axis.Scale, axis.Tick.Marker = plot.LogScale{}, LogTicks{}
	}
}

// shade shades the uninteresting and the infeasible areas.
func (t Pair) shade(c *Chart) {
	for _, axis := range []struct {
		of   Aim
		axis *plot.Axis
		ring func(from, to float64) plot.XYs
		line func(y float64, color Color, width plot.Length, dashes ...plot.Length)
	}{
		{t.X, &c.X, func(from, to float64) plot.XYs {
			return plot.XYs{{X: from, Y: c.Y.Min}, {X: to, Y: c.Y.Min}, {X: to, Y: c.Y.Max}, {X: from, Y: c.Y.Max}}
		}, c.Upright},
		{t.Y, &c.Y, func(from, to float64) plot.XYs {
			return plot.XYs{{X: c.X.Min, Y: from}, {X: c.X.Max, Y: from}, {X: c.X.Max, Y: to}, {X: c.X.Min, Y: to}}
		}, c.Across},
	} {
		side := func(at float64, above bool, fill Color) bool {
			from, to := axis.axis.Min, at
			if above {
				from, to = at, axis.axis.Max
			}
			if !(at > axis.axis.Min && at < axis.axis.Max) {
				return false
			}
			c.Add(plot.Polygon{XYs: axis.ring(from, to), Color: fill})
			return true
		}
		if w := axis.of.Worst; w != nil {
			side(*w, axis.of.Less, Faded(Muted, 0.1))
		}
		for _, b := range axis.of.Bounds {
			if side(b.At, b.Above, Faded(Red, 0.07)) {
				axis.line(b.At, Red, 1, 2, 2)
			}
		}
	}
}

// better reports whether a place is at least as good as another one in both
// objectives, and better in one.
func (t Pair) better(a, b plot.XY) bool {
	x, y := a.X-b.X, a.Y-b.Y
	if t.X.Less {
		x = -x
	}
	if t.Y.Less {
		y = -y
	}
	return x >= 0 && y >= 0 && (x > 0 || y > 0)
}

// beyond returns the places that no other one beats in both objectives, along x; equal ones once.
func (t Pair) beyond(all plot.XYs) (front plot.XYs) {
	for _, at := range all {
		if !slices.ContainsFunc(all, func(other plot.XY) bool { return t.better(other, at) }) {
			front = append(front, at)
		}
	}
	slices.SortFunc(front, func(a, b plot.XY) int { return cmp.Or(cmp.Compare(a.X, b.X), cmp.Compare(a.Y, b.Y)) })
	return slices.Compact(front)
}

// front returns the places of the front that are not beaten in these two objectives: for a
// trade-off of two, all of them.
func (t Pair) front() plot.XYs {
	var on plot.XYs
	for _, p := range t.Tried {
		if p.Kind == OnFront {
			on = append(on, plot.XY{X: p.X, Y: p.Y})
		}
	}
	return t.beyond(on)
}

// stairs returns the edge of the area that the front dominates, from one end of the chart to the
// other: between two neighboring places it turns where both are worst.
func (t Pair) stairs(front plot.XYs, c *Chart) (edge plot.XYs) {
	if len(front) == 0 {
		return nil
	}
	worstX, worstY := c.X.Min, c.Y.Min
	if t.X.Less {
		worstX = c.X.Max
	}
	if t.Y.Less {
		worstY = c.Y.Max
	}
	first, last := front[0], front[len(front)-1]
	if t.X.Less { // the worst x is at the right
		edge = append(edge, plot.XY{X: first.X, Y: worstY})
	} else {
		edge = append(edge, plot.XY{X: worstX, Y: first.Y})
	}
	for i, at := range front {
		if i > 0 {
			corner := plot.XY{X: front[i-1].X, Y: at.Y}
			if t.X.Less {
				corner = plot.XY{X: at.X, Y: front[i-1].Y}
			}
			edge = append(edge, corner)
		}
		edge = append(edge, at)
	}
	if t.X.Less {
		return append(edge, plot.XY{X: worstX, Y: last.Y})
	}
	return append(edge, plot.XY{X: last.X, Y: worstY})
}

// covered closes the edge around the dominated area.
func (t Pair) covered(edge plot.XYs, c *Chart) plot.XYs {
	corner := plot.XY{X: c.X.Min, Y: c.Y.Min}
	if t.X.Less {
		corner.X = c.X.Max
	}
	if t.Y.Less {
		corner.Y = c.Y.Max
	}
	return append(slices.Clone(edge), corner)
}

// marks draws the trials, those of the front with one standard deviation to each side.
func (t Pair) marks(c *Chart) {
	for k := range kinds {
		var points, rings plot.XYs
		for _, p := range t.Tried {
			if p.Kind != k {
				continue
			}
			at := plot.XY{X: p.X, Y: p.Y}
			points = append(points, at)
			if p.Suggested {
				rings = append(rings, at)
			}
			if k == OnFront {
				t.whisker(c, p)
			}
		}
		c.Points(points, k.glyph())
		c.Points(rings, suggested(7.5))
	}
}

// whisker draws the standard deviations, within the axes.
func (t Pair) whisker(c *Chart, p Tried) {
	within := func(v float64, axis plot.Axis) float64 { return min(max(v, axis.Min), axis.Max) }
	if p.SDX > 0 {
		c.Line(plot.XYs{{X: within(p.X-p.SDX, c.X), Y: p.Y}, {X: within(p.X+p.SDX, c.X), Y: p.Y}}, Green, 0.8)
	}
	if p.SDY > 0 {
		c.Line(plot.XYs{{X: p.X, Y: within(p.Y-p.SDY, c.Y)}, {X: p.X, Y: within(p.Y+p.SDY, c.Y)}}, Green, 0.8)
	}
}

// names writes the bounds at their lines, and the experiments of the front at
// their marks where there is room.
func (t Pair) names(whole, data plot.Canvas, p *plot.Plot) {
	toX, toY := p.Transforms(data)
	small := Style(8, OfText(Red))
	for _, b := range t.X.Bounds {
		if x := toX(b.At); x > data.Min.X && x < data.Max.X {
			whole.FillText(small, plot.Point{X: min(x+3, data.Max.X-small.Width(b.Text)), Y: data.Max.Y - 5}, b.Text)
		}
	}
	for _, b := range t.Y.Bounds {
		if y := toY(b.At); y > data.Min.Y && y < data.Max.Y {
			whole.FillText(small, plot.Point{X: data.Max.X - small.Width(b.Text) - 2, Y: y + 6}, b.Text)
		}
	}
	var l labels
	l.within = data.Rectangle
	l.within.Max.X += 12
	for _, at := range t.Tried {
		l.take(toX(at.X), toY(at.Y))
	}
	for _, at := range t.Tried {
		if at.Kind == OnFront && at.ID != "" {
			l.write(whole, toX(at.X), toY(at.Y), at.ID, t.X.Less, t.Y.Less)
		}
	}
}

// labels are texts at marks, which stay apart from each other and from the marks.
type labels struct {
	within plot.Rectangle
	taken  []plot.Rectangle
}

// take keeps the place of a mark free.
func (l *labels) take(x, y plot.Length) {
	l.taken = append(l.taken, plot.Rectangle{Min: plot.Point{X: x - 3, Y: y - 3}, Max: plot.Point{X: x + 3, Y: y + 3}})
}

// write writes a text at a mark: towards the better corner, which the front leaves empty, else at a
// side; nowhere without room.
func (l *labels) write(whole plot.Canvas, x, y plot.Length, text string, left, below bool) {
	style := Style(8, Ink)
	w, h := style.Width(text), plot.Length(8)
	corner := plot.Point{X: 5, Y: 3}
	if left {
		corner.X = -5 - w
	}
	if below {
		corner.Y = -3 - h
	}
	for _, by := range []plot.Point{corner, {X: 7, Y: -h / 2}, {X: -7 - w, Y: -h / 2}, {X: -w / 2, Y: 7}, {X: -w / 2, Y: -7 - h}} {
		box := plot.Rectangle{Min: plot.Point{X: x + by.X, Y: y + by.Y}, Max: plot.Point{X: x + by.X + w, Y: y + by.Y + h}}
		overlaps := func(o plot.Rectangle) bool {
			return box.Min.X < o.Max.X && o.Min.X < box.Max.X && box.Min.Y < o.Max.Y && o.Min.Y < box.Max.Y
		}
		outside := box.Min.X < l.within.Min.X || box.Max.X > l.within.Max.X ||
			box.Min.Y < l.within.Min.Y || box.Max.Y > l.within.Max.Y
		if !outside && !slices.ContainsFunc(l.taken, overlaps) {
			l.taken = append(l.taken, box)
			whole.FillText(style, plot.Point{X: box.Min.X, Y: box.Min.Y + h/2}, text)
			return
		}
	}
}

// towards draws an arrow into the corner where both objectives are best.
type towards struct{ xLess, yLess bool }

// Plot implements plot.Plotter.
func (a towards) Plot(canvas plot.Canvas, _ *plot.Plot) {
	corner := plot.Point{X: canvas.Max.X - 4, Y: canvas.Max.Y - 4}
	dx, dy := plot.Length(-1), plot.Length(-1) // from the corner into the chart
	if a.xLess {
		corner.X, dx = canvas.Min.X+4, 1
	}
	if a.yLess {
		corner.Y, dy = canvas.Min.Y+4, 1
	}
	line := plot.LineStyle{Color: Gray, Width: 1.6}
	at := func(x, y plot.Length) plot.Point { return plot.Point{X: corner.X + dx*x, Y: corner.Y + dy*y} }
	canvas.StrokeLines(line, []plot.Point{at(20, 20), at(0, 0)}, []plot.Point{at(9, 0), at(0, 0), at(0, 9)})
}
