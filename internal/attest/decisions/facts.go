package decisions

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/projections/campaign"
)

// checkFact checks statements of a person, an instrument or an expert against the request and the
// definition. A breach of a rule of this program alone is a remark if another program wrote the
// event: it may have had other rules.
func checkFact(a *auditor, in *identified) {
	checkWhole(a, in)
	if _, defines := in.payload.(*events.CampaignDefined); !defines {
		checkCommand(a, in)
	}
	if check := facts[a.event.Kind]; check != nil {
		check(a, in)
	}
}

// facts are the kinds of events with statements that follow from others, and their checks. The
// others are made again (see checkDerived), or unrestricted.
var facts = map[events.Kind]func(*auditor, *identified){
	events.KindCampaignDefined: of(checkDefined),
	events.KindCampaignAmended: of(checkAmended),
	events.KindNoteAdded:       of(checkNote),
	events.KindFileAttached:    of(checkAttached),
	events.KindAnchorsDeclared: of(checkAnchors),
	events.KindRegionExcluded:  of(checkExclusion),
	events.KindCampaignPaused:  of(checkPaused),
	events.KindCampaignResumed: of(checkResumed),

	events.KindExperimentRequested:  of(checkRequested),
	events.KindExperimentDispatched: of(checkDispatch),
	events.KindExperimentMeasured:   of(checkMeasured),
	events.KindQuantityArrived:      of(checkArrived),
	events.KindExperimentFailed:     of(checkFailed),
	events.KindExperimentUnresolved: of(checkUnresolved),
	events.KindBatchEnded:           of(checkBatchEnded),
	events.KindActDispatched:        of(checkActDispatched),
	events.KindActAccepted:          of(checkAct[*events.ActAccepted]),
	events.KindActEnded:             of(checkActEnded),
	events.KindActUnresolved:        of(checkActUnresolved),
	events.KindActResolved:          of(checkActResolved),
	events.KindInstrumentStalled:    of(checkStalled),
	events.KindInstrumentSignalled:  of(checkSignalled),
	events.KindExperimentResolved:   of(checkResolved),
	events.KindCancellationOrdered:  of(checkOrdered),
	events.KindCancellationAnswered: of(checkVoid),
	events.KindInstrumentAnswered:   of(checkHeard),
	events.KindSafetyAnswered:       of(checkSecured),
	events.KindMeasurementCorrected: of(checkCorrection),
	events.KindExperimentCorrected:  of(checkOutcome),
	events.KindMeasurementFlagged:   of(checkWord),

	events.KindQuestionAnswered:   of(checkAnswered),
	events.KindQuestionSuperseded: of(checkSuperseded),
	events.KindQuestionContested:  of(checkContested),
	events.KindQuestionExpired:    of(checkExpired),

	events.KindMethodAnswered: of(checkMethod),
}

// of is a check of the payloads of one type.
func of[P events.Payload](check func(*auditor, *identified, P)) func(*auditor, *identified) {
	return func(a *auditor, in *identified) { check(a, in, in.payload.(P)) }
}

// checkDefined checks the definition against its stream.
func checkDefined(a *auditor, _ *identified, p *events.CampaignDefined) {
	if p.Definition.Name != a.event.Campaign {
		a.mismatch(
			"definition", "it defines %q, and stands in the campaign %q", p.Definition.Name,
			a.event.Campaign,
		)
	}
}

// checkAmended checks that an amendment keeps the fixed parts of a campaign.
func checkAmended(a *auditor, _ *identified, p *events.CampaignAmended) {
	for _, d := range a.devices {
		d.identity = nil // a resumed campaign asks anew for its instrument's identity
	}
	if problem := engine.Unamendable(a.core.State(), p.Definition); problem != "" {
		a.mismatch("definition", "%s", problem)
	}
}

// checkNote checks that the subject of a remark exists.
func checkNote(a *auditor, in *identified, p *events.NoteAdded) {
	s := a.core.State()
	if p.About != "" && in.x == nil && s.Act(p.About) == nil && s.Batch(p.About) == nil && s.Question(p.About) == nil && !s.HasDecision(p.About) {
		a.mismatch(p.About, "it is about something that there is not")
	}
}

