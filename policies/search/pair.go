package search

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/num/optimize"
	"github.com/campaignd/campaignd/projections/space"
)

// PairAcquisition is a function of two points of the unit cube, whose minimum
// is the pair to compare. Where gradX and gradY are not nil they are filled
// with the gradient.
type PairAcquisition func(x, y, gradX, gradY []float64) float64

// Effort of a search for a pair. One point that is far better than the other
// leaves the acquisition flat in the other, so that searches from random pairs
// end in the wrong place: the starts are pairs of points that are good by
// themselves.
const (
	pairScreened = 1024 // points that are screened
	pairBest     = 32   // all pairs of them are starts
	pairSearched = 16   // local searches
	pairRounds   = 3    // alternations in a space that is not convex
)

// MinimizePair returns the pair of distinct feasible compositions with the
// smallest acquisition that it finds. screen is the value of a single point,
// smaller is better; it chooses the starts. further are points to start from
// besides the space-filling ones. It is deterministic in its arguments; a
// cancelled context is an error.
func MinimizePair(
	ctx context.Context,
	sp *space.Space,
	f PairAcquisition,
	screen func(x []float64) float64,
	seed uint64,
	further [][]float64,
) (first, second Result, err error) {
	starts, err := pairStarts(sp, screen, seed, further)
	if err != nil {
		return Result{}, Result{}, err
	}
	if _, finite := sp.Finite(); finite {
		return bestPair(sp, f, starts)
	}
	if isMixed(sp) {
		return mixedPair(ctx, sp, f, starts, seed)
	}
	cells, whole, err := sp.Cells(maxCells)
	if err != nil {
		return Result{}, Result{}, err
	}
	if whole && len(cells) == 1 {
		return jointly(ctx, sp, f, starts, seed)
	}
	return alternately(ctx, sp, f, starts, seed)
}

// pairStarts returns the points with the smallest screen, in that order. In a
// finite space these are the only compositions that pairs are made of. The best
// points by themselves, 32 of them, make 496 pairs: few enough to evaluate all.
func pairStarts(
	sp *space.Space,
	screen func(x []float64) float64,
	seed uint64,
	further [][]float64,
) ([][]float64, error) {
	var points [][]float64
	if list, finite := sp.Finite(); finite {
		for _, p := range list {
			x, err := sp.Encode(p)
			if err != nil {
				return nil, err
			}
			points = append(points, x)
		}
	} else {
		var err error
		if points, err = sp.Starts(pairScreened, seed); err != nil {
			return nil, err
		}
		points = append(points, further...)
	}
	type scored struct {
		x     []float64
		value float64
	}
	all := make([]scored, 0, len(points))
	for _, x := range points {
		if value := screen(x); !math.IsNaN(value) {
			all = append(all, scored{x, value})
		}
	}
	slices.SortStableFunc(all, func(a, b scored) int { return cmp.Compare(a.value, b.value) })
	var best [][]float64
	for _, s := range all {
		if len(best) == pairBest {
			break
		}
		if !slices.ContainsFunc(best, func(x []float64) bool { return slices.Equal(x, s.x) }) {
			best = append(best, s.x)
		}
	}
	return best, nil
}

// bestPair tries all pairs of points, which are compositions of a finite space. Pairs without a
// value (NaN) lose every comparison. All are tried, since they are few; a search between the
// compositions of a list would be meaningless.
func bestPair(sp *space.Space, f PairAcquisition, points [][]float64) (first, second Result, err error) {
	value := math.Inf(1)
	for i, x := range points {
		for _, y := range points[:i] {
			if v := f(x, y, nil, nil); v < value {
				value = v
				first, second = Result{X: x, Value: v}, Result{X: y, Value: v}
			}
		}
	}
	if first.X == nil {
		return Result{}, Result{}, ErrUndefined
	}
	for _, r := range []*Result{&first, &second} {
		if r.Point, err = sp.Snap(r.X); err != nil {
			return Result{}, Result{}, err
		}
	}
	return first, second, nil
}

// jointly searches over both points at once, in the product of a convex space
// with itself. A product of convex spaces is convex, and one search moves both
// points along the acquisition's whole gradient. Both halves of the gradient
// are written in place.
func jointly(
	ctx context.Context,
	sp *space.Space,
	f PairAcquisition,
	starts [][]float64,
	seed uint64,
) (first, second Result, err error) {
	region, err := product(sp)
	if err != nil {
		return Result{}, Result{}, err
	}
	d := sp.Dim()
	both := func(z, grad []float64) float64 {
		if grad == nil {
			return f(z[:d], z[d:], nil, nil)
		}
		return f(z[:d], z[d:], grad[:d], grad[d:])
	}
	var pairs [][]float64
	for i, x := range starts {
		for _, y := range starts[:i] {
			pairs = append(pairs, append(slices.Clone(x), y...))
		}
	}
	found, err := optimize.MultiStart(
		ctx,
		both,
		region,
		pairs,
		optimize.MultiStartConfig{Searches: pairSearched, Seed: seed, Local: optimize.Config{FTol: 1e-9}},
	)
	if err != nil {
		return Result{}, Result{}, err
	}
	return snapPair(sp, f, found.X[:d], found.X[d:])
}

