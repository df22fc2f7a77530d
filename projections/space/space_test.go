package space

import (
	"errors"
	"math"
	"math/big"
	"strings"
	"testing"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/num/optimize"
	"github.com/campaignd/campaignd/internal/tests/must"
	"pgregory.net/rapid"
)

func ptr(x float64) *float64 { return &x }

func continuous(name string, lo, hi float64) definition.Parameter {
	return definition.Parameter{Name: name, Min: &lo, Max: &hi}
}

// mixture is four fractions that sum to one, with bounds, an inequality and
// steps of 0.01.
func mixture() definition.Campaign {
	return definition.Campaign{
		Parameters: []definition.Parameter{continuous("ec", 0.1, 0.6), continuous("dmc", 0, 0.8), continuous("emc", 0, 0.8), continuous("fec", 0, 0.15)},
		Constraints: []definition.Constraint{
			{Name: "sum", Terms: map[string]float64{"ec": 1, "dmc": 1, "emc": 1, "fec": 1}, Equals: ptr(1)},
			{Name: "viscous", Terms: map[string]float64{"ec": 1, "fec": 1}, AtMost: ptr(0.6)},
		},
		Instrument: definition.Instrument{Steps: map[string]float64{"ec": 0.01, "dmc": 0.01, "emc": 0.01, "fec": 0.01}},
	}
}

// definitions draws design spaces of every shape, around a composition that is
// made to be feasible, so that the space is not empty.
func definitions() *rapid.Generator[definition.Campaign] {
	return rapid.Custom(func(t *rapid.T) definition.Campaign {
		def := definition.Campaign{Instrument: definition.Instrument{Steps: map[string]float64{}}}
		inside, gridded := map[string]float64{}, map[string]bool{}
		var numeric []string
		coarse := rapid.SampledFrom([]float64{0.05, 0.1, 0.25}).Draw(t, "step")
		for i := range rapid.IntRange(1, 5).Draw(t, "parameters") {
			name := string(rune('a' + i))
			switch rapid.SampledFrom([]string{"free", "free", "steps", "steps", "values", "one-hot", "descriptors"}).Draw(t, name) {
			case "free":
				lo := rapid.Float64Range(-2, 1).Draw(t, "lo")
				hi := lo + rapid.Float64Range(0.01, 3).Draw(t, "width")
				def.Parameters = append(def.Parameters, continuous(name, lo, hi))
				inside[name] = lo + (hi-lo)*rapid.Float64Range(0, 1).Draw(t, "inside")
				numeric = append(numeric, name)
			case "steps":
				lo := float64(rapid.IntRange(-4, 4).Draw(t, "lo")) * coarse
				k := rapid.IntRange(0, 20).Draw(t, "k")
				def.Parameters = append(def.Parameters, continuous(name, lo-coarse/3, lo+float64(k+2)*coarse))
				def.Instrument.Steps[name] = coarse
				gridded[name] = true
				inside[name] = lo + float64(rapid.IntRange(0, k).Draw(t, "inside"))*coarse
				numeric = append(numeric, name)
			case "values":
				def.Parameters = append(def.Parameters, definition.Parameter{Name: name, Values: []float64{0.5, 1, 2.5, 4}})
				gridded[name] = true
				inside[name] = rapid.SampledFrom([]float64{0.5, 1, 2.5, 4}).Draw(t, "inside")
				numeric = append(numeric, name)
			case "one-hot":
				def.Parameters = append(def.Parameters, definition.Parameter{Name: name, Categories: []definition.CategoryDef{{Name: "x"}, {Name: "y"}, {Name: "z"}}})
			case "descriptors":
				def.Parameters = append(def.Parameters, definition.Parameter{Name: name, Categories: []definition.CategoryDef{
					{Name: "x", Descriptors: map[string]float64{"p": 1, "q": 5}},
					{Name: "y", Descriptors: map[string]float64{"p": 2, "q": 5}},
					{Name: "z", Descriptors: map[string]float64{"p": 7, "q": 1}}}})
			}
		}
		round := func(x float64) float64 { return math.Round(x*1e6) / 1e6 } // as a person writes it
		if len(numeric) > 1 {
			for range rapid.IntRange(0, 2).Draw(t, "constraints") {
				c := definition.Constraint{Terms: map[string]float64{}}
				var sum float64
				whole, free := true, false
				for _, name := range numeric {
					coef := float64(rapid.IntRange(-2, 2).Draw(t, "coefficient"))
					if coef == 0 {
						continue
					}
					c.Terms[name] = coef
					sum += coef * inside[name]
					whole = whole && def.Instrument.Steps[name] > 0
					free = free || !gridded[name]
				}
				if len(c.Terms) == 0 {
					continue
				}
				switch kind := rapid.IntRange(0, 2).Draw(t, "kind"); {
				case kind == 0 && (whole || free) && len(def.Constraints) == 0:
					c.Equals = ptr(round(sum))
				case kind == 1:
					c.AtMost = ptr(round(sum) + 0.001)
				default:
					c.AtLeast = ptr(round(sum) - 0.001)
				}
				def.Constraints = append(def.Constraints, c)
			}
		}
		for range rapid.IntRange(0, 2).Draw(t, "regions") {
			where := map[string]definition.RegionSide{}
			for _, p := range def.Parameters {
				if rapid.Bool().Draw(t, "restricts") {
					continue
				}
				if p.Categories != nil {
					where[p.Name] = definition.RegionSide{Is: "y"}
					continue
				}
				x := inside[p.Name] + 0.02
				where[p.Name] = definition.RegionSide{Min: &x, Max: ptr(x + rapid.Float64Range(0.01, 1).Draw(t, "excluded"))}
			}
			if len(where) > 0 {
				def.Excluded = append(def.Excluded, definition.Region{Where: where})
			}
		}
		return def
	})
}

