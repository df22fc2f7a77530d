package pref

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/campaignd/campaignd/internal/num/gp"
	"github.com/campaignd/campaignd/internal/num/kernel"
	"github.com/campaignd/campaignd/internal/num/optimize"
)

// FitConfig says how to fit. The zero value fits the lengthscales of an RBF
// kernel under the probit link.
type FitConfig struct {
	// Link of the duels; default Probit.
	Link Link
	// Kernel is a name of package kernel; default "rbf".
	Kernel string
	// Lower and Upper bound every lengthscale; default 0.1 and 1 of the unit
	// cube (Sinaga et al. 2026, App. G).
	Lower, Upper float64
	// Prior, if not nil, is a log-normal prior of every lengthscale. Only its Mu and Sigma are
	// read: Lower and Upper above bound the search. Default none, which is the paper's choice.
	Prior *gp.LogNormal
	// FreeOutputScale fits the output scale within [OutputScale/100,
	// OutputScale·100]; otherwise it is OutputScale.
	FreeOutputScale bool
	// ScalePrior, if not nil, is a log-normal prior of a free output scale. Only its Mu and Sigma
	// are read: the logarithm is normal with that mean and standard deviation. Duels that agree
	// with each other are the better explained the greater the scale, so that without a prior the
	// few of a campaign often put it on its bound. Default none.
	ScalePrior *gp.LogNormal
	// OutputScale is the fixed output scale, or the start of a free one;
	// default 1.
	OutputScale float64
	// Slope is that of Hyper, the same for all that is tried; default none.
	Slope float64
	// Warm is a further start, usually the last fit; outside the bounds it is
	// moved to them. It may be nil.
	Warm *Hyper
	// Starts is how many random starts are tried besides the middle of the
	// bounds and Warm; default 16.
	Starts int
	// Searches is how many of the starts are searched from, always including
	// the best; default 4.
	Searches int
	// Seed determines the random starts and which of them are searched from.
	Seed uint64
}

