package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/ground/format"
	"github.com/campaignd/campaignd/internal/view/figure"
	"github.com/campaignd/campaignd/internal/view/plot"
	"github.com/campaignd/campaignd/projections/campaign"
)

// result is one experiment as the convergence curve shows it. The convergence
// figure, its caption and the gain in the summary all read the same list, so
// that they cannot contradict each other.
type result struct {
	number     int // from 1
	class      class
	value      float64 // NaN where no value exists
	experiment *campaign.Experiment
}

// convergence is the course of a campaign, as the convergence figure draws it.
// It is data without a drawing, so that tests and the summary can look at it.
type convergence struct {
	results []result
	// best has, for each number of experiments, the best value measured so far;
	// NaN before the first (see [campaign.BestSoFar]).
	best []float64
	// posterior is the best posterior mean after each fit.
	posterior []progress
	// bounded is set under constraints on outcomes.
	bounded bool
}

// converge computes the course. Only measurements that count, and are not known to break a
// constraint on outcomes, enter the best so far; all that have a value are drawn. Its results are
// in the order of requests, the order of experiments' numbers; with several under way it is not the
// order in which they ended.
func (h *history) converge() convergence {
	c := convergence{posterior: h.progress, bounded: len(h.def.ConstraintsOnOutcomes) > 0}
	for i := range h.state.Experiments {
		x := &h.state.Experiments[i]
		r := result{number: i + 1, class: h.class(x), value: math.NaN(), experiment: x}
		if value, ok := h.state.Value(x); ok && !x.Reference() {
			r.value = value.Value
		}
		c.results = append(c.results, r)
	}
	judged := h.state.Judged()
	c.best = campaign.ValuesAt(campaign.BestSoFar(judged, h.sought), judged)
	return c
}

// spans are the fits between gaps of the curve of the posterior.
func (c *convergence) spans() (all [][]progress) {
	for i, p := range c.posterior {
		switch {
		case p.doubtful:
		case i == 0 || c.posterior[i-1].doubtful:
			all = append(all, []progress{p})
		default:
			all[len(all)-1] = append(all[len(all)-1], p)
		}
	}
	return all
}

// believed is the end of the curve of the posterior; ok is false where it does not come to
// the last fit.
func (c *convergence) believed() (p progress, ok bool) {
	if n := len(c.posterior); n > 0 {
		p = c.posterior[n-1]
		ok = !p.doubtful
	}
	return p, ok
}

// manyPoints is the number above which points are drawn under the curves. It was
// chosen by eye, as the limits in [crowded] were.
const manyPoints = 120

// figureConvergence draws the course of the campaign; empty where nothing was
// measured or failed.
//
// The order of the calls on the chart is the order from back to front: the
// shaded design, the band of the model, then points and curves.
func figureConvergence(h *history) []Figure {
	course := h.converge()
	var values []float64
	for _, r := range course.results {
		if !math.IsNaN(r.value) {
			values = append(values, r.value)
		}
	}
	if len(values) == 0 {
		return nil
	}
	c := h.target.Chart(780, 340, "experiment, in order of request", format.HeadingOf(h.sought))
	n := len(course.results)
	spans := course.spans()
	limits := slices.Clone(values)
	for _, p := range slices.Concat(spans...) {
		limits = append(limits, p.mean-p.sd, p.mean+p.sd)
	}
	// The limits cover the band as well as the points, so that nothing is cut off.
	figure.Limits(&c.Y, 0.06, limits...)
	// A campaign of one experiment is not drawn as wide as one of a hundred.
	c.X.Min, c.X.Max = 0.5, max(float64(n)+0.5, 3.5)
	c.X.Tick.Marker = figure.Ticks{Want: 12, Whole: true}

	// What no policy chose is set apart: nothing can be read from it about the
	// policy.
	if design := leading(course.results); design > 0 && design < n {
		c.Shade(0.5, float64(design)+0.5)
	}
	for _, span := range spans {
		var at, lower, upper []float64
		for _, p := range span {
			at = append(at, float64(p.experiments))
			lower = append(lower, p.mean-p.sd)
			upper = append(upper, p.mean+p.sd)
		}
		c.Band(at, lower, upper, figure.Faded(figure.Green, 0.14))
	}
	curves := func() {
		c.Line(figure.Steps(course.best), figure.Ink, 1.5)
		for _, span := range spans {
			var means plot.XYs
			for _, p := range span {
				means = append(means, plot.XY{X: float64(p.experiments), Y: p.mean})
			}
			c.Line(means, figure.Green, 2)
			c.Discs(means[len(means)-1:], figure.Green, 2.6) // visible even where it is the only point
		}
	}
	// A few points lie on the curves, which they explain; a crowd would hide
	// them.
	if n <= manyPoints {
		curves()
	}
	legend := drawResults(h, c, course.results)
	if n > manyPoints {
		curves()
	}
	if last := course.best[n-1]; !math.IsNaN(last) {
		c.End(last, "best measured\n"+h.value(last), figure.Ink)
	}
	if p, ok := course.believed(); ok {
		m, s := format.MeanSD(p.mean, p.sd)
		c.End(p.mean, fmt.Sprintf("best posterior\nmean %s ± %s", figure.Typeset(m), s), figure.Green)
	}
	return []Figure{{
		ID:      "convergence",
		Wide:    true,
		SVG:     c.SVG("Convergence: every measurement, the best so far, and the best posterior mean"),
		Legend:  legend,
		Caption: convergenceCaption(h, course, len(values)),
	}}
}

