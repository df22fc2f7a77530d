// Package channel makes measurements of experts' answers. An answer says something of the
// objective f through a channel that has to be learned: how strongly it depends on f, in which
// direction, and how noisy it is.
//
// There are two kinds of channel. In a channel of choices an expert has the utility u(x) = b·f(x), in
// logits; they reject x with probability S(b₀ + u(x)), and put compositions in an order with the
// probability of Plackett and Luce, in which the best is the one of least u (Luce 1959; Plackett 1975). In
// a channel of estimates they say a number, a₀ + a·f(x) + r(x) + η, with a prejudice r that is smooth in x and noise
// η. The slope b or a has either sign, and 0: it is a grid with weights that the answers' own evidence
// changes. So a guesser gets the slope 0 and vanishes, and who says the opposite is turned over.
//
// f is the standardized objective, smaller is better, given its measurements. For each value of the slope
// the posterior of f is again a Gaussian process, by Laplace's approximation (Rasmussen and
// Williams 2006, §3.4) for choices and exactly for estimates; what is returned has the moments of their mixture.
//
// Everything is a pure function of its arguments, with a fixed order in every sum.
package channel

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"

	"github.com/campaignd/campaignd/internal/num/gp"
)

// Answers are what one expert said, in one kind of channel: Estimates, or the others. Points are named by
// their index in the list that [Condition] gets.
type Answers struct {
	Labels []Label
	// Orders are choices and rankings: different points, from the best to the worst.
	Orders [][]int
	// Estimates are numbers in any unit and scale, which are standardized here.
	Estimates []Estimate
}

// Label is one accept or reject. Labels of one group share an intercept: how strict the expert was when they
// were given. Examples that were chosen to be balanced are a group of their own.
type Label struct {
	Point  int
	Reject bool
	Group  int
}

// Estimate is one number.
type Estimate struct {
	Point int
	Value float64
}

// Config says what is believed of experts before they answer. The zero value asks for the defaults.
type Config struct {
	// Guess, Against are the probabilities that answers say nothing of the objective, and that they go
	// against it; default 0.5 and 0.1.
	Guess, Against float64
	// Honest leaves out the prejudice that estimates may have.
	Honest bool
}

const (
	defaultGuess   = 0.5
	defaultAgainst = 0.1
)

// choiceSlopes are the slopes |b| of a channel of choices, in logits for each standard deviation of what was
// measured, each as likely as another: the labeler of Xu et al. 2024 (Example 2.2) with a = 1 has 1 to
// 1.5 on the electrolyte, Ackley's and Hölder's function, with a = 2 twice that.
var choiceSlopes = []float64{0.7, 1.5, 3}

// estimateSlopes are |a|, in standard deviations of the numbers for each of what was measured. They go
// beyond 1 because a campaign measures where the objective is good, and so may spread over more or less
// than the space does.
var estimateSlopes = []float64{0.3, 0.6, 1.2, 2.4}

// estimateNoise are the standard deviations of η, in those of the numbers, each as likely as another.
var estimateNoise = []float64{0.2, 0.4, 0.7, 1}

const (
	// interceptSD is the standard deviation of b₀ and a₀.
	interceptSD = 3
	// prejudiceSD and prejudiceLength are the standard deviation of r, in those of the numbers, and its
	// lengthscale in the unit cube. Half of the weight is on a channel without.
	prejudiceSD     = 0.7
	prejudiceLength = 0.3
	// nugget is the variance of an error in each utility; it keeps covariances of equal points regular.
	nugget = 1e-6
	// mostComponents are kept of the combinations of several channels, before another is added, and fewer
	// where they have most of the weight.
	mostComponents = 32
	mostWeight     = 0.998
)

// ErrAnswers is returned where answers cannot be weighed: the posterior at their points is not finite.
var ErrAnswers = errors.New("the answers cannot be compared with what was measured")

// Slope is one value of a channel's slope, with the standard deviation of the noise of one answer in the channel
// where that is a number (NaN for choices), and its posterior probability.
type Slope struct {
	Value, Noise, Weight float64
}

