package space

import (
	"math"
	"math/rand/v2"
)

// blockedLevels returns the levels lo … hi of the k-th single axis that lie in
// the region, the rest of the state being as it is. A walker that moves along
// that axis skips them, in place of trying and refusing. false where another
// side of the region does not hold: then no level of this axis is in it.
func (w *walk) blockedLevels(r *region, st state, k int) (lo, hi int, ok bool) {
	axis := w.single[k]
	lo, hi = 0, w.space.axes[axis].levels()-1
	for _, d := range r.sides {
		if d.axis != axis {
			if !w.sideHolds(d, st) {
				return 0, 0, false
			}
			continue
		}
		if d.category >= 0 {
			lo, hi = d.category, d.category
			continue
		}
		g := w.space.axes[axis].grid
		lo, hi = g.ceil(d.min), g.floor(d.max)
	}
	return lo, hi, lo <= hi
}

// blockedChord returns the interval of t in which st.u + t·direction lies in
// the region. The margin makes it a little too wide, so that rounding never
// lands on a boundary, which is excluded. Along a line a box is one interval,
// the intersection of those of its sides.
func (w *walk) blockedChord(r *region, st state, direction []float64) (from, to float64, ok bool) {
	from, to = math.Inf(-1), math.Inf(1)
	for _, d := range r.sides {
		k := w.place(d.axis)
		if k < 0 {
			if !w.sideHolds(d, st) {
				return 0, 0, false
			}
			continue
		}
		a := &w.space.axes[d.axis]
		lo, hi := a.encode(d.min)-margin, a.encode(d.max)+margin
		switch v, u := direction[k], st.u[k]; {
		case v > 0:
			from, to = max(from, (lo-u)/v), min(to, (hi-u)/v)
		case v < 0:
			from, to = max(from, (hi-u)/v), min(to, (lo-u)/v)
		case u < lo || u > hi:
			return 0, 0, false
		}
	}
	return from, to, from < to
}

// sideHolds reports whether the walker is within a side. A coupled axis is
// decoded to the user's units, in which the side is given.
func (w *walk) sideHolds(d side, st state) bool {
	if k := w.place(d.axis); k >= 0 {
		x := w.space.axes[d.axis].decode(st.u[k])
		return x >= d.min && x <= d.max
	}
	for k, i := range w.single {
		if i != d.axis {
			continue
		}
		if d.category >= 0 {
			return st.index[k] == d.category
		}
		x := w.space.axes[i].grid.value(st.index[k])
		return x >= d.min && x <= d.max
	}
	return false
}

// excludes reports whether the walker is in an excluded region.
func (w *walk) excludes(st state) bool {
	for i := range w.space.regions {
		all := true
		for _, d := range w.space.regions[i].sides {
			all = all && w.sideHolds(d, st)
		}
		if all {
			return true
		}
	}
	return false
}

// span is an interval.
type span struct{ lo, hi float64 }

// cut removes [lo, hi] from a list of disjoint intervals. What only touches an
// interval takes nothing from it. The order stays, and the pieces are disjoint.
func cut(spans []span, lo, hi float64) []span {
	var rest []span
	for _, p := range spans {
		if hi <= p.lo || lo >= p.hi {
			rest = append(rest, p)
			continue
		}
		if p.lo < lo {
			rest = append(rest, span{p.lo, lo})
		}
		if hi < p.hi {
			rest = append(rest, span{hi, p.hi})
		}
	}
	return rest
}

// pick draws a point uniformly from a list of intervals, each without its upper
// end; ok is false if they have no length. By length, so that the draw is
// uniform over all of them together.
func pick(spans []span, rng *rand.Rand) (t float64, ok bool) {
	var total float64
	for _, p := range spans {
		total += p.hi - p.lo
	}
	if !(total > 0) {
		return 0, false
	}
	t = rng.Float64() * total
	in := 0
	for in < len(spans)-1 && t >= spans[in].hi-spans[in].lo {
		t -= spans[in].hi - spans[in].lo
		in++
	}
	// Rounding may carry the sum to the upper end, where an excluded interval begins.
	return min(spans[in].lo+t, math.Nextafter(spans[in].hi, spans[in].lo)), true
}
