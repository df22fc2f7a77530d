package acquisition

import (
	"fmt"
	"testing"
)

// BenchmarkConstrained is the noisy expected improvement with its derivatives, under some
// constraints.
func BenchmarkConstrained(b *testing.B) {
	for _, members := range []int{16, 64, 256} {
		for _, constraints := range []int{0, 1, 4} {
			b.Run(fmt.Sprintf("members=%d/constraints=%d", members, constraints), func(b *testing.B) {
				best, means := make([]float64, members), make([]float64, members)
				for s := range means {
					means[s] = 0.01 * float64(s%17)
				}
				const d = 6
				zeros, grad := make([]float64, d), make([]float64, d)
				all := make([]Constraint, constraints)
				for i := range all {
					all[i] = Constraint{Bounds{-1, 1}, 0.3, 0.8, zeros, zeros}
				}
				nei := NewNoisy(best)
				for b.Loop() {
					value, _, _ := nei.LogGrad(means, 0.4)
					LogFeasible(grad, value, all)
				}
			})
		}
	}
}
