package gp

import (
	"context"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/lapack/lapack64"
)

// The factorization of a large matrix takes seconds. Here it is done panel by
// panel, as LAPACK's own blocked algorithms do it (Golub and Van Loan 2013,
// §4.2.9), with a look at the context before each: a search can be called off
// in the middle of one evaluation. Inverses of up to direct rows, most there
// are, go by rows instead: LAPACK's unblocked ones walk along columns, which
// takes two to three times as long where matrices are stored by rows.

// direct is the greatest number of rows that are inverted row by row: a matrix
// that stays in the cache.
const direct = 512

// group is how many rows are combined in one product.
const group = 16

// panel is the width of a panel, that of gonum's Ilaenv.
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
		diagonal := blas64.Symmetric{Uplo: blas.Lower, N: width, Stride: t.stride,
			Data: t.corner(j, width).Data}
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
			blas64.Gemm(blas.NoTrans, blas.Trans, -1, t.block(j+width, 0, below, j),
				t.block(j, 0, width, j), 1, rest)
		}
		blas64.Trsm(blas.Right, blas.Trans, 1, t.corner(j, width), rest)
	}
	return true, nil
}

// trtri overwrites a lower triangular matrix, without a zero on its diagonal
// and zero above it, with its inverse.
func (t triangle) trtri(ctx context.Context) error {
	if t.n <= direct {
		return t.invert(ctx)
	}
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
		if err := (triangle{width, t.stride, t.corner(j, width).Data}).invert(ctx); err != nil {
			return err
		}
	}
	return nil
}

// invert is trtri row by row: row i of the inverse is −(row i of L, left of the
// diagonal)·(the rows of the inverse above it)/L_ii, and 1/L_ii.
func (t triangle) invert(ctx context.Context) error {
	factors := make([]float64, t.n)
	for i := range t.n {
		if i%panel == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		row := t.a[i*t.stride : i*t.stride+i+1]
		d := 1 / row[i]
		for k, v := range row[:i] {
			factors[k] = -d * v
			row[k] = 0
		}
		row[i] = d
		for k := 0; k < i; k += group {
			// the part of these rows above the diagonal is zero
			w := min(group, i-k)
			blas64.Gemv(blas.Trans, 1, t.block(k, 0, w, k+w), vector(factors[k:k+w]), 1, vector(row[:k+w]))
		}
	}
	return nil
}

// potri overwrites a Cholesky factor L, zero above its diagonal, with the lower
// triangle of (LLᵀ)⁻¹.
func (t triangle) potri(ctx context.Context) error {
	if err := t.trtri(ctx); err != nil {
		return err
	}
	if t.n <= direct {
		return t.square(ctx)
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
		if err := (triangle{width, t.stride, diagonal.Data}).square(ctx); err != nil {
			return err
		}
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

// square overwrites a lower triangular matrix L with the lower triangle of LᵀL,
// row by row.
func (t triangle) square(ctx context.Context) error {
	for i := range t.n {
		if i%panel == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		row := vector(t.a[i*t.stride : i*t.stride+i+1])
		blas64.Scal(row.Data[i], row)
		if below := t.n - i - 1; below > 0 {
			column := blas64.Vector{N: below, Inc: t.stride, Data: t.a[(i+1)*t.stride+i:]}
			blas64.Gemv(blas.Trans, 1, t.block(i+1, 0, below, i+1), column, 1, row)
		}
	}
	return nil
}
