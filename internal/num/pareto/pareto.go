// Package pareto holds the geometry of trade-offs between several objectives: dominance, fronts,
// hypervolume, and the cells into which the region beyond a front is cut.
//
// Sign convention: all m objectives are MAXIMIZED. A point is a slice of m finite numbers, in the
// units of the objectives; slices of different lengths are a programmer's mistake and panic. A
// point counts where it is beyond the reference point, greater in every objective: worse values are
// of no interest.
//
// Order is part of every result: fronts descend lexicographically, and equal arguments give equal
// bits.
package pareto

import (
	"cmp"
	"slices"
)

// Dominates reports whether a is better than b: nowhere less, and somewhere
// greater.
func Dominates(a, b []float64) bool {
	greater := false
	for k, v := range b {
		if a[k] < v {
			return false
		}
		greater = greater || a[k] > v
	}
	return greater
}

// covers reports whether a is nowhere less than b.
func covers(a, b []float64) bool {
	for k, v := range b {
		if a[k] < v {
			return false
		}
	}
	return true
}

// Beyond reports whether a point is greater than the reference in every
// objective.
func Beyond(point, reference []float64) bool {
	for k, r := range reference {
		if !(point[k] > r) {
			return false
		}
	}
	return true
}

// descending compares points for lexicographic descending order, in which no
// point stands before one that dominates it.
func descending(a, b []float64) int {
	for k, v := range a {
		if c := cmp.Compare(b[k], v); c != 0 {
			return c
		}
	}
	return 0
}

// NonDominated returns the indices of the points that no other one dominates,
// ascending. Of equal points all are among them, or none.
func NonDominated(points [][]float64) []int {
	order := make([]int, len(points))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return descending(points[i], points[j]) })
	found := order[:0] // overwrites only points that were looked at
	for _, i := range order {
		if !slices.ContainsFunc(found, func(f int) bool { return Dominates(points[f], points[i]) }) {
			found = append(found, i)
		}
	}
	slices.Sort(found)
	return found
}

// Front returns the points beyond the reference that no other one dominates,
// each once, in descending order. They are those given, not copies.
func Front(points [][]float64, reference []float64) [][]float64 {
	var beyond [][]float64
	for _, p := range points {
		if Beyond(p, reference) {
			beyond = append(beyond, p)
		}
	}
	slices.SortFunc(beyond, descending)
	front := beyond[:0]
	for _, p := range beyond {
		if !slices.ContainsFunc(front, func(f []float64) bool { return covers(f, p) }) {
			front = append(front, p)
		}
	}
	return front
}
