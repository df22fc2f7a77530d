// Package policies makes the decisions of a campaign: which experiment is next
// (policies/next), how far the expert is trusted (policies/trust), and whether
// they are asked at all (policies/handover); or, where nothing is measured, which
// compositions an expert compares (policies/duel).
//
// A policy is a pure function of a [View] and a seed: it reads no log, no clock
// and no global randomness, and changes nothing. The decision carries
// everything that is needed to understand it and to make it again.
package policies

import (
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/space"
	"github.com/campaignd/campaignd/policies/duel"
	"github.com/campaignd/campaignd/policies/handover"
	"github.com/campaignd/campaignd/policies/next"
	"github.com/campaignd/campaignd/policies/trust"
	"github.com/campaignd/campaignd/projections/belief"
	"github.com/campaignd/campaignd/projections/campaign"
	"github.com/campaignd/campaignd/projections/feasibility"
	"github.com/campaignd/campaignd/projections/objective"
	"github.com/campaignd/campaignd/projections/preference"
)

// Version is raised whenever the same view and seed could lead to another
// decision than before. Oldest is the earliest version whose decisions can still
// be made again (see [At]); each constant between says what is so from then on.
const (
	Version = 3
	Oldest  = 2

	// A choice is explained by Shapley values that add up to what the model says;
	// questions that the campaign withdrew count against no budget; a pair at
	// random says why, and the end of a budget how many have answered.
	sinceThree = 3
)

// View is what a policy may see. It is read-only.
type View struct {
	Campaign *campaign.State
	Space    *space.Space
	// Objective is nil before the first fit, and where ObjectiveError says why
	// there is no model in spite of a fit.
	Objective      *objective.Model
	ObjectiveError error
	// Feasibility is nil until an experiment has failed; FeasibilityError says
	// why there is no model in spite of that.
	Feasibility      *feasibility.Model
	FeasibilityError error
	// Beliefs has one entry for each expert of the definition, in its order;
	// nil before the expert's first fit, and where BeliefErrors says why there is
	// no model in spite of it.
	Beliefs      []*belief.Model
	BeliefErrors []error
	// Preferences and PreferenceErrors are the same for the models of their
	// comparisons.
	Preferences      []*preference.Model
	PreferenceErrors []error
}

// Decision is what a policy decided: a record of it without identifier, place
// and build, which the engine adds, and how the trust in the expert moved.
type Decision struct {
	events.DecisionMade
	// Trust is nil where the expert's trust does not move.
	Trust *events.TrustAdjusted
	// Explanation is what an expert who is asked is shown.
	Explanation string
	// Completed is set where Action is "stop".
	Completed *events.CampaignCompleted
}

// Candidate returns the chosen candidate, nil where there is none.
func (d *Decision) Candidate() *events.Candidate {
	for i := range d.Candidates {
		if d.Candidates[i].Name == d.Chosen {
			return &d.Candidates[i]
		}
	}
	return nil
}

// ask makes it a decision to put a question to an expert.
func (d *Decision) ask(form events.Form, expert, rule string) {
	d.Action, d.Form, d.Expert, d.Rule = events.ActionAsk, form, expert, rule
}

// Policy composes the choices a definition names. It remembers what duels have
// computed, which decides nothing; one goroutine uses it at a time.
type Policy struct {
	def      definition.Campaign
	version  int
	next     next.Rule // nil for rules without a model
	trust    *trust.COBOL
	prior    trust.Prior // of rules that read preferences
	handover *handover.Width
	choose   *handover.Choose
	duels    *duel.Rule // of campaigns without measurements
}

// New returns the policy of a complete definition.
func New(def definition.Campaign) *Policy { return At(def, Version) }

// At returns the policy as a version of it decided, from Oldest to Version: what
// was decided stays what it was, and can be made again.
func At(def definition.Campaign, version int) *Policy {
	if !def.Measures() {
		return &Policy{def: def, version: version, duels: duel.New(def)}
	}
	return &Policy{
		def: def, version: version, next: next.New(def.Policy.Next),
		trust: trust.New(def.Policy.Trust), prior: trust.NewPrior(def.Policy.Trust),
		handover: handover.New(def.Policy.Handover), choose: handover.NewChoose(def.Policy.Handover),
	}
}

// UsesModel reports whether decisions read the objective model. Where they do
// not, it is fitted only once, for the campaign's result.
func (p *Policy) UsesModel() bool {
	return p.next != nil || p.def.Stop.Target != nil || p.choose != nil && p.choose.Gate
}

// UsesBeliefs reports whether the policy reads the experts' beliefs.
func (p *Policy) UsesBeliefs() bool {
	return p.def.Policy.Trust.Belief() != nil && len(p.def.Experts) > 0
}

// Ref names the policy.
func (p *Policy) Ref() events.PolicyRef {
	if p.duels != nil {
		return events.PolicyRef{Next: "none", Trust: "none", Handover: "never", Duel: p.duels.Name(), Version: p.version}
	}
	ref := events.PolicyRef{Next: next.Name(p.def.Policy.Next), Trust: "none", Handover: "never", Version: p.version}
	switch {
	case p.trust != nil:
		ref.Trust = "cobol"
	case p.def.Policy.Trust.COBOHL != nil:
		ref.Trust = "cobohl"
	case p.def.Policy.Trust.HCEI != nil:
		ref.Trust = "hcei"
	case p.prior != nil:
		ref.Trust = p.prior.Name()
	}
	switch {
	case p.handover != nil:
		ref.Handover = "width"
	case p.choose != nil:
		ref.Handover = "choose"
	}
	return ref
}
