package definition

// Policy composes the three choices of each step; in a campaign without an
// instrument Duel takes their place. In a campaign file the name of a method
// stands for its composition: cobol, cobohl, hcei, coexbo, pibo, batch-ucb,
// mr-lpf, raeubo, …; `campaignd validate --explain` writes it out.
type Policy struct {
	// Next chooses a composition to measure.
	Next Next `json:"next,omitzero"`
	// Trust lets an expert's belief bend that choice.
	Trust Trust `json:"trust,omitzero"`
	// Handover decides whether the expert is asked first.
	Handover Handover `json:"handover,omitzero"`
	// Duel chooses what an expert compares where nothing is measured: the
	// expert's preferences are the objective.
	Duel Duel `json:"duel,omitzero"`
}

// Next names one acquisition and its settings. In a campaign file a bare name
// stands for the default settings. Default lcb.
type Next struct {
	LCB      *LCB      `json:"lcb,omitempty"`
	LogEI    *LogEI    `json:"logei,omitempty"`
	Thompson *Thompson `json:"thompson,omitempty"`
	Sobol    *Sobol    `json:"sobol,omitempty"`
	Random   *Random   `json:"random,omitempty"`
	Prior    *Prior    `json:"prior,omitempty"`
	Manual   *Manual   `json:"manual,omitempty"`
}

// Rules for the width of a confidence bound.
const (
	BetaFixed   = "fixed"
	BetaLemma   = "lemma"   // Xu et al. 2024, Lemma 3.1
	BetaGrowing = "growing" // Adachi et al. 2024, §5
)

// LCB is the lower confidence bound μ − βσ of a minimised objective (the upper
// one of a maximised objective).
type LCB struct {
	// Beta is β. Default 1 (the reference implementation of Xu et al. 2024
	// arrives at 1.0004).
	Beta *float64 `json:"beta,omitempty" jsonschema:"minimum=0"`
	// BetaRule is "fixed" (default) or "lemma": β_t = B + σ√(2(γ_{t−1} + 1 + ln(2/δ))),
	// B = 1, δ = 0.01, σ = 1e-4 (Lemma 3.1), or "growing": β_t = √(0.2 d √(2(1 + t))) in
	// d dimensions after t measurements (Adachi et al. 2024; default with trust: coexbo and pibo).
	BetaRule string `json:"beta_rule,omitempty" jsonschema:"enum=fixed,enum=lemma,enum=growing"`
}

// LogEI is the logarithm of the expected improvement on the best posterior mean.
type LogEI struct{}

// Thompson takes the optimum of one draw from the posterior.
type Thompson struct{}

// Sobol goes through a space-filling design without a model.
type Sobol struct{}

// Random takes compositions at random without a model.
type Random struct{}

// Prior samples compositions from the expert's prior, the soft-Copeland score
// of the initial comparisons (prior sampling, Adachi et al. 2024, Table 1).
type Prior struct{}

// Manual asks an expert for each composition (manual search).
type Manual struct{}

// Trust names how an expert's belief bends the choice. Default cobol where
// there are experts and the choice has a model, none otherwise.
type Trust struct {
	None   *NoTrust `json:"none,omitempty"`
	COBOL  *COBOL   `json:"cobol,omitempty"`
	COBOHL *COBOHL  `json:"cobohl,omitempty"`
	HCEI   *HCEI    `json:"hcei,omitempty"`
	CoExBO *CoExBO  `json:"coexbo,omitempty"`
	PiBO   *PiBO    `json:"pibo,omitempty"`
}

// Belief returns the settings of the belief that the rule reads, nil where it
// reads none.
func (t Trust) Belief() *Belief {
	switch {
	case t.COBOL != nil:
		return &t.COBOL.Belief
	case t.COBOHL != nil:
		return &t.COBOHL.Belief
	case t.HCEI != nil:
		return &t.HCEI.Belief
	}
	return nil
}

// NoTrust ignores experts.
type NoTrust struct{}

