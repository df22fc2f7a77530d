package events

import (
	"cmp"
	"slices"
	"time"

	"github.com/campaignd/campaignd/events/definition"
)

// Origin is where an experiment came from.
type Origin string

const (
	OriginInitial Origin = "initial" // the initial design
	OriginPolicy  Origin = "policy"  // a decision
	OriginPerson  Origin = "person"  // suggest and tell: a person ran it on their own
	OriginImport  Origin = "import"  // measured elsewhere, before or during the campaign
	// A reference experiment, to see a drift of the instrument: outside of the budget and of models.
	OriginReference Origin = "reference"
)

// ExperimentRequested says that an experiment shall be run. It is the intent:
// it precedes every effect.
type ExperimentRequested struct {
	// Experiment is the identifier, "e1", "e2", … in order of request.
	Experiment string `json:"experiment"`
	// Parameters is the composition asked for.
	Parameters definition.Point `json:"parameters"`
	Origin     Origin           `json:"origin"`
	// Decision is the decision that asked for it, or empty.
	Decision string `json:"decision,omitempty"`
	// Replicate counts runs of the same composition, from 1.
	Replicate int `json:"replicate"`
}

// ExperimentDispatched says that the command was handed to an instrument. It is
// durable before the instrument sees the command.
type ExperimentDispatched struct {
	Experiment string `json:"experiment"`
	// Command identifies the physical action for ever; an instrument performs
	// one command at most once.
	Command    string `json:"command"`
	Instrument string `json:"instrument"`
	// Identity names the device, as the instrument described it then.
	Identity string `json:"identity,omitempty"`
	// Drawn are the parts of the campaign's stocks that the command uses up, in the order of their names. It
	// stays used up, whatever becomes of the command. Since version 2 of the payload.
	Drawn []Drawn `json:"drawn,omitempty"`
}

// SchemaVersion implements [Versioned]. A program that knows version 1 alone would hand out again
// what was drawn.
func (p ExperimentDispatched) SchemaVersion() int {
	if p.Drawn == nil {
		return 1
	}
	return 2
}

// Drawn is a part of a stock: labels, or an amount.
type Drawn struct {
	Stock  string   `json:"stock"`
	Labels []string `json:"labels,omitempty"`
	Amount float64  `json:"amount,omitempty"`
	Unit   string   `json:"unit,omitempty"`
}

// ExperimentStarted says that the instrument confirmed the command.
type ExperimentStarted struct {
	Experiment string `json:"experiment"`
	Command    string `json:"command"`
	Instrument string `json:"instrument"`
}

// Measurement is the result of an experiment.
type Measurement struct {
	// Actual is the composition that was really made: what the model learns
	// from.
	Actual definition.Point `json:"actual"`
	// Objective is the measured objective, in the campaign's unit. It is empty
	// where the campaign declares its quantities: see Quantities.
	Objective definition.Quantity `json:"objective,omitzero"`
	// Further holds any other quantities, in the instrument's order.
	Further []definition.Quantity `json:"further,omitempty"`
	// Identity names the device: model, serial number, firmware, calibration.
	Identity string `json:"identity,omitempty"`
	// Began and Ended are the instrument's own clock.
	Began time.Time `json:"began,omitzero"`
	Ended time.Time `json:"ended,omitzero"`
	// Unread holds what else the instrument wrote and the program could not
	// use: no model reads it, and it costs no result.
	Unread []Unread `json:"unread,omitempty"`
	// Quantities are the values of the quantities that the campaign declares, in
	// the order of the definition; with them Objective is empty. At least one is
	// there, or is to arrive later: that is in neither list. Since version 2 of
	// the payload.
	Quantities []definition.Quantity `json:"quantities,omitempty"`
	// Missing are those of them that this measurement did not give.
	Missing []Missing `json:"missing,omitempty"`
}

// Missing is a declared quantity without a value.
type Missing struct {
	Name string `json:"name"`
	// Reason says why: the instrument did not report it, or what it reported
	// cannot be used.
	Reason string `json:"reason"`
}

// Of is the value of a quantity, by name, as it was recorded; ok is false where
// the measurement does not have it.
func (m *Measurement) Of(name string) (value definition.Quantity, ok bool) {
	for _, q := range m.All() {
		if q.Name == name {
			return q, true
		}
	}
	return definition.Quantity{}, false
}

// All are the quantities that have a value, in the order in which they are
// recorded: the objective, the declared and the further ones.
func (m *Measurement) All() []definition.Quantity {
	all := slices.Concat(m.Quantities, m.Further)
	if m.Objective != (definition.Quantity{}) {
		all = slices.Insert(all, 0, m.Objective)
	}
	return all
}

