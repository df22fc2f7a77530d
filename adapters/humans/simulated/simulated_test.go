package simulated_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/campaignd/campaignd/adapters/humans"
	"github.com/campaignd/campaignd/adapters/humans/humantest"
	"github.com/campaignd/campaignd/adapters/humans/simulated"
	instrument "github.com/campaignd/campaignd/adapters/instruments/simulated"
	"github.com/campaignd/campaignd/adapters/instruments/table"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/study/tasks"
	"github.com/campaignd/campaignd/internal/tests/must"
)

func ptr[T any](v T) *T { return &v }

func defined(task string, seed uint64) definition.Campaign {
	k, _ := tasks.Lookup(task)
	return definition.Campaign{
		Name: "sim", Seed: seed, Parameters: k.Parameters, Constraints: k.Constraints, Objective: k.Objective,
		Instrument: definition.Instrument{Driver: instrument.Choose(instrument.Settings{Task: task})},
	}
}

// uniform samples the box of a task.
func uniform(task string) func(n int, seed uint64) []definition.Point {
	k, _ := tasks.Lookup(task)
	return func(n int, seed uint64) []definition.Point {
		rng := rand.New(rand.NewPCG(seed, 0))
		points := make([]definition.Point, n)
		for i := range points {
			points[i] = make(definition.Point)
			for _, p := range k.Parameters {
				points[i][p.Name] = definition.Number(*p.Min + rng.Float64()*(*p.Max-*p.Min))
			}
		}
		return points
	}
}

func reviewer(t testing.TB, task string, seed uint64, cfg simulated.Settings) *simulated.Reviewer {
	t.Helper()
	r := must.Get(simulated.New(definition.Expert{Name: "ada", Channel: simulated.Choose(cfg)},
		defined(task, seed), uniform(task)))(t)
	return r
}

func question(task string, n int, p definition.Point) humans.Question {
	k, _ := tasks.Lookup(task)
	return humans.Question{
		ID: fmt.Sprintf("sim/q%d", n), Campaign: "sim", Expert: "ada",
		Parameters: k.Parameters, Form: events.FormLabel, Options: []events.Option{{Parameters: p}}, Objective: k.Objective,
	}
}

// The share of rejections is S(aρ), and that of "can't tell" as asked for.
func TestLabeler(t *testing.T) {
	const task, n = "branin", 3000
	k, _ := tasks.Lookup(task)
	middle := k.Point([]float64{2, 10})
	for _, a := range []float64{2, 1, 0, -2} {
		for _, p := range []definition.Point{k.Point(k.Best.At), middle, k.Point(k.Worst.At)} {
			r := reviewer(t, task, 1, simulated.Settings{Accuracy: &a, UnsureRate: 0.25})
			counts := make(map[string]int)
			for i := range n {
				answer := must.Get(r.Ask(t.Context(), question(task, i, p)))(t)
				counts[answer.Answer.String()]++
			}
			within := func(what string, got, want float64, n int) {
				if sd := math.Sqrt(want * (1 - want) / float64(n)); math.Abs(got-want) > 4*sd {
					t.Errorf("a = %v at %v: %s %.3f, want %.3f ± %.3f", a, p, what, got, want, sd)
				}
			}
			rank := must.Get(k.Rank(p))(t)
			sure := n - counts["unsure"]
			within("unsure", float64(counts["unsure"])/n, 0.25, n)
			within("rejected", float64(counts["reject"])/float64(sure), logistic(a*rank), sure)
		}
	}
}

