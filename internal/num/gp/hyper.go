package gp

import (
	"errors"
	"fmt"
	"math"

	"github.com/campaignd/campaignd/internal/num/kernel"
)

// Hyper are the hyperparameters of a model. They are recorded in events; the
// JSON names are part of that record.
type Hyper struct {
	// Lengthscales in the units of the points, one per dimension.
	Lengthscales []float64 `json:"lengthscales"`
	// OutputScale is the prior variance of f.
	OutputScale float64 `json:"output_scale"`
	// Noise is the variance of one observation whose noise is not known.
	Noise float64 `json:"noise"`
	// Mean is the constant prior mean, in the units of the observations.
	Mean float64 `json:"mean"`
}

// ErrHyper reports a noise variance that is not a positive finite number or a
// mean that is not finite. Bad lengthscales and output scales are
// kernel.ErrHyperparameter.
var ErrHyper = errors.New("bad model hyperparameter")

// kernel builds the kernel, and checks everything.
func (h Hyper) kernel(name string, d int) (kernel.Kernel, error) {
	if len(h.Lengthscales) != d {
		return nil, fmt.Errorf("%w: %d lengthscales for %d dimensions", ErrHyper, len(h.Lengthscales), d)
	}
	if err := h.validate(); err != nil {
		return nil, err
	}
	return kernel.New(name, h.Lengthscales, h.OutputScale)
}

// validate checks noise and mean.
func (h Hyper) validate() error {
	if !(h.Noise > 0) || math.IsInf(h.Noise, 1) {
		return fmt.Errorf("%w: noise variance %v is not a positive finite number", ErrHyper, h.Noise)
	}
	if math.IsNaN(h.Mean) || math.IsInf(h.Mean, 0) {
		return fmt.Errorf("%w: mean %v is not finite", ErrHyper, h.Mean)
	}
	return nil
}

// LogNormal is the prior of a positive hyperparameter p, ln p ~ N(Mu, Sigma²),
// cut off outside [Lower, Upper].
type LogNormal struct {
	Mu, Sigma    float64
	Lower, Upper float64
}

// Mode returns the most probable p, exp(Mu − Sigma²), moved into the bounds.
func (l LogNormal) Mode() float64 {
	return min(max(math.Exp(l.Mu-l.Sigma*l.Sigma), l.Lower), l.Upper)
}

// LogDensity returns ln of the density of p, not of ln p, at t = ln p, and its
// derivative with respect to t. The constant lost by the cut is left out.
func (l LogNormal) LogDensity(t float64) (value, slope float64) {
	z := (t - l.Mu) / l.Sigma
	return -t - math.Log(l.Sigma) - 0.5*math.Log(2*math.Pi) - 0.5*z*z, -1 - z/l.Sigma
}

// Priors are the priors of the hyperparameters; the mean has none.
type Priors struct {
	Lengthscale LogNormal // of every dimension
	OutputScale LogNormal // used only when the output scale is free
	Noise       LogNormal
}

// DefaultPriors returns BoTorch's defaults for d dimensions on the unit cube
// with standardized observations: lengthscale LogNormal(√2 + ½ ln d, √3), at
// least 0.025 (Hvarfner et al. 2024: the expected distance between points grows
// with √d), and noise variance LogNormal(−4, 1), at least 1e-4. Upper bounds,
// and the output scale's LogNormal(0, 1), are ours: far out, only to keep the
// search finite.
func DefaultPriors(d int) Priors {
	return Priors{
		Lengthscale: LogNormal{
			Mu:    math.Sqrt2 + 0.5*math.Log(float64(d)),
			Sigma: math.Sqrt(3),
			Lower: 0.025,
			Upper: 1e3,
		},
		OutputScale: LogNormal{Mu: 0, Sigma: 1, Lower: 1e-2, Upper: 1e2},
		Noise:       LogNormal{Mu: -4, Sigma: 1, Lower: 1e-4, Upper: 10},
	}
}
