package definition

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Definition describes a campaign: the parameters, the objective, the method that chooses the next
// step, the experts and the instrument. It is the content of a campaign file; internal/files/campaignfile
// reads, completes and checks it. In an event every default is written out.
type Campaign struct {
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
	// Candidates lists the only compositions that may be measured. Absent:
	// every composition of the space; with a table instrument: its rows.
	Candidates []Point `json:"candidates,omitempty"`
	// Excluded regions, in which nothing is suggested.
	Excluded []Region `json:"excluded,omitempty"`
	// Objective that is sought.
	Objective Objective `json:"objective" jsonschema:"required"`
	// Quantities that an experiment gives, each by its name: with the
	// objective among them, or apart from it. Absent: the objective alone is read, and
	// what else the instrument reports is recorded as it comes.
	Quantities []QuantityDef `json:"quantities,omitempty" jsonschema:"maxItems=32"`
	// ConstraintsOnOutcomes bound what an experiment gives. Only compositions that
	// probably keep all of them count as the best. In a campaign file a bare text
	// stands for a constraint with the default confidence.
	ConstraintsOnOutcomes []OutcomeConstraint `json:"constraints_on_outcomes,omitempty" jsonschema:"maxItems=16"`
	// Reference that constraints on outcomes compare with.
	Reference Reference `json:"reference,omitzero"`
	// ReferenceExperiments are measured again and again, by name, so that a drift of the instrument
	// shows: outside of the budget and of all models. Other than Reference, they are compared with
	// themselves alone.
	ReferenceExperiments map[string]ReferenceExperiment `json:"reference_experiments,omitempty" jsonschema:"maxProperties=16"`
	// Model of the objective.
	Model Model `json:"model,omitzero"`
	// Initial design, before the policy takes over.
	Initial Initial `json:"initial,omitzero"`
	// Policy that chooses the next step.
	Policy Policy `json:"policy,omitzero"`
	// Cost of an experiment: of what it takes, not of what it makes.
	Cost Cost `json:"cost,omitzero"`
	// Fidelity is the parameter by which an experiment becomes cheaper and tells less about the
	// objective. Absent: all experiments tell the same.
	Fidelity Fidelity `json:"fidelity,omitzero"`
	// Budget after which the campaign completes.
	Budget Budget `json:"budget" jsonschema:"required"`
	// Stop is a rule by which the campaign completes before its budget is
	// spent.
	Stop Stop `json:"stop,omitzero"`
	// Parallel is how many experiments may be open at once; the instrument may
	// limit it further. Default 1.
	Parallel int `json:"parallel,omitempty" jsonschema:"minimum=1,maximum=384"`
	// Outliers is the treatment of a measurement that contradicts the model.
	Outliers Outliers `json:"outliers,omitzero"`
	// Replicates is how often each composition is measured. Default 1.
	Replicates int `json:"replicates,omitempty" jsonschema:"minimum=1"`
	// Instrument that measures. Absent where policy.duel is set: the experts'
	// comparisons are the objective, and nothing is measured.
	Instrument Instrument `json:"instrument,omitzero"`
	// Instruments take its place where an experiment needs several, by the names that the
	// procedure uses.
	Instruments map[string]Instrument `json:"instruments,omitempty"`
	// Procedure lists the stages of an experiment. In a campaign file a mapping, in
	// the order in which it is written. Absent: one act, at the instrument.
	Procedure []Stage `json:"procedure,omitempty" jsonschema:"maxItems=64"`
	// Batch says which experiments go through the procedure together.
	Batch Batch `json:"batch,omitzero"`
	// Places are what only so many batches can occupy at once, an oven or a press, in the order in
	// which they may be held: a batch that holds one waits for later ones alone.
	Places []Place `json:"places,omitempty" jsonschema:"maxItems=64"`
	// Stocks are what commands to the instrument use up, by name: how much of each,
	// instrument.draws says.
	Stocks map[string]Stock `json:"stocks,omitempty"`
	// Experts who are asked. None: the campaign runs without questions. Several
	// take turns, one for each experiment, and each has a belief and a trust of
	// their own.
	Experts []Expert `json:"experts,omitempty"`
	// Barred are the regions that people have excluded since, and not allowed again.
	// No event records them here: the fold of the campaign sets them, for writers of
	// compositions, which round values away from them.
	Barred []Region `json:"-"`
}

