package view

import (
	"fmt"
	"slices"
	"strings"

	"github.com/campaignd/campaignd/adapters/humans"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/ground/format"
	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/projections/campaign"
)

// Question is a question in the words that its expert reads, the same on every
// channel. Allowed is not set: it needs the space, which a question does not.
func Question(def *definition.Campaign, q *campaign.Question) humans.Question {
	return humans.Question{
		ID: q.ID, Expert: q.Expert, Form: q.Form,
		Parameters: def.Parameters, Steps: def.Steps(), Excluded: slices.Concat(def.Excluded, def.Barred),
		Objective: def.Sought(),
		Options:   q.Options, Scale: q.Scale, Suggestion: q.Suggestion,
		Explanation: q.Explanation, Attributions: q.Attributions,
		Asked: q.AskedAt, Expires: q.Expires,
	}
}

// formWords are the words for a form of question. A new form of question is a
// row of these, and no further branch elsewhere in the package.
type formWords struct {
	// initial is the word for an answer that an expert gives unasked at the beginning.
	initial string
	// decided describes a decision that asks such a question.
	decided func(d *events.DecisionMade) string
	// asked is the question to the expert, as it goes on after "q7 asks ada".
	asked func(s *Story, of about) string
	// does is the expert's act of answering, as it goes on after the expert: "prefers B (…) to A
	// (…) in q7".
	does func(s *Story, question string, of about, a events.Answer) string
	// asks is an open question in words, as it goes on after the expert, and in further lines.
	asks func(def *definition.Campaign, q *campaign.Question) (question string, lines []string)
	// answers describes the valid answers in words.
	answers func(def *definition.Campaign, q *campaign.Question) string
	// choices are the possible answers, as a person types them.
	choices func(def *definition.Campaign, q *campaign.Question) []string
}

// about is the subject of a question: compositions, and their outcomes where these are compared.
type about struct {
	points   []definition.Point
	outcomes []events.Outcome
}

// forms has a row for every form of question; a test finds a missing one.
var forms = map[events.Form]formWords{
	events.FormLabel: {
		initial: "label",
		decided: decidedToAsk,
		asked:   (*Story).askedToLabel,
		does:    (*Story).labels,
		asks:    asksForLabel,
		answers: labelAnswers,
		choices: labelChoices,
	},
	events.FormComparison: {
		initial: "comparison",
		decided: decidedToCompare,
		asked:   (*Story).askedToCompare,
		does:    (*Story).compares,
		asks:    asksForOrder,
		answers: orderAnswers,
		choices: orderChoices,
	},
	events.FormPinpoint: {
		initial: "composition",
		decided: decidedToPinpoint,
		asked:   (*Story).askedToPinpoint,
		does:    (*Story).pinpoints,
		asks:    asksForPoint,
		answers: pointAnswers,
		choices: pointChoices,
	},
	events.FormEstimate: {
		initial: "estimate",
		decided: decidedToEstimate,
		asked:   (*Story).askedToEstimate,
		does:    (*Story).estimates,
		asks:    asksForNumbers,
		answers: numberAnswers,
		choices: numberChoices,
	},
	events.FormOutcomes: {
		initial: "comparison of outcomes",
		decided: decidedToCompareOutcomes,
		asked:   (*Story).askedToCompareOutcomes,
		does:    (*Story).comparesOutcomes,
		asks:    asksForOutcome,
		answers: orderAnswers,
		choices: orderChoices,
	},
}

// wordsOf are the words for a form. A log may hold one that this program does not know: one that
// was changed, which an audit finds, is read nevertheless.
func wordsOf(form events.Form) formWords {
	if words, known := forms[form]; known {
		return words
	}
	const unknown = "a question of a form that this program does not know"
	return formWords{
		initial: "answer",
		decided: func(*events.DecisionMade) string { return "ask " + unknown },
		asked:   func(*Story, about) string { return unknown },
		does:    func(_ *Story, question string, _ about, _ events.Answer) string { return "answers " + question },
		asks: func(*definition.Campaign, *campaign.Question) (string, []string) {
			return unknown, nil
		},
		answers: func(*definition.Campaign, *campaign.Question) string { return "nothing" },
		choices: func(*definition.Campaign, *campaign.Question) []string { return nil },
	}
}

