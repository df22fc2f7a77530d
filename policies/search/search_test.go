package search_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/policies/search"
	"github.com/campaignd/campaignd/projections/space"
)

func ptr[T any](x T) *T { return &x }

func continuous(name string, lo, hi float64) definition.Parameter {
	return definition.Parameter{Name: name, Min: &lo, Max: &hi}
}

func open(t *testing.T, def definition.Campaign) *space.Space {
	t.Helper()
	return must.Get(space.New(def))(t)
}

// bowl is Σ w_i·(x_i − c_i)² with its gradient; weights are 1, 2, 3, ….
func bowl(c ...float64) func(x, grad []float64) float64 {
	return func(x, grad []float64) (value float64) {
		for i := range x {
			w, d := float64(i+1), x[i]-c[i]
			value += w * d * d
			if grad != nil {
				grad[i] = 2 * w * d
			}
		}
		return value
	}
}

// onSimplex is the minimum of the bowl on a simplex: x_i = max(0, c_i − μ/w_i), with μ
// by bisection so that they sum to one.
func onSimplex(c ...float64) []float64 {
	at := func(mu float64) (x []float64, sum float64) {
		for i := range c {
			x = append(x, max(0, c[i]-mu/float64(i+1)))
			sum += x[i]
		}
		return x, sum
	}
	lo, hi := -100.0, 100.0
	for range 200 {
		if _, sum := at((lo + hi) / 2); sum > 1 {
			lo = (lo + hi) / 2
		} else {
			hi = (lo + hi) / 2
		}
	}
	x, _ := at(lo)
	return x
}

// Law: the search finds the minimum of functions whose minimum is known: inside, on a
// bound, on a constraint, beside an excluded region, in the right category, on the
// nearest step. The composition may be measured, exactly, and its value is the
// function's there.
func TestMinimize(t *testing.T) {
	square := []definition.Parameter{continuous("a", 0, 1), continuous("b", 0, 1)}
	simplex := definition.Campaign{
		Parameters:  []definition.Parameter{continuous("a", 0, 1), continuous("b", 0, 1), continuous("c", 0, 1)},
		Constraints: []definition.Constraint{{Terms: map[string]float64{"a": 1, "b": 1, "c": 1}, Equals: ptr(1.0)}},
	}
	wall := definition.Campaign{Parameters: square, Excluded: []definition.Region{{Where: map[string]definition.RegionSide{"a": {Min: ptr(0.2), Max: ptr(0.7)}}}}}
	stepped := definition.Campaign{Parameters: append(slices.Clone(square), continuous("c", 0, 1)), Instrument: definition.Instrument{Steps: map[string]float64{"a": 0.1}}}
	salt := definition.Parameter{Name: "salt", Categories: []definition.CategoryDef{{Name: "u"}, {Name: "v"}, {Name: "w"}}}
	for _, c := range []struct {
		name string
		def  definition.Campaign
		f    func(x, grad []float64) float64
		want []float64 // encoded
	}{
		{"inside", definition.Campaign{Parameters: square}, bowl(0.3, 0.8), []float64{0.3, 0.8}},
		{"in a corner", definition.Campaign{Parameters: square}, bowl(-1, 2), []float64{0, 1}},
		{"on an edge", definition.Campaign{Parameters: square}, bowl(0.4, -0.1), []float64{0.4, 0}},
		{"in a wide range", definition.Campaign{Parameters: []definition.Parameter{continuous("a", -500, 1500)}}, bowl(0.25), []float64{0.25}},
		{"inside a simplex", simplex, bowl(0.5, 0.4, 0.3), onSimplex(0.5, 0.4, 0.3)},
		{"on an edge of a simplex", simplex, bowl(0.9, 0.6, -0.8), onSimplex(0.9, 0.6, -0.8)},
		{"in a corner of a simplex", simplex, bowl(-1, 3, -1), []float64{0, 1, 0}},
		{"beside a wall", wall, bowl(0.5, 0.5), []float64{0.7, 0.5}},
		{"before a wall", wall, bowl(0.3, 0.5), []float64{0.2, 0.5}},
		{"in the second category", definition.Campaign{Parameters: []definition.Parameter{continuous("a", 0, 1), salt}}, bowl(0.3, 0.1, 0.9, 0.2), []float64{0.3, 0, 1, 0}},
		{"on a step", stepped, bowl(0.34, 0.5, 0.5), []float64{0.3, 0.5, 0.5}},
	} {
		sp := open(t, c.def)
		for seed := range uint64(5) {
			got, err := search.Minimize(t.Context(), sp, c.f, seed, nil, nil)
			if err != nil {
				t.Fatalf("%s: %v", c.name, err)
			}
			for i := range c.want {
				// A local search ends where a decrease of 1e-9 is left, √1e-9 from the minimum.
				if math.Abs(got.X[i]-c.want[i]) > 1e-4 {
					t.Fatalf("%s, seed %d: found %v, the minimum is at %v", c.name, seed, got.X, c.want)
				}
			}
			x, err := sp.Encode(got.Point)
			if err != nil || !slices.Equal(x, got.X) || got.Value != c.f(x, nil) || sp.Contains(got.Point) != nil {
				t.Errorf("%s: %v at %v is %v: %v, %v", c.name, got.Point, got.X, got.Value, err, sp.Contains(got.Point))
			}
		}
	}
}

