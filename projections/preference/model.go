package preference

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/num/coexbo"
	"github.com/campaignd/campaignd/internal/num/copeland"
	"github.com/campaignd/campaignd/internal/num/pairgp"
	"github.com/campaignd/campaignd/projections"
	"github.com/campaignd/campaignd/projections/space"
)

// Model is one expert's preference over the unit cube; a preference is always for the better,
// whether the campaign maximizes or minimizes.
type Model struct {
	// Expert is the expert's name, Form the kind of model: one of the Preference constants of
	// package events, or "" for comparisons without a model.
	Expert string
	Form   string
	// Comparisons are those the model was made from.
	Comparisons []projections.Comparison
	// Winners[i] was preferred to Losers[i].
	Winners, Losers [][]float64
	// Fit holds the hyperparameters; it is zero where Form is "".
	Fit events.PreferenceFit

	// Choice and Score are the classifier of pairs and the score that follows
	// from it, in the choice form. Sample are compositions that stand for the
	// space, Sampled their scores, and Scaling brings scores to the scale of a
	// standardized objective.
	Choice  *pairgp.Model
	Score   *copeland.Model
	Sample  [][]float64
	Sampled []float64
	Scaling coexbo.Scaling

	// Utility is the model of the utility form, Outcomes that of the outcomes
	// form.
	Utility  *Utility
	Outcomes *Outcomes

	space  *space.Space
	spread copeland.Spread
}

// Model returns the expert's model, nil where its form needs a fit that does not exist yet. Equal
// states give equal models, bit for bit. It is built once, and fails soon after the context is
// done; the next call then builds it anew. A cancelled build leaves nothing in the cache.
func (p *Projection) Model(ctx context.Context, expert string) (*Model, error) {
	x := p.find(expert)
	if x == nil || p.state.Definition == nil {
		return nil, nil
	}
	form := p.needs.Form
	if form != "" && form != events.PreferenceOutcomes && x.Fit == nil {
		return nil, nil
	}
	if m := p.cache[expert]; m != nil {
		return m, nil
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	m, err := p.data(x)
	if err != nil {
		return nil, err
	}
	if form == events.PreferenceOutcomes {
		return p.modelOutcomes(m, x)
	}
	if m.Form != "" {
		m.Fit = *x.Fit
		if err := p.build(ctx, m, x); err != nil {
			return nil, fmt.Errorf("the preferences of %s: %w", expert, err)
		}
	}
	p.cache[expert] = m
	return m, nil
}

// data is the model before it is built. A ranking counts as the pairs that
// [projections.Comparison.Pairs] makes of it.
func (p *Projection) data(x *Expert) (*Model, error) {
	m := &Model{
		Expert: x.Name, Form: p.needs.Form, Comparisons: slices.Clone(x.Comparisons),
		space: p.space, spread: copeland.Expected,
	}
	if p.needs.Spread == SpreadEpistemic {
		m.spread = copeland.Epistemic
	}
	for _, c := range x.Comparisons {
		options := make([][]float64, len(c.Options))
		for i, point := range c.Options {
			u, err := p.space.Encode(point)
			if err != nil {
				return nil, fmt.Errorf("option %d of %s: %w", i+1, c.Question, err)
			}
			options[i] = u
		}
		for _, pair := range c.Pairs() {
			if m.Form == events.PreferenceUtility && slices.Equal(options[pair[0]], options[pair[1]]) {
				continue // a composition is as good as itself: that says nothing of its utility
			}
			m.Winners, m.Losers = append(m.Winners, options[pair[0]]), append(m.Losers, options[pair[1]])
		}
	}
	return m, nil
}

// build builds the kind of model that the form asks for, from the data and the fit.
func (p *Projection) build(ctx context.Context, m *Model, x *Expert) error {
	if m.Form == events.PreferenceUtility {
		return p.buildUtility(ctx, m, x)
	}
	return m.buildChoice()
}

// errNoComparison reports a fit before the first comparison.
var errNoComparison = errors.New("a fit needs a comparison")

// Fit fits the model of the expert's present comparisons, going on from the
// last fit. The result depends on the state and the seed alone.
func (p *Projection) Fit(ctx context.Context, expert string, seed uint64) (events.PreferenceFit, error) {
	x := p.expert(expert)
	if p.needs.Form == events.PreferenceOutcomes {
		return p.fitOutcomes(ctx, x, seed)
	}
	m, err := p.data(x)
	if err != nil {
		return events.PreferenceFit{}, err
	}
	if len(m.Winners) == 0 {
		return events.PreferenceFit{}, errNoComparison
	}
	var fit events.PreferenceFit
	if m.Form == events.PreferenceUtility {
		fit, err = p.fitUtility(ctx, m, x, seed)
	} else {
		fit, err = m.fitChoice(ctx, x.Fit, seed)
	}
	if err != nil {
		return events.PreferenceFit{}, fmt.Errorf("the preferences of %s: %w", expert, err)
	}
	return fit, nil
}
