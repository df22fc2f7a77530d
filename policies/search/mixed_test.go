package search_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/policies/next"
	"github.com/campaignd/campaignd/policies/search"
	"github.com/campaignd/campaignd/projections/space"
)

// models is how many models of each space are searched: few, or what CAMPAIGND_SEARCHES says.
func models(t *testing.T) uint64 {
	t.Helper()
	value := os.Getenv("CAMPAIGND_SEARCHES")
	if value == "" {
		return 2
	}
	return must.Get(strconv.ParseUint(value, 10, 16))(t)
}

// Law: in a space with discrete parameters none of 3,000 random compositions has a better
// acquisition than the one that is found, whether or not some compositions are under way.
func TestNoneOfThousandsIsBetter(t *testing.T) {
	for _, m := range mixedSpaces() {
		sp := open(t, m.def)
		for seed := range models(t) {
			rng := rand.New(rand.NewPCG(seed, 9))
			model := learned(t, m, sp, 25, rng)
			model = must.Get(model.Fantasize(t.Context(), compositions(t, m, sp, int(seed%3), rng)))(t)
			others := compositions(t, m, sp, 3000, rng)
			for _, rule := range acquisitions(t) {
				f := must.Get(rule.Acquisition(model, seed))(t)
				got := must.Get(search.Minimize(t.Context(), sp, f, seed, model.X, nil))(t)
				if x, err := sp.Encode(got.Point); err != nil || sp.Contains(got.Point) != nil || got.Value != f(x, nil) {
					t.Fatalf("%s, %s: %v is worth %v: %v, %v", m.name, rule.Name(), got.Point, got.Value, err, sp.Contains(got.Point))
				}
				for _, x := range others {
					if v := f(x, nil); v < got.Value {
						t.Errorf("%s, %s, model %d: %.6v at %.3v is found, and there is %.6v at %.3v", m.name, rule.Name(), seed, got.Value, got.X, v, x)
						break
					}
				}
			}
		}
	}
}

// Law: no pair is better that one of 1,000 random compositions makes with either of the pair that
// is found, and none of the 80 of them that are best by themselves.
func TestNoPairOfThousandsIsBetter(t *testing.T) {
	for _, m := range mixedSpaces() {
		sp := open(t, m.def)
		for seed := range models(t) {
			rng := rand.New(rand.NewPCG(seed, 11))
			f, screen, compared := preferred(t, m, sp, 25, rng)
			first, second := must.Get2(search.MinimizePair(t.Context(), sp, f, screen, seed, compared))(t)
			for _, r := range []search.Result{first, second} {
				if x, err := sp.Encode(r.Point); err != nil || !slices.Equal(x, r.X) || sp.Contains(r.Point) != nil || r.Value != f(first.X, second.X, nil, nil) {
					t.Fatalf("%s: %v of a pair worth %v: %v, %v", m.name, r.Point, r.Value, err, sp.Contains(r.Point))
				}
			}
			beaten := false
			better := func(x, y []float64) {
				if v := f(x, y, nil, nil); v < first.Value && !beaten {
					beaten = true
					t.Errorf("%s, model %d: %.4v and %.4v are found with %.6v, and %.4v and %.4v have %.6v", m.name, seed, first.X, second.X, first.Value, x, y, v)
				}
			}
			others := compositions(t, m, sp, 1000, rng)
			for _, x := range others {
				better(first.X, x)
				better(x, second.X)
			}
			slices.SortStableFunc(others, func(x, y []float64) int { return cmp.Compare(screen(x), screen(y)) })
			for i, x := range others[:80] {
				for _, y := range others[:i] {
					better(x, y)
				}
			}
		}
	}
}

