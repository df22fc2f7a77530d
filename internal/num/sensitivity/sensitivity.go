// Package sensitivity says how much of the variance of a function over a space
// comes with one of its parameters, from values along lines through the space.
package sensitivity

import "gonum.org/v1/gonum/integrate/quad"

// Line are places on the range of one parameter through a base point, from 0 at
// its lower end to 1 at its upper one, with weights that sum to 1: the mean over
// the range is the weighted sum of the values there.
type Line struct{ At, Weights []float64 }

// Gauss is the line of n Gauss-Legendre nodes, exact for polynomials of degree
// 2n−1.
func Gauss(n int) Line {
	l := Line{At: make([]float64, n), Weights: make([]float64, n)}
	quad.Legendre{}.FixedLocations(l.At, l.Weights, 0, 1)
	return l
}

// Even is the line of n values that all count the same, such as categories.
func Even(n int) Line {
	l := Line{At: make([]float64, n), Weights: make([]float64, n)}
	for k := range n {
		if n > 1 {
			l.At[k] = float64(k) / float64(n-1)
		}
		l.Weights[k] = 1 / float64(n)
	}
	return l
}

// Variance returns the weighted variance of values on the line.
func (l Line) Variance(values []float64) float64 {
	mean, square := 0.0, 0.0
	for k, v := range values {
		mean += l.Weights[k] * v
	}
	for k, v := range values {
		square += l.Weights[k] * (v - mean) * (v - mean)
	}
	return square
}

// Total returns the total-effect index of a parameter,
//
//	S_T = E[Var(f | all other parameters)] / Var(f)
//
// (Homma and Saltelli 1996, Reliab. Eng. Syst. Saf. 52:1; Saltelli et al. 2010,
// Comput. Phys. Commun. 181:259, Table 2): the part of the variance that would be
// left if everything but the parameter were known. along are the values on lines
// of the parameter through base points that are spread over the space, all finite.
// Where the parameters are independent, indices sum to 1 for an additive function
// and to more where parameters interact. It is 0 for a constant function.
//
// Var(f) is that of the values on the same lines, so that an index lies between 0
// and 1 however few they are.
func Total(along [][]float64, line Line) float64 {
	within, mean := 0.0, 0.0
	means := make([]float64, len(along))
	for b, values := range along {
		within += line.Variance(values) / float64(len(along))
		for k, v := range values {
			means[b] += line.Weights[k] * v
		}
		mean += means[b] / float64(len(along))
	}
	between := 0.0
	for _, m := range means {
		between += (m - mean) * (m - mean) / float64(len(along))
	}
	if within == 0 {
		return 0
	}
	return within / (within + between)
}
