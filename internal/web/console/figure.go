package console

import (
	"fmt"
	"html/template"
	"math"
	"slices"
	"strings"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/ground/format"
	"github.com/campaignd/campaignd/internal/view/figure"
	"github.com/campaignd/campaignd/internal/view/plot"
	"github.com/campaignd/campaignd/projections/campaign"
)

// newDrawing returns an empty drawing in classes of the stylesheet, so that it follows the theme
// and needs no inline style, which the pages' Content-Security-Policy forbids. Its title is shown
// where the pointer rests on it, and read out by a screen reader.
func newDrawing(w, h float64, role figure.Role, title string) *figure.Canvas {
	d := figure.Page{Palette: figure.Classes}.Canvas(w, h, role, title)
	d.Title(title)
	return d
}

// dot draws the mark of an experiment in a role of the stylesheet: shapes distinguish what colors
// alone would not.
func dot(d *figure.Canvas, standing figure.Role, id, title string, x, y float64) {
	shape := figure.RoundDot
	switch kind, _, _ := strings.Cut(string(standing), " "); kind {
	case "failed":
		shape = figure.CrossDot
	case "breaks":
		shape = figure.BarredDot
	case "open":
		shape = figure.DiamondDot
	case "imagined":
		shape = figure.SquareDot
	}
	d.Dot(standing, shape, id, title, x, y)
}

// nan stands for a value that is not drawn. It stays within drawings.
var nan = math.NaN()

// measuredValues are the values that count, in the order of experiments: those
// that were measured and are not left out of the models.
func measuredValues(s *campaign.State) (values []float64) {
	for _, value := range s.Results() {
		values = append(values, value.Value)
	}
	return values
}

// frame is a drawing with axes: which numbers its data shows, and where in the
// drawing, in pixels, they are. Pixels count from the upper left, so that the
// vertical axis is turned around in [frame.Y] alone.
type frame struct {
	*figure.Canvas
	x, y figure.Span
	// Edges of the data, from the upper left of the drawing.
	left, right, top, bottom float64
}

// X is where a number of the horizontal axis is.
func (f *frame) X(v float64) float64 { return f.x.To(v, f.left, f.right) }

// Y is where a number of the vertical axis is.
func (f *frame) Y(v float64) float64 { return f.y.To(v, f.bottom, f.top) }

// horizontal draws the line of a number on the vertical axis, with its label.
func (f *frame) horizontal(v float64, label string) {
	f.Line(grid, f.left, f.Y(v), f.right, f.Y(v))
	f.Text(tick, "end", f.left-6, f.Y(v)+4, label)
}

// headings writes the names of the axes: the vertical one above it.
func (f *frame) headings(x, y string, below float64) {
	f.Text(axis, "start", 0, 14, y)
	f.Text(axis, "end", f.right, below, x)
}

// scale draws an expectation on the scale of the measurements: a tick for each measurement, the
// best one longer, and a box from mean − sd to mean + sd with a whisker of two sd. Below a scale
// stand its ends.
func scale(measured []float64, best *float64, shown figure.Span, p *events.Prediction) template.HTML {
	const w, h, pad = 300.0, 40.0, 8.0
	title := "Nothing was measured yet"
	if len(measured) > 0 {
		title = fmt.Sprintf("Measured so far: %s to %s",
			format.Short(slices.Min(measured)), format.Short(slices.Max(measured)))
	}
	if p != nil {
		title += "; expected here: " + format.PlusMinus(p.Mean, p.SD, p.Unit)
	}
	d := newDrawing(w, h, "scale", title)
	// What lies beyond the scale stands at its end, where it can be seen.
	at := func(v float64) float64 { return min(max(shown.To(v, pad, w-pad), 0), w) }
	d.Line(figure.Role("base"), pad, 34, w-pad, 34)
	for _, v := range measured {
		d.Line(figure.Role("seen"), at(v), 24, at(v), 34)
	}
	if best != nil {
		d.Line(figure.Role("incumbent"), at(*best), 4, at(*best), 34)
	}
	if p != nil {
		d.Line(figure.Role("whisker"), at(p.Mean-2*p.SD), 13, at(p.Mean+2*p.SD), 13)
		d.Rect(figure.Role("within"), at(p.Mean-p.SD), 7, at(p.Mean+p.SD)-at(p.Mean-p.SD), 12)
		d.Line(figure.Role("mean"), at(p.Mean), 5, at(p.Mean), 21)
	}
	if len(measured) == 0 {
		return d.SVG()
	}
	return d.SVG() + template.HTML(fmt.Sprintf(`<p class="ends"><span>%s</span><span>%s</span></p>`,
		figure.Typeset(format.Short(shown.Low)), figure.Typeset(format.Short(shown.High))))
}