// Forms of feedback from which a belief is built (Xu et al. 2024, App. H).
const (
	FeedbackLabel      = "label"      // accept or reject
	FeedbackComparison = "comparison" // the better of two compositions
	FeedbackRanking    = "ranking"    // several compositions from best to worst
	FeedbackPinpoint   = "pinpoint"   // the expert names the composition
	FeedbackGaussian   = "gaussian"   // a normal distribution stated beforehand
)

// Belief configures the model of an expert's belief.
type Belief struct {
	// Confidence is c in α₁ = c√(n+1): how far a belief may be from the likeliest
	// one. Default 0.1, with which beliefs stay wide enough for questions to
	// arise (docs/results.md); with paper: 0.01, doubled with the norm bound.
	Confidence *float64 `json:"confidence,omitempty" jsonschema:"exclusiveMinimum=0"`
	// MaxNorm is the largest norm bound B_g of the belief. Default 4; with
	// paper: no limit.
	MaxNorm *float64 `json:"max_norm,omitempty" jsonschema:"exclusiveMinimum=0"`
	// Window keeps only the last labels or comparisons, so many of them, for an
	// expert who learns (Xu et al. 2024, App. I.1). Default: all.
	Window *int `json:"window,omitempty" jsonschema:"minimum=1"`
	// Feedback is what the expert is asked for: "label" (default), "comparison",
	// "ranking", "pinpoint" or "gaussian" (Xu et al. 2024, App. H). With gaussian
	// each expert states a belief and nobody is asked.
	Feedback string `json:"feedback,omitempty" jsonschema:"enum=label,enum=comparison,enum=ranking,enum=pinpoint,enum=gaussian"`
	// Options is how many compositions a ranking holds. Default 4.
	Options *int `json:"options,omitempty" jsonschema:"minimum=3,maximum=8"`
}

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
	Belief
}

// COBOHL searches only where the expert may accept, and trusts that the expert
// helps: no test of harm is made (Xu et al. 2024, Alg. 2).
type COBOHL struct {
	Belief
}

// HCEI weighs the expected improvement with the probability that the expert accepts
// (Xu et al. 2024, Eq. 70).
type HCEI struct {
	Belief
}

// What the variance of an expert's score counts.
const (
	SpreadExpected  = "expected"
	SpreadEpistemic = "epistemic"
)

// CoExBO offers the expert the optimum of the confidence bound beside that of
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
	// Fantasy searches for the expert's candidate as if the unaided one had been
	// measured as predicted, so that the two differ. Default false.
	Fantasy bool `json:"fantasy,omitempty"`
}

// PiBO multiplies the acquisition with the expert's prior to the power γ/t
// (Hvarfner et al. 2022; Adachi et al. 2024, Eq. 10).
type PiBO struct {
	// Gamma is γ. Default 10.
	Gamma *float64 `json:"gamma,omitempty" jsonschema:"exclusiveMinimum=0"`
}

// Handover names the rule by which an expert is asked. Default width where
// trust is cobol, cobohl or hcei, choose where it is coexbo, never otherwise.
type Handover struct {
	Never  *NeverAsk `json:"never,omitempty"`
	Width  *Width    `json:"width,omitempty"`
	Choose *Choose   `json:"choose,omitempty"`
}

// Choose puts two candidates to the expert, who picks the one that is measured
// (Adachi et al. 2024, Alg. 1). Without a rule of trust the second candidate is
// the next best of the same acquisition (batch UCB, batch Thompson).
type Choose struct {
	// Explain shows the expert what the models base their view on: Shapley values and
	// the plane of the two strongest parameters. Default true.
	Explain *bool `json:"explain,omitempty"`
	// Gate asks only while the expert's choices agree with what is measured.
	// Default true.
	Gate *bool `json:"gate,omitempty"`
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
	// Gate follows only experts whose labels predict what is measured. With cobol
	// they have to earn it: in the first fifth of the experiments they are asked
	// about the model's own compositions, then every second experiment may be
	// theirs, and after seven tenths nobody is asked (docs/results.md).
	// Default true; false with cobol: {paper: true}.
	Gate *bool `json:"gate,omitempty"`
}

