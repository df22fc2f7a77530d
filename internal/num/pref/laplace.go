package pref

import (
	"context"
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/lapack/lapack64"

	"github.com/campaignd/campaignd/internal/num/kernel"
	"github.com/campaignd/campaignd/internal/num/special"
)

// ErrNotConverged reports that the most probable utility could not be found to
// the accuracy asked for. The posterior is log-concave and has one maximum, so
// this is rounding: a noise that is smaller by many orders of magnitude than
// the utility's output scale. A larger noise helps.
var ErrNotConverged = errors.New("the most probable utility was not found")

const (
	defaultNewton = 100
	// A Newton decrement is the distance to the maximum in posterior standard
	// deviations. The search ends below decrementGoal, or below decrementLimit
	// where rounding keeps it from falling further.
	decrementGoal  = 1e-10
	decrementLimit = 1e-6
)

// LaplaceConfig tunes Laplace. The zero value means the defaults.
type LaplaceConfig struct {
	// MaxIterations limits the Newton steps; default 100. Five to ten are
	// usual.
	MaxIterations int
}

// LaplaceResult is a Laplace approximation, with its cost.
type LaplaceResult struct {
	Posterior *Posterior
	// Mode is the most probable f at the m designs.
	Mode []float64
	// LogEvidence is the approximate log marginal likelihood of the duels
	// (Sinaga et al. 2026, Eq. S15), natural log.
	LogEvidence float64
	Iterations  int // Newton steps
	// Decrement bounds the distance of Mode from the true maximum, in posterior
	// standard deviations.
	Decrement float64
	// Jitter added to the diagonal for the factorization to succeed, mostly 0.
	Jitter float64
}

// Laplace approximates the posterior of f by the normal distribution at its
// mode (Sinaga et al. 2026, App. A.2 and C; Chu and Ghahramani 2005). The
// predictive covariance is k** − k*ᵀ(K + Λ⁻¹)⁻¹k*; Eq. S26 as printed lacks the
// inverse of Λ, and Λ itself is singular.
//
// Method: all is done in the space of the n differences z = Bf, where row k of
// B holds a_k at the winner and −b_k at the loser. Their prior covariance
// is A = BKBᵀ, and the negative second derivative W of the log likelihood is
// diagonal and positive. The mode is f = KBᵀu with u = ∂ log p/∂z, found by
// Newton's method with a line search as in Rasmussen and Williams 2006,
// Algorithm 3.1; then Λ = BᵀWB and
//
//	(K + Λ⁻¹)⁻¹ = BᵀRB,   R = W^½ (I + W^½AW^½)⁻¹ W^½.
//
// Neither K nor Λ is inverted or factored; the only matrix that is has no
// eigenvalue below 1. Cost: O(n³ + nm²).
//
// Without duels the result is the prior. It fails with ErrLink, ErrDuels,
// ErrNotConverged, or the context's error, wrapped. A design whose number of
// coordinates is not the kernel's panics.
func Laplace(
	ctx context.Context, duels Duels, link Link, k kernel.Kernel, cfg LaplaceConfig,
) (*LaplaceResult, error) {
	if err := link.Validate(); err != nil {
		return nil, err
	}
	if err := duels.Validate(); err != nil {
		return nil, err
	}
	s := newSolver(duels, link)
	k.Gram(s.k, duels.X)
	steps, err := s.solve(ctx, cfg.MaxIterations)
	if err != nil {
		return nil, fmt.Errorf("laplace approximation of %d duels: %w", s.n, err)
	}
	evidence := s.logEvidence() // before the factor is overwritten
	s.invert()
	w, c := make([]float64, s.m), make([]float64, s.m*s.m)
	s.transpose(w, s.u)
	s.congruence(c)
	mode := make([]float64, s.m)
	if s.m > 0 {
		blas64.Gemv(blas.NoTrans, 1, square(s.k, s.m), vector(w), 0, vector(mode))
	}
	return &LaplaceResult{
		Posterior: NewPosterior(k, duels.X, w, c), Mode: mode, LogEvidence: evidence,
		Iterations: steps, Decrement: s.decrement, Jitter: s.jitter,
	}, nil
}

// solver finds the mode for one set of duels and many prior covariances. Laplace explains the
// symbols A, B, K, R, u, W and z of the methods.
type solver struct {
	duels Duels
	link  Link
	n, m  int
	a, b  []float64 // n: the two entries of each row of B

	k      []float64 // m×m: K, filled by the user of the solver
	bk     []float64 // n×m: BK, later RB
	cov    []float64 // n×n: A
	factor []float64 // n×n: lower factor of I + W^½AW^½ at the mode; after invert R, both triangles
	bound  []float64 // n: 1 − diagonal of (I + W^½AW^½)⁻¹, after invert

	u, z      []float64 // n: at the mode after solve
	slope     []float64 // n: ∂ log p/∂z
	rootW     []float64 // n: W^½
	logLik    float64
	decrement float64
	jitter    float64

	r, du, dz, work []float64 // n
}

