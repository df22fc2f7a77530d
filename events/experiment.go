package events

import "time"

// Origins of an experiment.
const (
	OriginInitial = "initial" // the initial design
	OriginPolicy  = "policy"  // a decision
	OriginPerson  = "person"  // suggest and tell: a person ran it on their own
	OriginImport  = "import"  // measured before the campaign
)

// ExperimentRequested says that an experiment shall be run. It is the intent:
// it precedes every effect.
type ExperimentRequested struct {
	// Experiment is the identifier, "e1", "e2", … in order of request.
	Experiment string `json:"experiment"`
	// Parameters is the composition asked for.
	Parameters Point `json:"parameters"`
	// Origin is one of the Origin constants.
	Origin string `json:"origin"`
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
}

// ExperimentStarted says that the instrument confirmed the command.
type ExperimentStarted struct {
	Experiment string `json:"experiment"`
	Command    string `json:"command"`
	Instrument string `json:"instrument"`
}

// Measurement is the result of an experiment.
type Measurement struct {
	// Actual is the composition that was really made: what the model learns from.
	Actual Point `json:"actual"`
	// Objective is the measured objective, in the campaign's unit.
	Objective Quantity `json:"objective"`
	// Further holds any other quantities, in the instrument's order.
	Further []Quantity `json:"further,omitempty"`
	// Identity names the device: model, serial number, firmware, calibration.
	Identity string `json:"identity,omitempty"`
	// Began and Ended are the instrument's own clock.
	Began time.Time `json:"began,omitzero"`
	Ended time.Time `json:"ended,omitzero"`
}

// ExperimentMeasured is a result that was accepted into the campaign.
type ExperimentMeasured struct {
	Experiment string `json:"experiment"`
	Command    string `json:"command,omitempty"`
	Instrument string `json:"instrument"`
	// Requested is the composition asked for.
	Requested Point `json:"requested"`
	Measurement
}

// ExperimentFailed says that the experiment ended without a usable result.
type ExperimentFailed struct {
	Experiment string `json:"experiment"`
	Command    string `json:"command,omitempty"`
	Instrument string `json:"instrument"`
	// Cause says why, in the instrument's or the engine's words.
	Cause string `json:"cause"`
	// Rejected is what the instrument answered where the engine refused the
	// answer (wrong unit, NaN, out of range): JSON as text, kept for the record.
	Rejected string `json:"rejected,omitempty"`
}

// ExperimentCancelled says that the experiment was called off and did not take place.
type ExperimentCancelled struct {
	Experiment string `json:"experiment"`
	Command    string `json:"command,omitempty"`
	Reason     string `json:"reason"`
}

// ExperimentUnresolved says that nobody knows whether the physical action took
// place. It waits for a person and is never repeated blindly.
type ExperimentUnresolved struct {
	Experiment string `json:"experiment"`
	Command    string `json:"command"`
	Instrument string `json:"instrument"`
	Cause      string `json:"cause"`
}

// Resolutions of an unresolved experiment.
const (
	ResolvedMeasured     = "measured"      // it took place and this is the result
	ResolvedFailed       = "failed"        // it took place and gave no result
	ResolvedNotPerformed = "not-performed" // it did not take place
)

// ExperimentResolved is a person's word on an unresolved experiment.
type ExperimentResolved struct {
	Experiment string `json:"experiment"`
	// Resolution is one of the Resolved constants.
	Resolution string `json:"resolution"`
	// Measurement is set where Resolution is "measured".
	Measurement *Measurement `json:"measurement,omitempty"`
	// Repeat asks for the same composition again, as a new experiment.
	Repeat bool   `json:"repeat,omitempty"`
	Reason string `json:"reason,omitempty"`
}

// MeasurementCorrected replaces what an earlier event said was measured, or
// excludes it. The earlier event stays.
type MeasurementCorrected struct {
	Experiment string `json:"experiment"`
	// Corrects is the ID of the event whose content is corrected.
	Corrects string `json:"corrects"`
	// Old and New are the objective before and after; New is absent where the
	// measurement is excluded.
	Old Quantity  `json:"old"`
	New *Quantity `json:"new,omitempty"`
	// Actual is the corrected composition, where it changes.
	Actual Point `json:"actual,omitempty"`
	// Excluded takes the measurement out of the models.
	Excluded bool `json:"excluded,omitempty"`
	// Reason is the person's reason; it is required.
	Reason string `json:"reason"`
}

// InstrumentStalled says that an instrument has been silent for longer than
// the campaign allows.
type InstrumentStalled struct {
	Experiment string `json:"experiment"`
	Command    string `json:"command"`
	Instrument string `json:"instrument"`
	// Waited is how long, in seconds.
	Waited float64 `json:"waited"`
}

func (ExperimentRequested) Kind() Kind  { return KindExperimentRequested }
func (ExperimentDispatched) Kind() Kind { return KindExperimentDispatched }
func (ExperimentStarted) Kind() Kind    { return KindExperimentStarted }
func (ExperimentMeasured) Kind() Kind   { return KindExperimentMeasured }
func (ExperimentFailed) Kind() Kind     { return KindExperimentFailed }
func (ExperimentCancelled) Kind() Kind  { return KindExperimentCancelled }
func (ExperimentUnresolved) Kind() Kind { return KindExperimentUnresolved }
func (ExperimentResolved) Kind() Kind   { return KindExperimentResolved }
func (MeasurementCorrected) Kind() Kind { return KindMeasurementCorrected }
func (InstrumentStalled) Kind() Kind    { return KindInstrumentStalled }
