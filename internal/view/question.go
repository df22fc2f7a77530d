package view

import (
	"strings"

	"github.com/campaignd/campaignd/adapters/humans"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/format"
	"github.com/campaignd/campaignd/projections/campaign"
)

// Question is a question as its expert is asked it: what every way of asking shows.
func Question(def *events.Definition, q *campaign.Question) humans.Question {
	question := humans.Question{
		ID: q.ID, Expert: q.Expert, Form: humans.Form(q.Form),
		Parameters: def.Parameters, Steps: def.Instrument.Steps,
		Objective: def.Objective,
		Point:     q.Parameters, Options: q.Options,
		Prediction: q.Prediction, Belief: q.Belief,
		Explanation: q.Explanation, Attributions: q.Attributions,
		Asked: q.AskedAt, Expires: q.Expires,
	}
	if q.Suggestion != nil {
		question.Point = q.Suggestion.Parameters
		question.Prediction = q.Suggestion.Prediction
	}
	return question
}

// Answers says in words what may be answered to a question.
func Answers(def *events.Definition, q *campaign.Question) string {
	switch q.Form {
	case campaign.Comparison:
		if len(q.Options) == 2 {
			return "A or B, the better one, or unsure"
		}
		return "the letters of " + humans.OptionNames(len(q.Options)) +
			" from the best to the worst, as in B A C, or unsure"
	case campaign.Pinpoint:
		text := format.Blank(def.Parameters)
		if q.Suggestion != nil {
			text += ", ok for what the campaign would take,"
		}
		return text + " or unsure"
	}
	return "accept, reject, unsure or refuse"
}

// AnswerTo is how a question is answered.
func AnswerTo(def *events.Definition, q *campaign.Question) Action {
	return Action{Do: Tell, About: q.ID, With: choices(def, q)}
}

// choices are the answers to a question as they are written.
func choices(def *events.Definition, q *campaign.Question) string {
	switch q.Form {
	case campaign.Comparison:
		names := make([]string, len(q.Options))
		for i := range names {
			names[i] = humans.OptionName(i)
		}
		if len(names) > 2 {
			return strings.Join(names, " ") + "   (the best first), or unsure"
		}
		return strings.Join(names, "|") + "|unsure"
	case campaign.Pinpoint:
		if q.Suggestion != nil {
			return format.Blank(def.Parameters) + "   (or ok, or unsure)"
		}
		return format.Blank(def.Parameters) + "   (or unsure)"
	}
	return "accept|reject|unsure|refuse"
}

// Asks says in lines what an open question asks, the expert and the time left apart.
func Asks(def *events.Definition, q *campaign.Question) (question string, lines []string) {
	write := format.CompositionsOf(def)
	switch q.Form {
	case campaign.Comparison:
		points := q.Points()
		apart := write.Apart(points...)
		for i, point := range points {
			lines = append(lines, humans.OptionName(i)+"  "+apart.Line(point))
		}
		return ": which is better?", lines
	case campaign.Pinpoint:
		if q.Suggestion != nil {
			lines = append(lines, "the campaign would take "+write.Line(q.Suggestion.Parameters))
		}
		return ": what to measure next?", lines
	}
	return " (" + write.Line(q.Parameters) + ")", nil
}
