package report

import (
	"fmt"
	"html/template"
	"math"
	"slices"
	"strings"

	"github.com/campaignd/campaignd/internal/ground/format"
	"github.com/campaignd/campaignd/internal/view/diagnose"
	"github.com/campaignd/campaignd/internal/view/figure"
	"github.com/campaignd/campaignd/internal/view/plot"
)

// trustworthiness is the part of the page about how far the model can be trusted. internal/view/diagnose
// works it out, for the command line and the console too; this package only writes it down and
// draws it.
type trustworthiness struct {
	Verdict  string
	Class    string // for the style sheet
	Headline string
	Findings []finding
	// Experts compares the answers of each with the measurements.
	Experts []expertRow
}

// finding is a finding of diagnose, with its command in a type of its own. Next is the advice about
// it, cut into pieces by [phrases].
type finding struct {
	Level string
	Text  string
	Next  []phrase
}

// phrase is a piece of a text: prose, or something to be typed.
type phrase struct {
	Text string
	Code bool
}

// phrases splits a text at its backquotes, between which stands text for the reader to type. It
// keeps the template from interpreting texts: nothing that an event holds becomes markup.
func phrases(text string) (out []phrase) {
	for i, part := range strings.Split(text, "`") {
		if part != "" {
			out = append(out, phrase{Text: part, Code: i%2 == 1})
		}
	}
	return out
}

// expertRow is one expert and kind of answer in the table: how often the answers agree with the
// measurements, as a share with its 95 % interval. Texts are empty where too little was measured to
// say anything; the row still counts the expert's answers.
type expertRow struct {
	Name, Answers, Reading, Share, Interval, Measured string
	// Scale draws the interval over 0 to 100 %.
	Scale template.HTML
}

// trustOf writes the diagnosis. An expert has a row for each kind of
// answerOf given: labels, choices between candidates, pairs of estimates.
func trustOf(h *history) trustworthiness {
	d := &h.diagnosis
	t := trustworthiness{Verdict: string(d.Verdict), Headline: d.Headline, Class: string(d.Verdict)}
	for _, f := range d.Findings {
		t.Findings = append(t.Findings, finding{
			Level: string(f.Level),
			Text:  f.Text,
			Next:  phrases(h.advise(f.Next, f.Remedies)),
		})
	}
	for _, x := range d.Experts {
		var measured []string
		if m := x.Measured; m.Accepted > 0 {
			measured = append(measured, fmt.Sprintf("%d of %d accepted were", m.AcceptedGood, m.Accepted))
		}
		if m := x.Measured; m.Rejected > 0 {
			measured = append(measured, fmt.Sprintf("%d of %d rejected were not", m.RejectedBad, m.Rejected))
		}
		// An expert without answers yet has a row too: that of labels. One with other answers has
		// it only with labels.
		if x.Choices == nil && x.Estimates == nil && x.Quantities == nil || x.Accepted+x.Rejected+x.Unsure > 0 {
			answers := fmt.Sprintf("%d accepted, %d rejected", x.Accepted, x.Rejected)
			if x.Unsure > 0 {
				answers += fmt.Sprintf(", %d unsure", x.Unsure)
			}
			t.Experts = append(t.Experts, agreeing(h, expertRow{
				Name:     x.Name,
				Reading:  x.Reading,
				Answers:  answers,
				Measured: strings.Join(measured, ", "),
			}, x.Labels))
		}
		if x.Choices != nil {
			t.Experts = append(t.Experts, agreeing(h, expertRow{
				Name:    x.Name,
				Reading: x.Reading,
				Answers: format.Count(x.Choices.Pairs, "preferred option"),
			}, x.Choices))
		}
		if x.Estimates != nil {
			t.Experts = append(t.Experts, agreeing(h, expertRow{
				Name:    x.Name,
				Reading: x.Reading,
				Answers: format.Count(x.Estimates.Pairs, "pair") + " of estimates",
			}, x.Estimates))
		}
		for _, q := range x.Quantities {
			t.Experts = append(t.Experts, agreeing(h, expertRow{
				Name:    x.Name,
				Reading: x.Reading,
				Answers: format.Count(q.Pairs, "pair") + " of estimates of " + q.Quantity,
			}, q.Agreement))
		}
	}
	return t
}