// obeys is a second, plain reading of the definition.
func obeys(def definition.Campaign, p definition.Point) string {
	for _, par := range def.Parameters {
		x, isNumber := p[par.Name].Float()
		switch {
		case par.Categories != nil:
			if isNumber {
				return par.Name + " is not a category"
			}
		case par.Values != nil:
			found := false
			for _, v := range par.Values {
				found = found || v == x
			}
			if !found {
				return par.Name + " is not one of its values"
			}
		default:
			if x < *par.Min || x > *par.Max {
				return par.Name + " is out of bounds"
			}
			if step := def.Instrument.Steps[par.Name]; step > 0 {
				if q := new(big.Rat).Quo(decimal(x), decimal(step)); !q.IsInt() {
					return par.Name + " is not a multiple of its step"
				}
			}
		}
	}
	for _, c := range def.Constraints {
		sum, size := 0.0, 0.0
		exact, whole := new(big.Rat), true
		for name, coef := range c.Terms {
			x, _ := p[name].Float()
			sum += coef * x
			size += math.Abs(coef * x)
			for _, par := range def.Parameters {
				if par.Name == name && par.Min != nil {
					size += math.Abs(coef) * (*par.Max - *par.Min)
				}
			}
			exact.Add(exact, new(big.Rat).Mul(decimal(coef), decimal(x)))
			whole = whole && def.Instrument.Steps[name] > 0
		}
		switch {
		case c.Equals != nil && whole && exact.Cmp(decimal(*c.Equals)) != 0:
			return "an equality in steps does not hold in decimals"
		case c.Equals != nil && math.Abs(sum-*c.Equals) > 1e-9*(size+math.Abs(*c.Equals)),
			c.AtMost != nil && sum > *c.AtMost+1e-9*(size+math.Abs(*c.AtMost)),
			c.AtLeast != nil && sum < *c.AtLeast-1e-9*(size+math.Abs(*c.AtLeast)):
			return "a constraint does not hold"
		}
	}
	for _, r := range def.Excluded {
		inside := true
		for name, side := range r.Where {
			x, _ := p[name].Float()
			if side.Is != "" {
				inside = inside && p[name].Name() == side.Is
			} else {
				inside = inside && x >= *side.Min && x <= *side.Max
			}
		}
		if inside {
			return "it lies in an excluded region"
		}
	}
	return ""
}

// open builds a drawn space; those that the exclusions happen to empty are
// skipped.
func open(t *rapid.T, def definition.Campaign) *Space {
	s, err := New(def)
	var infeasible *InfeasibleError
	if errors.As(err, &infeasible) {
		t.Skip("nothing is left of this space: " + err.Error())
	}
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Whatever is snapped, sampled or designed may be measured.
func TestEverythingSuggestedMayBeMeasured(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		def := definitions().Draw(t, "definition")
		s := open(t, def)
		x := make([]float64, s.Dim())
		for i := range x {
			x[i] = rapid.Float64Range(-0.3, 1.3).Draw(t, "x")
		}
		var points []definition.Point
		p := must.Get(s.Snap(x))(t)
		points = append(points, p)
		for _, kind := range []string{definition.DesignSobol, definition.DesignRandom} {
			design := must.Get(s.Design(kind, 4, 7))(t)
			points = append(points, design...)
		}
		sample := must.Get(s.Sample(4, 7))(t)
		points = append(points, sample...)
		for _, p := range points {
			if why := obeys(def, p); why != "" {
				t.Fatalf("%v: %s", p, why)
			}
			must.Do(t, s.Contains(p))
		}
	})
}

