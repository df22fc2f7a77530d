package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/policies"
)

// Mismatch is a record that is not what follows from the records before it.
type Mismatch struct {
	// Position and Event are the place in the log and the kind of the record.
	Position events.Position `json:"position"`
	Event    events.Kind     `json:"event"`
	// Subject is the decision, the model, the experiment or the question;
	// "history" for a contradiction that ended the audit.
	Subject string `json:"subject"`
	// Problem says what differs.
	Problem string `json:"problem"`
}

// AuditReport is what came of making every fit and decision again.
type AuditReport struct {
	// Events counts the events of the campaign.
	Events int `json:"events"`
	// Decisions counts the recorded decisions, Reproduced those that came out
	// the same. Fits and FitsReproduced count fits, failed ones included.
	Decisions  int `json:"decisions"`
	Reproduced int `json:"reproduced"`
	// Older counts the decisions of an earlier version of the policies, which this
	// one does not make again: they are neither confirmed nor refuted.
	Older          int `json:"older,omitempty"`
	Fits           int `json:"fits"`
	FitsReproduced int `json:"fits_reproduced"`
	// Exact is true where everything was compared bit for bit; otherwise some
	// records come from another build and were compared to a tolerance.
	Exact      bool       `json:"exact"`
	Mismatches []Mismatch `json:"mismatches"`
}

// AuditTolerance is the relative tolerance to which records of another build
// are compared: floating-point arithmetic differs between architectures, and a
// search amplifies the difference.
const AuditTolerance = 1e-4

// Audit folds a campaign's events and, from the state before each, works out
// again what the engine did on its own: every fit, every decision with all that
// it led to, every request of the initial design, of replicates and of repeats,
// and the end of the campaign. What people, instruments and experts said are
// facts, which only the log's own integrity vouches for. Contradictions in the
// history itself are mismatches too and end the audit, since nothing after them
// means anything.
func Audit(ctx context.Context, log events.Log, name string, build events.Build) (AuditReport, error) {
	a := &auditor{core: NewCore(), build: build, report: AuditReport{Exact: true, Mismatches: []Mismatch{}}}
	for e, err := range events.ReadCampaign(ctx, log, name, 0) {
		if err != nil {
			return a.report, err
		}
		a.report.Events++
		a.event = e
		payload, err := events.Decode(e)
		var unknown *events.UnknownKindError
		if errors.As(err, &unknown) {
			return a.report, err
		}
		if err != nil {
			a.mismatch("history", "%v", err)
			return a.report, nil
		}
		if err := a.check(ctx, payload); err != nil {
			return a.report, err
		}
		if err := a.core.Apply(e); err != nil {
			a.mismatch("history", "%v", err)
			return a.report, nil
		}
		a.bases.note(a.core)
		a.last, a.now = payload, e.Time
	}
	if a.report.Events == 0 {
		return a.report, fmt.Errorf("%w: %q", ErrNoCampaign, name)
	}
	if len(a.due) > 0 {
		a.mismatch("history", "the log ends before the %s that %s led to", a.due[0].Kind(), a.source)
	}
	return a.report, nil
}

// auditor is an audit under way.
type auditor struct {
	core   *Core
	build  events.Build
	report AuditReport

	event events.Event   // that is being checked
	last  events.Payload // of the event before
	now   time.Time      // of the event before

	// due is what the decision or event named by source led to and the log has
	// yet to show; exact says whether it is compared bit for bit.
	due    []events.Payload
	source string
	exact  bool

	bases bases // since when what fits read has been as it is

	older string // the event of the last decision of an earlier version of the policies

	running events.Build // the program that wrote a fit, a decision or that it took over last
}

func (a *auditor) mismatch(subject, format string, args ...any) {
	a.report.Mismatches = append(a.report.Mismatches, Mismatch{
		Position: a.event.Position, Event: a.event.Kind, Subject: subject, Problem: fmt.Sprintf(format, args...)})
}

