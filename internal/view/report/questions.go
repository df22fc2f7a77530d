package report

import (
	"fmt"
	"strings"

	"github.com/campaignd/campaignd/adapters/humans"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/ground/format"
	"github.com/campaignd/campaignd/internal/view/figure"
	"github.com/campaignd/campaignd/internal/view/plot"
	"github.com/campaignd/campaignd/projections/campaign"
)

// questionRow counts an expert's questions of one form. Unanswered are those
// that are open, expired or withdrawn. Its counts add up: each question is
// answered, unsure or unanswered.
type questionRow struct {
	Expert, Form                        string
	Asked, Answered, Unsure, Unanswered int
	Note                                string
}

// formWords describe for each form of question the decision that asks for it, the task of the
// expert, and the answer.
var formWords = map[events.Form]struct{ action, asks, given string }{
	events.FormLabel:      {"ask", "accept or reject", "labels"},
	events.FormComparison: {"compare", "compare", "comparisons"},
	events.FormPinpoint:   {"pinpoint", "name a composition", "compositions named"},
	events.FormEstimate:   {"estimate", "estimate compositions", "estimates"},
	events.FormOutcomes:   {"compare", "compare outcomes", "comparisons of outcomes"},
}

// actionText names the action of a decision in a word. "Ask" alone would not distinguish a label
// from a comparison.
func actionText(d *events.DecisionMade) string {
	if d.Action == events.ActionAsk {
		return formWords[d.Form].action
	}
	return string(d.Action)
}

// questionRowsOf counts the questions by expert and form, the initial ones and
// the volunteered ones included.
func questionRowsOf(h *history) []questionRow {
	var rows []questionRow
	for _, e := range h.def.Experts {
		for _, form := range events.Forms() {
			row := questionRow{Expert: e.Name, Form: formWords[form].asks}
			initial := 0
			for i := range h.state.Questions {
				q := &h.state.Questions[i]
				if q.Expert != e.Name || q.Form != form {
					continue
				}
				row.Asked++
				if q.Decision == "" {
					initial++
				}
				switch {
				case q.Unsure():
					row.Unsure++
				case q.Status == campaign.Answered:
					row.Answered++
				default:
					row.Unanswered++
				}
			}
			if row.Asked == 0 {
				continue
			}
			if initial > 0 {
				row.Note = fmt.Sprintf("%d of them before the first decision", initial)
			}
			rows = append(rows, row)
		}
	}
	return rows
}

// answerText describes the outcome of a question in a few words. It is shown in table cells: an
// answer that takes more than a line, such as an estimate for each composition, is only counted.
func (h *history) answerText(q *campaign.Question) string {
	switch {
	case q.Status != campaign.Answered:
		return string(q.Status)
	case q.Unsure():
		return "can't tell"
	case q.Form == events.FormComparison:
		letters := make([]string, len(q.Answer.Order))
		for k, i := range q.Answer.Order {
			letters[k] = humans.OptionName(i)
		}
		if len(q.Options) > 2 {
			return strings.Join(letters, ", ")
		}
		if c := q.Winner().Candidate; c != "" && h.measures { // "first" and "second" say nothing
			letters[0] += " (" + c + ")"
		}
		return letters[0]
	case q.Form == events.FormOutcomes:
		return humans.OptionName(q.Answer.Order[0])
	case q.Form == events.FormPinpoint:
		return h.format.LineWithUnits(q.Answer.Point)
	case q.Form == events.FormEstimate:
		return fmt.Sprintf("%d of %d estimated", len(q.Answer.Estimates), len(q.Options)*len(q.Scale.Table()))
	}
	return outcomeNames[outcomeOf(q)]
}

// reviews returns, in order, the decisions that first recorded how a choice
// looked once its composition was measured. A review is made by the policy with
// the model of that time, and recorded; the report only shows it.
func (h *history) reviews() (all []*decision) {
	last := ""
	for i := range h.decisions {
		// Decisions repeat the review until a newer one comes.
		if r := h.decisions[i].Review; r != nil && r.Question != last {
			last = r.Question
			all = append(all, &h.decisions[i])
		}
	}
	return all
}

// review returns the review of the choice in a question, or nil where its
// composition has not been measured yet.
func (h *history) review(question string) *events.ChoiceReview {
	for i := range h.decisions {
		if r := h.decisions[i].Review; r != nil && r.Question == question {
			return r
		}
	}
	return nil
}

// figureReviews draws how probable it is that each choice was right; ok is
// false where no choice was reviewed. A choice is drawn at the experiment that
// it led to, not at the decision that reviewed it.
func figureReviews(h *history) []Figure {
	all := h.reviews()
	if len(all) == 0 {
		return nil
	}
	c := h.target.Chart(780, 230, "experiments requested", "probability that the choice was right")
	h.axisOfExperiments(c)
	c.X.Tick.Marker = figure.Ticks{Want: 12, Whole: true}
	c.Y.Min, c.Y.Max = 0, 1.04
	c.Y.Tick.Marker = figure.Ticks{Want: 5}
	c.Across(0.5, figure.Muted, 0.9, 3, 3)
	c.End(0.5, "guessing", figure.Muted)
	f := Figure{ID: "reviews", Title: "Were the choices right?", Wide: true}
	for k, e := range h.def.Experts {
		style := figure.Filled(expertColors[k%len(expertColors)], crowded(3.4, len(all)), 0)
		var points plot.XYs
		for _, d := range all {
			r := d.Review
			if r.Expert != e.Name {
				continue
			}
			x := float64(events.ExperimentNumber(r.Experiment))
			points = append(points, plot.XY{X: x, Y: r.Probability})
			text := fmt.Sprintf("%s in %s: right with probability %s, now that %s is measured",
				r.Expert, r.Question, format.Fixed(r.Probability, 2), r.Experiment)
			href := r.Experiment
			if q := h.state.Question(r.Question); q != nil && q.Decision != "" {
				href = q.Decision
			}
			c.Spot(x, r.Probability, text, href)
		}
		c.Points(points, style)
		f.Legend = append(f.Legend, h.counted(style, e.Name, points)...)
	}
	f.SVG = c.SVG("Probability that each choice was right")
	f.Caption = "Of the two compositions in each choice, " +
		"the probability that the chosen one is the better, " +
		"by the model once it was measured (Adachi et al. 2024, Eq. 101). " +
		"Where the two are much alike it stays near a half, whichever was chosen."
	return []Figure{f}
}
