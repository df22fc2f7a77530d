package simulated

import (
	"fmt"
	"math"
	"slices"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/num/reliability"
)

// Where Sinaga et al. 2026 search for the bandwidth, for model.utility.paper.
const (
	paperLower = 1
	paperUpper = 2
)

// Noise is the variance of one side of an expert's comparisons at a
// composition, in the square of the objective's unit. A composition outside the
// campaign's parameters is an error.
type Noise func(definition.Point) (float64, error)

// NoiseOf returns the noise of an anchored expert: the map that the campaign's model.utility makes
// of the expert's anchors (Sinaga et al. 2026, Eq. 6),
//
//	σ²(x) = a·exp(−q(x)),
//
// with q as the model takes it (package reliability). Where the campaign models no utility, the
// defaults apply. Compositions are points of the unit cube, each parameter scaled by its bounds, as
// in the model, so that the model's map is the truth where it has the same anchors. The error wraps
// [ErrConfig]: the expert has no anchors, or a parameter is not numeric.
func NoiseOf(e definition.Expert, def definition.Campaign) (Noise, error) {
	if len(e.Anchors) == 0 {
		return nil, fault(e, "it is anchored and has no anchors; list compositions under anchors")
	}
	lower, width := make([]float64, len(def.Parameters)), make([]float64, len(def.Parameters))
	for i, p := range def.Parameters {
		switch {
		case len(p.Values) > 0:
			lower[i], width[i] = slices.Min(p.Values), slices.Max(p.Values)-slices.Min(p.Values)
		case p.Min != nil && p.Max != nil:
			lower[i], width[i] = *p.Min, *p.Max-*p.Min
		default:
			return nil, fault(e, "anchors need numeric parameters; %s is not numeric", p.Name)
		}
		if width[i] == 0 {
			width[i] = 1
		}
	}
	encode := func(p definition.Point) ([]float64, error) {
		x := make([]float64, len(lower))
		for i, par := range def.Parameters {
			value, given := p[par.Name]
			v, number := value.Float()
			if !given || !number || math.IsNaN(v) {
				return nil, fmt.Errorf("it has no number for %s", par.Name)
			}
			x[i] = (v - lower[i]) / width[i]
		}
		return x, nil
	}
	u := def.Model.Utility
	cfg := reliability.Config{Paper: u.Paper}
	if u.Noise != nil {
		cfg.Level = *u.Noise
	}
	if u.Paper {
		cfg.Lower, cfg.Upper = paperLower, paperUpper
	} else if u.Strength != nil {
		cfg.Strength = *u.Strength
	}
	anchors := make([][]float64, len(e.Anchors))
	for i, p := range e.Anchors {
		var err error
		if anchors[i], err = encode(p); err != nil {
			return nil, fault(e, "anchor %d: %v", i+1, err)
		}
	}
	noise, err := reliability.NewMap(anchors, cfg)
	if err != nil {
		return nil, fault(e, "%v", err)
	}
	return func(p definition.Point) (float64, error) {
		x, err := encode(p)
		if err != nil {
			return math.NaN(), err
		}
		return noise.At(x, nil), nil
	}, nil
}
