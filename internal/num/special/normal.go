package special

import "math"

// Normal returns φ(z), Φ(z) and h(z) = φ(z) + z·Φ(z) together, for callers who
// need all three at many places: one exponential, and one rational function.
//
// Below 0, Φ and h are φ times what [Mills] returns; above, Φ(z) = 1 − Φ(−z) and
// h(z) = z + h(−z). So each keeps its relative error in its tail, until it
// underflows.
func Normal(z float64) (pdf, cdf, h float64) {
	x := math.Abs(z)
	e := ExpNeg(-0.5 * x * x)
	var ratio, rest float64
	if x < erfBelow*sqrt2 {
		y := x * invSqrt2
		ratio = sqrtHalfP * (1 - erf(y)) / e
		rest = 1 - x*ratio
	} else {
		ratio, rest = Mills(x)
	}
	pdf = invSqrt2P * e
	cdf, h = pdf*ratio, pdf*rest
	if z > 0 {
		return pdf, 1 - cdf, z + h
	}
	return pdf, cdf, h
}

// Mills returns the Mills ratio R = Φ(−x)/φ(x) and 1 − x·R = h(−x)/φ(x), for x
// ≥ 0.67. Neither cancels nor underflows.
//
// They come from the rational Chebyshev approximations of erfc by Cody (1969,
// Tables II and III). The one for x > 4√2 is 1 − x·R itself, in 1/x².
func Mills(x float64) (ratio, rest float64) {
	y := x * invSqrt2
	if y > 4 {
		s := 2 / (x * x)
		n := ((((1.63153871373020978e-2*s+3.05326634961232344e-1)*s+3.60344899949804439e-1)*s+
			1.25781726111229246e-1)*s+1.60837851487422766e-2)*s + 6.58749161529837803e-4
		d := ((((s+2.56852019228982242)*s+1.87295284992346725)*s+5.27905102951428412e-1)*s+
			6.05183413124413191e-2)*s + 2.33520497626869185e-3
		rest = s * sqrtPi * n / d
		return (1 - rest) * (0.5 * s * x), rest
	}
	n := (((((((2.15311535474403846e-8*y+5.64188496988670089e-1)*y+8.88314979438837594)*y+
		6.61191906371416295e1)*y+2.98635138197400131e2)*y+8.81952221241769090e2)*y+
		1.71204761263407058e3)*y+2.05107837782607147e3)*y + 1.23033935479799725e3
	d := (((((((y+1.57449261107098347e1)*y+1.17693950891312499e2)*y+5.37181101862009858e2)*y+
		1.62138957456669019e3)*y+3.29079923573345963e3)*y+4.36261909014324716e3)*y+
		3.43936767414372164e3)*y + 1.23033935480374942e3
	ratio = sqrtHalfP * n / d
	return ratio, 1 - x*ratio
}

// erfBelow is where the approximation of erf ends.
const erfBelow = 0.46875

// erf is that of 0 ≤ y ≤ erfBelow (Cody 1969, Table I).
func erf(y float64) float64 {
	s := y * y
	n := (((1.85777706184603153e-1*s+3.16112374387056560)*s+1.13864154151050156e2)*s+
		3.77485237685302021e2)*s + 3.20937758913846947e3
	d := (((s+2.36012909523441209e1)*s+2.44024637934444173e2)*s+1.28261652607737228e3)*s +
		2.84423683343917062e3
	return y * n / d
}
