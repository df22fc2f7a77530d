package events

import (
	"fmt"
	"slices"

	"github.com/campaignd/campaignd/events/definition"
)

// Action is the step that a decision takes.
type Action string

const (
	ActionRun  Action = "run"  // run an experiment
	ActionAsk  Action = "ask"  // ask an expert a question
	ActionStop Action = "stop" // complete the campaign
)

// DecisionMade records a decision and everything needed to make it again: the
// place in the log it was made from, the seed, the policy, the models, the
// candidates it weighed and its reason.
type DecisionMade struct {
	// Decision is the identifier, "d1", "d2", … in order.
	Decision string `json:"decision"`
	// At is the campaign's sequence up to which events were read.
	At     Sequence  `json:"at"`
	Seed   uint64    `json:"seed,string"`
	Policy PolicyRef `json:"policy"`
	Build  Build     `json:"build"`
	// Objective and Belief are the fits the decision used, if any.
	Objective *ObjectiveFit `json:"objective,omitempty"`
	Belief    *BeliefFit    `json:"belief,omitempty"`
	// Preference is the fit of the expert's preferences that it used.
	Preference *PreferenceFit `json:"preference,omitempty"`
	// Candidates are the points that were weighed: those that an expert is to
	// compare in the order in which they are shown, which is left to chance.
	Candidates []Candidate `json:"candidates,omitempty"`
	Action     Action      `json:"action"`
	// Form of the question; empty where no expert is asked.
	Form Form `json:"form,omitempty"`
	// Chosen names the candidate the action is about.
	Chosen string `json:"chosen,omitempty"`
	// Expert is whom a question addresses.
	Expert string `json:"expert,omitempty"`
	// Rule names the rule that settled it, in a word a program can match.
	Rule string `json:"rule"`
	// Reason says it in a sentence for people.
	Reason string `json:"reason"`
	// Tests are the comparisons the rule made, in order.
	Tests []Test `json:"tests,omitempty"`
	// Attributions explain the candidates by their parameters, where the policy
	// shows that to an expert who chooses.
	Attributions *Attributions `json:"attributions,omitempty"`
	// Elimination is how far a rule of elimination has come.
	Elimination *Elimination `json:"elimination,omitempty"`
	// Review looks back at the choice that led to the latest measurement.
	Review *ChoiceReview `json:"review,omitempty"`
	// Lambda is the expert's dual variable λ after the decision, where there is
	// one.
	Lambda *float64 `json:"lambda,omitempty"`
	// Tradeoff describes the front as known to the decision, where several quantities are traded
	// off against each other.
	Tradeoff *Tradeoff `json:"tradeoff,omitempty"`
	// Standard is how outcomes are standardized, where the decision rests on what
	// an expert prefers among them.
	Standard []OutcomeScale `json:"standard,omitempty"`
	// Answers weighs each expert's answers so far, where they enter the model of the objective.
	Answers []AnswersWeighed `json:"answers,omitempty"`
}

// Candidate returns a candidate by its name, nil for none. It points into d.
func (d *DecisionMade) Candidate(name string) *Candidate {
	for i := range d.Candidates {
		if d.Candidates[i].Name == name {
			return &d.Candidates[i]
		}
	}
	return nil
}

// Fault says which of its parts do not go with each other: what reads a decision
// finds candidates by their names, and numbers by their places in lists.
func (d *DecisionMade) Fault() error {
	for i := range d.Candidates {
		if d.Candidates[i].Name == "" {
			return fmt.Errorf("candidate %d has no name", i+1)
		}
	}
	switch {
	case d.Chosen != "" && d.Candidate(d.Chosen) == nil:
		return fmt.Errorf("it is about the candidate %q, which it does not weigh", d.Chosen)
	case d.Action == ActionAsk && !slices.Contains(Forms(), d.Form):
		return fmt.Errorf("it asks in the form %q, which there is not", d.Form)
	case d.Attributions != nil:
		return d.Attributions.fault()
	}
	return nil
}

