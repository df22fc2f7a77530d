package dueling

import (
	"context"
	"fmt"
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/lapack/lapack64"

	"github.com/campaignd/campaignd/internal/num/special"
)

// Loss is the function that a fit minimizes over h = Σ_i θ_i 𝕜(z_i, ·), one term for each
// comparison z_i with outcome y_i. CE is the cross-entropy Σ_i −y_i ln μ(h(z_i)) − (1−y_i) ln(1 −
// μ(h(z_i))), natural logarithm.
type Loss string

const (
	// LossRKHS is CE + ½λ·θᵀ𝕂θ, the norm of h as in Kayal et al. 2025, Eq. 7
	// and 8. It is the default.
	LossRKHS Loss = "rkhs"
	// LossTheta is CE/t + ½λ·|θ|² for t comparisons, the loss of the paper's experiments.
	LossTheta Loss = "theta"
	// LossThetaSum is CE + ½λ·|θ|², Eq. 9 as printed.
	LossThetaSum Loss = "theta-sum"
)

// Model is h_t, a fitted preference function.
type Model struct {
	// Utility[i] is f(x_i) such that h(x_i, x_j) = f(x_i) − f(x_j). Its level
	// has no meaning.
	Utility []float64
	// Theta[i] is the coefficient of comparison i in h = Σ θ_i 𝕜(z_i, ·).
	Theta []float64
	// Iterations is the number of Newton steps taken.
	Iterations int
}

// H returns h(x_i, x_j).
func (m *Model) H(i, j int) float64 { return m.Utility[i] - m.Utility[j] }

// Probability returns μ(h(x_i, x_j)), the probability that i wins against j.
func (m *Model) Probability(i, j int) float64 { return special.Logistic(m.H(i, j)) }

// fit minimizes the loss over the distinct pairs. It returns the model without
// Theta, and the weight A_p of each distinct pair in h = Σ_p A_p 𝕜(z_p, ·).
//
// With 𝕂 = LLᵀ over the distinct pairs, N the diagonal matrix of their counts,
// w their wins and z = (h(z_p))_p, every loss is
//
//	min over s   scale·Σ_p (N_p ln(1 + e^{z_p}) − w_p z_p) + ½λ|s|²,   z = Fs,
//
// and its Hessian FᵀWF + λI is regular whatever 𝕂 is. For the norm of h, s =
// LᵀA and F = L. For
// |θ|², comparisons of one pair share its weight equally (the best way to split a sum), so the
// penalty is ½λ·AᵀN⁻¹A; with N^½L = QR this is s = QᵀN^{-½}A and F = LRᵀ. The weights follow
// without solving anything: A = scale·(w − Nμ(z))/λ, the stationarity of the first, and A = N^½Qs.
func fit(
	ctx context.Context, c *Candidates, t *tally, loss Loss, lambda float64,
) (*Model, []float64, error) {
	if !(lambda > 0) || math.IsInf(lambda, 1) {
		return nil, nil, fmt.Errorf("%w: regularization λ = %v, it must be positive and finite",
			ErrSetting, lambda)
	}
	scale := 1.0
	switch loss {
	case LossRKHS, LossThetaSum:
	case LossTheta:
		scale = 1 / math.Max(1, t.total)
	default:
		return nil, nil, fmt.Errorf("%w: loss %q, known are %s, %s and %s",
			ErrSetting, loss, LossRKHS, LossTheta, LossThetaSum)
	}
	m := len(t.pairs)
	model := &Model{Utility: make([]float64, c.n)}
	weights := make([]float64, m)
	features, rank, err := factor(ctx, c, t.pairs)
	if err != nil {
		return nil, nil, err
	}
	if rank == 0 {
		if loss == LossRKHS {
			for p, n := range t.counts {
				weights[p] = (t.wins[p] - 0.5*n) / lambda
			}
		}
		return model, weights, nil
	}
	var q blas64.General
	if loss != LossRKHS {
		q, features = countWeighted(features, t.counts)
	}
	s := newton{features: features, tally: t, scale: scale, lambda: lambda}
	if model.Iterations, err = s.minimize(ctx); err != nil {
		return nil, nil, err
	}
	if loss == LossRKHS {
		for p := range weights {
			weights[p] = (t.wins[p] - t.counts[p]*special.Logistic(s.z[p])) / lambda
		}
	} else {
		blas64.Gemv(blas.NoTrans, 1, q, vector(s.s), 0, vector(weights))
		for p := range weights {
			weights[p] *= math.Sqrt(t.counts[p])
		}
	}
	at := make([]float64, c.n) // Σ_p A_p (e_first − e_second)
	for p, pair := range t.pairs {
		at[pair.First] += weights[p]
		at[pair.Second] -= weights[p]
	}
	for i, a := range at {
		if a != 0 {
			axpy(model.Utility, a, c.row(i))
		}
	}
	// h from the weights and the kernel itself must be the h that was fitted:
	// this covers the factor and the search at once.
	worst, size := 0.0, 1.0
	for p, pair := range t.pairs {
		worst = math.Max(worst, math.Abs(model.H(pair.First, pair.Second)-s.z[p]))
		size = math.Max(size, math.Abs(s.z[p]))
	}
	if !(worst <= residualTolerance*size) {
		return nil, nil, fmt.Errorf("%w: h differs by %.1e from its own kernel expansion, over %d pairs with λ = %g",
			ErrNotConverged, worst, m, lambda)
	}
	return model, weights, nil
}

