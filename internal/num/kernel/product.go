package kernel

import (
	"fmt"
	"math"
	"slices"
)

// product is the kernel of points (x, s) whose last coordinate is not one of
// space: k = σ²·ρ(x, x')·factor(s, s').
type product struct {
	ard
	factor
}

// factor is a covariance function of the last coordinate.
type factor interface {
	// covariance returns factor(s, t).
	covariance(s, t float64) float64
	// slope returns ∂factor(s, t)/∂s.
	slope(s, t float64) float64
}

// Downsampling returns the kernel of values of several fidelities (Wu et al. 2020,
// §3.3; BoTorch's downsampling kernel): points are (x, s) with the fidelity s,
// from 0 to 1, the target, as last coordinate,
//
//	k((x,s), (x',s')) = σ²·ρ(x, x')·(c + (1−s)^(1+δ)·(1−s')^(1+δ)),
//
// with a stationary kernel σ²ρ of the given name, as New takes it, for the
// dimensions before the last. Beyond what all fidelities share, with the variance
// σ²c, a value has an error of its fidelity, which vanishes at the target; δ > 0
// says how soon: with δ near 0 linearly, with a greater one the fidelities
// near the target are nearly as good. c > 0. It fails with ErrUnknown or
// ErrHyperparameter.
func Downsampling(name string, lengthscales []float64, outputScale, c, delta float64) (Kernel, error) {
	base, err := New(name, lengthscales, outputScale)
	if err != nil {
		return nil, err
	}
	for _, v := range []float64{c, delta} {
		if !(v > 0) || math.IsInf(v, 1) {
			return nil, fmt.Errorf("%w: c = %v and δ = %v have to be positive finite numbers",
				ErrHyperparameter, c, delta)
		}
	}
	return &product{ard: *base.(*ard), factor: downsampling{c: c, power: 1 + delta}}, nil
}

type downsampling struct{ c, power float64 }

func (f downsampling) covariance(s, t float64) float64 {
	return f.c + f.deviation(s)*f.deviation(t)
}

func (f downsampling) slope(s, t float64) float64 {
	return -f.power * math.Pow(max(1-s, 0), f.power-1) * f.deviation(t)
}

// deviation returns how much a fidelity has of the error.
func (f downsampling) deviation(s float64) float64 { return math.Pow(max(1-s, 0), f.power) }

// Coregional returns the kernel of values of one quantity from T sources, the
// intrinsic coregionalization model (Bonilla, Chai and Williams 2008, Eq. 3):
// points are (x, t) with the source t, a number from 0 to T−1, as last coordinate,
//
//	k((x,t), (x',t')) = B[t][t']·ρ(x, x'),
//
// with a stationary ρ of the given name, as New takes it, for the dimensions before
// the last. B has to be symmetric, with positive variances; that it has no negative
// eigenvalue is not checked. The output scale is 1, B has it all. Derivatives by the
// source are 0, and another source than these panics. It fails with ErrUnknown or
// ErrHyperparameter.
func Coregional(name string, lengthscales []float64, B [][]float64) (Kernel, error) {
	base, err := New(name, lengthscales, 1)
	if err != nil {
		return nil, err
	}
	between := make(coregional, len(B))
	for t, row := range B {
		if len(row) != len(B) {
			panic(fmt.Sprintf("kernel: row %d of B has %d entries, there are %d sources",
				t, len(row), len(B)))
		}
		for u, v := range row {
			if !(v-v == 0) || v != B[u][t] || u == t && !(v > 0) {
				return nil, fmt.Errorf("%w: the covariance %v of the sources %d and %d",
					ErrHyperparameter, v, t, u)
			}
		}
		between[t] = slices.Clone(row)
	}
	return &product{ard: *base.(*ard), factor: between}, nil
}

// coregional holds the covariances of the sources.
type coregional [][]float64

func (b coregional) covariance(s, t float64) float64 { return b[b.source(s)][b.source(t)] }

func (b coregional) slope(float64, float64) float64 { return 0 }

// source returns the source that a coordinate stands for.
func (b coregional) source(s float64) int {
	if t := int(s); t >= 0 && t < len(b) && float64(t) == s {
		return t
	}
	panic(fmt.Sprintf("kernel: %v is not one of %d sources", s, len(b)))
}

func (k *product) Dim() int { return len(k.weights) + 1 }

func (k *product) Eval(x, y []float64) float64 {
	k.checkPoint(x)
	d := len(k.weights)
	return k.outputScale * k.covariance(x[d], y[d]) * k.family.Rho(k.distance(x, y))
}

func (k *product) Diag(x, grad []float64) float64 {
	k.checkPoint(x)
	s := x[len(k.weights)]
	if grad != nil {
		clear(grad)
		grad[len(k.weights)] = 2 * k.outputScale * k.slope(s, s)
	}
	return k.outputScale * k.covariance(s, s)
}

