package simulated_test

import (
	"math"
	"slices"
	"testing"

	"github.com/campaignd/campaignd/adapters/humans/simulated"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/study/tasks"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// label is what the expert says of p in the n-th question.
func label(t testing.TB, r *simulated.Reviewer, n int, p definition.Point) events.Label {
	t.Helper()
	reply := must.Get(r.Ask(t.Context(), question("branin", n, p)))(t)
	return reply.Answer.Label
}

func logistic(x float64) float64 { return 1 / (1 + math.Exp(-x)) }

// Law: a strict expert rejects with probability S(aρ + strictness).
func TestStrict(t *testing.T) {
	const n = 2000
	k, _ := tasks.Lookup("branin")
	r := reviewer(t, "branin", 1, simulated.Settings{Accuracy: ptr(2.0), Strictness: 5})
	points, _ := places()
	for _, p := range points {
		rejected := 0
		for i := range n {
			if label(t, r, i, p) == events.LabelReject {
				rejected++
			}
		}
		rank, _ := k.Rank(p)
		within(t, "rejected", rejected, n, logistic(2*rank+5))
	}
}

// Law: near the optimum, to a share of the ranges times the root of their number, an expert with a wrong region
// takes everything for the worst, in every form; elsewhere nothing changes.
func TestWrongRegion(t *testing.T) {
	const share = 0.15
	k, _ := tasks.Lookup("branin")
	sharp := simulated.Settings{Accuracy: ptr(1e6), WrongRegion: share}
	wrong, right := reviewer(t, "branin", 1, sharp), reviewer(t, "branin", 1, simulated.Settings{Accuracy: ptr(1e6)})
	correlated := simulated.Settings{Correlation: ptr(1.0), WrongRegion: share}
	scored := reviewer(t, "branin", 1, correlated)
	random := uniform("branin")(100, 3)
	random = append(random, k.Point(k.Best.At))
	said := numbers(t, wrong, estimate("branin", 1, false, random[1:]...))
	marks := numbers(t, scored, estimate("branin", 1, true, random[1:]...))
	inside := 0
	for i, p := range random[1:] {
		x, _ := p["x1"].Float()
		y, _ := p["x2"].Float()
		within := math.Hypot((x-k.Best.At[0])/15, (y-k.Best.At[1])/15) <= share*math.Sqrt2
		value, _ := k.Value(p)
		if within {
			inside++
			value = k.Worst.Value
			if label(t, wrong, i, p) != events.LabelReject || marks[i] != 1 {
				t.Errorf("%v is accepted, or has a mark of %v", p, marks[i])
			}
			reply, err := wrong.Ask(t.Context(), comparison("branin", i, p, random[0]))
			if err != nil || !slices.Equal(reply.Answer.Order, []int{1, 0}) {
				t.Errorf("%v is preferred to %v: %v (%v)", p, random[0], reply.Answer, err)
			}
		} else if got, want := label(t, wrong, i, p), label(t, right, i, p); got != want {
			t.Errorf("%v has the label %s, without a wrong region %s", p, got, want)
		}
		if math.Abs(said[i]-value) > 1e-2 {
			t.Errorf("of %v they expect %v, want %v", p, said[i], value)
		}
	}
	if inside < 5 || inside > 50 {
		t.Errorf("%d of 100 compositions are near the optimum", inside)
	}
}

// Law: whoever repeats themselves says the same of a composition in every question and at every place of
// a sitting, and something of their own of each.
func TestRepeats(t *testing.T) {
	r := reviewer(t, "branin", 1, simulated.Settings{Accuracy: ptr(0.0), Repeats: true, Copies: 0.3})
	random := uniform("branin")(100, 3)
	accepted := 0
	for i, p := range random {
		first := label(t, r, 10+i, p)
		if first == events.LabelAccept {
			accepted++
		}
		for n := range 5 {
			if got := label(t, r, 200+n, p); got != first {
				t.Errorf("%v: %s, and then %s", p, first, got)
			}
		}
	}
	if accepted < 15 || accepted > 85 {
		t.Errorf("%d of 100 are accepted", accepted)
	}
	reversed := slices.Clone(random)
	slices.Reverse(reversed)
	r = reviewer(t, "branin", 1, simulated.Settings{Accuracy: ptr(0.0), Repeats: true})
	said, again := numbers(t, r, estimate("branin", 1, false, random...)), numbers(t, r, estimate("branin", 2, false, reversed...))
	slices.Reverse(again)
	if !slices.Equal(said, again) || len(slices.Compact(slices.Sorted(slices.Values(said)))) < 99 {
		t.Errorf("said %v, and then %v", said, again)
	}
}

// Law: copies are as frequent as is set. They are the label of the first of the examples, the first number
// of a sitting, or the order in which options are shown; the first answer is the expert's own.
func TestCopies(t *testing.T) {
	const n = 2000
	k, _ := tasks.Lookup("branin")
	sharp := simulated.Settings{Accuracy: ptr(1e6), Copies: 0.4}
	r := reviewer(t, "branin", 1, sharp)
	examples := must.Get(r.Examples(t.Context(), 1, false))(t)
	other := k.Point(k.Best.At) // accepted for sure
	if examples[0].Label == events.LabelAccept {
		other = k.Point(k.Worst.At)
	}
	copied := 0
	for i := range n {
		if label(t, r, 2+i, other) == examples[0].Label {
			copied++
		}
	}
	within(t, "copied labels", copied, n, 0.4)
	if label(t, r, 1, other) == examples[0].Label {
		t.Error("the first answer is a copy")
	}
	best, worst := k.Point(k.Best.At), k.Point(k.Worst.At)
	got := orders(t, r, "branin", n, worst, best)
	within(t, "orders as shown", got["AB"], n, 0.4*(1-2.0/n)) // questions 0 and 1 are the first
	random := uniform("branin")(100, 3)
	same := 0
	for i := range 20 {
		said := numbers(t, r, estimate("branin", i, false, random...))
		for _, x := range said[1:] {
			if x == said[0] {
				same++
			}
		}
	}
	within(t, "copied numbers", same, 20*99, 0.4)
}

// Law: accuracy and correlation fall by half with each so many answers: in the n-th question, and from row to row of
// a sitting.
func TestTires(t *testing.T) {
	const seeds, life = 1500, 4.0
	k, _ := tasks.Lookup("branin")
	p := k.Point([]float64{10, 10})
	rank, _ := k.Rank(p)
	for _, answered := range []int{0, 4, 8} {
		rejected := 0
		for seed := range uint64(seeds) {
			r := reviewer(t, "branin", seed, simulated.Settings{Accuracy: ptr(2.0), Tires: life})
			if label(t, r, 1+answered, p) == events.LabelReject {
				rejected++
			}
		}
		within(t, "rejected", rejected, seeds, logistic(2*math.Exp2(-float64(answered)/life)*rank))
	}
	random := uniform("branin")(20, 3)
	// Rows 0 and 8 of sittings that hold the best in one and the worst in the other: their mean difference, in
	// standard deviations of the objective, falls with the correlation.
	var gaps [2]float64
	for i, row := range []int{0, 8} {
		for seed := range uint64(300) {
			r := reviewer(t, "branin", seed, simulated.Settings{Correlation: ptr(0.9), Tires: life})
			for j, extreme := range []definition.Point{k.Point(k.Best.At), k.Point(k.Worst.At)} {
				shown := slices.Clone(random)
				shown[row] = extreme
				gaps[i] += float64(2*j-1) * numbers(t, r, estimate("branin", 1, false, shown...))[row] / 300
			}
		}
	}
	if ratio := gaps[1] / gaps[0]; math.Abs(ratio-0.25) > 0.05 {
		t.Errorf("after 8 answers %.3f of the correlation is left, want 0.25", ratio)
	}
}

// Law: labels and choices of a prejudiced expert go by the belief that their estimates state, not by the truth,
// whatever is sought, by the expert and by the campaign.
func TestPrejudiceOfLabels(t *testing.T) {
	cfg := simulated.Settings{Accuracy: ptr(1e6), Correlation: ptr(0.0), Prejudice: 0.35}
	for _, c := range []struct {
		task, goal string
		r          *simulated.Reviewer
	}{
		{"branin", definition.Minimize, turned(t, definition.Minimize, cfg)},
		{"branin", definition.Maximize, turned(t, definition.Maximize, cfg)},
		{"electrolyte", definition.Maximize, reviewer(t, "electrolyte", 1, cfg)},
	} {
		random := uniform(c.task)(100, 7)
		said := numbers(t, c.r, estimate(c.task, 1, false, random...))
		better := func(i, j int) bool { return (said[i] < said[j]) == (c.goal == definition.Minimize) }
		order := make([]int, len(random))
		for i := range order {
			order[i] = i
		}
		slices.SortFunc(order, func(i, j int) int {
			if better(i, j) {
				return -1
			}
			return 1
		})
		for place, i := range order {
			reply := must.Get(c.r.Ask(t.Context(), question(c.task, i, random[i])))(t)
			if (reply.Answer.Label == events.LabelAccept) != (place < 50) && (place < 35 || place >= 65) {
				t.Errorf("%s, %s: what they expect to be number %d of 100 they %s", c.task, c.goal, place+1, reply.Answer.Label)
			}
			if i == 0 {
				continue
			}
			reply = must.Get(c.r.Ask(t.Context(), comparison(c.task, i, random[i], random[i-1])))(t)
			if (reply.Answer.Order[0] == 0) != better(i, i-1) {
				t.Errorf("%s, %s: of %v and %v expected, they choose %v", c.task, c.goal, said[i], said[i-1], reply.Answer.Order)
			}
		}
	}
}
