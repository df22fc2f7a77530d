package report

import (
	"fmt"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/diagnose"
)

// slice is the model along one parameter through the best composition.
type slice struct {
	parameter int
	how       diagnose.Exchange
	// x are values of the parameter in its unit (for categories 0, 1, …), mean
	// and sd the posterior there in the objective's unit, excluded whether
	// nothing may be suggested there.
	x, mean, sd []float64
	excluded    []bool
	// points are the measurements, projected on the parameter.
	points []projected
	best   float64 // the best composition's value
}

// projected is a measurement seen along one parameter.
type projected struct {
	experiment string
	x, y       float64
	near       float64 // prior correlation with the slice beside it: 1 on the slice
}

// samples is the number of points of a slice.
const samples = 61

// slices computes the model along every parameter that can be varied.
func (h *history) slices() ([]slice, error) {
	if h.model == nil || h.summary.Best == nil {
		return nil, nil
	}
	f := diagnose.NewFrame(h.def, h.core.Space())
	best, err := h.core.Space().Encode(h.summary.Best.Parameters)
	if err != nil {
		return nil, err
	}
	var out []slice
	for i, p := range h.def.Parameters {
		if len(p.Categories) > 0 {
			s, err := h.categorySlice(f, best, i)
			if err != nil {
				return nil, err
			}
			out = append(out, s)
			continue
		}
		dir, how, ok := f.Direction(best, i)
		if !ok {
			continue
		}
		from, to := f.Reach(best, dir)
		if !(to > from) {
			continue
		}
		s := slice{parameter: i, how: how, best: f.Value(i, best)}
		for k := range samples {
			t := from + (to-from)*float64(k)/(samples-1)
			s.sample(h, f, diagnose.Along(best, dir, t), i)
		}
		for k, x := range h.model.X {
			t := min(max(x[f.Coordinate(i)]-best[f.Coordinate(i)], from), to)
			o := h.model.Observations[k]
			s.points = append(s.points, projected{o.Experiment, f.Value(i, x), o.Value, h.correlation(x, diagnose.Along(best, dir, t))})
		}
		out = append(out, s)
	}
	return out, nil
}

// sample adds the posterior at a point of the unit cube.
func (s *slice) sample(h *history, f *diagnose.Frame, x []float64, parameter int) {
	p := h.model.PredictAt(x)
	s.x, s.mean, s.sd = append(s.x, f.Value(parameter, x)), append(s.mean, p.Mean), append(s.sd, p.SD)
	_, excluded := h.core.Space().Excluded(h.core.Space().Decode(x))
	s.excluded = append(s.excluded, excluded)
}

// categorySlice exchanges one category for each other.
func (h *history) categorySlice(f *diagnose.Frame, best []float64, i int) (slice, error) {
	s := slice{parameter: i}
	p := h.def.Parameters[i]
	place := map[string]int{}
	codes := make([][]float64, len(p.Categories))
	for k, c := range p.Categories {
		place[c.Name] = k
		point := events.Point{}
		for name, v := range h.summary.Best.Parameters {
			point[name] = v
		}
		point[p.Name] = events.Category(c.Name)
		x, err := h.core.Space().Encode(point)
		if err != nil {
			return s, err
		}
		codes[k] = x
		prediction := h.model.PredictAt(x)
		s.x, s.mean, s.sd = append(s.x, float64(k)), append(s.mean, prediction.Mean), append(s.sd, prediction.SD)
		_, excluded := h.core.Space().Excluded(point)
		s.excluded = append(s.excluded, excluded)
	}
	s.best = float64(place[h.summary.Best.Parameters[p.Name].Name()])
	for k, o := range h.model.Observations {
		c := place[o.Point[p.Name].Name()]
		s.points = append(s.points, projected{o.Experiment, float64(c), o.Value, h.correlation(h.model.X[k], codes[c])})
	}
	return s, nil
}

// correlation is the prior correlation of the objective at two points.
func (h *history) correlation(x, y []float64) float64 {
	k := h.model.Kernel()
	return k.Eval(x, y) / k.OutputScale()
}

// figureSlices draws the slices, all on one scale.
func (h *history) figureSlices() ([]figure, string, error) {
	all, err := h.slices()
	if err != nil || len(all) == 0 {
		return nil, "", err
	}
	var values []float64
	var used [3]bool
	for _, s := range all {
		used[s.how] = used[s.how] || len(h.def.Parameters[s.parameter].Categories) == 0
		for k := range s.x {
			values = append(values, s.mean[k]-s.sd[k], s.mean[k]+s.sd[k])
		}
		for _, p := range s.points {
			values = append(values, p.y)
		}
	}
	width, height := vg.Length(252), vg.Length(200)
	if inPairs(len(all)) {
		width, height = 380, 240
	}
	var figures []figure
	for _, s := range all {
		p := h.def.Parameters[s.parameter]
		c := newChart(width, height, withUnit(p.Name, p.Unit), withUnit(h.def.Objective.Name, h.def.Objective.Unit))
		c.X.Tick.Marker, c.Y.Tick.Marker = ticks{want: 5}, ticks{want: 5}
		limits(&c.Y, 0.05, values...)
		if len(p.Categories) > 0 {
			h.drawCategories(c, s)
		} else {
			h.drawSlice(c, s)
		}
		name := p.Name
		if p.Description != "" {
			name += ": " + p.Description
		}
		figures = append(figures, figure{ID: fmt.Sprintf("slice-%d", s.parameter+1), Title: name, SVG: c.svg("Model along " + p.Name)})
	}
	caption := "Posterior mean (blue) ± 1 sd (band), without noise, along each parameter through the best composition (dashed line). " +
		"Circles are measurements seen along the same parameter: the fainter, the farther they lie from the slice (by the model's own correlation). All on one scale."
	if used[diagnose.Proportionally] {
		caption += " Where parameters must sum to a constant, the one on the axis is exchanged against the others in the ratio they have in the best composition, as far as the constraints allow."
	}
	if used[diagnose.Least] {
		caption += " Under several equality constraints the other parameters move as little as those allow."
	}
	if len(h.def.Excluded) > 0 {
		caption += " Shaded: excluded regions."
	}
	return figures, caption, nil
}