// agreeing adds an agreement to a row; a is nil where too little was measured to compare with.
func agreeing(h *history, r expertRow, a *diagnose.Agreement) expertRow {
	if a != nil {
		r.Share = format.Fixed(100*a.Share, 0) + " %"
		r.Interval = format.Fixed(100*a.Lower, 0) + " to " + format.Fixed(100*a.Upper, 0) + " %"
		r.Scale = intervalSVG(h, a.Lower, a.Share, a.Upper)
	}
	return r
}

// intervalSVG draws an interval on a scale from 0 to 1, with a mark at a half, the result of
// guessing. Green lies wholly above it, red below. Color is not the only sign: the interval either
// contains the mark or does not.
func intervalSVG(h *history, lower, share, upper float64) template.HTML {
	const width, height = 150.0, 14.0
	x := func(v float64) float64 { return 4 + v*(width-8) }
	color := figure.Muted
	switch {
	case lower > 0.5:
		color = figure.Green
	case upper < 0.5:
		color = figure.Red
	}
	title := fmt.Sprintf("%.0f %%, %.0f to %.0f %%", 100*share, 100*lower, 100*upper)
	c := h.target.Canvas(width, height, "", title)
	c.Line(figure.Look{Stroke: figure.Hair, Width: 2}, x(0), 7, x(1), 7)
	c.Line(figure.Look{Stroke: figure.Gray, Width: 1}, x(0.5), 1, x(0.5), 13)
	c.Line(figure.Look{Stroke: color, Width: 3}, x(lower), 7, x(upper), 7)
	c.Disc(figure.Look{Fill: color, Stroke: figure.Paper, Width: 1}, x(share), 7, 4)
	return c.SVG()
}

// figuresLeaveOneOut draws the checks of all modelled quantities, the objective first.
func figuresLeaveOneOut(h *history) (figures []Figure) {
	d := &h.diagnosis
	add := func(id, name, unit string, check *diagnose.LeaveOneOut, outliers []diagnose.Outlier) {
		if check == nil {
			return
		}
		f := figureLeaveOneOut(h, name, unit, check, outliers)
		if f.ID = id; len(d.Quantities) > 0 {
			f.Title = "Leave-one-out of " + name
		}
		figures = append(figures, f)
	}
	add("leave-one-out", h.sought.Name, h.sought.Unit, d.LeaveOneOut, d.Outliers)
	for i, q := range d.Quantities {
		add(fmt.Sprintf("leave-one-out-%d", i+2), q.Quantity, q.Unit, q.LeaveOneOut, nil)
	}
	return figures
}

