// Package kernel holds the covariance functions of the Gaussian processes.
//
// Those that New returns are stationary, with one lengthscale per input
// dimension (automatic relevance determination, ARD): functions of the scaled
// squared distance
//
//	s(x, y) = Σ_j (x_j − y_j)² / ℓ_j²,    k(x, y) = σ² · ρ(s),    ρ(0) = 1,
//
// with lengthscales ℓ_j > 0 and output scale σ² > 0 (a variance). The family
// gives ρ (Rasmussen and Williams 2006, Eq. 4.9 and 4.17):
//
//	rbf        ρ(s) = exp(−s/2)
//	matern52   ρ(s) = (1 + √5 r + 5 s/3) exp(−√5 r),   r = √s
//	matern32   ρ(s) = (1 + √3 r) exp(−√3 r)
//
// From ρ and its slope ρ'(s) follow all derivatives, without a singularity
// at s = 0:
//
//	∂k/∂x_j      =  2 σ² ρ'(s) (x_j − y_j) / ℓ_j²
//	∂k/∂ln ℓ_j   = −2 σ² ρ'(s) (x_j − y_j)² / ℓ_j²
//	∂k/∂ln σ²    =  k
//
// Others are made of them, and their variance k(x, x) depends on the point:
// WithLinear, and Downsampling and Coregional, whose last coordinate says where a
// value is from.
//
// Values are deterministic: a fixed order in every sum, no goroutines. Kernels
// are immutable and safe for concurrent use.
package kernel

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// Kernel is a covariance function on R^d with one lengthscale per dimension.
//
// A point is a slice of d finite numbers and X a slice of n such points; a
// slice of another length is a programmer's mistake and panics. No method
// allocates, except Lengthscales.
type Kernel interface {
	// Eval returns k(x, y).
	Eval(x, y []float64) float64
	// Diag returns k(x, x), the prior variance at x, and fills grad, if not
	// nil, with its d derivatives.
	Diag(x, grad []float64) float64
	// Gram fills dst, an n×n row-major matrix of stride n, with k(X_i, X_j),
	// both triangles. It is exactly symmetric and its diagonal is exactly that
	// of Diag.
	Gram(dst []float64, X [][]float64)
	// Cross fills dst[i] with k(X_i, x), i < n.
	Cross(dst []float64, X [][]float64, x []float64)
	// CrossGrad fills dst[i] with k(X_i, x) and grad[i*d+j] with ∂k(X_i,
	// x)/∂x_j.
	CrossGrad(dst, grad []float64, X [][]float64, x []float64)
	// Dim returns d.
	Dim() int
	// OutputScale returns σ², which all of k is proportional to. It is k(x, x)
	// of a stationary kernel.
	OutputScale() float64
	// Lengthscales returns a copy of ℓ, in the units of the points: d values of
	// a stationary kernel.
	Lengthscales() []float64
}

// Errors of New and ParseFamily; match with errors.Is.
var (
	// ErrUnknown reports the name of an unknown kernel.
	ErrUnknown = errors.New("unknown kernel")
	// ErrHyperparameter reports a lengthscale or an output scale that is not a
	// positive finite number.
	ErrHyperparameter = errors.New("bad kernel hyperparameter")
)

// New returns the kernel called name ("rbf", "matern52" or "matern32") with d =
// len(lengthscales) dimensions. The lengthscales are copied. It fails with
// ErrUnknown or ErrHyperparameter.
func New(name string, lengthscales []float64, outputScale float64) (Kernel, error) {
	f, err := ParseFamily(name)
	if err != nil {
		return nil, err
	}
	if len(lengthscales) == 0 {
		return nil, fmt.Errorf("%w: no lengthscale given, one per dimension is needed", ErrHyperparameter)
	}
	k := &ard{family: f, outputScale: outputScale, lengthscales: slices.Clone(lengthscales)}
	if !(outputScale > 0) || math.IsInf(outputScale, 1) {
		return nil, fmt.Errorf("%w: output scale %v is not a positive finite number",
			ErrHyperparameter, outputScale)
	}
	k.weights = make([]float64, len(lengthscales))
	for j, l := range lengthscales {
		w := 1 / (l * l)
		// w covers lengthscales so extreme that 1/ℓ² leaves the floating-point
		// range.
		if !(l > 0) || math.IsInf(w, 1) || w == 0 {
			return nil, fmt.Errorf("%w: lengthscale %v of dimension %d is not a positive finite number",
				ErrHyperparameter, l, j)
		}
		k.weights[j] = w
	}
	return k, nil
}

// ard is the one implementation of Kernel: a family with weights 1/ℓ_j².
type ard struct {
	family       Family
	outputScale  float64
	lengthscales []float64
	weights      []float64
}

func (k *ard) Dim() int                { return len(k.weights) }
func (k *ard) OutputScale() float64    { return k.outputScale }
func (k *ard) Lengthscales() []float64 { return slices.Clone(k.lengthscales) }

func (k *ard) Eval(x, y []float64) float64 {
	k.checkPoint(x)
	return k.outputScale * k.family.Rho(k.distance(x, y))
}

func (k *ard) Diag(x, grad []float64) float64 {
	k.checkPoint(x)
	clear(grad)
	return k.outputScale
}

func (k *ard) Gram(dst []float64, X [][]float64) { gram(k, dst, X) }

// gram is [Kernel.Gram] of a kernel that makes its rows by Cross.
func gram(k Kernel, dst []float64, X [][]float64) {
	n := len(X)
	checkLen("dst", len(dst), n*n)
	for i, x := range X {
		row := dst[i*n : i*n+i]
		k.Cross(row, X[:i], x)
		for j, v := range row {
			dst[j*n+i] = v
		}
		dst[i*n+i] = k.Diag(x, nil)
	}
}

func (k *ard) Cross(dst []float64, X [][]float64, x []float64) {
	k.checkPoint(x)
	checkLen("dst", len(dst), len(X))
	for i, xi := range X {
		dst[i] = k.distance(x, xi)
	}
	k.family.Fill(dst, dst, k.outputScale)
}

func (k *ard) CrossGrad(dst, grad []float64, X [][]float64, x []float64) {
	k.checkPoint(x)
	d := len(k.weights)
	checkLen("dst", len(dst), len(X))
	checkLen("grad", len(grad), len(X)*d)
	for i, xi := range X {
		rho, slope := k.family.RhoSlope(k.distance(x, xi))
		dst[i] = k.outputScale * rho
		c := 2 * k.outputScale * slope
		g := grad[i*d : i*d+d]
		for j, w := range k.weights {
			g[j] = c * w * (x[j] - xi[j])
		}
	}
}

// distance returns s(x, y).
func (k *ard) distance(x, y []float64) float64 {
	w := k.weights
	x, y = x[:len(w)], y[:len(w)]
	var s float64
	for j, wj := range w {
		t := x[j] - y[j]
		s += wj * t * t
	}
	return s
}

func (k *ard) checkPoint(x []float64) {
	if len(x) != len(k.weights) {
		panic(fmt.Sprintf("kernel: point has %d coordinates, the kernel %d dimensions", len(x),
			len(k.weights)))
	}
}

func checkLen(what string, got, want int) {
	if got != want {
		panic(fmt.Sprintf("kernel: len(%s) is %d, want %d", what, got, want))
	}
}
