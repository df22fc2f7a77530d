package gp

import "math"

// Draws makes values of f at some points of a [Joint] from independent standard
// normal ones. A point whose value those before it determine takes none: its
// value follows from theirs.
type Draws struct {
	// Free are the points that take a standard normal value each, as indices of
	// the joint posterior, in the order in which they were given.
	Free []int

	joint  *Joint
	points []int       // all, as they were given
	rows   [][]float64 // of each: what the free points before it, and it itself, give it
	at     []int       // the place of each free point in points
}

// Draws factors the covariance at the given points, indices of the joint posterior, as LLᵀ, row by
// row. A point is not free where the ones before leave it a variance of no more than the tolerance:
// it tells nothing more, and would make the covariance singular. The first is.
func (j *Joint) Draws(points []int, tolerance float64) *Draws {
	d := &Draws{joint: j, points: points}
	size := len(j.Mean)
	for p, i := range points {
		row := make([]float64, 0, len(d.Free)+1)
		rest := j.Cov[i*size+i]
		for b, k := range d.Free {
			before := d.rows[d.at[b]]
			v := j.Cov[i*size+k]
			for c, l := range before[:b] {
				v -= row[c] * l
			}
			row = append(row, v/before[b])
			rest -= row[b] * row[b]
		}
		if rest > tolerance || len(d.Free) == 0 {
			d.Free = append(d.Free, i)
			d.at = append(d.at, p)
			row = append(row, math.Sqrt(math.Max(rest, tolerance)))
		}
		d.rows = append(d.rows, row)
	}
	return d
}

// AtFree returns the values at the free points that independent standard normal
// ones make, one for each.
func (d *Draws) AtFree(z []float64) []float64 {
	values := make([]float64, len(d.Free))
	for a, p := range d.at {
		values[a] = d.value(p, z)
	}
	return values
}

// Fill fills dst with the values at all points, in the order in which they were
// given. Those at free ones are those of AtFree.
func (d *Draws) Fill(dst, z []float64) {
	for p := range d.points {
		dst[p] = d.value(p, z)
	}
}

// value returns that of the p-th point.
func (d *Draws) value(p int, z []float64) float64 {
	v := d.joint.Mean[d.points[p]]
	for b, l := range d.rows[p] {
		v += l * z[b]
	}
	return v
}