const (
	// residualTolerance is the greatest error of h at a compared pair, relative
	// to the largest |h|, that counts as a solution.
	residualTolerance = 1e-8
	// rankTolerance is where the factor stops: the largest part of a pair's
	// variance that it leaves out, relative to k(x, x).
	rankTolerance = 1e-14
)

// factor returns L with 𝕂 = LLᵀ over the pairs, of len(pairs) rows and as many
// columns as 𝕂 has numerical rank: Cholesky's method with complete pivoting. It
// computes only the columns of 𝕂 that it needs, which is why it is not
// LAPACK's.
func factor(ctx context.Context, c *Candidates, pairs []Pair) (l blas64.General, rank int, err error) {
	m := len(pairs)
	rest := make([]float64, m)
	for p, pair := range pairs {
		rest[p] = c.Kernel(pair, pair)
	}
	tolerance := rankTolerance * c.scale()
	columns := make([][]float64, 0, 32)
	for len(columns) < m {
		if err := ctx.Err(); err != nil {
			return l, 0, err
		}
		pivot := 0
		for p, v := range rest {
			if v > rest[pivot] {
				pivot = p
			}
		}
		if !(rest[pivot] > tolerance) {
			break
		}
		column := make([]float64, m)
		for p, pair := range pairs {
			column[p] = c.Kernel(pair, pairs[pivot])
		}
		for _, before := range columns {
			axpy(column, -before[pivot], before)
		}
		root := math.Sqrt(rest[pivot])
		for p := range column {
			column[p] /= root
			rest[p] -= column[p] * column[p]
		}
		rest[pivot] = 0
		columns = append(columns, column)
	}
	rank = len(columns)
	l = blas64.General{Rows: m, Cols: rank, Stride: max(1, rank), Data: make([]float64, m*rank)}
	for j, column := range columns {
		for p, v := range column {
			l.Data[p*rank+j] = v
		}
	}
	return l, rank, nil
}

// countWeighted returns Q and F = LRᵀ with N^½L = QR.
func countWeighted(l blas64.General, counts []float64) (q, f blas64.General) {
	m, rank := l.Rows, l.Cols
	q = blas64.General{Rows: m, Cols: rank, Stride: rank, Data: make([]float64, m*rank)}
	for p, n := range counts {
		axpy(q.Data[p*rank:p*rank+rank], math.Sqrt(n), l.Data[p*rank:p*rank+rank])
	}
	tau := make([]float64, rank)
	work := make([]float64, 1)
	lapack64.Geqrf(q, tau, work, -1)
	work = make([]float64, int(work[0]))
	lapack64.Geqrf(q, tau, work, len(work))
	f = blas64.General{Rows: m, Cols: rank, Stride: rank, Data: append([]float64(nil), l.Data...)}
	r := blas64.Triangular{
		Uplo:   blas.Upper,
		Diag:   blas.NonUnit,
		N:      rank,
		Stride: rank,
		Data:   append([]float64(nil), q.Data[:rank*rank]...),
	}
	blas64.Trmm(blas.Right, blas.Trans, 1, r, f)
	lapack64.Orgqr(q, tau, work[:1], -1)
	work = make([]float64, max(int(work[0]), 1))
	lapack64.Orgqr(q, tau, work, len(work))
	return q, f
}

// newton minimizes scale·Σ_p (N_p ln(1 + e^{z_p}) − w_p z_p) + ½λ|s|² over
// s, z = Fs.
type newton struct {
	features      blas64.General // F, a row for each distinct pair
	tally         *tally
	scale, lambda float64

	s, z []float64
}

