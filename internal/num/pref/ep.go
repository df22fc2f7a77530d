package pref

import (
	"context"
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/lapack/lapack64"

	"github.com/campaignd/campaignd/internal/num/gp"
	"github.com/campaignd/campaignd/internal/num/kernel"
	"github.com/campaignd/campaignd/internal/num/special"
)

// ErrProbitOnly reports a logistic link where only the probit one has the
// method: expectation propagation and the hallucination believer work on the
// noisy differences v, which are jointly normal under the probit link alone
// (Sinaga et al. 2026, App. B and D). Use Laplace for the logistic link.
var ErrProbitOnly = errors.New("this posterior is for the probit link only; use Laplace for the logistic link")

// EPConfig tunes EP. The zero value means the defaults.
type EPConfig struct {
	// MaxSweeps limits the sweeps over all duels; default 200.
	MaxSweeps int
	// Tol is the largest change of a site in one sweep at which the sites count
	// as settled: the change of its precision in units of 1/(marginal
	// variance), and of its precision times its mean in units of 1/(marginal
	// standard deviation); default 1e-10.
	Tol float64
	// Damping in (0, 1] is the share of the way that a site is moved to its new
	// value; default 1. EP halves it by itself when the changes stop shrinking.
	Damping float64
}

// EPResult is the approximation N(v | 0, Σ)·∏ N(v_j | SiteMean_j, SiteVar_j) of the truncated
// normal of the differences, with the utility's posterior that follows. Every slice has one entry
// per duel.
type EPResult struct {
	Posterior *Posterior
	// SiteMean and SiteVar are μ̃ and σ̃² (Sinaga et al. 2026, Eq. S28). An
	// uninformative duel has infinite variance and the mean 0.
	SiteMean, SiteVar []float64
	// Mean and Var are the marginal mean and variance of each difference v_j
	// given all duels.
	Mean, Var []float64
	// LogEvidence approximates the log marginal likelihood of the duels, ln P(v
	// < 0), natural log.
	LogEvidence float64
	// Sweeps is the number of sweeps; Change is the size of the last one's change, in the units of
	// EPConfig.Tol.
	Sweeps int
	Change float64
	// Damping is the damping of the last sweep.
	Damping float64
}

// EPError reports that expectation propagation did not settle.
type EPError struct {
	Sweeps  int
	Change  float64 // of the last sweep, as in EPResult
	Tol     float64
	Damping float64 // of the last sweep
}

// Error says what happened and what helps.
func (e *EPError) Error() string {
	return fmt.Sprintf("expectation propagation has not settled after %d sweeps: "+
		"the last changed a site by %.2g, allowed %.2g, "+
		"damping %.3g; allow more sweeps, raise the noise, or use the Laplace or hallucination posterior",
		e.Sweeps, e.Change, e.Tol, e.Damping)
}

