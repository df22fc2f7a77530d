package simulated_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"testing"

	"github.com/campaignd/campaignd/adapters/humans"
	"github.com/campaignd/campaignd/adapters/humans/simulated"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/study/tasks"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// comparison is a question between compositions of a task.
func comparison(task string, n int, options ...definition.Point) humans.Question {
	q := question(task, n, nil)
	q.Form, q.Options = events.FormComparison, nil
	for _, p := range options {
		q.Options = append(q.Options, events.Option{Parameters: p})
	}
	return q
}

// pinpoint is a question for a composition of a task.
func pinpoint(task string, n int) humans.Question {
	q := question(task, n, nil)
	q.Form, q.Options = events.FormPinpoint, nil
	q.Allowed = func(definition.Point) error { return nil }
	return q
}

// orders counts the orders that an expert gives to many questions between the
// same options; "" is can't tell.
func orders(t *testing.T, r *simulated.Reviewer, task string, n int, options ...definition.Point) map[string]int {
	t.Helper()
	counts := make(map[string]int)
	for i := range n {
		a := must.Get(r.Ask(t.Context(), comparison(task, i, options...)))(t)
		text := ""
		for _, option := range a.Answer.Order {
			text += humans.OptionName(option)
		}
		counts[text]++
	}
	return counts
}

// within compares a share of n draws with a probability.
func within(t *testing.T, what string, count, n int, want float64) {
	t.Helper()
	share, sd := float64(count)/float64(n), math.Sqrt(want*(1-want)/float64(n))
	if math.Abs(share-want) > 4*sd+1e-12 {
		t.Errorf("%s: %.3f, want %.3f ± %.3f", what, share, want, sd)
	}
}

// places are three compositions of Branin's function: good, middling, bad.
func places() (points []definition.Point, ranks []float64) {
	k, _ := tasks.Lookup("branin")
	for _, x := range [][]float64{k.Best.At, {-3, 5}, {-5, 2}} {
		p := k.Point(x)
		rank, _ := k.Rank(p)
		points, ranks = append(points, p), append(ranks, rank)
	}
	return points, ranks
}

// Of two compositions the one of rank ρ is preferred to that of rank ρ' with
// probability S(a(ρ' − ρ)), wherever it is shown, and of several the order is that
// of Plackett and Luce: each place goes to one of those left with a probability
// in proportion to exp(−aρ).
func TestChoices(t *testing.T) {
	const n = 3000
	points, ranks := places()
	for _, a := range []float64{2, 1, 0, -2} {
		r := reviewer(t, "branin", 1, simulated.Settings{Accuracy: &a, UnsureRate: 0.25})
		for _, pair := range [][2]int{{0, 1}, {1, 0}, {1, 2}, {0, 0}} {
			i, j := pair[0], pair[1]
			counts := orders(t, r, "branin", n, points[i], points[j])
			what := fmt.Sprintf("a = %g, %v", a, pair)
			within(t, what+", unsure", counts[""], n, 0.25)
			within(t, what, counts["AB"], n-counts[""], 1/(1+math.Exp(-a*(ranks[j]-ranks[i]))))
		}
		counts := orders(t, r, "branin", n, points...)
		for _, order := range [][]int{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}} {
			name, probability, left := "", 1.0, 0.0
			for k := len(order) - 1; k >= 0; k-- {
				weight := math.Exp(-a * ranks[order[k]])
				left += weight
				probability *= weight / left
				name = humans.OptionName(order[k]) + name
			}
			within(t, fmt.Sprintf("a = %g, order %s", a, name), counts[name], n-counts[""], probability)
		}
	}
}

