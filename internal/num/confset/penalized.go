package confset

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/lapack/lapack64"
)

// penalized maximizes ℓ(z) − |z|²_K/(2τ) for one τ after the other, each from
// the solution before, by Newton's method with z = τ·K·a, damped so that it
// always ascends. A step solves with I + τ·WK, which needs no factor of K.
//
// Where W is diagonal that is done in the form of Rasmussen and Williams 2006,
// Algorithm 3.1, with the Cholesky factor of I + τ·W^½KW^½, which costs n³/6
// multiplications. Where comparisons couple values it is an LU factorization,
// n³/3.
type penalized struct {
	answers *likelihood
	gram    []float64
	a, z    []float64 // z = τ·K·a; at the solution a = ∇ℓ(z)
	grad    []float64
	w       *curvature
	root    []float64 // W^½
	factor  []float64 // lower Cholesky factor of I + τ·W^½KW^½, or LU factors of I + τ·WK
	pivots  []int     // of the latter
	rhs     []float64
	kv      []float64
	trialZ  []float64
	trialA  []float64
}

func newPenalized(a *likelihood, gram []float64) *penalized {
	n := a.size()
	v := func() []float64 { return make([]float64, n) }
	return &penalized{
		answers: a,
		gram:    gram,
		a:       v(),
		z:       v(),
		grad:    v(),
		w:       a.newCurvature(),
		root:    v(),
		factor:  make([]float64, n*n),
		pivots:  make([]int, n),
		rhs:     v(),
		kv:      v(),
		trialZ:  v(),
		trialA:  v(),
	}
}

func (p *penalized) mulGram(dst, x []float64) {
	n := len(x)
	blas64.Symv(1, blas64.Symmetric{N: n, Stride: n, Data: p.gram, Uplo: blas.Lower},
		blas64.Vector{N: n, Inc: 1, Data: x}, 0, blas64.Vector{N: n, Inc: 1, Data: dst})
}

// refactor computes W at z and the factor of I + τ·WK.
func (p *penalized) refactor(tau float64) error {
	n := len(p.z)
	p.answers.curvature(p.w, p.z)
	if p.answers.coupled() {
		p.w.mulMatrix(p.factor, tau, p.gram)
		for i := range n {
			p.factor[i*n+i]++
		}
		if !lapack64.Getrf(p.lu(), p.pivots) {
			return fmt.Errorf("%w: singular curvature of the likelihood at multiplier %g",
				ErrNotConverged, 1/tau)
		}
		return nil
	}
	for i, w := range p.w.own {
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
	_, ok := lapack64.Potrf(blas64.Symmetric{N: n, Stride: n, Data: p.factor, Uplo: blas.Lower})
	if !ok {
		return fmt.Errorf("%w: the kernel matrix of %d latent values is not positive definite",
			ErrNotConverged, n)
	}
	return nil
}

func (p *penalized) lu() blas64.General {
	n := len(p.z)
	return blas64.General{Rows: n, Cols: n, Stride: n, Data: p.factor}
}

// solveLU overwrites x with (I + τ·WK)⁻¹x.
func (p *penalized) solveLU(x []float64) {
	lapack64.Getrs(blas.NoTrans, p.lu(), blas64.General{Rows: len(x), Cols: 1, Stride: 1, Data: x},
		p.pivots)
}

// solve overwrites x with (I + τ·W^½KW^½)⁻¹x.
func (p *penalized) solve(x []float64) {
	chol := lower(p.factor, len(x))
	blas64.Trsv(blas.NoTrans, chol, vector(x))
	blas64.Trsv(blas.Trans, chol, vector(x))
}

// newton leaves the maximizer of the quadratic model at z in rhs (for a) and kv
// (for z): a = (I + τ·WK)⁻¹b with b = W·z + ∇ℓ(z).
func (p *penalized) newton(tau float64) {
	if p.answers.coupled() {
		p.w.mul(p.rhs, p.z)
		floats.Add(p.rhs, p.grad)
		p.solveLU(p.rhs)
	} else {
		// a = b − W^½(I + τW^½KW^½)⁻¹W^½·τK·b.
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
	}
	p.mulGram(p.kv, p.rhs)
	floats.Scale(tau, p.kv)
}

// maximize leaves the maximizer for tau in a and z, such that no |a_i −
// ∂ℓ/∂z_i| passes tol, and returns N(τ) and dN/d ln τ.
func (p *penalized) maximize(tau, tol float64) (size, slope float64, err error) {
	p.mulGram(p.z, p.a)
	floats.Scale(tau, p.z)
	value := p.answers.slope(p.grad, p.z) - 0.5*floats.Dot(p.a, p.z)
	for range 100 {
		if err := p.refactor(tau); err != nil {
			return 0, 0, err
		}
		p.newton(tau)
		// Backtrack toward the old point until ℓ − penalty does not fall.
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
	return 0, 0, fmt.Errorf("%w: Newton's method for the maximum likelihood at multiplier %g",
		ErrNotConverged, 1/tau)
}

// sizeSlope returns dN/dτ = 2(∇ℓᵀz − zᵀ(I + τ·WK)⁻¹Wz) at the last solution.
func (p *penalized) sizeSlope() float64 {
	if p.answers.coupled() {
		p.w.mul(p.kv, p.z)
		p.solveLU(p.kv)
		return 2 * (floats.Dot(p.a, p.z) - floats.Dot(p.z, p.kv))
	}
	// The second term is yᵀ(I + τ·W^½KW^½)⁻¹y with y = W^½z.
	for i, r := range p.root {
		p.kv[i] = r * p.z[i]
		p.rhs[i] = p.kv[i]
	}
	p.solve(p.kv)
	return 2 * (floats.Dot(p.a, p.z) - floats.Dot(p.rhs, p.kv))
}
