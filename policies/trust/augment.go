package trust

import (
	"github.com/campaignd/campaignd/internal/num/special"
	"github.com/campaignd/campaignd/policies/next"
	"github.com/campaignd/campaignd/projections/belief"
)

// Constrained returns f̲ + weight·max(0, g̲)², whose minimizer tends to that of
// f̲ where the expert may accept, g̲ ≤ 0, as the weight grows: COBOHL (Xu et
// al. 2024, Alg. 2 line 4).
func Constrained(objective next.Acquisition, b *belief.Model, weight float64) *Augmented {
	return augment(objective, b, func(bound float64) (value, slope float64) {
		if bound <= 0 {
			return 0, 0
		}
		return weight * bound * bound, 2 * weight * bound
	})
}

// Weighed returns −ln((1 − S(ĝ))·EI) for −ln EI, with the likeliest rejection
// score ĝ: HCEI (Xu et al. 2024, Eq. 70).
func Weighed(logEI next.Acquisition, b *belief.Model) next.Acquisition {
	var dBelief []float64
	return func(x, grad []float64) float64 {
		value := logEI(x, grad)
		if grad != nil && dBelief == nil {
			dBelief = make([]float64, len(x))
		}
		score := b.MLEAt(x, scratch(grad, dBelief))
		slope := special.Logistic(score)
		for i := range grad {
			grad[i] += slope * dBelief[i]
		}
		return value + special.Log1pExp(score)
	}
}
