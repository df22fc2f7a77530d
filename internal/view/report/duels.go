package report

import (
	"context"
	"fmt"
	"slices"

	"github.com/campaignd/campaignd/adapters/humans"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/ground/format"
	"github.com/campaignd/campaignd/internal/view/diagnose"
	"github.com/campaignd/campaignd/internal/view/figure"
	"github.com/campaignd/campaignd/internal/view/plot"
	"github.com/campaignd/campaignd/policies"
	"github.com/campaignd/campaignd/projections/campaign"
)

// standing is each expert's favorite after a number of comparisons: a point of the lines in the
// figures of comparisons. Read keeps one for every few comparisons, since the models of an earlier
// moment cannot be had from the core later.
type standing struct {
	comparisons int
	preferred   []policies.Best
}

// standings is about how often the preferences are computed over a campaign's budget. Each is a
// search over the whole space, with all models fitted.
const standings = 24

// stand notes the preferences, now and then while the log of a campaign that measures nothing is
// read. It fails with the context's error, or where the models cannot be fitted.
//
// It is called after the event was applied. Comparisons that expired or were withdrawn are counted
// too, so that the count can pass a multiple of every without an answer: the point is then that of
// the next answer.
func (h *history) stand(ctx context.Context, payload events.Payload) error {
	def := h.state.Definition
	if p, ok := payload.(*events.QuestionAnswered); !ok || p.Form != events.FormComparison || def == nil ||
		def.Measures() {
		return nil
	}
	n := h.compared()
	last := 0 // the comparisons at the last point
	if k := len(h.standings); k > 0 {
		last = h.standings[k-1].comparisons
	}
	if every := max(1, def.Budget.Comparisons/standings); n%every != 0 && n/every == last/every {
		return nil
	}
	summary, err := h.core.Summarize(ctx)
	if err != nil {
		return err
	}
	h.standings = append(h.standings, standing{n, summary.Preferred})
	return nil
}

// compared counts the comparisons that were asked for and are over. It is the
// figures' axis. Withdrawn and expired ones have a place on it: each was put to
// an expert.
func (h *history) compared() (n int) {
	for i := range h.state.Questions {
		if q := &h.state.Questions[i]; q.Form == events.FormComparison && q.Status != campaign.Asked {
			n++
		}
	}
	return n
}

// preferred is the composition that one expert prefers to everything else. Rows have the form of
// the answer of a campaign that measures, so that the template needs no second table.
type preferred struct {
	Expert string
	Rows   []answerRow
	Detail string
	Open   string // the reason not to call it the best
}

// preferencesOf are the experts' favorites at the end.
//
// "Answered" includes "can't tell", which is counted apart: it speaks for no composition.
func preferencesOf(h *history) (all []preferred) {
	for _, best := range h.summary.Preferred {
		p := preferred{Expert: best.Expert, Rows: answerRowsOf(h, best.Parameters)}
		given, unsure := 0, 0
		for i := range h.state.Questions {
			if q := &h.state.Questions[i]; q.Expert == best.Expert && q.Status == campaign.Answered {
				if q.Unsure() {
					unsure++
				} else {
					given++
				}
			}
		}
		p.Detail = fmt.Sprintf("by %s", format.Count(given, "comparison"))
		if unsure > 0 {
			p.Detail += fmt.Sprintf(", and %d that the expert could not decide", unsure)
		}
		// A rule that strikes candidates out records how many it has left.
		for k := len(h.decisions) - 1; k >= 0; k-- {
			if d := h.decisions[k]; d.Elimination != nil && d.Expert == best.Expert {
				if d.Elimination.Kept > 1 {
					p.Open = fmt.Sprintf("%d of %s may still be the best: "+
						"this is the one that its comparisons speak for so far.",
						d.Elimination.Kept, format.Count(d.Elimination.Candidates, "candidate"))
				}
				break
			}
		}
		all = append(all, p)
	}
	return all
}

// comparisonRow is one comparison in the table, answered or not. A question that
// is open has no answer and no time.
type comparisonRow struct {
	ID, Expert, Decision string
	Options              []comparisonOption
	Answer, Comment      string
	Time                 string
}

// comparisonOption is one composition of a comparison. Better is set of the
// first in the expert's order alone, also where more than two were ranked.
type comparisonOption struct {
	Name   string
	Cells  []string
	Better bool
}

