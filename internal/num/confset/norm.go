package confset

import (
	"fmt"
	"math"

	"github.com/campaignd/campaignd/internal/num/kernel"
)

// Margin returns α₁ = c·√(n+1) for n answers (Evidence.Answers), natural log:
// the margin of the authors' code. Lemma 3.2's own is far too wide in practice.
func Margin(c float64, answers int) float64 { return c * math.Sqrt(float64(answers+1)) }

// NormRule says how AdaptNorm moves the norm bound and the margin's
// coefficient.
type NormRule struct {
	MaxNorm float64 // B is not doubled past this; +Inf for no limit
	DoubleC bool    // c doubles with B, as the paper's experiments do; false keeps it
	Jitter  float64 // of the fits; DefaultJitter where nothing calls for another
}

// AdaptNorm returns the norm bound B and the margin's coefficient c after
// looking at all answers (Xu et al. 2024, Appendix F): as long as the MLE in a
// ball of twice the norm is likelier by more than the margin there,
//
//	ℓ(MLE | 2B) − ℓ(MLE | B) > α₁ at 2B,
//
// the belief's norm must exceed B and B doubles. norm and c are where to start:
// 1 and 0.01 at first, then what the last call returned. It never shrinks
// either. It fails with ErrFeedback, ErrSetting or ErrNotConverged.
func AdaptNorm(
	evidence Evidence, k kernel.Kernel, norm, c float64, rule NormRule,
) (newNorm, newC float64, err error) {
	if !(c > 0) || math.IsInf(c, 1) {
		return 0, 0, fmt.Errorf("%w: margin coefficient %v, it must be positive and finite",
			ErrSetting, c)
	}
	a, gram, err := prepare(evidence, k, norm, rule.Jitter)
	if err != nil {
		return 0, 0, err
	}
	fit, err := fitMLE(a, gram, norm)
	if err != nil {
		return 0, 0, err
	}
	for 2*norm <= rule.MaxNorm {
		if fit.multiplier == 0 {
			break // the ball is not reached: a larger one changes nothing
		}
		wider, err := fitMLE(a, gram, 2*norm)
		if err != nil {
			return 0, 0, err
		}
		widerC := c
		if rule.DoubleC {
			widerC *= 2
		}
		if !(wider.logLik-fit.logLik > Margin(widerC, evidence.Answers())) {
			break
		}
		norm = 2 * norm
		c = widerC
		fit = wider
	}
	return norm, c, nil
}
