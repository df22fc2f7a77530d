package copeland

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/campaignd/campaignd/internal/num/kernel"
)

// Measure is a probability distribution of opponents x', and the integrals of
// the RBF kernel ρ(x, y) = exp(−½ Σ_j (x_j − y_j)²/ℓ_j²) under it. A
// lengthscale per coordinate is a positive finite number.
type Measure interface {
	// Embed returns ∫ ρ(x, x') dx' for the point x.
	Embed(lengthscales, x []float64) float64
	// Energy returns ∫∫ ρ(x', x'') dx' dx''.
	Energy(lengthscales []float64) float64
}

// Box is the uniform distribution on the unit cube.
type Box struct{}

// Embed returns Π_j ℓ_j √(π/2) [erf((1 − x_j)/(√2 ℓ_j)) + erf(x_j/(√2 ℓ_j))],
// the box form of Adachi et al. 2024, Eq. 89.
func (Box) Embed(lengthscales, x []float64) float64 {
	if len(x) != len(lengthscales) {
		panic(fmt.Sprintf("copeland: point of %d coordinates, %d lengthscales",
			len(x), len(lengthscales)))
	}
	product := 1.0
	for j, l := range lengthscales {
		a := 1 / (math.Sqrt2 * l)
		product *= l * sqrtHalfPi * (math.Erf((1-x[j])*a) + math.Erf(x[j]*a))
	}
	return product
}

// Energy returns Π_j 2ℓ_j² (exp(−1/(2ℓ_j²)) − 1) + ℓ_j √(2π) erf(1/(√2 ℓ_j)).
func (Box) Energy(lengthscales []float64) float64 {
	product := 1.0
	for _, l := range lengthscales {
		a := 1 / (math.Sqrt2 * l)
		if a < 1e-3 {
			product *= 1 - a*a/6 // the two terms cancel; the next one is a⁴/30
			continue
		}
		product *= (math.Expm1(-a*a) + sqrtPi*a*math.Erf(a)) / (a * a)
	}
	return product
}

const (
	sqrtPi     = 1.77245385090551602729816748334114518279755 // √π
	sqrtHalfPi = 1.25331413731550025120788264240552262650349 // √(π/2)
)

// ErrMeasure reports points or weights that do not form a distribution; the
// text says why.
var ErrMeasure = errors.New("bad distribution of opponents")

// Points is a distribution on finitely many points: the members of a list, or
// Sobol points that satisfy the constraints of a space. It is immutable.
type Points struct {
	x [][]float64
	w []float64
}

// NewPoints returns the distribution with the given weights, which are scaled
// to add up to 1; nil means equal ones. The points are kept, not copied, and
// must not change. It fails with ErrMeasure.
func NewPoints(x [][]float64, weights []float64) (*Points, error) {
	if len(x) == 0 {
		return nil, fmt.Errorf("%w: no points; a space without a feasible point has no score", ErrMeasure)
	}
	for _, p := range x {
		if len(p) != len(x[0]) || len(p) == 0 {
			panic("copeland: points of different numbers of coordinates")
		}
	}
	w := slices.Clone(weights)
	if weights == nil {
		w = make([]float64, len(x))
		for i := range w {
			w[i] = 1
		}
	}
	if len(w) != len(x) {
		panic(fmt.Sprintf("copeland: %d points, %d weights", len(x), len(w)))
	}
	var total float64
	for i, v := range w {
		if !(v >= 0) || math.IsInf(v, 1) {
			return nil, fmt.Errorf("%w: weight %d is %v, must be 0 or more", ErrMeasure, i, v)
		}
		total += v
	}
	if !(total > 0) || math.IsInf(total, 1) {
		return nil, fmt.Errorf("%w: the weights add up to %v", ErrMeasure, total)
	}
	for i := range w {
		w[i] /= total
	}
	return &Points{x: x, w: w}, nil
}

// Embed returns Σ_p w_p ρ(x, x_p).
func (m *Points) Embed(lengthscales, x []float64) float64 {
	if len(x) != len(lengthscales) || len(x) != len(m.x[0]) {
		panic(fmt.Sprintf("copeland: point of %d coordinates, %d lengthscales, measure of %d",
			len(x), len(lengthscales), len(m.x[0])))
	}
	var sum float64
	for p, y := range m.x {
		var s float64
		for j, l := range lengthscales {
			t := (x[j] - y[j]) / l
			s += t * t
		}
		sum += m.w[p] * kernel.RBF.Rho(s)
	}
	return sum
}

// Energy returns Σ_pq w_p w_q ρ(x_p, x_q).
func (m *Points) Energy(lengthscales []float64) float64 {
	var sum float64
	for p, x := range m.x {
		sum += m.w[p] * m.Embed(lengthscales, x)
	}
	return sum
}
