package sources

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/campaignd/campaignd/internal/num/gp"
	"github.com/campaignd/campaignd/internal/num/optimize"
)

// FitConfig says how to fit. The zero value means the defaults.
type FitConfig struct {
	// Priors of lengthscales, noise variances and, for fidelities, the output
	// scale; default gp.DefaultPriors of the data's dimension.
	Priors *gp.Priors
	// Starts is how many random starts are tried besides those in which the
	// structure of the problem shows; default 16.
	Starts int
	// Searches is how many of the starts are searched from, always including
	// the best; default 4.
	Searches int
	// Agree is the preference for sources that go together over those that go against each other: a
	// factor (1+ρ)^Agree in the prior density for each two of them, with their correlation ρ. Few
	// values of each at different points do not tell the sign of ρ. Default 0; fidelities do not
	// need it.
	Agree float64
	// Seed determines the random starts and which of them are searched from.
	Seed uint64
}

func (c FitConfig) withDefaults(d int) FitConfig {
	if c.Priors == nil {
		p := gp.DefaultPriors(d)
		c.Priors = &p
	}
	if c.Starts == 0 {
		c.Starts = 16
	}
	if c.Searches == 0 {
		c.Searches = 4
	}
	return c
}

// FitResult is the cost of a fit, and its quality.
type FitResult struct {
	LogMarginal  float64         `json:"log_marginal"`
	LogPosterior float64         `json:"log_posterior"` // log marginal likelihood plus log priors
	KKT          float64         `json:"kkt"`           // see optimize.Result
	Status       optimize.Status `json:"status"`        // how the best search ended
	Evaluations  int             `json:"evaluations"`   // of the likelihood
}

// The prior of an ICM's W, N(0, 1) for each entry, and its bounds. Its logarithm is
// −½ tr B but for a constant: it does not depend on which of the factors of B W is,
// nor on how the sources are numbered.
var entries = parameter{lower: -10, upper: 10, prior: normal{0, 1}.logDensity}

// Priors of the coupling of fidelities. That of c is a density of its logarithm,
// that of δ one of δ itself.
var (
	sharedPrior = parameter{lower: math.Log(0.05), upper: math.Log(20),
		prior: normal{0, 0.5}.logDensity}
	deltaPrior = gp.LogNormal{Mu: 0, Sigma: 0.5, Lower: 0.05, Upper: 20}
)

// FitICM maximizes the log marginal likelihood plus the log priors over all
// hyperparameters of so many sources, at least as many as the data have. The
// priors are those of the configuration, densities of lengthscales and noise
// variances themselves, and N(0, 1) for each entry of W. The mean has no prior, and
// is profiled out.
//
// It fails with gp.ErrData, gp.ErrHyper (a number of sources that may not be),
// gp.ErrNotPositiveDefinite if no start can be evaluated, or the context's error,
// wrapped.
func FitICM(ctx context.Context, data Data, sources int, cfg FitConfig) (ICM, FitResult, error) {
	if sources < 1 || sources > MaxSources {
		return ICM{}, FitResult{}, fmt.Errorf("%w: %d sources, from 1 to %d may be",
			gp.ErrHyper, sources, MaxSources)
	}
	c := newBetween(sources)
	if err := data.validate(ICM{W: c.w}.isSource); err != nil {
		return ICM{}, FitResult{}, err
	}
	s := newSearch(newEvidence(data, c, c.size()), cfg)
	for range c.size() {
		s.add(entries)
	}
	s.joint = func(grad []float64) float64 { return c.logAgreement(s.cfg.Agree, grad) }
	for range sources {
		s.add(of(s.cfg.Priors.Noise))
	}
	// Sources that tell the same, or nothing of each other.
	together, apart := make([]float64, c.size()), make([]float64, c.size())
	for t := range sources {
		first, last := t*(t+1)/2, t*(t+1)/2+t
		together[first], together[last] = 0.95, 0.3
		apart[last] = 1
	}
	together[0] = 1
	theta, mean, res, err := s.run(ctx, [][]float64{together, apart}, func(rng *rand.Rand, _ int) float64 {
		return rng.NormFloat64()
	})
	if err != nil {
		return ICM{}, FitResult{}, err
	}
	c.set(theta[s.e.d : s.e.d+c.size()])
	return ICM{
		Lengthscales: exp(theta[:s.e.d]), W: c.w, Noise: exp(theta[s.e.d+c.size():]), Mean: mean,
	}, res, nil
}

