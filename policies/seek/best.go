package seek

import (
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/projections/campaign"
	"github.com/campaignd/campaignd/projections/quantity"
	"github.com/campaignd/campaignd/projections/space"
)

// Best is the measured composition that is best by the models.
type Best struct {
	// Index is its place among the objective's observations.
	Index int
	// Value is the prediction of the objective there, in the user's unit.
	Value events.Prediction
	// Outlook is the prediction of the quantities; zero for a single one.
	Outlook Outlook
	// Confident is false where no measured composition keeps every constraint with
	// its confidence: it is then the one that comes closest.
	Confident bool
	closeness closeness
}

// BestOf returns the best composition of a campaign by the models of its objective and of its
// other quantities: the best posterior mean of those that keep the constraints with their
// confidence, or else the one that comes closest: that most probably keeps them, or, where that
// probability is next to zero for all, is expected to break them least. A formula is compared
// by the predictions of its quantities' models. It is nil without a model, without a
// measurement that is a result, for a trade-off, which has no best, and where an expert's
// preferences decide: see [Problem.Preferred].
func BestOf(
	s *campaign.State, sp *space.Space, models quantity.Models,
) (*Best, error) {
	return bestOf(s, sp, models, closeness.closer)
}

// MostProbable is [BestOf] with another closest composition: the one that most probably keeps
// the constraints, however small that probability, as decisions of version 2 name it.
func MostProbable(
	s *campaign.State, sp *space.Space, models quantity.Models,
) (*Best, error) {
	return bestOf(s, sp, models, func(a, b closeness) bool { return a.against < b.against })
}

func bestOf(
	s *campaign.State, sp *space.Space, models quantity.Models, closer func(a, b closeness) bool,
) (*Best, error) {
	sought := models.Objective()
	if sought == nil || !s.Definition.Single() {
		return nil, nil
	}
	p, err := NewProblem(s, sp, models)
	if err != nil {
		return nil, err
	}
	if p == nil {
		i, _ := sought.Best()
		if i < 0 {
			return nil, nil
		}
		return &Best{Index: i, Value: sought.PredictAt(sought.X[i]), Confident: true}, nil
	}
	w, err := p.NewPredictor()
	if err != nil {
		return nil, err
	}
	var all []*Best
	var points [][]float64
	confident := false
	for i, x := range sought.X {
		if !sought.IsResult(i) {
			continue
		}
		b := &Best{Index: i, Value: sought.PredictAt(x), Outlook: w.At(x)}
		if b.Outlook.Value != nil {
			b.Value = *b.Outlook.Value
		}
		b.Confident = p.Confident(b.Outlook.Feasible)
		confident = confident || b.Confident
		all, points = append(all, b), append(points, x)
	}
	if !confident {
		closenesses, err := p.closenesses(points)
		if err != nil {
			return nil, err
		}
		for i, b := range all {
			b.closeness = closenesses[i]
		}
	}
	var best *Best
	for _, b := range all {
		if best == nil || p.better(b, best, closer) {
			best = b
		}
	}
	if best != nil && best.Outlook.Value != nil {
		best.Outlook.Interval = w.interval(sought.X[best.Index])
	}
	return best, nil
}

// better compares two compositions.
func (p *Problem) better(a, b *Best, closer func(a, b closeness) bool) bool {
	switch {
	case a.Confident != b.Confident:
		return a.Confident
	case !a.Confident && closer(a.closeness, b.closeness):
		return true
	case !a.Confident && closer(b.closeness, a.closeness):
		return false
	}
	return p.def.Sought().Better(a.Value.Mean, b.Value.Mean)
}
