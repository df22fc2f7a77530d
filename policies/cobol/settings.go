package cobol

import (
	"fmt"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/ground/format"
	"github.com/campaignd/campaignd/policies"
	"github.com/campaignd/campaignd/policies/next"
	"github.com/campaignd/campaignd/projections/belief"
)

// Names of the rules in a campaign file. They stand in recorded definitions and
// never change.
const (
	Name       = "cobol"
	COBOHLName = "cobohl"
	HCEIName   = "hcei"
	WidthName  = "width"
)

// Defaults of the settings; η is that of Xu et al. 2024, Table 3.
const (
	defaultLambda0          = 1
	defaultZeta             = 0.02
	defaultEta              = 3
	defaultThreshold        = 0.1
	defaultMaxPerExperiment = 10
)

// COBOL adds the dual-weighted lower belief bound to the acquisition and
// accepts the result only if it cannot do harm (Xu et al. 2024, Alg. 1).
type COBOL struct {
	// Paper applies the rules as printed: the norm bound of the belief doubles
	// without limit and its confidence with it, and every wide belief is asked
	// about. Default false: our variant, see docs/results.md.
	Paper bool `json:"paper,omitempty"`
	// Lambda0 is the dual variable λ at first. Default 1.
	Lambda0 *float64 `json:"lambda0,omitempty" jsonschema:"minimum=0"`
	// Zeta is the step ζ of the dual variable. Default 0.02.
	Zeta *float64 `json:"zeta,omitempty" jsonschema:"minimum=0"`
	// Eta is η: the aided candidate is turned down where the model is more than
	// η times as sure of it as of the unaided one. Default 3.
	Eta *float64 `json:"eta,omitempty" jsonschema:"minimum=0"`
	belief.Settings
}

// Choice returns the choice of this rule.
func (s COBOL) Choice() definition.Choice { return definition.NewChoice(Name, s) }

// Complete implements definition.Settings.
func (s *COBOL) Complete(def *definition.Campaign) {
	definition.DefaultTo(&s.Lambda0, defaultLambda0)
	definition.DefaultTo(&s.Zeta, defaultZeta)
	definition.DefaultTo(&s.Eta, defaultEta)
	bound(def)
	s.Fill(def, s.Paper)
	ask(def, s.Feedback)
}

// Check implements definition.Settings.
func (s *COBOL) Check(def *definition.Campaign, here definition.Path) []definition.Fault {
	return check(def, here, Name, &s.Settings)
}

// Words implements definition.Settings.
func (s *COBOL) Words(*definition.Campaign) string {
	if s.Paper {
		return "an expert's belief bends the choice by the rules of Xu et al. 2024, as printed" + s.Text()
	}
	return fmt.Sprintf(
		"an expert's belief bends the choice, unless the model is more than %s times as sure of it as of its own (cobol)",
		format.Optional(s.Eta),
	) + s.Text()
}

// COBOHL searches only where the expert may accept, and trusts that the expert
// helps: no test of harm is made (Xu et al. 2024, Alg. 2).
type COBOHL struct {
	belief.Settings
}

// Choice returns the choice of this rule.
func (s COBOHL) Choice() definition.Choice { return definition.NewChoice(COBOHLName, s) }

// Complete implements definition.Settings.
func (s *COBOHL) Complete(def *definition.Campaign) {
	bound(def)
	s.Fill(def, false)
	ask(def, s.Feedback)
}

// Check implements definition.Settings.
func (s *COBOHL) Check(def *definition.Campaign, here definition.Path) []definition.Fault {
	return check(def, here, COBOHLName, &s.Settings)
}

// Words implements definition.Settings.
func (s *COBOHL) Words(*definition.Campaign) string {
	return "only compositions that the expert may accept are considered, without a test of harm (cobohl)" + s.Text()
}

// HCEI weighs the expected improvement with the probability that the expert
// accepts (Xu et al. 2024, Eq. 70).
type HCEI struct {
	belief.Settings
}

// Choice returns the choice of this rule.
func (s HCEI) Choice() definition.Choice { return definition.NewChoice(HCEIName, s) }

// Complete implements definition.Settings.
func (s *HCEI) Complete(def *definition.Campaign) {
	if def.Policy.Next.IsZero() {
		def.Policy.Next = next.LogEI{}.Choice()
	}
	s.Fill(def, false)
	ask(def, s.Feedback)
}

// Check implements definition.Settings.
func (s *HCEI) Check(def *definition.Campaign, here definition.Path) []definition.Fault {
	return check(def, here, HCEIName, &s.Settings)
}

// CheckNext implements policies.Dependent.
func (*HCEI) CheckNext(
	_ *definition.Campaign, _ definition.Path, rule policies.Rule,
) []definition.Fault {
	if rule.Searched() == nil || rule.Name == next.LogEIName {
		return nil
	}
	return []definition.Fault{{At: definition.At("policy", "next"),
		Problem: "hcei weighs the expected improvement, and next is another rule",
		Remedy:  "write next: logei, or remove next"}}
}

// Words implements definition.Settings.
func (s *HCEI) Words(*definition.Campaign) string {
	return "the probability that the expert accepts weighs the expected improvement (hcei)" + s.Text()
}

// bound chooses the acquisition of Xu et al. 2024 where a file does not say. It
// is written into the definition, so that a log says which rule was meant.
func bound(def *definition.Campaign) {
	if def.Policy.Next.IsZero() {
		def.Policy.Next = next.LCB{}.Choice()
	}
}

