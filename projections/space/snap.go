package space

import (
	"errors"
	"fmt"
	"math"
	"math/big"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/num/optimize"
)

// maxNodes limits the search of Snap. A mixture of a few components in steps
// needs some tens of nodes; what needs more is a lattice on which almost
// nothing satisfies the constraints.
const maxNodes = 20_000

// ErrUndecided is wrapped by the error of a search that was given up: constraints on dosing steps
// were so tight that it found neither a composition nor the proof that none exists.
var ErrUndecided = errors.New("no composition was found that satisfies the constraints in the instrument's dosing steps; use finer steps or looser constraints")

// Snap returns the composition nearest to x, in Euclidean distance of encoded
// coordinates, that may be measured: see Exactness in the package
// documentation. Equally near ones are decided by the order of parameters. x
// may be any finite point, for example the optimum of a search in the relaxed
// space.
//
// An excluded region is left through whichever of its faces leads to the
// nearest composition; where the parameter of that face is continuous, the
// composition is 1e-9 of the parameter's range away from the face.
//
// Method: branch and bound, with projections on the polytope as bounds. A
// search of 20,000 nodes ends with the best composition found (never seen in
// practice), or with an error that wraps [ErrUndecided]. Snap panics if x does
// not have Dim coordinates.
func (s *Space) Snap(x []float64) (definition.Point, error) {
	s.checkDim(x)
	for i, v := range x {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, fmt.Errorf("coordinate %d is %v: only finite points have a nearest composition",
				i, v)
		}
	}
	if s.list != nil {
		best, least := 0, math.Inf(1)
		for i, y := range s.encoded {
			if d := squaredDistance(x, y); d < least {
				best, least = i, d
			}
		}
		return s.list[best], nil
	}
	search := snapSearch{s: s, x: x, least: math.Inf(1)}
	if err := search.descend(s.whole()); err != nil {
		return nil, err
	}
	if search.best == nil {
		if search.nodes >= s.nodes {
			return nil, ErrUndecided
		}
		return nil, &InfeasibleError{}
	}
	return search.best, nil
}

// snapSearch is one branch and bound: nodes counts the cells looked at, best is
// the nearest composition so far. nodes may begin above 0, for a search that
// may look at fewer cells than the space's own limit.
type snapSearch struct {
	s     *Space
	x     []float64
	nodes int
	best  definition.Point
	least float64 // squared distance of best
}

// descend searches one cell, nearest parts first.
//
// The projection onto the cell's polytope is a lower bound of the distance of
// everything in it: a cell that cannot beat the best is left. Ties keep the
// composition that was found first (1e-15 is rounding of a squared distance),
// so that the order of cells decides them and not the last bit.
func (q *snapSearch) descend(c cell) error {
	if q.nodes >= q.s.nodes || c.empty() {
		return nil
	}
	q.nodes++
	s := q.s
	values, ok, err := s.nearestIn(c, q.x)
	if err != nil || !ok {
		return err
	}
	categories := make([]int, len(s.axes))
	var distance float64
	for i := range s.axes {
		a := &s.axes[i]
		if a.categorical() {
			categories[i] = a.nearestCategory(q.x, c.allowed[i])
			distance += squaredDistance(a.codes[categories[i]], q.x[a.at:a.at+a.width])
			continue
		}
		d := a.encode(values[i]) - q.x[a.at]
		distance += d * d
	}
	if distance >= q.least-1e-15 {
		return nil
	}

	// A value between two values of a grid: the cell below and the cell above.
	if split := s.offGrid(values); split >= 0 {
		g := s.axes[split].grid
		k := g.floor(values[split])
		low, high := c.clone(), c.clone()
		low.hi[split], high.lo[split] = g.value(k), g.value(k+1)
		// The nearer half first: its results cut off most of the other.
		if values[split]-g.value(k) > g.value(k+1)-values[split] {
			low, high = high, low
		}
		if err := q.descend(low); err != nil {
			return err
		}
		return q.descend(high)
	}

	// On the grid: round exactly, and let the continuous parameters follow. A
	// combination of values that rounding carries out of the space is taken out
	// of the cell, like a region of one point.
	free := false
	fixed := c.clone()
	combination := region{}
	for _, i := range s.numeric {
		g := s.axes[i].grid
		if g == nil {
			free = true
			continue
		}
		values[i] = g.value(g.nearest(values[i]))
		fixed.lo[i], fixed.hi[i] = values[i], values[i]
		if c.lo[i] < c.hi[i] {
			combination.sides = append(combination.sides,
				side{axis: i, min: values[i], max: values[i], category: -1})
		}
	}
	// Rounding has moved the grid's parameters, so that the continuous ones
	// have to make up for it in the constraints.
	if len(combination.sides) > 0 && free && len(s.rows) > 0 {
		if values, ok, err = s.nearestIn(fixed, q.x); err != nil {
			return err
		}
		if !ok {
			return q.descendInto(s.outside(c, &combination))
		}
	}
	p := s.point(values, categories)
	// Regions are cut out only where they are met: most lie far from x, and
	// cutting by all would multiply the cells.
	if r := s.excluding(p); r != nil {
		return q.descendInto(s.outside(c, r))
	}
	if !s.satisfied(values) {
		return q.descendInto(s.outside(c, &combination))
	}
	q.best, q.least = p, distance
	return nil
}

// offGrid returns the axis whose value is farthest from its grid, in spacings of
// the grid there; -1 where all are on theirs. Off the grid by less than the
// first share of the spacing is rounding of the projection.
func (s *Space) offGrid(values []float64) int {
	worst, axis := 1e-7, -1
	for _, i := range s.numeric {
		g := s.axes[i].grid
		if g == nil {
			continue
		}
		k := g.nearest(values[i])
		spacing := s.axes[i].scale
		if k > 0 {
			spacing = g.value(k) - g.value(k-1)
		}
		if k+1 < g.len() {
			spacing = min(spacing, g.value(k+1)-g.value(k))
		}
		if off := math.Abs(values[i]-g.value(k)) / spacing; off > worst {
			worst, axis = off, i
		}
	}
	return axis
}

