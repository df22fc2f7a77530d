package space

import (
	"slices"

	"github.com/campaignd/campaignd/events/definition"
)

// cover keeps the categories that a design does not hold yet. A nil cover asks for none. All
// methods accept a nil cover, for which nothing is due.
type cover struct {
	s       *Space
	missing map[int][]int // by categorical axis, in their order
}

// newCover has every category missing.
func newCover(s *Space) *cover {
	c := &cover{s: s, missing: map[int][]int{}}
	for i := range s.axes {
		for k := range s.axes[i].categories {
			c.missing[i] = append(c.missing[i], k)
		}
	}
	return c
}

// due returns the axes, in order, each of whose missing categories needs a
// point of its own, all that are left: every further point has to bring one.
// Until then a design goes where it fills the space best: categories that come
// by themselves cost nothing.
func (c *cover) due(left int) (axes []int) {
	if c == nil {
		return nil
	}
	for i := range c.s.axes {
		if n := len(c.missing[i]); n > 0 && n >= left {
			axes = append(axes, i)
		}
	}
	return axes
}

// brings counts the axes among those given whose category in an encoded composition is missing so
// far.
func (c *cover) brings(x []float64, axes []int) (n int) {
	for _, i := range axes {
		if slices.Contains(c.missing[i], c.s.axes[i].coded(x)) {
			n++
		}
	}
	return n
}

// bend returns a composition of a space without constraints with a missing
// category of each axis that is due. It changes p. Numbers stay as they are, so
// that they go on filling the space.
func (c *cover) bend(p definition.Point, left int) definition.Point {
	for _, i := range c.due(left) {
		a := &c.s.axes[i]
		missing := func(k int) bool { return p[a.name] == definition.Category(a.categories[k]) }
		if !slices.ContainsFunc(c.missing[i], missing) {
			p[a.name] = definition.Category(a.categories[c.missing[i][0]])
		}
	}
	return p
}

// take notes the categories of an encoded composition that the design holds
// now.
func (c *cover) take(x []float64) {
	if c == nil {
		return
	}
	for i := range c.missing {
		k := c.s.axes[i].coded(x)
		c.missing[i] = slices.DeleteFunc(c.missing[i], func(other int) bool { return other == k })
	}
}

// coded returns the index of the category that encoded coordinates of a composition have. It
// compares bits, for encoded coordinates come from the codes themselves; −1 for anything else.
func (a *axis) coded(x []float64) int {
	return slices.IndexFunc(a.codes,
		func(code []float64) bool { return slices.Equal(code, x[a.at:a.at+a.width]) })
}
