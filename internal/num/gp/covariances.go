package gp

import (
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
)

// Covariances evaluates the posterior covariances of f at single points with f at p
// fixed points P, without allocating:
//
//	c(x) = cov(f(P), f(x) | data) = k(P,x) − k(P,X)K⁻¹k(X,x).
//
// It is a workspace: one goroutine uses it at a time.
type Covariances struct {
	base   *Predictor
	points [][]float64
	cross  []float64 // A = K⁻¹k(X, P), n×p
	c      []float64 // c(x)
	dk     []float64 // p×d, ∂k(P_j,x)/∂x
	ag     []float64 // A·w, n values
	dmean  []float64 // d, of no use
}

// NewCovariances returns a workspace for the given points, which are kept.
func (g *GP) NewCovariances(points [][]float64) *Covariances {
	return g.covariances(points, g.crossed(points))
}

func (g *GP) covariances(points [][]float64, cross []float64) *Covariances {
	return &Covariances{
		base: g.NewPredictor(), points: points, cross: cross, c: make([]float64, len(points)),
		dk: make([]float64, len(points)*g.Dim()), ag: make([]float64, len(g.basis)),
		dmean: make([]float64, g.Dim()),
	}
}

// At returns c(x), in a slice that the next call overwrites, and the posterior
// standard deviation of f(x), noise not included.
func (c *Covariances) At(x []float64) (cov []float64, sd float64) {
	_, sd = c.base.Posterior(x)
	if len(c.c) > 0 {
		c.fromBase(x)
	}
	return c.c, sd
}

// AtGrad is At and fills dsd with the derivatives of the standard deviation, as
// [Predictor.PosteriorGrad] does. Those of a weighted sum of covariances are then
// asked for with [Covariances.Grad].
func (c *Covariances) AtGrad(x, dsd []float64) (cov []float64, sd float64) {
	_, sd = c.base.PosteriorGrad(x, c.dmean, dsd)
	if len(c.c) > 0 {
		c.fromBaseGrad(x)
	}
	return c.c, sd
}

// Grad fills dst with the derivatives of Σ_j weights[j]·c_j at the point of the last
// AtGrad.
func (c *Covariances) Grad(dst, weights []float64) {
	clear(dst)
	if len(c.c) > 0 {
		c.addGrad(dst, weights, 1)
	}
}

// fill computes c(x) alone.
func (c *Covariances) fill(x []float64) {
	c.base.resize()
	c.base.g.kernel.Cross(c.base.k, c.base.g.basis, x)
	c.fromBase(x)
}

// fromBase computes c(x) where the base has its k(X,x).
func (c *Covariances) fromBase(x []float64) {
	c.base.g.kernel.Cross(c.c, c.points, x)
	c.subtract()
}

// fromBaseGrad is fromBase for derivatives to follow.
func (c *Covariances) fromBaseGrad(x []float64) {
	c.base.g.kernel.CrossGrad(c.c, c.dk, c.points, x)
	c.subtract()
}

// subtract takes Aᵀk(X,x) from what c holds.
func (c *Covariances) subtract() {
	n, p := len(c.base.k), len(c.c)
	blas64.Gemv(blas.Trans, -1, blas64.General{Rows: n, Cols: p, Stride: p, Data: c.cross},
		vector(c.base.k), 1, vector(c.c))
}

// addGrad adds s·∇(cᵀv) = s·(Σ_j v_j ∂k(P_j,x) − Σ_i (Av)_i ∂k(X_i,x)).
func (c *Covariances) addGrad(dst, v []float64, s float64) {
	n := len(c.base.k)
	p := len(c.c)
	d := len(dst)
	blas64.Gemv(blas.NoTrans, 1, blas64.General{Rows: n, Cols: p, Stride: p, Data: c.cross},
		vector(v), 0, vector(c.ag))
	for j, a := range v {
		axpy(dst, s*a, c.dk[j*d:j*d+d])
	}
	for i, a := range c.ag {
		axpy(dst, -s*a, c.base.dk[i*d:i*d+d])
	}
}
