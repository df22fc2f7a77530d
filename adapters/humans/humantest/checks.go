package humantest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/campaignd/campaignd/adapters/humans"
)

// session is one check of one reviewer. Each check has a reviewer of its own,
// so that none is helped by what another has left. mu guards last, the number
// of its latest question.
type session struct {
	env      Env
	check    int
	reviewer humans.Reviewer

	mu   sync.Mutex
	last int // question
}

// question returns the n-th question of the environment, the first again after
// the last, under a new ID. A new ID makes it another question, although the
// text is the same.
func (s *session) question(n int) humans.Question {
	return s.renamed(s.env.Questions[n%len(s.env.Questions)])
}

// renamed returns a question under a new ID. IDs differ between checks as well:
// a channel may remember answers by them.
func (s *session) renamed(q humans.Question) humans.Question {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last++
	q.ID = fmt.Sprintf("check%d/q%d", s.check, 100*s.check+s.last)
	return q
}

// reply holds the values that Ask returned. An error comes with the zero answer, or the reviewer
// breaks a law (see ended).
type reply struct {
	answer humans.Reply
	err    error
}

// ask begins to ask and returns at once. A panic is the reviewer's answer, and
// a fault: the engine's loop would take it for one. The channel has room, so
// that no goroutine is left behind where no one waits any more.
func (s *session) ask(ctx context.Context, q humans.Question) <-chan reply {
	replied := make(chan reply, 1)
	go func() {
		var r reply
		defer func() {
			if p := recover(); p != nil {
				r = reply{err: fmt.Errorf("the reviewer panicked: %v", p)}
			}
			replied <- r
		}()
		r.answer, r.err = s.reviewer.Ask(ctx, q)
	}()
	return replied
}

// wait waits for a valid answer, one that the engine would take: the form's own rules are checked
// here for every answer. Patience bounds it: a reviewer that never answers fails the check by name,
// where it would otherwise hold up the whole suite.
func (s *session) wait(q humans.Question, replied <-chan reply) (humans.Reply, error) {
	patience := time.NewTimer(s.env.Patience)
	defer patience.Stop()
	select {
	case r := <-replied:
		if r.err != nil {
			return r.answer, fmt.Errorf("question %s: %w", q.ID, r.err)
		}
		if err := r.answer.Check(q.Form, len(q.Options), q.Scale); err != nil {
			return r.answer, fmt.Errorf("question %s: %w", q.ID, err)
		}
		return r.answer, nil
	case <-patience.C:
		return humans.Reply{}, fmt.Errorf("question %s: no answer within %v", q.ID, s.env.Patience)
	}
}

// ended waits for the error of a question whose context is over. The error must
// be that of the context, which is how the engine knows a withdrawal from a
// failure; and no answer comes with it, since the engine would not know which
// of the two counts. Prompt bounds it, and not patience: no person has to do
// anything for it.
func (s *session) ended(q humans.Question, replied <-chan reply) error {
	prompt := time.NewTimer(s.env.Prompt)
	defer prompt.Stop()
	select {
	case r := <-replied:
		switch {
		case r.err == nil:
			return fmt.Errorf("question %s: Ask answered %v after its context was over", q.ID, r.answer)
		case !errors.Is(r.err, context.Canceled):
			return fmt.Errorf("question %s: the error is not the context's: %w", q.ID, r.err)
		case !r.answer.Equal(humans.Reply{}):
			return fmt.Errorf("question %s: an error and the answer %v at once", q.ID, r.answer)
		}
		return nil
	case <-prompt.C:
		return fmt.Errorf("question %s: Ask did not return within %v of the end of its context",
			q.ID, s.env.Prompt)
	}
}

// sees waits until the person sees q, if there is a person. No person answers before, and a channel
// that takes answers to questions it has not shown would pass.
func (s *session) sees(ctx context.Context, q humans.Question) error {
	if s.env.Person == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, s.env.Patience)
	defer cancel()
	if err := s.env.Person.Sees(ctx, q); err != nil {
		return fmt.Errorf("question %s was not shown: %w", q.ID, err)
	}
	return nil
}

