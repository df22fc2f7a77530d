package diagnose

import (
	"cmp"
	"context"
	"math"

	"gonum.org/v1/gonum/stat"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/num/gp"
	"github.com/campaignd/campaignd/projections/quantity"
)

// leastSpread is the standard deviation, relative to the greatest value, below which values count
// as equal, and leastNoise the standardized noise variance of measurements without noise: both as
// in projections/quantity.
const (
	leastSpread = 1e-12
	leastNoise  = 1e-6
)

// sample are observations, for fits that ask "what if".
type sample struct {
	x  [][]float64 // points of the unit cube
	y  []float64   // in the objective's unit, or transformed
	sd []float64   // known noise in that unit, NaN if unknown

	compressed *events.Compression // how y was transformed, or nil
}

// sampleOf returns the observations of a model, compressed as in its fit.
func sampleOf(def *definition.Campaign, m *quantity.Model) sample {
	s := sample{x: m.X, compressed: m.Fit.Compressed}
	for _, o := range m.Observations {
		y := s.compressed.Compress(o.Value)
		s.y = append(s.y, y)
		s.sd = append(s.sd, knownNoise(def, o)/s.compressed.Stretch(y, y))
	}
	return s
}

// inUnit returns the prediction of a sample in the objective's unit: the mean, and the standard
// deviation towards a measured value, so that the value lies as many of them from the mean as it
// does for the model.
func (s sample) inUnit(mean, sd, measured float64) (float64, float64) {
	return s.compressed.Expand(mean), sd * s.compressed.Stretch(mean, s.compressed.Compress(measured))
}

// knownNoise returns the noise of an observation, in the objective's unit: the instrument's, else
// the campaign's, else NaN.
func knownNoise(def *definition.Campaign, o quantity.Observation) float64 {
	if sd := cmp.Or(o.SD, def.Sought().SD(o.Value)); sd != nil {
		return *sd
	}
	return math.NaN()
}

// without returns the sample without some of its observations.
func (s sample) without(out []int) sample {
	gone := make([]bool, len(s.y))
	for _, k := range out {
		gone[k] = true
	}
	kept := sample{compressed: s.compressed}
	for k := range s.y {
		if !gone[k] {
			kept.x = append(kept.x, s.x[k])
			kept.y = append(kept.y, s.y[k])
			kept.sd = append(kept.sd, s.sd[k])
		}
	}
	return kept
}

// refit is a model fitted to a sample.
type refit struct {
	gp           *gp.GP
	shift, scale float64
	noise        float64 // inferred variance, standardized
	// evidence is the log posterior of the fit as a density of the sample in
	// its own unit, so that fits with other standardizations compare.
	evidence float64
}

// fit fits the model of a definition to the sample. It makes few searches and starts from the
// campaign's own fit: this is a comparison, not the campaign's model. The seed is fixed, as
// everything here is a function of the view.
func (s sample) fit(ctx context.Context, model definition.Model, warm events.ObjectiveFit) (refit, error) {
	r := refit{shift: stat.Mean(s.y, nil)}
	r.scale = stat.StdDev(s.y, nil)
	if !(r.scale > leastSpread*greatestOf(s.y)) {
		r.scale = 1
	}
	data := r.data(s)
	result, err := gp.Fit(ctx, data, gp.FitConfig{
		Kernel:          model.Kernel,
		FreeOutputScale: model.FreeOutputScale,
		Starts:          6,
		Searches:        2,
		Seed:            1,
		Warm: &gp.Hyper{
			Lengthscales: warm.Lengthscales,
			OutputScale:  warm.OutputScale,
			Noise:        warm.Noise,
			Mean:         warm.Mean,
		},
	})
	if err != nil {
		return refit{}, err
	}
	r.evidence = result.LogPosterior - float64(len(s.y))*math.Log(r.scale)
	r.noise = result.Hyper.Noise
	r.gp, err = gp.New(data, model.Kernel, result.Hyper)
	return r, err
}

// greatestOf returns the greatest absolute value.
func greatestOf(values []float64) float64 {
	greatest := 0.0
	for _, y := range values {
		greatest = max(greatest, math.Abs(y))
	}
	return greatest
}

// data returns the sample, standardized.
func (r refit) data(s sample) gp.Data {
	data := gp.Data{X: s.x, Y: make([]float64, len(s.y)), NoiseVar: make([]float64, len(s.y))}
	for k, y := range s.y {
		data.Y[k] = (y - r.shift) / r.scale
		data.NoiseVar[k] = math.NaN()
		if sd := s.sd[k] / r.scale; !math.IsNaN(sd) {
			data.NoiseVar[k] = max(leastNoise, sd*sd)
		}
	}
	return data
}

// predict returns the fit's prediction of a measurement at x: mean and standard deviation with
// noise, which is sd if known.
func (r refit) predict(x []float64, sd float64) (mean, spread float64) {
	m, s := r.gp.Posterior(x)
	noise := r.noise
	if !math.IsNaN(sd) {
		noise = max(leastNoise, sd/r.scale*sd/r.scale)
	}
	return r.shift + r.scale*m, r.scale * math.Sqrt(s*s+noise)
}

// r2 is the leave-one-out R² of the fit.
func (r refit) r2() *float64 {
	y, mean, _ := r.gp.LeaveOneOut()
	return r2(y, mean)
}

// decade is the minimum ratio of the greatest to the least value for which the logarithm is tried;
// nats is the evidence it must add.
const (
	decade = 10
	nats   = 5
)

// logarithm returns the evidence of a model of the objective's logarithm, as a density of the
// sample itself (Box and Cox 1964, λ = 0): −Inf if the values give no reason to try it. Noise is
// inferred: the known noise is not that of the logarithm.
func (s sample) logarithm(
	ctx context.Context, model definition.Model, warm events.ObjectiveFit,
) (float64, error) {
	if s.compressed != nil { // bad results count by their logarithm already
		return math.Inf(-1), nil
	}
	logs := sample{x: s.x, y: make([]float64, len(s.y)), sd: make([]float64, len(s.y))}
	least := math.Inf(1)
	greatest := 0.0
	jacobian := 0.0
	for k, y := range s.y {
		if y <= 0 {
			return math.Inf(-1), nil
		}
		least, greatest = min(least, y), max(greatest, y)
		logs.y[k], logs.sd[k] = math.Log(y), math.NaN()
		jacobian -= logs.y[k]
	}
	if greatest < decade*least {
		return math.Inf(-1), nil
	}
	r, err := logs.fit(ctx, model, warm)
	return r.evidence + jacobian, err
}