// comparisonsOf returns the table of all comparisons, folded where it is long.
// Unlike the table of measurements it has groups as soon as it is longer than
// one segment, since a comparison fills several lines.
func comparisonsOf(h *history) []group[comparisonRow] {
	var rows []comparisonRow
	for i := range h.state.Questions {
		q := &h.state.Questions[i]
		if q.Form != events.FormComparison {
			continue
		}
		row := comparisonRow{
			ID:       q.ID,
			Expert:   q.Expert,
			Decision: q.Decision,
			Answer:   h.answerText(q),
			Comment:  q.Comment,
			Time:     format.Time(q.AnsweredAt),
		}
		for k, o := range q.Options {
			option := comparisonOption{
				Name:   humans.OptionName(k),
				Better: len(q.Answer.Order) > 0 && q.Answer.Order[0] == k,
				Cells:  h.format.Values(o.Parameters, none),
			}
			row.Options = append(row.Options, option)
		}
		rows = append(rows, row)
	}
	if len(rows) == 0 {
		return nil
	}
	return folded(rows, segment, func(r *comparisonRow) string { return r.ID })
}

// figuresCompared draws the course of the comparisons, a figure for each numeric parameter: the
// compositions put before the experts (hollow; filled where preferred), their anchors at the left,
// and as a line each one's favorite so far.
//
// A parameter with categories has no axis that a line could follow: it is left out, and the table
// shows its values.
//
// Points have a text only while there are not too many: in a crowd they could not be pointed at,
// and the texts are most of the bytes. The anchors stand at 0, before the first comparison.
func figuresCompared(h *history) []Figure {
	var figures []Figure
	total := h.compared()
	if total == 0 {
		return nil
	}
	numeric := 0
	for _, p := range h.def.Parameters {
		if len(p.Categories) == 0 {
			numeric++
		}
	}
	for i, p := range h.def.Parameters {
		if len(p.Categories) > 0 {
			continue
		}
		c := h.small(numeric, "comparisons", format.Heading(p.Name, p.Unit))
		c.X.Min, c.X.Max = 0, max(float64(total), 3)*1.02
		c.X.Tick.Marker = figure.Ticks{Want: 5, Whole: true}
		var better, other plot.XYs
		var values []float64
		n := 0
		for k := range h.state.Questions {
			q := &h.state.Questions[k]
			if q.Form != events.FormComparison || q.Status == campaign.Asked {
				continue
			}
			n++
			for o := range q.Options {
				y, ok := q.Options[o].Parameters[p.Name].Float()
				if !ok {
					continue
				}
				values = append(values, y)
				at := plot.XY{X: float64(n), Y: y}
				if len(q.Answer.Order) > 0 && q.Answer.Order[0] == o {
					better = append(better, at)
				} else {
					other = append(other, at)
				}
				if total <= manyPoints {
					c.Spot(at.X, at.Y,
						fmt.Sprintf("%s, %s: %s\n%s %s", q.ID, q.Expert, h.answerText(q),
							humans.OptionName(o), h.format.LineWithUnits(q.Options[o].Parameters)),
						q.ID)
				}
			}
		}
		figure.Limits(&c.Y, 0.05, values...)
		c.Points(other, figure.Hollow(figure.Gray, crowded(1.9, total), 0.8))
		c.Discs(better, figure.Gray, crowded(2.3, total))
		// Lines come after the points, so that a crowd does not hide them.
		for k, e := range h.def.Experts {
			color := expertColors[k%len(expertColors)]
			var anchors plot.XYs
			for _, point := range e.Anchors {
				if y, ok := point[p.Name].Float(); ok {
					anchors = append(anchors, plot.XY{X: 0, Y: y})
				}
			}
			c.Points(anchors, figure.Filled(color, 3.6, 3))
			var line plot.XYs
			for _, s := range h.standings {
				for _, best := range s.preferred {
					if y, ok := best.Parameters[p.Name].Float(); ok && best.Expert == e.Name {
						line = append(line, plot.XY{X: float64(s.comparisons), Y: y})
					}
				}
			}
			if len(line) == 0 {
				continue
			}
			c.Line(line, color, 2)
			c.End(line[len(line)-1].Y, e.Name, color)
		}
		figures = append(figures, Figure{
			ID:    fmt.Sprintf("compared-%d", i+1),
			Title: p.Description,
			SVG:   c.SVG("Comparisons along " + p.Name),
		})
	}
	return figures
}