// Answers describes the valid answers to a question. It completes “say …”, in messages about an
// invalid answer.
func Answers(def *definition.Campaign, q *campaign.Question) string {
	return wordsOf(q.Form).answers(def, q)
}

// AnswerTo is how a question is answered. The ways are texts to type; a page has fields in their
// place.
func AnswerTo(def *definition.Campaign, q *campaign.Question) problem.Remedy {
	return problem.Remedy{
		Text:    "answer it",
		Action:  problem.Answer,
		Subject: q.ID,
		Ways:    wordsOf(q.Form).choices(def, q),
	}
}

// Asks writes an open question in lines, without the expert and the time left.
func Asks(def *definition.Campaign, q *campaign.Question) (question string, lines []string) {
	return wordsOf(q.Form).asks(def, q)
}

// The rest of the file is the words of each form, a group for one form after
// the other: label, comparison, pinpoint, estimate. Each function fills the
// field of formWords whose name it resembles. The candidate is named by its
// role, not by its composition: that stands in the table of candidates.
func decidedToAsk(d *events.DecisionMade) string {
	return fmt.Sprintf("ask %s about the %s candidate", d.Expert, d.Chosen)
}

// The words go on after the expert's name, so that each begins with a space or
// a colon.
func asksForLabel(def *definition.Campaign, q *campaign.Question) (question string, lines []string) {
	return " (" + format.CompositionsOf(def).Line(q.Composition()) + ")", nil
}

// “unsure” is among the words of every form.
func labelAnswers(*definition.Campaign, *campaign.Question) string {
	return "accept, reject, unsure or exclude"
}

// “exclude” is a rejection that also excludes the surroundings.
func labelChoices(*definition.Campaign, *campaign.Question) []string {
	return []string{string(events.LabelAccept), string(events.LabelReject), "unsure", "exclude"}
}

// With more than two it is a ranking, also where the expert may name the best
// alone.
func decidedToCompare(d *events.DecisionMade) string {
	if len(d.Candidates) > 2 {
		return fmt.Sprintf("ask %s to rank %d candidates", d.Expert, len(d.Candidates))
	}
	return fmt.Sprintf("ask %s which of two candidates is better", d.Expert)
}

// Compositions get as many decimals as it takes to distinguish them: two that
// read alike could not be compared.
func asksForOrder(def *definition.Campaign, q *campaign.Question) (question string, lines []string) {
	points := q.Points()
	apart := format.CompositionsOf(def).Apart(points...)
	for i, point := range points {
		lines = append(lines, humans.OptionName(i)+"  "+apart.Line(point))
	}
	return ": which is better?", lines
}

// The letters are those of the options, in the order in which the expert saw
// them.
func orderAnswers(_ *definition.Campaign, q *campaign.Question) string {
	if len(q.Options) == 2 {
		return "A or B, the better one, or unsure"
	}
	return "the letters of " + humans.OptionNames(len(q.Options)) +
		" from the best to the worst, as in B A C, or unsure"
}

// Two options are two choices; all orders of more would be too many to list.
func orderChoices(_ *definition.Campaign, q *campaign.Question) []string {
	names := make([]string, len(q.Options))
	for i := range names {
		names[i] = humans.OptionName(i)
	}
	if len(names) > 2 {
		return []string{strings.Join(names, " ") + "   (the best first), or unsure"}
	}
	return append(names, "unsure")
}

// There are no candidates to be named: the composition is for the expert to give.
func decidedToPinpoint(d *events.DecisionMade) string {
	return fmt.Sprintf("ask %s for a composition of their own", d.Expert)
}

// What the campaign would take is shown, since the expert may agree with it
// (ok).
func asksForPoint(def *definition.Campaign, q *campaign.Question) (question string, lines []string) {
	if q.Suggestion != nil {
		suggestion := format.CompositionsOf(def).Line(q.Suggestion.Parameters)
		lines = append(lines, "the campaign would take "+suggestion)
	}
	return ": what to measure next?", lines
}

