package quantity

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/num/composite"
	"github.com/campaignd/campaignd/internal/num/gp"
	"github.com/campaignd/campaignd/internal/num/kernel"
	"github.com/campaignd/campaignd/internal/num/sources"
	"github.com/campaignd/campaignd/projections/space"
)

// Model is the posterior of the objective.
//
// It is a model of the standardized objective over the unit cube, which is
// negated where the campaign maximizes: smaller is always better. Methods that
// take a []float64 take a point of the cube, and return standardized values
// where they do not say otherwise; those that take a definition.Point are in
// the user's units.
type Model struct {
	// Observations are those the model was made from.
	Observations []Observation
	// X and Z are the observations as the model sees them: rows of the unit
	// cube, and standardized values.
	X [][]float64
	Z []float64
	// Fit holds the hyperparameters.
	Fit events.ObjectiveFit

	data  gp.Data
	gp    *gp.GP
	given *gp.Conditioned // knowledge besides the measurements; nil for nothing
	// without is the model without the results that this one expects, at the
	// points expected; nil where it expects none.
	without  *Model
	expected [][]float64
	// wide widens the standard deviations that people are shown; nil where they
	// are shown the model's own.
	wide  *wide
	space *space.Space
	scale standard
	unit  string
	// fidelity is nil where all experiments tell the same. noise is the noise variance
	// that the campaign knows, NaN for none.
	fidelity *space.Fidelity
	// results marks the observations that are results to compare: see IsResult. It is nil if
	// all are.
	results []bool
	noise   func(x []float64) float64
	// of is the projection as it was when the model was made.
	of *Projection
}

// sought is the quantity that is modelled, as an objective. One that is not
// sought itself has no goal, and counts as it is: it may be in two formulas.
func (p *Projection) sought() definition.Objective {
	if p.state.Quantity == "" {
		return p.state.Definition.Sought()
	}
	return p.state.Definition.ObjectiveOf(definition.Aim{Name: p.state.Quantity, Goal: definition.Minimize})
}

// data returns the observations as the model sees them.
func (p *Projection) data(observations []Observation, std standard) (gp.Data, error) {
	var data gp.Data
	sought := p.sought()
	for _, o := range observations {
		x, err := p.space.Encode(o.Point)
		if err != nil {
			return gp.Data{}, fmt.Errorf("the composition of %s: %w", o.Experiment, err)
		}
		data.X = append(data.X, x)
		data.Y = append(data.Y, std.transform(o.Value))
		data.NoiseVar = append(data.NoiseVar, noiseVariance(o.SD, sought.SD(o.Value), std.at(o.Value)))
	}
	return data, nil
}

// leastNoise is the standardized noise variance of measurements without noise.
const leastNoise = 1e-6

// noiseVariance returns the standardized noise variance of one measurement: by
// the instrument's word, else by the campaign's, else NaN for "infer it".
func noiseVariance(instrument, campaign *float64, scale float64) float64 {
	sd := campaign
	if instrument != nil {
		sd = instrument
	}
	if sd == nil {
		return math.NaN()
	}
	return max(leastNoise, *sd/scale**sd/scale)
}

// Fit fits the hyperparameters to the present observations. The result
// depends on the state and the seed alone.
func (p *Projection) Fit(ctx context.Context, seed uint64) (events.ObjectiveFit, error) {
	observations := p.included()
	model := p.state.Definition.Model
	std, err := p.standardize(observations)
	if err != nil {
		return events.ObjectiveFit{}, err
	}
	data, err := p.data(observations, std)
	if err != nil {
		return events.ObjectiveFit{}, err
	}
	if p.fidelity != nil {
		return p.fitFidelity(ctx, data, std, sources.FitConfig{Seed: seed})
	}
	result, err := gp.Fit(ctx, data, gp.FitConfig{
		Kernel: model.Kernel, FreeOutputScale: model.FreeOutputScale, Seed: seed, Warm: p.lastHyper(),
		// Fewer experiments to a front: docs/results-journal.md.
		FromMode: p.state.Definition.Tradeoff() != nil,
	})
	if err != nil {
		return events.ObjectiveFit{}, err
	}
	return recorded(result, model.Kernel, std, len(observations)), nil
}