// figureKept draws how many candidates may still be best, for rules that
// eliminate some. Sets of several experts cannot share one curve: the result is nil
// for those, and where nothing was eliminated yet. It starts with the first
// decision that recorded an elimination; a curve that never falls says nothing
// and is left out.
func figureKept(h *history) []Figure {
	var kept plot.XYs
	experts := make(map[string]bool)
	n := 0
	for i := range h.decisions {
		d := &h.decisions[i]
		if d.Form != events.FormComparison {
			continue
		}
		n++
		if d.Elimination == nil {
			continue
		}
		kept = append(kept, plot.XY{X: float64(n), Y: float64(d.Elimination.Kept)})
		experts[d.Expert] = true
	}
	if len(kept) == 0 || len(experts) > 1 || kept[len(kept)-1].Y == kept[0].Y {
		return nil
	}
	c := h.target.Chart(780, 230, "comparisons", "candidates that may be best")
	c.X.Min, c.X.Max = 0, max(float64(n), 3)*1.02
	c.X.Tick.Marker = figure.Ticks{Want: 12, Whole: true}
	c.Y.Min, c.Y.Max = 0, kept[0].Y*1.08
	c.Y.Tick.Marker = figure.Ticks{Want: 5, Whole: true}
	c.Line(kept, figure.Blue, 2)
	last := kept[len(kept)-1]
	c.End(last.Y, fmt.Sprintf("%g left", last.Y), figure.Blue)
	return []Figure{{
		ID:    "kept",
		Title: "Candidates that may be best",
		Wide:  true,
		SVG:   c.SVG("Candidates that may be best, over the comparisons"),
		Caption: "A round ends with the elimination of every candidate " +
			"that is worse than another beyond doubt (Kayal et al. 2025, Alg. 1).",
	}}
}

// utility is that of an expert along a parameter, with one standard deviation of the posterior to
// each side, and the place of their favorite.
type utility struct {
	expert             int
	x, mean, low, high []float64
	best               float64
}

// figuresUtility draws the utility of each expert along every parameter, each through that expert's
// favorite. All figures share one scale, since a utility has no unit and only differences mean
// something.
func figuresUtility(ctx context.Context, h *history) (figures []Figure, err error) {
	frame := diagnose.NewFrame(h.def, h.core.Space())
	curves, err := utilities(ctx, h, frame)
	if err != nil {
		return nil, err
	}
	var ends []float64
	shown := 0
	for _, lines := range curves {
		for _, line := range lines {
			ends = append(ends, slices.Min(line.low), slices.Max(line.high))
		}
		if lines != nil {
			shown++
		}
	}
	for i, lines := range curves {
		if lines == nil {
			continue
		}
		p := h.def.Parameters[i]
		c := h.small(shown, format.Heading(p.Name, p.Unit), "utility")
		c.X.Min, c.X.Max = frame.Low(i), frame.Low(i)+frame.Range(i)
		figure.Limits(&c.Y, 0.05, ends...)
		for _, line := range lines {
			color := expertColors[line.expert%len(expertColors)]
			c.Band(line.x, line.low, line.high, figure.Faded(color, 0.15))
			c.Upright(line.best, color, 0.8, 3, 3)
			c.Line(xys(line.x, line.mean), color, 2)
			if len(h.def.Experts) > 1 {
				c.End(line.mean[len(line.mean)-1], h.def.Experts[line.expert].Name, color)
			}
		}
		figures = append(figures, Figure{
			ID:    fmt.Sprintf("utility-%d", i+1),
			Title: p.Description,
			SVG:   c.SVG("Utility along " + p.Name),
		})
	}
	return figures, nil
}

// utilities are those of all experts by parameter, nil for one that cannot be varied. No
// model is fitted: the posterior of each utility follows from the recorded fit.
func utilities(ctx context.Context, h *history, frame *diagnose.Frame) ([][]utility, error) {
	view, err := h.core.View(ctx) // its preferences are in the order of the definition's experts
	if err != nil {
		return nil, err
	}
	curves := make([][]utility, len(h.def.Parameters))
	for _, best := range h.summary.Preferred {
		k := slices.IndexFunc(h.def.Experts, func(e definition.Expert) bool { return e.Name == best.Expert })
		if k < 0 || view.Preferences[k] == nil || view.Preferences[k].Utility == nil {
			continue
		}
		// The campaign's seed makes the sampled posterior the same at each
		// report.
		posterior, err := view.Preferences[k].Utility.Posterior(ctx, h.def.Seed)
		if err != nil {
			return nil, err
		}
		at, err := h.core.Space().Encode(best.Parameters)
		if err != nil {
			return nil, err
		}
		predictor := posterior.NewPredictor()
		for i := range h.def.Parameters {
			if !frame.Movable(i) {
				continue
			}
			dir, _, ok := frame.Direction(at, i)
			if !ok {
				continue
			}
			from, to := frame.Reach(at, dir)
			line := utility{expert: k, best: frame.Value(i, at)}
			// The utility of a kernel model is smooth on the scale of its
			// lengthscales: as many nodes as diagnose.Slices has draw it without
			// visible corners.
			const nodes = 61
			for node := range nodes {
				x := diagnose.Along(at, dir, from+(to-from)*float64(node)/(nodes-1))
				mean, sd := predictor.Posterior(x)
				line.x, line.mean = append(line.x, frame.Value(i, x)), append(line.mean, mean)
				line.low, line.high = append(line.low, mean-sd), append(line.high, mean+sd)
			}
			curves[i] = append(curves[i], line)
		}
	}
	return curves, nil
}
