package search_test

import (
	"cmp"
	"context"
	"errors"
	"math"
	"testing"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/policies/search"
)

// crumbled are parameters with so many excluded regions that the space is not cut into pieces. The
// regions lie where a and b are small.
func crumbled(constraints ...definition.Constraint) definition.Campaign {
	def := definition.Campaign{
		Parameters:  []definition.Parameter{continuous("a", 0, 1), continuous("b", 0, 1)},
		Constraints: constraints,
	}
	for i := range 6 {
		for j := range 6 {
			lo := func(n int) float64 { return 0.02 + 0.03*float64(n) }
			def.Excluded = append(def.Excluded, definition.Region{Where: map[string]definition.RegionSide{
				"a": {Min: ptr(lo(i)), Max: ptr(lo(i) + 0.01)}, "b": {Min: ptr(lo(j)), Max: ptr(lo(j) + 0.01)},
			}})
		}
	}
	return def
}

// Law: where a space is not cut into pieces both points of a pair are searched for at once, so that
// it is found also where each depends so much on the other that one after the other leads nowhere
// soon, within every constraint; both may be measured.
func TestPairAtOnce(t *testing.T) {
	const k = 0.42
	terms := map[string]float64{"a": 1, "b": 1}
	p, q := []float64{0.5, 0.52}, []float64{0.54, 0.5}
	f, x, y := tug(p, q, k)
	screen := func(u []float64) float64 {
		return min(math.Hypot(u[0]-p[0], u[1]-p[1]), math.Hypot(u[0]-q[0], u[1]-q[1]))
	}
	for name, def := range map[string]definition.Campaign{
		"without constraints": crumbled(), "with one that is not met at its bound": crumbled(definition.Constraint{Terms: terms, AtMost: ptr(1.9)}),
	} {
		sp := open(t, def)
		for seed := range uint64(2) {
			first, second, err := search.MinimizePair(t.Context(), sp, f, screen, seed, nil)
			if err != nil {
				t.Fatal(name, err)
			}
			for i := range x {
				if math.Abs(first.X[i]-x[i]) > 1e-3 || math.Abs(second.X[i]-y[i]) > 1e-3 {
					t.Errorf("%s: %v and %v, want %v and %v", name, first.X, second.X, x, y)
				}
			}
			if v := f(first.X, second.X, nil, nil); first.Value != v || second.Value != v {
				t.Errorf("%s: the value is %v and %v, want %v", name, first.Value, second.Value, v)
			}
			if err := errors.Join(sp.Contains(first.Point), sp.Contains(second.Point)); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	// Of two that do not interact each is the nearest point that the constraint allows.
	for _, c := range []definition.Constraint{
		{Terms: terms, Equals: ptr(0.7)}, {Terms: terms, AtMost: ptr(0.8)}, {Terms: terms, AtLeast: ptr(1.3)},
	} {
		def := crumbled(c)
		bound := *cmp.Or(c.Equals, c.AtMost, c.AtLeast) // neither is within
		alone := func(x, y, gx, gy []float64) float64 { return bowl(p...)(x, gx) + bowl(q...)(y, gy) }
		first, second, err := search.MinimizePair(t.Context(), open(t, def), alone, screen, 1, nil)
		if err != nil {
			t.Fatal(bound, err)
		}
		for r, c := range map[*search.Result][]float64{&first: p, &second: q} {
			off := bound - c[0] - c[1] // shared as 2 to 1, as b weighs 2
			want := []float64{c[0] + off*2/3, c[1] + off/3}
			if math.Abs(r.X[0]-want[0]) > 1e-3 || math.Abs(r.X[1]-want[1]) > 1e-3 {
				t.Errorf("with a sum of %v: %v, want %v", bound, r.X, want)
			}
		}
	}
}

// Law: a search for a pair that is done, or whose function is nowhere defined, finds none and says so.
func TestNoPairAtOnce(t *testing.T) {
	sp := open(t, crumbled())
	f, _, _ := tug([]float64{0.3, 0.7}, []float64{0.6, 0.4}, 0.2)
	ended, end := context.WithCancelCause(t.Context())
	reason := errors.New("the campaign has ended")
	end(reason)
	screen := func(u []float64) float64 { return u[0] }
	first, second, err := search.MinimizePair(ended, sp, f, screen, 1, nil)
	if !errors.Is(err, reason) && !errors.Is(err, context.Canceled) || first.X != nil || second.X != nil {
		t.Errorf("when it is done it finds %v and %v, %v", first.X, second.X, err)
	}
	undefined := func(_, _, _, _ []float64) float64 { return math.NaN() }
	if first, _, err := search.MinimizePair(t.Context(), sp, undefined, screen, 1, nil); err == nil || first.X != nil {
		t.Errorf("where nothing is defined it finds %v, %v", first.X, err)
	}
}
