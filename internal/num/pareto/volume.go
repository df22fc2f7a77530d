package pareto

import "slices"

// Hypervolume returns the volume of what lies beyond the reference and is
// covered by some point, for any number of objectives: by slices along the
// first one (Knowles 2002, §4; While et al. 2006, §III), in O(n^(m−1)) for n
// points on the front. Its unit is the product of the objectives' units.
func Hypervolume(points [][]float64, reference []float64) float64 {
	return volume(Front(points, reference), reference)
}

// volume is the hypervolume of a front.
func volume(front [][]float64, reference []float64) (sum float64) {
	if len(reference) == 1 {
		for _, p := range front { // one, or none
			sum += p[0] - reference[0]
		}
		return sum
	}
	// Between the values of two neighbors all points up to the first of them
	// count, in the other objectives.
	var slice [][]float64
	for i, p := range front {
		slice = insert(slice, p[1:])
		end := reference[0]
		if i+1 < len(front) {
			end = front[i+1][0]
		}
		if p[0] > end {
			sum += (p[0] - end) * volume(slice, reference[1:])
		}
	}
	return sum
}

// insert returns the front with a further point, in its place.
func insert(front [][]float64, p []float64) [][]float64 {
	if slices.ContainsFunc(front, func(f []float64) bool { return covers(f, p) }) {
		return front
	}
	front = slices.DeleteFunc(front, func(f []float64) bool { return covers(p, f) })
	at, _ := slices.BinarySearchFunc(front, p, descending)
	return slices.Insert(front, at, p)
}

// Improvement returns by how much a further point would increase the
// hypervolume of the given ones: 0 where it is not beyond the reference, or
// covered. It is the volume of its box less that of the others clipped to the
// box, so that its error is relative to the box, not to all (While et al. 2012,
// §III: exclusive hypervolume).
func Improvement(point []float64, others [][]float64, reference []float64) float64 {
	if !Beyond(point, reference) {
		return 0
	}
	clipped := make([][]float64, 0, len(others))
	m := len(point)
	room := make([]float64, m*len(others)) // for all of them: allocating each took a third of the time
	for _, other := range others {
		if covers(other, point) {
			return 0
		}
		c := room[:m:m]
		room = room[m:]
		for k, v := range other {
			c[k] = min(point[k], v)
		}
		clipped = append(clipped, c)
	}
	box := 1.0
	for k, r := range reference {
		box *= point[k] - r
	}
	return max(box-Hypervolume(clipped, reference), 0)
}

// Covering is the region that points cover beyond a reference, as they are added one by one.
type Covering struct {
	Reference []float64
	// Volume is the hypervolume of those that were added.
	Volume float64

	front [][]float64
}

// Add adds a point.
func (c *Covering) Add(point []float64) {
	if slices.ContainsFunc(c.front, func(f []float64) bool { return Dominates(f, point) }) {
		return // most points are: it is seen at once
	}
	gain := Improvement(point, c.front, c.Reference)
	if gain == 0 {
		return
	}
	c.Volume += gain
	c.front = slices.DeleteFunc(c.front, func(f []float64) bool { return Dominates(point, f) })
	c.front = append(c.front, point)
}

// Shares returns the share of the hypervolume that each point alone holds: what
// would be lost without it. It is 0 for points that are covered, equal ones
// among them; and everywhere, where the hypervolume is 0.
func Shares(points [][]float64, reference []float64) []float64 {
	shares := make([]float64, len(points))
	all := Hypervolume(points, reference)
	if all == 0 {
		return shares
	}
	others := make([][]float64, 0, len(points))
	for i, p := range points {
		others = append(append(others[:0], points[:i]...), points[i+1:]...)
		shares[i] = Improvement(p, others, reference) / all
	}
	return shares
}
