package gp

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/campaignd/campaignd/internal/num/kernel"
	"github.com/campaignd/campaignd/internal/num/optimize"
)

// FitConfig says how to fit. The zero value fits an RBF kernel with default
// priors.
type FitConfig struct {
	// Kernel is a name of package kernel; default "rbf".
	Kernel string
	// Priors of the hyperparameters; default DefaultPriors of the data's
	// dimension.
	Priors *Priors
	// FreeOutputScale fits the output scale; otherwise it is OutputScale.
	FreeOutputScale bool
	// OutputScale is the fixed output scale; default 1, what standardized
	// observations ask for.
	OutputScale float64
	// FixedNoise, if positive, is the noise variance of the observations that
	// have no NoiseVar, and is not fitted.
	FixedNoise float64
	// Warm is a further start, usually the last fit. It may be nil.
	Warm *Hyper
	// FromMode searches from the priors' mode alone. Few data leave several maxima, and the highest
	// may explain all by one short lengthscale; this search stays near the prior belief, as
	// BoTorch's fits do.
	FromMode bool
	// Starts is the number of random starts in addition to Warm and the prior's
	// mode. Default: 30, and those in which the structure of the problem shows;
	// from Warm for more than 256 distinct points 6, for a likelihood of so
	// many has few basins and the last fit lies in one of them.
	Starts int
	// Searches is how many of the starts are searched from, always including
	// Warm and the best; most are given up on the way (see optimize.Race).
	// Default 18 for up to 64 distinct points, 12 for up to 256, beyond 8, or 3
	// from Warm.
	Searches int
	// Subset is the greatest number of distinct points whose likelihood is
	// maximized; default 400. Of more, as many are taken at equal distances in
	// the order in which they first appear, a subset of data (Quiñonero-Candela
	// and Rasmussen 2005, §4.1; Chalupka et al. 2013): it keeps the mix of
	// close and distant pairs, which tell the noise and the lengthscales. The
	// result is then all of the subset.
	Subset int
	// Seed determines the random starts.
	Seed uint64

	structured bool // whether there are starts of every kind
}

func (c FitConfig) withDefaults(d int) FitConfig {
	if c.Kernel == "" {
		c.Kernel = kernel.RBF.String()
	}
	if c.Priors == nil {
		p := DefaultPriors(d)
		c.Priors = &p
	}
	if c.OutputScale == 0 {
		c.OutputScale = 1
	}
	if c.Subset == 0 {
		c.Subset = mostFitted
	}
	return c
}

// forSize returns the configuration with the defaults for n distinct points.
func (c FitConfig) forSize(n int) FitConfig {
	again := n > 256 && c.Warm != nil
	c.structured = c.Starts == 0 && !again
	switch {
	case c.Starts > 0:
	case again:
		c.Starts = 6
	default:
		c.Starts = 30
	}
	switch {
	case c.Searches > 0:
	case again:
		c.Searches = 3
	case n <= 64:
		c.Searches = 18
	case n <= 256:
		c.Searches = 12
	default:
		c.Searches = 8
	}
	return c
}

func (c FitConfig) validate(d int) error {
	if !(c.FixedNoise >= 0) || math.IsInf(c.FixedNoise, 1) {
		return fmt.Errorf("%w: fixed noise variance %v is not a positive finite number", ErrHyper,
			c.FixedNoise)
	}
	if !(c.OutputScale > 0) || math.IsInf(c.OutputScale, 1) {
		return fmt.Errorf("%w: output scale %v is not a positive finite number", ErrHyper, c.OutputScale)
	}
	if c.Warm != nil {
		if _, err := c.Warm.kernel(c.Kernel, d); err != nil {
			return fmt.Errorf("warm start: %w", err)
		}
	}
	return nil
}

// FitResult is a fit, with its cost.
type FitResult struct {
	Hyper         Hyper           `json:"hyper"`
	LogMarginal   float64         `json:"log_marginal"`
	LogPosterior  float64         `json:"log_posterior"` // log marginal likelihood plus log priors of what was fitted
	KKT           float64         `json:"kkt"`           // see optimize.Result
	Status        optimize.Status `json:"status"`        // how the best search ended
	Start         string          `json:"start"`         // where the best search began: "warm", "mode", "noise", "even", "one" or "random"
	Iterations    int             `json:"iterations"`    // of all searches
	Evaluations   int             `json:"evaluations"`   // of the likelihood
	Jitter        float64         `json:"jitter"`        // added to the diagonal at the result, mostly 0
	Distinct      int             `json:"distinct"`      // distinct points that were fitted
	NoiseInferred bool            `json:"noise_inferred"`
}

