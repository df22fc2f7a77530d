package next

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/num/acquisition"
	"github.com/campaignd/campaignd/internal/num/gp"
	"github.com/campaignd/campaignd/internal/num/qmc"
	"github.com/campaignd/campaignd/projections/quantity"
)

// Effort of the noisy expected improvement.
const (
	drawn    = 64  // possible values of what has been tried
	baseline = 32  // measured compositions that they are values of, at most
	weighed  = 128 // measured compositions to choose them from, at most
	pruning  = 512 // draws by which they are chosen
)

// Acquisition implements [Rule]: −log of the expected improvement on the best tried
// composition, whose values are known only as far as the posterior knows them (Letham et al.
// 2019; LogNEI: Ament et al. 2023): draws of f, without noise, at the compositions measured and under way, and the mean
// over the draws of the expected improvement on the least value of each, given all of its
// values. So nothing is to be gained where something was measured or is under way, and where
// nothing is noisy and nothing under way it is [LogEI].
func (LogNEI) Acquisition(m *quantity.Model, seed uint64) (Acquisition, error) {
	m, pending := m.Expected()
	known := m.Conditioned()
	points, draws, err := tried(m, known, pending, seed)
	if err != nil {
		return nil, err
	}
	best := make([]float64, len(draws))
	compared := comparable(m, points)
	for s, values := range draws {
		best[s] = values[least(values, compared)]
	}
	given, err := known.Given(points, draws, 0)
	if err != nil {
		return nil, fmt.Errorf("the objective model given what has been tried: %w", err)
	}
	p := given.NewPredictor()
	nei := acquisition.NewNoisy(best)
	// A smaller standard deviation is rounding, and has no gradient.
	leastOf := leastSD * math.Sqrt(m.GP().Hyper().OutputScale)
	dSD := make([]float64, given.Dim())
	return func(x, grad []float64) float64 {
		if grad == nil {
			means, sd := p.Means(x)
			return -nei.Log(means, math.Max(sd, leastOf))
		}
		means, sd := p.MeansGrad(x, dSD)
		value, byMean, bySD := nei.LogGrad(means, math.Max(sd, leastOf))
		p.MeanGrad(grad, nei.Weight)
		for j := range grad {
			grad[j] = -byMean*grad[j] - bySD*dSD[j]
		}
		return -value
	}, nil
}

// leastSD is the standard deviation, relative to the prior's, that is taken for
// none.
const leastSD = 1e-7

// tried returns the compositions on which there is to be an improvement, points
// of the unit cube, and draws of f there. They are those under way, and the
// measured ones that may be the best, as in BoTorch's prune_baseline.
func tried(
	m *quantity.Model, known *gp.Conditioned, pending [][]float64, seed uint64,
) (points, draws [][]float64, err error) {
	measured := contenders(m)
	all := slices.Concat(measured, pending)
	joint := known.Joint(all)
	tolerance := leastVariance * m.GP().Hyper().OutputScale

	// How often each is the best.
	order := make([]int, len(all))
	for i := range order {
		order[i] = i
	}
	f := joint.Draws(order, tolerance)
	compared, free := comparable(m, all), make([]bool, len(f.Free))
	for i, at := range f.Free {
		free[i] = compared[at]
	}
	wins := make([]int, len(all))
	rng := rand.New(rand.NewPCG(seed, 0x6e6569)) // the second word spells "nei": a stream of its own
	z := make([]float64, len(f.Free))
	for range pruning {
		for i := range z {
			z[i] = rng.NormFloat64()
		}
		y := f.AtFree(z)
		wins[f.Free[least(y, free)]]++
	}
	winners := slices.SortedStableFunc(slices.Values(order[:len(measured)]), func(a, b int) int {
		return cmp.Compare(wins[b], wins[a])
	})
	winners = slices.DeleteFunc(winners, func(i int) bool { return wins[i] == 0 })
	winners = winners[:min(len(winners), baseline)]

	f = joint.Draws(slices.Concat(winners, order[len(measured):]), tolerance)
	for _, i := range f.Free {
		points = append(points, all[i])
	}
	quasi, err := qmc.Normals(len(points), drawn, seed)
	if err != nil {
		return nil, nil, err
	}
	for _, z := range quasi {
		draws = append(draws, f.AtFree(z))
	}
	return points, draws, nil
}

// comparable reports for points of the unit cube whether their values are compared: those at
// the target, if some are of a lower fidelity. Experiments under way at a lower one are known
// to the model, but cannot be the best.
func comparable(m *quantity.Model, points [][]float64) []bool {
	compared := make([]bool, len(points))
	for i, x := range points {
		compared[i] = m.Fidelity() == nil || m.Fidelity().AtTarget(x)
	}
	return compared
}

// least is the place of the least of the values that are compared, the first of equals.
func least(values []float64, compared []bool) int {
	at := -1
	for i, v := range values {
		if compared[i] && (at < 0 || v < values[at]) {
			at = i
		}
	}
	return at
}

// contenders are the measured compositions with the best posterior means, each
// once.
func contenders(m *quantity.Model) [][]float64 { return contendersOf(m, nil) }

// contendersOf is contenders with a rank of each: those of a lower one come first.
func contendersOf(m *quantity.Model, rank []int) (points [][]float64) {
	X, means := m.Compared()
	if rank == nil {
		rank = make([]int, len(X))
	}
	order := make([]int, len(means))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(rank[a], rank[b]), cmp.Compare(means[a], means[b]))
	})
	for _, i := range order {
		same := func(x []float64) bool { return slices.Equal(x, X[i]) }
		if !slices.ContainsFunc(points, same) {
			points = append(points, X[i])
		}
		if len(points) == weighed {
			break
		}
	}
	return points
}

// leastVariance, relative to the prior's, is that of a value which others
// determine.
const leastVariance = 1e-11

// Near the best compositions searches begin at several distances each, in
// lengthscales.
var distances = []float64{0.02, 0.05, 0.1, 0.2, 0.2, 0.5, 0.5, 1}

const (
	besides     = 4   // compositions near which searches begin
	longestStep = 0.5 // of the unit cube, where a lengthscale is longer
)

// Name implements [Rule].
func (LogNEI) Name() string { return LogNEIName }

// Rationale implements [Rule].
func (LogNEI) Rationale() string {
	return "the greatest expected improvement on the best so far, as uncertain as that is"
}

// Gist implements [Brief].
func (LogNEI) Gist() string { return "expected improvement" }

// Logarithm implements [Logarithmic].
func (LogNEI) Logarithm() {}

// BalancesUntil implements [Balancer]. Definitions of before there were Restarts lack them.
func (s LogNEI) BalancesUntil() float64 {
	definition.DefaultTo(&s.Restarts, 1)
	return *s.Restarts
}

// Starts implements [Starter]. At the measured compositions themselves nothing is to be gained,
// and no slope leads away from them.
func (LogNEI) Starts(m *quantity.Model, seed uint64) [][]float64 {
	best := contenders(m)
	return around(best[:min(len(best), besides)], m.Kernel().Lengthscales(), seed)
}

// around are points at each of the distances from some others.
func around(points [][]float64, lengthscales []float64, seed uint64) (starts [][]float64) {
	rng := rand.New(rand.NewPCG(seed, 0x626573696465)) // "beside"
	for _, x := range points {
		for _, distance := range distances {
			start := make([]float64, len(x))
			for j := range start {
				step := distance * min(lengthscales[j], longestStep) * rng.NormFloat64()
				start[j] = min(max(x[j]+step, 0), 1)
			}
			starts = append(starts, start)
		}
	}
	return starts
}
