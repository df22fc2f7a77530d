// Package humantest is the conformance suite of reviewers that get their answers in the terminal,
// from a program or by simulation. That of the browser only waits. [Run] runs it in a Go test,
// [Examine] anywhere.
//
// A reviewer with a person behind it needs one for the suite too: [Env.Person] is a program that
// sees the question and answers. Without it the reviewer must answer by itself, as one that
// describes itself as simulated does.
//
// A check without a judgement does not count as passed: [Run] fails where a reviewer that is not
// simulated has no person, and where a form of question is neither among [Env.Questions] nor in
// [Env.Unsupported].
package humantest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/campaignd/campaignd/adapters/humans"
	"github.com/campaignd/campaignd/events"
)

// Env is the reviewer under test and how it is to be tested. It is handed on by
// value, with the defaults filled in for each check.
type Env struct {
	// Open returns the reviewer as a new process would see it. Required.
	Open func() humans.Reviewer
	// Questions are examples of questions to the reviewer's expert: every form that the reviewer
	// can put, at two or more different compositions. The suite gives them IDs of its own. The
	// person answers a pinpoint with allowed compositions from them.
	Questions []humans.Question
	// Unsupported are the forms that the reviewer cannot put. Of every other
	// form there is one among Questions.
	Unsupported []events.Form
	// Person answers; nil where the reviewer answers by itself.
	Person Person
	// Patience is the longest an answer may take. Default 1 minute.
	Patience time.Duration
	// Prompt is how soon Ask must return after its context is done. Default 2
	// seconds.
	Prompt time.Duration
}

// Person stands in for the person whom a reviewer asks. Answers may be called
// from a goroutine of its own, and both for questions that are open at once.
type Person interface {
	// Sees waits until the question has been shown.
	Sees(ctx context.Context, q humans.Question) error
	// Answers enters an answer to the question, even if it has disappeared from the screen: people
	// are late.
	Answers(q humans.Question, a humans.Reply) error
}

// Check is one law and how it is tested.
type Check struct {
	// Name is short and stable: "late-answer".
	Name string
	// Law is the obligation in a sentence.
	Law string

	run func(context.Context, *session) error
}

// ErrSkipped is wrapped by the error of a check that does not apply.
var ErrSkipped = errors.New("skipped")

// errUnjudged is wrapped by the error of a check that applies, and for which
// the environment lacks something.
var errUnjudged = fmt.Errorf("%w: it could not be judged", ErrSkipped)

// Checks returns the suite, in order. The simple ones come first: where a
// reviewer answers nothing, all others only repeat that.
func Checks() []Check {
	return []Check{
		{"describe", "Describe names the expert and stays the same.", describe},
		{"answer", "Each question gets an answer of its form, the person's own, with their comment.",
			answer},
		{"ask-again", "The same question again gets the same answer, and the person is not asked twice.",
			askAgain},
		{"same-at-once", "The same question from several goroutines gets one answer.", sameAtOnce},
		{"side-by-side", "Questions that are open at once each get their own answer.", sideBySide},
		{"context-over", "Ask with a context that is over is an error and no answer.", contextOver},
		{"withdraw",
			"A withdrawn question returns promptly with the context's error and no answer, and can be asked again.",
			withdraw},
		{"late-answer", "An answer that comes after the withdrawal answers no other question.",
			lateAnswer},
		{"other-expert", "A question to someone else is an error.", otherExpert},
		{"forms", "There is a question of every form that the reviewer can put.", everyForm},
		{"comparison", "A comparison gets an order of its options, of all or of the best.", comparison},
		{"pinpoint",
			"A pinpointed composition is one that is allowed; the person is asked again for one that is not.",
			pinpoint},
		{"examples",
			"Examples are as many as asked for, labeled accept or reject, balanced if asked, and repeatable.",
			examples},
		{"comparisons",
			"Comparisons unasked are as many and as large as asked for, valid, and repeatable.",
			comparisons},
	}
}

// Result is the outcome of one check: a nil Err means that the law is kept, an
// Err that wraps [ErrSkipped] that it does not apply.
type Result struct {
	Check Check
	Err   error
}

// Unjudged reports whether the law applies, and could not be judged because the
// environment lacks something.
func (r Result) Unjudged() bool { return errors.Is(r.Err, errUnjudged) }

// Examine runs the suite. An error is about the environment, or the end of ctx; the reviewer's
// faults are in the results, and do not keep the other checks from running.
func Examine(ctx context.Context, env Env) ([]Result, error) {
	if err := env.check(); err != nil {
		return nil, err
	}
	var results []Result
	for n, check := range Checks() {
		results = append(results, Result{check, examine(ctx, env, n, check)})
		if err := ctx.Err(); err != nil {
			return results, err
		}
	}
	return results, nil
}

// examine runs one check on a new reviewer, and then cancels what the check has
// left open. A panic in this goroutine is most often the reviewer's too, in
// Open or Describe; one in Ask is caught where it is asked.
func examine(ctx context.Context, env Env, n int, check Check) (err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the reviewer panicked: %v", r)
		}
	}()
	env.Patience = cmp.Or(env.Patience, time.Minute)
	env.Prompt = cmp.Or(env.Prompt, 2*time.Second)
	return check.run(ctx, &session{env: env, check: n + 1, reviewer: env.Open()})
}

// Run runs the suite as subtests of t, one for each check. What could not be
// judged fails, and what does not apply is skipped: a suite that is green has
// tried everything that it could.
func Run(t *testing.T, env Env) {
	t.Helper()
	results, err := Examine(t.Context(), env)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range results {
		t.Run(r.Check.Name, func(t *testing.T) {
			switch {
			case r.Unjudged():
				t.Errorf("%s\n%s", r.Check.Law, strings.TrimPrefix(r.Err.Error(), ErrSkipped.Error()+": "))
			case errors.Is(r.Err, ErrSkipped):
				t.Skip(r.Err)
			case r.Err != nil:
				t.Errorf("%s\n%v", r.Check.Law, r.Err)
			}
		})
	}
}