// product is the relaxed space times itself: a polytope of twice the dimension.
// Each constraint is there twice, once for the coordinates of each point; none
// binds the two together. It is made from the statement of the polytope, as the
// prepared region cannot be doubled.
func product(sp *space.Space) (*optimize.Region, error) {
	lower, upper, a, b, c, d := sp.Polytope()
	n := sp.Dim()
	twice := func(rows [][]float64) (blocks [][]float64) {
		for _, row := range rows {
			left, right := make([]float64, 2*n), make([]float64, 2*n)
			copy(left, row)
			copy(right[n:], row)
			blocks = append(blocks, left, right)
		}
		return blocks
	}
	sides := func(values []float64) (doubled []float64) {
		for _, v := range values {
			doubled = append(doubled, v, v)
		}
		return doubled
	}
	return optimize.NewRegion(optimize.Polytope{
		Lower: append(slices.Clone(lower), lower...), Upper: append(slices.Clone(upper), upper...),
		A: twice(a), B: sides(b), C: twice(c), D: sides(d),
	})
}

// alternately improves the points of the best pair one after the other, where the product of
// the space is not convex. Each round searches the whole space for the first point and then for
// the second, with the other fixed; the point's former place is one of the starts. Seeds differ
// between the turns, so that each search has other starts; equal states have equal ones.
func alternately(
	ctx context.Context,
	sp *space.Space,
	f PairAcquisition,
	starts [][]float64,
	seed uint64,
) (first, second Result, err error) {
	best := math.Inf(1)
	var x, y []float64
	for i, u := range starts {
		for _, v := range starts[:i] {
			if value := f(u, v, nil, nil); value < best {
				best = value
				x = u
				y = v
			}
		}
	}
	if x == nil {
		return Result{}, Result{}, ErrUndefined
	}
	for round := range pairRounds {
		scratch := make([]float64, sp.Dim())
		r, err := Minimize(
			ctx,
			sp,
			func(u, grad []float64) float64 { return f(u, y, grad, maybe(grad, scratch)) },
			seed+uint64(2*round),
			[][]float64{x},
			nil,
		)
		if err != nil {
			return Result{}, Result{}, err
		}
		x = r.X
		second := func(u, grad []float64) float64 { return f(x, u, maybe(grad, scratch), grad) }
		if r, err = Minimize(ctx, sp, second, seed+uint64(2*round)+1, [][]float64{y}, nil); err != nil {
			return Result{}, Result{}, err
		}
		y = r.X
	}
	return snapPair(sp, f, x, y)
}

// maybe passes the buffer on only where a gradient is wanted. The half of a
// gradient that is not wanted goes into a buffer. The acquisition fills both
// halves or none.
func maybe(grad, buffer []float64) []float64 {
	if grad == nil {
		return nil
	}
	return buffer
}

// snapPair takes both points to the nearest compositions and evaluates the pair
// there. Snapping may bring them closer; whether they still differ enough is
// for the caller to ask of [Near]. Both results have the value of the pair.
func snapPair(sp *space.Space, f PairAcquisition, x, y []float64) (first, second Result, err error) {
	points := [2]definition.Point{}
	encoded := [2][]float64{}
	for i, u := range [][]float64{x, y} {
		if points[i], err = sp.Snap(u); err != nil {
			return Result{}, Result{}, err
		}
		if encoded[i], err = sp.Encode(points[i]); err != nil {
			return Result{}, Result{}, err
		}
	}
	value := f(encoded[0], encoded[1], nil, nil)
	return Result{
			Point: points[0],
			X:     encoded[0],
			Value: value,
		}, Result{
			Point: points[1],
			X:     encoded[1],
			Value: value,
		}, nil
}

// sameWithin is the distance in the unit cube, in every coordinate, within which two
// compositions count as the same: no one can tell compositions apart that differ by less than a
// fiftieth of each range, and comparing them is pointless.
const sameWithin = 0.02

// Near reports whether two points of the unit cube are too close to be
// compared. Every coordinate has to be close, so that two categories, which
// differ by 1 where they are one-hot, never are.
func Near(x, y []float64) bool {
	for i := range x {
		if math.Abs(x[i]-y[i]) > sameWithin {
			return false
		}
	}
	return true
}
