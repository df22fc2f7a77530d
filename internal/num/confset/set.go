package confset

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/lapack/lapack64"

	"github.com/campaignd/campaignd/internal/num/kernel"
)

// Set is the likelihood-ratio confidence set of beliefs: every g of norm at
// most B with ℓ(g) ≥ ℓ(MLE) − α₁ (Xu et al. 2024, Eq. 5, 6). Its results are
// functions of what NewSet got and of the point alone, bit for bit, in any
// order of calls. A Set keeps scratch space and is not safe for concurrent use;
// Fork gives another goroutine its own.
type Set struct {
	*shape
	work *scratch
}

// shape holds the parts that do not change after NewSet.
type shape struct {
	answers *likelihood
	kernel  kernel.Kernel
	self    float64 // k(x, x) + jitter
	norm    float64 // B
	floor   float64 // ℓ(MLE) − α₁
	alpha   float64
	mle     mleFit

	// L as n×n row-major with LᵀVL = D. Column order: D falling.
	root    []float64
	d       []float64 // the diagonal of D
	scale   []float64 // the diagonal of V, if V is diagonal: L⁻¹ = D⁻¹LᵀV
	inverse []float64 // else L⁻¹
	u0      []float64 // the MLE, z = L·u0
	h0      []float64 // Lᵀ∇ℓ there
	beta0   []float64 // the MLE as a function is Σ beta0_i·cov(z_i, ·)
}

// scratch is the working space of one caller, reused from call to call.
type scratch struct {
	kx, kGrad      []float64 // cov(z_i, g(x)), and its gradient in x, n×d
	points, pGrad  []float64 // the same for all points, which they are made of and share memory with
	v, c           []float64 // v(x), and the objective: v or −v
	s              float64   // s(x)
	u, next, b     []float64
	z, grad, h     []float64
	weights        []float64 // of the last bound: its gradient is Σ weights_i·∂cov(z_i, g(x))/∂x
	mixing         *mixing
	interior       *interior
	rounds, deeper int // counts of the last call, for tests
}

// minCurvature keeps V away from zero, per answer: 1/4 is the most an answer's
// curvature can be.
const minCurvature = 1e-3

// NewSet fits the answers and returns their confidence set with norm bound norm (B_g) and
// likelihood margin alpha (α₁, the total, natural log). Without answers the set is the ball. The
// kernel is a stationary one, of kernel.New; norm, alpha and jitter must be positive and finite. It
// fails with ErrFeedback, ErrSetting or ErrNotConverged.
func NewSet(evidence Evidence, k kernel.Kernel, norm, alpha, jitter float64) (*Set, error) {
	if !(alpha > 0) || math.IsInf(alpha, 1) {
		return nil, fmt.Errorf("%w: likelihood margin %v, it must be positive and finite",
			ErrSetting, alpha)
	}
	a, gram, err := prepare(evidence, k, norm, jitter)
	if err != nil {
		return nil, err
	}
	s := &shape{answers: a, kernel: k, self: k.OutputScale() + jitter, norm: norm, alpha: alpha}
	if s.mle, err = fitMLE(a, gram, norm); err != nil {
		return nil, err
	}
	s.floor = s.mle.logLik - alpha
	if err := s.diagonalize(gram, jitter); err != nil {
		return nil, err
	}
	return &Set{shape: s, work: s.newScratch()}, nil
}

// Fork returns a Set that shares everything but the scratch space.
func (s *Set) Fork() *Set { return &Set{shape: s.shape, work: s.shape.newScratch()} }

func (s *shape) newScratch() *scratch {
	n := len(s.d)
	m := len(s.answers.points)
	dim := s.kernel.Dim()
	v := func() []float64 { return make([]float64, n) }
	w := &scratch{
		points:  make([]float64, m),
		pGrad:   make([]float64, m*dim),
		v:       v(),
		c:       v(),
		u:       v(),
		next:    v(),
		b:       v(),
		z:       v(),
		grad:    v(),
		h:       v(),
		weights: v(),
	}
	w.kx, w.kGrad = w.points[:n], w.pGrad[:n*dim]
	return w
}

