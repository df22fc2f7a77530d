package decisions

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/projections"
	"github.com/campaignd/campaignd/projections/campaign"
)

// checkDerived makes again the engine's own record at the beginning of a batch, and notes its
// consequences in the batch.
//
// Only the first event of a batch comes here: the others are expected, and compared when they come.
// Kinds without a case are facts (facts.go) or contain nothing that could be made again.
func checkDerived(a *auditor, ctx context.Context, in *identified) error {
	switch p := in.payload.(type) {
	case *events.CampaignDefined:
		a.running = p.Build
	case *events.RecoveryDone:
		a.running = p.Build
		a.forget()
		a.recovered = a.event.Sequence
		checkRecovery(a, p)
	case *events.DecisionMade:
		a.running = p.Build
		return checkDecision(a, ctx, p)
	case *events.ModelFitted:
		a.running = p.Build
		return checkFit(a, ctx, p.Of(), p.At, p.Seed, p.Build, p.Version, p)
	case *events.ModelFitFailed:
		return checkFit(a, ctx, p.Of(), p.At, p.Seed, a.build, p.Version, p)
	case *events.TrustAdjusted:
		a.mismatch(p.Expert, "it belongs to no decision")

	case *events.ExperimentRequested:
		if own(in, p) {
			return nil // see checkFact
		}
		if in.author == byPerson {
			a.mismatch(p.Experiment, "its actor is %q, and its origin is %q", a.event.Actor, p.Origin)
		}
		now := a.now
		if record, ok := a.next(now).(engine.Record); p.Origin == events.OriginReference &&
			(!ok || a.compare(record.Payloads[0], p, true) != "") {
			now = a.event.Time // it is due by the time since the last one
		}
		checkRecord(a, p.Experiment, p, now)
	case *events.QuestionAsked:
		checkRecord(a, p.Question, p, a.now)
		checkExpiry(a, p)
	case *events.CampaignCompleted:
		checkRecord(a, "end", p, a.event.Time)
	case *events.CampaignPaused:
		if in.author == byEngine {
			checkPause(a, p)
		}

	case *events.CancellationOrdered, *events.ActEnded:
		if in.author == byEngine {
			checkRemade(a, in)
		}
	case *events.BatchPlanned, *events.BatchEnded:
		if in.author == byEngine {
			checkFollows(a, in)
		}
	case *events.ExperimentMeasured, *events.ExperimentFailed, *events.ExperimentInfeasible:
		if in.author == byEngine {
			checkFollows(a, in)
		}
	case *events.ExperimentCancelled:
		if in.author == byEngine {
			checkRecords(a, p.Experiment, "nothing before it calls for it", p)
		}
		if p.Once {
			checkOnce(a, in, p)
		}
	case *events.QuestionWithdrawn:
		if record, ok := a.next(a.now).(engine.Record); ok &&
			events.KindOf(record.Payloads[0]) == events.KindOf(p) &&
			in.q != nil && a.event.Cause == a.core.State().LastEvent {
			checkRecords(a, in.q.ID, "nothing before it calls for it", p)
		}
	case *events.ExperimentDeferred:
		a.expect(p.Experiment, true, engine.WithFollowUps(a.core.At(engine.World{}), p)[1:]...)
	case *events.MeasurementsJudged:
		a.running = p.Build
		return checkJudgment(a, ctx, p)
	case *events.MeasurementFlagged:
		checkRecords(a, p.Experiment, "nothing before it calls for a word on this measurement", p)

	case *events.QuestionAnswered:
		if p.Volunteered {
			checkExamples(a, p)
		}
	}
	return nil
}

// checkOnce checks the statement that a doubt cannot be settled by measuring again against the
// purpose of the experiment, and expects the fate of the doubt.
func checkOnce(a *auditor, in *identified, p *events.ExperimentCancelled) {
	if in.author != byInstrument || !engine.RepeatsSuspect(a.core.At(engine.World{}), p.Experiment) {
		a.mismatch(p.Experiment, "it was to settle no doubt, so that nothing was to be had by measuring again")
		return
	}
	a.expect(p.Experiment, true, engine.WithFollowUps(a.core.At(engine.World{}), p)[1:]...)
}

// checkRecord compares an event that the engine writes on its own, outside a decision. now is the
// time of the event before, or its own if the step depends on the clock, such as the end of a
// budget of time.
func checkRecord(a *auditor, subject string, recorded events.Payload, now time.Time) {
	record, ok := a.next(now).(engine.Record)
	if !ok || events.KindOf(record.Payloads[0]) != events.KindOf(recorded) {
		a.uncalled(subject, "nothing before it calls for it")
		return
	}
	if problem := a.compare(record.Payloads[0], recorded, true); problem != "" {
		a.uncalled(subject, "%s", problem)
	}
}

