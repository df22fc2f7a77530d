package search

import (
	"context"

	"github.com/campaignd/campaignd/policies/next"
	"github.com/campaignd/campaignd/projections/space"
)

// MinimizeAtTarget is [MinimizeWith] over the compositions of a space whose experiments differ
// in fidelity, at the target; ways is nil where they do not. Starts are points of its cube, and
// the compositions to skip are its compositions.
func MinimizeAtTarget(
	ctx context.Context, ways *space.Fidelity, sp *space.Space, f next.Acquisition, effort Effort, seed uint64,
	starts [][]float64, skip map[string]bool,
) (Result, error) {
	if ways == nil {
		return MinimizeWith(ctx, sp, f, effort, seed, starts, skip)
	}
	within := make([][]float64, len(starts))
	for i, x := range starts {
		within[i] = ways.Drop(x)
	}
	left := make(map[string]bool)
	if points, ok := ways.Compositions.Finite(); ok && len(skip) > 0 {
		for _, p := range points {
			whole, err := sp.Key(ways.Point(p, ways.Target()))
			if err != nil {
				return Result{}, err
			}
			key, err := ways.Compositions.Key(p)
			if err != nil {
				return Result{}, err
			}
			left[key] = skip[whole]
		}
	}
	effort.Screen = lowered(ways, effort.Screen)
	r, err := MinimizeWith(ctx, ways.Compositions, lowered(ways, f), effort, seed, within, left)
	if err != nil {
		return r, err
	}
	r.X, r.Point = ways.Join(r.X, ways.Target()), ways.Point(r.Point, ways.Target())
	return r, nil
}

// lowered is an acquisition at the target as a function of the composition alone; nil
// stays nil.
func lowered(ways *space.Fidelity, f next.Acquisition) next.Acquisition {
	if f == nil {
		return nil
	}
	at, width := ways.Coordinates()
	var slope []float64
	return func(x, grad []float64) float64 {
		whole := ways.Join(x, ways.Target())
		if grad == nil {
			return f(whole, nil)
		}
		slope = append(slope[:0], whole...)
		value := f(whole, slope)
		copy(grad, slope[:at])
		copy(grad[at:], slope[at+width:])
		return value
	}
}
