package pref

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/lapack/lapack64"

	"github.com/campaignd/campaignd/internal/num/gp"
)

// Ensemble is a posterior of the utility as if f were known to have each of
// several vectors of values at some points, the members: an ensemble of means with
// a common covariance. It is immutable and safe for concurrent use.
type Ensemble struct {
	common  *Posterior // the covariance; its mean is the first member's
	weights [][]float64
}

// leastVariance, relative to the output scale, is that of a value which others
// determine.
const leastVariance = 1e-12

// Given returns the posterior as if f had each of several vectors of values, at
// least one, at the given points: a member for each. The points are kept, not
// copied. It fails with gp.ErrNotPositiveDefinite where the values at some points
// determine those at others to rounding: leave such points out (see
// [gp.Joint.Draws]).
func (p *Posterior) Given(points, values [][]float64) (*Ensemble, error) {
	m, q := len(p.x), len(points)
	n := m + q
	joint := p.Joint(points)
	factor := blas64.Symmetric{Uplo: blas.Lower, N: q, Stride: max(q, 1), Data: joint.Cov}
	l, ok := lapack64.Potrf(factor)
	for b := range q { // rounding may leave a pivot that should be 0 positive
		if pivot := joint.Cov[b*q+b]; !ok || !(pivot*pivot > leastVariance*p.outputScale) {
			return nil, fmt.Errorf("utilities at %d points: %w", q, gp.ErrNotPositiveDefinite)
		}
	}
	// The covariance of f(x) and f(P_b) is k(x,X∪P)·T_b with T = (−k(P,X)C, I). With S = cov(f(P))
	// = LLᵀ, values at P add TᵀS⁻¹T to C, and TᵀS⁻¹(values − mean) to w. Here t becomes L⁻¹T.
	t := blas64.General{Rows: q, Cols: n, Stride: max(n, 1), Data: make([]float64, q*n)}
	k := make([]float64, m)
	for b, x := range points {
		row := t.Data[b*n : b*n+n]
		if p.kernel.Cross(k, p.x, x); m > 0 {
			blas64.Gemv(blas.NoTrans, -1, square(p.c, m), vector(k), 0, vector(row[:m]))
		}
		row[m+b] = 1
	}
	c := make([]float64, n*n)
	for i := range m {
		copy(c[i*n:i*n+m], p.c[i*m:i*m+m])
	}
	if q > 0 {
		blas64.Trsm(blas.Left, blas.NoTrans, 1, l, t)
		blas64.Syrk(blas.Trans, 1, t, 1, blas64.Symmetric{Uplo: blas.Lower, N: n, Stride: n, Data: c})
	}
	for i := range n {
		for j := range i {
			c[j*n+i] = c[i*n+j]
		}
	}
	e := new(Ensemble)
	rest := make([]float64, q)
	for _, v := range values {
		if len(v) != q {
			panic(fmt.Sprintf("pref: %d utilities at %d points", len(v), q))
		}
		w := make([]float64, n)
		copy(w, p.w)
		if q > 0 {
			for b, mean := range joint.Mean {
				rest[b] = v[b] - mean
			}
			blas64.Trsv(blas.NoTrans, l, vector(rest))
			blas64.Gemv(blas.Trans, 1, t, vector(rest), 1, vector(w))
		}
		e.weights = append(e.weights, w)
	}
	all := append(p.x[:m:m], points...)
	e.common = NewPosterior(p.kernel, all, e.weights[0], c)
	return e, nil
}

// Members returns the number of means.
func (e *Ensemble) Members() int { return len(e.weights) }

// Dim returns the number of input dimensions.
func (e *Ensemble) Dim() int { return e.common.Dim() }

// EnsemblePredictor evaluates an ensemble at single points without allocating. It
// is a workspace: one goroutine uses it at a time.
type EnsemblePredictor struct {
	of    *Ensemble
	base  *Predictor
	means []float64
	dvar  []float64 // of the last MeansGrad
	sd    float64
	flat  bool      // the variance has no derivative there
	sum   []float64 // of weights
}

// NewPredictor returns a workspace for predictions.
func (e *Ensemble) NewPredictor() *EnsemblePredictor {
	return &EnsemblePredictor{
		of: e, base: e.common.NewPredictor(), means: make([]float64, len(e.weights)),
		dvar: make([]float64, e.Dim()), sum: make([]float64, e.common.Len()),
	}
}

// Means returns the mean of f(x) of each member, in a slice that the next call
// overwrites, and their common standard deviation.
func (q *EnsemblePredictor) Means(x []float64) (means []float64, sd float64) {
	variance := q.fill(x, false)
	return q.means, math.Sqrt(max(variance, 0))
}

// fill sets the means, and returns the variance.
func (q *EnsemblePredictor) fill(x []float64, grad bool) (variance float64) {
	q.means[0], variance = q.base.fill(&q.base.x, x, grad)
	for s, w := range q.of.weights[1:] {
		q.means[s+1] = dot(w, q.base.x.k)
	}
	return variance
}

// MeansGrad is Means for derivatives to follow, which
// [EnsemblePredictor.AddGrad] returns.
func (q *EnsemblePredictor) MeansGrad(x []float64) (means []float64, sd float64) {
	variance := q.fill(x, true)
	q.of.common.kernel.Diag(x, q.dvar)
	addRows(q.dvar, -2, q.base.x.ck, q.base.x.dk)
	q.sd, q.flat = math.Sqrt(max(variance, 0)), !(variance > 1e-14*q.of.common.outputScale)
	return q.means, q.sd
}

// AddGrad adds to dst, d values, the derivatives of Σ_s byMean[s]·mean_s + bySD·sd
// at the point of the last MeansGrad. Where the standard deviation vanishes to
// rounding it has no derivative, and none is added.
func (q *EnsemblePredictor) AddGrad(dst, byMean []float64, bySD float64) {
	clear(q.sum)
	for s, w := range q.of.weights {
		axpy(q.sum, byMean[s], w)
	}
	addRows(dst, 1, q.sum, q.base.x.dk)
	if !q.flat {
		axpy(dst, bySD/(2*q.sd), q.dvar)
	}
}
