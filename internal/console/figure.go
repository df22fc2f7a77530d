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
	"github.com/campaignd/campaignd/internal/format"
	"github.com/campaignd/campaignd/projections/campaign"
)

// drawing is an SVG image under construction. Its colors are classes of the stylesheet, so
// that it follows the theme and needs no inline style.
type drawing struct {
	strings.Builder
	w, h float64
}

func newDrawing(w, h float64, class, title string) *drawing {
	d := &drawing{w: w, h: h}
	fmt.Fprintf(d, `<svg class="%s" viewBox="0 0 %g %g" role="img" aria-label="%s"><title>%s</title>`,
		class, w, h, esc(title), esc(title))
	return d
}

func esc(s string) string { return template.HTMLEscapeString(s) }

func (d *drawing) line(class string, x1, y1, x2, y2 float64) {
	fmt.Fprintf(d, `<line class="%s" x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f"/>`, class, x1, y1, x2, y2)
}

func (d *drawing) rect(class string, x, y, w, h float64) {
	fmt.Fprintf(d, `<rect class="%s" x="%.1f" y="%.1f" width="%.1f" height="%.1f"/>`, class, x, y, max(w, 0), max(h, 0))
}

// text anchors at start, middle or end.
func (d *drawing) text(class, anchor string, x, y float64, s string) {
	fmt.Fprintf(d, `<text class="%s" text-anchor="%s" x="%.1f" y="%.1f">%s</text>`, class, anchor, x, y, esc(s))
}

// path draws a line through points; NaN breaks it.
func (d *drawing) path(class, data string, xs, ys []float64) {
	var b strings.Builder
	pen := "M"
	for i := range xs {
		if math.IsNaN(ys[i]) {
			pen = "M"
			continue
		}
		fmt.Fprintf(&b, "%s%.1f %.1f", pen, xs[i], ys[i])
		pen = "L"
	}
	if b.Len() > 0 {
		fmt.Fprintf(d, `<path class="%s" %s d="%s"/>`, class, data, b.String())
	}
}

// dot is a mark that belongs to an experiment: what is linked is highlighted together.
func (d *drawing) dot(class, experiment, title string, x, y float64) {
	shape := fmt.Sprintf(`<circle cx="%.1f" cy="%.1f" r="4"/>`, x, y)
	if strings.Contains(class, "failed") { // told apart without color
		shape = fmt.Sprintf(`<path d="M%.1f %.1fl8 8m0 -8l-8 8"/>`, x-4, y-4)
	} else if strings.Contains(class, "open") {
		shape = fmt.Sprintf(`<path d="M%.1f %.1fl5 5l-5 5l-5 -5z"/>`, x, y-5)
	} else if class == "imagined" {
		shape = fmt.Sprintf(`<rect x="%.1f" y="%.1f" width="8" height="8"/>`, x-4, y-4)
	}
	fmt.Fprintf(d, `<g class="dot %s" data-x="%s"><title>%s</title>%s</g>`, class, esc(experiment), esc(title), shape)
}

func (d *drawing) svg() template.HTML { return template.HTML(d.String() + "</svg>") }

// nan is where nothing is drawn.
var nan = math.NaN()

// span is the range of numbers, with a margin.
type span struct{ low, high float64 }

func spanOf(margin float64, values ...float64) span {
	s := span{math.Inf(1), math.Inf(-1)}
	for _, v := range values {
		if !math.IsNaN(v) && !math.IsInf(v, 0) {
			s.low, s.high = min(s.low, v), max(s.high, v)
		}
	}
	switch {
	case s.low > s.high:
		return span{0, 1}
	case s.low == s.high:
		pad := max(math.Abs(s.low)*0.05, 1e-9)
		s.low, s.high = s.low-pad, s.high+pad
	}
	pad := margin * (s.high - s.low)
	return span{s.low - pad, s.high + pad}
}

// to maps a number onto an axis.
func (s span) to(v, from, to float64) float64 {
	return from + (v-s.low)/(s.high-s.low)*(to-from)
}

// ticks are round numbers in the span.
func (s span) ticks(want int) (at []float64, labels []string) {
	step := math.Pow(10, math.Floor(math.Log10((s.high-s.low)/float64(want))))
	for _, factor := range []float64{1, 2, 5, 10} {
		if (s.high-s.low)/(step*factor) <= float64(want) {
			step *= factor
			break
		}
	}
	decimals := max(0, -int(math.Floor(math.Log10(step)+1e-9)))
	for k := math.Ceil(s.low/step - 1e-9); k*step <= s.high && len(at) < 50; k++ {
		at = append(at, k*step)
		labels = append(labels, format.Fixed(k*step, decimals))
	}
	return at, labels
}