// EP returns the posterior by expectation propagation on the noisy differences of the utility, v_k
// = (f + ε)(loser) − (f + ε)(winner) < 0, for the probit link (Sinaga et al. 2026, App. D):
//
//	p(v | v < 0) ∝ N(v | 0, Σ) ∏ 1(v_k < 0) ≈ N(v | 0, Σ) ∏ N(v_k | μ̃_k, σ̃_k²),
//	mean(x) = k_v(x) (Σ + Σ̃)⁻¹ μ̃,    cov(x,x') = k(x,x') − k_v(x) (Σ + Σ̃)⁻¹ k_v(x')ᵀ   (Eq. S38, S39),
//
// where Σ is the prior covariance of v, each judgment of a design with a noise of its own, and
// k_v(x) that of f(x) and v.
//
// The sites are updated one after the other, in the order of the duels, and the factorization is
// made afresh after each sweep. That costs more a sweep than updating all sites at once, which
// needs the diagonal of Σ̂ only, but it settles without damping; and as the truncation is
// log-concave, no site gets a negative variance. A sweep is O(n³), n duels: O(n²) a site.
//
// It fails with ErrDuels, ErrLink, ErrProbitOnly for the logistic link, gp.ErrNotPositiveDefinite,
// an *EPError where the sites do not settle, or the context's error, wrapped.
func EP(ctx context.Context, d Duels, link Link, k kernel.Kernel, cfg EPConfig) (*EPResult, error) {
	if err := probitOnly(link); err != nil {
		return nil, fmt.Errorf("expectation propagation: %w", err)
	}
	if err := d.Validate(); err != nil {
		return nil, err
	}
	n := d.Len()
	e := newSites(d.differenceCovariance(k), n)
	r := &EPResult{
		SiteMean: make([]float64, n),
		SiteVar:  make([]float64, n),
		Mean:     e.mean,
		Var:      make([]float64, n),
	}
	if n == 0 {
		r.Posterior, r.Damping = Prior(k), 1
		return r, nil
	}
	var err error
	if r.Sweeps, r.Change, r.Damping, err = e.run(ctx, cfg); err != nil {
		return nil, err
	}
	r.LogEvidence = e.logEvidence()
	weights := make([]float64, n) // (Σ + Σ̃)⁻¹ μ̃ = ν − τ∘μ̂
	for j := range n {
		if r.Var[j], r.SiteVar[j] = e.post[j*n+j], 1/e.tau[j]; e.tau[j] > 0 {
			r.SiteMean[j] = e.nu[j] / e.tau[j]
		}
		weights[j] = e.nu[j] - e.tau[j]*e.mean[j]
	}
	// (Σ + Σ̃)⁻¹ = S B⁻¹ S.
	lapack64.Potri(blas64.Triangular{Uplo: blas.Lower, Diag: blas.NonUnit, N: n, Stride: n, Data: e.factor})
	for i := range n {
		for j := range i + 1 {
			v := math.Sqrt(e.tau[i]) * e.factor[i*n+j] * math.Sqrt(e.tau[j])
			e.factor[i*n+j], e.factor[j*n+i] = v, v
		}
	}
	r.Posterior = d.posterior(k, weights, e.factor)
	return r, nil
}

// probitOnly returns the error for a link that has no jointly normal
// differences.
func probitOnly(link Link) error {
	if err := link.Validate(); err != nil {
		return err
	}
	if link != Probit {
		return ErrProbitOnly
	}
	return nil
}

// differenceCovariance returns Σ = A(K + V)Aᵀ, n×n row-major, both triangles:
// the prior covariance of the differences v_k = (f + ε)(loser) − (f +
// ε)(winner) (Sinaga et al. 2026, Eq. S19). The noise of each judgment is its
// own, also where duels share a design, so that V is on the diagonal only.
func (d Duels) differenceCovariance(k kernel.Kernel) []float64 {
	n, m := d.Len(), len(d.X)
	gram := make([]float64, m*m)
	k.Gram(gram, d.X)
	sigma := make([]float64, n*n)
	for i := range n {
		w, l := gram[d.Winner[i]*m:], gram[d.Loser[i]*m:]
		for j := range i + 1 {
			a, b := d.Winner[j], d.Loser[j]
			v := (l[b] - l[a]) - (w[b] - w[a])
			sigma[i*n+j], sigma[j*n+i] = v, v
		}
		sigma[i*n+i] += d.Noise[d.Winner[i]] + d.Noise[d.Loser[i]]
	}
	return sigma
}

// posterior returns the posterior of f whose mean is k_v(x)·weights and whose
// covariance is k − k_v M k_vᵀ, with k_v(x) = cov(f(x), v), n values, and M an
// n×n row-major symmetric matrix: both carried over from differences to
// designs.
func (d Duels) posterior(k kernel.Kernel, weights, M []float64) *Posterior {
	n, m := d.Len(), len(d.X)
	w, c := make([]float64, m), make([]float64, m*m)
	row := make([]float64, m)
	for i := range n {
		win, lose := d.Winner[i], d.Loser[i]
		w[lose] += weights[i]
		w[win] -= weights[i]
		clear(row)
		for j, v := range M[i*n : i*n+n] {
			row[d.Loser[j]] += v
			row[d.Winner[j]] -= v
		}
		axpy(c[lose*m:lose*m+m], 1, row)
		axpy(c[win*m:win*m+m], -1, row)
	}
	for i := range m { // equal but for the order of the sums
		for j := range i {
			c[j*m+i] = c[i*m+j]
		}
	}
	return NewPosterior(k, d.X, w, c)
}

