package duel

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/ground/format"
	"github.com/campaignd/campaignd/policies"
)

// Names of the rules in a campaign file.
const (
	MRLPFName     = "mr-lpf"
	MaxMinLCBName = "maxmin-lcb"
	EUBOName      = "eubo"
	RAEUBOName    = "raeubo"
	EIName        = "ei"
	UCBName       = "ucb"
	ANPEIName     = "anpei"
	RAHBOName     = "rahbo"
	RandomName    = "random"
)

// Rules for the width β of the bounds that eliminate candidates.
const (
	BetaCalibrated = "calibrated" // keeps the best candidate in at least 95 % of runs
	BetaPaper      = "paper"      // 1, as in the experiments of Kayal et al. 2025
	BetaEq14       = "eq14"       // Kayal et al. 2025, Eq. 14
)

// Losses of the logistic fit of comparisons.
const (
	LossRKHS  = "rkhs"  // regularized by the norm of h, θᵀKθ (Kayal et al. 2025, Eq. 7)
	LossTheta = "theta" // mean loss, regularized by ‖θ‖² as printed in Eq. 9 and in the authors' code
)

// Defaults of the settings.
const (
	// lengthscale is that of one dimension (Kayal et al. 2025, §5).
	lengthscale       = 0.1
	defaultLambda     = 0.05
	defaultKappa      = 1
	defaultPoints     = 256
	defaultBeta       = 2
	defaultANPEIGamma = 1
	defaultEta        = 2
	defaultNoise      = 1
	defaultStrength   = 4
	defaultRefitEvery = 5
	// The weights of the noise are the paper's for its own map of it, which is
	// nearly flat; ours falls by orders of magnitude, and the same weight would
	// keep every suggestion at the anchors.
	defaultWeight = 1
	paperWeight   = 10
	// initialComparisons are those of each expert (Sinaga et al. 2026).
	initialComparisons = 8
)

// Candidates configures the kernel model of comparisons (Kayal et al. 2025,
// §3).
type Candidates struct {
	// Lengthscale of the kernel in the unit cube. Default 0.1·√d in d
	// dimensions.
	Lengthscale *float64 `json:"lengthscale,omitempty" jsonschema:"exclusiveMinimum=0"`
	// Lambda is the regularization λ. Default 0.05.
	Lambda *float64 `json:"lambda,omitempty" jsonschema:"exclusiveMinimum=0"`
	// Kappa is κ of the noise λκ. Default 1.
	Kappa *float64 `json:"kappa,omitempty" jsonschema:"exclusiveMinimum=0"`
	// Loss is "rkhs" (default) or "theta".
	Loss string `json:"loss,omitempty" jsonschema:"enum=rkhs,enum=theta"`
	// Beta is β, in place of the one that BetaRule gives.
	Beta *float64 `json:"beta,omitempty" jsonschema:"minimum=0"`
	// BetaRule is "calibrated" (default of mr-lpf), "paper" (default of
	// maxmin-lcb, which does not take calibrated) or "eq14".
	BetaRule string `json:"beta_rule,omitempty" jsonschema:"enum=calibrated,enum=paper,enum=eq14"`
	// Norm bounds the norm B of the utility, for eq14. Default 1.
	Norm *float64 `json:"norm,omitempty" jsonschema:"exclusiveMinimum=0"`
	// Points is how many Sobol points stand for a space that is not finite.
	// Default 256.
	Points *int `json:"points,omitempty" jsonschema:"minimum=2,maximum=2000"`
}

// complete writes out every default; rule is that of β. A β that is given
// leaves its rule empty, which check relies on. Distances in the cube grow with
// √d, and the lengthscale with them.
func (s *Candidates) complete(def *definition.Campaign, rule string) {
	definition.DefaultTo(&s.Lengthscale, lengthscale*math.Sqrt(float64(max(1, len(def.Parameters)))))
	definition.DefaultTo(&s.Lambda, defaultLambda)
	definition.DefaultTo(&s.Kappa, defaultKappa)
	definition.Default(&s.Loss, LossRKHS)
	if s.Beta == nil {
		definition.Default(&s.BetaRule, rule)
	}
	if s.BetaRule == BetaEq14 {
		definition.DefaultTo(&s.Norm, 1)
	}
	definition.DefaultTo(&s.Points, defaultPoints)
}

// Check implements definition.Settings.
func (s *Candidates) Check(_ *definition.Campaign, here definition.Path) []definition.Fault {
	if s.Beta == nil || s.BetaRule == "" {
		return nil
	}
	return []definition.Fault{{At: here.To("beta"),
		Problem: fmt.Sprintf("the rule %q gives β", s.BetaRule), Remedy: "remove beta, or beta_rule"}}
}