func (k *product) Gram(dst []float64, X [][]float64) { gram(k, dst, X) }

func (k *product) Cross(dst []float64, X [][]float64, x []float64) {
	k.checkPoint(x)
	checkLen("dst", len(dst), len(X))
	for i, xi := range X {
		dst[i] = k.distance(x, xi)
	}
	k.family.Fill(dst, dst, k.outputScale)
	d := len(k.weights)
	for i, xi := range X {
		dst[i] *= k.covariance(x[d], xi[d])
	}
}

func (k *product) CrossGrad(dst, grad []float64, X [][]float64, x []float64) {
	k.checkPoint(x)
	d := len(k.weights)
	checkLen("dst", len(dst), len(X))
	checkLen("grad", len(grad), len(X)*(d+1))
	for i, xi := range X {
		rho, slope := k.family.RhoSlope(k.distance(x, xi))
		rho, slope = k.outputScale*rho, k.outputScale*slope
		f := k.covariance(x[d], xi[d])
		dst[i] = rho * f
		c := 2 * slope * f
		g := grad[i*(d+1) : (i+1)*(d+1)]
		for j, w := range k.weights {
			g[j] = c * w * (x[j] - xi[j])
		}
		g[d] = rho * k.slope(x[d], xi[d])
	}
}

// Place says which coordinates of a point say where a value is from, where they stand
// among those of the space: one coordinate u for a fidelity, u itself or, Reversed,
// 1 − u, within [0, 1]; as many as there are sources for a source, whose own is the
// greatest.
type Place struct {
	At, Width int
	Reversed  bool
}

// Source returns the fidelity, or the number of the source, of a point.
func (p Place) Source(x []float64) float64 {
	if p.Width > 1 {
		best := 0
		for t, v := range x[p.At : p.At+p.Width] {
			if v > x[p.At+best] {
				best = t
			}
		}
		return float64(best)
	}
	u := x[p.At]
	if p.Reversed {
		u = 1 - u
	}
	return min(max(u, 0), 1)
}

// Among returns a kernel of Downsampling or Coregional for points that have their
// source among their coordinates: those that are left, in their order, are those of
// the kernel's space. Those of the source have a given lengthscale, so far beyond the
// unit cube that they do not count as distances. It panics for another kernel.
func Among(k Kernel, at Place, unscaled float64) Kernel {
	of := k.(*product)
	lengthscales := slices.Insert(of.Lengthscales(), at.At, slices.Repeat([]float64{unscaled}, at.Width)...)
	base, err := New(of.family.String(), lengthscales, of.outputScale)
	if err != nil {
		panic("kernel: " + err.Error()) // of.ard has been checked
	}
	return &among{ard: *base.(*ard), factor: of.factor, at: at}
}

// among is a product whose source stands among the coordinates.
type among struct {
	ard
	factor
	at Place
}

func (k *among) Eval(x, y []float64) float64 {
	return k.covariance(k.at.Source(x), k.at.Source(y)) * k.ard.Eval(x, y)
}

func (k *among) Diag(x, grad []float64) float64 {
	k.checkPoint(x)
	s := k.at.Source(x)
	if grad != nil {
		clear(grad)
		grad[k.at.At] = 2 * k.outputScale * k.along(s, s)
	}
	return k.outputScale * k.covariance(s, s)
}

// along returns the derivative of the factor by the coordinate of the first point; 0 by
// those of sources.
func (k *among) along(s, t float64) float64 {
	switch {
	case k.at.Width > 1:
		return 0
	case k.at.Reversed:
		return -k.slope(s, t)
	}
	return k.slope(s, t)
}

func (k *among) Gram(dst []float64, X [][]float64) { gram(k, dst, X) }

func (k *among) Cross(dst []float64, X [][]float64, x []float64) {
	k.ard.Cross(dst, X, x)
	s := k.at.Source(x)
	for i, xi := range X {
		dst[i] *= k.covariance(s, k.at.Source(xi))
	}
}

func (k *among) CrossGrad(dst, grad []float64, X [][]float64, x []float64) {
	k.ard.CrossGrad(dst, grad, X, x)
	d, s := len(k.weights), k.at.Source(x)
	for i, xi := range X {
		t := k.at.Source(xi)
		f, rho := k.covariance(s, t), dst[i]
		dst[i] = rho * f
		g := grad[i*d : (i+1)*d]
		for j := range g {
			g[j] *= f
		}
		g[k.at.At] += rho * k.along(s, t)
	}
}

func (k *product) checkPoint(x []float64) {
	if len(x) != k.Dim() {
		panic(fmt.Sprintf("kernel: point has %d coordinates, the kernel %d dimensions", len(x), k.Dim()))
	}
}
