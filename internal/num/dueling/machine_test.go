package dueling

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/campaignd/campaignd/internal/num/kernel"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// machines are the constructors under test, with settings that each takes.
var machines = map[string]func(c *Candidates, horizon int, seed uint64, history ...Comparison) (machine, error){
	"mrlpf": func(c *Candidates, horizon int, seed uint64, h ...Comparison) (machine, error) {
		return NewMRLPF(c, DefaultSettings(horizon, seed), h...)
	},
	"mrlpf-paper": func(c *Candidates, horizon int, seed uint64, h ...Comparison) (machine, error) {
		return NewMRLPF(c, PaperSettings(horizon, seed), h...)
	},
	"maxminlcb": func(c *Candidates, horizon int, seed uint64, h ...Comparison) (machine, error) {
		return NewMaxMinLCB(c, PaperSettings(horizon, seed), h...)
	},
}

// smallTask is a random function on a few candidates of the square.
func smallTask(t interface{ Fatal(...any) }, n int, seed uint64) *Task {
	random := rand.New(rand.NewPCG(seed, 6))
	point := func() []float64 { return []float64{random.Float64(), random.Float64()} }
	points, at, values := make([][]float64, n), make([][]float64, 8), make([]float64, 8)
	for i := range points {
		points[i] = point()
	}
	for i := range at {
		at[i], values[i] = point(), 2*random.Float64()-1
	}
	k, err := kernel.New("matern52", []float64{0.3, 0.4}, 1)
	if err != nil {
		t.Fatal(err)
	}
	task, err := RidgeTask(k, points, at, values, 5)
	if err != nil {
		t.Fatal(err)
	}
	return task
}

// TestReplay: a machine that was asked after every comparison, one that is given the whole history,
// and one that is given half of it and asked now and then, answer with the same bits: pair,
// deviation, kept set, best guess. So do they with comparisons that nobody proposed, ties, and
// candidates that were eliminated among them.
func TestReplay(t *testing.T) {
	ctx := context.Background()
	for name, create := range machines {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				n := rapid.IntRange(2, 15).Draw(t, "n")
				seed := rapid.Uint64().Draw(t, "seed")
				horizon := rapid.IntRange(1, 40).Draw(t, "T")
				task := smallTask(t, n, seed)
				live := must.Get(create(task.Candidates, horizon, seed))(t)
				random := rand.New(rand.NewPCG(seed, 1))
				var history []Comparison
				for range rapid.IntRange(0, 50).Draw(t, "comparisons") {
					step := must.Get(live.Next(ctx))(t)
					p := step.Pair
					if step.Status != Ask || random.IntN(4) == 0 {
						p = Pair{random.IntN(n), random.IntN(n)}
						if p.First == p.Second {
							continue
						}
					}
					x := task.Answer(random, p)
					if random.IntN(6) == 0 {
						x.Outcome = 0.5
					}
					history = append(history, x)
					must.Do(t, live.Observe(x))
				}
				whole := must.Get(create(task.Candidates, horizon, seed, history...))(t)
				half := must.Get(create(task.Candidates, horizon, seed, history[:len(history)/2]...))(t)
				for i, x := range history[len(history)/2:] {
					if i%3 == 0 {
						must.Get(half.Best(ctx))(t)
					}
					must.Do(t, half.Observe(x))
				}
				wantStep := must.Get(live.Next(ctx))(t)
				wantBest := must.Get(live.Best(ctx))(t)
				for _, m := range []machine{whole, half, live} {
					best := must.Get(m.Best(ctx))(t)
					step := must.Get(m.Next(ctx))(t)
					if best != wantBest || !reflect.DeepEqual(step, wantStep) {
						t.Fatalf("replay differs: %+v, best %d; live %+v, best %d", step, best, wantStep, wantBest)
					}
				}
				if wantStep.Status == Ask {
					if p := wantStep.Pair; p.First == p.Second || !slices.Contains(wantStep.Kept, p.First) ||
						!slices.Contains(wantStep.Kept, p.Second) {
						t.Fatalf("proposed %v of %v", p, wantStep.Kept)
					}
				}
				if !slices.Contains(wantStep.Kept, wantBest) {
					t.Fatalf("the best guess %d is not among the kept %v", wantBest, wantStep.Kept)
				}
			})
		})
	}
}

