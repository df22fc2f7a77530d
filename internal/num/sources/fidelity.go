package sources

import (
	"math"
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
	// C is the part that all fidelities share, as a multiple of σ².
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

// along is the coupling of fidelities, σ²(c + u(s)u(t)), u(s) = (1−s)^(1+δ).
type along struct{ scale, c, delta float64 }

// alongParameters are ln σ², ln c and ln δ.
const alongParameters = 3

func (a *along) set(parameters []float64) {
	a.scale = math.Exp(parameters[0])
	a.c = math.Exp(parameters[1])
	a.delta = math.Exp(parameters[2])
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
