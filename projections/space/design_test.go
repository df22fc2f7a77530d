package space

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// simplex is three fractions that sum to one, nothing else.
func simplex() definition.Campaign {
	return definition.Campaign{
		Parameters:  []definition.Parameter{continuous("a", 0, 1), continuous("b", 0, 1), continuous("c", 0, 1)},
		Constraints: []definition.Constraint{{Name: "sum", Terms: map[string]float64{"a": 1, "b": 1, "c": 1}, Equals: ptr(1)}},
	}
}

// spread returns the least distance between two points of a design, and its
// energy distance to a large uniform sample of the space (less its constant
// part): small is even.
func spread(t *testing.T, s *Space, points []definition.Point, uniform [][]float64) (least, energy float64) {
	t.Helper()
	var xs [][]float64
	for _, p := range points {
		x := must.Get(s.Encode(p))(t)
		xs = append(xs, x)
	}
	least = math.Inf(1)
	n := float64(len(xs))
	for i, x := range xs {
		for j, y := range xs {
			d := math.Sqrt(squaredDistance(x, y))
			energy -= d / (n * n)
			if i != j {
				least = min(least, d)
			}
		}
		for _, y := range uniform {
			energy += 2 * math.Sqrt(squaredDistance(x, y)) / (n * float64(len(uniform)))
		}
	}
	return least, energy
}

// On a simplex a Sobol design is spread more evenly than random compositions
// and than compositions that are drawn in the cube and divided by their sum.
func TestDesignFillsASimplex(t *testing.T) {
	s := must.Get(New(simplex()))(t)
	exact := dirichlet(4000)
	for _, n := range []int{8, 20, 50} {
		var designed, random, naive [2]float64
		const seeds = 10
		for seed := range uint64(seeds) {
			d := must.Get(s.Design(definition.DesignSobol, n, seed))(t)
			r := must.Get(s.Design(definition.DesignRandom, n, seed))(t)
			for k, points := range [][]definition.Point{d, r, normalized(n, seed)} {
				least, energy := spread(t, s, points, exact)
				for _, into := range []*[2]float64{&designed, &random, &naive}[k : k+1] {
					into[0] += least / seeds
					into[1] += energy / seeds
				}
			}
		}
		t.Logf("n = %d: least distance %.3f (random %.3f, cube divided by sum %.3f), energy %.4f (%.4f, %.4f)",
			n, designed[0], random[0], naive[0], designed[1], random[1], naive[1])
		if designed[0] < 1.5*random[0] || designed[0] < 1.5*naive[0] {
			t.Errorf("n = %d: points of the design come too near to each other", n)
		}
		if designed[1] > random[1] || designed[1] > naive[1] {
			t.Errorf("n = %d: the design is less even than chance", n)
		}
	}
}

// dirichlet returns uniform points of the simplex a + b + c = 1, from an even
// lattice of the unit square folded into a triangle.
func dirichlet(n int) [][]float64 {
	side := int(math.Sqrt(float64(n)))
	var points [][]float64
	for i := range side {
		for j := range side {
			u, v := (float64(i)+0.5)/float64(side), (float64(j)+0.5)/float64(side)
			if u+v > 1 {
				u, v = 1-u, 1-v
			}
			points = append(points, []float64{u, v, 1 - u - v})
		}
	}
	return points
}

// normalized divides points of a Sobol sequence in the cube by their sum.
func normalized(n int, seed uint64) []definition.Point {
	cube, err := New(definition.Campaign{Parameters: simplex().Parameters})
	if err != nil {
		panic(err)
	}
	design, err := cube.Design(definition.DesignSobol, n, seed)
	if err != nil {
		panic(err)
	}
	points := make([]definition.Point, n)
	for i, p := range design {
		var sum float64
		for _, name := range cube.Parameters() {
			x, _ := p[name].Float()
			sum += x
		}
		points[i] = definition.Point{}
		for _, name := range cube.Parameters() {
			x, _ := p[name].Float()
			points[i][name] = definition.Number(x / sum)
		}
	}
	return points
}

