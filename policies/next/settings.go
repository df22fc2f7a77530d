package next

import (
	"encoding/json"
	"fmt"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/ground/computed"
	"github.com/campaignd/campaignd/internal/ground/format"
)

// Names of the rules in a campaign file.
const (
	LCBName      = "lcb"
	LogEIName    = "logei"
	LogNEIName   = "lognei"
	LogNEHVIName = "lognehvi"
	ThompsonName = "thompson"
	SobolName    = definition.DesignSobol
	RandomName   = definition.DesignRandom
	ProcessName  = "process" // of package policies/process: what a program proposes
)

// Default is the rule of a campaign that names none, complete: of the rules that
// search a model it did best (docs/results.md).
func Default(def *definition.Campaign) definition.Choice {
	if def.Tradeoff() != nil {
		return LogNEHVI{}.Choice()
	}
	var s LogNEI
	s.Complete(def)
	return s.Choice()
}

// Rules for the width of a confidence bound.
const (
	BetaFixed   = "fixed"
	BetaLemma   = "lemma"   // Xu et al. 2024, Lemma 3.1
	BetaGrowing = "growing" // Adachi et al. 2024, §5
)

// defaultBeta is β where a file does not say.
const defaultBeta = 1

// LCB is the lower confidence bound μ − βσ of a minimized objective (the upper
// one of a maximized objective).
type LCB struct {
	// Beta is β. Default 1 (the reference implementation of Xu et al. 2024
	// arrives at 1.0004).
	Beta *float64 `json:"beta,omitempty" jsonschema:"minimum=0"`
	// BetaRule is "fixed" (default) or "lemma": β_t = B + σ√(2(γ_{t−1} + 1 +
	// ln(2/δ))),
	// B = 1, δ = 0.01, σ = 1e-4 (Lemma 3.1), or "growing": β_t = √(0.2 d √(2(1 + t))) in
	// d dimensions after t measurements (Adachi et al. 2024; default with trust: coexbo and pibo).
	BetaRule string `json:"beta_rule,omitempty" jsonschema:"enum=fixed,enum=lemma,enum=growing"`
}

// Choice returns the choice of this rule.
func (s LCB) Choice() definition.Choice { return definition.NewChoice(LCBName, s) }

// Complete implements definition.Settings.
func (s *LCB) Complete(*definition.Campaign) {
	definition.Default(&s.BetaRule, BetaFixed)
	if s.BetaRule == BetaFixed {
		definition.DefaultTo(&s.Beta, defaultBeta)
	}
}

// Check implements definition.Settings.
func (*LCB) Check(*definition.Campaign, definition.Path) []definition.Fault { return nil }

// Words implements definition.Settings.
func (s *LCB) Words(def *definition.Campaign) string {
	bound := def.Sought().Pick("upper", "lower")
	switch s.BetaRule {
	case BetaLemma:
		return fmt.Sprintf(
			"the composition with the best %s confidence bound, its width by Lemma 3.1 of Xu et al. 2024",
			bound,
		)
	case BetaGrowing:
		return fmt.Sprintf(
			"the composition with the best %s confidence bound, its width growing as in Adachi et al. 2024",
			bound,
		)
	}
	return fmt.Sprintf(
		"the composition with the best %s confidence bound of a Gaussian process (β = %s)",
		bound,
		format.Optional(s.Beta),
	)
}

// LCBOf returns the settings of the rule where a policy has it.
func LCBOf(p definition.Policy) (LCB, bool) {
	return definition.SettingsIf[LCB](p.Next, LCBName)
}

// LogEI is the logarithm of the expected improvement on the best posterior
// mean.
type LogEI struct{ plain }

// Choice returns the choice of this rule.
func (LogEI) Choice() definition.Choice { return definition.NewChoice(LogEIName, nil) }

// Words implements definition.Settings.
func (*LogEI) Words(*definition.Campaign) string {
	return "the composition with the greatest expected improvement on the best so far (its logarithm)"
}

// LogNEI is the logarithm of the noisy expected improvement: that on the best
// value so far, averaged over what that value may be. Once nothing has improved
// for five turns, every second one is chosen by a model with lengthscales half
// as long: a restart.
type LogNEI struct {
	// Restarts is the part of the budget of experiments after which there are
	// no more of them, since too few are left to follow what they show: 0 for
	// none, 1 for all. Default 0.8. Absent: as it was before there were
	// Restarts, 1.
	Restarts *float64 `json:"restarts,omitempty" jsonschema:"minimum=0,maximum=1"`
	// Quantities seeks a formula or a desirability by the models of its quantities,
	// which takes fewer experiments than a model of its values (Astudillo and
	// Frazier 2019). Default true where one of at most four measured quantities is
	// sought. Absent: as it was before there was the choice, by its values.
	Quantities bool `json:"quantities,omitempty"`
}

