package gp

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
)

// Conditioned is a posterior that has learned more, at points besides the data.
// With c(x) = cov(f(x), f(P) | data) for the p points P,
//
//	mean(x) = μ(x) + c(x)ᵀg,   cov(x, x') = cov(x, x' | data) − c(x)ᵀ R c(x').
//
// That is the form of every Gaussian update at points: values of f that are
// supposed there ([Conditioned.Given]), and answers of experts (package
// channel), whose g and R may be those of a mixture; R is then symmetric, and
// need not be positive. Nothing learned, p = 0, is the posterior itself, bit
// for bit. It is immutable and safe for concurrent use.
//
// There may be several g with the one R, for several suppositions: the
// conditioned posterior is then an ensemble of means with a common covariance.
type Conditioned struct {
	g      *GP
	points [][]float64
	cross  []float64   // A = K⁻¹k(X, P), n×p
	gains  [][]float64 // g of each member, p values
	inner  []float64   // R, p×p
}

// Condition returns the posterior with the update of the given gain g and reduction R, p×p and
// row-major, at p points. The caller must not change any of the arguments afterwards.
func (g *GP) Condition(points [][]float64, gain, reduction []float64) *Conditioned {
	p := len(points)
	if len(gain) != p || len(reduction) != p*p {
		panic(fmt.Sprintf("gp: an update at %d points with %d gains and %d reductions", p,
			len(gain), len(reduction)))
	}
	c := &Conditioned{g: g, points: points, gains: [][]float64{gain}, inner: reduction}
	c.cross = g.crossed(points)
	return c
}

// crossed returns K⁻¹k(X, P), n×p.
func (g *GP) crossed(points [][]float64) []float64 {
	n, p := len(g.basis), len(points)
	cross := make([]float64, n*p)
	k := make([]float64, n)
	for j, x := range points {
		g.kernel.Cross(k, g.basis, x)
		for i, v := range k {
			cross[i*p+j] = v
		}
	}
	if p > 0 {
		b := blas64.General{Rows: n, Cols: p, Stride: p, Data: cross}
		inverse := lower(g.inverse, n, g.stride)
		blas64.Trmm(blas.Left, blas.NoTrans, 1, inverse, b)
		blas64.Trmm(blas.Left, blas.Trans, 1, inverse, b)
	}
	return cross
}

// Members is the number of means.
func (c *Conditioned) Members() int { return len(c.gains) }

// First returns the posterior with its first members alone. It shares all else
// with this one.
func (c *Conditioned) First(members int) *Conditioned {
	out := *c
	out.gains = c.gains[:members]
	return &out
}

// OutputScale returns the prior's variance of f.
func (c *Conditioned) OutputScale() float64 { return c.g.hyper.OutputScale }

// Dim returns the number of input dimensions.
func (c *Conditioned) Dim() int { return c.g.Dim() }

// Given returns the posterior as if f were known, up to independent errors of
// the given variance, to have each of several vectors of values at the points,
// a member for each. It has to have one member. The variance may be 0; jitter
// is added as for data. It fails with ErrNotPositiveDefinite.
func (c *Conditioned) Given(
	points [][]float64, values [][]float64, variance float64,
) (*Conditioned, error) {
	if len(c.gains) != 1 {
		panic("gp: an ensemble is not conditioned further")
	}
	q := len(points)
	joint := c.Joint(points)
	for a := range q {
		joint.Cov[a*q+a] += variance
	}
	return c.given(points, values, joint)
}

