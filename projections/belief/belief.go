// Package belief is the projection of what each expert believes: their accept
// and reject labels, or their comparisons, and the confidence set of the latent
// rejection score g that follows from them (Xu et al. 2024, §3.2 and App. H).
package belief

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/space"
	"github.com/campaignd/campaignd/projections"
)

// Label is one accept or reject.
type Label struct {
	// Question is the question's identifier.
	Question string       `json:"question"`
	Point    events.Point `json:"point"`
	Reject   bool         `json:"reject"`
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
	// FitRevision is the Revision the fit, or the failed fit, has seen; −1 before the first.
	FitRevision int               `json:"fit_revision"`
	Fit         *events.BeliefFit `json:"fit,omitempty"`
}

type state struct {
	Definition *events.Definition `json:"definition,omitempty"`
	Experts    []Expert           `json:"experts,omitempty"`
}

// Projection folds labels and fits.
type Projection struct {
	state state
	space *space.Space // follows from state.Definition
	cache map[string]*Model
}

// New returns the projection of a campaign without events.
func New() *Projection { return &Projection{cache: make(map[string]*Model)} }

// Name implements projections.Projection.
func (p *Projection) Name() string { return "belief" }

// Snapshot implements projections.Projection.
func (p *Projection) Snapshot() ([]byte, error) { return json.Marshal(&p.state) }

// Restore implements projections.Projection.
func (p *Projection) Restore(snapshot []byte) error {
	*p = *New()
	if err := json.Unmarshal(snapshot, &p.state); err != nil {
		return fmt.Errorf("restore belief: %w", err)
	}
	if p.state.Definition == nil {
		return nil
	}
	return p.define(p.state.Definition)
}

func (p *Projection) define(def *events.Definition) (err error) {
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
		// The cube, the confidence and the largest norm may have changed: begin anew.
		for i := range p.state.Experts {
			p.state.Experts[i].Fit, p.state.Experts[i].FitRevision = nil, -1
		}
		return p.define(&d.Definition)
	case *events.LabelGiven:
		if d.Answer != events.AnswerUnsure {
			x := p.expert(d.Expert)
			x.insert(Label{Question: d.Question, Point: d.Parameters, Reject: d.Answer != events.AnswerAccept})
			delete(p.cache, d.Expert)
		}
	case *events.LabelSuperseded:
		p.expert(d.Expert).supersede(d)
		delete(p.cache, d.Expert)
	case *events.ComparisonGiven:
		p.compare(d.Expert, projections.Comparison{Question: d.Question, Options: d.Options, Order: d.Order})
	case *events.ComparisonSuperseded:
		p.compare(d.Expert, projections.Comparison{Question: d.Question, Options: d.Options, Order: d.Order})
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

// insert adds a label.
func (x *Expert) insert(label Label) {
	x.Labels = projections.InOrder(x.Labels, label, func(l Label) string { return l.Question })
	x.Revision++
}

// compare takes an answer to a comparison into account.
func (p *Projection) compare(expert string, c projections.Comparison) {
	x, changes := p.expert(expert), 0
	x.Comparisons, changes = projections.Compare(x.Comparisons, c)
	x.Revision += changes
	delete(p.cache, expert)
}

// supersede replaces an answer; "can't tell" is no label.
func (x *Expert) supersede(d *events.LabelSuperseded) {
	if i := slices.IndexFunc(x.Labels, func(l Label) bool { return l.Question == d.Question }); i >= 0 {
		x.Labels = slices.Delete(x.Labels, i, i+1)
		x.Revision++
	}
	if d.Answer != events.AnswerUnsure {
		x.insert(Label{Question: d.Question, Point: d.Parameters, Reject: d.Answer != events.AnswerAccept})
	}
}

// expert returns the named expert's state, new where there is none.
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

// Stale reports whether the expert's belief was never fitted, or their answers
// have changed since; never where the policy's belief needs no fit.
func (p *Projection) Stale(expert string) bool {
	x := p.find(expert)
	switch p.feedback() {
	case "", events.FeedbackPinpoint, events.FeedbackGaussian:
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
