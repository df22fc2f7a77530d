package bope

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"

	"github.com/campaignd/campaignd/internal/num/acquisition"
	"github.com/campaignd/campaignd/internal/num/pref"
	"github.com/campaignd/campaignd/internal/num/qmc"
)

const (
	utilityDraws  = 16 // S, of the utilities at the baseline
	outcomePoints = 16 // R, of the outcome at a design
	// leastVariance, relative to the output scale, is that of a utility which those
	// before it determine.
	leastVariance = 1e-8
)

// EIUU is the expected improvement under utility uncertainty (Lin et al. 2022, §5):
// by how much the utility of a design's outcome is expected to exceed the best
// utility of the outcomes there are, where neither the outcome nor any utility is
// known. It is evaluated in closed form, but for quasi-random points that are
// the same at every design,
//
//	EIUU = (1/RS)·Σ_{r,s} E[(g(y_r) − max U_s)⁺ | g(baseline) = U_s],   y_r = μ + σ∘z_r:
//
// S draws U_s of the utilities of the baseline, and R points y_r of an outcome with
// independent quantities N(μ, σ²). It is MAXIMIZED. It is a workspace: one
// goroutine uses it at a time.
type EIUU struct {
	utility  *pref.EnsemblePredictor
	improved *acquisition.Noisy // of −g, which it minimizes
	z        [][]float64        // R×m

	y        []float64   // m
	negated  []float64   // S: −means
	byMean   []float64   // S
	log      []float64   // R: ln of the improvement at each y_r
	gradient [][]float64 // R×m: derivatives of the former in y_r
}

// NewEIUU returns the acquisition over a baseline, the outcomes among which the best one is now:
// the means of those measured. Outcomes whose utility others determine do no harm. It fails with
// gp.ErrNotPositiveDefinite where no utility is uncertain.
func NewEIUU(utility *pref.Posterior, baseline [][]float64, seed uint64) (*EIUU, error) {
	draws, err := qmc.Normals(len(baseline), utilityDraws, seed)
	if err != nil {
		return nil, err
	}
	points, err := qmc.Normals(utility.Dim(), outcomePoints, seed+1)
	if err != nil {
		return nil, err
	}
	return newEIUU(utility, baseline, draws, points)
}

// newEIUU is NewEIUU with given standard normal values: of each draw of utilities,
// and of each outcome.
func newEIUU(utility *pref.Posterior, baseline, draws, points [][]float64) (*EIUU, error) {
	if len(baseline) == 0 {
		panic("bope: an improvement on nothing")
	}
	all := make([]int, len(baseline))
	for i := range all {
		all[i] = i
	}
	sample := utility.Joint(baseline).Draws(all, leastVariance*utility.Kernel().OutputScale())
	free := make([][]float64, len(sample.Free))
	for a, i := range sample.Free {
		free[a] = baseline[i]
	}
	values := make([][]float64, len(draws))
	best := make([]float64, len(draws)) // −max U_s
	u := make([]float64, len(baseline))
	for s, z := range draws {
		values[s] = sample.AtFree(z)
		sample.Fill(u, z)
		best[s] = math.Inf(1)
		for _, v := range u {
			best[s] = math.Min(best[s], -v)
		}
	}
	given, err := utility.Given(free, values)
	if err != nil {
		return nil, fmt.Errorf("improvement of the utility: %w", err)
	}
	m := utility.Dim()
	e := &EIUU{
		utility: given.NewPredictor(), improved: acquisition.NewNoisy(best), z: points, y: make([]float64, m),
		negated: make([]float64, len(draws)), byMean: make([]float64, len(draws)),
		log: make([]float64, len(points)), gradient: make([][]float64, len(points)),
	}
	for r := range e.gradient {
		e.gradient[r] = make([]float64, m)
	}
	return e, nil
}

// Log returns ln EIUU for an outcome with the given means and standard deviations,
// standardized. It does not underflow; it is −Inf where nothing can be gained.
func (e *EIUU) Log(mean, sd []float64) float64 {
	for r := range e.z {
		e.log[r] = e.improved.Log(e.negate(e.utility.Means(e.at(r, mean, sd))))
	}
	return floats.LogSumExp(e.log) - math.Log(float64(len(e.log)))
}

// LogGrad is Log and fills dMean and dSD, one value for each quantity, with its
// derivatives. Where nothing can be gained they are 0.
func (e *EIUU) LogGrad(mean, sd, dMean, dSD []float64) float64 {
	for r, gradient := range e.gradient {
		value, byMean, bySD := e.improved.LogGrad(e.negate(e.utility.MeansGrad(e.at(r, mean, sd))))
		for s := range e.byMean {
			e.byMean[s] = -byMean * e.improved.Weight(s)
		}
		e.log[r] = value
		clear(gradient)
		e.utility.AddGrad(gradient, e.byMean, bySD)
	}
	clear(dMean)
	clear(dSD)
	sum := floats.LogSumExp(e.log)
	if math.IsInf(sum, -1) {
		return sum
	}
	for r, gradient := range e.gradient {
		share := math.Exp(e.log[r] - sum)
		for j, v := range gradient {
			dMean[j] += share * v
			dSD[j] += share * v * e.z[r][j]
		}
	}
	return sum - math.Log(float64(len(e.log)))
}

// at returns the r-th point of an outcome.
func (e *EIUU) at(r int, mean, sd []float64) []float64 {
	for j, z := range e.z[r] {
		e.y[j] = mean[j] + sd[j]*z
	}
	return e.y
}

// negate returns the means of −g.
func (e *EIUU) negate(means []float64, sd float64) ([]float64, float64) {
	for s, v := range means {
		e.negated[s] = -v
	}
	return e.negated, sd
}
