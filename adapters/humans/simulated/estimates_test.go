package simulated_test

import (
	"math"
	"slices"
	"testing"

	"github.com/campaignd/campaignd/adapters/humans"
	"github.com/campaignd/campaignd/adapters/humans/simulated"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/study/tasks"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// estimate asks for numbers, or for marks, of some compositions.
func estimate(task string, n int, marks bool, points ...definition.Point) humans.Question {
	q := question(task, n, nil)
	q.Form, q.Options, q.Scale = events.FormEstimate, nil, events.ScaleOf(q.Objective, marks)
	for _, p := range points {
		q.Options = append(q.Options, events.Option{Parameters: p})
	}
	return q
}

// numbers are what the expert says of each composition, NaN where they cannot tell.
func numbers(t testing.TB, r *simulated.Reviewer, q humans.Question) []float64 {
	t.Helper()
	reply, err := r.Ask(t.Context(), q)
	if err == nil {
		err = reply.Check(q.Form, len(q.Options), q.Scale)
	}
	if err != nil {
		t.Fatal(err)
	}
	list := slices.Repeat([]float64{math.NaN()}, len(q.Options))
	for _, e := range reply.Answer.Estimates {
		list[e.Option] = e.Value
	}
	return list
}

// turned is an expert of Branin's function in a campaign with that goal.
func turned(t testing.TB, goal string, cfg simulated.Settings) *simulated.Reviewer {
	t.Helper()
	def := defined("branin", 1)
	def.Objective.Goal = goal
	r, err := simulated.New(definition.Expert{Name: "ada", Channel: simulated.Choose(cfg)}, def, uniform("branin"))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// Law: an estimate is the number of which a label is the sign: it is worse than the middle
// of the objective's range, or a mark below the middle one, as often as the composition
// is rejected. Somebody very accurate says the objective itself, whatever is sought of it,
// and marks five equal classes of it; an adversary turns it round.
func TestEstimates(t *testing.T) {
	const rounds = 30 // of 100 compositions
	k, _ := tasks.Lookup("branin")
	points, _ := places()
	middle := (k.Best.Value + k.Worst.Value) / 2
	for _, a := range []float64{2, 1, 0, -2} {
		r := reviewer(t, "branin", 1, simulated.Settings{Accuracy: &a, UnsureRate: 0.25})
		for _, p := range points {
			worse, unsure := 0, 0
			for n := range rounds {
				for _, x := range numbers(t, r, estimate("branin", n, false, slices.Repeat([]definition.Point{p}, 100)...)) {
					if math.IsNaN(x) {
						unsure++
					} else if x > middle { // it is minimized
						worse++
					}
				}
			}
			rank := must.Get(k.Rank(p))(t)
			within(t, "unsure", unsure, 100*rounds, 0.25)
			within(t, "worse", worse, 100*rounds-unsure, logistic(a*rank))
		}
	}
	random := uniform("branin")(100, 7)
	for _, goal := range []string{definition.Minimize, definition.Maximize} {
		for _, sign := range []float64{1, -1} {
			r := turned(t, goal, simulated.Settings{Accuracy: ptr(1e6 * sign)})
			said := numbers(t, r, estimate("branin", 1, false, random...))
			marks := numbers(t, r, estimate("branin", 1, true, random...))
			for i, p := range random {
				value, _ := k.Value(p)
				want := middle + sign*(value-middle)
				share := (want - k.Worst.Value) / (k.Best.Value - k.Worst.Value) // of the way to the least
				if goal == definition.Maximize {
					share = 1 - share
				}
				if math.Abs(said[i]-want) > 1e-2 {
					t.Errorf("%s, a = %v: %v of %v", goal, sign, said[i], want)
				}
				if mark := 1 + math.Floor(5*share); marks[i] != mark && math.Abs(5*share-math.Round(5*share)) > 1e-3 {
					t.Errorf("%s, a = %v: a mark of %v, want %v", goal, sign, marks[i], mark)
				}
			}
		}
	}
}

// correlation is that of two samples, without those of which there is no number.
func correlation(x, y []float64) float64 {
	var n, sx, sy, xx, yy, xy float64
	for i := range x {
		if !math.IsNaN(x[i]) {
			n, sx, sy, xx, yy, xy = n+1, sx+x[i], sy+y[i], xx+x[i]*x[i], yy+y[i]*y[i], xy+x[i]*y[i]
		}
	}
	return (n*xy - sx*sy) / math.Sqrt((n*xx-sx*sx)*(n*yy-sy*sy))
}

// spread is the mean and the standard deviation.
func spread(x []float64) (mean, sd float64) {
	for _, v := range x {
		mean += v / float64(len(x))
		sd += v * v / float64(len(x))
	}
	return mean, math.Sqrt(sd - mean*mean)
}

// Law: estimates correlate with the normal scores of the truth as far as is set, have its
// mean and spread, and marks are equally frequent, the best ones where the campaign wants to
// go.
func TestCorrelation(t *testing.T) {
	const n = 4000
	k, _ := tasks.Lookup("branin")
	random := uniform("branin")(n, 7)
	values := make([]float64, n)
	for i, p := range random {
		values[i], _ = k.Value(p)
	}
	scores, sorted := make([]float64, n), slices.Sorted(slices.Values(values))
	for i, v := range values {
		rank, _ := slices.BinarySearch(sorted, v)
		scores[i] = math.Sqrt2 * math.Erfinv(2*(float64(rank)+0.5)/n-1)
	}
	for _, goal := range []string{definition.Minimize, definition.Maximize} {
		for _, c := range []float64{1, 0.8, 0, -0.8} {
			r := turned(t, goal, simulated.Settings{Correlation: &c})
			var said, marks []float64
			for k, chunk := range slices.Collect(slices.Chunk(random, 100)) {
				said = append(said, numbers(t, r, estimate("branin", k, false, chunk...))...)
				marks = append(marks, numbers(t, r, estimate("branin", k, true, chunk...))...)
			}
			if got := correlation(said, scores); math.Abs(got-c) > 4/math.Sqrt(n)+0.01 {
				t.Errorf("%s: estimates correlate at %.3f, want %v", goal, got, c)
			}
			if got := correlation(said, values); c > 0.7 && got < 0.9*c { // Branin's values are not far from normal
				t.Errorf("%s: with the objective itself they correlate at %.3f", goal, got)
			}
			mean, sd := spread(said)
			if want, wide := spread(values); math.Abs(mean-want) > 0.1*wide || math.Abs(sd-wide) > 0.1*wide {
				t.Errorf("%s: estimates are %.1f ± %.1f, the objective %.1f ± %.1f", goal, mean, sd, want, wide)
			}
			sign := 1.0
			if goal == definition.Minimize {
				sign = -1
			}
			if got := sign * correlation(marks, scores); math.Abs(got-0.95*c) > 0.06 { // five classes lose a little
				t.Errorf("%s: marks correlate at %.3f with what is sought, want about %.2f", goal, got, 0.95*c)
			}
			for mark := 1.0; mark <= 5; mark++ {
				count := 0
				for _, m := range marks {
					if m == mark {
						count++
					}
				}
				if share := float64(count) / n; math.Abs(share-0.2) > 0.05 {
					t.Errorf("%s, %v: %.3f of the marks are %v", goal, c, share, mark)
				}
			}
		}
	}
}

// Law: a prejudice is a function of the composition: the same in every question, and much the
// same nearby. Noise is neither.
func TestPrejudice(t *testing.T) {
	random := uniform("branin")(100, 7)
	near := make([]definition.Point, len(random))
	for i, p := range random {
		x, _ := p["x1"].Float()
		y, _ := p["x2"].Float()
		near[i] = definition.Point{"x1": definition.Number(min(x+0.3, 10)), "x2": definition.Number(y)}
	}
	for prejudice, want := range map[float64]bool{0.35: true, 0: false} {
		r := reviewer(t, "branin", 1, simulated.Settings{Correlation: ptr(0.0), Prejudice: prejudice})
		first := numbers(t, r, estimate("branin", 1, false, random...))
		again := correlation(first, numbers(t, r, estimate("branin", 2, false, random...)))
		nearby := correlation(first, numbers(t, r, estimate("branin", 3, false, near...)))
		if (again > 0.999) != want || (nearby > 0.95) != want || math.Abs(nearby) > 0.4 != want {
			t.Errorf("prejudice %v: asked again the numbers correlate at %.3f, nearby at %.3f", prejudice, again, nearby)
		}
	}
}
