// Package preference is the projection of what each expert prefers: their
// comparisons, the anchors at which they trust their own judgment, and the
// model that follows from them. Which model that is the campaign's policy says
// ([Projection.Configure]):
//
//   - a classifier of pairs with the score of each composition against a random
//     one, for policies that join preferences with measurements (Adachi et al. 2024, §3.1);
//   - a Gaussian process of the utility, for duels (Sinaga et al. 2026, §3);
//   - one of the utility of outcomes, several quantities of an experiment, for
//     campaigns that seek what an expert prefers (Lin et al. 2022);
//   - none, for rules on a finite set of candidates, which fit their own (Kayal
//     et al. 2025), and for beliefs, which package belief keeps.
package preference

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/projections"
	"github.com/campaignd/campaignd/projections/space"
)

// Expert is the state of one expert's preferences. What is here is recorded in
// snapshots; models are caches and are not.
type Expert struct {
	Name string `json:"name"`
	// Comparisons in the order of their questions.
	Comparisons []projections.Comparison `json:"comparisons,omitempty"`
	// Compared are their choices between outcomes, in the order of the questions.
	Compared []Compared `json:"compared,omitempty"`
	// Declared are the anchors the expert has named since the campaign was
	// defined.
	Declared []definition.Point `json:"declared,omitempty"`
	// Revision counts the changes of Comparisons, Compared and anchors.
	Revision int `json:"revision"`
	// FitRevision is the Revision the fit, or the failed fit, has seen; −1
	// before the first.
	FitRevision int                   `json:"fit_revision"`
	Fit         *events.PreferenceFit `json:"fit,omitempty"`
}

// state is all that a snapshot holds: what follows from it is built anew.
type state struct {
	Definition *definition.Campaign `json:"definition,omitempty"`
	Experts    []Expert             `json:"experts,omitempty"`
	// Standard is how outcomes are standardized, since they were first compared.
	Standard []events.OutcomeScale `json:"standard,omitempty"`
}

// Projection folds comparisons, anchors and fits.
type Projection struct {
	state state
	space *space.Space // follows from state.Definition
	needs Needs        // of the campaign's policy
	cache map[string]*Model
}

// Needs is which model of comparisons a policy reads.
type Needs struct {
	// Form is one of the Preference constants of package events, or "" for
	// none.
	Form string
	// Spread is the variance of an expert's score that the choice form uses: one of the Spread
	// constants. Empty is "expected".
	Spread string
}

// What the variance of an expert's score counts.
const (
	SpreadExpected  = "expected"
	SpreadEpistemic = "epistemic"
)

// New returns the projection of a campaign without events.
func New() *Projection { return &Projection{cache: make(map[string]*Model)} }

// Configure sets the model that the campaign's policy reads. It is called with each new definition,
// and is not part of the state. A model of another form must not be taken from the cache.
func (p *Projection) Configure(needs Needs) {
	p.needs = needs
	clear(p.cache)
}

// Name implements projections.Projection.
func (p *Projection) Name() string { return "preference" }

// Snapshot implements projections.Projection.
func (p *Projection) Snapshot() ([]byte, error) { return json.Marshal(&p.state) }