// With noise on the objective, the lesser of two values f and f' of a minimized
// one is preferred with probability Φ((f' − f)/(σ√2)), and without noise always.
// Who is adverse or wants the opposite takes the other side.
func TestChoiceNoise(t *testing.T) {
	const n = 3000
	points, _ := places()
	k, _ := tasks.Lookup("branin")
	better, _ := k.Value(points[0])
	worse, _ := k.Value(points[1])
	for _, sd := range []float64{0, 20, 100} {
		probability := 1.0
		if sd > 0 {
			probability = math.Erfc((better-worse)/(2*sd)) / 2
		}
		for _, c := range []struct {
			accuracy *float64
			goal     string
			want     float64
		}{
			{nil, definition.Minimize, probability},
			{ptr(0.0), definition.Minimize, probability},
			{ptr(-1.0), definition.Minimize, 1 - probability},
			{nil, definition.Maximize, 1 - probability},
			{ptr(-1.0), definition.Maximize, probability},
		} {
			def := defined("branin", 1)
			def.Objective.Goal = c.goal
			cfg := simulated.Settings{Accuracy: c.accuracy, ChoiceNoise: &sd}
			r, err := simulated.New(definition.Expert{Name: "ada", Channel: simulated.Choose(cfg)}, def, nil)
			if err != nil {
				t.Fatal(err)
			}
			counts := orders(t, r, "branin", n, points[0], points[1])
			within(t, fmt.Sprintf("noise %g, %s, accuracy %v", sd, c.goal, c.accuracy), counts["AB"], n, c.want)
		}
	}
}

// The choice of an expert who wants the opposite of the task is turned as well.
func TestGoalOfComparisons(t *testing.T) {
	points, _ := places()
	def := defined("branin", 1)
	def.Objective.Goal = definition.Maximize
	def.Instrument = definition.Instrument{} // preferences alone: the expert knows the task
	cfg := simulated.Settings{Accuracy: ptr(100.0), Task: "branin"}
	r, err := simulated.New(definition.Expert{Name: "ada", Channel: simulated.Choose(cfg)}, def, uniform("branin"))
	if err != nil {
		t.Fatal(err)
	}
	if counts := orders(t, r, "branin", 20, points...); counts["CBA"] != 20 {
		t.Errorf("from the worst to the best of a minimized task: %v", counts)
	}
}

// A pinpointed composition is a draw from the density in proportion to 1 − S(aρ),
// among those that are allowed.
func TestPinpoint(t *testing.T) {
	const n, accuracy = 1500, 2.0
	k, _ := tasks.Lookup("branin")
	left := func(p definition.Point) bool { x, _ := p["x1"].Float(); return x < 2.5 }
	var inside, whole float64
	for _, p := range uniform("branin")(100_000, 7) {
		rank := must.Get(k.Rank(p))(t)
		accept := 1 - logistic(accuracy*rank)
		whole += accept
		if left(p) {
			inside += accept
		}
	}
	r := reviewer(t, "branin", 1, simulated.Settings{Accuracy: ptr(accuracy), UnsureRate: 0.25})
	count, unsure := 0, 0
	for i := range n {
		a, err := r.Ask(t.Context(), pinpoint("branin", i))
		switch {
		case err != nil:
			t.Fatal(err)
		case a.Answer.Unsure():
			unsure++
		case left(a.Answer.Point):
			count++
		}
	}
	within(t, "unsure", unsure, n, 0.25)
	within(t, "left", count, n-unsure, inside/whole)

	// The allowed part alone.
	r = reviewer(t, "branin", 1, simulated.Settings{Accuracy: ptr(accuracy)})
	for i := range 100 {
		q := pinpoint("branin", i)
		q.Allowed = func(p definition.Point) error {
			if !left(p) {
				return errors.New("too far to the right")
			}
			return nil
		}
		if a, err := r.Ask(t.Context(), q); err != nil || !left(a.Answer.Point) {
			t.Fatalf("%+v, %v", a, err)
		}
		q.Allowed = func(definition.Point) error { return errors.New("nothing goes") }
		if i == 0 {
			if _, err := r.Ask(t.Context(), q); !errors.Is(err, simulated.ErrPinpoint) {
				t.Errorf("nothing is allowed: %v", err)
			}
		}
	}

	// Who accepts nothing they think of names the best of it.
	bad := []definition.Point{k.Point(k.Worst.At), k.Point([]float64{-5, 0.5})}
	cfg := simulated.Settings{Accuracy: ptr(200.0)}
	sharp, err := simulated.New(definition.Expert{Name: "ada", Channel: simulated.Choose(cfg)}, defined("branin", 1),
		func(n int, _ uint64) []definition.Point { return bad })
	if err != nil {
		t.Fatal(err)
	}
	if a, err := sharp.Ask(t.Context(), pinpoint("branin", 1)); err != nil || !maps.Equal(a.Answer.Point, bad[1]) {
		t.Errorf("among bad compositions: %+v, %v", a, err)
	}
}

