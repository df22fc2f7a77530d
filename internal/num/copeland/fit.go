package copeland

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
	"github.com/campaignd/campaignd/internal/num/optimize"
)

// The noise of a quadrature is searched as a share τ = λ/v of the output scale. The values are a
// smooth function computed to many digits, so the noise is only the part that a stationary
// surrogate cannot follow; the lower bound keeps the factor stable.
var noiseShare = gp.LogNormal{Mu: math.Log(1e-3), Sigma: 2, Lower: 1e-6, Upper: 1}

// leastScale is the output scale of values that do not differ from their mean
// at all.
const leastScale = 1e-12

// QuadratureFit is a fit of one quadrature, with its cost.
type QuadratureFit struct {
	Hyper       Hyper           `json:"hyper"`
	LogMarginal float64         `json:"log_marginal"`
	KKT         float64         `json:"kkt"`    // see optimize.Result
	Status      optimize.Status `json:"status"` // how the best search ended
	Evaluations int             `json:"evaluations"`
}

// FitQuadrature maximizes the log marginal likelihood of the values, with the
// symmetric kernel and the constant mean given, plus log priors, over the
// logarithms of the lengthscales and of λ/v; for each of them the best output
// scale v is known in closed form. The priors are gp.DefaultPriors for the 2d
// coordinates of a pair, and λ/v ~ LogNormal(ln 10⁻³, 2) in [10⁻⁶, 1]. It
// searches from each of the starts, of d lengthscales each. It fails with
// ErrData, ErrNotPositiveDefinite if no start can be evaluated, or the
// context's error, wrapped.
func FitQuadrature(
	ctx context.Context, p Pairs, mean float64, symmetry Symmetry, starts [][]float64,
) (QuadratureFit, error) {
	d, err := p.validate()
	if err != nil {
		return QuadratureFit{}, err
	}
	e := newEvidence(p, d, mean, symmetry)
	lower, upper := make([]float64, d+1), make([]float64, d+1)
	for j := range d {
		lower[j], upper[j] = math.Log(e.prior.Lower), math.Log(e.prior.Upper)
	}
	lower[d], upper[d] = math.Log(noiseShare.Lower), math.Log(noiseShare.Upper)
	region, err := optimize.NewRegion(optimize.Box(lower, upper))
	if err != nil {
		return QuadratureFit{}, fmt.Errorf("quadrature fit: %w", err)
	}
	points := make([][]float64, len(starts))
	for i, s := range starts {
		if len(s) != d {
			panic(fmt.Sprintf("copeland: start of %d lengthscales for %d parameters", len(s), d))
		}
		points[i] = make([]float64, d+1)
		for j, l := range s {
			points[i][j] = min(max(math.Log(l), lower[j]), upper[j])
		}
		points[i][d] = noiseShare.Mu
	}
	best, err := optimize.MultiStart(ctx, e.eval, region, points, optimize.MultiStartConfig{
		Searches: len(points),
		Local:    optimize.Config{FTol: 1e-6, FirstStep: 1, MaxIterations: 50},
	})
	if errors.Is(err, optimize.ErrStart) {
		return QuadratureFit{}, fmt.Errorf("quadrature fit: %w (%w)", ErrNotPositiveDefinite, err)
	}
	if err != nil {
		return QuadratureFit{}, fmt.Errorf("quadrature fit: %w", err)
	}
	h := Hyper{Lengthscales: make([]float64, d)}
	for j := range d {
		h.Lengthscales[j] = math.Exp(best.X[j])
	}
	e.eval(best.X, nil) // the last evaluation was elsewhere: once more at the result, for its output scale
	h.OutputScale, h.Noise = e.scale, e.scale*math.Exp(best.X[d])
	return QuadratureFit{
		Hyper:       h,
		LogMarginal: e.lml,
		KKT:         best.KKT,
		Status:      best.Status,
		Evaluations: best.Evaluations + 1,
	}, nil
}

// evidence evaluates the log marginal likelihood of one set of values for many
// hyperparameters, over θ = (ln ℓ_1 … ln ℓ_d, ln λ/v). Entries i ≥ k of a
// symmetric matrix are numbered i(i+1)/2 + k.
type evidence struct {
	n, d int
	sign float64 // of the mirrored pairs
	// by dimension: squared differences (a_i−a_k)² + (b_i−b_k)², and (a_i−b_k)²
	// + (b_i−a_k)²
	direct, crossed [][]float64
	y               []float64 // values − mean
	prior           gp.LogNormal

	rho, mirrored []float64 // by entry: the two terms of the kernel at v = 1
	cov, factor   []float64 // n×n
	alpha         []float64

	scale, lml float64 // of the last evaluation: best output scale, log marginal likelihood
}

