package gp

import (
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
)

// Predictor evaluates the posterior at single points without allocating. It is
// a workspace: one goroutine uses it at a time; different ones may share the
// GP. It follows appends to its GP.
type Predictor struct {
	g           *GP
	k, v, beta  []float64 // k(X,x), L⁻¹k, K⁻¹k
	dk          []float64 // n×d, ∂k(X_i,x)/∂x_j
	outputScale float64
}

// NewPredictor returns a workspace for predictions.
func (g *GP) NewPredictor() *Predictor {
	return &Predictor{g: g, outputScale: g.hyper.OutputScale}
}

// resize makes room for a mean and a variance, slope for their gradients too: those take d times as
// much, and a caller that asks about one point needs no workspace for them.
func (p *Predictor) resize() {
	p.k, p.v = sized(p.k, len(p.g.basis)), sized(p.v, len(p.g.basis))
}

func (p *Predictor) slope() {
	p.resize()
	p.beta, p.dk = sized(p.beta, len(p.k)), sized(p.dk, len(p.k)*p.g.Dim())
}

// sized is a slice of length n, with room to grow where it has grown before.
func sized(s []float64, n int) []float64 {
	if cap(s) >= n {
		return s[:n]
	}
	return make([]float64, n, n+min(len(s), n/2))
}

// Posterior returns the posterior mean and standard deviation of f(x), noise
// not included (Xu et al. 2024, Eq. 2a, 2b; Rasmussen and Williams 2006, Eq.
// 2.25 and 2.26):
//
//	μ(x) = m + k(x,X) K⁻¹ (y − m),    σ²(x) = k(x,x) − k(x,X) K⁻¹ k(X,x).
func (p *Predictor) Posterior(x []float64) (mean, sd float64) {
	g := p.g
	p.resize()
	g.kernel.Cross(p.k, g.basis, x)
	copy(p.v, p.k)
	blas64.Trmv(blas.NoTrans, lower(g.inverse, len(p.k), g.stride), vector(p.v))
	variance := g.kernel.Diag(x, nil) - dot(p.v, p.v)
	return g.hyper.Mean + dot(g.alpha, p.k), math.Sqrt(max(variance, 0))
}

// Mean returns the mean of Posterior alone, in O(n·d) where that is O(n²).
func (p *Predictor) Mean(x []float64) float64 {
	p.resize()
	p.g.kernel.Cross(p.k, p.g.basis, x)
	return p.g.hyper.Mean + dot(p.g.alpha, p.k)
}

// PosteriorGrad is Posterior and fills dmean and dsd with the derivatives with
// respect to the d coordinates of x. Where the standard deviation vanishes to
// rounding it has no derivative, and dsd is 0.
func (p *Predictor) PosteriorGrad(x, dmean, dsd []float64) (mean, sd float64) {
	g := p.g
	p.slope()
	d := g.Dim()
	if len(dmean) != d || len(dsd) != d {
		panic("gp: gradients have one entry per dimension")
	}
	g.kernel.CrossGrad(p.k, p.dk, g.basis, x)
	inverse := lower(g.inverse, len(p.k), g.stride)
	copy(p.v, p.k)
	blas64.Trmv(blas.NoTrans, inverse, vector(p.v))
	variance := g.kernel.Diag(x, dsd) - dot(p.v, p.v)
	copy(p.beta, p.v)
	blas64.Trmv(blas.Trans, inverse, vector(p.beta))
	clear(dmean)
	for j := range dsd { // σ∇σ = ½∇k(x,x) − …
		dsd[j] /= 2
	}
	for i, b := range p.beta {
		a := g.alpha[i]
		for j, t := range p.dk[i*d : i*d+d] {
			dmean[j] += a * t
			dsd[j] -= b * t
		}
	}
	mean = g.hyper.Mean + dot(g.alpha, p.k)
	if !(variance > 1e-14*p.outputScale) {
		clear(dsd)
		return mean, math.Sqrt(max(variance, 0))
	}
	sd = math.Sqrt(variance)
	for j := range dsd {
		dsd[j] /= sd
	}
	return mean, sd
}

// Posterior is Predictor.Posterior with a workspace of its own.
func (g *GP) Posterior(x []float64) (mean, sd float64) { return g.NewPredictor().Posterior(x) }

// PosteriorGrad is Predictor.PosteriorGrad with a workspace of its own.
func (g *GP) PosteriorGrad(x, dmean, dsd []float64) (mean, sd float64) {
	return g.NewPredictor().PosteriorGrad(x, dmean, dsd)
}
