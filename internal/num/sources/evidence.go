package sources

import (
	"context"
	"fmt"
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/lapack/lapack64"

	"github.com/campaignd/campaignd/internal/num/gp"
	"github.com/campaignd/campaignd/internal/num/kernel"
)

// coupling is how sources go together: the factor F of the covariance
// F(s, t)·ρ(x, x'), and what its parameters are.
type coupling interface {
	// set takes the parameters.
	set(parameters []float64)
	// covariance returns F(s, t).
	covariance(s, t float64) float64
	// derive adds weight·∂F(s, t)/∂parameter to each entry of dst.
	derive(dst []float64, s, t, weight float64)
	// noise returns which noise variance a value of a source has.
	noise(s float64) int
}

// evidence evaluates the log marginal likelihood of one data set for many
// parameters: the logarithms of d lengthscales, those of the coupling, and the
// logarithms of the noise variances. Pairs i > k of rows are numbered
// i(i−1)/2 + k. An evaluation is O(n³).
type evidence struct {
	Data
	coupling
	n, d, parameters int         // parameters of the coupling
	diff2            [][]float64 // by dimension: (x_i − x_k)² of every pair

	factor      []float64 // by pair: F
	rho, slope  []float64 // by pair: ρ and its derivative in the scaled squared distance
	cov         []float64 // n×n: K, its factor L, and K⁻¹, in turn
	ones, z     []float64 // L⁻¹1, L⁻¹(y − m)
	alpha       []float64 // K⁻¹(y − m)
	lengthscale []float64
}

func newEvidence(data Data, c coupling, parameters int) *evidence {
	n, d := len(data.X), len(data.X[0])
	pairs := n * (n - 1) / 2
	e := &evidence{
		Data: data, coupling: c, n: n, d: d, parameters: parameters, diff2: make([][]float64, d),
		factor: make([]float64, pairs), rho: make([]float64, pairs), slope: make([]float64, pairs),
		cov: make([]float64, n*n), ones: make([]float64, n), z: make([]float64, n),
		alpha:       make([]float64, n),
		lengthscale: make([]float64, d),
	}
	for j := range d {
		v := make([]float64, 0, pairs)
		for i, x := range data.X {
			for _, y := range data.X[:i] {
				v = append(v, (x[j]-y[j])*(x[j]-y[j]))
			}
		}
		e.diff2[j] = v
	}
	return e
}

// eval returns ln p(y | θ, mean) (Rasmussen and Williams 2006, Eq. 2.30) and, if
// grad is not nil, fills it with the derivatives in θ (Eq. 5.9) and adds that in the
// mean as last. A mean of NaN stands for the one that maximizes the likelihood,
//
//	m = 1ᵀK⁻¹y / 1ᵀK⁻¹1,
//
// which it returns; the other derivatives are not affected. It fails with
// gp.ErrNotPositiveDefinite, or with the error of a context that is done.
func (e *evidence) eval(
	ctx context.Context, theta []float64, mean float64, grad []float64,
) (lml, m float64, err error) {
	if ctx.Err() != nil { // a line search would go on
		return 0, 0, context.Cause(ctx)
	}
	noise := theta[e.d+e.parameters:]
	e.fill(theta[:e.d], theta[e.d:e.d+e.parameters], noise)
	n := e.n
	l, ok := lapack64.Potrf(blas64.Symmetric{Uplo: blas.Lower, N: n, Stride: n, Data: e.cov})
	if !ok || math.IsNaN(e.cov[n*n-1]) { // a NaN does not always stop Potrf
		return 0, 0, fmt.Errorf("evidence of %d values: %w", n, gp.ErrNotPositiveDefinite)
	}
	copy(e.z, e.Y)
	for i := range e.ones {
		e.ones[i] = 1
	}
	blas64.Trsv(blas.NoTrans, l, vector(e.z))
	blas64.Trsv(blas.NoTrans, l, vector(e.ones))
	if math.IsNaN(mean) {
		mean = dot(e.ones, e.z) / dot(e.ones, e.ones)
	}
	blas64.Axpy(-mean, vector(e.ones), vector(e.z))
	lml = -0.5*dot(e.z, e.z) - 0.5*float64(n)*math.Log(2*math.Pi)
	for i := range n {
		lml -= math.Log(e.cov[i*n+i])
	}
	if grad != nil {
		e.differentiate(l, noise, grad)
	}
	return lml, mean, nil
}

// fill sets the lower triangle of K, and what its derivatives need.
func (e *evidence) fill(lengthscales, coupling, noise []float64) {
	for j, t := range lengthscales {
		e.lengthscale[j] = math.Exp(t)
	}
	e.set(coupling)
	clear(e.slope)
	for j, v := range e.diff2 {
		blas64.Axpy(1/(e.lengthscale[j]*e.lengthscale[j]), vector(v), vector(e.slope))
	}
	kernel.RBF.FillSlope(e.rho, e.slope, e.slope, 1)
	for i, p := 0, 0; i < e.n; i++ {
		s := e.Source[i]
		for k := range i {
			e.factor[p] = e.covariance(s, e.Source[k])
			e.cov[i*e.n+k] = e.factor[p] * e.rho[p]
			p++
		}
		e.cov[i*e.n+i] = e.covariance(s, s) + math.Exp(noise[e.noise(s)])
	}
}

// differentiate fills grad: with W = ααᵀ − K⁻¹ each derivative is ½ tr(W ∂K).
// The sum over a symmetric matrix is twice that over its pairs.
func (e *evidence) differentiate(l blas64.Triangular, noise, grad []float64) {
	n := e.n
	copy(e.alpha, e.z)
	blas64.Trsv(blas.Trans, l, vector(e.alpha))
	lapack64.Potri(l)
	clear(grad)
	ofCoupling := grad[e.d : e.d+e.parameters]
	ofNoise := grad[e.d+e.parameters:]
	for i, p := 0, 0; i < n; i++ {
		s, a := e.Source[i], e.alpha[i]
		for k := range i {
			w := a*e.alpha[k] - e.cov[i*n+k]
			e.derive(ofCoupling, s, e.Source[k], w*e.rho[p])
			e.slope[p] *= w * e.factor[p]
			p++
		}
		w := a*a - e.cov[i*n+i]
		e.derive(ofCoupling, s, s, w/2)
		which := e.noise(s)
		ofNoise[which] += w / 2 * math.Exp(noise[which])
		grad[len(grad)-1] += a
	}
	for j, v := range e.diff2 {
		grad[j] = -2 / (e.lengthscale[j] * e.lengthscale[j]) * dot(e.slope, v)
	}
}

func vector(x []float64) blas64.Vector { return blas64.Vector{N: len(x), Inc: 1, Data: x} }

func dot(x, y []float64) float64 { return blas64.Dot(vector(x), vector(y)) }
