package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/ground/format"
	"github.com/campaignd/campaignd/internal/view"
	"github.com/campaignd/campaignd/internal/view/figure"
	"github.com/campaignd/campaignd/internal/view/plot"
	"github.com/campaignd/campaignd/policies"
	"github.com/campaignd/campaignd/policies/cobol"
	"github.com/campaignd/campaignd/projections/belief"
	"github.com/campaignd/campaignd/projections/campaign"
)

// askedLabel is one question that the policy asked, on the axis of experiments.
// spot is the place of the decision that asked: see [decision].
type askedLabel struct {
	spot     float64
	question *campaign.Question
	outcome  labelOutcome
}

// labelOutcome is the outcome of a question for a label. It is an index into outcomeNames and into
// the arrays that are counted with; outcomes is their number.
type labelOutcome int

const (
	accepted labelOutcome = iota
	rejected
	noAnswer // can't tell, expired, withdrawn
	open
	outcomes
)

var outcomeNames = [outcomes]string{"accepted", "rejected", "no answer", "open"}

// outcomeOf classifies a question for a label. An answer without information counts as no answer,
// for any reason.
func outcomeOf(q *campaign.Question) labelOutcome {
	switch {
	case q.Status == campaign.Asked:
		return open
	case q.Status == campaign.Answered && q.Answer.Label == events.LabelAccept:
		return accepted
	case q.Status == campaign.Answered && q.Answer.Label == events.LabelReject:
		return rejected
	}
	return noAnswer
}

// labels splits the questions: those asked by decisions, with their place on
// the axis of experiments, and how the others (initial and volunteered) came
// out. A question without a decision is one of the initial ones, or a label that
// was volunteered.
func (h *history) labels() (asked []askedLabel, initial [outcomes]int) {
	for i := range h.state.Questions {
		q := &h.state.Questions[i]
		if q.Form != events.FormLabel {
			continue
		}
		d := h.decision(q.Decision)
		if d == nil {
			initial[outcomeOf(q)]++
			continue
		}
		asked = append(asked, askedLabel{spot: d.spot, question: q, outcome: outcomeOf(q)})
	}
	return asked, initial
}

// describeInitial says how the initial labels came out. They have no place on
// the axis, since no experiment came before them.
func describeInitial(initial [outcomes]int) string {
	total := 0
	var parts []string
	for k, n := range initial {
		if total += n; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, outcomeNames[k]))
		}
	}
	if total == 0 {
		return ""
	}
	return fmt.Sprintf("%s before the first decision (%s)", format.Count(total, "label"),
		strings.Join(parts, ", "))
}

// axisOfExperiments sets the axis that the charts over time share, and returns
// its end. Short campaigns get an axis of three, so as not to look long. All
// charts over time in this file and in questions.go use it, so that a reader can
// follow one moment down the page.
func (h *history) axisOfExperiments(c *figure.Chart) float64 {
	end := max(float64(len(h.state.Experiments)), 3)
	c.X.Min, c.X.Max = 0, end
	c.X.Tick.Marker = figure.Ticks{Want: 8, Whole: true}
	return end
}

