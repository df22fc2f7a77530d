// Package reliability maps how noisy a person's comparisons are, from anchors:
// designs at which the person trusts their own judgment (Sinaga et al. 2026,
// §3.2). The density of anchors is estimated with a Gaussian kernel; the noise
// of a judgment falls where anchors are dense.
//
// Designs and anchors lie in the unit cube [0,1]^d. Everything is a pure
// function of its arguments, with a fixed order in every sum; nothing is
// changed by reading.
package reliability

import (
	"errors"
	"fmt"
	"math"
)

// ErrAnchors reports anchors or a bandwidth that no density can be made from;
// the text says which.
var ErrAnchors = errors.New("unusable anchors")

// Density is a kernel density estimate of the anchors with an isotropic
// Gaussian kernel of one bandwidth h,
//
//	q̂(x) = 1/(n h^d (2π)^(d/2)) Σ_i exp(−‖x − a_i‖²/(2h²))
//
// (Sinaga et al. 2026, Eq. 8). It is immutable and safe for concurrent use.
type Density struct {
	anchors [][]float64
	h       float64
	logUnit float64 // ln of the kernel's value at 0 divided by n
}

// NewDensity returns the density of n ≥ 1 anchors of d coordinates with
// bandwidth h > 0, in the unit of the coordinates. The anchors are kept, not
// copied, and must not change; equal ones count each. It fails with ErrAnchors.
func NewDensity(anchors [][]float64, h float64) (*Density, error) {
	if err := validate(anchors); err != nil {
		return nil, err
	}
	if len(anchors) == 0 {
		return nil, fmt.Errorf("%w: there are none, a density needs at least one", ErrAnchors)
	}
	if !(h > 0) || math.IsInf(h, 1) || math.IsInf(1/(h*h), 1) {
		return nil, fmt.Errorf("%w: bandwidth %v is not a positive finite number", ErrAnchors, h)
	}
	d := float64(len(anchors[0]))
	logUnit := -math.Log(float64(len(anchors))) - d*(math.Log(h)+0.5*math.Log(2*math.Pi))
	return &Density{anchors: anchors, h: h, logUnit: logUnit}, nil
}

// validate panics on mismatched shapes and reports bad numbers with ErrAnchors.
func validate(anchors [][]float64) error {
	for i, a := range anchors {
		if len(a) != len(anchors[0]) || len(a) == 0 {
			panic(fmt.Sprintf("reliability: anchor %d has %d coordinates, anchor 0 has %d", i,
				len(a), len(anchors[0])))
		}
		for j, v := range a {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				return fmt.Errorf("%w: coordinate %d of anchor %d is %v", ErrAnchors, j, i, v)
			}
		}
	}
	return nil
}

// Bandwidth returns h.
func (q *Density) Bandwidth() float64 { return q.h }

// Len returns n, the number of anchors.
func (q *Density) Len() int { return len(q.anchors) }

// At returns q̂(x), per unit^d, and fills grad, if not nil, with its d
// derivatives.
func (q *Density) At(x, grad []float64) float64 {
	v := q.sum(x, grad)
	unit := math.Exp(q.logUnit)
	for j := range grad {
		grad[j] *= unit
	}
	return unit * v
}

// sum returns Σ_i exp(−‖x − a_i‖²/(2h²)), in [0, n], and its derivatives.
func (q *Density) sum(x, grad []float64) (sum float64) {
	d := len(q.anchors[0])
	if len(x) != d || (grad != nil && len(grad) != d) {
		panic(fmt.Sprintf("reliability: point has %d coordinates and gradient %d, the anchors %d",
			len(x), len(grad), d))
	}
	clear(grad)
	w := 1 / (q.h * q.h)
	for _, a := range q.anchors {
		e := math.Exp(-0.5 * w * squaredDistance(x, a))
		sum += e
		for j := range grad {
			grad[j] -= w * e * (x[j] - a[j])
		}
	}
	return sum
}

func squaredDistance(x, y []float64) (s float64) {
	for j, v := range x {
		t := v - y[j]
		s += t * t
	}
	return s
}
