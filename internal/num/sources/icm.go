package sources

import (
	"math"
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

// isSource returns which numbers are sources.
func (h ICM) isSource(s float64) bool {
	return s >= 0 && s < float64(len(h.W)) && s == math.Trunc(s)
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
