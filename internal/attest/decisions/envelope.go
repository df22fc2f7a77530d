package decisions

import (
	"cmp"
	"encoding/json"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/projections/campaign"
)

// author is a possible author of an event. It is a bit, so that a kind can have several.
type author uint8

const (
	byEngine author = 1 << iota
	byInstrument
	byExpert
	byPerson
	byMethod
)

// actors are the forms of an actor that goes on with a name.
var actors = []struct {
	author author
	prefix string
}{{byInstrument, "instrument:"}, {byExpert, "expert:"}, {byPerson, "person:"}, {byMethod, "method:"}}

// writers lists the possible authors of each kind of event at the beginning of a batch. The others
// of a batch share the author of the first. A kind without a row has no author, so that a new kind
// is a mismatch until it gets one.
var writers = map[events.Kind]author{
	events.KindCampaignDefined:   byPerson,
	events.KindCampaignAmended:   byPerson,
	events.KindCampaignPaused:    byPerson | byEngine,
	events.KindCampaignResumed:   byPerson,
	events.KindCampaignStopped:   byPerson,
	events.KindCampaignCompleted: byEngine,

	events.KindRecoveryDone:    byEngine,
	events.KindAnchorsDeclared: byPerson,
	events.KindNoteAdded:       byPerson | byInstrument,
	events.KindFileAttached:    byPerson | byInstrument,
	events.KindStockCounted:    byPerson,
	events.KindFileWithdrawn:   byPerson,

	events.KindQuestionAsked:      byEngine,
	events.KindQuestionAnswered:   byExpert | byPerson,
	events.KindQuestionSuperseded: byPerson,
	events.KindQuestionContested:  byExpert | byPerson,
	events.KindQuestionExpired:    byEngine,
	events.KindQuestionWithdrawn:  byEngine,

	events.KindExperimentRequested:  byEngine | byPerson,
	events.KindExperimentDispatched: byEngine,
	events.KindExperimentStarted:    byInstrument,
	events.KindExperimentMeasured:   byInstrument | byPerson | byEngine,
	events.KindQuantityArrived:      byInstrument | byPerson | byEngine,
	events.KindExperimentFailed:     byInstrument | byPerson | byEngine,
	events.KindExperimentCancelled:  byInstrument | byEngine | byPerson,
	events.KindExperimentUnresolved: byInstrument | byEngine,
	events.KindExperimentResolved:   byPerson,
	events.KindExperimentInfeasible: byInstrument | byPerson | byEngine,
	events.KindExperimentDeferred:   byInstrument | byPerson,

	events.KindBatchPlanned:  byEngine,
	events.KindBatchEnded:    byEngine | byPerson,
	events.KindActDispatched: byEngine,
	events.KindActAccepted:   byInstrument,
	events.KindActEnded:      byInstrument | byEngine,
	events.KindActUnresolved: byInstrument | byEngine,
	events.KindActResolved:   byPerson,

	events.KindCancellationOrdered:  byPerson | byEngine,
	events.KindCancellationAnswered: byInstrument | byEngine | byPerson,
	events.KindInstrumentAnswered:   byInstrument,
	events.KindSafetyOrdered:        byPerson,
	events.KindSafetyAnswered:       byInstrument,

	events.KindRegionExcluded:       byPerson,
	events.KindRegionAllowed:        byPerson,
	events.KindMeasurementsJudged:   byEngine,
	events.KindMeasurementFlagged:   byEngine,
	events.KindMeasurementCorrected: byPerson,
	events.KindExperimentCorrected:  byPerson,
	events.KindInstrumentStalled:    byEngine,
	events.KindInstrumentSignalled:  byInstrument,

	events.KindModelFitted:    byEngine,
	events.KindModelFitFailed: byEngine,

	events.KindTrustAdjusted:  byEngine,
	events.KindDecisionMade:   byEngine,
	events.KindMethodAnswered: byMethod,
}

// traceparent is the form of a W3C trace context.
var traceparent = regexp.MustCompile(`^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$`)

// identified is an event with its author and subject. x and q are as they were before the event;
// nil if they did not exist.
type identified struct {
	event   events.Event
	payload events.Payload
	last    events.Payload // of the event before
	author  author         // 0: none that writes events
	name    string         // of the author
	// about are the fields in which payloads of all kinds name their subject.
	about struct {
		Experiment, Act, Batch, Question, Expert, Instrument, Command, About string
		Volunteered                                                          bool
	}
	x *campaign.Experiment
	q *campaign.Question
	o campaign.Order // the command that it is about, or of its experiment
}

