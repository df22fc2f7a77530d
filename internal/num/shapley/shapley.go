package shapley

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/lapack/lapack64"

	"github.com/campaignd/campaignd/internal/num/gp"
	"github.com/campaignd/campaignd/internal/num/kernel"
)

// MaxPlayers is the largest number of players: 2^10 coalitions, each a linear
// system of n equations.
const MaxPlayers = 10

// PlayersError reports more players than MaxPlayers.
type PlayersError struct {
	Players int
}

// Error includes the remedy.
func (e *PlayersError) Error() string {
	return fmt.Sprintf("Shapley values of %d parameters would need 2^%d models, at most %d parameters are possible: "+
		"put parameters that belong together into one group, or leave out those with the longest lengthscales",
		e.Players, e.Players, MaxPlayers)
}

// ErrConfig reports settings that cannot be used; the text says which.
var ErrConfig = errors.New("bad setting of an explanation")

// DefaultRegularization is λ_S divided by the number of points.
const DefaultRegularization = 1e-4

// Config says how to explain. The zero value means the defaults.
type Config struct {
	// Groups are the players, each a set of dimensions that arrive together; default every
	// dimension on its own. No dimension is in two groups. A dimension in no group is never known,
	// and nothing is attributed to it.
	Groups [][]int
	// Regularization is λ_S divided by the number n of points; default
	// DefaultRegularization.
	Regularization float64
	// Replaced makes a coalition worth the average of the model over the points with its parameters
	// replaced by those of the point that is explained. The values then add up to the model's own
	// prediction. They have no MeanSD, and Regularization and EmptyIsMean have no meaning.
	Replaced bool
	// EmptyIsMean makes the empty coalition worth the plain average of f̃ with
	// no uncertainty, as the reference code does, instead of what Proposition 4
	// gives for a kernel k_∅ ≡ 1.
	EmptyIsMean bool
}

// Values are the contributions of the players to one quantity, in its unit.
type Values struct {
	// Phi holds the Shapley value of each player, in the order of the groups.
	// They add up to Full − Base.
	Phi []float64 `json:"phi"`
	// Base is ν(none), Full is ν(all).
	Base float64 `json:"base"`
	Full float64 `json:"full"`
}

// Explanation explains a model's prediction at one point.
type Explanation struct {
	Mean Values `json:"mean"` // of the posterior mean
	SD   Values `json:"sd"`   // of the posterior standard deviation
	UCB  Values `json:"ucb"`  // of the upper confidence bound
	// MeanSD is the standard deviation of each value in Mean.Phi that comes
	// from not knowing f: those values are linear in f, so that they are a
	// Gaussian vector themselves (Chau et al. 2023).
	MeanSD []float64 `json:"mean_sd"`
}

// Explainer explains the predictions of one model. Using it from several
// goroutines is safe as long as the model is not appended to.
type Explainer struct {
	cfg    Config
	model  *gp.GP
	x      [][]float64
	family kernel.Family
	inv2   []float64 // 1/ℓ² by dimension
	mean   []float64 // f̃
	cov    []float64 // K̃, n×n
}

