package belief

import (
	"fmt"
	"math"
	"slices"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/num/confset"
	"github.com/campaignd/campaignd/projections"
	"github.com/campaignd/campaignd/projections/quantity"
)

// Function is the knowledge of the rejection score g over the unit cube: a confidence set, or a
// belief that was stated.
type Function interface {
	// Bounds returns the least and the greatest g that is plausible at a point.
	Bounds(x []float64) (lower, upper float64, err error)
	// Lower and Upper are the two with their gradient, where grad is not nil.
	Lower(x, grad []float64) (float64, error)
	Upper(x, grad []float64) (float64, error)
	// MLEAt returns the likeliest g, and its gradient.
	MLEAt(x, grad []float64) float64
}

// Model is one expert's belief over the unit cube.
type Model struct {
	// Expert is the expert's name.
	Expert string
	// Labels and Comparisons are those the belief was made from.
	Labels      []Label
	Comparisons []projections.Comparison
	// X are the labeled compositions in the unit cube, a row for each label.
	X [][]float64
	// Fit is the adaptation that a confidence set was made with, with the
	// likelihood that it has in this model and the labels that it rests on; nil
	// where the belief was stated.
	Fit *events.BeliefFit
	// Function of the rejection score, from the expert's answers.
	Function

	objective *quantity.Model // whose kernel the set shares
}

// Model returns the expert's belief, a confidence set with the kernel of the given objective model
// (Xu et al. 2024, Table 3). It is nil without an objective model or a fit of the belief. Equal
// states give equal models, bit for bit.
func (p *Projection) Model(expert string, obj *quantity.Model) (*Model, error) {
	x := p.find(expert)
	if obj == nil || x == nil {
		return nil, nil
	}
	if m := p.cache[expert]; m != nil && m.objective == obj {
		return m, nil
	}
	var m *Model
	var err error
	switch {
	case p.feedback() == FeedbackGaussian:
		m, err = p.stated(expert)
	case x.Fit != nil && p.needs != nil:
		m, err = p.set(x, obj)
	}
	if err != nil {
		return nil, fmt.Errorf("the belief of %s: %w", expert, err)
	}
	if m != nil {
		m.objective = obj
		p.cache[expert] = m
	}
	return m, nil
}

// set is the confidence set of the expert's answers.
func (p *Projection) set(x *Expert, obj *quantity.Model) (*Model, error) {
	evidence, m, err := p.evidence(x)
	if err != nil {
		return nil, err
	}
	set, err := confset.NewSet(evidence, obj.Kernel(), x.Fit.NormBound,
		confset.Margin(x.Fit.Confidence, evidence.Answers()), confset.DefaultJitter)
	if err != nil {
		return nil, err
	}
	// The norm and the confidence are the fit's; the likelihood is that of this
	// set, whose kernel may be of a later fit of the objective.
	fit := *x.Fit
	fit.LogLikelihood, fit.Labels = set.LogLik(), evidence.Answers()
	m.Fit, m.Function = &fit, set
	return m, nil
}

// stated is the belief that the expert states in the definition; nil where they
// do not.
func (p *Projection) stated(expert string) (*Model, error) {
	for _, e := range p.state.Definition.Experts {
		if e.Name != expert || e.Belief == nil {
			continue
		}
		mean, err := p.space.Encode(e.Belief.Mean)
		if err != nil {
			return nil, err
		}
		sd := make([]float64, len(mean))
		for i, coordinates := range p.space.Coordinates() {
			parameter := p.state.Definition.Parameters[i]
			for _, k := range coordinates {
				sd[k] = categorySD
				if len(parameter.Categories) == 0 {
					sd[k] = e.Belief.SD[parameter.Name] / p.space.Span(i)
				}
			}
		}
		gaussian, err := confset.NewGaussian(mean, sd, confset.DefaultLimit)
		if err != nil {
			return nil, err
		}
		return &Model{Expert: expert, Function: gaussian}, nil
	}
	return nil, nil
}

