package handover

import (
	"math"

	"github.com/campaignd/campaignd/internal/num/special"
)

// regression is P(yes) = S(b₀ + b₁·z), with normal priors on b₁ and, where it
// is shifted, b₀; else b₀ is 0.
type regression struct {
	z       []float64
	yes     []bool
	shifted bool
}

// mostZ bounds a regressor, so that squares stay numbers; far below it the
// logistic function is a step already.
const mostZ = 1e6

// shrunk returns the means for the regression: one that the model does not know yet teaches
// little.
func shrunk(mean, sd []float64) []float64 {
	z := make([]float64, len(mean))
	for i, m := range mean {
		z[i] = max(-mostZ, min(m/(1+sd[i]*sd[i]), mostZ))
	}
	return z
}

// logPosterior of the coefficients, up to a constant.
func (r *regression) logPosterior(b0, b1 float64) float64 {
	value := -b0*b0/(2*gateShiftSD*gateShiftSD) - (b1-gateSlope)*(b1-gateSlope)/(2*gateSlopeSD*gateSlopeSD)
	for i, z := range r.z {
		u := b0 + b1*z
		if !r.yes[i] {
			u = -u
		}
		value += special.LogLogistic(u)
	}
	return value
}

// derivatives of the log posterior: its gradient, and minus its second
// derivatives.
func (r *regression) derivatives(b0, b1 float64) (g0, g1, h00, h01, h11 float64) {
	g0, g1 = -b0/(gateShiftSD*gateShiftSD), -(b1-gateSlope)/(gateSlopeSD*gateSlopeSD)
	h00, h11 = 1/(gateShiftSD*gateShiftSD), 1/(gateSlopeSD*gateSlopeSD)
	for i, z := range r.z {
		p := 1 / (1 + math.Exp(-(b0 + b1*z)))
		rest := -p
		if r.yes[i] {
			rest = 1 - p
		}
		v := p * (1 - p)
		g0, g1 = g0+rest, g1+rest*z
		h00 = h00 + v
		h01 = h01 + v*z
		h11 = h11 + v*z*z
	}
	if !r.shifted {
		g0 = 0
		h00 = 1
		h01 = 0
	}
	return g0, g1, h00, h01, h11
}

const (
	gateSteps    = 500 // Newton's; a handful suffices but for means of many SDs
	gateHalvings = 60
	gateRounding = 1e-12 // of the posterior, relative: no fall
)

// positive returns the probability that b₁ > 0, by Laplace's approximation at
// the mode. Newton's steps are halved until the posterior does not fall: a full
// step from where all labels are certain overshoots, and with labels that are
// separable and far apart never returns.
func (r *regression) positive() float64 {
	b0, b1 := 0.0, gateSlope
	value := r.logPosterior(b0, b1)
	var g0, g1, h00, h01, h11 float64
	for range gateSteps {
		g0, g1, h00, h01, h11 = r.derivatives(b0, b1)
		det := h00*h11 - h01*h01
		d0, d1 := (h11*g0-h01*g1)/det, (h00*g1-h01*g0)/det
		next := r.logPosterior(b0+d0, b1+d1)
		for range gateHalvings {
			if next >= value-gateRounding*(1+math.Abs(value)) {
				break
			}
			d0, d1 = d0/2, d1/2
			next = r.logPosterior(b0+d0, b1+d1)
		}
		b0 = b0 + d0
		b1 = b1 + d1
		value = next
		if math.Abs(d0)+math.Abs(d1) < 1e-12 {
			break
		}
	}
	if !r.shifted {
		return 0.5 * math.Erfc(-b1*math.Sqrt(h11)/math.Sqrt2)
	}
	sd := math.Sqrt(h00 / (h00*h11 - h01*h01))
	return 0.5 * math.Erfc(-b1/sd/math.Sqrt2)
}