func (c *Conditioned) given(points, values [][]float64, joint *Joint) (*Conditioned, error) {
	p, q := len(c.points), len(points)
	solve, err := joint.inverse()
	if err != nil {
		return nil, err
	}
	// With S = cov(f(Q)) as it was, and B = cov(f(P), f(Q) | data), the row of Q's covariance with
	// f(x) is T·(c_P(x), c_Q(x)), T = (−BᵀR, I): so values at Q add Tᵀ S⁻¹ T to R, and Tᵀ S⁻¹
	// (values − mean) to g.
	t := make([]float64, q*(p+q))
	row := make([]float64, p)
	w := c.NewPredictor()
	for b, x := range points {
		at := t[b*(p+q):]
		if p > 0 {
			w.cov.fill(x)
			mul(row, c.inner, w.cov.c)
			for a, v := range row {
				at[a] = -v
			}
		}
		at[p+b] = 1
	}
	all := p + q
	T := blas64.General{Rows: q, Cols: all, Stride: all, Data: t}
	out := &Conditioned{
		g: c.g, points: append(slices.Clone(c.points), points...),
		inner: make([]float64, all*all),
	}
	cross := c.g.crossed(points)
	n := len(c.g.basis)
	out.cross = make([]float64, n*all)
	for i := range n {
		copy(out.cross[i*all:], c.cross[i*p:i*p+p])
		copy(out.cross[i*all+p:], cross[i*q:i*q+q])
	}
	// R' = R ⊕ 0 + Tᵀ S⁻¹ T.
	st := slices.Clone(t)
	solve(blas64.General{Rows: q, Cols: all, Stride: all, Data: st})
	blas64.Gemm(blas.Trans, blas.NoTrans, 1, T,
		blas64.General{Rows: q, Cols: all, Stride: all, Data: st}, 0,
		blas64.General{Rows: all, Cols: all, Stride: all, Data: out.inner})
	for i := range p {
		for j := range p {
			out.inner[i*all+j] += c.inner[i*p+j]
		}
	}
	symmetrize(out.inner, all)
	for _, v := range values {
		rest := make([]float64, q)
		for b := range rest {
			rest[b] = v[b] - joint.Mean[b]
		}
		gain := make([]float64, all)
		blas64.Gemv(blas.Trans, 1, blas64.General{Rows: q, Cols: all, Stride: all, Data: st},
			vector(rest), 0, vector(gain))
		for i, v := range c.gains[0] {
			gain[i] += v
		}
		out.gains = append(out.gains, gain)
	}
	return out, nil
}

// symmetrize replaces a square matrix by the mean of itself and its transpose.
func symmetrize(a []float64, n int) {
	for i := range n {
		for j := range i {
			m := (a[i*n+j] + a[j*n+i]) / 2
			a[i*n+j], a[j*n+i] = m, m
		}
	}
}

// mul sets dst to the product of the square matrix a with x.
func mul(dst, a, x []float64) {
	n := len(dst)
	for i := range dst {
		dst[i] = dot(a[i*n:i*n+n], x)
	}
}

// inverse factors the covariance, with jitter where it is numerically singular,
// and returns what overwrites a matrix B with Cov⁻¹B.
func (j *Joint) inverse() (func(b blas64.General), error) {
	if err := j.factorize(); err != nil {
		return nil, err
	}
	m := len(j.Mean)
	return func(b blas64.General) {
		blas64.Trsm(blas.Left, blas.NoTrans, 1, lower(j.factor, m, m), b)
		blas64.Trsm(blas.Left, blas.Trans, 1, lower(j.factor, m, m), b)
	}, nil
}

// Shares returns how much of the mean at x, of the first member, comes from each point: c_j(x)·g_j.
// They add up to the update beyond the data.
func (c *Conditioned) Shares(x []float64) []float64 {
	w := c.NewPredictor()
	w.cov.fill(x)
	for j, g := range c.gains[0] {
		w.cov.c[j] *= g
	}
	return w.cov.c
}

// Joint returns the posterior of f at the points X, as [GP.Joint] does, of the
// first member.
func (c *Conditioned) Joint(X [][]float64) *Joint {
	j := c.g.Joint(X)
	m, p := len(X), len(c.points)
	if p == 0 || m == 0 {
		return j
	}
	w := c.NewPredictor()
	rows, reduced := make([]float64, m*p), make([]float64, m*p)
	for a, x := range X {
		row := rows[a*p : a*p+p]
		w.cov.fill(x)
		copy(row, w.cov.c)
		j.Mean[a] += dot(row, c.gains[0])
		mul(reduced[a*p:a*p+p], c.inner, row)
	}
	for a := range m {
		for b := range a + 1 {
			j.Cov[a*m+b] -= dot(rows[a*p:a*p+p], reduced[b*p:b*p+p])
			j.Cov[b*m+a] = j.Cov[a*m+b]
		}
	}
	return j
}

// ConditionedPredictor evaluates a conditioned posterior at single points
// without allocating. It is a workspace: one goroutine uses it at a time.
type ConditionedPredictor struct {
	of    *Conditioned
	cov   *Covariances // c(x)
	rc    []float64    // R c(x)
	mean  []float64    // of each member
	dmean []float64    // ∇μ(x)
	sum   []float64    // of gains, weighted
}

// NewPredictor returns a workspace for predictions.
func (c *Conditioned) NewPredictor() *ConditionedPredictor {
	p := len(c.points)
	return &ConditionedPredictor{
		of: c, cov: c.g.covariances(c.points, c.cross), rc: make([]float64, p),
		mean: make([]float64, len(c.gains)), sum: make([]float64, p), dmean: make([]float64, c.g.Dim()),
	}
}

