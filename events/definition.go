package events

import (
	"encoding/json"
	"fmt"
	"time"
)

// Definition describes a campaign: what may be varied, what is sought, how
// the next step is chosen, who is asked and what measures. It is the content of
// a campaign file; internal/campaignfile reads, completes and checks it. In an
// event every default is written out.
type Definition struct {
	// Name of the campaign: letters, digits, dot, dash and underscore. It names
	// the stream of events and, with the ending .campaign, the default store.
	Name string `json:"name" jsonschema:"required,pattern=^[A-Za-z0-9][A-Za-z0-9._-]*$,maxLength=100"`
	// Description in free text.
	Description string `json:"description,omitempty"`
	// Seed of everything random in the campaign. Default 1.
	Seed uint64 `json:"seed,omitempty" jsonschema:"minimum=1"`
	// Parameters that may be varied, in the order they are shown.
	Parameters []Parameter `json:"parameters" jsonschema:"required,minItems=1"`
	// Constraints that every composition satisfies.
	Constraints []Constraint `json:"constraints,omitempty"`
	// Candidates lists the only compositions that may be measured. Absent: every
	// composition of the space; with a table instrument: its rows.
	Candidates []Point `json:"candidates,omitempty"`
	// Excluded regions, in which nothing is suggested.
	Excluded []Region `json:"excluded,omitempty"`
	// Objective that is sought.
	Objective Objective `json:"objective" jsonschema:"required"`
	// Model of the objective.
	Model Model `json:"model,omitzero"`
	// Initial design, before the policy takes over.
	Initial Initial `json:"initial,omitzero"`
	// Policy that chooses the next step.
	Policy Policy `json:"policy,omitzero"`
	// Budget after which the campaign completes.
	Budget Budget `json:"budget" jsonschema:"required"`
	// Stop is a rule by which the campaign completes before its budget is spent.
	Stop Stop `json:"stop,omitzero"`
	// Replicates is how often each composition is measured. Default 1.
	Replicates int `json:"replicates,omitempty" jsonschema:"minimum=1"`
	// Instrument that measures.
	Instrument Instrument `json:"instrument" jsonschema:"required"`
	// Experts who are asked. None: the campaign runs without questions.
	Experts []Expert `json:"experts,omitempty"`
}

// Parameter is one thing that may be varied: continuous (min and max),
// discrete numeric (values) or categorical (categories).
type Parameter struct {
	Name string `json:"name" jsonschema:"required,pattern=^[A-Za-z_][A-Za-z0-9_.-]*$,maxLength=64"`
	// Unit as it is printed, for example "mol/kg". Empty for a pure number.
	Unit string `json:"unit,omitempty"`
	// Description in free text.
	Description string `json:"description,omitempty"`
	// Min and Max bound a continuous parameter, in Unit.
	Min *float64 `json:"min,omitempty"`
	Max *float64 `json:"max,omitempty"`
	// Values lists the allowed values of a discrete numeric parameter, in Unit.
	Values []float64 `json:"values,omitempty"`
	// Categories lists the values of a categorical parameter.
	Categories []CategoryDef `json:"categories,omitempty"`
}

// CategoryDef is one value of a categorical parameter. In a campaign file a
// bare name stands for a category without descriptors.
type CategoryDef struct {
	Name string `json:"name" jsonschema:"required"`
	// Descriptors place the category among the others: numbers, the same names
	// for every category of the parameter. Without descriptors categories are
	// equally far from each other (one-hot).
	Descriptors map[string]float64 `json:"descriptors,omitempty"`
}

// Constraint is linear in numeric parameters: Σ coefficient × parameter
// compared with a number.
type Constraint struct {
	// Name as it appears in messages. Optional.
	Name string `json:"name,omitempty"`
	// Terms maps parameter names to coefficients.
	Terms map[string]float64 `json:"terms" jsonschema:"required,minProperties=1"`
	// Exactly one of the following: the sum equals, is at most, or is at least.
	Equals  *float64 `json:"equals,omitempty"`
	AtMost  *float64 `json:"at_most,omitempty"`
	AtLeast *float64 `json:"at_least,omitempty"`
}

// Region is a box of compositions. A parameter that is not named is
// unrestricted.
type Region struct {
	// Name or reason, for messages.
	Name string `json:"name,omitempty"`
	// Where maps numeric parameters to closed intervals and categorical ones to names.
	Where map[string]RegionSide `json:"where" jsonschema:"required,minProperties=1"`
}

// RegionSide is one side of a region: an interval, or one category.
type RegionSide struct {
	Min *float64 `json:"min,omitempty"`
	Max *float64 `json:"max,omitempty"`
	Is  string   `json:"is,omitempty"`
}

