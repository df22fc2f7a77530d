package copeland

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/lapack/lapack64"

	"github.com/campaignd/campaignd/internal/num/kernel"
)

// Errors of this package; match with errors.Is.
var (
	// ErrData reports pairs or values that no quadrature can be built from.
	ErrData = errors.New("unusable pairs")
	// ErrHyper reports hyperparameters that no quadrature can be built from.
	ErrHyper = errors.New("bad quadrature hyperparameter")
	// ErrNotPositiveDefinite reports a covariance matrix that cannot be
	// factored because of rounding, even with jitter: a larger Noise helps.
	ErrNotPositiveDefinite = errors.New("covariance matrix of the quadrature is not positive definite")
)

// Symmetry says what exchanging the two points of a pair does to the
// integrand's difference from its mean.
type Symmetry int

// The symmetries, as the sign with which the mirrored pair enters the kernel.
const (
	Plain     Symmetry = 0  // nothing is known
	Skew      Symmetry = -1 // it changes sign: a preference
	Symmetric Symmetry = 1  // nothing changes: a spread
)

// Pairs are values of the integrand.
type Pairs struct {
	First, Second [][]float64 // n points of d coordinates each
	Values        []float64   // n values of the integrand at (First_i, Second_i)
}

func (p Pairs) validate() (d int, err error) {
	n := len(p.First)
	if len(p.Second) != n || len(p.Values) != n {
		panic(fmt.Sprintf("copeland: %d first points, %d second points, %d values", n,
			len(p.Second), len(p.Values)))
	}
	if n == 0 {
		return 0, fmt.Errorf("%w: there are none, at least one is needed", ErrData)
	}
	d = len(p.First[0])
	for i := range n {
		if len(p.First[i]) != d || len(p.Second[i]) != d || d == 0 {
			panic(fmt.Sprintf("copeland: pair %d has points of %d and %d coordinates, the first one has %d",
				i, len(p.First[i]), len(p.Second[i]), d))
		}
		bad := func(v float64) bool { return math.IsNaN(v) || math.IsInf(v, 0) }
		if bad(p.Values[i]) || slices.ContainsFunc(p.First[i], bad) ||
			slices.ContainsFunc(p.Second[i], bad) {
			return 0, fmt.Errorf("%w: pair %d has a number that is not finite", ErrData, i)
		}
	}
	return d, nil
}

// Hyper are the hyperparameters of a quadrature. They are recorded in events;
// the JSON names are part of that record.
type Hyper struct {
	// Lengthscales of the d parameters, in the units of the points, shared by
	// both points of a pair.
	Lengthscales []float64 `json:"lengthscales"`
	// OutputScale is v, the prior variance of the integrand's difference from
	// its mean.
	OutputScale float64 `json:"output_scale"`
	// Noise is λ, the variance of the values around the surrogate (Adachi et
	// al. 2024, Eq. 58).
	Noise float64 `json:"noise"`
}

func (h Hyper) validate(d int) error {
	if len(h.Lengthscales) != d {
		return fmt.Errorf("%w: %d lengthscales for %d parameters", ErrHyper, len(h.Lengthscales), d)
	}
	if _, err := kernel.New("rbf", h.Lengthscales, h.OutputScale); err != nil {
		return fmt.Errorf("%w: %w", ErrHyper, err)
	}
	if !(h.Noise > 0) || math.IsInf(h.Noise, 1) {
		return fmt.Errorf("%w: noise variance %v is not a positive finite number", ErrHyper, h.Noise)
	}
	return nil
}

