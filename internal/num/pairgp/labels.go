package pairgp

import (
	"errors"
	"fmt"
	"math"
)

// DefaultAlphaEps is α_ε, the concentration of a class that was not observed
// (Adachi et al. 2024 use it): small, so that one observation is nearly
// certain.
const DefaultAlphaEps = 0.01

// ErrData reports comparisons that no model can be built from; the text says
// which.
var ErrData = errors.New("unusable comparisons")

// Comparison is one answered choice between two points of d coordinates. An
// answer "can't tell" is not a comparison.
type Comparison struct {
	Chosen, Other []float64
}

// Label returns the target of one observation for the latent function of one class, 1 for the class
// that was observed and 0 for the other: with α = label + α_ε, the log-normal distribution of the
// moments of Gamma(α, 1) has
//
//	variance = ln(1 + 1/α),   target = ln α − variance/2
//
// (Milios et al. 2018), natural logarithms. observed is the label, eps is α_ε > 0.
func Label(observed bool, eps float64) (alpha, variance, target float64) {
	alpha = eps
	if observed {
		alpha++
	}
	variance = math.Log1p(1 / alpha)
	return alpha, variance, math.Log(alpha) - variance/2
}

// validate returns the number d of parameters. It panics on mismatched shapes
// and reports bad numbers with ErrData.
func validate(comparisons []Comparison) (int, error) {
	if len(comparisons) == 0 {
		return 0, fmt.Errorf("%w: there are none, at least one is needed", ErrData)
	}
	d := len(comparisons[0].Chosen)
	for i, c := range comparisons {
		if len(c.Chosen) != d || len(c.Other) != d || d == 0 {
			panic(fmt.Sprintf("pairgp: comparison %d has points of %d and %d coordinates, the first one has %d",
				i, len(c.Chosen), len(c.Other), d))
		}
		for j := range d {
			for _, v := range [2]float64{c.Chosen[j], c.Other[j]} {
				if math.IsNaN(v) || math.IsInf(v, 0) {
					return 0, fmt.Errorf("%w: coordinate %d of a point of comparison %d is %v",
						ErrData, j, i, v)
				}
			}
		}
	}
	return d, nil
}
