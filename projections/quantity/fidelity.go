package quantity

import (
	"context"
	"math"
	"slices"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/num/gp"
	"github.com/campaignd/campaignd/internal/num/kernel"
	"github.com/campaignd/campaignd/internal/num/sources"
	"github.com/campaignd/campaignd/projections/space"
)

// If experiments differ in how much they tell of the objective, one process is over
// compositions and fidelities, and a prediction at a point of the cube is for the fidelity
// among its coordinates (package sources). Noise is inferred in the fit; where that of a
// measurement is known, the posterior has it.

// open prepares the space of a definition, and its fidelities: for the objective, and for
// quantities that decide something. Others are only shown, and their models have always treated
// the fidelity as an ordinary parameter.
func (p *Projection) open(def *definition.Campaign) (err error) {
	p.fidelity = nil
	decides := def.SeveralMatter() || def.Objective.Computed()
	if p.space, err = space.New(*def); err != nil || p.state.Quantity != "" && !decides {
		return err
	}
	p.fidelity, err = space.NewFidelity(*def, p.space)
	return err
}

// agree is the power of 1 + ρ in the prior of the correlation ρ of two sources: they are
// of the same quantity, and where ρ is uniform otherwise one in 32 goes against another.
const agree = 4

// fitFidelity fits the hyperparameters of fidelities or sources.
func (p *Projection) fitFidelity(
	ctx context.Context, data gp.Data, std standard, cfg sources.FitConfig,
) (events.ObjectiveFit, error) {
	f := p.fidelity
	at, width := f.Coordinates()
	of := sources.Data{Y: data.Y}
	for _, x := range data.X {
		of.X, of.Source = append(of.X, f.Drop(x)), append(of.Source, f.Source(x))
	}
	fit := events.ObjectiveFit{
		Kernel: kernel.RBF.String(), Shift: std.shift, Scale: std.scale, Compressed: std.compressed, Log: std.log,
		Observations: len(data.X),
	}
	var result sources.FitResult
	var lengthscales []float64
	if width > 1 {
		cfg.Agree = agree
		h, r, err := sources.FitICM(ctx, of, width, cfg)
		if err != nil {
			return events.ObjectiveFit{}, err
		}
		target := int(f.Source(f.Join(of.X[0], f.Target())))
		lengthscales, result = h.Lengthscales, r
		fit.OutputScale = 1
		fit.Noise = h.Noise[target]
		fit.Mean = h.Mean
		fit.Fidelity = &events.FidelityFit{W: h.W, Noise: h.Noise}
	} else {
		h, r, err := sources.FitFidelity(ctx, of, cfg)
		if err != nil {
			return events.ObjectiveFit{}, err
		}
		lengthscales, result = h.Lengthscales, r
		fit.OutputScale = h.OutputScale
		fit.Noise = h.Noise
		fit.Mean = h.Mean
		fit.Fidelity = &events.FidelityFit{C: h.C, Delta: h.Delta}
	}
	fit.LogPosterior, fit.Evaluations = result.LogPosterior, result.Evaluations
	fit.Lengthscales = slices.Insert(lengthscales, at, slices.Repeat([]float64{events.Unscaled}, width)...)
	return fit, nil
}

// process returns the posterior of data under the hyperparameters of a fit.
func process(ctx context.Context, f *space.Fidelity, data gp.Data, fit events.ObjectiveFit) (*gp.GP, error) {
	if f == nil || fit.Fidelity == nil {
		return gp.NewContext(ctx, data, fit.Kernel, hyper(fit))
	}
	k, err := kernelOf(fit, f.Drop(fit.Lengthscales))
	if err != nil {
		return nil, err
	}
	if fit.Fidelity.Noise != nil {
		known := data.NoiseVar
		data.NoiseVar = make([]float64, len(data.X))
		for i, x := range data.X {
			data.NoiseVar[i] = fit.Fidelity.Noise[int(f.Source(x))]
			if known != nil && !math.IsNaN(known[i]) {
				data.NoiseVar[i] = known[i]
			}
		}
	}
	at, width := f.Coordinates()
	place := kernel.Place{At: at, Width: width, Reversed: f.Reversed()}
	return gp.NewWithKernel(ctx, data, kernel.Among(k, place, events.Unscaled), fit.Noise, fit.Mean)
}

// kernelOf is the kernel of a fit, of points whose last coordinate is the source.
func kernelOf(fit events.ObjectiveFit, lengthscales []float64) (kernel.Kernel, error) {
	if c := fit.Fidelity; c.W == nil {
		return kernel.Downsampling(fit.Kernel, lengthscales, fit.OutputScale, c.C, c.Delta)
	}
	return kernel.Coregional(fit.Kernel, lengthscales, sources.ICM{W: fit.Fidelity.W}.B())
}

// Fidelity describes the fidelities of experiments in the space; nil if all experiments tell
// the same.
func (m *Model) Fidelity() *space.Fidelity { return m.fidelity }

// IsResult reports whether an observation, by its index, is a result that is compared, so that
// the best can be there. Experiments that failed are not, nor are those at a lower fidelity
// than the target, and those of compositions that the campaign could not ask for now
// ([campaign.Experiment.Outside]).
//
// This is the one place that decides it: the best, the front, targets and the standard of an
// improvement all ask here, or [campaign.State.Compared] if they go by measured values.
func (m *Model) IsResult(i int) bool { return m.results == nil || m.results[i] }

// Compared returns the points whose values are compared in the search for the best, with their
// posterior means: those of the results. Before the first result they are the measured
// compositions, at the target.
func (m *Model) Compared() (X [][]float64, means []float64) {
	if m.results == nil {
		return m.X, m.Means()
	}
	for i, x := range m.X {
		if m.results[i] {
			X = append(X, x)
		}
	}
	if X == nil && m.fidelity != nil {
		for _, x := range m.X {
			X = append(X, m.fidelity.In(x, m.fidelity.Target()))
		}
	}
	at := m.MeanAt()
	for _, x := range X {
		means = append(means, at(x))
	}
	return X, means
}

// NoiseVariance is the standardized noise variance of one measurement at a point of the
// cube: by the campaign's word, else as it is inferred.
func (m *Model) NoiseVariance(x []float64) float64 {
	if noise := m.noise(x); !math.IsNaN(noise) {
		return noise
	}
	if c := m.Fit.Fidelity; c != nil && c.Noise != nil {
		return c.Noise[int(m.fidelity.Source(x))]
	}
	return m.Fit.Noise
}

// place sets where the observations of a model are measured, and which are results.
func (m *Model) place(p *Projection) {
	def := p.state.Definition
	result := func(o Observation) bool { return !o.Failed && def.AtTarget(o.Point) && !p.isOutside(o) }
	if slices.ContainsFunc(m.Observations, func(o Observation) bool { return !result(o) }) {
		for _, o := range m.Observations {
			m.results = append(m.results, result(o))
		}
	}
	if p.fidelity == nil {
		return
	}
	m.fidelity = p.fidelity
	sought := p.sought()
	m.noise = func(x []float64) float64 {
		mean, _ := m.Posterior(x)
		value := m.scale.untransform(mean)
		return noiseVariance(nil, sought.SD(value), m.scale.at(value))
	}
}
