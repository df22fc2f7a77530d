package terminal_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/campaignd/campaignd/adapters/humans"
	"github.com/campaignd/campaignd/adapters/humans/humantest"
	"github.com/campaignd/campaignd/adapters/humans/terminal"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/console"
)

var noon = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

func now() time.Time { return noon }

func question() humans.Question {
	return humans.Question{
		ID: "bench/q3", Campaign: "bench", Expert: "ada",
		Parameters: []events.Parameter{{Name: "lipf6", Unit: "mol/kg"}, {Name: "solvent"}},
		Point:      events.Point{"lipf6": events.Number(1.1), "solvent": events.Category("EC")},
		Objective:  events.Objective{Name: "conductivity", Unit: "mS/cm", Goal: events.Maximize},
	}
}

// What a person may enter, and what it means. Anything else is explained and
// asked again.
func TestAnswers(t *testing.T) {
	for line, want := range map[string]humans.Answer{
		"a":                                      {Answer: events.AnswerAccept},
		"Accept":                                 {Answer: events.AnswerAccept},
		"accept  worth a try":                    {Answer: events.AnswerAccept, Comment: "worth a try"},
		"r too viscous":                          {Answer: events.AnswerReject, Comment: "too viscous"},
		"reject: too viscous":                    {Answer: events.AnswerReject, Comment: "too viscous"},
		"?":                                      {Answer: events.AnswerUnsure},
		"?never seen":                            {Answer: events.AnswerUnsure, Comment: "never seen"},
		"can't tell, never seen":                 {Answer: events.AnswerUnsure, Comment: "never seen"},
		"unsure":                                 {Answer: events.AnswerUnsure},
		"q3 r":                                   {Answer: events.AnswerReject},
		"maybe\nr":                               {Answer: events.AnswerReject},
		"12.9 mS/cm\naccepted by all\nq3: a yes": {Answer: events.AnswerAccept, Comment: "yes"},
	} {
		var out strings.Builder
		r := terminal.New("ada", console.NewLines(strings.NewReader(line+"\n"), &out, false), now)
		got, err := r.Ask(t.Context(), question())
		if err != nil || !got.Equal(want) {
			t.Errorf("%q: %+v, %v, want %+v", line, got, err, want)
		}
		if asked, lines := strings.Count(out.String(), "is not an answer"), strings.Count(line, "\n"); asked != lines {
			t.Errorf("%q: %d explanations, want %d:\n%s", line, asked, lines, &out)
		}
	}
	r := terminal.New("ada", console.NewLines(strings.NewReader("maybe\n"), io.Discard, false), now)
	if a, err := r.Ask(t.Context(), question()); !errors.Is(err, console.ErrClosed) || !a.Equal(humans.Answer{}) {
		t.Errorf("the input ended: %+v, %v", a, err)
	}
}

// The person sees everything the question carries.
func TestShows(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*humans.Question)
		want   []string
	}{
		{"the composition", func(*humans.Question) {}, []string{"lipf6    1.1 mol/kg", "solvent  EC", "ada"}},
		{"a prediction", func(q *humans.Question) {
			q.Prediction = &events.Prediction{Mean: 12.3456, SD: 0.4321, Unit: "mS/cm"}
		}, []string{"conductivity 12.35 ± 0.43 mS/cm"}},
		{"a wide prediction", func(q *humans.Question) {
			q.Prediction = &events.Prediction{Mean: 1234.5, SD: 120, Unit: "mS/cm"}
		}, []string{"conductivity 1234 ± 120 mS/cm"}},
		{"a sure prediction", func(q *humans.Question) {
			q.Prediction = &events.Prediction{Mean: 12.3456}
		}, []string{"conductivity 12.35 ± 0"}},
		{"acceptance", func(q *humans.Question) { q.Belief = &events.Interval{Lower: -2, Upper: -1} },
			[]string{"you would accept it (rejection 12 % to 27 % likely)"}},
		{"rejection", func(q *humans.Question) { q.Belief = &events.Interval{Lower: 1, Upper: 2} },
			[]string{"you would reject it (rejection 73 % to 88 % likely)"}},
		{"doubt", func(q *humans.Question) { q.Belief = &events.Interval{Lower: -1, Upper: 2} },
			[]string{"leave it open (rejection 27 % to 88 % likely)"}},
		{"the reason and the time left", func(q *humans.Question) {
			q.Explanation = "The belief is wide here."
			q.Asked, q.Expires = noon.Add(-time.Minute), noon.Add(119*time.Second)
		}, []string{"The belief is wide here.", "answer within 1m59s"}},
	} {
		q := question()
		c.change(&q)
		var got console.Form
		r := terminal.New("ada", console.PromptFunc(func(_ context.Context, f console.Form) (string, error) {
			got = f
			return "a", nil
		}), now)
		if _, err := r.Ask(t.Context(), q); err != nil {
			t.Fatal(err)
		}
		text := got.Title + "\n" + strings.Join(got.Body, "\n")
		for _, want := range c.want {
			if !strings.Contains(text, want) {
				t.Errorf("%s: %q is not in:\n%s", c.name, want, text)
			}
		}
		if got.Key != "q3" || got.Expires != q.Expires {
			t.Errorf("%s: key %q, expires %v", c.name, got.Key, got.Expires)
		}
	}
}

// typist is a person at a terminal: they read the screen and type.
type typist struct {
	keys io.Writer

	mu      sync.Mutex
	screen  strings.Builder
	written chan struct{} // closed and replaced at each write
}

func (p *typist) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.screen.Write(b)
	close(p.written)
	p.written = make(chan struct{})
	return len(b), nil
}

func (p *typist) Sees(ctx context.Context, q humans.Question) error {
	key := path.Base(q.ID)
	for {
		p.mu.Lock()
		text, written := p.screen.String(), p.written
		p.mu.Unlock()
		// Shown, and more often than taken away.
		if strings.Count(text, "\n"+key+"> ") > strings.Count(text, "\n"+key+" is no longer asked") {
			return nil
		}
		select {
		case <-written:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (p *typist) Answers(q humans.Question, a humans.Answer) error {
	_, err := fmt.Fprintf(p.keys, "%s %s %s\n", path.Base(q.ID), a.Answer, a.Comment)
	return err
}

// It passes the suite of all reviewers, with a person at a terminal.
func TestSuite(t *testing.T) {
	in, keys := io.Pipe()
	defer keys.Close()
	p := &typist{keys: keys, written: make(chan struct{})}
	lines := console.NewLines(in, p, true)
	other := question()
	other.Point = events.Point{"lipf6": events.Number(0.5), "solvent": events.Category("PC")}
	humantest.Run(t, humantest.Env{
		Open:      func() humans.Reviewer { return terminal.New("ada", lines, now) },
		Questions: []humans.Question{question(), other},
		Person:    p,
		Patience:  20 * time.Second,
	})
}