// Encoding a composition and snapping or decoding the result gives it back.
func TestEncodingIsInvertible(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		def := definitions().Draw(t, "definition")
		s := open(t, def)
		sample := must.Get(s.Sample(2, rapid.Uint64().Draw(t, "seed")))(t)
		for _, p := range sample {
			x := must.Get(s.Encode(p))(t)
			snapped := must.Get(s.Snap(x))(t)
			for name, back := range map[string]definition.Point{"Decode": s.Decode(x), "Snap": snapped} {
				y := must.Get(s.Encode(back))(t)
				if d := math.Sqrt(squaredDistance(x, y)); d > 1e-8 {
					t.Fatalf("%s moves %v to %v, by %g", name, p, back, d)
				}
			}
		}
	})
}

// Snap finds the nearest composition: on a space that is a short list, the
// branch and bound agrees with looking at every member.
func TestSnapIsNearest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		def := definitions().Draw(t, "definition")
		s := open(t, def)
		list, ok := s.Finite()
		if !ok {
			t.Skip("not a list")
		}
		x := make([]float64, s.Dim())
		for i := range x {
			x[i] = rapid.Float64Range(-0.3, 1.3).Draw(t, "x")
		}
		search := snapSearch{s: s, x: x, least: math.Inf(1)}
		must.Do(t, search.descend(s.whole()))
		nearest := math.Inf(1)
		for i := range list {
			nearest = min(nearest, squaredDistance(s.encoded[i], x))
		}
		if math.Abs(search.least-nearest) > 1e-9 {
			t.Fatalf("nearest is at %g, Snap went to %g: %v", nearest, search.least, search.best)
		}
	})
}

// Fractions on steps of 0.05 sum to one as decimal numbers, although 0.1 + 0.2 +
// 0.7 is not 1 in binary.
func TestMixtureSumsExactly(t *testing.T) {
	def := mixture()
	s := must.Get(New(def))(t)
	design := must.Get(s.Design(definition.DesignSobol, 50, 1))(t)
	if len(design) != 50 {
		t.Fatalf("%d compositions, want 50", len(design))
	}
	for _, p := range design {
		if why := obeys(def, p); why != "" {
			t.Errorf("%s: %s", s.Format(p), why)
		}
	}
}

// A design that is continued begins as it did, differs with the seed, and never
// repeats a composition.
func TestDesignIsASequence(t *testing.T) {
	box := definition.Campaign{Parameters: []definition.Parameter{continuous("a", 0, 1), continuous("b", -3, 5)}}
	list := definition.Campaign{Parameters: []definition.Parameter{{Name: "a", Values: []float64{1, 2, 3, 4, 5, 6}}, {Name: "b", Categories: []definition.CategoryDef{{Name: "x"}, {Name: "y"}}}}}
	for name, def := range map[string]definition.Campaign{"box": box, "mixture": mixture(), "list": list} {
		for _, kind := range []string{definition.DesignSobol, definition.DesignRandom} {
			s := must.Get(New(def))(t)
			long := must.Get(s.Design(kind, 12, 3))(t)
			short := must.Get(s.Design(kind, 5, 3))(t)
			other := must.Get(s.Design(kind, 5, 4))(t)
			seen := map[string]bool{}
			same := 0
			for i, p := range long {
				k := must.Get(s.Key(p))(t)
				if seen[k] {
					t.Errorf("%s, %s: %s comes twice", name, kind, s.Format(p))
				}
				seen[k] = true
				if i >= len(short) {
					continue
				}
				if q, _ := s.Key(short[i]); q != k {
					t.Errorf("%s, %s: composition %d depends on the length of the design", name, kind, i)
				}
				if q, _ := s.Key(other[i]); q == k {
					same++
				}
			}
			if len(long) != 12 || same == 5 {
				t.Errorf("%s, %s: %d compositions, %d of 5 the same with another seed", name, kind, len(long), same)
			}
		}
	}
}