// Fit maximizes the log marginal likelihood plus the log priors over the
// logarithms of the lengthscales, the noise variance and, if free, the output
// scale, within the priors' bounds. The priors are densities of the
// hyperparameters themselves, as in BoTorch, so that a fit without data ends at
// their modes.
//
// The constant mean is profiled out: for any other hyperparameters its best
// value is known in closed form, so the maximum is the same as that of a search
// over it too, with one dimension less.
//
// Where all noise is known, none is fitted: Hyper.Noise is then the prior's
// mode, for future observations.
//
// It fails with ErrData, kernel.ErrUnknown, ErrHyper (a bad setting or warm
// start), ErrNotPositiveDefinite if no start can be evaluated, or the context's
// error, wrapped.
func Fit(ctx context.Context, data Data, cfg FitConfig) (FitResult, error) {
	o, err := prepare(ctx, data, &cfg)
	if err != nil {
		return FitResult{}, err
	}
	region, err := optimize.NewRegion(optimize.Box(o.lower, o.upper))
	if err != nil {
		return FitResult{}, fmt.Errorf("%w: bounds of the priors: %w", ErrHyper, err)
	}
	starts := o.starts()
	best, err := optimize.Race(ctx, o.eval, region, starts, optimize.RaceConfig{
		Searches: cfg.Searches,
		Distance: o.distance, Apart: 1.5, Same: 0.15,
		Always: o.given(),
		// A unit step changes hyperparameters by a factor e in all; 1e-8 of a
		// log density is far below what matters.
		Local: optimize.Config{FTol: 1e-8, FirstStep: 0.5, MaxIterations: 100},
	})
	if ctx.Err() != nil { // evaluations that were called off look like failed ones
		return FitResult{}, fmt.Errorf("fit: called off: %w", context.Cause(ctx))
	}
	if errors.Is(err, optimize.ErrStart) {
		return FitResult{}, fmt.Errorf("fit: %w (%w)", ErrNotPositiveDefinite, err)
	}
	if err != nil {
		return FitResult{}, fmt.Errorf("fit: %w", err)
	}

	// The last evaluation was elsewhere: evaluate at the result, for the mean
	// and the jitter.
	h := o.hyper(best.X)
	lml, mean, err := o.like.eval(ctx, h, true, nil)
	if err != nil {
		return FitResult{}, fmt.Errorf("fit: %w", err)
	}
	h.Mean = mean
	res := FitResult{
		Hyper:         h,
		LogMarginal:   lml,
		LogPosterior:  -best.F,
		KKT:           best.KKT,
		Status:        best.Status,
		Start:         o.named[best.Start],
		Iterations:    best.Iterations,
		Evaluations:   best.Evaluations + 1,
		Jitter:        o.like.jitter,
		Distinct:      o.like.n,
		NoiseInferred: o.noise >= 0,
	}
	return res, nil
}

// prepare returns the function that a fit of the data minimizes, and fills in the configuration.
func prepare(ctx context.Context, data Data, cfg *FitConfig) (*objective, error) {
	if err := data.validate(); err != nil {
		return nil, err
	}
	d := len(data.X[0])
	*cfg = cfg.withDefaults(d)
	family, err := kernel.ParseFamily(cfg.Kernel)
	if err != nil {
		return nil, err
	}
	if err := cfg.validate(d); err != nil {
		return nil, err
	}
	r := merge(data)
	if len(r.x) > cfg.Subset {
		r = merge(data.subset(r.x, cfg.Subset))
	}
	*cfg = cfg.forSize(len(r.x))
	return newObjective(ctx, newLikelihood(r, family), *cfg), nil
}

// objective is the function that Fit minimizes, over θ = (ln ℓ_1 … ln ℓ_d [, ln
// output scale] [, ln noise]).
type objective struct {
	ctx          context.Context // of the one search that it is for
	like         *likelihood
	cfg          FitConfig
	fixed        Hyper
	scale, noise int // positions in θ, or -1 where not fitted
	priors       []LogNormal
	lower, upper []float64
	grad         gradient
	work         []float64 // lengthscales
	named        []string  // what the starts are
}

func newObjective(ctx context.Context, l *likelihood, cfg FitConfig) *objective {
	o := &objective{ctx: ctx, like: l, cfg: cfg, scale: -1, noise: -1}
	o.grad.lengthscales, o.work = make([]float64, l.d), make([]float64, l.d)
	add := func(p LogNormal) int {
		o.priors = append(o.priors, p)
		o.lower, o.upper = append(o.lower, math.Log(p.Lower)), append(o.upper, math.Log(p.Upper))
		return len(o.priors) - 1
	}
	for range l.d {
		add(cfg.Priors.Lengthscale)
	}
	o.fixed.OutputScale = cfg.OutputScale
	if cfg.FreeOutputScale {
		o.scale = add(cfg.Priors.OutputScale)
	}
	switch {
	case cfg.FixedNoise > 0:
		o.fixed.Noise = cfg.FixedNoise
	case l.inferred():
		o.noise = add(cfg.Priors.Noise)
	default:
		o.fixed.Noise = cfg.Priors.Noise.Mode()
	}
	return o
}

// fill sets h from θ; the lengthscales share o.work.
func (o *objective) fill(theta []float64) Hyper {
	h := o.fixed
	h.Lengthscales = o.work
	for j := range h.Lengthscales {
		h.Lengthscales[j] = o.exp(theta, j)
	}
	if o.scale >= 0 {
		h.OutputScale = o.exp(theta, o.scale)
	}
	if o.noise >= 0 {
		h.Noise = o.exp(theta, o.noise)
	}
	return h
}

