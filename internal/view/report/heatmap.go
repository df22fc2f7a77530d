package report

import (
	"fmt"
	"image"
	"slices"

	"github.com/campaignd/campaignd/internal/ground/format"
	"github.com/campaignd/campaignd/internal/view/diagnose"
	"github.com/campaignd/campaignd/internal/view/figure"
	"github.com/campaignd/campaignd/internal/view/plot"
)

// heat is the model over two parameters through the best composition. u and v
// run over the parameters' ranges, from 0 to 1; moving along one may move
// others, where a constraint makes them give way.
type heat struct {
	i, j     int               // indices of the parameters on the axes
	how      diagnose.Exchange // the parameters that make up for them under a sum
	n        int               // nodes along each side
	mean, sd [][]float64       // at node [row j][column i], in the objective's unit
	// inside reports whether a place on the axes, both in [0, 1], keeps bounds
	// and constraints; excluded whether it lies in an excluded region.
	inside, excluded func(u, v float64) bool
	// at is the point of the unit cube at a place; nil where it is not known.
	at   func(u, v float64) []float64
	best [2]float64 // in the user's units
}

// A posterior costs time quadratic in the number of measurements, a bilinear
// interpolation nothing: 41 × 41 nodes are enough for models as smooth as
// these, and an image of 246 pixels, six to a node, does not look blocky.
const (
	heatNodes  = 41 // posterior evaluations along each side,
	fewNodes   = 25 // and that many past manyAtNode measurements, where each takes long
	manyAtNode = 400
	heatPixels = 246 // pixels along each side, interpolated between nodes
)

// heatOf computes the model over the two parameters with the shortest lengthscales that can be
// varied independently; ok is false without such a pair. All other parameters keep the values of
// the best composition by the model, except where a constraint makes them give way.
//
// Pairs are tried in the order of relevance, so that the first independent pair is the most
// relevant one. In a mixture of two components neither moves without the other, and no map is
// drawn.
func heatOf(h *history) (out heat, ok bool, err error) {
	through := h.through()
	if h.model == nil || through == nil {
		return heat{}, false, nil
	}
	f := diagnose.NewFrame(h.def, h.core.Space())
	best, err := h.core.Space().Encode(through)
	if err != nil {
		return heat{}, false, err
	}
	lengthscales := f.Shortest(h.model.Fit.Lengthscales)
	var order []int
	for i := range h.def.Parameters {
		if f.Movable(i) {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch {
		case lengthscales[a] < lengthscales[b]:
			return -1
		case lengthscales[a] > lengthscales[b]:
			return 1
		}
		return 0
	})
	for a := range order {
		for b := range a {
			// The more relevant one on the horizontal axis.
			i, j := order[b], order[a]
			first, how, ok1 := f.Direction(best, i, j)
			second, _, ok2 := f.Direction(best, j, i)
			if ok1 && ok2 {
				return heatOver(h, f, best, i, j, how, first, second), true, nil
			}
		}
	}
	return heat{}, false, nil
}

// heatOver evaluates the model at the nodes of a grid over parameters i and j. best is a point of
// the encoded space; first and second are the directions in it that move i and j, each with the
// parameters that must give way. It costs a prediction a node, each quadratic in the number of
// observations.
func heatOver(
	h *history, f *diagnose.Frame, best []float64, i, j int, how diagnose.Exchange, first, second []float64,
) heat {
	out := heat{i: i, j: j, how: how, n: heatNodes, best: [2]float64{f.Value(i, best), f.Value(j, best)}}
	if len(h.model.Observations) > manyAtNode {
		out.n = fewNodes
	}
	out.at = func(u, v float64) []float64 {
		return diagnose.Along(diagnose.Along(best, first, u-best[f.Coordinate(i)]), second,
			v-best[f.Coordinate(j)])
	}
	out.inside = func(u, v float64) bool { return f.Feasible(out.at(u, v)) }
	out.excluded = func(float64, float64) bool { return false }
	if h.barred() {
		out.excluded = func(u, v float64) bool {
			_, ok := h.core.Space().Excluded(h.core.Space().Decode(out.at(u, v)))
			return ok
		}
	}
	var sds []float64
	out.mean = out.grid(func(x []float64) float64 {
		p := h.model.PredictAt(x)
		sds = append(sds, p.SD)
		return p.Mean
	})
	for row := range slices.Chunk(sds, out.n) {
		out.sd = append(out.sd, row)
	}
	return out
}