// Duel names the rule that chooses what an expert compares in a campaign
// without an instrument. The rules on candidates work on a finite set: a list,
// the grid of discrete parameters, or Sobol points of the space. The others
// model the expert's utility (see Utility).
type Duel struct {
	MRLPF       *MRLPF       `json:"mr-lpf,omitempty"`
	MaxMinLCB   *MaxMinLCB   `json:"maxmin-lcb,omitempty"`
	EUBO        *EUBO        `json:"eubo,omitempty"`
	RAEUBO      *RAEUBO      `json:"raeubo,omitempty"`
	EI          *UtilityEI   `json:"ei,omitempty"`
	UCB         *UtilityUCB  `json:"ucb,omitempty"`
	ANPEI       *ANPEI       `json:"anpei,omitempty"`
	RAHBO       *RAHBO       `json:"rahbo,omitempty"`
	RandomDuels *RandomDuels `json:"random,omitempty"`
}

// Measures reports whether the policy chooses what to measure, and not what an
// expert compares.
func (p Policy) Measures() bool { return p.Duel == Duel{} }

// Rules for the width β of the bounds that eliminate candidates.
const (
	BetaCalibrated = "calibrated" // keeps the best candidate in at least 95 % of runs
	BetaPaper      = "paper"      // 1, as in the experiments of Kayal et al. 2025
	BetaEq14       = "eq14"       // Kayal et al. 2025, Eq. 14
)

// Losses of the logistic fit of comparisons.
const (
	LossRKHS  = "rkhs"  // regularised by the norm of h, θᵀKθ (Kayal et al. 2025, Eq. 7)
	LossTheta = "theta" // mean loss, regularised by ‖θ‖² as printed in Eq. 9 and in the authors' code
)

// Dueling configures the kernel model of comparisons (Kayal et al. 2025, §3).
type Dueling struct {
	// Lengthscale of the kernel in the unit cube. Default 0.1·√d in d dimensions.
	Lengthscale *float64 `json:"lengthscale,omitempty" jsonschema:"exclusiveMinimum=0"`
	// Lambda is the regularisation λ. Default 0.05.
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

// MRLPF eliminates candidates in rounds of the most informative comparisons
// (Kayal et al. 2025, Alg. 1).
type MRLPF struct {
	Dueling
}

// MaxMinLCB plays a leader that may be best against its strongest rival (Kayal
// et al. 2025, App. D).
type MaxMinLCB struct {
	Dueling
}

// EUBO compares the pair whose better one is expected to be best.
type EUBO struct{}

// RAEUBO is EUBO that avoids where the expert's judgement is unreliable (Sinaga
// et al. 2026, Eq. 11).
type RAEUBO struct {
	// Alpha is the weight α of the noise. Default 1; with model.utility.paper 10, as
	// in the paper, whose map of the noise is nearly flat.
	Alpha *float64 `json:"alpha,omitempty" jsonschema:"minimum=0"`
}

// UtilityEI compares the point of greatest expected improvement with the last winner.
type UtilityEI struct{}

// UtilityUCB compares the point of the greatest upper confidence bound with the last winner.
type UtilityUCB struct {
	// Beta is the width of the bound. Default 2.
	Beta *float64 `json:"beta,omitempty" jsonschema:"minimum=0"`
}

// ANPEI is expected improvement less a multiple of the noise (Sinaga et al. 2026, Eq. 9).
type ANPEI struct {
	// Gamma is the weight γ of the noise. Default 1.
	Gamma *float64 `json:"gamma,omitempty" jsonschema:"minimum=0"`
}

// RAHBO is a confidence bound less a multiple of the noise (Sinaga et al. 2026, Eq. 10).
type RAHBO struct {
	// Eta is the width η of the bound, Gamma the weight γ of the noise. Defaults 2 and
	// 1; with model.utility.paper γ is 10.
	Eta   *float64 `json:"eta,omitempty" jsonschema:"minimum=0"`
	Gamma *float64 `json:"gamma,omitempty" jsonschema:"minimum=0"`
}

// RandomDuels compares compositions at random.
type RandomDuels struct{}
