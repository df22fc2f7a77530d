package gp

import (
	"context"
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
)

// ErrNotPositiveDefinite reports a covariance matrix that cannot be factored
// because of rounding, even with jitter: points are too close together for the
// noise variance and lengthscales. A larger noise variance or merging the
// points helps.
var ErrNotPositiveDefinite = errors.New("covariance matrix is not positive definite")

// Jitter added to the diagonal, relative to the output scale, when a
// factorization fails: first firstJitter, then ten times more, jitterTries
// times in all.
const (
	firstJitter = 1e-8
	jitterTries = 3
)

// cholesky overwrites dst, n×n with the given row stride, with the lower factor L of a = LLᵀ +
// jitter·I, reading the lower triangle of a. The upper triangle of dst is not touched. It returns
// the jitter, mostly 0, or the error of a context that is done.
func cholesky(
	ctx context.Context, dst, a []float64, n, stride int, outputScale float64,
) (jitter float64, err error) {
	for try := 0; ; try++ {
		for i := range n {
			copy(dst[i*stride:i*stride+i+1], a[i*stride:i*stride+i+1])
			dst[i*stride+i] += jitter
		}
		ok, err := triangle{n, stride, dst}.potrf(ctx)
		if err != nil {
			return 0, err
		}
		if ok {
			// A NaN does not always stop Potrf.
			if d := dst[(n-1)*stride+n-1]; !math.IsNaN(d) {
				return jitter, nil
			}
		}
		switch {
		case try == 0:
			jitter = firstJitter * outputScale
		case try < jitterTries:
			jitter *= 10
		default:
			return jitter, fmt.Errorf("%w: %d points, jitter %.0e tried", ErrNotPositiveDefinite, n, jitter)
		}
	}
}

// lower views the first n rows of data as a lower triangular matrix.
func lower(data []float64, n, stride int) blas64.Triangular {
	return blas64.Triangular{Uplo: blas.Lower, Diag: blas.NonUnit, N: n, Stride: stride, Data: data}
}

func vector(x []float64) blas64.Vector { return blas64.Vector{N: len(x), Inc: 1, Data: x} }

func dot(x, y []float64) float64 { return blas64.Dot(vector(x), vector(y)) }

func axpy(dst []float64, a float64, x []float64) { blas64.Axpy(a, vector(x), vector(dst)) }
