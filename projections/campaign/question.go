package campaign

import (
	"fmt"
	"maps"
	"slices"

	"github.com/campaignd/campaignd/events"
)

// misplaced says how an event contradicts the question it names.
func (s *State) misplaced(payload events.Payload) (problem string) {
	check := func(question, expert string, form Form, same func(q *Question) bool) string {
		q := s.Question(question)
		switch {
		case q == nil:
		case q.Form != form:
			return fmt.Sprintf("question %s asks for another form of answer", q.ID)
		case q.Expert != expert:
			return fmt.Sprintf("it is an answer of %q, question %s is put to %q", expert, q.ID, q.Expert)
		case !same(q):
			return fmt.Sprintf("it judges other compositions than question %s is about", q.ID)
		}
		return ""
	}
	about := func(point events.Point) func(*Question) bool {
		return func(q *Question) bool { return maps.Equal(q.Parameters, point) }
	}
	between := func(points []events.Point) func(*Question) bool {
		return func(q *Question) bool { return slices.EqualFunc(q.Points(), points, maps.Equal[events.Point]) }
	}
	switch p := payload.(type) {
	case *events.LabelGiven:
		if problem := unknown(p.Answer); problem != "" {
			return problem
		}
		if !p.Volunteered {
			return check(p.Question, p.Expert, Label, about(p.Parameters))
		}
	case *events.LabelSuperseded:
		if problem := unknown(p.Answer); problem != "" {
			return problem
		}
		return check(p.Question, p.Expert, Label, about(p.Parameters))
	case *events.ComparisonGiven:
		if problem := misordered(p.Order, len(p.Options)); problem != "" {
			return problem
		}
		if !p.Volunteered {
			return check(p.Question, p.Expert, Comparison, between(p.Options))
		}
	case *events.ComparisonSuperseded:
		if problem := misordered(p.Order, len(p.Options)); problem != "" {
			return problem
		}
		return check(p.Question, p.Expert, Comparison, between(p.Options))
	case *events.PinpointGiven:
		return check(p.Question, p.Expert, Pinpoint, func(*Question) bool { return true })
	case *events.PinpointSuperseded:
		return check(p.Question, p.Expert, Pinpoint, func(*Question) bool { return true })
	}
	return ""
}

// unknown says of a word that it is no answer to a label. "Refuse" is none: it is
// recorded as a reject and a refused region.
func unknown(answer string) string {
	switch answer {
	case events.AnswerAccept, events.AnswerReject, events.AnswerUnsure:
		return ""
	}
	return fmt.Sprintf("%q is not an answer", answer)
}

// misordered says what is wrong with an order of n options.
func misordered(order []int, n int) string {
	seen := make([]bool, n)
	for _, i := range order {
		if i < 0 || i >= n || seen[i] {
			return fmt.Sprintf("%v is not an order of %d options", order, n)
		}
		seen[i] = true
	}
	return ""
}