// AnswersWeighed is the worth of an expert's answers of one kind, learned by comparing them with
// measurements of the objective.
type AnswersWeighed struct {
	Expert string `json:"expert"`
	// Kind is "choices" (labels, orders and pinpoints), "estimates" or "marks".
	Kind string `json:"kind"`
	// Quantity that the answers estimate, where experts estimate single quantities; absent where
	// they estimate the objective.
	Quantity string `json:"quantity,omitempty"`
	// Answers counts them.
	Answers int `json:"answers"`
	// Helps and Misleads are the probabilities that they go with the objective
	// and against it; else they say nothing of it. Those that mislead are
	// turned over.
	Helps    float64 `json:"helps"`
	Misleads float64 `json:"misleads"`
	// Worth is the weight of one answer relative to one measurement: its greatest, where nothing
	// else is known.
	Worth float64 `json:"worth"`
}

// Elimination is how far a rule that eliminates candidates has come (Kayal et
// al. 2025, Alg. 1).
type Elimination struct {
	// Candidates is how many there are, Kept how many may still be the best.
	Candidates int `json:"candidates"`
	Kept       int `json:"kept"`
	// Round counts rounds from 1, 0 for rules that have none; Made and Length
	// count its comparisons.
	Round  int `json:"round"`
	Made   int `json:"made"`
	Length int `json:"length"`
	// Beta is the width of the bounds.
	Beta float64 `json:"beta"`
}

// PolicyRef names a composed policy, the family of methods that it belongs to,
// and the family's version.
type PolicyRef struct {
	Next     string `json:"next"`
	Trust    string `json:"trust"`
	Handover string `json:"handover"`
	// Duel names the rule of a campaign without measurements.
	Duel string `json:"duel,omitempty"`
	// Version is that of the family, raised whenever the same view and seed
	// could lead to another decision.
	Version int `json:"version"`
	// Family is the family's name, Module the path of the Go module that its
	// package belongs to. Decisions of programs that did not record them are of
	// families of campaignd itself.
	Family string `json:"family,omitempty"`
	Module string `json:"module,omitempty"`
	// ModuleVersion is the module's version, where the program knows it.
	// Nothing depends on it.
	ModuleVersion string `json:"module_version,omitempty"`
}

// Candidate is a point a decision weighed. Values of the objective are in the
// campaign's unit and sense.
type Candidate struct {
	// Name is "unaided" (x_u, the optimum of the acquisition alone), "aided"
	// (x_c, with the expert's belief), "design", "named" (by the expert),
	// "sampled" (from what they prefer), "first" and "second" (of a duel), or
	// "other N" in a ranking.
	Name       string           `json:"name"`
	Parameters definition.Point `json:"parameters"`
	// Prediction is the objective model's, where there is one.
	Prediction *Prediction `json:"prediction,omitempty"`
	// Optimistic and Pessimistic are the confidence bounds of the objective at
	// the point: for a minimized objective lower and upper, for a maximized one
	// upper and lower.
	Optimistic  *float64 `json:"optimistic,omitempty"`
	Pessimistic *float64 `json:"pessimistic,omitempty"`
	// Acquisition is the value the search optimized, in standardized units;
	// smaller is better.
	Acquisition *float64 `json:"acquisition,omitempty"`
	// Outcomes are the predictions of the quantities that the decision depends on, where there are
	// several, and Value is that of an objective computed from them.
	Outcomes []QuantityPrediction `json:"outcomes,omitempty"`
	Value    *Prediction          `json:"value,omitempty"`
	// Feasible is how probably it keeps the constraints on outcomes.
	Feasible *Feasible `json:"feasible,omitempty"`
	// Cost is the expected cost of the experiment, where the campaign defines a cost and the
	// decision weighs it.
	Cost *Prediction `json:"cost,omitempty"`
	// Fidelity is in which way the composition is measured, and why; absent where there
	// is one way.
	Fidelity *FidelityChoice `json:"fidelity,omitempty"`
	// Informed is the prediction of the objective's model with experts' answers counted as
	// measurements.
	Informed *Prediction `json:"informed,omitempty"`
	// InformedOutcomes and InformedFeasible are what Outcomes and Feasible are then,
	// where experts estimate single quantities.
	InformedOutcomes []QuantityPrediction `json:"informed_outcomes,omitempty"`
	InformedFeasible *Feasible            `json:"informed_feasible,omitempty"`
	// Belief bounds the expert's rejection score at the point, in logits.
	Belief *Interval `json:"belief,omitempty"`
	// Score by the model of the expert's preferences: the probability of being preferred to a
	// random composition (the soft-Copeland score), or the utility.
	Score *Score `json:"score,omitempty"`
	// Outcome as shown to an expert who compares outcomes.
	Outcome *Outcome `json:"outcome,omitempty"`
}

