package choice

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/lapack/lapack64"

	"github.com/campaignd/campaignd/internal/num/kernel"
)

// DefaultJitter is the nugget to use where nothing calls for another.
const DefaultJitter = 1e-8

// MLEResult is the belief of greatest likelihood in the ball of radius B.
type MLEResult struct {
	Z          []float64 // its value at each labelled point, n of them in the order of the labels
	LogLik     float64   // ℓ(Z), natural log
	Multiplier float64   // of the constraint ½(Zᵀ(K + jitter·I)⁻¹Z − B²) ≤ 0; 0 where the ball is not reached
}

// MLE maximises the log-likelihood of the labels over beliefs of norm at most norm (B in the paper):
//
//	max ℓ(Z)  subject to  Zᵀ(K + jitter·I)⁻¹Z ≤ B²    (Xu et al. 2024, Eq. 37)
//
// norm and jitter must be positive and finite. It fails with ErrLabels, ErrSetting or ErrNotConverged. Without labels the
// result is empty, with log-likelihood 0.
func MLE(labels Labels, k kernel.Kernel, norm, jitter float64) (MLEResult, error) {
	a, gram, err := prepare(labels, k, norm, jitter)
	if err != nil {
		return MLEResult{}, err
	}
	fit, err := fitMLE(&a, gram, norm)
	if err != nil {
		return MLEResult{}, err
	}
	res := MLEResult{Z: make([]float64, len(labels.X)), LogLik: fit.logLik, Multiplier: fit.multiplier}
	at := a.index(labels.X)
	for i := range res.Z {
		res.Z[i] = fit.z[at[i]]
	}
	return res, nil
}

// prepare merges the labels and returns the Gram matrix of the distinct points with the jitter added.
func prepare(labels Labels, k kernel.Kernel, norm, jitter float64) (answers, []float64, error) {
	if !(norm > 0) || math.IsInf(norm, 1) {
		return answers{}, nil, fmt.Errorf("%w: norm bound %v, it must be positive and finite", ErrSetting, norm)
	}
	if !(jitter > 0) || math.IsInf(jitter, 1) {
		return answers{}, nil, fmt.Errorf("%w: jitter %v, it must be positive and finite", ErrSetting, jitter)
	}
	a, err := labels.merge(k.Dim())
	if err != nil {
		return answers{}, nil, err
	}
	n := len(a.points)
	gram := make([]float64, n*n)
	k.Gram(gram, a.points)
	for i := range n {
		gram[i*n+i] += jitter
	}
	return a, gram, nil
}

// mleFit is the MLE at the distinct points.
type mleFit struct {
	z          []float64 // latent values
	grad       []float64 // ∇ℓ(z)
	logLik     float64
	multiplier float64 // 1/τ, see fitMLE; 0 where the ball is not reached
}

