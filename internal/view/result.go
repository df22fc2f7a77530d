package view

import (
	"fmt"
	"slices"
	"strings"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/format"
	"github.com/campaignd/campaignd/policies"
	"github.com/campaignd/campaignd/policies/turn"
	"github.com/campaignd/campaignd/projections/belief"
	"github.com/campaignd/campaignd/projections/campaign"
)

// Standing says in a few words what state a campaign is in: "completed
// (budget)".
func Standing(s *campaign.State) string {
	switch s.Status {
	case campaign.Completed, campaign.Stopped, campaign.Paused:
		if s.Reason != "" {
			return fmt.Sprintf("%s (%s)", s.Status, s.Reason)
		}
	}
	return string(s.Status)
}

// Found says what a campaign has found: the best composition by the model and
// the best that was measured, or, where nothing is measured, what each expert
// prefers. The best by the model comes first: the best measured value is best
// partly by luck of its noise. Where both are one experiment its composition is
// written once.
func Found(s *campaign.State, summary engine.Summary) []Row {
	write := format.CompositionsOf(s.Definition)
	if !s.Definition.Measures() {
		return preferred(write, summary)
	}
	measured, byModel := summary.BestMeasured, summary.BestByModel
	if measured == nil {
		return []Row{{"best", "nothing was measured"}}
	}
	name := s.Definition.Sought().Name + " "
	add := func(rows []Row, point definition.Point, further []definition.Quantity) []Row {
		rows = append(rows, Row{"", write.LineWithUnits(point)})
		if further := quantities(further); len(further) > 0 {
			rows = append(rows, Row{"", "further " + strings.Join(further, ", ")})
		}
		return rows
	}
	both := Row{"", "measured: " + name + Measured(measured) + ", in " + measured.Experiment}
	switch {
	case byModel == nil:
		return add([]Row{{"best", "by the model: " + summary.NoModel}, both}, measured.Parameters,
			measured.Further)
	case byModel.Experiment == measured.Experiment:
		return add([]Row{rowByModel(name, byModel), both}, measured.Parameters, measured.Further)
	}
	rows := add([]Row{rowByModel(name, byModel)}, byModel.Parameters, byModel.Further)
	return add(append(rows, both), measured.Parameters, measured.Further)
}

// rowByModel is the row of the best composition by the model.
func rowByModel(name string, best *engine.ModelBest) Row {
	return Row{"best", "by the model: " + name + ByModel(best) + ", in " + best.Experiment}
}

// ByModel writes the posterior at the composition that is best by the model.
func ByModel(best *engine.ModelBest) string { return format.PlusMinus(best.Mean, best.SD, best.Unit) }

// Measured writes the best measured value.
func Measured(best *engine.Best) string { return format.Quantity(best.Value, best.Unit) }

// preferred says what each expert prefers.
func preferred(write format.Compositions, summary engine.Summary) []Row {
	if len(summary.Preferred) == 0 {
		return []Row{{"preferred", "nothing was compared"}}
	}
	rows := make([]Row, len(summary.Preferred))
	for i, best := range summary.Preferred {
		rows[i] = rowf("preferred", "by %s: %s", best.Expert, write.LineWithUnits(best.Parameters))
	}
	return rows
}

// Effort says what a campaign has spent: experiments, and the answers of its
// experts, each form of them where there are any or the policy asks for it. A
// campaign without experts and labels has a single row.
func Effort(s *campaign.State, summary engine.Summary) []Row {
	def := s.Definition
	if !def.Measures() {
		text := fmt.Sprintf("%d of %d", Compared(s), def.Budget.Comparisons)
		if n := expired(s); n > 0 {
			text += fmt.Sprintf(", %d of them unanswered", n)
		}
		return append([]Row{{"comparisons", text}}, timeRows(s)...)
	}
	rows := []Row{rowf("experiments", "%d of %d", summary.Experiments, def.Budget.Experiments)}
	if len(def.Experts) == 0 && summary.Labels == 0 {
		return rows
	}
	if summary.Labels > 0 || AsksForLabels(def) {
		rows = append(rows, rowf("labels", "%d", summary.Labels))
	}
	if all := summary.Comparisons; all > 0 {
		rows = append(rows, rowf("comparisons", "%d%s", all, initially(initialComparisons(s), all)))
	}
	if n := Named(s); n > 0 {
		rows = append(rows, rowf("named", "%s by experts", format.Count(n, "composition")))
	}
	if n := Estimated(s); n > 0 {
		rows = append(rows, rowf("estimates", "of %s", format.Count(n, "composition")))
	}
	return append(rows, timeRows(s)...)
}

// timeRows say how much of their time experts have been asked for, where it is
// limited.
func timeRows(s *campaign.State) (rows []Row) {
	for i := range s.Definition.Experts {
		if e := &s.Definition.Experts[i]; e.Time > 0 {
			rows = append(
				rows,
				rowf("time", "%s of %s's %s, as counted", definition.Duration(turn.TimeTaken(s, e)),
					e.Name, e.Time),
			)
		}
	}
	return rows
}