// Equal questions get equal answers from any process; another seed, expert,
// question or composition gives an independent draw.
func TestAnswerIsAFunctionOfTheQuestion(t *testing.T) {
	const task, n = "branin", 200
	k, _ := tasks.Lookup(task)
	cfg := simulated.Settings{Accuracy: ptr(0.0)}
	p, other := k.Point([]float64{2, 10}), k.Point([]float64{2, 10.5})
	bea, err := simulated.New(definition.Expert{Name: "bea", Channel: simulated.Choose(cfg)}, defined(task, 1), nil)
	if err != nil {
		t.Fatal(err)
	}
	differ := make(map[string]int)
	for i := range n {
		first := must.Get(reviewer(t, task, 1, cfg).Ask(t.Context(), question(task, i, p)))(t)
		again, _ := reviewer(t, task, 1, cfg).Ask(t.Context(), question(task, i, p))
		if !first.Equal(again) {
			t.Fatalf("question %d: %v, then %v", i, first, again)
		}
		toBea := question(task, i, p)
		toBea.Expert = "bea"
		seed, _ := reviewer(t, task, 2, cfg).Ask(t.Context(), question(task, i, p))
		expert, _ := bea.Ask(t.Context(), toBea)
		id, _ := reviewer(t, task, 1, cfg).Ask(t.Context(), question(task, n+i, p))
		point, _ := reviewer(t, task, 1, cfg).Ask(t.Context(), question(task, i, other))
		for what, a := range map[string]humans.Reply{"seed": seed, "expert": expert, "id": id, "point": point} {
			if !a.Equal(first) {
				differ[what]++
			}
		}
	}
	for _, what := range []string{"seed", "expert", "id", "point"} {
		if share := float64(differ[what]) / n; math.Abs(share-0.5) > 4*0.5/math.Sqrt(n) {
			t.Errorf("another %s changed a share of %.2f of coin tosses, want 0.5", what, share)
		}
	}
}

// An expert wants what the campaign wants.
func TestGoal(t *testing.T) {
	def := defined("branin", 1)
	def.Objective.Goal = definition.Maximize
	r := must.Get(simulated.New(definition.Expert{
		Name:    "ada",
		Channel: simulated.Choose(simulated.Settings{Accuracy: ptr(50.0)}),
	}, def, nil))(t)
	k, _ := tasks.Lookup("branin")
	if a, err := r.Ask(t.Context(), question("branin", 1, k.Point(k.Best.At))); err != nil ||
		a.Answer.Label != events.LabelReject {
		t.Errorf("the least value of a maximized task: %v, %v", a, err)
	}
}

