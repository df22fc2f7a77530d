package diagnose

import (
	"github.com/campaignd/campaignd/internal/num/gp"
	"github.com/campaignd/campaignd/policies"
	"github.com/campaignd/campaignd/projections/quantity"
)

// Parameter describes what the model has learned about one parameter.
type Parameter struct {
	Name string `json:"name"`
	Unit string `json:"unit,omitempty"`
	// Lengthscale in the parameter's unit: the distance along it at which the objective may differ.
	// Nil for categories.
	Lengthscale *float64 `json:"lengthscale"`
	// Share is the lengthscale as a share of the parameter's range; the
	// shortest where it has several coordinates.
	Share float64 `json:"share"`
	// Effect is the greatest difference of the mean along the slice through the best composition, ±
	// EffectSD, in the objective's unit; nil if the parameter cannot be varied.
	Effect   *float64 `json:"effect"`
	EffectSD *float64 `json:"effect_sd"`
	// Reading says it in words.
	Reading string `json:"reading"`
}

// Readings of a parameter.
const (
	ReadingTooFast   = "changes faster than the data can show"
	ReadingBends     = "bends within its range"
	ReadingCurve     = "a gentle curve over its range"
	ReadingTrend     = "hardly more than a straight trend"
	ReadingDifferent = "differs between categories"
	ReadingUnsure    = "effect not certain yet"
	ReadingNone      = "no effect seen"
	ReadingFixed     = "cannot be varied"
	ReadingFidelity  = "how much an experiment tells"
)

// Learned returns the knowledge that the model m of a quantity has of each parameter, along slices
// through the best composition of the campaign: for the objective's model that is
// [Diagnosis.Parameters]. It is nil without measurements, and fails if the best composition is not
// in the space.
func Learned(v policies.View, m *quantity.Model) ([]Parameter, error) {
	if v.Objective() == nil || len(v.Objective().Observations) == 0 {
		return nil, nil
	}
	_, parameters, err := learned(v, m, bestOf(v))
	return parameters, err
}

// learned is Learned with the slices, through an observation of the objective's model.
func learned(v policies.View, m *quantity.Model, best int) ([]Slice, []Parameter, error) {
	along, err := Slices(v.Campaign.Definition, v.Space, m, v.Objective().Observations[best].Point)
	if err != nil {
		return nil, nil, err
	}
	return along, parametersOf(NewFrame(v.Campaign.Definition, v.Space), m, along), nil
}

// parametersOf reads the lengthscales and the effects along the slices. A kernel of lengthscale ℓ
// models a straight line on ranges far below ℓ: lengthscales above about three ranges mean a
// straight line. An effect of at most twice its own uncertainty may be zero, and one of at most
// that uncertainty is invisible.
func parametersOf(f *Frame, m *quantity.Model, slices []Slice) []Parameter {
	shares := f.Shortest(m.Fit.Lengthscales)
	least := gp.DefaultPriors(len(m.Fit.Lengthscales)).Lengthscale.Lower
	out := make([]Parameter, len(shares))
	for i, p := range f.def.Parameters {
		q := &out[i]
		*q = Parameter{Name: p.Name, Unit: p.Unit, Share: shares[i]}
		if p.Name == f.def.Fidelity.Parameter {
			q.Reading = ReadingFidelity
			out[i].Share = 0
			continue
		}
		if f.Movable(i) {
			l := shares[i] * f.Range(i)
			q.Lengthscale = &l
		}
		for k := range slices {
			if s := &slices[k]; s.Index == i {
				q.Effect, q.EffectSD = &s.Effect, &s.EffectSD
			}
		}
		q.Reading = q.read(least, len(p.Categories) > 0)
	}
	return out
}

// read describes in words what was learned; least is the lower bound of lengthscales.
func (q *Parameter) read(least float64, categories bool) string {
	if q.Effect == nil {
		return ReadingFixed
	}
	seen := *q.Effect > 2**q.EffectSD
	switch {
	case q.Share <= least*atBound:
		return ReadingTooFast
	case !seen && q.Share > 1 && *q.Effect <= *q.EffectSD:
		return ReadingNone
	case !seen:
		return ReadingUnsure
	case categories:
		return ReadingDifferent
	case q.Share > 3:
		return ReadingTrend
	case q.Share > 1:
		return ReadingCurve
	}
	return ReadingBends
}

// free is the number of parameters that can be varied independently.
func (f *Frame) free() int {
	n := 0
	for i, p := range f.def.Parameters {
		if len(p.Categories) > 1 || f.Movable(i) {
			n++
		}
	}
	return max(1, n-len(f.a))
}
