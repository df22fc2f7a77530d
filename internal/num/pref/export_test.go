package pref

import (
	"context"
	"fmt"

	"github.com/campaignd/campaignd/internal/num/kernel"
)

// LogEvidence returns the Laplace approximation of ln p(duels | hyper), natural
// log (Sinaga et al. 2026, Eq. S15), and fills grad, if not nil, with its d+1
// derivatives with respect to ln ℓ_1 … ln ℓ_d and ln output scale (Rasmussen
// and Williams 2006, Algorithm 5.1), the movement of the mode included. There
// is none with respect to Slope.
// kernelName is a name of package kernel. It fails with ErrLink, ErrDuels (also
// if there is no duel), ErrHyper, kernel.ErrUnknown, kernel.ErrHyperparameter,
// ErrNotConverged, or the context's error, wrapped.
func LogEvidence(
	ctx context.Context, duels Duels, link Link, kernelName string, hyper Hyper, grad []float64,
) (float64, error) {
	e, err := newEvidence(duels, link, kernelName)
	if err != nil {
		return 0, err
	}
	if _, err := hyper.Kernel(kernelName, e.d); err != nil {
		return 0, err
	}
	if grad == nil {
		return e.eval(ctx, hyper, nil)
	}
	if len(grad) != e.d+1 {
		panic("pref: the gradient of the evidence has d+1 entries")
	}
	g := evidenceGradient{lengthscales: grad[:e.d]}
	v, err := e.eval(ctx, hyper, &g)
	grad[e.d] = g.outputScale
	return v, err
}

// GivenDifferences returns the posterior of f given the noisy differences v_k =
// (f + ε)(loser) − (f + ε)(winner), one per duel, as if they had been observed
// (Sinaga et al. 2026, Eq. S23, S24; probit link):
//
//	mean(x) = k_v(x) Σ⁻¹ v,    cov(x,x') = k(x,x') − k_v(x) Σ⁻¹ k_v(x')ᵀ.
//
// It fails with ErrDuels or gp.ErrNotPositiveDefinite; a v of another length
// panics.
func GivenDifferences(d Duels, k kernel.Kernel, v []float64) (*Posterior, error) {
	if err := d.Validate(); err != nil {
		return nil, err
	}
	if len(v) != d.Len() {
		panic(fmt.Sprintf("pref: %d differences, %d duels", len(v), d.Len()))
	}
	if len(v) == 0 {
		return Prior(k), nil
	}
	precision := d.differenceCovariance(k)
	if err := invert(precision, len(v)); err != nil {
		return nil, err
	}
	return d.given(k, precision, v), nil
}