// Examples are of different compositions, as far as there are as many, and end
// with their context.
func TestComparisons(t *testing.T) {
	points, _ := places()
	cfg := simulated.Settings{Accuracy: ptr(100.0), UnsureRate: 1}
	r, err := simulated.New(definition.Expert{Name: "ada", Channel: simulated.Choose(cfg)}, defined("branin", 1),
		func(n int, seed uint64) []definition.Point {
			list := make([]definition.Point, n)
			for i := range list {
				list[i] = points[(i*i+int(seed%7))%3] // with repetitions
			}
			return list
		})
	if err != nil {
		t.Fatal(err)
	}
	compared, err := r.Comparisons(t.Context(), 50, 2)
	if err != nil || len(compared) != 50 {
		t.Fatalf("%d comparisons, %v", len(compared), err)
	}
	k, _ := tasks.Lookup("branin")
	for _, c := range compared {
		best, _ := k.Value(c.Points[c.Order[0]])
		if other, _ := k.Value(c.Points[c.Order[1]]); !(best < other) {
			t.Errorf("%v: the best is not better than the other, or the same", c)
		}
	}
	if compared, err := r.Comparisons(t.Context(), 1, 4); err != nil || len(compared[0].Points) != 4 {
		t.Errorf("four of three compositions: %v, %v", compared, err)
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.Comparisons(over, 10, 2); !errors.Is(err, context.Canceled) {
		t.Errorf("with an ended context: %v", err)
	}
}

// Comparisons and pinpoints too are functions of seed, expert, question and
// compositions: equal ones give equal answers, and others independent draws.
func TestAnswersAreFunctionsOfTheQuestion(t *testing.T) {
	const n = 200
	points, _ := places()
	cfg := simulated.Settings{Accuracy: ptr(0.0)}
	ask := func(seed uint64, expert string, q humans.Question) humans.Reply {
		r := must.Get(simulated.New(definition.Expert{Name: expert, Channel: simulated.Choose(cfg)},
			defined("branin", seed), uniform("branin")))(t)
		q.Expert = expert
		return must.Get(r.Ask(t.Context(), q))(t)
	}
	differ := make(map[string]int)
	for i := range n {
		compare, other := comparison("branin", i, points[:2]...), comparison("branin", i, points[1:]...)
		first := ask(1, "ada", compare)
		if again := ask(1, "ada", compare); !again.Equal(first) {
			t.Fatalf("question %d: %v, then %v", i, first, again)
		}
		for what, a := range map[string]humans.Reply{
			"seed": ask(2, "ada", compare), "expert": ask(1, "bea", compare),
			"id": ask(1, "ada", comparison("branin", n+i, points[:2]...)), "composition": ask(1, "ada", other),
		} {
			if !a.Equal(first) {
				differ[what]++
			}
		}
		if i > 10 {
			continue
		}
		p := ask(1, "ada", pinpoint("branin", i))
		if again := ask(1, "ada", pinpoint("branin", i)); !again.Equal(p) {
			t.Fatalf("pinpoint %d: %v, then %v", i, p, again)
		}
		for what, a := range map[string]humans.Reply{
			"seed": ask(2, "ada", pinpoint("branin", i)), "expert": ask(1, "bea", pinpoint("branin", i)), "id": ask(1,
				"ada", pinpoint("branin", n+i)),
		} {
			if a.Equal(p) {
				t.Errorf("another %s gave the same composition", what)
			}
		}
	}
	for _, what := range []string{"seed", "expert", "id", "composition"} {
		within(t, "coin tosses that another "+what+" changed", differ[what], n, 0.5)
	}
}
