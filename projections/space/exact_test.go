package space

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// prepared is the space of a definition that has compositions.
func prepared(t *testing.T, def definition.Campaign) *Space {
	t.Helper()
	return must.Get(New(def))(t)
}

func ab(a, b float64) definition.Point {
	return definition.Point{"a": definition.Number(a), "b": definition.Number(b)}
}

// Law: a constraint with a continuous parameter holds to 1e-9 of the magnitude of its
// terms, and no further; here that is 1 (the sum) + 1 + 1 (the ranges) + 1 (the terms)
// = 4. Bounds hold exactly. A composition that breaks one by more is outside.
func TestConstraintsHoldToTheLastDigit(t *testing.T) {
	wide := []definition.Parameter{continuous("a", 0, 1), continuous("b", 0, 1)}
	terms := map[string]float64{"a": 1, "b": 1}
	for _, c := range []struct {
		name         string
		constraint   definition.Constraint
		above, below bool // whether the sum may be that
	}{
		{"equals", definition.Constraint{Terms: terms, Equals: ptr(1)}, false, false},
		{"at most", definition.Constraint{Terms: terms, AtMost: ptr(1)}, false, true},
		{"at least", definition.Constraint{Terms: terms, AtLeast: ptr(1)}, true, false},
	} {
		s := prepared(t, definition.Campaign{Parameters: wide, Constraints: []definition.Constraint{c.constraint}})
		for _, off := range []float64{0, 1e-12, 3.9e-9, 4.1e-9, 1e-8, 1e-6, 1e-4, 1e-3, 0.1} {
			for _, sign := range []float64{1, -1} {
				err := s.Contains(ab(0.5, 0.5+sign*off))
				want := off < 4e-9 || sign > 0 && c.above || sign < 0 && c.below
				if (err == nil) != want || err != nil && !errors.Is(err, ErrOutside) {
					t.Errorf("%s 1, off by %g: %v", c.name, sign*off, err)
				}
			}
		}
	}
	s := prepared(t, definition.Campaign{Parameters: wide})
	for _, p := range []definition.Point{ab(math.Nextafter(1, 2), 0), ab(0, -5e-324), ab(0.5, 1+1e-12), ab(math.NaN(), 0), ab(0, math.Inf(1))} {
		if err := s.Contains(p); !errors.Is(err, ErrOutside) {
			t.Errorf("%v: %v", p, err)
		}
	}
	for _, p := range []definition.Point{ab(0, 0), ab(1, 1), ab(0, 1)} {
		if err := s.Contains(p); err != nil {
			t.Errorf("%v: %v", p, err)
		}
	}
}

// Law: the magnitude of a constraint's terms is that of its right-hand side, of the ranges and
// of the terms themselves, each times the size of its coefficient: here 2 (the sum) + 10 + 2
// (the ranges) + 1 + 1 (the terms) = 16.
func TestToleranceGrowsWithTheRange(t *testing.T) {
	s := prepared(t, definition.Campaign{
		Parameters:  []definition.Parameter{continuous("a", 0, 10), continuous("b", -0.5, 0.5)},
		Constraints: []definition.Constraint{{Terms: map[string]float64{"a": 1, "b": -2}, Equals: ptr(2)}},
	})
	for off, want := range map[float64]bool{0: true, 1.5e-8: true, -1.5e-8: true, 1.7e-8: false, -1.7e-8: false} {
		if err := s.Contains(ab(1+off, -0.5)); (err == nil) != want {
			t.Errorf("off by %g: %v", off, err)
		}
	}
}