// diagonalize finds L and D.
func (s *shape) diagonalize(gram []float64, jitter float64) error {
	n := s.answers.size()
	s.root, s.d = gram, make([]float64, n)
	s.u0 = make([]float64, n)
	s.h0 = make([]float64, n)
	s.beta0 = make([]float64, n)
	if n == 0 {
		return nil
	}
	v := s.answers.newCurvature()
	s.answers.curvature(v, s.mle.z)
	s.answers.atLeast(v, minCurvature)
	var err error
	if s.answers.coupled() {
		err = s.diagonalizeCoupled(v, gram)
	} else {
		s.scale = v.own
		err = s.diagonalizeScaled(gram, jitter)
	}
	if err != nil {
		return err
	}
	s.mulRootT(s.h0, s.mle.grad)
	if s.mle.multiplier > 1/steepest {
		for i := range n {
			s.u0[i] = s.h0[i] / s.mle.multiplier
			s.beta0[i] = s.mle.grad[i] / s.mle.multiplier
		}
		return nil
	}
	s.solveRoot(s.u0, s.mle.z, make([]float64, n))
	s.solveRootT(s.beta0, s.u0)
	return nil
}

// diagonalizeScaled does so for diagonal V, from the eigenvectors P of V^½(K +
// jitter·I)V^½ = P·D·Pᵀ: L = V^(−½)·P·D^½.
func (s *shape) diagonalizeScaled(gram []float64, jitter float64) error {
	n := len(s.d)
	p := make([]float64, n*n)
	for i := range n {
		for j := range n {
			p[i*n+j] = math.Sqrt(s.scale[i]) * gram[i*n+j] * math.Sqrt(s.scale[j])
		}
	}
	values, err := eigen(p, n)
	if err != nil {
		return err
	}
	smallest := floats.Min(s.scale)
	for j := range n {
		from := n - 1 - j
		// The smallest eigenvalue that exact arithmetic allows; rounding may
		// leave less, even below zero.
		s.d[j] = math.Max(values[from], jitter*smallest)
		root := math.Sqrt(s.d[j])
		for i := range n {
			s.root[i*n+j] = p[i*n+from] / math.Sqrt(s.scale[i]) * root
		}
	}
	return nil
}

// diagonalizeCoupled does so for any V, from the Cholesky factor R of K +
// jitter·I and the eigenvectors P of RᵀVR = P·D·Pᵀ: L = R·P and L⁻¹ = PᵀR⁻¹.
func (s *shape) diagonalizeCoupled(v *curvature, gram []float64) error {
	n := len(s.d)
	factor, err := cholesky(gram, n)
	if err != nil {
		return err
	}
	p, scratch := make([]float64, n*n), make([]float64, n*n)
	v.congruence(blas64.Symmetric{N: n, Stride: n, Data: p, Uplo: blas.Lower}, 1,
		blas64.General{Rows: n, Cols: n, Stride: n, Data: factor}, scratch)
	values, err := eigen(p, n)
	if err != nil {
		return err
	}
	s.inverse = scratch
	for j := range n {
		from := n - 1 - j
		s.d[j] = math.Max(values[from], 1e-16*values[n-1]) // rounding may leave less, even below zero
		for i := range n {
			s.root[i*n+j] = p[i*n+from]
			s.inverse[j*n+i] = p[i*n+from]
		}
	}
	blas64.Trmm(blas.Left, blas.NoTrans, 1, lower(factor, n), s.matrix())
	blas64.Trsm(blas.Right, blas.NoTrans, 1, lower(factor, n), s.inverseMatrix())
	return nil
}

// eigen overwrites the symmetric matrix whose lower triangle is in p with its
// eigenvectors, as columns, and returns the eigenvalues in rising order.
func eigen(p []float64, n int) ([]float64, error) {
	values, query := make([]float64, n), make([]float64, 1)
	sym := blas64.Symmetric{N: n, Stride: n, Data: p, Uplo: blas.Lower}
	lapack64.Syev('V', sym, values, query, -1)
	buffer := make([]float64, int(query[0]))
	if !lapack64.Syev('V', sym, values, buffer, len(buffer)) {
		return nil, fmt.Errorf("%w: the eigenvalues of the kernel matrix of %d latent values",
			ErrNotConverged, n)
	}
	return values, nil
}

func (s *shape) matrix() blas64.General {
	n := len(s.d)
	return blas64.General{Rows: n, Cols: n, Stride: n, Data: s.root}
}

func (s *shape) inverseMatrix() blas64.General {
	n := len(s.d)
	return blas64.General{Rows: n, Cols: n, Stride: n, Data: s.inverse}
}

// mulRoot computes dst = L·u and mulRootT dst = Lᵀ·z.
func (s *shape) mulRoot(dst, u []float64) {
	blas64.Gemv(blas.NoTrans, 1, s.matrix(), vector(u), 0, vector(dst))
}
func (s *shape) mulRootT(dst, z []float64) {
	blas64.Gemv(blas.Trans, 1, s.matrix(), vector(z), 0, vector(dst))
}