// truncation returns the effect of the truncation v < 0 of a normal with mean −z·sd, in units of
// sd: its mean is moved by −r, r = φ(z)/Φ(z); h = z + r is how far below 0 the truncated mean lies;
// and rest is the truncated variance, 1 − r·h. All three keep their relative precision in both
// tails, where the subtractions would lose all of it.
func truncation(z float64) (r, h, rest float64) {
	switch {
	case z >= -10:
		r = special.InverseMills(z)
		h = z + r
		if z < -1 {
			_, slope := special.LogH(z)
			h = 1 / slope
		}
		return r, h, 1 - r*h
	default:
		// The continued fraction of the Mills ratio (Abramowitz and Stegun
		// 1964, 26.2.14): with x = −z and t = x + 2/u, u = x + 3/w, w = x +
		// 4/(x + 5/(…)) it is r = x + 1/t and h = 1/t, and then 1 − r·h = (x +
		// 4/u − 3/w)/(u·t²). At x = 10 the 40th convergent agrees with the
		// limit to 1e-17; larger x need fewer.
		x := -z
		w := x
		for k := 40; k >= 4; k-- {
			w = x + float64(k)/w
		}
		u := x + 3/w
		t := x + 2/u
		return x + 1/t, 1 / t, (x + 4/u - 3/w) / (u * t * t)
	}
}

// sites is the state of expectation propagation on N(v | 0, Σ)·∏ 1(v_j < 0).
// Matrices are m×m row-major, of symmetric ones the lower triangle is used.
type sites struct {
	m     int
	sigma []float64 // Σ
	// Site j is proportional to exp(−τ_j v²/2 + ν_j v): τ = 1/σ̃² ≥ 0 and ν =
	// μ̃/σ̃², since a precision may be 0 where a variance would be infinite.
	tau, nu []float64
	post    []float64 // Σ̂ = (Σ⁻¹ + diag τ)⁻¹ (Sinaga et al. 2026, Eq. S30)
	mean    []float64 // μ̂ = Σ̂ν
	factor  []float64 // L of B = I + SΣS = LLᵀ, S = diag √τ
	half    []float64 // work: SΣ and L⁻¹SΣ
	col     []float64 // work: √τ, and a column of Σ̂
}

func newSites(sigma []float64, m int) *sites {
	e := &sites{
		m:      m,
		sigma:  sigma,
		tau:    make([]float64, m),
		nu:     make([]float64, m),
		mean:   make([]float64, m),
		col:    make([]float64, m),
		post:   make([]float64, m*m),
		factor: make([]float64, m*m),
		half:   make([]float64, m*m),
	}
	for i := range m {
		copy(e.post[i*m:i*m+i+1], sigma[i*m:i*m+i+1])
	}
	return e
}

// refresh computes B's factor, Σ̂ = Σ − ΣS B⁻¹ SΣ and μ̂ afresh from the sites
// (Rasmussen and Williams 2006, §3.6.3). B's eigenvalues are at least 1, so
// that no jitter is needed however singular Σ is. It fails where Σ is not
// finite.
func (e *sites) refresh() error {
	m, s := e.m, e.col
	for i, t := range e.tau {
		s[i] = math.Sqrt(t)
	}
	for i := range m {
		for j := range i + 1 {
			v := e.sigma[i*m+j]
			e.post[i*m+j] = v
			e.half[i*m+j], e.half[j*m+i] = s[i]*v, s[j]*v
			e.factor[i*m+j] = s[i] * v * s[j]
		}
		e.factor[i*m+i]++
	}
	b := blas64.Symmetric{Uplo: blas.Lower, N: m, Stride: m, Data: e.factor}
	l, ok := lapack64.Potrf(b)
	if !ok || math.IsNaN(e.factor[m*m-1]) {
		return fmt.Errorf("expectation propagation: %w: %d duels", gp.ErrNotPositiveDefinite, m)
	}
	half := square(e.half, m)
	post := blas64.Symmetric{Uplo: blas.Lower, N: m, Stride: m, Data: e.post}
	blas64.Trsm(blas.Left, blas.NoTrans, 1, l, half)
	blas64.Syrk(blas.Trans, -1, half, 1, post)
	blas64.Symv(1, post, vector(e.nu), 0, vector(e.mean))
	return nil
}