// Law: a definition that cannot be read is an error that names what is wrong, and no space
// without compositions.
func TestUnreadableDefinitions(t *testing.T) {
	wide := []definition.Parameter{continuous("a", 0, 1), continuous("b", 0, 1), {Name: "salt", Categories: []definition.CategoryDef{{Name: "x"}, {Name: "y"}}}}
	parameter := func(p definition.Parameter) definition.Campaign {
		return definition.Campaign{Parameters: append([]definition.Parameter{p}, wide...)}
	}
	constraint := func(c definition.Constraint) definition.Campaign {
		c.Name = "sum"
		return definition.Campaign{Parameters: wide, Constraints: []definition.Constraint{c}}
	}
	region := func(name string, side definition.RegionSide) definition.Campaign {
		return definition.Campaign{Parameters: wide, Excluded: []definition.Region{{Name: "hot", Where: map[string]definition.RegionSide{name: side}}}}
	}
	one := map[string]float64{"a": 1}
	for _, c := range []struct {
		name string
		def  definition.Campaign
		says []string
	}{
		{"nothing at all", definition.Campaign{}, []string{"at least one parameter"}},
		{"a parameter of no kind", parameter(definition.Parameter{Name: "t"}), []string{`"t"`, "min and max"}},
		{"half a range", parameter(definition.Parameter{Name: "t", Min: ptr(1)}), []string{`"t"`, "min and max"}},
		{"bounds the wrong way round", parameter(continuous("t", 2, 1)), []string{`"t"`, "ordered"}},
		{"no number", parameter(continuous("t", math.NaN(), 1)), []string{`"t"`, "finite"}},
		{"an endless range", parameter(continuous("t", 0, math.Inf(1))), []string{`"t"`, "finite"}},
		{"a range without beginning", parameter(continuous("t", math.Inf(-1), 0)), []string{`"t"`, "finite"}},
		{"a value that is not a number", parameter(definition.Parameter{Name: "t", Values: []float64{1, math.NaN()}}), []string{`"t"`, "finite"}},
		{"an endless value", parameter(definition.Parameter{Name: "t", Values: []float64{1, math.Inf(1)}}), []string{`"t"`, "finite"}},
		{"descriptors of one category", parameter(definition.Parameter{Name: "t", Categories: []definition.CategoryDef{
			{Name: "p", Descriptors: one}, {Name: "q"}}}), []string{`"t"`, `"q"`, "descriptors"}},
		{"other descriptors", parameter(definition.Parameter{Name: "t", Categories: []definition.CategoryDef{
			{Name: "p", Descriptors: one}, {Name: "q", Descriptors: map[string]float64{"b": 1}}}}), []string{`"t"`, `"q"`, "descriptors"}},
		{"more descriptors", parameter(definition.Parameter{Name: "t", Categories: []definition.CategoryDef{
			{Name: "p", Descriptors: one}, {Name: "q", Descriptors: map[string]float64{"a": 1, "b": 1}}}}), []string{`"t"`, `"q"`, "descriptors"}},
		{"a constraint on nothing", constraint(definition.Constraint{Equals: ptr(1)}), []string{`"sum"`, "does not exist"}},
		{"on another parameter", constraint(definition.Constraint{Terms: map[string]float64{"a": 1, "z": 1}, Equals: ptr(1)}), []string{`"sum"`, "does not exist"}},
		{"on a category", constraint(definition.Constraint{Terms: map[string]float64{"salt": 1}, Equals: ptr(1)}), []string{`"sum"`, `"salt"`, "categorical"}},
		{"a coefficient that is not a number", constraint(definition.Constraint{Terms: map[string]float64{"a": math.NaN()}, Equals: ptr(1)}), []string{`"sum"`, `"a"`, "finite"}},
		{"an endless coefficient", constraint(definition.Constraint{Terms: map[string]float64{"a": math.Inf(1)}, Equals: ptr(1)}), []string{`"sum"`, `"a"`, "finite"}},
		{"compared with nothing", constraint(definition.Constraint{Terms: one}), []string{`"sum"`, "nothing"}},
		{"compared with no number", constraint(definition.Constraint{Terms: one, AtMost: ptr(math.NaN())}), []string{`"sum"`, "NaN"}},
		{"a sum that no number holds", definition.Campaign{Parameters: []definition.Parameter{continuous("a", 0, 1e308)},
			Constraints: []definition.Constraint{{Terms: map[string]float64{"a": 10}, AtMost: ptr(1)}}}, []string{"coefficients"}},
		{"a range that no number holds", definition.Campaign{Parameters: []definition.Parameter{continuous("a", -1e308, 1e308)}}, []string{"bounds"}},
		{"compared with infinity", constraint(definition.Constraint{Terms: one, AtLeast: ptr(math.Inf(-1))}), []string{`"sum"`, "Inf"}},
		{"a region of another parameter", region("z", definition.RegionSide{Max: ptr(1)}), []string{"hot", "does not exist"}},
		{"a region of another category", region("salt", definition.RegionSide{Is: "z"}), []string{"hot", "salt", `"z"`}},
	} {
		s, err := New(c.def)
		var infeasible *InfeasibleError
		if err == nil || s != nil || errors.As(err, &infeasible) {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		for _, word := range c.says {
			if !strings.Contains(err.Error(), word) {
				t.Errorf("%s: %q does not say %s", c.name, err, word)
			}
		}
	}
}

// Law: a sum is written as a person would: signs between its terms, no coefficient of one.
func TestConstraintsInWords(t *testing.T) {
	three := simplex().Parameters
	for _, c := range []struct {
		constraint definition.Constraint
		want       string
	}{
		{definition.Constraint{Name: "n", Terms: map[string]float64{"a": 1, "b": 2, "c": -0.5}, AtLeast: ptr(1)}, `constraint "n" (a + 2 b - 0.5 c ≥ 1): the sum is 0`},
		{definition.Constraint{Terms: map[string]float64{"a": -1, "b": -1, "c": 3}, AtLeast: ptr(0.25)}, `the constraint -a - b + 3 c ≥ 0.25: the sum is 0`},
		{definition.Constraint{Terms: map[string]float64{"b": -2.5}, AtMost: ptr(-1)}, `the constraint -2.5 b ≤ -1: the sum is 0`},
		{definition.Constraint{Terms: map[string]float64{"c": 1}, Equals: ptr(0.5)}, `the constraint c = 0.5: the sum is 0`},
	} {
		s := prepared(t, definition.Campaign{Parameters: three, Constraints: []definition.Constraint{c.constraint}})
		zero := definition.Point{"a": definition.Number(0), "b": definition.Number(0), "c": definition.Number(0)}
		if err := s.Contains(zero); err == nil || !strings.HasSuffix(err.Error(), c.want) {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
}

// Law: a point of another dimension is a programmer's mistake, and one that is not finite an
// error: nothing is nearest to it.
func TestPointsOfAnotherKind(t *testing.T) {
	s := prepared(t, simplex())
	for _, x := range [][]float64{{}, {0.5, 0.5}, {0.2, 0.3, 0.4, 0.1}} {
		for name, use := range map[string]func(){"Snap": func() { s.Snap(x) }, "Decode": func() { s.Decode(x) }} {
			func() {
				defer func() {
					if recover() == nil {
						t.Errorf("%s takes %v", name, x)
					}
				}()
				use()
			}()
		}
	}
	for _, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		if p, err := s.Snap([]float64{0.2, 0.3, v}); err == nil || p != nil {
			t.Errorf("%v is nearest to %v", p, v)
		}
	}
}

// Law: on steps and values a constraint holds in decimals: 0.1 + 0.2 + 0.7 is 1, and
// nothing that is off by a millionth of a millionth is.
func TestConstraintsOnStepsHoldInDecimals(t *testing.T) {
	three := []definition.Parameter{continuous("a", 0, 1), continuous("b", 0, 1), continuous("c", 0, 1)}
	steps := map[string]float64{"a": 0.1, "b": 0.1, "c": 0.1}
	terms := map[string]float64{"a": 1, "b": 1, "c": 1}
	count := func(c definition.Constraint) int {
		c.Terms = terms
		s, err := New(definition.Campaign{Parameters: three, Constraints: []definition.Constraint{c}, Instrument: definition.Instrument{Steps: steps}})
		var infeasible *InfeasibleError
		if errors.As(err, &infeasible) {
			return 0
		}
		if err != nil {
			t.Fatal(err)
		}
		list, _ := s.Finite()
		return len(list)
	}
	// Of three multiples of 0.1 within [0, 1], i + j + k = 10 has 66 solutions, ≤ 10 has
	// 286, and ≤ 9 has 220.
	for _, c := range []struct {
		constraint definition.Constraint
		want       int
	}{
		{definition.Constraint{Equals: ptr(1)}, 66},
		{definition.Constraint{Equals: ptr(1 + 1e-12)}, 0},
		{definition.Constraint{AtMost: ptr(1)}, 286},
		{definition.Constraint{AtMost: ptr(1 - 1e-12)}, 220},
		{definition.Constraint{AtLeast: ptr(1)}, 1331 - 220},
		{definition.Constraint{AtLeast: ptr(1 + 1e-12)}, 1331 - 286},
	} {
		if got := count(c.constraint); got != c.want {
			t.Errorf("%+v: %d compositions, want %d", c.constraint, got, c.want)
		}
	}
}

// Law: where a sum in steps is off by a millionth of a millionth, the nearest composition is a
// step further, also in a space too large to be listed.
func TestSnapHoldsInDecimals(t *testing.T) {
	def := simplex()
	def.Instrument.Steps = map[string]float64{"a": 0.01, "b": 0.01, "c": 0.01}
	for want, constraint := range map[int]definition.Constraint{
		99: {AtMost: ptr(1 - 1e-12)}, 101: {AtLeast: ptr(1 + 1e-12)}, 100: {AtMost: ptr(1)},
	} {
		constraint.Terms = def.Constraints[0].Terms
		changed := def
		changed.Constraints = []definition.Constraint{constraint}
		x := []float64{0.5, 0.3, 0.2}
		p, err := prepared(t, changed).Snap(x)
		sum, moved := 0, 0
		for i, name := range []string{"a", "b", "c"} {
			v, _ := p[name].Float()
			k := int(math.Round(100 * v))
			sum += k
			moved += max(k-int(100*x[i]), int(100*x[i])-k)
		}
		if err != nil || sum != want || moved != max(want-100, 100-want) {
			t.Errorf("%+v: %v with the sum %d, %v", constraint, p, sum, err)
		}
	}
}

// Law: the nearest composition is the same one in whatever unit it is dosed: of all in steps of a
// hundredth none is nearer.
func TestSnapInAnyUnit(t *testing.T) {
	names, rng := []string{"a", "b", "c"}, rand.New(rand.NewPCG(1, 2))
	for _, unit := range []float64{1e-6, 1e-3, 1, 1e3, 1e6} {
		def := simplex()
		def.Constraints = []definition.Constraint{{Terms: map[string]float64{"a": 1, "b": 2, "c": 3}, AtMost: &unit}}
		def.Instrument.Steps = make(map[string]float64)
		for i, name := range names {
			def.Parameters[i].Max, def.Instrument.Steps[name] = &unit, unit/100
		}
		s := prepared(t, def)
		for range 10 {
			x := []float64{rng.Float64(), rng.Float64(), rng.Float64()}
			least := math.Inf(1)
			for a := range 101 {
				for b := range (100-a)/2 + 1 {
					for c := range (100-a-2*b)/3 + 1 {
						y := []float64{float64(a) / 100, float64(b) / 100, float64(c) / 100}
						least = min(least, squaredDistance(x, y))
					}
				}
			}
			p := must.Get(s.Snap(x))(t)
			distance := 0.0
			for i, name := range names {
				v, _ := p[name].Float()
				distance += (v/unit - x[i]) * (v/unit - x[i])
			}
			if math.Abs(distance-least) > 1e-12 {
				t.Errorf("in steps of %v: %v at %v is nearest to %v, and another one is at %v", unit/100, p, distance, x, least)
			}
		}
	}
}

// Law: a dosed value is the float64 nearest to the decimal number k·step, of all
// multiples between the bounds; a number belongs to it that agrees to nine digits.
func TestStepsAreDecimals(t *testing.T) {
	for _, c := range []struct {
		lo, hi, step float64
		digits       int // of the step
		low, high    int // multiples
	}{
		{0, 1, 0.1, 1, 0, 10}, {0.05, 0.95, 0.1, 1, 1, 9}, {-0.35, 0.35, 0.05, 2, -7, 7}, {0.1, 0.7, 0.1, 1, 1, 7}, {0, 50, 0.001, 3, 0, 50000},
		{-3, -1, 0.25, 2, -12, -4}, {2, 9, 3, 0, 1, 3}, {1e6, 1e6 + 1, 0.3, 1, 3333334, 3333336}, {0.3, 0.3, 0.1, 1, 3, 3},
		// Multiples of this one have more digits than a float64 has.
		{0, 247, 0.12345678901237, 14, 0, 2000}, {-247, 0, 0.12345678901237, 14, -2000, 0},
	} {
		g, ok := stepGrid(c.lo, c.hi, c.step)
		if !ok || g.len() != c.high-c.low+1 {
			t.Fatalf("%v to %v in steps of %v: %d values, want %d", c.lo, c.hi, c.step, g.len(), c.high-c.low+1)
		}
		written := int(math.Round(c.step * math.Pow10(c.digits)))
		for i := range g.len() {
			want := must.Get(strconv.ParseFloat(fmt.Sprintf("%de-%d", (c.low+i)*written, c.digits), 64))(t)
			if got := g.value(i); got != want {
				t.Fatalf("value %d of %v to %v in steps of %v is %v, want %v", i, c.lo, c.hi, c.step, got, want)
			}
		}
		v := g.value(g.len() - 1)
		for off, want := range map[float64]bool{0: true, 1e-12: true, 1e-7: false, 1e-4: false} {
			if got := g.contains(v + off*max(math.Abs(v), c.step)); got != want {
				t.Errorf("%v off by %g of itself is a multiple of %v: %v", v, off, c.step, got)
			}
		}
	}
	for _, none := range [][3]float64{{0.11, 0.19, 0.1}, {0, 1, 0}, {0, 1, -1}, {0, 1, math.NaN()}, {0, 1e300, 1e-10}} {
		if g, ok := stepGrid(none[0], none[1], none[2]); ok {
			t.Errorf("%v: %d values", none, g.len())
		}
	}
}

// Law: of two equally near values the lower is the nearest; a hair beside a value is
// beside it.
func TestGridIsSearchedRightAtItsValues(t *testing.T) {
	steps, _ := stepGrid(1, 4, 1)
	for _, g := range []*grid{{values: []float64{1, 2, 3, 4}}, steps} {
		for _, c := range []struct {
			x                    float64
			floor, ceil, nearest int
		}{
			{2, 1, 1, 1}, {2.5, 1, 2, 1}, {math.Nextafter(2.5, 3), 1, 2, 2}, {math.Nextafter(3, 4), 2, 3, 2}, {math.Nextafter(3, 0), 1, 2, 2},
			{0, -1, 0, 0}, {9, 3, 4, 3},
		} {
			if f, k, n := g.floor(c.x), g.ceil(c.x), g.nearest(c.x); f != c.floor || k != c.ceil || n != c.nearest {
				t.Errorf("%v: floor %d, ceiling %d, nearest %d; want %d, %d, %d", c.x, f, k, n, c.floor, c.ceil, c.nearest)
			}
		}
	}
	// The quotient of a number just below -0.9 and 0.1 is rounded to -9 itself.
	tenths, _ := stepGrid(-0.9, 0.1, 0.1)
	if f, k := tenths.floor(math.Nextafter(-0.9, -1)), tenths.ceil(math.Nextafter(-0.9, -1)); f != -1 || k != 0 {
		t.Errorf("a hair below the first value: floor %d, ceiling %d", f, k)
	}
}

// Law: of two equally near values of a parameter the composition takes the lower, as of a list,
// on either side of zero and also where it has to be searched for.
func TestSnapTakesTheLowerOfTwo(t *testing.T) {
	for _, lo := range []float64{-8, -2, 0, 3} {
		for _, constraints := range [][]definition.Constraint{nil, {{Terms: map[string]float64{"a": 1, "b": 1}, AtMost: ptr(100)}}} {
			s := prepared(t, definition.Campaign{
				Parameters: []definition.Parameter{continuous("a", lo, lo+4), continuous("b", 0, 1)}, Constraints: constraints,
				Instrument: definition.Instrument{Steps: map[string]float64{"a": 1}},
			})
			for k := range 4 {
				p, err := s.Snap([]float64{(float64(k) + 0.5) / 4, 0.5})
				if want := s.Format(ab(lo+float64(k), 0.5)); err != nil || s.Format(p) != want {
					t.Errorf("half a step above %v: %v, %v, want %s", lo+float64(k), p, err, want)
				}
			}
		}
	}
}

// Law: a space is the unit cube where all parameters are continuous and nothing is
// constrained, excluded or listed.
func TestBox(t *testing.T) {
	wide := []definition.Parameter{continuous("a", 0, 1), continuous("b", 0, 1)}
	for name, c := range map[string]struct {
		def  definition.Campaign
		want bool
	}{
		"continuous":  {definition.Campaign{Parameters: wide}, true},
		"constrained": {definition.Campaign{Parameters: wide, Constraints: []definition.Constraint{{Terms: map[string]float64{"a": 1}, AtMost: ptr(0.5)}}}, false},
		"excluded":    {definition.Campaign{Parameters: wide, Excluded: []definition.Region{{Where: map[string]definition.RegionSide{"a": {Max: ptr(0.5)}}}}}, false},
		"listed":      {definition.Campaign{Parameters: wide, Candidates: []definition.Point{ab(0, 0)}}, false},
		"of values":   {definition.Campaign{Parameters: []definition.Parameter{{Name: "a", Values: []float64{1, 2}}}}, false},
		"of categories": {definition.Campaign{Parameters: append(slices.Clone(wide),
			definition.Parameter{Name: "c", Categories: []definition.CategoryDef{{Name: "x"}, {Name: "y"}}})}, false},
	} {
		if got := prepared(t, c.def).Box(); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// Law: floor, ceiling and the nearest value of a grid are what looking at every value
// finds; the lower of two equally near.
func TestGridIsSearchedRight(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var g *grid
		if rapid.Bool().Draw(t, "values") {
			values := rapid.SliceOfNDistinct(rapid.IntRange(-20, 20), 1, 8, rapid.ID[int]).Draw(t, "list")
			slices.Sort(values)
			g = &grid{}
			for _, v := range values {
				g.values = append(g.values, float64(v)/4)
			}
		} else {
			step := rapid.SampledFrom([]float64{0.1, 0.05, 0.3, 0.07, 1}).Draw(t, "step")
			lo := float64(rapid.IntRange(-30, 30).Draw(t, "lo")) / 10
			var ok bool
			if g, ok = stepGrid(lo, lo+float64(rapid.IntRange(0, 40).Draw(t, "width"))/10, step); !ok {
				t.Skip("empty")
			}
		}
		x := float64(rapid.IntRange(-3200, 9000).Draw(t, "x")) / 800
		if rapid.Bool().Draw(t, "on") { // on a value, or a hair beside it
			x = g.value(rapid.IntRange(0, g.len()-1).Draw(t, "i"))
			x = math.Nextafter(x, rapid.SampledFrom([]float64{x, -100, 100}).Draw(t, "towards"))
		}
		floor, ceil, nearest := -1, g.len(), 0
		for i := range g.len() {
			v := g.value(i)
			if v <= x {
				floor = i
			}
			if v >= x && ceil == g.len() {
				ceil = i
			}
			if math.Abs(v-x) < math.Abs(g.value(nearest)-x) {
				nearest = i
			}
		}
		if f, c, n := g.floor(x), g.ceil(x), g.nearest(x); f != floor || c != ceil || n != nearest {
			t.Fatalf("%v: floor %d, ceiling %d, nearest %d; want %d, %d, %d", x, f, c, n, floor, ceil, nearest)
		}
	})
}

// Law: of a list of candidates a composition is one that agrees with it to nine digits
// of each range; the faulty ones of a list are none.
func TestCandidatesAreMeantExactly(t *testing.T) {
	s := prepared(t, definition.Campaign{
		Parameters: []definition.Parameter{continuous("a", 0, 10), continuous("b", 0, 1)},
		Candidates: []definition.Point{ab(1, 0.5), ab(11, 0.5), ab(5, 0.25), {"a": definition.Number(1)}},
	})
	if list, ok := s.Finite(); !ok || len(list) != 2 {
		t.Fatalf("the list is %v", list)
	}
	for _, c := range []struct {
		p    definition.Point
		want bool
	}{
		{ab(1, 0.5), true}, {ab(1+9e-9, 0.5), true}, {ab(1+2e-8, 0.5), false}, {ab(1+1e-4, 0.5), false}, {ab(5, 0.25+1e-4), false},
		{ab(5, 0.5), false}, {ab(11, 0.5), false},
	} {
		if err := s.Contains(c.p); (err == nil) != c.want {
			t.Errorf("%v: %v", c.p, err)
		}
	}
}

// Law: of equally near compositions of a list the first is the nearest.
func TestEquallyNearOfAList(t *testing.T) {
	for _, list := range [][]definition.Point{{ab(0, 0), ab(1, 1)}, {ab(1, 1), ab(0, 0)}} {
		s := prepared(t, definition.Campaign{Parameters: []definition.Parameter{continuous("a", 0, 1), continuous("b", 0, 1)}, Candidates: list})
		if p, err := s.Snap([]float64{0.5, 0.5}); err != nil || s.Format(p) != s.Format(list[0]) {
			t.Errorf("of %v %v is the nearest, %v", list, p, err)
		}
	}
}

// Law: a composition belongs to the space by each of its parameters and no other.
func TestWhatIsNoComposition(t *testing.T) {
	s := prepared(t, definition.Campaign{Parameters: []definition.Parameter{
		continuous("a", 0, 1), {Name: "v", Values: []float64{1, 2, 4}}, {Name: "salt", Categories: []definition.CategoryDef{{Name: "x"}, {Name: "y"}}}}})
	whole := func(change func(definition.Point)) definition.Point {
		p := definition.Point{"a": definition.Number(0.5), "v": definition.Number(2), "salt": definition.Category("y")}
		change(p)
		return p
	}
	for _, c := range []struct {
		name         string
		p            definition.Point
		within, read bool // whether it may be measured, and encoded
		words        string
	}{
		{"whole", whole(func(definition.Point) {}), true, true, ""},
		{"a number out of bounds", whole(func(p definition.Point) { p["a"] = definition.Number(1.2) }), false, true, "outside 0 to 1"},
		{"no value of the list", whole(func(p definition.Point) { p["v"] = definition.Number(3) }), false, true, "not one of its values"},
		{"a parameter missing", whole(func(p definition.Point) { delete(p, "v") }), false, false, `"v" is missing`},
		{"a parameter too many", whole(func(p definition.Point) { p["z"] = definition.Number(1) }), false, false, `no parameter "z"`},
		{"another parameter", whole(func(p definition.Point) { delete(p, "v"); p["z"] = definition.Number(1) }), false, false, `"v" is missing`},
		{"a number for a category", whole(func(p definition.Point) { p["salt"] = definition.Number(1) }), false, false, "one of x, y"},
		{"another category", whole(func(p definition.Point) { p["salt"] = definition.Category("z") }), false, false, `no category "z"`},
		{"a category for a number", whole(func(p definition.Point) { p["a"] = definition.Category("x") }), false, false, "must be a number"},
		{"no number", whole(func(p definition.Point) { p["a"] = definition.Number(math.NaN()) }), false, false, "finite"},
	} {
		err := s.Contains(c.p)
		if (err == nil) != c.within || err != nil && (!errors.Is(err, ErrOutside) || !strings.Contains(err.Error(), c.words)) {
			t.Errorf("%s: %v", c.name, err)
		}
		if _, err := s.Encode(c.p); (err == nil) != c.read {
			t.Errorf("%s is encoded: %v", c.name, err)
		}
		if _, err := s.Key(c.p); (err == nil) != c.read {
			t.Errorf("%s has a key: %v", c.name, err)
		}
	}
}

// Law: a number is encoded as its share of the range, a category by its own coordinate
// or its descriptors, each as its share of theirs; what is decoded is the nearest
// value, clamped.
func TestEncodingIsAsDocumented(t *testing.T) {
	def := definition.Campaign{
		Parameters: []definition.Parameter{continuous("a", -2, 6), {Name: "v", Values: []float64{4, 1, 2, 2}},
			{Name: "salt", Categories: []definition.CategoryDef{{Name: "x"}, {Name: "y"}, {Name: "z"}}}, continuous("fixed", 3, 3),
			{Name: "solvent", Categories: []definition.CategoryDef{
				{Name: "p", Descriptors: map[string]float64{"viscosity": 2, "epsilon": 90, "same": 5}},
				{Name: "q", Descriptors: map[string]float64{"viscosity": 6, "epsilon": 30, "same": 5}},
				{Name: "r", Descriptors: map[string]float64{"viscosity": 3, "epsilon": 60, "same": 5}}}}, continuous("dosed", 0, 1)},
		Instrument: definition.Instrument{Steps: map[string]float64{"dosed": 0.4}},
	}
	s := prepared(t, def)
	p := definition.Point{"a": definition.Number(0), "v": definition.Number(2), "salt": definition.Category("y"), "fixed": definition.Number(3),
		"solvent": definition.Category("r"), "dosed": definition.Number(0.8)}
	x, err := s.Encode(p)
	if want := []float64{0.25, 1. / 3, 0, 1, 0, 0, 0.5, 0, 0.25, 0.8}; err != nil || !slices.Equal(x, want) {
		t.Errorf("encoded it is %v (%v), want %v", x, err, want)
	}
	if got := fmt.Sprint(s.Coordinates()); got != "[[0] [1] [2 3 4] [5] [6 7 8] [9]]" || s.Dim() != 10 {
		t.Errorf("the coordinates are %s of %d", got, s.Dim())
	}
	for i, span := range map[int]float64{0: 8, 1: 3, 3: 1, 5: 1} {
		if s.Span(i) != span {
			t.Errorf("parameter %d spans %v, want %v", i, s.Span(i), span)
		}
	}
	lower, upper, _, _, _, _ := s.Polytope()
	if lower[9] != 0 || upper[9] != 0.8 { // the last step within the bounds
		t.Errorf("the dosed parameter goes from %v to %v", lower[9], upper[9])
	}
	for _, c := range []struct {
		x    []float64
		want string
	}{
		{x, "a 0, v 2, salt y, fixed 3, solvent r, dosed 0.8"},
		{[]float64{-1, 2, 0.4, 0.2, 0.3, 9, 1, 0, 0, 7}, "a -2, v 4, salt x, fixed 3, solvent p, dosed 0.8"},
		{[]float64{2, -1, 0.1, 0.2, 0.3, -9, 0, 0, 1, 0.19}, "a 6, v 1, salt z, fixed 3, solvent q, dosed 0"},
		{[]float64{0.5, 0.16, 0, 0, 0, 0, 0.5, 9, 0.3, 0.21}, "a 2, v 1, salt x, fixed 3, solvent r, dosed 0.4"},
		{[]float64{0.5, 0.18, 0, 0, 0, 0, 0.5, 9, 0.3, 0.21}, "a 2, v 2, salt x, fixed 3, solvent r, dosed 0.4"},
	} {
		if got := s.Format(s.Decode(c.x)); got != c.want {
			t.Errorf("%v is %s, want %s", c.x, got, c.want)
		}
	}
	if s.Box() {
		t.Error("it is taken for the unit cube")
	}
}

// Law: what leaves no choice is a parameter all the same: one category, one value, bounds
// that meet, alone and beside others that constraints tie together.
func TestParametersWithoutChoice(t *testing.T) {
	settled := []definition.Parameter{
		{Name: "salt", Categories: []definition.CategoryDef{{Name: "x"}}}, {Name: "v", Values: []float64{2.5}}, continuous("fixed", 3, 3),
	}
	want := "salt x, v 2.5, fixed 3"
	s := prepared(t, definition.Campaign{Parameters: settled})
	list, finite := s.Finite()
	if !finite || len(list) != 1 || s.Format(list[0]) != want {
		t.Errorf("the list is %v, %v", list, finite)
	}
	mixed := simplex()
	mixed.Parameters = append(mixed.Parameters, settled...)
	s = prepared(t, mixed)
	sample := must.Get(s.Sample(20, 5))(t)
	for _, p := range sample {
		if err := s.Contains(p); err != nil || !strings.HasSuffix(s.Format(p), want) {
			t.Errorf("%s: %v", s.Format(p), err)
		}
	}
}

// Law: two compositions have one key where no coordinate differs by a billionth of its range.
func TestKeysTellCompositionsApart(t *testing.T) {
	s := prepared(t, definition.Campaign{Parameters: []definition.Parameter{continuous("a", 0, 100), continuous("b", 0, 1)}})
	own := must.Get(s.Key(ab(50, 0.5)))(t)
	like := must.Get(s.Like(ab(50, 0.5)))(t)
	for off, same := range map[float64]bool{1e-11: true, 3e-10: true, 2e-9: false, 1e-6: false} {
		for _, p := range []definition.Point{ab(50+100*off, 0.5), ab(50, 0.5-off)} {
			if key, err := s.Key(p); err != nil || (key == own) != same {
				t.Errorf("off by %g: the same key %v, %v", off, key == own, err)
			}
			if alike, err := like(p); err != nil || alike != same {
				t.Errorf("off by %g: alike %v, %v", off, alike, err)
			}
		}
	}
	// A billionth is written 1, 37 of them 11, in base 36: 1, 12 is not 11, 2.
	one, _ := s.Key(ab(100*1e-9, 38e-9))
	other, _ := s.Key(ab(100*37e-9, 2e-9))
	if one == other {
		t.Error("coordinates run into each other")
	}
}

// Law: a composition is like another one where their keys are equal, in spaces of every
// shape, and like none of another space.
func TestLikeIsTheSameKey(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := open(t, definitions().Draw(t, "definition"))
		sample := must.Get(s.Sample(4, rapid.Uint64().Draw(t, "seed")))(t)
		// One parameter of another composition makes neighbors that differ in it alone.
		name := rapid.SampledFrom(s.Parameters()).Draw(t, "parameter")
		neighbor, larger := maps.Clone(sample[0]), maps.Clone(sample[0])
		neighbor[name] = sample[1][name]
		larger["of another space"] = definition.Number(1)
		smaller := maps.Clone(sample[0])
		delete(smaller, name)
		like := must.Get(s.Like(sample[0]))(t)
		own := must.Get(s.Key(sample[0]))(t)
		for _, p := range append(sample, neighbor, larger, smaller) {
			key, err := s.Key(p)
			if alike, _ := like(p); alike != (err == nil && key == own) {
				t.Errorf("%v is like %v: %v", p, sample[0], alike)
			}
		}
	})
}

