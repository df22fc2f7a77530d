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
// reach, or the search has failed. That happens where m is small: tilted may end
// √(1e-13/m) from its maximizer, and the searches see noise. If settled is true,
// it goes on to where the rounding of the gradient ends it, and certify judges
// the result.
func (s *Set) byPath(settled bool) (float64, error) {
	w := s.work
	reach := s.norm * math.Sqrt(s.self)
	t := newTilted(s.answers, s.root)
	t.settled = settled
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
		near := math.Abs(lack)/kappa <= 1e-11*reach
		if settled && math.Abs(lack) > 1e-10*s.alpha {
			near = false // a small part of the way to the MLE must lead into the set
		}
		if near || hi-lo <= 1e-13*kappa {
			for i, g := range t.grad {
				w.weights[i] = g / m
			}
			short := lack/kappa + 0.5*over*m/kappa
			value := floats.Dot(w.c, t.u) - kappa*w.s*w.s/m + short
			if settled {
				return s.certify(t, kappa, m, value)
			}
			if !(math.Abs(short) <= interiorLimit*reach) {
				return 0, ErrNotConverged
			}
			return value, nil
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

// certify returns the bound that the Lagrangian's value in t proves, if a member
// of the set comes within interiorLimit of the ball's reach of it.
//
// For any κ and m the least Lagrangian is an outer bound. What t has not
// minimized of it is at most |r|²/(2κm), for it is strongly convex; r is κ times
// the slope that is left. The member is t's point, shrunk into the ball and
// then drawn to the MLE until it is likely enough.
func (s *Set) certify(t *tilted, kappa, m, lagrangian float64) (float64, error) {
	w := s.work
	t.slope(m, kappa)
	outer := lagrangian - floats.Dot(t.residual, t.residual)/(2*kappa*m)
	free := -kappa * w.s / m
	inside := math.Min(1, s.norm/math.Sqrt(floats.Dot(t.u, t.u)+free*free))
	for share := 0.0; share <= interiorLimit; share = math.Max(1e-16, 2*share) {
		floats.ScaleTo(t.trial, (1-share)*inside, t.u)
		floats.AddScaled(t.trial, share, s.u0)
		s.mulRoot(t.z, t.trial)
		if s.answers.logLik(t.z) < s.floor {
			continue
		}
		member := floats.Dot(w.c, t.trial) + w.s*free*(1-share)*inside
		if !(member-outer <= interiorLimit*s.norm*math.Sqrt(s.self)) {
			break
		}
		return outer, nil
	}
	return 0, ErrNotConverged
}
