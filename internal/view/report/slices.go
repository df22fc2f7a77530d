package report

import (
	"fmt"
	"math"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/ground/format"
	"github.com/campaignd/campaignd/internal/view/diagnose"
	"github.com/campaignd/campaignd/internal/view/figure"
	"github.com/campaignd/campaignd/internal/view/plot"
)

// slices computes the objective's model along every parameter that can be varied, through the
// composition to go by; empty without a model.
func (h *history) slices() ([]diagnose.Slice, error) {
	best := h.through()
	if h.model == nil || best == nil {
		return nil, nil
	}
	return diagnose.Slices(h.def, h.core.Space(), h.model, best)
}

// through is the composition that slices and maps go through: the best by the model, the compromise
// of a trade-off, or the preferred one; nil where none is known.
func (h *history) through() definition.Point {
	switch {
	case h.summary.BestByModel != nil:
		return h.summary.BestByModel.Parameters
	case len(h.summary.Ranking) > 0:
		return h.summary.Ranking[0].Parameters
	case h.summary.Tradeoff != nil && h.summary.Tradeoff.Compromise != nil:
		return h.summary.Tradeoff.Compromise.Parameters
	}
	return nil
}

// figureSlices draws the slices of the objective, and writes the caption for all of them.
func figureSlices(h *history) ([]Figure, string, error) {
	all, err := h.slices()
	if err != nil || len(all) == 0 {
		return nil, "", err
	}
	return drawSlices(h, all, h.sought, "slice"), slicesCaption(h, all), nil
}

// drawSlices draws slices of one quantity, all on one scale so that their heights
// can be compared. id is the prefix of the figures' identifiers.
//
// The common scale covers the measurements as well as the bands.
func drawSlices(h *history, all []diagnose.Slice, of definition.Objective, id string) (figures []Figure) {
	var values []float64
	for _, s := range all {
		for k := range s.X {
			values = append(values, s.Mean[k]-s.SD[k], s.Mean[k]+s.SD[k])
		}
		for _, p := range s.Points {
			values = append(values, p.Value)
		}
	}
	for _, s := range all {
		p := h.def.Parameters[s.Index]
		c := h.small(len(all), format.Heading(p.Name, p.Unit), format.HeadingOf(of))
		figure.Limits(&c.Y, 0.05, values...)
		if len(p.Categories) > 0 {
			drawCategories(h, c, s)
		} else {
			drawSlice(h, c, s)
		}
		name := p.Name
		if p.Description != "" {
			name += ": " + p.Description
		}
		figures = append(figures, Figure{
			ID:    fmt.Sprintf("%s-%d", id, s.Index+1),
			Title: name,
			SVG:   c.SVG("Model along " + p.Name),
		})
	}
	return figures
}

// slicesCaption explains the slices.
func slicesCaption(h *history, all []diagnose.Slice) string {
	var used [3]bool
	for _, s := range all {
		used[s.Exchange] = used[s.Exchange] || len(h.def.Parameters[s.Index].Categories) == 0
	}
	caption := "Posterior mean (blue) ± 1 sd (band), without noise, " +
		"along each parameter through the " + h.middle() + " (dashed line). " +
		"Circles are measurements seen along the same parameter: " +
		"the fainter, the farther they lie from the slice (by the model's own correlation). All on one scale."
	if used[diagnose.Proportionally] {
		caption += " Where parameters must sum to a constant, " +
			"the one on the axis is exchanged against the others in the ratio they have in the " + h.middle() + ", " +
			"as far as the constraints allow."
	}
	if used[diagnose.Least] {
		caption += " Under several equality constraints the other parameters move as little as those allow."
	}
	if h.barred() {
		caption += " Shaded: excluded regions."
	}
	return caption
}

// inPairs reports whether n figures fill rows of two better than rows of three.
// The template picks a class of the style sheet by it.
func inPairs(n int) bool { return n <= 2 || n == 4 }

// small returns one of n charts along parameters, which stand in rows of two or
// three; fewer charts are drawn larger.
func (h *history) small(n int, xTitle, yTitle string) *figure.Chart {
	c := h.target.Chart(252, 200, xTitle, yTitle)
	if inPairs(n) {
		c.Width, c.Height = 380, 240
	}
	c.X.Tick.Marker, c.Y.Tick.Marker = figure.Ticks{Want: 5}, figure.Ticks{Want: 5}
	return c
}

