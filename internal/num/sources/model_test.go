package sources

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/campaignd/campaignd/internal/num/gp"
	"github.com/campaignd/campaignd/internal/num/kernel"
)

// Join returns a point of the posterior: the coordinates of a design, and the
// source as the last one.
func Join(x []float64, source float64) []float64 {
	return append(slices.Clip(x), source)
}

// joined returns the data as package gp has them, without noise.
func (d Data) joined() gp.Data {
	g := gp.Data{X: make([][]float64, len(d.X)), Y: d.Y}
	for i, x := range d.X {
		g.X[i] = Join(x, d.Source[i])
	}
	return g
}

// kernel builds the kernel for d dimensions, and checks everything but noise and
// mean.
func (h Fidelity) kernel(d int) (kernel.Kernel, error) {
	if len(h.Lengthscales) != d {
		return nil, fmt.Errorf("%w: %d lengthscales for %d dimensions", gp.ErrHyper, len(h.Lengthscales), d)
	}
	return kernel.Downsampling(kernel.RBF.String(), h.Lengthscales, h.OutputScale, h.C, h.Delta)
}

// Posterior returns the posterior of all fidelities: f(x, s) is f at Join(x, s). It
// fails with gp.ErrData, gp.ErrHyper, kernel.ErrHyperparameter or
// gp.ErrNotPositiveDefinite, or with the error of a context that is done.
func (h Fidelity) Posterior(ctx context.Context, data Data) (*gp.GP, error) {
	if err := data.validate(isFidelity); err != nil {
		return nil, err
	}
	k, err := h.kernel(len(data.X[0]))
	if err != nil {
		return nil, err
	}
	return gp.NewWithKernel(ctx, data.joined(), k, h.Noise, h.Mean)
}

// LogMarginal returns the log marginal likelihood of the data, natural log with all
// constants, and fills grad, if not nil, with its derivatives with respect to
// ln ℓ_1 … ln ℓ_d, ln σ², ln c, ln δ, ln v and the mean. It fails as Posterior does.
func (h Fidelity) LogMarginal(ctx context.Context, data Data, grad []float64) (float64, error) {
	if err := data.validate(isFidelity); err != nil {
		return 0, err
	}
	if _, err := h.kernel(len(data.X[0])); err != nil {
		return 0, err
	}
	if !(h.Noise > 0) || math.IsInf(h.Noise, 1) {
		return 0, fmt.Errorf("%w: noise variance %v is not a positive finite number", gp.ErrHyper, h.Noise)
	}
	var theta []float64
	for _, l := range append(h.Lengthscales[:len(h.Lengthscales):len(h.Lengthscales)],
		h.OutputScale, h.C, h.Delta, h.Noise) {
		theta = append(theta, math.Log(l))
	}
	if grad != nil && len(grad) != len(theta)+1 {
		panic(fmt.Sprintf("sources: a gradient of %d entries, the model has %d parameters", len(grad), len(theta)+1))
	}
	e := newEvidence(data, new(along), alongParameters)
	value, _, err := e.eval(ctx, theta, h.Mean, grad)
	return value, err
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

// LogInformation returns, for each way, ln of the information in nats that one
// measurement of a design gives on its value at the target,
//
//	G = −½ ln(1 − ρ²),   ρ² = cov(f(x, target), f(x, s))²/(var f(x, target)·(var f(x, s) + noise)),
//
// given the data: the mutual information of two jointly normal numbers. It is
// −Inf for a way that tells nothing, and for all where nothing is left to tell.
func LogInformation(g *gp.GP, x []float64, target float64, ways []Way) []float64 {
	points := [][]float64{Join(x, target)}
	for _, w := range ways {
		points = append(points, Join(x, w.Source))
	}
	return logInformation(g.Joint(points), ways)
}

// Choose returns the way with the greatest information per cost, ln G − α·ln cost,
// the first of equals, and what it is of each. With α = 1 it is information per
// unit of cost, with α = 0 cost does not matter: see acquisition.Cooling. It panics
// where there is no way.
func Choose(g *gp.GP, x []float64, target float64, ways []Way, alpha float64) (best int, values []float64) {
	if len(ways) == 0 {
		panic("sources: no way to measure")
	}
	values = LogInformation(g, x, target, ways)
	return PerCost(values, ways, alpha), values
}