// defaultRestarts is the part of the budget where a file does not say.
const defaultRestarts = 0.8

// Choice returns the choice of this rule.
func (s LogNEI) Choice() definition.Choice { return definition.NewChoice(LogNEIName, s) }

// Complete implements definition.Settings.
func (s *LogNEI) Complete(def *definition.Campaign) {
	definition.DefaultTo(&s.Restarts, defaultRestarts)
	s.Quantities = s.Quantities || computed.ByModels(def)
}

// Check implements definition.Settings.
func (*LogNEI) Check(*definition.Campaign, definition.Path) []definition.Fault { return nil }

// Words implements definition.Settings.
func (s *LogNEI) Words(*definition.Campaign) string {
	const rule = "the composition with the greatest expected improvement on the best so far, as uncertain as that is " +
		"(its logarithm)"
	const restarts = rule + "; once nothing improves, every second one by a model that expects more where nothing was measured"
	switch {
	case s.Restarts == nil || *s.Restarts == 1:
		return restarts
	case *s.Restarts == 0:
		return rule
	}
	return fmt.Sprintf("%s, but for the last %s %% of the budget", restarts,
		format.Significant(100*(1-*s.Restarts), 2))
}

// LogNEHVI is the logarithm of the noisy expected hypervolume improvement: by how
// much a composition is expected to increase the volume that the front of a
// trade-off covers, averaged over what that front may be.
type LogNEHVI struct{ plain }

// Choice returns the choice of this rule.
func (LogNEHVI) Choice() definition.Choice { return definition.NewChoice(LogNEHVIName, nil) }

// Check implements definition.Settings.
func (*LogNEHVI) Check(def *definition.Campaign, here definition.Path) []definition.Fault {
	if def.Tradeoff() != nil {
		return nil
	}
	return []definition.Fault{{At: here, Problem: "the objective is not a trade-off",
		Remedy: "write lognei, or objective: {tradeoff: [{maximize: …}, {minimize: …}]}"}}
}

// Words implements definition.Settings.
func (*LogNEHVI) Words(*definition.Campaign) string {
	return "the composition that is expected to move the front of the trade-off furthest: the greatest expected " +
		"improvement of its hypervolume, as uncertain as the front is (its logarithm)"
}

// Thompson takes the optimum of one draw from the posterior.
type Thompson struct{ plain }

// Choice returns the choice of this rule.
func (Thompson) Choice() definition.Choice { return definition.NewChoice(ThompsonName, nil) }

// Words implements definition.Settings.
func (*Thompson) Words(*definition.Campaign) string {
	return "the optimum of one draw from the Gaussian process"
}

// Sobol goes through a space-filling design without a model.
type Sobol struct{ plain }

// Choice returns the choice of this rule.
func (Sobol) Choice() definition.Choice { return definition.NewChoice(SobolName, nil) }

// Words implements definition.Settings.
func (*Sobol) Words(*definition.Campaign) string {
	return "the next composition of a space-filling design, without a model"
}

// Random takes compositions at random without a model.
type Random struct{ plain }

// Choice returns the choice of this rule.
func (Random) Choice() definition.Choice { return definition.NewChoice(RandomName, nil) }

// Words implements definition.Settings.
func (*Random) Words(*definition.Campaign) string {
	return "a composition at random, without a model"
}

// plain is a rule without settings.
type plain struct{}

// Complete implements definition.Settings.
func (plain) Complete(*definition.Campaign) {}

// Check implements definition.Settings.
func (plain) Check(*definition.Campaign, definition.Path) []definition.Fault { return nil }

// ByQuantities reports whether a campaign is decided by the models of its
// quantities: where it seeks a trade-off or a preference, or has constraints on outcomes, and where the
// rule is to seek a formula or a desirability by them. Others are decided by the
// model of the value that is sought alone, as all were before there were these.
func ByQuantities(def *definition.Campaign) bool {
	return def.SeveralMatter() || def.Objective.Computed() && Quantities(def.Policy)
}

// Quantities reports whether the rule of next is to seek a formula or a desirability by the
// models of its quantities: whether a setting of that name says so.
func Quantities(p definition.Policy) bool {
	var s struct {
		Quantities bool `json:"quantities"`
	}
	return json.Unmarshal(p.Next.Settings(), &s) == nil && s.Quantities
}
