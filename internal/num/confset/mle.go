package confset

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"

	"github.com/campaignd/campaignd/internal/num/kernel"
)

// DefaultJitter is the nugget to use where nothing calls for another.
const DefaultJitter = 1e-8

// MLEResult is the belief of greatest likelihood in the ball of radius B.
type MLEResult struct {
	Z          []float64 // its value at each of Evidence.Points, in their order
	LogLik     float64   // ℓ(Z), natural log
	Multiplier float64   // of the constraint ½(Zᵀ(K + jitter·I)⁻¹Z − B²) ≤ 0; 0 where the ball is not reached
}

// MLE maximizes the log-likelihood of the answers over beliefs of norm at most
// norm (B in the paper):
//
//	max ℓ(Z)  subject to  Zᵀ(K + jitter·I)⁻¹Z ≤ B²    (Xu et al. 2024, Eq. 37)
//
// norm and jitter must be positive and finite. It fails with ErrFeedback,
// ErrSetting or ErrNotConverged. Without answers the result is empty, with
// log-likelihood 0.
func MLE(evidence Evidence, k kernel.Kernel, norm, jitter float64) (MLEResult, error) {
	a, gram, err := prepare(evidence, k, norm, jitter)
	if err != nil {
		return MLEResult{}, err
	}
	fit, err := fitMLE(a, gram, norm)
	if err != nil {
		return MLEResult{}, err
	}
	at, err := a.beliefAtPoints(fit, gram, k, jitter)
	if err != nil {
		return MLEResult{}, err
	}
	points := evidence.Points()
	res := MLEResult{Z: make([]float64, len(points)), LogLik: fit.logLik, Multiplier: fit.multiplier}
	for i, p := range a.index(points) {
		res.Z[i] = at[p]
	}
	return res, nil
}

// prepare collects the answers and returns their likelihood with the Gram
// matrix of its latent values, jitter included.
func prepare(evidence Evidence, k kernel.Kernel, norm, jitter float64) (*likelihood, []float64, error) {
	if !(norm > 0) || math.IsInf(norm, 1) {
		return nil, nil, fmt.Errorf("%w: norm bound %v, it must be positive and finite", ErrSetting, norm)
	}
	if !(jitter > 0) || math.IsInf(jitter, 1) {
		return nil, nil, fmt.Errorf("%w: jitter %v, it must be positive and finite", ErrSetting, jitter)
	}
	a, err := evidence.likelihood(k.Dim())
	if err != nil {
		return nil, nil, err
	}
	return a, a.gram(k, jitter), nil
}

// mleFit is the MLE of the latent values.
type mleFit struct {
	z          []float64 // latent values
	grad       []float64 // ∇ℓ(z)
	logLik     float64
	multiplier float64 // 1/τ, see fitMLE; 0 where the ball is not reached
}

