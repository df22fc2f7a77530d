// Package belief is the projection of what each expert believes: their accept
// and reject labels, or their comparisons, and the confidence set of the latent
// rejection score g that follows from them (Xu et al. 2024, §3.2 and App. H).
package belief

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/projections"
	"github.com/campaignd/campaignd/projections/space"
)

// Label is one accept or reject.
type Label struct {
	// Question is the question's identifier.
	Question string           `json:"question"`
	Point    definition.Point `json:"point"`
	Reject   bool             `json:"reject"`
}

// Expert is the state of one expert's belief.
type Expert struct {
	Name string `json:"name"`
	// Labels in the order of their questions, "can't tell" left out.
	Labels []Label `json:"labels,omitempty"`
	// Comparisons likewise.
	Comparisons []projections.Comparison `json:"comparisons,omitempty"`
	// Revision counts the changes of Labels and Comparisons.
	Revision int `json:"revision"`
	// FitRevision is the Revision the fit, or the failed fit, has seen; −1
	// before the first.
	FitRevision int               `json:"fit_revision"`
	Fit         *events.BeliefFit `json:"fit,omitempty"`
}

type state struct {
	Definition *definition.Campaign `json:"definition,omitempty"`
	Experts    []Expert             `json:"experts,omitempty"`
}

// Projection folds labels and fits.
type Projection struct {
	state state
	space *space.Space // follows from state.Definition
	needs *Needs       // of the campaign's policy
	cache map[string]*Model
}

// New returns the projection of a campaign without events.
func New() *Projection { return &Projection{cache: make(map[string]*Model)} }

// Configure sets the needs of the campaign's policy; nil where it reads no beliefs. It is called
// with each new definition, and is not part of the state.
func (p *Projection) Configure(needs *Needs) {
	p.needs = needs
	clear(p.cache)
}

// Name implements projections.Projection.
func (p *Projection) Name() string { return "belief" }

// Snapshot implements projections.Projection.
func (p *Projection) Snapshot() ([]byte, error) { return json.Marshal(&p.state) }

// Restore implements projections.Projection.
func (p *Projection) Restore(snapshot []byte) error {
	needs := p.needs
	*p = *New()
	p.needs = needs
	if err := json.Unmarshal(snapshot, &p.state); err != nil {
		return fmt.Errorf("restore belief: %w", err)
	}
	if p.state.Definition == nil {
		return nil
	}
	return p.define(p.state.Definition)
}

// Clone returns a projection with the same state, which each of the two changes
// from then on without the other. It builds its own models.
func (p *Projection) Clone() *Projection {
	own := New()
	own.state = p.state
	own.space = p.space
	own.needs = p.needs
	own.state.Experts = slices.Clone(p.state.Experts)
	for i := range own.state.Experts {
		x := &own.state.Experts[i]
		x.Labels = slices.Clone(x.Labels)
		x.Comparisons = slices.Clone(x.Comparisons)
	}
	return own
}

func (p *Projection) define(def *definition.Campaign) (err error) {
	p.state.Definition = def
	p.space, err = space.New(*def)
	clear(p.cache)
	for _, expert := range def.Experts {
		p.expert(expert.Name)
	}
	return err
}

// Apply implements projections.Projection.
func (p *Projection) Apply(e events.Event, payload events.Payload) error {
	switch d := payload.(type) {
	case *events.CampaignDefined:
		return p.define(&d.Definition)
	case *events.CampaignAmended:
		// The cube, the confidence and the largest norm may have changed: begin
		// anew.
		for i := range p.state.Experts {
			p.state.Experts[i].Fit, p.state.Experts[i].FitRevision = nil, -1
		}
		return p.define(&d.Definition)
	case *events.QuestionAnswered:
		p.answer(d.Expert, d.Question, d.Form, d.Options, d.Answer)
	case *events.QuestionSuperseded:
		p.answer(d.Expert, d.Question, d.Form, d.Options, d.Answer)
	case *events.ModelFitted:
		if d.Model == events.ModelBelief {
			x := p.expert(d.Expert)
			x.Fit, x.FitRevision = d.Belief, x.Revision
			delete(p.cache, d.Expert)
		}
	case *events.ModelFitFailed:
		if d.Model == events.ModelBelief {
			x := p.expert(d.Expert)
			x.FitRevision = x.Revision
		}
	}
	return nil
}

// answer takes an answer into account, in place of an earlier one to the same
// question. A pinpoint says nothing about a belief.
func (p *Projection) answer(
	expert, question string, form events.Form, options []definition.Point, a events.Answer,
) {
	x := p.expert(expert)
	changes := 0
	switch form {
	case events.FormLabel:
		changes = x.label(question, options[0], a.Label)
	case events.FormComparison:
		c := projections.Comparison{Question: question, Options: options, Order: a.Order}
		x.Comparisons, changes = projections.Compare(x.Comparisons, c)
	}
	x.Revision += changes
	delete(p.cache, expert)
}

// label takes a label into account, in place of an earlier one; "can't tell" only takes that away.
// changes counts the labels removed and added.
func (x *Expert) label(question string, point definition.Point, label events.Label) (changes int) {
	if i := slices.IndexFunc(x.Labels, func(l Label) bool { return l.Question == question }); i >= 0 {
		x.Labels = slices.Delete(x.Labels, i, i+1)
		changes++
	}
	if label == "" {
		return changes
	}
	added := Label{Question: question, Point: point, Reject: label != events.LabelAccept}
	x.Labels = projections.InOrder(x.Labels, added,
		func(l Label) int { return events.QuestionNumber(l.Question) })
	return changes + 1
}

// expert returns the named expert's state, and creates a missing one.
func (p *Projection) expert(name string) *Expert {
	if x := p.find(name); x != nil {
		return x
	}
	p.state.Experts = append(p.state.Experts, Expert{Name: name, FitRevision: -1})
	return &p.state.Experts[len(p.state.Experts)-1]
}

// find returns the named expert's state, or nil.
func (p *Projection) find(name string) *Expert {
	for i := range p.state.Experts {
		if p.state.Experts[i].Name == name {
			return &p.state.Experts[i]
		}
	}
	return nil
}

// Fitted reports whether there is a fit of the expert's answers.
func (p *Projection) Fitted(expert string) bool {
	x := p.find(expert)
	return x != nil && x.Fit != nil
}

// Stale reports whether the expert's belief was never fitted, or their answers
// have changed since; never where the policy's belief needs no fit.
func (p *Projection) Stale(expert string) bool {
	x := p.find(expert)
	switch p.feedback() {
	case "", FeedbackPinpoint, FeedbackGaussian:
		return false // there is nothing to fit
	}
	return x != nil && x.Revision != x.FitRevision
}

// Revision counts the changes of the expert's labels and comparisons.
func (p *Projection) Revision(expert string) int {
	if x := p.find(expert); x != nil {
		return x.Revision
	}
	return 0
}

var _ projections.Projection = (*Projection)(nil)