// TestRounds: N₁ = ⌈√T⌉, N_r = ⌈√(N_{r−1}T)⌉, the last truncated (Algorithm 1).
func TestRounds(t *testing.T) {
	for _, test := range []struct {
		horizon int
		want    []int
	}{{300, []int{18, 74, 149, 59}}, {100, []int{10, 32, 57, 1}}, {1, []int{1}}, {2, []int{2}}, {16, []int{4, 8, 4}}} {
		task := smallTask(t, 20, 3)
		s := DefaultSettings(test.horizon, 1)
		s.Beta = Beta{Rule: BetaFixed, Value: 1e6} // eliminates nothing
		m := must.Get(NewMRLPF(task.Candidates, s))(t)
		r := must.Get(play(m, task, 1))(t)
		var got []int
		for _, round := range m.Rounds() {
			got = append(got, round.Length)
		}
		if !slices.Equal(got, test.want) || len(r.history) != test.horizon || r.end.Status != Spent {
			t.Errorf("T = %d: rounds %v, want %v; %d comparisons, then %v",
				test.horizon, got, test.want, len(r.history), r.end.Status)
		}
	}
}

// TestIdentified: with a bold β one candidate is left before the horizon, and nothing is asked any
// more.
func TestIdentified(t *testing.T) {
	ctx := context.Background()
	task := smallTask(t, 12, 1)
	s := DefaultSettings(200, 1)
	s.Beta = Beta{Rule: BetaFixed, Value: 0.01}
	m := must.Get(NewMRLPF(task.Candidates, s))(t)
	r := must.Get(play(m, task, 1))(t)
	if r.end.Status != Identified || len(r.end.Kept) != 1 || len(r.history) >= 200 {
		t.Fatalf("%d comparisons, then %+v", len(r.history), r.end)
	}
	if best, err := m.Best(ctx); err != nil || best != r.end.Kept[0] {
		t.Errorf("best %d (%v), kept %v", best, err, r.end.Kept)
	}
	removed := 0
	for _, round := range m.Rounds() {
		removed += len(round.Eliminated)
	}
	if removed != 11 {
		t.Errorf("the accounts name %d eliminated candidates, 11 went", removed)
	}
}

// TestPending: pairs that are being asked are not asked again, and it is the order of questions,
// not of answers, that decides: MR-LPF proposes with two pairs pending what it proposes when both
// are answered. Where pending answers end the round, it waits.
func TestPending(t *testing.T) {
	ctx := context.Background()
	task := smallTask(t, 12, 2)
	m, err := NewMRLPF(task.Candidates, DefaultSettings(16, 5)) // the first round has 4
	if err != nil {
		t.Fatal(err)
	}
	var pending []Pair
	for range 4 {
		step := must.Get(m.Next(ctx, pending...))(t)
		if step.Status != Ask {
			t.Fatalf("with %d pending: %v", len(pending), step.Status)
		}
		serial := must.Get(NewMRLPF(task.Candidates, DefaultSettings(16, 5)))(t)
		for _, p := range pending {
			must.Do(t, serial.Observe(Comparison{Pair: p, Outcome: 1}))
		}
		if want, err := serial.Next(ctx); err != nil || step.Pair != want.Pair || step.SD != want.SD {
			t.Fatalf("with %d pending: %v (σ %v), answered: %v (σ %v), %v",
				len(pending), step.Pair, step.SD, want.Pair, want.SD, err)
		}
		pending = append(pending, step.Pair)
	}
	if step, err := m.Next(ctx, pending...); err != nil || step.Status != Wait {
		t.Errorf("with the whole round pending: %v (%v), want wait", step.Status, err)
	}
}

// TestSeed: another seed breaks the first tie otherwise, the same seed the same way; both orders of
// a pair occur.
func TestSeed(t *testing.T) {
	ctx := context.Background()
	task := must.Get(PaperTask("rbf"))(t)
	first := map[Pair]bool{}
	ascending := 0
	for seed := range uint64(40) {
		m := must.Get(NewMRLPF(task.Candidates, DefaultSettings(300, seed)))(t)
		step := must.Get(m.Next(ctx))(t)
		if math.Abs(step.SD-math.Sqrt2) > 1e-9 {
			t.Fatalf("the first pair %v has σ %v, far candidates have √2", step.Pair, step.SD)
		}
		first[step.Pair] = true
		if step.Pair.First < step.Pair.Second {
			ascending++
		}
	}
	if len(first) < 35 || ascending < 8 || ascending > 32 {
		t.Errorf("40 seeds gave %d different first pairs, %d of them in ascending order", len(first), ascending)
	}
}

