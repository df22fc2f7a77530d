package definition

import "time"

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
	// Infeasible lists regions whose compositions cannot be measured.
	Infeasible []Region `json:"infeasible,omitempty"`
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
	// Environment names variables of campaignd's own environment that the program
	// gets beside the harmless ones (PATH, HOME, LANG, PYTHONPATH, …), whatever they
	// hold: what it needs of the shell's secrets is named here, and never recorded.
	Environment []string `json:"environment,omitempty" jsonschema:"uniqueItems=true"`
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

	// Anchors are compositions at which the expert trusts their own judgement
	// (Sinaga et al. 2026, §4).
	Anchors []Point `json:"anchors,omitempty"`
	// Belief is where the expert expects the best composition, for feedback: gaussian.
	Belief *StatedBelief `json:"belief,omitempty"`

	// AnswerWithin is how long a question waits before the campaign goes on
	// without it. Default "2m" for people, no limit where nothing is measured or
	// where the experiments are run by hand, a suggestion at a time; simulated
	// experts answer at once.
	AnswerWithin Duration `json:"answer_within,omitempty"`
}

// DefaultAnswerWithin is how long a person at a terminal is waited for who is
// given no other time, in a campaign that goes on by itself.
const DefaultAnswerWithin = Duration(2 * time.Minute)

// StatedBelief is a normal distribution over the numeric parameters (Xu et al.
// 2024, App. H). In categorical parameters it says nothing.
type StatedBelief struct {
	// Mean is the composition that is expected to be best.
	Mean Point `json:"mean" jsonschema:"required"`
	// SD is the standard deviation of each parameter, in its unit.
	SD map[string]float64 `json:"sd" jsonschema:"required,minProperties=1"`
}

// SimulatedExpert rejects a composition of rank ρ with probability S(aρ), where
// ρ scales the task's objective over the space to [−3, 3], good to bad (Xu et
// al. 2024, Example 2.2). Of two compositions it prefers the one of rank ρ to
// that of rank ρ' with probability S(a(ρ' − ρ)).
type SimulatedExpert struct {
	// Accuracy is a: 2 expert, 1 good, 0 guesses, −2 adversary. Default 1.
	Accuracy *float64 `json:"accuracy,omitempty"`
	// ChoiceNoise makes comparisons of the objective itself instead, each side with normal
	// noise of this standard deviation, in the objective's unit (Adachi et al.
	// 2024, §5); a negative Accuracy takes the other side.
	ChoiceNoise *float64 `json:"choice_noise,omitempty" jsonschema:"minimum=0"`
	// Anchored makes comparisons of the objective itself too, each side with normal noise
	// whose variance, in the square of the objective's unit, is that of the campaign's
	// model.utility around the expert's own anchors, a·exp(−q), whatever the link
	// (Sinaga et al. 2026, Eq. 6): small near an anchor, a far from all. Not with ChoiceNoise.
	Anchored bool `json:"anchored,omitempty"`
	// Task the expert knows. Default: the simulated instrument's.
	Task string `json:"task,omitempty"`
	// UnsureRate is the probability of "can't tell". Default 0.
	UnsureRate float64 `json:"unsure_rate,omitempty" jsonschema:"minimum=0,maximum=1"`
	// Latency of each answer. Default 0.
	Latency Duration `json:"latency,omitempty"`
}

// TerminalExpert is asked in the terminal that runs the campaign.
type TerminalExpert struct{}