// checkAttached checks the recorded facts about a file. The log cannot show whether its bytes
// exist.
func checkAttached(a *auditor, in *identified, p *events.FileAttached) {
	if fault := p.Fault(); fault != "" {
		a.mismatch(in.subject(), "%s: %s", p.File, fault)
	}
	if err := engine.CheckMeasured(a.core.State(), p.Quantity); err != nil {
		a.ruled(in.subject(), "%s is a file of %q: %v", p.File, p.Quantity, err)
	}
}

// checkAnchors checks anchors against the experts and parameters of the campaign.
func checkAnchors(a *auditor, _ *identified, p *events.AnchorsDeclared) {
	if a.core.State().Definition.Expert(p.Expert) == nil {
		a.mismatch(p.Expert, "the campaign has no such expert")
	}
	if len(p.Points) == 0 && !p.Instead {
		a.mismatch(p.Expert, "it names no composition")
	}
	checkPoints(a, p.Expert, p.Points)
}

// checkPoints checks compositions against the campaign's parameters.
func checkPoints(a *auditor, subject string, points []definition.Point) {
	for _, point := range points {
		checkPoint(a, subject, a.core.State().Definition, point)
	}
}

// checkPaused checks that a paused campaign was active.
func checkPaused(a *auditor, _ *identified, _ *events.CampaignPaused) {
	if status := a.core.State().Status; status != campaign.Running {
		a.ruled("pause", "the campaign was %s already", status)
	}
}

// checkResumed checks that a resumed campaign was paused, or awaiting the rest of an instrument.
func checkResumed(a *auditor, _ *identified, _ *events.CampaignResumed) {
	if !engine.Resumable(a.core.At(engine.World{})) {
		a.ruled("resume", "the campaign was not paused")
	}
}

// checkRequested checks an experiment of a person's own against the space; the engine's are made
// again.
func checkRequested(a *auditor, in *identified, p *events.ExperimentRequested) {
	if own(in, p) {
		checkOwn(a, in, p)
	}
}

// checkMeasured checks a measurement against the definition.
func checkMeasured(a *auditor, in *identified, p *events.ExperimentMeasured) {
	checkMeasurement(a, in, p.Experiment, p.Measurement)
}

// checkArrived checks a late quantity against the definition, and the engine's statement that it
// did not arrive against the awaited ones.
func checkArrived(a *auditor, in *identified, p *events.QuantityArrived) {
	if in.author == byEngine {
		checkNotArrived(a, in, p)
		return
	}
	q := a.core.State().Definition.Quantity(p.Name())
	switch {
	case q == nil: // the projections refuse it
	case p.Quantity != nil:
		checkValue(a, p.Experiment, q, *p.Quantity)
	case p.Missing != nil && p.Missing.Reason == "":
		a.mismatch(p.Experiment, "it does not say why %s is missing", p.Name())
	case p.Missing != nil && len(p.Unread) > 0:
		checkUnusable(a, in, q, p)
	}
}

// checkValue checks that a value of a declared quantity is usable.
func checkValue(a *auditor, subject string, q *definition.QuantityDef, value definition.Quantity) {
	usable, missing, unread := instruments.Arrived(q, value)
	if missing != nil {
		a.mismatch(subject, "%s", missing.Reason)
	} else if !reflect.DeepEqual(*usable, value) {
		a.mismatch(subject, "%s", unread[0].Reason)
	}
}

// checkNotArrived checks the statement that a quantity did not arrive in time against the awaited
// ones, and the clock.
func checkNotArrived(a *auditor, in *identified, p *events.QuantityArrived) {
	s := a.core.State()
	if in.x == nil || s.Status.Ended() {
		a.mismatch(p.Experiment, "nothing of it is awaited")
		return
	}
	all := s.Awaited(in.x)
	i := slices.IndexFunc(all, func(w campaign.Awaited) bool { return w.Quantity == p.Name() })
	if i < 0 || all[i].Until.IsZero() {
		a.mismatch(p.Experiment, "no %q of it is awaited, or for as long as it takes", p.Name())
		return
	}
	if problem := a.compare(engine.NotArrived(s, all[i]), p, a.running == a.build); problem != "" {
		a.mismatch(p.Experiment, "%s", problem)
	}
	if !a.event.Time.Before(a.now) && a.event.Time.Before(all[i].Until) { // else a clock was set back
		a.mismatch(p.Experiment, "it says that nothing came at %s; there was time until %s",
			clockTime(a.event.Time), clockTime(all[i].Until))
	}
}

