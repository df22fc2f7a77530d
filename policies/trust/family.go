package trust

import (
	"math"

	"github.com/campaignd/campaignd/internal/num/special"
	"github.com/campaignd/campaignd/policies/next"
	"github.com/campaignd/campaignd/projections/belief"
)

// Constrained returns f̲ + weight·max(0, g̲)², whose minimiser tends to that of f̲
// where the expert may accept, g̲ ≤ 0, as the weight grows: COBOHL (Xu et al.
// 2024, Alg. 2 line 4). failed receives the error of a bound that could not be
// solved; the function is +Inf there.
func Constrained(objective next.Acquisition, b *belief.Model, weight float64, failed *error) next.Acquisition {
	var dBelief []float64
	return func(x, grad []float64) float64 {
		value := objective(x, grad)
		if grad != nil && dBelief == nil {
			dBelief = make([]float64, len(x))
		}
		bound, err := b.Lower(x, scratch(grad, dBelief))
		if err != nil {
			*failed = err
			return math.Inf(1)
		}
		if bound <= 0 {
			return value
		}
		for i := range grad {
			grad[i] += 2 * weight * bound * dBelief[i]
		}
		return value + weight*bound*bound
	}
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