// Goals of an objective.
const (
	Maximize = "maximize"
	Minimize = "minimize"
)

// Objective is the measured quantity that is sought.
type Objective struct {
	// Name of the quantity as the instrument reports it.
	Name string `json:"name" jsonschema:"required"`
	// Unit the instrument must report it in.
	Unit string `json:"unit,omitempty"`
	// Goal is "maximize" or "minimize".
	Goal string `json:"goal" jsonschema:"required,enum=maximize,enum=minimize"`
	// Noise is the standard deviation of one measurement, in Unit, where it is
	// known. Absent: inferred from the measurements.
	Noise *float64 `json:"noise,omitempty" jsonschema:"minimum=0"`
	// Min and Max are the range of plausible results: a measurement outside is
	// refused and the experiment counts as failed. Absent: no limit.
	Min *float64 `json:"min,omitempty"`
	Max *float64 `json:"max,omitempty"`
}

// Model configures the Gaussian process of the objective.
type Model struct {
	// Kernel is "rbf" (default), "matern52" or "matern32", always with one
	// lengthscale for each dimension.
	Kernel string `json:"kernel,omitempty" jsonschema:"enum=rbf,enum=matern52,enum=matern32"`
	// FreeOutputScale fits the prior variance as well instead of fixing it at 1.
	FreeOutputScale bool `json:"free_output_scale,omitempty"`
}

// Initial designs.
const (
	DesignSobol  = "sobol"
	DesignRandom = "random"
	DesignPoints = "points"
)

// Initial describes what is done before the policy takes over.
type Initial struct {
	// Experiments is how many experiments the design holds. Default 3, or the
	// number of given points.
	Experiments *int `json:"experiments,omitempty" jsonschema:"minimum=0"`
	// Design is "sobol" (default), "random" or "points".
	Design string `json:"design,omitempty" jsonschema:"enum=sobol,enum=random,enum=points"`
	// Points of the design "points".
	Points []Point `json:"points,omitempty"`
	// Labels is how many labels each expert gives at first. Default 10 for
	// policies that use labels, 0 for others.
	Labels *int `json:"labels,omitempty" jsonschema:"minimum=0"`
	// Balanced asks for as many accepted as rejected examples instead of labels
	// at random points. Default true where there are experts and all are
	// simulated, false otherwise.
	Balanced *bool `json:"balanced,omitempty"`
}

// Budget limits the campaign. All counts include the initial ones.
type Budget struct {
	// Experiments is the number of experiments after which the campaign completes.
	Experiments int `json:"experiments" jsonschema:"required,minimum=1"`
	// Labels is the number of questions after which no one is asked any more.
	// Absent: no limit.
	Labels *int `json:"labels,omitempty" jsonschema:"minimum=0"`
	// Time after which no new experiment is started, for example "36h".
	// Absent: no limit.
	Time Duration `json:"time,omitempty"`
}

// Stop describes when the campaign completes before its budget is spent.
type Stop struct {
	// Target completes the campaign once the posterior mean at the best
	// measured composition is at least as good, in the objective's unit.
	Target *float64 `json:"target,omitempty"`
	// Window and Improvement complete the campaign once the best of the last
	// Window experiments improves on the best before them by less than
	// Improvement times the interquartile range of all measurements. Default
	// of Improvement 0.1; Window 0 (default) switches the rule off.
	Window      int      `json:"window,omitempty" jsonschema:"minimum=0"`
	Improvement *float64 `json:"improvement,omitempty" jsonschema:"minimum=0"`
}

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

// Instrument names one adapter and its settings, and how it is driven.
type Instrument struct {
	Simulated *SimulatedInstrument `json:"simulated,omitempty"`
	Table     *TableInstrument     `json:"table,omitempty"`
	Manual    *ManualInstrument    `json:"manual,omitempty"`
	Process   *ProcessInstrument   `json:"process,omitempty"`

	// Steps is the resolution the instrument can dose in, by parameter, in the
	// parameter's unit: suggestions are multiples of it.
	Steps map[string]float64 `json:"steps,omitempty"`
	// StallAfter is how long the instrument may be silent before the campaign
	// says so. Default "10m"; manual: no limit.
	StallAfter Duration `json:"stall_after,omitempty"`
	// GiveUpAfter is how long a silent experiment is waited for before its fate
	// counts as unknown. Default "24h"; manual: no limit.
	GiveUpAfter Duration `json:"give_up_after,omitempty"`
}