// checkUnusable checks the reason for an unusable value. One that JSON cannot express is kept as Go
// prints it.
func checkUnusable(a *auditor, in *identified, q *definition.QuantityDef, p *events.QuantityArrived) {
	var value definition.Quantity
	text := p.Unread[0].Text
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		if !strings.HasPrefix(text, "{Name:") {
			a.mismatch(p.Experiment, "what was unusable of %s is no quantity: %q", q.Name, text)
		}
		return
	}
	_, missing, unread := instruments.Arrived(q, value)
	if !reflect.DeepEqual(missing, p.Missing) || !reflect.DeepEqual(unread, p.Unread) {
		a.forbidden(in, p.Experiment, "%s was missing for another reason", text)
	}
}

// checkUnresolved checks an abandoned experiment against the instrument's silence. At a restart the
// instrument has declared its fate unknown.
func checkUnresolved(a *auditor, in *identified, p *events.ExperimentUnresolved) {
	_, recovery := a.batch.opening.(*events.RecoveryDone)
	if recovery || in.author != byEngine || in.x == nil {
		return
	}
	checkGivenUp(a, p.Experiment)
}

// checkGivenUp checks a command that was given up against the silence of its instrument.
func checkGivenUp(a *auditor, subject string) {
	if o := a.core.State().Order(subject); o.Command != nil {
		_, giveUp := a.core.State().Definition.At(o.Resource).Silence()
		checkSilence(a, o, giveUp)
	}
}

// checkStalled checks the statement that an instrument is silent, and its number of seconds,
// against the definition.
func checkStalled(a *auditor, _ *identified, p *events.InstrumentStalled) {
	o := a.core.State().Order(p.Subject())
	if o.Command == nil {
		return
	}
	stall, _ := a.core.State().Definition.At(o.Resource).Silence()
	checkSilence(a, o, stall)
	_, longer := o.Silence(stall)
	if want := (stall + longer).Seconds(); p.Waited != want {
		a.mismatch(p.Subject(), "it was waited for %v s; the definition says %v s", p.Waited, want)
	}
}

// checkSignalled checks that a sign is one that this program would have recorded, of the instrument
// that was sent the command.
func checkSignalled(a *auditor, in *identified, p *events.InstrumentSignalled) {
	if in.author == byInstrument && in.name != p.Instrument {
		a.mismatch(p.Subject(), "%q gives the sign; the command is one of %q", in.name, p.Instrument)
	}
	known := a.core.State().Order(p.Subject()).Command != nil
	if known && engine.Signalled(a.core.At(engine.World{Now: a.event.Time}), p.Subject(), p.Sign) == nil {
		a.mismatch(p.Subject(), "the sign tells nothing new, and was recorded")
	}
}

// checkResolved checks the parts of a person's resolution, and expects the requested repetition and
// the call-off of the command.
func checkResolved(a *auditor, in *identified, p *events.ExperimentResolved) {
	if !a.core.State().GoesWith(p.Resolution, p.Measurement) {
		a.mismatch(p.Experiment, "it is resolved as %s, and its measurement does not go with that", p.Resolution)
	} else if p.Measurement != nil {
		checkMeasurement(a, in, p.Experiment, *p.Measurement)
	}
	if p.Repeat && in.x != nil {
		replicate := in.x.Replicate
		if p.Resolution == events.ResolvedFailed {
			replicate++
		}
		a.expect(p.Experiment, true, engine.Retry(a.core.State(), in.x, replicate))
	}
	if in.x != nil && engine.OwesCallOff(a.core.State(), in.x) && !tookForAtRest(&in.x.Command) {
		a.batch.owed = append(a.batch.owed, p.Experiment)
	}
}