func (c FitConfig) withDefaults() FitConfig {
	if c.Link == "" {
		c.Link = Probit
	}
	if c.Kernel == "" {
		c.Kernel = kernel.RBF.String()
	}
	if c.Lower == 0 {
		c.Lower = 0.1
	}
	if c.Upper == 0 {
		c.Upper = 1
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
	if !(c.Lower > 0 && c.Lower <= c.Upper) || math.IsInf(c.Upper, 1) {
		return fmt.Errorf("%w: lengthscales within [%v, %v]; the bounds must be positive, finite and in order",
			ErrHyper, c.Lower, c.Upper)
	}
	if !(c.OutputScale > 0) || math.IsInf(c.OutputScale, 1) {
		return fmt.Errorf("%w: output scale %v is not a positive finite number", ErrHyper, c.OutputScale)
	}
	if !(c.Slope >= 0) || math.IsInf(c.Slope, 1) {
		return fmt.Errorf("%w: the variance %v of slopes is not a finite number of at least 0",
			ErrHyper, c.Slope)
	}
	if c.Starts < 0 || c.Searches < 0 {
		return fmt.Errorf("%w: %d starts and %d searches", ErrHyper, c.Starts, c.Searches)
	}
	for i, p := range []*gp.LogNormal{c.Prior, c.ScalePrior} {
		if p != nil &&
			(!(p.Sigma > 0) || math.IsInf(p.Sigma, 1) || math.IsNaN(p.Mu) || math.IsInf(p.Mu, 0)) {
			of := []string{"lengthscales", "output scale"}[i]
			return fmt.Errorf("%w: prior of the %s LogNormal(%v, %v)", ErrHyper, of, p.Mu, p.Sigma)
		}
	}
	if c.Warm != nil {
		if _, err := c.Warm.Kernel(c.Kernel, d); err != nil {
			return fmt.Errorf("warm start: %w", err)
		}
	}
	return nil
}

// FitResult is a fit, with its cost. It is recorded in events; the JSON names are part of that
// record.
type FitResult struct {
	Hyper        Hyper           `json:"hyper"`
	LogEvidence  float64         `json:"log_evidence"`  // Laplace approximation
	LogPosterior float64         `json:"log_posterior"` // log evidence plus log priors of what was fitted
	KKT          float64         `json:"kkt"`           // see optimize.Result
	Status       optimize.Status `json:"status"`        // how the best search ended
	Start        string          `json:"start"`         // "middle", "warm" or "random": where the best search began
	Iterations   int             `json:"iterations"`    // of all searches
	Evaluations  int             `json:"evaluations"`   // of the evidence
	NewtonSteps  int             `json:"newton_steps"`  // of all evaluations
	Jitter       float64         `json:"jitter"`        // added to the diagonal at the result, mostly 0
	Duels        int             `json:"duels"`
	Designs      int             `json:"designs"` // distinct designs
}

// Fit maximizes the log evidence (LogEvidence), plus the log priors if there are any, over the
// logarithms of the lengthscales and, if free, the output scale (Sinaga et al. 2026, Eq. S15, S16).
// The prior of a lengthscale is a density of the lengthscale itself, that of the output scale one
// of its logarithm, so that exp(Mu) is its mode.
//
// It fails with ErrDuels (also without duels), ErrLink, ErrHyper, kernel.ErrUnknown,
// kernel.ErrHyperparameter, ErrNotConverged if no start can be evaluated, or the context's error,
// wrapped.
func Fit(ctx context.Context, duels Duels, cfg FitConfig) (FitResult, error) {
	cfg = cfg.withDefaults()
	e, err := newEvidence(duels, cfg.Link, cfg.Kernel)
	if err != nil {
		return FitResult{}, err
	}
	if err := cfg.validate(e.d); err != nil {
		return FitResult{}, err
	}
	o := newObjective(ctx, e, cfg)
	region, err := optimize.NewRegion(optimize.Box(o.lower, o.upper))
	if err != nil {
		return FitResult{}, fmt.Errorf("%w: bounds: %w", ErrHyper, err)
	}
	best, err := optimize.MultiStart(ctx, o.eval, region, o.starts(), optimize.MultiStartConfig{
		Searches: cfg.Searches,
		Seed:     cfg.Seed,
		// A unit step changes hyperparameters by a factor e in all; 1e-8 of a
		// log density is far below what matters.
		Local: optimize.Config{FTol: 1e-8, FirstStep: 1, MaxIterations: 100},
	})
	switch {
	case ctx.Err() != nil:
		// An evaluation that was cut off looks undefined to a search, so its
		// result means nothing.
		return FitResult{}, fmt.Errorf("fit cancelled: %w", context.Cause(ctx))
	case errors.Is(err, optimize.ErrStart):
		return FitResult{}, fmt.Errorf("fit: %w (%w; the last: %v)", ErrNotConverged, err, o.failure)
	case err != nil:
		return FitResult{}, fmt.Errorf("fit: %w", err)
	}

	// Once more at the result, and without the history of the search in the
	// last digits.
	h := o.hyper(best.X)
	h.Lengthscales = append([]float64(nil), h.Lengthscales...)
	e.forget()
	value, err := e.eval(ctx, h, nil)
	if err != nil {
		return FitResult{}, fmt.Errorf("fit: %w", err)
	}
	res := FitResult{
		Hyper:        h,
		LogEvidence:  value,
		LogPosterior: value + o.logPrior(best.X, nil),
		KKT:          best.KKT,
		Status:       best.Status,
		Start:        "random",
		Iterations:   best.Iterations,
		Evaluations:  best.Evaluations + 1,
		NewtonSteps:  e.steps,
		Jitter:       e.jitter,
		Duels:        e.n,
		Designs:      e.m,
	}
	switch {
	case best.Start == 0:
		res.Start = "middle"
	case best.Start == 1 && cfg.Warm != nil:
		res.Start = "warm"
	}
	return res, nil
}

// objective is the function that Fit minimizes, over θ = (ln ℓ_1 … ln ℓ_d [, ln
// output scale]).
type objective struct {
	ctx          context.Context // of the one Fit that this serves
	e            *evidence
	cfg          FitConfig
	lower, upper []float64
	bound        [][2]float64 // exp of lower and upper, exactly as configured
	work         []float64    // exp θ
	grad         evidenceGradient
	failure      error // of the last evaluation that failed
}

func newObjective(ctx context.Context, e *evidence, cfg FitConfig) *objective {
	o := &objective{ctx: ctx, e: e, cfg: cfg}
	add := func(lo, up float64) {
		o.bound = append(o.bound, [2]float64{lo, up})
		o.lower, o.upper = append(o.lower, math.Log(lo)), append(o.upper, math.Log(up))
	}
	for range e.d {
		add(cfg.Lower, cfg.Upper)
	}
	if cfg.FreeOutputScale {
		add(cfg.OutputScale/100, cfg.OutputScale*100)
	}
	o.work = make([]float64, len(o.bound))
	o.grad.lengthscales = make([]float64, e.d)
	return o
}

// hyper returns the hyperparameters of θ, on the bounds exactly the bounds; the
// lengthscales share o.work.
func (o *objective) hyper(theta []float64) Hyper {
	for j, t := range theta {
		lo, up := o.bound[j][0], o.bound[j][1]
		switch t {
		case o.lower[j]:
			o.work[j] = lo
		case o.upper[j]:
			o.work[j] = up
		default:
			o.work[j] = min(max(math.Exp(t), lo), up)
		}
	}
	h := Hyper{Lengthscales: o.work[:o.e.d], OutputScale: o.cfg.OutputScale, Slope: o.cfg.Slope}
	if o.cfg.FreeOutputScale {
		h.OutputScale = o.work[o.e.d]
	}
	return h
}

// eval is the negative log posterior density.
func (o *objective) eval(theta, grad []float64) float64 {
	var g *evidenceGradient
	if grad != nil {
		g = &o.grad
	}
	v, err := o.e.eval(o.ctx, o.hyper(theta), g)
	if err != nil {
		o.failure = err
		return math.Inf(1)
	}
	if grad != nil {
		copy(grad, g.lengthscales)
		if o.cfg.FreeOutputScale {
			grad[o.e.d] = g.outputScale
		}
	}
	v += o.logPrior(theta, grad)
	for j := range grad {
		grad[j] = -grad[j]
	}
	return -v
}

// logPrior returns ln of the prior densities and adds the derivatives in θ to
// grad, if not nil.
func (o *objective) logPrior(theta, grad []float64) (v float64) {
	if p := o.cfg.Prior; p != nil {
		for j := range o.e.d {
			v += logNormal(p, theta, grad, j) - theta[j]
			if grad != nil {
				grad[j]--
			}
		}
	}
	if p := o.cfg.ScalePrior; p != nil && o.cfg.FreeOutputScale {
		v += logNormal(p, theta, grad, o.e.d)
	}
	return v
}

// logNormal returns ln of the normal density of θ_j under p and adds its
// derivative to grad_j.
func logNormal(p *gp.LogNormal, theta, grad []float64, j int) float64 {
	t := (theta[j] - p.Mu) / p.Sigma
	if grad != nil {
		grad[j] -= t / p.Sigma
	}
	return -math.Log(p.Sigma) - 0.5*math.Log(2*math.Pi) - 0.5*t*t
}

// starts returns the middle of the bounds, the warm start, and random points,
// log-uniform within the bounds of the lengthscales and within a factor 5 of
// OutputScale.
func (o *objective) starts() [][]float64 {
	k, d := len(o.lower), o.e.d
	middle := make([]float64, k)
	for j := range middle {
		middle[j] = 0.5 * (o.lower[j] + o.upper[j])
	}
	out := [][]float64{middle}
	if w := o.cfg.Warm; w != nil {
		t := make([]float64, k)
		for j, v := range append(append([]float64(nil), w.Lengthscales...), w.OutputScale)[:k] {
			t[j] = min(max(math.Log(v), o.lower[j]), o.upper[j])
		}
		out = append(out, t)
	}
	// the second word distinguishes this use of the seed from others
	rng := rand.New(rand.NewPCG(o.cfg.Seed, 0x707265662f666974))
	for range o.cfg.Starts {
		t := make([]float64, k)
		for j := range d {
			t[j] = o.lower[j] + (o.upper[j]-o.lower[j])*rng.Float64()
		}
		if k > d {
			t[d] = math.Log(o.cfg.OutputScale) + math.Log(5)*(2*rng.Float64()-1)
		}
		out = append(out, t)
	}
	return out
}
