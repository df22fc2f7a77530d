package view

import (
	"math"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/num/pareto"
	"github.com/campaignd/campaignd/projections/campaign"
)

// Covered is the measure that courses of one trade-off are compared by: how much the front of the
// measurements of each covers, beyond one reference for all of them.
var Covered = definition.Objective{Name: "hypervolume", Unit: "%", Goal: definition.Maximize}

// Traded are the values of a trade-off's objectives that an experiment gave, in their order
// and units; nil where it counts for nothing: one is missing or left out, or a constraint on
// outcomes is not known to be kept.
func Traded(s *campaign.State, x *campaign.Experiment) []float64 {
	if x.Status != campaign.Measured || !s.Counts(x) || !s.AtTarget(x) || !keeps(s.Keeps(x)) {
		return nil
	}
	return TradedOf(s.Definition, func(name string) (definition.Quantity, bool) {
		value, ok := s.Quantity(x, name)
		q := s.Definition.Quantity(name)
		return value, ok && (q == nil || q.From != "" || x.Counts(name))
	})
}

// TradedOf are they of an experiment that counts, by the values of its quantities.
func TradedOf(def *definition.Campaign, of func(name string) (definition.Quantity, bool)) (values []float64) {
	for _, a := range def.Tradeoff() {
		value, ok := of(a.Name)
		if !ok {
			return nil
		}
		values = append(values, value.Value)
	}
	return values
}

// keeps reports whether constraints are known to be kept, or the campaign has none.
func keeps(k campaign.Keeps) bool { return k == "" || k == campaign.KeepsAll }

// Coverings follows courses of one trade-off: by course and experiment how much the front of the
// measurements until then covers, noise included, in percent of the part that all courses cover
// together; NaN while nothing counts. The reference of the hypervolume is that of def where it
// gives worst values of interest, otherwise it is inferred from the measurements of all courses; it
// is returned in the units of the objectives. Logarithms count of a quantity that has that scale,
// as in its model.
//
// Courses hold [Traded] of each experiment.
func Coverings(def *definition.Campaign, courses [][][]float64) (covered [][]float64, beyond []definition.Quantity) {
	aims := def.Tradeoff()
	logs := make([]bool, len(aims))
	for k, a := range aims {
		q := def.Quantity(a.Name)
		logs[k] = q != nil && q.From == "" && q.Scale == definition.ScaleLog
	}
	score := func(k int, value float64) float64 {
		if logs[k] {
			value = math.Log(value)
		}
		return -def.ObjectiveOf(aims[k]).Sign() * value
	}
	scored := make([][][]float64, len(courses))
	var all [][]float64
	for i, course := range courses {
		for _, values := range course {
			scores, sound := []float64(nil), values != nil
			for k, v := range values {
				y := score(k, v)
				scores, sound = append(scores, y), sound && !math.IsNaN(y) && !math.IsInf(y, 0)
			}
			if !sound {
				scores = nil
			} else {
				all = append(all, scores)
			}
			scored[i] = append(scored[i], scores)
		}
	}
	worst := make([]float64, len(aims))
	for k, a := range aims {
		if worst[k] = math.NaN(); a.Worst != nil {
			worst[k] = score(k, *a.Worst)
		}
	}
	reference := worst
	if len(all) > 0 {
		reference = pareto.Reference(all, worst, make([]float64, len(aims)))
	}
	for k, a := range aims {
		if len(all) == 0 {
			break // without measurements no reference is known
		}
		o := def.ObjectiveOf(a)
		value := -o.Sign() * reference[k]
		if logs[k] {
			value = math.Exp(value)
		}
		beyond = append(beyond, definition.Quantity{Name: a.Name, Unit: o.Unit, Value: value})
	}
	together := pareto.Hypervolume(all, reference)
	for _, course := range scored {
		of, counts := pareto.Covering{Reference: reference}, false
		curve := make([]float64, len(course))
		for n, scores := range course {
			if scores != nil {
				counts = true
				of.Add(scores)
			}
			switch {
			case !counts:
				curve[n] = math.NaN()
			case together > 0:
				curve[n] = 100 * (of.Volume / together)
			}
		}
		covered = append(covered, curve)
	}
	return covered, beyond
}
