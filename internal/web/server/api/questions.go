package api

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/campaignd/campaignd/adapters/humans"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/internal/lab"
	"github.com/campaignd/campaignd/internal/view"
	"github.com/campaignd/campaignd/internal/web/server/gate"
	"github.com/campaignd/campaignd/internal/web/server/problems"
	"github.com/campaignd/campaignd/projections/campaign"
)

// OpenQuestion is a question with its words, the same as on pages and the command line, so that a
// program that passes questions on to people need not know their forms.
type OpenQuestion struct {
	Campaign string `json:"campaign"`
	campaign.Question
	// Asks is the question in words, Answers the possible answers.
	Asks    []string `json:"asks" doc:"What is asked, in lines."`
	Answers string   `json:"answers" doc:"What may be answered, in words."`
}

type questionsInput struct {
	Campaign string `query:"campaign" maxLength:"200" doc:"Only those of this campaign."`
	Expert   string `query:"expert" maxLength:"200" doc:"Only those to this expert."`
}

type questionsOutput struct {
	Body struct {
		Questions []OpenQuestion `json:"questions"`
	}
}

// Answer is an answer to a question: one of answer, order, point, estimates and columns. It is not
// an [engine.Answer]: only the question gives words their meaning, and letters and numbers their
// options.
type Answer struct {
	Answer    string           `json:"answer,omitempty" doc:"In words, as after 'campaignd tell q7': accept, reject, unsure, exclude, B, ok."`
	Order     []string         `json:"order,omitempty" doc:"The letters of the compared compositions, the best first."`
	Point     definition.Point `json:"point,omitempty" doc:"A composition of one's own."`
	Estimates []*float64       `json:"estimates,omitempty" doc:"A number for each composition, null for what one cannot tell."`
	// Columns are for a table of several quantities.
	Columns map[string][]*float64 `json:"columns,omitempty" doc:"The same for each quantity, by its name, where several are asked for."`

	Comment string `json:"comment,omitempty" maxLength:"10000" doc:"What else there is to say."`

	// Saw is the answer that they knew: see [engine.Answer].
	Saw *string `json:"saw,omitempty" maxLength:"40" doc:"The source of the answer that was seen with the question, empty for none. If another has been recorded since, this one is kept as contested. Absent: this one counts."`

	Took  float64       `json:"took,omitempty" minimum:"0" doc:"How long they had the question before them, in seconds."`
	Shown *events.Shown `json:"shown,omitempty" doc:"What they saw beside it."`
}

// Answered describes the recorded answer, and the one that counts. Both can be true at once: that
// an answer was recorded, and that it does not count.
type Answered struct {
	Recorded
	Counts     bool   `json:"counts" doc:"False if the answer that was sent was recorded as contested."`
	AnsweredBy string `json:"answered_by" doc:"Whose answer counts."`
	Source     string `json:"source" doc:"The event in which the answer stands that counts: sent as saw, another answer replaces it."`
}

// answeredOutput is the answer of answer-question.
type answeredOutput struct{ Body Answered }

type answerInput struct {
	InCampaign
	Question string `path:"question" maxLength:"40" doc:"The question, such as q7."`
	Body     bodyOf[Answer]
}

// questions registers the operations for experts.
func (a *API) questions() {
	huma.Register(a.huma, operation("list-questions", http.MethodGet, "/questions", "What people are asked",
		"The open questions of all campaigns to people; with an expert, those to that one, also where it is a program."), a.openQuestions)
	inCampaign(a, a.recording(operation("answer-question", http.MethodPost,
		"/questions/{campaign}/{question}",
		"Answer a question", "First, or otherwise than before: the answer that counts is the latest. "+
			"With saw, one that was given without knowing the answer that stands does not replace it.")), a.answer)
}

// openQuestions lists the questions pending for people in all campaigns visible to the caller. It
// reads the lab's present state (Record.Stands) and folds nothing, since programs poll it. It has
// no pages: few questions are open at a time.
func (a *API) openQuestions(ctx context.Context, in *questionsInput) (*questionsOutput, error) {
	out := new(questionsOutput)
	out.Body.Questions = []OpenQuestion{}
	for _, c := range a.lab.Campaigns() {
		if !gate.Sees(ctx, c.Name()) || in.Campaign != "" && c.Name() != in.Campaign {
			continue
		}
		s := c.Record().Stands()
		questions := s.ForPeople()
		if in.Expert != "" { // also a program's
			questions = slices.DeleteFunc(slices.Clone(s.Questions), func(q campaign.Question) bool { return q.Expert != in.Expert })
		}
		for _, q := range questions {
			out.Body.Questions = append(out.Body.Questions, openQuestion(c, s.Definition, q))
		}
	}
	return out, nil
}

// openQuestion puts a question into words. view begins a question with a colon, for a line that
// names it first; here it stands alone.
func openQuestion(c *lab.Campaign, def *definition.Campaign, q campaign.Question) OpenQuestion {
	what, lines := view.Asks(def, &q)
	return OpenQuestion{
		Campaign: c.Name(),
		Question: q,
		Asks:     append([]string{strings.TrimPrefix(strings.TrimSpace(what), ": ")}, lines...),
		Answers:  view.Answers(def, &q),
	}
}