// Measures reports whether an instrument measures the objective. In a campaign
// that does not, what experts prefer is the objective.
func (c *Campaign) Measures() bool { return c.Policy.Measures() }

// Sought is the quantity that the campaign seeks, of a trade-off the first. What
// compares, models or writes results asks for it once and passes it on: only the
// fields of a definition know that there is one.
func (c *Campaign) Sought() Objective {
	o := c.Objective
	for i := range c.Quantities {
		if q := &c.Quantities[i]; q.Name == o.Name {
			o.Unit = q.Unit
			o.Noise = q.Noise
			o.RelativeNoise = q.RelativeNoise
			o.Min, o.Max = q.Min, q.Max
		}
	}
	return o
}

// Driver names what measures, with its settings.
func (c *Campaign) Driver() Choice { return c.Instrument.Driver }

// ByHand reports whether a person carries the experiments out.
func (c *Campaign) ByHand() bool { return c.Instrument.ByHand }

// Steps are the resolutions that compositions are dosed in, by parameter: see
// [Instrument.Steps]. In a procedure they are those of all instruments.
func (c *Campaign) Steps() map[string]float64 {
	if len(c.Procedure) == 0 {
		return c.Instrument.Steps
	}
	steps := make(map[string]float64)
	for _, in := range c.Instruments {
		maps.Copy(steps, in.Steps)
	}
	return steps
}

// Draws says how much each command to the instrument uses up, by stock: see [Instrument.Draws].
func (c *Campaign) Draws() map[string]Draw { return c.Instrument.Draws }

// LabStocks are the names of the stocks of the lab that the campaign draws from, in order.
func (c *Campaign) LabStocks() (names []string) {
	for _, stock := range c.Stocks {
		if stock.Lab != "" {
			names = append(names, stock.Lab)
		}
	}
	slices.Sort(names)
	return names
}

// Parameter is one thing that may be varied: continuous (min and max), discrete
// numeric (values) or categorical (categories).
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
	Terms map[string]float64 `json:"terms" jsonschema:"required"`
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
	// Where maps numeric parameters to closed intervals and categorical ones to
	// names.
	Where map[string]RegionSide `json:"where" jsonschema:"required"`
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

// Objective is the quantity that is sought, the formula or the desirability of
// several, the trade-off between them, or what an expert prefers among them.
type Objective struct {
	// Name of the quantity as the instrument reports it. Default of a formula:
	// its text; of a desirability: "desirability". That of a trade-off is the
	// name of its first aim, that of a preference the first quantity that is
	// measured.
	Name string `json:"name" jsonschema:"required"`
	// Formula of declared quantities and numeric parameters, whose value is
	// sought: "conductivity / sqrt(viscosity)". It is computed from what was
	// measured and never recorded, so that it can be changed over the past.
	// Absent: the quantity Name is sought.
	Formula string `json:"formula,omitempty" jsonschema:"maxLength=2000"`
	// Desirability is the weighted geometric mean of what several quantities are
	// worth, from 0 to 1, which is maximized (Derringer and Suich 1980). Like a
	// formula it is computed from what was measured.
	Desirability []Desire `json:"desirability,omitempty" jsonschema:"maxItems=8"`
	// Tradeoff are two to four quantities that are traded off against each other. The objective is
	// the front: the compositions that no other one beats in all of the quantities.
	Tradeoff []Aim `json:"tradeoff,omitempty" jsonschema:"minItems=2,maxItems=4"`
	// Preference are quantities that an expert compares: the objective is the outcome that the
	// expert values most.
	Preference *Preference `json:"preference,omitempty"`
	// Unit the instrument must report it in; of a formula it follows from those of
	// its names.
	Unit string `json:"unit,omitempty"`
	// Goal is "maximize" or "minimize".
	Goal string `json:"goal" jsonschema:"required,enum=maximize,enum=minimize"`
	// Noise is the standard deviation of one measurement, in Unit, where it is
	// known. Absent: inferred from the measurements.
	Noise *float64 `json:"noise,omitempty" jsonschema:"minimum=0"`
	// RelativeNoise is that as a part of each measured value. In a campaign file it
	// stands as noise, in per cent: noise: 2%.
	RelativeNoise *float64 `json:"relative_noise,omitempty" jsonschema:"exclusiveMinimum=0,maximum=1"`
	// Min and Max are the range of plausible results: a measurement outside is
	// refused and the experiment counts as failed. Absent: no limit.
	Min *float64 `json:"min,omitempty"`
	Max *float64 `json:"max,omitempty"`
}

