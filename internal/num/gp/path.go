package gp

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"

	"github.com/campaignd/campaignd/internal/num/kernel"
)

// pathFeatures is the number of random Fourier features of a drawn path.
const pathFeatures = 1024

// family returns the family of the kernel, which has to be stationary.
func (g *GP) family() kernel.Family {
	family, ok := kernel.FamilyOf(g.kernel)
	if !ok {
		panic("gp: the kernel is not stationary")
	}
	return family
}

// Path draws a function from the posterior and returns it with its gradient:
// where grad is not nil it receives the d partial derivatives. The draw is
// Matheron's rule on a prior of random Fourier features (Wilson et al. 2020,
// Eq. 12; Rahimi and Recht 2007): smooth, and cheap at any number of points.
// Equal sources give equal functions. The kernel has to be one of kernel.New.
func (g *GP) Path(rng *rand.Rand) func(x, grad []float64) float64 {
	d, n := g.Dim(), len(g.basis)
	lengthscales := g.kernel.Lengthscales()
	degrees := 0 // of freedom of the spectral density; 0 for the normal one of an RBF kernel
	switch g.family() {
	case kernel.Matern52:
		degrees = 5
	case kernel.Matern32:
		degrees = 3
	}
	frequency := make([]float64, pathFeatures*d)
	phase := make([]float64, pathFeatures)
	weight := make([]float64, pathFeatures)
	amplitude := math.Sqrt(2 * g.hyper.OutputScale / pathFeatures)
	for m := range pathFeatures {
		spread := 1.0
		if degrees > 0 {
			chi2 := 0.0
			for range degrees {
				z := rng.NormFloat64()
				chi2 += z * z
			}
			spread = math.Sqrt(float64(degrees) / chi2)
		}
		for j := range d {
			frequency[m*d+j] = rng.NormFloat64() * spread / lengthscales[j]
		}
		phase[m] = 2 * math.Pi * rng.Float64()
		weight[m] = amplitude * rng.NormFloat64()
	}
	prior := func(x, grad []float64) float64 {
		value := 0.0
		for m := range pathFeatures {
			w := frequency[m*d : m*d+d]
			angle := phase[m]
			for j, xj := range x {
				angle += w[j] * xj
			}
			sin, cos := math.Sincos(angle)
			value += weight[m] * cos
			for j := range grad {
				grad[j] -= weight[m] * sin * w[j]
			}
		}
		return value
	}

	// The residual of the data against the prior's draw and a draw of the
	// noise, through K⁻¹.
	var residual []float64
	if g.sparse != nil {
		residual = g.draw(func(x []float64) float64 { return prior(x, nil) }, rng.NormFloat64)
	} else {
		residual = make([]float64, n)
		for i, x := range g.x {
			noise := math.Sqrt(g.noise(i, g.hyper.Noise)) * rng.NormFloat64()
			residual[i] = g.y[i] - g.hyper.Mean - prior(x, nil) - noise
		}
		blas64.Trmv(blas.NoTrans, lower(g.inverse, n, g.stride), vector(residual))
		blas64.Trmv(blas.Trans, lower(g.inverse, n, g.stride), vector(residual))
	}

	k, dk := make([]float64, n), make([]float64, n*d)
	return func(x, grad []float64) float64 {
		if grad == nil {
			g.kernel.Cross(k, g.basis, x)
			return g.hyper.Mean + prior(x, nil) + dot(residual, k)
		}
		clear(grad)
		value := g.hyper.Mean + prior(x, grad)
		g.kernel.CrossGrad(k, dk, g.basis, x)
		for i, r := range residual {
			axpy(grad, r, dk[i*d:i*d+d])
		}
		return value + dot(residual, k)
	}
}