// measuredValues are the values that count, in order.
func measuredValues(s *campaign.State) (values []float64) {
	for _, value := range s.Results() {
		values = append(values, value.Value)
	}
	return values
}

// sparkline draws how the best so far has gone.
func sparkline(values []float64, sought definition.Objective) template.HTML {
	if len(values) < 2 {
		return ""
	}
	const w, h = 120, 28
	best := bests(values, sought)
	s := spanOf(0.08, values...)
	d := newDrawing(w, h, "spark", fmt.Sprintf("%d measurements, from %s to %s at best", len(values),
		format.Short(values[0]), format.Short(best[len(best)-1])))
	xs, ys := make([]float64, len(values)), make([]float64, len(values))
	for i, v := range values {
		xs[i] = 3 + float64(i)/float64(len(values)-1)*(w-6)
		ys[i] = s.to(best[i], h-3, 3)
		if len(values) <= 60 {
			fmt.Fprintf(d, `<circle class="each" cx="%.1f" cy="%.1f" r="1.4"/>`, xs[i], s.to(v, h-3, 3))
		}
	}
	d.path("best", "", xs, ys)
	return d.svg()
}

// bests are the best values so far.
func bests(values []float64, sought definition.Objective) []float64 {
	best := make([]float64, len(values))
	so := math.NaN()
	for i, v := range values {
		if !math.IsNaN(v) && (math.IsNaN(so) || sought.Better(v, so)) {
			so = v
		}
		best[i] = so
	}
	return best
}

// convergence draws every measurement and the best so far.
func convergence(s *campaign.State) template.HTML {
	sought := s.Definition.Sought()
	n := len(s.Experiments)
	values := make([]float64, n)
	counted := make([]float64, n)
	any := false
	for i := range s.Experiments {
		values[i], counted[i] = math.NaN(), math.NaN()
		x := &s.Experiments[i]
		if value, ok := s.Value(x); ok {
			values[i] = value.Value
			any = true
			if !x.Excluded {
				counted[i] = values[i]
			}
		}
	}
	if !any {
		return ""
	}
	const w, h, left, right, top, bottom = 720.0, 268.0, 52.0, 14.0, 26.0, 38.0
	heading := format.HeadingOf(sought)
	d := newDrawing(w, h, "chart", "Every measurement of "+heading+", and the best so far")
	y := spanOf(0.06, values...)
	x := span{0.5, max(float64(n)+0.5, 3.5)}
	at, labels := y.ticks(5)
	for i, v := range at {
		py := y.to(v, h-bottom, top)
		d.line("grid", left, py, w-right, py)
		d.text("tick", "end", left-6, py+4, typeset(labels[i]))
	}
	step := max(1, int(math.Ceil(float64(n)/12)))
	for k := 1; k <= n; k += step {
		d.text("tick", "middle", x.to(float64(k), left, w-right), h-bottom+18, fmt.Sprint(k))
	}
	d.text("axis", "start", 0, 14, heading)
	d.text("axis", "end", w-right, h-2, "experiment")
	best := bests(counted, sought)
	var xs, ys []float64
	for i, v := range best {
		if math.IsNaN(v) {
			continue
		}
		px := x.to(float64(i+1), left, w-right)
		if len(ys) > 0 {
			xs, ys = append(xs, px), append(ys, ys[len(ys)-1])
		}
		xs, ys = append(xs, px), append(ys, y.to(v, h-bottom, top))
	}
	d.path("best", "", xs, ys)
	for i := range s.Experiments {
		e := &s.Experiments[i]
		px := x.to(float64(i+1), left, w-right)
		switch {
		case !math.IsNaN(values[i]):
			class := "done"
			if e.Excluded {
				class = "left-out"
			}
			title := e.ID + ": " + format.ValueOf(sought, values[i])
			d.dot(class, e.ID, title, px, y.to(values[i], h-bottom, top))
		case e.Status == campaign.Failed || e.Status == campaign.Infeasible:
			d.dot("failed", e.ID, e.ID+": "+string(e.Status), px, h-bottom-2)
		}
	}
	return d.svg()
}

// typeset writes a minus sign as such.
func typeset(number string) string { return strings.ReplaceAll(number, "-", "\u2212") }