// recorded is a fit as events record it.
func recorded(result gp.FitResult, kernel string, std standard, observations int) events.ObjectiveFit {
	return events.ObjectiveFit{
		Kernel:       kernel,
		Lengthscales: result.Hyper.Lengthscales,
		OutputScale:  result.Hyper.OutputScale,
		Noise:        result.Hyper.Noise,
		Mean:         result.Hyper.Mean,
		Shift:        std.shift,
		Scale:        std.scale,
		Compressed:   std.compressed,
		Log:          std.log,
		LogPosterior: result.LogPosterior,
		Observations: observations,
		Jitter:       result.Jitter,
		Evaluations:  result.Evaluations,
	}
}

// lastHyper returns the hyperparameters of the last fit, from which the next one starts too, or
// nil.
func (p *Projection) lastHyper() *gp.Hyper {
	if p.state.Fit == nil {
		return nil
	}
	h := hyper(*p.state.Fit)
	return &h
}

func hyper(fit events.ObjectiveFit) gp.Hyper {
	return gp.Hyper{
		Lengthscales: fit.Lengthscales, OutputScale: fit.OutputScale, Noise: fit.Noise,
		Mean: fit.Mean,
	}
}

// Model returns the posterior given the present observations and the last fit, nil without
// either. Equal states give equal models, bit for bit. It is built once, and fails soon after
// the context is done; the next call then builds it anew.
func (p *Projection) Model(ctx context.Context) (*Model, error) {
	if p.state.Fit == nil || p.model != nil {
		return p.model, nil
	}
	fit := *p.state.Fit
	observations := p.included()
	if len(observations) == 0 { // all have been excluded
		return nil, nil
	}
	std := p.standard()
	data, err := p.data(observations, std)
	if err != nil {
		return nil, err
	}
	process, err := process(ctx, p.fidelity, data, fit)
	if err != nil {
		return nil, fmt.Errorf("the objective model: %w", err)
	}
	p.model = &Model{
		Observations: observations, X: data.X, Z: data.Y, Fit: fit,
		data: data, gp: process, space: p.space, scale: std, unit: p.sought().Unit,
	}
	of := *p
	p.model.of = &of
	p.model.place(p)
	if model := p.state.Definition.Model; model.Intervals == definition.IntervalsMarginal &&
		len(observations) <= refitEvery {
		cfg := gp.FitConfig{Kernel: fit.Kernel, FreeOutputScale: model.FreeOutputScale}
		around := sync.OnceValue(func() []gp.Hyper {
			all, _ := gp.Around(context.Background(), data, cfg, process.Hyper()) // none: then the fitted ones serve
			return all
		})
		p.model.wide = newWide(around, process)
	}
	return p.model, nil
}

// wide is the marginal posterior of a process, computed when it is first needed: few of the
// models that are made on the way to a decision need it.
type wide struct {
	around func() []gp.Hyper // of the measurements
	of     func() *gp.Marginal
}

func newWide(around func() []gp.Hyper, process *gp.GP) *wide {
	return &wide{around, sync.OnceValue(func() *gp.Marginal {
		if len(around()) == 0 {
			return nil
		}
		m, _ := process.Marginal(context.Background(), around()) // nil: then the fitted ones serve
		return m
	})}
}

// FantasizeWorst returns the posterior as if the compositions at the given points of the unit
// cube had been measured with the worst result so far, for a policy that must not suggest them
// again. The observations stay those that were made.
func (m *Model) FantasizeWorst(ctx context.Context, x [][]float64) (*Model, error) {
	if len(x) == 0 {
		return m, nil
	}
	worst := slices.Max(m.Z)
	values := make([]float64, len(x))
	for i := range values {
		values[i] = worst
	}
	return m.with(ctx, x, values)
}

// with returns the posterior with further standardized results, including the knowledge besides
// the measurements.
func (m *Model) with(ctx context.Context, x [][]float64, z []float64) (*Model, error) {
	if m.given != nil {
		c, err := m.given.Given(x, [][]float64{z}, m.Fit.Noise)
		if err != nil {
			return nil, fmt.Errorf("the objective model with experiments that have no result: %w", err)
		}
		return m.Given(c), nil
	}
	fantasized := *m
	fantasized.data = gp.Data{
		X: slices.Concat(m.data.X, x), Y: slices.Concat(m.data.Y, z), NoiseVar: slices.Clone(m.data.NoiseVar),
	}
	for range x {
		fantasized.data.NoiseVar = append(fantasized.data.NoiseVar, math.NaN())
	}
	process, err := m.gp.With(ctx, x, z)
	if err != nil {
		return nil, fmt.Errorf("the objective model with experiments that have no result: %w", err)
	}
	fantasized.gp = process
	if m.wide != nil {
		fantasized.wide = newWide(m.wide.around, process)
	}
	return &fantasized, nil
}