func newSolver(d Duels, link Link) *solver {
	n, m := d.Len(), len(d.X)
	v := make([]float64, 11*n)
	cut := func() []float64 { s := v[:n:n]; v = v[n:]; return s }
	s := &solver{
		duels:  d,
		link:   link,
		n:      n,
		m:      m,
		a:      cut(),
		b:      cut(),
		k:      make([]float64, m*m),
		bk:     make([]float64, n*m),
		cov:    make([]float64, n*n),
		factor: make([]float64, n*n),
		bound:  cut(),
		u:      cut(),
		z:      cut(),
		slope:  cut(),
		rootW:  cut(),
		r:      cut(),
		du:     cut(),
		dz:     cut(),
		work:   cut(),
	}
	for i, w := range d.Winner {
		s.a[i], s.b[i] = link.Weights(d.Noise[w], d.Noise[d.Loser[i]])
	}
	return s
}

// transpose sets dst = Bᵀv.
func (s *solver) transpose(dst, v []float64) {
	clear(dst)
	for i, t := range v {
		dst[s.duels.Winner[i]] += s.a[i] * t
		dst[s.duels.Loser[i]] -= s.b[i] * t
	}
}

// fillCov computes A from K.
func (s *solver) fillCov() {
	n, m := s.n, s.m
	for i := range n {
		row := s.bk[i*m : i*m+m]
		w, l := s.duels.Winner[i]*m, s.duels.Loser[i]*m
		a, b := s.a[i], s.b[i]
		kw, kl := s.k[w:w+m], s.k[l:l+m]
		for j := range row {
			row[j] = a*kw[j] - b*kl[j]
		}
		for j := range i + 1 {
			v := s.a[j]*row[s.duels.Winner[j]] - s.b[j]*row[s.duels.Loser[j]]
			s.cov[i*n+j], s.cov[j*n+i] = v, v
		}
	}
}

// solve finds the mode for the current K, from the u of the last call if that
// is better than 0. It leaves u, z, slope, rootW and factor there, and returns
// the number of Newton steps.
func (s *solver) solve(ctx context.Context, maxIterations int) (int, error) {
	if maxIterations == 0 {
		maxIterations = defaultNewton
	}
	n := s.n
	s.logLik = 0
	s.decrement = 0
	s.jitter = 0
	if n == 0 {
		return 0, nil
	}
	s.fillCov()
	psi := s.differences()
	if !(psi >= -float64(n)*math.Ln2) { // the value at u = 0, for both links
		clear(s.u)
		psi = s.differences()
	}
	last := math.Inf(1)
	for step := 0; ; step++ {
		if err := ctx.Err(); err != nil {
			return 0, fmt.Errorf("cancelled after %d Newton steps: %w", step, context.Cause(ctx))
		}
		if err := s.newton(); err != nil {
			return 0, err
		}
		if s.decrement <= decrementGoal || (s.decrement <= decrementLimit && s.decrement > last/2) {
			return step, nil
		}
		if step == maxIterations || math.IsNaN(s.decrement) {
			return 0, fmt.Errorf("%w: it is still %.1g standard deviations away after %d Newton steps",
				ErrNotConverged, s.decrement, step)
		}
		last = s.decrement
		if last <= decrementLimit {
			// A step changes the log density by less than its rounding: nothing
			// to compare any more.
			axpy(s.u, 1, s.du)
		} else if !s.lineSearch(psi) {
			return 0, fmt.Errorf("%w: no step of Newton's method improves it", ErrNotConverged)
		}
		psi = s.differences()
	}
}

// differences sets z = Au and what evaluate sets there, and returns Ψ. It is
// called after every step, because differences carried along by the search
// would hide their own rounding from the test of convergence.
func (s *solver) differences() float64 {
	blas64.Gemv(blas.NoTrans, 1, square(s.cov, s.n), vector(s.u), 0, vector(s.z))
	s.evaluate(s.z)
	return s.logLik - 0.5*dot(s.u, s.z)
}

// evaluate sets logLik, slope and rootW at z.
func (s *solver) evaluate(z []float64) {
	s.logLik = 0
	for i, v := range z {
		value, slope := s.link.LogProb(v)
		s.logLik += value
		s.slope[i] = slope
		s.rootW[i] = math.Sqrt(min(max(s.link.curvature(v, slope), 0), 1))
	}
}

// curvature returns −d² log p/dz², in (0, 1), given the slope at z.
func (l Link) curvature(z, slope float64) float64 {
	if l == Logistic {
		return slope * special.Logistic(z)
	}
	return slope * (slope + z)
}

// skew returns d³ log p/dz³ divided by curvature, given the slope at z. The
// quotient stays finite where both vanish.
func (l Link) skew(z, slope float64) float64 {
	if l == Logistic {
		return special.Logistic(z) - slope
	}
	return 2*slope + z - 1/(slope+z)
}

