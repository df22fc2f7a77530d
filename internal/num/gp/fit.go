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

// FitConfig says how to fit. The zero value fits an RBF kernel with default priors.
type FitConfig struct {
	// Kernel is a name of package kernel; default "rbf".
	Kernel string
	// Priors of the hyperparameters; default DefaultPriors of the data's dimension.
	Priors *Priors
	// FreeOutputScale fits the output scale; otherwise it is OutputScale.
	FreeOutputScale bool
	// OutputScale is the fixed output scale; default 1, what standardized observations ask for.
	OutputScale float64
	// FixedNoise, if positive, is the noise variance of the observations that have no NoiseVar, and
	// is not fitted.
	FixedNoise float64
	// Warm is a further start, usually the last fit. It may be nil.
	Warm *Hyper
	// Starts is the number of random starts in addition to the prior's mode and Warm; default
	// 16.
	Starts int
	// Searches is how many of the starts are searched from, always including the best; default 4.
	Searches int
	// Seed determines the random starts and which of them are searched from.
	Seed uint64
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
	if c.Starts == 0 {
		c.Starts = 16
	}
	if c.Searches == 0 {
		c.Searches = 4
	}
	return c
}

func (c FitConfig) validate(d int) error {
	if !(c.FixedNoise >= 0) || math.IsInf(c.FixedNoise, 1) {
		return fmt.Errorf("%w: fixed noise variance %v is not a positive finite number", ErrHyper, c.FixedNoise)
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

// FitResult is a fit and what it cost.
type FitResult struct {
	Hyper         Hyper           `json:"hyper"`
	LogMarginal   float64         `json:"log_marginal"`
	LogPosterior  float64         `json:"log_posterior"` // log marginal likelihood plus log priors of what was fitted
	KKT           float64         `json:"kkt"`           // see optimize.Result
	Status        optimize.Status `json:"status"`        // how the best search ended
	Start         string          `json:"start"`         // "mode", "warm" or "random": where the best search began
	Iterations    int             `json:"iterations"`    // of all searches
	Evaluations   int             `json:"evaluations"`   // of the likelihood
	Jitter        float64         `json:"jitter"`        // added to the diagonal at the result, mostly 0
	Distinct      int             `json:"distinct"`      // distinct points after merging
	NoiseInferred bool            `json:"noise_inferred"`
}

// Fit maximizes the log marginal likelihood plus the log priors over the logarithms of the
// lengthscales, the noise variance and, if free, the output scale, within the priors' bounds. The
// priors are densities of the hyperparameters themselves, as in BoTorch, so that a fit without data
// ends at their modes.
//
// The constant mean is profiled out: for any other hyperparameters its best value is known in
// closed form, so the maximum is the same as that of a search over it too, with one dimension less.
//
// Where all noise is known, none is fitted: Hyper.Noise is then the prior's mode, for
// future observations.
//
// It fails with ErrData, kernel.ErrUnknown, ErrHyper (a bad setting or warm start),
// ErrNotPositiveDefinite if no start can be evaluated, or the context's error, wrapped.
func Fit(ctx context.Context, data Data, cfg FitConfig) (FitResult, error) {
	if err := data.validate(); err != nil {
		return FitResult{}, err
	}
	d := len(data.X[0])
	cfg = cfg.withDefaults(d)
	family, err := kernel.ParseFamily(cfg.Kernel)
	if err != nil {
		return FitResult{}, err
	}
	if err := cfg.validate(d); err != nil {
		return FitResult{}, err
	}
	r := merge(data)
	o := newObjective(ctx, newLikelihood(r, family), cfg)
	region, err := optimize.NewRegion(optimize.Box(o.lower, o.upper))
	if err != nil {
		return FitResult{}, fmt.Errorf("%w: bounds of the priors: %w", ErrHyper, err)
	}
	starts := o.starts()
	best, err := optimize.MultiStart(ctx, o.eval, region, starts, optimize.MultiStartConfig{
		Searches: cfg.Searches,
		Seed:     cfg.Seed,
		// A unit step changes hyperparameters by a factor e in all; 1e-8 of a log density is far
		// below what matters.
		Local: optimize.Config{FTol: 1e-8, FirstStep: 1, MaxIterations: 100},
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

	// The last evaluation was elsewhere: evaluate at the result, for the mean and the jitter.
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
		Start:         "random",
		Iterations:    best.Iterations,
		Evaluations:   best.Evaluations + 1,
		Jitter:        o.like.jitter,
		Distinct:      len(r.x),
		NoiseInferred: o.noise >= 0,
	}
	switch {
	case best.Start == 0:
		res.Start = "mode"
	case best.Start == 1 && cfg.Warm != nil:
		res.Start = "warm"
	}
	return res, nil
}

// objective is the function that Fit minimizes, over θ = (ln ℓ_1 … ln ℓ_d [, ln output scale] [, ln
// noise]).
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
		value, slope := p.logDensity(theta[j])
		v += value
		if grad != nil {
			grad[j] = -(grad[j] + slope)
		}
	}
	return -v
}

// starts returns the mode of the priors, the warm start, and random points: lengthscales around
// those at which a dimension of the unit cube matters, log-uniform in [0.05, 5].
func (o *objective) starts() [][]float64 {
	k := len(o.priors)
	clamp := func(t []float64) []float64 {
		for j := range t {
			t[j] = min(max(t[j], o.lower[j]), o.upper[j])
		}
		return t
	}
	mode := make([]float64, k)
	for j, p := range o.priors {
		mode[j] = math.Log(p.Mode())
	}
	out := [][]float64{clamp(mode)}
	if w := o.cfg.Warm; w != nil {
		t := make([]float64, k)
		for j, v := range w.Lengthscales {
			t[j] = math.Log(v)
		}
		if o.scale >= 0 {
			t[o.scale] = math.Log(w.OutputScale)
		}
		if o.noise >= 0 {
			t[o.noise] = math.Log(w.Noise)
		}
		out = append(out, clamp(t))
	}
	// the second word distinguishes this use of the seed from others
	rng := rand.New(rand.NewPCG(o.cfg.Seed, 0x67702f666974))
	between := func(lo, up float64) float64 {
		return math.Log(lo) + (math.Log(up)-math.Log(lo))*rng.Float64()
	}
	for range o.cfg.Starts {
		t := make([]float64, k)
		for j := range o.like.d {
			t[j] = between(0.05, 5)
		}
		if o.scale >= 0 {
			t[o.scale] = between(0.2, 5)
		}
		if o.noise >= 0 {
			t[o.noise] = between(1e-4, 0.5)
		}
		out = append(out, clamp(t))
	}
	return out
}