// A space without compositions is recognized, and the message names what
// contradicts what.
func TestInfeasible(t *testing.T) {
	sum := definition.Constraint{Name: "sum", Terms: map[string]float64{"a": 1, "b": 1}, Equals: ptr(1)}
	ab := []definition.Parameter{continuous("a", 0, 0.4), continuous("b", 0, 0.5)}
	wide := []definition.Parameter{continuous("a", 0, 1), continuous("b", 0, 1)}
	tests := []struct {
		name string
		def  definition.Campaign
		want []string
		not  string
	}{
		{"a mixture whose bounds are too tight",
			definition.Campaign{Parameters: append(ab[:2:2], continuous("c", 0, 1)), Constraints: []definition.Constraint{sum}},
			[]string{`constraint "sum" (a + b = 1)`, "a ≤ 0.4", "b ≤ 0.5"}, "c "},
		{"a mixture beside a category and another equality",
			definition.Campaign{
				Parameters: append([]definition.Parameter{{Name: "salt", Categories: []definition.CategoryDef{{Name: "x"}, {Name: "y"}}}},
					append(ab[:2:2], continuous("c", 0, 1))...),
				Constraints: []definition.Constraint{sum, {Name: "half", Terms: map[string]float64{"c": 1}, Equals: ptr(0.5)}}},
			[]string{`constraint "sum" (a + b = 1)`, "a ≤ 0.4", "b ≤ 0.5"}, "half"},
		{"two constraints against each other",
			definition.Campaign{Parameters: wide, Constraints: []definition.Constraint{
				{Name: "much", Terms: map[string]float64{"a": 1, "b": 1}, AtLeast: ptr(1.5)},
				{Name: "little", Terms: map[string]float64{"a": 1, "b": 1}, AtMost: ptr(1.2)}}},
			[]string{`constraint "much"`, `constraint "little"`}, "a ≤"},
		{"a sum that the steps cannot make",
			definition.Campaign{Parameters: wide, Constraints: []definition.Constraint{sum},
				Instrument: definition.Instrument{Steps: map[string]float64{"a": 0.03, "b": 0.06}}},
			[]string{`constraint "sum"`, `the dosing steps of "a" (multiples of 0.03)`, `the dosing steps of "b" (multiples of 0.06)`}, "excluded"},
		{"no multiple of a step within the bounds",
			definition.Campaign{Parameters: []definition.Parameter{continuous("a", 0.11, 0.19)}, Instrument: definition.Instrument{Steps: map[string]float64{"a": 0.1}}},
			[]string{`the bounds of "a" (0.11 to 0.19)`, `multiples of 0.1`}, "excluded"},
		{"everything excluded",
			definition.Campaign{Parameters: wide, Excluded: []definition.Region{
				{Name: "low", Where: map[string]definition.RegionSide{"a": {Max: ptr(0.5)}}},
				{Name: "high", Where: map[string]definition.RegionSide{"a": {Min: ptr(0.5)}}},
				{Name: "elsewhere", Where: map[string]definition.RegionSide{"b": {Min: ptr(0.9)}}}}},
			[]string{`the excluded region "low"`, `the excluded region "high"`}, "elsewhere"},
		{"no candidate is allowed",
			definition.Campaign{Parameters: wide, Candidates: []definition.Point{{"a": definition.Number(2), "b": definition.Number(0)}}},
			[]string{"none of the candidates"}, "sum"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := New(test.def)
			var infeasible *InfeasibleError
			if !errors.As(err, &infeasible) {
				t.Fatalf("error %v, want an InfeasibleError", err)
			}
			for _, want := range test.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q does not say %q", err, want)
				}
			}
			if strings.Contains(err.Error(), test.not) {
				t.Errorf("%q blames %q without need", err, test.not)
			}
		})
	}
}

// Law: what goes wrong in a projection is an error of the search, and no sign that there is
// nothing to find.
func TestSnapReportsWhatGoesWrong(t *testing.T) {
	s := must.Get(New(simplex()))(t)
	s.rows[0].coef[0] = math.NaN() // no definition comes that far
	if _, err := s.Snap([]float64{1, 0, 0}); !errors.Is(err, optimize.ErrConstraint) {
		t.Errorf("of the whole space: %v", err)
	}
	search := snapSearch{s: s, x: []float64{1, 0, 0}, least: math.Inf(1)}
	if err := search.descendInto([]cell{s.whole()}); !errors.Is(err, optimize.ErrConstraint) {
		t.Errorf("of its parts: %v", err)
	}
	if cells, _, err := s.Cells(8); !errors.Is(err, optimize.ErrConstraint) || cells != nil {
		t.Errorf("of its cells: %v, %v", cells, err)
	}
}