// Balanced examples are half and half where uniform ones are not, and both are
// repeatable.
func TestExamples(t *testing.T) {
	for _, c := range []struct {
		n        int
		balanced bool
		accepted int // −1: any
	}{{10, true, 5}, {7, true, 3}, {0, true, 0}, {10, false, -1}} {
		get := func() []humans.Example {
			e := must.Get(reviewer(t, "ackley4", 1,
				simulated.Settings{UnsureRate: 1}).Examples(t.Context(), c.n, c.balanced))(t)
			return e
		}
		examples := get()
		if !reflect.DeepEqual(examples, get()) {
			t.Errorf("%+v: different examples the second time", c)
		}
		accepted := 0
		for _, e := range examples {
			if e.Label == events.LabelAccept {
				accepted++
			}
		}
		if len(examples) != c.n || c.accepted >= 0 && accepted != c.accepted {
			t.Errorf("%+v: %d examples, %d accepted", c, len(examples), accepted)
		}
	}
	// An expert who never accepts cannot give balanced examples, and says so.
	r := reviewer(t, "branin", 1, simulated.Settings{Accuracy: ptr(1e6)})
	r2 := must.Get(simulated.New(definition.Expert{
		Name:    "ada",
		Channel: simulated.Choose(simulated.Settings{Accuracy: ptr(1e6)}),
	},
		defined("branin", 1), func(int, uint64) []definition.Point {
			k, _ := tasks.Lookup("branin")
			return []definition.Point{k.Point(k.Worst.At)}
		}))(t)
	if _, err := r2.Examples(t.Context(), 2, true); !errors.Is(err, simulated.ErrExamples) {
		t.Errorf("only rejections: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.Examples(ctx, 10, true); !errors.Is(err, context.Canceled) {
		t.Errorf("with an ended context: %v", err)
	}
}

// Wrong settings and questions are explained.
func TestRefuses(t *testing.T) {
	rows := defined("branin", 1)
	rows.Instrument = definition.Instrument{Driver: table.Choose(table.Settings{})}
	for _, c := range []struct {
		cfg  *simulated.Settings
		def  definition.Campaign
		want string
	}{
		{nil, defined("branin", 1), "not a simulated expert"},
		{&simulated.Settings{}, rows, "which task"},
		{&simulated.Settings{Task: "gold"}, rows, "hartmann3"},
		{&simulated.Settings{Task: "hartmann3"}, rows, "other parameters"},
		{&simulated.Settings{ChoiceNoise: ptr(-1.0)}, defined("branin", 1), "choice_noise"},
		{&simulated.Settings{UnsureRate: 2}, defined("branin", 1), "unsure_rate"},
		{&simulated.Settings{Correlation: ptr(1.1)}, defined("branin", 1), "correlation"},
		{&simulated.Settings{Prejudice: 0.3}, defined("branin", 1), "prejudice"},
		{&simulated.Settings{Correlation: ptr(0.0), Prejudice: -0.3}, defined("branin", 1), "prejudice"},
	} {
		expert := definition.Expert{Name: "ada"}
		if c.cfg != nil {
			expert.Channel = simulated.Choose(*c.cfg)
		}
		_, err := simulated.New(expert, c.def, nil)
		if !errors.Is(err, simulated.ErrConfig) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
	if _, err := simulated.New(definition.Expert{
		Name:    "ada",
		Channel: simulated.Choose(simulated.Settings{Task: "branin"}),
	}, rows, nil); err != nil {
		t.Errorf("a task of its own beside a table: %v", err)
	}
	r := reviewer(t, "branin", 1, simulated.Settings{})
	outside := definition.Point{"x1": definition.Number(99), "x2": definition.Number(0)}
	if _, err := r.Ask(t.Context(), question("branin", 1, outside)); !errors.Is(err, tasks.ErrPoint) {
		t.Errorf("outside the space: %v", err)
	}
}

// It passes the suite of all reviewers, at once and slowly.
func TestSuite(t *testing.T) {
	for name, cfg := range map[string]simulated.Settings{
		"at once": {UnsureRate: 0.2},
		"slow":    {Latency: definition.Duration(20 * time.Millisecond)},
		"biased":  {Correlation: ptr(0.5), Prejudice: 0.35},
	} {
		t.Run(name, func(t *testing.T) {
			k, _ := tasks.Lookup("branin")
			humantest.Run(t, humantest.Env{
				Open: func() humans.Reviewer { return reviewer(t, "branin", 1, valuing(cfg)) },
				Questions: []humans.Question{
					question("branin", 0, k.Point(k.Best.At)), question("branin", 0, k.Point(k.Worst.At)),
					comparison("branin", 0, k.Point(k.Best.At), k.Point(k.Worst.At), k.Point([]float64{2, 10})),
					pinpoint("branin", 0), estimate("branin", 0, false, uniform("branin")(20, 1)...),
					estimate("branin", 0, true, k.Point(k.Best.At), k.Point(k.Worst.At)), outcomes(0, 3, 7),
				},
			})
		})
	}
}

// Law: the expert answers questions of every form.
func TestEveryForm(t *testing.T) {
	k, _ := tasks.Lookup("branin")
	questions := map[events.Form]humans.Question{
		events.FormLabel:      question("branin", 1, k.Point(k.Best.At)),
		events.FormComparison: comparison("branin", 1, k.Point(k.Best.At), k.Point(k.Worst.At)),
		events.FormPinpoint:   pinpoint("branin", 1),
		events.FormEstimate:   estimate("branin", 1, false, k.Point(k.Best.At), k.Point(k.Worst.At)),
		events.FormOutcomes:   outcomes(1, 3, 7),
	}
	r := reviewer(t, "branin", 1, valuing(simulated.Settings{}))
	for _, form := range events.Forms() {
		q, known := questions[form]
		if !known {
			t.Errorf("no %s is asked in these tests: add one", form)
			continue
		}
		reply, err := r.Ask(t.Context(), q)
		if err == nil {
			err = reply.Check(form, len(q.Options), q.Scale)
		}
		if err != nil || reply.Answer.Unsure() {
			t.Errorf("a %s was answered with %v, %v", form, reply.Answer, err)
		}
	}
}
