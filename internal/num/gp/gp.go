package gp

import (
	"context"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"

	"github.com/campaignd/campaignd/internal/num/kernel"
)

// GP is the posterior of a Gaussian process given data and hyperparameters.
// Reading it from several goroutines is safe as long as none appends.
type GP struct {
	data   Data // every observation as it was given, for Canonical
	kernel kernel.Kernel
	hyper  Hyper
	jitter float64

	rows
	// The posterior is μ(x) = m + k(x, basis)·alpha and cov(x, x') = k(x, x') −
	// k(x, basis) BᵀB k(basis, x') with B = inverse, lower triangular with the
	// row stride below, zero above the diagonal. Keeping B makes a prediction
	// one pass over its rows.
	basis   [][]float64
	inverse []float64
	alpha   []float64
	stride  int
	// Where the posterior is exact, the basis are the rows. With K their
	// covariance, noise and jitter included, factor is L of K = LLᵀ, B is
	// L⁻¹, z = L⁻¹(y − m) and alpha = K⁻¹(y − m): the variance k(x,x) − ‖L⁻¹k‖² is
	// then free of the cancellation that K⁻¹ would bring.
	factor []float64
	z      []float64
	// sparse replaces factor and z in an approximate posterior; nil in an exact one.
	sparse  *sparse
	negated bool // see Negated
}

// New returns the posterior in its canonical form: equal points merged, the
// factor computed afresh. It is exact for up to [Exactly] distinct points and
// approximate beyond. The data's points are kept, not copied, and must not
// change. It fails with ErrData, ErrHyper, kernel.ErrUnknown,
// kernel.ErrHyperparameter or ErrNotPositiveDefinite.
func New(data Data, kernelName string, h Hyper) (*GP, error) {
	return NewContext(context.Background(), data, kernelName, h)
}

// NewContext is New, or fails with the error of a context that is done.
func NewContext(ctx context.Context, data Data, kernelName string, h Hyper) (*GP, error) {
	if err := data.validate(); err != nil {
		return nil, err
	}
	k, err := h.kernel(kernelName, len(data.X[0]))
	if err != nil {
		return nil, err
	}
	return build(ctx, data, k, h, Exactly, Exactly)
}

// NewWithKernel is NewContext for any kernel of package kernel, with what Hyper
// holds besides: the noise variance of an observation whose noise is not known,
// and the prior mean. It has no [GP.Path] and no [GP.Marginal], unless the kernel
// is one that kernel.New returns.
func NewWithKernel(ctx context.Context, data Data, k kernel.Kernel, noise, mean float64) (*GP, error) {
	if err := data.validate(); err != nil {
		return nil, err
	}
	if d := len(data.X[0]); d != k.Dim() {
		panic(fmt.Sprintf("gp: points have %d coordinates, the kernel %d dimensions", d, k.Dim()))
	}
	h := Hyper{OutputScale: k.OutputScale(), Noise: noise, Mean: mean}
	if err := h.validate(); err != nil {
		return nil, err
	}
	return build(ctx, data, k, h, Exactly, Exactly)
}

// build returns the posterior: exact for at most so many rows, else with at
// most so many inducing points.
func build(ctx context.Context, data Data, k kernel.Kernel, h Hyper, rows, inducing int) (*GP, error) {
	h.Lengthscales = k.Lengthscales()
	g := &GP{data: data, kernel: k, hyper: h, rows: merge(data)}
	n := len(g.x)
	if n > rows {
		if err := g.approximate(ctx, inducing); err != nil {
			return nil, err
		}
		return g, nil
	}
	g.basis, g.stride = g.x, n
	g.factor, g.inverse = make([]float64, n*n), make([]float64, n*n)
	k.Gram(g.inverse, g.x)
	for i := range n {
		g.inverse[i*n+i] += g.noise(i, h.Noise)
	}
	var err error
	if g.jitter, err = cholesky(ctx, g.factor, g.inverse, n, n, h.OutputScale); err != nil {
		return nil, err
	}
	copy(g.inverse, g.factor) // clears the upper triangle too
	if err := (triangle{n, n, g.inverse}).trtri(ctx); err != nil {
		return nil, err
	}

	g.z, g.alpha = make([]float64, n), make([]float64, n)
	for i, y := range g.y {
		g.z[i] = y - h.Mean
	}
	blas64.Trsv(blas.NoTrans, lower(g.factor, n, n), vector(g.z))
	copy(g.alpha, g.z)
	blas64.Trsv(blas.Trans, lower(g.factor, n, n), vector(g.alpha))
	return g, nil
}

