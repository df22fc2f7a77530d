package seek

import (
	"math"
	"slices"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/num/composite"
	"github.com/campaignd/campaignd/projections/quantity"
)

// Outlook is the models' prediction for a composition.
type Outlook struct {
	// Quantities holds the prediction of each, including aims that follow from the parameters,
	// where they have a finite value.
	Quantities []events.QuantityPrediction
	// Value is the objective where it is computed; nil where it is not, and where
	// it has no finite value.
	Value *events.Prediction
	// Interval is the central 90 % of it, of the best composition alone.
	Interval *events.Interval
	// Feasible is the probability that all constraints that can be judged are kept; nil without
	// constraints.
	Feasible *events.Feasible
}

// Predictor evaluates a problem at points of the unit cube. It is a workspace: one
// goroutine uses it at a time.
type Predictor struct {
	problem    *Problem
	predictors []quantity.Predictor
	means      []func(x []float64) float64
	mixture    *composite.Mixture
	at         composite.Posterior
	gradient   composite.Gradient
	dMean, dSD [][]float64
}

// NewPredictor returns a workspace.
func (p *Problem) NewPredictor() (*Predictor, error) { return p.predictor(p.problem) }

// predictor returns a workspace for the functions of a problem, of one member.
func (p *Problem) predictor(of composite.Problem) (*Predictor, error) {
	of.Seed = p.def.Seed
	mixture, err := composite.New(of, 1)
	if err != nil {
		return nil, err
	}
	w := &Predictor{problem: p, mixture: mixture, at: p.posterior()}
	for k, m := range p.Models {
		w.predictors = append(w.predictors, m.NewPredictor())
		w.means = append(w.means, m.MeanAt())
		w.at.Means[k] = make([]float64, 1)
		w.dMean = append(w.dMean, make([]float64, p.space.Dim()))
		w.dSD = append(w.dSD, make([]float64, p.space.Dim()))
	}
	return w, nil
}

// posterior is one of the problem's shape.
func (p *Problem) posterior() composite.Posterior {
	return composite.Posterior{
		Means: make([][]float64, len(p.Models)), SDs: make([]float64, len(p.Models)),
		Parameters: make([]float64, p.problem.Parameters),
	}
}

// leastSD is the standard deviation, relative to the prior's, that is taken for
// none: a smaller one is rounding, and has no gradient.
const leastSD = 1e-7

// spreadOf is the standard deviation of a model's prior, standardized.
func (p *Problem) spreadOf(model int) float64 { return math.Sqrt(p.Models[model].Fit.OutputScale) }

// set reads the models at a point, with slopes if they are requested.
func (w *Predictor) set(x []float64, slopes bool) {
	w.problem.ParametersAt(w.at.Parameters, x)
	for k, p := range w.predictors {
		if slopes {
			w.at.Means[k][0], w.at.SDs[k] = p.PosteriorGrad(x, w.dMean[k], w.dSD[k])
		} else {
			w.at.Means[k][0], w.at.SDs[k] = p.Posterior(x)
		}
		w.at.SDs[k] = max(w.at.SDs[k], leastSD*w.problem.spreadOf(k))
	}
}

// setMeans is set for who reads no standard deviation: it takes a step for each
// measurement where those take one for each two.
func (w *Predictor) setMeans(x []float64) {
	w.problem.ParametersAt(w.at.Parameters, x)
	for k, mean := range w.means {
		w.at.Means[k][0] = mean(x)
	}
}