// FitFidelity is FitICM for fidelities, with the priors ln c ~ N(0, ½²) and
// δ ~ LogNormal(0, ½).
func FitFidelity(ctx context.Context, data Data, cfg FitConfig) (Fidelity, FitResult, error) {
	if err := data.validate(isFidelity); err != nil {
		return Fidelity{}, FitResult{}, err
	}
	s := newSearch(newEvidence(data, new(along), alongParameters), cfg)
	s.add(of(s.cfg.Priors.OutputScale))
	s.add(sharedPrior)
	s.add(of(deltaPrior))
	s.add(of(s.cfg.Priors.Noise))
	modes := []float64{0, 0, math.Log(deltaPrior.Mode())}
	theta, mean, res, err := s.run(ctx, [][]float64{modes}, func(rng *rand.Rand, j int) float64 {
		return []float64{1, 0.5, 0.5}[j] * rng.NormFloat64()
	})
	if err != nil {
		return Fidelity{}, FitResult{}, err
	}
	p := exp(theta)
	d := s.e.d
	return Fidelity{
		Lengthscales: p[:d:d], OutputScale: p[d], C: p[d+1], Delta: p[d+2], Noise: p[d+3], Mean: mean,
	}, res, nil
}

// exp returns the exponentials of the entries.
func exp(theta []float64) []float64 {
	out := make([]float64, len(theta))
	for j, t := range theta {
		out[j] = math.Exp(t)
	}
	return out
}

// parameter is one that a search is over: its bounds, and its prior with the
// derivative.
type parameter struct {
	lower, upper float64
	prior        func(t float64) (value, slope float64)
}

// of returns the parameter whose logarithm is searched over.
func of(p gp.LogNormal) parameter {
	return parameter{lower: math.Log(p.Lower), upper: math.Log(p.Upper), prior: p.LogDensity}
}

// normal is a normal distribution of a parameter as it is searched over.
type normal struct{ mean, sd float64 }

func (n normal) logDensity(t float64) (value, slope float64) {
	z := (t - n.mean) / n.sd
	return -math.Log(n.sd) - 0.5*math.Log(2*math.Pi) - 0.5*z*z, -z / n.sd
}

// search maximizes the posterior density of the parameters of an evidence.
type search struct {
	e          *evidence
	cfg        FitConfig
	parameters []parameter
	// joint is the part of the log prior that does not split into a sum over the parameters; it
	// adds its derivatives by those of the coupling to grad, unless that is nil; nil for none.
	joint func(grad []float64) float64
	grad  []float64
}

// newSearch returns a search over the lengthscales, to which the other parameters
// are to be added.
func newSearch(e *evidence, cfg FitConfig) *search {
	s := &search{e: e, cfg: cfg.withDefaults(e.d)}
	for range e.d {
		s.add(of(s.cfg.Priors.Lengthscale))
	}
	return s
}

func (s *search) add(p parameter) { s.parameters = append(s.parameters, p) }

