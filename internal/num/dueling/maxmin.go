package dueling

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/campaignd/campaignd/internal/num/special"
)

// MaxMinLCB chooses each pair by a game between a leader and a follower on the
// lower confidence bound (Pásztor et al. 2024; Kayal et al. 2025, Appendix D):
//
//	x_t = argmax over x in M_t of LCB(x, x'(x)),   x'(x) = argmin over x' in M_t of LCB(x, x'),
//	LCB(x, x') = μ(h_t(x, x')) − β σ_t(x, x'),
//
// where h_t and σ_t come from all comparisons so far and M_t are the candidates
// x with μ(h_t(x, x')) + β σ_t(x, x') ≥ ½ for all x'. M_t is found anew at each
// step, so a candidate can return. The follower never is the leader; with one
// candidate in M_t the best is identified. Before the first comparison h is
// zero. It is a fold as MRLPF is, and not safe for concurrent use.
type MaxMinLCB struct {
	candidates *Candidates
	settings   Settings
	history    []Comparison

	seen      int
	all       []int
	tally     tally
	beta      float64
	variances *Variances
	best      bestGuess
	fitted    *Model // of fittedAt comparisons
	fittedAt  int
}

// NewMaxMinLCB returns the machine after the comparisons of history. It fails
// with ErrSetting or ErrComparison.
func NewMaxMinLCB(c *Candidates, s Settings, history ...Comparison) (*MaxMinLCB, error) {
	if err := s.Validate(); err != nil {
		return nil, err
	}
	if s.Beta.Rule == BetaCalibrated {
		return nil, fmt.Errorf("%w: the calibrated β is of MR-LPF; for MaxMinLCB choose %s or %s",
			ErrSetting, BetaPaper, BetaFixed)
	}
	m := &MaxMinLCB{candidates: c, settings: s}
	for i := range c.n {
		m.all = append(m.all, i)
	}
	beta, kappa := s.at(c, 1)
	m.beta = beta
	m.variances = newVariances(c, slices.Clone(m.all), c.n, s.Lambda*kappa)
	for i, x := range history {
		if err := m.Observe(x); err != nil {
			return nil, fmt.Errorf("comparison %d: %w", i+1, err)
		}
	}
	return m, nil
}

// Observe notes a comparison. It fails with ErrComparison and then changes
// nothing.
func (m *MaxMinLCB) Observe(x Comparison) error {
	if err := checkDistinct(m.candidates, x); err != nil {
		return err
	}
	m.history = append(m.history, x)
	return nil
}

// Next returns what to do next. pending are pairs that were asked and are not
// answered: σ counts them, h does not. It fails with ErrNotConverged,
// ErrComparison or the context's error, and can be called again.
func (m *MaxMinLCB) Next(ctx context.Context, pending ...Pair) (Step, error) {
	for _, p := range pending {
		if err := checkDistinct(m.candidates, Comparison{Pair: p}); err != nil {
			return Step{}, fmt.Errorf("pending: %w", err)
		}
	}
	if err := m.advance(ctx); err != nil {
		return Step{}, err
	}
	step := Step{Kept: m.plausible(), Beta: m.beta, Done: m.seen, Length: m.settings.Horizon}
	switch {
	case len(step.Kept) == 1:
		step.Status = Identified
		return step, nil
	case m.seen >= m.settings.Horizon:
		step.Status = Spent
		return step, nil
	case m.seen+len(pending) >= m.settings.Horizon:
		step.Status = Wait
		return step, nil
	}
	v := m.variances
	if len(pending) > 0 {
		v = v.clone()
		for _, p := range pending {
			v.Observe(p)
		}
	}
	random := rand.New(rand.NewPCG(m.settings.Seed, uint64(m.seen+len(pending))))
	worst := make([]float64, len(step.Kept)) // of each leader, by its follower
	bounds := make([]float64, len(step.Kept))
	for a, i := range step.Kept {
		m.lower(bounds, v, step.Kept, i)
		worst[a] = slices.Min(bounds)
	}
	leader := step.Kept[pick(random, worst, 1)]
	m.lower(bounds, v, step.Kept, leader)
	follower := step.Kept[pick(random, bounds, -1)]
	step.Pair, step.SD = Pair{leader, follower}, v.SD(leader, follower)
	return step, nil
}

// Best returns the best guess: the candidate of greatest fitted utility in M_t.
// It fails as Next does.
func (m *MaxMinLCB) Best(ctx context.Context) (int, error) {
	if err := m.advance(ctx); err != nil {
		return 0, err
	}
	return m.best.of(ctx, m.candidates, m.settings, m.history, m.plausible())
}

func (m *MaxMinLCB) plausible() []int {
	kept, _ := plausible(m.fitted, m.variances, m.all, m.beta)
	return kept
}

// advance updates σ and h with the recorded comparisons.
func (m *MaxMinLCB) advance(ctx context.Context) error {
	for ; m.seen < len(m.history); m.seen++ {
		if m.seen%16 == 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
		}
		m.variances.Observe(m.history[m.seen].Pair)
		m.tally.add(m.history[m.seen])
	}
	if m.fitted != nil && m.fittedAt == m.seen {
		return nil
	}
	model, _, err := fit(ctx, m.candidates, &m.tally, m.settings.Loss, m.settings.Lambda)
	if err != nil {
		return err
	}
	m.fitted, m.fittedAt = model, m.seen
	return nil
}

// lower fills dst with LCB(x_leader, x') for x' among the kept, +Inf for the
// leader itself.
func (m *MaxMinLCB) lower(dst []float64, v *Variances, kept []int, leader int) {
	for b, j := range kept {
		if j == leader {
			dst[b] = math.Inf(1)
			continue
		}
		dst[b] = special.Logistic(m.fitted.H(leader, j)) - m.beta*v.SD(leader, j)
	}
}

// pick returns the index of the greatest of sign·values, a random one among
// equals. Values closer than 1e-11 are equal, so that rounding does not choose.
func pick(random *rand.Rand, values []float64, sign float64) int {
	top := math.Inf(-1)
	for _, x := range values {
		top = math.Max(top, sign*x)
	}
	var ties []int
	for a, x := range values {
		if sign*x >= top-1e-11 {
			ties = append(ties, a)
		}
	}
	return ties[random.IntN(len(ties))]
}
