package dueling

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
)

// Status is the next thing to do.
type Status uint8

const (
	Ask        Status = iota // compare Step.Pair
	Wait                     // for the answers that are pending: the round ends with them
	Identified               // one candidate is left, nothing more is to be learned
	Spent                    // the horizon is reached
)

// String returns the status in a word.
func (s Status) String() string {
	if int(s) < len(statusNames) {
		return statusNames[s]
	}
	return fmt.Sprintf("Status(%d)", uint8(s))
}

var statusNames = []string{"ask", "wait", "identified", "spent"}

// Step is the answer of Next, with its explanation.
type Step struct {
	Status Status
	Pair   Pair // to compare; of Ask only
	// SD is σ of the pair, in units of f.
	SD float64
	// Kept are the candidates that may still be the best, in increasing order:
	// M_r. It is a copy.
	Kept []int
	// Beta is β of the round.
	Beta float64
	// Round is r, from 1; it is 0 for MaxMinLCB, which has none. Done and
	// Length count the round's comparisons.
	Round, Done, Length int
}

// Round describes a finished round of MR-LPF.
type Round struct {
	Number     int // from 1
	Length     int // comparisons made
	Beta       float64
	Before     int   // candidates kept before
	Eliminated []int // candidates removed at its end, in increasing order
}

// MRLPF is multi-round learning from preference-based feedback (Kayal et al.
// 2025, Algorithm 1) as a state machine: a fold over comparisons without a
// clock and without randomness other than its seed.
//
// Rounds have N₁ = ⌈√T⌉ and N_r = ⌈√(N_{r−1}T)⌉ comparisons, the last as many
// as the horizon leaves. Within a round the pair of greatest σ is compared, and
// no outcome of the round influences it. At its end h is fitted to the round's
// comparisons alone and the candidates x with μ(h(x, x')) + β_r σ(x, x') ≥ ½
// for all x' are kept (Eq. 12; BetaCalibrated has another interval). The last
// round is closed in the same way. A pair (x, x) is never proposed; with one
// candidate left the best is identified.
//
// Any comparison of two candidates may be observed, proposed or not: it counts
// in the round in which it arrives, even if a candidate was eliminated before.
// Comparisons that arrive after the end are used by Best and change nothing
// else. It is not safe for concurrent use.
type MRLPF struct {
	candidates *Candidates
	settings   Settings
	history    []Comparison

	// All below is computed from the above, by advance.
	seen      int // comparisons that advance has gone through
	start     int // where the round starts in history
	round     int
	length    int // of the round
	beta      float64
	kept      []int
	variances *Variances
	rounds    []Round
	over      bool
	best      bestGuess
}

// NewMRLPF returns the machine after the comparisons of history, in their
// order; more can be observed. It fails with ErrSetting or ErrComparison.
func NewMRLPF(c *Candidates, s Settings, history ...Comparison) (*MRLPF, error) {
	if err := s.Validate(); err != nil {
		return nil, err
	}
	m := &MRLPF{candidates: c, settings: s, length: roundLength(1, s.Horizon)}
	for i := range c.n {
		m.kept = append(m.kept, i)
	}
	m.begin()
	for i, x := range history {
		if err := m.Observe(x); err != nil {
			return nil, fmt.Errorf("comparison %d: %w", i+1, err)
		}
	}
	return m, nil
}

// roundLength returns ⌈√(before·T)⌉.
func roundLength(before, horizon int) int {
	return int(math.Ceil(math.Sqrt(float64(before) * float64(horizon))))
}

// Observe notes a comparison. It fails with ErrComparison and then changes
// nothing.
func (m *MRLPF) Observe(x Comparison) error {
	if err := checkDistinct(m.candidates, x); err != nil {
		return err
	}
	m.history = append(m.history, x)
	return nil
}

func checkDistinct(c *Candidates, x Comparison) error {
	if err := c.check(x); err != nil {
		return err
	}
	if x.First == x.Second {
		return fmt.Errorf("%w: candidate %d with itself", ErrComparison, x.First)
	}
	return nil
}

// Next returns the next step. pending are pairs that were asked and are not answered: σ is computed
// as if they were, which is exact since it does not depend on outcomes. If they fill the round, no
// pair is left to ask until they are answered. Next called again without a comparison observed in
// between answers the same.
//
// Closing a round needs a fit, which may fail with ErrNotConverged or the context's error; nothing
// is lost then, and Next can be called again.
func (m *MRLPF) Next(ctx context.Context, pending ...Pair) (Step, error) {
	for _, p := range pending {
		if err := checkDistinct(m.candidates, Comparison{Pair: p}); err != nil {
			return Step{}, fmt.Errorf("pending: %w", err)
		}
	}
	if err := m.advance(ctx); err != nil {
		return Step{}, err
	}
	step := Step{Kept: slices.Clone(m.kept), Beta: m.beta, Round: m.round, Done: m.seen - m.start,
		Length: m.length}
	switch {
	case len(m.kept) == 1:
		step.Status = Identified
	case m.over:
		step.Status = Spent
	case step.Done+len(pending) >= m.length:
		step.Status = Wait
	default:
		v := m.variances
		if len(pending) > 0 {
			v = v.clone()
			for i, p := range pending {
				v = v.with(p, m.history[m.start:m.seen], pending[:i])
			}
		}
		step.Pair, step.SD = v.Widest(rand.New(rand.NewPCG(m.settings.Seed, uint64(m.seen+len(pending)))))
	}
	return step, nil
}