// answers lets the person answer q once they see it, if there is a person.
func (s *session) answers(ctx context.Context, q humans.Question, a humans.Reply) error {
	if s.env.Person == nil {
		return nil
	}
	if err := s.sees(ctx, q); err != nil {
		return err
	}
	return s.env.Person.Answers(q, a)
}

// answered asks q, has it answered by a, and checks what comes back. Without a
// person the reviewer answers by itself, and any valid answer is good. The
// whole reply is compared, the comment and the wish to exclude included: a
// channel usually loses those first, since nothing else depends on them.
func (s *session) answered(ctx context.Context, q humans.Question, a humans.Reply) (humans.Reply, error) {
	replied := s.ask(ctx, q)
	if err := s.answers(ctx, q, a); err != nil {
		return humans.Reply{}, err
	}
	got, err := s.wait(q, replied)
	if err == nil && s.env.Person != nil && !got.Equal(a) {
		err = fmt.Errorf("question %s: the person answered %+v and Ask returned %+v", q.ID, a, got)
	}
	return got, err
}

// describe: the answers are recorded under the name it gives. A channel whose
// name changes with each call, as one with a counter or a process number in it,
// would make one expert into many, each with a trust of their own.
func describe(_ context.Context, s *session) error {
	d := s.reviewer.Describe()
	if d.Expert == "" {
		return errors.New("it does not say who answers")
	}
	if want := s.env.Questions[0].Expert; d.Expert != want {
		return fmt.Errorf("it says that %q answers, and the questions are to %q", d.Expert, want)
	}
	if again := s.reviewer.Describe(); again != d {
		return fmt.Errorf("the description changed from %+v to %+v", d, again)
	}
	return nil
}

// answer puts every question as often as there are answers of its form, “can't tell” among them. So
// each form's answers all go through the channel once, with comments and without. It catches a
// channel that shows one form and reads another, and one whose codes mix up two answers: the first
// option is 0, and 0 is also the zero value of an absent answer.
func answer(ctx context.Context, s *session) error {
	for n := range s.env.Questions {
		for k := range answersOfAForm {
			q := s.question(n)
			if _, err := s.answered(ctx, q, s.env.answerTo(q, k)); err != nil {
				return err
			}
		}
	}
	return nil
}

// askAgain asks a second time without anyone to answer: only a remembered answer can come back. A
// restart of the engine asks again, and the person has answered already. A question is asked at
// least eight times, so that a guess would be found out. Channels break it by keeping answers in
// the goroutine that asked, or by forgetting them once they have been handed on.
func askAgain(ctx context.Context, s *session) error {
	for n := range max(8, len(s.env.Questions)) { // a guess would be found out
		q := s.question(n)
		first, err := s.answered(ctx, q, s.env.answerTo(q, 1))
		if err != nil {
			return err
		}
		second, err := s.wait(q, s.ask(ctx, q)) // no answer comes now
		if err != nil {
			return fmt.Errorf("asked again: %w", err)
		}
		if !first.Equal(second) {
			return fmt.Errorf("question %s: answered %+v, and %+v when it was asked again", q.ID,
				first, second)
		}
	}
	return nil
}

// sameAtOnce has one question asked by several goroutines, as after a
// reconnection. The person sees it once and answers once; all who asked get
// that answer. A channel that opens a form for each caller shows the question
// eight times, and the answers to it need not agree.
func sameAtOnce(ctx context.Context, s *session) error {
	q := s.question(0)
	var replies []<-chan reply
	// Enough that some of them overlap on any machine.
	for range 8 {
		replies = append(replies, s.ask(ctx, q))
	}
	if err := s.answers(ctx, q, s.env.answerTo(q, 1)); err != nil {
		return err
	}
	var first humans.Reply
	for n, replied := range replies {
		a, err := s.wait(q, replied)
		if err != nil {
			return err
		}
		if n == 0 {
			first = a
		} else if !a.Equal(first) {
			return fmt.Errorf("question %s: one goroutine was told %+v, another %+v", q.ID, first, a)
		}
	}
	return nil
}