// Posterior returns the posterior mean, of the first member, and the standard
// deviation of f(x), noise not included.
func (w *ConditionedPredictor) Posterior(x []float64) (mean, sd float64) {
	means, sd := w.Means(x)
	return means[0], sd
}

// Mean returns the mean of Posterior alone, in O(n·p) where that is O(n²).
func (w *ConditionedPredictor) Mean(x []float64) float64 {
	mean := w.cov.base.Mean(x)
	if len(w.cov.c) == 0 {
		return mean
	}
	w.cov.fromBase(x)
	return mean + dot(w.of.gains[0], w.cov.c)
}

// Means returns the posterior mean of each member, in a slice that the next
// call overwrites, and their common standard deviation.
func (w *ConditionedPredictor) Means(x []float64) (means []float64, sd float64) {
	mean, sd := w.cov.base.Posterior(x)
	if len(w.cov.c) == 0 {
		w.mean[0] = mean
		return w.mean, sd
	}
	w.cov.fromBase(x)
	mul(w.rc, w.of.inner, w.cov.c)
	for m, gain := range w.of.gains {
		w.mean[m] = mean + dot(gain, w.cov.c)
	}
	return w.mean, math.Sqrt(max(sd*sd-dot(w.cov.c, w.rc), 0))
}

// PosteriorGrad is Posterior and fills dmean and dsd with the derivatives with
// respect to the d coordinates of x. Where the standard deviation vanishes to
// rounding it has no derivative, and dsd is 0.
func (w *ConditionedPredictor) PosteriorGrad(x, dmean, dsd []float64) (mean, sd float64) {
	means, sd := w.MeansGrad(x, dsd)
	w.MeanGrad(dmean, func(int) float64 { return 1 })
	return means[0], sd
}

// MeansGrad is Means and fills dsd with the derivatives of the standard
// deviation. Those of a weighted sum of means are then asked for with
// [ConditionedPredictor.MeanGrad].
func (w *ConditionedPredictor) MeansGrad(x, dsd []float64) (means []float64, sd float64) {
	mean, sd := w.cov.base.PosteriorGrad(x, w.dmean, dsd)
	if len(w.cov.c) == 0 {
		w.mean[0] = mean
		return w.mean, sd
	}
	w.cov.fromBaseGrad(x)
	mul(w.rc, w.of.inner, w.cov.c)
	for m, gain := range w.of.gains {
		w.mean[m] = mean + dot(gain, w.cov.c)
	}
	variance := sd*sd - dot(w.cov.c, w.rc)
	if !(variance > 1e-14*w.of.OutputScale()) {
		clear(dsd)
		return w.mean, math.Sqrt(max(variance, 0))
	}
	// ∇σ² = 2σ₀∇σ₀ − 2∇cᵀRc.
	for j := range dsd {
		dsd[j] *= sd
	}
	w.cov.addGrad(dsd, w.rc, -1)
	sd = math.Sqrt(variance)
	for j := range dsd {
		dsd[j] /= sd
	}
	return w.mean, sd
}

// MeanGrad fills dst with the derivatives of Σ_m weight(m)·mean_m at the point
// of the last MeansGrad. The weights have to add up to 1.
func (w *ConditionedPredictor) MeanGrad(dst []float64, weight func(member int) float64) {
	w.meanGrad(dst, 1, weight)
}

// meanGrad is MeanGrad for weights that add up to sum.
func (w *ConditionedPredictor) meanGrad(dst []float64, sum float64, weight func(member int) float64) {
	for j, v := range w.dmean {
		dst[j] = sum * v
	}
	if len(w.cov.c) == 0 {
		return
	}
	clear(w.sum)
	for m, gain := range w.of.gains {
		axpy(w.sum, weight(m), gain)
	}
	w.cov.addGrad(dst, w.sum, 1)
}

// WeighedGrad fills dst with the derivatives of Σ_m weights[m]·mean_m at the point
// of the last MeansGrad. Unlike those of [ConditionedPredictor.MeanGrad] the
// weights may be any numbers: those of a function of several quantities have
// either sign.
func (w *ConditionedPredictor) WeighedGrad(dst, weights []float64) {
	if len(weights) != len(w.mean) {
		panic(fmt.Sprintf("gp: %d weights of %d means", len(weights), len(w.mean)))
	}
	total := 0.0
	for _, v := range weights {
		total += v
	}
	w.meanGrad(dst, total, func(member int) float64 { return weights[member] })
}