// Law: of several minima the deepest is found; one that no start would find, from a
// further start near it.
func TestMinimizeIsGlobal(t *testing.T) {
	sp := open(t, definition.Campaign{Parameters: []definition.Parameter{continuous("a", 0, 1), continuous("b", 0, 1)}})
	// hole is a funnel of depth 1 and the given width at (0.123, 0.877) in a shallow bowl.
	hole := func(width float64) func(x, grad []float64) float64 {
		return func(x, grad []float64) float64 {
			value := 0.1 * bowl(0.8, 0.2)(x, grad)
			da, db := (x[0]-0.123)/width, (x[1]-0.877)/width
			depth := math.Exp(-(da*da + db*db) / 2)
			if grad != nil {
				grad[0], grad[1] = 0.1*grad[0]+depth*da/width, 0.1*grad[1]+depth*db/width
			}
			return value - depth
		}
	}
	in := func(r search.Result) bool { return math.Abs(r.X[0]-0.123) < 0.01 && math.Abs(r.X[1]-0.877) < 0.01 }
	for seed := range uint64(10) {
		if r, err := search.Minimize(t.Context(), sp, hole(0.05), seed, nil, nil); err != nil || !in(r) {
			t.Errorf("seed %d: found %v, %v", seed, r.X, err)
		}
		if r, err := search.Minimize(t.Context(), sp, hole(0.002), seed, nil, nil); err != nil || in(r) {
			t.Errorf("seed %d: a start was in the narrow hole by luck (%v, %v); the next line says nothing", seed, r.X, err)
		}
		if r, err := search.Minimize(t.Context(), sp, hole(0.002), seed, [][]float64{{0.124, 0.876}}, nil); err != nil || !in(r) {
			t.Errorf("seed %d, from beside the hole: found %v, %v", seed, r.X, err)
		}
	}
}

// finite are spaces that are lists: candidates, values, steps, and categories.
var finite = map[string]definition.Campaign{
	"candidates": {Parameters: []definition.Parameter{continuous("a", 0, 1), continuous("b", 0, 1)}, Candidates: []definition.Point{
		{"a": definition.Number(0.1), "b": definition.Number(0.9)}, {"a": definition.Number(0.5), "b": definition.Number(0.4)},
		{"a": definition.Number(0.6), "b": definition.Number(0.6)}, {"a": definition.Number(1), "b": definition.Number(0)}}},
	"values and categories": {Parameters: []definition.Parameter{{Name: "a", Values: []float64{1, 2, 5, 7}},
		{Name: "b", Categories: []definition.CategoryDef{{Name: "x"}, {Name: "y"}}}}},
	"steps on a constraint": {Parameters: []definition.Parameter{continuous("a", 0, 1), continuous("b", 0, 1)},
		Constraints: []definition.Constraint{{Terms: map[string]float64{"a": 1, "b": 1}, AtMost: ptr(0.9)}},
		Instrument:  definition.Instrument{Steps: map[string]float64{"a": 0.1, "b": 0.1}}},
}

