package page

import (
	"fmt"
	"html/template"
	"math"
	"strings"

	"github.com/campaignd/campaignd/internal/ground/format"
	"github.com/campaignd/campaignd/internal/study/simulate"
	"github.com/campaignd/campaignd/internal/view/figure"
	"github.com/campaignd/campaignd/internal/view/plot"
)

// target is the page: it stands alone.
var target figure.Page

// look is the style of an arm, the same on the whole page. Color and dashes together distinguish
// eighteen arms before looks recur.
type look struct {
	color  figure.Color
	dashes []plot.Length
	width  plot.Length
}

var (
	palette = []figure.Color{figure.Blue, figure.Red, figure.Green, figure.Purple, figure.Orange, figure.Sky}
	// The lengths of dash and gap, in points; nil is a line without gaps.
	dashing = [][]plot.Length{nil, {5, 2.5}, {1.5, 2}}
)

// lookOf gives black to the baseline and the palette's colors to the others, in
// turn; when the palette is used up, lines are dashed. An arm keeps its look on
// every task, whichever arms failed there.
//
// The arms after the baseline move up by one, so that the first of the others is
// blue wherever the baseline stands.
func lookOf(arm, baseline int) look {
	switch {
	case arm == baseline:
		return look{color: figure.Ink, width: 2}
	case arm > baseline:
		arm--
	}
	return look{color: palette[arm%len(palette)], dashes: dashing[arm/len(palette)%len(dashing)], width: 2}
}

// swatch is the arm's entry in the legend.
func (l look) swatch() template.HTML { return target.Swatch(l.color, l.dashes...) }

// view draws one task. baseline is the study's, which is drawn in black; a task
// may compare with another one.
type view struct {
	task     simulate.TaskSummary
	baseline int
	initial  int
}

// look returns the style of an arm, by its place in the study.
func (v view) look(arm int) look { return lookOf(arm, v.baseline) }

// words returns the words for the task's measures.
func (v view) words() simulate.Words { return v.task.Task.Truth.Words() }

// begun begins a text with a capital.
func begun(text string) string { return strings.ToUpper(text[:1]) + text[1:] }

// withUnit writes a name with the objective's unit, as on an axis.
func (v view) withUnit(name string) string {
	return format.Heading(name, v.task.Task.Truth.Sought.Unit)
}

// leading is the height of a line of labels, in points.
const leading = 15

// logarithmic is the ratio of the greatest to the least value of curves above
// which their ends would lie on a linear axis.
const logarithmic = 15

// regret draws the main figure of a task. It grows with the number of arms, so that each has a
// label at the end of its line. Only this figure may have a logarithmic axis: a simple regret may
// shrink by powers of ten, and arms then differ in the small remainder.
func (v view) regret() panel {
	c := target.Chart(780, max(330, plot.Length(70+leading*len(v.task.Arms))), v.task.Steps+"s",
		v.withUnit(v.words().Regret))
	log := v.curves(c, true, func(a simulate.ArmSummary) []simulate.Mean { return a.RegretCurve })
	f := panel{SVG: c.SVG(begun(v.words().Regret) + " of each arm over the experiments"),
		Caption: "Simple regret: how much worse the best composition measured so far truly is " +
			"than the optimum, noise left out. Mean ± 1 standard error over the seeds."}
	if v.task.Task.Truth.Front != nil {
		f.Caption = "Missing hypervolume: what all compositions measured so far, by their true values, leave uncovered of " +
			"the greatest hypervolume. Mean ± 1 standard error over the seeds."
	}
	if v.task.Compares {
		f.Caption += " Where nothing is measured it is the regret of what the experts' comparisons so far say is best."
	}
	if log {
		f.Caption += " The axis is logarithmic; " +
			"where mean − standard error is not positive, the band ends at the lower edge."
	}
	if v.initial > 0 {
		f.Caption += " Shaded: the initial design."
	}
	return f
}

