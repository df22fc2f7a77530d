package events

import "reflect"

// Kind names what an event says happened: "noun.past-participle". Kinds are
// part of the stored format and never change meaning.
type Kind string

// The kinds of this package. The payload of each is the Go type of the same
// name.
const (
	KindCampaignDefined   Kind = "campaign.defined"
	KindCampaignAmended   Kind = "campaign.amended"
	KindCampaignPaused    Kind = "campaign.paused"
	KindCampaignResumed   Kind = "campaign.resumed"
	KindCampaignStopped   Kind = "campaign.stopped"
	KindCampaignCompleted Kind = "campaign.completed"

	KindRecoveryDone    Kind = "recovery.done"
	KindAnchorsDeclared Kind = "anchors.declared"
	KindNoteAdded       Kind = "note.added"

	KindQuestionAsked      Kind = "question.asked"
	KindQuestionAnswered   Kind = "question.answered"
	KindQuestionSuperseded Kind = "question.superseded"
	KindQuestionContested  Kind = "question.contested"
	KindQuestionExpired    Kind = "question.expired"
	KindQuestionWithdrawn  Kind = "question.withdrawn"

	KindExperimentRequested  Kind = "experiment.requested"
	KindExperimentDispatched Kind = "experiment.dispatched"
	KindExperimentStarted    Kind = "experiment.started"
	KindExperimentMeasured   Kind = "experiment.measured"
	KindExperimentFailed     Kind = "experiment.failed"
	KindExperimentCancelled  Kind = "experiment.cancelled"
	KindExperimentUnresolved Kind = "experiment.unresolved"
	KindExperimentResolved   Kind = "experiment.resolved"
	KindExperimentInfeasible Kind = "experiment.infeasible"
	KindExperimentCorrected  Kind = "experiment.corrected"
	KindExperimentDeferred   Kind = "experiment.deferred"

	KindRegionExcluded       Kind = "region.excluded"
	KindRegionAllowed        Kind = "region.allowed"
	KindMeasurementsJudged   Kind = "measurements.judged"
	KindMeasurementFlagged   Kind = "measurement.flagged"
	KindMeasurementCorrected Kind = "measurement.corrected"
	KindInstrumentStalled    Kind = "instrument.stalled"

	KindModelFitted    Kind = "model.fitted"
	KindModelFitFailed Kind = "model.fit_failed"

	KindTrustAdjusted Kind = "trust.adjusted"
	KindDecisionMade  Kind = "decision.made"
)

// Payload is the content of an event: one of the types in the table of kinds, or a
// pointer to one.
type Payload interface {
	// Subject is the identifier of what the event is about: an experiment ("e7"), a
	// question ("q12"), a decision ("d31") or an exclusion ("n2"), and empty where it
	// is about the campaign.
	Subject() string
}

// KindInfo describes one row of the table of kinds.
type KindInfo struct {
	Kind    Kind
	Version int            // newest version of the payload's schema
	New     func() Payload // returns a pointer to a zero payload
}

type kindEntry struct {
	KindInfo
	payload reflect.Type // the Go type, no pointer
}

// row is the row of a kind whose payload is a T.
func row[T Payload](kind Kind, version int) kindEntry {
	create := func() Payload { return any(new(T)).(Payload) } // methods of T are methods of *T
	return kindEntry{KindInfo{kind, version, create}, reflect.TypeFor[T]()}
}

// table is the list of every kind, its newest schema version and its Go type.
// A version is raised when a payload changes so that an older build would
// misread it; adding an optional field does not raise it. Old versions decode
// into the same Go type: a field's meaning never changes.
var table = []kindEntry{
	row[CampaignDefined](KindCampaignDefined, 1),
	row[CampaignAmended](KindCampaignAmended, 1),
	row[CampaignPaused](KindCampaignPaused, 1),
	row[CampaignResumed](KindCampaignResumed, 1),
	row[CampaignStopped](KindCampaignStopped, 1),
	row[CampaignCompleted](KindCampaignCompleted, 1),
	row[RecoveryDone](KindRecoveryDone, 1),
	row[AnchorsDeclared](KindAnchorsDeclared, 1),
	row[NoteAdded](KindNoteAdded, 1),
	row[QuestionAsked](KindQuestionAsked, 1),
	row[QuestionAnswered](KindQuestionAnswered, 1),
	row[QuestionSuperseded](KindQuestionSuperseded, 1),
	row[QuestionContested](KindQuestionContested, 1),
	row[QuestionExpired](KindQuestionExpired, 1),
	row[QuestionWithdrawn](KindQuestionWithdrawn, 1),
	row[ExperimentRequested](KindExperimentRequested, 1),
	row[ExperimentDispatched](KindExperimentDispatched, 1),
	row[ExperimentStarted](KindExperimentStarted, 1),
	row[ExperimentMeasured](KindExperimentMeasured, 1),
	row[ExperimentFailed](KindExperimentFailed, 1),
	row[ExperimentCancelled](KindExperimentCancelled, 1),
	row[ExperimentUnresolved](KindExperimentUnresolved, 1),
	row[ExperimentResolved](KindExperimentResolved, 1),
	row[ExperimentInfeasible](KindExperimentInfeasible, 1),
	row[ExperimentDeferred](KindExperimentDeferred, 1),
	row[ExperimentCorrected](KindExperimentCorrected, 1),
	row[RegionExcluded](KindRegionExcluded, 1),
	row[RegionAllowed](KindRegionAllowed, 1),
	row[MeasurementsJudged](KindMeasurementsJudged, 1),
	row[MeasurementFlagged](KindMeasurementFlagged, 1),
	row[MeasurementCorrected](KindMeasurementCorrected, 1),
	row[InstrumentStalled](KindInstrumentStalled, 1),
	row[ModelFitted](KindModelFitted, 1),
	row[ModelFitFailed](KindModelFitFailed, 1),
	row[TrustAdjusted](KindTrustAdjusted, 1),
	row[DecisionMade](KindDecisionMade, 1),
}

var byKind = func() map[Kind]kindEntry {
	m := make(map[Kind]kindEntry, len(table))
	for _, entry := range table {
		m[entry.Kind] = entry
	}
	return m
}()

var byType = func() map[reflect.Type]kindEntry {
	m := make(map[reflect.Type]kindEntry, len(table))
	for _, entry := range table {
		m[entry.payload] = entry
	}
	return m
}()

// lookup returns the row of a payload's type.
func lookup(payload Payload) (kindEntry, bool) {
	t := reflect.TypeOf(payload)
	if t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	entry, ok := byType[t]
	return entry, ok
}

// KindOf returns the kind of event that a payload belongs to, empty for a type that
// is not in the table of kinds.
func KindOf(payload Payload) Kind {
	entry, _ := lookup(payload)
	return entry.Kind
}

// Kinds returns the table of kinds, in a fixed order.
func Kinds() []KindInfo {
	infos := make([]KindInfo, len(table))
	for i, entry := range table {
		infos[i] = entry.KindInfo
	}
	return infos
}