// bar draws where a value lies in a parameter's range, with the incumbent's;
// both are shares from 0 to 1, or NaN for none. The incumbent is drawn first,
// so that it shows behind the value where both are the same.
func bar(title string, share, incumbent float64) template.HTML {
	const w, h = 120.0, 14.0
	d := newDrawing(w, h, "bar", title)
	d.Rect(figure.Role("track"), 0, 5, w, 4)
	if !math.IsNaN(incumbent) {
		d.Line(figure.Role("incumbent"), 3+incumbent*(w-6), 0, 3+incumbent*(w-6), h)
	}
	if !math.IsNaN(share) {
		d.Disc(figure.Role("value"), 5+share*(w-10), 7, 5)
	}
	return d.SVG()
}

// positions returns where the values of a composition lie between 0 and 1, a
// number for each parameter: of categories, their place in the list.
func positions(def *definition.Campaign, p definition.Point) []float64 {
	shares := make([]float64, len(def.Parameters))
	for i, par := range def.Parameters {
		shares[i] = positionOf(&par, p[par.Name])
	}
	return shares
}

// positionOf returns the place of a value in a parameter's range, from 0 to 1; NaN for a missing or
// unknown value. A value beyond the range stands at its end: a composition as made may lie outside
// the allowed space, and the range may have been amended since.
func positionOf(par *definition.Parameter, v definition.Value) float64 {
	between := func(x, low, high float64) float64 {
		if high > low {
			return min(max((x-low)/(high-low), 0), 1)
		}
		return 0.5 // of a range without width
	}
	if par.Categories != nil {
		for i, c := range par.Categories {
			if c.Name == v.Name() {
				return between(float64(i), 0, float64(len(par.Categories)-1))
			}
		}
		return math.NaN()
	}
	x, ok := v.Float()
	switch {
	case !ok:
		return math.NaN()
	case len(par.Values) > 0:
		return between(x, slices.Min(par.Values), slices.Max(par.Values))
	case par.Min != nil && par.Max != nil:
		return between(x, *par.Min, *par.Max)
	}
	return math.NaN()
}

// classOf returns the class by which an experiment is drawn; best is the experiment to highlight,
// which comes before any other class.
func classOf(s *campaign.State, x *campaign.Experiment, best string) string {
	switch {
	case best == x.ID:
		return "is-best"
	case x.Status == campaign.Failed || x.Status == campaign.Infeasible:
		return "failed"
	case x.Status.Open():
		return "open"
	case x.Excluded:
		return "left-out"
	case s.Breaks(x):
		return "breaks"
	}
	return "done"
}

// drawn are the experiments that a figure of compositions shows: all but those that were called
// off, whose compositions were never made, and references.
func drawn(s *campaign.State) (all []*campaign.Experiment) {
	for i := range s.Experiments {
		if x := &s.Experiments[i]; !x.Status.CalledOff() && !x.Reference() {
			all = append(all, x)
		}
	}
	return all
}

// tones are the steps in which marks are drawn. More could not be distinguished in
// small ones.
const tones = 5

// tone is the step from 1 on in which a value lies, the best being the last; 0 for
// no value.
func tone(v float64, s figure.Span, sought definition.Objective) int {
	if math.IsNaN(v) {
		return 0
	}
	share := s.To(v, 0, 1)
	if sought.Better(0, 1) { // less is better: the least is the darkest
		share = 1 - share
	}
	return min(max(int(share*tones)+1, 1), tones)
}

// valueOf is the measured value of the objective; NaN where nothing was.
func valueOf(s *campaign.State, x *campaign.Experiment) float64 {
	if value, ok := s.Value(x); ok {
		return value.Value
	}
	return math.NaN()
}