// sideBySide answers in the opposite order: an adapter that goes by order mixes
// them up. A terminal with one line of input is where answers are mixed up most
// easily.
func sideBySide(ctx context.Context, s *session) error {
	n := max(6, len(s.env.Questions))
	var questions []humans.Question
	var replies []<-chan reply
	for k := range n {
		questions = append(questions, s.question(k))
		replies = append(replies, s.ask(ctx, questions[k]))
	}
	for k := n - 1; k >= 0; k-- { // not in the order they were asked
		if err := s.answers(ctx, questions[k], s.env.answerTo(questions[k], k)); err != nil {
			return err
		}
	}
	for k, q := range questions {
		got, err := s.wait(q, replies[k])
		if err != nil {
			return err
		}
		if want := s.env.answerTo(q, k); s.env.Person != nil && !got.Equal(want) {
			return fmt.Errorf("question %s: the person answered %+v and Ask returned %+v", q.ID, want, got)
		}
	}
	return nil
}

// contextOver: a question that is over already must not be shown. The person
// would answer a question that no one waits for. Channels that look at the
// context only while they wait show the question first.
func contextOver(ctx context.Context, s *session) error {
	over, cancel := context.WithCancel(ctx)
	cancel()
	q := s.question(0)
	return s.ended(q, s.ask(over, q))
}

// withdrawn asks the person a question, withdraws it once they see it, and
// waits for the end of Ask. Only with a person can it be known that the
// question was seen before it was withdrawn; a reviewer that answers by itself
// has answered by then. A reviewer that is not simulated needs the person:
// skipping the check there would pass a channel that was never tried.
func (s *session) withdrawn(ctx context.Context) (humans.Question, error) {
	q := s.question(0)
	switch {
	case s.env.Person != nil:
	case s.reviewer.Describe().Simulated:
		return q, fmt.Errorf("%w: the reviewer answers by itself", ErrSkipped)
	default:
		return q, fmt.Errorf("%w: the reviewer is not simulated, and nobody answers: set Env.Person",
			errUnjudged)
	}
	open, cancel := context.WithCancel(ctx)
	defer cancel()
	replied := s.ask(open, q)
	if err := s.sees(ctx, q); err != nil {
		return q, err
	}
	cancel()
	return q, s.ended(q, replied)
}

// withdraw asks again with a new reviewer: a withdrawal must not count as an answer. A channel that
// records a withdrawal as "can't tell", or remembers the question as done, answers at once the
// second time, with an answer that no one gave.
func withdraw(ctx context.Context, s *session) error {
	q, err := s.withdrawn(ctx)
	if err != nil {
		return err
	}
	// As after a restart of the engine.
	s.reviewer = s.env.Open()
	if _, err := s.answered(ctx, q, s.env.answerTo(q, 0)); err != nil {
		return fmt.Errorf("asked again after it was withdrawn: %w", err)
	}
	return nil
}

// lateAnswer answers the withdrawn question while another is open, as people do
// who were about to press Enter. The late answer must not be taken for one to
// the question that is open now. The person is sure to be there: withdrawn has
// skipped the check without one.
func lateAnswer(ctx context.Context, s *session) error {
	q, err := s.withdrawn(ctx)
	if err != nil {
		return err
	}
	if err := s.env.Person.Answers(q, s.env.answerTo(q, 1)); err != nil {
		return err
	}
	next := s.question(1)
	_, err = s.answered(ctx, next, s.env.answerTo(next, 0))
	return err
}

// otherExpert: an answer under the wrong name would be believed to be the
// expert's. An error at once is the one right answer: a question that is shown
// to the wrong person is a fault even if they do not answer. A channel for one
// person that ignores whom a question is put to would let the wrong expert's
// trust grow or fall.
func otherExpert(ctx context.Context, s *session) error {
	q := s.question(0)
	q.Expert = "someone-else-entirely"
	ctx, cancel := context.WithTimeout(ctx, s.env.Prompt)
	defer cancel()
	select {
	case r := <-s.ask(ctx, q):
		if r.err == nil {
			return fmt.Errorf("it answered %v in the name of someone else", r.answer)
		}
		if ctx.Err() == nil {
			return nil
		}
	case <-ctx.Done():
	}
	return errors.New("it put someone else's question to its own expert")
}