// inPairs reports whether n figures fill rows of two better than rows of three.
func inPairs(n int) bool { return n <= 2 || n == 4 }

// drawPoints draws the measurements of a slice in three depths.
func (c *chart) drawPoints(h *history, s slice) {
	for depth, opacity := range []float64{0.22, 0.5, 1} {
		var points plotter.XYs
		for _, p := range s.points {
			if d := min(2, int(p.near*3)); d == depth {
				points = append(points, plotter.XY{X: p.x, Y: p.y})
			}
		}
		c.points(points, draw.GlyphStyle{Color: faded(ink, opacity), Radius: crowded(2.4, len(s.points)), Shape: solid{edge: white, width: crowded(0.6, len(s.points))}})
	}
	for _, p := range s.points {
		if x := h.state.Experiment(p.experiment); x != nil && len(s.points) <= 200 {
			c.spots = append(c.spots, spot{x: p.x, y: p.y, text: h.spotText(x), href: x.ID})
		}
	}
}

func (h *history) drawSlice(c *chart, s slice) {
	limits(&c.X, 0.02, append([]float64{s.x[0], s.x[len(s.x)-1]}, xOf(s.points)...)...)
	for k := range s.excluded {
		if s.excluded[k] {
			half := (s.x[len(s.x)-1] - s.x[0]) / (samples - 1) / 2
			c.shade(s.x[k]-half, s.x[k]+half)
		}
	}
	lower, upper := make([]float64, len(s.x)), make([]float64, len(s.x))
	for k := range s.x {
		lower[k], upper[k] = s.mean[k]-s.sd[k], s.mean[k]+s.sd[k]
	}
	c.band(s.x, lower, upper, faded(sky, 0.28))
	c.line(plotter.XYs{{X: s.best, Y: c.Y.Min}, {X: s.best, Y: c.Y.Max}}, muted, 0.8, 3, 3)
	if len(s.points) > manyPoints {
		c.drawPoints(h, s)
	}
	c.line(xys(s.x, s.mean), blue, 2)
	if len(s.points) <= manyPoints {
		c.drawPoints(h, s)
	}
	// The allowed values of a discrete parameter.
	var allowed plotter.XYs
	for _, v := range h.def.Parameters[s.parameter].Values {
		if v >= s.x[0]-1e-9 && v <= s.x[len(s.x)-1]+1e-9 {
			allowed = append(allowed, plotter.XY{X: v, Y: interpolate(s.x, s.mean, v)})
		}
	}
	c.points(allowed, draw.GlyphStyle{Color: white, Radius: 2.6, Shape: solid{edge: blue, width: 1.4}})
}

func (h *history) drawCategories(c *chart, s slice) {
	c.X.Min, c.X.Max = -0.6, float64(len(s.x))-0.4
	var labels []plot.Tick
	for k, category := range h.def.Parameters[s.parameter].Categories {
		labels = append(labels, plot.Tick{Value: float64(k), Label: shorten(category.Name, max(4, 36/len(s.x)))})
		if s.excluded[k] {
			c.shade(float64(k)-0.4, float64(k)+0.4)
		}
	}
	c.X.Tick.Marker = plot.ConstantTicks(labels)
	for k, x := range s.x {
		c.band([]float64{x - 0.25, x + 0.25}, []float64{s.mean[k] - s.sd[k], s.mean[k] - s.sd[k]}, []float64{s.mean[k] + s.sd[k], s.mean[k] + s.sd[k]}, faded(sky, 0.35))
		c.line(plotter.XYs{{X: x - 0.25, Y: s.mean[k]}, {X: x + 0.25, Y: s.mean[k]}}, blue, 2)
	}
	c.line(plotter.XYs{{X: s.best, Y: c.Y.Min}, {X: s.best, Y: c.Y.Max}}, muted, 0.8, 3, 3)
	c.drawPoints(h, s)
}

func xOf(points []projected) []float64 {
	x := make([]float64, len(points))
	for i, p := range points {
		x[i] = p.x
	}
	return x
}

// interpolate returns y at v between the points (x, y), x ascending.
func interpolate(x, y []float64, v float64) float64 {
	for k := 1; k < len(x); k++ {
		if v <= x[k] {
			w := (v - x[k-1]) / (x[k] - x[k-1])
			return y[k-1] + math.Max(0, w)*(y[k]-y[k-1])
		}
	}
	return y[len(y)-1]
}

// shorten cuts a text to n characters.
func shorten(text string, n int) string {
	if r := []rune(text); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return text
}