// version of a payload with the measurement: a program that knows version 1 alone looks for the
// objective, and a campaign that declares no quantities goes on writing it. Where every value is
// still to arrive, the objective is absent as well.
func (m *Measurement) version() int {
	if m == nil || m.Objective != (definition.Quantity{}) {
		return 1
	}
	return 2
}

// Unread is a part of an instrument's answer that is not understood, or is
// faulty, and does not concern the objective.
type Unread struct {
	// Field is where it stood, for example "further 1 (lot)" or "files".
	Field string `json:"field"`
	// Text that was read there, JSON as text.
	Text string `json:"text"`
	// Reason says why it could not be used.
	Reason string `json:"reason"`
}

// ExperimentMeasured is a result that was accepted into the campaign.
type ExperimentMeasured struct {
	Experiment string `json:"experiment"`
	Command    string `json:"command,omitempty"`
	Instrument string `json:"instrument"`
	// Requested is the composition asked for.
	Requested definition.Point `json:"requested"`
	Measurement
}

// QuantityArrived says that a quantity of a measured experiment has come after
// its end, or that it will not: exactly one of Quantity and Missing is set.
type QuantityArrived struct {
	Experiment string `json:"experiment"`
	Command    string `json:"command,omitempty"`
	// Instrument is who reported it, "person" for a person; empty where the engine
	// says that it did not come in time.
	Instrument string `json:"instrument,omitempty"`
	// Quantity is the value, in the campaign's unit.
	Quantity *definition.Quantity `json:"quantity,omitempty"`
	// Missing names the quantity that has no value, and why.
	Missing *Missing `json:"missing,omitempty"`
	// Unread is a value that was reported and cannot be used.
	Unread []Unread `json:"unread,omitempty"`
}

// Name is that of the quantity, empty where the event names none.
func (p *QuantityArrived) Name() string {
	switch {
	case p.Quantity != nil:
		return p.Quantity.Name
	case p.Missing != nil:
		return p.Missing.Name
	}
	return ""
}

// ExperimentFailed says that the experiment ended without a usable result. Values measured before
// the failure are not a result, and never the best.
type ExperimentFailed struct {
	Experiment string `json:"experiment"`
	Command    string `json:"command,omitempty"`
	Instrument string `json:"instrument"`
	// Cause says why, in the instrument's or the engine's words.
	Cause string `json:"cause"`
	// Rejected is the instrument's answer where the engine refused it (wrong unit, NaN, out of
	// range): JSON as text, kept for the record.
	Rejected string `json:"rejected,omitempty"`
	// Measurement holds the values given before the failure, in a campaign that declares its
	// quantities: they enter the models of their quantities, the failure enters the feasibility
	// model.
	Measurement *Measurement `json:"measurement,omitempty"`
}

// ExperimentCancelled says that the experiment was called off and did not take
// place.
type ExperimentCancelled struct {
	Experiment string `json:"experiment"`
	Command    string `json:"command,omitempty"`
	Reason     string `json:"reason"`
	// Once is set where it was to repeat a measurement in doubt, and the
	// instrument can measure the composition only once: no fault of the
	// instrument.
	Once bool `json:"once,omitempty"`
}

// ExperimentUnresolved says that it is unknown whether the physical action took
// place. It waits for a person and is never repeated blindly.
type ExperimentUnresolved struct {
	Experiment string `json:"experiment"`
	Command    string `json:"command"`
	Instrument string `json:"instrument"`
	Cause      string `json:"cause"`
}

// Resolution is an outcome that a person names: of an experiment whose fate is
// unknown, or of one whose outcome is corrected.
type Resolution string

const (
	// ResolvedDone is for acts of a procedure, and in no event about an experiment.
	ResolvedDone         Resolution = "done"
	ResolvedMeasured     Resolution = "measured"      // it took place and this is the result
	ResolvedFailed       Resolution = "failed"        // it took place and gave no result
	ResolvedInfeasible   Resolution = "infeasible"    // it took place and showed that the composition cannot be made or measured
	ResolvedNotPerformed Resolution = "not-performed" // it did not take place
)

// ExperimentResolved is a person's word on an unresolved experiment.
type ExperimentResolved struct {
	Experiment string     `json:"experiment"`
	Resolution Resolution `json:"resolution"`
	// Measurement is set where Resolution is "measured"; where it is "failed" it is
	// as in [ExperimentFailed].
	Measurement *Measurement `json:"measurement,omitempty"`
	// Repeat asks for the same composition again, as a new experiment.
	Repeat bool   `json:"repeat,omitempty"`
	Reason string `json:"reason,omitempty"`
}

// ExperimentInfeasible says that the composition cannot be made or measured at all: "can't". The
// feasibility model learns from it.
type ExperimentInfeasible struct {
	Experiment string `json:"experiment"`
	Command    string `json:"command,omitempty"`
	Instrument string `json:"instrument"`
	// Cause says why, in the instrument's or the person's words.
	Cause string `json:"cause"`
}