// drawPoints draws the measurements of a slice in three opacities.
func drawPoints(h *history, c *figure.Chart, s diagnose.Slice) {
	// A point far from the slice in the other parameters says little about it, and is faint. The
	// eye distinguishes no more than three steps; the nearest come last, on top.
	for depth, opacity := range []float64{0.22, 0.5, 1} {
		var points plot.XYs
		for _, p := range s.Points {
			if d := min(2, int(p.Near*3)); d == depth {
				points = append(points, plot.XY{X: p.X, Y: p.Value})
			}
		}
		style := figure.Filled(figure.Faded(figure.Ink, opacity), crowded(2.4, len(s.Points)), 0)
		style.Shape = figure.Solid{Edge: figure.Paper, Width: crowded(0.6, len(s.Points))}
		c.Points(points, style)
	}
	for _, p := range s.Points {
		if x := h.state.Experiment(p.Experiment); x != nil && len(s.Points) <= 200 {
			c.Spot(p.X, p.Value, h.spotText(x), x.ID)
		}
	}
}

// drawSlice draws the model along a numeric parameter: the band of ± 1 sd, the
// mean, the measurements, and the excluded part of the range. The horizontal
// axis covers the samples and the measurements: an amendment may have narrowed a
// range that was measured outside it.
func drawSlice(h *history, c *figure.Chart, s diagnose.Slice) {
	figure.Limits(&c.X, 0.02, append([]float64{s.X[0], s.X[len(s.X)-1]}, xOf(s.Points)...)...)
	for k := range s.Excluded {
		if s.Excluded[k] {
			// A sample stands for the segment around it, so that segments
			// join.
			half := (s.X[len(s.X)-1] - s.X[0]) / float64(len(s.X)-1) / 2
			c.Shade(s.X[k]-half, s.X[k]+half)
		}
	}
	lower, upper := make([]float64, len(s.X)), make([]float64, len(s.X))
	for k := range s.X {
		lower[k], upper[k] = s.Mean[k]-s.SD[k], s.Mean[k]+s.SD[k]
	}
	c.Band(s.X, lower, upper, figure.Faded(figure.Sky, 0.28))
	c.Upright(s.Best, figure.Muted, 0.8, 3, 3)
	// A crowd of points is drawn under the curve, a few on top of it, as in the
	// figure of convergence.
	if len(s.Points) > manyPoints {
		drawPoints(h, c, s)
	}
	c.Line(xys(s.X, s.Mean), figure.Blue, 2)
	if len(s.Points) <= manyPoints {
		drawPoints(h, c, s)
	}
	// The allowed values of a discrete parameter.
	var allowed plot.XYs
	for _, v := range h.def.Parameters[s.Index].Values {
		if v >= s.X[0]-1e-9 && v <= s.X[len(s.X)-1]+1e-9 {
			allowed = append(allowed, plot.XY{X: v, Y: interpolate(s.X, s.Mean, v)})
		}
	}
	c.Points(allowed, figure.Hollow(figure.Blue, 2.6, 1.4))
}

// drawCategories draws the model at each category: nothing lies between them, so that they are not
// joined by a line. Categories stand at 0, 1, 2, … in the definition's order; names are shortened
// so that neighbors do not overlap.
func drawCategories(h *history, c *figure.Chart, s diagnose.Slice) {
	c.X.Min, c.X.Max = -0.6, float64(len(s.X))-0.4
	var labels []plot.Tick
	for k, category := range h.def.Parameters[s.Index].Categories {
		labels = append(labels, plot.Tick{Value: float64(k),
			Label: format.Shorten(category.Name, max(4, 36/len(s.X)))})
		if s.Excluded[k] {
			c.Shade(float64(k)-0.4, float64(k)+0.4)
		}
	}
	c.X.Tick.Marker = plot.ConstantTicks(labels)
	for k, x := range s.X {
		c.Band([]float64{x - 0.25, x + 0.25}, []float64{s.Mean[k] - s.SD[k], s.Mean[k] - s.SD[k]},
			[]float64{s.Mean[k] + s.SD[k], s.Mean[k] + s.SD[k]}, figure.Faded(figure.Sky, 0.35))
		c.Line(plot.XYs{{X: x - 0.25, Y: s.Mean[k]}, {X: x + 0.25, Y: s.Mean[k]}}, figure.Blue, 2)
	}
	c.Upright(s.Best, figure.Muted, 0.8, 3, 3)
	drawPoints(h, c, s)
}

// xOf returns the places of the points on the axis.
func xOf(points []diagnose.Seen) []float64 {
	x := make([]float64, len(points))
	for i, p := range points {
		x[i] = p.X
	}
	return x
}

// interpolate returns y at v between the points (x, y), x ascending. Beyond
// their ends it is the value at the end. It places a discrete parameter's values
// on the curve, which was sampled at other places.
func interpolate(x, y []float64, v float64) float64 {
	for k := 1; k < len(x); k++ {
		if v <= x[k] {
			w := (v - x[k-1]) / (x[k] - x[k-1])
			return y[k-1] + math.Max(0, w)*(y[k]-y[k-1])
		}
	}
	return y[len(y)-1]
}
