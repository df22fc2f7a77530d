package diagnose

import (
	"fmt"
	"testing"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// BenchmarkLarge diagnoses campaigns of many measurements whose model is fitted already,
// d = 4.
func BenchmarkLarge(b *testing.B) {
	for _, n := range []int{100, 1000, 2000, 5000} {
		b.Run(fmt.Sprintf("measurements=%d", n), func(b *testing.B) {
			large := newBench(b, box(4, 1))
			view := large.measure(large.points(n), func(i int, p definition.Point) float64 {
				return wavy(i, p)
			}).fit(nil).view()
			b.ReportAllocs()
			for b.Loop() {
				must.Get(Run(b.Context(), view))(b)
			}
		})
	}
}
