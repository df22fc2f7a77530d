package sources

import (
	"context"
	"fmt"
	"math"

	"github.com/campaignd/campaignd/internal/num/gp"
	"github.com/campaignd/campaignd/internal/num/kernel"
)

// Target is the fidelity that matters.
const Target = 1

// Fidelity are the hyperparameters of a quantity that is measured at fidelities from
// 0 to 1, the target: y = m + f(x, s) + ε, ε ~ N(0, v), with the kernel
// [kernel.Downsampling] of exp(−½ Σ_j (x_j − x'_j)²/ℓ_j²).
type Fidelity struct {
	// Lengthscales in the units of the points, one per dimension.
	Lengthscales []float64 `json:"lengthscales"`
	// OutputScale is σ².
	OutputScale float64 `json:"output_scale"`
	// C is what all fidelities share, as a multiple of σ².
	C float64 `json:"c"`
	// Delta is δ: how much nearer to the target's values those of high fidelities
	// are.
	Delta float64 `json:"delta"`
	// Noise is the variance of one value.
	Noise float64 `json:"noise"`
	// Mean is the prior mean.
	Mean float64 `json:"mean"`
}

// isFidelity returns which numbers are fidelities.
func isFidelity(s float64) bool { return s >= 0 && s <= Target }

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

// along is the coupling of fidelities, σ²(c + u(s)u(t)), u(s) = (1−s)^(1+δ).
type along struct{ scale, c, delta float64 }

// alongParameters are ln σ², ln c and ln δ.
const alongParameters = 3

func (a *along) set(parameters []float64) {
	a.scale, a.c, a.delta = math.Exp(parameters[0]), math.Exp(parameters[1]), math.Exp(parameters[2])
}

func (a *along) covariance(s, t float64) float64 {
	return a.scale * (a.c + math.Pow((1-s)*(1-t), 1+a.delta))
}

func (a *along) derive(dst []float64, s, t, weight float64) {
	weight *= a.scale
	base := (1 - s) * (1 - t)
	deviation := math.Pow(base, 1+a.delta)
	dst[0] += weight * (a.c + deviation)
	dst[1] += weight * a.c
	if base > 0 { // at the target δ does not matter
		dst[2] += weight * a.delta * deviation * math.Log(base)
	}
}

func (a *along) noise(float64) int { return 0 }
