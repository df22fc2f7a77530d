package space

import (
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/tests/must"
	"pgregory.net/rapid"
)

// drawn is a composition of a drawn space, encoded.
func drawn(t *rapid.T, s *Space) []float64 {
	sample := must.Get(s.Sample(1, rapid.Uint64().Draw(t, "seed")))(t)
	return must.Get(s.Encode(sample[0]))(t)
}

// Law: what each parameter is rounded to by itself is a composition where it is said to be one,
// and then none is nearer.
func TestRoundIsNearestWhereItIsAllowed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		def := definitions().Draw(t, "definition")
		s := open(t, def)
		x := make([]float64, s.Dim())
		for i := range x {
			x[i] = rapid.Float64Range(-0.3, 1.3).Draw(t, "x")
		}
		u, ok := s.Round(x)
		if why := obeys(def, s.Decode(x)); ok != (why == "") {
			t.Fatalf("%v rounds to %v, allowed: %v; %s", x, u, ok, why)
		}
		if !ok {
			return
		}
		p := must.Get(s.Snap(x))(t)
		v := must.Get(s.Encode(p))(t)
		// Projections on a polytope are exact to some 1e-8.
		if d, least := squaredDistance(u, x), squaredDistance(v, x); math.Abs(d-least) > 1e-7 {
			t.Fatalf("%v rounds to %v, %g away, and %v is %g away", x, u, d, v, least)
		}
	})
}

// Law: a constraint on values and steps says the same in integers as in decimals, and in decimals
// where the integers would be too large.
func TestConstraintsInIntegers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := open(t, definitions().Draw(t, "definition"))
		for i := range s.rows {
			r := &s.rows[i]
			if r.whole == 0 {
				continue
			}
			values := make([]float64, len(s.axes))
			for range 20 {
				for _, k := range r.axes {
					g := s.axes[k].grid
					values[k] = g.value(rapid.IntRange(0, g.len()-1).Draw(t, "level"))
				}
				if r.holdsExactly(values) != r.holdsInDecimals(values) {
					t.Fatalf("%s at %v: in integers %v", r.describe(s), values, r.holdsExactly(values))
				}
			}
		}
	})
	tenths := map[string]float64{"a": 0.1, "b": 0.1}
	ten := map[string]float64{"a": 1.234567891, "b": 1}
	for _, c := range []struct {
		name  string
		hi    float64
		steps map[string]float64
		terms map[string]float64
		want  float64
	}{
		{"tenths", 1, tenths, map[string]float64{"a": 1, "b": 1}, 10},
		{"decimals in both", 1, tenths, map[string]float64{"a": 0.001, "b": 1.25}, 10_000},
		{"up to a hundred thousand, of ten digits", 100_000, ten, map[string]float64{"a": 1, "b": 1}, 1e9},
		{"up to a million, of ten digits", 1_000_000, ten, map[string]float64{"a": 1, "b": 1}, 0},
		{"coefficients of very different size", 1, tenths, map[string]float64{"a": 1e10, "b": 1e-10}, 0},
	} {
		s := must.Get(build(definition.Campaign{
			Parameters:  []definition.Parameter{continuous("a", 0, c.hi), continuous("b", 0, c.hi)},
			Constraints: []definition.Constraint{{Terms: c.terms, AtMost: ptr(1)}},
			Instrument:  definition.Instrument{Steps: c.steps},
		}, nil))(t)
		if got := s.rows[0].whole; got != c.want {
			t.Errorf("%s: the denominator is %v, want %v", c.name, got, c.want)
		}
	}
}