// ask chooses how experts are asked where a file does not say. A stated
// (Gaussian) belief leaves nothing to ask.
func ask(def *definition.Campaign, feedback string) {
	if def.Policy.Handover.IsZero() && len(def.Experts) > 0 && feedback != belief.FeedbackGaussian {
		def.Policy.Handover = Width{}.Choice()
	}
}

// check returns the faults of a rule that bends the choice by a belief. All of them are about
// the definition as a whole; the schema limits single settings.
func check(
	def *definition.Campaign, here definition.Path, name string, b *belief.Settings,
) (faults []definition.Fault) {
	at := definition.At("policy", "handover")
	switch h := def.Policy.Handover.Name; {
	case h == WidthName && b.Feedback == belief.FeedbackGaussian:
		faults = append(faults, definition.Fault{
			At: at, Problem: "a stated belief leaves nothing to ask",
			Remedy: "write handover: never",
		})
	case h != WidthName && h != policies.Never:
		faults = append(faults, definition.Fault{At: at,
			Problem: name + " asks to accept or reject, not to choose",
			Remedy:  "write handover: width, or trust: coexbo"})
	}
	return append(faults, b.Faults(def, here)...)
}

// Width asks where the belief is still wide (Xu et al. 2024, Alg. 1 line 8).
type Width struct {
	// Threshold is g_thr: the expert is asked where the belief interval is
	// wider, in logits. Default 0.1.
	Threshold *float64 `json:"threshold,omitempty" jsonschema:"minimum=0"`
	// MaxPerExperiment is the largest number of questions before one
	// experiment; past it the unaided candidate is taken. Default 10.
	MaxPerExperiment *int `json:"per_experiment,omitempty" jsonschema:"minimum=1"`
	// OnlyIfDecisive asks only where the interval contains 0, that is where the
	// answer could change the action, and takes the unaided candidate where the
	// expert is known to reject. Default true; false with cobol: {paper: true}.
	OnlyIfDecisive *bool `json:"where_it_matters,omitempty"`
	// Gate follows only experts whose labels predict what is measured. With
	// cobol they have to earn it: in the first fifth of the experiments they
	// are asked about the model's own compositions, then every second
	// experiment may be theirs, and after seven tenths no one is asked
	// (docs/results.md). Default true; false with cobol: {paper: true}.
	Gate *bool `json:"gate,omitempty"`
}

// Choice returns the choice of this rule.
func (s Width) Choice() definition.Choice { return definition.NewChoice(WidthName, s) }

// WidthOf returns the settings of the rule where a policy has it.
func WidthOf(p definition.Policy) (Width, bool) {
	return definition.SettingsIf[Width](p.Handover, WidthName)
}

// SettingsOf returns the settings of COBOL where a policy has it.
func SettingsOf(p definition.Policy) (COBOL, bool) {
	return definition.SettingsIf[COBOL](p.Trust, Name)
}

// Complete implements definition.Settings. The paper's rules ask wherever a
// belief is wide, without a gate.
func (s *Width) Complete(def *definition.Campaign) {
	cobol, _ := SettingsOf(def.Policy)
	ours := !cobol.Paper
	definition.DefaultTo(&s.Threshold, defaultThreshold)
	definition.DefaultTo(&s.MaxPerExperiment, defaultMaxPerExperiment)
	definition.DefaultTo(&s.OnlyIfDecisive, ours)
	definition.DefaultTo(&s.Gate, ours)
}

// Check implements definition.Settings.
func (s *Width) Check(def *definition.Campaign, _ definition.Path) []definition.Fault {
	if belief.SettingsOf(def.Policy.Trust) != nil {
		return nil
	}
	return []definition.Fault{{At: definition.At("policy", "handover"),
		Problem: "width asks where an expert's belief is wide, and trust reads no belief",
		Remedy:  "write trust: cobol, or handover: never"}}
}

// Words implements definition.Settings.
func (s *Width) Words(def *definition.Campaign) string {
	gate := s.Gate != nil && *s.Gate
	if b := belief.SettingsOf(def.Policy.Trust); b != nil {
		if text := orderedText(b, gate); text != "" {
			return text
		}
	}
	text := fmt.Sprintf(
		"an expert is asked where their belief is wider than %s logits",
		format.Optional(s.Threshold),
	)
	if s.OnlyIfDecisive != nil && *s.OnlyIfDecisive {
		text += " and the answer could matter"
	}
	switch {
	case gate && def.Policy.Trust.Name == Name:
		text += ", once their labels have shown that they go with what is measured and until seven tenths of the experiments are done"
	case gate:
		text += ", while their labels go with what is measured"
	}
	if s.MaxPerExperiment != nil {
		text += fmt.Sprintf(
			"; at most %s before one experiment", format.Count(*s.MaxPerExperiment, "question"),
		)
	}
	return text
}

// orderedText describes the question to experts who give feedback other than labels; empty for
// labels.
func orderedText(b *belief.Settings, gate bool) string {
	switch b.Feedback {
	case belief.FeedbackComparison, belief.FeedbackRanking:
		text := "an expert orders the candidate with the best bound and the one that their belief bends it to, where the two differ"
		if b.Feedback == belief.FeedbackRanking && b.Options != nil {
			text += fmt.Sprintf(", among %d", *b.Options)
		}
		if gate {
			text += "; while their order agrees with what is measured"
		}
		return text
	case belief.FeedbackPinpoint:
		text := "an expert names a composition before each experiment, which is measured unless it could do harm"
		if gate {
			text += "; after three in a row that could, they are asked no more"
		}
		return text
	}
	return ""
}
