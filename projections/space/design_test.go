package space

import (
	"math"
	"testing"

	"github.com/campaignd/campaignd/events/definition"
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
		x, err := s.Encode(p)
		if err != nil {
			t.Fatal(err)
		}
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
	s, err := New(simplex())
	if err != nil {
		t.Fatal(err)
	}
	exact := dirichlet(4000)
	for _, n := range []int{8, 20, 50} {
		var designed, random, naive [2]float64
		const seeds = 10
		for seed := range uint64(seeds) {
			d, err := s.Design(definition.DesignSobol, n, seed)
			if err != nil {
				t.Fatal(err)
			}
			r, err := s.Design(definition.DesignRandom, n, seed)
			if err != nil {
				t.Fatal(err)
			}
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
			s, err := New(test.def)
			if err != nil {
				t.Fatal(err)
			}
			const n = 4000
			sample, err := s.Sample(n, 11)
			if err != nil {
				t.Fatal(err)
			}
			count := 0
			for _, p := range sample {
				x, err := s.Encode(p)
				if err != nil {
					t.Fatal(err)
				}
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
	s, err := New(def)
	if err != nil {
		t.Fatal(err)
	}
	design, err := s.Design(definition.DesignSobol, 16, 5)
	if err != nil {
		t.Fatal(err)
	}
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

func BenchmarkDesign(b *testing.B) {
	s, err := New(mixture())
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := s.Design(definition.DesignSobol, 10, 1); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkSnap(b *testing.B) {
	s, err := New(mixture())
	if err != nil {
		b.Fatal(err)
	}
	starts, err := s.Starts(64, 1)
	if err != nil {
		b.Fatal(err)
	}
	for i := 0; b.Loop(); i++ {
		if _, err := s.Snap(starts[i%len(starts)]); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkStarts(b *testing.B) {
	s, err := New(mixture())
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := s.Starts(512, 1); err != nil {
			b.Fatal(err)
		}
	}
}