// SimulatedInstrument is a test problem of internal/tasks behind an
// instrument's contract. What it answers is a function of the campaign's seed
// and the command. In a campaign file a bare text stands for the task.
type SimulatedInstrument struct {
	// Task is the test problem: "electrolyte", "ackley4", "branin", …
	Task string `json:"task" jsonschema:"required"`
	// Noise is the standard deviation added to each result, in its unit. Default 0.
	Noise float64 `json:"noise,omitempty" jsonschema:"minimum=0"`
	// Latency of each measurement, for example "50ms". Default 0.
	Latency Duration `json:"latency,omitempty"`
	// FailureRate is the probability that an experiment fails. Default 0.
	FailureRate float64 `json:"failure_rate,omitempty" jsonschema:"minimum=0,maximum=1"`
	// OutlierRate is the probability that a result is silently wrong. Default 0.
	OutlierRate float64 `json:"outlier_rate,omitempty" jsonschema:"minimum=0,maximum=1"`
}

// TableInstrument answers from a CSV file of measured rows, whose compositions
// are the only candidates: backtesting. In a campaign file a bare text stands
// for the file.
type TableInstrument struct {
	// File is the CSV file, relative to the campaign file. Its header names the
	// parameters and the objective.
	File string `json:"file" jsonschema:"required"`
	// Columns maps parameter and objective names to column names where they differ.
	Columns map[string]string `json:"columns,omitempty"`
}

// ManualInstrument is a person who measures and enters the value.
type ManualInstrument struct {
	// Instructions shown with each experiment.
	Instructions string `json:"instructions,omitempty"`
}

// ProcessInstrument is a program that speaks JSON Lines on its standard input
// and output (docs/process-instrument.md). In a campaign file a bare list stands
// for the command.
type ProcessInstrument struct {
	// Command is the program and its arguments. A relative path with a slash is
	// relative to the campaign file.
	Command []string `json:"command" jsonschema:"required,minItems=1"`
	// Dir is the working directory. Default: the folder of the campaign file.
	Dir string `json:"dir,omitempty"`
	// Env holds further environment variables.
	Env map[string]string `json:"env,omitempty"`
	// ReplyWithin is how long the program may take to answer anything but a
	// measurement. Default "10s".
	ReplyWithin Duration `json:"reply_within,omitempty"`
	// Settings are passed to the program with the handshake.
	Settings map[string]any `json:"settings,omitempty"`
}

// Expert is a person, or a simulated one, who answers questions.
type Expert struct {
	// Name of the expert, for example "ada".
	Name string `json:"name" jsonschema:"required,pattern=^[A-Za-z0-9][A-Za-z0-9._-]*$,maxLength=64"`

	Simulated *SimulatedExpert `json:"simulated,omitempty"`
	Terminal  *TerminalExpert  `json:"terminal,omitempty"`

	// AnswerWithin is how long a question waits before the campaign goes on
	// without it. Default "2m" for people; simulated experts answer at once.
	AnswerWithin Duration `json:"answer_within,omitempty"`
}

// SimulatedExpert rejects a composition of rank ρ with probability S(aρ), where
// ρ scales the task's objective over the space to [−3, 3], good to bad (Xu et
// al. 2024, Example 2.2).
type SimulatedExpert struct {
	// Accuracy is a: 2 expert, 1 good, 0 guesses, −2 adversary. Default 1.
	Accuracy *float64 `json:"accuracy,omitempty"`
	// Task the expert knows. Default: the simulated instrument's.
	Task string `json:"task,omitempty"`
	// UnsureRate is the probability of "can't tell". Default 0.
	UnsureRate float64 `json:"unsure_rate,omitempty" jsonschema:"minimum=0,maximum=1"`
	// Latency of each answer. Default 0.
	Latency Duration `json:"latency,omitempty"`
}

// TerminalExpert is asked in the terminal that runs the campaign.
type TerminalExpert struct{}

// Duration is a span of time written as in "90s", "15m", "36h".
type Duration time.Duration

// MarshalJSON writes the duration as a string.
func (d Duration) MarshalJSON() ([]byte, error) {
	return json.Marshal(time.Duration(d).String())
}

// UnmarshalJSON reads a string such as "15m".
func (d *Duration) UnmarshalJSON(data []byte) error {
	var s string
	if err := json.Unmarshal(data, &s); err != nil {
		return fmt.Errorf("%s is not a duration: write it with a unit, for example \"15m\"", data)
	}
	v, err := time.ParseDuration(s)
	if err != nil || v < 0 {
		return fmt.Errorf("%q is not a duration: write it with a unit, for example \"90s\", \"15m\" or \"36h\"", s)
	}
	*d = Duration(v)
	return nil
}
