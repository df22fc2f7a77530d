package sources

import (
	"context"
	"fmt"
	"math"

	"github.com/campaignd/campaignd/internal/num/gp"
	"github.com/campaignd/campaignd/internal/num/kernel"
)

// MaxSources is how many sources an ICM may have: each adds as many parameters as
// there are sources, and measurements of all of them go into one matrix.
const MaxSources = 4

// ICM are the hyperparameters of the intrinsic coregionalization model (Bonilla,
// Chai and Williams 2008) of T sources, numbered from 0,
//
//	y = m + f_t(x) + ε,   cov(f_t(x), f_t'(x')) = B[t][t']·exp(−½ Σ_j (x_j − x'_j)²/ℓ_j²),
//
// B = WWᵀ, ε ~ N(0, v_t).
type ICM struct {
	// Lengthscales in the units of the points, one per dimension.
	Lengthscales []float64 `json:"lengthscales"`
	// W is T×T and lower triangular: row t has t+1 entries.
	W [][]float64 `json:"w"`
	// Noise is the variance of one value of each source.
	Noise []float64 `json:"noise"`
	// Mean is the prior mean.
	Mean float64 `json:"mean"`
}

// B returns WWᵀ, the prior covariances of the sources at one point.
func (h ICM) B() [][]float64 {
	b := make([][]float64, len(h.W))
	for t := range b {
		b[t] = make([]float64, len(b))
		for u := range t + 1 {
			b[t][u] = inner(h.W[t], h.W[u])
			b[u][t] = b[t][u]
		}
	}
	return b
}

// inner returns Σ_k v_k w_k over the entries that both have.
func inner(v, w []float64) (sum float64) {
	for k := range min(len(v), len(w)) {
		sum += v[k] * w[k]
	}
	return sum
}

// Correlation returns the prior correlation of two sources at one point.
func (h ICM) Correlation(t, u int) float64 {
	return inner(h.W[t], h.W[u]) / math.Sqrt(inner(h.W[t], h.W[t])*inner(h.W[u], h.W[u]))
}

// validate checks the hyperparameters for d dimensions, but for what the kernel
// checks.
func (h ICM) validate(d int) error {
	if n := len(h.W); n < 1 || n > MaxSources || len(h.Noise) != n {
		return fmt.Errorf("%w: %d rows of W and %d noise variances, from 1 to %d sources may be",
			gp.ErrHyper, n, len(h.Noise), MaxSources)
	}
	if len(h.Lengthscales) != d {
		return fmt.Errorf("%w: %d lengthscales for %d dimensions", gp.ErrHyper, len(h.Lengthscales), d)
	}
	for t, row := range h.W {
		if len(row) != t+1 {
			return fmt.Errorf("%w: row %d of W has %d entries, not %d", gp.ErrHyper, t, len(row), t+1)
		}
		if v := h.Noise[t]; !(v > 0) || math.IsInf(v, 1) {
			return fmt.Errorf("%w: noise variance %v is not a positive finite number", gp.ErrHyper, v)
		}
	}
	if math.IsNaN(h.Mean) || math.IsInf(h.Mean, 0) {
		return fmt.Errorf("%w: mean %v is not finite", gp.ErrHyper, h.Mean)
	}
	return nil
}

// isSource returns which numbers are sources.
func (h ICM) isSource(s float64) bool {
	return s >= 0 && s < float64(len(h.W)) && s == math.Trunc(s)
}

