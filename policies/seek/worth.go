package seek

import (
	"math"

	"github.com/campaignd/campaignd/internal/num/ehvi"
	"github.com/campaignd/campaignd/projections/campaign"
	"github.com/campaignd/campaignd/projections/quantity"
	"github.com/campaignd/campaignd/projections/space"
)

// Share is a quantity's part of a whole.
type Share struct {
	Quantity string  `json:"quantity"`
	Share    float64 `json:"share"`
}

// Worth gives the reasons that a composition is worth an experiment: shares add up to 1.
type Worth struct {
	// Gain is, for a trade-off, each quantity's share of the front's expected gain: |∂ ln
	// EHVI/∂μ_k|·σ_k over the sum, on the front of posterior means.
	Gain []Share `json:"gain,omitempty"`
	// Uncertainty is, for a computed objective, each quantity's share of its variance, to first
	// order.
	Uncertainty []Share `json:"uncertainty,omitempty"`
}

// WorthOf returns the worth of a point of the unit cube; nil where one quantity is
// sought, and where nothing is uncertain.
func WorthOf(
	s *campaign.State, sp *space.Space, models quantity.Models, x []float64,
) (*Worth, error) {
	if models.Objective() == nil {
		return nil, nil
	}
	p, err := NewProblem(s, sp, models)
	if err != nil || p == nil {
		return nil, err
	}
	w, err := p.NewPredictor()
	if err != nil {
		return nil, err
	}
	w.set(x, false)
	switch {
	case p.Aims != nil:
		return p.gain(w)
	case p.Computed():
		out := &Worth{}
		for k, share := range w.mixture.Shares(w.at) {
			out.Uncertainty = append(out.Uncertainty, Share{p.Quantities[k], share})
		}
		return out, nil
	}
	return nil, nil
}

// leastShare is the standard deviation, in units of the range that was measured, that stands
// for that of a known value.
const leastShare = 1e-7

// gain returns the shares of a gain where the predictor was set.
func (p *Problem) gain(w *Predictor) (*Worth, error) {
	means, sds := p.scores(w), make([]float64, len(p.Aims))
	for k, a := range p.Aims {
		if a.Model >= 0 {
			sds[k] = math.Abs(p.Models[a.Model].Scale().Spread) * w.at.SDs[a.Model]
		}
	}
	s, err := p.Standing()
	if err != nil {
		return nil, err
	}
	for k := range sds {
		sds[k] = max(sds[k], leastShare*p.spread(k, s))
	}
	front := make([][]float64, len(s.Front))
	for i, at := range s.Front {
		front[i] = s.Scores[at]
	}
	byMean, bySD := make([]float64, len(means)), make([]float64, len(means))
	ehvi.NewClosed(front, s.Reference, nil).LogGrad(means, sds, byMean, bySD)
	sum := 0.0
	for k, sd := range sds {
		byMean[k] = math.Abs(byMean[k]) * sd
		sum += byMean[k]
	}
	if !(sum > 0) || !finite(sum) {
		return nil, nil
	}
	out := &Worth{}
	for k, a := range p.Aims {
		out.Gain = append(out.Gain, Share{a.Name, byMean[k] / sum})
	}
	return out, nil
}