// New prepares explanations of g's predictions relative to the points X, n of d
// coordinates: usually those that g was fitted to, each once. The work grows
// with n³·2^d; a representative part of many points also does. g has a kernel of
// kernel.New. It fails with a *PlayersError or ErrConfig.
func New(g *gp.GP, X [][]float64, cfg Config) (*Explainer, error) {
	d := g.Dim()
	if len(X) == 0 {
		return nil, fmt.Errorf("%w: no points to average over", ErrConfig)
	}
	for i, x := range X {
		if len(x) != d {
			panic(fmt.Sprintf("shapley: point %d has %d coordinates, the model %d dimensions", i, len(x), d))
		}
	}
	if cfg.Groups == nil {
		for j := range d {
			cfg.Groups = append(cfg.Groups, []int{j})
		}
	}
	if len(cfg.Groups) > MaxPlayers {
		return nil, &PlayersError{Players: len(cfg.Groups)}
	}
	taken := make([]bool, d)
	for _, group := range cfg.Groups {
		for _, j := range group {
			if j < 0 || j >= d || taken[j] {
				return nil, fmt.Errorf("%w: dimension %d of a group is in another one too or does not exist",
					ErrConfig, j)
			}
			taken[j] = true
		}
	}
	if cfg.Regularization == 0 {
		cfg.Regularization = DefaultRegularization
	}
	if !(cfg.Regularization > 0) || math.IsInf(cfg.Regularization, 1) {
		return nil, fmt.Errorf("%w: regularization %v is not a positive finite number", ErrConfig,
			cfg.Regularization)
	}
	family, ok := kernel.FamilyOf(g.Kernel())
	if !ok {
		return nil, fmt.Errorf("%w: the kernel is not stationary", ErrConfig)
	}
	e := &Explainer{cfg: cfg, model: g, x: X, family: family, inv2: g.Kernel().Lengthscales()}
	for j, l := range e.inv2 {
		e.inv2[j] = 1 / (l * l)
	}
	if !cfg.Replaced {
		joint := g.Joint(X)
		e.mean, e.cov = joint.Mean, joint.Cov
	}
	return e, nil
}

// Distinct returns points each once, in the order in which they first stand there: the
// background of the values is the compositions that were measured, however often.
func Distinct(points [][]float64) (rows [][]float64) {
	for _, x := range points {
		if !slices.ContainsFunc(rows, func(y []float64) bool { return slices.Equal(x, y) }) {
			rows = append(rows, x)
		}
	}
	return rows
}

// Explain explains the predictions at the points; beta ≥ 0 is that of the upper
// confidence bound μ + √β·σ. The points share the work. It fails with
// gp.ErrNotPositiveDefinite or the context's error, wrapped.
func (e *Explainer) Explain(ctx context.Context, points [][]float64, beta float64) ([]Explanation, error) {
	n := len(e.x)
	m := len(points)
	d := len(e.inv2)
	players := len(e.cfg.Groups)
	for i, x := range points {
		if len(x) != d {
			panic(fmt.Sprintf("shapley: point %d has %d coordinates, the model %d dimensions", i, len(x), d))
		}
	}
	if !(beta >= 0) {
		panic(fmt.Sprintf("shapley: β is %v", beta))
	}
	if e.cfg.Replaced {
		return e.replaced(ctx, points, beta)
	}
	out := make([]Explanation, m)
	psi := make([][]float64, m) // players×n: Σ_S a_jS B_S, so that φ_j of the mean is psi_jᵀ f̃
	for i := range out {
		for _, v := range []*Values{&out[i].Mean, &out[i].SD, &out[i].UCB} {
			v.Phi = make([]float64, players)
		}
		out[i].MeanSD = make([]float64, players)
		psi[i] = make([]float64, players*n)
	}

	within, across := e.differences(points)
	scaled := make([]float64, len(within[0]))
	gram := make([]float64, n*n)
	b := make([]float64, m*n)
	kb := make([]float64, n)
	share := shares(players)
	covariance := blas64.Symmetric{Uplo: blas.Lower, N: n, Stride: n, Data: e.cov}
	for coalition := range 1 << players {
		if ctx.Err() != nil {
			return nil, fmt.Errorf("explanation cancelled after %d of %d coalitions: %w",
				coalition, 1<<players, context.Cause(ctx))
		}
		if coalition == 0 && e.cfg.EmptyIsMean {
			for i := range b {
				b[i] = 1 / float64(n)
			}
		} else if err := e.weights(coalition, within, across, scaled, gram, b); err != nil {
			return nil, err
		}
		size := 0
		for j := range players {
			size += coalition >> j & 1
		}
		for i := range out {
			x := &out[i]
			bi := b[i*n : i*n+n]
			mean := dot(bi, e.mean)
			blas64.Symv(1, covariance, vector(bi), 0, vector(kb))
			sd := math.Sqrt(max(dot(bi, kb), 0))
			certain := coalition == 0 && e.cfg.EmptyIsMean
			if certain {
				sd = 0
			}
			ucb := mean + math.Sqrt(beta)*sd
			x.add(coalition, size, share, mean, sd, ucb)
			if certain {
				continue
			}
			for j := range players {
				a := -share[min(size, players-1)]
				if coalition>>j&1 == 1 {
					a = share[size-1]
				}
				blas64.Axpy(a, vector(bi), vector(psi[i][j*n:j*n+n]))
			}
		}
	}
	for i := range out {
		for j := range players {
			p := psi[i][j*n : j*n+n]
			blas64.Symv(1, covariance, vector(p), 0, vector(kb))
			out[i].MeanSD[j] = math.Sqrt(max(dot(p, kb), 0))
		}
	}
	return out, nil
}

