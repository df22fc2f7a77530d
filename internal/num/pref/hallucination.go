package pref

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/lapack/lapack64"

	"github.com/campaignd/campaignd/internal/num/gp"
	"github.com/campaignd/campaignd/internal/num/kernel"
)

// HallucinateConfig tunes Hallucinate. The zero value means the defaults.
type HallucinateConfig struct {
	// BurnIn is the number of sweeps of the Gibbs sampler before any state is
	// used; default 100.
	BurnIn int
	// Sweeps is the number of sweeps after that, at least 1: the last state is
	// the hallucination, and all of them make up its Mean; default 1.
	Sweeps int
	// Seed decides the draw. Equal seeds give equal draws.
	Seed uint64
}

// Hallucination is one draw of the differences given the duels, and the
// posterior that believes it.
type Hallucination struct {
	Posterior *Posterior
	// V is the draw, one negative number per duel; with GivenDifferences it
	// gives Posterior back, so that a record of it is enough to replay a
	// decision.
	V []float64
	// Mean is the mean of V over all sweeps after the burn-in: an estimate of
	// E[v | v < 0].
	Mean []float64
}

// Hallucinate draws the noisy differences v_k = (f + ε)(loser) − (f +
// ε)(winner) from their posterior, the normal N(0, Σ) truncated to v < 0, by
// Gibbs sampling, and returns the posterior of f given that draw: the
// hallucination believer (Takeno et al. 2023; Sinaga et al. 2026, App. B), for
// the probit link. It is a draw and is meant to be: with each seed another
// posterior, narrower than that of EP or Laplace, and their mixture over all
// seeds is the exact posterior.
//
// With P = Σ⁻¹ the conditional of v_j is normal with mean v_j − [Pv]_j/P_jj and
// variance 1/P_jj, cut off at 0. (Algorithm 2 as printed leaves out v_j and the
// sign; that chain diverges.) That chain alone hardly moves where the noise is
// small, since the utility ties the differences together: with 150 duels and a
// noise variance of 0.001 the draws were still 0.4 standard deviations off
// after 5,000 sweeps. Each sweep therefore goes on along n further lines,
// chosen by a rough expectation propagation, with which 20 sweeps are enough in
// the same case. A sweep costs O(n²), n duels, their choice O(n³) once.
//
// It fails with ErrDuels, ErrLink, ErrProbitOnly for the logistic link,
// gp.ErrNotPositiveDefinite, or the context's error, wrapped.
func Hallucinate(
	ctx context.Context, d Duels, link Link, k kernel.Kernel, cfg HallucinateConfig,
) (*Hallucination, error) {
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
	precision := slices.Clone(sigma)
	if err := invert(precision, n); err != nil {
		return nil, err
	}
	along, err := newLines(ctx, sigma, precision, n)
	if err != nil {
		return nil, err
	}
	burnIn, kept := cfg.BurnIn, max(cfg.Sweeps, 1)
	if burnIn <= 0 {
		burnIn = 100
	}
	rng := rand.New(rand.NewPCG(cfg.Seed, 0))
	for i := range burnIn + kept {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("hallucination believer: %w", err)
		}
		gibbsSweep(h.V, precision, rng)
		along.sweep(h.V, rng)
		if i >= burnIn {
			axpy(h.Mean, 1, h.V)
		}
	}
	blas64.Scal(1/float64(kept), vector(h.Mean))
	h.Posterior = d.given(k, precision, h.V)
	return h, nil
}

// given is GivenDifferences with Σ⁻¹ at hand.
func (d Duels) given(k kernel.Kernel, precision, v []float64) *Posterior {
	n := len(v)
	weights := make([]float64, n)
	blas64.Gemv(blas.NoTrans, 1, square(precision, n), vector(v), 0, vector(weights))
	return d.posterior(k, weights, precision)
}

// invert replaces the symmetric positive definite n×n matrix a by its inverse,
// both triangles.
func invert(a []float64, n int) error {
	l, ok := lapack64.Potrf(blas64.Symmetric{Uplo: blas.Lower, N: n, Stride: n, Data: a})
	if ok && !math.IsNaN(a[n*n-1]) { // a NaN does not always stop Potrf
		_, ok = lapack64.Potri(l)
	}
	if !ok || math.IsNaN(a[n*n-1]) {
		return notPositiveDefinite(n)
	}
	for i := range n {
		for j := range i {
			a[j*n+i] = a[i*n+j]
		}
	}
	return nil
}

func notPositiveDefinite(n int) error {
	return fmt.Errorf("differences of %d duels: %w: the noise is too small for designs this close; raise it",
		n, gp.ErrNotPositiveDefinite)
}

