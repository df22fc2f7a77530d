package pref

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"

	"github.com/campaignd/campaignd/internal/num/gp"
	"github.com/campaignd/campaignd/internal/num/kernel"
)

// Posterior is a Gaussian posterior of the utility f given duels, of the form
// that all approximations share:
//
//	mean(x) = k(x,X)·w,    cov(x,x') = k(x,x') − k(x,X)·C·k(X,x'),
//
// with m designs X, a vector w and a symmetric positive semidefinite C. It is
// immutable and safe for concurrent use.
type Posterior struct {
	kernel      kernel.Kernel
	outputScale float64
	x           [][]float64
	w, c        []float64 // m; m×m row-major
}

// NewPosterior returns the posterior with the m designs X, w (m values) and C
// (m×m row-major, symmetric; both triangles are read). With m = 0 it is the
// prior. The slices are kept, not copied, and must not change. A wrong shape
// panics.
func NewPosterior(k kernel.Kernel, X [][]float64, w, C []float64) *Posterior {
	if m := len(X); len(w) != m || len(C) != m*m {
		panic(fmt.Sprintf("pref: %d designs, %d weights, matrix of %d entries", m, len(w), len(C)))
	}
	for i, x := range X {
		if len(x) != k.Dim() {
			panic(fmt.Sprintf("pref: design %d has %d coordinates, the kernel %d dimensions", i,
				len(x), k.Dim()))
		}
	}
	return &Posterior{kernel: k, outputScale: k.OutputScale(), x: X, w: w, c: C}
}

// Prior returns the posterior without any duel: mean 0, covariance k.
func Prior(k kernel.Kernel) *Posterior { return NewPosterior(k, nil, nil, nil) }

// Kernel returns the kernel of the prior.
func (p *Posterior) Kernel() kernel.Kernel { return p.kernel }

// Dim returns d, the number of input dimensions.
func (p *Posterior) Dim() int { return p.kernel.Dim() }

// Len returns m, the number of designs that the posterior rests on.
func (p *Posterior) Len() int { return len(p.x) }

// Posterior is Predictor.Posterior with a workspace of its own.
func (p *Posterior) Posterior(x []float64) (mean, sd float64) {
	return p.NewPredictor().Posterior(x)
}

// PosteriorGrad is Predictor.PosteriorGrad with a workspace of its own.
func (p *Posterior) PosteriorGrad(x, dmean, dsd []float64) (mean, sd float64) {
	return p.NewPredictor().PosteriorGrad(x, dmean, dsd)
}

// Pair is Predictor.Pair with a workspace of its own.
func (p *Posterior) Pair(x, y []float64) Moments { return p.NewPredictor().Pair(x, y) }

// Joint returns the posterior of f at the n points X together, from which
// samples can be drawn.
func (p *Posterior) Joint(X [][]float64) *gp.Joint {
	n, m := len(X), len(p.x)
	j := &gp.Joint{Mean: make([]float64, n), Cov: make([]float64, n*n)}
	p.kernel.Gram(j.Cov, X)
	if m == 0 || n == 0 {
		return j
	}
	k := blas64.General{Rows: n, Cols: m, Stride: m, Data: make([]float64, n*m)} // k(X, designs)
	for a, x := range X {
		row := k.Data[a*m : a*m+m]
		p.kernel.Cross(row, p.x, x)
		j.Mean[a] = dot(p.w, row)
	}
	kc := blas64.General{Rows: n, Cols: m, Stride: m, Data: make([]float64, n*m)}
	c := blas64.General{Rows: m, Cols: m, Stride: m, Data: p.c}
	blas64.Gemm(blas.NoTrans, blas.NoTrans, 1, k, c, 0, kc)
	for a := range n {
		for b := range a + 1 {
			v := j.Cov[a*n+b] - dot(kc.Data[a*m:a*m+m], k.Data[b*m:b*m+m])
			j.Cov[a*n+b], j.Cov[b*n+a] = v, v
		}
	}
	return j
}

// Moments are the posterior mean and covariance of f at two points x and y.
type Moments struct {
	MeanX, MeanY float64
	VarX, VarY   float64
	Cov          float64
}

// Difference returns the mean and the variance of f(x) − f(y), the variance at
// least 0.
func (m Moments) Difference() (mean, variance float64) {
	return m.MeanX - m.MeanY, max(m.VarX+m.VarY-2*m.Cov, 0)
}

// PairGrad holds the derivatives of Moments, slices of d values: each of the
// two means and variances depends on its own point only, the covariance on
// both.
type PairGrad struct {
	MeanX, MeanY []float64
	VarX, VarY   []float64
	CovX, CovY   []float64 // ∂Cov/∂x, ∂Cov/∂y
}

// NewPairGrad returns a PairGrad for d dimensions.
func NewPairGrad(d int) *PairGrad {
	v := make([]float64, 6*d)
	cut := func(i int) []float64 { return v[i*d : i*d+d : i*d+d] }
	return &PairGrad{MeanX: cut(0), MeanY: cut(1), VarX: cut(2), VarY: cut(3), CovX: cut(4),
		CovY: cut(5)}
}

// Predictor evaluates a posterior at single points and pairs without
// allocating. It is a workspace: one goroutine uses it at a time; different
// ones may share the posterior.
type Predictor struct {
	p    *Posterior
	x, y column
	one  [1][]float64 // a set of one point, for the derivatives of k(x, y)
	rho  [1]float64
}

