package outcome

import (
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/projections/campaign"
	"github.com/campaignd/campaignd/projections/objective"
	"github.com/campaignd/campaignd/projections/space"
)

// Best is the measured composition that is best by the models.
type Best struct {
	// Index is its place among the objective's observations.
	Index int
	// Value is what is expected of what is sought there, in the user's unit.
	Value events.Prediction
	// Outlook is what is expected of the quantities; zero where there is one.
	Outlook Outlook
	// Confident is false where no measured composition keeps every constraint with
	// its confidence: it is then the one that most probably keeps all of them.
	Confident bool
	// against is −ln of the probability that the constraints are kept, of one that
	// is not confident: it tells compositions apart whose probability is 0.
	against float64
}

// BestOf returns the best composition of a campaign by the models of what it seeks
// and of its other quantities: the best posterior mean of those that keep the
// constraints with their confidence, or else the one that most probably keeps them.
// A formula is compared by what its quantities' models say. It is nil where there
// is no model, where nothing that was measured is a result, of a trade-off, which has
// no best, and where an expert's preferences decide: see [Problem.Preferred].
func BestOf(
	s *campaign.State, sp *space.Space, sought *objective.Model, others Models,
) (*Best, error) {
	if sought == nil || !s.Definition.Single() {
		return nil, nil
	}
	p, err := NewProblem(s, sp, sought, others)
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
	against, err := p.NegLogFeasible()
	if err != nil {
		return nil, err
	}
	var best *Best
	for i, x := range sought.X {
		if !sought.IsResult(i) {
			continue
		}
		b := &Best{Index: i, Value: sought.PredictAt(x), Outlook: w.At(x)}
		if b.Outlook.Value != nil {
			b.Value = *b.Outlook.Value
		}
		if b.Confident = p.Confident(b.Outlook.Feasible); !b.Confident {
			b.against = against(x, nil)
		}
		if best == nil || p.better(b, best) {
			best = b
		}
	}
	if best != nil && best.Outlook.Value != nil {
		best.Outlook.Interval = w.interval(sought.X[best.Index])
	}
	return best, nil
}

// better compares two compositions.
func (p *Problem) better(a, b *Best) bool {
	switch {
	case a.Confident != b.Confident:
		return a.Confident
	case !a.Confident && a.against != b.against:
		return a.against < b.against
	}
	return p.def.Sought().Better(a.Value.Mean, b.Value.Mean)
}
