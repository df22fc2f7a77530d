package confset

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/lapack/lapack64"
)

// Gaussian is a belief stated once as a Gaussian over the space (the MVN belief
// of Xu et al. 2024, Appendix H.2d, H.3): its mean is where the expert expects
// the best point, its covariance how unsure they are. The density scaled to [0,
// 1],
//
//	p(x) = exp(−½(x−μ)ᵀΣ⁻¹(x−μ)),
//
// is taken for the probability of acceptance, and g(x) = ln((1−p)/p). That is
// −∞ at the mean and grows without limit, where a belief in a ball of functions
// is bounded; so p is first mapped linearly onto [S(−limit), S(limit)], which
// keeps g within ±limit. A large limit gives the paper's own g.
//
// Its methods are those of Set, with equal lower and upper bounds. It is
// immutable and safe for concurrent use.
type Gaussian struct {
	mean   []float64
	factor []float64 // lower Cholesky factor of Σ, d×d
	least  float64   // S(−limit)
}

// DefaultLimit is the range of the synthetic expert of Xu et al. 2024, Example
// 2.2: p is 0.953 at the mean.
const DefaultLimit = 3

// maxLimit keeps S(−limit) a normal number.
const maxLimit = 500

// ErrGaussian reports a mean, standard deviations or covariance that make no
// Gaussian; match with errors.Is.
var ErrGaussian = errors.New("not a Gaussian belief")

// NewGaussian returns the belief with a mean and a standard deviation for each
// of d parameters, in the units of the points, independent of each other. It
// fails with ErrGaussian, or with ErrSetting for a limit outside (0, 500].
func NewGaussian(mean, sd []float64, limit float64) (*Gaussian, error) {
	if len(sd) != len(mean) {
		return nil, fmt.Errorf("%w: %d standard deviations for a mean of %d values", ErrGaussian,
			len(sd), len(mean))
	}
	d := len(mean)
	covariance := make([]float64, d*d)
	for i, s := range sd {
		if !(s > 0) || math.IsInf(s*s, 1) || s*s == 0 {
			return nil, fmt.Errorf("%w: standard deviation %v of parameter %d, it must be positive and finite",
				ErrGaussian, s, i)
		}
		covariance[i*d+i] = s * s
	}
	return NewGaussianCovariance(mean, covariance, limit)
}

// NewGaussianCovariance is NewGaussian for a full covariance matrix, d×d
// row-major. The matrix must be symmetric and positive definite.
func NewGaussianCovariance(mean, covariance []float64, limit float64) (*Gaussian, error) {
	d := len(mean)
	if !(limit > 0 && limit <= maxLimit) {
		return nil, fmt.Errorf("%w: limit %v of a Gaussian belief, it must be in (0, %d]",
			ErrSetting, limit, maxLimit)
	}
	if d == 0 || !finite(mean) {
		return nil, fmt.Errorf("%w: mean %v", ErrGaussian, mean)
	}
	if len(covariance) != d*d || !finite(covariance) {
		return nil, fmt.Errorf("%w: covariance %v of %d parameters", ErrGaussian, covariance, d)
	}
	for i := range d {
		for j := range i {
			if covariance[i*d+j] != covariance[j*d+i] {
				return nil, fmt.Errorf("%w: the covariances of parameters %d and %d are %v and %v",
					ErrGaussian, i, j,
					covariance[i*d+j], covariance[j*d+i])
			}
		}
	}
	g := &Gaussian{
		mean:   slices.Clone(mean),
		factor: slices.Clone(covariance),
		least:  math.Exp(-limit) / (1 + math.Exp(-limit)),
	}
	if _, ok := lapack64.Potrf(blas64.Symmetric{N: d, Stride: d, Data: g.factor, Uplo: blas.Lower}); !ok {
		return nil, fmt.Errorf("%w: the covariance is not positive definite: %v", ErrGaussian, covariance)
	}
	return g, nil
}

// Accept returns the probability, at most S(limit), that the expert accepts x
// (d coordinates). Its maximum is at the mean.
func (g *Gaussian) Accept(x []float64) float64 {
	accept, _ := g.probabilities(g.standardize(x))
	return accept
}

// standardize returns C⁻¹(x − μ), Σ = CCᵀ.
func (g *Gaussian) standardize(x []float64) []float64 {
	y := make([]float64, len(g.mean))
	floats.SubTo(y, x, g.mean) // panics if x has another length
	blas64.Trsv(blas.NoTrans, lower(g.factor, len(y)), vector(y))
	return y
}

// probabilities returns those of acceptance and rejection at a standardized
// point.
func (g *Gaussian) probabilities(y []float64) (accept, reject float64) {
	half := 0.5 * floats.Dot(y, y)
	span := 1 - 2*g.least
	return g.least + span*math.Exp(-half), g.least - span*math.Expm1(-half)
}

// MLEAt returns g(x) at x (d coordinates) and fills grad (d values, or nil)
// with its gradient.
func (g *Gaussian) MLEAt(x, grad []float64) float64 {
	y := g.standardize(x)
	accept, reject := g.probabilities(y)
	if grad != nil {
		if len(grad) != len(y) {
			panic(fmt.Sprintf("confset: a gradient of %d values in %d dimensions", len(grad), len(y)))
		}
		slope := (accept - g.least) / accept / reject // of g in ½|y|²
		blas64.Trsv(blas.Trans, lower(g.factor, len(y)), vector(y))
		floats.ScaleTo(grad, slope, y)
	}
	return math.Log(reject / accept)
}

// Bounds returns g(x) twice: a stated belief leaves nothing open. It fails with
// ErrPoint.
func (g *Gaussian) Bounds(x []float64) (lower, upper float64, err error) {
	value, err := g.Lower(x, nil)
	return value, value, err
}

// Lower is MLEAt, except that it fails with ErrPoint where x is not finite.
func (g *Gaussian) Lower(x, grad []float64) (float64, error) {
	if !finite(x) {
		return 0, fmt.Errorf("%w: %v", ErrPoint, x)
	}
	return g.MLEAt(x, grad), nil
}

// Upper is Lower.
func (g *Gaussian) Upper(x, grad []float64) (float64, error) { return g.Lower(x, grad) }
