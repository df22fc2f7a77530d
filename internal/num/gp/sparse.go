package gp

import (
	"cmp"
	"context"
	"math"
	"slices"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
)

// Of more than Exactly rows the posterior is an approximation: the fully
// independent training conditional, FITC (Snelson and Ghahramani 2006;
// Quiñonero-Candela and Rasmussen 2005, §6). f at a row is taken to be its
// projection on f at m of the rows, the inducing points Z, and an error that is
// independent from row to row, with the variance that the projection leaves.
// With
//
//	Q = K_nm K_mm⁻¹ K_mn,   D = noise + diag(K − Q),   Σ = K_mm + K_mn D⁻¹ K_nm,
//
// the posterior is
//
//	μ(x) = m + k(x,Z) Σ⁻¹ K_mn D⁻¹ (y − m),   cov(x, x') = k(x,x') − k(x,Z) (K_mm⁻¹ − Σ⁻¹) k(Z,x'),
//
// in O(n·m²) once and O(m²) for each prediction. Away from the inducing points
// it is the prior; with all rows as inducing points it is the exact one.
// docs/methods.md says what it costs.
const (
	// Exactly is the greatest number of rows of an exact posterior, and of
	// inducing points of another.
	Exactly = 1000
	// preference is the κ of pivot.
	preference = 4
	// leastPivot is the variance, relative to the prior's, of a row that the
	// inducing points determine.
	leastPivot = 1e-9
)

// sparse holds the further parts of an approximate posterior. Its basis are the inducing points,
// and then the appended ones.
type sparse struct {
	n, m        int       // rows and inducing points
	low         []float64 // L⁻¹ of K_mm = LLᵀ, m×m, lower triangular
	factor      []float64 // that of A = I + V D⁻¹ Vᵀ, V = L⁻¹K_mn, so that Σ = L A Lᵀ
	variance    []float64 // D
	logMarginal float64   // of the approximation
}

// pivot chooses at most m inducing points among the rows. Each is the row i with the greatest
// product of its variance given those before and e^(−κr_i), the first of equals; r_i is the share
// of the rows with smaller values. That is the greedy choice by conditional variance (Burt,
// Rasmussen and van der Wilk 2020, §4), with a preference for small values: where the best ones
// are, the posterior has to be right (Moss, Ober and Picheny 2023).
//
// The choice is a pivoted Cholesky factorization of K; its results are V, row by row, m×n, and the
// variance of each row that the inducing points leave.
func (g *GP) pivot(ctx context.Context, m int) (pivots []int, v, rest []float64, err error) {
	n := len(g.x)
	v, rest = make([]float64, m*n), make([]float64, n)
	for i, x := range g.x {
		rest[i] = g.kernel.Diag(x, nil)
	}
	weight, column := g.weights(), make([]float64, m)
	for j := range m {
		if ctx.Err() != nil {
			return nil, nil, nil, context.Cause(ctx)
		}
		p := 0
		for i, r := range rest {
			if r*weight[i] > rest[p]*weight[p] {
				p = i
			}
		}
		if rest[p] <= leastPivot*g.hyper.OutputScale {
			break
		}
		row := v[j*n : j*n+n]
		g.kernel.Cross(row, g.x, g.x[p])
		if j > 0 {
			for a := range j {
				column[a] = v[a*n+p]
			}
			above := blas64.General{Rows: j, Cols: n, Stride: n, Data: v}
			blas64.Gemv(blas.Trans, -1, above, vector(column[:j]), 1, vector(row))
		}
		root := math.Sqrt(rest[p])
		for i, r := range row {
			r /= root
			row[i], rest[i] = r, rest[i]-r*r
			if rest[i] <= leastPivot*g.hyper.OutputScale {
				rest[i] = 0
			}
		}
		row[p], rest[p] = root, 0
		for _, q := range pivots { // 0 but for rounding
			row[q] = 0
		}
		pivots = append(pivots, p)
	}
	return pivots, v[:len(pivots)*n], rest, nil
}

// weights returns e^(−κr_i) of each row.
func (g *GP) weights() []float64 {
	n := len(g.y)
	order, weight := make([]int, n), make([]float64, n)
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(g.y[a], g.y[b]) })
	smaller := 0
	for r, i := range order {
		if r > 0 && g.y[i] != g.y[order[r-1]] {
			smaller = r
		}
		weight[i] = math.Exp(-preference * float64(smaller) / float64(n))
	}
	return weight
}