// Law: the minimum over compositions is found, however the function behaves between them and
// whatever its gradient is there: only what it is at compositions counts, and its slope in the
// continuous parameters. The oracle is to try them all.
func TestMinimaOfMixedSpaces(t *testing.T) {
	hundredths := func(visit func(u float64)) {
		for i := range 10_001 {
			visit(float64(i) / 10_000)
		}
	}
	type problem struct {
		name  string
		def   definition.Campaign
		f     func(x []float64) float64
		grad  func(x, grad []float64) // in continuous parameters
		least float64
	}
	var problems []problem

	// 36 wells, the bottom of each elsewhere.
	xy := []definition.Parameter{continuous("x", 0, 1), continuous("y", 0, 1)}
	number := func(x []float64) (k int) {
		for j := range 6 {
			if x[j] > 0.5 {
				k += 6 * j
			}
			if x[6+j] > 0.5 {
				k += j
			}
		}
		return k
	}
	problems = append(problems, problem{"wells", definition.Campaign{Parameters: append([]definition.Parameter{categories("k", 6), categories("l", 6)}, xy...)},
		func(x []float64) float64 {
			k := number(x)
			return math.Pow(x[12]-float64(k%7)/7, 2) + math.Pow(x[13]-float64(k%5)/5, 2) - 0.01*float64(k*17%36)
		},
		func(x, grad []float64) {
			k := number(x)
			grad[12], grad[13] = 2*(x[12]-float64(k%7)/7), 2*(x[13]-float64(k%5)/5)
		}, -0.35})

	// A comb: whatever lies between two steps is far deeper than what can be dosed.
	comb := definition.Campaign{Parameters: []definition.Parameter{continuous("a", 0, 1), continuous("b", 0, 1), continuous("c", 0, 1), continuous("x", 0, 1)},
		Instrument: definition.Instrument{Steps: map[string]float64{"a": 0.1, "b": 0.1, "c": 0.05}}}
	bottom := []float64{0.34, 0.77, 0.51, 0.123}
	least := 0.0
	for j, step := range []float64{0.1, 0.1, 0.05} {
		least += float64(j+1) * math.Pow(math.Round(bottom[j]/step)*step-bottom[j], 2)
	}
	problems = append(problems, problem{"comb", comb,
		func(x []float64) float64 {
			teeth := 0.0
			for j, n := range []float64{10, 10, 20} {
				teeth += math.Pow(math.Sin(math.Pi*n*x[j]), 2)
			}
			return bowl(bottom...)(x, nil) - 10*teeth
		},
		func(x, grad []float64) { bowl(bottom...)(x, grad) }, least})

	// A stepped mixture, with a valley along which two components make up for each other.
	valley := func(x []float64) float64 {
		return bowl(0.33, 0.21, 0.4, 0.12)(x, nil) + 5*math.Pow(x[0]+0.9*x[1]-0.52, 2)
	}
	least = math.Inf(1)
	for i := range 21 {
		for j := range 21 - i {
			for k := range 21 - i - j {
				least = min(least, valley([]float64{float64(i) / 20, float64(j) / 20, float64(k) / 20, float64(20-i-j-k) / 20}))
			}
		}
	}
	problems = append(problems, problem{"stepped mixture", mixture(4, 20), valley, func(_, _ []float64) {}, least})

	// A component that comes in three amounts, and two that fill up what is left.
	filled := definition.Campaign{Parameters: []definition.Parameter{values("k", 0, 0.3, 0.5), continuous("a", 0, 1), continuous("b", 0, 0.6)},
		Constraints: []definition.Constraint{{Terms: map[string]float64{"k": 1, "a": 1, "b": 1}, Equals: ptr(1.0)}}}
	ripples := func(a, b float64) (value, slopeA, slopeB float64) {
		return math.Sin(12*a) + math.Cos(9*b), 12 * math.Cos(12*a), -9 * math.Sin(9*b)
	}
	least = math.Inf(1)
	for _, k := range []float64{0, 0.3, 0.5} {
		hundredths(func(a float64) {
			if b := 1 - k - a; b >= 0 && b <= 0.6 {
				value, _, _ := ripples(a, b/0.6)
				least = min(least, value)
			}
		})
	}
	problems = append(problems, problem{"filled up", filled,
		func(x []float64) float64 { value, _, _ := ripples(x[1], x[2]); return value },
		func(x, grad []float64) { _, grad[1], grad[2] = ripples(x[1], x[2]) }, least})

	// What is best is excluded: the next best lies beside it, in the same category.
	walled := definition.Campaign{Parameters: append([]definition.Parameter{categories("k", 3), values("m", 0, 1)}, xy...),
		Excluded: []definition.Region{{Where: map[string]definition.RegionSide{"k": {Is: "b"}, "x": {Min: ptr(0.2), Max: ptr(0.7)}, "y": {Min: ptr(0.1)}}}}}
	problems = append(problems, problem{"walled", walled,
		func(x []float64) float64 { return bowl(0.5, 0.5)(x[4:], nil) - 2*x[1] - x[3] },
		func(x, grad []float64) { bowl(0.5, 0.5)(x[4:], grad[4:]) }, 0.2*0.2 - 3})

	// So many stripes are excluded that what is left is not cut up. The deepest well lies in one.
	stripes := definition.Campaign{Parameters: []definition.Parameter{values("k", 0, 1), continuous("x", 0, 1)}}
	for i := range 40 {
		at := float64(i) / 40
		stripes.Excluded = append(stripes.Excluded, definition.Region{Where: map[string]definition.RegionSide{"x": {Min: ptr(at + 0.005), Max: ptr(at + 0.015)}}})
	}
	well := func(x, at, width float64) (value, slope float64) {
		d := (x - at) / width
		return -math.Exp(-d * d), 2 * d / width * math.Exp(-d*d)
	}
	trough := func(x float64) (value, slope float64) {
		d := (x - 0.51) / 0.005
		rest := max(0, 1-d*d)
		return -10 * rest * rest, 40 * rest * d / 0.005
	}
	striped := func(x []float64) (value, slope float64) {
		wide, a := well(x[1], 0.51, 0.08)
		deep, b := trough(x[1])
		best, c := well(x[1], 0.2, 0.05)
		return wide + deep + 2*best - x[0], a + b + 2*c
	}
	problems = append(problems, problem{"stripes", stripes,
		func(x []float64) float64 { value, _ := striped(x); return value },
		func(x, grad []float64) { _, grad[1] = striped(x) }, -3})

	for _, p := range problems {
		sp := open(t, p.def)
		free := sp.Continuous()
		f := func(x, grad []float64) float64 {
			if grad != nil {
				p.grad(x, grad)
			}
			for j := range grad {
				if !slices.Contains(free, j) {
					grad[j] = 100 * math.Sin(1e4*x[j]+float64(j))
				}
			}
			return p.f(x)
		}
		for seed := range uint64(5) {
			got, err := search.Minimize(t.Context(), sp, f, seed, nil, nil)
			if err != nil {
				t.Fatal(p.name, err)
			}
			if got.Value > p.least+1e-6 || sp.Contains(got.Point) != nil {
				t.Errorf("%s, seed %d: found %.6v at %.4v, the minimum is %.6v: %v", p.name, seed, got.Value, got.X, p.least, sp.Contains(got.Point))
			}
		}
	}
}

