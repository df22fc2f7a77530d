package console

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/campaignd/campaignd/adapters/humans"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/ground/clock"
	"github.com/campaignd/campaignd/internal/ground/format"
	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/internal/lab"
	"github.com/campaignd/campaignd/projections/campaign"
)

// answerWithin is how long an answer may take to be recorded.
const answerWithin = time.Minute

// answerQuestion records an answer to a question. The moment in which a person can take
// it back is the page's own: its script holds the form for [Options.Undo] before
// it is sent (console.js). The script also sends it while its page is closed, so
// that the answer is recorded though its sender has gone.
//
// A form that is sent twice gives one answer: its identifier is in the request
// (see [requested]), and the campaign refuses a second one with the same.
func answerQuestion(v *visit) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(v.r.Context()), answerWithin)
	defer cancel()
	id := v.r.PathValue("question")
	stored, err := recordedBefore(ctx, v.of, requested(v.r, engine.Request{}))
	if err == nil && stored == nil {
		var a *engine.Answer
		if a, err = given(v.of, id, v.visitor(), v.r.PostForm); err == nil {
			stored, err = v.of.Submit(ctx, requested(v.r, engine.Request{Answer: a}))
		}
	}
	// A refused answer does not use up the identifier: the corrected form is sent with the same
	// one.
	if err != nil {
		forgetRequest(v.r, err)
		v.refusal, v.action = err, "answer"
		return showQuestion(v)
	}
	if slices.ContainsFunc(stored, func(e events.Event) bool { return e.Kind == events.KindQuestionContested }) {
		return v.redirect(questionPath(v.of.Name(), id), "beside")
	}
	return v.redirect("/questions?next", "sent")
}

// given reads the form of an answer. Errors are those of the rights and the
// form. An answer to an answer that the question does not have is refused: the
// form was changed, or the log was replaced by an older copy; that it would
// count as a change of the person's mind would be wrong in both.
func given(of *lab.Campaign, id string, v Visitor, form url.Values) (a *engine.Answer, err error) {
	of.Read(func(core *engine.Core) {
		s := core.State()
		q := s.Question(id)
		if q == nil {
			err = problem.New(problem.NotFound, "%s has no question %q", of.Name(), id)
			return
		}
		if err = v.answersAs(q.Expert, of.Name()); err != nil {
			v.refused(ActForOthers, of.Name())
			return
		}
		saw := form.Get(fieldSource)
		a = &engine.Answer{Question: id, Saw: &saw}
		if a.Reply, err = replyOf(s.Definition, q, form, clock.Now()); err != nil {
			return
		}
		if saw != "" && q.Status != campaign.Answered {
			err = problem.New(problem.Conflict, "the page shows an answer that %s does not have",
				id).About(id).
				With(problem.Remedy{Text: "look at the question again"})
		}
	})
	return a, err
}

// answerWords describes an answer in a few words.
func answerWords(def *definition.Campaign, q *campaign.Question, r humans.Reply) string {
	switch {
	case r.Answer.Unsure():
		return "can't tell"
	case r.Exclude:
		return "won't"
	case r.Answer.Label != "":
		return string(r.Answer.Label)
	case r.Answer.Order != nil:
		names := make([]string, len(r.Answer.Order))
		for i, option := range r.Answer.Order {
			names[i] = humans.OptionName(option)
		}
		return strings.Join(names, " before ")
	case r.Answer.Point != nil:
		return format.CompositionsOf(def).Line(r.Answer.Point)
	}
	return format.Count(len(r.Answer.Estimates), "number") + " of " + strconv.Itoa(len(q.Options)*len(q.Scale.Table()))
}

// dismissNews puts away the news that another person has answered too: the visitor's pages show it
// no longer.
func dismissNews(v *visit) error {
	err := v.r.ParseForm()
	if about := text(v.r, fieldNews); isNews(v.of, v.r.PathValue("question"), v.visitor(), about) {
		err = errors.Join(err, v.putAway(v.r.Context(), v.visitor().Name, about))
	}
	if err != nil {
		return err
	}
	return v.redirect("/questions", "dismissed")
}