// Better reports whether one value of the quantity is better than another:
// never of equals.
func (o Objective) Better(value, than float64) bool {
	if o.Goal == Maximize {
		return value > than
	}
	return value < than
}

// Sign is the factor that makes smaller values better: -1 where the quantity is maximized, 1 where
// it is minimized.
func (o Objective) Sign() float64 {
	if o.Goal == Maximize {
		return -1
	}
	return 1
}

// Regret is by how much a value is worse than the best one; negative where it
// is better.
func (o Objective) Regret(value, best float64) float64 {
	if o.Goal == Maximize {
		return best - value
	}
	return value - best
}

// Pick returns the word for a quantity that is maximized, or that for one that
// is minimized: "highest" or "lowest".
func (o Objective) Pick(maximized, minimized string) string {
	if o.Goal == Maximize {
		return maximized
	}
	return minimized
}

// SD is the standard deviation of one measurement of a value, in Unit, where it is
// known beforehand; nil where it is not.
func (o Objective) SD(value float64) *float64 {
	if o.RelativeNoise == nil {
		return o.Noise
	}
	sd := *o.RelativeNoise * math.Abs(value)
	return &sd
}

// Quantity is a value of it, with its standard deviation where that is known.
func (o Objective) Quantity(value float64, sd *float64) Quantity {
	return Quantity{Name: o.Name, Value: value, Unit: o.Unit, SD: sd}
}

// Actions on a measurement that contradicts the model.
const (
	OutlierRepeat = "repeat" // measure the composition again; confirmed values count
	OutlierFlag   = "flag"   // say so, and go on
	OutlierIgnore = "ignore"
)

// Outliers configures the check of each measurement against what the model
// expects without it.
type Outliers struct {
	// Action is "repeat" (default), "flag" or "ignore".
	Action string `json:"action,omitempty" jsonschema:"enum=repeat,enum=flag,enum=ignore"`
	// Threshold is the deviation, in standard deviations of the prediction,
	// from which a measurement is suspect. Default 4.
	Threshold *float64 `json:"threshold,omitempty" jsonschema:"exclusiveMinimum=0"`
}

// Links between utilities and comparisons.
const (
	LinkProbit   = "probit"   // Sinaga et al. 2026, Eq. 3
	LinkLogistic = "logistic" // Sinaga et al. 2026, Eq. 4
)

// Approximations of the posterior of a utility.
const (
	PosteriorLaplace     = "laplace"     // Laplace's approximation
	PosteriorEP          = "ep"          // expectation propagation; probit only
	PosteriorHallucinate = "hallucinate" // hallucination believer; probit only
)

// What is done about the prior variance of a utility.
const (
	ScaleLearned = "learned"
	ScaleFixed   = "fixed"
)

