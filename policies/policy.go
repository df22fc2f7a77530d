// Package policies is the contract of the decisions in a campaign: which experiment is next,
// how far the expert is trusted, and whether they are asked at all; or, where nothing is
// measured, which compositions an expert compares.
//
// A policy is a pure function of a [View] and a seed: it reads no log, no clock
// and no global randomness, and changes nothing. Its [Decision] carries all
// that is needed to understand it and to make it again: candidates with
// predictions, tests with their numbers, the rule that settled it, and the
// reason in words.
//
//	policy, err := registry.New(def)               // by the definition's rules
//	decision, err := policy.Decide(ctx, view, seed)
//	switch decision.Action {                       // run, ask or stop
//	…
//
// A [Family] of policies is a package and a row of the program's table; policies/unaided is the
// smallest. What families share are functions on values: policies/turn gives the state of a
// turn, policies/step performs a step of any family, policies/next, policies/trust and
// policies/handover hold the formulas, and policies/search finds their minima.
//
// Decisions that are recorded have to be made again bit for bit. So a change of
// a formula, of the order of a sum or of a sentence in a reason is a new
// [Family.Version]; a test compares recorded decisions (`go test ./policies
// -run Recorded`).
package policies

import (
	"context"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/projections/belief"
	"github.com/campaignd/campaignd/projections/campaign"
	"github.com/campaignd/campaignd/projections/feasibility"
	"github.com/campaignd/campaignd/projections/preference"
	"github.com/campaignd/campaignd/projections/quantity"
	"github.com/campaignd/campaignd/projections/space"
)

// Version is the version of all families of this module, because they share most of their code
// for decisions. If one family alone changes it gets a number of its own. The next number is 5:
// programs of 0.1.0 recorded 3 before the numbering began anew. [Earlier] has the versions
// whose decisions can still be made again.
const Version = 4

// Module is the Go module of campaignd's own families.
const Module = "github.com/campaignd/campaignd"

// Policy makes the decisions of one campaign. It may cache computations, to save time; a
// decision never depends on that. Several goroutines may use it at the same time: readers of a
// campaign share it.
type Policy interface {
	// Decide returns the next step. It is deterministic in (view, seed). A
	// cancelled context is an error, never a decision on a shorter search.
	Decide(ctx context.Context, v View, seed uint64) (Decision, error)
	// Needs returns the models that the decisions read.
	Needs() Needs
}

// Needs lists the models that the engine fits and keeps for a policy.
type Needs struct {
	// Objective is set where decisions read the model of the objective. Where
	// they do not, it is fitted only once, for the campaign's result.
	Objective bool
	// Belief describes the model of each expert's belief; nil if no decision reads it.
	Belief *belief.Needs
	// Preference describes the model of each expert's preference; its Form is empty if no
	// decision reads one.
	Preference preference.Needs
	// Compared is the number of compositions that each initial comparison orders; 0: as many as
	// the belief is learned from, else two.
	Compared int
}

// View is a policy's view: the state of the campaign and the models, all of the same event. It
// is read-only.
type View struct {
	Campaign *campaign.State
	Space    *space.Space
	// Models are those of the quantities, that of the objective first: see [View.Objective()].
	Models quantity.Models
	// Feasibility is nil until an experiment has failed; FeasibilityError says why the model is
	// missing in spite of that.
	Feasibility      *feasibility.Model
	FeasibilityError error
	// Version2 is set in the view that decisions of version 2 were made from: they name the
	// composition that most probably keeps the constraints as the closest to them
	// ([seek.MostProbable]), and give a constant objective its model's spread
	// ([seek.Problem.Spreads]).
	Version2 bool
	// Beliefs has one entry for each expert of the definition, in its order; nil before the
	// expert's first fit, and where BeliefErrors says why the model is missing in spite of it.
	Beliefs      []*belief.Model
	BeliefErrors []error
	// Preferences and PreferenceErrors are the same for the models of their
	// comparisons.
	Preferences      []*preference.Model
	PreferenceErrors []error
}

// Objective is the model of the objective, of a trade-off that of the first one: nil before the
// first fit, and where ObjectiveError says why the model is missing in spite of a fit.
func (v View) Objective() *quantity.Model { return v.Models.Objective() }

// ObjectiveError says why the model is missing in spite of a fit.
func (v View) ObjectiveError() error { return v.Models.Failure() }

// Helper is a policy that weighs the evidence from each expert's answers so far.
type Helper interface {
	// Helps returns that, in the order of the experts; nil without a model of
	// the objective. An expert whose answers cannot be weighed is left out.
	Helps(v View) []Help
}

// Informer is a policy in which experts' answers enter the model of the
// objective.
type Informer interface {
	// Informed returns that model; nil without a model of the objective, or
	// where no expert has answered anything.
	Informed(ctx context.Context, v View) (*quantity.Model, error)
}

// Help is the evidence from an expert's answers so far: what people mean by trust in an expert.
// It is not the weight λ with which the expert's belief bends a choice; that falls while the
// expert may accept the choice.
type Help struct {
	Expert string `json:"expert"`
	// Kind is that of the answers where answers are measurements, as in
	// [events.AnswersWeighed], with an entry for each kind; else empty.
	Kind string `json:"kind,omitempty"`
	// Quantity is their subject, if experts estimate single quantities; empty for the objective
	// as a whole.
	Quantity string `json:"quantity,omitempty"`
	// Labels counts the labels that the estimate rests on; without any, Helps
	// is the prior.
	Labels int `json:"labels"`
	// Helps is the probability that the labels agree with the measurements, Misleads that they
	// contradict it. The rest, 1 − Helps − Misleads, is that they are unrelated.
	Helps    float64 `json:"helps"`
	Misleads float64 `json:"misleads"`
	// Worth is how much information one answer holds, relative to one
	// measurement, where answers count as measurements; else 0.
	Worth float64 `json:"worth,omitempty"`
}

// Consulter is a policy that decides on the proposals of a user's program (see
// [events.MethodAnswered]).
type Consulter interface {
	// Consults reports whether the program is to be asked before the next decision is made, and
	// the fault of each of its answers so far, in words. It is asked a bounded number of times,
	// even if all its answers are faulty.
	Consults(s *campaign.State, sp *space.Space) (wanted bool, refused []string)
}

// Preferrer is a policy of campaigns without measurements.
type Preferrer interface {
	// Preferred returns each expert's best composition so far; experts who have said nothing
	// yet are left out.
	Preferred(ctx context.Context, v View) ([]Best, error)
}

// Best is the composition that an expert prefers to all others, as far as is
// known.
type Best struct {
	Expert     string           `json:"expert"`
	Parameters definition.Point `json:"parameters"`
	// Utility is the estimated utility there; its level has no meaning,
	// differences do.
	Utility float64 `json:"utility"`
}