// Law: of a list each composition is tried: the best of all that are not skipped is
// found, the earliest of equals, until none is left.
func TestMinimizeTriesAllOfAList(t *testing.T) {
	for name, def := range finite {
		sp := open(t, def)
		list, _ := sp.Finite()
		f := bowl(0.55, 0.45, 0.3)
		skip := make(map[string]bool)
		for n := range list {
			best, value := -1, math.Inf(1)
			for i, p := range list {
				x := must.Get(sp.Encode(p))(t)
				key, _ := sp.Key(p)
				if v := f(x, nil); !skip[key] && v < value {
					best, value = i, v
				}
			}
			got, err := search.Minimize(t.Context(), sp, f, uint64(n), nil, skip)
			if err != nil || got.Value != value || sp.Format(got.Point) != sp.Format(list[best]) {
				t.Fatalf("%s, %d skipped: %v with %v, %v; want %v with %v", name, n, got.Point, got.Value, err, list[best], value)
			}
			key, _ := sp.Key(got.Point)
			skip[key] = true
		}
		if _, err := search.Minimize(t.Context(), sp, f, 1, nil, skip); !errors.Is(err, search.ErrExhausted) {
			t.Errorf("%s: all is skipped, and the error is %v", name, err)
		}
		equal := func([]float64, []float64) float64 { return 3 }
		if got, err := search.Minimize(t.Context(), sp, equal, 1, nil, nil); err != nil || sp.Format(got.Point) != sp.Format(list[0]) {
			t.Errorf("%s: of equals %v is found, %v", name, got.Point, err)
		}
		// Defined at one composition alone: that one is found; skipped, none is left that
		// the function is defined at, and that is another matter than an empty list.
		only := must.Get(sp.Encode(list[2]))(t)
		somewhere := func(x, _ []float64) float64 {
			if slices.Equal(x, only) {
				return 1
			}
			return math.NaN()
		}
		if got, err := search.Minimize(t.Context(), sp, somewhere, 1, nil, nil); err != nil || !slices.Equal(got.X, only) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
		key, _ := sp.Key(list[2])
		if _, err := search.Minimize(t.Context(), sp, somewhere, 1, nil, map[string]bool{key: true}); !errors.Is(err, search.ErrUndefined) {
			t.Errorf("%s: where nothing is defined the error is %v", name, err)
		}
	}
	for _, undefined := range []float64{math.NaN(), math.Inf(1)} {
		sp := open(t, definition.Campaign{Parameters: []definition.Parameter{continuous("a", 0, 1)}})
		if _, err := search.Minimize(t.Context(), sp, func([]float64, []float64) float64 { return undefined }, 1, nil, nil); !errors.Is(err, search.ErrUndefined) {
			t.Errorf("a function that is %v everywhere: %v", undefined, err)
		}
	}
}

