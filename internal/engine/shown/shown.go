// Package shown is a campaign as its programs see it: methods and experts that are programs of the
// user's. It is a function of the folded events, so that an audit can make it again and check that
// a program saw the state of the log. Its JSON is described by the schema "view" (package schemas)
// and in docs/process-method.md.
package shown

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/projections/campaign"
)

// Format is the version of the form of a [View]. It increases with every change of the form: an
// audit remakes only views of its own format.
const Format = 1

// View is a campaign as a program sees it. Lists of what happened are in the
// order in which it was asked for.
type View struct {
	// Format is the version of this form: 1.
	Format   int    `json:"format"`
	Campaign string `json:"campaign"`
	// Parameters in the order of the campaign file, and what compositions keep.
	Parameters  []definition.Parameter  `json:"parameters"`
	Constraints []definition.Constraint `json:"constraints,omitempty"`
	// Steps are the resolutions that numbers are dosed in, by parameter: a
	// proposal is taken to the nearest multiple.
	Steps map[string]float64 `json:"steps,omitempty"`
	// Candidates are the only compositions that may be measured, where there is
	// such a list.
	Candidates []definition.Point `json:"candidates,omitempty"`
	// Excluded are regions in which nothing may be proposed.
	Excluded []definition.Region `json:"excluded,omitempty"`
	// Objective is the objective, Quantities the declared results of an experiment, if the campaign
	// declares them, and ConstraintsOnOutcomes the bounds they must keep.
	Objective             definition.Objective           `json:"objective"`
	Quantities            []definition.QuantityDef       `json:"quantities,omitempty"`
	ConstraintsOnOutcomes []definition.OutcomeConstraint `json:"constraints_on_outcomes,omitempty"`
	// Fidelity is by which parameter an experiment becomes cheaper and tells less.
	Fidelity definition.Fidelity `json:"fidelity,omitzero"`
	// Experiments are those that have ended, whatever came of them; UnderWay those
	// whose result is awaited.
	Experiments []Experiment `json:"experiments"`
	UnderWay    []Experiment `json:"under_way"`
	// Answers are what experts were asked and have said.
	Answers []Answer `json:"answers,omitempty"`
	Budget  Budget   `json:"budget"`
}

// Experiment is an experiment of a [View].
type Experiment struct {
	ID string `json:"id"`
	// Status is "measured", "failed", "infeasible" (it cannot be made), "cancelled",
	// "deferred", or how far it has come: "requested", "dispatched", "started",
	// "unresolved" (its fate is unknown).
	Status campaign.ExperimentStatus `json:"status"`
	// Origin is "initial", "policy", "person" or "import".
	Origin events.Origin `json:"origin"`
	// Parameters is the composition that was asked for; Made what was really
	// made, where it was measured.
	Parameters definition.Point `json:"parameters"`
	Made       definition.Point `json:"made,omitempty"`
	// Value is the value of the objective, in its unit, if the result counts: absent without a
	// value, and if a person has left it out.
	Value *float64 `json:"value,omitempty"`
	// Quantities are all that was measured, Without those of them that a person has
	// left out; Excluded is set where they have left out the whole experiment.
	Quantities []definition.Quantity `json:"quantities,omitempty"`
	Without    []string              `json:"without,omitempty"`
	Excluded   bool                  `json:"excluded,omitempty"`
	// InDoubt is set where the measurement contradicts what was expected, and that
	// is not settled.
	InDoubt bool `json:"in_doubt,omitempty"`
	// Replicate counts runs of the same composition, from 1.
	Replicate int `json:"replicate"`
	// Cause is the reason for a missing result.
	Cause string `json:"cause,omitempty"`
}

// Answer is an expert's answer.
type Answer struct {
	Question string      `json:"question"`
	Expert   string      `json:"expert"`
	Form     events.Form `json:"form"`
	// Options are the compositions that they were asked about, and Outcomes the
	// outcomes, where those were compared.
	Options  []definition.Point `json:"options,omitempty"`
	Outcomes []events.Outcome   `json:"outcomes,omitempty"`
	// Scale says what the numbers of an estimate mean.
	Scale *events.Scale `json:"scale,omitempty"`
	// Answer is empty where they could not tell.
	Answer  events.Answer `json:"answer"`
	Comment string        `json:"comment,omitempty"`
}

// Budget is the rest of a campaign's budget.
type Budget struct {
	// Experiments may be run in all; Left are those that may still be asked for.
	Experiments int `json:"experiments,omitempty"`
	Left        int `json:"left"`
	// Cost may be spent, in CostUnit, and CostSpent is.
	Cost      float64 `json:"cost,omitempty"`
	CostSpent float64 `json:"cost_spent,omitempty"`
	CostUnit  string  `json:"cost_unit,omitempty"`
}

// Of returns the view of a campaign for programs.
func Of(s *campaign.State) View {
	def := s.Bounded()
	v := View{
		Format: Format, Campaign: s.Name,
		Parameters: def.Parameters, Constraints: def.Constraints, Steps: def.Steps(),
		Candidates: def.Candidates, Excluded: def.Excluded,
		Objective: def.Sought(), Quantities: def.Quantities, ConstraintsOnOutcomes: def.ConstraintsOnOutcomes,
		Fidelity:    def.Fidelity,
		Experiments: []Experiment{}, UnderWay: []Experiment{},
		Budget: Budget{Experiments: def.Budget.Experiments, Left: s.Left()},
	}
	if c := s.Cost(); c != nil {
		v.Budget.Cost = c.Budget
		v.Budget.CostSpent = c.Spent
		v.Budget.CostUnit = c.Unit
	}
	for i := range s.Experiments {
		x := &s.Experiments[i]
		switch {
		case x.Reference(): // it says nothing of the composition
		case x.Status.Open():
			v.UnderWay = append(v.UnderWay, experiment(s, x))
		default:
			v.Experiments = append(v.Experiments, experiment(s, x))
		}
	}
	for i := range s.Questions {
		if q := &s.Questions[i]; q.Status == campaign.Answered {
			v.Answers = append(v.Answers, Answer{
				Question: q.ID, Expert: q.Expert, Form: q.Form, Options: q.Points(), Outcomes: q.Outcomes(),
				Scale: q.Scale, Answer: q.Answer, Comment: q.Comment,
			})
		}
	}
	return v
}

// experiment returns an experiment as programs see it.
func experiment(s *campaign.State, x *campaign.Experiment) Experiment {
	shown := Experiment{
		ID: x.ID, Status: x.Status, Origin: x.Origin, Parameters: x.Parameters, Replicate: x.Replicate,
		Without: x.Without, Excluded: x.Excluded, InDoubt: x.InDoubt(), Cause: x.Cause,
	}
	if x.Measurement != nil {
		shown.Made = x.Measurement.Actual
		shown.Quantities = x.Measurement.All()
	}
	if value, ok := s.Value(x); ok && s.Counts(x) {
		shown.Value = &value.Value
	}
	return shown
}

// Encode returns a view in its form for programs, and the SHA-256 of that in hexadecimal.
func (v View) Encode() (text []byte, digest string, err error) {
	if text, err = json.Marshal(v); err != nil {
		return nil, "", err
	}
	sum := sha256.Sum256(text)
	return text, hex.EncodeToString(sum[:]), nil
}