// scale draws what is expected on the scale of what was measured: a tick for each
// measurement, the best one longer, and a box from mean − sd to mean + sd with a whisker of
// two sd. Once there is a scale, its ends stand below.
func scale(measured []float64, best *float64, shown span, p *events.Prediction) template.HTML {
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
	at := func(v float64) float64 { return min(max(shown.to(v, pad, w-pad), 0), w) }
	d.line("base", pad, 34, w-pad, 34)
	for _, v := range measured {
		d.line("seen", at(v), 24, at(v), 34)
	}
	if best != nil {
		d.line("incumbent", at(*best), 4, at(*best), 34)
	}
	if p != nil {
		d.line("whisker", at(p.Mean-2*p.SD), 13, at(p.Mean+2*p.SD), 13)
		d.rect("within", at(p.Mean-p.SD), 7, at(p.Mean+p.SD)-at(p.Mean-p.SD), 12)
		d.line("mean", at(p.Mean), 5, at(p.Mean), 21)
	}
	if len(measured) == 0 {
		return d.svg()
	}
	return d.svg() + template.HTML(fmt.Sprintf(`<p class="ends"><span>%s</span><span>%s</span></p>`,
		typeset(format.Short(shown.low)), typeset(format.Short(shown.high))))
}

// bar draws where a value lies in a parameter's range, with the incumbent's.
func bar(title string, share, incumbent float64) template.HTML {
	const w, h = 120.0, 14.0
	d := newDrawing(w, h, "bar", title)
	d.rect("track", 0, 5, w, 4)
	if !math.IsNaN(incumbent) {
		d.line("incumbent", 3+incumbent*(w-6), 0, 3+incumbent*(w-6), h)
	}
	if !math.IsNaN(share) {
		fmt.Fprintf(d, `<circle class="value" cx="%.1f" cy="7" r="5"/>`, 5+share*(w-10))
	}
	return d.svg()
}

// shareBars draws what each parameter does to a quantity, to the left and right of nothing.
func shareBar(title string, value, most float64) template.HTML {
	const w, h = 120.0, 14.0
	d := newDrawing(w, h, "bar", title)
	middle := w / 2
	d.line("zero", middle, 0, middle, h)
	if most > 0 {
		x := value / most * (w/2 - 2)
		class := "more"
		if x < 0 {
			class = "less"
		}
		d.rect(class, min(middle, middle+x), 2, math.Abs(x), 10)
	}
	return d.svg()
}

// positions returns where the values of a composition lie between 0 and 1, a number for
// each parameter: of categories, their place in the list.
func positions(def *definition.Campaign, p definition.Point) []float64 {
	shares := make([]float64, len(def.Parameters))
	for i, par := range def.Parameters {
		shares[i] = positionOf(&par, p[par.Name])
	}
	return shares
}

