package gp

import (
	"context"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
)

// Joint is the posterior of f at several points together, a multivariate normal
// distribution.
type Joint struct {
	Mean   []float64 // m values
	Cov    []float64 // m×m row-major, symmetric
	Jitter float64   // added to Cov's diagonal for sampling; 0 before the first Sample

	factor []float64
}

// Joint returns the posterior of f at the points X, noise not included
// (Rasmussen and Williams 2006, Eq. 2.23, 2.24). That at no points is empty.
func (g *GP) Joint(X [][]float64) *Joint {
	m, n := len(X), len(g.basis)
	j := &Joint{Mean: make([]float64, m), Cov: make([]float64, m*m)}
	if m == 0 {
		return j // BLAS takes no matrix without rows
	}
	g.kernel.Gram(j.Cov, X)
	// Row a of v is k(X_a, data)·L⁻ᵀ, so that the covariance is Gram − v vᵀ.
	v := make([]float64, m*n)
	for a, x := range X {
		row := v[a*n : a*n+n]
		g.kernel.Cross(row, g.basis, x)
		j.Mean[a] = g.hyper.Mean + dot(g.alpha, row)
	}
	blas64.Trmm(blas.Right, blas.Trans, 1, lower(g.inverse, n, g.stride),
		blas64.General{Rows: m, Cols: n, Stride: n, Data: v})
	blas64.Syrk(blas.NoTrans, -1, blas64.General{Rows: m, Cols: n, Stride: n, Data: v}, 1,
		blas64.Symmetric{Uplo: blas.Lower, N: m, Stride: m, Data: j.Cov})
	for a := range m {
		for b := range a {
			j.Cov[b*m+a] = j.Cov[a*m+b]
		}
	}
	return j
}

// Average returns the posterior mean and standard deviation of the average of f
// over the points X, at least one, noise not included: with k̄ the average of
// k(X_a, data) and k̿ that of k(X_a, X_b),
//
//	μ = m + k̄ᵀα,   σ² = k̿ − ‖L⁻¹k̄‖².
//
// together is k̿, for a caller who knows it; NaN where it is to be computed.
func (g *GP) Average(X [][]float64, together float64) (mean, sd float64) {
	n, share := len(g.basis), 1/float64(len(X))
	row, average := make([]float64, n), make([]float64, n)
	for _, x := range X {
		g.kernel.Cross(row, g.basis, x)
		blas64.Axpy(share, vector(row), vector(average))
	}
	mean = g.hyper.Mean + dot(g.alpha, average)
	if math.IsNaN(together) {
		together = 0
		row = make([]float64, len(X))
		for _, x := range X {
			g.kernel.Cross(row, X, x)
			for _, k := range row {
				together += k * share * share
			}
		}
	}
	blas64.Trmv(blas.NoTrans, lower(g.inverse, n, g.stride), vector(average))
	return mean, math.Sqrt(max(together-dot(average, average), 0))
}

// Sample fills dst, m values, with a draw from rng, which must not be nil. The
// first call factors the covariance, with jitter where it is numerically
// singular, as it is for many points close together; it fails with
// ErrNotPositiveDefinite. Equal sources give equal draws.
func (j *Joint) Sample(dst []float64, rng *rand.Rand) error {
	m := len(j.Mean)
	if len(dst) != m {
		panic("gp: a sample has one value per point")
	}
	if m == 0 {
		return nil
	}
	if err := j.factorize(); err != nil {
		return err
	}
	for a := range dst {
		dst[a] = rng.NormFloat64()
	}
	blas64.Trmv(blas.NoTrans, lower(j.factor, m, m), vector(dst))
	for a, v := range j.Mean {
		dst[a] += v
	}
	return nil
}

// factorize makes the factor of the covariance, with jitter where it is
// numerically singular.
func (j *Joint) factorize() error {
	if j.factor != nil {
		return nil
	}
	m, scale := len(j.Mean), 0.0
	for a := range m {
		scale = max(scale, j.Cov[a*m+a])
	}
	factor := make([]float64, m*m)
	jitter, err := cholesky(context.Background(), factor, j.Cov, m, m, max(scale, 1))
	if err != nil {
		return err
	}
	j.factor, j.Jitter = factor, jitter
	return nil
}