// column holds a posterior's quantities of one point.
type column struct {
	k, ck []float64 // k(X,x) and C·k(X,x), m values
	dk    []float64 // m×d, ∂k(X_i,x)/∂x_j
}

// NewPredictor returns a workspace for predictions.
func (p *Posterior) NewPredictor() *Predictor {
	m, d := len(p.x), p.Dim()
	v := make([]float64, 4*m+2*m*d)
	cut := func(n int) []float64 { s := v[:n:n]; v = v[n:]; return s }
	return &Predictor{
		p: p,
		x: column{k: cut(m), ck: cut(m), dk: cut(m * d)},
		y: column{k: cut(m), ck: cut(m), dk: cut(m * d)},
	}
}

// Posterior returns the posterior mean and standard deviation of f(x), the
// noise of a judgment not included.
func (q *Predictor) Posterior(x []float64) (mean, sd float64) {
	mean, variance := q.fill(&q.x, x, false)
	return mean, math.Sqrt(max(variance, 0))
}

// PosteriorGrad is Posterior and fills dmean and dsd with the derivatives with
// respect to the d coordinates of x. Where the standard deviation vanishes to
// rounding it has no derivative, and dsd is 0.
func (q *Predictor) PosteriorGrad(x, dmean, dsd []float64) (mean, sd float64) {
	checkGrad(q.p.Dim(), dmean, dsd)
	mean, variance := q.fill(&q.x, x, true)
	q.slopes(&q.x, x, dmean, dsd)
	sd = math.Sqrt(max(variance, 0))
	if !(variance > 1e-14*q.p.outputScale) {
		clear(dsd)
		return mean, sd
	}
	for j := range dsd {
		dsd[j] /= 2 * sd
	}
	return mean, sd
}

// Pair returns the joint moments of f(x) and f(y), as acquisitions of pairs
// need them (EUBO: Sinaga et al. 2026, Eq. 11).
func (q *Predictor) Pair(x, y []float64) Moments { return q.pair(x, y, nil) }

// PairGrad is Pair and fills g with the derivatives.
func (q *Predictor) PairGrad(x, y []float64, g *PairGrad) Moments {
	checkGrad(q.p.Dim(), g.MeanX, g.MeanY, g.VarX, g.VarY, g.CovX, g.CovY)
	return q.pair(x, y, g)
}

func (q *Predictor) pair(x, y []float64, g *PairGrad) (m Moments) {
	m.MeanX, m.VarX = q.fill(&q.x, x, g != nil)
	m.MeanY, m.VarY = q.fill(&q.y, y, g != nil)
	m.VarX, m.VarY = max(m.VarX, 0), max(m.VarY, 0)
	if g == nil {
		// x before y as in the variances, so that the moments of x = y agree to
		// the last bit.
		m.Cov = q.p.kernel.Eval(x, y) - dot(q.x.k, q.y.ck)
		return m
	}
	q.slopes(&q.x, x, g.MeanX, g.VarX)
	q.slopes(&q.y, y, g.MeanY, g.VarY)
	q.one[0] = y
	q.p.kernel.CrossGrad(q.rho[:], g.CovX, q.one[:], x)
	q.one[0] = x
	q.p.kernel.CrossGrad(q.rho[:], g.CovY, q.one[:], y)
	q.one[0] = nil
	m.Cov = q.rho[0] - dot(q.x.k, q.y.ck)
	addRows(g.CovX, -1, q.y.ck, q.x.dk)
	addRows(g.CovY, -1, q.x.ck, q.y.dk)
	return m
}

// fill computes the column of x, with derivatives on demand, and returns the
// mean and the variance.
func (q *Predictor) fill(c *column, x []float64, grad bool) (mean, variance float64) {
	p := q.p
	if grad {
		p.kernel.CrossGrad(c.k, c.dk, p.x, x)
	} else {
		p.kernel.Cross(c.k, p.x, x)
	}
	m := len(p.x)
	if m == 0 {
		return 0, p.kernel.Diag(x, nil)
	}
	blas64.Gemv(blas.NoTrans, 1, blas64.General{Rows: m, Cols: m, Stride: m, Data: p.c},
		vector(c.k), 0, vector(c.ck))
	return dot(p.w, c.k), p.kernel.Diag(x, nil) - dot(c.k, c.ck)
}

// slopes sets dmean and dvar to the derivatives at x, the column's point.
func (q *Predictor) slopes(c *column, x, dmean, dvar []float64) {
	clear(dmean)
	q.p.kernel.Diag(x, dvar)
	addRows(dmean, 1, q.p.w, c.dk)
	addRows(dvar, -2, c.ck, c.dk)
}

// addRows adds s·Σ_i v_i·rows_i to dst, d values, with the m rows of d values
// one after the other.
func addRows(dst []float64, s float64, v, rows []float64) {
	d := len(dst)
	for i, a := range v {
		a *= s
		for j, t := range rows[i*d : i*d+d] {
			dst[j] += a * t
		}
	}
}

func checkGrad(d int, grads ...[]float64) {
	for _, g := range grads {
		if len(g) != d {
			panic("pref: gradients have one entry per dimension")
		}
	}
}

func vector(x []float64) blas64.Vector { return blas64.Vector{N: len(x), Inc: 1, Data: x} }

func dot(x, y []float64) float64 { return blas64.Dot(vector(x), vector(y)) }

func axpy(dst []float64, a float64, x []float64) { blas64.Axpy(a, vector(x), vector(dst)) }