// Posterior is what the answers have taught.
type Posterior struct {
	// Objective is the posterior of f given measurements and answers.
	Objective *gp.Conditioned
	// Slopes are those of each channel, in the order of the answers given.
	Slopes [][]Slope
	// LogEvidence is the log probability of all answers, each utility's scale unknown.
	LogEvidence float64
}

// component is one combination of slopes: what the answers teach if they are right.
type component struct {
	log    float64   // of its weight, prior and evidence
	which  []int     // the index of each channel's variant
	gain   []float64 // p
	reduce []float64 // p×p
}

// Condition returns the posterior of the objective given answers of several channels at points of the unit
// cube. It costs O(p³) for each of some tens of components of each channel, p being its points. The only
// errors are ErrAnswers and that of a cancelled context.
func Condition(ctx context.Context, g *gp.GP, points [][]float64, channels []Answers, cfg Config) (*Posterior, error) {
	if cfg.Guess == 0 && cfg.Against == 0 {
		cfg.Guess, cfg.Against = defaultGuess, defaultAgainst
	}
	p := len(points)
	prior := g.Joint(points)
	beam := []component{{gain: make([]float64, p), reduce: make([]float64, p*p)}}
	kinds := make([][]variant, len(channels))
	evidence := 0.0
	for i, a := range channels {
		v, rows := a.variants(points, cfg)
		kinds[i] = v
		var next []component
		for _, c := range beam {
			if err := ctx.Err(); err != nil {
				return nil, fmt.Errorf("answers are weighed: %w", context.Cause(ctx))
			}
			mean, cov := c.at(prior)
			for k := range v {
				s, err := rows.solve(&v[k], mean, cov, p)
				if err != nil {
					return nil, err
				}
				next = append(next, c.and(k, math.Log(v[k].prior)+s.logEvidence, s, prior, p))
			}
		}
		evidence += normalize(next)
		beam = next
		if i < len(channels)-1 {
			beam = heaviest(beam)
		}
	}
	out := &Posterior{LogEvidence: evidence}
	for i := range channels {
		weights := make([]float64, len(kinds[i]))
		for _, c := range beam {
			weights[c.which[i]] += math.Exp(c.log)
		}
		out.Slopes = append(out.Slopes, merged(kinds[i], weights))
	}
	gain, reduce := moments(beam, p)
	out.Objective = g.Condition(points, gain, reduce)
	return out, nil
}

// at returns the mean and covariance of f at the points under a component.
func (c *component) at(prior *gp.Joint) (mean, cov []float64) {
	p := len(prior.Mean)
	mean, cov = slices.Clone(prior.Mean), slices.Clone(prior.Cov)
	if len(c.which) == 0 || p == 0 {
		return mean, cov
	}
	S := blas64.General{Rows: p, Cols: p, Stride: p, Data: prior.Cov}
	R := blas64.General{Rows: p, Cols: p, Stride: p, Data: c.reduce}
	half := blas64.General{Rows: p, Cols: p, Stride: p, Data: make([]float64, p*p)}
	blas64.Gemv(blas.NoTrans, 1, S, vector(c.gain), 1, vector(mean))
	blas64.Gemm(blas.NoTrans, blas.NoTrans, 1, S, R, 0, half)
	blas64.Gemm(blas.NoTrans, blas.NoTrans, -1, half, S, 1, blas64.General{Rows: p, Cols: p, Stride: p, Data: cov})
	return mean, cov
}