// subject returns the subject of a mismatch.
func (in *identified) subject() string {
	for _, name := range []string{in.about.Experiment, in.about.Act, in.about.Batch, in.about.Question, in.about.About, in.about.Expert} {
		if name != "" {
			return name
		}
	}
	return string(events.KindOf(in.payload))
}

// identify determines the author and the subject of the present event.
//
// It reads the payload's JSON into the fields that all kinds share, so that it needs no case for
// each kind.
func (a *auditor) identify(payload events.Payload) (*identified, bool) {
	s := a.core.State()
	in := &identified{event: a.event, payload: payload, last: a.last}
	if err := json.Unmarshal(a.event.Data, &in.about); err != nil {
		a.mismatch("history", "it does not read: %v", err)
		return nil, false
	}
	in.x, in.q = s.Experiment(in.about.Experiment), s.Question(in.about.Question)
	in.o = s.Order(cmp.Or(in.about.Act, in.about.Experiment))
	if in.x == nil && a.event.Kind == events.KindNoteAdded {
		in.x = s.Experiment(in.about.About)
		in.o = s.Order(in.about.About)
	}
	if a.event.Actor == "engine" {
		in.author = byEngine
	}
	for _, row := range actors {
		if name, ok := strings.CutPrefix(a.event.Actor, row.prefix); ok && strings.TrimSpace(name) != "" {
			in.author, in.name = row.author, name
		}
	}
	return in, true
}

// joins reports whether an unexpected event continues the batch of the event before it, last.
func (b *batch) joins(in *identified, last string) bool {
	if b.opening == nil || in.event.Cause != b.first.ID {
		return false
	}
	if b.first.ID == last && !in.event.Time.Equal(b.first.Time) {
		return false // the first of another batch may have the same cause
	}
	join := members[in.event.Kind]
	return join != nil && join(b, in)
}

// members are the kinds of events that can join a batch unexpectedly, with their conditions. They
// are a person's additions, or statements about several experiments at once.
var members = map[events.Kind]func(*batch, *identified) bool{
	events.KindRegionExcluded:       member(joinsExclusion),
	events.KindMeasurementFlagged:   member(joinsWord),
	events.KindQuantityArrived:      member(joinsArrived),
	events.KindNoteAdded:            member(joinsNote),
	events.KindFileAttached:         member(joinsFile),
	events.KindExperimentRequested:  member(joinsRequested),
	events.KindExperimentMeasured:   joinsResult,
	events.KindExperimentFailed:     joinsResult,
	events.KindExperimentInfeasible: joinsResult,
	events.KindExperimentDeferred:   joinsResult,
	events.KindExperimentResolved:   joinsResolved,
	events.KindActResolved:          joinsResolved,
	events.KindExperimentCorrected:  joinsNotPerformed,
	events.KindExperimentCancelled:  joinsNotPerformed,
	events.KindBatchEnded:           joinsResult,
	events.KindCancellationOrdered:  joinsCancellation,
	events.KindCancellationAnswered: joinsCancellation,
	events.KindInstrumentAnswered:   member(joinsHeard),
	events.KindSafetyOrdered:        member(joinsSafety),
}

// member is a rule on the payloads of one type.
func member[P events.Payload](join func(*batch, *identified, P) bool) func(*batch, *identified) bool {
	return func(b *batch, in *identified) bool { return join(b, in, in.payload.(P)) }
}

// joinsExclusion: it came with an answer.
func joinsExclusion(_ *batch, in *identified, p *events.RegionExcluded) bool {
	switch last := in.last.(type) {
	case *events.QuestionAnswered:
		return p.About == last.Question && last.Answer.Label == events.LabelReject
	case *events.QuestionSuperseded:
		return p.About == last.Question && last.Answer.Label == events.LabelReject
	}
	return false
}

// joinsWord: it flags a composition that was made elsewhere, or a value that came again.
func joinsWord(b *batch, _ *identified, p *events.MeasurementFlagged) bool {
	return p.Verdict == events.VerdictElsewhere || p.Verdict == events.VerdictSame
}

// joinsNote: it is a remark on an instrument's statement or identity, or a person's remark on a
// result that they report or import with it, or reported before: for a known row, remarks may be
// all that is new. By another author it is a batch of its own, recorded in the same microsecond, and
// so is an instrument's second answer.
func joinsNote(b *batch, in *identified, p *events.NoteAdded) bool {
	if in.event.Actor != b.first.Actor {
		return false
	}
	if in.author == byInstrument && strings.HasPrefix(p.Text, engine.LateAnswer) {
		return endsCallOff(b, in)
	}
	return in.author != byPerson || b.reported != "" && b.reported == p.About ||
		events.ExperimentNumber(p.About) > 0 && joinsResult(b, in)
}

