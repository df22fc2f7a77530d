package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/campaignd/campaignd/adapters/humans"
	"github.com/campaignd/campaignd/adapters/humans/terminal"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/console"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/format"
	"github.com/campaignd/campaignd/projections/campaign"
)

// answering is how a form of question is answered by a command.
type answering struct {
	// read understands a text; the error says nothing where the words for what may be
	// answered say all.
	read func(def *definition.Campaign, q *campaign.Question, text string) (humans.Reply, error)
	// may says in words what may be answered, and blank as a command.
	may, blank func(def *definition.Campaign, q *campaign.Question) string
	// lines say in the status what is asked: the rest of the first line, and others.
	lines func(def *definition.Campaign, q *campaign.Question) (rest string, more []string)
}

var formsInCommands = map[events.Form]answering{
	events.FormLabel:      {readLabel, mayLabel, blankLabel, linesOfLabel},
	events.FormComparison: {readOrder, mayOrder, blankOrder, linesOfOrder},
	events.FormPinpoint:   {readPoint, mayPoint, blankPoint, linesOfPoint},
}

// answerTo reads a person's answer to a question from the words of a command
// line. The error says which words the question calls for.
func answerTo(def *definition.Campaign, q *campaign.Question, words []string, comment string) (*engine.Answer, error) {
	text := strings.TrimSpace(strings.Join(words, " "))
	form := formsInCommands[q.Form]
	a := &engine.Answer{Question: q.ID}
	switch strings.ToLower(text) {
	case "":
		return nil, badInput("say what you answer to %s: %s", q.ID, form.may(def, q))
	case "unsure", "?", "can't tell", "can’t tell", "cant tell":
		a.Comment = comment
		return a, nil
	}
	reply, err := form.read(def, q, text)
	switch {
	case errors.Is(err, events.ErrAnswer):
		return nil, badInput("%q is not an answer to %s: say %s; a remark goes into --comment", text, q.ID, form.may(def, q))
	case err != nil:
		return nil, badInput("%q is not an answer to %s: %w", text, q.ID, err)
	}
	a.Reply = reply
	a.Comment = comment
	return a, nil
}

func readLabel(_ *definition.Campaign, _ *campaign.Question, text string) (r humans.Reply, err error) {
	switch strings.ToLower(text) {
	case "accept":
		r.Answer.Label = events.LabelAccept
	case "reject":
		r.Answer.Label = events.LabelReject
	case "refuse", "won't", "won’t", "wont":
		r.Answer.Label, r.Exclude = events.LabelReject, true
	default:
		err = events.ErrAnswer
	}
	return r, err
}

func mayLabel(*definition.Campaign, *campaign.Question) string {
	return "accept, reject, unsure or refuse"
}

func blankLabel(*definition.Campaign, *campaign.Question) string {
	return "accept|reject|unsure|refuse"
}

func linesOfLabel(def *definition.Campaign, q *campaign.Question) (rest string, more []string) {
	return " (" + format.CompositionsOf(def).Line(q.Composition()) + ")", nil
}

func readOrder(_ *definition.Campaign, q *campaign.Question, text string) (r humans.Reply, err error) {
	r.Answer.Order, err = humans.ParseOrder(text, len(q.Options))
	return r, err
}

func mayOrder(_ *definition.Campaign, q *campaign.Question) string {
	if len(q.Options) == 2 {
		return "A or B, the better one, or unsure"
	}
	return "the letters of " + humans.OptionNames(len(q.Options)) + " from the best to the worst, as in B A C, or unsure"
}

func blankOrder(_ *definition.Campaign, q *campaign.Question) string {
	names := make([]string, len(q.Options))
	for i := range names {
		names[i] = humans.OptionName(i)
	}
	if len(names) > 2 {
		return strings.Join(names, " ") + "   (the best first), or unsure"
	}
	return strings.Join(names, "|") + "|unsure"
}

func linesOfOrder(def *definition.Campaign, q *campaign.Question) (rest string, more []string) {
	for i, o := range q.Options {
		more = append(more, humans.OptionName(i)+"  "+format.CompositionsOf(def).Line(o.Parameters))
	}
	return ": which is better?", more
}

func readPoint(def *definition.Campaign, q *campaign.Question, text string) (r humans.Reply, err error) {
	if q.Suggestion != nil && strings.EqualFold(text, "ok") {
		r.Answer.Point = q.Suggestion.Parameters
		return r, nil
	}
	r.Answer.Point, err = console.ParseComposition(def.Parameters, text)
	return r, err
}

func mayPoint(def *definition.Campaign, q *campaign.Question) string {
	text := console.Blank(def.Parameters)
	if q.Suggestion != nil {
		text += ", ok for what the campaign would take,"
	}
	return text + " or unsure"
}

func blankPoint(def *definition.Campaign, q *campaign.Question) string {
	if q.Suggestion != nil {
		return console.Blank(def.Parameters) + "   (or ok, or unsure)"
	}
	return console.Blank(def.Parameters) + "   (or unsure)"
}

func linesOfPoint(def *definition.Campaign, q *campaign.Question) (rest string, more []string) {
	if q.Suggestion != nil {
		more = append(more, "the campaign would take "+format.CompositionsOf(def).Line(q.Suggestion.Parameters))
	}
	return ": what to measure next?", more
}

// tellAnswer is the command that answers a question, with what may be answered.
func tellAnswer(def *definition.Campaign, q *campaign.Question, t target) string {
	return fmt.Sprintf("campaignd tell %s %s %s", shellArg(t.store), q.ID, formsInCommands[q.Form].blank(def, q))
}

// shown is a question as its expert sees it.
func shown(def *definition.Campaign, q *campaign.Question) (title string, body []string) {
	return terminal.Show(humans.Question{
		ID: q.ID, Expert: q.Expert, Form: q.Form, Parameters: def.Parameters, Options: q.Options, Suggestion: q.Suggestion,
		Objective: def.Objective, Explanation: q.Explanation, Attributions: q.Attributions, Asked: q.AskedAt, Expires: q.Expires,
	})
}

// subject finds the experiment or question among a command's arguments: the
// first, or the second after a target. n is its index, −1 where there is none.
func subject(args []string) (n int) {
	for n = range min(len(args), 2) {
		if isSubject(args[n]) {
			return n
		}
	}
	return -1
}

// answer has an answer recorded, first or changed. args[n] is the question; an
// optional target stands before it, and what is answered after it.
func (a *app) answer(ctx context.Context, args []string, n int, comment string) error {
	t, err := a.optionalTarget(args[:n])
	if err != nil {
		return err
	}
	return a.requestWith(ctx, t, func(s *session) (engine.Request, error) {
		core, err := s.core(ctx)
		if err != nil {
			return engine.Request{}, err
		}
		state, id := core.State(), args[n]
		if err := known(state, id); err != nil {
			return engine.Request{}, err
		}
		answer, err := answerTo(state.Definition, state.Question(id), args[n+1:], comment)
		return engine.Request{Answer: answer}, err
	})
}