// checkWord compares the flags that are recorded with a measurement, that something else was made or
// that it equals the one before, with the measurements; others are made again.
func checkWord(a *auditor, in *identified, p *events.MeasurementFlagged) {
	x := in.x
	if x == nil || x.Measurement == nil {
		return // a contradiction, which the fold names
	}
	var due []events.Payload
	var missing string
	switch p.Verdict {
	case events.VerdictElsewhere:
		due = engine.Elsewhere(a.core.At(engine.World{}), x, x.Measurement.Actual)
		missing = "what was made is what was asked for"
	case events.VerdictSame:
		due = engine.Same(a.core.At(engine.World{}), x, x.Command.Instrument, x.Measurement)
		missing = "its value is not that of the one before, or nothing to remark on"
	default:
		return
	}
	if due == nil {
		a.mismatch(p.Experiment, "%s", missing)
	} else if mismatch := a.compare(due[0], p, true); mismatch != "" {
		a.mismatch(p.Experiment, "%s", mismatch)
	}
}

// checkAnswered checks an answer against its form, and a volunteered one, which no question limits,
// against the parameters.
func checkAnswered(a *auditor, in *identified, p *events.QuestionAnswered) {
	checkAnswerer(a, in, p)
	checkAnswer(a, p.Question, p.Form, p.Options, p.Scale, p.Answer)
	checkShown(a, p.Question, p.Took, p.Shown)
	if p.Volunteered {
		checkPoints(a, p.Question, p.Options)
	}
}

// checkSuperseded checks a changed answer against its form.
func checkSuperseded(a *auditor, _ *identified, p *events.QuestionSuperseded) {
	checkAnswer(a, p.Question, p.Form, p.Options, p.Scale, p.Answer)
	checkShown(a, p.Question, p.Took, p.Shown)
}

// checkContested checks a contested answer by the rules for a valid one: a person may make it
// count.
func checkContested(a *auditor, _ *identified, p *events.QuestionContested) {
	checkAnswer(a, p.Question, p.Form, p.Options, p.Scale, p.Answer)
	checkShown(a, p.Question, p.Took, p.Shown)
	if p.Exclude && p.Answer.Label != events.LabelReject {
		a.mismatch(p.Question, "only a composition that is rejected can be excluded")
	}
}

// checkExpired checks the statement that no answer came in time against the clock.
func checkExpired(a *auditor, in *identified, _ *events.QuestionExpired) {
	q := in.q
	if q == nil || a.event.Time.Before(a.now) || a.event.Time.Before(q.AskedAt) { // a clock was set back
		return
	}
	if q.Expires.IsZero() || a.event.Time.Before(q.Expires) {
		a.mismatch(
			q.ID, "it says that nobody answered in time at %s; the time was up at %s",
			clockTime(a.event.Time), clockTime(q.Expires),
		)
	}
}

// checkCommand checks that an outcome names the instrument and the command of the experiment's
// dispatch. A person has no command.
func checkCommand(a *auditor, in *identified) {
	instrument, command := "person", ""
	if in.o.Command != nil && in.author != byPerson {
		instrument, command = in.o.Instrument, in.o.ID
	}
	if in.author == byEngine && in.x != nil && in.x.Batch != "" {
		return // see checkFollows
	}
	if in.author == byEngine && a.event.Kind == events.KindQuantityArrived {
		instrument, command = "", "" // it says that nothing came
	}
	switch in.payload.(type) {
	case *events.ExperimentStarted, *events.ExperimentMeasured, *events.QuantityArrived, *events.ExperimentFailed,
		*events.ExperimentInfeasible,
		*events.ExperimentDeferred, *events.ExperimentUnresolved, *events.InstrumentStalled,
		*events.InstrumentSignalled, *events.InstrumentAnswered:
		if in.about.Instrument != instrument {
			a.mismatch(
				in.subject(), "it names the instrument %q; it is about one of %q",
				in.about.Instrument, instrument,
			)
		}
	case *events.ExperimentCancelled:
	default:
		return
	}
	if in.about.Command != command {
		a.mismatch(
			in.subject(), "its command is %q, that of %s is %q", in.about.Command, in.subject(),
			command,
		)
	}
}