// Quadrature is the integral over the second point of a Gaussian process through values at pairs.
// It is immutable; reading it from several goroutines is safe.
//
// With ρ the RBF kernel over one point, e(y) = ∫ρ(y, x')dx' and ω = (K + λI)⁻¹(values − m), all
// from pairs (a_i, b_i),
//
//	∫ μ(x, x') dx' = m + v Σ_i ω_i [ρ(x, a_i) e(b_i) ± ρ(x, b_i) e(a_i)]
//
// (Adachi et al. 2024, Eq. 80–89 over a measure instead of R^d; the second term is the symmetry's):
// a sum of Gaussians around the compared points. A Quadrature keeps this sum.
type Quadrature struct {
	d       int
	mean    float64
	kernel  kernel.Kernel // unit variance, over one point
	centers [][]float64   // a_1 … a_n [, b_1 … b_n]
	weights []float64     // what multiplies ρ(x, center)

	// For Variance only.
	hyper      Hyper
	symmetry   Symmetry
	measure    Measure
	first      []float64 // e(b_i), what multiplies ρ(x, a_i)
	second     []float64 // e(a_i)
	factor     []float64 // n×n, lower Cholesky factor of K + λI
	surrogate  kernel.Kernel
	coordinate [][]float64 // the pairs as points of 2d coordinates
	omega      []float64
}

// NewQuadrature returns the quadrature with constant prior mean m. The pairs'
// points are kept, not copied, and must not change. It fails with ErrData,
// ErrHyper or ErrNotPositiveDefinite.
func NewQuadrature(
	p Pairs, mean float64, symmetry Symmetry, measure Measure, h Hyper,
) (*Quadrature, error) {
	d, err := p.validate()
	if err != nil {
		return nil, err
	}
	if err := h.validate(d); err != nil {
		return nil, err
	}
	if math.IsNaN(mean) || math.IsInf(mean, 0) {
		return nil, fmt.Errorf("%w: mean %v is not finite", ErrHyper, mean)
	}
	h.Lengthscales = slices.Clone(h.Lengthscales)
	n := len(p.Values)
	q := &Quadrature{d: d, mean: mean, hyper: h, symmetry: symmetry, measure: measure,
		centers: slices.Clone(p.First)}
	// Their hyperparameters have been checked.
	q.kernel, _ = kernel.New("rbf", h.Lengthscales, 1)
	q.surrogate, _ = kernel.New("rbf", append(slices.Clone(h.Lengthscales), h.Lengthscales...),
		h.OutputScale)

	q.coordinate = make([][]float64, n)
	for i := range n {
		q.coordinate[i] = append(slices.Clone(p.First[i]), p.Second[i]...)
	}
	gram := make([]float64, n*n)
	for i := range n {
		q.cross(gram[i*n:i*n+i+1], q.coordinate[:i+1], p.First[i], p.Second[i])
	}
	q.factor = make([]float64, n*n)
	if err := cholesky(q.factor, gram, n, h.Noise, h.OutputScale); err != nil {
		return nil, err
	}
	q.omega = make([]float64, n)
	for i, v := range p.Values {
		q.omega[i] = v - mean
	}
	solve(q.factor, q.omega)

	q.first, q.second = make([]float64, n), make([]float64, n)
	for i := range n {
		q.first[i] = measure.Embed(h.Lengthscales, p.Second[i])
		q.weights = append(q.weights, h.OutputScale*q.omega[i]*q.first[i])
	}
	if symmetry != Plain {
		q.centers = append(q.centers, p.Second...)
		for i := range n {
			q.second[i] = measure.Embed(h.Lengthscales, p.First[i])
			q.weights = append(q.weights, float64(symmetry)*h.OutputScale*q.omega[i]*q.second[i])
		}
	}
	return q, nil
}

// cross fills dst[i] with the kernel between (x, other) and Z_i, symmetry
// included.
func (q *Quadrature) cross(dst []float64, Z [][]float64, x, other []float64) {
	z := append(slices.Clone(x), other...)
	q.surrogate.Cross(dst, Z, z)
	if q.symmetry == Plain {
		return
	}
	mirrored := make([]float64, len(dst))
	copy(z, other)
	copy(z[q.d:], x)
	q.surrogate.Cross(mirrored, Z, z)
	for i, v := range mirrored {
		dst[i] += float64(q.symmetry) * v
	}
}

// Surrogate returns the posterior mean μ(x, x') of the integrand (Adachi et al.
// 2024, Eq. 58).
func (q *Quadrature) Surrogate(x, other []float64) float64 {
	k := make([]float64, len(q.omega))
	q.cross(k, q.coordinate, x, other)
	return q.mean + dot(k, q.omega)
}