// scatter draws compositions by the i-th and j-th parameter against each other, toned by the
// measured value. It shows requested compositions, as does [parallel]: open experiments have
// nothing else, and one mark must not jump when its result comes.
func scatter(s *campaign.State, i, j int, bests engine.Bests) template.HTML {
	def := s.Definition
	best, _ := bests.Leading()
	all := drawn(s)
	if len(all) == 0 || i >= len(def.Parameters) || j >= len(def.Parameters) {
		return ""
	}
	px, py := &def.Parameters[i], &def.Parameters[j]
	title := fmt.Sprintf("Compositions: %s against %s", py.Name, px.Name)
	// Compositions at a bound, which are many, are drawn whole.
	f := squareOf("chart", title, figure.Span{Low: -0.04, High: 1.04})
	for _, t := range endsOf(px) {
		at := f.X(t.Value)
		f.Line(grid, at, f.top, at, f.bottom)
		f.Text(tick, "middle", at, f.bottom+15, t.Label)
	}
	for _, t := range endsOf(py) {
		f.horizontal(t.Value, t.Label)
	}
	f.headings(format.Heading(px.Name, px.Unit), format.Heading(py.Name, py.Unit), squareHeight-3)
	toneOf := tonesOf(s, bests)
	write := format.CompositionsOf(def)
	for _, e := range all {
		standing := toned(classOf(s, e, best), toneOf(e))
		dot(f.Canvas, standing, e.ID, e.ID+": "+write.Line(e.Parameters)+gaveWords(s, e),
			f.X(positionOf(px, e.Parameters[px.Name])), f.Y(positionOf(py, e.Parameters[py.Name])))
	}
	return f.SVG()
}

// gaveWords lists an experiment's values of all quantities, after its composition, and whether that
// breaks a constraint on outcomes; "" without values.
func gaveWords(s *campaign.State, x *campaign.Experiment) (text string) {
	if x.Status != campaign.Measured {
		return ""
	}
	def := s.Definition
	sought, single := def.Sought(), def.Single()
	if single {
		if v, ok := s.Value(x); ok {
			text += "\n" + sought.Name + " " + format.ValueOf(sought, v.Value)
		}
	}
	for _, q := range def.Quantities {
		if v, ok := s.Quantity(x, q.Name); ok && (!single || q.Name != sought.Name) {
			text += "\n" + q.Name + " " + format.Result(v)
		}
	}
	if s.Breaks(x) {
		text += "\nbreaks a constraint on outcomes"
	}
	return text
}

// tonesOf returns the tone for drawing each experiment: by its measured value of the objective,
// without a tone where that breaks a constraint on outcomes; in a trade-off, by whether it is on
// the front; under an expert's preference, by its place in their order.
func tonesOf(s *campaign.State, bests engine.Bests) func(x *campaign.Experiment) int {
	if t := bests.Tradeoff; t != nil {
		return func(x *campaign.Experiment) int {
			if t.Member(x.ID) != nil {
				return tones
			}
			return 1
		}
	}
	if bests.Ranking != nil {
		return func(x *campaign.Experiment) int { return rankTone(bests.Ranking, x.ID) }
	}
	var kept []float64
	for x, value := range s.Results() {
		if !s.Breaks(x) {
			kept = append(kept, value.Value)
		}
	}
	values := figure.SpanOf(0, kept...)
	return func(x *campaign.Experiment) int {
		if s.Breaks(x) { // its value does not make it better
			return 0
		}
		return tone(valueOf(s, x), values, s.Definition.Sought())
	}
}

// toned is the role of a class in one of the tones.
func toned(class string, tone int) figure.Role {
	return figure.Role(fmt.Sprintf("%s tone%d", class, tone))
}

// squareHeight is the height of square drawings, in pixels.
const squareHeight = 300.0

// squareOf returns an empty drawing of two parameters against each other, both
// over one range of shares.
func squareOf(role figure.Role, title string, both figure.Span) *frame {
	const width = 360.0
	return &frame{
		Canvas: newDrawing(width, squareHeight, role, title),
		x:      both, y: both,
		left: 52, right: width - 12, top: 26, bottom: squareHeight - 34,
	}
}

