package diagnose

import (
	"github.com/campaignd/campaignd/internal/num/gp"
	"github.com/campaignd/campaignd/projections/objective"
)

// Parameter says what the model has learned about one parameter.
type Parameter struct {
	Name string `json:"name"`
	Unit string `json:"unit,omitempty"`
	// Lengthscale in the parameter's unit: how far one must go along it until
	// the objective may differ. Nil for categories.
	Lengthscale *float64 `json:"lengthscale"`
	// Share is the lengthscale as a share of the parameter's range; the
	// shortest where it has several coordinates.
	Share float64 `json:"share"`
	// Effect is the greatest difference of the mean along the slice through the
	// best composition, ± EffectSD, in the objective's unit; nil where the
	// parameter cannot be varied.
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

// parametersOf reads the lengthscales and the effects along the slices. A
// kernel of lengthscale ℓ models a straight line on ranges far below ℓ: for
// lengthscales above about three ranges nothing else is left. An effect of at
// most twice its own uncertainty may be no effect.
func parametersOf(f *Frame, m *objective.Model, slices []Slice) []Parameter {
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

// read says in words what was learned; least is the lower bound of
// lengthscales.
func (q *Parameter) read(least float64, categories bool) string {
	if q.Effect == nil {
		return ReadingFixed
	}
	seen := *q.Effect > 2**q.EffectSD
	switch {
	case q.Share <= least*atBound:
		return ReadingTooFast
	case !seen && q.Share > 1:
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