// ExperimentDeferred says that the experiment did not take place for a reason
// that has nothing to do with the composition: "try again". Nothing is learned;
// the engine requests it again.
type ExperimentDeferred struct {
	Experiment string `json:"experiment"`
	Command    string `json:"command,omitempty"`
	Instrument string `json:"instrument"`
	Cause      string `json:"cause"`
}

// RegionExcluded is a person's word that nothing in the region is to be
// suggested any more, until a person allows it again.
type RegionExcluded struct {
	// Exclusion is the identifier, "n1", "n2", … in order.
	Exclusion string `json:"exclusion"`
	// Region is the box that is excluded.
	Region definition.Region `json:"region"`
	// About names the question or experiment that led to it, or is empty.
	About string `json:"about,omitempty"`
	// Reason is the person's reason; it is required.
	Reason string `json:"reason"`
}

// RegionAllowed takes an exclusion back.
type RegionAllowed struct {
	Exclusion string `json:"exclusion"`
	Reason    string `json:"reason,omitempty"`
}

// Verdict is the judgement of a doubted measurement.
type Verdict string

const (
	VerdictSuspect    Verdict = "suspect"    // it contradicts the model: it is to be repeated
	VerdictConfirmed  Verdict = "confirmed"  // the repetition agrees with it
	VerdictOverturned Verdict = "overturned" // the repetition contradicts it: the models leave it out
	// What was made is not what was asked for: it counts where it was made, and
	// judges no other measurement.
	VerdictElsewhere Verdict = "elsewhere"
	// It was doubted, and the instrument cannot measure the composition again:
	// it counts, and the doubt stays until a person decides.
	VerdictKept Verdict = "kept"
	// It equals the one before of another composition, bit for bit: it counts,
	// and a person should look whether it is a value of its own.
	VerdictSame Verdict = "same"
	// It is a reference experiment, and outside the limits of its control chart: the
	// instrument may have drifted.
	VerdictDrift Verdict = "drift"
)

// MeasurementsJudged says what was expected of measurements, each from those of
// other compositions. The engine's doubts follow from it.
type MeasurementsJudged struct {
	// Build is the program that worked it out.
	Build Build `json:"build"`
	// Version is that of the models, raised whenever the same observations
	// could lead to another judgment; absent stands for 1.
	Version int `json:"version,omitempty"`
	// Expected has an entry for each measurement that had a prediction.
	Expected []Expected `json:"expected,omitempty"`
}

// Expected is the prediction of one measurement.
type Expected struct {
	Experiment string `json:"experiment"`
	// Predicted is of the measured value, noise included.
	Predicted Prediction `json:"predicted"`
	// Noise is the standard deviation of one measurement, Spread that of the
	// measurements it rests on, both in the objective's unit.
	Noise  float64 `json:"noise"`
	Spread float64 `json:"spread"`
	// Observations counts those measurements.
	Observations int `json:"observations"`
	// Fit is the fit without the measurement, where one was made; else the
	// hyperparameters are those of the campaign's last fit.
	Fit *ObjectiveFit `json:"fit,omitempty"`
}

// MeasurementFlagged is the engine's doubt about a measurement, or what a
// repetition made of that doubt.
type MeasurementFlagged struct {
	Experiment string  `json:"experiment"`
	Verdict    Verdict `json:"verdict"`
	// Predicted is the model's prediction there without this composition's measurements, noise
	// included.
	Predicted Prediction `json:"predicted"`
	// Deviation is (measured − predicted mean)/predicted sd.
	Deviation float64 `json:"deviation"`
	// Repetition is the experiment that is to settle it, or has.
	Repetition string `json:"repetition,omitempty"`
	// Reason says it in a sentence.
	Reason string `json:"reason"`
	// Quantity is the doubted quantity. It is empty where the campaign declares none, and where the
	// objective is computed: it is then unknown which quantity is wrong, and the whole measurement
	// is doubted.
	Quantity string `json:"quantity,omitempty"`
}

// MeasurementCorrected replaces what an earlier event said was measured, or
// excludes it. The earlier event stays.
type MeasurementCorrected struct {
	Experiment string `json:"experiment"`
	// Corrects is the ID of the event whose content is corrected.
	Corrects string `json:"corrects"`
	// Old and New are the objective before and after; New is absent where the
	// measurement is excluded. Both are absent where the campaign declares its
	// quantities: see Values.
	Old definition.Quantity  `json:"old,omitzero"`
	New *definition.Quantity `json:"new,omitempty"`
	// Actual is the corrected composition, where it changes.
	Actual definition.Point `json:"actual,omitempty"`
	// Further holds the further quantities that are corrected or added; those
	// it does not name stay.
	Further []definition.Quantity `json:"further,omitempty"`
	// Excluded takes the measurement out of the models.
	Excluded bool `json:"excluded,omitempty"`
	// Reason is the person's reason; it is required.
	Reason string `json:"reason"`
	// Values are corrections of declared quantities, one by one; what they do
	// not name stays. Since version 2.
	Values []QuantityCorrected `json:"values,omitempty"`
}