// Law: equal arguments give equal results, to the bit; a context that is done gives
// its error and never a shorter search.
func TestSearchesAreDeterministicAndCanBeCancelled(t *testing.T) {
	defs := map[string]definition.Campaign{
		"box":  {Parameters: []definition.Parameter{continuous("a", 0, 1), continuous("b", 0, 1)}},
		"wall": {Parameters: []definition.Parameter{continuous("a", 0, 1), continuous("b", 0, 1)}, Excluded: []definition.Region{{Where: map[string]definition.RegionSide{"a": {Min: ptr(0.2), Max: ptr(0.7)}}}}},
	}
	for name, def := range finite {
		defs[name] = def
	}
	for _, m := range mixedSpaces() {
		defs[m.name] = m.def
	}
	cause := errors.New("enough")
	done, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	wavy := func(x, grad []float64) float64 {
		value := 0.0
		for i := range x {
			value += math.Sin(9*x[i] + float64(i))
			if grad != nil {
				grad[i] = 9 * math.Cos(9*x[i]+float64(i))
			}
		}
		return value
	}
	apart := func(x, y, gx, gy []float64) float64 { return wavy(x, gx) + wavy(y, gy) }
	for name, def := range defs {
		first, err := search.Minimize(t.Context(), open(t, def), wavy, 7, nil, nil)
		if err != nil {
			t.Fatal(name, err)
		}
		again, err := search.Minimize(t.Context(), open(t, def), wavy, 7, nil, nil)
		if err != nil || !slices.Equal(first.X, again.X) || first.Value != again.Value {
			t.Errorf("%s: %v and then %v", name, first, again)
		}
		if got, err := search.Minimize(done, open(t, def), wavy, 7, nil, nil); !errors.Is(err, cause) && !errors.Is(err, context.Canceled) || got.Point != nil {
			t.Errorf("%s, cancelled: %v, %v", name, got, err)
		}
		screen := func(x []float64) float64 { return wavy(x, nil) }
		a, b, err := search.MinimizePair(t.Context(), open(t, def), apart, screen, 7, nil)
		if err != nil {
			t.Fatal(name, err)
		}
		c, d, err := search.MinimizePair(t.Context(), open(t, def), apart, screen, 7, nil)
		if err != nil || !slices.Equal(a.X, c.X) || !slices.Equal(b.X, d.X) || a.Value != c.Value {
			t.Errorf("%s: the pairs %v, %v and then %v, %v", name, a.X, b.X, c.X, d.X)
		}
		if _, ok := open(t, def).Finite(); ok {
			continue // all pairs of at most 32 points are tried at once
		}
		if _, _, err := search.MinimizePair(done, open(t, def), apart, screen, 7, nil); !errors.Is(err, cause) && !errors.Is(err, context.Canceled) {
			t.Errorf("%s, a pair, cancelled: %v", name, err)
		}
	}
}

// tug is a function of pairs: x is drawn to p and y to q, and they repel each other
// by k: Σ (x − p)² + (y − q)² − k·(x − y)². Its minimum solves a linear system:
// x = (p − k(p + q))/(1 − 2k), and y likewise.
func tug(p, q []float64, k float64) (f search.PairAcquisition, x, y []float64) {
	for i := range p {
		x = append(x, (p[i]-k*(p[i]+q[i]))/(1-2*k))
		y = append(y, (q[i]-k*(p[i]+q[i]))/(1-2*k))
	}
	return func(x, y, gx, gy []float64) (value float64) {
		for i := range p {
			a, b, d := x[i]-p[i], y[i]-q[i], x[i]-y[i]
			value += a*a + b*b - k*d*d
			if gx != nil {
				gx[i] = 2*a - 2*k*d
			}
			if gy != nil {
				gy[i] = 2*b + 2*k*d
			}
		}
		return value
	}, x, y
}

