package pref

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/lapack/lapack64"

	"github.com/campaignd/campaignd/internal/num/gp"
	"github.com/campaignd/campaignd/internal/num/kernel"
)

// HallucinateConfig tunes Hallucinate. The zero value means the defaults.
type HallucinateConfig struct {
	// BurnIn is the number of sweeps of the Gibbs sampler before any state is used; default 1000.
	BurnIn int
	// Sweeps is the number of sweeps after that, at least 1: the last state is the hallucination, and all of them make up
	// its Mean; default 1.
	Sweeps int
	// Seed decides the draw. Equal seeds give equal draws.
	Seed uint64
}

// Hallucination is one draw of the differences given the duels, and the posterior that believes it.
type Hallucination struct {
	Posterior *Posterior
	// V is the draw, one negative number per duel; with GivenDifferences it gives Posterior back, so that a record of it is
	// enough to replay a decision.
	V []float64
	// Mean is the mean of V over all sweeps after the burn-in: an estimate of E[v | v < 0].
	Mean []float64
}

// Hallucinate draws the noisy differences v_k = (f + ε)(loser) − (f + ε)(winner) from their posterior, the normal N(0, Σ)
// truncated to v < 0, by Gibbs sampling, and returns the posterior of f given that draw: the hallucination believer (Takeno
// et al. 2023; Sinaga et al. 2026, App. B), for the probit link. It is a draw and is meant to be: with each seed another
// posterior, narrower than that of EP or Laplace, and their mixture over all seeds is the exact posterior.
//
// With P = Σ⁻¹ the conditional of v_j is normal with mean v_j − [Pv]_j/P_jj and variance 1/P_jj, cut off at 0. (Algorithm 2
// as printed leaves out v_j and the sign; that chain diverges.) A sweep costs O(n²), n duels.
//
// It fails with ErrDuels, ErrLink, ErrProbitOnly for the logistic link, gp.ErrNotPositiveDefinite, or the context's error,
// wrapped.
func Hallucinate(ctx context.Context, d Duels, link Link, k kernel.Kernel, cfg HallucinateConfig) (*Hallucination, error) {
	if err := probitOnly(link); err != nil {
		return nil, fmt.Errorf("hallucination believer: %w", err)
	}
	if err := d.Validate(); err != nil {
		return nil, err
	}
	n := d.Len()
	h := &Hallucination{V: make([]float64, n), Mean: make([]float64, n)}
	if n == 0 {
		h.Posterior = Prior(k)
		return h, nil
	}
	sigma := d.differenceCovariance(k)
	for j := range n { // the mean that v_j has when only its own sign is known
		h.V[j] = -math.Sqrt(2 / math.Pi * sigma[j*n+j])
	}
	precision := sigma
	if err := invert(precision, n); err != nil {
		return nil, err
	}
	burnIn, kept := cfg.BurnIn, max(cfg.Sweeps, 1)
	if burnIn <= 0 {
		burnIn = 1000
	}
	rng := rand.New(rand.NewPCG(cfg.Seed, 0))
	for i := range burnIn + kept {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("hallucination believer: %w", err)
		}
		gibbsSweep(h.V, precision, rng)
		if i >= burnIn {
			axpy(h.Mean, 1, h.V)
		}
	}
	blas64.Scal(1/float64(kept), vector(h.Mean))
	h.Posterior = d.given(k, precision, h.V)
	return h, nil
}

// GivenDifferences returns the posterior of f given the noisy differences v_k = (f + ε)(loser) − (f + ε)(winner), one per
// duel, as if they had been observed (Sinaga et al. 2026, Eq. S23, S24; probit link):
//
//	mean(x) = k_v(x) Σ⁻¹ v,    cov(x,x') = k(x,x') − k_v(x) Σ⁻¹ k_v(x')ᵀ.
//
// It fails with ErrDuels or gp.ErrNotPositiveDefinite; a v of another length panics.
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

// given is GivenDifferences with Σ⁻¹ at hand.
func (d Duels) given(k kernel.Kernel, precision, v []float64) *Posterior {
	n := len(v)
	weights := make([]float64, n)
	blas64.Gemv(blas.NoTrans, 1, blas64.General{Rows: n, Cols: n, Stride: n, Data: precision}, vector(v), 0, vector(weights))
	return d.posterior(k, weights, precision)
}

// invert replaces the symmetric positive definite n×n matrix a by its inverse, both triangles.
func invert(a []float64, n int) error {
	l, ok := lapack64.Potrf(blas64.Symmetric{Uplo: blas.Lower, N: n, Stride: n, Data: a})
	if ok && !math.IsNaN(a[n*n-1]) { // a NaN does not always stop Potrf
		_, ok = lapack64.Potri(l)
	}
	if !ok || math.IsNaN(a[n*n-1]) {
		return fmt.Errorf("differences of %d duels: %w: the noise is too small for designs this close; raise it",
			n, gp.ErrNotPositiveDefinite)
	}
	for i := range n {
		for j := range i {
			a[j*n+i] = a[i*n+j]
		}
	}
	return nil
}

// gibbsSweep draws every v_j in turn from its conditional given the others and v_j < 0, for v ~ N(0, P⁻¹).
func gibbsSweep(v, precision []float64, rng *rand.Rand) {
	n := len(v)
	for j := range n {
		row := precision[j*n : j*n+n]
		v[j] = 0 // so that what follows is v_j − [Pv]_j/P_jj without cancellation
		mean := -dot(row, v) / row[j]
		v[j] = negativeNormal(mean, 1/math.Sqrt(row[j]), rng)
	}
}

// negativeNormal draws from N(mean, sd²) cut off to values below 0. With a = mean/sd ≤ 0 it draws until the value is
// negative, twice at most on average. With a > 0 it is −sd·e, where e, the excess of a standard normal over a, is drawn by
// rejection from the exponential distribution of rate λ = (a + √(a² + 4))/2 (Robert 1995, Proposition 2.3). Writing λ − a =
// 1/λ keeps it exact however far in the tail.
func negativeNormal(mean, sd float64, rng *rand.Rand) float64 {
	a := mean / sd
	if a <= 0 {
		for {
			if x := mean + sd*rng.NormFloat64(); x < 0 {
				return x
			}
		}
	}
	rate := (a + math.Sqrt(a*a+4)) / 2
	for {
		e := rng.ExpFloat64() / rate
		if t := e - 1/rate; e > 0 && rng.Float64() <= math.Exp(-t*t/2) {
			return -sd * e
		}
	}
}