// figureLabels draws how many questions the policy has asked; nil for a policy without questions:
// no expert takes part, or their labels are not read. An empty chart is drawn where questions are
// possible: that none was asked is a result.
func figureLabels(h *history) []Figure {
	asked, initial := h.labels()
	wanted := len(h.def.Experts) > 0 && belief.Reads(h.def.Policy.Trust, belief.FeedbackLabel)
	if !wanted && len(asked) == 0 {
		return nil
	}
	c := h.target.Chart(380, 230, "experiments requested", "questions asked, cumulative")
	end := h.axisOfExperiments(c)
	c.Y.Min, c.Y.Max = 0, max(float64(len(asked))*1.08, 4)
	c.Y.Tick.Marker = figure.Ticks{Want: 5, Whole: true}
	styles := [outcomes]plot.GlyphStyle{
		accepted: figure.Filled(figure.Green, 3, 0),
		rejected: {Color: figure.Red, Radius: 3, Shape: figure.Cross{}},
		noAnswer: figure.Hollow(figure.Gray, 2.6, 1.2),
		open:     figure.Filled(figure.Sky, 3, 0),
	}
	// Stairs, since a number of questions does not grow between two of them.
	stairs := plot.XYs{{X: 0, Y: 0}}
	var points [outcomes]plot.XYs
	for i, a := range asked {
		stairs = append(stairs, plot.XY{X: a.spot, Y: float64(i)},
			plot.XY{X: a.spot, Y: float64(i + 1)})
		points[a.outcome] = append(points[a.outcome], plot.XY{X: a.spot, Y: float64(i + 1)})
		text := fmt.Sprintf("%s to %s: %s\n%s", a.question.ID, a.question.Expert,
			outcomeNames[a.outcome], h.format.LineWithUnits(a.question.Composition()))
		c.Spot(a.spot, float64(i+1), text, a.question.Decision)
	}
	stairs = append(stairs, plot.XY{X: end, Y: float64(len(asked))})
	c.Line(stairs, figure.Muted, 1.5)
	for k := range outcomes {
		c.Points(points[k], styles[k])
	}
	c.End(float64(len(asked)), fmt.Sprintf("%d asked", len(asked)), figure.Ink)
	f := Figure{ID: "labels", Title: "Labels asked over time", SVG: c.SVG("Questions asked over time")}
	for k := range outcomes {
		f.Legend = append(f.Legend, h.counted(styles[k], outcomeNames[k], points[k])...)
	}
	f.Caption = "Questions the policy put, each at the experiment it preceded."
	if len(asked) == 0 {
		f.Caption = "The policy has asked no questions."
	}
	if text := describeInitial(initial); text != "" {
		f.Caption += " Not drawn: " + text + "."
	}
	return []Figure{f}
}

// expertColors distinguish experts; each name also stands at the end of its
// line, for readers who see no colors.
var expertColors = []figure.Color{figure.Blue, figure.Red, figure.Green, figure.Purple}

// figureTrust draws how probable it is that each expert's labels help, as the
// decisions knew it. The lines are steps: between two decisions nothing is
// reconsidered.
//
// The map is only read by the names in the order of their first appearance: its
// own order draws nothing.
func figureTrust(h *history) []Figure {
	var names []string
	lines := make(map[string]plot.XYs)
	for _, d := range h.decisions {
		for _, help := range d.helps {
			if _, known := lines[help.Expert]; !known {
				names = append(names, help.Expert)
			}
			line := lines[help.Expert]
			if n := len(line); n > 0 {
				line = append(line, plot.XY{X: d.spot, Y: line[n-1].Y})
			}
			lines[help.Expert] = append(line, plot.XY{X: d.spot, Y: help.Helps})
		}
	}
	if names == nil {
		return nil
	}
	c := h.target.Chart(380, 230, "experiments requested", "P(the labels help)")
	end := h.axisOfExperiments(c)
	for k, name := range names {
		color := expertColors[k%len(expertColors)]
		line := lines[name]
		final := line[len(line)-1].Y
		c.Line(append(line, plot.XY{X: end, Y: final}), color, 2)
		c.End(final, name+" "+format.Significant(final, 2), color)
	}
	figure.Limits(&c.Y, 0, 0, 1)
	c.Y.Min, c.Y.Max = 0, 1.05
	c.Y.Tick.Marker = figure.Ticks{Want: 5}
	return []Figure{{
		ID:    "trust",
		Title: "Whether their labels help",
		SVG:   c.SVG("Probability that the labels help"),
		Caption: "How probable it is, at each decision, " +
			"that an expert's rejections go with bad results and not with nothing or with good ones. " +
			"The same prior of one third is assumed of every expert.",
	}}
}

// worthLine is the worth of one expert's answers of a kind over time. Points hold decisions alone;
// figureWorth adds the current worth.
type worthLine struct {
	expert, kind, quantity string
	points                 plot.XYs
}

// worthLines are those of all experts, as the decisions knew them. A worth is in measurements: an
// answer of worth 0.5 reduces the variance of the objective as half a measurement would. Below zero
// the answers were turned over, since they go against the measurements. The lines are in the order
// of their first appearance in the log.
func (h *history) worthLines() (lines []worthLine) {
	for _, d := range h.decisions {
		for _, w := range d.Answers {
			k := slices.IndexFunc(lines,
				func(l worthLine) bool { return l.expert == w.Expert && l.kind == w.Kind && l.quantity == w.Quantity })
			if k < 0 {
				k = len(lines)
				lines = append(lines, worthLine{expert: w.Expert, kind: w.Kind, quantity: w.Quantity})
			}
			y := w.Worth
			if w.Misleads > w.Helps {
				y = -y
			}
			lines[k].points = append(lines[k].points, plot.XY{X: d.spot, Y: y})
		}
	}
	return lines
}