// Utility configures the model of a utility that is known from comparisons
// alone, and of where the expert's judgment is reliable: near the anchors they
// name (Sinaga et al. 2026).
type Utility struct {
	// Link is "probit" (default) or "logistic".
	Link string `json:"link,omitempty" jsonschema:"enum=probit,enum=logistic"`
	// Posterior is "laplace", "ep" or "hallucinate". Default "ep"; with the
	// logistic link "laplace".
	Posterior string `json:"posterior,omitempty" jsonschema:"enum=laplace,enum=ep,enum=hallucinate"`
	// Noise is the amplitude a of the noise far from every anchor: the variance
	// of a judged utility with the probit link, its scale with the logistic
	// one. Default 1. With a learned output scale it is the unit that utilities
	// are in: only rules that subtract a variance from a utility (raeubo,
	// rahbo) then depend on it.
	Noise *float64 `json:"noise,omitempty" jsonschema:"exclusiveMinimum=0"`
	// OutputScale is "learned" (default): the prior variance of the utility and
	// the lengthscales are fitted, each under a prior. "fixed" (default with
	// Paper): the variance is 1, the lengthscales are in [0.1, 1] without a
	// prior (Sinaga et al. 2026, App. G). Empty, as in the definitions of
	// 0.1.0, means fixed.
	OutputScale string `json:"output_scale,omitempty" jsonschema:"enum=learned,enum=fixed"`
	// Strength is how much less noise there is at the densest anchor:
	// a·exp(−strength). Default 4.
	Strength *float64 `json:"strength,omitempty" jsonschema:"minimum=0"`
	// Paper takes a·exp(−q) with the density q of the anchors as printed (Eq.
	// 6–8), bandwidth within [1, 2], in place of Strength.
	Paper bool `json:"paper,omitempty"`
	// RefitEvery is the number of comparisons after which hyperparameters are
	// fitted again. Default 5.
	RefitEvery *int `json:"refit_every,omitempty" jsonschema:"minimum=1"`
}

// Model configures the Gaussian process of the objective.
type Model struct {
	// Kernel is "rbf" (default), "matern52" or "matern32", always with one
	// lengthscale for each dimension.
	Kernel string `json:"kernel,omitempty" jsonschema:"enum=rbf,enum=matern52,enum=matern32"`
	// FreeOutputScale fits the prior variance as well instead of fixing it at
	// 1.
	FreeOutputScale bool `json:"free_output_scale,omitempty"`
	// Feasibility learns from failed and infeasible experiments where the next
	// would fail too, and keeps the policy away. Default true.
	Feasibility *bool `json:"feasibility,omitempty"`
	// Tails is "compress" (default) or "keep": the treatment of results that are far worse than
	// most. A few terrible ones make all differences among good ones small, and a model then takes
	// those for noise. Compressed, a result worse than the median counts by its logarithm, once
	// there are eight apart from one another, and the worst of those is more than 20 times as far
	// from their median as the best.
	//
	// Absent: "keep", as before Tails were introduced.
	Tails string `json:"tails,omitempty" jsonschema:"enum=compress,enum=keep"`
	// Intervals is "marginal" (default) or "fitted": the uncertainty that is reported with a
	// prediction. The hyperparameters are fitted, and few measurements leave them open: an sd that
	// takes them for known is too small. A marginal one averages over hyperparameters around the
	// fitted ones. Only reported predictions differ; decisions rest on the fitted hyperparameters
	// in any case.
	//
	// Absent: "fitted", as before Intervals were introduced.
	Intervals string `json:"intervals,omitempty" jsonschema:"enum=marginal,enum=fitted"`
	// Utility is known from comparisons, where policy.duel models one.
	Utility Utility `json:"utility,omitzero"`
}

// What becomes of results that are far worse than most.
const (
	TailsCompress = "compress"
	TailsKeep     = "keep"
)

// How sure of a prediction a model is said to be.
const (
	IntervalsMarginal = "marginal"
	IntervalsFitted   = "fitted"
)