// Law: no composition that may be measured is nearer than the one that is snapped to,
// whatever shapes the space; what is snapped is exact.
func TestNothingIsNearerThanSnap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		def := definitions().Draw(t, "definition")
		s := open(t, def)
		x := make([]float64, s.Dim())
		for i := range x {
			x[i] = rapid.Float64Range(-0.3, 1.3).Draw(t, "x")
		}
		p := must.Get(s.Snap(x))(t)
		u := must.Get(s.Encode(p))(t)
		sample, err := s.Sample(200, rapid.Uint64().Draw(t, "seed"))
		if err != nil {
			t.Skip(err)
		}
		for _, q := range sample {
			v := must.Get(s.Encode(q))(t)
			// Projections on a polytope are exact to some 1e-8.
			if d := squaredDistance(v, x); d < squaredDistance(u, x)-1e-6 {
				t.Fatalf("snapped to %v at %v, and %v is at %v", p, squaredDistance(u, x), q, d)
			}
		}
		for _, c := range def.Constraints {
			sum, magnitude := new(big.Rat), 0.0
			for _, par := range def.Parameters {
				coef, named := c.Terms[par.Name]
				if !named {
					continue
				}
				v, _ := p[par.Name].Float()
				sum.Add(sum, new(big.Rat).Mul(decimal(coef), decimal(v)))
				i := slices.Index(s.Parameters(), par.Name)
				magnitude += math.Abs(coef)*s.Span(i) + math.Abs(coef*v)
			}
			off := func(rhs float64) float64 {
				d, _ := new(big.Rat).Sub(sum, decimal(rhs)).Float64()
				return d / (magnitude + math.Abs(rhs))
			}
			switch {
			case c.Equals != nil && math.Abs(off(*c.Equals)) > 1.001e-9, c.AtMost != nil && off(*c.AtMost) > 1.001e-9, c.AtLeast != nil && off(*c.AtLeast) < -1.001e-9:
				t.Fatalf("%v breaks %+v", p, c)
			}
		}
	})
}