// countingEach are the rules of versions that counted each experiment without a result before a
// pause, also if several ended together.
var countingEach = engine.RulesCounting(func(row []*campaign.Experiment) (each [][]*campaign.Experiment) {
	for _, x := range row {
		each = append(each, []*campaign.Experiment{x})
	}
	return each
})

// checkPause compares a pause by the engine: after failures, when all requests are deferred, or
// after the clock was set ahead. A pause without a count of occurrences, as in earlier versions,
// counted each experiment.
//
// The log does not show which of the worlds it was, so one that leads to the pause is enough.
func checkPause(a *auditor, recorded *events.CampaignPaused) {
	if recorded.Device != "" {
		checkLost(a, recorded)
		return
	}
	// A pause that counts no occurrences is one of acts, or an earlier program's.
	if !a.pausedBy(engine.Present, recorded) && (recorded.Occurrences > 0 || !a.pausedBy(countingEach, recorded)) {
		a.uncalled("pause", "nothing before it calls for it")
	}
}

// pausedBy reports whether rules pause the campaign in the same words, at one of the times that count.
func (a *auditor) pausedBy(rules engine.Rules, recorded *events.CampaignPaused) bool {
	for _, eager := range []bool{false, true} { // studies do not wait
		for _, now := range []time.Time{a.now, a.event.Time} {
			for _, ahead := range []time.Duration{0, math.MaxInt64} { // how far the clock was set ahead
				w := engine.World{Now: now, Ahead: ahead, Eager: eager}
				record, ok := nextIn(a.core, w, rules).(engine.Record)
				if !ok || events.KindOf(record.Payloads[0]) != events.KindOf(recorded) {
					continue
				}
				// Another program words it differently.
				if a.running != a.build || a.compare(record.Payloads[0], recorded, true) == "" {
					return true
				}
			}
		}
	}
	return false
}

// checkLost checks a pause of a run that had lost its device. No log can show why; the run must
// have had a leased device, and have been active. Another device may answer afterwards. The facts
// about the device are forgotten: the next process, or the next lease, states them anew.
func checkLost(a *auditor, recorded *events.CampaignPaused) {
	s := a.core.State()
	known := a.devices[""]
	if known == nil {
		known = new(device)
	}
	switch {
	case s.Status != campaign.Running || !s.Definition.Measures() || s.Definition.ByHand():
		a.mismatch("pause", "nothing before it calls for it")
	case known.simulated != nil && *known.simulated:
		a.mismatch("pause", "a simulated instrument is nobody's alone, and cannot be lost")
	case known.identity != nil && recorded.Device != cmp.Or(*known.identity, known.name):
		a.mismatch("pause", "the campaign lost %q, and had %q", recorded.Device,
			cmp.Or(*known.identity, known.name))
	case recorded.Reason == "":
		a.mismatch("pause", "it gives no reason")
	}
	a.forget()
}

// forget forgets the facts about the devices of a process: the next one states them anew.
func (a *auditor) forget() {
	for _, d := range a.devices {
		*d = device{before: d.simulated}
	}
}

// checkRecords compares the first of the events by which the engine calls off unwanted commands, or
// flags a measurement, and expects the others. The reasons are words of the program that wrote them,
// and another program may word them differently: for a flag, which holds numbers too, the report is
// not exact then.
func checkRecords(a *auditor, subject, missing string, recorded events.Payload) {
	record, ok := a.next(a.now).(engine.Record)
	if !ok || events.KindOf(record.Payloads[0]) != events.KindOf(recorded) {
		a.uncalled(subject, "%s", missing)
		return
	}
	exact := a.running == a.build
	if _, flag := recorded.(*events.MeasurementFlagged); flag {
		exact = a.sameBuild(a.running)
	}
	if problem := a.compare(record.Payloads[0], recorded, exact); problem != "" {
		a.mismatch(subject, "%s", problem)
		return
	}
	a.expect(subject, exact, record.Payloads[1:]...)
}

// checkExamples checks that an expert must give examples now, the given one first, and expects the
// others. The expert chooses their content; the campaign determines their number and form.
func checkExamples(a *auditor, p *events.QuestionAnswered) {
	step, ok := a.next(a.now).(engine.Examples)
	form, options := events.FormLabel, 1
	if step.Options > 0 {
		form, options = events.FormComparison, step.Options
	}
	if !ok || step.Expert != p.Expert || form != p.Form || options != len(p.Options) {
		a.uncalled(p.Expert, "nothing before it calls for an example")
		return
	}
	a.expectFacts(p.Expert, step.N-1, fmt.Sprintf("%d examples in all", step.N),
		func(next events.Payload) bool {
			given, ok := next.(*events.QuestionAnswered)
			return ok && given.Volunteered && given.Expert == p.Expert && given.Form == form &&
				len(given.Options) == options
		})
}