// cavity returns the mean and standard deviation of v_j without its own site
// (Eq. S32, S33); ok is false where rounding has left no variance.
func (e *sites) cavity(j int) (mean, sd float64, ok bool) {
	variance := e.post[j*e.m+j]
	share := 1 - e.tau[j]*variance
	if !(share > 0) || !(variance > 0) {
		return 0, 0, false
	}
	return (e.mean[j] - variance*e.nu[j]) / share, math.Sqrt(variance / share), true
}

// sweep updates the sites one after the other in the order of the duels, each against the others'
// newest state, and returns the largest change as in EPConfig.Tol. It updates only those parts of
// Σ̂ and μ̂ that later sites will read, so that a sweep costs as much as a factorization, m³/3;
// refresh must follow.
func (e *sites) sweep(damping float64) (change float64) {
	m := e.m
	for j := range m {
		mean, sd, ok := e.cavity(j)
		if !ok {
			change = math.Inf(1)
			continue
		}
		// Moments of the cavity truncated at 0 give the site: precision τ =
		// δ/((1−δ)σ²) with δ = r·(z+r) (Eq. S37), and mean μ_cav − σ_cav/(z+r);
		// Eq. S36 as printed has the wrong sign and the reciprocal.
		z := -mean / sd
		r, h, rest := truncation(z)
		tau := r * h / (rest * sd * sd)
		pull := h - z*rest // r + zδ, in the form that does not cancel
		if z > 0 {
			pull = r + z*r*h
		}
		nu := -pull / (rest * sd)
		variance := e.post[j*m+j]
		dTau, dNu := tau-e.tau[j], nu-e.nu[j]
		change = max(change, math.Abs(dTau)*variance, math.Abs(dNu)*math.Sqrt(variance))
		dTau, dNu = damping*dTau, damping*dNu
		e.tau[j] += dTau
		e.nu[j] += dNu

		kappa := dTau / (1 + dTau*variance)
		shift := dNu - kappa*(e.mean[j]+dNu*variance)
		later := m - j - 1
		for i := range later {
			e.col[i] = e.post[(j+1+i)*m+j]
			e.mean[j+1+i] += shift * e.col[i]
		}
		if later > 0 {
			blas64.Syr(-kappa, vector(e.col[:later]),
				blas64.Symmetric{Uplo: blas.Lower, N: later, Stride: m, Data: e.post[(j+1)*m+j+1:]})
		}
	}
	return change
}

// run sweeps until the sites settle.
func (e *sites) run(ctx context.Context, cfg EPConfig) (sweeps int, change, damping float64, err error) {
	limit, tol := cfg.MaxSweeps, cfg.Tol
	if limit <= 0 {
		limit = 200
	}
	if !(tol > 0) {
		tol = 1e-10
	}
	damping = cfg.Damping
	if !(damping > 0 && damping <= 1) {
		damping = 1
	}
	last, grown := math.Inf(1), 0
	for sweeps < limit {
		if err := ctx.Err(); err != nil {
			return sweeps, change, damping, fmt.Errorf("expectation propagation: %w", err)
		}
		change = e.sweep(damping)
		sweeps++
		if err := e.refresh(); err != nil {
			return sweeps, change, damping, err
		}
		if change <= tol {
			return sweeps, change, damping, nil
		}
		// One larger change may be a step toward the fixed point, two in a row
		// are an oscillation.
		if grown++; change < last {
			grown = 0
		}
		if last = change; grown == 2 && damping > 1.0/32 {
			damping, grown = damping/2, 0
		}
	}
	return sweeps, change, damping, &EPError{Sweeps: sweeps, Change: change, Tol: tol,
		Damping: damping}
}

// logEvidence returns the log evidence, ln ∫ N(v | 0, Σ) ∏ site_j(v_j) dv with
// every site scaled to its cavity's mass Φ(z_j) (Rasmussen and Williams 2006,
// Eq. 3.65), written in precisions so that empty sites do no harm.
func (e *sites) logEvidence() float64 {
	sum := 0.0
	for j := range e.m {
		mean, sd, _ := e.cavity(j)
		tau, nu := e.tau[j], e.nu[j]
		gain := tau * sd * sd
		sum += special.LogNormalCDF(-mean/sd) + 0.5*math.Log1p(gain) - math.Log(e.factor[j*e.m+j]) +
			0.5*nu*e.mean[j] + 0.5*(tau*mean*mean-2*mean*nu-sd*sd*nu*nu)/(1+gain)
	}
	return sum
}
