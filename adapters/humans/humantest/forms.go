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

// answersOfAForm is how many different answers a person knows for each form.
// Every form has as many, so that checks need not know the forms.
const answersOfAForm = 4

// why is a comment. It has a comma, a digit and letters of two bytes, which a channel that encodes
// or splits its input may damage.
const why = "too viscous, even at 30 °C"

// forms holds, for each form of question, a person's answers, one after the other and all
// different, and the parts that the environment lacks to give them. A form that is added to package
// events and not here panics in answerTo, which fails its check: it does not pass in silence.
var forms = map[events.Form]struct {
	answers func(e Env, q humans.Question) [answersOfAForm]humans.Reply
	lacks   func(e Env, q humans.Question) error
}{
	events.FormLabel:      {labels, nil},
	events.FormComparison: {orders, nil},
	events.FormPinpoint:   {named, lacksPoints},
	events.FormEstimate:   {estimated, nil},
	events.FormOutcomes:   {orders, nil},
}

// labels are accept, reject, can't tell, and the rejection that excludes. An
// empty reply is "can't tell", here and for the other forms.
func labels(Env, humans.Question) [answersOfAForm]humans.Reply {
	accept := events.Answer{Label: events.LabelAccept}
	reject := events.Answer{Label: events.LabelReject}
	return [answersOfAForm]humans.Reply{
		{Answer: accept}, {Answer: reject, Comment: why}, {},
		{Answer: reject, Exclude: true, Comment: why},
	}
}

// orders are a whole order, the best alone (the last and the first option), and can't tell. The
// whole order is the reverse of the one shown: a channel that hands back its input is found out.
func orders(_ Env, q humans.Question) [answersOfAForm]humans.Reply {
	n := len(q.Options)
	all := make([]int, n)
	for i := range all {
		all[i] = n - 1 - i
	}
	return [answersOfAForm]humans.Reply{
		{Answer: events.Answer{Order: all}},
		{Answer: events.Answer{Order: best(n-1, n)}, Comment: why},
		{},
		{Answer: events.Answer{Order: best(0, n)}},
	}
}

// named are compositions of the questions that are allowed, and can't tell. The
// first and the last are different, as lacksPoints has made sure; with two
// compositions the last answer is the second one again, without the comment.
func named(e Env, q humans.Question) [answersOfAForm]humans.Reply {
	p := e.allowed(q)
	if len(p) == 0 {
		return [answersOfAForm]humans.Reply{} // the reviewer answers by itself
	}
	return [answersOfAForm]humans.Reply{
		{Answer: events.Answer{Point: p[0]}},
		{Answer: events.Answer{Point: p[len(p)-1]}, Comment: why},
		{},
		{Answer: events.Answer{Point: p[len(p)/2]}},
	}
}

// estimated are numbers on every scale: marks are numbers from 1. The second
// and the fourth leave a row out, the first and the last one: rows must not
// shift.
func estimated(_ Env, q humans.Question) [answersOfAForm]humans.Reply {
	n, best := len(q.Options), 9
	if q.Scale.Marks > 0 {
		best = q.Scale.Marks
	}
	var all []events.Estimate
	for i := range n {
		all = append(all, events.Estimate{Option: i, Value: float64(best - i%best)})
	}
	return [answersOfAForm]humans.Reply{
		{Answer: events.Answer{Estimates: all}},
		{Answer: events.Answer{Estimates: all[1:]}, Comment: why},
		{},
		{Answer: events.Answer{Estimates: all[:n-1]}},
	}
}

// lacksPoints: the check “pinpoint” needs one composition to refuse and another
// to take.
func lacksPoints(e Env, q humans.Question) error {
	if e.Person != nil && len(e.allowed(q)) < 2 {
		return errors.New("humantest: a pinpoint needs two different compositions " +
			"that are Allowed among those of the Questions")
	}
	return nil
}

// answerTo is the k-th answer that the person gives to a question, in a round.
func (e Env) answerTo(q humans.Question, k int) humans.Reply {
	return forms[q.Form].answers(e, q)[k%answersOfAForm]
}

// best is an order that says only which of n options is best. For two options
// that is the whole order.
func best(i, n int) []int {
	if n == 2 {
		return []int{i, 1 - i}
	}
	return []int{i}
}

// allowed are the different compositions in the environment's questions that
// may answer a pinpoint. [Examine] has checked that there are at least two. In
// the order of the questions, so that each run of the suite answers the same.
func (e Env) allowed(q humans.Question) []definition.Point {
	var list []definition.Point
	add := func(p definition.Point) {
		known := slices.ContainsFunc(list,
			func(other definition.Point) bool { return maps.Equal(p, other) })
		if p != nil && !known && (q.Allowed == nil || q.Allowed(p) == nil) {
			list = append(list, p)
		}
	}
	for _, other := range e.Questions {
		if other.Suggestion != nil {
			add(other.Suggestion.Parameters)
		}
		for _, o := range other.Options {
			add(o.Parameters)
		}
	}
	return list
}