// figureWorth draws the worth of one answer of each expert against one measurement, where answers
// are measurements.
//
// A line goes on to the current worth, so that its end and the caption say the same. The color is
// that of the expert in the definition's order, as in the other figures.
func figureWorth(h *history) []Figure {
	lines := h.worthLines()
	if lines == nil {
		return nil
	}
	c := h.target.Chart(380, 290, "experiments requested", "worth of one answer, in measurements")
	end := h.axisOfExperiments(c)
	c.Across(0, figure.Muted, 0.9, 3, 3)
	// The axis reaches to half a measurement, so that worth next to nothing
	// looks it.
	values := []float64{-0.05, 0.5}
	for _, l := range lines {
		several := slices.ContainsFunc(lines,
			func(o worthLine) bool { return o.expert == l.expert && o.quantity == l.quantity && o.kind != l.kind })
		name := l.expert
		if l.quantity != "" {
			name += " on " + l.quantity
		}
		if several {
			name += "'s " + l.kind
		}
		at := slices.IndexFunc(h.def.Experts, func(e definition.Expert) bool { return e.Name == l.expert })
		color := expertColors[max(at, 0)%len(expertColors)]
		final := l.points[len(l.points)-1].Y
		now := slices.IndexFunc(h.summary.Helps,
			func(p policies.Help) bool {
				return p.Expert == l.expert && p.Kind == l.kind && p.Quantity == l.quantity
			})
		if now >= 0 { // measurements since the last decision count, as in the caption
			if final = h.summary.Helps[now].Worth; h.summary.Helps[now].Misleads > h.summary.Helps[now].Helps {
				final = -final
			}
			values = append(values, final)
		}
		// Kinds of one expert have one color, and names at their ends.
		c.Line(append(slices.Clone(l.points), plot.XY{X: end, Y: final}), color, 2)
		for _, p := range l.points {
			values = append(values, p.Y)
		}
		text := name + " " + format.Significant(math.Abs(final), 2)
		if final < 0 {
			text += "\nturned over"
		}
		c.End(final, text, color)
	}
	figure.Limits(&c.Y, 0.05, values...)
	c.Y.Tick.Marker = figure.Ticks{Want: 5}
	f := Figure{ID: "worth", Title: "What their answers are worth",
		SVG: c.SVG("Worth of an expert's answers over time")}
	f.Caption = "How much one answer tells of the objective where nothing is known of it yet, against one measurement, " +
		"as each decision knew it. Below zero: answers that go against what is measured are turned over, and tell as much."
	if lines := view.TrustIn(h.summary.Helps, nil); lines != nil {
		f.Caption += " Now: " + strings.Join(lines, "; ") + "."
	}
	return []Figure{f}
}

// figureWeight draws the dual variable λ of each expert; nil for methods without one.
//
// Each adjustment stands at the decision before it: it is recorded in one batch
// with that decision. The line begins with the weight that the first adjustment
// started from.
func figureWeight(h *history) []Figure {
	if len(h.trust) == 0 {
		return nil
	}
	c := h.target.Chart(380, 230, "experiments requested", "belief counts (weight λ)")
	end := h.axisOfExperiments(c)
	var names []string
	for _, t := range h.trust {
		if !slices.Contains(names, t.Expert) {
			names = append(names, t.Expert)
		}
	}
	values := []float64{0}
	for k, name := range names {
		color := expertColors[k%len(expertColors)]
		var line plot.XYs
		for _, t := range h.trust {
			if t.Expert != name {
				continue
			}
			spot := 0.0
			if t.decision >= 0 {
				spot = h.decisions[t.decision].spot
			}
			if line == nil {
				line = plot.XYs{{X: 0, Y: t.From}}
				values = append(values, t.From)
			}
			line = append(line, plot.XY{X: spot, Y: line[len(line)-1].Y}, plot.XY{X: spot, Y: t.To})
			values = append(values, t.To)
		}
		final := line[len(line)-1].Y
		line = append(line, plot.XY{X: end, Y: final})
		c.Line(line, color, 2)
		c.End(final, name+" "+format.Significant(final, 3), color)
	}
	figure.Limits(&c.Y, 0, values...)
	c.Y.Max += 0.1 * (c.Y.Max - c.Y.Min)
	c.Y.Tick.Marker = figure.Ticks{Want: 5}
	return []Figure{{
		ID:    "weight",
		Title: "How much the belief counts",
		SVG:   c.SVG("How much the belief counts, over time"),
		Caption: "How much the expert's belief counts in the aided choice: its weight λ, a dual variable " +
			"(Xu et al. 2024, Alg. 1). It is no measure of trust: " +
			"it falls while the expert may accept the aided candidate (lower belief bound below 0), " +
			"and grows where the belief says reject.",
	}}
}