// Sample is uniform: on a simplex, and with a box cut out of a square, the
// parts of the space are met as often as they are large.
func TestSampleIsUniform(t *testing.T) {
	cut := definition.Campaign{
		Parameters: []definition.Parameter{continuous("a", 0, 1), continuous("b", 0, 1)},
		Excluded:   []definition.Region{{Name: "wall", Where: map[string]definition.RegionSide{"a": {Min: ptr(0.3), Max: ptr(0.5)}}}},
	}
	tests := []struct {
		name string
		def  definition.Campaign
		in   func(x []float64) bool
		want float64
	}{
		{"a corner of the simplex", simplex(), func(x []float64) bool { return x[0] > 0.5 }, 0.25},
		{"the middle of the simplex", simplex(), func(x []float64) bool { return max(x[0], x[1], x[2]) < 0.5 }, 0.25},
		{"one side of a wall", cut, func(x []float64) bool { return x[0] < 0.3 }, 0.375},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := must.Get(New(test.def))(t)
			const n = 4000
			sample := must.Get(s.Sample(n, 11))(t)
			count := 0
			for _, p := range sample {
				x := must.Get(s.Encode(p))(t)
				if test.in(x) {
					count++
				}
			}
			// Five standard deviations of a binomial; points of one walk are
			// nearly independent.
			if got, sd := float64(count)/n, math.Sqrt(test.want*(1-test.want)/n); math.Abs(got-test.want) > 5*sd {
				t.Errorf("%.3f of the sample, want %.3f ± %.3f", got, test.want, sd)
			}
		})
	}
}

// A part of the space that exclusions cut off is still visited, and a category
// is left out only where it is excluded.
func TestDesignReachesEveryPart(t *testing.T) {
	def := definition.Campaign{
		Parameters: []definition.Parameter{continuous("a", 0, 1), continuous("b", 0, 1),
			{Name: "salt", Categories: []definition.CategoryDef{{Name: "LiPF6"}, {Name: "LiFSI"}}}},
		Excluded: []definition.Region{
			{Name: "wall", Where: map[string]definition.RegionSide{"a": {Min: ptr(0.4), Max: ptr(0.6)}}},
			{Name: "corrodes", Where: map[string]definition.RegionSide{"salt": {Is: "LiFSI"}, "b": {Min: ptr(0.5)}}},
		},
	}
	s := must.Get(New(def))(t)
	design := must.Get(s.Design(definition.DesignSobol, 16, 5))(t)
	parts := map[string]int{}
	for _, p := range design {
		if err := s.Contains(p); err != nil {
			t.Error(err)
		}
		a, _ := p["a"].Float()
		b, _ := p["b"].Float()
		part := p["salt"].Name()
		if a < 0.5 {
			part += " left"
		} else {
			part += " right"
		}
		if b < 0.5 {
			part += " low"
		} else {
			part += " high"
		}
		parts[part]++
	}
	for _, part := range []string{"LiPF6 left low", "LiPF6 left high", "LiPF6 right low", "LiPF6 right high", "LiFSI left low", "LiFSI right low"} {
		if parts[part] == 0 {
			t.Errorf("no composition in %q: %v", part, parts)
		}
	}
}

// Law: there are two kinds of design, and another one is refused by name.
func TestUnknownDesign(t *testing.T) {
	s := must.Get(New(simplex()))(t)
	points, err := s.Design("halton", 3, 1)
	if err == nil || points != nil {
		t.Fatalf("it gives %v, %v", points, err)
	}
	for _, word := range []string{"halton", definition.DesignSobol, definition.DesignRandom} {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("%q does not say %q", err, word)
		}
	}
}

