package diagnose

import (
	"github.com/campaignd/campaignd/internal/num/gp"
	"github.com/campaignd/campaignd/projections/objective"
)

// Parameter says what the model has learnt about one parameter.
type Parameter struct {
	Name string `json:"name"`
	Unit string `json:"unit,omitempty"`
	// Lengthscale in the parameter's unit: how far one must go along it until
	// the objective may be a different one. Nil for categories.
	Lengthscale *float64 `json:"lengthscale"`
	// Share is the lengthscale as a share of the parameter's range; the
	// shortest where it has several coordinates.
	Share float64 `json:"share"`
	// Effect is the greatest difference of the mean along the slice through
	// the best composition, ± EffectSD, in the objective's unit; nil where the
	// parameter cannot be varied.
	Effect   *float64 `json:"effect"`
	EffectSD *float64 `json:"effect_sd"`
	// Reading says it in words.
	Reading string `json:"reading"`
}

// Readings of a parameter.
const (
	ReadingTooFast = "changes faster than the data can show"
	ReadingStrong  = "strong effect"
	ReadingBent    = "gentle effect"
	ReadingTrend   = "hardly more than a straight trend"
	ReadingNone    = "no effect seen"
	ReadingFixed   = "cannot be varied"
)

// parametersOf reads the lengthscales. A kernel of lengthscale ℓ sees a straight
// line on ranges far below ℓ: from about three ranges on nothing else is left,
// and where the slope of that line is no more than twice its uncertainty, no effect was seen.
func parametersOf(f *Frame, m *objective.Model, slices []Slice) []Parameter {
	shares := f.Shortest(m.Fit.Lengthscales)
	least := gp.DefaultPriors(len(m.Fit.Lengthscales)).Lengthscale.Lower
	out := make([]Parameter, len(shares))
	for i, p := range f.def.Parameters {
		q := &out[i]
		*q = Parameter{Name: p.Name, Unit: p.Unit, Share: shares[i]}
		if f.Movable(i) {
			l := shares[i] * f.Range(i)
			q.Lengthscale = &l
		}
		for k := range slices {
			if s := &slices[k]; s.Index == i {
				q.Effect, q.EffectSD = &s.Effect, &s.EffectSD
			}
		}
		switch {
		case q.Effect == nil:
			q.Reading = ReadingFixed
		case q.Share <= least*atBound:
			q.Reading = ReadingTooFast
		case q.Share > 1 && *q.Effect <= 2**q.EffectSD:
			q.Reading = ReadingNone
		case q.Share > 3:
			q.Reading = ReadingTrend
		case q.Share > 1:
			q.Reading = ReadingBent
		default:
			q.Reading = ReadingStrong
		}
	}
	return out
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