// Law: a search that is given up before it has found a composition, or the proof that there is
// none, says so, and does not call the space empty. Of the steps of 0.001 hardly any satisfy
// this constraint but those in the middle.
func TestSnapGivesUp(t *testing.T) {
	terms := map[string]float64{"a": 1, "b": 1.414213, "c": 1.732051}
	steps := definition.Instrument{Steps: map[string]float64{"a": 0.001, "b": 0.001, "c": 0.001}}
	lattice := func(sum float64) definition.Campaign {
		return definition.Campaign{
			Parameters:  simplex().Parameters,
			Constraints: []definition.Constraint{{Terms: terms, Equals: &sum}}, Instrument: steps,
		}
	}
	s := must.Get(New(lattice(2.073132)))(t)
	if p, err := s.Snap([]float64{0.5001, 0.5, 0.4999}); err != nil || s.Format(p) != "a 0.5, b 0.5, c 0.5" {
		t.Errorf("in the middle it finds %v, %v", p, err)
	}
	if p, err := s.Snap([]float64{0, 1, 0.2}); !errors.Is(err, ErrUndecided) || p != nil {
		t.Errorf("far from it it finds %v, %v", p, err)
	}
	var infeasible *InfeasibleError
	if _, err := New(lattice(2.0731320005)); !errors.As(err, &infeasible) { // half of the least difference of two sums
		t.Errorf("a sum that no steps make: %v", err)
	}
}

// Law: a space that was accepted can be sampled. These constraints leave so little room
// that rounding decides whether there is any: projections on the space fail.
func TestNarrowSpaceIsRefusedOrSampled(t *testing.T) {
	def := definition.Campaign{
		Parameters: simplex().Parameters,
		Constraints: []definition.Constraint{
			{Terms: map[string]float64{"b": -200, "c": 0.001}, AtMost: ptr(-199.9991)},
			{Terms: map[string]float64{"a": 0.01, "b": -20, "c": -2000}, AtMost: ptr(-1820)},
		},
	}
	s, err := New(def)
	if err != nil {
		return // refused
	}
	if _, err := s.Sample(8, 3); err != nil {
		t.Errorf("it was accepted: %v", err)
	}
}

// A step that satisfies a constraint only up to rounding is passed over for the
// next one that does: dmc ≥ 0 leaves no room for ec = 0.1.
func TestSnapPassesOverWhatRoundingBreaks(t *testing.T) {
	def := definition.Campaign{
		Parameters:  []definition.Parameter{continuous("ec", 0, 1), continuous("dmc", 0, 1)},
		Constraints: []definition.Constraint{{Terms: map[string]float64{"ec": 1, "dmc": -1}, Equals: ptr(0.100000003)}},
		Instrument:  definition.Instrument{Steps: map[string]float64{"ec": 0.05}},
	}
	s := must.Get(New(def))(t)
	p := must.Get(s.Snap([]float64{0, 0}))(t)
	if ec, _ := p["ec"].Float(); ec != 0.15 || s.Contains(p) != nil {
		t.Errorf("%s: %v, want ec 0.15", s.Format(p), s.Contains(p))
	}
}

// Searches start inside the relaxed space and outside what is excluded.
func TestStartsAreFeasible(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := open(t, definitions().Draw(t, "definition"))
		starts := must.Get(s.Starts(20, rapid.Uint64().Draw(t, "seed")))(t)
		for _, x := range starts {
			if v := s.Region().Violation(x); v > 1e-9 {
				t.Fatalf("start %v is outside by %g", x, v)
			}
			if s.list != nil || len(s.numeric) == 0 {
				continue
			}
			p := s.point(s.numbers(x), s.nearestCategories(x))
			if r := s.excluding(p); r != nil {
				t.Fatalf("start %v is in %s", x, r.describe())
			}
		}
	})
}

// numbers and nearestCategories read a relaxed point, by axis.
func (s *Space) numbers(x []float64) []float64 {
	values := make([]float64, len(s.axes))
	for _, i := range s.numeric {
		values[i] = s.axes[i].lo + x[s.axes[i].at]*s.axes[i].scale
	}
	return values
}

func (s *Space) nearestCategories(x []float64) []int {
	categories := make([]int, len(s.axes))
	for i := range s.axes {
		if a := &s.axes[i]; a.categorical() {
			categories[i] = a.nearestCategory(x, nil)
		}
	}
	return categories
}