// text describes the rule's settings in words.
func (s *Candidates) text() string {
	beta := "β = " + format.Optional(s.Beta)
	if s.Beta == nil {
		beta = "β by the rule " + s.BetaRule
	}
	return fmt.Sprintf(
		"kernel lengthscale %.3g of the unit cube, %s, %d Sobol points where the space is not finite",
		*s.Lengthscale, beta, *s.Points,
	)
}

// missing returns an error that names a setting missing from a definition. A definition read
// from a log is complete; this guards against one that was not completed.
func (s *Candidates) missing(name string) error {
	return cmp.Or(
		policies.Has(name, "lengthscale", s.Lengthscale != nil),
		policies.Has(name, "lambda", s.Lambda != nil),
		policies.Has(name, "kappa", s.Kappa != nil),
		policies.Has(name, "loss", s.Loss != ""),
		policies.Has(name, "points", s.Points != nil),
		policies.Has(name, "beta_rule", s.Beta != nil || s.BetaRule != ""),
		policies.Has(name, "norm", s.Beta != nil || s.BetaRule != BetaEq14 || s.Norm != nil),
	)
}

// MRLPF eliminates candidates in rounds of the most informative comparisons
// (Kayal et al. 2025, Alg. 1).
type MRLPF struct {
	Candidates
}

// Choice returns the choice of this rule.
func (s MRLPF) Choice() definition.Choice { return definition.NewChoice(MRLPFName, s) }

// Complete implements definition.Settings.
func (s *MRLPF) Complete(def *definition.Campaign) { s.complete(def, BetaCalibrated) }

// Words implements definition.Settings.
func (s *MRLPF) Words(*definition.Campaign) string {
	return "the pair that is least known, in rounds that eliminate candidates (mr-lpf); " + s.text()
}

// MaxMinLCB plays a leader that may be best against its strongest rival (Kayal
// et al. 2025, App. D).
type MaxMinLCB struct {
	Candidates
}

// Choice returns the choice of this rule.
func (s MaxMinLCB) Choice() definition.Choice { return definition.NewChoice(MaxMinLCBName, s) }

// Complete implements definition.Settings.
func (s *MaxMinLCB) Complete(def *definition.Campaign) { s.complete(def, BetaPaper) }

// Check implements definition.Settings.
func (s *MaxMinLCB) Check(def *definition.Campaign, here definition.Path) []definition.Fault {
	faults := s.Candidates.Check(def, here)
	if s.BetaRule == BetaCalibrated {
		faults = slices.Insert(faults, 0, definition.Fault{At: here.To("beta_rule"),
			Problem: "calibrated is for mr-lpf, which eliminates candidates",
			Remedy:  "choose paper or eq14, or give beta"})
	}
	return faults
}

// Words implements definition.Settings.
func (s *MaxMinLCB) Words(*definition.Campaign) string {
	return "the candidate that may be best with its strongest rival (maxmin-lcb); " + s.text()
}

// utility is a rule that models the utility of compositions.
type utility struct{}

// Complete implements definition.Settings: it completes the model of the
// utility.
func (utility) Complete(def *definition.Campaign) {
	u := &def.Model.Utility
	definition.Default(&u.Link, definition.LinkProbit)
	// Laplace's approximation learns nothing of the spread from a judgment that
	// was as good as certain.
	posterior := definition.PosteriorEP
	if u.Link == definition.LinkLogistic {
		posterior = definition.PosteriorLaplace
	}
	definition.Default(&u.Posterior, posterior)
	definition.DefaultTo(&u.Noise, defaultNoise)
	scale := definition.ScaleFixed
	if !u.Paper {
		scale = definition.ScaleLearned
		definition.DefaultTo(&u.Strength, defaultStrength)
	}
	definition.Default(&u.OutputScale, scale)
	definition.DefaultTo(&u.RefitEvery, defaultRefitEvery)
	if len(def.Experts) > 0 {
		definition.DefaultTo(&def.Initial.Comparisons, initialComparisons)
	}
}

// Check implements definition.Settings. Nothing is known before the first
// comparison, and all compositions are then alike.
func (utility) Check(def *definition.Campaign, _ definition.Path) []definition.Fault {
	if n := def.Initial.Comparisons; n == nil || *n >= 1 {
		return nil
	}
	return []definition.Fault{{At: definition.At("initial", "comparisons"),
		Problem: "a utility cannot be modeled before the first comparison", Remedy: "write at least 1"}}
}

// weight is that of the noise of judgment, by the map of the noise.
func weight(def *definition.Campaign) float64 {
	if def.Model.Utility.Paper {
		return paperWeight
	}
	return defaultWeight
}

// noiseText names the noise of judgment with its weight, where that is not 1.
func noiseText(weight *float64) string {
	if weight != nil && *weight == 1 {
		return "the noise of judgment"
	}
	return format.Optional(weight) + " times the noise of judgment"
}

// EUBO compares the pair whose better one is expected to be best.
type EUBO struct{ utility }

