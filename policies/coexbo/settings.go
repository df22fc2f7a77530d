package coexbo

import (
	"fmt"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/ground/format"
	"github.com/campaignd/campaignd/policies"
	"github.com/campaignd/campaignd/policies/next"
	"github.com/campaignd/campaignd/projections/belief"
	"github.com/campaignd/campaignd/projections/preference"
)

// Names of the rules in a campaign file.
const (
	Name       = "coexbo"
	PiBOName   = "pibo"
	ChooseName = "choose"
)

// Defaults of the settings.
const (
	// That of Adachi et al. 2024.
	defaultCoExBOGamma = 0.01
	defaultPiBOGamma   = 10
)

// CoExBO offers the expert the optimum of the confidence bound and that of
// its product with the expert's prior, whose weight decays with what is known
// of the objective (Adachi et al. 2024, Eq. 3–8).
type CoExBO struct {
	// Gamma is γ of the decay γt²σ². Default 0.01.
	Gamma *float64 `json:"gamma,omitempty" jsonschema:"exclusiveMinimum=0"`
	// Spread is what the variance of the expert's score counts: "expected", the
	// expected variance of one choice (Adachi et al. 2024, Eq. 91; default), or
	// "epistemic", what more comparisons could still tell, with which the prior
	// weighs more.
	Spread string `json:"spread,omitempty" jsonschema:"enum=expected,enum=epistemic"`
	// Fantasize searches for the expert's candidate as if the unaided one had
	// been measured as predicted, so that the two differ. Default false.
	Fantasize bool `json:"fantasy,omitempty"`
}

// Choice returns the choice of this rule.
func (s CoExBO) Choice() definition.Choice { return definition.NewChoice(Name, s) }

// Complete implements definition.Settings.
func (s *CoExBO) Complete(def *definition.Campaign) {
	definition.DefaultTo(&s.Gamma, defaultCoExBOGamma)
	definition.Default(&s.Spread, preference.SpreadExpected)
	grow(def)
	if def.Policy.Handover.IsZero() && len(def.Experts) > 0 {
		def.Policy.Handover = Choose{}.Choice()
	}
}

// Check implements definition.Settings.
func (*CoExBO) Check(*definition.Campaign, definition.Path) []definition.Fault { return nil }

// Words implements definition.Settings.
func (s *CoExBO) Words(*definition.Campaign) string {
	return fmt.Sprintf(
		"the expert's prior bends a second candidate, less and less as the objective is known (coexbo, γ = %s)",
		format.Optional(s.Gamma),
	)
}

// PiBO multiplies the acquisition with the expert's prior to the power γ/t
// (Hvarfner et al. 2022; Adachi et al. 2024, Eq. 10).
type PiBO struct {
	// Gamma is γ. Default 10.
	Gamma *float64 `json:"gamma,omitempty" jsonschema:"exclusiveMinimum=0"`
}

// Choice returns the choice of this rule.
func (s PiBO) Choice() definition.Choice { return definition.NewChoice(PiBOName, s) }

// Complete implements definition.Settings.
func (s *PiBO) Complete(def *definition.Campaign) {
	definition.DefaultTo(&s.Gamma, defaultPiBOGamma)
	grow(def)
}

// Check implements definition.Settings.
func (*PiBO) Check(*definition.Campaign, definition.Path) []definition.Fault { return nil }

// Words implements definition.Settings.
func (s *PiBO) Words(*definition.Campaign) string {
	return fmt.Sprintf(
		"the expert's prior to the power γ/t multiplies the acquisition (pibo, γ = %s)",
		format.Optional(s.Gamma),
	)
}

// PartWords implements policies.PartSettings.
func (*PiBO) PartWords(policies.Part) string { return "no one is asked after the initial comparisons" }

// grow chooses the confidence bound whose width grows as in Adachi et al. 2024,
// and initial comparisons, where a file does not say otherwise. A width that a
// file gives stays.
func grow(def *definition.Campaign) {
	lcb, bound := next.LCBOf(def.Policy)
	if def.Policy.Next.IsZero() || bound && lcb.Beta == nil && lcb.BetaRule == "" {
		def.Policy.Next = next.LCB{BetaRule: next.BetaGrowing}.Choice()
	}
	if len(def.Experts) > 0 {
		definition.DefaultTo(&def.Initial.Comparisons, belief.InitialComparisons(def))
	}
}

// Choose puts two candidates to the expert, who picks the one that is measured
// (Adachi et al. 2024, Alg. 1). Without a rule of trust the second candidate is
// the next best of the same acquisition (batch UCB, batch Thompson).
type Choose struct {
	// Explain shows the expert what the models base their view on: Shapley
	// values and the plane of the two strongest parameters. Default true.
	Explain *bool `json:"explain,omitempty"`
	// Gate asks only while the expert's choices agree with what is measured.
	// Default true.
	Gate *bool `json:"gate,omitempty"`
}

// Choice returns the choice of this rule.
func (s Choose) Choice() definition.Choice { return definition.NewChoice(ChooseName, s) }

// ChooseOf returns the settings of the rule where a policy has it.
func ChooseOf(p definition.Policy) (Choose, bool) {
	return definition.SettingsIf[Choose](p.Handover, ChooseName)
}

// Complete implements definition.Settings.
func (s *Choose) Complete(*definition.Campaign) {
	definition.DefaultTo(&s.Explain, true)
	definition.DefaultTo(&s.Gate, true)
}

// Check implements definition.Settings. All faults are found by CheckNext.
func (*Choose) Check(*definition.Campaign, definition.Path) []definition.Fault { return nil }

// CheckNext implements policies.Dependent. Both faults are of the handover, since
// trust and next make sense by themselves.
func (*Choose) CheckNext(
	def *definition.Campaign, _ definition.Path, rule policies.Rule,
) []definition.Fault {
	var faults []definition.Fault
	report := func(problem, remedy string) {
		faults = append(
			faults,
			definition.Fault{At: definition.At("policy", "handover"), Problem: problem, Remedy: remedy},
		)
	}
	p := def.Policy
	if len(def.Experts) == 0 && p.Trust.Name == policies.None { // else the rule of trust says it
		report(
			"choose puts two candidates to an expert, and there is none",
			"add experts, or choose a policy without experts, such as lognei or lcb",
		)
	}
	if rule.Searched() == nil && p.Next.Name != next.RandomName {
		report("choose needs a rule that gives two candidates", "write next: lcb, thompson or random")
	}
	return faults
}

// Words implements definition.Settings.
func (s *Choose) Words(*definition.Campaign) string {
	text := "an expert chooses between two candidates"
	if s.Explain != nil && *s.Explain {
		text += ", with explanations"
	}
	if s.Gate != nil && *s.Gate {
		text += ", while their choices agree with what is measured"
	}
	return text
}