// joinsFile: it came with an instrument's statement.
func joinsFile(b *batch, in *identified, _ *events.FileAttached) bool {
	return in.event.Actor == b.first.Actor && in.author == byInstrument
}

// joinsResult: a person reports the results of several experiments at once.
func joinsResult(b *batch, in *identified) bool {
	if in.author != byPerson || in.event.Actor != b.first.Actor {
		return false
	}
	switch p := b.opening.(type) {
	case *events.ExperimentRequested:
		return p.Origin == events.OriginPerson || p.Origin == events.OriginImport
	case *events.ExperimentMeasured, *events.ExperimentFailed, *events.ExperimentInfeasible, *events.ExperimentDeferred,
		*events.QuantityArrived:
		return true
	case *events.NoteAdded: // of a known row
		return events.ExperimentNumber(p.About) > 0
	}
	return false
}

// joinsArrived: it is a further quantity of one report, or of results that a person
// reports at once.
func joinsArrived(b *batch, in *identified, p *events.QuantityArrived) bool {
	if joinsResult(b, in) {
		return true
	}
	_, first := b.opening.(*events.QuantityArrived)
	return first && in.author != byEngine && in.event.Actor == b.first.Actor && b.opening.Subject() == p.Experiment
}

// joinsRequested: it is a further row of an import, or an experiment of their own among
// the results that a person reports at once.
func joinsRequested(b *batch, in *identified, p *events.ExperimentRequested) bool {
	return (p.Origin == events.OriginImport || p.Origin == events.OriginPerson) && joinsResult(b, in)
}

// joinsResolved: a person resolves several experiments, or several acts.
func joinsResolved(b *batch, in *identified) bool {
	return events.KindOf(b.opening) == events.KindOf(in.payload) && in.event.Actor == b.first.Actor
}

// joinsNotPerformed: a person declares several experiments as not performed.
func joinsNotPerformed(b *batch, in *identified) bool {
	first, calledOff := notPerformed(b.opening)
	reason, ok := notPerformed(in.payload)
	return ok && calledOff && in.author == byPerson && first == reason
}

// note remembers the experiment of the batch's latest result.
func (b *batch) note(payload events.Payload, called bool) {
	switch p := payload.(type) {
	case *events.ExperimentRequested:
		if !called { // a deferred one is requested again, and has no result
			b.reported = p.Experiment
		}
	case *events.ExperimentMeasured, *events.ExperimentFailed, *events.ExperimentInfeasible, *events.ExperimentDeferred,
		*events.QuantityArrived:
		b.reported = payload.Subject()
	case *events.ExperimentResolved:
		b.resolved = settlement{p.Experiment, p.Reason}
	case *events.ActResolved:
		b.resolved = settlement{p.Act, p.Reason}
	}
}

// notPerformed reports whether a payload is a person's statement that an experiment did not, or
// will not, take place, with their reason: a statement that can cover several at once.
func notPerformed(payload events.Payload) (reason string, ok bool) {
	switch p := payload.(type) {
	case *events.ExperimentCorrected:
		return p.Reason, p.Outcome == events.ResolvedNotPerformed
	case *events.ExperimentCancelled:
		return p.Reason, p.Command == ""
	case *events.CancellationOrdered:
		return p.Reason, true
	case *events.CancellationAnswered:
		return p.Reason, p.By == events.VoidedByPower
	}
	return "", false
}

// checkEnvelope checks the envelope of a payload. Its time is checked by checkClock.
func checkEnvelope(a *auditor, in *identified, member bool) {
	e := a.event
	if want := strconv.FormatUint(uint64(e.Sequence), 10); e.ID != want {
		a.mismatch(in.subject(), "it calls itself event %q, and is event %s of the campaign", e.ID, want)
	}
	if _, offset := e.Time.Zone(); offset != 0 || !e.Time.Equal(engine.Stamp(e.Time)) {
		a.mismatch(in.subject(), "its time %s is not one in UTC, to the microsecond",
			e.Time.Format(time.RFC3339Nano))
	}
	if e.Trace != "" && !traceparent.MatchString(e.Trace) {
		a.mismatch(in.subject(), "its trace %q is not a traceparent", e.Trace)
	}
	if e.Request != "" && (member || in.author != byPerson) {
		a.mismatch(in.subject(), "it carries the request %q: the first event that is recorded for a person does so, "+
			"and no other", e.Request)
	}
	if member {
		checkMember(a, in)
	} else {
		checkActor(a, in)
		checkCause(a, in)
		checkTrace(a, in)
		checkInstant(a, in)
	}
	checkAccount(a, in)
	checkVersion(a, in)
	checkSimulated(a, in)
}

