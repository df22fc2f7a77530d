package confset

import (
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/lapack/lapack64"
)

// interior is the working space of the interior-point method: u and w are one vector x of n+1
// values, w the last.
type interior struct {
	x, trial, step []float64
	f1, f2         []float64 // gradients of the two constraints
	residual       []float64
	curvature      *curvature
	scratch        []float64 // n×n
	hessian        []float64 // (n+1)×(n+1)
}

// byInterior solves a bound's problem by a primal-dual interior-point method (Boyd and Vandenberghe
// 2004, §11.7) with the exact curvature: slower than byModels by a factorization a step, but it
// needs no closeness of model and likelihood. It starts between the MLE and the origin, strictly
// inside, and keeps the two complementarity products of like size. The constraints are ½(|x|² − B²)
// ≤ 0 and floor − ℓ(Lu) ≤ 0.
//
// By convexity the surrogate duality gap plus the residual of stationarity times the diameter 2B
// bounds the error of the value. The search ends where that is interiorTolerance of the ball's
// reach, or, where rounding stops it, accepts interiorLimit.
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
	// objective·x is the bound; its gradient is (c, s).
	objective := func(x []float64) float64 { return floats.Dot(w.c, x[:n]) + w.s*x[n] }
	// evaluate leaves gradients in f1, f2 and returns the constraints' values.
	evaluate := func(x []float64) (float64, float64) {
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
	var v1, v2 float64
	for shrink := 0.5; ; shrink /= 2 {
		floats.ScaleTo(p.x[:n], 1-shrink, s.u0)
		p.x[n] = 0
		if v1, v2 = evaluate(p.x); v1 < 0 && v2 < -0.25*s.alpha {
			break
		}
		if shrink < 1e-12 {
			return 0, ErrNotConverged
		}
	}
	l1, l2 := 1/-v1, 1/-v2
	// stationarity returns |∇f0 + λ1∇f1 + λ2∇f2| and fills residual.
	stationarity := func(a, b float64) float64 {
		for i := range n {
			p.residual[i] = w.c[i] + a*p.f1[i] + b*p.f2[i]
		}
		p.residual[n] = w.s + a*p.f1[n]
		return floats.Norm(p.residual, 2)
	}
	wrong := math.Inf(1)
	accept := func() (float64, error) {
		if !(wrong <= interiorLimit*reach) {
			return 0, ErrNotConverged
		}
		for i, g := range w.grad {
			w.weights[i] = g * l2 / l1
		}
		return objective(p.x), nil
	}
	for w.deeper = 1; w.deeper <= 200; w.deeper++ {
		gap := -v1*l1 - v2*l2
		dual := stationarity(l1, l2)
		wrong = gap + 2*s.norm*dual
		if wrong <= interiorTolerance*reach {
			return accept()
		}
		t := 10 * 2 / gap
		// Newton's equations with the multipliers eliminated.
		s.answers.curvature(p.curvature, w.z)
		h := blas64.Symmetric{N: n + 1, Stride: n + 1, Data: p.hessian, Uplo: blas.Lower}
		clear(p.hessian)
		sub := blas64.Symmetric{N: n, Stride: n + 1, Data: p.hessian, Uplo: blas.Lower}
		p.curvature.congruence(sub, l2, s.matrix(), p.scratch)
		for i := range n + 1 {
			p.hessian[i*(n+1)+i] += l1
		}
		blas64.Syr(l1/-v1, vector(p.f1), h)
		blas64.Syr(l2/-v2, vector(p.f2), h)
		for i := range n {
			p.step[i] = -(w.c[i] + p.f1[i]/(t*-v1) + p.f2[i]/(t*-v2))
		}
		p.step[n] = -(w.s + p.f1[n]/(t*-v1))
		chol, ok := lapack64.Potrf(h)
		if !ok {
			return accept()
		}
		blas64.Trsv(blas.NoTrans, chol, vector(p.step))
		blas64.Trsv(blas.Trans, chol, vector(p.step))
		d1 := floats.Dot(p.f1, p.step)
		d2 := floats.Dot(p.f2, p.step)
		dl1 := (l1*d1+1/t)/-v1 - l1
		dl2 := (l2*d2+1/t)/-v2 - l2
		// The longest step that keeps the multipliers positive and the point inside, then one that
		// shrinks the residual.
		size := 1.0
		if dl1 < 0 {
			size = math.Min(size, -l1/dl1)
		}
		if dl2 < 0 {
			size = math.Min(size, -l2/dl2)
		}
		size *= 0.99
		merit := func(dual, a, b, v1, v2 float64) float64 {
			return math.Hypot(dual, math.Hypot(-a*v1-1/t, -b*v2-1/t))
		}
		before := merit(dual, l1, l2, v1, v2)
		for ; ; size *= 0.5 {
			if size < 1e-14 {
				evaluate(p.x)
				return accept()
			}
			floats.AddScaledTo(p.trial, p.x, size, p.step)
			n1, n2 := evaluate(p.trial)
			if n1 >= 0 || n2 >= 0 {
				continue
			}
			a, b := l1+size*dl1, l2+size*dl2
			if math.Min(-a*n1, -b*n2) < 0.1*0.5*(-a*n1-b*n2) {
				continue
			}
			if merit(stationarity(a, b), a, b, n1, n2) <= (1-0.01*size)*before {
				p.x, p.trial = p.trial, p.x
				v1 = n1
				v2 = n2
				l1 = a
				l2 = b
				break
			}
		}
	}
	return accept()
}

const (
	// interiorTolerance is the error bound, relative to B·√k(x, x), at which the interior-point
	// method stops.
	interiorTolerance = 1e-10
	// interiorLimit is the error bound above which a result is not returned: reached only where
	// rounding, in a nearly saturated likelihood with a tiny jitter, leaves no more.
	interiorLimit = 1e-7
)
