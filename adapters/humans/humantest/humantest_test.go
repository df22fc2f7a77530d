package humantest_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/campaignd/campaignd/adapters/humans"
	"github.com/campaignd/campaignd/adapters/humans/humantest"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// desk is a reviewer with a person behind it, and a person: questions lie on
// the desk until they are answered. Each fault makes it break one law.
type desk struct {
	fault string

	mu       sync.Mutex
	changed  sync.Cond
	shown    map[string]bool
	answers  map[string]humans.Reply
	examples int
	stray    *humans.Reply // an answer to nothing that is shown
}

func newDesk(fault string) *desk {
	d := &desk{fault: fault, shown: make(map[string]bool), answers: make(map[string]humans.Reply)}
	d.changed.L = &d.mu
	return d
}

func (d *desk) Describe() humans.Description {
	if d.fault == "anonymous" {
		return humans.Description{}
	}
	return humans.Description{Expert: "ada"}
}

func (d *desk) Ask(ctx context.Context, q humans.Question) (humans.Reply, error) {
	if d.fault == "panics" {
		panic("no desk")
	}
	if err := ctx.Err(); err != nil && d.fault != "answers without context" {
		return humans.Reply{}, err
	}
	if q.Expert != "ada" && d.fault != "answers for others" {
		return humans.Reply{}, errors.New("not for me")
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.fault == "mixes up" && len(d.shown) > 0 {
		for id := range d.shown {
			q.ID = id // whichever it is
			break
		}
	}
	if d.fault != "forgets" || !d.shown[q.ID] {
		if a, ok := d.answers[q.ID]; ok {
			return a, nil
		}
	}
	delete(d.answers, q.ID)
	if d.fault == "uses late answers" && d.stray != nil {
		return *d.stray, nil
	}
	d.shown[q.ID] = true
	d.changed.Broadcast()
	stop := context.AfterFunc(ctx, func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.changed.Broadcast()
	})
	defer stop()
	for {
		if a, ok := d.answers[q.ID]; ok {
			switch d.fault {
			case "own words":
				a.Answer.Label = "yes"
			case "loses comments":
				a.Comment = ""
			case "best only":
				a.Answer.Order = a.Answer.Order[:min(len(a.Answer.Order), 1)]
			case "miscounts":
				for i := range a.Answer.Order {
					a.Answer.Order[i]++ // from 1
				}
			}
			return a, nil
		}
		switch {
		case ctx.Err() == nil || d.fault == "ignores the context":
		case d.fault == "answers without context":
			return humans.Reply{}, nil
		case d.fault == "own error":
			delete(d.shown, q.ID)
			return humans.Reply{}, errors.New("too slow")
		default:
			delete(d.shown, q.ID)
			return humans.Reply{}, ctx.Err()
		}
		d.changed.Wait()
	}
}

func (d *desk) Examples(ctx context.Context, n int, balanced bool) ([]humans.Example, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	var out []humans.Example
	for k := range n {
		label := events.LabelReject
		if k < n/2 && d.fault != "unbalanced" {
			label = events.LabelAccept
		}
		if d.fault == "whims" {
			d.examples++
		}
		out = append(out, humans.Example{
			Point: definition.Point{"x": definition.Number(float64(k + d.examples))},
			Label: label,
		})
	}
	return out, nil
}

func (d *desk) Comparisons(ctx context.Context, n, size int) ([]humans.Ranking, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	var out []humans.Ranking
	switch d.fault {
	case "small comparisons":
		size--
	case "few comparisons":
		n--
	}
	for k := range n {
		c := humans.Ranking{Order: []int{size - 1, 0}}
		switch d.fault {
		case "invalid comparisons":
			c.Order = []int{0, 0}
		case "changes its mind":
			d.examples++
		}
		for i := range size {
			c.Points = append(c.Points, definition.Point{"x": definition.Number(float64(k + i + d.examples))})
		}
		out = append(out, c)
	}
	return out, nil
}

func (d *desk) Sees(ctx context.Context, q humans.Question) error {
	stop := context.AfterFunc(ctx, func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.changed.Broadcast()
	})
	defer stop()
	d.mu.Lock()
	defer d.mu.Unlock()
	for !d.shown[q.ID] {
		if err := ctx.Err(); err != nil {
			return err
		}
		d.changed.Wait()
	}
	return nil
}

func (d *desk) Answers(q humans.Question, a humans.Reply) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if a.Answer.Point != nil && q.Allowed != nil && q.Allowed(a.Answer.Point) != nil && d.fault != "takes anything" {
		return nil // the person is told, and answers again
	}
	if d.shown[q.ID] {
		d.answers[q.ID] = a
	} else {
		d.stray = &a
	}
	d.changed.Broadcast()
	return nil
}