// Rougher returns the posterior of the measurements for lengthscales that are the given part of
// the fitted ones: it expects more where nothing was measured. Knowledge besides the
// measurements is left out.
func (m *Model) Rougher(ctx context.Context, part float64) (*Model, error) {
	process, err := process(ctx, m.fidelity, m.data, shortened(m.Fit, part))
	if err != nil {
		return nil, fmt.Errorf("the objective model with shorter lengthscales: %w", err)
	}
	rougher := *m
	rougher.gp = process
	rougher.given = nil
	rougher.without = nil
	rougher.expected = nil
	rougher.wide = nil
	return &rougher, nil
}

// shortened is a fit with lengthscales that are a part of its own.
func shortened(fit events.ObjectiveFit, part float64) events.ObjectiveFit {
	fit.Lengthscales = slices.Clone(fit.Lengthscales)
	for i := range fit.Lengthscales {
		fit.Lengthscales[i] *= part
	}
	return fit
}

// Negated returns the posterior of the negated standardized objective, a
// utility: it is greater where the objective is better.
func (m *Model) Negated(ctx context.Context) (*gp.GP, error) {
	if ctx.Err() != nil {
		return nil, fmt.Errorf("the objective model: %w", context.Cause(ctx))
	}
	return m.gp.Negated(), nil
}

// Fantasize returns the posterior as if the compositions at the given points of the unit cube
// had been measured with the results that are expected there: the mean stays, the uncertainty
// around them goes (Desautels et al. 2014). The observations stay those that were made.
func (m *Model) Fantasize(ctx context.Context, x [][]float64) (*Model, error) {
	if len(x) == 0 {
		return m, nil
	}
	p := m.NewPredictor()
	expected := make([]float64, len(x))
	for i, u := range x {
		expected[i], _ = p.Posterior(u)
	}
	expecting, err := m.with(ctx, x, expected)
	if err != nil {
		return nil, err
	}
	expecting.without, expecting.expected = m, x
	if m.without != nil {
		expecting.without, expecting.expected = m.without, slices.Concat(m.expected, x)
	}
	return expecting, nil
}

// Expected returns the model without the results that this one expects, and the
// points of the unit cube where it expects them (see [Model.Fantasize]):
// itself, and no points, where it expects none. A rule that averages over those
// results reads both.
func (m *Model) Expected() (without *Model, points [][]float64) {
	if m.without == nil {
		return m, nil
	}
	return m.without, m.expected
}

// Posterior returns the mean and standard deviation of the standardized
// objective, without noise, at a point of the unit cube (Xu et al. 2024, Eq.
// 2a, 2b).
func (m *Model) Posterior(x []float64) (mean, sd float64) { return m.NewPredictor().Posterior(x) }

// Predictor evaluates a model at single points of the unit cube: the mean and
// standard deviation of the standardized objective, and their gradients. It is
// a workspace: one goroutine uses it at a time.
type Predictor interface {
	Posterior(x []float64) (mean, sd float64)
	PosteriorGrad(x, dmean, dsd []float64) (mean, sd float64)
}

// NewPredictor returns a workspace for predictions.
func (m *Model) NewPredictor() Predictor {
	if m.given == nil {
		return m.gp.NewPredictor()
	}
	return m.given.NewPredictor()
}

// GP returns the process of the measurements alone, of standardized values.
func (m *Model) GP() *gp.GP { return m.gp }

// Conditioned returns the process given the measurements and any knowledge besides them.
func (m *Model) Conditioned() *gp.Conditioned {
	if m.given == nil {
		return m.gp.Condition(nil, nil, nil)
	}
	return m.given
}

// Given returns the model with further knowledge besides its measurements: its predictions are
// those of c.
func (m *Model) Given(c *gp.Conditioned) *Model {
	given := *m
	given.given = c
	given.without = nil
	given.expected = nil
	return &given
}

// Uninformed returns the model without the knowledge besides the measurements.
func (m *Model) Uninformed() *Model {
	alone := *m
	alone.given = nil
	return &alone
}

