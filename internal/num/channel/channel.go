// Package channel makes measurements of experts' answers. An answer tells about the objective f
// through a channel that has to be learned: how strongly it depends on f, in which direction, and
// how noisy it is.
//
// There are two kinds of channel. In a channel of choices an expert has the utility u(x) = b·f(x) +
// r(x), in logits; they reject x with probability S(b₀ + u(x)), and put compositions in an order
// with the probability of Plackett and Luce, in which the best is the one of least u (Luce 1959;
// Plackett 1975). In a channel of estimates they say a number, a₀ + a·f(x) + r(x) + η, with noise
// η. The prejudice r is smooth in x: an expert who is sure and wrong in one region need
// not recur in another. The slope b or a has either sign, and 0: it is a grid with weights that the
// answers' own evidence changes. So a guesser gets the slope 0 and vanishes, and an expert who says
// the opposite is turned over.
//
// f is the standardized objective, smaller is better, given its measurements. For each value of the
// slope the posterior of f is again a Gaussian process, by Laplace's approximation (Rasmussen and
// Williams 2006, §3.4) for choices and exactly for estimates; the result has the moments of their
// mixture.
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

// Answers are one expert's answers in one kind of channel: Estimates, or the others. Points are
// named by their index in the list that [Condition] gets.
type Answers struct {
	Labels []Label
	// Orders are choices and rankings: different points, from the best to the
	// worst.
	Orders [][]int
	// Estimates are numbers in any unit and scale, which are standardized here.
	Estimates []Estimate
}

// Label is one accept or reject. Labels of one group share an intercept: how
// strict the expert was when they were given. Examples that were chosen to be
// balanced are a group of their own.
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

// Config is the prior belief about experts. The zero value asks for the defaults.
type Config struct {
	// Guess, Against are the probabilities that answers say nothing of the
	// objective, and that they go against it; default 0.5 and 0.1.
	Guess, Against float64
	// Honest leaves out the prejudice that answers may have.
	Honest bool
}

const (
	defaultGuess   = 0.5
	defaultAgainst = 0.1
)

// choiceSlopes are the slopes |b| of a channel of choices, in logits for each standard deviation of
// the measurements, each as likely as another: the labeler of Xu et al. 2024 (Example 2.2) with a =
// 1 has 1 to 1.5 on the electrolyte, Ackley's and Hölder's function, with a = 2 twice that.
var choiceSlopes = []float64{0.7, 1.5, 3}

// estimateSlopes are |a|, in standard deviations of the numbers for each of the measurements. They
// go beyond 1 because a campaign measures where the objective is good, and so may spread over more
// or less than the space does.
var estimateSlopes = []float64{0.3, 0.6, 1.2, 2.4}

// estimateNoise are the standard deviations of η, in those of the numbers, each
// as likely as another.
var estimateNoise = []float64{0.2, 0.4, 0.7, 1}

const (
	// interceptSD is the standard deviation of b₀ and a₀.
	interceptSD = 3
	// prejudiceSD is the standard deviation of r in those of the numbers,
	// choicePrejudiceSD in logits, and prejudiceLength its lengthscale in the
	// unit cube. Half of the weight is on a channel without.
	prejudiceSD       = 0.7
	choicePrejudiceSD = 1.5
	prejudiceLength   = 0.3
	// nugget is the variance of an error in each utility; it keeps covariances
	// of equal points regular.
	nugget = 1e-6
	// mostComponents of the combinations of several channels stay apart before
	// another is added, and fewer where they have most of the weight.
	mostComponents = 64
	mostWeight     = 0.998
)

// ErrAnswers is returned where answers cannot be weighed: the posterior at
// their points is not finite.
var ErrAnswers = errors.New("the answers cannot be compared with what was measured")

// Slope is one value of a channel's slope, with the standard deviation of the
// noise of one answer in the channel where that is a number (NaN for choices),
// and its posterior probability.
type Slope struct {
	Value, Noise, Weight float64
}

// Posterior is the belief given the answers.
type Posterior struct {
	// Objective is the posterior of f given measurements and answers.
	Objective *gp.Conditioned
	// Slopes are those of each channel, in the order of the answers given.
	Slopes [][]Slope
	// LogEvidence is the log probability of all answers, each utility's scale
	// unknown.
	LogEvidence float64
}

// component is one combination of the sides of all channels, with the update that its answers bring
// if they are right.
type component struct {
	log    float64     // of its weight, prior and evidence
	within [][]float64 // of each channel, the probability of each of its variants in this component
	gain   []float64   // p
	reduce []float64   // p×p
	parent *parent     // of what comes next, once it is known to be wanted
}

// parent is the distribution at the points under a component, before another channel.
type parent struct {
	mean, cov []float64
	f         []float64 // I − RΣ; nil for I
}

// Mixture is the posterior of some channels, to which others can be added. A
// mixture is used by one goroutine at a time.
type Mixture struct {
	g        *gp.GP
	cfg      Config
	points   [][]float64
	prior    *gp.Joint
	beam     []component
	pruned   bool // whether the beam holds no more than what matters
	kinds    [][]variant
	evidence float64
}

