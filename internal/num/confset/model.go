package confset

import "math"

// model is the bound's problem with the likelihood replaced by a quadratic:
//
//	min cᵀu + s·w  subject to  |u|² + w² ≤ B²,  −bᵀu + ½uᵀDu + offset ≤ 0.
//
// With κ = 1/ν and m = μ/ν the minimizer is u = (b − κc)/(m + D), w = −κs/m.
// For fixed κ the norm decides m (a trust-region problem; Moré and Sorensen
// 1983), and the left side of the second constraint then grows with κ, from the
// model's own optimum at κ = 0 to the ball's at κ = ∞: a root search in κ
// around one in m.
type model struct {
	d, b, c []float64
	s       float64
	norm    float64
	offset  float64
}

// solution is a point of the path: κ = 1/ν and m = μ/ν.
type solution struct {
	kappa, m float64
}

// multiplier solves |u|² + w² = B² for m > 0 at fixed kappa, from the guess m;
// it returns 0 where the ball is not reached however small m is (only possible
// if κ·s is 0).
func (q *model) multiplier(kappa, m float64) float64 {
	lo := kappa * q.s / q.norm // w alone fills the ball at this m
	if !(m > lo) {
		m = lo
	}
	hi := math.Inf(1)
	for range 100 {
		if m == 0 {
			m = math.SmallestNonzeroFloat64 * 0x1p60
		}
		w := kappa * q.s / m
		size := w * w
		slope := size / m
		for i, d := range q.d {
			r := 1 / (m + d)
			u := (q.b[i] - kappa*q.c[i]) * r
			size += u * u
			slope += u * u * r
		}
		norm := math.Sqrt(size)
		if norm > q.norm {
			lo = math.Max(lo, m)
		} else {
			hi = math.Min(hi, m)
		}
		// Newton's step on 1/norm, which is nearly linear in m.
		step := (norm - q.norm) / q.norm * size / slope
		next := m + step
		if math.Abs(step) <= 1e-15*m || math.Abs(norm-q.norm) <= 2e-16*q.norm {
			return m
		}
		if !(next > lo && next < hi) {
			if math.IsInf(hi, 1) {
				next = 2 * math.Max(m, lo)
			} else {
				next = 0.5 * (lo + hi)
			}
			if hi <= 1e-300 {
				return 0
			}
		}
		m = next
	}
	return m
}

// excess returns the left side of the likelihood constraint and its slope along
// κ, m following.
func (q *model) excess(kappa, m float64) (value, slope float64) {
	w := kappa * q.s / m
	var sizeM, sizeK, linear float64 // ½∂(|u|² + w²)/∂m and /∂κ
	var valueM, valueK float64
	for i, d := range q.d {
		r := 1 / (m + d)
		u := (q.b[i] - kappa*q.c[i]) * r
		g := d*u - q.b[i]
		linear += u * (0.5*d*u - q.b[i])
		valueM -= g * u * r
		valueK -= g * q.c[i] * r
		sizeM -= u * u * r
		sizeK -= u * q.c[i] * r
	}
	if m > 0 {
		sizeM -= w * w / m
		sizeK += w * q.s / m
	}
	return linear + q.offset, valueK - valueM*sizeK/sizeM
}

// start returns a first guess of κ and m from the second derivative of the
// excess at κ = 0, where u is u0 with multiplier m0: along the ball it is
// m0·(|δ|² + (s/m0)²) + δᵀDδ for δ = du/dκ.
func (q *model) start(u0 []float64, m0 float64) solution {
	if m0 <= 0 {
		return solution{kappa: 1, m: q.s / q.norm}
	}
	var uc, uu float64
	for i, d := range q.d {
		r := 1 / (m0 + d)
		uc += u0[i] * q.c[i] * r
		uu += u0[i] * u0[i] * r
	}
	dm := -uc / uu
	curvature := q.s * q.s / m0
	for i, d := range q.d {
		r := q.c[i] + dm*u0[i]
		curvature += r * r / (m0 + d)
	}
	value, _ := q.excess(0, m0)
	kappa := math.Sqrt(math.Max(-2*value, 0) / curvature)
	return solution{kappa: kappa, m: math.Max(m0+dm*kappa, 0.1*m0)}
}

// solve finds κ and m from a guess. It reports false where the model has no
// solution with both constraints active.
func (q *model) solve(guess solution) (solution, bool) {
	at := guess
	lo, hi := 0.0, math.Inf(1)
	for range 60 {
		if !(at.kappa > 0) {
			return at, false
		}
		at.m = q.multiplier(at.kappa, at.m)
		value, slope := q.excess(at.kappa, at.m)
		if value > 0 {
			hi = at.kappa
		} else {
			lo = at.kappa
		}
		step := -value / slope
		if math.Abs(step) <= 1e-13*at.kappa || hi-lo <= 1e-15*lo {
			return at, true
		}
		next := at.kappa + step
		if !(next > lo && next < hi) {
			switch {
			case math.IsInf(hi, 1):
				next = 4 * at.kappa
			case lo == 0:
				next = 0.25 * at.kappa
			default:
				next = 0.5 * (lo + hi)
			}
		}
		if next < 1e-14 || next > 1e14 {
			return at, false
		}
		at.kappa = next
	}
	return at, false
}

// point fills u with the minimizer for a solution.
func (q *model) point(u []float64, at solution) {
	for i, d := range q.d {
		u[i] = (q.b[i] - at.kappa*q.c[i]) / (at.m + d)
	}
}
