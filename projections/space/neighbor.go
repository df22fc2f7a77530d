package space

import (
	"encoding/binary"
	"math"
	"slices"
)

const (
	// fewLevels is how many values or dosing steps a parameter may have for all
	// of them to be neighbors of each other.
	fewLevels = 8
	// neighborNodes limits the search for a neighbor that has to be searched
	// for.
	neighborNodes = 100
)

// Neighbors returns compositions, encoded, next to the one at x: in each the
// given parameter, by its place in [Space.Parameters], is another one: each
// other category, each of few values or dosing steps, of many those 1, 3, 9, …
// away, the first and the last. A continuous parameter has none. Where a
// constraint ties the parameter to another discrete one, that one makes up for
// the change in a further neighbor; continuous parameters follow to the nearest
// place that is feasible. Where none of this helps for a step to the next
// value, everything else follows, if that takes no long search. Neighbors
// differ from each other and come in a fixed order.
//
// A local search of mixed spaces (policies/search) goes from neighbor to
// neighbor: it needs those that constraints allow, and few of them.
func (s *Space) Neighbors(x []float64, parameter int) ([][]float64, error) {
	s.checkDim(x)
	n := neighbors{s: s, x: x, from: s.nearest(x), seen: map[string]bool{}}
	a := &s.axes[parameter]
	for _, level := range a.besides(n.from.level[parameter]) {
		p := n.put(parameter, level)
		some, err := n.add(p)
		if err != nil {
			return nil, err
		}
		if a.categorical() {
			continue
		}
		for _, q := range n.exchanges(parameter, p) {
			ok, err := n.add(q)
			if err != nil {
				return nil, err
			}
			some = some || ok
		}
		if from := n.from.level[parameter]; some || level < from-1 || level > from+1 {
			continue
		}
		c := s.whole()
		c.lo[parameter], c.hi[parameter] = p.values[parameter], p.values[parameter]
		if _, err := n.search(c); err != nil {
			return nil, err
		}
	}
	return n.found, nil
}

// besides returns the levels that are next to one. Strides of powers of three
// reach every value in a number of moves that grows with the logarithm of
// theirs.
func (a *axis) besides(level int) (levels []int) {
	switch {
	case a.categorical() || a.grid != nil && a.grid.len() <= fewLevels:
		for k := range a.levels() {
			if k != level {
				levels = append(levels, k)
			}
		}
	case a.grid != nil:
		last := a.grid.len() - 1
		for stride := 1; stride < last; stride *= 3 {
			if level-stride > 0 {
				levels = append(levels, level-stride)
			}
			if level+stride < last {
				levels = append(levels, level+stride)
			}
		}
		for _, end := range [2]int{0, last} {
			if level != end {
				levels = append(levels, end)
			}
		}
	}
	return levels
}

// neighbors collects the neighbors of a place. seen holds levels alone: the
// continuous parameters follow from them. x is where the walk stands, from the
// place nearest to it; the other parameters are kept near x.
type neighbors struct {
	s     *Space
	x     []float64
	from  place
	seen  map[string]bool // by levels: whether there is a composition
	found [][]float64
}

// put returns the place with an axis on another level.
func (n *neighbors) put(axis, level int) place {
	p := place{slices.Clone(n.from.values), slices.Clone(n.from.level)}
	n.s.put(p, axis, level)
	return p
}

// exchanges returns the places in which an axis is as in p, and another one
// that a constraint ties to it where the sum of the constraint stays as it is.
// A mixture that sums to 1 allows no change of one parameter alone: without the
// exchange a walk in it would stand still.
func (n *neighbors) exchanges(axis int, p place) (places []place) {
	s := n.s
	for i := range s.rows {
		r := &s.rows[i]
		at := slices.Index(r.axes, axis)
		if at < 0 {
			continue
		}
		change := r.coef[at] * (p.values[axis] - n.from.values[axis])
		for k, other := range r.axes {
			g := s.axes[other].grid
			if other == axis || g == nil || r.coef[k] == 0 {
				continue
			}
			if back := g.nearest(n.from.values[other] - change/r.coef[k]); back != n.from.level[other] {
				q := n.put(axis, p.level[axis])
				s.put(q, other, back)
				places = append(places, q)
			}
		}
	}
	return places
}

// add takes a place that is a composition, or becomes one when its continuous
// parameters follow. It reports whether there is such a composition, new or
// not. A place that is not allowed as it stands may be so once continuous
// parameters move, which is a search of its own.
func (n *neighbors) add(p place) (bool, error) {
	id := id(p)
	if ok, known := n.seen[id]; known {
		return ok, nil
	}
	if n.seen[id] = n.s.allows(p); n.seen[id] {
		n.found = append(n.found, n.s.encodePlace(p))
		return true, nil
	}
	if len(n.s.Continuous()) == 0 {
		return false, nil
	}
	return n.search(n.s.at(p, false))
}

// search takes the nearest composition of a cell. It reports whether there is
// one. Its nodes are few, since a neighbor that is hard to find is not worth the
// time. It starts the count of nodes near the limit of the space, which leaves
// it neighborNodes.
func (n *neighbors) search(c cell) (bool, error) {
	q := snapSearch{s: n.s, x: n.x, nodes: n.s.nodes - neighborNodes, least: math.Inf(1)}
	if err := q.descend(c); err != nil || q.best == nil {
		return false, err
	}
	x, err := n.s.Encode(q.best)
	if err != nil {
		return false, err
	}
	if id := id(n.s.nearest(x)); !n.seen[id] {
		n.seen[id] = true
		n.found = append(n.found, x)
	}
	return true, nil
}

// id is the same for places of the same levels. Categories and levels alone;
// four bytes hold any of them.
func id(p place) string {
	b := make([]byte, 0, 4*len(p.level))
	for _, k := range p.level {
		b = binary.LittleEndian.AppendUint32(b, uint32(k))
	}
	return string(b)
}