// fitMLE solves Eq. 37 at the distinct points.
//
// The ball is idle only where the best Z without it lies inside: Z_i = ln(rejects/accepts), which is finite only if every
// point has both answers. Otherwise Z = τ·K·∇ℓ(Z) with the multiplier μ = 1/τ, and |Z|²_K = N(τ) increases with τ from 0;
// a safeguarded Newton search in ln τ finds N(τ) = B². For a fixed τ, Z maximises ℓ(Z) − |Z|²_K/(2τ): see penalised and,
// for large τ, tilted.
//
// For large τ the search ends where (B² − N(τ))/(2τ), the most that ℓ can still gain, is below gainTolerance: a ball so
// large that the likelihood hardly notices its edge.
func fitMLE(a *answers, gram []float64, norm float64) (mleFit, error) {
	n := len(a.points)
	f := mleFit{z: make([]float64, n), grad: make([]float64, n)}
	f.logLik = a.slope(f.grad, f.z)
	if n == 0 {
		return f, nil
	}
	if z, ok := idleBall(a, gram, norm); ok {
		f.z = z
		f.logLik = a.slope(f.grad, z)
		return f, nil
	}
	p := newPenalised(a, gram)
	var q *tilted
	noisy := false
	// The inner maximiser need not be better than the step in τ that follows; the last one is exact.
	loose := 1e-2
	// Where ℓ is linear, N(τ) = τ²·gᵀKg; its curvature only lowers N, so this start is left of the root.
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
			if size, slope, err = p.maximise(tau, loose); err != nil {
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
			err = q.maximise(1/tau, 0)
			z = q.z
			size, slope = q.size()
			slope *= -1 / tau // d/d ln τ = −m·d/dm
		}
		if err != nil {
			return f, err
		}
		gain := (target - size) / (2 * tau)
		collapsed := hi-lo <= 1e-12*tau // rounding of N, not τ, is what keeps the target away
		if math.Abs(size-target) <= 1e-13*target || math.Abs(gain) <= 1e-14 || ((q != nil || collapsed) && math.Abs(gain) <= gainTolerance) {
			if q == nil && loose > exact {
				loose = exact
				continue
			}
			f.z, f.multiplier = z, 1/tau
			f.logLik = a.slope(f.grad, z)
			return f, nil
		}
		if collapsed {
			noisy, lo, hi = true, 0, math.Inf(1)
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
	return f, fmt.Errorf("%w: no multiplier found for the norm bound %v with %d labelled points", ErrNotConverged, norm, n)
}

const (
	// exact is the largest |a_i − ∂ℓ/∂z_i| that counts as a solution of penalised.
	exact = 1e-13
	// steepest is the τ up to which penalised is used: its Z carries a rounding error of about τ·1e-16.
	steepest = 1e5
	// gainTolerance is the log-likelihood, in nats, that is not worth a search.
	gainTolerance = 1e-10
)

// idleBall returns the maximiser of ℓ without the norm constraint, if there is one and it lies in the ball.
func idleBall(a *answers, gram []float64, norm float64) ([]float64, bool) {
	n := len(a.points)
	z := make([]float64, n)
	for i := range z {
		if a.rejects[i] == 0 || a.accepts[i] == 0 {
			return nil, false
		}
		z[i] = math.Log(a.rejects[i] / a.accepts[i])
	}
	chol := blas64.Symmetric{N: n, Stride: n, Data: append([]float64(nil), gram...), Uplo: blas.Lower}
	t, ok := lapack64.Potrf(chol)
	if !ok {
		return nil, false
	}
	half := append([]float64(nil), z...)
	blas64.Trsv(blas.NoTrans, t, blas64.Vector{N: n, Inc: 1, Data: half})
	return z, floats.Dot(half, half) <= norm*norm
}

// penalised maximises ℓ(z) − |z|²_K/(2τ) for one τ after the other, each from the solution before, by Newton's method in
// the form of Rasmussen and Williams 2006, Algorithm 3.1 (z = τ·K·a, with the Cholesky factor of I + τ·W^½KW^½, which costs
// n³/6 multiplications and needs no factor of K), damped so that it always ascends.
type penalised struct {
	answers *answers
	gram    []float64
	a, z    []float64 // z = τ·K·a; at the solution a = ∇ℓ(z)
	grad    []float64
	root    []float64 // W^½
	factor  []float64 // lower Cholesky factor of I + τ·W^½KW^½
	rhs     []float64
	kv      []float64
	trialZ  []float64
	trialA  []float64
	chol    blas64.Triangular
}

func newPenalised(a *answers, gram []float64) *penalised {
	n := len(a.points)
	v := func() []float64 { return make([]float64, n) }
	return &penalised{answers: a, gram: gram, a: v(), z: v(), grad: v(), root: v(), factor: make([]float64, n*n), rhs: v(),
		kv: v(), trialZ: v(), trialA: v()}
}

func (p *penalised) mulGram(dst, x []float64) {
	n := len(x)
	blas64.Symv(1, blas64.Symmetric{N: n, Stride: n, Data: p.gram, Uplo: blas.Lower},
		blas64.Vector{N: n, Inc: 1, Data: x}, 0, blas64.Vector{N: n, Inc: 1, Data: dst})
}

// refactor computes W^½ at z and the Cholesky factor for tau.
func (p *penalised) refactor(tau float64) error {
	n := len(p.z)
	p.answers.curvature(p.root, p.z)
	for i, w := range p.root {
		p.root[i] = math.Sqrt(w)
	}
	for i := range n {
		scale := tau * p.root[i]
		row, gramRow := p.factor[i*n:i*n+i+1], p.gram[i*n:i*n+i+1]
		for j := range row {
			row[j] = scale * p.root[j] * gramRow[j]
		}
		row[i]++
	}
	var ok bool
	p.chol, ok = lapack64.Potrf(blas64.Symmetric{N: n, Stride: n, Data: p.factor, Uplo: blas.Lower})
	if !ok {
		return fmt.Errorf("%w: the kernel matrix of %d labelled points is not positive definite", ErrNotConverged, n)
	}
	return nil
}

// solve overwrites x with (I + τ·W^½KW^½)⁻¹x.
func (p *penalised) solve(x []float64) {
	v := blas64.Vector{N: len(x), Inc: 1, Data: x}
	blas64.Trsv(blas.NoTrans, p.chol, v)
	blas64.Trsv(blas.Trans, p.chol, v)
}

// maximise leaves the maximiser for tau in a and z, such that no |a_i − ∂ℓ/∂z_i| passes tol, and returns N(τ) and
// dN/d ln τ.
func (p *penalised) maximise(tau, tol float64) (size, slope float64, err error) {
	p.mulGram(p.z, p.a)
	floats.Scale(tau, p.z)
	value := p.answers.slope(p.grad, p.z) - 0.5*floats.Dot(p.a, p.z)
	for range 100 {
		if err := p.refactor(tau); err != nil {
			return 0, 0, err
		}
		// The Newton point: a = b − W^½(I + τW^½KW^½)⁻¹W^½·τK·b with b = W·z + ∇ℓ(z).
		for i, r := range p.root {
			p.rhs[i] = r*r*p.z[i] + p.grad[i]
		}
		p.mulGram(p.kv, p.rhs)
		for i, r := range p.root {
			p.kv[i] *= tau * r
		}
		p.solve(p.kv)
		for i, r := range p.root {
			p.rhs[i] -= r * p.kv[i]
		}
		p.mulGram(p.kv, p.rhs)
		floats.Scale(tau, p.kv)
		// Backtrack towards the old point until ℓ − penalty does not fall.
		before := value
		for step := 1.0; ; step /= 2 {
			for i := range p.z {
				p.trialA[i] = p.a[i] + step*(p.rhs[i]-p.a[i])
				p.trialZ[i] = p.z[i] + step*(p.kv[i]-p.z[i])
			}
			value = p.answers.slope(p.grad, p.trialZ) - 0.5*floats.Dot(p.trialA, p.trialZ)
			if value >= before-1e-13*(1+math.Abs(before)) || step < 1e-10 {
				break
			}
		}
		p.a, p.trialA = p.trialA, p.a
		p.z, p.trialZ = p.trialZ, p.z
		miss := floats.Distance(p.a, p.grad, math.Inf(1))
		if miss <= tol || (!(value > before) && miss <= 1e-9) { // the second: at the limit of rounding
			return tau * floats.Dot(p.a, p.z), tau * p.sizeSlope(), nil
		}
	}
	return 0, 0, fmt.Errorf("%w: Newton's method for the maximum likelihood at multiplier %g", ErrNotConverged, 1/tau)
}

// sizeSlope returns dN/dτ = 2(∇ℓᵀz − yᵀ(I + τ·W^½KW^½)⁻¹y), y = W^½z, at the last solution.
func (p *penalised) sizeSlope() float64 {
	for i, r := range p.root {
		p.kv[i] = r * p.z[i]
		p.rhs[i] = p.kv[i]
	}
	p.solve(p.kv)
	return 2 * (floats.Dot(p.a, p.z) - floats.Dot(p.rhs, p.kv))
}
