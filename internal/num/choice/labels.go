package choice

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// Labels are an expert's answers: Reject[i] is true where the expert rejects the point X[i].
type Labels struct {
	X      [][]float64 // n points of d coordinates
	Reject []bool      // n answers
}

// Errors of this package; match with errors.Is.
var (
	// ErrLabels reports labels that cannot be used: a coordinate that is not finite, or the wrong number of them.
	ErrLabels = errors.New("unusable labels")
	// ErrSetting reports a norm bound, likelihood margin or jitter outside its range.
	ErrSetting = errors.New("setting out of range")
	// ErrPoint reports a point at which no bound can be computed because it is not finite.
	ErrPoint = errors.New("the point is not finite")
	// ErrNotConverged reports a maximum-likelihood fit or a bound that no method could solve to its tolerance.
	ErrNotConverged = errors.New("the belief model did not converge")
)

// answers are the labels with those of equal points merged: what the likelihood depends on.
type answers struct {
	points  [][]float64 // m distinct points, in the order of their first label
	rejects []float64   // how many labels at each are "reject"
	accepts []float64   // … and how many "accept"
}

func (l Labels) merge(dim int) (answers, error) {
	if len(l.X) != len(l.Reject) {
		return answers{}, fmt.Errorf("%w: %d points but %d answers", ErrLabels, len(l.X), len(l.Reject))
	}
	var a answers
	for i, x := range l.X {
		if len(x) != dim {
			return answers{}, fmt.Errorf("%w: point %d has %d coordinates, the kernel %d", ErrLabels, i, len(x), dim)
		}
		if !finite(x) {
			return answers{}, fmt.Errorf("%w: point %d is not finite: %v", ErrLabels, i, x)
		}
		at := slices.IndexFunc(a.points, func(p []float64) bool { return slices.Equal(p, x) })
		if at < 0 {
			at = len(a.points)
			a.points = append(a.points, x)
			a.rejects = append(a.rejects, 0)
			a.accepts = append(a.accepts, 0)
		}
		if l.Reject[i] {
			a.rejects[at]++
		} else {
			a.accepts[at]++
		}
	}
	return a, nil
}

func finite(x []float64) bool {
	for _, v := range x {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return false
		}
	}
	return true
}

// logLik returns ℓ(z) = Σ rejects·ln S(z) + accepts·ln S(−z).
func (a *answers) logLik(z []float64) float64 {
	var sum float64
	for i, zi := range z {
		sum -= (a.rejects[i]+a.accepts[i])*math.Log1p(math.Exp(-math.Abs(zi))) + a.wrong(i, zi)*math.Abs(zi)
	}
	return sum
}

// wrong is the number of answers at point i that speak against the sign of z.
func (a *answers) wrong(i int, z float64) float64 {
	if z > 0 {
		return a.accepts[i]
	}
	return a.rejects[i]
}

// slope returns ℓ(z) and fills grad with its gradient.
func (a *answers) slope(grad, z []float64) float64 {
	var sum float64
	for i, zi := range z {
		e := math.Exp(-math.Abs(zi))
		likely, unlikely := 1/(1+e), e/(1+e) // S(|z|) and S(−|z|)
		sum -= (a.rejects[i]+a.accepts[i])*math.Log1p(e) + a.wrong(i, zi)*math.Abs(zi)
		if zi > 0 {
			grad[i] = a.rejects[i]*unlikely - a.accepts[i]*likely
		} else {
			grad[i] = a.rejects[i]*likely - a.accepts[i]*unlikely
		}
	}
	return sum
}

// curvature fills w with −∂²ℓ/∂z_i².
func (a *answers) curvature(w, z []float64) {
	for i, zi := range z {
		e := math.Exp(-math.Abs(zi))
		w[i] = (a.rejects[i] + a.accepts[i]) * e / ((1 + e) * (1 + e))
	}
}

// index returns, for each of xs, which of the distinct points it is.
func (a *answers) index(xs [][]float64) []int {
	at := make([]int, len(xs))
	for i, x := range xs {
		at[i] = slices.IndexFunc(a.points, func(p []float64) bool { return slices.Equal(p, x) })
	}
	return at
}