// gibbsSweep draws every v_j in turn from its conditional given the others and
// v_j < 0, for v ~ N(0, P⁻¹).
func gibbsSweep(v, precision []float64, rng *rand.Rand) {
	n := len(v)
	for j := range n {
		row := precision[j*n : j*n+n]
		v[j] = 0 // so that what follows is v_j − [Pv]_j/P_jj without cancellation
		mean := -dot(row, v) / row[j]
		v[j] = negativeNormal(mean, 1/math.Sqrt(row[j]), rng)
	}
}

// negativeNormal draws from N(mean, sd²) cut off to values below 0. With a =
// mean/sd ≤ 0 it draws until the value is negative, twice at most on average.
// With a > 0 it is −sd·e, where e, the excess of a standard normal over a, is
// drawn by rejection from the exponential distribution of rate λ = (a + √(a² +
// 4))/2 (Robert 1995, Proposition 2.3). Writing λ − a = 1/λ keeps it exact
// however far in the tail.
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

// lines are directions in which the truncated normal has a spread of about 1 and is nearly
// uncorrelated: the columns of the Cholesky factor of its covariance by expectation propagation. A
// draw on the line through the state in a fixed direction, from the density on that line, leaves
// the distribution as it is. So the approximation decides how fast the sampler mixes, not its
// distribution.
type lines struct {
	n         int
	dir       []float64 // n×n: row j is the direction l_j, 0 before its entry j
	precDir   []float64 // n×n: row j is P·l_j
	precision []float64 // n: l_jᵀ P l_j, the precision of a step along l_j
}

// newLines returns the directions for v ~ N(0, Σ) with P = Σ⁻¹.
func newLines(ctx context.Context, sigma, precision []float64, n int) (*lines, error) {
	e := newSites(sigma, n)
	// Rough moments do, and even sites that have not settled give directions.
	var unsettled *EPError
	if _, _, _, err := e.run(ctx, EPConfig{Tol: 1e-2, MaxSweeps: 20}); err != nil &&
		!errors.As(err, &unsettled) {
		return nil, err
	}
	if _, ok := lapack64.Potrf(blas64.Symmetric{Uplo: blas.Lower, N: n, Stride: n, Data: e.post}); !ok {
		return nil, notPositiveDefinite(n)
	}
	l := &lines{n: n, dir: make([]float64, n*n), precDir: make([]float64, n*n),
		precision: make([]float64, n)}
	for i := range n {
		for j := range i + 1 {
			l.dir[j*n+i] = e.post[i*n+j]
		}
	}
	blas64.Gemm(blas.NoTrans, blas.NoTrans, 1, square(l.dir, n), square(precision, n), 0,
		square(l.precDir, n))
	for j := range n {
		l.precision[j] = dot(l.dir[j*n:j*n+n], l.precDir[j*n:j*n+n])
	}
	return l, nil
}

// sweep draws v on every line in turn.
func (l *lines) sweep(v []float64, rng *rand.Rand) {
	n := l.n
	for j := range n {
		dir, tail := l.dir[j*n+j:j*n+n], v[j:]
		lower, upper := math.Inf(-1), math.Inf(1) // of the step: v stays negative between them
		for i, a := range dir {
			if a > 0 {
				upper = min(upper, -tail[i]/a)
			} else if a < 0 {
				lower = max(lower, -tail[i]/a)
			}
		}
		mean, sd := -dot(l.precDir[j*n:j*n+n], v)/l.precision[j], 1/math.Sqrt(l.precision[j])
		step := mean + sd*normalBetween((lower-mean)/sd, (upper-mean)/sd, rng)
		inside := true
		for i, a := range dir {
			inside = inside && tail[i]+step*a < 0
		}
		if inside { // rounding at the border may put it outside; then it stays
			axpy(tail, step, dir)
		}
	}
}

// normalBetween draws from the standard normal cut off to [a, b], a ≤ b, where a, b or both may be
// infinite: by rejection from the normal itself, from the uniform distribution where the interval
// is short, or in a tail from the exponential distribution of negativeNormal.
func normalBetween(a, b float64, rng *rand.Rand) float64 {
	if -b > a { // turn the longer side, or the tail, to the right
		return -normalBetween(-b, -a, rng)
	}
	if a <= 0 {
		if b-a > 2.5 {
			for {
				if x := rng.NormFloat64(); x >= a && x <= b {
					return x
				}
			}
		}
		for {
			if x := a + (b-a)*rng.Float64(); rng.Float64() <= math.Exp(-x*x/2) {
				return x
			}
		}
	}
	rate := (a + math.Sqrt(a*a+4)) / 2
	if (b-a)*rate < 1.5 {
		for {
			if e := (b - a) * rng.Float64(); rng.Float64() <= math.Exp(-e*(a+e/2)) {
				return a + e
			}
		}
	}
	for {
		e := rng.ExpFloat64() / rate
		if t := e - 1/rate; a+e <= b && rng.Float64() <= math.Exp(-t*t/2) {
			return a + e
		}
	}
}
