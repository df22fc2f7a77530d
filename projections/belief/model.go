package belief

import (
	"fmt"
	"math"
	"slices"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/num/choice"
	"github.com/campaignd/campaignd/projections/objective"
)

// Model is the confidence set of one expert's belief over the unit cube.
type Model struct {
	// Expert is the expert's name.
	Expert string
	// Labels are those the set was made from.
	Labels []Label
	// X are the labelled compositions in the unit cube, a row for each label.
	X [][]float64
	// Fit is the adaptation the set was made with.
	Fit events.BeliefFit
	// Set bounds the rejection score g at any point of the unit cube.
	*choice.Set

	objective *objective.Model // whose kernel the set shares
}

// Model returns the expert's confidence set with the kernel of the given
// objective model (Xu et al. 2024, Table 3). It is nil where there is no
// objective model or no fit of the belief. Equal states give equal models, bit
// for bit.
func (p *Projection) Model(expert string, obj *objective.Model) (*Model, error) {
	x := p.find(expert)
	if obj == nil || x == nil || x.Fit == nil {
		return nil, nil
	}
	if m := p.cache[expert]; m != nil && m.objective == obj {
		return m, nil
	}
	labels, err := p.labels(x)
	if err != nil {
		return nil, err
	}
	set, err := choice.NewSet(labels, obj.Kernel(), x.Fit.NormBound, choice.Margin(x.Fit.Confidence, len(x.Labels)), choice.DefaultJitter)
	if err != nil {
		return nil, fmt.Errorf("the belief of %s: %w", expert, err)
	}
	m := &Model{Expert: expert, Labels: slices.Clone(x.Labels), X: labels.X, Fit: *x.Fit, Set: set, objective: obj}
	p.cache[expert] = m
	return m, nil
}

// labels returns the expert's labels over the unit cube.
func (p *Projection) labels(x *Expert) (choice.Labels, error) {
	var labels choice.Labels
	for _, l := range x.Labels {
		u, err := p.space.Encode(l.Point)
		if err != nil {
			return choice.Labels{}, fmt.Errorf("the composition of %s: %w", l.Question, err)
		}
		labels.X = append(labels.X, u)
		labels.Reject = append(labels.Reject, l.Reject)
	}
	return labels, nil
}

// firstNorm is B_g before any label (Xu et al. 2024, App. F).
const firstNorm = 1

// FitBelief adapts the norm bound B_g, and with the paper's rule the
// confidence c, to the expert's present labels, going on from the last fit (Xu
// et al. 2024, App. F).
func (p *Projection) FitBelief(expert string, obj *objective.Model) (events.BeliefFit, error) {
	x := p.expert(expert)
	cobol := p.state.Definition.Policy.Trust.COBOL
	fit := events.BeliefFit{NormBound: firstNorm, Confidence: *cobol.Confidence}
	if x.Fit != nil {
		fit = *x.Fit
	}
	rule := choice.NormRule{MaxNorm: math.Inf(1), DoubleC: cobol.Paper, Jitter: choice.DefaultJitter}
	if cobol.MaxNorm != nil {
		rule.MaxNorm = *cobol.MaxNorm
	}
	labels, err := p.labels(x)
	if err != nil {
		return events.BeliefFit{}, err
	}
	fit.NormBound, fit.Confidence, err = choice.AdaptNorm(labels, obj.Kernel(), fit.NormBound, fit.Confidence, rule)
	if err != nil {
		return events.BeliefFit{}, fmt.Errorf("the belief of %s: %w", expert, err)
	}
	mle, err := choice.MLE(labels, obj.Kernel(), fit.NormBound, choice.DefaultJitter)
	if err != nil {
		return events.BeliefFit{}, fmt.Errorf("the belief of %s: %w", expert, err)
	}
	fit.LogLikelihood, fit.Labels = mle.LogLik, len(x.Labels)
	return fit, nil
}