// Rounds returns the finished rounds, those that Next has come to close.
func (m *MRLPF) Rounds() []Round { return slices.Clone(m.rounds) }

// Best returns the best guess: the kept candidate with the greatest fitted
// utility, by a fit to all comparisons. Rounds are kept apart only for the
// confidence intervals; a guess is better with all data. It fails as Next does.
func (m *MRLPF) Best(ctx context.Context) (int, error) {
	if err := m.advance(ctx); err != nil {
		return 0, err
	}
	return m.best.of(ctx, m.candidates, m.settings, m.history, m.kept)
}

// begin starts the next round, or ends the run.
func (m *MRLPF) begin() {
	if left := m.settings.Horizon - m.seen; left <= 0 || len(m.kept) == 1 {
		m.over, m.variances = true, nil
		return
	} else if m.length > left {
		m.length = left
	}
	m.round++
	m.start = m.seen
	var kappa float64
	m.beta, kappa = m.settings.at(m.candidates, m.round)
	m.variances = newVariances(m.candidates, slices.Clone(m.kept), len(m.kept),
		m.settings.Lambda*kappa)
}

// advance processes the comparisons that it has not processed yet.
func (m *MRLPF) advance(ctx context.Context) error {
	for !m.over {
		for m.seen < len(m.history) && m.seen-m.start < m.length {
			if m.seen%16 == 0 {
				if err := ctx.Err(); err != nil {
					return err
				}
			}
			m.variances = m.variances.with(m.history[m.seen].Pair, m.history[m.start:m.seen], nil)
			m.seen++
		}
		if m.seen-m.start < m.length {
			return nil
		}
		var t tally
		for _, x := range m.history[m.start:m.seen] {
			t.add(x)
		}
		model, _, err := fit(ctx, m.candidates, &t, m.settings.Loss, m.settings.Lambda)
		if err != nil {
			return fmt.Errorf("closing round %d: %w", m.round, err)
		}
		var kept, eliminated []int
		if m.settings.Beta.Rule == BetaCalibrated {
			kept, eliminated = credible(m.candidates, model, &t, m.settings.Lambda, m.kept, m.beta)
		} else {
			kept, eliminated = plausible(model, m.variances, m.kept, m.beta)
		}
		m.rounds = append(m.rounds, Round{
			Number:     m.round,
			Length:     m.length,
			Beta:       m.beta,
			Before:     len(m.kept),
			Eliminated: eliminated,
		})
		m.kept = kept
		m.length = roundLength(m.length, m.settings.Horizon)
		m.begin()
	}
	return nil
}

// with observes the pair. Where it has a candidate that was eliminated, it is
// computed anew over the kept and the pair's, from the comparisons of the round
// so far.
func (v *Variances) with(p Pair, round []Comparison, more []Pair) *Variances {
	if !v.covers(p) {
		members := slices.Clone(v.members)
		for _, i := range []int{p.First, p.Second} {
			if !slices.Contains(members, i) {
				members = append(members, i)
			}
		}
		v = newVariances(v.candidates, members, v.kept, v.noise)
		for _, x := range round {
			v.Observe(x.Pair)
		}
		for _, q := range more {
			v.Observe(q)
		}
	}
	v.Observe(p)
	return v
}

// bestGuess remembers the last guess.
type bestGuess struct {
	comparisons int
	best        int
	known       bool
}

func (b *bestGuess) of(
	ctx context.Context, c *Candidates, s Settings, history []Comparison, kept []int,
) (int, error) {
	if len(kept) == 1 {
		return kept[0], nil
	}
	if b.known && b.comparisons == len(history) {
		return b.best, nil
	}
	var t tally
	for _, x := range history {
		t.add(x)
	}
	model, _, err := fit(ctx, c, &t, s.Loss, s.Lambda)
	if err != nil {
		return 0, fmt.Errorf("the best guess: %w", err)
	}
	top := math.Inf(-1)
	for _, i := range kept {
		top = math.Max(top, model.Utility[i])
	}
	var ties []int
	for _, i := range kept {
		if model.Utility[i] >= top {
			ties = append(ties, i)
		}
	}
	*b = bestGuess{comparisons: len(history), known: true}
	b.best = ties[rand.New(rand.NewPCG(s.Seed, uint64(len(history)))).IntN(len(ties))]
	return b.best, nil
}
