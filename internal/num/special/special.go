// Package special holds the functions of probability that the models need in
// their tails, where the textbook formulas cancel or underflow: the scaled
// complementary error function, the logarithm of the normal distribution
// function, the logistic family, and log h of expected improvement; and a quick
// exponential for where little else is computed.
//
// Every function is defined on the whole line, returns NaN for NaN, and keeps a
// relative error of about 1e-14; a value that is itself as small as e^(−x²/2)
// keeps about x²·1e-16. For the normal quantile use gonum's
// mathext.NormalQuantile, which is accurate.
package special

import "math"

const (
	ln2       = math.Ln2
	sqrt2     = math.Sqrt2
	invSqrtPi = 0.56418958354775628694807945156077258584405 // 1/√π
	invSqrt2  = 0.70710678118654752440084436210484903928483 // 1/√2
	sqrtPi    = 1.77245385090551602729816748334114518279755 // √π
	invSqrt2P = 0.39894228040143267793994605993438186847586 // 1/√(2π)
	logSqrt2P = 0.91893853320467274178032973640561763986140 // ln √(2π)
	sqrtHalfP = 1.25331413731550025120788264240552262650349 // √(π/2)
)

// Erfcx returns the scaled complementary error function exp(x²)·erfc(x). It is
// +Inf below about −26.6 and decreases like 1/(x√π) for large x.
//
// Up to x = 26 the two factors are representable and are multiplied, with the
// rounding error of x² put back; beyond it the asymptotic series is used
// (Abramowitz and Stegun 1964, 7.1.23), whose first omitted term is below
// 1e-17.
func Erfcx(x float64) float64 {
	if x < 26 {
		return expSquare(x) * math.Erfc(x)
	}
	q := 1 / (2 * x * x)
	return invSqrtPi / x * (1 - q*(1-3*q*(1-5*q*(1-7*q*(1-9*q)))))
}

// expSquare returns exp(x²) without the relative error x²·2⁻⁵³ of
// math.Exp(x*x).
func expSquare(x float64) float64 {
	square := x * x
	e := math.Exp(square)
	if math.IsInf(e, 1) {
		return e
	}
	return e * (1 + math.FMA(x, x, -square))
}

// LogNormalPDF returns ln φ(x) of the standard normal density.
func LogNormalPDF(x float64) float64 { return -0.5*x*x - logSqrt2P }

// NormalPDF returns φ(x), the standard normal density.
func NormalPDF(x float64) float64 { return math.Exp(-0.5*x*x - logSqrt2P) }

// NormalCDF returns Φ(x), the standard normal distribution function, accurate
// in both tails until it underflows.
func NormalCDF(x float64) float64 { return 0.5 * math.Erfc(-x/sqrt2) }

// LogNormalCDF returns ln Φ(x).
func LogNormalCDF(x float64) float64 {
	switch {
	case x < -1:
		return -0.5*x*x + math.Log(0.5*Erfcx(-x/sqrt2))
	case x < 1:
		return math.Log(0.5 * math.Erfc(-x/sqrt2))
	default:
		return math.Log1p(-0.5 * math.Erfc(x/sqrt2))
	}
}

// InverseMills returns φ(x)/Φ(x), the derivative of LogNormalCDF. It grows like
// −x for x → −∞.
func InverseMills(x float64) float64 {
	if x < -1 {
		return 1 / (sqrtHalfP * Erfcx(-x/sqrt2))
	}
	return NormalPDF(x) / NormalCDF(x)
}

// Log1mExp returns ln(1 − eˣ) for x ≤ 0 (−Inf at 0) and NaN for x > 0. Source:
// Mächler 2012, "Accurately computing log(1 − exp(−|a|))", Eq. 7.
func Log1mExp(x float64) float64 {
	if x > -ln2 {
		return math.Log(-math.Expm1(x))
	}
	return math.Log1p(-math.Exp(x))
}

// Log1pExp returns ln(1 + eˣ), the softplus function.
func Log1pExp(x float64) float64 {
	if x > 0 {
		return x + math.Log1p(math.Exp(-x))
	}
	return math.Log1p(math.Exp(x))
}

// Logistic returns 1/(1 + e⁻ˣ), the derivative of Log1pExp.
func Logistic(x float64) float64 {
	e := math.Exp(-math.Abs(x))
	if x < 0 {
		return e / (1 + e)
	}
	return 1 / (1 + e)
}

// LogLogistic returns ln of the logistic function, −ln(1 + e⁻ˣ).
func LogLogistic(x float64) float64 { return -Log1pExp(-x) }
