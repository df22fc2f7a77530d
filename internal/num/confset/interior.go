package confset

import (
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/lapack/lapack64"
)

// interior is the working space of the interior-point method: u and w are one
// vector x of n+1 values, w the last.
type interior struct {
	x, trial, step []float64
	f1, f2         []float64 // gradients of the two constraints
	residual       []float64
	curvature      *curvature
	scratch        []float64 // n×n
	hessian        []float64 // (n+1)×(n+1)

	v1, v2 float64 // values of the constraints at x
	l1, l2 float64 // their multipliers
}

// byInterior solves a bound's problem by a primal-dual interior-point method
// (Boyd and Vandenberghe 2004, §11.7) with the exact curvature: slower than
// byModels by a factorization a step, but it needs no closeness of model and
// likelihood. It starts between the MLE and the origin, strictly inside, and
// keeps the two complementarity products of like size. The constraints are
// ½(|x|² − B²) ≤ 0 and floor − ℓ(Lu) ≤ 0.
//
// By convexity the surrogate duality gap plus the residual of stationarity
// times the diameter 2B bounds the error of the value. The search ends where
// that is interiorTolerance of the ball's reach, or, where rounding stops it,
// accepts interiorLimit.
func (s *Set) byInterior() (float64, error) {
	w := s.work
	n := len(w.v)
	if w.interior == nil {
		v := func(k int) []float64 { return make([]float64, k) }
		w.interior = &interior{
			x:         v(n + 1),
			trial:     v(n + 1),
			step:      v(n + 1),
			f1:        v(n + 1),
			f2:        v(n + 1),
			residual:  v(n + 1),
			curvature: s.answers.newCurvature(),
			scratch:   v(n * n),
			hessian:   v((n + 1) * (n + 1)),
		}
	}
	p := w.interior
	reach := s.norm * math.Sqrt(s.self)
	if err := s.enter(p); err != nil {
		return 0, err
	}
	wrong := math.Inf(1)
	accept := func() (float64, error) {
		if !(wrong <= interiorLimit*reach) {
			return 0, ErrNotConverged
		}
		for i, g := range w.grad {
			w.weights[i] = g * p.l2 / p.l1
		}
		// The bound's gradient is (c, s).
		return floats.Dot(w.c, p.x[:n]) + w.s*p.x[n], nil
	}
	for w.deeper = 1; w.deeper <= 200; w.deeper++ {
		gap := -p.v1*p.l1 - p.v2*p.l2
		dual := s.stationarity(p, p.l1, p.l2)
		wrong = gap + 2*s.norm*dual
		if wrong <= interiorTolerance*reach {
			return accept()
		}
		t := 10 * 2 / gap
		if !s.direct(p, t) {
			return accept()
		}
		if !s.advance(p, t, dual) {
			s.evaluate(p, p.x)
			return accept()
		}
	}
	return accept()
}

// evaluate leaves the constraints' gradients at x in f1 and f2 and returns
// their values.
func (s *Set) evaluate(p *interior, x []float64) (v1, v2 float64) {
	w := s.work
	n := len(w.v)
	s.mulRoot(w.z, x[:n])
	logLik := s.answers.slope(w.grad, w.z)
	s.mulRootT(w.h, w.grad)
	copy(p.f1, x)
	for i := range n {
		p.f2[i] = -w.h[i]
	}
	p.f2[n] = 0
	return 0.5 * (floats.Dot(x, x) - s.norm*s.norm), s.floor - logLik
}

// enter goes from the origin towards the MLE to a point strictly inside both
// constraints, and sets the multipliers so that both complementarity products
// are 1.
func (s *Set) enter(p *interior) error {
	n := len(s.work.v)
	for shrink := 0.5; ; shrink /= 2 {
		floats.ScaleTo(p.x[:n], 1-shrink, s.u0)
		p.x[n] = 0
		if p.v1, p.v2 = s.evaluate(p, p.x); p.v1 < 0 && p.v2 < -0.25*s.alpha {
			break
		}
		if shrink < 1e-12 {
			return ErrNotConverged
		}
	}
	p.l1, p.l2 = 1/-p.v1, 1/-p.v2
	return nil
}

