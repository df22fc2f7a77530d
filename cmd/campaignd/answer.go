package main

import (
	"context"
	"strings"

	"github.com/campaignd/campaignd/adapters/humans"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/console"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/view"
	"github.com/campaignd/campaignd/projections/campaign"
)

// labelWords are the answers to a label, as they may be told.
var labelWords = map[string]string{
	"accept": events.AnswerAccept, "reject": events.AnswerReject,
	"refuse": events.AnswerRefuse, "won't": events.AnswerRefuse, "won’t": events.AnswerRefuse, "wont": events.AnswerRefuse,
}

// answerTo reads a person's answer to a question from the words of a command
// line. The error says which words the question calls for.
func answerTo(def *events.Definition, q *campaign.Question, words []string, comment string) (*engine.Answer, error) {
	text := strings.TrimSpace(strings.Join(words, " "))
	a := &engine.Answer{Question: q.ID, Comment: comment}
	switch strings.ToLower(text) {
	case "":
		return nil, badInput("say what you answer to %s: %s", q.ID, view.Answers(def, q))
	case "unsure", "?", "can't tell", "can’t tell", "cant tell":
		a.Answer = events.AnswerUnsure
		return a, nil
	}
	var err error
	switch q.Form {
	case campaign.Comparison:
		a.Order, err = humans.ParseOrder(text, len(q.Options))
	case campaign.Pinpoint:
		if q.Suggestion != nil && strings.EqualFold(text, "ok") {
			a.Parameters = q.Suggestion.Parameters
			break
		}
		if a.Parameters, err = console.ParseComposition(def.Parameters, text); err != nil {
			return nil, badInput("%q is not an answer to %s: %w", text, q.ID, err)
		}
	default:
		if a.Answer = labelWords[strings.ToLower(text)]; a.Answer == "" {
			err = humans.ErrAnswer
		}
	}
	if err != nil {
		return nil, badInput("%q is not an answer to %s: say %s; a remark goes into --comment", text, q.ID, view.Answers(def, q))
	}
	return a, nil
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
