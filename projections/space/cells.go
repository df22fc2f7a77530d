package space

import (
	"errors"

	"github.com/campaignd/campaignd/internal/num/optimize"
)

// Cells cuts the relaxed space into disjoint convex pieces on which nothing but
// discrete values and dosing steps is relaxed: each combination of categories
// is a piece of its own, and excluded regions are cut out. A search that covers
// all cells needs neither penalties nor luck: its optimum is outside every
// excluded region, and a category is pure.
//
// Where there would be more than limit pieces, whole is true and the only cell
// is [Space.Region]; a search there may end in an excluded region or between
// categories, and [Space.Snap] takes it to the nearest composition. Cells are
// in a fixed order. A list of candidates has one cell, the relaxed space.
//
// Regions come first and categories after, so that a region which fixes a
// category cuts only that one. Pieces without any composition are left out.
// Regions are cut one after the other out of what the earlier ones have left;
// counting as it goes, it stops before a definition with many of them costs
// more than it could bring.
func (s *Space) Cells(limit int) (cells []*optimize.Region, whole bool, err error) {
	relaxed := []*optimize.Region{s.relaxed}
	if s.listed {
		return relaxed, true, nil
	}
	pieces := []cell{s.whole()}
	for i := range s.regions {
		var next []cell
		for _, c := range pieces {
			next = append(next, s.outside(c, &s.regions[i])...)
		}
		if pieces = next; len(pieces) > limit {
			return relaxed, true, nil
		}
	}
	for i := range s.axes {
		if !s.axes[i].categorical() {
			continue
		}
		var next []cell
		for _, c := range pieces {
			for j, allowed := range c.allowed[i] {
				if !allowed {
					continue
				}
				// A cell of several categories would be their convex hull, in
				// which points between two categories lie that cannot be made.
				only := c.clone()
				clear(only.allowed[i])
				only.allowed[i][j] = true
				next = append(next, only)
			}
		}
		if pieces = next; len(pieces) > limit {
			return relaxed, true, nil
		}
	}
	for _, c := range pieces {
		region, err := optimize.NewRegion(s.cellPolytope(c))
		var infeasible *optimize.InfeasibleError
		// A combination of categories, or a side of a region, that the
		// constraints leave nothing of.
		if errors.As(err, &infeasible) {
			continue
		}
		if err != nil {
			return nil, false, err
		}
		cells = append(cells, region)
	}
	return cells, false, nil
}

// cellPolytope is the polytope of a cell in which each categorical axis has one
// category left. Its coordinates of categories are fixed by bounds, which the
// equation of a one-hot axis then only repeats.
func (s *Space) cellPolytope(c cell) optimize.Polytope {
	p := s.relax()
	for i := range s.axes {
		a := &s.axes[i]
		if !a.categorical() {
			p.Lower[a.at], p.Upper[a.at] = a.encode(c.lo[i]), a.encode(c.hi[i])
			continue
		}
		for j, allowed := range c.allowed[i] {
			if allowed {
				copy(p.Lower[a.at:], a.codes[j])
				copy(p.Upper[a.at:], a.codes[j])
			}
		}
	}
	return p
}