// cumulative draws the cost of the whole search, which differs from its final result. For
// comparisons the regret is a probability, which the caption explains with its formula.
func (v view) cumulative() panel {
	c := target.Chart(380, 250, v.task.Steps+"s", v.cumulativeTitle())
	v.curves(c, false, func(a simulate.ArmSummary) []simulate.Mean { return a.CumulativeCurve })
	title := begun(v.words().Cumulative)
	f := panel{Title: title, SVG: c.SVG(title + " of each arm"),
		Caption: "The regrets of all experiments, added up: what the search cost."}
	if v.task.Task.Truth.Front != nil {
		f.Caption = "What was missing after each experiment, added up: an arm that covers the front early has less."
	}
	if v.task.Compares {
		f.Caption = "Of comparisons of x with x′: (P(x* ≻ x) + P(x* ≻ x′) − 1)/2, added up, " +
			"x* being the optimum (Kayal et al. 2025, Eq. 1)."
		if v.task.Steps != "comparison" {
			f.Caption += " Of experiments: their regrets, added up. The two cannot be compared with each other."
		}
	}
	return f
}

// cumulativeTitle omits the unit if steps are comparisons, whose regret is a probability.
func (v view) cumulativeTitle() string {
	if v.task.Compares {
		return "cumulative regret"
	}
	return v.withUnit(v.words().Cumulative)
}

// asked draws the number of questions; ok is false if no arm asks any. Arms without a question
// would all lie at 0.
func (v view) asked() (panel, bool) {
	some := false
	for _, a := range v.task.Arms {
		some = some || a.Asked > 0
	}
	if !some {
		return panel{}, false
	}
	c := target.Chart(380, 250, v.task.Steps+"s", "questions asked so far")
	v.curves(c, false, func(a simulate.ArmSummary) []simulate.Mean {
		if a.Asked == 0 {
			return nil
		}
		return a.AskedCurve
	})
	c.Y.Min = 0
	return panel{Title: "Labels asked", SVG: c.SVG("Questions asked by each arm"),
		Caption: "Questions put to the experts before each experiment; " +
			"examples given at the beginning are not counted. Arms that ask nobody are left out."}, true
}

// helps draws the probability that the labels help. ok is false if no arm reads labels. The axis
// goes from 0 to 1 whatever the values are, so that the figures of two tasks can be compared by
// eye.
func (v view) helps() (panel, bool) {
	curve := func(a simulate.ArmSummary) []simulate.Mean { return a.HelpsCurve }
	if !v.some(curve) {
		return panel{}, false
	}
	c := target.Chart(380, 250, v.task.Steps+"s", "P(the labels help)")
	v.curves(c, false, curve)
	c.Y.Min, c.Y.Max = 0, 1
	return panel{Title: "Trust in the experts", SVG: c.SVG("Trust in the experts, arm by arm"),
		Caption: "How probable it is that the experts' rejections go with bad results, " +
			"and not with nothing or with good ones; mean over experts and seeds. " +
			"A third is assumed of anybody. Arms without labels are left out."}, true
}

// weight draws the dual variable. ok is false if no arm has one. λ can exceed 1, hence the limits
// come from the values.
func (v view) weight() (panel, bool) {
	curve := func(a simulate.ArmSummary) []simulate.Mean { return a.TrustCurve }
	if !v.some(curve) {
		return panel{}, false
	}
	c := target.Chart(380, 250, v.task.Steps+"s", "weight λ")
	v.curves(c, false, curve)
	return panel{Title: "Weight λ of the belief", SVG: c.SVG("Weight of the experts' belief, arm by arm"),
		Caption: "λ, the dual variable, weighs the experts' belief in the choice, " +
			"mean over experts and seeds (Xu et al. 2024, Alg. 1). It does not measure trust: " +
			"it falls while the expert may accept the choices. Arms without one are left out."}, true
}

// some reports whether any arm has a curve. A mean over no seeds (N = 0) is a
// gap in a curve, not a zero.
func (v view) some(curve func(simulate.ArmSummary) []simulate.Mean) bool {
	for _, a := range v.task.Arms {
		for _, m := range curve(a) {
			if m.N > 0 {
				return true
			}
		}
	}
	return false
}