func newEvidence(p Pairs, d int, mean float64, symmetry Symmetry) *evidence {
	n := len(p.Values)
	entries := n * (n + 1) / 2
	e := &evidence{
		n: n, d: d, sign: float64(symmetry), y: make([]float64, n), alpha: make([]float64, n),
		prior: gp.DefaultPriors(2 * d).Lengthscale,
		rho:   make([]float64, entries), mirrored: make([]float64, entries),
		cov: make([]float64, n*n), factor: make([]float64, n*n),
	}
	for i, v := range p.Values {
		e.y[i] = v - mean
	}
	square := func(x float64) float64 { return x * x }
	for j := range d {
		direct, crossed := make([]float64, 0, entries), make([]float64, 0, entries)
		for i := range n {
			for k := range i + 1 {
				ai := p.First[i][j]
				bi := p.Second[i][j]
				ak := p.First[k][j]
				bk := p.Second[k][j]
				direct = append(direct, square(ai-ak)+square(bi-bk))
				crossed = append(crossed, square(ai-bk)+square(bi-ak))
			}
		}
		e.direct, e.crossed = append(e.direct, direct), append(e.crossed, crossed)
	}
	return e
}

// eval is the negative log posterior density of θ, with the output scale that
// maximizes it.
func (e *evidence) eval(theta, grad []float64) float64 {
	n, d := e.n, e.d
	clear(e.rho)
	clear(e.mirrored)
	weights := make([]float64, d)
	for j := range d {
		weights[j] = math.Exp(-2 * theta[j])
		blas64.Axpy(weights[j], vector(e.direct[j]), vector(e.rho))
		if e.sign != 0 {
			blas64.Axpy(weights[j], vector(e.crossed[j]), vector(e.mirrored))
		}
	}
	kernel.RBF.Fill(e.rho, e.rho, 1)
	if e.sign != 0 {
		kernel.RBF.Fill(e.mirrored, e.mirrored, 1)
	}
	share := math.Exp(theta[d])
	for i, at := 0, 0; i < n; i++ {
		row := e.cov[i*n : i*n+i+1]
		for k := range row {
			row[k] = e.rho[at+k] + e.sign*e.mirrored[at+k]
		}
		at += i + 1
	}
	if err := cholesky(e.factor, e.cov, n, share, 1); err != nil {
		return math.Inf(1)
	}
	copy(e.alpha, e.y)
	solve(e.factor, e.alpha)
	quadratic := dot(e.alpha, e.y)
	e.scale = max(quadratic/float64(n), leastScale)
	e.lml = -0.5*float64(n)*math.Log(2*math.Pi*e.scale) - 0.5*quadratic/e.scale
	for i := range n {
		e.lml -= math.Log(e.factor[i*n+i])
	}
	posterior := e.lml
	for j := range d + 1 {
		p := e.prior
		if j == d {
			p = noiseShare
		}
		z := (theta[j] - p.Mu) / p.Sigma
		posterior -= theta[j] + 0.5*z*z
		if grad != nil {
			grad[j] = 1 + z/p.Sigma
		}
	}
	if grad == nil {
		return -posterior
	}

	// With W = ααᵀ/v − (K/v)⁻¹, ∂lml/∂θ = ½ tr(W ∂(K/v)/∂θ) (Rasmussen and
	// Williams 2006, Eq. 5.9); v needs no term of its own, because the
	// derivative in v vanishes.
	lapack64.Potri(blas64.Triangular{Uplo: blas.Lower, Diag: blas.NonUnit, N: n, Stride: n, Data: e.factor})
	var trace float64
	for i, at := 0, 0; i < n; i++ {
		for k := range i + 1 {
			w := e.alpha[i]*e.alpha[k]/e.scale - e.factor[i*n+k]
			if i == k {
				trace += w
				w *= 0.5 // an entry off the diagonal counts twice
			}
			e.rho[at+k] *= w
			e.mirrored[at+k] *= w
		}
		at += i + 1
	}
	for j := range d {
		slope := dot(e.rho, e.direct[j])
		if e.sign != 0 {
			slope += e.sign * dot(e.mirrored, e.crossed[j])
		}
		grad[j] -= weights[j] * slope
	}
	grad[d] -= 0.5 * share * trace
	return -posterior
}