// Law: of the first 16 points of a Sobol sequence each quarter of each coordinate holds four
// (Sobol 1967: an elementary interval of base 2), so that of four categories, of four values
// and of four steps each comes four times. Drawn at random each comes as often as chance has it.
func TestDesignIsEvenInEveryParameter(t *testing.T) {
	s := prepared(t, definition.Campaign{
		Parameters: []definition.Parameter{
			continuous("a", -2, 6), {Name: "v", Values: []float64{1, 2, 4, 8}}, continuous("dosed", 0, 3),
			{Name: "salt", Categories: []definition.CategoryDef{{Name: "w"}, {Name: "x"}, {Name: "y"}, {Name: "z"}}},
		},
		Instrument: definition.Instrument{Steps: map[string]float64{"dosed": 1}},
	})
	quarters := func(points []definition.Point) map[string]int {
		count := make(map[string]int)
		for _, p := range points {
			a, _ := p["a"].Float()
			count[fmt.Sprintf("quarter %d", int(math.Floor((a+2)/2)))]++
			for _, name := range []string{"v", "dosed", "salt"} {
				count[name+" "+p[name].String()]++
			}
		}
		return count
	}
	for seed := range uint64(3) {
		design := must.Get(s.Design(definition.DesignSobol, 16, seed))(t)
		count := quarters(design)
		for what, n := range count {
			if n != 4 {
				t.Errorf("seed %d: %s comes %d times of 16, want 4", seed, what, n)
			}
		}
		if len(count) != 16 {
			t.Errorf("seed %d: %d quarters are met of 16: %v", seed, len(count), count)
		}
	}
	const n = 1600 // five standard deviations of a binomial are 87
	random := must.Get(s.Sample(n, 1))(t)
	count := quarters(random)
	for what, k := range count {
		if k < n/4-87 || k > n/4+87 {
			t.Errorf("%s comes %d times of %d at random", what, k, n)
		}
	}
	if len(count) != 16 {
		t.Errorf("at random %d quarters are met of 16", len(count))
	}
}

// Law: a design has as many compositions as are asked for, also where they are chosen from
// several pools, and all of a list where there are no more.
func TestDesignIsAsLongAsAsked(t *testing.T) {
	list := definition.Campaign{Parameters: []definition.Parameter{{Name: "a", Values: []float64{1, 2, 4}}, {Name: "b", Values: []float64{1, 2}}}}
	for _, c := range []struct {
		def     definition.Campaign
		n, want int
	}{{simplex(), 0, 0}, {simplex(), 1, 1}, {simplex(), 600, 600}, {list, 0, 0}, {list, 5, 5}, {list, 6, 6}, {list, 100, 6}} {
		s := prepared(t, c.def)
		for _, kind := range []string{definition.DesignSobol, definition.DesignRandom} {
			if design, err := s.Design(kind, c.n, 2); err != nil || len(design) != c.want {
				t.Errorf("the %s design of %d has %d compositions, %v; want %d", kind, c.n, len(design), err, c.want)
			}
		}
	}
}

// Law: a design ends where a space too large to be listed has hardly anything new to give.
func TestDesignEnds(t *testing.T) {
	s := prepared(t, definition.Campaign{
		Parameters: []definition.Parameter{continuous("a", 0, 10_000)},
		Instrument: definition.Instrument{Steps: map[string]float64{"a": 1}},
	})
	if _, finite := s.Finite(); finite {
		t.Fatal("it is listed")
	}
	for kind, least := range map[string]int{definition.DesignSobol: 9_900, definition.DesignRandom: 8_000} {
		design, err := s.Design(kind, 20_000, 1)
		if err != nil || len(design) > 10_001 || len(design) < least {
			t.Errorf("the %s design has %d of 10,001 compositions, %v", kind, len(design), err)
		}
	}
}