// grid evaluates something at the nodes.
func (m *heat) grid(of func(x []float64) float64) (values [][]float64) {
	for r := range m.n {
		row := make([]float64, m.n)
		for c := range row {
			row[c] = of(m.at(float64(c)/float64(m.n-1), float64(r)/float64(m.n-1)))
		}
		values = append(values, row)
	}
	return values
}

// figureHeat draws the posterior mean and its standard deviation over the two most relevant
// parameters.
//
// The caption names the limits of the plane: how the other parameters move with these two, and that
// the circles are projections.
func figureHeat(h *history, m heat) ([]Figure, string) {
	f := diagnose.NewFrame(h.def, h.core.Space())
	figures := figuresOver(h, m, "heat", func() *figure.Chart { return heatAxes(h, f, m) },
		func(c *figure.Chart) { heatPoints(h, c, f, m) })
	caption := fmt.Sprintf("The model over %s and %s, the two parameters to which it is most sensitive, "+
		"through the %s (star). Left: posterior mean, darker is better. "+
		"Right: its standard deviation, darker is less sure. "+
		"Circles are measurements, whatever their other parameters.",
		h.def.Parameters[m.i].Name, h.def.Parameters[m.j].Name, h.middle())
	switch m.how {
	case diagnose.Proportionally:
		caption += " The remaining components make up the sum in the ratio they have in the " + h.middle() + "."
	case diagnose.Least:
		caption += " The other parameters move as little as the equality constraints allow."
	}
	if h.barred() {
		caption += " Striped: excluded regions."
	}
	caption += " Blank: not allowed by bounds or constraints."
	return figures, caption
}

// heatAxes makes an empty chart over the two parameters.
func heatAxes(h *history, f *diagnose.Frame, m heat) *figure.Chart {
	p, q := h.def.Parameters[m.i], h.def.Parameters[m.j]
	c := h.target.Chart(380, 300, format.Heading(p.Name, p.Unit), format.Heading(q.Name, q.Unit))
	c.X.Min, c.X.Max = f.Low(m.i), f.Low(m.i)+f.Range(m.i)
	c.Y.Min, c.Y.Max = f.Low(m.j), f.Low(m.j)+f.Range(m.j)
	return c
}

// figuresMaps draws the predictions of the models of several quantities over the same two
// parameters, except the quantity that has its map already.
func figuresMaps(h *history, m heat, layers []layer) (figures []Figure) {
	f := diagnose.NewFrame(h.def, h.core.Space())
	for _, l := range layers {
		if l.id == h.sought.Name {
			continue
		}
		values := m.grid(l.at)
		c := heatAxes(h, f, m)
		bands := l.bands(m.shown(values))
		c.Add(plot.Picture{
			Image: imageOf(bands, m, values),
			From:  plot.XY{X: c.X.Min, Y: c.Y.Min}, To: plot.XY{X: c.X.Max, Y: c.Y.Max},
		})
		heatPoints(h, c, f, m)
		c.Right, c.After = figure.KeyWidth, bands.Key(l.unit)
		figures = append(figures, Figure{ID: "map-" + l.id, Title: l.title, SVG: c.SVG(l.title), Caption: l.dark})
	}
	return figures
}

