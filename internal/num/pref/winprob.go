package pref

import (
	"math"

	"github.com/campaignd/campaignd/internal/num/special"
)

// WinProbability returns the posterior probability that x is preferred to y in
// a new duel under the link, the noise of the judgment at the two designs (a
// variance or a scale, see Duels) and the uncertainty of f both included.
//
// With z = a·f(x) − b·f(y) ~ N(μ, s²) it is E[Φ(z)] = Φ(μ/√(1 + s²)) for
// Probit, in closed form, and E[1/(1 + e^(−z))] for Logistic, by quadrature to
// about 1e-15 absolute.
func (q *Predictor) WinProbability(link Link, x, y []float64, noiseX, noiseY float64) float64 {
	return q.Pair(x, y).WinProbability(link, noiseX, noiseY)
}

// WinProbability is Predictor.WinProbability with a workspace of its own.
func (p *Posterior) WinProbability(link Link, x, y []float64, noiseX, noiseY float64) float64 {
	return p.Pair(x, y).WinProbability(link, noiseX, noiseY)
}

// WinProbability is Predictor.WinProbability for moments already at hand.
func (m Moments) WinProbability(link Link, noiseX, noiseY float64) float64 {
	a, b := link.Weights(noiseX, noiseY)
	mean := a*m.MeanX - b*m.MeanY
	variance := max(a*a*m.VarX+b*b*m.VarY-2*a*b*m.Cov, 0)
	if link == Logistic {
		return logisticNormal(mean, math.Sqrt(variance))
	}
	return special.NormalCDF(mean / math.Sqrt(1+variance))
}

// logisticNormal returns E[1/(1 + e^(−z))] for z ~ N(mean, sd²).
//
// The trapezoidal rule is exponentially accurate for analytic integrands on the
// whole line (Trefethen and Weideman 2014, Theorem 5.1). For sd ≤ 1 it is
// applied to the logistic function times the normal density, in units of sd:
// the poles lie at a distance of at least π. For larger sd they would come
// near, and the same integral by parts, the logistic density times Φ((mean +
// y)/sd), keeps them at π whatever sd. A step of ½ leaves an error of e^(−4π²)
// ≈ 7e-18 in both.
func logisticNormal(mean, sd float64) float64 {
	const step = 0.5
	var sum float64
	if sd <= 1 {
		for i := -18; i <= 18; i++ { // |t| ≤ 9, where φ < 2e-18
			t := step * float64(i)
			sum += special.Logistic(mean+sd*t) * special.NormalPDF(t)
		}
		return step * sum
	}
	for i := -80; i <= 80; i++ { // |y| ≤ 40, where the density < 5e-18
		y := step * float64(i)
		sum += special.Logistic(y) * special.Logistic(-y) * special.NormalCDF((mean+y)/sd)
	}
	return step * sum
}
