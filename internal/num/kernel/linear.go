package kernel

import (
	"fmt"
	"math"
)

// WithLinear returns the kernel of the sum of two independent functions: one
// with the kernel base, and one that is linear in the coordinates, through 0 at
// the origin, with independent slopes of the prior variance slope·σ², σ² the
// output scale of base,
//
//	k(x, y) = base(x, y) + slope · σ² · Σ_j x_j y_j
//
// (Rasmussen and Williams 2006, §4.2.2). Beyond the data the linear part goes on
// where a stationary one falls back to its mean. The slope is a multiple of σ²,
// so that the whole kernel is proportional to σ². A slope of 0 returns base. It
// fails with ErrHyperparameter for one that is negative or not finite.
func WithLinear(base Kernel, slope float64) (Kernel, error) {
	if !(slope >= 0) || math.IsInf(slope, 1) {
		return nil, fmt.Errorf("%w: the variance %v of slopes is not a finite number of at least 0",
			ErrHyperparameter, slope)
	}
	if slope == 0 {
		return base, nil
	}
	return &linear{Kernel: base, variance: slope * base.OutputScale()}, nil
}

// linear adds a linear part to a kernel.
type linear struct {
	Kernel
	variance float64 // of a slope
}

func (k *linear) Eval(x, y []float64) float64 {
	return k.Kernel.Eval(x, y) + k.variance*inner(x, y)
}

func (k *linear) Diag(x, grad []float64) float64 {
	base := k.Kernel.Diag(x, grad)
	for j := range grad {
		grad[j] += 2 * k.variance * x[j]
	}
	return base + k.variance*inner(x, x)
}

func (k *linear) Gram(dst []float64, X [][]float64) {
	k.Kernel.Gram(dst, X)
	n := len(X)
	for i, x := range X {
		for j, y := range X[:i] {
			v := k.variance * inner(x, y)
			dst[i*n+j] += v
			dst[j*n+i] += v
		}
		dst[i*n+i] += k.variance * inner(x, x)
	}
}

func (k *linear) Cross(dst []float64, X [][]float64, x []float64) {
	k.Kernel.Cross(dst, X, x)
	for i, xi := range X {
		dst[i] += k.variance * inner(x, xi)
	}
}

func (k *linear) CrossGrad(dst, grad []float64, X [][]float64, x []float64) {
	k.Kernel.CrossGrad(dst, grad, X, x)
	d := k.Dim()
	for i, xi := range X {
		dst[i] += k.variance * inner(x, xi)
		g := grad[i*d : i*d+d]
		for j, v := range xi {
			g[j] += k.variance * v
		}
	}
}

// inner returns Σ_j x_j y_j.
func inner(x, y []float64) (s float64) {
	y = y[:len(x)]
	for j, v := range x {
		s += v * y[j]
	}
	return s
}