// check compares an event with what the engine would have written.
func (a *auditor) check(ctx context.Context, payload events.Payload) error {
	if len(a.due) > 0 {
		due := a.due[0]
		a.due = a.due[1:]
		if due.Kind() != payload.Kind() {
			a.mismatch(a.source, "it led to %s, which is not there", due.Kind())
			a.due = nil
		} else if problem := a.compare(due, payload, a.exact); problem != "" {
			a.mismatch(a.source, "it led to something else than what follows: %s", problem)
		}
		return nil
	}
	if a.older != "" && a.event.Cause == a.older {
		return nil // what such a decision led to, in the same batch
	}
	switch p := payload.(type) {
	case *events.RecoveryDone:
		a.running = p.Build
	case *events.DecisionMade:
		a.running = p.Build
		return a.checkDecision(ctx, p)
	case *events.ModelFitted:
		a.running = p.Build
		return a.checkFit(ctx, p.Model, p.Expert, p.At, p.Seed, p.Build, p)
	case *events.ModelFitFailed:
		return a.checkFit(ctx, p.Model, p.Expert, p.At, p.Seed, a.build, p)
	case *events.TrustAdjusted:
		a.mismatch(p.Expert, "it belongs to no decision")
	case *events.ExperimentRequested:
		resolved, repeat := a.last.(*events.ExperimentResolved)
		repeat = repeat && resolved.Repeat && a.now.Equal(a.event.Time)
		if p.Origin == events.OriginPerson || p.Origin == events.OriginImport {
			return nil
		}
		if repeat {
			a.checkRepeat(resolved, p)
			return nil
		}
		a.checkRecord(p.Experiment, p, a.now)
	case *events.ExperimentDispatched:
		if want := commandID(a.core.State(), p.Experiment); p.Command != want {
			a.mismatch(p.Experiment, "its command is %q, that of the campaign is %q", p.Command, want)
		}
	case *events.ExperimentDeferred:
		a.due, a.source, a.exact = a.core.withConsequences(p)[1:], p.Experiment, true
	case *events.MeasurementFlagged:
		if p.Verdict == events.VerdictElsewhere {
			a.checkElsewhere(p)
			return nil
		}
		a.checkFlag(p)
	case *events.LabelRequested:
		a.checkRecord(p.Question, p, a.now)
	case *events.ComparisonRequested:
		a.checkRecord(p.Question, p, a.now)
	case *events.PinpointRequested:
		a.mismatch(p.Question, "it belongs to no decision")
	case *events.CampaignCompleted:
		a.checkRecord("end", p, a.event.Time)
	}
	return nil
}

// next is the engine's next step at a time, everything open being tended and
// the instrument busy: where a request was recorded it had nothing to dispatch.
func (a *auditor) next(now time.Time) Step {
	s := a.core.State()
	w := World{Now: now, Tended: make(map[string]bool, len(s.Experiments)+len(s.Questions))}
	for i := range s.Experiments {
		w.Tended[s.Experiments[i].ID] = true
	}
	for i := range s.Questions {
		w.Tended[s.Questions[i].ID] = true
	}
	// A campaign that failures had cost the last of its budget was not paused
	// by earlier versions.
	w.Eager = s.Definition != nil && s.Spent() >= s.Definition.Budget.Experiments
	step, err := a.core.Next(w)
	if err != nil {
		return nil
	}
	return step
}

// checkRecord compares an event that the engine writes on its own, outside a
// decision.
func (a *auditor) checkRecord(subject string, recorded events.Payload, now time.Time) {
	record, ok := a.next(now).(Record)
	if !ok || record.Payloads[0].Kind() != recorded.Kind() {
		a.mismatch(subject, "nothing before it calls for it")
		return
	}
	if problem := a.compare(record.Payloads[0], recorded, true); problem != "" {
		a.mismatch(subject, "%s", problem)
	}
}

// checkFlag judges a measurement again, with what that leads to.
func (a *auditor) checkFlag(p *events.MeasurementFlagged) {
	record, ok := a.next(a.now).(Record)
	if !ok || record.Payloads[0].Kind() != p.Kind() {
		a.mismatch(p.Experiment, "nothing before it calls for a word on this measurement")
		return
	}
	a.exact = a.sameBuild(a.running)
	if problem := a.compare(record.Payloads[0], p, a.exact); problem != "" {
		a.mismatch(p.Experiment, "%s", problem)
		return
	}
	a.due, a.source = record.Payloads[1:], p.Experiment
}

// checkRepeat compares a request with the experiment that a person wants again.
func (a *auditor) checkRepeat(resolved *events.ExperimentResolved, p *events.ExperimentRequested) {
	x := a.core.State().Experiment(resolved.Experiment)
	if x == nil || !maps.Equal(x.Parameters, p.Parameters) || x.Origin != p.Origin || x.Decision != p.Decision {
		a.mismatch(p.Experiment, "it is not a repeat of %s", resolved.Experiment)
	}
}

