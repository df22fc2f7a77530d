package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg/draw"

	"github.com/campaignd/campaignd/internal/diagnose"
)

// leaveOneOut is the model's check of itself: each composition predicted from
// all others, at the same hyperparameters.
type leaveOneOut struct {
	rows []leftOut
	// r2 is 1 − Σ(measured − predicted)² / Σ(measured − mean measured)²; NaN
	// where all measured values are equal.
	r2 float64
	// within counts the rows whose measured value lies within 1 and 2 standard
	// deviations (noise included) of the prediction.
	within [2]int
}

// leftOut is one composition, in the objective's unit; measured is the mean of
// its replicates and sd includes the noise.
type leftOut struct {
	experiments        []string
	measured, mean, sd float64
}

// leaveOneOut computes the check; nil for fewer than three compositions.
func (h *history) leaveOneOut() *leaveOneOut {
	if h.model == nil {
		return nil
	}
	y, mean, sd := h.model.GP().LeaveOneOut()
	if len(y) < 3 {
		return nil
	}
	out := &leaveOneOut{rows: make([]leftOut, len(y))}
	average := 0.0
	for i := range y {
		out.rows[i] = leftOut{measured: h.model.Outside(y[i]), mean: h.model.Outside(mean[i]), sd: sd[i] * h.model.Fit.Scale}
		average += out.rows[i].measured / float64(len(y))
	}
	// Rows are distinct compositions in the order of their first measurement.
	var distinct [][]float64
	for k, x := range h.model.X {
		row := slices.IndexFunc(distinct, func(d []float64) bool { return slices.Equal(d, x) })
		if row < 0 {
			row = len(distinct)
			distinct = append(distinct, x)
		}
		if row < len(out.rows) {
			out.rows[row].experiments = append(out.rows[row].experiments, h.model.Observations[k].Experiment)
		}
	}
	residual, total := 0.0, 0.0
	for _, r := range out.rows {
		residual += (r.measured - r.mean) * (r.measured - r.mean)
		total += (r.measured - average) * (r.measured - average)
		for k := range out.within {
			if math.Abs(r.measured-r.mean) <= float64(k+1)*r.sd {
				out.within[k]++
			}
		}
	}
	out.r2 = math.NaN()
	if total > 0 {
		out.r2 = 1 - residual/total
	}
	return out
}

// figureLeaveOneOut draws predicted against measured.
func (h *history) figureLeaveOneOut() (figure, bool) {
	check := h.leaveOneOut()
	if check == nil {
		return figure{}, false
	}
	o := h.def.Objective
	c := newChart(380, 320, withUnit("measured "+o.Name, o.Unit), withUnit("predicted from the others", o.Unit))
	var values, bars []float64
	for _, r := range check.rows {
		values, bars = append(values, r.measured), append(bars, r.mean-r.sd, r.mean+r.sd)
	}
	limits(&c.X, 0.06, values...)
	limits(&c.Y, 0.04, append(bars, values...)...)
	c.X.Tick.Marker = ticks{want: 5}
	low, high := max(c.X.Min, c.Y.Min), min(c.X.Max, c.Y.Max)
	c.line(plotter.XYs{{X: low, Y: low}, {X: high, Y: high}}, muted, 0.9, 3, 3)
	var points plotter.XYs
	for _, r := range check.rows {
		c.line(plotter.XYs{{X: r.measured, Y: r.mean - r.sd}, {X: r.measured, Y: r.mean + r.sd}}, faded(sky, 0.75), crowded(1.3, len(check.rows)))
		points = append(points, plotter.XY{X: r.measured, Y: r.mean})
		if len(r.experiments) > 0 && len(check.rows) <= 300 {
			m, s := meanSD(r.mean, r.sd)
			c.spots = append(c.spots, spot{x: r.measured, y: r.mean, href: r.experiments[0],
				text: fmt.Sprintf("%s: measured %s, predicted %s ± %s", strings.Join(r.experiments, ", "), typeset(fixed(r.measured, h.places)), typeset(m), s)})
		}
	}
	c.points(points, draw.GlyphStyle{Color: blue, Radius: crowded(3, len(check.rows)), Shape: solid{edge: white}})
	n := len(check.rows)
	f := figure{ID: "leave-one-out", Title: "Leave-one-out: predicted against measured", SVG: c.svg("Leave-one-out predictions against measurements")}
	f.Caption = fmt.Sprintf("Each composition predicted from all others, ± 1 sd with noise. R² = %s; %d of %d within 1 sd (expected 68 %%), %d within 2 sd (expected 95 %%).",
		typeset(significant(check.r2, 2)), check.within[0], n, check.within[1])
	if math.IsNaN(check.r2) {
		f.Caption = "Each composition predicted from all others, ± 1 sd with noise. All measured values are equal: R² is not defined."
	}
	return f, true
}

// sensitivity is a parameter's lengthscale: how far one must go along it until
// the objective may be a different one.
type sensitivity struct {
	Parameter   string
	Lengthscale string // in the parameter's unit
	Share       string // as a share of its range
	Bar         string // relative relevance, a percentage for the style sheet
}

// sensitivities returns the parameters, the most relevant first.
func (h *history) sensitivities() []sensitivity {
	if h.model == nil {
		return nil
	}
	f := diagnose.NewFrame(h.def, h.core.Space())
	share := f.Shortest(h.model.Fit.Lengthscales)
	order := make([]int, len(share))
	least := math.Inf(1)
	for i := range order {
		order[i] = i
		if len(h.def.Parameters[i].Categories) > 0 || f.Movable(i) {
			least = min(least, share[i])
		}
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch {
		case share[a] < share[b]:
			return -1
		case share[a] > share[b]:
			return 1
		}
		return 0
	})
	var out []sensitivity
	for _, i := range order {
		p := h.def.Parameters[i]
		s := sensitivity{Parameter: p.Name, Share: significant(share[i], 2), Bar: fixed(100*least/share[i], 1)}
		switch {
		case len(p.Categories) > 0:
			s.Lengthscale = "between categories"
		case !f.Movable(i):
			continue
		default:
			s.Lengthscale = strings.TrimSpace(significant(share[i]*f.Range(i), 3) + " " + p.Unit)
		}
		out = append(out, s)
	}
	return out
}

// hyperparameters says the rest of the fit in words.
func (h *history) hyperparameters() [][2]string {
	if h.model == nil {
		return nil
	}
	fit, o := h.model.Fit, h.def.Objective
	unit := func(x float64) string { return significant(x, 3) + " " + o.Unit }
	noise := "inferred: " + unit(fit.Scale*math.Sqrt(fit.Noise))
	if o.Noise != nil {
		noise = "known: " + unit(*o.Noise)
	}
	return [][2]string{
		{"kernel", fit.Kernel + ", one lengthscale for each coordinate"},
		{"noise sd of one measurement", noise},
		{"prior sd of the objective", unit(fit.Scale * math.Sqrt(fit.OutputScale))},
		{"prior mean", unit(h.model.Outside(fit.Mean))},
		{"fitted to", plural(fit.Observations, "measurement") + ", on the unit cube and standardised values"},
	}
}

// Compile-time check: ticks is what gonum/plot wants.
var _ plot.Ticker = ticks{}