// Initial designs.
const (
	DesignSobol    = "sobol"
	DesignCovering = "covering"
	DesignRandom   = "random"
	DesignPoints   = "points"
)

// Initial describes the experiments before the policy takes over.
type Initial struct {
	// Experiments is how many experiments the design holds. Default: the number
	// of given points, else two for each parameter that is free, and one for
	// each category without descriptors, where a quarter of the budget is
	// enough; 3 at least, and as many as may be under way at once.
	Experiments *int `json:"experiments,omitempty" jsonschema:"minimum=0"`
	// Design is "sobol" (default), "covering" (default where there are
	// categories), "random" or "points". "covering" is "sobol" with every
	// category at least once, or as many as there are experiments.
	Design string `json:"design,omitempty" jsonschema:"enum=sobol,enum=covering,enum=random,enum=points"`
	// Points of the design "points".
	Points []Point `json:"points,omitempty"`
	// Labels is how many labels each expert gives at first. Default 10 for
	// policies that use labels, 0 for others.
	Labels *int `json:"labels,omitempty" jsonschema:"minimum=0"`
	// Comparisons is how many comparisons each expert gives at first. Default,
	// for policies that use them: 100 where all experts are simulated, as in
	// Adachi et al. 2024, 10 where not; 8 for duels on a utility; else 0.
	Comparisons *int `json:"comparisons,omitempty" jsonschema:"minimum=0"`
	// Balanced asks for as many accepted as rejected examples instead of labels
	// at random points. Default true where there are experts and all are
	// simulated, false otherwise.
	Balanced *bool `json:"balanced,omitempty"`
	// Estimates is of how many compositions, spread evenly, each expert says at
	// first what they expect, all in one sitting: 2 to 100. Absent: what the
	// policy asks for; 0: none.
	Estimates *int `json:"estimates,omitempty" jsonschema:"minimum=0,maximum=100"`
	// Marks asks for estimates in marks from 1, the worst, to 5, the best,
	// instead of in the objective's unit.
	Marks bool `json:"marks,omitempty"`
	// Wait is how long the campaign waits for what people are asked at first,
	// where something is measured: until then, or until it is all answered, no
	// experiment beyond the initial ones is chosen; then the questions expire
	// and the campaign goes on, and a later answer still counts. Who
	// has an AnswerWithin has as long for each of their questions, one after
	// the other, but not beyond Wait. "0s" waits for nothing: the Meanwhile of
	// the experts says how far the campaign goes on. Default "72h" where a
	// person is asked; "0s" where nothing is measured.
	//
	// Absent: as it was before there was a Wait. People are asked one initial
	// question at a time, and their Meanwhile says how far the campaign goes
	// on.
	Wait *Duration `json:"wait,omitempty"`
}

// Budget limits the campaign. All counts include the initial ones.
type Budget struct {
	// Experiments is the number of experiments after which the campaign
	// completes. Required where there is an instrument.
	Experiments int `json:"experiments,omitempty" jsonschema:"minimum=1"`
	// Comparisons is the number of comparisons after which a campaign without
	// an instrument completes. Required there.
	Comparisons int `json:"comparisons,omitempty" jsonschema:"minimum=1"`
	// Cost is the most that all experiments may cost together, in the unit of the campaign's cost.
	// No experiment is chosen whose expected cost exceeds the remaining budget, and the campaign
	// completes once none can be chosen any more. Absent: no limit.
	Cost float64 `json:"cost,omitempty" jsonschema:"exclusiveMinimum=0"`
	// Labels is the number of questions after which no one is asked any more.
	// Absent: no limit.
	Labels *int `json:"labels,omitempty" jsonschema:"minimum=0"`
	// Time after which no new experiment is started, for example "36h". Absent:
	// no limit.
	Time Duration `json:"time,omitempty"`
}