// risk draws how well and how reliably anchored experts were asked; nothing without anchors.
func (v view) risk() []panel {
	if !v.task.Anchored {
		return nil
	}
	// An arm without anchors has no curve here, although the task has experts
	// with anchors.
	of := func(f func(*simulate.RiskSummary) []simulate.Mean) func(simulate.ArmSummary) []simulate.Mean {
		return func(a simulate.ArmSummary) []simulate.Mean {
			if a.Risk == nil {
				return nil
			}
			return f(a.Risk)
		}
	}
	adjusted := target.Chart(380, 250, v.task.Steps+"s", v.withUnit("risk-adjusted best value"))
	v.curves(adjusted, false, of(func(r *simulate.RiskSummary) []simulate.Mean { return r.AdjustedCurve }))
	noise := target.Chart(380, 250, v.task.Steps+"s", "noise of what is compared")
	v.curves(noise, false, of(func(r *simulate.RiskSummary) []simulate.Mean { return r.QueriedCurve }))
	return []panel{
		{Title: "Risk-adjusted best value", SVG: adjusted.SVG("Risk-adjusted best value of each arm"),
			Caption: fmt.Sprintf("The true f(x) − %d·σ²(x) where the model expects the most "+
				"of it in the whole space; more is better. "+
				"f is the objective%s, σ² the noise of the expert's judgment (Sinaga et al. 2026, §6).",
				simulate.RiskWeight, v.turned())},
		{Title: "Noise of what is compared", SVG: noise.SVG("Noise of what each arm compares"),
			Caption: "The variance σ² of the expert's judgment, small near their anchors, " +
				"mean over the compositions of each comparison, in the square of the objective's unit."},
	}
}

// turned describes the sign of utility.
func (v view) turned() string {
	return v.task.Task.Truth.Sought.Pick("", " with its sign turned")
}

// curves draws a curve with its standard error for each arm, on a logarithmic
// axis if that is allowed and helps.
//
// Two passes, so that no band covers another arm's line. A single seed has no
// standard error and no band. Labels at the ends are left out where they would
// not fit; the legend at the top of the page has all names.
func (v view) curves(c *figure.Chart, mayLog bool, of func(simulate.ArmSummary) []simulate.Mean) (log bool) {
	var values []float64
	least, greatest := math.Inf(1), math.Inf(-1)
	for _, a := range v.task.Arms {
		for _, m := range of(a) {
			if m.N == 0 {
				continue
			}
			spread := m.SE
			if m.N < 2 {
				spread = 0
			}
			values = append(values, m.Mean-spread, m.Mean+spread)
			least, greatest = min(least, m.Mean), max(greatest, m.Mean+spread)
		}
	}
	// Compared are the least mean and the greatest upper end: the lower ends of
	// bands may be negative, which says nothing about the lines.
	log = mayLog && least > 0 && greatest/least > logarithmic
	n := float64(v.task.Experiments)
	// A campaign of one experiment has a point, and an axis needs two ends.
	c.X.Min, c.X.Max = 1, max(n, 2)
	c.X.Tick.Marker = figure.Ticks{Want: 10, Whole: true}
	if log {
		c.Y.Min, c.Y.Max = least*0.7, greatest*1.15
		c.Y.Scale, c.Y.Tick.Marker = plot.LogScale{}, figure.LogTicks{}
	} else {
		figure.Limits(&c.Y, 0.05, values...)
		// The margin below, or a band, must not suggest that a quantity that is
		// never negative could be.
		if len(values) > 0 && c.Y.Min < 0 && least >= 0 {
			c.Y.Min = 0
		}
		c.Y.Tick.Marker = figure.Ticks{Want: 5}
	}
	if v.initial > 1 && v.initial < v.task.Experiments {
		c.Shade(c.X.Min, float64(v.initial))
	}
	for pass := range 2 { // bands below all lines
		for j, a := range v.task.Arms {
			var x, lower, upper []float64
			var line plot.XYs
			for i, m := range of(a) {
				if m.N == 0 {
					continue
				}
				spread := m.SE
				if m.N < 2 {
					spread = 0
				}
				at := float64(i + 1)
				x = append(x, at)
				// The band is cut at the axis: a logarithmic one has no place at or below 0.
				lower = append(lower, max(m.Mean-spread, c.Y.Min))
				upper = append(upper, max(m.Mean+spread, c.Y.Min))
				line = append(line, plot.XY{X: at, Y: m.Mean})
			}
			if len(line) == 0 {
				continue
			}
			look := v.look(j)
			if pass == 0 {
				c.Band(x, lower, upper, figure.Faded(look.color, min(0.14, 0.7/float64(len(v.task.Arms)))))
				continue
			}
			c.Line(line, look.color, look.width, look.dashes...)
			last := line[len(line)-1]
			if plot.Length(leading*len(v.task.Arms)) < c.Height-40 { // else the legend must do
				c.End(last.Y, a.Arm.Name, figure.OfText(look.color))
			}
			// A line of one point would not be seen.
			if len(line) == 1 {
				c.Discs(line, look.color, 3)
			}
			c.Spot(last.X, last.Y, a.Arm.Name+": "+number(last.Y), "")
		}
	}
	return log
}

