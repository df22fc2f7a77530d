package confset

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/lapack/lapack64"
)

// tilted maximizes
//
//	ℓ(Lu) − ½m|u|² − κ·cᵀu
//
// over u, for one m > 0 and κ ≥ 0 after the other, each from the solution
// before, by Newton's method with the Cholesky factor of H = mI + LᵀWL. With
// κ = 0 it traces the MLE for ever larger balls like penalized, without losing
// digits where the multiplier m is small; with κ > 0 it traces the boundary of
// a confidence set.
type tilted struct {
	answers   *likelihood
	root      blas64.General // L, n×n
	u, z      []float64
	c         []float64
	grad      []float64
	logLik    float64
	curvature *curvature
	scratch   []float64 // n×n
	hessian   []float64
	chol      blas64.Triangular
	step      []float64
	trial     []float64
	residual  []float64
	settled   bool // maximize ends with settle
}

func newTilted(a *likelihood, root []float64) *tilted {
	n := a.size()
	v := func() []float64 { return make([]float64, n) }
	return &tilted{
		answers:   a,
		root:      blas64.General{Rows: n, Cols: n, Stride: n, Data: root},
		u:         v(),
		z:         v(),
		c:         v(),
		grad:      v(),
		curvature: a.newCurvature(),
		scratch:   make([]float64, n*n),
		hessian:   make([]float64, n*n),
		step:      v(),
		trial:     v(),
		residual:  v(),
	}
}

// newSteep returns a tilted with the Cholesky factor of gram as L, at the
// origin, for the MLE in a large ball.
func newSteep(a *likelihood, gram []float64) (*tilted, error) {
	n := a.size()
	root, err := cholesky(gram, n)
	if err != nil {
		return nil, err
	}
	return newTilted(a, root), nil
}

// cholesky returns the lower Cholesky factor of the n×n matrix gram, with zeros
// above the diagonal.
func cholesky(gram []float64, n int) ([]float64, error) {
	root := append([]float64(nil), gram...)
	_, ok := lapack64.Potrf(blas64.Symmetric{N: n, Stride: n, Data: root, Uplo: blas.Lower})
	if !ok {
		return nil, fmt.Errorf("%w: the kernel matrix of %d latent values is not positive definite; "+
			"more jitter would help",
			ErrNotConverged, n)
	}
	for i := range n {
		clear(root[i*n+i+1 : (i+1)*n])
	}
	return root, nil
}

// evaluate leaves z = Lu and ∇ℓ(z) and returns the objective.
func (s *tilted) evaluate(u []float64, m, kappa float64) float64 {
	blas64.Gemv(blas.NoTrans, 1, s.root, vector(u), 0, vector(s.z))
	s.logLik = s.answers.slope(s.grad, s.z)
	return s.logLik - 0.5*m*floats.Dot(u, u) - kappa*floats.Dot(s.c, u)
}

// solve overwrites x with H⁻¹x.
func (s *tilted) solve(x []float64) {
	blas64.Trsv(blas.NoTrans, s.chol, vector(x))
	blas64.Trsv(blas.Trans, s.chol, vector(x))
}

// factor computes H at z.
func (s *tilted) factor(m float64) error {
	n := len(s.u)
	s.answers.curvature(s.curvature, s.z)
	h := blas64.Symmetric{N: n, Stride: n, Data: s.hessian, Uplo: blas.Lower}
	s.curvature.congruence(h, 1, s.root, s.scratch)
	for i := range n {
		s.hessian[i*n+i] += m
	}
	var ok bool
	if s.chol, ok = lapack64.Potrf(h); !ok {
		return fmt.Errorf("%w: singular curvature of the likelihood at multiplier %g", ErrNotConverged, m)
	}
	return nil
}

// newton factors H at u, leaves Newton's step there in step, and returns the
// gain that it promises, times two.
func (s *tilted) newton(m, kappa float64) (float64, error) {
	if err := s.factor(m); err != nil {
		return 0, err
	}
	s.slope(m, kappa)
	copy(s.step, s.residual)
	s.solve(s.step)
	return floats.Dot(s.residual, s.step), nil
}

// slope leaves the objective's gradient at u in residual.
func (s *tilted) slope(m, kappa float64) {
	blas64.Gemv(blas.Trans, 1, s.root, vector(s.grad), 0, vector(s.residual))
	floats.AddScaled(s.residual, -m, s.u)
	floats.AddScaled(s.residual, -kappa, s.c)
}

// maximize leaves the maximizer in u, with z, grad, logLik and the factor of H
// there.
func (s *tilted) maximize(m, kappa float64) error {
	value := s.evaluate(s.u, m, kappa)
	stalled := false
	for round := range 300 {
		gain, err := s.newton(m, kappa)
		if err != nil {
			return err
		}
		// At least one step, or a slight change of m or κ would leave u where
		// it was.
		if round > 0 && (gain <= 1e-20 ||
			floats.Norm(s.step, 2) <= 1e-12*floats.Norm(s.u, 2) ||
			stalled && gain <= 1e-3*gainTolerance) {
			if s.settled {
				return s.settle(m, kappa, gain)
			}
			return nil
		}
		before := value
		copy(s.trial, s.u)
		for length := 1.0; ; length /= 2 {
			floats.AddScaledTo(s.u, s.trial, length, s.step)
			value = s.evaluate(s.u, m, kappa)
			if value >= before-1e-15*math.Abs(before) || length < 1e-10 ||
				s.settled && before-value <= 1e-13*(1+math.Abs(before)) && s.levels(m, kappa, gain) {
				break
			}
		}
		stalled = !(value > before)
	}
	return fmt.Errorf("%w: Newton's method for the likelihood at multiplier %g", ErrNotConverged, m)
}

// levels reports whether the objective's slope along step, gain where the step
// began, is at most half of that at u: then the step is right, and a slight fall
// of the value is rounding.
func (s *tilted) levels(m, kappa, gain float64) bool {
	s.slope(m, kappa)
	return math.Abs(floats.Dot(s.residual, s.step)) <= 0.5*gain
}

// settle goes on from where maximize would end, with the gain and the step
// there, by full Newton steps for as long as the gain falls.
//
// maximize ends where the value of the objective no longer tells one point from
// the next. A gain of 1e-13, which it cannot see, may still be a step of u by
// √(1e-13/m): 1e-4 for m = 1e-5. The gradient tells to about 1e-16/m.
func (s *tilted) settle(m, kappa, gain float64) error {
	for {
		copy(s.trial, s.u)
		floats.Add(s.u, s.step)
		s.evaluate(s.u, m, kappa)
		next, err := s.newton(m, kappa)
		if err != nil {
			return err
		}
		if !(next <= gain) {
			copy(s.u, s.trial)
			s.evaluate(s.u, m, kappa)
			return s.factor(m)
		}
		if !(next < 0.25*gain) {
			return nil
		}
		gain = next
	}
}

// size returns |u|² and its derivative in m, −2uᵀH⁻¹u, at the last solution.
func (s *tilted) size() (size, slope float64) {
	copy(s.step, s.u)
	s.solve(s.step)
	return floats.Dot(s.u, s.u), -2 * floats.Dot(s.u, s.step)
}
