package confset

import (
	"math"

	"gonum.org/v1/gonum/floats"
)

// byPath solves a bound's problem with the exact likelihood and no cleverness:
// the structure of model, two nested monotone root searches, the outer for κ =
// 1/ν by the likelihood and the inner for m = μ/ν by the norm, around Newton's
// method for a strongly concave function (tilted). It is the last resort, for
// problems where the likelihood is all but saturated; a factorization for every
// step of every search makes it slow.
//
// The Lagrangian at the multipliers is the value that duality certifies; it
// must agree with the constraints' residuals to interiorLimit of the ball's
// reach, or the search has failed.
func (s *Set) byPath() (float64, error) {
	w := s.work
	reach := s.norm * math.Sqrt(s.self)
	t := newTilted(s.answers, s.root)
	copy(t.u, s.u0)
	copy(t.c, w.c)
	kappa, m := math.Sqrt(s.alpha)/reach, s.mle.multiplier
	lo, hi := 0.0, math.Inf(1)
	for range 200 {
		var over float64
		var err error
		if m, over, err = s.normMultiplier(t, kappa, m); err != nil {
			return 0, err
		}
		lack := s.floor - t.logLik
		if math.Abs(lack)/kappa <= 1e-11*reach || hi-lo <= 1e-13*kappa {
			short := lack/kappa + 0.5*over*m/kappa
			if !(math.Abs(short) <= interiorLimit*reach) {
				return 0, ErrNotConverged
			}
			for i, g := range t.grad {
				w.weights[i] = g / m
			}
			return floats.Dot(w.c, t.u) - kappa*w.s*w.s/m + short, nil
		}
		if lack > 0 {
			hi = kappa
		} else {
			lo = kappa
		}
		switch {
		case math.IsInf(hi, 1):
			kappa *= 4
		case lo == 0:
			kappa /= 4
		case hi > 2*lo:
			kappa = math.Sqrt(lo * hi)
		default:
			kappa = 0.5 * (lo + hi)
		}
	}
	return 0, ErrNotConverged
}

// normMultiplier finds m for κ, from the given m on, and returns it with the
// norm's residual
// |u|² + w² − B². It leaves the solution in t.
func (s *Set) normMultiplier(t *tilted, kappa, m float64) (float64, float64, error) {
	w := s.work
	target := s.norm * s.norm
	lo, hi := kappa*w.s/s.norm, math.Inf(1)
	m = math.Max(m, lo)
	for range 200 {
		if err := t.maximize(m, kappa); err != nil {
			return 0, 0, err
		}
		size, slope := t.size()
		free := kappa * w.s / m
		size += free * free
		slope -= 2 * free * free / m
		if math.Abs(size-target) <= 1e-12*target || hi-lo <= 1e-13*m {
			return m, size - target, nil
		}
		if size > target {
			lo = m
		} else {
			hi = m
		}
		norm := math.Sqrt(size)
		next := m - 2*(norm-s.norm)/s.norm*size/slope
		if !(next > lo && next < hi) {
			if math.IsInf(hi, 1) {
				next = 4 * m
			} else {
				next = 0.5 * (lo + hi)
			}
		}
		m = next
	}
	return 0, 0, ErrNotConverged
}