// figuresOver draws the posterior mean and its standard deviation over two
// parameters: each on axes of its own, with marks on top. axes makes an empty
// chart with its limits set; id is the prefix of the figures' identifiers. The
// plane of a choice (choices.go) and the map of the model share it; axes is a
// function, because each of the two figures needs a chart of its own.
func figuresOver(
	h *history, m heat, id string, axes func() *figure.Chart, marks func(*figure.Chart),
) (figures []Figure) {
	deviation := format.Heading("Standard deviation of that", h.sought.Unit)
	for _, of := range []struct {
		id, title  string
		scheme     figure.Scheme
		darkIsHigh bool
		values     [][]float64
	}{
		{"-mean", "Expected " + format.HeadingOf(h.sought), figure.Values, h.sought.Better(1, 0), m.mean},
		{"-sd", deviation, figure.Deviations, true, m.sd},
	} {
		c := axes()
		bands := figure.NewBands(m.shown(of.values), of.scheme, of.darkIsHigh)
		c.Add(plot.Picture{
			Image: imageOf(bands, m, of.values),
			From:  plot.XY{X: c.X.Min, Y: c.Y.Min}, To: plot.XY{X: c.X.Max, Y: c.Y.Max},
		})
		marks(c)
		c.Right = figure.KeyWidth
		c.After = bands.Key(h.sought.Unit)
		figures = append(figures, Figure{ID: id + of.id, Title: of.title, SVG: c.SVG(of.title)})
	}
	return figures
}

// heatPoints draws the measurements, and the best composition on top of them.
// Measurements are projected onto the plane, wherever they lie in the other
// parameters. With more than 200 they have no tooltips, which would be most of
// the page's bytes.
func heatPoints(h *history, c *figure.Chart, f *diagnose.Frame, m heat) {
	var points plot.XYs
	for k, x := range h.model.X {
		p := plot.XY{X: f.Value(m.i, x), Y: f.Value(m.j, x)}
		points = append(points, p)
		if e := h.state.Experiment(h.model.Observations[k].Experiment); e != nil && len(h.model.X) <= 200 {
			c.Spot(p.X, p.Y, h.spotText(e), e.ID)
		}
	}
	n := len(points)
	c.Points(points, figure.Hollow(figure.Ink, crowded(2.4, n), crowded(1.1, n)))
	c.Points(plot.XYs{{X: m.best[0], Y: m.best[1]}}, figure.Star)
}

// shown are the values of a map that set its levels: those that are allowed.
// Beyond them the model reaches values that cannot be measured, and the allowed
// ones would share one color.
func (m *heat) shown(values [][]float64) (shown []float64) {
	for r, row := range values {
		for c, v := range row {
			if m.inside(float64(c)/float64(m.n-1), float64(r)/float64(m.n-1)) {
				shown = append(shown, v)
			}
		}
	}
	return shown
}

// imageOf paints the values, interpolated between the nodes, and leaves out forbidden compositions.
func imageOf(b figure.Bands, m heat, values [][]float64) image.Image {
	const hatch = 8 // pixels from one stripe over an excluded region to the next
	return b.Image(heatPixels, heatPixels, func(x, y int) (float64, bool) {
		u, v := (float64(x)+0.5)/heatPixels, 1-(float64(y)+0.5)/heatPixels
		// Stripes let the model show between them: an exclusion is a person's,
		// and says nothing about the model.
		if !m.inside(u, v) || (x+y)%hatch < 2 && m.excluded(u, v) {
			return 0, false
		}
		return bilinear(values, u*float64(m.n-1), v*float64(m.n-1)), true
	})
}

// bilinear interpolates between nodes: a posterior at each pixel would cost far
// more. x and y are in nodes. The last node belongs to the cell before it, so
// that no index is beyond the grid.
func bilinear(values [][]float64, x, y float64) float64 {
	c, r := min(int(x), len(values[0])-2), min(int(y), len(values)-2)
	wx, wy := x-float64(c), y-float64(r)
	return (1-wy)*((1-wx)*values[r][c]+wx*values[r][c+1]) + wy*((1-wx)*values[r+1][c]+wx*values[r+1][c+1])
}