// checkAccount checks that only an event reported by a person has an account: the engine, an
// instrument, a program and a simulated expert have none. No other event tells which one it was.
func checkAccount(a *auditor, in *identified) {
	if a.event.Account == "" || in.author == byPerson || in.author == byExpert && !a.event.Simulated {
		return
	}
	a.mismatch(in.subject(), "it was reported by the account %q, and %q has none", a.event.Account, a.event.Actor)
}

// checkVersion checks the version of the payload against its content. Earlier programs wrote
// definitions and decisions of any content in version 1, and never the account of a campaign's
// initiator.
func checkVersion(a *auditor, in *identified) {
	e, want := a.event, events.VersionOf(in.payload)
	if e.Version == want {
		return
	}
	by, once := a.running, false // its program, and whether the kind was once always of version 1
	switch p := in.payload.(type) {
	case *events.CampaignDefined:
		by, once = p.Build, e.Account == ""
	case *events.DecisionMade:
		by, once = p.Build, true
	case *events.CampaignAmended: // a person's program is not recorded
		by, once = events.Build{}, a.begun < rulesOfBatches
	}
	if e.Version > want || !once || by == a.build {
		a.mismatch(in.subject(), "it is of version %d; what it says is of version %d", e.Version, want)
	}
}

// rulesOfBatches is the first version of campaign.defined whose programs record each request of a
// person at a time of its own: earlier ones refuse it.
const rulesOfBatches = 2

// checkInstant checks that a person's request has a time of its own: at the time of the event
// before it, by another actor, it would pass for a separate batch.
func checkInstant(a *auditor, in *identified) {
	if in.author != byPerson || !a.event.Time.Equal(a.now) {
		return
	}
	a.ruled(in.subject(), "it has the time of the event before it, and was not recorded with that")
}

// ruled reports a breach of a rule that all programs which read the campaign's version of
// campaign.defined obey: a mismatch there. In an older campaign, an earlier program may have
// written the event.
func (a *auditor) ruled(subject, format string, args ...any) {
	if a.begun >= rulesOfBatches {
		a.mismatch(subject, format, args...)
		return
	}
	a.remark(subject, format+"; an earlier program may have written it", args...)
}

// checkMember compares an event with the first of its batch.
func checkMember(a *auditor, in *identified) {
	e, first := a.event, a.batch.first
	switch {
	case e.Cause != first.ID:
		a.mismatch(in.subject(), "its cause is event %q; it belongs to event %s", e.Cause, first.ID)
	case !e.Time.Equal(first.Time):
		a.mismatch(in.subject(), "it is dated %s; it was recorded together with event %s, at %s",
			clockTime(e.Time), first.ID, clockTime(first.Time))
	case e.Actor != first.Actor:
		a.mismatch(in.subject(), "its actor is %q; that of event %s, with which it was recorded, is %q",
			e.Actor, first.ID, first.Actor)
	case e.Account != first.Account:
		a.mismatch(in.subject(), "its account is %q; that of event %s, with which it was recorded, is %q",
			e.Account, first.ID, first.Account)
	case e.Trace != first.Trace:
		a.mismatch(in.subject(), "its trace is %q; that of event %s, with which it was recorded, is %q",
			e.Trace, first.ID, first.Trace)
	}
}

// checkActor checks the actor against the kind and the content of the event.
//
// An instrument may answer under another name after a restart, when the campaign file names another
// program: that is a remark.
func checkActor(a *auditor, in *identified) {
	e := a.event
	if in.author&writers[e.Kind] == 0 {
		a.mismatch(in.subject(), "its actor is %q, who does not write %s", e.Actor, e.Kind)
		return
	}
	switch {
	case in.author == byExpert && in.name != in.about.Expert:
		a.mismatch(in.subject(), "its actor is %q, and it is an answer of %q", e.Actor, in.about.Expert)
	case a.event.Kind == events.KindSafetyAnswered: // see checkSecured
	case in.author == byInstrument && in.o.Command == nil:
		a.mismatch(in.subject(), "its actor is %q, and it is about no experiment", e.Actor)
	case in.author != byInstrument || in.name == in.o.Instrument:
	case in.o.Instrument != "" && a.recovered > a.dispatched[in.o.Subject]: // another process took over, whose instrument has another name
		a.remark(in.subject(), "its actor is %q; %s was handed to %q, before the program was started again",
			e.Actor, in.o.Subject, in.o.Instrument)
	default:
		a.mismatch(in.subject(), "its actor is %q; %s was handed to %q", e.Actor, in.o.Subject, in.o.Instrument)
	}
}