// Choice returns the choice of this rule.
func (s EUBO) Choice() definition.Choice { return definition.NewChoice(EUBOName, s) }

// Words implements definition.Settings.
func (s *EUBO) Words(*definition.Campaign) string {
	return "the pair whose better one is expected to be best (eubo)"
}

// RAEUBO is EUBO that avoids where the expert's judgment is unreliable (Sinaga
// et al. 2026, Eq. 11).
type RAEUBO struct {
	utility
	// Alpha is the weight α of the noise. Default 1; with model.utility.paper
	// 10, as in the paper, whose map of the noise is nearly flat.
	Alpha *float64 `json:"alpha,omitempty" jsonschema:"minimum=0"`
}

// Choice returns the choice of this rule.
func (s RAEUBO) Choice() definition.Choice { return definition.NewChoice(RAEUBOName, s) }

// Complete implements definition.Settings.
func (s *RAEUBO) Complete(def *definition.Campaign) {
	definition.DefaultTo(&s.Alpha, weight(def))
	s.utility.Complete(def)
}

// Words implements definition.Settings.
func (s *RAEUBO) Words(*definition.Campaign) string {
	return fmt.Sprintf(
		"the pair whose better one is expected to be best, less %s (raeubo)", noiseText(s.Alpha),
	)
}

// EI compares the point of greatest expected improvement with the last winner.
type EI struct{ utility }

// Choice returns the choice of this rule.
func (s EI) Choice() definition.Choice { return definition.NewChoice(EIName, s) }

// Words implements definition.Settings.
func (s *EI) Words(*definition.Campaign) string {
	return "the greatest expected improvement with the last winner"
}

// UCB compares the point of the greatest upper confidence bound with the last
// winner.
type UCB struct {
	utility
	// Beta is the width of the bound. Default 2.
	Beta *float64 `json:"beta,omitempty" jsonschema:"minimum=0"`
}

// Choice returns the choice of this rule.
func (s UCB) Choice() definition.Choice { return definition.NewChoice(UCBName, s) }

// Complete implements definition.Settings.
func (s *UCB) Complete(def *definition.Campaign) {
	definition.DefaultTo(&s.Beta, defaultBeta)
	s.utility.Complete(def)
}

// Words implements definition.Settings.
func (s *UCB) Words(*definition.Campaign) string {
	return fmt.Sprintf(
		"the best upper confidence bound (β = %s) with the last winner", format.Optional(s.Beta),
	)
}

// ANPEI is expected improvement less a multiple of the noise (Sinaga et al.
// 2026, Eq. 9).
type ANPEI struct {
	utility
	// Gamma is the weight γ of the noise. Default 1.
	Gamma *float64 `json:"gamma,omitempty" jsonschema:"minimum=0"`
}

// Choice returns the choice of this rule.
func (s ANPEI) Choice() definition.Choice { return definition.NewChoice(ANPEIName, s) }

// Complete implements definition.Settings.
func (s *ANPEI) Complete(def *definition.Campaign) {
	definition.DefaultTo(&s.Gamma, defaultANPEIGamma)
	s.utility.Complete(def)
}

// Words implements definition.Settings.
func (s *ANPEI) Words(*definition.Campaign) string {
	return fmt.Sprintf(
		"the greatest expected improvement less %s, with the last winner (anpei)",
		noiseText(s.Gamma),
	)
}

// RAHBO is a confidence bound less a multiple of the noise (Sinaga et al. 2026,
// Eq. 10).
type RAHBO struct {
	utility
	// Eta is the width η of the bound, Gamma the weight γ of the noise.
	// Defaults 2 and 1; with model.utility.paper γ is 10.
	Eta   *float64 `json:"eta,omitempty" jsonschema:"minimum=0"`
	Gamma *float64 `json:"gamma,omitempty" jsonschema:"minimum=0"`
}

// Choice returns the choice of this rule.
func (s RAHBO) Choice() definition.Choice { return definition.NewChoice(RAHBOName, s) }

// Complete implements definition.Settings.
func (s *RAHBO) Complete(def *definition.Campaign) {
	definition.DefaultTo(&s.Eta, defaultEta)
	definition.DefaultTo(&s.Gamma, weight(def))
	s.utility.Complete(def)
}

// Words implements definition.Settings.
func (s *RAHBO) Words(*definition.Campaign) string {
	return fmt.Sprintf(
		"the best upper confidence bound (η = %s) less %s, with the last winner (rahbo)",
		format.Optional(s.Eta), noiseText(s.Gamma),
	)
}

// Random compares compositions at random.
type Random struct{ utility }

// Choice returns the choice of this rule.
func (s Random) Choice() definition.Choice { return definition.NewChoice(RandomName, s) }

// Words implements definition.Settings.
func (s *Random) Words(*definition.Campaign) string {
	return "two compositions at random"
}