// figureLeaveOneOut draws predicted against measured: each composition as the
// model of a quantity predicts it from all others.
//
// With more than 300 compositions points have no tooltips: those are most of the
// bytes of a figure, and the points lie too close to be pointed at.
func figureLeaveOneOut(
	h *history, name, unit string, check *diagnose.LeaveOneOut, contradicting []diagnose.Outlier,
) Figure {
	c := h.target.Chart(380, 320, format.Heading("measured "+name, unit),
		format.Heading("predicted from the others", unit))
	odd := map[string]bool{} // only looked up: its order draws nothing
	for _, x := range contradicting {
		odd[x.Experiment] = true
	}
	var values, bars []float64
	for _, r := range check.Rows {
		values, bars = append(values, r.Measured), append(bars, r.Predicted-r.SD, r.Predicted+r.SD)
	}
	// The axes differ where predictions are worse than measurements are spread;
	// the diagonal ends where either does.
	figure.Limits(&c.X, 0.06, values...)
	figure.Limits(&c.Y, 0.04, append(bars, values...)...)
	c.X.Tick.Marker = figure.Ticks{Want: 5}
	low, high := max(c.X.Min, c.Y.Min), min(c.X.Max, c.Y.Max)
	c.Line(plot.XYs{{X: low, Y: low}, {X: high, Y: high}}, figure.Muted, 0.9, 3, 3)
	var points, outliers plot.XYs
	for _, r := range check.Rows {
		c.Line(plot.XYs{{X: r.Measured, Y: r.Predicted - r.SD}, {X: r.Measured, Y: r.Predicted + r.SD}},
			figure.Faded(figure.Sky, 0.75), crowded(1.3, len(check.Rows)))
		if slices.ContainsFunc(r.Experiments, func(id string) bool { return odd[id] }) {
			outliers = append(outliers, plot.XY{X: r.Measured, Y: r.Predicted})
		} else {
			points = append(points, plot.XY{X: r.Measured, Y: r.Predicted})
		}
		if len(check.Rows) <= 300 {
			m, s := format.MeanSD(r.Predicted, r.SD)
			text := fmt.Sprintf("%s: measured %s, predicted %s ± %s", strings.Join(r.Experiments, ", "),
				figure.Typeset(format.Fixed(r.Measured, h.places)), figure.Typeset(m), s)
			c.Spot(r.Measured, r.Predicted, text, r.Experiments[0])
		}
	}
	// Outliers are not shrunk in a crowd: readers look at the figure to find them.
	contradicts := plot.GlyphStyle{Color: figure.Red, Radius: 4, Shape: figure.Cross{}}
	c.Discs(points, figure.Blue, crowded(3, len(check.Rows)))
	c.Points(outliers, contradicts)
	f := Figure{
		Title: "Leave-one-out: predicted against measured",
		SVG:   c.SVG("Leave-one-out predictions against measurements of " + name),
	}
	if outliers != nil {
		f.Legend = []Symbol{{Symbol: h.target.Glyph(contradicts, "contradicts all others"), Text: "contradicts all others"}}
	}
	f.Caption = "Each composition predicted from all others, ± 1 sd with noise"
	if check.SampleOf > 0 {
		f.Caption = fmt.Sprintf("Each of %d compositions, drawn of %d, predicted from all others, ± 1 sd with noise",
			len(check.Rows), check.SampleOf)
	}
	if check.Refitted {
		f.Caption += "; the hyperparameters were fitted without it"
	}
	if check.R2 == nil {
		f.Caption += ". All measured values are equal: R² is not defined."
		return f
	}
	f.Caption += fmt.Sprintf(". R² = %s (1 is perfect, 0 no better than the mean).",
		figure.Typeset(format.Significant(*check.R2, 2)))
	if r := check.RankCorrelation; r != nil {
		f.Caption += fmt.Sprintf(" Rank correlation %s.", figure.Typeset(format.Significant(*r, 2)))
	}
	return f
}

// figureCalibration draws how often intervals hold the measured value against how often they
// should, for central intervals of 2 % to 98 %.
//
// All numbers are in percent; CoverageAt counts compositions, so that the band's ends, the counts
// that 95 of 100 calibrated models would not leave, are divided by their number.
func figureCalibration(h *history) []Figure {
	check := h.diagnosis.LeaveOneOut
	if check == nil {
		return nil
	}
	c := h.target.Chart(380, 320, "probability of the interval (%)", "left-out compositions it holds (%)")
	c.X.Min = 0
	c.X.Max = 100
	c.Y.Min = 0
	c.Y.Max = 100
	c.X.Tick.Marker, c.Y.Tick.Marker = figure.Ticks{Want: 5}, figure.Ticks{Want: 5}
	n := float64(len(check.Rows))
	x := []float64{0}
	low := []float64{0}
	high := []float64{0}
	held := plot.XYs{{X: 0, Y: 0}}
	// The ends are known: an interval of 0 % holds nothing, one of 100 %
	// everything.
	for k := 1; k < 50; k++ {
		level := check.CoverageAt(float64(k) / 50)
		x = append(x, 2*float64(k))
		low = append(low, 100*float64(level.Low)/n)
		high = append(high, 100*float64(level.High)/n)
		held = append(held, plot.XY{X: 2 * float64(k), Y: 100 * level.Share})
	}
	x = append(x, 100)
	low = append(low, 100)
	high = append(high, 100)
	c.Band(x, low, high, figure.Faded(figure.Muted, 0.12))
	c.Line(plot.XYs{{X: 0, Y: 0}, {X: 100, Y: 100}}, figure.Muted, 0.9, 3, 3)
	c.Line(held, figure.Blue, 2)
	f := Figure{
		ID:    "calibration",
		Title: "Calibration: does it know how far off it is?",
		SVG:   c.SVG("Calibration of the leave-one-out intervals"),
	}
	if len(h.diagnosis.Quantities) > 0 {
		f.Title = "Calibration for " + h.sought.Name + ": does it know how far off it is?"
	}
	var said []string
	for _, level := range check.Coverage {
		said = append(said, fmt.Sprintf("%d of %d in the %s %% intervals "+
			"(%d to %d expected)", level.Within, len(check.Rows),
			format.Fixed(100*level.Nominal, 0), level.Low, level.High))
	}
	f.Caption = "On the dashed line the model knows exactly; " +
		"below it is too sure of itself, above too cautious. " +
		"Band: where 95 of 100 models that know would lie, with so few compositions. " +
		strings.Join(said, ", ") + "."
	return []Figure{f}
}