// At returns the outlook at a point.
func (w *Predictor) At(x []float64) Outlook {
	p := w.problem
	w.set(x, false)
	var out Outlook
	for k, name := range p.Quantities {
		out.Quantities = append(out.Quantities, events.QuantityPrediction{
			Quantity: name, Prediction: p.Models[k].PredictAt(x),
		})
	}
	for _, a := range slices.Concat(p.Aims, p.Compared) {
		if a.function == nil {
			continue
		}
		if value := p.follows(a, w.at.Parameters); finite(value) {
			out.Quantities = append(out.Quantities, events.QuantityPrediction{
				Quantity: a.Name, Prediction: events.Prediction{Mean: value, Unit: a.Unit},
			})
		}
	}
	predicted := w.mixture.Predict(w.at)
	if o := p.def.Sought(); p.problem.Objective != nil && o.Computed() && finite(predicted.Mean) {
		out.Value = &events.Prediction{Mean: predicted.Mean, SD: predicted.SD, Unit: o.Unit}
	}
	if len(p.required) > 0 {
		out.Feasible = &events.Feasible{Probability: predicted.Feasible}
		for i, c := range p.required {
			out.Feasible.Constraints = append(out.Feasible.Constraints, events.ConstraintKept{
				Require: p.constraints[c].Require, Probability: predicted.Kept[i],
			})
		}
	}
	return out
}

// FeasibleGiven returns how probably the constraints are kept at a point where the problem's
// quantities have the given standardized means and standard deviations, in its order: 1 without
// constraints.
func (w *Predictor) FeasibleGiven(x, means, sds []float64) float64 {
	w.problem.ParametersAt(w.at.Parameters, x)
	for k, mean := range means {
		w.at.Means[k][0], w.at.SDs[k] = mean, sds[k]
	}
	return w.mixture.Predict(w.at).Feasible
}

// interval is the central 90 % of the objective at a point.
func (w *Predictor) interval(x []float64) *events.Interval {
	w.set(x, false)
	predicted := w.mixture.Predict(w.at)
	return &events.Interval{Lower: predicted.Quantile(0.05), Upper: predicted.Quantile(0.95)}
}

// follows is the value of an aim that follows from the parameters.
func (p *Problem) follows(a Aim, parameters []float64) float64 {
	arguments := make([]float64, len(p.Quantities)+len(parameters))
	copy(arguments[len(p.Quantities):], parameters)
	return a.function.Value(arguments)
}

// Computed reports whether the value that is sought is computed from quantities.
func (p *Problem) Computed() bool { return p.def.Sought().Computed() }

// Requires reports whether some constraint is judged.
func (p *Problem) Requires() bool { return len(p.required) > 0 }

// Judges reports whether a judged constraint depends on a quantity.
func (p *Problem) Judges(quantity string) bool {
	k := slices.Index(p.Quantities, quantity)
	return k >= 0 && slices.ContainsFunc(p.problem.Constraints, func(c composite.Function) bool { return c.Uses(k) })
}

// Computes reports whether the value that is sought is computed from a quantity.
func (p *Problem) Computes(quantity string) bool {
	k := slices.Index(p.Quantities, quantity)
	return k >= 0 && p.Computed() && p.problem.Objective != nil && p.problem.Objective.Uses(k)
}

// Confident reports whether each judged constraint is kept with its confidence.
func (p *Problem) Confident(f *events.Feasible) bool {
	if f == nil {
		return true
	}
	for i, c := range p.required {
		confidence := p.constraints[c].Confidence
		least := definition.DefaultConfidence
		if confidence != nil {
			least = *confidence
		}
		if f.Constraints[i].Probability < least {
			return false
		}
	}
	return true
}

// NegLogFeasible returns −ln of the probability that all judged constraints are
// kept, as a function of the unit cube. It is a workspace.
func (p *Problem) NegLogFeasible() (func(x, grad []float64) float64, error) {
	of := p.problem
	of.Objective = nil
	w, err := p.predictor(of)
	if err != nil {
		return nil, err
	}
	none := []float64{0}
	return func(x, grad []float64) float64 {
		w.set(x, grad != nil)
		if grad == nil {
			return -w.mixture.LogEI(w.at, none)
		}
		value := w.mixture.LogEIGrad(w.at, none, &w.gradient)
		clear(grad)
		for k := range w.predictors {
			for j := range grad {
				grad[j] -= w.gradient.Means[k][0]*w.dMean[k][j] + w.gradient.SDs[k]*w.dSD[k][j]
			}
		}
		p.AddGrad(grad, w.gradient.Parameters, -1)
		return -value
	}, nil
}

// finite reports whether x is a number.
func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }
