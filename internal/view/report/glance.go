package report

import (
	"fmt"
	"math"
	"strings"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/ground/format"
	"github.com/campaignd/campaignd/internal/view"
	"github.com/campaignd/campaignd/internal/view/figure"
	"github.com/campaignd/campaignd/projections/belief"
	"github.com/campaignd/campaignd/projections/campaign"
)

// answer are the two best compositions: by the model, and as measured. They
// differ where the best measurement owes its value to noise.
type answer struct {
	ByModel, Measured *bestAnswer // ByModel is nil without a model,
	NoModel           string      // and why
	Unit              string
	Objective         string
	Extreme           string
}

// bestAnswer is one of them, with its value ± one standard deviation in the
// objective's unit. Rows are nil where it is the composition of the other, so
// that a composition is printed once.
type bestAnswer struct {
	Rows       []answerRow
	Value, SD  string
	Experiment string
	// Says are lines on the quantities behind the value, and on the constraints.
	Says []string
}

// answerRow is a parameter of a composition.
type answerRow struct{ Name, Value, Unit, Description string }

// number is one figure of the summary: its value, its name, and a smaller line below. All three are
// finished texts.
type number struct{ Value, Name, Detail string }

// answerOf are the best compositions; without any, the text names the missing part.
//
// The two bests come from the summary and are not searched for here, so that report, console and
// command line name the same compositions.
func answerOf(h *history) (*answer, string) {
	measured, byModel := h.summary.BestMeasured, h.summary.BestByModel
	if measured == nil {
		if len(h.summary.Outside) > 0 {
			return nil, "All that was measured lies outside the space as it is now."
		}
		return nil, "Nothing has been measured yet."
	}
	a := &answer{
		Unit: measured.Unit, Objective: h.sought.Name, Extreme: h.sought.Pick("highest", "lowest"),
		NoModel: h.summary.NoModel,
	}
	a.Measured = &bestAnswer{
		Value: h.value(measured.Value), Experiment: measured.Experiment,
		Says: append(view.MeasuredSays(measured), view.OutsideSays(h.def, h.summary.Outside)...),
	}
	if byModel != nil {
		mean, sd := format.MeanSD(byModel.Mean, byModel.SD)
		a.ByModel = &bestAnswer{answerRowsOf(h, byModel.Parameters), figure.Typeset(mean), sd,
			byModel.Experiment, view.ModelSays(h.def, byModel)}
	}
	if byModel == nil || byModel.Experiment != measured.Experiment {
		a.Measured.Rows = answerRowsOf(h, measured.Parameters)
	}
	return a, ""
}

// front is the result of a trade-off: a table of the compositions on the front, if any, and lines
// about it.
type front struct {
	Head  []string
	Rows  []frontRow
	Lines []view.Row
}

// frontRow is a composition of the front.
type frontRow struct {
	Experiment string
	Cells      []string
}

// frontOf returns the result of a trade-off; nil for a single objective.
func frontOf(h *history) *front {
	if h.def.Tradeoff() == nil {
		return nil
	}
	stands := view.Summarized(h.core, h.summary)
	f := h.summary.Tradeoff
	if f == nil || len(f.Members) == 0 {
		return &front{Lines: stands.Found()}
	}
	table := view.FrontTable(f, f.Members)
	out := &front{Head: table[0][1:], Lines: stands.AroundFront()}
	for i, line := range table[1:] {
		out.Rows = append(out.Rows, frontRow{f.Members[i].Experiment, line[1:]})
	}
	return out
}

// answerRowsOf lists a composition with units, as precisely as is needed to make
// it again.
func answerRowsOf(h *history, point definition.Point) (rows []answerRow) {
	values := h.format.Values(point, none)
	for i, p := range h.def.Parameters {
		rows = append(rows, answerRow{p.Name, values[i], p.Unit, p.Description})
	}
	return rows
}

// numbersOf are the counts of the summary: experiments or comparisons against their budget, answers
// by form, the gain, and the time taken.
//
// Imported experiments cost this campaign nothing and are not among the experiments spent; the text
// says "besides". Failed and excluded ones are.
func numbersOf(h *history) []number {
	s := h.state
	var of []string
	if n := s.Count(campaign.Failed); n > 0 {
		of = append(of, fmt.Sprintf("%d failed", n))
	}
	if n := s.Count(campaign.Unresolved); n > 0 {
		of = append(of, fmt.Sprintf("%d unresolved", n))
	}
	imported, references, excluded := 0, 0, 0
	for i := range s.Experiments {
		x := &s.Experiments[i]
		switch {
		case x.Reference():
			references++
			continue
		case x.Origin == events.OriginImport:
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
	if references > 0 {
		of = append(of, "besides "+format.Count(references, "reference"))
	}
	spent := append([]string{fmt.Sprintf("budget %d", h.def.Budget.Experiments)}, of...)
	numbers := []number{{fmt.Sprint(s.Spent()), "experiments", strings.Join(spent, ", ")}}
	if !h.measures {
		budget := fmt.Sprintf("budget %d", h.def.Budget.Comparisons)
		made := view.CampaignOf(h.core, view.Shown{}, "").Done
		numbers = []number{{fmt.Sprint(made), "comparisons", budget}}
	} else {
		numbers = append(numbers, answersGiven(h)...)
	}
	if c := s.Cost(); c != nil {
		budget := ""
		if c.Budget > 0 {
			budget = "budget " + format.SettingIn(c.Budget, c.Unit)
		}
		numbers = append(numbers, number{format.Quantity(c.Spent, c.Unit), "cost", budget})
	}
	for _, w := range s.Ways() {
		cost := ""
		if c := s.Cost(); c != nil {
			cost = "cost " + format.Quantity(w.Cost, c.Unit)
		}
		numbers = append(numbers, number{fmt.Sprint(w.Experiments), w.Name, cost})
	}
	if gain, ok := gainOf(h); ok {
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

// answersGiven are the counts of the experts' answers, by form. A form that neither the policy
// reads nor anyone has used is left out.
//
// Labels come first and by themselves, since their policy asks before experiments, and a campaign
// that could ask and did not shows a 0.
func answersGiven(h *history) (numbers []number) {
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
			// One question of estimates asks for a number at each of its
			// compositions: numbers are counted, not sittings.
			case form == events.FormEstimate: // a sitting is of many
				given += len(q.Answer.Estimates)
			case q.Status == campaign.Answered && !q.Unsure():
				given++
			}
		}
		if first+asked > 0 {
			numbers = append(numbers, number{fmt.Sprint(given), formWords[form].given,
				askedDetail(first, asked)})
		}
	}
	return numbers
}

// askedDetail says when answers were asked for: first of them before the first
// decision, asked by decisions. It stands below the number, which is that of
// the answers and may be smaller.
func askedDetail(first, asked int) string {
	switch {
	case first == 0:
		return "each before an experiment"
	case asked == 0:
		return "all at first"
	}
	return fmt.Sprintf("%d at first, then %d asked", first, asked)
}

// gainOf compares the best result with the best of the initial design: the worth of the policy over
// a random or space-filling choice. ok is false without a measurement after the design, or without
// a better one. The best of both counts measured values, noise included, so that the difference is
// somewhat flattering.
func gainOf(h *history) (number, bool) {
	course := h.converge()
	n := leading(course.results)
	if n == 0 || n >= len(course.best) {
		return number{}, false
	}
	before, after := course.best[n-1], course.best[len(course.best)-1]
	if math.IsNaN(before) || !h.sought.Better(after, before) {
		return number{}, false
	}
	text := format.Fixed(after-before, h.places)
	if after > before {
		text = "+" + text
	}
	unit := h.sought.Unit
	from := h.value(before)
	to := h.value(after)
	return number{
		figure.Typeset(text),
		strings.TrimSpace(unit + " over the initial design"),
		fmt.Sprintf("best measured %s → %s %s", from, to, unit),
	}, true
}