func positionOf(par *definition.Parameter, v definition.Value) float64 {
	between := func(x, low, high float64) float64 {
		if high > low {
			return min(max((x-low)/(high-low), 0), 1)
		}
		return 0.5
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

// bestOf says in which way an experiment is the best one; "" where it is not.
func bestOf(bests engine.Bests, id string) string {
	byModel := bests.BestByModel != nil && bests.BestByModel.Experiment == id
	measured := bests.BestMeasured != nil && bests.BestMeasured.Experiment == id
	switch {
	case byModel && measured:
		return "best by the model, and measured"
	case byModel:
		return "best by the model"
	case measured:
		return "best measured"
	}
	return ""
}

// classOf says how an experiment is drawn; best is the one to go by.
func classOf(x *campaign.Experiment, best string) string {
	switch {
	case best == x.ID:
		return "is-best"
	case x.Status == campaign.Failed || x.Status == campaign.Infeasible:
		return "failed"
	case x.Status.Open():
		return "open"
	case x.Excluded:
		return "left-out"
	}
	return "done"
}

// drawn are the experiments that a figure of compositions shows.
func drawn(s *campaign.State) (all []*campaign.Experiment) {
	for i := range s.Experiments {
		if x := &s.Experiments[i]; !x.Status.CalledOff() {
			all = append(all, x)
		}
	}
	return all
}

// tone is in which of five steps a value lies, the best being 5; 0 without one.
func tone(v float64, s span, sought definition.Objective) int {
	if math.IsNaN(v) {
		return 0
	}
	share := s.to(v, 0, 1)
	if sought.Better(0, 1) {
		share = 1 - share
	}
	return min(max(int(share*5)+1, 1), 5)
}

func valueOf(s *campaign.State, x *campaign.Experiment) float64 {
	if value, ok := s.Value(x); ok {
		return value.Value
	}
	return math.NaN()
}

// scatter draws two parameters against each other.
func scatter(s *campaign.State, i, j int, best string) template.HTML {
	def := s.Definition
	sought := def.Sought()
	all := drawn(s)
	if len(all) == 0 || i >= len(def.Parameters) || j >= len(def.Parameters) {
		return ""
	}
	const w, h, left, right, top, bottom = 360.0, 300.0, 52.0, 12.0, 26.0, 34.0
	px, py := &def.Parameters[i], &def.Parameters[j]
	d := newDrawing(w, h, "chart", fmt.Sprintf("Compositions: %s against %s", py.Name, px.Name))
	x, y := span{-0.04, 1.04}, span{-0.04, 1.04}
	for _, t := range endsOf(px) {
		at := x.to(t.at, left, w-right)
		d.line("grid", at, top, at, h-bottom)
		d.text("tick", "middle", at, h-bottom+15, t.label)
	}
	for _, t := range endsOf(py) {
		at := y.to(t.at, h-bottom, top)
		d.line("grid", left, at, w-right, at)
		d.text("tick", "end", left-5, at+4, t.label)
	}
	d.text("axis", "start", 0, 14, format.Heading(py.Name, py.Unit))
	d.text("axis", "end", w-right, h-3, format.Heading(px.Name, px.Unit))
	values := spanOf(0, measuredValues(s)...)
	write := format.CompositionsOf(def)
	for _, e := range all {
		class := fmt.Sprintf("%s tone%d", classOf(e, best), tone(valueOf(s, e), values, sought))
		d.dot(class, e.ID, e.ID+": "+write.Line(e.Parameters),
			x.to(positionOf(px, e.Parameters[px.Name]), left, w-right),
			y.to(positionOf(py, e.Parameters[py.Name]), h-bottom, top))
	}
	return d.svg()
}

type tickAt struct {
	at    float64
	label string
}

// endsOf are the ticks of a parameter's axis.
func endsOf(par *definition.Parameter) (ticks []tickAt) {
	switch {
	case par.Categories != nil:
		for _, c := range par.Categories {
			ticks = append(ticks, tickAt{positionOf(par, definition.Category(c.Name)), format.Shorten(c.Name, 10)})
		}
	case par.Min != nil && par.Max != nil:
		for _, share := range []float64{0, 0.5, 1} {
			v := *par.Min + share*(*par.Max-*par.Min)
			ticks = append(ticks, tickAt{share, typeset(format.Rounded(v, 3))})
		}
	case len(par.Values) > 0:
		for _, v := range []float64{slices.Min(par.Values), slices.Max(par.Values)} {
			ticks = append(ticks, tickAt{positionOf(par, definition.Number(v)), typeset(format.Rounded(v, 3))})
		}
	}
	return ticks
}

// parallel draws each composition as a line through all parameters to its value.
func parallel(s *campaign.State, best string) template.HTML {
	def := s.Definition
	sought := def.Sought()
	all := drawn(s)
	if len(all) == 0 {
		return ""
	}
	const h, top, bottom = 300.0, 30.0, 22.0
	axes := len(def.Parameters)
	measures := def.Measures()
	if measures {
		axes++
	}
	w := max(360, float64(axes)*110)
	at := func(k int) float64 {
		if axes == 1 {
			return w / 2
		}
		return 40 + float64(k)/float64(axes-1)*(w-80)
	}
	d := newDrawing(w, h, "chart wide", "Each composition as a line through its parameters")
	for k := range def.Parameters {
		par := &def.Parameters[k]
		d.line("grid", at(k), top, at(k), h-bottom)
		d.text("axis", "middle", at(k), 12, format.Shorten(par.Name, 14))
		ticks := endsOf(par)
		if len(ticks) > 0 {
			d.text("tick", "middle", at(k), h-6, ticks[0].label)
			d.text("tick", "middle", at(k), 26, ticks[len(ticks)-1].label)
		}
	}
	values := spanOf(0, measuredValues(s)...)
	if measures {
		d.line("grid", at(axes-1), top, at(axes-1), h-bottom)
		d.text("axis", "middle", at(axes-1), 12, format.Shorten(sought.Name, 14))
		if len(measuredValues(s)) > 0 {
			d.text("tick", "middle", at(axes-1), h-6, typeset(format.Rounded(values.low, 3)))
			d.text("tick", "middle", at(axes-1), 26, typeset(format.Rounded(values.high, 3)))
		}
	}
	write := format.CompositionsOf(def)
	for _, e := range all {
		var xs, ys []float64
		for k, share := range positions(def, e.Parameters) {
			xs, ys = append(xs, at(k)), append(ys, h-bottom-share*(h-bottom-top))
		}
		title := e.ID + ": " + write.Line(e.Parameters)
		v := valueOf(s, e)
		if measures && !math.IsNaN(v) {
			xs, ys = append(xs, at(axes-1)), append(ys, values.to(v, h-bottom, top))
			title += ", " + format.ValueOf(sought, v)
		}
		class := fmt.Sprintf("thread %s tone%d", classOf(e, best), tone(v, values, sought))
		fmt.Fprintf(d, `<g class="%s" data-x="%s"><title>%s</title>`, class, esc(e.ID), esc(title))
		d.path("t", "", xs, ys)
		d.WriteString("</g>")
	}
	return d.svg()
}
