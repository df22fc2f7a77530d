package space

import (
	"errors"
	"slices"

	"github.com/campaignd/campaignd/internal/num/optimize"
)

// Continuous returns the coordinates of the parameters that have neither
// categories, values nor dosing steps, in increasing order. The other
// parameters are discrete.
func (s *Space) Continuous() []int {
	var free []int
	for _, i := range s.numeric {
		if s.axes[i].grid == nil {
			free = append(free, s.axes[i].at)
		}
	}
	return free
}

// Levels returns the greatest number of values or dosing steps that a parameter
// has, 0 where no number is discrete.
func (s *Space) Levels() int {
	most := 0
	for _, i := range s.numeric {
		if g := s.axes[i].grid; g != nil {
			most = max(most, g.len())
		}
	}
	return most
}

// Round takes each parameter by itself to the nearest of its categories, values
// or dosing steps, and numbers to their bounds. It reports whether the result,
// encoded, satisfies every constraint and lies in no excluded region: it is
// then the composition nearest to x. It knows nothing of a list of candidates.
func (s *Space) Round(x []float64) (rounded []float64, ok bool) {
	s.checkDim(x)
	p := s.nearest(x)
	return s.encodePlace(p), s.allows(p)
}

// Slice is a part of a space in which some coordinates are fixed and the others
// lie in disjoint convex pieces.
type Slice struct {
	Free   []int              // the coordinates that are not fixed, in increasing order
	Pieces []*optimize.Region // in terms of the free coordinates; none where nothing is left
}

// Around returns the slice of the relaxed space where every category, value and dosing step is the
// one nearest to x: continuous parameters within bounds and constraints, outside excluded regions.
// Where relaxed is true only categories are fixed.
//
// It serves a search that has chosen the discrete parameters, and goes on with the continuous ones
// alone. More than limit pieces become one, which has the excluded regions in it: the caller has to
// check its result against the regions.
func (s *Space) Around(x []float64, relaxed bool, limit int) (Slice, error) {
	s.checkDim(x)
	slice := Slice{Free: s.Continuous()}
	if relaxed {
		slice.Free = nil
		for _, i := range s.numeric {
			slice.Free = append(slice.Free, s.axes[i].at)
		}
	}
	if len(slice.Free) == 0 {
		return slice, nil
	}
	uncut := s.at(s.nearest(x), relaxed)
	cells := []cell{uncut}
	for i := range s.regions {
		var next []cell
		for _, c := range cells {
			next = append(next, s.outside(c, &s.regions[i])...)
		}
		if cells = next; len(cells) > limit {
			cells = []cell{uncut}
			break
		}
	}
	for _, c := range cells {
		region, err := optimize.NewRegion(only(slice.Free, s.cellPolytope(c)))
		var infeasible *optimize.InfeasibleError
		if errors.As(err, &infeasible) {
			continue
		}
		if err != nil {
			return Slice{}, err
		}
		slice.Pieces = append(slice.Pieces, region)
	}
	return slice, nil
}

// only returns a polytope in terms of the free coordinates. The others are
// fixed at their lower bounds; constraints on those alone are left out. Fixed
// coordinates have equal bounds there, so that their share of a row moves to
// its right-hand side.
func only(free []int, p optimize.Polytope) optimize.Polytope {
	rows := func(coef [][]float64, rhs []float64) (rows [][]float64, rest []float64) {
		for i, c := range coef {
			row, some := make([]float64, len(free)), false
			for k, j := range free {
				row[k] = c[j]
				some = some || c[j] != 0
			}
			if !some {
				continue
			}
			b := rhs[i]
			for j, v := range c {
				if !slices.Contains(free, j) {
					b -= v * p.Lower[j]
				}
			}
			rows, rest = append(rows, row), append(rest, b)
		}
		return rows, rest
	}
	var q optimize.Polytope
	for _, j := range free {
		q.Lower, q.Upper = append(q.Lower, p.Lower[j]), append(q.Upper, p.Upper[j])
	}
	q.A, q.B = rows(p.A, p.B)
	q.C, q.D = rows(p.C, p.D)
	return q
}

// place is a composition by axis: numbers, and the index of a category, value
// or dosing step. level is 0 for a continuous axis; values of a categorical one
// are not used.
type place struct {
	values []float64
	level  []int
}

// nearest takes each axis to its nearest level.
func (s *Space) nearest(x []float64) place {
	p := place{make([]float64, len(s.axes)), make([]int, len(s.axes))}
	for i := range s.axes {
		switch a := &s.axes[i]; {
		case a.categorical():
			p.level[i] = a.nearestCategory(x, nil)
		case a.grid != nil:
			s.put(p, i, a.grid.nearest(a.decode(x[a.at])))
		default:
			p.values[i] = a.decode(x[a.at])
		}
	}
	return p
}

// put puts a discrete axis on a level.
func (s *Space) put(p place, axis, level int) {
	p.level[axis] = level
	if g := s.axes[axis].grid; g != nil {
		p.values[axis] = g.value(level)
	}
}

// encodePlace is the place as a point of the cube.
func (s *Space) encodePlace(p place) []float64 {
	x := make([]float64, s.dim)
	for i := range s.axes {
		if a := &s.axes[i]; a.categorical() {
			copy(x[a.at:], a.codes[p.level[i]])
		} else {
			x[a.at] = a.encode(p.values[i])
		}
	}
	return x
}

// allows reports whether a place satisfies every constraint and lies in no
// excluded region. The point is put together only where there are regions to
// compare it with: this is called for each start and each neighbor of a search.
func (s *Space) allows(p place) bool {
	return s.satisfied(p.values) &&
		(len(s.regions) == 0 || s.excluding(s.point(p.values, p.level)) == nil)
}

// at returns the cell of a place: its discrete axes are fixed, the continuous
// ones free. relaxed fixes categories alone.
func (s *Space) at(p place, relaxed bool) cell {
	c := s.whole()
	for i := range s.axes {
		switch a := &s.axes[i]; {
		case a.categorical():
			for k := range c.allowed[i] {
				c.allowed[i][k] = k == p.level[i]
			}
		case a.grid != nil && !relaxed:
			c.lo[i], c.hi[i] = p.values[i], p.values[i]
		}
	}
	return c
}
