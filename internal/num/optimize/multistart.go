package optimize

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
)

// MultiStartConfig tunes a global search. The zero value means the defaults.
type MultiStartConfig struct {
	// Searches is the number of local searches; default 10, at most the number
	// of usable starts.
	Searches int
	// Seed decides which starts are searched from.
	Seed uint64
	// Screen is a coarser f by which starts are compared, where evaluating f at
	// all of them would take too long; they are then chosen by rank and distance,
	// since its values may span thousands. Nil: f itself.
	Screen Func
	// Eta is the inverse temperature of the choice, in standard deviations of f
	// over the starts; default 1.
	Eta float64
	// Local tunes the local searches.
	Local Config
}

// MultiStartResult is the best local result, with the cost of the whole search.
type MultiStartResult struct {
	Result
	// Start is the index of the start that led to the result.
	Start int
	// Searched holds the indices of the starts that were searched from, in
	// order.
	Searched []int
	// Screened is the number of starts at which f was defined.
	Screened int
}

// MultiStart evaluates f at every start, chooses some of them, searches from
// each and returns the best result; equal results are decided for the earlier
// start. The best start is always chosen; the others are drawn without
// replacement with probability ∝ exp(−η·(f − mean)/sd), as BoTorch's
// initialize_q_batch does (Balandat et al. 2020). Starts outside the region are
// projected on it. The result is never worse than any start.
//
// It fails with ErrStart if f is finite at no start, and with the context's
// error, wrapped, if it is cancelled: never with a shorter search. Screening
// costs one value each and no gradient. With a Screen the result may be worse than
// a start that was not chosen.
func MultiStart(
	ctx context.Context, f Func, region *Region, starts [][]float64, cfg MultiStartConfig,
) (MultiStartResult, error) {
	if cfg.Searches == 0 {
		cfg.Searches = 10
	}
	if cfg.Eta == 0 {
		cfg.Eta = 1
	}
	m := newMinimizer(f, region, cfg.Local)
	screen := cfg.Screen
	if screen == nil {
		screen = f
	}

	points := make([][]float64, len(starts))
	values := make([]float64, len(starts))
	var out MultiStartResult
	evals := 0
	for i, x := range starts {
		if err := ctx.Err(); err != nil {
			return MultiStartResult{}, fmt.Errorf("search cancelled after %d of %d starts: %w",
				i, len(starts), context.Cause(ctx))
		}
		points[i], values[i] = x, math.Inf(1)
		if !(region.Violation(x) <= 0) {
			points[i] = make([]float64, region.n)
			if err := region.Project(points[i], x); err != nil {
				return MultiStartResult{}, fmt.Errorf("start %d: %w", i, err)
			}
		}
		if v := screen(points[i], nil); !math.IsNaN(v) && !math.IsInf(v, 0) {
			values[i] = v
			out.Screened++
		}
		evals++
	}
	if out.Screened == 0 {
		return MultiStartResult{}, fmt.Errorf("%w: tried %d starts", ErrStart, len(starts))
	}

	if cfg.Screen != nil {
		out.Searched = apart(points, values, min(cfg.Searches, out.Screened))
	} else {
		out.Searched = boltzmann(values, min(cfg.Searches, out.Screened), cfg.Eta, cfg.Seed)
	}
	out.F = math.Inf(1)
	iterations := 0
	for _, i := range out.Searched {
		r, err := m.run(ctx, points[i])
		if err != nil {
			return MultiStartResult{}, fmt.Errorf("search from start %d: %w", i, err)
		}
		iterations += r.Iterations
		evals += r.Evaluations
		if r.F < out.F {
			out.Result, out.Start = r, i
		}
	}
	out.Iterations, out.Evaluations = iterations, evals
	return out, nil
}

// reach is how far apart starts are that are chosen by rank and distance: the root
// mean square of the differences of their coordinates.
const reach = 0.2

// apart returns up to k of the points with a finite value, as indices: see [Apart].
func apart(points [][]float64, values []float64, k int) (chosen []int) {
	var order []int
	for i, v := range values {
		if !math.IsInf(v, 0) {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(values[a], values[b]) })
	ordered := make([][]float64, len(order))
	for rank, i := range order {
		ordered[rank] = points[i]
	}
	for _, rank := range Apart(ordered, k, reach) {
		chosen = append(chosen, order[rank])
	}
	return chosen
}

// Apart returns up to k of some points, the best first, as indices, the first
// among them: each as far apart from those before it as the reach, the root mean
// square of the differences of their coordinates, or half of it as often as is
// needed to find k. Halving ends at 1e-6, where the rest are repeats.
func Apart(points [][]float64, k int, reach float64) (chosen []int) {
	for ; len(chosen) < min(k, len(points)) && reach > 1e-6; reach /= 2 {
		for i, x := range points {
			near := func(c int) bool {
				sum := 0.0
				for j, v := range points[c] {
					sum += (v - x[j]) * (v - x[j])
				}
				return sum < reach*reach*float64(len(x))
			}
			if len(chosen) < k && !slices.ContainsFunc(chosen, near) {
				chosen = append(chosen, i)
			}
		}
	}
	return chosen
}

// boltzmann returns k of the indices with a finite value, in increasing order:
// the first best one, and others drawn without replacement with weights
// exp(−η·z), z the standardized value. Adding Gumbel noise to the log weights
// and taking the k largest is that draw (Kool et al. 2019). The best has an
// infinite key and so is always among them. ln of an exponential variate,
// negated, is a Gumbel variate.
func boltzmann(values []float64, k int, eta float64, seed uint64) []int {
	var finite []int
	var mean float64
	for i, v := range values {
		if !math.IsInf(v, 0) {
			finite = append(finite, i)
			mean += v
		}
	}
	mean /= float64(len(finite))
	best := finite[0]
	var variance float64
	for _, i := range finite {
		if values[i] < values[best] {
			best = i
		}
		variance += (values[i] - mean) * (values[i] - mean)
	}
	sd := math.Sqrt(variance / float64(len(finite)))
	if !(sd > 0) || math.IsInf(sd, 0) {
		sd = math.Inf(1) // all alike: an even draw
	}
	rng := rand.New(rand.NewPCG(seed, 0x6d756c7469737461))
	key := make([]float64, len(values))
	for _, i := range finite {
		gumbel := -math.Log(rng.ExpFloat64())
		key[i] = gumbel - eta*(values[i]-mean)/sd
	}
	key[best] = math.Inf(1)
	slices.SortStableFunc(finite, func(a, b int) int {
		switch {
		case key[a] > key[b]:
			return -1
		case key[a] < key[b]:
			return 1
		}
		return a - b
	})
	chosen := finite[:k]
	slices.Sort(chosen)
	return chosen
}