// Law: the pair at which a function is smallest is found, in a box, beside an excluded
// region and in a list; both may be measured, and the value is the function's there.
func TestMinimizePair(t *testing.T) {
	square := []definition.Parameter{continuous("a", 0, 1), continuous("b", 0, 1)}
	f, x, y := tug([]float64{0.3, 0.7}, []float64{0.6, 0.4}, 0.2)
	screen := func(u []float64) float64 { // what a point is worth by itself: its distance to the nearer end
		return min(math.Hypot(u[0]-0.3, u[1]-0.7), math.Hypot(u[0]-0.6, u[1]-0.4))
	}
	corner := definition.Region{Where: map[string]definition.RegionSide{"a": {Max: ptr(0.1)}, "b": {Max: ptr(0.1)}}}
	simplex := definition.Campaign{
		Parameters:  append(slices.Clone(square), continuous("c", 0, 1)),
		Constraints: []definition.Constraint{{Terms: map[string]float64{"a": 1, "b": 1, "c": 1}, Equals: ptr(1.0)}},
	}
	for name, def := range map[string]definition.Campaign{
		"box": {Parameters: square}, "two cells": {Parameters: square, Excluded: []definition.Region{corner}},
	} {
		for seed := range uint64(3) {
			sp := open(t, def)
			first, second, err := search.MinimizePair(t.Context(), sp, f, screen, seed, nil)
			if err != nil {
				t.Fatal(name, err)
			}
			off := 0.0
			for i := range x {
				off = max(off, math.Abs(first.X[i]-x[i]), math.Abs(second.X[i]-y[i]))
			}
			// Alternation in three rounds closes in on the pair by (k/(1 − k))² each.
			if off > 0.005 {
				t.Errorf("%s, seed %d: found %v and %v, want %v and %v", name, seed, first.X, second.X, x, y)
			}
			if v := f(first.X, second.X, nil, nil); first.Value != v || second.Value != v || sp.Contains(first.Point) != nil || sp.Contains(second.Point) != nil {
				t.Errorf("%s: the value is %v and %v, want %v", name, first.Value, second.Value, v)
			}
		}
	}
	// On a simplex each of a pair that does not interact is the minimum of its own.
	p, q := []float64{0.5, 0.4, 0.3}, []float64{0.9, -0.6, 0.2}
	alone := func(x, y, gx, gy []float64) float64 { return bowl(p...)(x, gx) + bowl(q...)(y, gy) }
	first, second, err := search.MinimizePair(t.Context(), open(t, simplex), alone, func(u []float64) float64 { return min(bowl(p...)(u, nil), bowl(q...)(u, nil)) }, 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range onSimplex(p...) {
		if other := onSimplex(q...)[i]; math.Abs(first.X[i]-want) > 1e-3 || math.Abs(second.X[i]-other) > 1e-3 {
			t.Errorf("on a simplex: %v and %v, want %v and %v", first.X, second.X, onSimplex(p...), onSimplex(q...))
		}
	}
	for name, def := range finite {
		sp := open(t, def)
		list, _ := sp.Finite()
		var encoded [][]float64
		for _, p := range list {
			u := must.Get(sp.Encode(p))(t)
			encoded = append(encoded, u)
		}
		target, _, _ := tug([]float64{0.3, 0.7, 0}, []float64{0.6, 0.4, 1}, 0.2)
		pairwise := func(x, y, _, _ []float64) float64 { // the order of the two does not matter
			pad := func(u []float64) []float64 { return append(slices.Clone(u), 0)[:3] }
			return target(pad(x), pad(y), nil, nil) + target(pad(y), pad(x), nil, nil)
		}
		// All of a short list are candidates; of a long one those that are best by themselves.
		worth := func(u []float64) float64 { return bowl(0.45, 0.55, 0.5)(u, nil) }
		order := make([]int, len(encoded))
		for i := range order {
			order[i] = i
		}
		slices.SortStableFunc(order, func(a, b int) int {
			switch d := worth(encoded[a]) - worth(encoded[b]); {
			case d < 0:
				return -1
			case d > 0:
				return 1
			}
			return 0
		})
		least := math.Inf(1)
		for i, a := range order[:min(32, len(order))] {
			for _, b := range order[:i] {
				least = min(least, pairwise(encoded[a], encoded[b], nil, nil))
			}
		}
		first, second, err := search.MinimizePair(t.Context(), sp, pairwise, worth, 1, nil)
		if err != nil || first.Value != least || second.Value != least || slices.Equal(first.X, second.X) || sp.Contains(first.Point) != nil {
			t.Errorf("%s: %v and %v with %v, %v; want %v", name, first.Point, second.Point, first.Value, err, least)
		}
		if _, _, err := search.MinimizePair(t.Context(), sp, func(_, _, _, _ []float64) float64 { return math.NaN() }, worth, 1, nil); !errors.Is(err, search.ErrUndefined) {
			t.Errorf("%s: a function that is nowhere defined: %v", name, err)
		}
	}
}

// Law: two compositions that differ by a fiftieth of a range in no parameter cannot be
// told apart.
func TestNear(t *testing.T) {
	for _, c := range []struct {
		x, y []float64
		want bool
	}{
		{[]float64{0.5, 0.5}, []float64{0.5, 0.5}, true},
		{[]float64{0.5, 0.5}, []float64{0.519, 0.481}, true},
		{[]float64{0.5, 0.5}, []float64{0.521, 0.5}, false},
		{[]float64{0.5, 0.5}, []float64{0.5, 0.479}, false},
	} {
		if search.Near(c.x, c.y) != c.want || search.Near(c.y, c.x) != c.want {
			t.Errorf("%v and %v: near %v", c.x, c.y, !c.want)
		}
	}
}

// Law: a search whose result cannot be taken to what can be made fails with the reason. Of the
// steps of 0.001 hardly any satisfy this constraint but those in the middle.
func TestMinimizeUndecided(t *testing.T) {
	sp := open(t, definition.Campaign{
		Parameters: []definition.Parameter{continuous("a", 0, 1), continuous("b", 0, 1), continuous("c", 0, 1)},
		Constraints: []definition.Constraint{
			{Terms: map[string]float64{"a": 1, "b": 1.414213, "c": 1.732051}, Equals: ptr(2.073132)},
		},
		Instrument: definition.Instrument{Steps: map[string]float64{"a": 0.001, "b": 0.001, "c": 0.001}},
	})
	if r, err := search.Minimize(t.Context(), sp, bowl(0.5, 0.5, 0.5), 1, nil, nil); err != nil || r.Value != 0 {
		t.Errorf("in the middle it finds %+v, %v", r, err)
	}
	if r, err := search.Minimize(t.Context(), sp, bowl(0, 1, 0.2), 1, nil, nil); !errors.Is(err, space.ErrUndecided) || r.Point != nil {
		t.Errorf("far from it it finds %+v, %v", r, err)
	}
}

// Law: a pair is searched from further starts too: one of them lies beside a minimum that the
// starts of the seed miss.
func TestMinimizePairFromFurtherStarts(t *testing.T) {
	sp := open(t, definition.Campaign{Parameters: []definition.Parameter{continuous("a", 0, 1), continuous("b", 0, 1)}})
	const width = 0.002
	hole := func(x, grad []float64) float64 {
		value := 0.1 * bowl(0.8, 0.2)(x, grad)
		da, db := (x[0]-0.123)/width, (x[1]-0.877)/width
		depth := math.Exp(-(da*da + db*db) / 2)
		if grad != nil {
			grad[0], grad[1] = 0.1*grad[0]+depth*da/width, 0.1*grad[1]+depth*db/width
		}
		return value - depth
	}
	pair := func(x, y, gx, gy []float64) float64 { return hole(x, gx) + bowl(0.5, 0.5)(y, gy) }
	other := func(x, y, gx, gy []float64) float64 { return pair(y, x, gy, gx) }
	screen := func(x []float64) float64 { return hole(x, nil) }
	bottom := 0.1*bowl(0.8, 0.2)([]float64{0.123, 0.877}, nil) - 1
	for seed := range uint64(2) {
		least := math.Inf(1)
		for _, f := range []search.PairAcquisition{pair, other} { // a pair of starts is tried in one order
			r, _, err := search.MinimizePair(t.Context(), sp, f, screen, seed, [][]float64{{0.124, 0.876}})
			if err != nil {
				t.Fatal(err)
			}
			least = min(least, r.Value)
		}
		if math.Abs(least-bottom) > 1e-3 {
			t.Errorf("seed %d: the best pair is worth %v, the minimum is %v", seed, least, bottom)
		}
	}
}