// checkJudgment judges measurements again. A judgment does not name the event it was made from: it
// is made again from the state before it, since the engine records one only while it is due.
func checkJudgment(a *auditor, ctx context.Context, p *events.MeasurementsJudged) error {
	a.share(p.Build)
	if a.otherModels(p.Version, p.Build) {
		return nil
	}
	step, ok := a.next(a.now).(engine.Judge)
	if !ok {
		a.uncalled("judgment", "nothing before it calls for a judgment of measurements")
		return nil
	}
	again, err := a.again(ctx, step, p.Build)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		a.mismatch("judgment", "it cannot be made again: %v", err)
		return nil
	}
	if problem := a.compare(again[0], p, a.sameBuild(p.Build)); problem != "" {
		a.mismatch("judgment", "%s", problem)
	}
	return nil
}

// checkDecision makes a decision again, with its consequences.
//
// Its place and seed are compared first, since they show a fault at once. A differing decision of
// another build and an unnamed family is left out: before versions belonged to families, methods
// changed without a new one.
func checkDecision(a *auditor, ctx context.Context, p *events.DecisionMade) error {
	a.report.Decisions++
	share := a.share(p.Build)
	share.Decisions++
	switch {
	case p.Policy.Version < 1:
		a.mismatch(p.Decision, "there is no version %d of the policies", p.Policy.Version)
		return nil
	case !decides(a.core, p.Policy):
		a.leaveOut(share, p.Policy)
		return nil
	}
	step, ok := a.next(a.now).(engine.Decide)
	switch {
	case p.At != a.core.State().Sequence:
		a.mismatch(
			p.Decision, "it says it was made from event %d, but stands behind event %d", p.At,
			a.core.State().Sequence,
		)
		return nil
	case !ok || step.Decision != p.Decision:
		a.mismatch(p.Decision, "nothing before it calls for this decision")
		return nil
	case step.Seed != p.Seed:
		a.mismatch(p.Decision, "its seed is %d, the campaign's seed gives %d", p.Seed, step.Seed)
		return nil
	}
	payloads, err := a.again(ctx, stepOf(a.core, p), p.Build)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		a.mismatch(p.Decision, "it cannot be made again: %v", err)
		return nil
	}
	exact := a.sameBuild(p.Build)
	made := *payloads[0].(*events.DecisionMade)
	if !exact {
		made.Policy = located(made.Policy, p.Policy)
	}
	if problem := a.compare(&made, p, exact); problem != "" {
		if !exact && p.Policy.Family == "" {
			a.leaveOut(share, p.Policy)
			return nil
		}
		a.mismatch(p.Decision, "%s", problem)
		return nil // its consequences follow from it
	}
	a.report.Reproduced++
	share.Reproduced++
	a.expect(p.Decision, exact, payloads[1:]...)
	return nil
}

// checkFit makes a fit, or a failed one, again.
//
// at may lie before the event if other events came in during the fit, but not before the last
// change of its inputs. Only the At of the fit made again is set to the recorded one; everything
// else is compared.
func checkFit(
	a *auditor, ctx context.Context, of events.ModelName, at events.Sequence, seed uint64, build events.Build,
	version int, recorded events.Payload,
) error {
	a.report.Fits++
	model := of.Model
	if fitted, ok := recorded.(*events.ModelFitted); ok {
		a.share(fitted.Build).Fits++
	}
	if a.otherModels(version, build) {
		return nil
	}
	step, ok := a.next(a.now).(engine.Fit)
	switch {
	case at > a.core.State().Sequence:
		a.mismatch(
			model, "it says it was made from event %d, but stands behind event %d", at,
			a.core.State().Sequence,
		)
		return nil
	case at < a.bases.Since(of): // other events may have come in during the fit
		a.mismatch(
			model, "it says it was made from event %d, but event %d changed what it is made from",
			at, a.bases.Since(of),
		)
		return nil
	case !ok || step.ModelName != of:
		if a.othersDecided() {
			a.leaveOutFit(build)
			return nil
		}
		a.mismatch(model, "nothing before it calls for this fit")
		return nil
	case step.Seed != seed:
		a.mismatch(model, "its seed is %d, the campaign's seed gives %d", seed, step.Seed)
		return nil
	}
	made, err := a.again(ctx, step, build)
	if err != nil {
		return err
	}
	payload := made[0]
	switch p := payload.(type) {
	case *events.ModelFitted:
		p.At = at
	case *events.ModelFitFailed:
		p.At = at
	}
	if events.KindOf(payload) != events.KindOf(recorded) {
		a.mismatch(model, "made again, it is %s", events.KindOf(payload))
		return nil
	}
	if problem := a.compare(payload, recorded, a.sameBuild(build)); problem != "" {
		a.mismatch(model, "%s", problem)
		return nil
	}
	a.report.FitsReproduced++
	return nil
}

