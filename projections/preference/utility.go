package preference

import (
	"context"
	"fmt"
	"math"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/num/gp"
	"github.com/campaignd/campaignd/internal/num/kernel"
	"github.com/campaignd/campaignd/internal/num/pref"
	"github.com/campaignd/campaignd/internal/num/reliability"
)

// Utility is the model of a utility that is known from comparisons alone, and
// of the noise of the expert's judgment.
type Utility struct {
	// Duels are the comparisons, merged at equal compositions.
	Duels pref.Duels
	Link  pref.Link

	posterior *pref.Posterior // nil where each use draws its own
	kernel    kernel.Kernel
	noise     *reliability.Map
}

// Noise returns the noise of the expert's judgment at a point: a variance with
// the probit link, a scale with the logistic one. Where grad is not nil it is
// filled with the gradient.
func (u *Utility) Noise(x, grad []float64) float64 { return u.noise.At(x, grad) }

// Posterior returns the posterior of the utility. That of the hallucination
// believer is a draw, decided by the seed; the others do not depend on it.
func (u *Utility) Posterior(ctx context.Context, seed uint64) (*pref.Posterior, error) {
	if u.posterior != nil {
		return u.posterior, nil
	}
	draw, err := pref.Hallucinate(ctx, u.Duels, u.Link, u.kernel, pref.HallucinateConfig{Seed: seed})
	if err != nil {
		return nil, err
	}
	return draw.Posterior, nil
}

// Sinaga et al. 2026 search for the bandwidth, in the unit cube, within these.
const (
	paperLower = 1
	paperUpper = 2
)

// noise is the map of an expert's noise: at the bandwidth of a fit, or by
// leave-one-out where that is 0. The paper's range of bandwidths is from 1 to 2
// (Sinaga et al. 2026, S17), at which its map is nearly flat; ours has a
// strength besides, and its own range.
func (p *Projection) noise(x *Expert, bandwidth float64) (*reliability.Map, error) {
	settings := p.state.Definition.Model.Utility
	cfg := reliability.Config{Level: *settings.Noise, Bandwidth: bandwidth, Paper: settings.Paper}
	if settings.Paper {
		cfg.Lower, cfg.Upper = paperLower, paperUpper
	} else {
		cfg.Strength = *settings.Strength
	}
	var anchors [][]float64
	for i, point := range p.anchors(x) {
		u, err := p.space.Encode(point)
		if err != nil {
			return nil, fmt.Errorf("anchor %d of %s: %w", i+1, x.Name, err)
		}
		anchors = append(anchors, u)
	}
	return reliability.NewMap(anchors, cfg)
}

// fitUtility maximizes the posterior of the hyperparameters, beginning with
// those of the last fit, too; the bandwidth of the noise is fitted first, by
// the anchors alone.
func (p *Projection) fitUtility(
	ctx context.Context, m *Model, x *Expert, seed uint64,
) (events.PreferenceFit, error) {
	noise, err := p.noise(x, 0)
	if err != nil {
		return events.PreferenceFit{}, err
	}
	duels, err := pref.NewDuels(m.Winners, m.Losers,
		func(x []float64) float64 { return noise.At(x, nil) })
	if err != nil {
		return events.PreferenceFit{}, err
	}
	model := p.state.Definition.Model
	cfg := pref.FitConfig{Link: pref.Link(model.Utility.Link), Kernel: model.Kernel, Seed: seed}
	if x.Fit != nil {
		cfg.Warm = &pref.Hyper{Lengthscales: x.Fit.Lengthscales, OutputScale: x.Fit.OutputScale}
	}
	if model.Utility.OutputScale == definition.ScaleLearned {
		learned(&cfg, *model.Utility.Noise)
	}
	result, err := pref.Fit(ctx, duels, cfg)
	if err != nil {
		return events.PreferenceFit{}, err
	}
	return events.PreferenceFit{
		Form: events.PreferenceUtility, Kernel: model.Kernel,
		Lengthscales: result.Hyper.Lengthscales, OutputScale: result.Hyper.OutputScale,
		Bandwidth: noise.Bandwidth(), LogEvidence: result.LogPosterior, Comparisons: duels.Len(),
		Evaluations: result.Evaluations,
	}, nil
}

// Priors of a utility whose output scale is learned.
const (
	// The output scale is 4 times the noise variance, from 0.5 to 30 times in
	// 95 of 100 cases: of two compositions at random a person picks the worse
	// one once in 7, from once in 3 to once in 17 times, arctan(√(1/4))/π and
	// so on.
	scaleMode, scaleSigma = 4, 1
	// The lengthscales have the prior of BoTorch's PairwiseGP, Gamma(2.4, 2.7),
	// as the log-normal with the same mean and standard deviation of the
	// logarithm.
	lengthscaleMu, lengthscaleSigma    = -0.34, 0.72
	lengthscaleLower, lengthscaleUpper = 0.05, 4
	// gumbel is the variance of the noise of each side that a logistic choice
	// with the scale 1 has.
	gumbel = math.Pi * math.Pi / 6
)

// learned says that the output scale is fitted, and where it and the
// lengthscales are sought. Duels tell the ratio of the output scale to the
// noise alone, and so does its prior: the noise is the unit of utilities, and
// with another one each comparison has the same probability.
func learned(cfg *pref.FitConfig, noise float64) {
	unit := noise
	if cfg.Link == pref.Logistic {
		unit = gumbel * noise * noise
	}
	cfg.FreeOutputScale, cfg.OutputScale = true, scaleMode*unit
	cfg.ScalePrior = &gp.LogNormal{Mu: math.Log(cfg.OutputScale), Sigma: scaleSigma}
	cfg.Lower, cfg.Upper = lengthscaleLower, lengthscaleUpper
	cfg.Prior = &gp.LogNormal{Mu: lengthscaleMu, Sigma: lengthscaleSigma}
}

// buildUtility computes the posterior at the recorded hyperparameters. The
// hallucination believer has none: each use draws its own.
func (p *Projection) buildUtility(ctx context.Context, m *Model, x *Expert) (err error) {
	settings := p.state.Definition.Model.Utility
	u := &Utility{Link: pref.Link(settings.Link)}
	if u.noise, err = p.noise(x, m.Fit.Bandwidth); err != nil {
		return err
	}
	if u.Duels, err = pref.NewDuels(m.Winners, m.Losers,
		func(x []float64) float64 { return u.noise.At(x, nil) }); err != nil {
		return err
	}
	if u.kernel, err = kernel.New(m.Fit.Kernel, m.Fit.Lengthscales, m.Fit.OutputScale); err != nil {
		return err
	}
	switch settings.Posterior {
	case definition.PosteriorLaplace:
		result, err := pref.Laplace(ctx, u.Duels, u.Link, u.kernel, pref.LaplaceConfig{})
		if err != nil {
			return err
		}
		u.posterior = result.Posterior
	case definition.PosteriorEP:
		result, err := pref.EP(ctx, u.Duels, u.Link, u.kernel, pref.EPConfig{})
		if err != nil {
			return err
		}
		u.posterior = result.Posterior
	}
	m.Utility = u
	return nil
}