// stationarity returns |∇f0 + λ1∇f1 + λ2∇f2| and fills residual.
func (s *Set) stationarity(p *interior, l1, l2 float64) float64 {
	w := s.work
	n := len(w.v)
	for i := range n {
		p.residual[i] = w.c[i] + l1*p.f1[i] + l2*p.f2[i]
	}
	p.residual[n] = w.s + l1*p.f1[n]
	return floats.Norm(p.residual, 2)
}

// direct solves Newton's equations for the barrier 1/t, with the multipliers
// eliminated, into step. It reports false where rounding has left the matrix
// indefinite.
func (s *Set) direct(p *interior, t float64) bool {
	w := s.work
	n := len(w.v)
	s.answers.curvature(p.curvature, w.z)
	h := blas64.Symmetric{N: n + 1, Stride: n + 1, Data: p.hessian, Uplo: blas.Lower}
	clear(p.hessian)
	sub := blas64.Symmetric{N: n, Stride: n + 1, Data: p.hessian, Uplo: blas.Lower}
	p.curvature.congruence(sub, p.l2, s.matrix(), p.scratch)
	for i := range n + 1 {
		p.hessian[i*(n+1)+i] += p.l1
	}
	blas64.Syr(p.l1/-p.v1, vector(p.f1), h)
	blas64.Syr(p.l2/-p.v2, vector(p.f2), h)
	for i := range n {
		p.step[i] = -(w.c[i] + p.f1[i]/(t*-p.v1) + p.f2[i]/(t*-p.v2))
	}
	p.step[n] = -(w.s + p.f1[n]/(t*-p.v1))
	chol, ok := lapack64.Potrf(h)
	if !ok {
		return false
	}
	blas64.Trsv(blas.NoTrans, chol, vector(p.step))
	blas64.Trsv(blas.Trans, chol, vector(p.step))
	return true
}

// advance takes the longest step that keeps the multipliers positive and the
// point inside, then one that shrinks the residual. It reports false where no
// step does.
func (s *Set) advance(p *interior, t, dual float64) bool {
	d1 := floats.Dot(p.f1, p.step)
	d2 := floats.Dot(p.f2, p.step)
	dl1 := (p.l1*d1+1/t)/-p.v1 - p.l1
	dl2 := (p.l2*d2+1/t)/-p.v2 - p.l2
	size := 1.0
	if dl1 < 0 {
		size = math.Min(size, -p.l1/dl1)
	}
	if dl2 < 0 {
		size = math.Min(size, -p.l2/dl2)
	}
	size *= 0.99
	merit := func(dual, a, b, v1, v2 float64) float64 {
		return math.Hypot(dual, math.Hypot(-a*v1-1/t, -b*v2-1/t))
	}
	before := merit(dual, p.l1, p.l2, p.v1, p.v2)
	for ; size >= 1e-14; size *= 0.5 {
		floats.AddScaledTo(p.trial, p.x, size, p.step)
		n1, n2 := s.evaluate(p, p.trial)
		if n1 >= 0 || n2 >= 0 {
			continue
		}
		a, b := p.l1+size*dl1, p.l2+size*dl2
		if math.Min(-a*n1, -b*n2) < 0.1*0.5*(-a*n1-b*n2) {
			continue
		}
		if merit(s.stationarity(p, a, b), a, b, n1, n2) <= (1-0.01*size)*before {
			p.x, p.trial = p.trial, p.x
			p.v1, p.v2 = n1, n2
			p.l1, p.l2 = a, b
			return true
		}
	}
	return false
}

const (
	// interiorTolerance is the error bound, relative to B·√k(x, x), at which
	// the interior-point method stops.
	interiorTolerance = 1e-10
	// interiorLimit is the error bound above which a result is not returned:
	// reached only where rounding, in a nearly saturated likelihood with a tiny
	// jitter, leaves no more.
	interiorLimit = 1e-7
)
