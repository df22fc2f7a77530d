package direct

import (
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/policies"
	"github.com/campaignd/campaignd/projections/belief"
)

// Names of the rules in a campaign file.
const (
	PriorName  = "prior"
	ManualName = "manual"
)

// Prior samples compositions from the expert's prior, the soft-Copeland score
// of the initial comparisons (prior sampling, Adachi et al. 2024, Table 1).
type Prior struct{}

// Choice returns the choice of this rule.
func (s Prior) Choice() definition.Choice { return definition.NewChoice(PriorName, s) }

// Complete implements definition.Settings.
func (*Prior) Complete(def *definition.Campaign) {
	if len(def.Experts) > 0 {
		definition.DefaultTo(&def.Initial.Comparisons, belief.InitialComparisons(def))
	}
}

// Check implements definition.Settings.
func (*Prior) Check(def *definition.Campaign, _ definition.Path) []definition.Fault {
	return withoutExperts(def)
}

// Words implements definition.Settings.
func (*Prior) Words(*definition.Campaign) string {
	return "a sample of the expert's prior, without a model of the objective"
}

// PartWords implements policies.PartSettings.
func (*Prior) PartWords(part policies.Part) string {
	if part == policies.Trust {
		return "all in the experts' initial comparisons, which are the prior"
	}
	return "no one is asked after the initial comparisons"
}

// Manual asks an expert for each composition (manual search).
type Manual struct{}

// Choice returns the choice of this rule.
func (s Manual) Choice() definition.Choice { return definition.NewChoice(ManualName, s) }

// Complete implements definition.Settings.
func (*Manual) Complete(*definition.Campaign) {}

// Check implements definition.Settings.
func (*Manual) Check(def *definition.Campaign, _ definition.Path) []definition.Fault {
	return withoutExperts(def)
}

// Words implements definition.Settings.
func (*Manual) Words(*definition.Campaign) string { return "the composition that an expert names" }

// PartWords implements policies.PartSettings.
func (*Manual) PartWords(part policies.Part) string {
	if part == policies.Trust {
		return "all in the experts: what they name is measured, and checked against the space alone"
	}
	return "an expert is asked for each composition; without an answer one is taken at random"
}

// withoutExperts is the fault of a campaign that has no experts.
func withoutExperts(def *definition.Campaign) []definition.Fault {
	if len(def.Experts) > 0 {
		return nil
	}
	return []definition.Fault{{At: definition.At("policy", "next"),
		Problem: "there is no expert to take compositions from", Remedy: "add experts"}}
}