// checkDecision makes a decision again, and what it leads to.
func (a *auditor) checkDecision(ctx context.Context, p *events.DecisionMade) error {
	a.report.Decisions++
	switch {
	case p.Policy.Version > policies.Version:
		a.mismatch(p.Decision, "it says that version %d of the policies made it; this program has version %d: audit with the one that wrote it", p.Policy.Version, policies.Version)
		return nil
	case p.Policy.Version < policies.Oldest:
		a.report.Older++
		a.older = a.event.ID
		return nil
	}
	step, ok := a.next(a.now).(Decide)
	switch {
	case p.At != a.core.State().Sequence:
		a.mismatch(p.Decision, "it says it was made from event %d, but stands behind event %d", p.At, a.core.State().Sequence)
		return nil
	case !ok || step.Decision != p.Decision:
		a.mismatch(p.Decision, "nothing before it calls for this decision")
		return nil
	case step.Seed != p.Seed:
		a.mismatch(p.Decision, "its seed is %d, the campaign's seed gives %d", p.Seed, step.Seed)
		return nil
	}
	a.core.decideAs(p.Policy.Version)
	payloads, err := a.core.Decide(ctx, step, p.Build, a.event.Time)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		a.mismatch(p.Decision, "it cannot be made again: %v", err)
		return nil
	}
	a.exact = a.sameBuild(p.Build)
	if problem := a.compare(payloads[0], p, a.exact); problem != "" {
		a.mismatch(p.Decision, "%s", problem)
		return nil // what it led to follows from what it was
	}
	a.report.Reproduced++
	a.due, a.source = payloads[1:], p.Decision
	return nil
}

// checkFit makes a fit, or a failed one, again.
func (a *auditor) checkFit(ctx context.Context, model, expert string, at events.Sequence, seed uint64, build events.Build, recorded events.Payload) error {
	a.report.Fits++
	step, ok := a.next(a.now).(Fit)
	switch {
	case at > a.core.State().Sequence:
		a.mismatch(model, "it says it was made from event %d, but stands behind event %d", at, a.core.State().Sequence)
		return nil
	case at < a.bases.since(model, expert): // other events may have come in while it was made
		a.mismatch(model, "it says it was made from event %d, but event %d changed what it is made from", at, a.bases.since(model, expert))
		return nil
	case !ok || step.Model != model || step.Expert != expert:
		a.mismatch(model, "nothing before it calls for this fit")
		return nil
	case step.Seed != seed:
		a.mismatch(model, "its seed is %d, the campaign's seed gives %d", seed, step.Seed)
		return nil
	}
	payload, err := a.core.Fit(ctx, step, build)
	if err != nil {
		return err
	}
	switch p := payload.(type) {
	case *events.ModelFitted:
		p.At = at
	case *events.ModelFitFailed:
		p.At = at
	}
	if payload.Kind() != recorded.Kind() {
		a.mismatch(model, "made again, it is %s", payload.Kind())
		return nil
	}
	if problem := a.compare(payload, recorded, a.sameBuild(build)); problem != "" {
		a.mismatch(model, "%s", problem)
		return nil
	}
	a.report.FitsReproduced++
	return nil
}

func (a *auditor) sameBuild(build events.Build) bool {
	if build != a.build {
		a.report.Exact = false
	}
	return build == a.build
}

// compare says how a record made again differs from the recorded one: bit for
// bit, or to [AuditTolerance] in numbers. When exactly a question
// expires is left out: it follows from the clock; so does whether it does, where
// the campaign may have been run by hand.
func (a *auditor) compare(again, recorded events.Payload, exact bool) string {
	want, errWant := json.Marshal(again)
	have, errHave := json.Marshal(recorded)
	if errWant != nil || errHave != nil {
		return fmt.Sprintf("it cannot be compared: %v %v", errWant, errHave)
	}
	var x, y, stored map[string]any
	if json.Unmarshal(want, &x) != nil || json.Unmarshal(have, &y) != nil || json.Unmarshal(a.event.Data, &stored) != nil {
		return "it cannot be compared"
	}
	if !reflect.DeepEqual(y, stored) {
		return "it holds something that this version does not know"
	}
	if x["expires"] != nil || y["expires"] == nil {
		delete(x, "expires")
		delete(y, "expires")
	}
	d := differ{exact: exact, spans: a.spans()}
	return d.difference("", x, y)
}

// spans returns the ranges of the parameters by name, and under "" the spread
// of the objective: what a difference is measured against on another build.
func (a *auditor) spans() map[string]float64 {
	spans := map[string]float64{"": 1}
	s := a.core.State()
	if s.Definition == nil {
		return spans
	}
	for _, p := range s.Definition.Parameters {
		if p.Min != nil && p.Max != nil {
			spans[p.Name] = *p.Max - *p.Min
		}
	}
	if model, err := a.core.objective.Model(); err == nil && model != nil {
		spans[""] = model.Fit.Scale
	}
	return spans
}