// checkMeasurement checks a measurement against the definition in force.
//
// Name, unit and range give precise messages, and come first; the other rules of the contract of
// instruments are checked only if these found nothing.
func checkMeasurement(a *auditor, in *identified, subject string, m events.Measurement) {
	def := a.core.State().Definition
	o, sought := m.Objective, def.Sought()
	found := len(a.report.Mismatches)
	switch {
	case def.Several():
		if err := instruments.Recorded(def, m); err != nil {
			a.mismatch(subject, "%v", err)
		}
	case o.Name != sought.Name:
		a.mismatch(subject, "it measures %q; the campaign's objective is %q", o.Name, sought.Name)
	case o.Unit != sought.Unit:
		a.mismatch(subject, "its unit is %q, the campaign's is %q", o.Unit, sought.Unit)
	case sought.Min != nil && o.Value < *sought.Min || sought.Max != nil && o.Value > *sought.Max:
		a.mismatch(subject, "its value %v is outside the range of plausible results", o.Value)
	case o.SD != nil && !(*o.SD >= 0):
		a.mismatch(subject, "its standard deviation is %v", *o.SD)
	}
	checkPoint(a, subject, def, m.Actual)
	if err := instruments.Check(*def, m); err != nil && len(a.report.Mismatches) == found {
		a.forbidden(in, subject, "%v", err)
	}
}

// forbidden reports a breach of a rule of this program: a mismatch if this program wrote it. An
// earlier version may have allowed it, and its log is honest.
func (a *auditor) forbidden(in *identified, subject, format string, args ...any) {
	if a.running == a.build && in.author != byPerson { // a person's program is not recorded
		a.mismatch(subject, format, args...)
		return
	}
	a.remark(subject, "this program would not have taken it: "+format, args...)
}

// checkPoint checks a composition against the campaign's parameters.
func checkPoint(a *auditor, subject string, def *definition.Campaign, point definition.Point) {
	for _, p := range def.Parameters {
		v, ok := point[p.Name]
		_, number := v.Float()
		switch {
		case !ok:
			a.mismatch(subject, "its composition lacks %s", p.Name)
		case number != (p.Categories == nil),
			!number && !slices.ContainsFunc(p.Categories,
				func(c definition.CategoryDef) bool { return c.Name == v.Name() }):
			a.mismatch(subject, "its composition says %s = %v, which is no value of it", p.Name, v)
		}
	}
	if len(point) > len(def.Parameters) {
		a.mismatch(subject, "its composition names a parameter that the campaign does not have")
	}
}

// own reports whether a person requests an experiment that they ran. The engine repeats one of
// theirs if its result is in doubt.
func own(in *identified, p *events.ExperimentRequested) bool {
	return in.author != byEngine && (p.Origin == events.OriginPerson || p.Origin == events.OriginImport)
}

// checkOwn checks an experiment that a person ran, or that was imported, against the space, and
// expects its result with it.
//
// The result belongs to the same batch: an experiment of a person's own is reported with its result
// or not at all.
func checkOwn(a *auditor, in *identified, p *events.ExperimentRequested) {
	checkPoint(a, p.Experiment, a.core.State().Definition, p.Parameters)
	if _, err := a.core.Space().Encode(p.Parameters); err != nil {
		a.forbidden(in, p.Experiment, "%v", err)
	} else if want := 1 + engine.RunsOf(a.core.At(engine.World{}), p.Parameters); p.Replicate != want {
		a.mismatch(p.Experiment, "it says it is run %d of its composition; it is run %d", p.Replicate, want)
	}
	if p.Decision != "" {
		a.mismatch(p.Experiment, "a person ran it, and it names the decision %s", p.Decision)
	}
	if in.author != byPerson && a.batch.first.Actor == a.event.Actor {
		a.mismatch(p.Experiment, "a person ran it, and its actor is %q", a.event.Actor)
	}
	a.expectFacts(p.Experiment, 1, "its result", func(next events.Payload) bool {
		switch next := next.(type) {
		case *events.ExperimentMeasured:
			return next.Experiment == p.Experiment
		case *events.ExperimentFailed:
			return next.Experiment == p.Experiment
		case *events.ExperimentInfeasible:
			return next.Experiment == p.Experiment
		}
		return false
	})
}

