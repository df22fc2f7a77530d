package view

import (
	"errors"
	"fmt"
	"strings"

	"github.com/campaignd/campaignd/adapters/console"
	"github.com/campaignd/campaignd/adapters/humans"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/projections/campaign"
)

// answerReaders read an answer to a question of a form, in words. Where the error is
// [events.ErrAnswer], the words for the valid answers are enough.
var answerReaders = map[events.Form]func(
	def *definition.Campaign, q *campaign.Question, text string,
) (humans.Reply, error){
	events.FormLabel:      readLabel,
	events.FormComparison: readOrder,
	events.FormPinpoint:   readPoint,
	events.FormEstimate:   readNumbers,
	events.FormOutcomes:   readOrder,
}

// ParseAnswer reads a person's answer to a question in words, as they are typed
// after `campaignd tell q7`. The error is a [problem.Error] that says which
// words the question calls for. It does not look at whether the question is
// open, nor at bounds: the engine does, when the answer is recorded.
//
// “Can't tell” is read before the form is looked at, since it answers a
// question of any form and none has a word of its own that reads so.
func ParseAnswer(def *definition.Campaign, q *campaign.Question, text string) (humans.Reply, error) {
	text = strings.TrimSpace(text)
	switch strings.ToLower(text) {
	case "":
		return humans.Reply{}, problem.New(problem.Invalid, "say what you answer to %s: %s", q.ID,
			Answers(def, q))
	case "unsure", "?", "can't tell", "can’t tell", "cant tell":
		return humans.Reply{}, nil
	}
	reply, err := answerReaders[q.Form](def, q, text)
	switch {
	case errors.Is(err, events.ErrAnswer):
		return humans.Reply{}, problem.New(problem.Invalid, "%q is not an answer to %s: say %s",
			text, q.ID, Answers(def, q))
	case err != nil:
		return humans.Reply{}, problem.New(problem.Invalid, "%q is not an answer to %s: %w", text, q.ID, err)
	}
	return reply, nil
}

// CheckReply finds the faults of a reply to a question, judged by the form of answer that the
// question calls for. It is for replies that come as data, from a page or a program; those in words
// are right by the time they are read.
func CheckReply(def *definition.Campaign, q *campaign.Question, r humans.Reply) error {
	err := r.Check(q.Form, len(q.Options), q.Scale)
	if err == nil {
		return nil
	}
	return problem.New(problem.Invalid, "%w; %s calls for %s", err, q.ID, Answers(def, q)).About(q.ID)
}

// IsLabel reports whether a text is a label, so that it cannot be a value.
// `campaignd tell` has one argument for both.
func IsLabel(text string) bool {
	_, err := readLabel(nil, nil, text)
	return err == nil
}

// readLabel reads one of the words for a label. It wants whole words, since the label is typed on a
// command line among others; the terminal takes letters.
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

// readOrder reads the letters of options, the best first. It may end after the first few: the
// answer then says nothing about the others.
func readOrder(_ *definition.Campaign, q *campaign.Question, text string) (r humans.Reply, err error) {
	r.Answer.Order, err = humans.ParseOrder(text, len(q.Options))
	return r, err
}

// readPoint reads a composition; "ok" takes the one that the campaign suggests.
// Without a suggestion “ok” is read as a composition, and fails as one.
func readPoint(def *definition.Campaign, q *campaign.Question, text string) (r humans.Reply, err error) {
	if q.Suggestion != nil && strings.EqualFold(text, "ok") {
		r.Answer.Point = q.Suggestion.Parameters
		return r, nil
	}
	r.Answer.Point, err = console.ParseComposition(def.Parameters, text)
	return r, err
}

// readNumbers reads the numbers of all rows in order, or of some by their rows
// ("3=12.5"); rows that are not named keep their earlier answers. Fewer numbers
// than rows, without their rows, are refused: nothing says which rows they
// belong to.
func readNumbers(def *definition.Campaign, q *campaign.Question, text string) (r humans.Reply, err error) {
	sheet := humans.NewSheet(len(q.Options), *q.Scale, q.Answer.Estimates)
	cells, err := sheet.Fill(text, 0)
	if err == nil && len(cells) < sheet.Cells() && !strings.Contains(text, "=") {
		err = fmt.Errorf("it holds %d numbers for %s", len(cells), sheet.Size())
	}
	if err != nil {
		return r, fmt.Errorf("%w; say %s", err, Answers(def, q))
	}
	r.Answer.Estimates = sheet.Estimates()
	return r, nil
}
