package space

import (
	"fmt"
	"math"

	"github.com/campaignd/campaignd/events/definition"
)

// margin is how far outside an excluded region a continuous parameter is put,
// as a fraction of its range: regions are closed, so that their boundary is
// excluded too. It is far below what can be dosed and far above rounding, so
// that a snapped composition is outside by comparison of floats, too.
const margin = 1e-9

// region is an excluded box: every side holds inside it.
type region struct {
	name  string
	sides []side
}

// side restricts one axis: an interval, or one category. An end that is not
// given is infinite. Ends are in the user's units.
type side struct {
	axis     int
	min, max float64
	category int // -1 for an interval
}

// newRegion reads an excluded region. Sides are in the order of the parameters;
// parameters without a side are free in it. One without a name is called by its
// number, counted from 1 as in a file.
func (s *Space) newRegion(e definition.Region, index int) (region, error) {
	r := region{name: e.Name}
	if r.name == "" {
		r.name = fmt.Sprintf("number %d", index+1)
	}
	for i := range s.axes {
		a := &s.axes[i]
		given, ok := e.Where[a.name]
		if !ok {
			continue
		}
		d := side{axis: i, min: math.Inf(-1), max: math.Inf(1), category: -1}
		if a.categorical() {
			d.category = a.category(given.Is)
			if d.category < 0 {
				return r, fmt.Errorf("excluded region %s: %s has no category %q", r.name, a.name, given.Is)
			}
		}
		if given.Min != nil {
			d.min = *given.Min
		}
		if given.Max != nil {
			d.max = *given.Max
		}
		r.sides = append(r.sides, d)
	}
	if len(r.sides) != len(e.Where) || len(r.sides) == 0 {
		return r, fmt.Errorf("excluded region %s names a parameter that does not exist", r.name)
	}
	return r, nil
}

// describe names the region in messages.
func (r *region) describe() string { return fmt.Sprintf("the excluded region %q", r.name) }

// Excluded returns the name of the first excluded region that holds p, and
// whether there is one. Regions are closed: their boundary belongs to them.
func (s *Space) Excluded(p definition.Point) (name string, ok bool) {
	if r := s.excluding(p); r != nil {
		return r.name, true
	}
	return "", false
}

// excluding is the first region that holds p, nil where none does.
func (s *Space) excluding(p definition.Point) *region {
	for i := range s.regions {
		if r := &s.regions[i]; r.holds(s, p) {
			return r
		}
	}
	return nil
}

// holds reports whether every side does. Ends belong to the region. Compared in
// the user's units and without tolerance: a bound that a person wrote is
// excluded, the next value is not.
func (r *region) holds(s *Space, p definition.Point) bool {
	for _, d := range r.sides {
		v := p[s.axes[d.axis].name]
		if d.category >= 0 {
			if v.Name() != s.axes[d.axis].categories[d.category] {
				return false
			}
			continue
		}
		if x, ok := v.Float(); !ok || x < d.min || x > d.max {
			return false
		}
	}
	return true
}

// cell is a part of the space: an interval for each numeric axis and a set of
// categories for each categorical one, both by axis. On an axis with a grid the
// ends are values of the grid. Cells are values: what restricts one returns a
// copy that shares nothing with it.
type cell struct {
	lo, hi  []float64
	allowed [][]bool
}

// whole returns the cell that is the whole space.
func (s *Space) whole() cell {
	c := cell{lo: make([]float64, len(s.axes)), hi: make([]float64, len(s.axes)),
		allowed: make([][]bool, len(s.axes))}
	for i := range s.axes {
		a := &s.axes[i]
		if !a.categorical() {
			c.lo[i], c.hi[i] = a.first(), a.last()
			continue
		}
		c.allowed[i] = make([]bool, len(a.categories))
		for j := range c.allowed[i] {
			c.allowed[i][j] = true
		}
	}
	return c
}

// clone shares nothing with c.
func (c cell) clone() cell {
	d := cell{lo: append([]float64(nil), c.lo...), hi: append([]float64(nil), c.hi...),
		allowed: make([][]bool, len(c.allowed))}
	for i, a := range c.allowed {
		d.allowed[i] = append([]bool(nil), a...)
	}
	return d
}

// empty says whether an axis has nothing left. Ends in the wrong order are how
// an axis says so.
func (c cell) empty() bool {
	for i := range c.lo {
		if c.lo[i] > c.hi[i] {
			return true
		}
		if c.allowed[i] != nil && !anyTrue(c.allowed[i]) {
			return true
		}
	}
	return false
}

// anyTrue reports whether some value is true.
func anyTrue(list []bool) bool {
	for _, v := range list {
		if v {
			return true
		}
	}
	return false
}

// below and above restrict one numeric axis of a copy of c to values less than,
// or greater than, x; on a continuous axis by at least margin. On a grid the
// end is the next value inside, so that no margin is needed.
func (c cell) below(i int, a *axis, x float64) cell {
	c = c.clone()
	if g := a.grid; g != nil {
		if k := g.ceil(x) - 1; k >= 0 {
			c.hi[i] = min(c.hi[i], g.value(k))
		} else {
			c.hi[i] = math.Inf(-1)
		}
		return c
	}
	c.hi[i] = min(c.hi[i], x-margin*a.scale)
	return c
}

// above is the other half of below.
func (c cell) above(i int, a *axis, x float64) cell {
	c = c.clone()
	if g := a.grid; g != nil {
		if k := g.floor(x) + 1; k < g.len() {
			c.lo[i] = max(c.lo[i], g.value(k))
		} else {
			c.lo[i] = math.Inf(1)
		}
		return c
	}
	c.lo[i] = max(c.lo[i], x+margin*a.scale)
	return c
}

// outside returns disjoint parts of c that together are c without the region:
// for each side in turn, what violates that side and satisfies the ones before.
// The order of the sides is the definition's, and so is that of the parts.
// Parts that are disjoint can be searched and counted one by one; with several
// regions the parts of each are cut by the next.
func (s *Space) outside(c cell, r *region) []cell {
	var parts []cell
	keep := func(part cell) {
		if !part.empty() {
			parts = append(parts, part)
		}
	}
	for _, d := range r.sides {
		if d.category >= 0 {
			without := c.clone()
			without.allowed[d.axis][d.category] = false
			keep(without)
			only := c.clone()
			for j := range only.allowed[d.axis] {
				only.allowed[d.axis][j] = j == d.category && c.allowed[d.axis][j]
			}
			c = only
			continue
		}
		if !math.IsInf(d.min, 0) {
			keep(c.below(d.axis, &s.axes[d.axis], d.min))
		}
		if !math.IsInf(d.max, 0) {
			keep(c.above(d.axis, &s.axes[d.axis], d.max))
		}
		c = c.within(d, &s.axes[d.axis])
	}
	return parts
}

// within restricts c to an interval side. An interval without a value of the
// grid leaves the axis empty, by ends in the wrong order.
func (c cell) within(d side, a *axis) cell {
	c = c.clone()
	c.lo[d.axis], c.hi[d.axis] = max(c.lo[d.axis], d.min), min(c.hi[d.axis], d.max)
	if g := a.grid; g != nil && c.lo[d.axis] <= c.hi[d.axis] {
		lo, hi := g.ceil(c.lo[d.axis]), g.floor(c.hi[d.axis])
		if lo > hi {
			c.lo[d.axis], c.hi[d.axis] = math.Inf(1), math.Inf(-1)
		} else {
			c.lo[d.axis], c.hi[d.axis] = g.value(lo), g.value(hi)
		}
	}
	return c
}
