package seek

import (
	"context"
	"math"
	"slices"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/ground/computed"
	"github.com/campaignd/campaignd/internal/num/composite"
	"github.com/campaignd/campaignd/projections/campaign"
	"github.com/campaignd/campaignd/projections/quantity"
)

// Complete is an experiment that has a value of each quantity which an expert compares, with
// the outcome shown to them.
type Complete struct {
	Parameters definition.Point
	events.Outcome
}

// CompleteOutcomes are the experiments of a campaign with all quantities that its
// expert compares, in order, as they count now.
func CompleteOutcomes(s *campaign.State) (all []Complete) {
	names := s.Definition.Preferred()
	for i := range s.Experiments {
		x := &s.Experiments[i]
		if x.Status != campaign.Measured {
			continue
		}
		c := Complete{Parameters: x.Measurement.Actual, Outcome: events.Outcome{Experiment: x.ID}}
		for _, name := range names {
			if q, ok := computed.Quantity(s.Definition, x.Measurement, name); ok && x.Counts(name) {
				q.SD = nil
				c.Quantities = append(c.Quantities, q)
			}
		}
		if c.Of(names) {
			all = append(all, c)
		}
	}
	return all
}

// Valued reports whether each quantity has a value: a price by a formula has none
// at some compositions.
func (c *Complete) Valued() bool {
	return !slices.ContainsFunc(c.Quantities, func(q definition.Quantity) bool { return !finite(q.Value) })
}

// Standard is the standardization of a campaign's outcomes: mean 0 and standard deviation 1 of
// each quantity over those given; the spread is 1 if all values are equal. It is nil if none is
// given.
func Standard(def *definition.Campaign, all []Complete) (standard []events.OutcomeScale) {
	if len(all) == 0 {
		return nil
	}
	for k, name := range def.Preferred() {
		q := def.Quantity(name)
		scale := events.OutcomeScale{
			Quantity: name, Log: q != nil && q.Scale == definition.ScaleLog, Spread: 1,
		}
		values := make([]float64, len(all))
		sum := 0.0
		for i, c := range all {
			values[i] = scale.Standardized(c.Quantities[k].Value)
			sum += values[i]
		}
		scale.Center = sum / float64(len(all))
		squares := 0.0
		for _, v := range values {
			squares += float64((v - scale.Center) * (v - scale.Center))
		}
		if sd := math.Sqrt(squares / float64(len(all))); sd > leastSpread*math.Abs(scale.Center) {
			scale.Spread = sd
		}
		standard = append(standard, scale)
	}
	return standard
}

// leastSpread is the standard deviation, relative to the mean, below which values
// count as equal.
const leastSpread = 1e-12

// Expecting is the problem with models that expect the results of the experiments under way at
// some points of the unit cube.
func (p *Problem) Expecting(ctx context.Context, underWay [][]float64) (*Problem, error) {
	own := *p
	own.Models = make([]*quantity.Model, len(p.Models))
	for k, m := range p.Models {
		var err error
		if own.Models[k], err = m.Fantasize(ctx, underWay); err != nil {
			return nil, err
		}
	}
	return &own, nil
}

// ComparedPredictor predicts the outcomes that an expert compares, standardized, at points of
// the unit cube. It is a workspace: one goroutine uses it at a time.
type ComparedPredictor struct {
	Mean, SD []float64

	problem    *Problem
	of         []comparedQuantity
	parameters []float64
	slopes     []float64
	part       []float64
}

// comparedQuantity predicts one quantity.
type comparedQuantity struct {
	scale      events.OutcomeScale
	predictor  quantity.Predictor // nil of a quantity that follows from the parameters
	units      composite.Scale    // of its model
	known      func(at, grad []float64) float64
	dMean, dSD []float64
}

// NewCompared returns a workspace. standard has a scale for each quantity that is
// compared, in their order.
func (p *Problem) NewCompared(standard []events.OutcomeScale) *ComparedPredictor {
	m := len(p.Compared)
	e := &ComparedPredictor{
		Mean: make([]float64, m), SD: make([]float64, m), problem: p, of: make([]comparedQuantity, m),
		parameters: make([]float64, p.problem.Parameters), slopes: make([]float64, p.problem.Parameters),
		part: make([]float64, p.space.Dim()),
	}
	for j, a := range p.Compared {
		q := &e.of[j]
		q.scale = standard[j]
		q.dMean, q.dSD = make([]float64, p.space.Dim()), make([]float64, p.space.Dim())
		if a.Model < 0 {
			q.known = composite.Known(a.function, len(p.Quantities), p.problem.Parameters)
			continue
		}
		q.predictor, q.units = p.Models[a.Model].NewPredictor(), p.Models[a.Model].Scale()
	}
	return e
}

// At sets Mean and SD to the predictions at a point. Values that follow from the parameters
// have no standard deviation.
func (e *ComparedPredictor) At(x []float64) { e.set(x, false) }

// Valued reports whether each quantity has a value at the point of the last At.
func (e *ComparedPredictor) Valued() bool {
	return !slices.ContainsFunc(e.Mean, func(y float64) bool { return !finite(y) })
}

func (e *ComparedPredictor) set(x []float64, slopes bool) {
	e.problem.ParametersAt(e.parameters, x)
	for j := range e.of {
		q := &e.of[j]
		if q.predictor == nil {
			var grad []float64
			if slopes {
				grad = e.slopes
			}
			e.Mean[j], e.SD[j] = q.scale.Standardized(q.known(e.parameters, grad)), 0
			if slopes {
				clear(q.dMean)
				clear(q.dSD)
				e.problem.AddGrad(q.dMean, e.slopes, 1/q.scale.Spread)
			}
			continue
		}
		var mean, sd float64
		if slopes {
			mean, sd = q.predictor.PosteriorGrad(x, q.dMean, q.dSD)
		} else {
			mean, sd = q.predictor.Posterior(x)
		}
		e.Mean[j] = (q.units.Center + float64(q.units.Spread*mean) - q.scale.Center) / q.scale.Spread
		e.SD[j] = math.Abs(q.units.Spread) * sd / q.scale.Spread
		if slopes {
			byMean, bySD := q.units.Spread/q.scale.Spread, math.Abs(q.units.Spread)/q.scale.Spread
			for i := range q.dMean {
				q.dMean[i] *= byMean
				q.dSD[i] *= bySD
			}
		}
	}
}

// AtGrad is At, after which AddGrad may be used.
func (e *ComparedPredictor) AtGrad(x []float64) { e.set(x, true) }

// AddGrad adds the contribution of derivatives by the means and the standard deviations at the
// point of the last AtGrad, times a factor, to a gradient in the unit cube.
func (e *ComparedPredictor) AddGrad(grad, byMean, bySD []float64, factor float64) {
	for j := range e.of {
		for i := range grad {
			grad[i] += factor * (float64(byMean[j]*e.of[j].dMean[i]) + float64(bySD[j]*e.of[j].dSD[i]))
		}
	}
}

// Outcome is the outcome shown to an expert for a point without measurements: the posterior
// means.
func (p *Problem) Outcome(outlook Outlook) events.Outcome {
	var o events.Outcome
	for _, a := range p.Compared {
		of := func(q events.QuantityPrediction) bool { return q.Quantity == a.Name }
		if i := slices.IndexFunc(outlook.Quantities, of); i >= 0 {
			q := outlook.Quantities[i]
			shown := definition.Quantity{Name: a.Name, Value: q.Mean, Unit: a.Unit}
			if a.Model >= 0 {
				sd := q.SD
				shown.SD = &sd
			}
			o.Quantities = append(o.Quantities, shown)
		}
	}
	return o
}