// Stop describes when the campaign completes before its budget is spent.
type Stop struct {
	// Target completes the campaign once the posterior mean at the best
	// measured composition is at least as good, in the objective's unit.
	Target *float64 `json:"target,omitempty"`
	// Reach are bounds on quantities, "viscosity <= 5": they complete the campaign
	// once one measured composition keeps all of them with a probability of 0.9 or
	// more, by the models. In a campaign file they stand under target, one or a
	// list.
	Reach []string `json:"reach,omitempty" jsonschema:"maxItems=16"`
	// Window and Improvement complete the campaign once the best of the last
	// Window experiments improves on the best before them by less than
	// Improvement times the interquartile range of all measurements. Default of
	// Improvement 0.1; Window 0 (default) switches the rule off.
	Window      int      `json:"window,omitempty" jsonschema:"minimum=0"`
	Improvement *float64 `json:"improvement,omitempty" jsonschema:"minimum=0"`
	// Hypervolume completes a trade-off once its front has hardly grown.
	Hypervolume Growth `json:"hypervolume,omitzero"`
	// Gain completes a trade-off once each of the last three experiments that the
	// policy chose was expected to increase the hypervolume by less than this share
	// of it: 0.001, in a campaign file also 0.1%.
	Gain *float64 `json:"gain,omitempty" jsonschema:"exclusiveMinimum=0,maximum=1"`
}

// Growth is a rule by which a trade-off completes: the last Window experiments have
// increased the hypervolume of its front by less than Improvement, a share of what
// it was without them. Both are by the posterior means of today, and beyond
// today's worst values of interest.
type Growth struct {
	// Window is a number of experiments.
	Window int `json:"window" jsonschema:"required,minimum=1"`
	// Improvement is a share: 0.01, in a campaign file also 1%. Default 0.01.
	Improvement *float64 `json:"improvement,omitempty" jsonschema:"exclusiveMinimum=0,maximum=1"`
}

// GainTurns is of how many experiments in a row the expected gain has to be small.
const GainTurns = 3

// ByModels reports whether a rule reads the models.
func (s Stop) ByModels() bool {
	return s.Target != nil || s.Reach != nil || s.Hypervolume.Window > 0
}

// DurationPattern is a regular expression of a duration as it is written.
const DurationPattern = `^([0-9]+(\.[0-9]*)?(ns|us|µs|ms|s|m|h|d|w))+$`

// Duration is a span of time written as in "90s", "15m", "36h", "14d", "2w". A
// day has 24 hours.
type Duration time.Duration

// String writes the duration without parts that are zero: "10m", not "10m0s".
func (d Duration) String() string {
	text := time.Duration(d).String()
	for _, zero := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(text, zero) {
			text = text[:len(text)-2]
		}
	}
	return text
}

// Days is String in days, where the duration is of whole ones: "3d", not "72h".
func (d Duration) Days() string {
	const day = Duration(24 * time.Hour)
	if d >= day && d%day == 0 {
		return strconv.FormatInt(int64(d/day), 10) + "d"
	}
	return d.String()
}

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
	v, err := time.ParseDuration(inHours(s))
	if err != nil || v < 0 {
		return fmt.Errorf("%q is not a duration: write it with a unit, for example \"90s\", \"15m\", \"36h\" or \"14d\"", s)
	}
	*d = Duration(v)
	return nil
}

var longUnits = regexp.MustCompile(`([0-9]+(?:\.[0-9]*)?)([dw])`)

// inHours writes days and weeks as hours, which [time.ParseDuration] knows.
func inHours(s string) string {
	return longUnits.ReplaceAllStringFunc(s, func(part string) string {
		hours := 24.0
		if strings.HasSuffix(part, "w") {
			hours *= 7
		}
		count, err := strconv.ParseFloat(part[:len(part)-1], 64)
		if err != nil {
			return part
		}
		return strconv.FormatFloat(count*hours, 'f', -1, 64) + "h"
	})
}