// The blank has the campaign's own parameters, in their order.
func pointAnswers(def *definition.Campaign, q *campaign.Question) string {
	text := format.Blank(def.Parameters)
	if q.Suggestion != nil {
		text += ", ok for what the campaign would take,"
	}
	return text + " or unsure"
}

// One choice stands for all compositions; the hint after it is not typed.
func pointChoices(def *definition.Campaign, q *campaign.Question) []string {
	if q.Suggestion != nil {
		return []string{format.Blank(def.Parameters) + "   (or ok, or unsure)"}
	}
	return []string{format.Blank(def.Parameters) + "   (or unsure)"}
}

// Each value takes one number, in a single sitting.
func decidedToEstimate(d *events.DecisionMade) string {
	return fmt.Sprintf("ask %s what they expect of %d candidates", d.Expert, len(d.Candidates))
}

// Rows are counted from 1, and answers name them by that.
func asksForNumbers(def *definition.Campaign, q *campaign.Question) (question string, lines []string) {
	points := q.Points()
	apart := format.CompositionsOf(def).Apart(points...)
	for i, point := range points {
		lines = append(lines, fmt.Sprintf("%d  %s", i+1, apart.Line(point)))
	}
	if q.Scale.Marks > 0 {
		return fmt.Sprintf(": how good is each, from 1 (worst) to %d (best)?", q.Scale.Marks), lines
	}
	return fmt.Sprintf(": what %s do you expect of each?", Estimated(q.Scale)), lines
}

// Estimated names the quantities that are estimated on a scale, with units: "conductivity (mS/cm)
// and viscosity (mPa·s)".
func Estimated(scale *events.Scale) string {
	columns := scale.Table()
	names := make([]string, len(columns))
	for i, c := range columns {
		names[i] = format.Heading(c.Quantity, c.Unit)
	}
	return format.List(names...)
}

// An empty place says that the expert cannot tell, which zero would not.
func numberAnswers(_ *definition.Campaign, q *campaign.Question) string {
	what := "the numbers"
	if q.Scale.Marks > 0 {
		what = fmt.Sprintf("the marks from 1 (worst) to %d (best)", q.Scale.Marks)
	}
	some := "ROW=NUMBER for some"
	if columns := q.Scale.Table(); len(columns) > 1 {
		names := make([]string, len(columns))
		for i, c := range columns {
			names[i] = humans.ColumnLetter(i) + " " + c.Quantity
		}
		some = fmt.Sprintf("CELL=NUMBER for some, such as 1%s=… (%s)", humans.ColumnLetter(1), format.List(names...))
		what += " row by row,"
	}
	return fmt.Sprintf("%s of all %d rows in order, with commas between and nothing for what you cannot tell, "+
		"%s, or unsure", what, len(q.Options), some)
}

// One choice stands for all numbers, which cannot be listed.
func numberChoices(_ *definition.Campaign, q *campaign.Question) []string {
	sheet := humans.NewSheet(len(q.Options), *q.Scale, nil)
	return []string{fmt.Sprintf("%s=… %s=… … %s=…", sheet.Name(0), sheet.Name(1), sheet.Name(sheet.Cells()-1)) +
		"   (or all in order: --values …,…; or unsure)"}
}

// The comparison is between the results of experiments, not between ways to make them.
func decidedToCompareOutcomes(d *events.DecisionMade) string {
	return fmt.Sprintf("ask %s which of two outcomes they would rather have", d.Expert)
}

// Each outcome is marked as measured or not.
func asksForOutcome(_ *definition.Campaign, q *campaign.Question) (question string, lines []string) {
	for i, o := range q.Outcomes() {
		lines = append(lines, humans.OptionName(i)+"  "+outcomeText(o))
	}
	return ": which outcome would you rather have?", lines
}

// outcomeText is an outcome and where it comes from.
func outcomeText(o events.Outcome) string {
	return humans.OutcomeLine(o) + "; " + humans.OutcomeOrigin(o)
}
