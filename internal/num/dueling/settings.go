package dueling

import (
	"errors"
	"fmt"
	"math"
)

// Settings are those of MR-LPF and of MaxMinLCB. Start from DefaultSettings or
// PaperSettings.
type Settings struct {
	// Horizon is T, the number of comparisons that can be made, at least 1. It
	// determines the rounds of MR-LPF.
	Horizon int
	// Lambda is λ, the regularization of the fit; 0.05 in the paper. Positive.
	Lambda float64
	// Kappa is κ: σ is computed with noise λκ (Eq. 10). 0 leaves it to the rule
	// of β: 1 as in the paper's experiments, and κ_r of Theorem 4.1 for
	// BetaEq14. The default was calibrated with κ = 1.
	Kappa float64
	// Beta is the rule for β, the width of the confidence interval in units of
	// σ.
	Beta Beta
	// Loss that fits minimize.
	Loss Loss
	// Seed decides ties, which includes the first pair, and the order within
	// each pair.
	Seed uint64
}

// Validate reports every fault at once; each wraps ErrSetting.
func (s Settings) Validate() error {
	var faults []error
	fault := func(bad bool, format string, args ...any) {
		if bad {
			faults = append(faults, fmt.Errorf("%w: "+format, append([]any{ErrSetting}, args...)...))
		}
	}
	fault(s.Horizon < 1, "horizon %d, at least one comparison must be allowed", s.Horizon)
	fault(!positive(s.Lambda), "regularization λ = %v, it must be positive and finite", s.Lambda)
	fault(s.Kappa != 0 && !positive(s.Kappa),
		"κ = %v, it must be positive and finite, or 0 for the default", s.Kappa)
	switch s.Loss {
	case LossRKHS, LossTheta, LossThetaSum:
	default:
		fault(true, "loss %q, known are %s, %s and %s", s.Loss, LossRKHS, LossTheta, LossThetaSum)
	}
	switch b := s.Beta; b.Rule {
	case BetaCalibrated, BetaPaper:
	case BetaFixed:
		fault(!positive(b.Value), "β = %v, it must be positive and finite", b.Value)
	case BetaEq14:
		fault(!positive(b.Norm), "norm bound B = %v, Eq. 14 needs a positive one", b.Norm)
		fault(b.Range != 0 && !positive(b.Range),
			"range %v of the preference function, it must be positive and finite, or 0",
			b.Range)
		fault(!(b.Delta > 0 && b.Delta < 1),
			"failure probability δ = %v, it must lie between 0 and 1", b.Delta)
	default:
		fault(true, "rule %q for β, known are %s, %s, %s and %s",
			b.Rule, BetaCalibrated, BetaPaper, BetaEq14, BetaFixed)
	}
	return errors.Join(faults...)
}

// CalibratedWidth is z of BetaCalibrated, the half-width of an interval of h in
// its standard deviations.
//
// No single β works: σ (Eq. 10) depends on which pairs were compared but not on
// the answers, and an answer that was nearly certain teaches less than σ
// assumes. On the paper's tasks at T = 300, β = 5 keeps the optimum in 95 % of
// runs with the SE kernel only just, while with Matérn 3/2 it eliminates
// nothing. The Laplace deviation has the curvature of the answers in it and
// fits both. z was chosen on the paper's tasks; on fresh seeds it keeps the
// optimum in 97 to 99 % of 200 runs there, and in 94 to 100 % of 100 runs on
// random functions of lengthscales 0.05 to 0.4, scales 2 to 15 (the 94 are SE
// at 15), horizons 60 to 1,500, and on two-dimensional grids. Safety costs
// regret: 67, 73 and 77 (SE, Matérn 5/2, 3/2) instead of the 27, 31 and 40 of
// PaperSettings.
const CalibratedWidth = 2.2

// BetaRule names a rule for β.
type BetaRule string

const (
	// BetaCalibrated is the default of MR-LPF: x is kept where h(x, x') +
	// z·s(x, x') ≥ 0 for all x', with s the Laplace standard deviation of h
	// and z = CalibratedWidth, which says why. MaxMinLCB does not support it.
	BetaCalibrated BetaRule = "calibrated"
	// BetaPaper is β = 1, as in the paper's experiments. It is not safe: on the
	// paper's own tasks MR-LPF with it eliminates the best candidate in a third
	// to nearly all of the runs.
	BetaPaper BetaRule = "paper"
	// BetaEq14 is the β of Theorem 4.1, with its guarantee. It is so wide that
	// rounds of a few hundred comparisons eliminate nothing.
	BetaEq14 BetaRule = "eq14"
	// BetaFixed is a number that the user gives.
	BetaFixed BetaRule = "fixed"
)

// Beta is the rule for β.
type Beta struct {
	Rule BetaRule
	// Value is β itself, of BetaFixed only.
	Value float64
	// Norm is B, a bound on the norm of f in the kernel's space, of BetaEq14
	// only.
	Norm float64
	// Range bounds |h|, of BetaEq14 only. 0 derives it from B: |h(z)| ≤ B·√𝕜(z,
	// z) ≤ B·√(2k(x, x)).
	Range float64
	// Delta is δ: the theorem holds with probability 1 − δ. Of BetaEq14 only.
	Delta float64
}

// at returns β_(r) and κ_r of round r, from 1. MaxMinLCB, which has no rounds,
// takes those of the first.
func (s Settings) at(c *Candidates, round int) (beta, kappa float64) {
	kappa = s.Kappa
	if kappa == 0 {
		kappa = 1
	}
	switch s.Beta.Rule {
	case BetaPaper:
		return 1, kappa
	case BetaFixed:
		return s.Beta.Value, kappa
	case BetaEq14:
		own := s.Beta.kappa(c.scale(), round)
		if s.Kappa == 0 {
			kappa = own
		}
		// L = max μ' = ¼, attained by equal candidates.
		union := 2 * float64(maxRounds(s.Horizon)) * float64(c.n) / s.Beta.Delta
		return 0.25 * (s.Beta.Norm + math.Sqrt(own/s.Lambda*math.Log(union))), kappa
	}
	return CalibratedWidth, kappa
}

// kappa returns κ_r of Theorem 4.1: κ = sup 1/μ'(h) = 2 + 2 cosh(max |h|) in
// the first round (Eq. 2), 6 after it.
func (b Beta) kappa(scale float64, round int) float64 {
	if round > 1 {
		return 6
	}
	bound := b.Range
	if bound == 0 {
		bound = b.Norm * math.Sqrt(2*scale)
	}
	return 2 + 2*math.Cosh(bound)
}

// maxRounds is the bound on R of Theorem 4.1, ⌈log₂ log₂ T⌉ + 1.
func maxRounds(horizon int) int {
	if horizon <= 2 {
		return 1
	}
	return int(math.Ceil(math.Log2(math.Log2(float64(horizon))))) + 1
}

func positive(x float64) bool { return x > 0 && !math.IsInf(x, 1) }
