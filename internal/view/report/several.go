package report

import (
	"fmt"
	"math"
	"strings"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/ground/format"
	"github.com/campaignd/campaignd/internal/view/diagnose"
	"github.com/campaignd/campaignd/internal/view/figure"
	"github.com/campaignd/campaignd/policies/seek"
	"github.com/campaignd/campaignd/projections/campaign"
)

// middle is the name for the composition to go by.
func (h *history) middle() string {
	if h.def.Tradeoff() != nil {
		return "suggested compromise"
	}
	return "best composition"
}

// quantitiesText lists the values of an experiment.
func (h *history) quantitiesText(x *campaign.Experiment) string {
	var texts []string
	for _, q := range x.Measurement.All() {
		texts = append(texts, q.Name+" "+figure.Typeset(format.Result(q)))
	}
	return strings.Join(texts, ", ")
}

// quantitySlices are the slices of one further quantity.
type quantitySlices struct {
	Name    string
	Figures []Figure
	InPairs bool
}

// slicesOfOthers draws the slices of every modelled quantity besides the objective.
func slicesOfOthers(h *history) (all []quantitySlices, err error) {
	through := h.through()
	if through == nil {
		return nil, nil
	}
	for _, q := range h.models[1:] {
		if q.Model == nil {
			continue
		}
		slices, err := diagnose.Slices(h.def, h.core.Space(), q.Model, through)
		if err != nil {
			return nil, err
		}
		of := h.quantity(q.Quantity)
		all = append(all, quantitySlices{
			Name: q.Quantity, Figures: drawSlices(h, slices, of, "slice-"+q.Quantity), InPairs: inPairs(len(slices)),
		})
	}
	return all, nil
}

// quantity is a declared quantity as an objective; without a goal where it has none.
func (h *history) quantity(name string) definition.Objective {
	for _, o := range h.def.Objectives() {
		if o.Name == name {
			return o
		}
	}
	o := definition.Objective{Name: name}
	if q := h.def.Quantity(name); q != nil {
		o.Unit = q.Unit
	}
	return o
}

// layer is something that models say of every composition, to be drawn as a map.
type layer struct {
	id, title, unit string
	scheme          figure.Scheme
	darkIsHigh      bool
	// dark is the meaning of the dark shade.
	dark string
	// share is set of a probability.
	share bool
	at    func(x []float64) float64 // x of the unit cube
}

// layersOf are the predictions of the models of several quantities: the mean of each, the objective
// where it is computed from them, and the probability that the constraints are kept. They hold
// workspaces.
func layersOf(h *history) (all []layer, err error) {
	if !h.def.Several() {
		return nil, nil
	}
	problem, err := seek.NewProblem(h.state, h.core.Space(), h.models)
	if err != nil {
		return nil, nil // a quantity has no model yet; the page says so
	}
	for _, q := range h.models.Measured() {
		if q.Model != nil {
			all = append(all, layerOf(h, h.quantity(q.Quantity), func(x []float64) float64 { return q.Model.PredictAt(x).Mean }))
		}
	}
	if problem == nil {
		return all, nil
	}
	predictor, err := problem.NewPredictor()
	if err != nil {
		return nil, fmt.Errorf("the maps: %w", err)
	}
	if problem.Computed() {
		objective := layerOf(h, h.sought, func(x []float64) float64 {
			if value := predictor.At(x).Value; value != nil {
				return value.Mean
			}
			return math.NaN()
		})
		all = append([]layer{objective}, all...)
	}
	if problem.Requires() {
		all = append(all, layer{
			id: "feasible", title: "Probability that the constraints are kept", scheme: figure.Probabilities,
			darkIsHigh: true, dark: "Darker is more probable.", share: true,
			at: func(x []float64) float64 { return predictor.At(x).Feasible.Probability },
		})
	}
	return all, nil
}

// layerOf is the map of a quantity: dark where it is better, if it has a goal.
func layerOf(h *history, of definition.Objective, at func(x []float64) float64) layer {
	l := layer{
		id: of.Name, title: "Expected " + format.HeadingOf(of), unit: of.Unit, scheme: figure.Values,
		darkIsHigh: true, dark: "Darker is more.", at: at,
	}
	if of.Goal != "" {
		l.darkIsHigh, l.dark = of.Better(1, 0), "Darker is "+of.Pick("more", "less")+", which is better."
	}
	return l
}

// bands are those of a map's values.
func (l *layer) bands(values []float64) figure.Bands {
	if l.share {
		return figure.Tenths(l.scheme, l.darkIsHigh)
	}
	return figure.NewBands(values, l.scheme, l.darkIsHigh)
}