// Law: parts of the space that no step of a walk joins are all visited, since walks start all
// over it. Here a salt may be exchanged nowhere: it is the one or the other by the value of
// the continuous parameter; the second salt lies far from the middle of the space.
func TestWalksStartAllOverTheSpace(t *testing.T) {
	s := prepared(t, definition.Campaign{
		Parameters: []definition.Parameter{continuous("a", 0, 1), {Name: "salt", Categories: []definition.CategoryDef{
			{Name: "near", Descriptors: map[string]float64{"p": 0}},
			{Name: "far", Descriptors: map[string]float64{"p": 0.01}},
			{Name: "never", Descriptors: map[string]float64{"p": 1}}}}},
		Excluded: []definition.Region{
			{Where: map[string]definition.RegionSide{"salt": {Is: "near"}, "a": {Min: ptr(0.45)}}},
			{Where: map[string]definition.RegionSide{"salt": {Is: "far"}, "a": {Max: ptr(0.9)}}},
			{Where: map[string]definition.RegionSide{"salt": {Is: "never"}}},
		},
	})
	const seeds = 20
	both := 0
	for seed := range uint64(seeds) {
		sample := must.Get(s.Sample(16, seed))(t)
		met := map[string]bool{}
		for _, p := range sample {
			met[p["salt"].Name()] = true
		}
		if len(met) == 2 {
			both++
		}
	}
	// A walk starts beside the far salt with a probability of about a third: one of eight
	// does in 95 of 100 samples.
	if both < 15 {
		t.Errorf("%d of %d samples visit both parts", both, seeds)
	}
}

// Law: a step of a walk takes every free level by its share of the draw, and none that is
// excluded: also not at a draw that falls on the end of the free ones, or next to it.
func TestStepTakesFreeLevels(t *testing.T) {
	const draws = 1 << 53 // of [rand.Rand.Float64]
	type step struct {
		draw uint64
		want float64
	}
	for _, c := range []struct {
		above float64 // levels that are excluded, with 0 and 3
		steps []step
	}{
		{5, []step{{0, 1}, {draws / 3, 1}, {draws/3 + 1, 2}, {draws*2/3 - 1, 2}, {draws * 2 / 3, 4}, {draws - 1, 4}}},
		{4, []step{{0, 1}, {draws/2 - 1, 1}, {draws / 2, 2}, {draws - 1, 2}}},
	} {
		s := prepared(t, definition.Campaign{
			Parameters: []definition.Parameter{continuous("a", 0, 1), {Name: "v", Values: []float64{0, 1, 2, 3, 4}}},
			Excluded: []definition.Region{
				{Where: map[string]definition.RegionSide{"v": {Max: ptr(0.0)}}},
				{Where: map[string]definition.RegionSide{"v": {Min: ptr(2.5), Max: ptr(3.5)}}},
				{Where: map[string]definition.RegionSide{"v": {Min: &c.above}}},
			},
		})
		for _, step := range c.steps {
			st := state{u: slices.Clone(s.walk.center), index: []int{1}}
			s.walk.step(&st, rand.New(constant(step.draw)))
			if got := st.index[0]; float64(got) != step.want {
				t.Errorf("draw %d of %d: level %v, want %v", step.draw, uint64(draws), got, step.want)
			}
		}
	}
}

// constant is a source that always gives one number.
type constant uint64

func (c constant) Uint64() uint64 { return uint64(c) }

// Law: a point is drawn from intervals by their lengths, never their upper ends, where what is
// cut out begins; from intervals without length there is none.
func TestPickIsUniform(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, empty := range [][]span{nil, {}, {{1, 1}}, {{1, 1}, {3, 3}}} {
		if at, ok := pick(empty, rng); ok {
			t.Errorf("of %v it is %v", empty, at)
		}
	}
	spans := []span{{-3, -2}, {0, 0}, {4, 7}}
	const draws = 8000
	counts := make([]int, 4) // of each unit of length
	for range draws {
		at, ok := pick(spans, rng)
		switch {
		case ok && at >= -3 && at < -2:
			counts[0]++
		case ok && at >= 4 && at < 7:
			counts[1+int(at-4)]++
		default:
			t.Fatalf("it is %v, %v", at, ok)
		}
	}
	for i, n := range counts {
		if math.Abs(float64(n)-draws/4) > 200 { // five standard deviations
			t.Errorf("unit %d of the length is drawn %d times of %d", i, n, draws)
		}
	}
	for _, c := range []struct {
		source rand.Source
		want   float64
	}{{constant(0), -3}, {constant(math.MaxUint64), 7}} {
		at, ok := pick(spans, rand.New(c.source))
		if !ok || math.Abs(at-c.want) > 1e-12 || at >= 7 {
			t.Errorf("at the end %v it is %v, %v", c.want, at, ok)
		}
	}
}