// answer records an answer at once: the delay during which it can be taken back belongs to the
// pages, which have a button for it.
//
// The order is: the question, the right to answer it, the form, the repeat, the campaign. The right
// to answer for its expert comes before faults of the form. The reply is read with the campaign
// locked and recorded after: the engine judges changes in between when it is recorded, by the
// answer that was seen (saw).
func (a *API) answer(
	ctx context.Context, c *lab.Campaign, in *answerInput,
) (*answeredOutput, error) {
	var reply humans.Reply
	var err error
	c.Read(func(core *engine.Core) {
		s := core.State()
		q := s.Question(in.Question)
		if q == nil {
			err = problem.New(problem.NotFound, "%s has no question %q", c.Name(),
				in.Question).About(in.Question)
			return
		}
		if err = a.AnswersAs(ctx, q.Expert, c.Name()); err == nil {
			err = in.Body.err
		}
		if err == nil {
			reply, err = in.Body.body.reply(s.Definition, q)
		}
	})
	if err != nil {
		return nil, problems.Of(err)
	}
	stored, err := repeated(ctx, c)
	if stored == nil && err == nil {
		answer := &engine.Answer{Question: in.Question, Saw: in.Body.body.Saw, Reply: reply}
		stored, err = a.submit(ctx, c, engine.Request{Answer: answer})
	}
	if err != nil {
		return nil, err
	}
	return answeredBy(c, in.Question, stored)
}

// answeredBy describes the state of an answer when it was recorded. Another may count by now: the
// question itself shows that.
//
// It reads the first event of the batch, which is the answer's own. A repeat gets the same: the
// event says whether it counts, and only the name of the answer that counted then is looked up,
// even if it has been replaced since.
func answeredBy(c *lab.Campaign, question string, stored []events.Event) (*answeredOutput, error) {
	recorded, err := recordedAs(stored)
	if err != nil {
		return nil, err
	}
	first := stored[0]
	payload, err := events.Decode(first)
	if err != nil {
		return nil, problems.Of(err)
	}
	out := &answeredOutput{Answered{
		Recorded: recorded.Body, Counts: true,
		AnsweredBy: events.ActorName(first.Actor), Source: first.ID,
	}}
	contested, ok := payload.(*events.QuestionContested)
	if !ok {
		return out, nil
	}
	out.Body.Counts, out.Body.Source = false, contested.Counts
	c.Read(func(core *engine.Core) {
		q := core.State().Question(question)
		actor := q.AnsweredBy
		for _, aside := range q.Aside {
			if aside.ID == contested.Counts { // it has been replaced since
				actor = aside.Actor
			}
		}
		out.Body.AnsweredBy = events.ActorName(actor)
	})
	return out, nil
}

// reply reads an answer to a question. Exactly one of the forms is allowed: of two that contradict
// each other, one would be silently ignored. The question's own requirements are checked last, by
// the same function as for pages and terminals (view.CheckReply).
func (b Answer) reply(def *definition.Campaign, q *campaign.Question) (r humans.Reply, err error) {
	given := 0
	for _, is := range []bool{b.Answer != "", b.Order != nil, b.Point != nil, b.Estimates != nil, b.Columns != nil} {
		if is {
			given++
		}
	}
	if given != 1 {
		return r, problem.New(problem.Invalid,
			"give one of answer, order, point, estimates and columns; %s calls for %s",
			q.ID, view.Answers(def, q)).About(q.ID)
	}
	switch {
	case b.Order != nil:
		r.Answer.Order, err = humans.ParseOrder(strings.Join(b.Order, " "), len(q.Options))
	case b.Point != nil:
		r.Answer.Point, err = b.Point, engine.CheckComposition("point", b.Point)
	case b.Estimates != nil:
		r.Answer.Estimates = estimatesOf(b.Estimates)
	case b.Columns != nil:
		r.Answer.Estimates, err = columnsOf(b.Columns, q)
	default:
		r, err = view.ParseAnswer(def, q, b.Answer)
	}
	if err != nil {
		return r, problem.New(problem.Invalid, "%w", err).About(q.ID)
	}
	r.Comment = b.Comment
	r.Took = b.Took
	r.Shown = b.Shown
	return r, view.CheckReply(def, q, r)
}

// estimatesOf returns the given numbers, by row. A null is omitted and not read as zero: an expert
// who cannot tell has said nothing.
func estimatesOf(numbers []*float64) (estimates []events.Estimate) {
	for i, x := range numbers {
		if x != nil {
			estimates = append(estimates, events.Estimate{Option: i, Value: *x})
		}
	}
	return estimates
}

// columnsOf returns the given numbers for each quantity, in the order of the question's table. A
// column may be missing or shorter: the rest counts as not given.
func columnsOf(columns map[string][]*float64, q *campaign.Question) (estimates []events.Estimate, err error) {
	if q.Scale == nil || len(q.Scale.Columns) == 0 {
		return nil, fmt.Errorf("%s asks for no columns", q.ID)
	}
	of := make([][]*float64, len(q.Scale.Columns))
	for name, numbers := range columns {
		i := slices.IndexFunc(q.Scale.Columns, func(c events.Column) bool { return c.Quantity == name })
		if i < 0 {
			return nil, fmt.Errorf("%s does not ask for %s", q.ID, name)
		}
		if len(numbers) > len(q.Options) {
			return nil, fmt.Errorf("columns.%s has %d numbers for %d rows", name, len(numbers), len(q.Options))
		}
		of[i] = numbers
	}
	for option := range q.Options {
		for i, numbers := range of {
			if option < len(numbers) && numbers[option] != nil {
				e := q.Scale.In(option, i)
				e.Value = *numbers[option]
				estimates = append(estimates, e)
			}
		}
	}
	return estimates, nil
}