// exp returns exp(θ_j), on its bounds exactly the bound.
func (o *objective) exp(theta []float64, j int) float64 {
	p := &o.priors[j]
	switch theta[j] {
	case o.lower[j]:
		return p.Lower
	case o.upper[j]:
		return p.Upper
	}
	return min(max(math.Exp(theta[j]), p.Lower), p.Upper)
}

// hyper returns the hyperparameters of θ in memory of their own.
func (o *objective) hyper(theta []float64) Hyper {
	h := o.fill(theta)
	h.Lengthscales = append([]float64(nil), h.Lengthscales...)
	return h
}

// eval is the negative log posterior density.
func (o *objective) eval(theta, grad []float64) float64 {
	var g *gradient
	if grad != nil {
		g = &o.grad
	}
	v, _, err := o.like.eval(o.ctx, o.fill(theta), true, g)
	if err != nil {
		return math.Inf(1)
	}
	if grad != nil {
		copy(grad, g.lengthscales)
		if o.scale >= 0 {
			grad[o.scale] = g.outputScale
		}
		if o.noise >= 0 {
			grad[o.noise] = g.noise
		}
	}
	for j, p := range o.priors {
		value, slope := p.LogDensity(theta[j])
		v += value
		if grad != nil {
			grad[j] = -(grad[j] + slope)
		}
	}
	return -v
}

// given is the number of starts that are searched from in any case: the warm
// one.
func (o *objective) given() int {
	if o.cfg.Warm != nil {
		return 1
	}
	return 0
}

// distance is the greatest factor, in logarithms, between the hyperparameters
// of two points. Lengthscales of some times the cube's diagonal are all alike:
// the dimension does not matter.
func (o *objective) distance(a, b []float64) (worst float64) {
	long := math.Log(3 * math.Sqrt(float64(o.like.d)))
	for j := range a {
		x, y := a[j], b[j]
		if j < o.like.d {
			x, y = min(x, long), min(y, long)
		}
		worst = max(worst, math.Abs(x-y))
	}
	return worst
}

// starts returns the points at which searches may begin, and notes their names. The posterior has a
// basin for each way to tell the function from the noise; there are starts in as many kinds as are
// known:
//
//   - "warm", the last fit, and "mode", that of the priors;
//   - "noise": all is noise about a constant;
//   - "even": one lengthscale for all dimensions, from one that only interpolates to a long one, with
//     little, some and much noise;
//   - "one": one dimension explains the data, with a short, middling or long lengthscale, the others
//     hardly matter;
//   - "random": log-uniform lengthscales, noise and output scale.
func (o *objective) starts() [][]float64 {
	d := o.like.d
	var out [][]float64
	o.named = nil
	add := func(name string, noise, scale float64, lengthscale func(j int) float64) {
		t := make([]float64, len(o.priors))
		for j := range d {
			t[j] = math.Log(lengthscale(j))
		}
		if o.scale >= 0 {
			t[o.scale] = math.Log(scale)
		}
		if o.noise >= 0 {
			t[o.noise] = math.Log(noise)
		}
		for j := range t {
			t[j] = min(max(t[j], o.lower[j]), o.upper[j])
		}
		out, o.named = append(out, t), append(o.named, name)
	}
	if w := o.cfg.Warm; w != nil {
		add("warm", w.Noise, w.OutputScale, func(j int) float64 { return w.Lengthscales[j] })
	}
	p := o.cfg.Priors
	add("mode", p.Noise.Mode(), p.OutputScale.Mode(),
		func(int) float64 { return p.Lengthscale.Mode() })
	if o.cfg.FromMode {
		mode := len(out) - 1
		out, o.named = out[mode:], o.named[mode:]
		return out
	}
	if o.cfg.structured {
		o.addStructured(add)
	}
	// the second word distinguishes this use of the seed from others
	rng := rand.New(rand.NewPCG(o.cfg.Seed, 0x67702f666974))
	between := func(lo, up float64) float64 { return lo * math.Pow(up/lo, rng.Float64()) }
	for range o.cfg.Starts {
		noise, scale := between(1e-3, 0.9), between(0.2, 5)
		add("random", noise, scale, func(int) float64 { return between(0.03, 5) })
	}
	return out
}

// addStructured adds the starts whose kinds are "noise", "even" and "one".
func (o *objective) addStructured(
	add func(name string, noise, scale float64, lengthscale func(j int) float64),
) {
	d := o.like.d
	root := math.Sqrt(float64(d)) // by which distances in the cube grow
	add("noise", 0.9, 0.2, func(int) float64 { return 3 })
	for _, noise := range []float64{0.007, 0.1, 0.6} {
		for _, l := range []float64{0.05, 0.1, 0.2, 0.4, 0.8} {
			add("even", noise, 1, func(int) float64 { return l * root })
		}
	}
	if d > 1 {
		for one := range d {
			for _, l := range []float64{0.05, 0.15, 0.4} {
				for _, noise := range []float64{0.02, 0.4} {
					add("one", noise, 1, func(j int) float64 {
						if j == one {
							return l
						}
						return 2 * root
					})
				}
			}
		}
	}
}