// AsksForLabels reports whether a campaign's policy asks its experts to accept
// or reject.
func AsksForLabels(def *definition.Campaign) bool {
	return belief.Reads(def.Policy.Trust, belief.FeedbackLabel)
}

// initially says how many answers were given before the first decision.
func initially(n, all int) string {
	switch n {
	case 0:
		return ""
	case all:
		return ", all at first"
	}
	return fmt.Sprintf(", %d of them at first", n)
}

// initialComparisons counts the comparisons that were answered before the first
// decision. They are those that no decision asked for.
func initialComparisons(s *campaign.State) int {
	return count(s.Questions, func(q *campaign.Question) bool {
		return q.Form == events.FormComparison && q.Decision == "" && len(q.Answer.Order) > 0
	})
}

// Compared counts the comparisons that were asked for and are over: what counts
// against the budget of a campaign that measures nothing.
func Compared(s *campaign.State) int {
	return count(s.Questions, func(q *campaign.Question) bool {
		return q.Form == events.FormComparison && !q.Volunteered && !q.Moot && q.Status != campaign.Asked
	})
}

// Named counts the compositions that experts named.
func Named(s *campaign.State) int {
	return count(s.Questions, func(q *campaign.Question) bool {
		return q.Form == events.FormPinpoint && q.Answer.Point != nil
	})
}

// Estimated counts the numbers and marks that experts have given. A question
// counts with each row that was answered.
func Estimated(s *campaign.State) (n int) {
	for i := range s.Questions {
		n += len(s.Questions[i].Answer.Estimates)
	}
	return n
}

// expired counts the questions that were not answered in time, nor since.
func expired(s *campaign.State) int {
	return count(s.Questions, func(q *campaign.Question) bool { return q.Status == campaign.Expired })
}

// count counts the questions for which holds is true.
func count(questions []campaign.Question, holds func(*campaign.Question) bool) (n int) {
	for i := range questions {
		if holds(&questions[i]) {
			n++
		}
	}
	return n
}

// TrustIn says how far each expert is trusted: how probably their labels help
// and with what weight their belief enters a choice, or what their answers of
// each kind are worth as measurements.
func TrustIn(helps []policies.Help, weights []campaign.Trust) (lines []string) {
	for i, h := range helps {
		line := fmt.Sprintf("%s helps with probability %.2f", h.Expert, h.Helps)
		if h.Kind != "" {
			several := slices.ContainsFunc(
				helps,
				func(o policies.Help) bool { return o.Expert == h.Expert && o.Kind != h.Kind },
			)
			line = worthText(h, several)
		}
		if h.Labels == 0 {
			line = h.Expert + " has judged nothing yet"
		}
		w := slices.IndexFunc(weights, func(t campaign.Trust) bool { return t.Expert == helps[i].Expert })
		if w >= 0 {
			line += fmt.Sprintf(" (belief counts %.2f, weight λ)", weights[w].Lambda)
		}
		lines = append(lines, line)
	}
	if helps == nil { // beliefs from other answers than labels
		for _, t := range weights {
			lines = append(lines, fmt.Sprintf(
				"%s's belief counts %.2f in a choice (its weight λ; at 0 it does not count)",
				t.Expert, t.Lambda))
		}
	}
	return lines
}

// worthText says what an expert's answers of a kind are worth, each against one
// measurement and where nothing is known yet, and in which direction they are
// taken. The kind is named where the expert has given several. The three
// readings, of which the likeliest is given: the answers are guesses, mislead, or
// help. Misleading answers are turned over, and are then worth something too.
func worthText(h policies.Help, several bool) string {
	word := h.Expert + "'s word"
	if several {
		word += " in " + h.Kind
	}
	worth := fmt.Sprintf("worth %s of a measurement", format.Significant(h.Worth, 2))
	switch guesses := 1 - h.Helps - h.Misleads; {
	case guesses > h.Helps && guesses > h.Misleads:
		return fmt.Sprintf("%s is %s: %s that it says nothing of what is measured", word, worth,
			sure(guesses))
	case h.Misleads > h.Helps:
		return fmt.Sprintf(
			"%s is turned over, and then %s: %s that it goes against what is measured",
			word,
			worth,
			sure(h.Misleads),
		)
	}
	return fmt.Sprintf("%s is %s: %s that it goes with what is measured", word, worth, sure(h.Helps))
}

// sure writes a probability that a model computed, which is never quite 1.
func sure(p float64) string {
	if p > 0.99 {
		return "over 99 %"
	}
	return format.Percent(p)
}

// Result says how a campaign ended: what it found, and at what cost. undecided
// says why an expert's preference cannot be called the best.
func Result(s *campaign.State, summary engine.Summary, undecided map[string]string) []Row {
	rows := Found(s, summary)
	for _, best := range summary.Preferred {
		if text := undecided[best.Expert]; text != "" {
			rows = append(rows, Row{"", "but for " + best.Expert + " " + text})
		}
	}
	rows = append(rows, Effort(s, summary)...)
	for _, line := range TrustIn(summary.Helps, s.Trust) {
		rows = append(rows, Row{"trust", line})
	}
	return rows
}
