package space

import (
	"fmt"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// Law: a covering design holds every category at least once where it has as many compositions, and else as
// many different ones as it has compositions, of each parameter: in a box, with a constraint and an excluded
// region, in a list of all combinations and in one of some of them. All of them can be measured. Without
// categories it is the Sobol design.
func TestCoveringDesignHoldsEveryCategory(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		def := definition.Campaign{}
		sizes := rapid.SliceOfN(rapid.IntRange(1, 9), 0, 3).Draw(r, "categories")
		for i, size := range sizes {
			p := definition.Parameter{Name: fmt.Sprintf("c%d", i)}
			for k := range size {
				p.Categories = append(p.Categories, definition.CategoryDef{Name: fmt.Sprintf("k%d", k)})
			}
			def.Parameters = append(def.Parameters, p)
		}
		shape := rapid.SampledFrom([]string{"box", "tied", "finite"}).Draw(r, "shape")
		switch {
		case shape == "finite":
			def.Parameters = append(def.Parameters, definition.Parameter{Name: "x", Values: []float64{0, 1, 2, 3, 4, 5, 6, 7, 8}})
		default:
			def.Parameters = append(def.Parameters, continuous("x", 0, 1), continuous("y", 0, 1))
		}
		if shape == "tied" {
			def.Constraints = []definition.Constraint{{Name: "sum", Terms: map[string]float64{"x": 1, "y": 1}, Equals: ptr(1)}}
		}
		s := must.Get(New(def))(r)
		n := rapid.IntRange(1, 12).Draw(r, "n")
		if shape == "finite" {
			n = min(n, 9)
		}
		seed := rapid.Uint64().Draw(r, "seed")
		points, err := s.Design(definition.DesignCovering, n, seed)
		if err != nil || len(points) != n {
			r.Fatalf("%d of %d compositions, %v", len(points), n, err)
		}
		for i, size := range sizes {
			name := fmt.Sprintf("c%d", i)
			seen := map[definition.Value]bool{}
			for _, p := range points {
				must.Do(r, s.Contains(p))
				seen[p[name]] = true
			}
			if len(seen) < min(n, size) {
				r.Errorf("%s: %d compositions show %d of %d categories of %s", shape, n, len(seen), size, name)
			}
		}
		if len(sizes) == 0 {
			if even, err := s.Design(definition.DesignSobol, n, seed); err != nil || !reflect.DeepEqual(points, even) {
				r.Errorf("without categories it is %v, and the Sobol design %v, %v", points, even, err)
			}
		}
	})
}
