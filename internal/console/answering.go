package console

import (
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/campaignd/campaignd/adapters/humans"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/clock"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/format"
	"github.com/campaignd/campaignd/internal/lab"
	"github.com/campaignd/campaignd/internal/problem"
	"github.com/campaignd/campaignd/projections/campaign"
)

// answer takes an answer to a question. When the page says so, it is on the
// server's disk; it is recorded in the campaign a moment later, so that the
// person can take it back without a correction in the log.
//
// A form that is sent twice gives one answer: its identifier is in the request
// (see [requested]), and the campaign refuses a second one with the same.
//
// A person who sees the message must be able to rely on it, so that the order
// is: the disk first, then the page. Where the server dies between, the next
// one records the answer.
func (c *Console) answer(w http.ResponseWriter, r *http.Request) {
	of := c.find(w, r, AnswerIt)
	if of == nil {
		return
	}
	if err := r.ParseForm(); err != nil {
		c.fail(w, r, problem.New(problem.Invalid, "the form cannot be read: %w", err))
		return
	}
	v := visitorOf(r.Context())
	form := requested(r, engine.Request{})
	done, err := alreadyRecorded(r.Context(), of, form)
	if done {
		redirect(w, r, "/questions?next", "")
		return
	}
	var p pending
	if err == nil {
		p, err = c.given(of, r.PathValue("question"), v, r.PostForm)
	}
	if err == nil {
		p.Request, p.Digest = form.ID, form.Digest
		err = c.answers.give(p)
	}
	// An answer that was refused is no use of the identifier: the corrected
	// form is sent with the same one.
	if err != nil {
		forgetRequest(r, err)
		c.showQuestion(w, r, of, statusOf(err), err)
		return
	}
	if c.willBeContested(of, p) {
		redirect(w, r, questionPath(of.Name(), p.Question), "beside")
		return
	}
	// Every page says that the answer is kept and can be taken back.
	redirect(w, r, "/questions?next", "")
}

// given checks an answer as the campaign will, by the same
// [engine.Core.Handle], so that the person learns of a fault while the form is
// still open. Nothing is recorded. Errors are those of the rights, the form,
// and the campaign. An answer to an answer that the question does not have is
// refused: the form was changed, or the log was replaced by an older copy; that
// it would count as a change of the person's mind would be wrong in both.
func (c *Console) given(of *lab.Campaign, id string, v Visitor, form url.Values) (p pending, err error) {
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
		p = pending{
			Campaign: of.Name(), Instance: s.Instance, Question: id, Source: form.Get(fieldSource),
			Name: v.Name, Account: v.Account,
		}
		if p.Reply, err = replyOf(s.Definition, q, form, clock.Now()); err != nil {
			return
		}
		if p.Source != "" && q.Status != campaign.Answered {
			err = problem.New(problem.Conflict, "the page shows an answer that %s does not have",
				id).About(id).
				With(problem.Remedy{Text: "look at the question again"})
			return
		}
		// Handle only decides what would be recorded; what it returns is
		// dropped here, and made anew when the answer is sent.
		if _, err = core.Handle(p.request()); err != nil {
			return
		}
		p.Words = answerWords(s.Definition, q, p.Reply)
	})
	return p, err
}

// answerWords says in a few words what was answered, for the line in which it
// can be taken back. They are worked out when the answer is given and kept with
// it: the line is shown on every page, and must not need the campaign.
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

// undo takes an answer back that is not recorded yet; the form then shows again
// what was typed. It is the visitor's own by name: one person cannot take back
// another's.
func (c *Console) undo(w http.ResponseWriter, r *http.Request) {
	of := c.find(w, r, AnswerIt)
	if of == nil {
		return
	}
	id := r.PathValue("question")
	if err := c.answers.take(of.Name(), id, visitorOf(r.Context()).Name); err != nil {
		c.fail(w, r, err)
		return
	}
	redirect(w, r, questionPath(of.Name(), id), "undone")
}

// sendNow sends an answer that could still be taken back: the next question may
// depend on it, and the person does not want to wait for that. Nothing is wrong
// where it has been sent already.
func (c *Console) sendNow(w http.ResponseWriter, r *http.Request) {
	of := c.find(w, r, AnswerIt)
	if of == nil {
		return
	}
	c.answers.sendNow(of.Name(), r.PathValue("question"), visitorOf(r.Context()).Name)
	redirect(w, r, "/questions?next", "sent")
}

// dismiss removes a message from the visitor's list of questions: either that
// their answer was taken back or refused, or, if the form names a piece of
// news, that another person has answered too.
func (c *Console) dismiss(w http.ResponseWriter, r *http.Request) {
	of := c.find(w, r, AnswerIt)
	if of == nil {
		return
	}
	id, name := r.PathValue("question"), visitorOf(r.Context()).Name
	err := r.ParseForm()
	if about := text(r, fieldNews); about == "" {
		err = errors.Join(err, c.answers.forget(of.Name(), id, name))
	} else if c.isNews(of, id, visitorOf(r.Context()), about) {
		err = errors.Join(err, c.answers.putAway(of.Name(), id, name, about))
	}
	if err != nil {
		c.fail(w, r, err)
		return
	}
	redirect(w, r, "/questions", "dismissed")
}