// sensitivity is the model's knowledge about a parameter.
type sensitivity struct {
	Parameter   string
	Lengthscale string // in the parameter's unit
	Share       string // as a share of its range
	Effect      string // along the slice through the best composition
	Reading     string
	Bar         template.CSS // relative relevance, a percentage for the style sheet
}

// sensitivitiesOf returns the parameters, the most relevant first: the shorter
// the lengthscale as a share of the range, the more relevant. Parameters that
// cannot be varied have no effect and no row. The sort is stable, so that equal
// ones stay in the definition's order.
func sensitivitiesOf(h *history) []sensitivity {
	learned := slices.Clone(h.diagnosis.Parameters)
	learned = slices.DeleteFunc(learned, func(p diagnose.Parameter) bool { return p.Effect == nil })
	slices.SortStableFunc(learned, func(a, b diagnose.Parameter) int {
		switch {
		case a.Share < b.Share:
			return -1
		case a.Share > b.Share:
			return 1
		}
		return 0
	})
	var out []sensitivity
	for _, p := range learned {
		// learned[0] has the shortest lengthscale, and so the full bar.
		mean, sd := format.MeanSD(*p.Effect, *p.EffectSD)
		s := sensitivity{
			Parameter:   p.Name,
			Share:       format.Significant(p.Share, 2),
			Reading:     p.Reading,
			Effect:      mean + " ± " + sd,
			Bar:         template.CSS(format.Fixed(100*learned[0].Share/p.Share, 1)),
			Lengthscale: "between categories",
		}
		if p.Lengthscale != nil {
			s.Lengthscale = strings.TrimSpace(format.Significant(*p.Lengthscale, 3) + " " + p.Unit)
		}
		out = append(out, s)
	}
	return out
}

// hyperparametersOf says the rest of the fit in words, in the objective's unit:
// the fit itself works on the unit cube and standardized values.
//
// The noise and the prior standard deviation are stored as variances of
// standardized values; Scale is the standard deviation by which values were
// divided.
func hyperparametersOf(h *history) [][2]string {
	if h.model == nil {
		return nil
	}
	fit, o := h.model.Fit, h.sought
	unit := func(x float64) string { return format.Significant(x, 3) + " " + o.Unit }
	noise := "inferred: " + unit(fit.Scale*math.Sqrt(fit.Noise))
	if o.Noise != nil {
		noise = "known: " + unit(*o.Noise)
	}
	if o.RelativeNoise != nil {
		noise = "known: " + format.Share(*o.RelativeNoise) + " of each value"
	}
	repetitions := "no composition has two measurements that count"
	if n := h.diagnosis.Noise; n != nil && n.Replicates != nil {
		r := n.Replicates
		repetitions = fmt.Sprintf("%s (95 %%: %s to %s), from %s", unit(r.SD),
			format.Significant(r.Lower, 2), format.Significant(r.Upper, 2),
			format.Count(r.Freedom, "repetition"))
	}
	tails := "as they are"
	if c := fit.Compressed; c != nil {
		tails = "by their logarithm, those worse than " + unit(c.From)
	}
	return [][2]string{
		{"kernel", fit.Kernel + ", one lengthscale for each coordinate"},
		{"noise sd of one measurement", noise},
		{"sd of repetitions", repetitions},
		{"prior sd of the objective", unit(fit.Scale * math.Sqrt(fit.OutputScale))},
		{"prior mean", unit(h.model.Untransform(fit.Mean))},
		{"bad results count", tails},
		{"fitted to", format.Count(fit.Observations, "measurement") +
			", on the unit cube and standardized values"},
	}
}