// Law: where a function is not defined nothing is found, in whatever part of a mixed space that
// is, and where it is defined in one place that is known, that one.
func TestUndefinedInMixedSpaces(t *testing.T) {
	sp := open(t, definition.Campaign{Parameters: []definition.Parameter{categories("k", 3), values("m", 0, 1), continuous("x", 0, 1)}})
	only := func(defined func(x []float64) bool) next.Acquisition {
		return func(x, grad []float64) float64 {
			if value := bowl(0, 0, 0, 0, 0.3)(x, grad); defined(x) {
				return value
			}
			return math.NaN()
		}
	}
	if got, err := search.Minimize(t.Context(), sp, only(func(x []float64) bool { return x[1] == 1 && x[3] == 1 }), 1, nil, nil); err != nil || got.Point["k"].Name() != "b" || math.Abs(got.X[4]-0.3) > 1e-4 {
		t.Errorf("defined for b and 1: %v, %v", got, err)
	}
	known := []float64{0, 0, 1, 0, 0.123456789}
	if got, err := search.Minimize(t.Context(), sp, only(func(x []float64) bool { return slices.Equal(x, known) }), 1, [][]float64{known}, nil); err != nil || !slices.Equal(got.X, known) {
		t.Errorf("defined at one point: %v, %v", got, err)
	}
	if _, err := search.Minimize(t.Context(), sp, only(func([]float64) bool { return false }), 1, nil, nil); !errors.Is(err, search.ErrUndefined) {
		t.Errorf("defined nowhere: %v", err)
	}
	nowhere := func(_, _, _, _ []float64) float64 { return math.NaN() }
	if _, _, err := search.MinimizePair(t.Context(), sp, nowhere, func([]float64) float64 { return 0 }, 1, nil); !errors.Is(err, search.ErrUndefined) {
		t.Errorf("a pair, defined nowhere: %v", err)
	}
}