// solveRoot computes dst = L⁻¹z, with n numbers of scratch space. dst must be
// neither.
func (s *shape) solveRoot(dst, z, scratch []float64) {
	if s.inverse != nil {
		blas64.Gemv(blas.NoTrans, 1, s.inverseMatrix(), vector(z), 0, vector(dst))
		return
	}
	floats.MulTo(scratch, s.scale, z)
	s.mulRootT(dst, scratch)
	floats.Div(dst, s.d)
}

// solveRootT computes dst = L⁻ᵀu = V·L·D⁻¹u. dst must not be u.
func (s *shape) solveRootT(dst, u []float64) {
	if s.inverse != nil {
		blas64.Gemv(blas.Trans, 1, s.inverseMatrix(), vector(u), 0, vector(dst))
		return
	}
	weighted := make([]float64, len(u))
	floats.DivTo(weighted, u, s.d)
	s.mulRoot(dst, weighted)
	floats.Mul(dst, s.scale)
}

// Norm returns B, Margin α₁, and LogLik ℓ(MLE).
func (s *Set) Norm() float64 { return s.norm }

// Margin returns α₁.
func (s *Set) Margin() float64 { return s.alpha }

// LogLik returns ℓ(MLE), natural log.
func (s *Set) LogLik() float64 { return s.mle.logLik }

// MLEAt returns the value at x (d coordinates) of the belief of greatest
// likelihood, and fills grad (d values, or nil) with its gradient. It is the
// interpolant of least norm of the MLE at the labeled points.
func (s *Set) MLEAt(x, grad []float64) float64 {
	s.cross(x, grad)
	return s.gradient(grad, s.beta0)
}

// Bounds returns the least and the greatest value at x (d coordinates) of a
// belief in the set (Xu et al. 2024, Eq. 38, 39). It fails with ErrPoint or
// ErrNotConverged.
func (s *Set) Bounds(x []float64) (lower, upper float64, err error) {
	if err := s.prepare(x, nil); err != nil {
		return 0, 0, err
	}
	if lower, err = s.support(1); err != nil {
		return 0, 0, err
	}
	if upper, err = s.support(-1); err != nil {
		return 0, 0, err
	}
	return lower, upper, nil
}

// Lower returns the lower bound at x (d coordinates) and fills grad (d values,
// or nil) with its gradient in x. It fails with ErrPoint or ErrNotConverged.
func (s *Set) Lower(x, grad []float64) (float64, error) { return s.bound(x, grad, 1) }

// Upper returns the upper bound at x and its gradient, like Lower.
func (s *Set) Upper(x, grad []float64) (float64, error) { return s.bound(x, grad, -1) }

func (s *Set) bound(x, grad []float64, sign float64) (float64, error) {
	if err := s.prepare(x, grad); err != nil {
		return 0, err
	}
	value, err := s.support(sign)
	if err != nil {
		return 0, err
	}
	s.gradient(grad, s.work.weights)
	return value, nil
}

// cross fills the covariances between g(x) and the latent values, with their
// gradients if grad is not nil.
func (s *Set) cross(x, grad []float64) {
	if grad != nil && len(grad) != s.kernel.Dim() {
		panic(fmt.Sprintf("confset: a gradient of %d values in %d dimensions", len(grad), s.kernel.Dim()))
	}
	if grad == nil {
		s.kernel.Cross(s.work.points, s.answers.points, x)
	} else {
		s.kernel.CrossGrad(s.work.points, s.work.pGrad, s.answers.points, x)
		s.answers.differences(s.work.pGrad, s.kernel.Dim())
	}
	s.answers.differences(s.work.points, 1)
}

// gradient fills grad (unless nil) with Σ weights_i·∂cov(z_i, g(x))/∂x and
// returns Σ weights_i·cov(z_i, g(x)).
func (s *Set) gradient(grad, weights []float64) float64 {
	for j := range grad {
		grad[j] = 0
	}
	if dim := len(grad); dim > 0 {
		for i, w := range weights {
			floats.AddScaled(grad, w, s.work.kGrad[i*dim:(i+1)*dim])
		}
	}
	return floats.Dot(weights, s.work.kx)
}

// prepare computes the common parts of the bounds at x: covariances, v(x) and s(x).
func (s *Set) prepare(x, grad []float64) error {
	if !finite(x) {
		return fmt.Errorf("%w: %v", ErrPoint, x)
	}
	s.cross(x, grad)
	w := s.work
	if len(w.v) == 0 {
		w.s = math.Sqrt(s.self)
		return nil
	}
	s.solveRoot(w.v, w.kx, w.z)
	// At a labeled point the difference is about the jitter; what rounding
	// leaves below it is not information.
	w.s = math.Sqrt(math.Max(s.self-floats.Dot(w.v, w.v), (s.self-s.kernel.OutputScale())/2))
	return nil
}