func questionsOfAllForms() []humans.Question {
	var questions []humans.Question
	for n := range 2 {
		questions = append(questions, humans.Question{
			Campaign: "desk", Expert: "ada", Form: events.FormLabel,
			Options: []events.Option{{Parameters: definition.Point{"x": definition.Number(float64(n))}}},
		})
	}
	compare := humans.Question{Campaign: "desk", Expert: "ada", Form: events.FormComparison}
	for n := range 3 {
		compare.Options = append(compare.Options,
			events.Option{Parameters: definition.Point{"x": definition.Number(float64(n))}})
	}
	estimate := compare
	estimate.Form = events.FormEstimate
	estimate.Scale = events.ScaleOf(definition.Objective{Name: "y", Unit: "mS", Goal: definition.Minimize}, false)
	outcomes := humans.Question{Campaign: "desk", Expert: "ada", Form: events.FormOutcomes}
	for n := range 2 {
		outcomes.Options = append(outcomes.Options, events.Option{
			Parameters: definition.Point{"x": definition.Number(float64(n))},
			Outcome:    &events.Outcome{Quantities: []definition.Quantity{{Name: "y", Value: float64(n)}}},
		})
	}
	return append(questions, compare, estimate, outcomes, humans.Question{
		Campaign: "desk", Expert: "ada", Form: events.FormPinpoint, Allowed: func(p definition.Point) error {
			if x, _ := p["x"].Float(); x > 1 {
				return errors.New("too much")
			}
			return nil
		},
	})
}

func examine(t *testing.T, fault string) map[string]error {
	t.Helper()
	d := newDesk(fault)
	env := humantest.Env{Open: func() humans.Reviewer { return d }, Questions: questionsOfAllForms(), Person: d}
	if fault != "" {
		// What these waits decide is only how long a broken reviewer is given.
		env.Patience, env.Prompt = 100*time.Millisecond, 100*time.Millisecond
	}
	results := must.Get(humantest.Examine(t.Context(), env))(t)
	broken := make(map[string]error)
	for _, r := range results {
		if r.Err != nil {
			broken[r.Check.Name] = r.Err
		}
	}
	return broken
}

// A sound reviewer passes, and each fault is found by the check that is there
// for it.
func TestBrokenReviewers(t *testing.T) {
	for name, err := range examine(t, "") {
		t.Errorf("a sound reviewer: %s: %v", name, err)
	}
	for _, c := range []struct{ fault, check string }{
		{"anonymous", "describe"},
		{"panics", "answer"},
		{"own words", "answer"},
		{"loses comments", "answer"},
		{"forgets", "ask-again"},
		{"mixes up", "side-by-side"},
		{"answers without context", "context-over"},
		{"ignores the context", "withdraw"},
		{"own error", "withdraw"},
		{"uses late answers", "late-answer"},
		{"answers for others", "other-expert"},
		{"best only", "comparison"},
		{"miscounts", "answer"},
		{"takes anything", "pinpoint"},
		{"unbalanced", "examples"},
		{"whims", "examples"},
		{"few comparisons", "comparisons"},
		{"small comparisons", "comparisons"},
		{"invalid comparisons", "comparisons"},
		{"changes its mind", "comparisons"},
	} {
		t.Run(c.fault, func(t *testing.T) {
			t.Parallel() // they mostly wait
			broken := examine(t, c.fault)
			if broken[c.check] == nil {
				t.Errorf("%s did not find it; found: %s", c.check, fmt.Sprint(broken))
			}
		})
	}
}

// Law: the suite knows every form: a sound reviewer who is asked a question of it is
// asked in the suite, and answers.
func TestEveryForm(t *testing.T) {
	questions := map[events.Form]bool{}
	for _, q := range questionsOfAllForms() {
		questions[q.Form] = true
	}
	for _, form := range events.Forms() {
		if !questions[form] {
			t.Errorf("no %s is asked in these tests: add one", form)
		}
	}
}

// Law: what the environment lacks is not passed: a person behind a reviewer who is not
// simulated, and questions of forms that nobody said the reviewer cannot put.
func TestWhatIsLackingIsNotPassed(t *testing.T) {
	d := newDesk("")
	labels := questionsOfAllForms()[:2]
	others := []events.Form{events.FormComparison, events.FormPinpoint, events.FormEstimate, events.FormOutcomes}
	for _, test := range []struct {
		lacking  string
		change   func(*humantest.Env)
		unjudged string // the checks that say so
	}{
		{"nothing", func(*humantest.Env) {}, ""},
		{"questions", func(e *humantest.Env) { e.Questions = labels }, "forms"},
		{"nothing that it can put", func(e *humantest.Env) { e.Questions, e.Unsupported = labels, others }, ""},
		{"a person", func(e *humantest.Env) { e.Person = nil }, "withdraw late-answer"},
	} {
		env := humantest.Env{
			Open: func() humans.Reviewer { return d }, Questions: questionsOfAllForms(), Person: d,
			Patience: 100 * time.Millisecond, Prompt: 100 * time.Millisecond,
		}
		test.change(&env)
		results := must.Get(humantest.Examine(t.Context(), env))(t)
		var unjudged []string
		for _, r := range results {
			if r.Unjudged() {
				unjudged = append(unjudged, r.Check.Name)
			}
		}
		if got := strings.Join(unjudged, " "); got != test.unjudged {
			t.Errorf("lacking %s: unjudged are %q, want %q", test.lacking, got, test.unjudged)
		}
	}
}