// Kernel returns the fitted kernel on the unit cube.
func (m *Model) Kernel() kernel.Kernel { return m.gp.Kernel() }

// Untransform returns a standardized value in the user's unit.
func (m *Model) Untransform(z float64) float64 { return m.scale.untransform(z) }

// Scale turns standardized values into the user's units. Where the worse values
// are compressed it holds of the others alone: see [definition.TailsKeep].
func (m *Model) Scale() composite.Scale {
	return composite.Scale{Center: m.scale.shift, Spread: m.scale.sign * m.scale.scale, Log: m.scale.log}
}

// Standardized returns a value in the user's unit as the model sees it.
func (m *Model) Standardized(value float64) float64 { return m.scale.transform(value) }

// Informed reports whether the model knows more than its measurements.
func (m *Model) Informed() bool { return m.given != nil }

// Between returns how much of the user's unit one standardized unit is on the
// way from one standardized value to another: the scale of the fit, and more
// where bad results are compressed.
func (m *Model) Between(z1, z2 float64) float64 { return m.scale.between(z1, z2) }

// Marginal returns the mean and standard deviation of the standardized
// objective, without noise, as people are shown them: those of
// [Model.Posterior], with the standard deviation for hyperparameters that are
// not known where the campaign asks for it (see [gp.Marginal]). Where more than
// measurements is known, it is greater by the same factor as that of the
// measurements alone.
func (m *Model) Marginal(x []float64) (mean, sd float64) {
	marginal := m.marginal()
	if marginal != nil && m.given == nil {
		return marginal.Posterior(x)
	}
	mean, sd = m.Posterior(x)
	if marginal == nil {
		return mean, sd
	}
	if _, known := m.gp.Posterior(x); known > 0 {
		_, wide := marginal.Posterior(x)
		sd *= wide / known
	}
	return mean, sd
}

func (m *Model) marginal() *gp.Marginal {
	if m.wide == nil {
		return nil
	}
	return m.wide.of()
}

// LeaveOneOut predicts distinct compositions from the others at the same
// hyperparameters, noise included, with standard deviations as people are shown
// them: those of some rows of the process, in the given order; see
// [gp.GP.LeaveOneOutOf].
func (m *Model) LeaveOneOut(rows []int) (z, mean, sd []float64) {
	marginal := m.marginal()
	if marginal == nil {
		return m.gp.LeaveOneOutOf(rows)
	}
	allZ, allMean, allSD := marginal.LeaveOneOut()
	for _, i := range rows {
		z = append(z, allZ[i])
		mean = append(mean, allMean[i])
		sd = append(sd, allSD[i])
	}
	return z, mean, sd
}

// Predict returns the posterior at a composition, in the user's unit.
func (m *Model) Predict(point definition.Point) (events.Prediction, error) {
	x, err := m.space.Encode(point)
	if err != nil {
		return events.Prediction{}, err
	}
	return m.PredictAt(x), nil
}

// PredictAt returns the posterior at a point of the unit cube as people are
// shown it, in the user's unit.
func (m *Model) PredictAt(x []float64) events.Prediction {
	mean, sd := m.Marginal(x)
	return events.Prediction{
		Mean: m.scale.untransform(mean), SD: sd * m.scale.between(mean-sd, mean+sd), Unit: m.unit,
	}
}

// Best returns the index of the observation whose composition has the best
// posterior mean, and that mean in the user's unit. The earliest of equals
// wins. It is −1 where none is a result.
func (m *Model) Best() (index int, mean float64) {
	best := math.Inf(1)
	if m.results != nil {
		index = -1
	}
	for i, z := range m.Means() {
		if z < best && m.IsResult(i) {
			index, best = i, z
		}
	}
	return index, m.scale.untransform(best)
}

// Means returns the posterior mean of the standardized objective at each
// observation.
func (m *Model) Means() []float64 {
	means := make([]float64, len(m.X))
	at := m.MeanAt()
	for i, x := range m.X {
		means[i] = at(x)
	}
	return means
}

// MeanAt returns the mean of Posterior alone, to the last bit, which is cheaper.
func (m *Model) MeanAt() func(x []float64) float64 {
	if m.given == nil {
		return m.gp.NewPredictor().Mean
	}
	p := m.given.NewPredictor()
	return func(x []float64) float64 {
		mean, _ := p.Posterior(x)
		return mean
	}
}