// Restore implements projections.Projection. The needs of the policy stay: they are not part of the
// state.
func (p *Projection) Restore(snapshot []byte) error {
	needs := p.needs
	*p = *New()
	p.needs = needs
	if err := json.Unmarshal(snapshot, &p.state); err != nil {
		return fmt.Errorf("restore preference: %w", err)
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
	own.state.Standard = p.state.Standard
	own.state.Experts = slices.Clone(p.state.Experts)
	for i := range own.state.Experts {
		x := &own.state.Experts[i]
		x.Comparisons, x.Compared = slices.Clone(x.Comparisons), slices.Clone(x.Compared)
		x.Declared = slices.Clip(x.Declared) // so that appending copies
	}
	return own
}

// Experts of the definition come first and in its order, so that the state does
// not depend on who answers first.
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
		// The cube and the kind of model may have changed: begin anew.
		for i := range p.state.Experts {
			p.state.Experts[i].Fit, p.state.Experts[i].FitRevision = nil, -1
		}
		return p.define(&d.Definition)
	case *events.QuestionAsked:
		if d.Form == events.FormOutcomes {
			p.standardize(d.Standard)
		}
	case *events.QuestionAnswered:
		p.answer(d.Expert, d.Question, d.Form, d.Options, d.Answer)
		if d.Form == events.FormOutcomes {
			p.compare(d.Expert, d.Question, d.Outcomes, d.Answer)
		}
	case *events.QuestionSuperseded:
		p.answer(d.Expert, d.Question, d.Form, d.Options, d.Answer)
		if d.Form == events.FormOutcomes {
			p.compare(d.Expert, d.Question, d.Outcomes, d.Answer)
		}
	case *events.AnchorsDeclared:
		x := p.expert(d.Expert)
		if d.Instead {
			x.Declared = nil
		}
		x.Declared = append(x.Declared, d.Points...)
		x.Revision++
		delete(p.cache, d.Expert)
	case *events.ModelFitted:
		if d.Model == events.ModelPreference {
			x := p.expert(d.Expert)
			x.Fit, x.FitRevision = d.Preference, x.Revision
			delete(p.cache, d.Expert)
		}
	case *events.ModelFitFailed:
		if d.Model == events.ModelPreference {
			x := p.expert(d.Expert)
			x.FitRevision = x.Revision
		}
	}
	return nil
}

// answer takes an answer to a comparison into account, in place of an earlier
// one to the same question. No other form says anything about preferences. An
// answer that changes nothing counts as no change, so that it calls for no fit.
func (p *Projection) answer(
	expert, question string, form events.Form, options []definition.Point, a events.Answer,
) {
	if form != events.FormComparison {
		return
	}
	x, changes := p.expert(expert), 0
	c := projections.Comparison{Question: question, Options: options, Order: a.Order}
	x.Comparisons, changes = projections.Compare(x.Comparisons, c)
	x.Revision += changes
	delete(p.cache, expert)
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

// anchors are all that the expert has named, those of the definition first. The
// definition's are cloned, since appending must not write into them.
func (p *Projection) anchors(x *Expert) []definition.Point {
	for _, e := range p.state.Definition.Experts {
		if e.Name == x.Name {
			return append(slices.Clone(e.Anchors), x.Declared...)
		}
	}
	return x.Declared
}

// choiceRefitEvery is the number of comparisons up to which each new one calls
// for a fit of the choice form; with n comparisons ⌈n/choiceRefitEvery⌉ new
// ones do. A fit takes longer with each comparison and changes less by it.
const choiceRefitEvery = 20

// Fitted reports whether there is a fit of the expert's answers. A fit that is
// out of date counts.
func (p *Projection) Fitted(expert string) bool {
	x := p.find(expert)
	return x != nil && x.Fit != nil
}

// Stale reports whether the expert's model is to be fitted: it never was, or
// enough comparisons have come since. A fit that failed counts as seen, or it
// would be tried again at each step with the same result.
func (p *Projection) Stale(expert string) bool {
	x := p.find(expert)
	form := p.needs.Form
	if x != nil && form == events.PreferenceOutcomes {
		return x.Revision != x.FitRevision && x.staleOutcomes()
	}
	if x == nil || form == "" || len(x.Comparisons) == 0 || x.Revision == x.FitRevision {
		return false
	}
	if x.FitRevision < 0 {
		return true
	}
	changes := x.Revision - x.FitRevision
	if form == events.PreferenceUtility {
		return changes >= *p.state.Definition.Model.Utility.RefitEvery
	}
	return changes*choiceRefitEvery >= len(x.Comparisons)
}

// Fits tells apart which answers the models of all experts were fitted to.
func (p *Projection) Fits() (fits int) {
	for _, x := range p.state.Experts {
		fits += x.FitRevision
	}
	return fits
}

// Revision counts the changes of the expert's comparisons and anchors.
func (p *Projection) Revision(expert string) int {
	if x := p.find(expert); x != nil {
		return x.Revision
	}
	return 0
}

var _ projections.Projection = (*Projection)(nil)