// and returns the component with what a further channel teaches at its points: with F = I − RΣ,
// g + F·g' and R + F·R'·Fᵀ.
func (c *component) and(variant int, log float64, s solution, prior *gp.Joint, p int) component {
	out := component{log: c.log + log, which: append(slices.Clone(c.which), variant), gain: slices.Clone(c.gain), reduce: slices.Clone(c.reduce)}
	if p == 0 {
		return out
	}
	if len(c.which) == 0 { // F = I
		copy(out.gain, s.gain)
		copy(out.reduce, s.reduce)
		return out
	}
	square := func(data []float64) blas64.General { return blas64.General{Rows: p, Cols: p, Stride: p, Data: data} }
	f, half := make([]float64, p*p), make([]float64, p*p)
	for i := range p {
		f[i*p+i] = 1
	}
	blas64.Gemm(blas.NoTrans, blas.NoTrans, -1, square(c.reduce), square(prior.Cov), 1, square(f))
	blas64.Gemv(blas.NoTrans, 1, square(f), vector(s.gain), 1, vector(out.gain))
	blas64.Gemm(blas.NoTrans, blas.NoTrans, 1, square(f), square(s.reduce), 0, square(half))
	blas64.Gemm(blas.NoTrans, blas.Trans, 1, square(half), square(f), 1, square(out.reduce))
	return out
}

// normalize makes the weights add up to 1. It returns the log of what they added up to.
func normalize(all []component) (log float64) {
	top, sum := math.Inf(-1), 0.0
	for _, c := range all {
		top = max(top, c.log)
	}
	for _, c := range all {
		sum += math.Exp(c.log - top)
	}
	log = top + math.Log(sum)
	for i := range all {
		all[i].log -= log
	}
	return log
}

// heaviest returns the components that matter, normalized.
func heaviest(all []component) []component {
	slices.SortStableFunc(all, func(a, b component) int { return cmp.Compare(b.log, a.log) })
	sum, n := 0.0, 0
	for ; n < min(len(all), mostComponents) && sum < mostWeight; n++ {
		sum += math.Exp(all[n].log)
	}
	kept := all[:n]
	normalize(kept)
	return kept
}

// moments returns the update whose posterior has the mean and the covariance of the mixture: the last sum is
// how much the components disagree. Where it is not known in which direction answers point, they add
// uncertainty instead of taking it away.
func moments(mixture []component, p int) (gain, reduce []float64) {
	gain, reduce = make([]float64, p), make([]float64, p*p)
	for _, c := range mixture {
		w := math.Exp(c.log)
		for i, v := range c.gain {
			gain[i] += w * v
		}
		for i, v := range c.reduce {
			reduce[i] += w * v
		}
	}
	delta := make([]float64, p)
	for _, c := range mixture {
		w := math.Exp(c.log)
		for i, v := range c.gain {
			delta[i] = v - gain[i]
		}
		for i, a := range delta {
			for j, b := range delta {
				reduce[i*p+j] -= w * a * b
			}
		}
	}
	return gain, reduce
}

// merged returns the slopes of a channel, variants of equal slope and noise together.
func merged(variants []variant, weights []float64) (slopes []Slope) {
	for i, v := range variants {
		at := slices.IndexFunc(slopes, func(s Slope) bool {
			return s.Value == v.slope && (s.Noise == v.noise || math.IsNaN(s.Noise) && math.IsNaN(v.noise))
		})
		if at < 0 {
			at = len(slopes)
			slopes = append(slopes, Slope{Value: v.slope, Noise: v.noise})
		}
		slopes[at].Weight += weights[i]
	}
	return slopes
}

func vector(x []float64) blas64.Vector { return blas64.Vector{N: len(x), Inc: 1, Data: x} }

// Sides returns the probabilities that the answers of a channel go with the objective, so that what an expert
// likes is better, and that they go against it; else they say nothing of it.
func Sides(slopes []Slope) (helps, misleads float64) {
	for _, s := range slopes {
		switch {
		case s.Value > 0:
			helps += s.Weight
		case s.Value < 0:
			misleads += s.Weight
		}
	}
	return helps, misleads
}

// Worth returns how much one answer tells of the objective where nothing is known of it, against one
// measurement whose noise has the given variance: the ratio of what the two take away of a
// variance of 1. A label has the Fisher information b²/4 at most, a number a²/σ².
func Worth(slopes []Slope, noise float64) (worth float64) {
	for _, s := range slopes {
		information := s.Value * s.Value / 4
		if !math.IsNaN(s.Noise) {
			information = s.Value * s.Value / (s.Noise * s.Noise)
		}
		worth += s.Weight * information / (1 + information)
	}
	return worth * (1 + noise)
}