// TestCancelled: a cancelled Next is an error, loses nothing, and answers as if nothing had been
// when it is called again.
func TestCancelled(t *testing.T) {
	task := smallTask(t, 12, 2)
	data := randomComparisons(task, 30, 4)
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	for name, create := range machines {
		m := must.Get(create(task.Candidates, 100, 1, data...))(t)
		if _, err := m.Next(cancelled); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v, want a cancelled context", name, err)
		}
		got := must.Get(m.Next(context.Background()))(t)
		fresh := must.Get(create(task.Candidates, 100, 1, data...))(t)
		if want, err := fresh.Next(context.Background()); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v after a cancelled call, %+v without (%v)", name, got, want, err)
		}
	}
}

// TestRefused: what cannot be meant is refused with a typed error before anything changes.
func TestRefused(t *testing.T) {
	task := smallTask(t, 5, 1)
	c := task.Candidates
	k := must.Get(kernel.New("rbf", []float64{1}, 1))(t)
	for name, points := range map[string][][]float64{"none": nil, "one": {{1}}, "twice": {{1}, {2}, {1}},
		"infinite": {{1}, {math.Inf(1)}}} {
		if _, err := NewCandidates(k, points); !errors.Is(err, ErrCandidates) {
			t.Errorf("candidates %s: %v", name, err)
		}
	}
	for _, x := range []Comparison{{Pair{0, 0}, 1}, {Pair{0, 5}, 1}, {Pair{-1, 0}, 1}, {Pair{0, 1}, 0.3},
		{Pair{0, 1}, math.NaN()}} {
		for name, create := range machines {
			m := must.Get(create(c, 10, 1))(t)
			if err := m.Observe(x); !errors.Is(err, ErrComparison) {
				t.Errorf("%s observed %+v: %v", name, x, err)
			}
			if _, err := create(c, 10, 1, x); !errors.Is(err, ErrComparison) {
				t.Errorf("%s built with %+v: %v", name, x, err)
			}
		}
	}
	for name, change := range map[string]func(*Settings){
		"horizon": func(s *Settings) { s.Horizon = 0 }, "λ": func(s *Settings) { s.Lambda = -1 },
		"κ": func(s *Settings) { s.Kappa = math.NaN() }, "loss": func(s *Settings) { s.Loss = "hinge" },
		"rule": func(s *Settings) { s.Beta.Rule = "" }, "β": func(s *Settings) { s.Beta = Beta{Rule: BetaFixed} },
		"eq14": func(s *Settings) { s.Beta = Beta{Rule: BetaEq14, Norm: 1, Delta: 1} },
	} {
		s := DefaultSettings(10, 1)
		change(&s)
		if _, err := NewMRLPF(c, s); !errors.Is(err, ErrSetting) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := NewMaxMinLCB(c, DefaultSettings(10, 1)); !errors.Is(err, ErrSetting) {
		t.Errorf("MaxMinLCB with the calibrated β: %v", err)
	}
}

// TestEq14 checks β of Theorem 4.1 against its terms by hand, and that it eliminates nothing on the
// paper's task at T = 300.
func TestEq14(t *testing.T) {
	task := must.Get(PaperTask("rbf"))(t)
	s := DefaultSettings(300, 1)
	s.Beta = Beta{Rule: BetaEq14, Norm: 10, Range: 7.2, Delta: 0.05}
	// κ = 2 + 2cosh(7.2) = 1341.4…; R = ⌈log₂ log₂ 300⌉ + 1 = 5; ln(2·5·100/0.05) = ln 20000.
	for round, kappa := range map[int]float64{1: 2 + math.Exp(7.2) + math.Exp(-7.2), 2: 6, 3: 6} {
		beta, noise := s.at(task.Candidates, round)
		if want := 0.25 * (10 + math.Sqrt(kappa/0.05*math.Log(20000))); math.Abs(beta-want) > 1e-9 ||
			math.Abs(noise-kappa) > 1e-9 {
			t.Errorf("round %d: β = %v with κ = %v, want %v with %v", round, beta, noise, want, kappa)
		}
	}
	m := must.Get(NewMRLPF(task.Candidates, s))(t)
	r := must.Get(play(m, task, 1))(t)
	if len(r.end.Kept) != 100 {
		t.Errorf("%d of 100 candidates are left", len(r.end.Kept))
	}
}