// checkFailed checks a failed experiment's partial results against the definition, and a result
// recorded as refused against the rules of refusal. Rules may have been stricter once, so that the
// latter is a remark.
func checkFailed(a *auditor, in *identified, p *events.ExperimentFailed) {
	if p.Measurement != nil {
		checkMeasurement(a, in, p.Experiment, *p.Measurement)
	}
	if p.Rejected == "" {
		return
	}
	var m events.Measurement
	if json.Unmarshal([]byte(p.Rejected), &m) == nil &&
		instruments.Check(*a.core.State().Definition, m) == nil {
		a.remark(
			p.Experiment,
			"it is said to have been refused, and this program would have taken it: %s", p.Rejected,
		)
	}
}

// checkSilence checks the statement that an instrument is silent against the time since its
// dispatch, or since its latest sign of life and what that promised.
func checkSilence(a *auditor, o campaign.Order, allowed time.Duration) {
	since := o.DispatchedAt
	if sign := o.Sign; sign != nil && sign.At.After(since) {
		since = sign.At
		stall, _ := a.core.State().Definition.At(o.Resource).Silence()
		_, longer := o.Silence(stall)
		allowed += longer
	}
	if a.event.Time.Before(a.now) || a.now.Before(since) { // a clock was set back
		return
	}
	if silent := a.event.Time.Sub(since); allowed <= 0 || silent < allowed {
		a.mismatch(
			o.Subject,
			"it says that the instrument is silent %s after it was handed out; the definition allows %s",
			silent, allowed,
		)
	}
}

// checkRecovery checks the list of running commands at a restart. A run with an epoch lists them
// when it begins, before it asks for their fates.
//
// Each unknown fate must be followed by experiment.unresolved; the other fates show in their
// outcomes.
func checkRecovery(a *auditor, p *events.RecoveryDone) {
	if p.Epoch != "" && p.Commands == nil {
		return
	}
	s := a.core.State()
	listed := make(map[string]bool, len(p.Commands))
	for _, c := range p.Commands {
		listed[c.Subject()] = true
	}
	under := a.askedAbout(listed)
	var subjects []string
	unknown := 0
	for _, c := range p.Commands {
		subjects = append(subjects, c.Subject())
		if o := s.Order(c.Subject()); o.Command != nil && c.Command != o.ID {
			a.mismatch(c.Subject(), "its command is %q, that of %s is %q", c.Command, o.Subject, o.ID)
		}
		switch instruments.Fate(c.Fate) {
		case instruments.FateUnknown:
			unknown++
		case instruments.FateNotStarted, instruments.FateRunning, instruments.FateFinished:
		default:
			a.mismatch(c.Subject(), "%q is not a fate of a command", c.Fate)
		}
	}
	if !slices.Equal(subjects, under) {
		a.mismatch("recovery", "it tells the fate of %v; %v were under way", subjects, under)
	}
	a.expectFacts("recovery", unknown, "experiment.unresolved", func(next events.Payload) bool {
		switch next.(type) {
		case *events.ExperimentUnresolved, *events.ActUnresolved:
			return listed[next.Subject()]
		}
		return false
	})
}

// checkCorrection checks a correction against the corrected measurement, which is judged as a
// whole, as it counts from then on.
func checkCorrection(a *auditor, in *identified, p *events.MeasurementCorrected) {
	if in.x == nil || in.x.Measurement == nil {
		return // the projections refuse it
	}
	m := *in.x.Measurement
	def := a.core.State().Definition
	if p.Reason == "" {
		a.mismatch(p.Experiment, "it gives no reason")
	}
	if def.Several() {
		m = checkValues(a, p, m)
		if p.Actual == nil && !slices.ContainsFunc(p.Values,
			func(v events.QuantityCorrected) bool { return v.New != nil }) {
			return // the standing value was checked when it came, by the declarations then in force
		}
	} else {
		if !reflect.DeepEqual(p.Old, m.Objective) {
			a.mismatch(p.Experiment, "it replaces %s; %s was measured", written(p.Old), written(m.Objective))
		}
		if (p.New == nil) != p.Excluded {
			a.mismatch(p.Experiment, "a measurement is given a new value, or excluded")
		}
		if p.New != nil {
			m.Objective = *p.New
		}
	}
	if p.Actual != nil {
		m.Actual = p.Actual
	}
	m.Further = p.Further // the others are those of the instrument
	checkMeasurement(a, in, p.Experiment, m)
}

