package confset

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"
)

const (
	// maxRounds ends the rounds of quadratic models; those that contract need
	// far fewer.
	maxRounds = 60
	// pointTolerance is the error of u relative to B at which the rounds stop.
	// The value is exact to its square.
	pointTolerance = 1e-9
	// valueTolerance is the effect on the value, relative to B·√k(x, x), of the
	// likelihood constraint's residual.
	valueTolerance = 1e-10
)

// support returns the lower (sign 1) or upper (sign −1) bound at the point of
// the last prepare, and leaves the weights of its gradient.
func (s *Set) support(sign float64) (float64, error) {
	w := s.work
	w.rounds, w.deeper = 0, 0
	reach := s.norm * math.Sqrt(s.self)
	if s.ballOnly(sign) {
		clear(w.weights)
		return -sign * reach, nil
	}
	copy(w.c, w.v)
	floats.Scale(sign, w.c)
	for _, mixed := range []bool{false, true} {
		if value, ok := s.byModels(mixed); ok {
			return sign * value, nil
		}
	}
	value, err := s.byInterior()
	for _, settled := range []bool{false, true} {
		if err != nil {
			value, err = s.byPath(settled)
		}
	}
	if err != nil {
		return 0, fmt.Errorf("%w: a bound with %d latent values, norm bound %g, margin %g",
			err, len(w.v), s.norm, s.alpha)
	}
	return sign * value, nil
}

// ballOnly reports whether the likelihood leaves the ball's own bound alone.
// The belief that attains it is ∓B·k(x, ·)/√k(x, x).
func (s *Set) ballOnly(sign float64) bool {
	w := s.work
	if len(w.z) == 0 {
		return true
	}
	for i, k := range w.kx {
		w.z[i] = -sign * s.norm / math.Sqrt(s.self) * k
	}
	return s.answers.logLik(w.z) >= s.floor
}

// byModels solves by rounds of quadratic models (see the package comment), each
// starting from the solution of the one before or, mixed, from where a mixing
// of the last ones expects the end. It reports false where plain rounds do not
// contract, or mixed ones do not end.
func (s *Set) byModels(mixed bool) (float64, bool) {
	w := s.work
	if mixed {
		if w.mixing == nil {
			w.mixing = newMixing(len(w.u))
		}
		w.mixing.known = 0
	}
	q := model{d: s.d, b: w.b, c: w.c, s: w.s, norm: s.norm}
	copy(w.u, s.u0)
	copy(w.h, s.h0)
	logLik := s.mle.logLik
	reach := s.norm * math.Sqrt(s.self)
	var at solution
	last := math.Inf(1)
	for w.rounds = 1; w.rounds <= maxRounds; w.rounds++ {
		s.linearize(&q, logLik)
		if w.rounds == 1 {
			at = q.start(s.u0, s.mle.multiplier)
		}
		var ok bool
		if at, ok = q.solve(at); !ok {
			return 0, false
		}
		q.point(w.next, at)
		if mixed && !(floats.Distance(w.u, w.next, 2) <= 10*pointTolerance*s.norm) {
			w.mixing.next(w.u, w.next)
			intoBall(w.u, s.norm)
			logLik = s.slope()
			continue
		}
		copy(w.u, w.next)
		logLik = s.slope()
		// How far stationarity m·u = h − κ·c is missed, as a step of u.
		var miss, value float64
		for i, u := range w.u {
			r := (w.h[i] - at.m*u - at.kappa*w.c[i]) / (at.m + s.d[i])
			miss += r * r
			value += w.c[i] * u
		}
		miss = math.Sqrt(miss)
		short := (s.floor - logLik) / at.kappa // the residual of the likelihood, in the unit of the bound
		if miss <= pointTolerance*s.norm && math.Abs(short) <= valueTolerance*reach {
			for i, g := range w.grad {
				w.weights[i] = g / at.m
			}
			return value - at.kappa*w.s*w.s/at.m + short, true
		}
		if !mixed && w.rounds > 2 && !(miss < 0.3*last) {
			return 0, false
		}
		last = miss
	}
	return 0, false
}

// slope returns ℓ(Lu) and leaves its gradient in grad (in z) and h (in u).
func (s *Set) slope() float64 {
	w := s.work
	s.mulRoot(w.z, w.u)
	logLik := s.answers.slope(w.grad, w.z)
	s.mulRootT(w.h, w.grad)
	return logLik
}

// linearize fills the model of the likelihood around the point in u and h,
// where it is logLik.
func (s *Set) linearize(q *model, logLik float64) {
	w := s.work
	q.offset = s.floor - logLik
	for i, u := range w.u {
		du := s.d[i] * u
		q.b[i] = w.h[i] + du
		q.offset += u * (w.h[i] + 0.5*du)
	}
}