// differences draws the paired difference of each arm to the baseline with its interval.
//
// The baseline has a row, too: a point at 0. Intervals that reach beyond the axis are cut at its
// ends. Rows go from the top down in the order of the arms.
func (v view) differences() panel {
	base := v.task.Arms[v.task.Baseline].Arm.Name
	rows := len(v.task.Arms)
	height := max(250, plot.Length(60+24*rows))
	c := target.Chart(380, height, v.withUnit(v.words().Regret+" − that of "+base), "")
	c.Y.Min, c.Y.Max = -0.5, float64(rows)-0.5
	// 0 is always on the axis, since the reader looks for which intervals touch
	// it.
	values := []float64{0}
	var ticks []plot.Tick
	for j, a := range v.task.Arms {
		ticks = append(ticks, plot.Tick{Value: float64(rows - 1 - j), Label: a.Arm.Name})
		if d := a.Difference; d != nil {
			values = append(values, d.Mean, d.Lower, d.Upper)
		}
	}
	c.Y.Tick.Marker = plot.ConstantTicks(ticks)
	figure.Limits(&c.X, 0.06, values...)
	c.X.Tick.Marker = figure.Ticks{Want: 4}
	c.Upright(0, figure.Muted, 1)
	for j, a := range v.task.Arms {
		y := float64(rows - 1 - j)
		look := v.look(j)
		d := a.Difference
		if d == nil {
			c.Discs(plot.XYs{{X: 0, Y: y}}, look.color, 3.4)
			continue
		}
		// The interval of a single seed has no bounds; it is then as long as the
		// axis.
		lower, upper := max(d.Lower, c.X.Min), min(d.Upper, c.X.Max)
		c.Line(plot.XYs{{X: lower, Y: y}, {X: upper, Y: y}}, look.color, 2)
		c.Discs(plot.XYs{{X: d.Mean, Y: y}}, look.color, 3.8)
		c.Spot(d.Mean, y, a.Arm.Name+": "+intervalText(d), "")
	}
	return panel{Title: "Difference to " + base, SVG: c.SVG("Paired differences to " + base),
		Caption: fmt.Sprintf("Final %s, paired seed by seed, "+
			"with 95 %% intervals (Student's t). Left of the line is better than %s; "+
			"an interval that touches the line shows no difference.",
			v.words().Regret, base)}
}

// rankFigure draws the mean rank of each arm, and that on each task.
//
// ok is false for a single arm, and if no task has a seed with a result of every arm. The label of
// an arm is its name on the last task that has a result.
func rankFigure(s simulate.Summary, baseline int) (panel, bool) {
	rows := len(s.Ranks)
	if rows < 2 || math.IsNaN(s.Ranks[0]) {
		return panel{}, false
	}
	c := target.Chart(330, plot.Length(52+23*rows), "mean rank, 1 is best", "")
	c.X.Min, c.X.Max = 0.8, float64(rows)+0.2
	c.X.Tick.Marker = figure.Ticks{Want: 8, Whole: true}
	c.Y.Min, c.Y.Max = -0.5, float64(rows)-0.5
	var ticks []plot.Tick
	drawn := 0
	for j := range s.Ranks {
		y, look := float64(rows-1-j), lookOf(j, baseline)
		var points plot.XYs
		for _, t := range s.Tasks {
			if len(t.Seeds) > 0 {
				points = append(points, plot.XY{X: t.Arms[j].Rank, Y: y})
				// Each task writes the same label again, so that each arm has one.
				ticks = append(ticks[:j:j], plot.Tick{Value: y, Label: t.Arms[j].Arm.Name})
			}
		}
		if drawn = len(points); drawn > 1 {
			c.Discs(points, figure.Faded(look.color, 0.35), 2.6)
		}
		c.Discs(plot.XYs{{X: s.Ranks[j], Y: y}}, look.color, 4.4)
		c.Spot(s.Ranks[j], y, fmt.Sprintf("%s: %.2f", ticks[j].Label, s.Ranks[j]), "")
	}
	c.Y.Tick.Marker = plot.ConstantTicks(ticks)
	f := panel{SVG: c.SVG("Mean rank of each arm")}
	if drawn > 1 {
		f.Caption = "Small: on each task."
	}
	return f, true
}
