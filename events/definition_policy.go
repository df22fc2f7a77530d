package events

// Policy composes the three choices of each step.
type Policy struct {
	// Next chooses a composition to measure.
	Next Next `json:"next,omitzero"`
	// Trust lets an expert's belief bend that choice.
	Trust Trust `json:"trust,omitzero"`
	// Handover decides whether the expert is asked first.
	Handover Handover `json:"handover,omitzero"`
}

// Next names one acquisition and its settings. In a campaign file a bare name
// stands for the default settings. Default lcb.
type Next struct {
	LCB      *LCB      `json:"lcb,omitempty"`
	LogEI    *LogEI    `json:"logei,omitempty"`
	Thompson *Thompson `json:"thompson,omitempty"`
	Sobol    *Sobol    `json:"sobol,omitempty"`
	Random   *Random   `json:"random,omitempty"`
}

// Rules for the width of a confidence bound.
const (
	BetaFixed = "fixed"
	BetaLemma = "lemma" // Xu et al. 2024, Lemma 3.1
)

// LCB is the lower confidence bound μ − βσ of a minimised objective (the upper
// one of a maximised objective).
type LCB struct {
	// Beta is β. Default 1 (the reference implementation of Xu et al. 2024
	// arrives at 1.0004).
	Beta *float64 `json:"beta,omitempty" jsonschema:"minimum=0"`
	// BetaRule is "fixed" (default) or "lemma": β_t = B + σ√(2(γ_{t−1} + 1 + ln(2/δ))),
	// B = 1, δ = 0.01, σ = 1e-4 (Lemma 3.1).
	BetaRule string `json:"beta_rule,omitempty" jsonschema:"enum=fixed,enum=lemma"`
}

// LogEI is the logarithm of the expected improvement on the best posterior mean.
type LogEI struct{}

// Thompson takes the optimum of one draw from the posterior.
type Thompson struct{}

// Sobol goes through a space-filling design without a model.
type Sobol struct{}

// Random takes compositions at random without a model.
type Random struct{}

// Trust names how an expert's belief bends the choice. Default cobol where
// there are experts and the choice has a model, none otherwise.
type Trust struct {
	None  *NoTrust `json:"none,omitempty"`
	COBOL *COBOL   `json:"cobol,omitempty"`
}

// NoTrust ignores experts.
type NoTrust struct{}

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
	// Eta is η: the aided candidate is refused where the model is more than η
	// times as sure of it as of the unaided one. Default 3.
	Eta *float64 `json:"eta,omitempty" jsonschema:"minimum=0"`
	// Confidence is c in α₁ = c√(n+1): how far a belief may be from the likeliest
	// one. Default 0.1, with which beliefs stay wide enough for questions to
	// arise (docs/results.md); with paper: 0.01, doubled with the norm bound.
	Confidence *float64 `json:"confidence,omitempty" jsonschema:"exclusiveMinimum=0"`
	// MaxNorm is the largest norm bound B_g of the belief. Default 4; with
	// paper: no limit.
	MaxNorm *float64 `json:"max_norm,omitempty" jsonschema:"exclusiveMinimum=0"`
}

// Handover names the rule by which an expert is asked. Default width where
// trust is cobol, never otherwise.
type Handover struct {
	Never *NeverAsk `json:"never,omitempty"`
	Width *Width    `json:"width,omitempty"`
}

// NeverAsk asks no one after the initial labels.
type NeverAsk struct{}

// Width asks where the belief is still wide (Xu et al. 2024, Alg. 1 line 8).
type Width struct {
	// Threshold is g_thr: the expert is asked where the belief interval is
	// wider, in logits. Default 0.1.
	Threshold *float64 `json:"threshold,omitempty" jsonschema:"minimum=0"`
	// PerExperiment is the largest number of questions before one experiment;
	// past it the unaided candidate is taken. Default 10.
	PerExperiment *int `json:"per_experiment,omitempty" jsonschema:"minimum=1"`
	// WhereItMatters asks only where the interval contains 0, that is where the
	// answer could change the action, and takes the unaided candidate where the
	// expert is known to reject. Default true; false with cobol: {paper: true}.
	WhereItMatters *bool `json:"where_it_matters,omitempty"`
	// Gate asks only while the expert's labels predict what is measured.
	// Default true; false with cobol: {paper: true}.
	Gate *bool `json:"gate,omitempty"`
}