// Law: what a region blocks of a step is what of it lies in the region, along every axis and
// on every line, wherever the walker is.
func TestBlockedIsWhatIsExcluded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := open(t, definitions().Draw(t, "definition"))
		if s.walk == nil {
			t.Skip("a box or a list")
		}
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		st, err := s.walk.start(rng)
		if err != nil {
			t.Skip(err)
		}
		inside := func(r *region, st state) bool {
			x := s.walk.encodeState(st)
			values := make([]float64, len(s.axes))
			for _, i := range s.numeric {
				values[i] = s.axes[i].decode(x[s.axes[i].at])
				if g := s.axes[i].grid; g != nil && s.walk.place(i) < 0 {
					values[i] = g.value(g.nearest(values[i]))
				}
			}
			return r.holds(s, s.point(values, s.nearestCategories(x)))
		}
		for j := range s.regions {
			r := &s.regions[j]
			st := s.beside(r, st, rng)
			for k, i := range s.walk.single {
				lo, hi, ok := s.walk.blockedLevels(r, st, k)
				if ok && (lo < 0 || hi >= s.axes[i].levels()) {
					t.Fatalf("the levels %d to %d are blocked, of %d", lo, hi, s.axes[i].levels())
				}
				for level := range s.axes[i].levels() {
					there := state{u: st.u, index: slices.Clone(st.index)}
					there.index[k] = level
					if want := inside(r, there); want != (ok && lo <= level && level <= hi) {
						t.Fatalf("level %d of %s: in the region %v, blocked %d to %d, %v", level, s.axes[i].name, want, lo, hi, ok)
					}
				}
			}
			if len(s.walk.directions) == 0 {
				continue
			}
			direction := s.walk.direction(rng)
			from, to, ok := s.walk.blockedChord(r, st, direction)
			if ok && !(from < to) {
				t.Fatalf("blocked are %v to %v", from, to)
			}
			lo, hi := s.walk.chord(st.u, direction)
			from, to = max(from, lo), min(to, hi)
			for step := range 21 {
				at := min(lo+float64(step)/20*(hi-lo), hi)
				there := state{u: slices.Clone(st.u), index: st.index}
				s.walk.move(there.u, direction, at)
				// Regions are left by a margin, so that a point of the blocked interval may lie
				// a little outside, and none of the free ones inside.
				if free := !ok || at < from || at > to; free && inside(r, there) {
					t.Fatalf("%v on the chord lies in the region, blocked are %v to %v, %v", at, from, to, ok)
				}
				if well := (to - from) / 100; ok && at > from+well && at < to-well && to-from > 1e-3 && !inside(r, there) && !s.edges(r, there) {
					t.Fatalf("%v on the chord is blocked, from %v to %v, and lies outside the region", at, from, to)
				}
			}
		}
	})
}

// beside is a place as st is, but within each side of a region three times in four: where
// sides meet there is something to block.
func (s *Space) beside(r *region, st state, rng *rand.Rand) state {
	st = state{u: slices.Clone(st.u), index: slices.Clone(st.index)}
	for _, d := range r.sides {
		if rng.IntN(4) == 0 {
			continue
		}
		if k := s.walk.place(d.axis); k >= 0 {
			middle := s.axes[d.axis].encode((d.min + d.max) / 2)
			st.u[k] = min(max(middle, s.walk.lower[k]), s.walk.upper[k])
			continue
		}
		k := slices.Index(s.walk.single, d.axis)
		if d.category >= 0 {
			st.index[k] = d.category
		} else {
			st.index[k] = s.axes[d.axis].grid.nearest((d.min + d.max) / 2)
		}
	}
	return st
}