// Variance returns the posterior variance of the integral at x: the uncertainty of the quadrature
// because the pairs are few, given that the integrand is a draw of its prior. It says nothing about
// the person, and is not the variance of π that an acquisition wants; that is the integral of the
// spread.
func (q *Quadrature) Variance(x []float64) float64 {
	n := len(q.omega)
	k, mirrored := make([]float64, n), make([]float64, n)
	q.kernel.Cross(k, q.centers[:n], x)
	for i, e := range q.first {
		k[i] *= q.hyper.OutputScale * e
	}
	prior := q.measure.Energy(q.hyper.Lengthscales)
	if s := float64(q.symmetry); q.symmetry != Plain {
		q.kernel.Cross(mirrored, q.centers[n:], x)
		for i, e := range q.second {
			k[i] += s * q.hyper.OutputScale * e * mirrored[i]
		}
		e := q.measure.Embed(q.hyper.Lengthscales, x)
		prior += s * e * e
	}
	blas64.Trsv(blas.NoTrans, lower(q.factor, n), vector(k))
	return max(q.hyper.OutputScale*prior-dot(k, k), 0)
}

// Hyper returns the hyperparameters.
func (q *Quadrature) Hyper() Hyper {
	h := q.hyper
	h.Lengthscales = slices.Clone(h.Lengthscales)
	return h
}

// Evaluator evaluates a quadrature without allocating. It is a workspace: one
// goroutine uses it at a time; different ones may share the Quadrature.
type Evaluator struct {
	q     *Quadrature
	k, dk []float64
}

// NewEvaluator returns a workspace.
func (q *Quadrature) NewEvaluator() *Evaluator {
	return &Evaluator{q: q, k: make([]float64, len(q.centers)),
		dk: make([]float64, len(q.centers)*q.d)}
}

// At returns the integral ∫ μ(x, x') dx' and fills grad, if not nil, with its d
// derivatives in x.
func (e *Evaluator) At(x, grad []float64) float64 {
	q := e.q
	if grad == nil {
		q.kernel.Cross(e.k, q.centers, x)
		return q.mean + dot(q.weights, e.k)
	}
	if len(grad) != q.d {
		panic("copeland: the gradient has one entry per parameter")
	}
	q.kernel.CrossGrad(e.k, e.dk, q.centers, x)
	clear(grad)
	for i, w := range q.weights {
		for j, v := range e.dk[i*q.d : i*q.d+q.d] {
			grad[j] += w * v
		}
	}
	return q.mean + dot(q.weights, e.k)
}

// At is Evaluator.At with a workspace of its own.
func (q *Quadrature) At(x, grad []float64) float64 { return q.NewEvaluator().At(x, grad) }

// cholesky fills dst, n×n, with the lower factor of a + (noise + jitter)·I, reading the lower
// triangle of a: jitter 0, then 1e-8 of the scale and ten times more, three times in all.
func cholesky(dst, a []float64, n int, noise, scale float64) error {
	jitter := 0.0
	for try := range 4 {
		for i := range n {
			copy(dst[i*n:i*n+i+1], a[i*n:i*n+i+1])
			dst[i*n+i] += noise + jitter
		}
		if _, ok := lapack64.Potrf(blas64.Symmetric{Uplo: blas.Lower, N: n, Stride: n, Data: dst}); ok &&
			!math.IsNaN(dst[n*n-1]) {
			return nil
		}
		jitter = 1e-8 * scale * math.Pow(10, float64(try))
	}
	return fmt.Errorf("%w: %d pairs, noise %.1e", ErrNotPositiveDefinite, n, noise)
}

// solve replaces x by (LLᵀ)⁻¹x.
func solve(factor, x []float64) {
	l := lower(factor, len(x))
	blas64.Trsv(blas.NoTrans, l, vector(x))
	blas64.Trsv(blas.Trans, l, vector(x))
}

func lower(data []float64, n int) blas64.Triangular {
	return blas64.Triangular{Uplo: blas.Lower, Diag: blas.NonUnit, N: n, Stride: n, Data: data}
}

func vector(x []float64) blas64.Vector { return blas64.Vector{N: len(x), Inc: 1, Data: x} }

func dot(x, y []float64) float64 { return blas64.Dot(vector(x), vector(y)) }