// minimize runs Newton's method from zero, each step halved until the loss
// falls as its slope promises, until a full step moves no z by more than 1e-11
// of the largest, or by less than 1e-8 and no less than the step before: the
// convergence being quadratic, what remains is rounding.
func (o *newton) minimize(ctx context.Context) (iterations int, err error) {
	m, rank := o.features.Rows, o.features.Cols
	o.s, o.z = make([]float64, rank), make([]float64, m)
	residual := make([]float64, m)
	step := make([]float64, rank)
	dz := make([]float64, m)
	trialS, trialZ := make([]float64, rank), make([]float64, m)
	scaled := blas64.General{Rows: m, Cols: rank, Stride: rank, Data: make([]float64, m*rank)}
	hessian := blas64.Symmetric{Uplo: blas.Lower, N: rank, Stride: rank,
		Data: make([]float64, rank*rank)}
	value := o.value(o.s, o.z)
	before := math.Inf(1)
	for iterations = 1; iterations <= 100; iterations++ {
		if err := ctx.Err(); err != nil {
			return iterations, err
		}
		clear(scaled.Data)
		for p, z := range o.z {
			mu := special.Logistic(z)
			residual[p] = o.scale * (o.tally.wins[p] - o.tally.counts[p]*mu)
			// 1 − μ is taken as μ(−z), which does not cancel.
			curvature := o.scale * o.tally.counts[p] * mu * special.Logistic(-z)
			axpy(scaled.Data[p*rank:p*rank+rank], math.Sqrt(curvature), o.features.Data[p*rank:p*rank+rank])
		}
		blas64.Gemv(blas.Trans, 1, o.features, vector(residual), 0, vector(step))
		axpy(step, -o.lambda, o.s) // the descent direction −∇
		gradient := append([]float64(nil), step...)
		blas64.Syrk(blas.Trans, 1, scaled, 0, hessian)
		for i := range rank {
			hessian.Data[i*rank+i] += o.lambda
		}
		root, ok := lapack64.Potrf(hessian)
		if !ok {
			return iterations, fmt.Errorf("%w: a Hessian of rank %d with λ = %g is not positive definite",
				ErrNotConverged, rank, o.lambda)
		}
		blas64.Trsv(blas.NoTrans, root, vector(step))
		blas64.Trsv(blas.Trans, root, vector(step))
		slope := -dot(gradient, step)
		blas64.Gemv(blas.NoTrans, 1, o.features, vector(step), 0, vector(dz))
		moved, size := largest(dz), math.Max(1, largest(o.z))
		length := 1.0
		for ; ; length /= 2 {
			for i := range trialS {
				trialS[i] = o.s[i] + length*step[i]
			}
			for p := range trialZ {
				trialZ[p] = o.z[p] + length*dz[p]
			}
			next := o.value(trialS, trialZ)
			// Close to the minimum rounding hides the decrease; the quadratic
			// model is exact there.
			if next <= value+1e-4*length*slope+1e-14*value || moved <= 1e-7*size {
				value = next
				break
			}
			if length < 1e-10 {
				return iterations, fmt.Errorf("%w: no step lowers the loss over %d pairs (λ = %g)",
					ErrNotConverged, m, o.lambda)
			}
		}
		o.s, trialS = trialS, o.s
		o.z, trialZ = trialZ, o.z
		if length == 1 && (moved <= 1e-11*size || moved <= 1e-8*size && moved >= before) {
			// z was moved along with s; recompute it, so that steps leave no
			// rounding behind.
			blas64.Gemv(blas.NoTrans, 1, o.features, vector(o.s), 0, vector(o.z))
			return iterations, nil
		}
		before = moved
	}
	return iterations, fmt.Errorf("%w: Newton's method over %d pairs (λ = %g)",
		ErrNotConverged, m, o.lambda)
}

func (o *newton) value(s, z []float64) float64 {
	var sum float64
	for p, v := range z {
		// Both terms are positive: written with N_p and w_p as above, they
		// would cancel where a pair is one-sided.
		sum += o.tally.wins[p]*special.Log1pExp(-v) + (o.tally.counts[p]-o.tally.wins[p])*special.Log1pExp(v)
	}
	return o.scale*sum + 0.5*o.lambda*dot(s, s)
}

func vector(x []float64) blas64.Vector { return blas64.Vector{N: len(x), Inc: 1, Data: x} }

func dot(x, y []float64) float64 { return blas64.Dot(vector(x), vector(y)) }

func axpy(dst []float64, a float64, x []float64) { blas64.Axpy(a, vector(x), vector(dst)) }

func largest(x []float64) float64 {
	var m float64
	for _, v := range x {
		m = math.Max(m, math.Abs(v))
	}
	return m
}