// Canonical returns the posterior that New builds for all observations,
// appended ones included. Decisions are made from this form: it has the same
// bits wherever the same data are replayed on the same platform.
func (g *GP) Canonical() (*GP, error) {
	if !g.negated {
		return g.of(context.Background(), g.data)
	}
	as := g.Negated()
	out, err := as.of(context.Background(), as.data)
	if err != nil {
		return nil, err
	}
	return out.Negated(), nil
}

// of returns the posterior of other data in its canonical form.
func (g *GP) of(ctx context.Context, data Data) (*GP, error) {
	if err := data.validate(); err != nil {
		return nil, err
	}
	return build(ctx, data, g.kernel, g.hyper, Exactly, Exactly)
}

// With returns the posterior with further observations whose noise is not
// known: the one that New builds for all, or where this one is approximate,
// this one with them appended, in O(m²) for each. The points are kept.
func (g *GP) With(ctx context.Context, x [][]float64, y []float64) (*GP, error) {
	if g.sparse == nil {
		d := Data{X: slices.Concat(g.data.X, x), Y: slices.Concat(g.data.Y, y),
			NoiseVar: slices.Clone(g.data.NoiseVar)}
		for range x {
			if d.NoiseVar != nil {
				d.NoiseVar = append(d.NoiseVar, math.NaN())
			}
		}
		return g.of(ctx, d)
	}
	out := g.apart()
	approximation := *g.sparse
	out.sparse = &approximation
	out.alpha = slices.Clone(g.alpha)
	out.move(len(g.basis) + len(x))
	for i := range x {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if err := out.Append(x[i], y[i], math.NaN()); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// apart returns a copy that grows without writing into memory of this one, but
// for matrices and alpha.
func (g *GP) apart() *GP {
	out := *g
	out.basis = slices.Clip(g.basis)
	out.rows.x = slices.Clip(g.rows.x)
	out.rows.y = slices.Clip(g.rows.y)
	out.count, out.known = slices.Clip(g.count), slices.Clip(g.known)
	return &out
}

// Negated returns the posterior of −f given the negated observations. Its
// inducing points, where it has some, are those of f: great values are the ones
// preferred then.
func (g *GP) Negated() *GP {
	out := g.apart()
	if g.stride > len(g.basis) {
		out.move(len(g.basis)) // both would append into the room that is left
	}
	negated := func(v []float64) []float64 {
		n := make([]float64, len(v))
		for i, y := range v {
			n[i] = -y
		}
		return n
	}
	out.data.Y = negated(g.data.Y)
	out.rows.y = negated(g.rows.y)
	out.alpha = negated(g.alpha)
	out.z = negated(g.z)
	out.hyper.Mean, out.negated = -g.hyper.Mean, !g.negated
	return out
}

// Append adds one observation at fixed hyperparameters in O(n²); x is kept, not copied. noiseVar is
// its known noise variance, or NaN. A point seen before becomes a further row; the posterior is the
// same as if it were merged. Even where the posterior is approximate, an appended observation
// enters exactly, with f at x as a further inducing point. It fails with ErrData, or with
// ErrNotPositiveDefinite, where Canonical may still succeed (it can add jitter); the posterior is
// then unchanged.
func (g *GP) Append(x []float64, y, noiseVar float64) error {
	one := Data{X: [][]float64{x}, Y: []float64{y}, NoiseVar: []float64{noiseVar}}
	if len(x) != g.kernel.Dim() {
		panic(fmt.Sprintf("gp: point has %d coordinates, the model %d dimensions",
			len(x), g.kernel.Dim()))
	}
	if err := one.validate(); err != nil {
		return err
	}
	n := len(g.basis)
	g.grow(n + 1)
	var l []float64
	if g.sparse == nil {
		l = g.factor[n*g.stride : n*g.stride+n]
	} else {
		l = make([]float64, n)
	}
	inv := g.inverse[n*g.stride : n*g.stride+n+1]

	// L gains the row (lᵀ, λ) with l = L⁻¹k(X, x), λ² = k(x,x) + v − ‖l‖²; L⁻¹
	// gains (−lᵀL⁻¹, 1)/λ. With B for L⁻¹ that conditions any posterior of this
	// form.
	below := lower(g.inverse, n, g.stride)
	g.kernel.Cross(l, g.basis, x)
	expected := 0.0
	if g.sparse != nil {
		expected = dot(l, g.alpha)
	}
	blas64.Trmv(blas.NoTrans, below, vector(l))
	copy(inv, l)
	blas64.Trmv(blas.Trans, below, vector(inv[:n]))
	v := one.known(0)
	if v == 0 {
		v = g.hyper.Noise
	}
	if g.sparse == nil {
		expected = dot(l, g.z)
	}
	lambda := math.Sqrt(g.kernel.Diag(x, nil) + v + g.jitter - dot(l, l))
	if !(lambda > 0) {
		return fmt.Errorf("%w: appending point %d", ErrNotPositiveDefinite, n)
	}
	blas64.Scal(-1/lambda, vector(inv[:n]))
	inv[n] = 1 / lambda

	zn := (y - g.hyper.Mean - expected) / lambda
	axpy(g.alpha, zn, inv[:n])
	g.alpha = append(g.alpha, zn/lambda)
	if g.sparse == nil {
		g.factor[n*g.stride+n] = lambda
		g.z = append(g.z, zn)
	} else {
		g.sparse.logMarginal -= 0.5*(zn*zn+math.Log(2*math.Pi)) + math.Log(lambda)
	}
	g.basis = append(g.basis, x)
	g.x, g.y = append(g.x, x), append(g.y, y)
	g.count, g.known = append(g.count, 1), append(g.known, one.known(0))

	if g.data.NoiseVar == nil && !math.IsNaN(noiseVar) {
		g.data.NoiseVar = make([]float64, len(g.data.X))
		for t := range g.data.NoiseVar {
			g.data.NoiseVar[t] = math.NaN()
		}
	}
	// Full slice expressions keep append from writing into memory of the caller
	// of New.
	d := &g.data
	if d.NoiseVar != nil {
		d.NoiseVar = append(d.NoiseVar[:len(d.NoiseVar):len(d.NoiseVar)], noiseVar)
	}
	d.X, d.Y = append(d.X[:len(d.X):len(d.X)], x), append(d.Y[:len(d.Y):len(d.Y)], y)
	return nil
}

// grow makes room for n rows, half as many again where it has to move.
func (g *GP) grow(n int) {
	if n <= g.stride {
		return
	}
	g.move(n + n/2 + 8)
}

// move moves the matrices to memory with room for so many rows.
func (g *GP) move(stride int) {
	for _, m := range []*[]float64{&g.factor, &g.inverse} {
		if *m == nil {
			continue
		}
		moved := make([]float64, stride*stride)
		for i := range g.basis {
			copy(moved[i*stride:i*stride+i+1], (*m)[i*g.stride:i*g.stride+i+1])
		}
		*m = moved
	}
	g.stride = stride
}

// Hyper returns the hyperparameters.
func (g *GP) Hyper() Hyper {
	h := g.hyper
	h.Lengthscales = g.kernel.Lengthscales()
	return h
}

// Kernel returns the kernel.
func (g *GP) Kernel() kernel.Kernel { return g.kernel }

// Dim returns the number of input dimensions.
func (g *GP) Dim() int { return g.kernel.Dim() }

// Len returns the number of rows: distinct points, plus appended ones.
func (g *GP) Len() int { return len(g.x) }

// Inducing returns the number of inducing points of an approximate posterior; 0
// for an exact one.
func (g *GP) Inducing() int {
	if g.sparse == nil {
		return 0
	}
	return g.sparse.m
}

// Jitter returns the addition to the covariance matrix's diagonal, mostly 0.
func (g *GP) Jitter() float64 { return g.jitter }

// LogMarginal returns the log marginal likelihood of all observations (as the
// function of that name; with jitter, where there is some, counted as noise).
// That of an approximate posterior is of the approximation.
func (g *GP) LogMarginal() float64 {
	if g.sparse != nil {
		return g.sparse.logMarginal
	}
	n := len(g.x)
	v, _ := g.within(g.hyper.Noise)
	v -= 0.5*dot(g.z, g.z) + 0.5*float64(n)*math.Log(2*math.Pi)
	for i := range n {
		v -= math.Log(g.factor[i*g.stride+i])
	}
	return v
}