// applyQuestion folds an event about a question.
func (s *State) applyQuestion(e events.Event, payload events.Payload) (problem string) {
	if problem := s.misplaced(payload); problem != "" {
		return problem
	}
	add := func(q Question) string {
		if next := QuestionID(len(s.Questions)); q.ID != next {
			return fmt.Sprintf("question %s is out of order, %s was next", q.ID, next)
		}
		q.Status, q.AskedAt, q.Experiments, q.LastEvent, q.Trace = Asked, e.Time, len(s.Experiments), e.ID, e.Trace
		s.Questions = append(s.Questions, q)
		return ""
	}
	expect := func(id string, statuses ...QuestionStatus) *Question {
		q := s.Question(id)
		switch {
		case q == nil:
			problem = fmt.Sprintf("there is no question %s", id)
		case !slices.Contains(statuses, q.Status):
			problem = fmt.Sprintf("question %s is %s", id, q.Status)
		default:
			q.LastEvent, q.Trace = e.ID, e.Trace
			return q
		}
		return nil
	}
	// The campaign goes on without an answer that is late, and learns from it when
	// it comes. What was withdrawn nobody needs.
	answer := func(id, answer, comment string) *Question {
		q := expect(id, Asked, Expired)
		if q != nil {
			q.Status, q.Answer, q.Comment, q.Source, q.AnsweredAt = Answered, answer, comment, e.ID, e.Time
		}
		return q
	}
	supersede := func(id, supersedes string) *Question {
		if q := s.Question(id); q != nil && q.Status == Answered && q.Source != supersedes {
			problem = fmt.Sprintf("it supersedes event %s, but the answer to %s stands in event %s", supersedes, q.ID, q.Source)
			return nil
		}
		q := expect(id, Answered)
		if q != nil {
			q.Source = e.ID
		}
		return q
	}
	end := func(id string, status QuestionStatus, moot bool) {
		if q := expect(id, Asked); q != nil {
			q.Status, q.Moot = status, moot
		}
	}

	switch p := payload.(type) {
	case *events.LabelRequested:
		return add(Question{ID: p.Question, Expert: p.Expert, Parameters: p.Parameters, Prediction: p.Prediction, Belief: p.Belief,
			Explanation: p.Explanation, Decision: p.Decision, Expires: p.Expires})
	case *events.ComparisonRequested:
		return add(Question{ID: p.Question, Form: Comparison, Expert: p.Expert, Options: p.Options, Explanation: p.Explanation,
			Attributions: p.Attributions, Decision: p.Decision, Expires: p.Expires})
	case *events.PinpointRequested:
		return add(Question{ID: p.Question, Form: Pinpoint, Expert: p.Expert, Suggestion: p.Suggestion,
			Explanation: p.Explanation, Decision: p.Decision, Expires: p.Expires})

	case *events.LabelGiven:
		if p.Volunteered {
			if problem := add(Question{ID: p.Question, Expert: p.Expert, Parameters: p.Parameters, Volunteered: true}); problem != "" {
				return problem
			}
		}
		answer(p.Question, p.Answer, p.Comment)
	case *events.ComparisonGiven:
		if p.Volunteered {
			options := make([]events.Option, len(p.Options))
			for i, point := range p.Options {
				options[i].Parameters = point
			}
			if problem := add(Question{ID: p.Question, Form: Comparison, Expert: p.Expert, Options: options, Volunteered: true}); problem != "" {
				return problem
			}
		}
		if q := answer(p.Question, unsureWithout(p.Order), p.Comment); q != nil {
			q.Order = p.Order
		}
	case *events.PinpointGiven:
		said := ""
		if p.Parameters == nil {
			said = events.AnswerUnsure
		}
		if q := answer(p.Question, said, p.Comment); q != nil {
			q.Parameters = p.Parameters
		}

	case *events.LabelSuperseded:
		if q := supersede(p.Question, p.Supersedes); q != nil {
			q.Answer = p.Answer
		}
	case *events.ComparisonSuperseded:
		if q := supersede(p.Question, p.Supersedes); q != nil {
			q.Order, q.Answer = p.Order, unsureWithout(p.Order)
		}

	case *events.PinpointSuperseded:
		if q := supersede(p.Question, p.Supersedes); q != nil {
			q.Parameters, q.Answer = p.Parameters, ""
			if p.Parameters == nil {
				q.Answer = events.AnswerUnsure
			}
		}

	case *events.LabelExpired:
		end(p.Question, Expired, false)
	case *events.LabelWithdrawn:
		end(p.Question, Withdrawn, p.Moot)
	case *events.QuestionExpired:
		end(p.Question, Expired, false)
	case *events.QuestionWithdrawn:
		end(p.Question, Withdrawn, p.Moot)
	}
	return problem
}

// unsureWithout is the answer to a comparison without an order.
func unsureWithout(order []int) string {
	if len(order) == 0 {
		return events.AnswerUnsure
	}
	return ""
}
