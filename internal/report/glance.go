package report

import (
	"fmt"
	"math"
	"strings"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/format"
	"github.com/campaignd/campaignd/internal/report/chart"
	"github.com/campaignd/campaignd/projections/belief"
	"github.com/campaignd/campaignd/projections/campaign"
)

// answer is the best composition.
type answer struct {
	Rows       []answerRow
	Mean, SD   string
	Unit       string
	Objective  string
	Extreme    string
	Experiment string
	Measured   string
}

type answerRow struct{ Name, Value, Unit, Description string }

// number is one figure of the summary.
type number struct{ Value, Name, Detail string }

// answer is the best composition, or what is missing for one.
func (h *history) answer() (*answer, string) {
	best := h.summary.Best
	if best == nil {
		return nil, "Nothing has been measured yet."
	}
	a := &answer{Unit: best.Unit, Objective: h.def.Objective.Name, Experiment: best.Experiment, Extreme: "lowest"}
	if h.def.Objective.Goal == definition.Maximize {
		a.Extreme = "highest"
	}
	for i, p := range h.def.Parameters {
		a.Rows = append(a.Rows, answerRow{p.Name, h.format.value(i, best.Parameters), p.Unit, p.Description})
	}
	a.Mean = chart.Typeset(format.Fixed(best.Value, h.places))
	if h.model != nil {
		if p, err := h.model.Predict(best.Parameters); err == nil {
			mean, sd := format.MeanSD(p.Mean, p.SD)
			a.Mean, a.SD = chart.Typeset(mean), sd
		}
	}
	if x := h.state.Experiment(best.Experiment); x != nil && x.Measurement != nil {
		a.Measured = chart.Typeset(format.Fixed(x.Measurement.Objective.Value, h.places))
	}
	return a, ""
}

// numbers are the counts of the summary.
func (h *history) numbers() []number {
	s := h.state
	var of []string
	if n := s.Count(campaign.Failed); n > 0 {
		of = append(of, fmt.Sprintf("%d failed", n))
	}
	if n := s.Count(campaign.Unresolved); n > 0 {
		of = append(of, fmt.Sprintf("%d unresolved", n))
	}
	imported, excluded := 0, 0
	for i := range s.Experiments {
		x := &s.Experiments[i]
		if x.Origin == events.OriginImport {
			imported++
		}
		if x.Excluded {
			excluded++
		}
	}
	if excluded > 0 {
		of = append(of, fmt.Sprintf("%d excluded", excluded))
	}
	if imported > 0 {
		of = append(of, fmt.Sprintf("besides %d imported", imported))
	}
	spent := append([]string{fmt.Sprintf("budget %d", h.def.Budget.Experiments)}, of...)
	numbers := []number{{fmt.Sprint(s.Spent()), "experiments", strings.Join(spent, ", ")}}
	if !h.def.Measures() {
		budget := fmt.Sprintf("budget %d", h.def.Budget.Comparisons)
		numbers = []number{{fmt.Sprint(h.compared()), "comparisons", budget}}
	} else {
		numbers = append(numbers, h.answersGiven()...)
	}
	if gain, ok := h.gain(); ok {
		numbers = append(numbers, gain)
	}
	end, name := h.last.Time, "so far"
	if !s.EndedAt.IsZero() {
		end, name = s.EndedAt, "from start to end"
	}
	if h.idle > 0 {
		name = name + ", without " + format.Duration(h.idle) + " between an end and its continuation"
	}
	return append(numbers, number{format.Duration(end.Sub(s.DefinedAt) - h.idle), name,
		format.Count(len(h.decisions), "decision")})
}

// answersGiven are the counts of what the experts said, by its form.
func (h *history) answersGiven() (numbers []number) {
	s := h.state
	if s.Labels() > 0 || len(h.def.Experts) > 0 && belief.Reads(h.def.Policy.Trust, belief.FeedbackLabel) {
		asked, initial := h.labels()
		first := 0
		for _, n := range initial {
			first += n
		}
		numbers = append(numbers, number{fmt.Sprint(s.Labels()), "labels", askedDetail(first, len(asked))})
	}
	for _, form := range events.Forms() {
		if form == events.FormLabel {
			continue // see above
		}
		given := 0
		first := 0
		asked := 0
		for i := range s.Questions {
			q := &s.Questions[i]
			switch {
			case q.Form != form:
				continue
			case q.Decision == "":
				first++
			default:
				asked++
			}
			switch {
			case form == events.FormEstimate: // a sitting is of many
				given += len(q.Answer.Estimates)
			case q.Status == campaign.Answered && !q.Unsure():
				given++
			}
		}
		if first+asked > 0 {
			numbers = append(numbers, number{fmt.Sprint(given), formWords[form].given, askedDetail(first, asked)})
		}
	}
	return numbers
}

// askedDetail says when answers were asked for.
func askedDetail(first, asked int) string {
	switch {
	case first == 0:
		return "each before an experiment"
	case asked == 0:
		return "all at first"
	}
	return fmt.Sprintf("%d at first, then %d asked", first, asked)
}

// gain compares the best result with the best of the initial design.
func (h *history) gain() (number, bool) {
	course := h.converge()
	n := leading(course.results)
	if n == 0 || n >= len(course.best) {
		return number{}, false
	}
	before, after := course.best[n-1], course.best[len(course.best)-1]
	if math.IsNaN(before) || before == after {
		return number{}, false
	}
	text := format.Fixed(after-before, h.places)
	if after > before {
		text = "+" + text
	}
	unit := h.def.Objective.Unit
	from := chart.Typeset(format.Fixed(before, h.places))
	to := chart.Typeset(format.Fixed(after, h.places))
	return number{
		chart.Typeset(text),
		strings.TrimSpace(unit + " over the initial design"),
		fmt.Sprintf("best measured %s → %s %s", from, to, unit),
	}, true
}
