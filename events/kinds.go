package events

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

	KindLabelRequested  Kind = "label.requested"
	KindLabelGiven      Kind = "label.given"
	KindLabelSuperseded Kind = "label.superseded"
	KindLabelExpired    Kind = "label.expired"
	KindLabelWithdrawn  Kind = "label.withdrawn"

	KindComparisonRequested  Kind = "comparison.requested"
	KindComparisonGiven      Kind = "comparison.given"
	KindComparisonSuperseded Kind = "comparison.superseded"
	KindPinpointRequested    Kind = "pinpoint.requested"
	KindPinpointGiven        Kind = "pinpoint.given"
	KindPinpointSuperseded   Kind = "pinpoint.superseded"
	KindQuestionExpired      Kind = "question.expired"
	KindQuestionWithdrawn    Kind = "question.withdrawn"

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

	KindRegionRefused        Kind = "region.refused"
	KindRegionAllowed        Kind = "region.allowed"
	KindMeasurementFlagged   Kind = "measurement.flagged"
	KindMeasurementCorrected Kind = "measurement.corrected"
	KindInstrumentStalled    Kind = "instrument.stalled"

	KindModelFitted    Kind = "model.fitted"
	KindModelFitFailed Kind = "model.fit_failed"

	KindTrustAdjusted Kind = "trust.adjusted"
	KindDecisionMade  Kind = "decision.made"
)

// Payload is the content of an event: one of the types in the table of kinds.
type Payload interface {
	// Kind returns the kind of event the payload belongs to.
	Kind() Kind
}

// KindInfo describes one row of the table of kinds.
type KindInfo struct {
	Kind    Kind
	Version int            // newest version of the payload's schema
	New     func() Payload // returns a pointer to a zero payload
}

type kindEntry struct {
	kind    Kind
	version int
	new     func() Payload
}

// table is the list of every kind, its newest schema version and its Go type.
// A version is raised when a payload changes so that an older build would
// misread it; adding an optional field does not raise it. Old versions decode
// into the same Go type: a field's meaning never changes.
var table = []kindEntry{
	{KindCampaignDefined, 1, func() Payload { return new(CampaignDefined) }},
	{KindCampaignAmended, 1, func() Payload { return new(CampaignAmended) }},
	{KindCampaignPaused, 1, func() Payload { return new(CampaignPaused) }},
	{KindCampaignResumed, 1, func() Payload { return new(CampaignResumed) }},
	{KindCampaignStopped, 1, func() Payload { return new(CampaignStopped) }},
	{KindCampaignCompleted, 1, func() Payload { return new(CampaignCompleted) }},
	{KindRecoveryDone, 1, func() Payload { return new(RecoveryDone) }},
	{KindAnchorsDeclared, 1, func() Payload { return new(AnchorsDeclared) }},
	{KindNoteAdded, 1, func() Payload { return new(NoteAdded) }},
	{KindLabelRequested, 1, func() Payload { return new(LabelRequested) }},
	{KindLabelGiven, 1, func() Payload { return new(LabelGiven) }},
	{KindLabelSuperseded, 1, func() Payload { return new(LabelSuperseded) }},
	{KindLabelExpired, 1, func() Payload { return new(LabelExpired) }},
	{KindLabelWithdrawn, 1, func() Payload { return new(LabelWithdrawn) }},
	{KindComparisonRequested, 1, func() Payload { return new(ComparisonRequested) }},
	{KindComparisonGiven, 1, func() Payload { return new(ComparisonGiven) }},
	{KindComparisonSuperseded, 1, func() Payload { return new(ComparisonSuperseded) }},
	{KindPinpointRequested, 1, func() Payload { return new(PinpointRequested) }},
	{KindPinpointGiven, 1, func() Payload { return new(PinpointGiven) }},
	{KindPinpointSuperseded, 1, func() Payload { return new(PinpointSuperseded) }},
	{KindQuestionExpired, 1, func() Payload { return new(QuestionExpired) }},
	{KindQuestionWithdrawn, 1, func() Payload { return new(QuestionWithdrawn) }},
	{KindExperimentRequested, 1, func() Payload { return new(ExperimentRequested) }},
	{KindExperimentDispatched, 1, func() Payload { return new(ExperimentDispatched) }},
	{KindExperimentStarted, 1, func() Payload { return new(ExperimentStarted) }},
	{KindExperimentMeasured, 1, func() Payload { return new(ExperimentMeasured) }},
	{KindExperimentFailed, 1, func() Payload { return new(ExperimentFailed) }},
	{KindExperimentCancelled, 1, func() Payload { return new(ExperimentCancelled) }},
	{KindExperimentUnresolved, 1, func() Payload { return new(ExperimentUnresolved) }},
	{KindExperimentResolved, 1, func() Payload { return new(ExperimentResolved) }},
	{KindExperimentInfeasible, 1, func() Payload { return new(ExperimentInfeasible) }},
	{KindExperimentDeferred, 1, func() Payload { return new(ExperimentDeferred) }},
	{KindExperimentCorrected, 1, func() Payload { return new(ExperimentCorrected) }},
	{KindRegionRefused, 1, func() Payload { return new(RegionRefused) }},
	{KindRegionAllowed, 1, func() Payload { return new(RegionAllowed) }},
	{KindMeasurementFlagged, 1, func() Payload { return new(MeasurementFlagged) }},
	{KindMeasurementCorrected, 1, func() Payload { return new(MeasurementCorrected) }},
	{KindInstrumentStalled, 1, func() Payload { return new(InstrumentStalled) }},
	{KindModelFitted, 1, func() Payload { return new(ModelFitted) }},
	{KindModelFitFailed, 1, func() Payload { return new(ModelFitFailed) }},
	{KindTrustAdjusted, 1, func() Payload { return new(TrustAdjusted) }},
	{KindDecisionMade, 1, func() Payload { return new(DecisionMade) }},
}

var byKind = func() map[Kind]kindEntry {
	m := make(map[Kind]kindEntry, len(table))
	for _, entry := range table {
		m[entry.kind] = entry
	}
	return m
}()

func lookup(kind Kind) (kindEntry, bool) {
	entry, ok := byKind[kind]
	return entry, ok
}

// Kinds returns the table of kinds, in a fixed order.
func Kinds() []KindInfo {
	infos := make([]KindInfo, len(table))
	for i, entry := range table {
		infos[i] = KindInfo{Kind: entry.kind, Version: entry.version, New: entry.new}
	}
	return infos
}
