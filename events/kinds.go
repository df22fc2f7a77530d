package events

import (
	"encoding/json"
	"fmt"
	"reflect"

	jsonv2 "github.com/go-json-experiment/json"
)

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
	KindFileAttached    Kind = "file.attached"
	KindFileWithdrawn   Kind = "file.withdrawn"
	KindStockCounted    Kind = "stock.counted"

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
	KindQuantityArrived      Kind = "quantity.arrived"
	KindExperimentFailed     Kind = "experiment.failed"
	KindExperimentCancelled  Kind = "experiment.cancelled"
	KindExperimentUnresolved Kind = "experiment.unresolved"
	KindExperimentResolved   Kind = "experiment.resolved"
	KindExperimentInfeasible Kind = "experiment.infeasible"
	KindExperimentCorrected  Kind = "experiment.corrected"
	KindExperimentDeferred   Kind = "experiment.deferred"

	KindBatchPlanned  Kind = "batch.planned"
	KindBatchEnded    Kind = "batch.ended"
	KindActDispatched Kind = "act.dispatched"
	KindActAccepted   Kind = "act.accepted"
	KindActEnded      Kind = "act.ended"
	KindActUnresolved Kind = "act.unresolved"
	KindActResolved   Kind = "act.resolved"

	KindCancellationOrdered  Kind = "cancellation.ordered"
	KindCancellationAnswered Kind = "cancellation.answered"
	KindInstrumentAnswered   Kind = "instrument.answered"
	KindSafetyOrdered        Kind = "safety.ordered"
	KindSafetyAnswered       Kind = "safety.answered"

	KindRegionExcluded       Kind = "region.excluded"
	KindRegionAllowed        Kind = "region.allowed"
	KindMeasurementsJudged   Kind = "measurements.judged"
	KindMeasurementFlagged   Kind = "measurement.flagged"
	KindMeasurementCorrected Kind = "measurement.corrected"
	KindInstrumentStalled    Kind = "instrument.stalled"
	KindInstrumentSignalled  Kind = "instrument.signalled"

	KindModelFitted    Kind = "model.fitted"
	KindModelFitFailed Kind = "model.fit_failed"

	KindTrustAdjusted  Kind = "trust.adjusted"
	KindDecisionMade   Kind = "decision.made"
	KindMethodAnswered Kind = "method.answered"
)

// Payload is the content of an event: one of the types in the table of kinds,
// or a pointer to one.
type Payload interface {
	// Subject is the identifier of the event's subject: an experiment ("e7"), a question ("q12"), a
	// decision ("d31") or an exclusion ("n2"), and empty where it is the campaign.
	Subject() string
}

// Versioned is a payload that is not always of its kind's newest version. Where
// it says nothing that an earlier version lacks, it is written in that: earlier
// programs go on reading it.
type Versioned interface {
	Payload
	// SchemaVersion is the oldest version that says all of the payload.
	SchemaVersion() int
}

// KindInfo describes one row of the table of kinds.
type KindInfo struct {
	Kind    Kind
	Version int            // newest version of the payload's schema
	New     func() Payload // returns a pointer to a zero payload
}

// Vocabulary is a table of kinds: all that one part of a lab records. The
// campaigns' is in this package; another part of a lab that keeps events
// declares its own with [NewVocabulary]. A kind belongs to one row for ever,
// and a row has one type of payload, which several rows may share.
type Vocabulary struct {
	rows   []Row
	byKind map[Kind]Row
}

// Row is a row of a [Vocabulary].
type Row struct {
	KindInfo
	payload reflect.Type // the Go type, no pointer
}

// RowOf is the row of a kind whose payload is a T. The version is the newest of
// the payload's schema.
func RowOf[T Payload](kind Kind, version int) Row {
	create := func() Payload { return any(new(T)).(Payload) } // methods of T are methods of *T
	return Row{KindInfo{kind, version, create}, reflect.TypeFor[T]()}
}

