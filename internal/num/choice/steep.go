package choice

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/lapack/lapack64"
)

// steep does what penalised does where the multiplier μ = 1/τ is so small that z = τ·K·a would lose its digits: a ball
// large enough that the likelihood is nearly saturated. It works on u, z = Lu with K = LLᵀ, maximising ℓ(Lu) − ½μ|u|² by
// Newton's method with the Cholesky factor of μI + LᵀWL: a matrix product a step dearer, without that loss.
type steep struct {
	answers        *answers
	root           blas64.Triangular // L
	u, z           []float64
	grad           []float64
	curvature      []float64
	scaled         []float64 // W^½L, n×n
	hessian        []float64
	step, trial, v []float64
}

// newSteep starts from z.
func newSteep(a *answers, gram, z []float64) (*steep, error) {
	n := len(z)
	v := func() []float64 { return make([]float64, n) }
	s := &steep{answers: a, u: v(), z: v(), grad: v(), curvature: v(), scaled: make([]float64, n*n),
		hessian: make([]float64, n*n), step: v(), trial: v(), v: v()}
	var ok bool
	s.root, ok = lapack64.Potrf(blas64.Symmetric{N: n, Stride: n, Data: append([]float64(nil), gram...), Uplo: blas.Lower})
	if !ok {
		return nil, fmt.Errorf("%w: the kernel matrix of %d labelled points is not positive definite; more jitter would help",
			ErrNotConverged, n)
	}
	copy(s.u, z)
	blas64.Trsv(blas.NoTrans, s.root, vector(s.u))
	return s, nil
}

// evaluate leaves z = Lu and ∇ℓ(z) and returns the objective.
func (s *steep) evaluate(u []float64, mu float64) float64 {
	copy(s.z, u)
	blas64.Trmv(blas.NoTrans, s.root, vector(s.z))
	return s.answers.slope(s.grad, s.z) - 0.5*mu*floats.Dot(u, u)
}

// maximise leaves the maximiser for mu in u and z, and returns N = |u|² and dN/d ln τ = 2μ·uᵀ(μI + LᵀWL)⁻¹u.
func (s *steep) maximise(mu float64) (size, slope float64, err error) {
	n := len(s.u)
	value := s.evaluate(s.u, mu)
	stalled := false
	for range 200 {
		s.answers.curvature(s.curvature, s.z)
		clear(s.scaled)
		for i, w := range s.curvature {
			floats.ScaleTo(s.scaled[i*n:i*n+i+1], math.Sqrt(w), s.root.Data[i*n:i*n+i+1])
		}
		h := blas64.Symmetric{N: n, Stride: n, Data: s.hessian, Uplo: blas.Lower}
		blas64.Syrk(blas.Trans, 1, blas64.General{Rows: n, Cols: n, Stride: n, Data: s.scaled}, 0, h)
		for i := range n {
			s.hessian[i*n+i] += mu
		}
		chol, ok := lapack64.Potrf(h)
		if !ok {
			return 0, 0, fmt.Errorf("%w: a singular curvature in the maximum likelihood at multiplier %g", ErrNotConverged, mu)
		}
		solve := func(x []float64) {
			blas64.Trsv(blas.NoTrans, chol, vector(x))
			blas64.Trsv(blas.Trans, chol, vector(x))
		}
		copy(s.step, s.grad)
		blas64.Trmv(blas.Trans, s.root, vector(s.step))
		floats.AddScaled(s.step, -mu, s.u)
		copy(s.v, s.step)
		solve(s.step)
		// Half the Newton decrement is what the objective still gains.
		gain := floats.Dot(s.v, s.step)
		if gain <= 1e-20 || floats.Norm(s.step, 2) <= 1e-12*floats.Norm(s.u, 2) || (stalled && gain <= 1e-3*gainTolerance) {
			copy(s.v, s.u)
			solve(s.v)
			return floats.Dot(s.u, s.u), 2 * mu * floats.Dot(s.u, s.v), nil
		}
		before := value
		for length := 1.0; ; length /= 2 {
			floats.AddScaledTo(s.trial, s.u, length, s.step)
			value = s.evaluate(s.trial, mu)
			if value >= before-1e-15*math.Abs(before) || length < 1e-10 {
				break
			}
		}
		s.u, s.trial = s.trial, s.u
		stalled = !(value > before)
	}
	return 0, 0, fmt.Errorf("%w: Newton's method for the maximum likelihood at multiplier %g", ErrNotConverged, mu)
}
