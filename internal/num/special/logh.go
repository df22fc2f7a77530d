package special

import "math"

// LogH returns ln h(z) with h(z) = φ(z) + z·Φ(z), the standardized expected improvement, and its
// derivative d ln h/dz = Φ(z)/h(z). LogEI needs it (Ament et al. 2023).
//
// Three branches. Above z = −1 the formula as it stands. Down to z = −10, h = φ(z)·(1 − |z|·R) with
// the Mills ratio R = Φ(z)/φ(z) from Erfcx; the difference loses at most two digits there. Below,
// where it would lose z² of the relative precision, the continued fraction R = 1/(x + 1/(x + 2/(x +
// 3/…))), x = −z (Abramowitz and Stegun 1964, 26.2.14): with C = 1/(x + 2/(x + …)) it gives 1 − x·R
// = C/(x + C) and d ln h/dz = 1/C, both without cancellation.
func LogH(z float64) (logh, slope float64) {
	switch {
	case z > -1:
		cdf := NormalCDF(z)
		h := NormalPDF(z) + z*cdf
		return math.Log(h), cdf / h
	case z > -10:
		x := -z
		mills := sqrtHalfP * Erfcx(x/sqrt2)
		rest := 1 - x*mills
		return LogNormalPDF(z) + math.Log(rest), mills / rest
	case math.IsInf(z, -1):
		return math.Inf(-1), math.Inf(1)
	default:
		x := -z
		// At x = 10 the 40th convergent agrees with the limit to 1e-17; larger
		// x need fewer.
		tail := x
		for k := 40; k >= 2; k-- {
			tail = x + float64(k)/tail
		}
		// Now tail = x + 2/(x + …) = 1/C.
		return LogNormalPDF(z) - math.Log1p(x*tail), tail
	}
}
