package space

import (
	"testing"

	"pgregory.net/rapid"

	_ "github.com/campaignd/campaignd/internal/tests/draws"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// Cells cover the space: every composition lies in one, and what is excluded in
// none.
func TestCellsCoverTheSpace(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		def := definitions().Draw(t, "definition")
		s := open(t, def)
		cells, whole := must.Get2(s.Cells(500))(t)
		if whole {
			t.Skip("too many cells")
		}
		count := func(x []float64) (n int) {
			for _, c := range cells {
				if c.Violation(x) <= 2*margin {
					n++
				}
			}
			return n
		}
		sample := must.Get(s.Sample(3, rapid.Uint64().Draw(t, "seed")))(t)
		for _, p := range sample {
			x := must.Get(s.Encode(p))(t)
			if n := count(x); n < 1 {
				t.Fatalf("%v lies in no cell", p)
			}
		}
		// A point well inside an excluded region lies in no cell.
		for i := range s.regions {
			p := sample[0]
			x := must.Get(s.Encode(p))(t)
			for _, d := range s.regions[i].sides {
				a := &s.axes[d.axis]
				if d.category >= 0 {
					copy(x[a.at:], a.codes[d.category])
					continue
				}
				x[a.at] = a.encode((d.min + d.max) / 2)
			}
			if n := count(x); n != 0 {
				t.Fatalf("%v is excluded and lies in %d cells", x, n)
			}
		}
	})
}
