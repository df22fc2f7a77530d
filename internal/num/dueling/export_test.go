package dueling

import (
	"context"
	"fmt"
	"math"
	"slices"
)

// Fit returns the exact minimizer of the loss over the comparisons (Kayal et
// al. 2025, Eq. 7–9) with regularization λ > 0. Comparisons of a candidate with
// itself are allowed; they change the count only. Without comparisons h is
// zero.
//
// It fails with ErrComparison, ErrSetting or ErrNotConverged, or with the
// context's error.
func Fit(
	ctx context.Context, c *Candidates, comparisons []Comparison, loss Loss, lambda float64,
) (*Model, error) {
	var t tally
	at := make([]int, len(comparisons))
	sign := make([]float64, len(comparisons))
	for i, x := range comparisons {
		if err := c.check(x); err != nil {
			return nil, err
		}
		at[i], sign[i] = t.add(x)
	}
	m, weights, err := fit(ctx, c, &t, loss, lambda)
	if err != nil {
		return nil, err
	}
	m.Theta = make([]float64, len(comparisons))
	for i, p := range at {
		m.Theta[i] = sign[i] * weights[p] / t.counts[p]
		if loss == LossRKHS {
			// Many splits of a pair's weight give the same h; θ_i = (y_i − μ)/λ
			// is the one that makes ∂L/∂h vanish.
			score := t.wins[p]
			if sign[i] < 0 {
				score = t.counts[p] - score
			}
			m.Theta[i] += (comparisons[i].Outcome - score/t.counts[p]) / lambda
		}
	}
	return m, nil
}

// NewVariances returns σ over the kept candidates before any comparison. noise
// is λκ > 0. The order of kept decides only the order of ties. It fails with
// ErrSetting; an index without a candidate panics.
func NewVariances(c *Candidates, kept []int, noise float64) (*Variances, error) {
	if !(noise > 0) || math.IsInf(noise, 1) {
		return nil, fmt.Errorf("%w: noise λκ = %v, it must be positive and finite", ErrSetting, noise)
	}
	return newVariances(c, slices.Clone(kept), len(kept), noise), nil
}
