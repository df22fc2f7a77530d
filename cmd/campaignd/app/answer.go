package app

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/campaignd/campaignd/adapters/console"
	"github.com/campaignd/campaignd/adapters/humans"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/view"
	"github.com/campaignd/campaignd/projections/campaign"
)

// answerReaders read what a command answers to a question of a form. Where the error is
// [events.ErrAnswer], the words for what may be answered say all.
var answerReaders = map[events.Form]func(
	def *definition.Campaign, q *campaign.Question, text string,
) (humans.Reply, error){
	events.FormLabel:      readLabel,
	events.FormComparison: readOrder,
	events.FormPinpoint:   readPoint,
	events.FormEstimate:   readNumbers,
}

// answerTo reads a person's answer to a question from the words of a command
// line. The error says which words the question calls for.
func answerTo(
	def *definition.Campaign,
	q *campaign.Question,
	words []string,
	comment string,
) (*engine.Answer, error) {
	text := strings.TrimSpace(strings.Join(words, " "))
	a := &engine.Answer{Question: q.ID}
	switch strings.ToLower(text) {
	case "":
		return nil, badInput("say what you answer to %s: %s", q.ID, view.Answers(def, q))
	case "unsure", "?", "can't tell", "can’t tell", "cant tell":
		a.Comment = comment
		return a, nil
	}
	reply, err := answerReaders[q.Form](def, q, text)
	switch {
	case errors.Is(err, events.ErrAnswer):
		return nil, badInput("%q is not an answer to %s: say %s; a remark goes into --comment",
			text, q.ID, view.Answers(def, q))
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
	case "exclude", "won't", "won’t", "wont":
		r.Answer.Label, r.Exclude = events.LabelReject, true
	default:
		err = events.ErrAnswer
	}
	return r, err
}

func readOrder(_ *definition.Campaign, q *campaign.Question, text string) (r humans.Reply, err error) {
	r.Answer.Order, err = humans.ParseOrder(text, len(q.Options))
	return r, err
}

func readPoint(def *definition.Campaign, q *campaign.Question, text string) (r humans.Reply, err error) {
	if q.Suggestion != nil && strings.EqualFold(text, "ok") {
		r.Answer.Point = q.Suggestion.Parameters
		return r, nil
	}
	r.Answer.Point, err = console.ParseComposition(def.Parameters, text)
	return r, err
}

// readNumbers reads the numbers of all rows in order, or of some by their rows; the others
// stay what was said before.
func readNumbers(def *definition.Campaign, q *campaign.Question, text string) (r humans.Reply, err error) {
	sheet := humans.NewSheet(len(q.Options), *q.Scale, q.Answer.Estimates)
	rows, err := sheet.Fill(text, 0)
	if err == nil && len(rows) < len(q.Options) && !strings.Contains(text, "=") {
		err = fmt.Errorf("it holds %d numbers for %d rows", len(rows), len(q.Options))
	}
	if err != nil {
		return r, fmt.Errorf("%w; say %s", err, view.Answers(def, q))
	}
	r.Answer.Estimates = sheet.Estimates()
	return r, nil
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
	return a.requestWith(ctx, t, func(state *campaign.State) (engine.Request, error) {
		id := args[n]
		if err := known(state, id); err != nil {
			return engine.Request{}, err
		}
		answer, err := answerTo(state.Definition, state.Question(id), args[n+1:], comment)
		return engine.Request{Answer: answer}, err
	})
}