// shares returns |S|! (p−|S|−1)! / p! by |S| < p: the probability that exactly
// S has arrived before a given player.
func shares(players int) []float64 {
	out := make([]float64, players)
	for s := range out {
		binomial := 1.0
		for k := range s {
			binomial = binomial * float64(players-1-k) / float64(k+1)
		}
		out[s] = 1 / (float64(players) * binomial)
	}
	return out
}

// differences returns for every player the squared differences in its
// dimensions, scaled by the lengthscales: within X, the entries i ≥ k numbered
// i(i+1)/2 + k, and across from point i to X_k, numbered i·n + k.
func (e *Explainer) differences(points [][]float64) (within, across [][]float64) {
	for _, group := range e.cfg.Groups {
		distance := func(x, y []float64) (s float64) {
			for _, j := range group {
				t := x[j] - y[j]
				s += e.inv2[j] * t * t
			}
			return s
		}
		var w, a []float64
		for i, x := range e.x {
			for _, y := range e.x[:i+1] {
				w = append(w, distance(x, y))
			}
		}
		for _, x := range points {
			for _, y := range e.x {
				a = append(a, distance(x, y))
			}
		}
		within, across = append(within, w), append(across, a)
	}
	return within, across
}

// weights fills b, one row of n per point, with B_S.
func (e *Explainer) weights(coalition int, within, across [][]float64, scaled, gram, b []float64) error {
	n := len(e.x)
	clear(scaled)
	clear(b)
	for j := range within {
		if coalition>>j&1 == 1 {
			blas64.Axpy(1, vector(within[j]), vector(scaled))
			blas64.Axpy(1, vector(across[j]), vector(b))
		}
	}
	e.family.Fill(scaled, scaled, 1)
	e.family.Fill(b, b, 1)
	lambda := e.cfg.Regularization * float64(n)
	for i, at := 0, 0; i < n; i++ {
		copy(gram[i*n:i*n+i+1], scaled[at:at+i+1])
		gram[i*n+i] += lambda
		at += i + 1
	}
	t, ok := lapack64.Potrf(blas64.Symmetric{Uplo: blas.Lower, N: n, Stride: n, Data: gram})
	if !ok {
		return fmt.Errorf("explanation: %w: %d points, λ_S = %.1e", gp.ErrNotPositiveDefinite, n, lambda)
	}
	for row := range slices.Chunk(b, n) {
		blas64.Trsv(blas.NoTrans, t, vector(row))
		blas64.Trsv(blas.Trans, t, vector(row))
	}
	return nil
}

// Strongest returns the k players with the greatest average |φ| over the given
// values, strongest first; of equal ones the earlier. Fewer are returned if
// there are fewer. Adachi et al. 2024, Appendix F, draw the plane of the
// strongest two.
func Strongest(k int, values ...Values) []int {
	if len(values) == 0 {
		return nil
	}
	sum := make([]float64, len(values[0].Phi))
	order := make([]int, len(sum))
	for j := range sum {
		order[j] = j
		for _, v := range values {
			sum[j] += math.Abs(v.Phi[j])
		}
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch {
		case sum[a] > sum[b]:
			return -1
		case sum[a] < sum[b]:
			return 1
		}
		return 0
	})
	return order[:min(k, len(order))]
}

func vector(x []float64) blas64.Vector { return blas64.Vector{N: len(x), Inc: 1, Data: x} }

func dot(x, y []float64) float64 { return blas64.Dot(vector(x), vector(y)) }
