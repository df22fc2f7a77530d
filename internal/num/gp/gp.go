package gp

import (
	"context"
	"fmt"
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"

	"github.com/campaignd/campaignd/internal/num/kernel"
)

// GP is the posterior of a Gaussian process given data and hyperparameters. Reading it from several
// goroutines is safe as long as none appends.
type GP struct {
	data   Data // every observation as it was given, for Canonical
	kernel kernel.Kernel
	hyper  Hyper
	jitter float64

	rows
	// With K the covariance of the rows, noise and jitter included: factor is L of K = LLᵀ, inverse
	// is L⁻¹, both lower triangular with the row stride below, zero above the diagonal. Keeping L⁻¹
	// makes a prediction one pass over its rows, and the variance k(x,x) − ‖L⁻¹k‖² free of the
	// cancellation that K⁻¹ would bring.
	factor, inverse []float64
	stride          int
	z, alpha        []float64 // L⁻¹(y − m), K⁻¹(y − m)
}

// New returns the posterior in its canonical form: equal points merged, the factor computed afresh.
// The data's points are kept, not copied, and must not change. It fails with ErrData, ErrHyper,
// kernel.ErrUnknown, kernel.ErrHyperparameter or ErrNotPositiveDefinite.
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
	h.Lengthscales = k.Lengthscales()
	g := &GP{data: data, kernel: k, hyper: h, rows: merge(data)}
	n := len(g.x)
	g.stride = n
	g.factor, g.inverse = make([]float64, n*n), make([]float64, n*n)
	k.Gram(g.inverse, g.x)
	for i := range n {
		g.inverse[i*n+i] += g.noise(i, h.Noise)
	}
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

// Canonical returns the posterior that New builds for all observations, appended ones included.
// Decisions are made from this form: it has the same bits wherever the same data are replayed on
// the same platform.
func (g *GP) Canonical() (*GP, error) { return New(g.data, g.kernel.Name(), g.hyper) }

// Append adds one observation at fixed hyperparameters in O(n²); x is kept, not copied. noiseVar is
// its known noise variance, or NaN. A point seen before becomes a further row; the posterior is the
// same as if it were merged. It fails with ErrData, or with ErrNotPositiveDefinite, where Canonical
// may still succeed (it can add jitter); the posterior is then unchanged.
func (g *GP) Append(x []float64, y, noiseVar float64) error {
	one := Data{X: [][]float64{x}, Y: []float64{y}, NoiseVar: []float64{noiseVar}}
	if len(x) != g.kernel.Dim() {
		panic(fmt.Sprintf("gp: point has %d coordinates, the model %d dimensions", len(x), g.kernel.Dim()))
	}
	if err := one.validate(); err != nil {
		return err
	}
	n := len(g.x)
	g.grow(n + 1)
	l := g.factor[n*g.stride : n*g.stride+n]
	inv := g.inverse[n*g.stride : n*g.stride+n+1]

	// L gains the row (lᵀ, λ) with l = L⁻¹k(X, x), λ² = k(x,x) + v − ‖l‖²; L⁻¹ gains (−lᵀL⁻¹, 1)/λ.
	below := lower(g.inverse, n, g.stride)
	g.kernel.Cross(l, g.x, x)
	blas64.Trmv(blas.NoTrans, below, vector(l))
	copy(inv, l)
	blas64.Trmv(blas.Trans, below, vector(inv[:n]))
	v := one.known(0)
	if v == 0 {
		v = g.hyper.Noise
	}
	lambda := math.Sqrt(g.hyper.OutputScale + v + g.jitter - dot(l, l))
	if !(lambda > 0) {
		return fmt.Errorf("%w: appending point %d", ErrNotPositiveDefinite, n)
	}
	g.factor[n*g.stride+n] = lambda
	blas64.Scal(-1/lambda, vector(inv[:n]))
	inv[n] = 1 / lambda

	zn := (y - g.hyper.Mean - dot(l, g.z)) / lambda
	axpy(g.alpha, zn, inv[:n])
	g.alpha = append(g.alpha, zn/lambda)
	g.z = append(g.z, zn)

	g.x, g.y = append(g.x, x), append(g.y, y)
	g.count, g.known = append(g.count, 1), append(g.known, one.known(0))

	if g.data.NoiseVar == nil && !math.IsNaN(noiseVar) {
		g.data.NoiseVar = make([]float64, len(g.data.X))
		for t := range g.data.NoiseVar {
			g.data.NoiseVar[t] = math.NaN()
		}
	}
	// Full slice expressions keep append from writing into memory of the caller of New.
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
	stride := n + n/2 + 8
	for _, m := range []*[]float64{&g.factor, &g.inverse} {
		moved := make([]float64, stride*stride)
		for i := range g.x {
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

// Jitter returns what was added to the covariance matrix's diagonal, mostly 0.
func (g *GP) Jitter() float64 { return g.jitter }

// LogMarginal returns the log marginal likelihood of all observations (as the function of that
// name; with jitter, where there is some, counted as noise).
func (g *GP) LogMarginal() float64 {
	n := len(g.x)
	v, _ := g.within(g.hyper.Noise)
	v -= 0.5*dot(g.z, g.z) + 0.5*float64(n)*math.Log(2*math.Pi)
	for i := range n {
		v -= math.Log(g.factor[i*g.stride+i])
	}
	return v
}