// check reports the missing parts of the environment. It needs two questions, since some checks
// keep one open while another is withdrawn or answered.
func (e Env) check() error {
	if e.Open == nil || len(e.Questions) < 2 {
		return errors.New("humantest: Env needs Open and two Questions")
	}
	for _, q := range e.Questions {
		if err := q.Form.Check(len(q.Options), q.Scale); err != nil {
			return fmt.Errorf("humantest: a question of Env: %w", err)
		}
		if lacks := forms[q.Form].lacks; lacks != nil {
			if err := lacks(e, q); err != nil {
				return err
			}
		}
	}
	return nil
}

// of returns a question of a form, of at least n options, where the environment
// has one. A check of a form that the environment lacks does not apply;
// everyForm says whether that was meant.
func (s *session) of(form events.Form, n int) (humans.Question, error) {
	for _, q := range s.env.Questions {
		if q.Form == form && len(q.Options) >= n {
			return q, nil
		}
	}
	return humans.Question{}, fmt.Errorf("%w: the environment has no such question", ErrSkipped)
}

// everyForm looks for forms that no check has put. A channel that cannot put a form says so in
// Env.Unsupported: gaps in the checks must be declared. It puts nothing itself. Without it a suite
// with labels alone would pass a channel that cannot put anything else.
func everyForm(_ context.Context, s *session) error {
	var missing []events.Form
	for _, form := range events.Forms() {
		_, err := s.of(form, 0)
		switch unsupported := slices.Contains(s.env.Unsupported, form); {
		case err == nil && unsupported:
			return fmt.Errorf("%q is in Env.Unsupported, and there is a question of it", form)
		case err != nil && !unsupported:
			missing = append(missing, form)
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("%w: no question is a %v: add some to Env.Questions, "+
			"or name the forms that the reviewer cannot put in Env.Unsupported", errUnjudged, missing)
	}
	return nil
}

// comparison has each option be the best once, and where there are three or
// more a whole order that is neither the shown one nor its reverse. A channel
// that returns places instead of options (which option is first, against on
// which place the first option is) is found by an order that is not its own
// inverse: with three options the turn by one is such an order, a reversal is
// its own inverse.
func comparison(ctx context.Context, s *session) error {
	like, err := s.of(events.FormComparison, 2)
	if err != nil {
		return err
	}
	for first := range like.Options {
		q := s.renamed(like)
		if _, err := s.answered(ctx, q,
			humans.Reply{Answer: events.Answer{Order: best(first, len(like.Options))}}); err != nil {
			return err
		}
	}
	if like, err = s.of(events.FormComparison, 3); err != nil {
		return nil
	}
	all := make([]int, len(like.Options))
	for i := range all { // neither as shown nor turned round
		// With two options a turn is a reversal: hence three.
		all[i] = (i + 1) % len(all)
	}
	q := s.renamed(like)
	_, err = s.answered(ctx, q, humans.Reply{Answer: events.Answer{Order: all}})
	return err
}

// pinpoint has the person name a composition that is refused first. Without a person it only checks
// that the reviewer's composition is allowed. The refusal must come from the question's own rule
// and lead to another question, not to an error: a person who names a substance that has run out is
// asked again. Channels break it by checking nothing, so that the engine refuses the answer and the
// question ends, or by giving up at the first refusal.
func pinpoint(ctx context.Context, s *session) error {
	like, err := s.of(events.FormPinpoint, 0)
	if err != nil {
		return err
	}
	allowed := like.Allowed
	if s.env.Person == nil {
		// A reviewer that guesses may hit an allowed one once.
		for range 8 {
			q := s.renamed(like)
			a, err := s.answered(ctx, q, humans.Reply{})
			if err != nil {
				return err
			}
			if a.Answer.Point != nil && allowed != nil && allowed(a.Answer.Point) != nil {
				return fmt.Errorf("question %s: the composition %v is not allowed: %w",
					q.ID, a.Answer.Point, allowed(a.Answer.Point))
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
	if err := s.answers(ctx, q, humans.Reply{Answer: events.Answer{Point: wrong}}); err != nil {
		return err
	}
	// It is not known when they are asked again: they repeat themselves. Waited
	// for before the check ends, so that no goroutine answers questions of the
	// next check.
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
				// one answer too many, after the last
				_ = s.env.Person.Answers(q, humans.Reply{Answer: events.Answer{Point: right}})
			}
		}
	}()
	a, err := s.wait(q, replied)
	if err == nil && !maps.Equal(a.Answer.Point, right) {
		return fmt.Errorf("question %s: it took %v, which is not allowed", q.ID, a.Answer.Point)
	}
	return err
}