// FidelityChoice is the choice between ways to measure a composition that was chosen for its
// prediction at the target.
type FidelityChoice struct {
	// Rule is one of the Fidelity… constants.
	Rule string `json:"rule"`
	// Target is the prediction for the composition at the target.
	Target Prediction `json:"target"`
	// Ways are the ways that were weighed, the target last. The one with the greatest
	// information for its cost is taken, unless another rule decides.
	Ways []FidelityWay `json:"ways"`
}

// Rules by which a way to measure is chosen.
const (
	FidelityInformation = "information" // it tells most of the target for its cost
	FidelityDue         = "due"         // the target, since the last ones were all cheaper
	FidelityLast        = "last"        // the target, since the budget has no room for another one after it
)

// FidelityWay is a way to measure a composition.
type FidelityWay struct {
	// Value is that of the parameter.
	Value definition.Value `json:"value"`
	// Cost is the expected cost of an experiment, in the unit of the campaign's cost.
	Cost float64 `json:"cost"`
	// Information is how much it is expected to tell of the value at the target, in
	// nats.
	Information float64 `json:"information"`
}

// QuantityPrediction is the prediction of one of several quantities.
type QuantityPrediction struct {
	Quantity string `json:"quantity"`
	Prediction
}

// Feasible is how probably a composition keeps the constraints on outcomes that
// can be judged, all together and each.
type Feasible struct {
	Probability float64          `json:"probability"`
	Constraints []ConstraintKept `json:"constraints,omitempty"`
}

// ConstraintKept is how probably a composition keeps a constraint.
type ConstraintKept struct {
	Require     string  `json:"require"`
	Probability float64 `json:"probability"`
}

// Tradeoff describes the known front of a trade-off. Values are in the order of the definition's
// objectives, in the units of their models: the logarithm where a quantity has that scale.
type Tradeoff struct {
	// Reference are the worst values of interest, in the units of the quantities.
	Reference []float64 `json:"reference"`
	// Front are the experiments whose posterior means are on the front, beyond the
	// reference.
	Front []string `json:"front,omitempty"`
	// Hypervolume that the front dominates, up to the reference; in logarithms for the quantities
	// that are modelled by theirs.
	Hypervolume float64 `json:"hypervolume"`
	// Members is how many possible fronts the improvement is averaged over.
	Members int `json:"members"`
	// Gain is by what share of the hypervolume the candidate is expected to
	// increase it; absent where nothing is covered yet.
	Gain *float64 `json:"gain,omitempty"`
}

// Score is a quantity of a preference model at a point.
type Score struct {
	Mean float64 `json:"mean"`
	SD   float64 `json:"sd"`
}

// Test is one comparison that a rule made: Left Relation Right.
type Test struct {
	// Name says what was compared, for example "no harm: optimistic bound".
	Name     string  `json:"name"`
	Left     float64 `json:"left"`
	Relation string  `json:"relation"` // "<", "<=", ">" or ">="
	Right    float64 `json:"right"`
	Holds    bool    `json:"holds"`
}

// TrustAdjusted says how far the expert is trusted from here on.
type TrustAdjusted struct {
	Expert   string `json:"expert"`
	Decision string `json:"decision"`
	// From and To are the dual variable λ (Xu et al. 2024, Alg. 1).
	From float64 `json:"from"`
	To   float64 `json:"to"`
	// Violation is the lower belief bound at the aided candidate, which moved
	// it.
	Violation float64 `json:"violation"`
}

func (p DecisionMade) Subject() string  { return p.Decision }
func (p TrustAdjusted) Subject() string { return p.Decision }