// Law: a neighbor is a composition in which the parameter is another one; no two are the same,
// and snapping leaves them where they are.
func TestNeighborsMayBeMeasured(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		def := definitions().Draw(t, "definition")
		s := open(t, def)
		x := drawn(t, s)
		for i := range s.axes {
			a := &s.axes[i]
			neighbors := must.Get(s.Neighbors(x, i))(t)
			again, err := s.Neighbors(x, i)
			if err != nil || !slices.EqualFunc(neighbors, again, slices.Equal[[]float64]) {
				t.Fatalf("%v and then %v, %v", neighbors, again, err)
			}
			for k, u := range neighbors {
				p := must.Get(s.Snap(u))(t)
				if why := obeys(def, p); why != "" {
					t.Fatalf("%v, beside %v: %s", p, x, why)
				}
				v, err := s.Encode(p)
				if err != nil || squaredDistance(u, v) > 1e-16 {
					t.Fatalf("%v, beside %v, is snapped to %v, %v", u, x, v, err)
				}
				if slices.Equal(u[a.at:a.at+a.width], x[a.at:a.at+a.width]) {
					t.Fatalf("%v is not a neighbor of %v in %s", u, x, a.name)
				}
				if slices.ContainsFunc(neighbors[:k], func(w []float64) bool { return slices.Equal(u, w) }) {
					t.Fatalf("%v is a neighbor of %v twice", u, x)
				}
			}
			if len(s.rows) > 0 || len(s.regions) > 0 {
				continue
			}
			want := 0
			switch {
			case a.categorical():
				want = len(a.categories) - 1
			case a.grid != nil && a.grid.len() <= fewLevels:
				want = a.grid.len() - 1
			case a.grid != nil: // 1, 3 and 9 to either side, and the ends
				level, last := a.grid.nearest(a.decode(x[a.at])), a.grid.len()-1
				levels := map[int]bool{0: true, last: true}
				for _, stride := range []int{1, 3, 9} {
					levels[max(level-stride, 0)], levels[min(level+stride, last)] = true, true
				}
				delete(levels, level)
				want = len(levels)
			}
			if len(neighbors) != want {
				t.Fatalf("%v has %d neighbors in %s, want %d", x, len(neighbors), a.name, want)
			}
		}
	})
}

// Law: from neighbor to neighbor every composition is reached: along sums that have to stay, around
// what is excluded, and where two sums leave no room for two parameters alone. Continuous
// parameters follow.
func TestNeighborsConnect(t *testing.T) {
	four := []definition.Parameter{continuous("a", 0, 1), continuous("b", 0, 1), continuous("c", 0, 1), continuous("d", 0, 1)}
	short := []definition.Parameter{continuous("a", 0, 0.9), continuous("b", 0, 0.9), continuous("c", 0, 0.9), continuous("d", 0, 0.9)}
	sum := definition.Constraint{Terms: map[string]float64{"a": 1, "b": 1, "c": 1, "d": 1}, Equals: ptr(1)}
	weighed := definition.Constraint{Terms: map[string]float64{"a": 1, "b": 2, "c": 3, "d": 5}, Equals: ptr(2.5)}
	steps := func(step float64, names ...string) definition.Instrument {
		in := definition.Instrument{Steps: map[string]float64{}}
		for _, name := range names {
			in.Steps[name] = step
		}
		return in
	}
	middle := definition.Region{Where: map[string]definition.RegionSide{"a": {Min: ptr(0.2), Max: ptr(0.6)}, "b": {Min: ptr(0.2)}}}
	for _, c := range []struct {
		name string
		def  definition.Campaign
		want int // combinations of discrete parameters; 0 to count them
	}{
		{"a mixture", definition.Campaign{Parameters: four, Constraints: []definition.Constraint{sum}, Instrument: steps(0.1, "a", "b", "c", "d")}, 286},
		{"an excluded middle", definition.Campaign{Parameters: four, Constraints: []definition.Constraint{sum}, Instrument: steps(0.2, "a", "b", "c", "d"), Excluded: []definition.Region{middle}}, 37},
		{"two sums", definition.Campaign{Parameters: short, Constraints: []definition.Constraint{sum, weighed}, Instrument: steps(0.1, "a", "b", "c", "d")}, 0},
		{"what is left is dosed continuously", definition.Campaign{Parameters: four, Constraints: []definition.Constraint{sum}, Instrument: steps(0.25, "a", "b")}, 15},
		{"a filler", definition.Campaign{Parameters: []definition.Parameter{
			{Name: "salt", Categories: []definition.CategoryDef{{Name: "u"}, {Name: "v"}, {Name: "w"}}},
			{Name: "k", Values: []float64{0, 0.3, 0.5}}, continuous("a", 0, 1), continuous("b", 0, 0.6)},
			Constraints: []definition.Constraint{{Terms: map[string]float64{"k": 1, "a": 1, "b": 1}, Equals: ptr(1)}},
			Excluded:    []definition.Region{{Where: map[string]definition.RegionSide{"salt": {Is: "v"}, "k": {Min: ptr(0.2), Max: ptr(0.4)}}}}}, 8},
	} {
		s := prepared(t, c.def)
		want := c.want
		if list, finite := s.Finite(); finite {
			if want > 0 && want != len(list) {
				t.Fatalf("%s: %d compositions, counted %d", c.name, len(list), want)
			}
			want = len(list)
		}
		start := must.Get(s.Sample(1, 1))(t)
		x := must.Get(s.Encode(start[0]))(t)
		reached := map[string]bool{id(s.nearest(x)): true}
		for queue := [][]float64{x}; len(queue) > 0; queue = queue[1:] {
			for i := range s.axes {
				neighbors, err := s.Neighbors(queue[0], i)
				if err != nil {
					t.Fatal(c.name, err)
				}
				for _, u := range neighbors {
					if !reached[id(s.nearest(u))] {
						reached[id(s.nearest(u))] = true
						queue = append(queue, u)
					}
				}
			}
		}
		if len(reached) != want || want < 2 {
			t.Errorf("%s: %d of %d are reached", c.name, len(reached), want)
		}
	}
}