// otherModels reports whether a record is of a version of the models that this program lacks, and
// counts it if so.
func (a *auditor) otherModels(version int, build events.Build) bool {
	if ownModels(version) {
		return false
	}
	a.leaveOutFit(build)
	return true
}

// ownModels reports whether a record is of this program's version of the models. Records of version
// 1 do not state it.
func ownModels(version int) bool { return max(version, 1) == projections.Version }

// BuildShare holds one program's records of a campaign. A campaign that was continued after an
// update has one for each program.
type BuildShare struct {
	Build events.Build `json:"build"`
	// Decisions and Fits count its records, Reproduced the reproduced decisions, OtherVersion the
	// records of another version of policies or models than this program's.
	Decisions    int `json:"decisions"`
	Reproduced   int `json:"reproduced"`
	OtherVersion int `json:"other_version,omitempty"`
	Fits         int `json:"fits"`
}

// share is that of a program in the report.
func (a *auditor) share(build events.Build) *BuildShare { return a.report.share(build) }

// sameBuild reports whether a record is of this program, and must be equal bit for bit; otherwise
// the report ceases to be exact.
func (a *auditor) sameBuild(build events.Build) bool {
	if build != a.build {
		a.report.Exact = false
	}
	return build == a.build
}

// compare returns the difference between a record made again and the recorded one: bit for bit, or
// to [Tolerance] in numbers. It omits the expiry of a question and its inputs besides the
// definition: see checkExpiry.
//
// It compares the JSON forms, as these are what the log stores: it would otherwise miss a field
// that a type lacks.
func (a *auditor) compare(again, recorded events.Payload, exact bool) string {
	x, errAgain := fields(again)
	y, errRecorded := fields(recorded)
	if err := errors.Join(errAgain, errRecorded); err != nil {
		return fmt.Sprintf("it cannot be compared: %v", err)
	}
	for _, field := range []string{"expires", "by_hand"} {
		delete(x, field)
		delete(y, field)
	}
	d := differ{exact: exact, spans: a.spans()}
	return d.difference("", x, y)
}

// fields returns the JSON fields of a payload.
func fields(payload events.Payload) (map[string]any, error) {
	data, err := json.Marshal(payload)
	if err != nil {
		return nil, err
	}
	var all map[string]any
	err = json.Unmarshal(data, &all)
	return all, err
}

// checkWhole looks for parts of an event that its type does not know. A later version, or a person
// looking at the JSON, could read them, though no check here has seen them.
func checkWhole(a *auditor, in *identified) {
	again, err := json.Marshal(in.payload)
	var known, stored any
	if err != nil || json.Unmarshal(again, &known) != nil || json.Unmarshal(a.event.Data, &stored) != nil {
		a.mismatch(in.subject(), "it cannot be compared")
		return
	}
	if path, ok := unknownIn("", known, stored); ok {
		a.mismatch(in.subject(), "it holds something that this version does not know: %s", path)
	}
}

// unknownIn returns the first place of a stored JSON value that the known form lacks.
func unknownIn(path string, known, stored any) (string, bool) {
	switch s := stored.(type) {
	case map[string]any:
		k, ok := known.(map[string]any)
		if !ok {
			return path, true
		}
		for _, key := range sortedKeys(s) {
			if _, there := k[key]; !there {
				return path + "/" + key, true
			}
			if place, ok := unknownIn(path+"/"+key, k[key], s[key]); ok {
				return place, true
			}
		}
		return "", false
	case []any:
		k, ok := known.([]any)
		if !ok || len(k) != len(s) {
			return path, true
		}
		for i := range s {
			if place, ok := unknownIn(fmt.Sprintf("%s/%d", path, i), k[i], s[i]); ok {
				return place, true
			}
		}
		return "", false
	}
	return path, known != stored
}

// spans returns the ranges of the parameters by name, and under "" the spread of the objective: the
// measure of differences on another build. A parameter with only a list of values has no range
// here; its numbers count as they are.
func (a *auditor) spans() map[string]float64 {
	spans := map[string]float64{"": 1}
	for _, p := range a.core.State().Definition.Parameters {
		if p.Min != nil && p.Max != nil {
			spans[p.Name] = *p.Max - *p.Min
		}
	}
	if scale, fitted := a.core.Quantities().Objective().Scale(); fitted {
		spans[""] = scale
	}
	return spans
}
