package coexbo

import "math"

// DefaultPiBOGamma is γ of πBO's decay (Adachi et al. 2024, §4).
const DefaultPiBOGamma = 10

// leastScore keeps π^(γ/t) and its logarithm finite where a score is 0 or, by
// the quadrature's error, below.
const leastScore = 1e-6

// Exponent returns γ/t, the power of the prior in πBO before measurement number
// t ≥ 1.
func Exponent(gamma float64, t int) float64 {
	if t < 1 {
		panic("coexbo: measurements are numbered from 1")
	}
	return gamma / float64(t)
}

// PiBO returns a·π^e, an acquisition weighted by a prior with a decaying
// exponent e = γ/t (πBO: Hvarfner et al. 2022; a baseline of Adachi et al.
// 2024, §3.2), and fills dst, if not nil, with its gradient from those of a and
// π. To be MAXIMIZED; a score below 1e-6 counts as 1e-6.
//
// It means something only for a ≥ 0, as an expected improvement is: a negative
// value would gain from a small weight. From an upper confidence bound subtract
// first a value that it is above everywhere. On LogEI use LogPiBO.
func PiBO(dst []float64, a, score, exponent float64, dA, dScore []float64) float64 {
	slope := 1.0
	if score < leastScore {
		score, slope = leastScore, 0
	}
	weight := math.Pow(score, exponent)
	for j := range dst {
		dst[j] = weight*dA[j] + slope*a*exponent*weight/score*dScore[j]
	}
	return a * weight
}

// LogPiBO returns the logarithm of PiBO, ln a + e·ln π, from ln a and its
// gradient; it has the same maximizer.
func LogPiBO(dst []float64, logA, score, exponent float64, dLogA, dScore []float64) float64 {
	slope := 1.0
	if score < leastScore {
		score, slope = leastScore, 0
	}
	for j := range dst {
		dst[j] = dLogA[j] + slope*exponent/score*dScore[j]
	}
	return logA + exponent*math.Log(score)
}