// approximate makes the posterior of g, whose rows are there, with at most so
// many inducing points.
func (g *GP) approximate(ctx context.Context, inducing int) error {
	n, h := len(g.x), g.hyper
	pivots, v, variance, err := g.pivot(ctx, inducing)
	if err != nil {
		return err
	}
	m := len(pivots)
	s := &sparse{n: n, m: m, low: make([]float64, m*m), factor: make([]float64, m*m),
		variance: variance}
	g.sparse, g.stride = s, m
	g.basis = make([][]float64, m)
	for a, p := range pivots {
		g.basis[a] = g.x[p]
		for b := range a + 1 {
			s.low[a*m+b] = v[b*n+p]
		}
	}
	if err := (triangle{m, m, s.low}).trtri(ctx); err != nil {
		return err
	}

	// V becomes V D^−½, and A the identity plus its square.
	s.logMarginal, _ = g.within(h.Noise)
	s.logMarginal -= 0.5 * float64(n) * math.Log(2*math.Pi)
	scale, residual := make([]float64, n), make([]float64, n)
	for i, y := range g.y {
		variance[i] += g.noise(i, h.Noise)
		scale[i] = 1 / math.Sqrt(variance[i])
		residual[i] = (y - h.Mean) * scale[i]
		s.logMarginal -= 0.5 * (math.Log(variance[i]) + residual[i]*residual[i])
	}
	for a := range m {
		row := v[a*n : a*n+n]
		for i, c := range scale {
			row[i] *= c
		}
	}
	inner := make([]float64, m*m)
	for a := range m {
		inner[a*m+a] = 1
	}
	for i := 0; i < n; i += wide {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		part := blas64.General{Rows: m, Cols: min(wide, n-i), Stride: n, Data: v[i:]}
		blas64.Syrk(blas.NoTrans, 1, part, 1,
			blas64.Symmetric{Uplo: blas.Lower, N: m, Stride: m, Data: inner})
	}
	if _, err := cholesky(ctx, s.factor, inner, m, m, 1); err != nil {
		return err
	}

	// α = Σ⁻¹ K_mn D⁻¹ (y − m) = L⁻ᵀ A⁻¹ V D⁻¹ (y − m); half of it makes the
	// likelihood.
	g.alpha = make([]float64, m)
	blas64.Gemv(blas.NoTrans, 1, blas64.General{Rows: m, Cols: n, Stride: n, Data: v},
		vector(residual), 0, vector(g.alpha))
	blas64.Trsv(blas.NoTrans, lower(s.factor, m, m), vector(g.alpha))
	s.logMarginal += 0.5 * dot(g.alpha, g.alpha)
	for a := range m {
		s.logMarginal -= math.Log(s.factor[a*m+a])
	}
	blas64.Trsv(blas.Trans, lower(s.factor, m, m), vector(g.alpha))
	blas64.Trmv(blas.Trans, lower(s.low, m, m), vector(g.alpha))
	return g.reduce(ctx, inner)
}

// wide is how many columns of V are multiplied at a time: a part that stays in
// the cache.
const wide = 256

// reduce makes the lower triangular B of BᵀB = K_mm⁻¹ − Σ⁻¹ = L⁻ᵀ (I − A⁻¹)
// L⁻¹. work is m×m.
func (g *GP) reduce(ctx context.Context, work []float64) error {
	s, m := g.sparse, g.sparse.m
	copy(work, s.factor)
	if err := (triangle{m, m, work}).potri(ctx); err != nil {
		return err
	}
	// I − A⁻¹ = CᵀC, C lower triangular: a Cholesky factor from the last row to
	// the first.
	reversed, c := make([]float64, m*m), make([]float64, m*m)
	at := func(a, b int) int { return (m-1-b)*m + m - 1 - a }
	for a := range m {
		for b := range a + 1 {
			reversed[at(a, b)] = -work[a*m+b]
		}
		reversed[at(a, a)]++
	}
	if _, err := cholesky(ctx, c, reversed, m, m, 1); err != nil {
		return err
	}
	clear(work)
	for a := range m {
		for b := range a + 1 {
			work[a*m+b] = c[at(a, b)]
		}
	}
	g.inverse = slices.Clone(s.low)
	blas64.Trmm(blas.Left, blas.NoTrans, 1, lower(work, m, m),
		blas64.General{Rows: m, Cols: m, Stride: m, Data: g.inverse})
	return nil
}

