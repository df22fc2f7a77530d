package acquisition

import "math"

// The acquisitions of this file are of a utility f, which is MAXIMIZED, and so
// are they. best is the largest posterior mean over the designs compared so
// far.
//
// noiseVar is σ_ε²(x) > 0, the variance of the expert's noise at the design, in
// squared units of f (Sinaga et al. 2026, Eq. 6); dNoiseVar is its gradient. A
// constant noise has the gradient 0, and then every risk-averse rule ranks
// designs as its risk-neutral one. UCB needs no twin here: maximize it.

// The settings with which Sinaga et al. 2026 (§5) ran the risk-averse rules,
// for utilities of unit prior variance.
const (
	DefaultEta   = 2.0  // RAHBO: weight of the posterior's standard deviation
	DefaultGamma = 10.0 // ANPEI, RAHBO: weight of the noise
	DefaultAlpha = 10.0 // RAEUBO: weight of the noise
)

// The gradients of the mean and the sd in the coordinates (mean, sd) of a
// utility, as EI for minimization wants them: with them it returns its partial
// derivatives.
var (
	negatedMean = []float64{-1, 0}
	plainSD     = []float64{0, 1}
)

// chain3 is chain with a third partial derivative, c.
func chain3(dst, dMean, dSD, dNoise []float64, a, b, c float64) {
	if dst == nil {
		return
	}
	if len(dMean) != len(dst) || len(dSD) != len(dst) || len(dNoise) != len(dst) {
		panic("acquisition: gradients of different lengths")
	}
	for j := range dst {
		dst[j] = a*dMean[j] + b*dSD[j] + c*dNoise[j]
	}
}

// UtilityEI returns the expected improvement E[max(f − best, 0)] of a utility f
// ~ N(mean, sd²), and its gradient: EI with both signs turned. It underflows
// where the improvement is improbable: search on UtilityLogEI.
func UtilityEI(dst []float64, mean, sd, best float64, dMean, dSD []float64) float64 {
	if dst == nil {
		return EI(nil, -mean, sd, -best, nil, nil)
	}
	var p [2]float64
	v := EI(p[:], -mean, sd, -best, negatedMean, plainSD)
	chain(dst, dMean, dSD, p[0], p[1])
	return v
}

// UtilityLogEI returns the logarithm of UtilityEI, which never underflows; see
// LogEI.
func UtilityLogEI(dst []float64, mean, sd, best float64, dMean, dSD []float64) float64 {
	if dst == nil {
		return LogEI(nil, -mean, sd, -best, nil, nil)
	}
	var p [2]float64
	v := LogEI(p[:], -mean, sd, -best, negatedMean, plainSD)
	chain(dst, dMean, dSD, p[0], p[1])
	return v
}

// ANPEI returns the aleatoric noise-penalized expected improvement E[max(f − best, 0)] − γ·σ_ε, and
// its gradient (Sinaga et al. 2026, Eq. 9).
//
// The improvement is that of f(x) ~ N(mean, sd²); the posterior mean, whose improvement Eq. 9
// prints, is not random. The penalty is the noise's standard deviation, as in Eq. 9, and Φ and φ
// take (mean − best)/sd; the closed form of the appendix (Eq. S74) has the noise variance and
// divides by the posterior variance, which mixes units.
func ANPEI(
	dst []float64, mean, sd, noiseVar, best, gamma float64, dMean, dSD, dNoiseVar []float64,
) float64 {
	noiseSD := math.Sqrt(noiseVar)
	if dst == nil {
		return UtilityEI(nil, mean, sd, best, nil, nil) - gamma*noiseSD
	}
	var p [2]float64
	v := EI(p[:], -mean, sd, -best, negatedMean, plainSD)
	slope := 0.0 // dσ_ε/dσ_ε², taken as 0 without noise
	if noiseSD > 0 {
		slope = 0.5 / noiseSD
	}
	chain3(dst, dMean, dSD, dNoiseVar, p[0], p[1], -gamma*slope)
	return v - gamma*noiseSD
}

// RAHBO returns the risk-averse upper confidence bound μ + η·σ − γ·σ_ε², and
// its gradient (Sinaga et al. 2026, Eq. 10; Makarova et al. 2021). Here, unlike
// in ANPEI, the penalty is the noise variance.
func RAHBO(dst []float64, mean, sd, noiseVar, eta, gamma float64, dMean, dSD, dNoiseVar []float64) float64 {
	chain3(dst, dMean, dSD, dNoiseVar, 1, eta, -gamma)
	return mean + eta*sd - gamma*noiseVar
}

// RAEUBOPartials are the partial derivatives of RAEUBO: those of EUBO, and
// those in the two noise levels.
type RAEUBOPartials struct {
	EUBOPartials
	Noise1, Noise2 float64
}

// RAEUBO returns E[max(f₁ − α·noise1, f₂ − α·noise2)] of a bivariate normal
// with means m1, m2, variances v1, v2 and covariance cov: the expected
// risk-adjusted utility of the better of two designs (Sinaga et al. 2026, Eq.
// 11, by the closed form of EUBO instead of sampling). The noise levels are
// λ(x) of the logistic link, Eq. 7, as the paper has it; with the probit link,
// where the paper is silent, use the variance σ_ε²(x), which Eq. 6 makes the
// same function.
func RAEUBO(m1, m2, v1, v2, cov, noise1, noise2, alpha float64) (float64, RAEUBOPartials) {
	v, p := EUBO(m1-alpha*noise1, m2-alpha*noise2, v1, v2, cov)
	return v, RAEUBOPartials{EUBOPartials: p, Noise1: -alpha * p.Mean1, Noise2: -alpha * p.Mean2}
}
