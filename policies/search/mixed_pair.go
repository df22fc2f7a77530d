package search

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"

	"github.com/campaignd/campaignd/policies/next"
	"github.com/campaignd/campaignd/projections/space"
)

// Effort of a search for a pair in a mixed space.
const (
	pairsImproved = 16 // pairs that are improved by local searches
	mixedRounds   = 2  // times that each point of a pair is searched for, while the other stays
)

// pair is two compositions and the acquisition's value at them.
type pair struct {
	x     [2][]float64
	value float64
}

// mixedPair improves the best pairs of some points by local searches of one
// point at a time, and then the best pair by searches of the whole space. Each
// point is in one of those pairs only: pairs that share their good point would
// lead to the same result. Two points at once would square the number of
// neighbors of a walk; one at a time, in turns, costs twice one search.
func mixedPair(
	ctx context.Context, sp *space.Space, f PairAcquisition, points [][]float64, seed uint64,
) (first, second Result, err error) {
	// alternate improves one point after the other until neither improves. still
	// counts the points in a row that are known to stay while the other does;
	// one that was just searched for is the first of them. Every turn needs a
	// search of its own, since the acquisition of a point changes with the
	// other.
	alternate := func(p pair, improve func(m *mixed, from place, turn int) (place, error)) (pair, error) {
		for turn, still := 0, 0; turn < 2*mixedRounds && still < 2; turn++ {
			k := turn % 2
			m := newMixed(ctx, sp, sliceOf(f, p.x[1-k], k), nil)
			better, err := improve(m, place{p.x[k], p.value, true}, turn)
			if err != nil {
				return pair{}, err
			}
			if still++; better.value < p.value {
				p.x[k] = better.x
				p.value = better.value
				still = 1
			}
		}
		return p, nil
	}
	pairs, err := pairsOf(sp, f, points)
	if err != nil {
		return Result{}, Result{}, err
	}
	best := pair{value: math.Inf(1)}
	var used [][]float64
	for _, p := range pairs {
		taken := func(x []float64) bool { return slices.Equal(x, p.x[0]) || slices.Equal(x, p.x[1]) }
		if len(used) == 2*pairsImproved || slices.ContainsFunc(used, taken) {
			continue
		}
		used = append(used, p.x[0], p.x[1])
		p, err = alternate(p, func(m *mixed, from place, _ int) (place,
			error) {
			return m.improve(from, math.Inf(1))
		})
		if err != nil {
			return Result{}, Result{}, err
		}
		if p.value < best.value {
			best = p
		}
	}
	if best.x[0] == nil {
		return Result{}, Result{}, ErrUndefined
	}
	best, err = alternate(best, func(m *mixed, from place, turn int) (place, error) {
		return m.minimize(seed+uint64(turn), [][]float64{from.x})
	})
	if err != nil {
		return Result{}, Result{}, err
	}
	return snapPair(sp, f, best.x[0], best.x[1])
}

// pairsOf returns all pairs of the compositions nearest to some points, in
// order of value. Equal compositions count once, so that no pair compares one
// with itself. Pairs are in order of i and j before they are sorted, so that
// ties are decided by the order of the points.
func pairsOf(sp *space.Space, f PairAcquisition, points [][]float64) ([]pair, error) {
	var compositions [][]float64
	var undecided error // of a point that could not be snapped: no other is tried
	for _, x := range points {
		u, ok := sp.Round(x)
		if !ok && undecided != nil {
			continue
		}
		if !ok {
			p, err := sp.Snap(x)
			if errors.Is(err, space.ErrUndecided) {
				undecided = err
				continue
			}
			if err != nil {
				return nil, err
			}
			if u, err = sp.Encode(p); err != nil {
				return nil, err
			}
		}
		if !slices.ContainsFunc(compositions, func(x []float64) bool { return slices.Equal(x, u) }) {
			compositions = append(compositions, u)
		}
	}
	if len(compositions) < 2 && undecided != nil {
		return nil, undecided
	}
	var pairs []pair
	for i, x := range compositions {
		for _, y := range compositions[:i] {
			if value := f(x, y, nil, nil); !math.IsNaN(value) && !math.IsInf(value, 0) {
				pairs = append(pairs, pair{[2][]float64{x, y}, value})
			}
		}
	}
	slices.SortStableFunc(pairs, func(a, b pair) int { return cmp.Compare(a.value, b.value) })
	return pairs, nil
}

// sliceOf is the acquisition of one point, the first (which = 0) or the second, while the other
// is fixed. At the other one itself, to within a millionth of each range, it is +Inf: a pair is
// two compositions. It reuses one buffer, and is for one goroutine. A millionth is far below
// the distance that [Near] takes for equality, and only bars the pair of one composition with
// itself.
func sliceOf(f PairAcquisition, other []float64, which int) next.Acquisition {
	scratch := make([]float64, len(other))
	return func(x, grad []float64) float64 {
		apart := func(a, b float64) bool { return math.Abs(a-b) > 1e-6 }
		switch {
		case slices.EqualFunc(x, other, func(a, b float64) bool { return !apart(a, b) }):
			return math.Inf(1)
		case which == 0:
			return f(x, other, grad, maybe(grad, scratch))
		}
		return f(other, x, maybe(grad, scratch), grad)
	}
}