// Law: a composition lies in its own slice, and whatever lies in that may be measured; with numbers
// relaxed it satisfies all that they have to.
func TestSlicesAreFeasible(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		def := definitions().Draw(t, "definition")
		s := open(t, def)
		x := drawn(t, s)
		u := make([]float64, s.Dim())
		for j := range u {
			u[j] = rapid.Float64Range(-0.5, 1.5).Draw(t, "u")
		}
		settled := must.Get(s.Around(x, false, 500))(t)
		pure := must.Get(s.Around(x, true, 500))(t)
		if !slices.Equal(settled.Free, s.Continuous()) || len(pure.Free) != len(s.numeric) {
			t.Fatalf("free are %v and %v", settled.Free, pure.Free)
		}
		for _, slice := range []Slice{settled, pure} {
			at, to := make([]float64, len(slice.Free)), make([]float64, len(slice.Free))
			for k, j := range slice.Free {
				at[k], to[k] = x[j], u[j]
			}
			inside := 0
			for _, piece := range slice.Pieces {
				if piece.Violation(at) <= 2*margin {
					inside++
				}
				must.Do(t, piece.Project(at, to))
				y := slices.Clone(x)
				for k, j := range slice.Free {
					y[j] = at[k]
				}
				if v := s.Region().Violation(y); v > 1e-9 {
					t.Fatalf("%v of the slice of %v breaks a constraint by %g", y, x, v)
				}
				if r := s.excluding(s.point(s.numbers(y), s.nearestCategories(y))); r != nil {
					t.Fatalf("%v of the slice of %v lies in %s", y, x, r.describe())
				}
				if _, ok := s.Round(y); !ok && len(slice.Free) == len(settled.Free) {
					t.Fatalf("%v of the slice of %v may not be measured: %s", y, x, obeys(def, s.Decode(y)))
				}
				for k, j := range slice.Free {
					at[k] = x[j]
				}
			}
			if len(slice.Free) > 0 && inside == 0 {
				t.Fatalf("%v is not in its slice of %d pieces", x, len(slice.Pieces))
			}
			if len(slice.Free) == 0 && len(slice.Pieces) > 0 {
				t.Fatal("nothing is free, and there are pieces")
			}
		}
	})
}