// drawResults draws a point for each experiment, and returns the legend of
// their classes. Experiments that failed have no value and stand at the lower
// edge. Classes are drawn in order, so that failures come last, on top. Each
// point has a tooltip and a link to its row of the table, also where it is too
// small to be seen apart.
func drawResults(h *history, c *figure.Chart, results []result) (legend []Symbol) {
	radius := crowded(3.6, len(results))
	for k := range classes {
		var points plot.XYs
		for _, r := range results {
			y := r.value
			if math.IsNaN(y) && k == classFailed {
				y = c.Y.Min
			}
			if r.class != k || math.IsNaN(y) {
				continue
			}
			points = append(points, plot.XY{X: float64(r.number), Y: y})
			c.Spot(float64(r.number), y, h.spotText(r.experiment), r.experiment.ID)
		}
		c.Points(points, k.glyph(radius))
		legend = append(legend, h.counted(k.glyph(3.6), classNames[k], points)...)
	}
	return legend
}

// convergenceCaption describes the drawing of a course with this number of values. The stepped line
// is called by its color where the page's palette has a word for it; on a page with a dark and a
// light palette no word is true of both.
func convergenceCaption(h *history, course convergence, values int) string {
	steps := "The stepped line"
	if word, ok := h.target.Palette.Word(figure.Ink); ok {
		steps = strings.ToUpper(word[:1]) + word[1:]
	}
	caption := "Each symbol is one experiment. " + steps +
		": the best value measured so far, noise included"
	none := !slices.ContainsFunc(course.best, func(v float64) bool { return !math.IsNaN(v) })
	switch {
	case course.bounded && none:
		caption += "; there is none, since nothing that was measured keeps the constraints on outcomes. "
	case course.bounded:
		caption += ", of what keeps the constraints on outcomes as far as is known; it begins with the first that does. "
	default:
		caption += ". "
	}
	if len(course.posterior) > 0 {
		caption += "Green: the posterior mean ± 1 sd of the model, without noise, " +
			"at the composition that was best by posterior mean at the time."
		if course.bounded {
			caption += " It is of those that keep the constraints with their confidence, and missing where none did."
		}
		if values > everyFit {
			caption += fmt.Sprintf(" It is drawn for every fit up to %d measurements, "+
				"then for every tenth part more.",
				everyFit)
		}
	}
	failed := func(r result) bool { return r.class == classFailed }
	if slices.ContainsFunc(course.results, failed) {
		caption += " Failed experiments stand at the lower edge."
	}
	return caption
}

// leading counts the experiments of the initial design, and imported ones and references, at
// the beginning. Both are known before the policy's first choice. The first
// experiment of another origin ends them, also one that a person ran in between.
func leading(results []result) int {
	for i, r := range results {
		if o := r.experiment.Origin; o != events.OriginInitial && o != events.OriginImport &&
			o != events.OriginReference {
			return i
		}
	}
	return len(results)
}

// spotText is the tooltip of an experiment: its value or status, and the
// composition that was made, which may differ from the one asked for.
func (h *history) spotText(x *campaign.Experiment) string {
	text := x.ID + ": "
	point := x.Parameters
	value, ok := h.state.Value(x)
	switch {
	case h.def.Several() && x.Measurement != nil:
		text += h.quantitiesText(x)
		point = x.Measurement.Actual
	case ok:
		text += h.value(value.Value) + " " + h.sought.Unit
		point = x.Measurement.Actual
	default:
		text += string(x.Status)
	}
	return text + "\n" + h.format.LineWithUnits(point)
}

// value writes a value of the objective.
func (h *history) value(v float64) string { return figure.Typeset(format.Fixed(v, h.places)) }

// decimals is the number of decimals that measured values are written with, so
// that neighbors can be distinguished over the range that was measured. It is
// worked out once, in read, so that all tables and figures of a report agree.
func (h *history) decimals() int {
	low, high := math.Inf(1), math.Inf(-1)
	for i := range h.state.Experiments {
		if v, ok := h.state.Value(&h.state.Experiments[i]); ok {
			low, high = min(low, v.Value), max(high, v.Value)
		}
	}
	if low == high { // equal values differ in nothing: their size says how precise they are
		return format.DecimalsOver(math.Abs(low))
	}
	return format.DecimalsOver(high - low)
}

// xys pairs coordinates; both have the same length.
func xys(x, y []float64) plot.XYs {
	points := make(plot.XYs, len(x))
	for i := range x {
		points[i] = plot.XY{X: x[i], Y: y[i]}
	}
	return points
}