// Law: a pair is two compositions, also where one and the same would be worth most.
func TestPairsAreTwo(t *testing.T) {
	for _, m := range mixedSpaces() {
		sp := open(t, m.def)
		alike := func(x, y, gradX, gradY []float64) (value float64) {
			for j := range x {
				d := x[j] - y[j]
				if value += d * d; gradX != nil {
					gradX[j] = 2 * d
				}
				if gradY != nil {
					gradY[j] = -2 * d
				}
			}
			return value
		}
		a, b, err := search.MinimizePair(t.Context(), sp, alike, func(x []float64) float64 { return x[0] }, 1, nil)
		if err != nil {
			t.Fatal(err)
		}
		first := must.Get(sp.Key(a.Point))(t)
		if second, err := sp.Key(b.Point); err != nil || first == second {
			t.Errorf("%s: the pair %v and %v, %v", m.name, a.Point, b.Point, err)
		}
	}
}

// Law: the first of a pair stays the first.
func TestPairsHaveAnOrder(t *testing.T) {
	sp := open(t, definition.Campaign{Parameters: []definition.Parameter{values("k", 0, 1), continuous("x", 0, 1)}})
	f := func(x, y, gradX, gradY []float64) float64 { return bowl(1, 0.3)(x, gradX) + bowl(0, 0.8)(y, gradY) }
	a, b, err := search.MinimizePair(t.Context(), sp, f, func(x []float64) float64 { return x[1] }, 1, nil)
	if err != nil || a.X[0] != 1 || math.Abs(a.X[1]-0.3) > 1e-4 || b.X[0] != 0 || math.Abs(b.X[1]-0.8) > 1e-4 {
		t.Errorf("the pair %v and %v, %v", a.X, b.X, err)
	}
}

// Law: a search in a mixed space ends with the error of its context, wherever that is done.
func TestMixedSearchesCanBeCancelled(t *testing.T) {
	for _, m := range mixedSpaces() {
		sp := open(t, m.def)
		model := learned(t, m, sp, 10, rand.New(rand.NewPCG(1, 1)))
		f := must.Get(acquisitions(t)[0].Acquisition(model, 1))(t)
		all := 0
		if _, err := search.Minimize(t.Context(), sp, func(x, grad []float64) float64 { all++; return f(x, grad) }, 1, nil, nil); err != nil {
			t.Fatal(err)
		}
		enough := errors.New("enough")
		for _, after := range []int{0, 1, all / 4, all / 2, 3 * all / 4, all - 60} {
			ctx, cancel := context.WithCancelCause(t.Context())
			n := 0
			counted := func(x, grad []float64) float64 {
				if n++; n > after {
					cancel(enough)
				}
				return f(x, grad)
			}
			if got, err := search.Minimize(ctx, sp, counted, 1, nil, nil); !errors.Is(err, enough) || got.Point != nil {
				t.Errorf("%s, cancelled after %d of %d evaluations: %v, %v", m.name, after, all, got, err)
			}
		}
	}
}

func BenchmarkMinimize(b *testing.B) {
	box := definition.Campaign{}
	for _, name := range []string{"a", "b", "c", "d"} {
		box.Parameters = append(box.Parameters, continuous(name, 0, 1))
	}
	spaces := append(mixedSpaces(), mixedSpace{"box", box, func(rng *rand.Rand) definition.Point { return drawApart(box, rng) }})
	for _, m := range spaces {
		sp := must.Get(space.New(m.def))(b)
		for _, n := range []int{25, 200} {
			model := learned(b, m, sp, n, rand.New(rand.NewPCG(1, 9)))
			f := must.Get(acquisitions(b)[0].Acquisition(model, 1))(b)
			b.Run(fmt.Sprintf("%s/n=%d", m.name, n), func(b *testing.B) {
				for seed := uint64(0); b.Loop(); seed++ {
					must.Get(search.Minimize(b.Context(), sp, f, seed, model.X, nil))(b)
				}
			})
		}
		f, screen, compared := preferred(b, m, sp, 25, rand.New(rand.NewPCG(1, 11)))
		b.Run(m.name+"/pair", func(b *testing.B) {
			for seed := uint64(0); b.Loop(); seed++ {
				if _, _, err := search.MinimizePair(b.Context(), sp, f, screen, seed, compared); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
