package gp

import (
	"context"
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"

	"github.com/campaignd/campaignd/internal/num/kernel"
)

// likelihood evaluates the log marginal likelihood of one data set for many
// hyperparameters. What does not depend on them, the squared differences, is
// computed once. Pairs i > k of rows are numbered i(i−1)/2 + k.
type likelihood struct {
	rows
	family kernel.Family
	n, d   int
	diff2  [][]float64 // by dimension: (x_i − x_k)² of every pair

	rho, slope  []float64 // by pair: kernel and its slope in the scaled squared distance
	cov, factor []float64 // n×n; factor also holds the inverse
	ones, z     []float64 // L⁻¹1, L⁻¹(y − m)
	alpha       []float64 // K⁻¹(y − m)
	jitter      float64   // of the last factorization
}

func newLikelihood(r rows, f kernel.Family) *likelihood {
	n, d := len(r.x), len(r.x[0])
	pairs := n * (n - 1) / 2
	l := &likelihood{
		rows: r, family: f, n: n, d: d, diff2: make([][]float64, d),
		rho: make([]float64, pairs), slope: make([]float64, pairs),
		cov: make([]float64, n*n), factor: make([]float64, n*n),
		ones: make([]float64, n), z: make([]float64, n), alpha: make([]float64, n),
	}
	for j := range d {
		v := make([]float64, 0, pairs)
		for i := range n {
			for k := range i {
				t := r.x[i][j] - r.x[k][j]
				v = append(v, t*t)
			}
		}
		l.diff2[j] = v
	}
	return l
}

// gradient is the derivative of the log marginal likelihood with respect to ln
// of the hyperparameters, and the mean itself.
type gradient struct {
	lengthscales       []float64
	outputScale, noise float64
	mean               float64
}

// eval returns ln p(y | h) (Rasmussen and Williams 2006, Eq. 2.30, plus the
// within-group term) and, if g is not nil, its gradient (Eq. 5.9). With profile
// it replaces h.Mean by the mean that maximizes the likelihood,
//
//	m = 1ᵀK⁻¹y / 1ᵀK⁻¹1,
//
// and returns it; the other derivatives are not affected, since the one in m
// vanishes there. It fails with ErrNotPositiveDefinite, or with the error of a
// context that is done.
func (l *likelihood) eval(
	ctx context.Context, h Hyper, profile bool, g *gradient,
) (lml, mean float64, err error) {
	if ctx.Err() != nil { // a line search would go on, and fill a matrix for each step
		return 0, 0, context.Cause(ctx)
	}
	n := l.n
	s := l.slope
	clear(s)
	for j, v := range l.diff2 {
		axpy(s, 1/(h.Lengthscales[j]*h.Lengthscales[j]), v)
	}
	if g == nil {
		l.family.Fill(l.rho, s, h.OutputScale)
	} else {
		l.family.FillSlope(l.rho, l.slope, s, h.OutputScale)
	}
	for i, p := 0, 0; i < n; i++ {
		copy(l.cov[i*n:i*n+i], l.rho[p:p+i])
		p += i
		l.cov[i*n+i] = h.OutputScale + l.noise(i, h.Noise)
	}
	l.jitter, err = cholesky(ctx, l.factor, l.cov, n, n, h.OutputScale)
	if err != nil {
		return 0, 0, err
	}

	tri := lower(l.factor, n, n)
	mean = h.Mean
	copy(l.z, l.y)
	if profile {
		for i := range n {
			l.ones[i] = 1
		}
		blas64.Trsv(blas.NoTrans, tri, vector(l.ones))
		blas64.Trsv(blas.NoTrans, tri, vector(l.z))
		mean = dot(l.ones, l.z) / dot(l.ones, l.ones)
		axpy(l.z, -mean, l.ones)
	} else {
		for i := range n {
			l.z[i] -= mean
		}
		blas64.Trsv(blas.NoTrans, tri, vector(l.z))
	}
	within, withinSlope := l.within(h.Noise)
	lml = within - 0.5*dot(l.z, l.z) - 0.5*float64(n)*math.Log(2*math.Pi)
	for i := range n {
		lml -= math.Log(l.factor[i*n+i])
	}
	if g == nil {
		return lml, mean, nil
	}

	copy(l.alpha, l.z)
	blas64.Trsv(blas.Trans, tri, vector(l.alpha))
	if err := (triangle{n, n, l.factor}).potri(ctx); err != nil {
		return 0, 0, err
	}
	// With W = ααᵀ − K⁻¹, ∂lml/∂θ = ½ tr(W ∂K/∂θ). The sum over a symmetric
	// matrix is twice that over its pairs.
	var traceNoise, trace float64 // Σ W_ii ∂K_ii/∂ln σ² and Σ W_ii (noise_i + jitter)
	g.mean = 0
	for i, p := 0, 0; i < n; i++ {
		a := l.alpha[i]
		row := l.factor[i*n : i*n+i+1]
		out := l.slope[p : p+i]
		for k, v := range out {
			out[k] = v * (a*l.alpha[k] - row[k])
		}
		p += i
		w := a*a - row[i]
		noise := l.noise(i, h.Noise)
		trace += w * (noise + l.jitter)
		if l.known[i] == 0 {
			traceNoise += w * noise
		}
		g.mean += a
	}
	for j, v := range l.diff2 {
		g.lengthscales[j] = -2 / (h.Lengthscales[j] * h.Lengthscales[j]) * dot(l.slope, v)
	}
	// σ_f² ∂K/∂σ_f² = K − noise − jitter, and tr(WK) = zᵀz − n.
	g.outputScale = 0.5 * (dot(l.z, l.z) - float64(n) - trace)
	g.noise = 0.5*traceNoise + withinSlope
	return lml, mean, nil
}

// LogMarginal returns the log marginal likelihood ln p(Y | X, h) of the data,
// natural log with all constants, and fills grad, if not nil, with its d+3
// derivatives with respect to ln ℓ_1 … ln ℓ_d, ln output scale, ln noise and
// the mean (Rasmussen and Williams 2006, Eq. 2.30 and 5.9). It fails with
// ErrData, kernel.ErrUnknown, kernel.ErrHyperparameter, ErrHyper or
// ErrNotPositiveDefinite.
func LogMarginal(data Data, kernelName string, h Hyper, grad []float64) (float64, error) {
	if err := data.validate(); err != nil {
		return 0, err
	}
	d := len(data.X[0])
	if _, err := h.kernel(kernelName, d); err != nil {
		return 0, err
	}
	family, err := kernel.ParseFamily(kernelName)
	if err != nil {
		return 0, err
	}
	l := newLikelihood(merge(data), family)
	if grad == nil {
		v, _, err := l.eval(context.Background(), h, false, nil)
		return v, err
	}
	if len(grad) != d+3 {
		panic("gp: the gradient has d+3 entries")
	}
	g := gradient{lengthscales: grad[:d]}
	v, _, err := l.eval(context.Background(), h, false, &g)
	grad[d] = g.outputScale
	grad[d+1] = g.noise
	grad[d+2] = g.mean
	return v, err
}
