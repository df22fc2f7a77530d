package dueling

import (
	"fmt"
	"math/rand/v2"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/lapack/lapack64"

	"github.com/campaignd/campaignd/internal/num/kernel"
	"github.com/campaignd/campaignd/internal/num/special"
)

// Task is a problem with a known utility, for tests and studies: x_i wins against x_j with
// probability μ(Utility[i] − Utility[j]).
type Task struct {
	Candidates *Candidates
	Utility    []float64
	Best       int // the candidate of greatest utility
}

// PaperTask returns the one-dimensional task of the experiments of Kayal et al. 2025 (§5, with the
// values of the authors' code) for the kernel called name: 100 equispaced candidates in [0, 1],
// lengthscale 0.1, and five times the ridge mean through ten equispaced values. It fails with the
// kernel's errors.
func PaperTask(name string) (*Task, error) {
	k, err := kernel.New(name, []float64{0.1}, 1)
	if err != nil {
		return nil, err
	}
	points, at := make([][]float64, 100), make([][]float64, 10)
	for i := range points {
		points[i] = []float64{float64(i) / 99}
	}
	for i := range at {
		at[i] = []float64{float64(i) / 9}
	}
	return RidgeTask(k, points, at, []float64{-0.5, 0, 0.5, 1, 0.7, 0.2, 0.2, 0.5, 0.95, 0.7}, 5)
}

// RidgeTask returns the task with utility scale·k(·, X)(k(X, X) + 0.05·I)⁻¹y for the points X = at
// and y = values, the paper's way to make a function in the space of a kernel. It fails with
// ErrCandidates; slices of different lengths panic.
func RidgeTask(k kernel.Kernel, points, at [][]float64, values []float64, scale float64) (*Task, error) {
	if len(at) != len(values) {
		panic(fmt.Sprintf("dueling: %d points with %d values", len(at), len(values)))
	}
	c, err := NewCandidates(k, points)
	if err != nil {
		return nil, err
	}
	n := len(at)
	gram := make([]float64, n*n)
	k.Gram(gram, at)
	for i := range n {
		gram[i*n+i] += 0.05
	}
	weights := append([]float64(nil), values...)
	root, ok := lapack64.Potrf(blas64.Symmetric{Uplo: blas.Lower, N: n, Stride: n, Data: gram})
	if !ok {
		panic("dueling: a kernel matrix with 0.05 on its diagonal is not positive definite")
	}
	blas64.Trsv(blas.NoTrans, root, vector(weights))
	blas64.Trsv(blas.Trans, root, vector(weights))
	t := &Task{Candidates: c, Utility: make([]float64, len(points))}
	row := make([]float64, n)
	for i, x := range points {
		k.Cross(row, at, x)
		t.Utility[i] = scale * dot(row, weights)
		if t.Utility[i] > t.Utility[t.Best] {
			t.Best = i
		}
	}
	return t, nil
}

// Answer draws the outcome of comparing the pair.
func (t *Task) Answer(random *rand.Rand, p Pair) Comparison {
	x := Comparison{Pair: p}
	if random.Float64() < special.Logistic(t.Utility[p.First]-t.Utility[p.Second]) {
		x.Outcome = 1
	}
	return x
}

// Regret returns what comparing the pairs cost: Σ_t (P(x* ≻ x_t) + P(x* ≻ x'_t) − 1)/2 for the best
// candidate x* (Kayal et al. 2025, Eq. 1). A pair (x, x) counts as any other. It is at least 0, and
// below ½ a pair.
func (t *Task) Regret(pairs ...Pair) float64 {
	var sum float64
	for _, p := range pairs {
		sum += Regret(t.Utility, t.Best, p)
	}
	return sum
}

// Regret returns the regret of one pair under the utilities, best being the candidate of greatest
// utility (Kayal et al. 2025, Eq. 1).
func Regret(utility []float64, best int, p Pair) float64 {
	top := utility[best]
	return (special.Logistic(top-utility[p.First]) + special.Logistic(top-utility[p.Second]) - 1) / 2
}

// DefaultSettings are ours for MR-LPF: λ = 0.05, κ = 1, the norm of h as penalty, and the
// calibrated β.
func DefaultSettings(horizon int, seed uint64) Settings {
	return Settings{Horizon: horizon, Lambda: 0.05, Beta: Beta{Rule: BetaCalibrated}, Loss: LossRKHS, Seed: seed}
}

// PaperSettings are those of the experiments of Kayal et al. 2025, Appendix D: λ = 0.05, κ = 1, β =
// 1, LossTheta.
func PaperSettings(horizon int, seed uint64) Settings {
	return Settings{Horizon: horizon, Lambda: 0.05, Beta: Beta{Rule: BetaPaper}, Loss: LossTheta, Seed: seed}
}