// Begin returns the mixture of no channel, for answers about the given points
// of the unit cube.
func Begin(g *gp.GP, points [][]float64, cfg Config) *Mixture {
	if cfg.Guess == 0 && cfg.Against == 0 {
		cfg.Guess, cfg.Against = defaultGuess, defaultAgainst
	}
	p := len(points)
	return &Mixture{g: g, cfg: cfg, points: points, prior: g.Joint(points),
		beam: []component{{gain: make([]float64, p), reduce: make([]float64, p*p)}}}
}

// Condition returns the posterior of the objective given answers of several
// channels at points of the unit cube. It costs O(p³) for each of some tens of
// components of each channel, p being its points. The only errors are
// ErrAnswers and that of a cancelled context.
func Condition(
	ctx context.Context, g *gp.GP, points [][]float64, channels []Answers, cfg Config,
) (*Posterior, error) {
	m := Begin(g, points, cfg)
	for i, a := range channels {
		var err error
		if m, err = m.add(ctx, a, i == len(channels)-1); err != nil {
			return nil, err
		}
	}
	return m.posterior(), nil
}

// Add returns the mixture with a further channel.
func (m *Mixture) Add(ctx context.Context, a Answers) (*Mixture, error) {
	return m.add(ctx, a, false)
}

// With returns the posterior of the mixture and one channel more, as [Condition] would for all of
// them in this order. The work for the other channels is done once. The mixture stays as it was, so
// that several answers can be tried on it.
func (m *Mixture) With(ctx context.Context, a Answers) (*Posterior, error) {
	all, err := m.add(ctx, a, true)
	if err != nil {
		return nil, err
	}
	return all.posterior(), nil
}

// Sides that a slope can be on. The variants of one side become one component, by their moments:
// the choice among them hardly matters for further channels, and without that the heaviest
// combinations of several channels would all be those of the few likeliest sides.
const (
	guessing = iota
	helping
	misleading
	sides
)

// side is the side that the slope of a variant is on.
func (v *variant) side() int {
	switch {
	case v.slope > 0:
		return helping
	case v.slope < 0:
		return misleading
	}
	return guessing
}

// add returns the mixture with a further channel. After the last one only the
// moments matter, and all sides become one. The number of components triples
// with each channel, whose slope has three sides; heaviest bounds it before
// each further one.
func (m *Mixture) add(ctx context.Context, a Answers, last bool) (*Mixture, error) {
	p := len(m.points)
	variants, rows := a.variants(m.points, m.cfg)
	out := *m
	out.beam = nil
	out.pruned = false
	out.kinds = append(slices.Clone(m.kinds), variants)
	if !m.pruned {
		m.beam, m.pruned = heaviest(m.beam, p), true
	}
	for i := range m.beam {
		c := &m.beam[i]
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("answers are weighed: %w", context.Cause(ctx))
		}
		if c.parent == nil {
			c.parent = c.before(m.prior)
		}
		var of [sides][]solution
		var which [sides][]int
		for k := range variants {
			v := &variants[k]
			if v.prior == 0 {
				continue
			}
			s, err := rows.solve(v, c.parent.mean, c.parent.cov, p)
			if err != nil {
				return nil, err
			}
			s.logEvidence += math.Log(v.prior)
			side := guessing
			if !last {
				side = v.side()
			}
			of[side], which[side] = append(of[side], s), append(which[side], k)
		}
		for side := range sides {
			if len(of[side]) == 0 {
				continue
			}
			s, weights := merge(of[side], p)
			within := make([]float64, len(variants))
			for j, k := range which[side] {
				within[k] = weights[j]
			}
			out.beam = append(out.beam, c.and(s, within, p))
		}
	}
	out.evidence += normalize(out.beam)
	return &out, nil
}

// merge returns the solution that has the moments of several, and their weights
// in it. Weights are taken relative to the largest, since evidences are tiny.
func merge(all []solution, p int) (solution, []float64) {
	logs := make([]float64, len(all))
	top, sum := math.Inf(-1), 0.0
	for _, s := range all {
		top = max(top, s.logEvidence)
	}
	for i, s := range all {
		logs[i] = math.Exp(s.logEvidence - top)
		sum += logs[i]
	}
	mixture := make([]component, len(all))
	for i, s := range all {
		logs[i] /= sum
		mixture[i] = component{log: math.Log(logs[i]), gain: s.gain, reduce: s.reduce}
	}
	out := solution{logEvidence: top + math.Log(sum)}
	out.gain, out.reduce = moments(mixture, p)
	return out, logs
}

