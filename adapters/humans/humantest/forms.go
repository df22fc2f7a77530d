package humantest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/campaignd/campaignd/adapters/humans"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
)

// answersOfAForm is how many different answers answerTo knows for each form.
const answersOfAForm = 4

// answerTo is the k-th answer that the person gives to a question, in a round.
func (e Env) answerTo(q humans.Question, k int) humans.Answer {
	const why = "too viscous, even at 30 °C"
	unsure := humans.Answer{Answer: events.AnswerUnsure}
	switch q.Form {
	case humans.Comparison:
		all := make([]int, len(q.Options))
		for i := range all {
			all[i] = len(all) - 1 - i
		}
		return []humans.Answer{
			{Order: all}, {Order: best(len(all)-1, len(all)), Comment: why}, unsure, {Order: best(0, len(all))},
		}[k%answersOfAForm]
	case humans.Pinpoint:
		p := e.allowed(q)
		return []humans.Answer{{Point: p[0]}, {Point: p[len(p)-1], Comment: why}, unsure, {Point: p[len(p)/2]}}[k%answersOfAForm]
	}
	return []humans.Answer{
		{Answer: events.AnswerAccept}, {Answer: events.AnswerReject, Comment: why}, unsure, {Answer: events.AnswerRefuse, Comment: why},
	}[k%answersOfAForm]
}

// best is an order that says only which of n options is the best. Of two that is
// the whole order.
func best(i, n int) []int {
	if n == 2 {
		return []int{i, 1 - i}
	}
	return []int{i}
}

// allowed are the different compositions in the environment's questions that may
// answer a pinpoint. [Examine] has seen to it that there are two at least.
func (e Env) allowed(q humans.Question) []definition.Point {
	var list []definition.Point
	add := func(p definition.Point) {
		known := slices.ContainsFunc(list, func(other definition.Point) bool { return maps.Equal(p, other) })
		if p != nil && !known && (q.Allowed == nil || q.Allowed(p) == nil) {
			list = append(list, p)
		}
	}
	for _, other := range e.Questions {
		add(other.Point)
		for _, o := range other.Options {
			add(o.Parameters)
		}
	}
	return list
}

// check reports what the environment lacks.
func (e Env) check() error {
	if e.Open == nil || len(e.Questions) < 2 {
		return errors.New("humantest: Env needs Open and two Questions")
	}
	for _, q := range e.Questions {
		if q.Form == humans.Comparison && len(q.Options) < 2 {
			return errors.New("humantest: a comparison needs two Options")
		}
		if q.Form == humans.Pinpoint && e.Person != nil && len(e.allowed(q)) < 2 {
			return errors.New("humantest: a pinpoint needs two different compositions that are Allowed among those of the Questions")
		}
	}
	return nil
}

// of returns a question of a form, of at least n options, where the environment
// has one.
func (s *session) of(form humans.Form, n int) (humans.Question, error) {
	for _, q := range s.env.Questions {
		if q.Form == form && len(q.Options) >= n {
			return q, nil
		}
	}
	return humans.Question{}, fmt.Errorf("%w: the environment has no such question", ErrSkipped)
}

func comparison(ctx context.Context, s *session) error {
	like, err := s.of(humans.Comparison, 2)
	if err != nil {
		return err
	}
	for first := range like.Options {
		q := s.renamed(like)
		if _, err := s.answered(ctx, q, humans.Answer{Order: best(first, len(like.Options))}); err != nil {
			return err
		}
	}
	if like, err = s.of(humans.Comparison, 3); err != nil {
		return nil
	}
	all := make([]int, len(like.Options))
	for i := range all { // neither as shown nor turned round
		all[i] = (i + 1) % len(all)
	}
	q := s.renamed(like)
	_, err = s.answered(ctx, q, humans.Answer{Order: all})
	return err
}

func pinpoint(ctx context.Context, s *session) error {
	like, err := s.of(humans.Pinpoint, 0)
	if err != nil {
		return err
	}
	allowed := like.Allowed
	if s.env.Person == nil {
		for range 8 {
			q := s.renamed(like)
			a, err := s.answered(ctx, q, humans.Answer{})
			if err != nil {
				return err
			}
			if a.Point != nil && allowed != nil && allowed(a.Point) != nil {
				return fmt.Errorf("question %s: the composition %v is not allowed: %w", q.ID, a.Point, allowed(a.Point))
			}
		}
		return nil
	}
	// The person names a composition that cannot be taken, and then another.
	points := s.env.allowed(like)
	wrong, right := points[0], points[len(points)-1]
	q := s.renamed(like)
	q.Allowed = func(p definition.Point) error {
		if maps.Equal(p, wrong) {
			return errors.New("this one has run out")
		}
		if allowed == nil {
			return nil
		}
		return allowed(p)
	}
	replied := s.ask(ctx, q)
	if err := s.answers(ctx, q, humans.Answer{Point: wrong}); err != nil {
		return err
	}
	// Nobody knows when they are asked again: they repeat themselves.
	again := make(chan struct{})
	defer func() { <-again }()
	told, done := context.WithCancel(ctx)
	defer done()
	go func() {
		defer close(again)
		for told.Err() == nil {
			select {
			case <-told.Done():
			case <-time.After(10 * time.Millisecond):
				_ = s.env.Person.Answers(q, humans.Answer{Point: right}) // once too often, after the last
			}
		}
	}()
	a, err := s.wait(q, replied)
	if err == nil && !maps.Equal(a.Point, right) {
		return fmt.Errorf("question %s: it took %v, which is not allowed", q.ID, a.Point)
	}
	return err
}
