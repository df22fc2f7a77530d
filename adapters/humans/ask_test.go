package humans_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/campaignd/campaignd/adapters/humans"
	"github.com/campaignd/campaignd/adapters/humans/humantest"
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

// errNotAsked is of a question that is not open.
var errNotAsked = errors.New("the question is not open")

// desk is where questions lie until they are answered, or not needed any more.
type desk struct {
	mu   sync.Mutex
	open map[string]*sheet // by the questions' IDs
}

// sheet is where the reply to a question comes.
type sheet struct{ reply chan humans.Reply }

// ask implements [humans.Asker].
func (d *desk) ask(ctx context.Context, q humans.Question, _ string) (humans.Reply, error) {
	s := &sheet{make(chan humans.Reply, 1)}
	d.mu.Lock()
	d.open[q.ID] = s
	d.mu.Unlock()
	defer func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		if d.open[q.ID] == s {
			delete(d.open, q.ID)
		}
	}()
	select {
	case reply := <-s.reply:
		return reply, nil
	case <-ctx.Done():
		return humans.Reply{}, ctx.Err()
	}
}

// answer answers a question that lies on the desk: the first answer counts.
func (d *desk) answer(id string, r humans.Reply) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	s := d.open[id]
	if s == nil {
		return fmt.Errorf("%w: %s", errNotAsked, id)
	}
	delete(d.open, id)
	s.reply <- r
	return nil
}

// Sees and Answers implement [humantest.Person].
func (d *desk) Sees(ctx context.Context, q humans.Question) error {
	for ctx.Err() == nil {
		d.mu.Lock()
		s := d.open[q.ID]
		d.mu.Unlock()
		if s != nil {
			return nil
		}
		time.Sleep(time.Millisecond)
	}
	return ctx.Err()
}

func (d *desk) Answers(q humans.Question, r humans.Reply) error {
	err := d.answer(q.ID, r)
	if errors.Is(err, errNotAsked) {
		return nil // whoever is late is told so, and nothing comes of it
	}
	return err
}

// Law: a reviewer by a function passes the suite of all reviewers.
func TestNewReviewer(t *testing.T) {
	desk := &desk{open: make(map[string]*sheet)}
	estimate := question(events.FormEstimate, 3)
	scale := events.ScaleOf(estimate.Objective, false)
	estimate.Scale = scale
	other := question(events.FormLabel, 1)
	other.Options[0].Parameters = definition.Point{"x": definition.Number(0.9)}
	humantest.Run(t, humantest.Env{
		Open: func() humans.Reviewer { return humans.NewReviewer("ada", desk.ask) },
		Questions: []humans.Question{
			question(events.FormLabel, 1), other, question(events.FormComparison, 2), estimate,
			question(events.FormPinpoint, 0), question(events.FormOutcomes, 2),
		},
		Person:   desk,
		Patience: 10 * time.Second,
	})
}