// leaveOneOut is LeaveOneOutOf of an approximate posterior. With r = y − m and
// the covariance
// C = VᵀV + D of the rows, C⁻¹r = (r − K_nm α)/D and C⁻¹ = D⁻¹ − D⁻¹ Vᵀ A⁻¹ V D⁻¹.
func (g *GP) leaveOneOut(rows []int) (y, mean, sd []float64) {
	s := g.sparse
	g.eachProjected(rows, func(i int, k, v []float64) {
		d, r := s.variance[i], g.y[i]-g.hyper.Mean-dot(k, g.alpha[:s.m])
		blas64.Trsv(blas.NoTrans, lower(s.factor, s.m, s.m), vector(v))
		precision := (1 - dot(v, v)/d) / d
		y = append(y, g.y[i])
		mean = append(mean, g.y[i]-r/d/precision)
		sd = append(sd, 1/math.Sqrt(precision))
	})
	return y, mean, sd
}

// eachProjected calls do with the k(Z, x_i) and the column of V of some rows, which it
// may overwrite.
func (g *GP) eachProjected(rows []int, do func(i int, k, v []float64)) {
	s := g.sparse
	k, v := make([]float64, s.m), make([]float64, s.m)
	for _, i := range rows {
		g.kernel.Cross(k, g.basis[:s.m], g.x[i])
		copy(v, k)
		blas64.Trmv(blas.NoTrans, lower(s.low, s.m, s.m), vector(v))
		do(i, k, v)
	}
}

// informationGain is InformationGain with Q for K, which is a lower bound.
func (g *GP) informationGain(r float64) (float64, error) {
	m := g.sparse.m
	a, f := make([]float64, m*m), make([]float64, m*m)
	for j := range m {
		a[j*m+j] = 1
	}
	g.eachProjected(upTo(g.sparse.n), func(i int, _, v []float64) {
		blas64.Syr(g.count[i]/r, vector(v), blas64.Symmetric{Uplo: blas.Lower, N: m, Stride: m, Data: a})
	})
	if _, err := cholesky(context.Background(), f, a, m, m, 1); err != nil {
		return 0, err
	}
	var gamma float64
	for j := range m {
		gamma += math.Log(f[j*m+j])
	}
	return gamma, nil
}

// draw returns the weights of k(basis, x) that make a draw of the prior one of
// the posterior (Wilson et al. 2020, Eq. 12): first those of the rows, whose
// errors of projection are drawn like their noise, then those of each appended
// one.
func (g *GP) draw(prior func(x []float64) float64, normal func() float64) []float64 {
	s := g.sparse
	weight := make([]float64, len(g.basis))
	inducing := make([]float64, s.m) // L⁻ᵀL⁻¹ of the prior's draw
	for a, z := range g.basis[:s.m] {
		inducing[a] = prior(z)
	}
	low := lower(s.low, s.m, s.m)
	blas64.Trmv(blas.NoTrans, low, vector(inducing))
	blas64.Trmv(blas.Trans, low, vector(inducing))
	w, k := weight[:s.m], make([]float64, len(g.basis))
	for i, x := range g.x[:s.n] {
		g.kernel.Cross(k[:s.m], g.basis[:s.m], x)
		r := g.y[i] - g.hyper.Mean - dot(k[:s.m], inducing) - math.Sqrt(s.variance[i])*normal()
		axpy(w, r/s.variance[i], k[:s.m])
	}
	blas64.Trmv(blas.NoTrans, low, vector(w))
	factor := lower(s.factor, s.m, s.m)
	blas64.Trsv(blas.NoTrans, factor, vector(w))
	blas64.Trsv(blas.Trans, factor, vector(w))
	blas64.Trmv(blas.Trans, low, vector(w))

	for b := s.m; b < len(g.basis); b++ {
		i := s.n + b - s.m
		g.kernel.Cross(k[:b], g.basis[:b], g.basis[b])
		noise := math.Sqrt(g.noise(i, g.hyper.Noise)) * normal()
		r := g.y[i] - g.hyper.Mean - prior(g.basis[b]) - dot(k[:b], weight[:b]) - noise
		row := g.inverse[b*g.stride : b*g.stride+b+1]
		axpy(weight[:b+1], r*row[b], row)
	}
	return weight
}
