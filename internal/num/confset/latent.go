package confset

import (
	"slices"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"

	"github.com/campaignd/campaignd/internal/num/kernel"
)

// gram returns the n×n covariance matrix of the latent values, with the jitter.
func (l *likelihood) gram(k kernel.Kernel, jitter float64) []float64 {
	m, n := len(l.points), l.size()
	full := make([]float64, m*m)
	k.Gram(full, l.points)
	for i := range m {
		full[i*m+i] += jitter
	}
	if m == n {
		return full
	}
	// Subtract the references' rows, then their columns.
	for i, b := range l.base {
		if b >= 0 {
			floats.Sub(full[i*m:(i+1)*m], full[b*m:(b+1)*m])
		}
	}
	gram := make([]float64, n*n)
	for i := range n {
		row := full[i*m : (i+1)*m]
		for j, b := range l.base {
			gram[i*n+j] = row[j]
			if b >= 0 {
				gram[i*n+j] -= row[b]
			}
		}
	}
	return gram
}

// differences turns values at all points, of width numbers each, into those of
// the latent values, in place.
func (l *likelihood) differences(x []float64, width int) {
	if len(l.points) == l.size() {
		return
	}
	for i, b := range l.base {
		if b >= 0 {
			floats.Sub(x[i*width:(i+1)*width], x[b*width:(b+1)*width])
		}
	}
}

// beliefAtPoints returns the fit's values at all points, also where only
// differences are latent values: those of the belief of least norm.
func (l *likelihood) beliefAtPoints(
	fit mleFit, gram []float64, k kernel.Kernel, jitter float64,
) ([]float64, error) {
	n := l.size()
	at := slices.Concat(fit.z, make([]float64, len(l.points)-n))
	if len(at) == n {
		return at, nil
	}
	beta := slices.Clone(fit.z) // the belief is Σ beta_i·cov(z_i, ·)
	if fit.multiplier > 1/steepest {
		floats.ScaleTo(beta, 1/fit.multiplier, fit.grad)
	} else {
		root, err := cholesky(gram, n)
		if err != nil {
			return nil, err
		}
		blas64.Trsv(blas.NoTrans, lower(root, n), vector(beta))
		blas64.Trsv(blas.Trans, lower(root, n), vector(beta))
	}
	cov := make([]float64, len(l.points))
	for r := n; r < len(at); r++ {
		k.Cross(cov, l.points, l.points[r])
		cov[r] += jitter
		l.differences(cov, 1)
		at[r] = floats.Dot(beta, cov[:n])
	}
	for i, b := range l.base {
		if b >= 0 {
			at[i] += at[b]
		}
	}
	return at, nil
}

// index returns, for each of xs, which of the distinct points it is.
func (l *likelihood) index(xs [][]float64) []int {
	at := make([]int, len(xs))
	for i, x := range xs {
		at[i] = slices.IndexFunc(l.points, func(p []float64) bool { return slices.Equal(p, x) })
	}
	return at
}

func vector(x []float64) blas64.Vector { return blas64.Vector{N: len(x), Inc: 1, Data: x} }

// lower is the n×n lower triangular matrix in data.
func lower(data []float64, n int) blas64.Triangular {
	return blas64.Triangular{N: n, Stride: n, Data: data, Uplo: blas.Lower, Diag: blas.NonUnit}
}