// run searches from the given parameters of the coupling, with lengthscales and noise of the
// priors' modes, and from random ones, whose parameters of the coupling random makes. It returns
// the best parameters, and the mean.
func (s *search) run(
	ctx context.Context, given [][]float64, random func(rng *rand.Rand, j int) float64,
) (theta []float64, mean float64, res FitResult, err error) {
	lower, upper := make([]float64, len(s.parameters)), make([]float64, len(s.parameters))
	for j, p := range s.parameters {
		lower[j], upper[j] = p.lower, p.upper
	}
	region, err := optimize.NewRegion(optimize.Box(lower, upper))
	if err != nil {
		return nil, 0, FitResult{}, fmt.Errorf("%w: bounds of the priors: %w", gp.ErrHyper, err)
	}
	s.grad = make([]float64, len(s.parameters)+1)
	f := func(theta, grad []float64) float64 { return s.eval(ctx, theta, grad) }
	best, err := optimize.MultiStart(ctx, f, region, s.starts(given, random),
		optimize.MultiStartConfig{
			Searches: s.cfg.Searches, Seed: s.cfg.Seed,
			// 1e-8 of a log density is far below what matters.
			Local: optimize.Config{FTol: 1e-8, FirstStep: 0.5, MaxIterations: 200},
		})
	switch {
	case ctx.Err() != nil: // evaluations that were called off look like failed ones
		return nil, 0, FitResult{}, fmt.Errorf("fit of sources: called off: %w", context.Cause(ctx))
	case errors.Is(err, optimize.ErrStart):
		return nil, 0, FitResult{}, fmt.Errorf("fit of sources: %w (%w)", gp.ErrNotPositiveDefinite, err)
	case err != nil:
		return nil, 0, FitResult{}, fmt.Errorf("fit of sources: %w", err)
	}
	value, mean, err := s.e.eval(ctx, best.X, math.NaN(), nil)
	if err != nil {
		return nil, 0, FitResult{}, fmt.Errorf("fit of sources: %w", err)
	}
	return best.X, mean, FitResult{
		LogMarginal: value, LogPosterior: -best.F, KKT: best.KKT, Status: best.Status,
		Evaluations: best.Evaluations + 1,
	}, nil
}

// eval is the negative log posterior density.
func (s *search) eval(ctx context.Context, theta, grad []float64) float64 {
	ofEvidence := s.grad
	if grad == nil {
		ofEvidence = nil
	}
	v, _, err := s.e.eval(ctx, theta, math.NaN(), ofEvidence)
	if err != nil {
		return math.Inf(1)
	}
	if s.joint != nil {
		if grad == nil {
			v += s.joint(nil)
		} else {
			v += s.joint(s.grad[s.e.d : s.e.d+s.e.parameters])
		}
	}
	for j, p := range s.parameters {
		value, slope := p.prior(theta[j])
		v += value
		if grad != nil {
			grad[j] = -(s.grad[j] + slope)
		}
	}
	return -v
}

// starts returns the points at which searches may begin.
func (s *search) starts(given [][]float64, random func(rng *rand.Rand, j int) float64) [][]float64 {
	priors := s.cfg.Priors
	var out [][]float64
	add := func(lengthscale, coupling, noise func(j int) float64) {
		t := make([]float64, len(s.parameters))
		for j := range t {
			switch c := j - s.e.d; {
			case c < 0:
				t[j] = math.Log(lengthscale(j))
			case c < s.e.parameters:
				t[j] = coupling(c)
			default:
				t[j] = math.Log(noise(j))
			}
			t[j] = min(max(t[j], s.parameters[j].lower), s.parameters[j].upper)
		}
		out = append(out, t)
	}
	for _, c := range given {
		for _, l := range []float64{0.2, 0.6} {
			lengthscale := l * math.Sqrt(float64(s.e.d)) // distances in the cube grow like that
			add(func(int) float64 { return lengthscale }, func(j int) float64 { return c[j] },
				func(int) float64 { return priors.Noise.Mode() })
		}
		add(func(int) float64 { return priors.Lengthscale.Mode() }, func(j int) float64 { return c[j] },
			func(int) float64 { return priors.Noise.Mode() })
	}
	// the second word distinguishes this use of the seed from others
	rng := rand.New(rand.NewPCG(s.cfg.Seed, 0x736f7572636573))
	between := func(lo, up float64) float64 { return lo * math.Pow(up/lo, rng.Float64()) }
	for range s.cfg.Starts {
		add(func(int) float64 { return between(0.05, 3) }, func(j int) float64 { return random(rng, j) },
			func(int) float64 { return between(1e-3, 0.5) })
	}
	return out
}
