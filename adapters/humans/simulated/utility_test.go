package simulated_test

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/campaignd/campaignd/adapters/humans"
	"github.com/campaignd/campaignd/adapters/humans/simulated"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
)

// outcomes is a question for the better one of two yields at two prices.
func outcomes(n int, yields ...float64) humans.Question {
	q := question("branin", n, nil)
	q.Form, q.Options = events.FormOutcomes, nil
	for i, y := range yields {
		q.Options = append(q.Options, events.Option{
			Parameters: definition.Point{"x1": definition.Number(float64(i)), "x2": definition.Number(y)},
			Outcome: &events.Outcome{Experiment: fmt.Sprint("e", i+1), Quantities: []definition.Quantity{
				{Name: "yield", Value: y}, {Name: "price", Value: float64(i), Unit: "EUR"},
			}},
		})
	}
	return q
}

// valuing is an expert who knows a task, and what outcomes are worth to them.
func valuing(s simulated.Settings) simulated.Settings {
	s.Task = "branin"
	s.Utility = []simulated.Worth{{Quantity: "yield", From: 0, To: 10}, {Quantity: "price", From: 4, To: 0, Weight: ptr(0.5)}}
	return s
}

// Law: what a value is worth is 0.05 of the weight at from, half of it in the middle, 0.95 at to, and
// hardly more beyond; an outcome is worth the sum.
func TestWorthSaturates(t *testing.T) {
	for _, c := range []struct{ from, to, at, want float64 }{
		{0, 10, 0, 0.0474}, {0, 10, 5, 0.5}, {0, 10, 10, 0.9526}, {0, 10, 30, 1}, {10, 0, 10, 0.0474}, {10, 0, -20, 1},
	} {
		if got := (simulated.Worth{From: c.from, To: c.to}).Of(c.at); math.Abs(got-c.want) > 1e-4 {
			t.Errorf("%+v: %v", c, got)
		}
	}
	s := valuing(simulated.Settings{})
	got := simulated.Utility(s.Utility, *outcomes(0, 5, 5).Options[1].Outcome)
	if want := s.Utility[0].Of(5) + s.Utility[1].Of(1); math.Abs(got-want) > 1e-15 || got <= s.Utility[0].Of(5) {
		t.Errorf("an outcome is worth %v, want %v", got, want)
	}
}

// Law: the expert prefers what is worth more to them, the more surely the greater the difference is against
// the noise of their judgment; who misleads says the opposite. Asked again, they say the same.
func TestOutcomesAreJudgedByTheirUtility(t *testing.T) {
	const n = 2000
	s := valuing(simulated.Settings{UtilityNoise: 0.2})
	q := outcomes(0, 4, 6)
	difference := simulated.Utility(s.Utility, *q.Options[1].Outcome) - simulated.Utility(s.Utility, *q.Options[0].Outcome)
	want := 0.5 * math.Erfc(-difference/(2*0.2)) // of the difference of two noises
	for accuracy, want := range map[float64]float64{1: want, -1: 1 - want} {
		s.Accuracy = &accuracy
		r, second := reviewer(t, "branin", 1, s), 0
		for i := range n {
			q := outcomes(i+1, 4, 6)
			reply, err := r.Ask(t.Context(), q)
			again, errAgain := r.Ask(t.Context(), q)
			if err != nil || errAgain != nil || !reply.Answer.Equal(again.Answer) {
				t.Fatalf("%v, %v, then %v, %v", reply.Answer, err, again.Answer, errAgain)
			}
			second += reply.Answer.Order[0]
		}
		if got := float64(second) / n; math.Abs(got-want) > 4*math.Sqrt(want*(1-want)/n) {
			t.Errorf("accuracy %v: the second is preferred in %v of the questions, want %v", accuracy, got, want)
		}
	}
}

// Law: who does not know what outcomes are worth does not guess, and who knows nothing else judges no
// composition.
func TestWhatIsNotKnownIsNotJudged(t *testing.T) {
	if _, err := reviewer(t, "branin", 1, simulated.Settings{}).Ask(t.Context(), outcomes(1, 4, 6)); !errors.Is(err, simulated.ErrConfig) {
		t.Errorf("without a utility: %v", err)
	}
	s := valuing(simulated.Settings{})
	s.Task = ""
	r := reviewer(t, "branin", 1, s)
	if reply, err := r.Ask(t.Context(), outcomes(1, 4, 9)); err != nil || reply.Answer.Order[0] != 1 {
		t.Errorf("with nothing but a utility: %v, %v", reply.Answer, err)
	}
	if _, err := r.Ask(t.Context(), question("branin", 1, definition.Point{"x1": definition.Number(1), "x2": definition.Number(2)})); !errors.Is(err, simulated.ErrConfig) {
		t.Errorf("a label of who knows no task: %v", err)
	}
}