// Posterior returns the posterior of all sources: f_t(x) is f at Join(x, t). A value
// that is added to it later counts with the noise of source 0, unless its own is
// given. It fails with gp.ErrData, gp.ErrHyper, kernel.ErrHyperparameter or
// gp.ErrNotPositiveDefinite, or with the error of a context that is done.
func (h ICM) Posterior(ctx context.Context, data Data) (*gp.GP, error) {
	if err := data.validate(h.isSource); err != nil {
		return nil, err
	}
	if err := h.validate(len(data.X[0])); err != nil {
		return nil, err
	}
	k, err := kernel.Coregional(kernel.RBF.String(), h.Lengthscales, h.B())
	if err != nil {
		return nil, err
	}
	all := data.joined()
	all.NoiseVar = make([]float64, len(data.X))
	for i, s := range data.Source {
		all.NoiseVar[i] = h.Noise[int(s)]
	}
	return gp.NewWithKernel(ctx, all, k, h.Noise[0], h.Mean)
}

// LogMarginal returns the log marginal likelihood of the data, natural log with all
// constants, and fills grad, if not nil, with its derivatives with respect to
// ln ℓ_1 … ln ℓ_d, the rows of W one after the other, ln v_0 … and the mean. It
// fails as Posterior does.
func (h ICM) LogMarginal(ctx context.Context, data Data, grad []float64) (float64, error) {
	if err := data.validate(h.isSource); err != nil {
		return 0, err
	}
	if err := h.validate(len(data.X[0])); err != nil {
		return 0, err
	}
	if _, err := kernel.Coregional(kernel.RBF.String(), h.Lengthscales, h.B()); err != nil {
		return 0, err
	}
	var theta []float64
	for _, l := range h.Lengthscales {
		theta = append(theta, math.Log(l))
	}
	for _, row := range h.W {
		theta = append(theta, row...)
	}
	for _, v := range h.Noise {
		theta = append(theta, math.Log(v))
	}
	if grad != nil && len(grad) != len(theta)+1 {
		panic(fmt.Sprintf("sources: a gradient of %d entries, the model has %d parameters", len(grad), len(theta)+1))
	}
	c := newBetween(len(h.W))
	e := newEvidence(data, c, c.size())
	value, _, err := e.eval(ctx, theta, h.Mean, grad)
	return value, err
}

// between is the coupling of an ICM.
type between struct {
	w [][]float64 // lower triangular
	b [][]float64
}

func newBetween(sources int) *between {
	c := &between{w: make([][]float64, sources)}
	for t := range c.w {
		c.w[t] = make([]float64, t+1)
	}
	return c
}

// size returns the number of entries of W.
func (c *between) size() int { return len(c.w) * (len(c.w) + 1) / 2 }

func (c *between) set(parameters []float64) {
	for t, row := range c.w {
		copy(row, parameters[t*(t+1)/2:])
	}
	c.b = ICM{W: c.w}.B()
}

func (c *between) covariance(s, t float64) float64 { return c.b[int(s)][int(t)] }

// derive uses that ∂B_tu/∂W_tk = W_uk, and the same with t and u exchanged.
func (c *between) derive(dst []float64, s, t, weight float64) {
	a, b := int(s), int(t)
	for range 2 {
		row := dst[a*(a+1)/2:]
		for k := range min(a, b) + 1 {
			row[k] += weight * c.w[b][k]
		}
		a, b = b, a
	}
}

// logAgreement returns power·Σ_{t<u} ln(1 + ρ_tu) of the correlations as they are set, and
// adds its derivatives by the entries of W to grad, unless that is nil.
func (c *between) logAgreement(power float64, grad []float64) (value float64) {
	const least = 1e-9 // of 1 + ρ, so that rounding gives no infinity
	for t := range c.b {
		for u := range t {
			scale := math.Sqrt(c.b[t][t] * c.b[u][u])
			rho := c.b[t][u] / scale
			value += power * math.Log(1+least+rho)
			if grad == nil {
				continue
			}
			slope := power / (1 + least + rho)
			c.derive(grad, float64(t), float64(u), slope/scale)
			c.derive(grad, float64(t), float64(t), -slope*rho/(2*c.b[t][t]))
			c.derive(grad, float64(u), float64(u), -slope*rho/(2*c.b[u][u]))
		}
	}
	return value
}

func (c *between) noise(s float64) int { return int(s) }