// rounded writes a number for an axis.
func rounded(v float64) string { return figure.Typeset(format.Rounded(v, 3)) }

// endsOf are the ticks of a parameter's axis: its ends and middle, not round numbers, since people
// know a parameter by its bounds. Their values are shares of the range, from 0 to 1. A list of
// values, which need not be evenly spread, has only its ends named; categories are all named.
func endsOf(par *definition.Parameter) (ticks []plot.Tick) {
	switch {
	case par.Categories != nil:
		for _, c := range par.Categories {
			at := positionOf(par, definition.Category(c.Name))
			ticks = append(ticks, plot.Tick{Value: at, Label: format.Shorten(c.Name, 10)})
		}
	case par.Min != nil && par.Max != nil:
		for _, share := range []float64{0, 0.5, 1} {
			v := *par.Min + share*(*par.Max-*par.Min)
			ticks = append(ticks, plot.Tick{Value: share, Label: rounded(v)})
		}
	case len(par.Values) > 0:
		for _, v := range []float64{slices.Min(par.Values), slices.Max(par.Values)} {
			at := positionOf(par, definition.Number(v))
			ticks = append(ticks, plot.Tick{Value: at, Label: rounded(v)})
		}
	}
	return ticks
}

// parallel draws each composition as a line through all parameters to its value, on parallel axes
// from each parameter's lower to its upper bound. It is the one figure of the page that shows all
// parameters at once, and is as wide as their axes need. Where nothing is measured, the axis of the
// value is left out.
func parallel(s *campaign.State, bests engine.Bests) template.HTML {
	def := s.Definition
	best, _ := bests.Leading()
	all := drawn(s)
	if len(all) == 0 {
		return ""
	}
	const h, top, bottom = 300.0, 30.0, 22.0
	var objectives []definition.Objective
	if def.Measures() {
		objectives = def.Objectives()
	}
	axes := len(def.Parameters) + len(objectives)
	w := max(360, float64(axes)*110)
	at := func(k int) float64 {
		if axes == 1 {
			return w / 2 // nowhere to go
		}
		return 40 + float64(k)/float64(axes-1)*(w-80)
	}
	d := newDrawing(w, h, "chart wide", "Each composition as a line through its parameters")
	draw := func(k int, name, low, high string) {
		d.Line(grid, at(k), top, at(k), h-bottom)
		d.Text(axis, "middle", at(k), 12, format.Shorten(name, 14))
		d.Text(tick, "middle", at(k), h-6, low)
		d.Text(tick, "middle", at(k), 26, high)
	}
	for k := range def.Parameters {
		par := &def.Parameters[k]
		low, high := "", ""
		if ticks := endsOf(par); len(ticks) > 0 {
			low, high = ticks[0].Label, ticks[len(ticks)-1].Label
		}
		draw(k, par.Name, low, high)
	}
	spans := make([]figure.Span, len(objectives))
	for k, o := range objectives {
		measured := countedOf(s, o)
		spans[k] = figure.SpanOf(0, measured...)
		low, high := "", ""
		if len(measured) > 0 {
			low, high = rounded(spans[k].Low), rounded(spans[k].High)
		}
		draw(len(def.Parameters)+k, o.Name, low, high)
	}
	toneOf := tonesOf(s, bests)
	write := format.CompositionsOf(def)
	for _, e := range all {
		var line plot.XYs
		for k, share := range positions(def, e.Parameters) {
			line = append(line, plot.XY{X: at(k), Y: h - bottom - share*(h-bottom-top)})
		}
		title := e.ID + ": " + write.Line(e.Parameters) + gaveWords(s, e)
		for k, o := range objectives {
			if v, ok := valueFor(s, e, o); ok {
				line = append(line, plot.XY{X: at(len(def.Parameters) + k), Y: spans[k].To(v.Value, h-bottom, top)})
			}
		}
		standing := toned("thread "+classOf(s, e, best), toneOf(e))
		d.Group(standing, e.ID, title, func() { d.Path(figure.Role(""), line) })
	}
	return d.SVG()
}
