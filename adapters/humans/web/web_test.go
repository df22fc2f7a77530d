package web_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/campaignd/campaignd/adapters/humans"
	"github.com/campaignd/campaignd/adapters/humans/humantest"
	"github.com/campaignd/campaignd/adapters/humans/web"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
)

func ptr(x float64) *float64 { return &x }

func question(form events.Form, n int) humans.Question {
	q := humans.Question{
		Campaign:   "bench",
		Expert:     "ada",
		Form:       form,
		Parameters: []definition.Parameter{{Name: "x", Min: ptr(0), Max: ptr(1)}},
		Objective:  definition.Objective{Name: "flow", Goal: definition.Maximize},
	}
	for i := range n {
		q.Options = append(q.Options, events.Option{Parameters: definition.Point{"x": definition.Number(0.1 * float64(i+1))}})
	}
	return q
}

// person answers at the desk.
type person struct{ *web.Desk }

func (p person) Sees(ctx context.Context, q humans.Question) error {
	for ctx.Err() == nil {
		if _, _, ok := p.Open(q.ID); ok {
			return nil
		}
		time.Sleep(time.Millisecond)
	}
	return ctx.Err()
}

func (p person) Answers(q humans.Question, r humans.Reply) error {
	err := p.Answer(q.ID, r)
	if errors.Is(err, web.ErrNotAsked) {
		return nil // whoever is late is told so, and nothing comes of it
	}
	return err
}

// It passes the suite of all reviewers.
func TestSuite(t *testing.T) {
	desk := web.NewDesk()
	estimate := question(events.FormEstimate, 3)
	scale := events.ScaleOf(estimate.Objective, false)
	estimate.Scale = scale
	other := question(events.FormLabel, 1)
	other.Options[0].Parameters = definition.Point{"x": definition.Number(0.9)}
	humantest.Run(t, humantest.Env{
		Open: func() humans.Reviewer { return desk.Reviewer("ada") },
		Questions: []humans.Question{
			question(events.FormLabel, 1), other, question(events.FormComparison, 2), estimate,
			question(events.FormPinpoint, 0), question(events.FormOutcomes, 2),
		},
		Person:   person{desk},
		Patience: 10 * time.Second,
	})
}

// Law: who answers what is not open, or answers twice, is told so.
func TestNotAsked(t *testing.T) {
	desk := web.NewDesk()
	accept := humans.Reply{Answer: events.Answer{Label: events.LabelAccept}}
	if err := desk.Answer("bench/q1", accept); !errors.Is(err, web.ErrNotAsked) {
		t.Errorf("before it is asked: %v", err)
	}
	q := question(events.FormLabel, 1)
	q.ID = "bench/q1"
	answered := make(chan humans.Reply)
	go func() {
		reply, err := desk.Reviewer("ada").Ask(t.Context(), q)
		if err != nil {
			t.Error(err)
		}
		answered <- reply
	}()
	if err := (person{desk}).Sees(t.Context(), q); err != nil {
		t.Fatal(err)
	}
	if err := desk.Answer("bench/q1", accept); err != nil {
		t.Fatal(err)
	}
	if err := desk.Answer("bench/q1", humans.Reply{}); !errors.Is(err, web.ErrNotAsked) {
		t.Errorf("the second answer: %v", err)
	}
	if reply := <-answered; !reply.Equal(accept) {
		t.Errorf("the first answer became %+v", reply)
	}
}
