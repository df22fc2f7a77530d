package diagnose

import (
	"math"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/num/gp"
	"github.com/campaignd/campaignd/projections/quantity"
)

// Fit describes the fit of the model, and how well the search for its hyperparameters ended.
type Fit struct {
	Kernel string `json:"kernel"`
	// Observations and Compositions that the model holds now; Fitted is how
	// many observations the hyperparameters were fitted to.
	Observations int `json:"observations"`
	Compositions int `json:"compositions"`
	Fitted       int `json:"fitted"`
	// Stale is true if the observations have changed since the fit.
	Stale bool `json:"stale"`
	// PriorSD and PriorMean of the objective before any measurement, in its
	// unit.
	PriorSD   float64 `json:"prior_sd"`
	PriorMean float64 `json:"prior_mean"`
	// LogPosterior is the log density that the fit maximized.
	LogPosterior float64 `json:"log_posterior"`
	// Slope is the greatest derivative of that density with respect to the logarithm of a
	// hyperparameter, without those held at a bound: 0 at the maximum. Nil for a stale fit.
	Slope *float64 `json:"slope"`
	// Jitter was added to the covariance's diagonal, standardized; mostly 0.
	Jitter float64 `json:"jitter"`
}

// steep is the slope above which a fit is not at its maximum: the search stops
// where less than 1e-8 of the density can be gained.
const steep = 0.5

// fitOf describes the fit of a model.
func fitOf(def *definition.Campaign, m *quantity.Model) *Fit {
	priorSD := math.Sqrt(m.Fit.OutputScale)
	f := &Fit{
		Kernel:       m.Fit.Kernel,
		Observations: len(m.Observations),
		Compositions: m.GP().Len(),
		Fitted:       m.Fit.Observations,
		PriorSD:      priorSD * m.Between(m.Fit.Mean-priorSD, m.Fit.Mean+priorSD),
		PriorMean:    m.Untransform(m.Fit.Mean),
		LogPosterior: m.Fit.LogPosterior,
		Jitter:       max(m.Fit.Jitter, m.GP().Jitter()),
		Stale:        true,
	}
	if m.Fidelity() != nil { // its density differs
		f.Stale = m.Fit.Observations != len(m.Observations)
		return f
	}
	density, slope, ok := density(def, m)
	// The recorded density belongs to these observations, or the fit is stale.
	if f.Stale = !ok || math.Abs(density-m.Fit.LogPosterior) > 1e-4*max(1, math.Abs(density)); !f.Stale {
		f.Slope = &slope
	}
	return f
}

// density returns the log density that a fit maximizes, at the recorded hyperparameters and the
// present observations, and its slope: see [Fit]. With many observations a fit maximizes the
// density of a part, so this is the density of that part. ok is false if it cannot be evaluated. A
// hyperparameter at a bound, with the density growing beyond it, is at its maximum: its slope does
// not count.
func density(def *definition.Campaign, m *quantity.Model) (density, slope float64, ok bool) {
	data := refit{shift: m.Fit.Shift, scale: m.Fit.Scale}.data(sampleOf(def, m))
	copy(data.Y, m.Z) // turned over where the campaign maximizes
	data = data.Fitted()
	d := len(m.Fit.Lengthscales)
	h := gp.Hyper{
		Lengthscales: m.Fit.Lengthscales,
		OutputScale:  m.Fit.OutputScale,
		Noise:        m.Fit.Noise,
		Mean:         m.Fit.Mean,
	}
	grad := make([]float64, d+3)
	density, err := gp.LogMarginal(data, m.Fit.Kernel, h, grad)
	if err != nil {
		return 0, 0, false
	}
	priors := gp.DefaultPriors(d)
	add := func(p gp.LogNormal, value, derivative float64) {
		density += logPrior(p, value)
		derivative += -1 - (math.Log(value)-p.Mu)/(p.Sigma*p.Sigma)
		if value <= p.Lower*atBound && derivative < 0 || value >= p.Upper/atBound && derivative > 0 {
			return
		}
		slope = max(slope, math.Abs(derivative))
	}
	for j, l := range m.Fit.Lengthscales {
		add(priors.Lengthscale, l, grad[j])
	}
	if def.Model.FreeOutputScale {
		add(priors.OutputScale, m.Fit.OutputScale, grad[d])
	}
	for _, v := range data.NoiseVar {
		if math.IsNaN(v) {
			add(priors.Noise, m.Fit.Noise, grad[d+1])
			break
		}
	}
	return density, slope, true
}

// atBound is how near, as a factor, a hyperparameter at a bound is to it.
const atBound = 1.001

// logPrior is the log density of a prior, as package gp counts it.
func logPrior(p gp.LogNormal, value float64) float64 {
	t := math.Log(value)
	z := (t - p.Mu) / p.Sigma
	return -t - math.Log(p.Sigma) - 0.5*math.Log(2*math.Pi) - 0.5*z*z
}
