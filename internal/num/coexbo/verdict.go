package coexbo

import (
	"math"

	"gonum.org/v1/gonum/integrate/quad"

	"github.com/campaignd/campaignd/internal/num/gp"
	"github.com/campaignd/campaignd/internal/num/special"
)

// Verdict is a model's view of a choice between two points.
type Verdict struct {
	// Probability that the chosen one is the better: the mean of ℓ.
	Probability float64 `json:"probability"`
	// SD is the standard deviation of ℓ over the model's posterior: how little
	// the model knows of it.
	SD float64 `json:"sd"`
}

// ChoiceWasRight returns mean and standard deviation of
//
//	ℓ = Φ((f(x_chosen) − f(x_other))/√λ)
//
// over the joint posterior of f at the two points, the chosen one first (Adachi
// et al. 2024, Eq. 101, 102). Called with the posterior before and with that
// after the measurement of the chosen point it shows what the measurement said
// about the choice. lambda ≥ 0 is the observation noise's variance; 0 asks
// which f is greater, and then SD is that of a yes or no.
//
// The paper samples. With mean m and variance v of the difference, h = m/√(λ+v)
// and a = √(λ/(λ+2v)), the moments are closed forms: E[ℓ] = Φ(h), and E[ℓ²] is
// the probability that two normal variables of correlation v/(λ+v) both lie
// below h, which is Φ(h) − 2T(h, a) with Owen's T function (Owen 1956).
func ChoiceWasRight(j *gp.Joint, lambda float64) Verdict {
	if len(j.Mean) != 2 {
		panic("coexbo: a choice is between two points")
	}
	if !(lambda >= 0) {
		panic("coexbo: a variance is 0 or more")
	}
	m := j.Mean[0] - j.Mean[1]
	v := max(j.Cov[0]+j.Cov[3]-j.Cov[1]-j.Cov[2], 0)
	scale := math.Sqrt(lambda + v)
	if scale == 0 {
		switch {
		case m > 0:
			return Verdict{Probability: 1}
		case m < 0:
			return Verdict{}
		}
		return Verdict{Probability: 0.5}
	}
	h := m / scale
	p := special.NormalCDF(h)
	// Φ(h) − Φ(h)² without cancellation.
	variance := p*special.NormalCDF(-h) - 2*owenT(h, math.Sqrt(lambda/(lambda+2*v)))
	return Verdict{Probability: p, SD: math.Sqrt(max(variance, 0))}
}

// owenT returns T(h, a) = (1/2π) ∫₀ᵃ exp(−h²(1 + x²)/2)/(1 + x²) dx for 0 ≤ a
// ≤ 1. The integrand is analytic with its nearest poles at ±i, and negligible
// before h makes it narrow: 32 Gauss–Legendre points give it to 1e-15.
func owenT(h, a float64) float64 {
	if a == 0 {
		return 0
	}
	return quad.Fixed(func(x float64) float64 {
		q := 1 + x*x
		return math.Exp(-0.5*h*h*q) / q
	}, 0, a, 32, nil, 0) / (2 * math.Pi)
}