// descendInto searches the parts in their order. That of the definition, which
// makes the result the same in each process.
func (q *snapSearch) descendInto(parts []cell) error {
	for _, part := range parts {
		if err := q.descend(part); err != nil {
			return err
		}
	}
	return nil
}

// satisfied says whether numbers, by axis, satisfy every constraint.
func (s *Space) satisfied(values []float64) bool {
	for i := range s.rows {
		r := &s.rows[i]
		if !r.holds(values) || (r.exact && !r.holdsExactly(values)) {
			return false
		}
	}
	return true
}

// nearestIn returns the numbers, by axis, of the point of a cell's polytope
// that is nearest to x; ok is false if the cell is empty. Without constraints it
// is a clamp for each number, and needs no optimizer. Categories take no part:
// constraints are on numbers alone, and the nearest category is known without a
// search.
func (s *Space) nearestIn(c cell, x []float64) (values []float64, ok bool, err error) {
	values = make([]float64, len(s.axes))
	if len(s.rows) == 0 {
		for _, i := range s.numeric {
			a := &s.axes[i]
			values[i] = min(max(a.decode(x[a.at]), c.lo[i]), c.hi[i])
		}
		return values, true, nil
	}
	region, err := optimize.NewRegion(s.numericPolytope(c))
	var infeasible *optimize.InfeasibleError
	if errors.As(err, &infeasible) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	u := make([]float64, len(s.numeric))
	for k, i := range s.numeric {
		u[k] = x[s.axes[i].at]
	}
	if err := region.Project(u, u); err != nil {
		if errors.As(err, &infeasible) {
			return nil, false, nil
		}
		return nil, false, err
	}
	for k, i := range s.numeric {
		values[i] = min(max(s.axes[i].decode(u[k]), c.lo[i]), c.hi[i])
	}
	return values, true, nil
}

// numericPolytope returns a cell's polytope in the encoded coordinates of the
// numeric axes alone, in their order.
func (s *Space) numericPolytope(c cell) optimize.Polytope {
	n := len(s.numeric)
	p := optimize.Polytope{Lower: make([]float64, n), Upper: make([]float64, n)}
	place := make([]int, len(s.axes))
	for k, i := range s.numeric {
		place[i] = k
		p.Lower[k], p.Upper[k] = s.axes[i].encode(c.lo[i]), s.axes[i].encode(c.hi[i])
	}
	for _, r := range s.rows {
		coef, rhs := s.encodeRow(r, n, func(i int) int { return place[i] })
		if r.sense == equals {
			p.A, p.B = append(p.A, coef), append(p.B, rhs)
		} else {
			p.C, p.D = append(p.C, coef), append(p.D, rhs)
		}
	}
	return p
}

// point puts numbers and categories, by axis, together.
func (s *Space) point(values []float64, categories []int) definition.Point {
	p := make(definition.Point, len(s.axes))
	for i := range s.axes {
		a := &s.axes[i]
		if a.categorical() {
			p[a.name] = definition.Category(a.categories[categories[i]])
		} else {
			p[a.name] = definition.Number(values[i])
		}
	}
	return p
}

// feasible finds out whether there is any composition. Equalities on lattices
// are judged by number theory first, where a search would not end. Snapping the
// middle of the cube is the search: any point would do, and from there all
// bounds are equally far.
func (s *Space) feasible() error {
	for i := range s.rows {
		r := &s.rows[i]
		if r.sense != equals || !r.exact {
			continue
		}
		var coefficients []*big.Rat
		for k, i := range r.axes {
			g := s.axes[i].grid
			if g.values != nil {
				break
			}
			coefficients = append(coefficients, new(big.Rat).Mul(decimal(r.coef[k]), g.exact))
		}
		if len(coefficients) == len(r.axes) && !reachable(coefficients, decimal(r.rhs)) {
			return &InfeasibleError{}
		}
	}
	middle := make([]float64, s.dim)
	for i := range middle {
		middle[i] = 0.5
	}
	_, err := s.Snap(middle)
	return err
}

// enumerate lists the space where it is finite and short. ok is false where a
// continuous parameter varies, and for more than maxFinite combinations before
// constraints. The bound is compared before multiplying, since the product of
// many parameters would overflow.
func (s *Space) enumerate() ([]definition.Point, bool) {
	total := 1
	sizes := make([]int, len(s.axes))
	for i := range s.axes {
		a := &s.axes[i]
		switch {
		case a.categorical():
			sizes[i] = len(a.categories)
		case a.grid != nil:
			sizes[i] = a.grid.len()
		case a.lo == a.hi:
			sizes[i] = 1
		default:
			return nil, false
		}
		if sizes[i] > maxFinite || total > maxFinite/sizes[i] {
			return nil, false
		}
		total *= sizes[i]
	}
	list := []definition.Point{}
	values, categories := make([]float64, len(s.axes)), make([]int, len(s.axes))
	for index := range total {
		rest := index
		for i := len(s.axes) - 1; i >= 0; i-- { // the last parameter varies fastest
			a, k := &s.axes[i], rest%sizes[i]
			rest /= sizes[i]
			switch {
			case a.categorical():
				categories[i] = k
			case a.grid != nil:
				values[i] = a.grid.value(k)
			default:
				values[i] = a.lo
			}
		}
		if p := s.point(values, categories); s.satisfied(values) && s.excluding(p) == nil {
			list = append(list, p)
		}
	}
	return list, true
}