// edges reports whether a place lies within the margin of a side of a region.
func (s *Space) edges(r *region, st state) bool {
	for _, d := range r.sides {
		k := s.walk.place(d.axis)
		if k < 0 {
			continue
		}
		a := &s.axes[d.axis]
		for _, end := range []float64{d.min, d.max} {
			if math.Abs(st.u[k]-a.encode(end)) <= 2*margin {
				return true
			}
		}
	}
	return false
}

// Law: a seed gives the compositions for ever that it gave when campaigns were recorded with
// it, bit for bit: designs and searches that are made again begin with them. They were
// recorded with the first release; 130 random compositions are more than are drawn at once.
func TestRecordedCompositions(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("recorded on amd64; other processors round sums of products otherwise")
	}
	salt := definition.Parameter{Name: "salt", Categories: []definition.CategoryDef{{Name: "x"}, {Name: "y"}, {Name: "z"}}}
	line := definition.Campaign{
		Parameters:  []definition.Parameter{continuous("a", 0, 1), continuous("b", 0, 2)},
		Constraints: []definition.Constraint{{Terms: map[string]float64{"a": 2, "b": 1}, Equals: ptr(1)}},
		Excluded:    []definition.Region{{Where: map[string]definition.RegionSide{"a": {Min: ptr(0.2), Max: ptr(0.3)}}}},
	}
	beside := mixture()
	beside.Parameters = append(beside.Parameters, salt)
	beside.Excluded = []definition.Region{{Where: map[string]definition.RegionSide{"salt": {Is: "y"}, "ec": {Min: ptr(0.3)}}}}
	for _, c := range []struct {
		name                         string
		def                          definition.Campaign
		sobol, random, drawn, starts string
	}{
		{"box", definition.Campaign{Parameters: []definition.Parameter{continuous("a", 0, 1), continuous("b", -3, 5), salt}},
			"c26bfcb8", "9124ab9f", "65a011d4", "038d171f"},
		{"list", definition.Campaign{Parameters: []definition.Parameter{{Name: "a", Values: []float64{1, 2, 3, 4, 5, 6}}, salt}},
			"6ee0ddd4", "19508e79", "72bf13e6", "b62fb3dd"},
		{"simplex", simplex(), "35e95638", "588dd751", "b2dec4cd", "0dadf883"},
		{"line", line, "c5e68295", "5f78c865", "8aa4c264", "4bf74c21"},
		{"mixture", beside, "ff404193", "62f8c7e2", "7f1046c6", "dce8a6c8"},
	} {
		s := prepared(t, c.def)
		for _, made := range []struct {
			what string
			make func() (any, error)
			want string
		}{
			{"Sobol design", func() (any, error) { return s.Design(definition.DesignSobol, 20, 5) }, c.sobol},
			{"random design", func() (any, error) { return s.Design(definition.DesignRandom, 130, 5) }, c.random},
			{"sample", func() (any, error) { return s.Sample(20, 5) }, c.drawn},
			{"starts", func() (any, error) { return s.Starts(20, 5) }, c.starts},
		} {
			got := must.Get(made.make())(t)
			text := must.Get(json.Marshal(got))(t)
			if sum := fmt.Sprintf("%.4x", sha256.Sum256(text)); sum != made.want {
				t.Errorf("%s: the %s has the digest %s, recorded is %s", c.name, made.what, sum, made.want)
			}
		}
	}
}

func BenchmarkDesign(b *testing.B) {
	s := must.Get(New(mixture()))(b)
	for b.Loop() {
		must.Get(s.Design(definition.DesignSobol, 10, 1))(b)
	}
}

func BenchmarkSnap(b *testing.B) {
	s := must.Get(New(mixture()))(b)
	starts := must.Get(s.Starts(64, 1))(b)
	for i := 0; b.Loop(); i++ {
		must.Get(s.Snap(starts[i%len(starts)]))(b)
	}
}

func BenchmarkStarts(b *testing.B) {
	s := must.Get(New(mixture()))(b)
	for b.Loop() {
		must.Get(s.Starts(512, 1))(b)
	}
}