// checkCause checks the cause of the first event of a batch: for a fact about an experiment or a
// question the latest event about it, for everything else the latest event.
func checkCause(a *auditor, in *identified) {
	s := a.core.State()
	want := s.LastEvent
	switch {
	case a.event.Kind == events.KindSafetyAnswered:
		want = orderedSafe(s, in.payload.(*events.SafetyAnswered))
	case in.author == byInstrument && in.o.Command != nil, a.event.Kind == events.KindExperimentDispatched && in.x != nil:
		want = in.o.LastEvent
	case in.author == byExpert && in.q != nil && !in.about.Volunteered:
		want = in.q.LastEvent
	case in.author == byEngine && in.q != nil && isWithdrawn(in.payload) && a.event.Cause == in.q.LastEvent:
		want = in.q.LastEvent // it could not be asked, or its answer not be accepted
	}
	if a.event.Cause != want {
		a.mismatch(in.subject(), "its cause is event %q; event %q led to it", a.event.Cause, want)
	}
}

// isWithdrawn is for checkCause alone: only this kind has two possible causes.
func isWithdrawn(payload events.Payload) bool {
	_, ok := payload.(*events.QuestionWithdrawn)
	return ok
}

// checkTrace checks that the first event of a batch has the trace of its cause: the same one, or
// another span of it where a duration was measured.
//
// Without telemetry every trace is that of the campaign's definition, usually empty.
func checkTrace(a *auditor, in *identified) {
	if a.event.Kind == events.KindCampaignDefined {
		return
	}
	parent, spans := a.core.State().Trace, false
	switch a.event.Kind {
	case events.KindModelFitted, events.KindModelFitFailed, events.KindDecisionMade, events.KindMeasurementsJudged:
		spans = true
	}
	switch {
	case in.author == byInstrument && in.o.Command != nil:
		once := slices.Contains([]events.Kind{
			events.KindExperimentStarted, events.KindActAccepted, events.KindQuantityArrived,
			events.KindInstrumentSignalled,
		}, a.event.Kind)
		parent, spans = in.o.Trace, !once
	case in.author == byExpert && in.q != nil && !in.about.Volunteered:
		parent = in.q.Trace
	}
	trace := a.event.Trace
	if trace == parent || spans && (parent == "" || traceID(trace) == traceID(parent)) {
		return
	}
	a.mismatch(in.subject(), "its trace is %q; it belongs to %q", trace, parent)
}

// traceID is the part of a traceparent that all spans of a trace share.
func traceID(trace string) string {
	if !traceparent.MatchString(trace) {
		return ""
	}
	return trace[3:35]
}

// device holds the facts about the instrument of the present process. identity and simulated are
// nil before the process has stated them.
type device struct {
	name      string
	identity  *string
	simulated *bool
	before    *bool // simulated, of the process before
}

// checkSimulated checks the mark of a simulated world against the definition or, if that leaves it
// open (a program states it itself), against the events before.
//
// It keeps simulated results from passing for results of a lab.
func checkSimulated(a *auditor, in *identified) {
	want := false
	switch p := in.payload.(type) {
	case *events.ExperimentDispatched:
		want = simulatedDevice(a, in, "")
	case *events.ExperimentStarted:
		want = simulatedDevice(a, in, "")
	case *events.ActDispatched:
		want = simulatedDevice(a, in, resourceOf(a, p))
	case *events.ActAccepted, *events.ActEnded:
		want = simulatedDevice(a, in, in.o.Resource)
	case *events.ExperimentMeasured, *events.ExperimentFailed, *events.ExperimentInfeasible, *events.ExperimentDeferred,
		*events.QuantityArrived, *events.InstrumentSignalled:
		// Statements under another name than the present one are not marked.
		want = in.author == byInstrument && in.name == in.about.Instrument && simulatedDevice(a, in, in.o.Resource)
		if in.author == byEngine && in.x != nil {
			want = engine.SimulatedBy(a.core.State(), in.x, in.about.Instrument)
		}
	case *events.QuestionAnswered:
		expert := a.core.State().Definition.Expert(in.about.Expert)
		if expert == nil || !expert.Asked() && in.author == byPerson {
			return // a person answered for a simulated expert
		}
		want = !expert.Asked()
	}
	if a.event.Simulated != want {
		a.mismatch(in.subject(), "it is marked as %s; it is %s", world(a.event.Simulated), world(want))
	}
}