// posterior returns the belief given all channels. The weights of a channel's slopes are those of
// the components, each shared out within its component.
func (m *Mixture) posterior() *Posterior {
	out := &Posterior{LogEvidence: m.evidence}
	for i, variants := range m.kinds {
		weights := make([]float64, len(variants))
		for _, c := range m.beam {
			for k, w := range c.within[i] {
				weights[k] += math.Exp(c.log) * w
			}
		}
		out.Slopes = append(out.Slopes, merged(variants, weights))
	}
	gain, reduce := moments(m.beam, len(m.points))
	out.Objective = m.g.Condition(m.points, gain, reduce)
	return out
}

// before returns the mean and covariance of f at the points under a component,
// and I − RΣ. A component of no channel leaves the prior as it is.
func (c *component) before(prior *gp.Joint) *parent {
	p := len(prior.Mean)
	out := &parent{mean: slices.Clone(prior.Mean), cov: slices.Clone(prior.Cov)}
	if len(c.within) == 0 || p == 0 {
		return out
	}
	S := blas64.General{Rows: p, Cols: p, Stride: p, Data: prior.Cov}
	R := blas64.General{Rows: p, Cols: p, Stride: p, Data: c.reduce}
	F := blas64.General{Rows: p, Cols: p, Stride: p, Data: make([]float64, p*p)}
	for i := range p {
		F.Data[i*p+i] = 1
	}
	blas64.Gemv(blas.NoTrans, 1, S, vector(c.gain), 1, vector(out.mean))
	blas64.Gemm(blas.NoTrans, blas.NoTrans, -1, R, S, 1, F)
	// Σ − ΣRΣ = ΣF
	blas64.Gemm(blas.NoTrans, blas.NoTrans, 1, S, F, 0,
		blas64.General{Rows: p, Cols: p, Stride: p, Data: out.cov})
	out.f = F.Data
	return out
}

// and returns the component updated by a further channel at its points: with F = I − RΣ, g + F·g'
// and R + F·R'·Fᵀ.
func (c *component) and(s solution, within []float64, p int) component {
	out := component{log: c.log + s.logEvidence, within: append(slices.Clone(c.within), within),
		gain: slices.Clone(c.gain), reduce: slices.Clone(c.reduce)}
	if p == 0 {
		return out
	}
	if c.parent.f == nil { // F = I
		copy(out.gain, s.gain)
		copy(out.reduce, s.reduce)
		return out
	}
	square := func(data []float64) blas64.General {
		return blas64.General{Rows: p, Cols: p,
			Stride: p, Data: data}
	}
	half := make([]float64, p*p)
	blas64.Gemv(blas.NoTrans, 1, square(c.parent.f), vector(s.gain), 1, vector(out.gain))
	blas64.Gemm(blas.NoTrans, blas.NoTrans, 1, square(c.parent.f), square(s.reduce), 0, square(half))
	blas64.Gemm(blas.NoTrans, blas.Trans, 1, square(half), square(c.parent.f), 1, square(out.reduce))
	return out
}

// normalize makes the weights add up to 1. It returns the log of their sum. Relative to the
// largest, as the weights may be too small for a float64.
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

// heaviest returns the components that matter, and one with the moments of all others, so that a
// slope that is unlikely on the whole, but not for its channel, is not forgotten.
func heaviest(all []component, p int) []component {
	if len(all) <= 1 {
		return all
	}
	all = slices.Clone(all)
	slices.SortStableFunc(all, func(a, b component) int { return cmp.Compare(b.log, a.log) })
	sum, n := 0.0, 0
	for ; n < min(len(all), mostComponents) && sum < mostWeight; n++ {
		sum += math.Exp(all[n].log)
	}
	kept := all[:n:n]
	if sum < mostWeight {
		kept = append(kept, rest(all[n:], p))
	}
	normalize(kept)
	return kept
}

// rest returns the component with the moments of several. Only their moments
// are kept, and for each channel the weights of its variants.
func rest(all []component, p int) component {
	all = slices.Clone(all)
	out := component{log: normalize(all), within: make([][]float64, len(all[0].within))}
	for i := range out.within {
		out.within[i] = make([]float64, len(all[0].within[i]))
		for _, c := range all {
			for k, w := range c.within[i] {
				out.within[i][k] += math.Exp(c.log) * w
			}
		}
	}
	out.gain, out.reduce = moments(all, p)
	return out
}

// moments returns the update whose posterior has the mean and the covariance of
// the mixture: the last sum is how much the components disagree. Where it is
// not known in which direction answers point, they add uncertainty instead of
// taking it away.
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

// merged returns the slopes of a channel, variants of equal slope and noise
// together.
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

// vector is a slice as BLAS takes it.
func vector(x []float64) blas64.Vector { return blas64.Vector{N: len(x), Inc: 1, Data: x} }

// Sides returns the probabilities that the answers of a channel go with the
// objective, so that what an expert likes is better, and that they go against
// it; else they say nothing of it.
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

// Worth returns how much one answer tells about an unknown objective, against one measurement whose
// noise has the given variance: the ratio of their reductions of a variance of 1. A label has the
// Fisher information b²/4 at most, a number a²/σ². The reductions are information/(1 + information)
// for an answer, 1/(1 + noise) for a measurement.
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