// newton sets factor, the Newton step du with dz = A·du, and the decrement.
// With r = slope − u, the gradient of Ψ(u) = log p(duels | z) − ½uᵀAu is Ar,
// and its Hessian −A(I + WA):
//
//	du = (I + WA)⁻¹ r = r − W^½ (I + W^½AW^½)⁻¹ W^½ A r,   decrement² = rᵀA·du.
func (s *solver) newton() error {
	n := s.n
	var err error
	if s.jitter, err = s.factorize(); err != nil {
		return err
	}
	for i, g := range s.slope {
		s.r[i] = g - s.u[i]
	}
	a := square(s.cov, n)
	blas64.Gemv(blas.NoTrans, 1, a, vector(s.r), 0, vector(s.work))
	for i, w := range s.rootW {
		s.work[i] *= w
	}
	l := blas64.Triangular{Uplo: blas.Lower, Diag: blas.NonUnit, N: n, Stride: n, Data: s.factor}
	blas64.Trsv(blas.NoTrans, l, vector(s.work))
	blas64.Trsv(blas.Trans, l, vector(s.work))
	for i, w := range s.rootW {
		s.du[i] = s.r[i] - w*s.work[i]
	}
	blas64.Gemv(blas.NoTrans, 1, a, vector(s.du), 0, vector(s.dz))
	// rᵀA·du = duᵀA·du + dzᵀW·dz; rounding can only spoil the first term: a negative value is as
	// bad as a positive one.
	s.decrement = math.Abs(dot(s.du, s.dz))
	for i, w := range s.rootW {
		s.decrement += w * w * s.dz[i] * s.dz[i]
	}
	s.decrement = math.Sqrt(s.decrement)
	return nil
}

// factorize sets the lower triangle of factor to L of LLᵀ = I + W^½AW^½ +
// jitter·I.
func (s *solver) factorize() (jitter float64, err error) {
	const (
		first = 1e-8 // relative to the largest diagonal entry
		tries = 3
	)
	n := s.n
	for try := 0; ; try++ {
		var largest float64
		for i, wi := range s.rootW {
			row := s.factor[i*n : i*n+i+1]
			for j, v := range s.cov[i*n : i*n+i+1] {
				row[j] = wi * v * s.rootW[j]
			}
			row[i] += 1 + jitter
			largest = max(largest, row[i])
		}
		_, ok := lapack64.Potrf(blas64.Symmetric{Uplo: blas.Lower, N: n, Stride: n, Data: s.factor})
		if ok && !math.IsNaN(s.factor[n*n-1]) { // a NaN does not always stop Potrf
			return jitter, nil
		}
		switch {
		case try == 0:
			jitter = first * largest
		case try < tries:
			jitter *= 10
		default:
			return jitter, fmt.Errorf("%w: a matrix of %d duels cannot be factored, jitter %.0e tried",
				ErrNotConverged, n, jitter)
		}
	}
}

// lineSearch moves u along the Newton step as far as Ψ, now psi, rises by a
// fair part of what its slope promises (Armijo, c₁ = 1e-4). It reports whether
// it does anywhere.
func (s *solver) lineSearch(psi float64) bool {
	promise := s.decrement * s.decrement // dΨ/dt at t = 0
	for t := 1.0; t > 1e-12; t /= 2 {
		for i := range s.work {
			s.work[i] = s.z[i] + t*s.dz[i]
			s.r[i] = s.u[i] + t*s.du[i]
		}
		s.evaluate(s.work)
		if s.logLik-0.5*dot(s.r, s.work) >= psi+1e-4*t*promise-1e-15*math.Abs(psi) {
			copy(s.u, s.r)
			return true
		}
	}
	return false
}

// logEvidence is Ψ − ½ ln det(I + KΛ) at the mode (Sinaga et al. 2026, Eq.
// S15); det(I + KΛ) = det(I + W^½AW^½). To be called before invert overwrites
// the factor.
func (s *solver) logEvidence() float64 {
	v := s.logLik - 0.5*dot(s.u, s.z)
	for i := range s.n {
		v -= math.Log(s.factor[i*s.n+i])
	}
	return v
}

// invert replaces factor by R and sets bound.
func (s *solver) invert() {
	n := s.n
	if n == 0 {
		return
	}
	lapack64.Potri(blas64.Triangular{Uplo: blas.Lower, Diag: blas.NonUnit, N: n, Stride: n, Data: s.factor})
	for i, wi := range s.rootW {
		s.bound[i] = 1 - s.factor[i*n+i]
		for j := range i + 1 {
			v := wi * s.factor[i*n+j] * s.rootW[j]
			s.factor[i*n+j], s.factor[j*n+i] = v, v
		}
	}
}

// congruence sets dst, m×m, to BᵀRB, exactly symmetric. It overwrites bk.
func (s *solver) congruence(dst []float64) {
	n, m := s.n, s.m
	clear(dst)
	clear(s.bk)
	for i := range n {
		row := s.bk[i*m : i*m+m]
		s.transpose(row, s.factor[i*n:i*n+n])
		w, l := s.duels.Winner[i]*m, s.duels.Loser[i]*m
		axpy(dst[w:w+m], s.a[i], row)
		axpy(dst[l:l+m], -s.b[i], row)
	}
	for i := range m {
		for j := range i {
			dst[j*m+i] = dst[i*m+j]
		}
	}
}

func square(data []float64, n int) blas64.General {
	return blas64.General{Rows: n, Cols: n, Stride: n, Data: data}
}