// world is the mark in words.
func world(simulated bool) string {
	if simulated {
		return "simulated"
	}
	return "real"
}

// simulatedDevice reports whether the campaign's instrument is simulated. If the definition leaves
// it open, the first event of a process states it, and the others of that process must agree.
func simulatedDevice(a *auditor, in *identified, resource string) bool {
	if _, simulated, known := a.identity(resource); known {
		return simulated
	}
	d := a.deviceOf(resource)
	if d.simulated == nil {
		said := a.event.Simulated
		if before := d.before; before != nil && *before != said {
			a.remark(
				in.subject(),
				"the instrument says that it is %s; before the program was started again it said %s",
				world(said),
				world(*before),
			)
		}
		d.simulated, d.before = &said, &said
	}
	return *d.simulated
}

// deviceOf returns the known facts about an instrument.
func (a *auditor) deviceOf(resource string) *device {
	if a.devices[resource] == nil {
		a.devices[resource] = new(device)
	}
	return a.devices[resource]
}

// identity returns the name of an instrument and whether it is simulated, if the
// definition says so: a program states it itself.
func (a *auditor) identity(resource string) (name string, simulated, known bool) {
	def := a.core.State().Definition.For(resource)
	driver, known := a.core.Registry().DriverOf(def)
	if !known || driver.Identify == nil {
		return "", false, false
	}
	name, simulated = driver.Identify(*def)
	return name, simulated, true
}

// checkDispatch checks the instrument of a dispatch against the definition, and against the same
// process's other dispatches, and that no called-off command may still begin. It also notes the
// dispatch, by which checkActor judges later answers.
func checkDispatch(a *auditor, _ *identified, p *events.ExperimentDispatched) {
	for _, o := range a.core.State().BeingCalledOff() {
		a.mismatch(p.Experiment, "it was sent while %s was being called off", o.Subject)
	}
	a.checkDrawn(p)
	a.checkHanded("", p.Experiment, p.Command, p.Instrument, p.Identity)
}

// checkHanded checks the command of a subject, and the device that it was handed to.
func (a *auditor) checkHanded(resource, subject, command, instrument, identity string) {
	if want := engine.CommandID(a.core.State(), subject); command != want {
		a.mismatch(subject, "its command is %q, that of the campaign is %q", command, want)
	}
	want, _, known := a.identity(resource)
	d := a.deviceOf(resource)
	if !known {
		if d.name == "" {
			d.name = instrument
		}
		want = d.name
	}
	if instrument != want {
		a.mismatch(subject, "it was handed to %q, and the campaign's instrument is %q",
			instrument, want)
	}
	if d.identity == nil {
		d.identity = &identity
	}
	if identity != *d.identity { // each process asks for it once
		a.mismatch(subject, "it was handed to the device %q, and those before it to %q",
			identity, *d.identity)
	}
	a.dispatched[subject] = a.event.Sequence
}

// givenTo are the stocks of the lab where a command has taken its parts, and nothing else.
func givenTo(subject string, parts []events.Drawn) engine.LabStocks {
	return engine.LabStocks{
		Taken: map[string][]events.Drawn{subject: parts},
		Left:  map[string]campaign.Stock{}, Fault: "it does not draw its need of the lab's stocks",
	}
}

// checkDrawn checks the parts of stocks that a command uses up: as much as the definition has of its
// composition, and the next labels. That none was handed out before, the fold sees; of a stock of the
// lab, the audit of the lab's log.
func (a *auditor) checkDrawn(p *events.ExperimentDispatched) {
	s := a.core.State()
	x := s.Experiment(p.Experiment)
	if x == nil {
		return // the fold says so
	}
	drawn, short := engine.Drawn(s, x, givenTo(x.ID, p.Drawn))
	switch {
	case short != nil:
		a.mismatch(p.Experiment, "it was sent though %s", short.Why)
	case !reflect.DeepEqual(drawn, p.Drawn):
		a.mismatch(p.Experiment, "it draws %v from the stocks, and by the definition %v", p.Drawn, drawn)
	}
}
