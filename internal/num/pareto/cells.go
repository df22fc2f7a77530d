package pareto

import (
	"cmp"
	"math"
	"slices"
)

// Cells are disjoint boxes that make up the region beyond the reference that a front does not
// cover. The expected hypervolume improvement is a sum over them.
//
// The bounds of all cells are coordinates of the front and of the reference, so a cell is kept as
// places of them.
type Cells struct {
	// Corners are, of each of the m objectives, the values at which cells end,
	// ascending; the first is the reference.
	Corners [][]float64
	// Lower and Upper hold the bounds of each cell, m places in Corners. A place in Upper that is
	// len(Corners[k]) means no bound: the cell extends to infinity in objective k.
	Lower, Upper []int32
}

// NewCells cuts the region beyond a front and the reference. Points that are
// covered, or not beyond the reference, change nothing.
//
// The region is the union of what lies above the local bounds of the front
// (Lacour, Klamroth and Fonseca 2017, Alg. 2, for maximization); these bounds
// are taken as points in turn, whose own local bounds, with the points that
// define them, give the disjoint cells (ibid., §4; Dächert et al. 2017).
// Coordinates are compared only, so places stand for them throughout, and no
// rounding comes in.
func NewCells(points [][]float64, reference []float64) *Cells {
	front := Front(points, reference)
	m := len(reference)
	c := &Cells{Corners: make([][]float64, m)}
	for k, r := range reference {
		corners := []float64{r}
		for _, p := range front {
			corners = append(corners, p[k])
		}
		slices.Sort(corners)
		c.Corners[k] = slices.Compact(corners)
	}

	// Everything below is for minimization, as in the papers.
	below := newBounds(make([]int32, m))
	y := make([]int32, m)
	for _, p := range front {
		for k, v := range p {
			at, _ := slices.BinarySearch(c.Corners[k], v)
			y[k] = -int32(at)
		}
		below.cut(y)
	}
	ends := make([]int32, m)
	for k := range ends {
		ends[k] = int32(len(c.Corners[k]))
	}
	above := newBounds(ends)
	for _, u := range below.points() {
		for k, v := range u {
			y[k] = -v
		}
		above.cut(y)
	}
	c.take(above)
	return c
}

// take takes over the cells below each bound v with defining points z:
// [z¹_1, ∞) × Π_{j>1} [max_{i<j} zⁱ_j, v_j), but empty ones.
func (c *Cells) take(above *bounds) {
	m := above.m
	cells := above.len()
	lower, upper := make([]int32, 0, cells*m), make([]int32, 0, cells*m)
	for b := range cells {
		v, z := above.at(b)
		low, high := lower[len(lower):len(lower)+m], upper[len(upper):len(upper)+m]
		empty := false
		for j := range m {
			low[j], high[j] = z[0], int32(len(c.Corners[0]))
			if j > 0 {
				low[j], high[j] = none, v[j]
				for i := range j {
					low[j] = max(low[j], z[i*m+j])
				}
			}
			empty = empty || low[j] >= high[j]
		}
		if !empty {
			lower, upper = lower[:len(lower)+m], upper[:len(upper)+m]
		}
	}
	c.Lower, c.Upper = lower, upper
}

// none is below every place.
const none = math.MinInt32

// bounds are the local upper bounds of a set of points for minimization, each with the m points
// that define it: together, the regions below the bounds are the part that no point covers. One
// after the other: m places of the bound u, then those of z¹ to z^m; z^j has the coordinate u_j.
type bounds struct {
	m      int
	data   []int32
	parent []int32 // the bound that is being replaced
}

// newBounds returns those of no points, below a reference.
func newBounds(reference []int32) *bounds {
	m := len(reference)
	b := &bounds{m: m, data: slices.Clone(reference), parent: make([]int32, m+m*m)}
	for j, r := range reference {
		for k := range m {
			z := int32(none)
			if k == j {
				z = r
			}
			b.data = append(b.data, z)
		}
	}
	return b
}

func (b *bounds) len() int { return len(b.data) / len(b.parent) }

// at returns a bound and its defining points, m×m.
func (b *bounds) at(i int) (u, z []int32) {
	all := b.data[i*len(b.parent) : (i+1)*len(b.parent)]
	return all[:b.m], all[b.m:]
}

// cut adds a point. Each bound above it gives way to those whose coordinate j is the point's, for
// each j in which no other defining point exceeds the point. A point that covers others has to come
// before them.
func (b *bounds) cut(y []int32) {
	m, size := b.m, len(b.parent)
	for i := b.len() - 1; i >= 0; i-- {
		u, _ := b.at(i)
		if !under(y, u) {
			continue
		}
		copy(b.parent, b.data[i*size:])
		last := len(b.data) - size
		copy(b.data[i*size:(i+1)*size], b.data[last:]) // is above y no more: it was looked at, or is new
		b.data = b.data[:last]
		for j := range m {
			if !b.splits(y[j], j) {
				continue
			}
			b.data = append(b.data, b.parent...)
			u, z := b.at(b.len() - 1)
			u[j] = y[j]
			copy(z[j*m:j*m+m], y)
		}
	}
}

// splits reports whether a point whose coordinate j is given makes a bound of
// the parent: the other bounds it would make are below another one.
func (b *bounds) splits(y int32, j int) bool {
	z := b.parent[b.m:]
	for k := range b.m {
		if k != j && z[k*b.m+j] > y {
			return false
		}
	}
	return true
}

// under reports whether y is less than u in all coordinates.
func under(y, u []int32) bool {
	for k, v := range u {
		if y[k] >= v {
			return false
		}
	}
	return true
}

// points returns the bounds in descending order of their last coordinates, then
// of those before. So none stands before one that it is nowhere above; and of
// the orders tried, with four objectives this leaves the fewest cells.
func (b *bounds) points() [][]int32 {
	points := make([][]int32, b.len())
	for i := range points {
		points[i], _ = b.at(i)
	}
	slices.SortFunc(points, func(u, v []int32) int {
		for k := len(u) - 1; k >= 0; k-- {
			if c := cmp.Compare(v[k], u[k]); c != 0 {
				return c
			}
		}
		return 0
	})
	return points
}