// figureWidths draws how wide the belief was at each aided candidate, against the threshold of the
// handover: above it the expert is asked. Each mark shows the action of the decision.
//
// It needs a method that has aided candidates with a belief (policies/cobol); for others no width
// is found, and the result is empty.
func figureWidths(h *history) []Figure {
	c := h.target.Chart(780, 230, "experiments requested", "width of the belief interval (logits)")
	h.axisOfExperiments(c)
	c.X.Tick.Marker = figure.Ticks{Want: 12, Whole: true}
	type kind struct {
		name  string
		style plot.GlyphStyle
	}
	kinds := []kind{
		{"asked", figure.Filled(figure.Blue, 3, 0)},
		{"run unasked", figure.Filled(figure.Orange, 3.9, 4)},
		{"run as the expert wished", figure.Filled(figure.Green, 3.9, 3)},
		{"refused, unaided run", figure.Hollow(figure.Muted, 2.8, 1.2)},
	}
	points := make([]plot.XYs, len(kinds))
	values := []float64{0}
	for i := range h.decisions {
		d := &h.decisions[i]
		aided := d.Candidate(policies.Aided)
		if aided == nil || aided.Belief == nil {
			continue
		}
		// Order matters: a question may have been asked before under the same
		// rule, and only a chosen candidate was run at all.
		k := 3
		switch {
		case d.Form == events.FormLabel || d.Form == events.FormComparison:
			k = 0
		case d.Rule == policies.RuleAccepted,
			d.Rule == policies.RuleChosen && d.Chosen == policies.Aided,
			d.Rule == policies.RuleAskedBefore && d.Chosen == policies.Aided:
			k = 2
		case d.Chosen == policies.Aided:
			k = 1
		}
		width := aided.Belief.Upper - aided.Belief.Lower
		points[k] = append(points[k], plot.XY{X: d.spot, Y: width})
		values = append(values, width)
		lower := figure.Typeset(format.Significant(aided.Belief.Lower, 3))
		upper := figure.Typeset(format.Significant(aided.Belief.Upper, 3))
		c.Spot(d.spot, width, fmt.Sprintf("%s: %s, interval %s to %s\n%s",
			d.Decision, d.Rule, lower, upper, h.format.LineWithUnits(aided.Parameters)), d.Decision)
	}
	// Only the zero that makes the axis begin at 0.
	if len(values) == 1 {
		return nil
	}
	f := Figure{ID: "widths", Title: "Width of the expert's belief", Wide: true}
	f.Caption = "At every aided candidate."
	if w, ok := cobol.WidthOf(h.def.Policy); ok && w.Threshold != nil {
		values = append(values, *w.Threshold)
		c.Across(*w.Threshold, figure.Red, 1.2, 4, 3)
		c.End(*w.Threshold, "threshold\n"+format.Rounded(*w.Threshold, 4), figure.Red)
		f.Caption += " Above the threshold the expert is asked"
		if w.OnlyIfDecisive != nil && *w.OnlyIfDecisive {
			f.Caption += " where the interval contains 0, that is where the answer could change the choice"
		}
		f.Caption += "; below it the model goes on alone."
	}
	figure.Limits(&c.Y, 0, values...)
	c.Y.Min = 0
	c.Y.Max *= 1.08
	c.Y.Tick.Marker = figure.Ticks{Want: 5}
	for k := range kinds {
		c.Points(points[k], kinds[k].style)
		f.Legend = append(f.Legend, h.counted(kinds[k].style, kinds[k].name, points[k])...)
	}
	f.SVG = c.SVG("Width of the belief interval over time")
	return []Figure{f}
}
