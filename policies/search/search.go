// Package search finds the composition that minimizes an acquisition.
//
// [Minimize] is for one composition, [MinimizePair] for two to be compared. Both choose by the
// kind of space: a finite one is tried whole; one with discrete parameters by walks from value
// to value (mixed.go, mixed_pair.go); a continuous one by local searches in its convex pieces.
// The returned composition can be made, and the value is that at the returned point, not at the
// relaxed one.
package search

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/num/optimize"
	"github.com/campaignd/campaignd/policies/next"
	"github.com/campaignd/campaignd/projections/space"
)

// Result is the composition that was found.
type Result struct {
	// Point is the composition, feasible exactly; X is the same in the unit
	// cube and Value the acquisition there.
	Point definition.Point
	X     []float64
	Value float64
}

// Effort of a search in a space whose parameters are all continuous.
const (
	screened = 256 // starts that are evaluated
	searched = 6   // starts of local searches over all cells, at least two in each
	maxCells = 32  // convex pieces a space is cut into
)

var (
	// ErrUndefined means that the acquisition is defined nowhere.
	ErrUndefined = errors.New("search: the acquisition is not defined at any composition")
	// ErrExhausted means that every composition of a list is to be skipped.
	ErrExhausted = errors.New("search: every composition of the list has been taken")
)

// Minimize returns the feasible composition with the smallest acquisition it finds: by trying
// all of a finite space; where all parameters are continuous, by local searches whose results
// are snapped to compositions that can be made; where some are discrete, by searches of the
// continuous ones and walks over neighbors in the discrete ones, so that points between two
// values do not count. Further starts, besides those the seed gives, are searched as well. In a
// finite space compositions whose [space.Space.Key] is in skip are left out. It is
// deterministic in its arguments; a cancelled context is an error. A result of the relaxed
// space counts only after it was snapped, at the value it then has: the best relaxed point may
// snap to a worse composition than the second best.
func Minimize(
	ctx context.Context,
	sp *space.Space,
	f next.Acquisition,
	seed uint64,
	further [][]float64,
	skip map[string]bool,
) (Result, error) {
	return MinimizeWith(ctx, sp, f, Effort{}, seed, further, skip)
}

// Effort is that of a search. The zero value is that of [Minimize].
type Effort struct {
	// Screen is a coarser acquisition by which starts are compared, where the other
	// takes long to evaluate; they are then chosen by rank and distance. Nil: they
	// are compared by the acquisition itself.
	Screen next.Acquisition
	// Searches is the number of local searches in a space whose parameters are all continuous,
	// over all its pieces. 0: 6.
	Searches int
}

// MinimizeWith is [Minimize] with an effort.
func MinimizeWith(
	ctx context.Context,
	sp *space.Space,
	f next.Acquisition,
	effort Effort,
	seed uint64,
	further [][]float64,
	skip map[string]bool,
) (Result, error) {
	if points, ok := sp.Finite(); ok {
		return enumerate(ctx, sp, f, points, skip)
	}
	if isMixed(sp) {
		best, err := newMixed(ctx, sp, f, effort.Screen).minimize(seed, further)
		if err != nil {
			return Result{}, err
		}
		return snap(sp, f, best.x)
	}
	cells, _, err := sp.Cells(maxCells)
	if err != nil {
		return Result{}, err
	}
	starts, err := sp.Starts(screened, seed)
	if err != nil {
		return Result{}, err
	}
	starts = append(starts, further...)
	best := Result{Value: math.Inf(1)}
	for _, cell := range cells {
		found, err := optimize.MultiStart(ctx, optimize.Func(f), cell, starts, optimize.MultiStartConfig{
			Searches: max(2, cmp.Or(effort.Searches, searched)/len(cells)), Seed: seed,
			Screen: optimize.Func(effort.Screen),

			Local: optimize.Config{FTol: 1e-9},
		})
		// No search could begin in this piece; another may have a result.
		if errors.Is(err, optimize.ErrStart) {
			continue
		}
		if err != nil {
			return Result{}, err
		}
		r, err := snap(sp, f, found.X)
		if err != nil {
			return Result{}, err
		}
		if r.Value < best.Value {
			best = r
		}
	}
	if best.Point == nil {
		return Result{}, ErrUndefined
	}
	return best, nil
}

// enumerate tries every composition of a finite space. Equal values leave the
// first in place. ErrExhausted tells a list that is used up from an acquisition
// without values. Composition by composition in the order of the list, which
// decides ties.
func enumerate(
	ctx context.Context,
	sp *space.Space,
	f next.Acquisition,
	points []definition.Point,
	skip map[string]bool,
) (Result, error) {
	best := Result{Value: math.Inf(1)}
	skipped := 0
	for i, point := range points {
		if err := ctx.Err(); err != nil {
			return Result{}, fmt.Errorf(
				"search cancelled after %d of %d compositions: %w",
				i,
				len(points),
				context.Cause(ctx),
			)
		}
		if len(skip) > 0 {
			key, err := sp.Key(point)
			if err != nil {
				return Result{}, err
			}
			if skip[key] {
				skipped++
				continue
			}
		}
		x, err := sp.Encode(point)
		if err != nil {
			return Result{}, err
		}
		if value := f(x, nil); value < best.Value {
			best = Result{Point: point, X: x, Value: value}
		}
	}
	switch {
	case best.Point != nil:
		return best, nil
	case skipped == len(points):
		return Result{}, ErrExhausted
	}
	return Result{}, ErrUndefined
}

// snap takes a point of the relaxed space to the nearest composition. The value
// is evaluated again there, and may be NaN. The point of the cube is that of
// the composition, not the one it came from: they differ by up to half a step.
func snap(sp *space.Space, f next.Acquisition, x []float64) (Result, error) {
	point, err := sp.Snap(x)
	if err != nil {
		return Result{}, err
	}
	u, err := sp.Encode(point)
	if err != nil {
		return Result{}, err
	}
	return Result{Point: point, X: u, Value: f(u, nil)}, nil
}