// written writes a value with its unit and standard deviation.
func written(q definition.Quantity) string {
	text := strings.TrimSpace(fmt.Sprintf("%s = %v %s", q.Name, q.Value, q.Unit))
	if q.SD != nil {
		text += fmt.Sprintf(" with the standard deviation %v", *q.SD)
	}
	return text
}

// checkValues checks the correction of declared quantities against the measured ones, and returns
// the corrected measurement. A measurement from before their declaration has them under the present
// one.
func checkValues(a *auditor, p *events.MeasurementCorrected, m events.Measurement) events.Measurement {
	def := a.core.State().Definition
	if p.New != nil || p.Old != (definition.Quantity{}) {
		a.mismatch(p.Experiment, "the campaign declares its quantities, and it corrects an objective apart from them")
	}
	for _, v := range p.Values {
		old, ok := m.Of(v.Name)
		if ok != (v.Old != nil) || ok && !reflect.DeepEqual(*v.Old, old) {
			a.mismatch(p.Experiment, "it does not say of %s what was measured", v.Name)
		}
		if v.New != nil && v.New.Name != v.Name {
			a.mismatch(p.Experiment, "it gives %s a value of %q", v.Name, v.New.Name)
		}
		if v.New == nil && !v.Excluded {
			a.mismatch(p.Experiment, "it names %s, and changes nothing of it", v.Name)
		}
		if v.New != nil {
			if q := def.Quantity(v.Name); q != nil { // an unusable value would pass for missing below
				checkValue(a, p.Experiment, q, *v.New)
			}
			m = campaign.With(def, m, *v.New)
		}
	}
	return instruments.Arranged(def, m)
}

// checkOutcome checks the correction of an outcome against the standing one.
func checkOutcome(a *auditor, in *identified, p *events.ExperimentCorrected) {
	if in.x == nil {
		return // the projections refuse it
	}
	if was := in.x.Status.Outcome(); p.Was != was {
		a.mismatch(p.Experiment, "it says that the outcome was %q, which was %q", p.Was, was)
	}
	if p.Reason == "" {
		a.mismatch(p.Experiment, "it gives no reason")
	}
	if !a.core.State().GoesWith(p.Outcome, p.Measurement) {
		a.mismatch(p.Experiment, "its outcome is %s, and its measurement does not go with that", p.Outcome)
	} else if p.Measurement != nil {
		checkMeasurement(a, in, p.Experiment, *p.Measurement)
	}
}

// checkExclusion checks an excluded region against the campaign's parameters.
func checkExclusion(a *auditor, _ *identified, p *events.RegionExcluded) {
	s := a.core.State()
	if p.About != "" && s.Experiment(p.About) == nil && s.Question(p.About) == nil {
		a.mismatch(p.Exclusion, "it is about %s, which there is not", p.About)
	}
	if p.Reason == "" || p.Region.Name != p.Reason {
		a.mismatch(p.Exclusion, "its reason is %q, that of its region %q", p.Reason, p.Region.Name)
	}
	if err := engine.CheckRegion(s.Definition.Parameters, p.Region.Where); err != nil {
		a.mismatch(p.Exclusion, "%v", err)
	}
}

// checkAnswer checks an answer against its stated form.
func checkAnswer(
	a *auditor, question string, form events.Form, options []definition.Point, scale *events.Scale, answer events.Answer,
) {
	if err := answer.Check(form, len(options), scale); err != nil {
		a.mismatch(question, "%v", err)
	}
	if answer.Point != nil {
		checkPoint(a, question, a.core.State().Definition, answer.Point)
	}
}

// checkShown checks that everything shown with a question existed before the answer, and that the
// person's time is possible. Answers were never recorded otherwise.
func checkShown(a *auditor, question string, took float64, shown *events.Shown) {
	if took < 0 {
		a.mismatch(question, "nobody answers %v seconds after a question was shown", took)
	}
	if shown == nil {
		return
	}
	s := a.core.State()
	if shown.At > s.Sequence {
		a.mismatch(question, "it says that event %d was shown, and stands behind event %d",
			shown.At, s.Sequence)
	}
	for _, id := range append([]string{shown.Best}, shown.Nearest...) {
		if id != "" && s.Experiment(id) == nil {
			a.mismatch(question, "it says that %q was shown, and there was no such experiment", id)
		}
	}
}