// Law: of more pieces than the limit a slice is one; where nothing is left it has none.
func TestSlicesHaveALimit(t *testing.T) {
	s := prepared(t, definition.Campaign{Parameters: []definition.Parameter{continuous("a", 0, 1), {Name: "k", Values: []float64{0, 1}}},
		Constraints: []definition.Constraint{{Terms: map[string]float64{"a": 1, "k": 1}, AtMost: ptr(1)}, {Terms: map[string]float64{"a": 1, "k": -1}, AtMost: ptr(-0.5)}},
		Excluded:    []definition.Region{{Where: map[string]definition.RegionSide{"a": {Min: ptr(0.1), Max: ptr(0.2)}}}, {Where: map[string]definition.RegionSide{"a": {Min: ptr(0.3), Max: ptr(0.4)}}}}})
	for _, c := range []struct {
		k     float64
		limit int
		want  int
	}{{1, 3, 1}, {0, 3, 0}, {1, 2, 1}} { // with k = 1 constraints leave a = 0 alone, with k = 0 nothing
		slice, err := s.Around([]float64{0, c.k}, false, c.limit)
		if err != nil || len(slice.Pieces) != c.want || !slices.Equal(slice.Free, []int{0}) {
			t.Errorf("k = %v, limit %d: %d pieces over %v, %v; want %d", c.k, c.limit, len(slice.Pieces), slice.Free, err, c.want)
		}
	}
	open := prepared(t, definition.Campaign{Parameters: []definition.Parameter{continuous("a", 0, 1), {Name: "k", Values: []float64{0, 1}}},
		Excluded: []definition.Region{{Where: map[string]definition.RegionSide{"a": {Min: ptr(0.1), Max: ptr(0.2)}}}, {Where: map[string]definition.RegionSide{"a": {Min: ptr(0.3), Max: ptr(0.4)}}}}})
	for limit, want := range map[int]int{3: 3, 2: 1} {
		if slice, err := open.Around([]float64{0.5, 0}, false, limit); err != nil || len(slice.Pieces) != want {
			t.Errorf("limit %d: %d pieces, %v; want %d", limit, len(slice.Pieces), err, want)
		}
	}
}

// Law: what is continuous, and how fine the rest is.
func TestContinuousAndLevels(t *testing.T) {
	salt := definition.Parameter{Name: "salt", Categories: []definition.CategoryDef{{Name: "u"}, {Name: "v"}, {Name: "w"}}}
	for _, c := range []struct {
		parameters []definition.Parameter
		steps      map[string]float64
		free       []int
		levels     int
	}{
		{[]definition.Parameter{continuous("a", 0, 1), continuous("b", 0, 1)}, nil, []int{0, 1}, 0},
		{[]definition.Parameter{salt, continuous("a", 0, 1)}, nil, []int{3}, 0},
		{[]definition.Parameter{continuous("a", 0, 1), {Name: "k", Values: []float64{1, 2, 5}}, continuous("b", 0, 1)}, map[string]float64{"b": 0.01}, []int{0}, 101},
		{[]definition.Parameter{{Name: "k", Values: []float64{1, 2, 5}}}, nil, []int{}, 3},
	} {
		s := prepared(t, definition.Campaign{Parameters: c.parameters, Instrument: definition.Instrument{Steps: c.steps}})
		if got := s.Continuous(); !slices.Equal(got, c.free) || s.Levels() != c.levels {
			t.Errorf("continuous are %v, want %v; %d levels, want %d", got, c.free, s.Levels(), c.levels)
		}
	}
}

// Law: a neighbor is not searched for long, and not to be found is not a failure.
func TestNeighborsGiveUp(t *testing.T) {
	s := prepared(t, definition.Campaign{
		Parameters:  []definition.Parameter{continuous("a", 0, 1), continuous("b", 0, 1), continuous("c", 0, 1)},
		Constraints: []definition.Constraint{{Terms: map[string]float64{"a": 1, "b": 1.414213, "c": 1.732051}, Equals: ptr(2.073132)}},
		Instrument:  definition.Instrument{Steps: map[string]float64{"a": 0.001, "b": 0.001, "c": 0.001}},
	})
	x := []float64{0.5, 0.5, 0.5} // hardly another composition satisfies the constraint
	if _, err := s.Snap([]float64{0.51, 0.5, 0.5}); err != nil && !errors.Is(err, ErrUndecided) {
		t.Fatal(err)
	}
	for i := range 3 {
		if neighbors, err := s.Neighbors(x, i); err != nil || len(neighbors) > 0 {
			t.Errorf("neighbors %v, %v", neighbors, err)
		}
	}
}