// categorySD is the standard deviation of a stated belief in the coordinates of a categorical
// parameter, which the belief does not cover: so wide that it does not matter.
const categorySD = 1e3

// feedback is the form of feedback that the policy's belief is built from, "" without a belief.
func (p *Projection) feedback() string {
	if p.needs == nil {
		return ""
	}
	return p.needs.Feedback
}

// evidence returns the expert's answers over the unit cube, the last ones alone where the
// definition sets a window.
func (p *Projection) evidence(x *Expert) (confset.Evidence, *Model, error) {
	m := &Model{Expert: x.Name, Labels: slices.Clone(x.Labels),
		Comparisons: slices.Clone(x.Comparisons)}
	if w := p.needs.Window; w != nil {
		m.Labels = m.Labels[max(0, len(m.Labels)-*w):]
		m.Comparisons = m.Comparisons[max(0, len(m.Comparisons)-*w):]
	}
	switch p.feedback() {
	case FeedbackComparison, FeedbackRanking:
		m.Labels = nil
		var feedback confset.Feedback
		for _, c := range m.Comparisons {
			ranking, err := p.ranking(c)
			if err != nil {
				return nil, nil, err
			}
			feedback.Rankings = append(feedback.Rankings, ranking)
		}
		return feedback, m, nil
	}
	m.Comparisons = nil
	var labels confset.Labels
	for _, l := range m.Labels {
		u, err := p.space.Encode(l.Point)
		if err != nil {
			return nil, nil, fmt.Errorf("the composition of %s: %w", l.Question, err)
		}
		labels.X = append(labels.X, u)
		labels.Reject = append(labels.Reject, l.Reject)
	}
	m.X = labels.X
	return labels, m, nil
}

// ranking is a comparison over the unit cube.
func (p *Projection) ranking(c projections.Comparison) (r confset.Ranking, err error) {
	options := make([][]float64, len(c.Options))
	for i, point := range c.Options {
		if options[i], err = p.space.Encode(point); err != nil {
			return r, fmt.Errorf("option %d of %s: %w", i+1, c.Question, err)
		}
	}
	for i := range options {
		if !slices.Contains(c.Order, i) {
			r.Rest = append(r.Rest, options[i])
		}
	}
	for _, i := range c.Order {
		r.Order = append(r.Order, options[i])
	}
	return r, nil
}

// firstNorm is B_g before any label (Xu et al. 2024, App. F).
const firstNorm = 1

// FitBelief adapts the norm bound B_g, and with the paper's rule the confidence
// c, to the expert's present answers, going on from the last fit (Xu et al.
// 2024, App. F).
func (p *Projection) FitBelief(expert string, obj *quantity.Model) (events.BeliefFit, error) {
	x := p.expert(expert)
	fit := events.BeliefFit{NormBound: firstNorm, Confidence: *p.needs.Confidence}
	if x.Fit != nil {
		fit = *x.Fit
	}
	rule := confset.NormRule{
		MaxNorm: math.Inf(1), DoubleC: p.needs.DoubleConfidence, Jitter: confset.DefaultJitter,
	}
	if p.needs.MaxNorm != nil {
		rule.MaxNorm = *p.needs.MaxNorm
	}
	evidence, _, err := p.evidence(x)
	if err != nil {
		return events.BeliefFit{}, fmt.Errorf("the belief of %s: %w", expert, err)
	}
	fit.NormBound, fit.Confidence, err = confset.AdaptNorm(evidence, obj.Kernel(), fit.NormBound,
		fit.Confidence, rule)
	if err != nil {
		return events.BeliefFit{}, fmt.Errorf("the belief of %s: %w", expert, err)
	}
	mle, err := confset.MLE(evidence, obj.Kernel(), fit.NormBound, confset.DefaultJitter)
	if err != nil {
		return events.BeliefFit{}, fmt.Errorf("the belief of %s: %w", expert, err)
	}
	fit.LogLikelihood, fit.Labels = mle.LogLik, evidence.Answers()
	return fit, nil
}
