package bope

import (
	"fmt"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/ground/format"
)

// Names of the rules in a campaign file.
const (
	EIUUName     = "eiuu"
	OutcomesName = "outcomes"
)

// EIUU is the expected improvement under utility uncertainty (Lin et al. 2022, §5):
// by how much what a composition gives is expected to be worth more to the expert
// than the best that was measured, neither of which is known.
type EIUU struct{}

// Choice returns the choice of this rule.
func (EIUU) Choice() definition.Choice { return definition.NewChoice(EIUUName, nil) }

// Complete implements definition.Settings.
func (*EIUU) Complete(*definition.Campaign) {}

// Check implements definition.Settings.
func (*EIUU) Check(def *definition.Campaign, here definition.Path) []definition.Fault {
	return unpreferred(def, here)
}

// Words implements definition.Settings.
func (*EIUU) Words(*definition.Campaign) string {
	return "the composition whose outcome is expected to be worth most beyond the best one measured, " +
		"as uncertain as the outcome and what the expert prefers are"
}

// Outcomes asks the expert which of two outcomes they would rather have.
type Outcomes struct {
	// First is how many comparisons are asked in one sitting after the initial
	// experiments. Default 10.
	First *int `json:"first,omitempty" jsonschema:"minimum=0,maximum=100"`
	// Worth is what a later comparison, of which there is at most one before each
	// experiment, must be worth to be asked: so many prior standard deviations of
	// the utility. Default 0.05.
	Worth *float64 `json:"worth,omitempty" jsonschema:"minimum=0"`
}

const (
	defaultFirst = 10
	defaultWorth = 0.05
)

// Choice returns the choice of this rule.
func (s Outcomes) Choice() definition.Choice { return definition.NewChoice(OutcomesName, s) }

// Complete implements definition.Settings.
func (s *Outcomes) Complete(*definition.Campaign) {
	definition.DefaultTo(&s.First, defaultFirst)
	definition.DefaultTo(&s.Worth, defaultWorth)
}

// Check implements definition.Settings.
func (*Outcomes) Check(def *definition.Campaign, here definition.Path) []definition.Fault {
	faults := unpreferred(def, here)
	if def.Policy.Next.Name != EIUUName {
		faults = append(faults, definition.Fault{At: here,
			Problem: def.Policy.Next.Name + " reads no answer to a comparison of outcomes",
			Remedy:  "write next: eiuu, or handover: never"})
	}
	return faults
}

// Words implements definition.Settings.
func (s *Outcomes) Words(*definition.Campaign) string {
	return fmt.Sprintf("the expert compares %d pairs of outcomes in one sitting after the initial experiments, then at most "+
		"one pair before each experiment, where that is worth more than %s prior standard deviations of the utility",
		*s.First, format.Setting(*s.Worth))
}

// unpreferred is the fault of a campaign that seeks something else.
func unpreferred(def *definition.Campaign, here definition.Path) []definition.Fault {
	if def.Preferred() != nil {
		return nil
	}
	return []definition.Fault{{At: here, Problem: "the objective is not what an expert prefers",
		Remedy: "write objective: {preference: {over: […]}}, or policy: lognei"}}
}