// QuantityCorrected is a correction of one declared quantity.
type QuantityCorrected struct {
	Name string `json:"name"`
	// Old is the measured value; absent where the quantity was missing.
	Old *definition.Quantity `json:"old,omitempty"`
	// New is the value that counts from now on; absent where the value stays.
	New *definition.Quantity `json:"new,omitempty"`
	// Excluded takes the value out of the models, and leaves the others.
	Excluded bool `json:"excluded,omitempty"`
}

// ExperimentCorrected replaces the outcome of an experiment that has ended by
// another, or says that a failure teaches nothing. The earlier event stays.
// Where the outcome was a measurement and stays one, [MeasurementCorrected]
// says what changes.
type ExperimentCorrected struct {
	Experiment string `json:"experiment"`
	// Supersedes is the ID of the event in which the outcome stands.
	Supersedes string `json:"supersedes"`
	// Was and Outcome are the outcome before and after.
	Was     Resolution `json:"was"`
	Outcome Resolution `json:"outcome"`
	// Measurement is set where Outcome is "measured"; where it is "failed" it is as
	// in [ExperimentFailed].
	Measurement *Measurement `json:"measurement,omitempty"`
	// Excluded takes the outcome out of the models.
	Excluded bool `json:"excluded,omitempty"`
	// Reason is the person's reason; it is required.
	Reason string `json:"reason"`
}

// InstrumentStalled says that an instrument has been silent for longer than the
// campaign allows.
type InstrumentStalled struct {
	Experiment string `json:"experiment,omitempty"`
	// Act is that of a campaign with a procedure; then no experiment is named.
	Act        string `json:"act,omitempty"`
	Command    string `json:"command"`
	Instrument string `json:"instrument"`
	// Waited is how long, in seconds.
	Waited float64 `json:"waited"`
}

// Commanded is the payload of an event about one command to an instrument.
type Commanded interface {
	Payload
	// CommandID is the command's identifier, empty where the event names none.
	CommandID() string
}

func (p ExperimentStarted) CommandID() string    { return p.Command }
func (p ExperimentMeasured) CommandID() string   { return p.Command }
func (p QuantityArrived) CommandID() string      { return p.Command }
func (p ExperimentFailed) CommandID() string     { return p.Command }
func (p ExperimentInfeasible) CommandID() string { return p.Command }
func (p ExperimentDeferred) CommandID() string   { return p.Command }
func (p ExperimentCancelled) CommandID() string  { return p.Command }
func (p ExperimentUnresolved) CommandID() string { return p.Command }
func (p InstrumentStalled) CommandID() string    { return p.Command }

// SchemaVersion implements [Versioned].
func (p ExperimentMeasured) SchemaVersion() int { return p.version() }

// SchemaVersion implements [Versioned].
func (p ExperimentResolved) SchemaVersion() int { return p.Measurement.version() }

// SchemaVersion implements [Versioned].
func (p ExperimentCorrected) SchemaVersion() int { return p.Measurement.version() }

// SchemaVersion implements [Versioned].
func (p MeasurementCorrected) SchemaVersion() int {
	if len(p.Values) > 0 {
		return 2
	}
	return 1
}

func (p ExperimentRequested) Subject() string  { return p.Experiment }
func (p ExperimentDispatched) Subject() string { return p.Experiment }
func (p ExperimentStarted) Subject() string    { return p.Experiment }
func (p ExperimentMeasured) Subject() string   { return p.Experiment }
func (p QuantityArrived) Subject() string      { return p.Experiment }
func (p ExperimentFailed) Subject() string     { return p.Experiment }
func (p ExperimentCancelled) Subject() string  { return p.Experiment }
func (p ExperimentUnresolved) Subject() string { return p.Experiment }
func (p ExperimentResolved) Subject() string   { return p.Experiment }
func (p MeasurementCorrected) Subject() string { return p.Experiment }
func (p ExperimentCorrected) Subject() string  { return p.Experiment }
func (p ExperimentInfeasible) Subject() string { return p.Experiment }
func (p ExperimentDeferred) Subject() string   { return p.Experiment }
func (p RegionExcluded) Subject() string       { return p.Exclusion }
func (p RegionAllowed) Subject() string        { return p.Exclusion }
func (MeasurementsJudged) Subject() string     { return "" }
func (p MeasurementFlagged) Subject() string   { return p.Experiment }
func (p InstrumentStalled) Subject() string    { return cmp.Or(p.Experiment, p.Act) }
