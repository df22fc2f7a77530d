package campaign

import (
	"fmt"
	"maps"
	"slices"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
)

// applyQuestion folds an event about a question.
func (s *State) applyQuestion(e events.Event, payload events.Payload) (problem string) {
	switch p := payload.(type) {
	case *events.QuestionAsked:
		return s.ask(e, Question{
			ID: p.Question, Form: p.Form, Expert: p.Expert, Options: p.Options, Scale: p.Scale,
			Suggestion: p.Suggestion, Explanation: p.Explanation, Attributions: p.Attributions,
			Decision: p.Decision, Expires: p.Expires,
		})
	case *events.QuestionAnswered:
		return s.answer(e, p)
	case *events.QuestionSuperseded:
		return s.supersede(e, p)
	case *events.QuestionContested:
		return s.contest(e, p)
	case *events.QuestionExpired:
		return s.endQuestion(e, p.Question, Expired, false)
	case *events.QuestionWithdrawn:
		return s.endQuestion(e, p.Question, Withdrawn, p.Moot)
	}
	return ""
}

// ask adds a question. Identifiers are numbers without a gap, so that a missing
// event is found.
func (s *State) ask(e events.Event, q Question) (problem string) {
	if next := events.QuestionID(len(s.Questions) + 1); q.ID != next {
		return fmt.Sprintf("question %s is out of order, %s was next", q.ID, next)
	}
	if err := q.Form.Check(len(q.Options), q.Scale); err != nil {
		return err.Error()
	}
	if n := len(q.Outcomes()); (q.Form == events.FormOutcomes) != (n > 0) || n > 0 && n < len(q.Options) {
		return fmt.Sprintf("a %s does not have %d outcomes", q.Form, n)
	}
	q.Status = Asked
	q.AskedAt = e.Time
	q.Experiments = len(s.Experiments)
	if q.Decision != "" {
		q.Turn = s.Turns + 1
	}
	q.LastEvent, q.Trace = e.ID, e.Trace
	s.Questions = append(s.Questions, q)
	return ""
}

// answer folds an answer. The campaign goes on without one that is late, and
// learns from it when it comes. A question that was withdrawn takes no answer.
func (s *State) answer(e events.Event, p *events.QuestionAnswered) (problem string) {
	if err := p.Answer.Check(p.Form, len(p.Options), p.Scale); err != nil {
		return err.Error()
	}
	if p.Volunteered {
		options := make([]events.Option, len(p.Options))
		for i, point := range p.Options {
			options[i].Parameters = point
		}
		q := Question{ID: p.Question, Form: p.Form, Expert: p.Expert, Options: options,
			Scale: p.Scale, Volunteered: true}
		if problem := s.ask(e, q); problem != "" {
			return problem
		}
	}
	q, problem := s.about(e, p.Question, p.Form, p.Expert, p.Options, p.Scale, p.Outcomes, Asked,
		Expired)
	if problem != "" {
		return problem
	}
	q.Status = Answered
	q.Answer = p.Answer
	q.Comment = p.Comment
	q.Source, q.AnsweredBy = e.ID, e.Actor
	q.AnsweredAt = e.Time
	return ""
}

// supersede folds a changed answer. The earlier answer is kept, with since when
// it does not count.
func (s *State) supersede(e events.Event, p *events.QuestionSuperseded) (problem string) {
	if err := p.Answer.Check(p.Form, len(p.Options), p.Scale); err != nil {
		return err.Error()
	}
	if q := s.Question(p.Question); q != nil && q.Status == Answered && p.Supersedes != q.Source {
		return fmt.Sprintf(
			"it supersedes event %s, but the answer to %s stands in event %s", p.Supersedes, q.ID,
			q.Source,
		)
	}
	q, problem := s.about(e, p.Question, p.Form, p.Expert, p.Options, p.Scale, p.Outcomes, Answered)
	if problem != "" {
		return problem
	}
	q.Aside = append(q.Aside, Aside{ID: q.Source, Actor: q.AnsweredBy, Answer: q.Answer, At: e.Time,
		Replaced: true})
	q.Answer = p.Answer
	q.Source = e.ID
	q.AnsweredBy = e.Actor
	return ""
}

// contest folds an answer that was contested: it is kept and does not count.
func (s *State) contest(e events.Event, p *events.QuestionContested) (problem string) {
	if err := p.Answer.Check(p.Form, len(p.Options), p.Scale); err != nil {
		return err.Error()
	}
	if q := s.Question(p.Question); q != nil && q.Status == Answered && p.Counts != q.Source {
		return fmt.Sprintf(
			"it says that the answer in event %s counts; that to %s stands in event %s", p.Counts,
			q.ID, q.Source,
		)
	}
	q, problem := s.about(e, p.Question, p.Form, p.Expert, p.Options, p.Scale, p.Outcomes, Answered)
	if problem != "" {
		return problem
	}
	q.Aside = append(q.Aside, Aside{ID: e.ID, Actor: e.Actor, Answer: p.Answer, At: e.Time})
	return ""
}

// endQuestion folds the end of a question without an answer.
func (s *State) endQuestion(e events.Event, id string, status QuestionStatus, moot bool) (problem string) {
	q, problem := s.openQuestion(e, id, Asked)
	if problem != "" {
		return problem
	}
	q.Status, q.Moot = status, moot
	return ""
}

// about returns the question that an answer names, if it is one of the given statuses and asks that
// expert for that form of answer about those compositions on that scale, and notes that the event
// is about it. An answer repeats its question, so that each event can be read by itself; here the
// two are compared.
func (s *State) about(
	e events.Event, id string, form events.Form, expert string, options []definition.Point,
	scale *events.Scale, outcomes []events.Outcome, statuses ...QuestionStatus,
) (q *Question, problem string) {
	if q := s.Question(id); q != nil {
		switch {
		case q.Form != form:
			return nil, fmt.Sprintf("question %s asks for another form of answer", q.ID)
		case q.Expert != expert:
			return nil, fmt.Sprintf("it is an answer of %q, question %s is put to %q",
				expert, q.ID, q.Expert)
		case !slices.EqualFunc(q.Points(), options, maps.Equal[definition.Point]):
			return nil, fmt.Sprintf("it judges other compositions than question %s is about", q.ID)
		case !q.Scale.Equal(scale):
			return nil, fmt.Sprintf("its numbers are on another scale than question %s asks for", q.ID)
		case !slices.EqualFunc(q.Outcomes(), outcomes, sameOutcome):
			return nil, fmt.Sprintf("it compares other outcomes than question %s is about", q.ID)
		}
	}
	return s.openQuestion(e, id, statuses...)
}

// sameOutcome reports whether two outcomes are the same, in bits. The SD of a prediction is behind
// a pointer.
func sameOutcome(a, b events.Outcome) bool {
	return a.Experiment == b.Experiment && slices.EqualFunc(a.Quantities, b.Quantities,
		func(p, q definition.Quantity) bool {
			same := p.SD == q.SD || p.SD != nil && q.SD != nil && *p.SD == *q.SD
			p.SD, q.SD = nil, nil
			return same && p == q
		})
}

// openQuestion returns the named question if it is one of the given statuses,
// and notes that the event is about it.
func (s *State) openQuestion(
	e events.Event, id string, statuses ...QuestionStatus,
) (q *Question, problem string) {
	q = s.Question(id)
	switch {
	case q == nil:
		return nil, fmt.Sprintf("there is no question %s", id)
	case !slices.Contains(statuses, q.Status):
		return nil, fmt.Sprintf("question %s is %s", id, q.Status)
	}
	q.LastEvent, q.Trace = e.ID, e.Trace
	return q, ""
}
