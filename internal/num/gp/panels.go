package gp

import (
	"context"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/lapack/gonum"
	"gonum.org/v1/gonum/lapack/lapack64"
)

// The factorization of a large matrix takes seconds. Here it is done panel by
// panel, as LAPACK's own blocked algorithms do it (Golub and Van Loan 2013,
// §4.2.9), with a look at the context before each: a search can be called off in
// the middle of one evaluation. Panels are as wide as gonum's and worked on in the
// same order, so that the results are the same bits as those of Potrf, Trtri and
// Potri.

// panel is the width of a panel, that of gonum's Ilaenv for the three.
const panel = 64

// triangle views a lower triangle of panels.
type triangle struct {
	n, stride int
	a         []float64
}

// block views the rows × columns whose first element is (i, j).
func (t triangle) block(i, j, rows, columns int) blas64.General {
	return blas64.General{Rows: rows, Cols: columns, Stride: t.stride, Data: t.a[i*t.stride+j:]}
}

// corner views the lower triangle of n rows whose first element is (i, i).
func (t triangle) corner(i, n int) blas64.Triangular {
	return lower(t.a[i*t.stride+i:], n, t.stride)
}

// potrf overwrites the lower triangle of a symmetric matrix with its Cholesky
// factor. ok is false where it is not positive definite.
func (t triangle) potrf(ctx context.Context) (ok bool, err error) {
	for j := 0; j < t.n; j += panel {
		if ctx.Err() != nil {
			return false, context.Cause(ctx)
		}
		width := min(panel, t.n-j)
		below := t.n - j - width
		diagonal := blas64.Symmetric{Uplo: blas.Lower, N: width, Stride: t.stride, Data: t.corner(j, width).Data}
		if j > 0 {
			blas64.Syrk(blas.NoTrans, -1, t.block(j, 0, width, j), 1, diagonal)
		}
		if _, ok := lapack64.Potrf(diagonal); !ok {
			return false, nil
		}
		if below == 0 {
			break
		}
		rest := t.block(j+width, j, below, width)
		if j > 0 {
			blas64.Gemm(blas.NoTrans, blas.Trans, -1, t.block(j+width, 0, below, j), t.block(j, 0, width, j), 1, rest)
		}
		blas64.Trsm(blas.Right, blas.Trans, 1, t.corner(j, width), rest)
	}
	return true, nil
}

// trtri overwrites a lower triangular matrix, without a zero on its diagonal, with
// its inverse.
func (t triangle) trtri(ctx context.Context) error {
	for j := (t.n - 1) / panel * panel; j >= 0; j -= panel {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		width := min(panel, t.n-j)
		if below := t.n - j - width; below > 0 {
			rest := t.block(j+width, j, below, width)
			blas64.Trmm(blas.Left, blas.NoTrans, 1, t.corner(j+width, below), rest)
			blas64.Trsm(blas.Right, blas.NoTrans, -1, t.corner(j, width), rest)
		}
		lapack64.Trtri(t.corner(j, width))
	}
	return nil
}

// potri overwrites a Cholesky factor L with the lower triangle of (LLᵀ)⁻¹.
func (t triangle) potri(ctx context.Context) error {
	if err := t.trtri(ctx); err != nil {
		return err
	}
	for i := 0; i < t.n; i += panel {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		width := min(panel, t.n-i)
		below := t.n - i - width
		diagonal := t.corner(i, width)
		row := t.block(i, 0, width, i)
		if i > 0 {
			blas64.Trmm(blas.Left, blas.Trans, 1, diagonal, row)
		}
		gonum.Implementation{}.Dlauu2(blas.Lower, width, diagonal.Data, t.stride)
		if below == 0 {
			break
		}
		under := t.block(i+width, i, below, width)
		if i > 0 {
			blas64.Gemm(blas.Trans, blas.NoTrans, 1, under, t.block(i+width, 0, below, i), 1, row)
		}
		blas64.Syrk(blas.Trans, 1, under, 1, blas64.Symmetric{
			Uplo:   blas.Lower,
			N:      width,
			Stride: t.stride,
			Data:   diagonal.Data,
		})
	}
	return nil
}
