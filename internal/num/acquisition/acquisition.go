// Package acquisition holds the closed forms of one-point acquisition functions: the worth of a
// design from the posterior mean and standard deviation of the objective there.
//
// Sign convention: the objective is MINIMIZED. A search minimizes LCB and maximizes EI and LogEI,
// and best is the smallest value so far. EUBO and the rules in utility.go are about utilities,
// which are maximized.
//
// Gradients: mean and sd are numbers, dMean and dSD their gradients in the design (d values each),
// and dst (d values) receives the gradient of the result. A nil dst asks for the value only; then
// dMean and dSD are not read. dst may be one of the two. A length that does not match is a
// programmer's mistake and panics.
package acquisition

import (
	"math"

	"github.com/campaignd/campaignd/internal/num/special"
)

// chain fills dst with a·dMean + b·dSD, the gradient of a function whose
// partial derivatives are a and b. It does nothing where dst is nil.
func chain(dst, dMean, dSD []float64, a, b float64) {
	if dst == nil {
		return
	}
	if len(dMean) != len(dst) || len(dSD) != len(dst) {
		panic("acquisition: gradients of different lengths")
	}
	for j := range dst {
		dst[j] = a*dMean[j] + b*dSD[j]
	}
}

// UCB returns the upper confidence bound μ + β·σ and its gradient, the
// pessimistic value of a design under MINIMIZATION (Xu et al. 2024, §3.1).
func UCB(dst []float64, mean, sd, beta float64, dMean, dSD []float64) float64 {
	chain(dst, dMean, dSD, 1, beta)
	return mean + beta*sd
}

// EI returns the expected improvement E[max(best − f, 0)] for f ~ N(mean, sd²),
// and its gradient. For MINIMIZATION of f; the acquisition itself is maximized.
// With z = (best − mean)/sd it is sd·h(z), h(z) = φ(z) + z·Φ(z), and its
// partial derivatives are −Φ(z) and φ(z) (Jones, Schonlau and Welch 1998, Eq.
// 15). It underflows to 0 where the improvement is improbable: search on LogEI.
//
// With sd = 0 it is max(best − mean, 0); the gradient is then that of the
// branch taken, and 0 at equality.
func EI(dst []float64, mean, sd, best float64, dMean, dSD []float64) float64 {
	if !(sd > 0) {
		slope := 0.0
		if mean < best {
			slope = -1
		}
		chain(dst, dMean, dSD, slope, 0)
		return math.Max(best-mean, 0)
	}
	z := (best - mean) / sd
	cdf, pdf := special.NormalCDF(z), special.NormalPDF(z)
	chain(dst, dMean, dSD, -cdf, pdf)
	if z < -1 {
		logh, _ := special.LogH(z)
		return sd * math.Exp(logh)
	}
	return sd * (pdf + z*cdf)
}

// LogEI returns the logarithm of EI, computed so that neither it nor its gradient underflows,
// however improbable the improvement (LogEI: Ament et al. 2023). For MINIMIZATION of f; the
// acquisition is maximized.
//
// With sd = 0 it is ln(best − mean), and −Inf with a zero gradient where no gain is possible.
func LogEI(dst []float64, mean, sd, best float64, dMean, dSD []float64) float64 {
	if !(sd > 0) {
		gain := best - mean
		if !(gain > 0) {
			chain(dst, dMean, dSD, 0, 0)
			return math.Inf(-1)
		}
		chain(dst, dMean, dSD, -1/gain, 0)
		return math.Log(gain)
	}
	z := (best - mean) / sd
	logh, slope := special.LogH(z)
	// ∂/∂σ = (1 − z·h'/h)/σ = φ/(h·σ); each form where it does not cancel.
	var pdfOverH float64
	if z > 0 {
		pdfOverH = math.Exp(special.LogNormalPDF(z) - logh)
	} else {
		pdfOverH = 1 - z*slope
	}
	chain(dst, dMean, dSD, -slope/sd, pdfOverH/sd)
	return math.Log(sd) + logh
}

// EUBOPartials are the partial derivatives of EUBO in the two means and in the
// standard deviation of the difference.
type EUBOPartials struct {
	Mean1, Mean2, SD float64
}

// EUBO returns E[max(f₁, f₂)] of a bivariate normal with means m1, m2,
// variances v1, v2 and covariance cov: the expected utility of the better of
// two designs (EUBO: Lin et al. 2022), to be MAXIMIZED. With s² = v1 + v2 −
// 2·cov, the variance of the difference, and t = (m1 − m2)/s it is m1·Φ(t) +
// m2·Φ(−t) + s·φ(t) (Clark 1961). Where rounding leaves s² ≤ 0 the two values
// move together and it is max(m1, m2).
func EUBO(m1, m2, v1, v2, cov float64) (float64, EUBOPartials) {
	s := math.Sqrt(math.Max(v1+v2-2*cov, 0))
	if s == 0 {
		switch {
		case m1 > m2:
			return m1, EUBOPartials{Mean1: 1}
		case m1 < m2:
			return m2, EUBOPartials{Mean2: 1}
		default:
			return m1, EUBOPartials{Mean1: 0.5, Mean2: 0.5}
		}
	}
	t := (m1 - m2) / s
	p := EUBOPartials{Mean1: special.NormalCDF(t), Mean2: special.NormalCDF(-t),
		SD: special.NormalPDF(t)}
	// The larger mean plus the other's contribution: no cancellation between large means.
	logh, _ := special.LogH(-math.Abs(t))
	return math.Max(m1, m2) + s*math.Exp(logh), p
}

// Beta returns β_t = B + σ·√(2(γ + 1 + ln(2/δ))), the width with which μ ±
// β_t·σ_f holds the objective everywhere with probability at least 1 − δ/2 (Xu
// et al. 2024, Lemma 3.1). normBound is B, the bound on the objective's norm;
// noiseSD is σ, the sub-Gaussian scale of the noise in the objective's
// (standardized) unit; gain is γ_{t−1}, the information gain in nats; 0 < delta
// < 1.
func Beta(normBound, noiseSD, gain, delta float64) float64 {
	return normBound + noiseSD*math.Sqrt(2*(gain+1+math.Log(2/delta)))
}

// GrowingBeta returns β_t = 0.2·d·√(2(1 + t)), the width of the bounds for d
// parameters after t measurements (Adachi et al. 2024). It multiplies the
// variance: the bounds are μ ± √β_t·σ.
func GrowingBeta(d, t int) float64 { return 0.2 * float64(d) * math.Sqrt(2*float64(1+t)) }