// Law: an excluded region is left through the face that leads to the nearest
// composition, by a billionth of the range, or to the next step or value.
func TestRegionsAreLeftBySteps(t *testing.T) {
	where := func(sides map[string]definition.RegionSide) []definition.Region {
		return []definition.Region{{Where: sides}}
	}
	box := []definition.Parameter{continuous("a", 0, 10), continuous("b", 0, 1)}
	values := []definition.Parameter{{Name: "a", Values: []float64{0, 2, 5, 10}}, continuous("b", 0, 1)}
	middle := definition.RegionSide{Min: ptr(3), Max: ptr(6)}
	for _, c := range []struct {
		name string
		def  definition.Campaign
		x    []float64
		a, b float64
	}{
		{"to the left", definition.Campaign{Parameters: box, Excluded: where(map[string]definition.RegionSide{"a": middle})}, []float64{0.4, 0.5}, 3 - 1e-8, 0.5},
		{"to the right", definition.Campaign{Parameters: box, Excluded: where(map[string]definition.RegionSide{"a": middle})}, []float64{0.5, 0.5}, 6 + 1e-8, 0.5},
		{"upwards", definition.Campaign{Parameters: box, Excluded: where(map[string]definition.RegionSide{"a": middle, "b": {Min: ptr(0.2), Max: ptr(0.6)}})}, []float64{0.45, 0.55}, 4.5, 0.6 + 1e-9},
		{"downwards", definition.Campaign{Parameters: box, Excluded: where(map[string]definition.RegionSide{"a": middle, "b": {Min: ptr(0.2), Max: ptr(0.6)}})}, []float64{0.45, 0.22}, 4.5, 0.2 - 1e-9},
		{"not where it is", definition.Campaign{Parameters: box, Excluded: where(map[string]definition.RegionSide{"a": middle, "b": {Min: ptr(0.2)}})}, []float64{0.45, 0.1}, 4.5, 0.1},
		{"to a value", definition.Campaign{Parameters: values, Excluded: where(map[string]definition.RegionSide{"a": {Min: ptr(1.5), Max: ptr(5)}})}, []float64{0.6, 0.5}, 10, 0.5},
		{"to a lower value", definition.Campaign{Parameters: values, Excluded: where(map[string]definition.RegionSide{"a": {Min: ptr(2), Max: ptr(9)}})}, []float64{0.3, 0.5}, 0, 0.5},
		{"to a step", definition.Campaign{Parameters: box, Excluded: where(map[string]definition.RegionSide{"a": middle}), Instrument: definition.Instrument{Steps: map[string]float64{"a": 0.5}}}, []float64{0.35, 0.5}, 2.5, 0.5},
		{"past an open end", definition.Campaign{Parameters: box, Excluded: where(map[string]definition.RegionSide{"a": {Min: ptr(3)}})}, []float64{0.9, 0.5}, 3 - 1e-8, 0.5},
	} {
		s := prepared(t, c.def)
		p := must.Get(s.Snap(c.x))(t)
		a, _ := p["a"].Float()
		b, _ := p["b"].Float()
		if math.Abs(a-c.a) > 1e-14*10 || math.Abs(b-c.b) > 1e-14 || s.Contains(p) != nil {
			t.Errorf("%s: %v is snapped to %.12g, %.12g, want %.12g, %.12g (%v)", c.name, c.x, a, b, c.a, c.b, s.Contains(p))
		}
	}
	s := prepared(t, definition.Campaign{Parameters: box, Excluded: where(map[string]definition.RegionSide{"a": middle})})
	for _, c := range []struct {
		a    float64
		want bool
	}{{3, true}, {6, true}, {4, true}, {math.Nextafter(3, 0), false}, {math.Nextafter(6, 7), false}} {
		if name, in := s.Excluded(ab(c.a, 0.5)); in != c.want || in && name != "number 1" || (s.Contains(ab(c.a, 0.5)) == nil) == c.want {
			t.Errorf("at %v: excluded by %q, %v", c.a, name, in)
		}
	}
}

