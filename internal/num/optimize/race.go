package optimize

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
)

// RaceConfig tunes a race. The zero value means the defaults.
type RaceConfig struct {
	// Searches is the number of local searches that set out; default 16.
	Searches int
	// Round is the number of iterations after which searches are compared;
	// default 5.
	Round int
	// Keep is the share of the searches that go on after a round; default 0.6.
	// Two always do.
	Keep float64
	// Distance is how far two points are from each other; default the greatest
	// difference of a coordinate.
	Distance func(x, y []float64) float64
	// Apart is the least distance of the starts that are searched from, Same
	// that of searches that are taken to lead to different minima.
	Apart, Same float64
	// Always is the number of starts, the first ones, that are searched from
	// wherever they lie.
	Always int
	// Local tunes the local searches.
	Local Config
}

// Race evaluates f at every start, searches from the best of them that lie
// apart, and gives up searches on the way: after each round the worse ones, by
// their value so far, and those that have come to where a better one is. It
// spends on many basins what MultiStart spends on few. Giving up the worse part
// again and again is successive halving (Jamieson and Talwalkar 2016). Nothing
// is drawn; equal values are decided for the earlier start. The result is never
// worse than any start.
//
// It fails as MultiStart does. Starts have to lie in the region.
func Race(
	ctx context.Context, f Func, region *Region, starts [][]float64, cfg RaceConfig,
) (MultiStartResult, error) {
	cfg = cfg.withDefaults()
	var out MultiStartResult
	type candidate struct {
		start int
		value float64
	}
	var candidates []candidate
	for i, x := range starts {
		if err := ctx.Err(); err != nil {
			return MultiStartResult{}, fmt.Errorf("search cancelled after %d of %d starts: %w",
				i, len(starts), context.Cause(ctx))
		}
		out.Evaluations++
		if v := f(x, nil); !math.IsNaN(v) && !math.IsInf(v, 0) {
			candidates = append(candidates, candidate{i, v})
		}
	}
	out.Screened = len(candidates)
	if out.Screened == 0 {
		return MultiStartResult{}, fmt.Errorf("%w: tried %d starts", ErrStart, len(starts))
	}
	always := func(c candidate) int {
		if c.start < cfg.Always {
			return 0
		}
		return 1
	}
	best := slices.MinFunc(candidates,
		func(a, b candidate) int { return cmp.Compare(a.value, b.value) })
	slices.SortStableFunc(candidates, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(always(a), always(b)), cmp.Compare(a.value, b.value))
	})

	// A search and the index of its start.
	type runner struct {
		*Search
		start int
	}
	var all []runner
	for _, c := range candidates {
		near := func(i int) bool { return cfg.Distance(starts[i], starts[c.start]) < cfg.Apart }
		if c != best && always(c) > 0 &&
			(len(all) >= cfg.Searches || slices.ContainsFunc(out.Searched, near)) {
			continue
		}
		s, err := NewSearch(f, region, starts[c.start], cfg.Local)
		switch {
		case ctx.Err() != nil:
			return MultiStartResult{}, fmt.Errorf("search cancelled: %w", context.Cause(ctx))
		case err != nil:
			continue // its gradient is not finite
		}
		all = append(all, runner{s, c.start})
		out.Searched = append(out.Searched, c.start)
	}
	if len(all) == 0 {
		return MultiStartResult{}, fmt.Errorf("%w: tried %d starts", ErrStart, len(starts))
	}

	byValue := func(a, b runner) int { return cmp.Compare(a.Value(), b.Value()) }
	for racing := slices.Clone(all); ; {
		for _, r := range racing {
			if err := r.Advance(ctx, cfg.Round); err != nil {
				return MultiStartResult{}, fmt.Errorf("search from start %d: %w", r.start, err)
			}
		}
		slices.SortStableFunc(racing, byValue)
		most := max(2, int(math.Ceil(cfg.Keep*float64(len(racing)))))
		var on []runner
		for _, r := range racing {
			here := func(better runner) bool { return cfg.Distance(better.Point(), r.Point()) < cfg.Same }
			if len(on) < most && !slices.ContainsFunc(on, here) {
				on = append(on, r)
			}
		}
		racing = on
		if !slices.ContainsFunc(racing, func(r runner) bool { return !r.Ended() }) {
			break
		}
	}

	winner := slices.MinFunc(all, byValue)
	evaluations := out.Evaluations
	out.Result, out.Start = winner.Result(), winner.start
	out.Iterations, out.Evaluations = 0, evaluations
	for _, r := range all {
		out.Iterations += r.did
		out.Evaluations += r.m.evals
	}
	return out, nil
}

// withDefaults replaces zeros. Apart and Same have no default: with 0 no distance is too small.
func (c RaceConfig) withDefaults() RaceConfig {
	if c.Searches == 0 {
		c.Searches = 16
	}
	if c.Round == 0 {
		c.Round = 5
	}
	if c.Keep == 0 {
		c.Keep = 0.6
	}
	if c.Distance == nil {
		c.Distance = func(x, y []float64) (worst float64) {
			for j := range x {
				worst = max(worst, math.Abs(x[j]-y[j]))
			}
			return worst
		}
	}
	return c
}
