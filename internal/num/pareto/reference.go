package pareto

import (
	"math"
	"slices"
)

// margin is the part of the front's range by which the reference lies behind
// its worst point (as in BoTorch's infer_reference_point).
const margin = 0.1

// Reference returns a reference point for trade-offs between the given points, at least one. worst
// holds its given values, NaN for the others, which become
//
//	nadir_k − 0.1·(ideal_k − nadir_k)
//
// over the front of the points that miss no given worst value, where there are some, else of all;
// nadir and ideal are the least and the greatest value of objective k there. Where the front has
// one value of an objective, the range of the objective over all points takes the place of its own,
// and that is taken to be least[k] at least: the noise's standard deviation is a good choice.
func Reference(points [][]float64, worst, least []float64) []float64 {
	m := len(worst)
	bound := make([]float64, m)
	for k, w := range worst {
		bound[k] = w
		if math.IsNaN(w) {
			bound[k] = math.Inf(-1)
		}
	}
	front := Front(points, bound)
	if len(front) == 0 {
		for _, i := range NonDominated(points) {
			front = append(front, points[i])
		}
	}
	reference := slices.Clone(worst)
	for k, w := range worst {
		if !math.IsNaN(w) {
			continue
		}
		nadir, ideal := ends(front, k)
		length := ideal - nadir
		if length == 0 {
			low, high := ends(points, k)
			length = max(high-low, least[k])
		}
		reference[k] = nadir - margin*length
	}
	return reference
}

// ends returns the least and the greatest value of objective k.
func ends(points [][]float64, k int) (low, high float64) {
	low, high = math.Inf(1), math.Inf(-1)
	for _, p := range points {
		low, high = min(low, p[k]), max(high, p[k])
	}
	return low, high
}

// Compromise returns the index of the point with the greatest least
// satisfaction, the first of several, and that satisfaction: of objective k it
// is (y_k − worst_k)/(best_k − worst_k), 0 at the given worst value and 1 at the
// best of the points (a maximin of normalized objectives: Ehrgott 2005, §5.1).
// An objective in which no point is better than the worst value does not
// count. There has to be a point.
func Compromise(points [][]float64, worst []float64) (index int, satisfaction float64) {
	best := make([]float64, len(worst))
	for k := range worst {
		_, best[k] = ends(points, k)
	}
	satisfaction = math.Inf(-1)
	for i, p := range points {
		least := 1.0
		for k, w := range worst {
			if best[k] > w {
				least = min(least, (p[k]-w)/(best[k]-w))
			}
		}
		if least > satisfaction {
			index, satisfaction = i, least
		}
	}
	return index, satisfaction
}
