package answers

import (
	"fmt"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/ground/computed"
	"github.com/campaignd/campaignd/internal/ground/format"
	"github.com/campaignd/campaignd/policies"
	"github.com/campaignd/campaignd/policies/next"
)

// Name of the rule, and of the method, in a campaign file.
const Name = "answers"

// Defaults of the settings.
const (
	defaultGuess   = 0.5
	defaultAgainst = 0.1
	defaultOwn     = 5
	// defaultEstimates is the number of compositions that each expert estimates at first, in a
	// campaign that asks for nothing else.
	defaultEstimates = 20
)

// Answers makes measurements of experts' answers: how strongly they depend on
// the objective, and in which direction, is learned for each expert (package
// internal/num/channel).
type Answers struct {
	// Guess is the probability, before an expert has answered anything, that
	// their answers say nothing of the objective. Default 0.5.
	Guess *float64 `json:"guess,omitempty" jsonschema:"minimum=0,maximum=1"`
	// Against is the probability that they go against it. Default 0.1.
	Against *float64 `json:"against,omitempty" jsonschema:"minimum=0,maximum=1"`
	// Own makes every so many-th experiment the model's own, whatever experts
	// say, so that no expert can keep a campaign from what it would find alone.
	// Default 5; 1 never follows the answers, 0 always.
	Own *int `json:"own,omitempty" jsonschema:"minimum=0"`
	// Quantities lets answers about a formula or a desirability move what the models of
	// its quantities say of it, where it is sought by those: an approximation. Absent: a
	// model of its values decides once something was answered. Where experts estimate
	// single quantities it is so without being said.
	Quantities bool `json:"quantities,omitempty"`
	// Options is how many compositions an expert puts in order in each
	// comparison of initial.comparisons. Default 2.
	Options *int `json:"options,omitempty" jsonschema:"minimum=2,maximum=26"`
}

// Choice returns the choice of this rule.
func (s Answers) Choice() definition.Choice { return definition.NewChoice(Name, s) }

// Complete implements definition.Settings. Where a file does not say what
// experts are asked at first, they estimate.
func (s *Answers) Complete(def *definition.Campaign) {
	definition.DefaultTo(&s.Guess, defaultGuess)
	definition.DefaultTo(&s.Against, defaultAgainst)
	definition.DefaultTo(&s.Own, defaultOwn)
	if def.Policy.Handover.IsZero() {
		def.Policy.Handover = definition.NewChoice(policies.Never, nil)
	}
	in := &def.Initial
	if len(def.Experts) > 0 && in.Labels == nil && in.Comparisons == nil && in.Estimates == nil {
		definition.DefaultTo(&in.Estimates, defaultEstimates)
	}
}

// Check implements definition.Settings. All faults are found by CheckNext.
func (*Answers) Check(*definition.Campaign, definition.Path) []definition.Fault { return nil }

// CheckNext implements policies.Dependent.
func (s *Answers) CheckNext(
	def *definition.Campaign, here definition.Path, rule policies.Rule,
) (faults []definition.Fault) {
	if next.Draws(rule.Searched()) {
		faults = append(faults, definition.Fault{At: definition.At("policy", "next"),
			Problem: "answers cannot enter a draw of the model of measurements",
			Remedy:  "write next: lognei, logei or lcb"})
	}
	if h := def.Policy.Handover; h.Name != policies.Never && h.Name != WorthName {
		faults = append(faults, definition.Fault{At: definition.At("policy", "handover"),
			Problem: "answers are measurements, and " + h.Name + " asks for something else",
			Remedy:  "write handover: worth, or handover: never"})
	}
	if s.Quantities && !computed.ByModels(def) {
		faults = append(faults, definition.Fault{At: here.To("quantities"),
			Problem: "nothing is sought that is computed of a few quantities",
			Remedy:  "leave it out, or seek a formula or a desirability"})
	}
	if s.Guess != nil && s.Against != nil && *s.Guess+*s.Against > 1 {
		faults = append(faults, definition.Fault{At: here.To("against"),
			Problem: fmt.Sprintf(
				"guess and against are probabilities, and add up to %s",
				format.Setting(*s.Guess+*s.Against),
			),
			Remedy: "write two that add up to 1 at most"})
	}
	return faults
}

// Words implements definition.Settings.
func (s *Answers) Words(*definition.Campaign) string {
	text := "every answer of an expert is a measurement, whose worth and direction are learned"
	switch {
	case s.Own == nil || *s.Own == 0:
	case *s.Own == 1:
		text += "; no experiment follows them"
	default:
		text += fmt.Sprintf("; one experiment in %d is the model's own", *s.Own)
	}
	return text
}

// PartWords implements policies.PartSettings.
func (s *Answers) PartWords(part policies.Part) string {
	if part == policies.Handover {
		return "experts answer before the first experiment, and as often as they like"
	}
	return ""
}