// Law: of no more pieces than the limit each is a cell of its own, of more the whole
// relaxed space is one.
func TestCellsHaveALimit(t *testing.T) {
	s := prepared(t, definition.Campaign{Parameters: []definition.Parameter{continuous("a", 0, 1), {Name: "c", Categories: []definition.CategoryDef{{Name: "x"}, {Name: "y"}, {Name: "z"}}}},
		Excluded: []definition.Region{{Where: map[string]definition.RegionSide{"a": {Min: ptr(0.4), Max: ptr(0.6)}}}}})
	for limit, want := range map[int]int{6: 6, 7: 6, 5: 1, 2: 1, 1: 1} { // two parts of three categories
		cells, whole, err := s.Cells(limit)
		if err != nil || len(cells) != want || whole != (want == 1) {
			t.Errorf("limit %d: %d cells, whole %v, %v; want %d", limit, len(cells), whole, err, want)
		}
	}
	s = prepared(t, definition.Campaign{Parameters: []definition.Parameter{continuous("a", 0, 1)},
		Excluded: []definition.Region{{Where: map[string]definition.RegionSide{"a": {Min: ptr(0.4), Max: ptr(0.6)}}}}})
	if cells, whole, err := s.Cells(2); err != nil || len(cells) != 2 || whole {
		t.Errorf("of two parts and no category: %d cells, whole %v, %v", len(cells), whole, err)
	}
}
