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
	// Experts who are asked. None: the campaign runs without questions. Several
	// take turns, one for each experiment, and each has a belief and a trust of
	// their own.
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