// NewVocabulary returns the vocabulary of some rows. It panics where two are of
// one kind, since an event must mean one thing.
func NewVocabulary(rows ...Row) *Vocabulary {
	v := &Vocabulary{rows: rows, byKind: make(map[Kind]Row, len(rows))}
	for _, r := range rows {
		if _, twice := v.byKind[r.Kind]; twice {
			panic("events: there are two rows of the kind " + r.Kind)
		}
		v.byKind[r.Kind] = r
	}
	return v
}

// New returns an event of a kind around payload, in the newest version, or in the version that the
// payload itself names ([Versioned]). It fails for a kind without a row, for a payload of another
// type than the row's, and for one that JSON cannot express (NaN, ±Inf). Stream is the event's
// Campaign.
func (v *Vocabulary) New(stream string, kind Kind, payload Payload) (Event, error) {
	r, ok := v.byKind[kind]
	if !ok || r.payload != typeOf(payload) {
		return Event{}, fmt.Errorf("events: %q with %T is not in the table of kinds", kind, payload)
	}
	data, err := json.Marshal(payload)
	if err != nil {
		return Event{}, fmt.Errorf("events: encode %s: %w", kind, err)
	}
	return Event{Campaign: stream, Kind: kind, Version: r.versionOf(payload), Data: data}, nil
}

// versionOf is the version that a payload of the row is written in.
func (r Row) versionOf(payload Payload) int {
	if p, ok := payload.(Versioned); ok {
		return p.SchemaVersion()
	}
	return r.Version
}

// Decode returns the typed payload of an event: a pointer to the Go type of its
// row. A kind or version without a row is an [UnknownKindError].
func (v *Vocabulary) Decode(e Event) (Payload, error) {
	r, ok := v.byKind[e.Kind]
	if !ok || e.Version < 1 || e.Version > r.Version {
		return nil, &UnknownKindError{Kind: e.Kind, Version: e.Version, Position: e.Position}
	}
	payload := r.New()
	if err := jsonv2.Unmarshal(e.Data, payload); err != nil {
		return nil, fmt.Errorf("events: decode %s at position %d: %w", e.Kind, e.Position, err)
	}
	return payload, nil
}

// Kinds returns the rows, in a fixed order.
func (v *Vocabulary) Kinds() []KindInfo {
	infos := make([]KindInfo, len(v.rows))
	for i, r := range v.rows {
		infos[i] = r.KindInfo
	}
	return infos
}

// typeOf is the Go type of a payload, without a pointer; nil of none.
func typeOf(payload Payload) reflect.Type {
	t := reflect.TypeOf(payload)
	if t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t
}