// fitMLE solves Eq. 37 for the latent values.
//
// The ball is idle only where the best Z without it lies inside, which for
// plain labels is easily said: Z_i = ln(rejects/accepts), finite only if every
// point has both answers. Otherwise Z = τ·K·∇ℓ(Z) with the multiplier μ = 1/τ,
// and |Z|²_K = N(τ) increases with τ from 0; a safeguarded Newton search in ln
// τ finds N(τ) = B². For a fixed τ, Z maximizes ℓ(Z) − |Z|²_K/(2τ): see
// penalized and, for large τ, tilted.
//
// For large τ the search ends where (B² − N(τ))/(2τ), the most that ℓ can still
// gain, is below gainTolerance: a ball so large that the likelihood hardly
// notices its edge.
func fitMLE(a *likelihood, gram []float64, norm float64) (mleFit, error) {
	n := a.size()
	f := mleFit{z: make([]float64, n), grad: make([]float64, n)}
	f.logLik = a.slope(f.grad, f.z)
	if floats.Norm(f.grad, math.Inf(1)) <= levelSlope {
		return f, nil // no answers, or all are balanced by others: no belief at all is the likeliest
	}
	if z, ok := idleBall(a, gram, norm); ok {
		f.z = z
		f.logLik = a.slope(f.grad, z)
		return f, nil
	}
	p := newPenalized(a, gram)
	var q *tilted
	noisy := false
	// The inner maximizer need not be better than the step in τ that follows;
	// the last one is exact.
	loose := 1e-2
	// Where ℓ is linear, N(τ) = τ²·gᵀKg; its curvature only lowers N, so this
	// start is left of the root.
	p.mulGram(p.kv, f.grad)
	tau := norm / math.Sqrt(floats.Dot(f.grad, p.kv))
	copy(p.a, f.grad)
	lo, hi := 0.0, math.Inf(1)
	target := norm * norm
	for range 200 {
		var size, slope float64 // N and dN/d ln τ
		var z []float64
		var err error
		if q == nil && tau <= steepest && !noisy {
			if size, slope, err = p.maximize(tau, loose); err != nil {
				noisy = true
				continue
			}
			z = p.z
		} else {
			if q == nil {
				if q, err = newSteep(a, gram); err != nil {
					return f, err
				}
			}
			err = q.maximize(1/tau, 0)
			z = q.z
			size, slope = q.size()
			slope *= -1 / tau // d/d ln τ = −m·d/dm
		}
		if err != nil {
			return f, err
		}
		gain := (target - size) / (2 * tau)
		collapsed := hi-lo <= 1e-12*tau // rounding of N, not τ, keeps the target away
		if math.Abs(size-target) <= 1e-13*target || math.Abs(gain) <= 1e-14 ||
			((q != nil || collapsed) && math.Abs(gain) <= gainTolerance) {
			if q == nil && loose > exact {
				loose = exact
				continue
			}
			f.z, f.multiplier = z, 1/tau
			f.logLik = a.slope(f.grad, z)
			return f, nil
		}
		if collapsed {
			noisy = true
			lo = 0
			hi = math.Inf(1)
		}
		missing := math.Log(target / size)
		if q == nil && loose > exact {
			if math.Abs(missing) < 10*loose { // too close to tell the side
				loose = math.Max(exact, 1e-3*loose)
				continue
			}
			loose = math.Max(exact, math.Min(loose, 0.01*missing*missing))
		}
		if size < target {
			lo = tau
		} else {
			hi = tau
		}
		step := missing * size / slope
		next := tau * math.Exp(math.Max(-5, math.Min(5, step)))
		if !(next > lo && next < hi) {
			if math.IsInf(hi, 1) {
				next = 4 * lo
			} else {
				next = 0.5 * (lo + hi)
			}
		}
		tau = next
	}
	return f, fmt.Errorf("%w: no multiplier found for the norm bound %v with %d latent values",
		ErrNotConverged, norm, n)
}

const (
	// exact is the largest |a_i − ∂ℓ/∂z_i| that counts as a solution of
	// penalized.
	exact = 1e-13
	// steepest is the τ up to which penalized is used: its Z carries a rounding
	// error of about τ·1e-16.
	steepest = 1e5
	// gainTolerance is the log-likelihood, in nats, that is not worth a search.
	gainTolerance = 1e-10
	// levelSlope is the slope of ℓ that is only rounding.
	levelSlope = 1e-14
)

// idleBall returns the maximizer of ℓ without the norm constraint, if there is
// one and it lies in the ball. It knows it for independent values only; fitMLE
// finds the others too, as those of a multiplier near 0.
func idleBall(a *likelihood, gram []float64, norm float64) ([]float64, bool) {
	if a.coupled() {
		return nil, false
	}
	n := a.size()
	z := make([]float64, n)
	for i := range z {
		if a.rejects[i] == 0 || a.accepts[i] == 0 {
			return nil, false
		}
		z[i] = math.Log(a.rejects[i] / a.accepts[i])
	}
	root, err := cholesky(gram, n)
	if err != nil {
		return nil, false
	}
	half := append([]float64(nil), z...)
	blas64.Trsv(blas.NoTrans, lower(root, n), vector(half))
	return z, floats.Dot(half, half) <= norm*norm
}