// campaigns lists every kind of a campaign, its newest schema version and its
// Go type. A version is raised when a payload changes so that an older build
// would misread it; adding an optional field does not raise it. Old versions
// decode into the same Go type: a field's meaning never changes.
//
// Definitions and decisions are of version 2 since a campaign can rest on more
// than programs of 0.1.0 know: they passed over the rest, and went on by rules
// of their own, which no later program can audit. They refuse version 2. All of
// its fields were in version 1 before. Definitions with stocks are of version 3:
// an earlier program would dispatch without drawing from them. Definitions with a
// procedure are of version 4: an earlier program would find no instrument. Those with
// reference experiments are of version 5: an earlier program would model their values.
var campaigns = NewVocabulary(
	RowOf[CampaignDefined](KindCampaignDefined, 5),
	RowOf[CampaignAmended](KindCampaignAmended, 5),
	RowOf[CampaignPaused](KindCampaignPaused, 1),
	RowOf[CampaignResumed](KindCampaignResumed, 1),
	RowOf[CampaignStopped](KindCampaignStopped, 1),
	RowOf[CampaignCompleted](KindCampaignCompleted, 1),
	RowOf[RecoveryDone](KindRecoveryDone, 1),
	RowOf[AnchorsDeclared](KindAnchorsDeclared, 1),
	RowOf[NoteAdded](KindNoteAdded, 1),
	RowOf[FileAttached](KindFileAttached, 1),
	RowOf[FileWithdrawn](KindFileWithdrawn, 1),
	RowOf[StockCounted](KindStockCounted, 1),
	RowOf[QuestionAsked](KindQuestionAsked, 1),
	RowOf[QuestionAnswered](KindQuestionAnswered, 1),
	RowOf[QuestionSuperseded](KindQuestionSuperseded, 1),
	RowOf[QuestionContested](KindQuestionContested, 1),
	RowOf[QuestionExpired](KindQuestionExpired, 1),
	RowOf[QuestionWithdrawn](KindQuestionWithdrawn, 1),
	RowOf[ExperimentRequested](KindExperimentRequested, 1),
	RowOf[ExperimentDispatched](KindExperimentDispatched, 2),
	RowOf[ExperimentStarted](KindExperimentStarted, 1),
	RowOf[ExperimentMeasured](KindExperimentMeasured, 2),
	RowOf[QuantityArrived](KindQuantityArrived, 1),
	RowOf[ExperimentFailed](KindExperimentFailed, 1),
	RowOf[ExperimentCancelled](KindExperimentCancelled, 1),
	RowOf[ExperimentUnresolved](KindExperimentUnresolved, 1),
	RowOf[ExperimentResolved](KindExperimentResolved, 2),
	RowOf[ExperimentInfeasible](KindExperimentInfeasible, 1),
	RowOf[ExperimentDeferred](KindExperimentDeferred, 1),
	RowOf[ExperimentCorrected](KindExperimentCorrected, 2),
	RowOf[BatchPlanned](KindBatchPlanned, 1),
	RowOf[BatchEnded](KindBatchEnded, 1),
	RowOf[ActDispatched](KindActDispatched, 1),
	RowOf[ActAccepted](KindActAccepted, 1),
	RowOf[ActEnded](KindActEnded, 1),
	RowOf[ActUnresolved](KindActUnresolved, 1),
	RowOf[ActResolved](KindActResolved, 1),
	RowOf[CancellationOrdered](KindCancellationOrdered, 1),
	RowOf[CancellationAnswered](KindCancellationAnswered, 1),
	RowOf[InstrumentAnswered](KindInstrumentAnswered, 1),
	RowOf[SafetyOrdered](KindSafetyOrdered, 1),
	RowOf[SafetyAnswered](KindSafetyAnswered, 1),
	RowOf[RegionExcluded](KindRegionExcluded, 1),
	RowOf[RegionAllowed](KindRegionAllowed, 1),
	RowOf[MeasurementsJudged](KindMeasurementsJudged, 1),
	RowOf[MeasurementFlagged](KindMeasurementFlagged, 1),
	RowOf[MeasurementCorrected](KindMeasurementCorrected, 2),
	RowOf[InstrumentStalled](KindInstrumentStalled, 1),
	RowOf[InstrumentSignalled](KindInstrumentSignalled, 1),
	RowOf[ModelFitted](KindModelFitted, 1),
	RowOf[ModelFitFailed](KindModelFitFailed, 1),
	RowOf[TrustAdjusted](KindTrustAdjusted, 1),
	RowOf[DecisionMade](KindDecisionMade, 2),
	RowOf[MethodAnswered](KindMethodAnswered, 1),
)

// byType is the kind of each payload of a campaign: there, each kind has a type
// of its own.
var byType = func() map[reflect.Type]Kind {
	m := make(map[reflect.Type]Kind, len(campaigns.rows))
	for _, r := range campaigns.rows {
		m[r.payload] = r.Kind
	}
	return m
}()

// KindOf returns the kind of a campaign's event that a payload belongs to,
// empty for a type that is not in the table of kinds.
func KindOf(payload Payload) Kind { return byType[typeOf(payload)] }

// VersionOf returns the version that a campaign's payload is written in: that
// of its kind, or the one that it names itself ([Versioned]).
func VersionOf(payload Payload) int { return campaigns.byKind[KindOf(payload)].versionOf(payload) }

// Kinds returns the table of a campaign's kinds, in a fixed order.
func Kinds() []KindInfo { return campaigns.Kinds() }
