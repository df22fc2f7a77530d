// Package whatif imagines how a campaign would have gone on from one of its decisions with
// another policy, with another objective or other constraints on outcomes, or without one of
// its experts.
//
// [Work] takes the log up to that decision into memory, changes the definition there as an
// amendment would, and lets the engine go on: its first decision is the suggestion that the
// campaign would have made from the same log. Where something can stand in for the lab, it goes
// on to measure. Nothing is written to the campaign's log, no instrument is driven and no one
// is asked: results that the log holds are those that were measured, the others come from the
// campaign's own simulation or from the mean of its model as of now; people repeat their
// answers, and can't tell about questions that they have not been asked.
//
// [Runs] does that in a server, one question at a time, while the server goes on with its other
// work.
package whatif

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/events/memlog"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/engine/drive"
	"github.com/campaignd/campaignd/internal/files/campaignfile"
	"github.com/campaignd/campaignd/internal/files/registry"
	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/internal/study/pace"
	"github.com/campaignd/campaignd/internal/view"
	"github.com/campaignd/campaignd/policies"
	"github.com/campaignd/campaignd/projections/campaign"
	"github.com/campaignd/campaignd/projections/space"
)

// Question describes the course to imagine.
type Question struct {
	// Decision is the decision to start from, "d7".
	Decision string `json:"decision"`
	// Method is the name of the policy from there on; empty: as it was.
	Method string `json:"method,omitempty"`
	// Without is the expert who is left out, with all their answers; their exclusions stay.
	// Empty: no one.
	Without string `json:"without,omitempty"`
	Sought
	// Experiments is the largest number of experiments to go on for; 0 for as many as were
	// really run since, within [Least] and [Most].
	Experiments int `json:"experiments,omitempty"`
}

// How many experiments are imagined.
const (
	Least = 5
	Most  = 100
)

// Experiment is an experiment, real or imagined.
type Experiment struct {
	ID         string                    `json:"experiment"`
	Parameters definition.Point          `json:"parameters"`
	Status     campaign.ExperimentStatus `json:"status"`
	// Value is the result in the unit of the objective, that of its own course, or nil. For a
	// trade-off it is the first of its objectives.
	Value *float64 `json:"value"`
	// Quantities are the values of all quantities, including those that follow from the
	// composition; then that of the objective if it is computed from them, the campaign's of
	// today and the imagined one. Absent for a single quantity.
	Quantities []definition.Quantity `json:"quantities,omitempty"`
	// Keeps tells whether they keep the constraints on outcomes of today, KeepsImagined whether
	// they keep the imagined ones, if these differ.
	Keeps         campaign.Keeps `json:"keeps_constraints,omitempty"`
	KeepsImagined campaign.Keeps `json:"keeps_imagined_constraints,omitempty"`
	// Excluded is set if the result does not count.
	Excluded bool `json:"excluded,omitempty"`
	// Outside gives the reason that its course could not request it: it is compared with
	// nothing.
	Outside string `json:"outside,omitempty"`
	// Decision is the one that led to it.
	Decision string `json:"decision,omitempty"`
	// From is the source of an imagined result: [FromLog], [FromSimulator] or [FromModel];
	// empty for a real one.
	From string `json:"from,omitempty"`
	// Was is the real experiment whose result was taken from the log.
	Was string `json:"was,omitempty"`
}

// Judged is its value as the best so far takes it, by the definition of today.
func (x *Experiment) Judged(def *definition.Campaign) campaign.Judged {
	j := campaign.Judged{Value: math.NaN(), Keeps: x.Keeps}
	if x.Status == campaign.Measured && x.Value != nil && !x.Excluded && x.Outside == "" && def.AtTarget(x.Parameters) {
		j.Value = *x.Value
	}
	return j
}

// Breaks reports whether it is known to break a constraint on outcomes of today.
func (x *Experiment) Breaks() bool { return x.Keeps == campaign.KeepsNot }

// Answer is the outcome of a question.
type Answer struct {
	Question
	Campaign string `json:"campaign"`
	// From is the decision from which on the course is imagined: the first one of the turn of
	// the requested decision, since questions and answers in that turn belong to the real
	// policy.
	From string `json:"from"`
	// At is the event of the campaign, the last one before that, up to which the imagined
	// course is the real one.
	At events.Sequence `json:"at"`
	// Policy is the imagined policy, Really the real one.
	Policy events.PolicyRef `json:"policy"`
	Really events.PolicyRef `json:"really"`
	// Decided is the real decision in From, Suggested the imagined one. Suggested is nil only
	// if the campaign would have ended without a decision.
	Decided   *events.DecisionMade `json:"decided"`
	Suggested *events.DecisionMade `json:"suggested"`
	// Next is the first experiment that would have been requested then, ReallyNext the one that
	// was; nil without one.
	Next       *Experiment `json:"next"`
	ReallyNext *Experiment `json:"really_next"`
	// StandIn measures compositions without a result in the log: [FromSimulator] or
	// [FromModel]; empty if neither can, so that only the suggestion is known.
	StandIn string `json:"stand_in,omitempty"`
	// Fitted is the number of measurements in the model that stands in.
	Fitted int `json:"fitted,omitempty"`
	// Recorded are the experts who repeat their recorded answers, and can't tell the rest;
	// Repeated counts the questions to them that the log answers, Unanswered the others.
	Recorded   []string `json:"recorded,omitempty"`
	Repeated   int      `json:"repeated"`
	Unanswered int      `json:"unanswered"`
	// Before are the experiments whose results both courses have, Imagined the imagined ones
	// since, and Real the real ones since.
	Before   []Experiment `json:"before"`
	Imagined []Experiment `json:"imagined"`
	Real     []Experiment `json:"real"`
	// Ended is the reason that the campaign would have ended within that; empty if it would
	// have gone on.
	Ended string `json:"ended,omitempty"`
	// Changes are the changes of the definition, if the objective or a constraint changes.
	Changes []events.Change `json:"changes,omitempty"`
	// Judged compares both courses if there are several quantities: by the campaign's objective
	// of today, and then by the imagined one, if that differs.
	Judged []Judged `json:"judged,omitempty"`

	// Definition is that of the campaign when the decision was made, Changed the imagined one.
	Definition *definition.Campaign `json:"-"`
	Changed    *definition.Campaign `json:"-"`
}

// Input is a campaign, for reading. The log is only read.
type Input struct {
	Registry registry.Registry
	Log      events.Log
	Campaign string
	// Record is the campaign's.
	Record *view.Record
	// Environment is that of the campaign's own instrument, if it is a simulation.
	Environment instruments.Environment
	Build       events.Build
	// Heard, if set, learns how many experiments have been imagined, of how
	// many.
	Heard func(done, of int)
}

// mostDecisions is the largest number of decisions for each experiment: a policy may only ask,
// and hear no answer.
const mostDecisions = 100

// errEnough ends a campaign that has been imagined as far as requested.
var errEnough = errors.New("whatif: enough")

// Check validates a question at once, as far as the campaign's present state allows: an expert
// may have been one when the decision was made. The error is a [problem.Error].
func Check(reg registry.Registry, s *campaign.State, q Question) error {
	known := func(m policies.Method) bool { return m.Name == q.Method }
	switch {
	case q.Experiments < 0 || q.Experiments > Most:
		return problem.New(problem.Invalid, "%d experiments cannot be imagined: ask for 1 to %d",
			q.Experiments, Most)
	case !s.HasDecision(q.Decision):
		return problem.New(problem.NotFound, "%s has no decision %q", s.Name, q.Decision).About(q.Decision)
	case q.Method != "" && !slices.ContainsFunc(reg.Methods.Methods(), known):
		return problem.New(problem.NotFound, "there is no method %q", q.Method).About(q.Method)
	}
	return q.Sought.readable()
}

// Work answers a question. The error wraps a [problem.Error] where the question
// is at fault.
//
// Its steps: fold the campaign as it is, find where the turn of the decision
// began, copy the log up to there, append the amendment, and let a Runner go on
// with stand-ins. Where nothing is changed the decisions are those that were
// made, bit for bit: a test holds it to that.
func Work(ctx context.Context, in Input, q Question) (*Answer, error) {
	now, err := in.Record.Now(ctx, in.Log)
	if err != nil {
		return nil, err
	}
	if err := Check(in.Registry, now.State(), q); err != nil {
		return nil, err
	}
	from := q.Decision
	if !q.same() {
		from = now.State().FirstOfTurn(from)
	}
	decided, _, err := in.Record.Made(ctx, in.Log, from)
	if err != nil {
		return nil, err
	}
	log, err := until(ctx, in, decided.At)
	if err != nil {
		return nil, err
	}
	before, err := in.Record.At(ctx, in.Log, decided.At)
	if err != nil {
		return nil, err
	}
	s := before.State()
	changed, err := Change(in.Registry, s, q)
	if err != nil {
		return nil, err
	}
	a := &Answer{
		Question: q, Campaign: in.Campaign, From: decided.Decision, At: decided.At,
		Really: decided.Policy, Decided: decided,
		Definition: s.Definition, Changed: &changed, Before: []Experiment{},
		Imagined: []Experiment{}, Real: []Experiment{},
	}
	if err := a.amend(ctx, log, before); err != nil {
		return nil, err
	}
	a.real(now.State(), s)
	core, err := a.imagine(ctx, in, now, before, log)
	if err != nil {
		return nil, err
	}
	if err := a.judge(ctx, in, now, course{core, log}); err != nil {
		return nil, err
	}
	return a, nil
}

// amend changes the definition in a copy of the log. Policies hear none but the
// experts whom it names.
func (a *Answer) amend(ctx context.Context, log *memlog.Log, before *engine.Core) error {
	s := before.State()
	changes := campaignfile.Diff(*a.Definition, *a.Changed)
	if changes == nil {
		return nil
	}
	if !a.Sought.IsZero() {
		a.Changes = changes
	}
	e, err := events.New(s.Name, &events.CampaignAmended{Definition: *a.Changed, Changes: changes,
		Reason: "what if", Source: s.Source})
	if err != nil {
		return err
	}
	e.Actor, e.Time = "person:whatif", before.Last()
	_, err = log.Append(ctx, s.Name, s.Sequence, e)
	return err
}

// same reports whether nothing is otherwise.
func (q Question) same() bool { return q.Method == "" && q.Without == "" && q.Sought.IsZero() }

// until returns a copy of the campaign up to an event, in memory. The engine
// goes on from a log, so that each event is read and copied. Sequences are the
// same in the copy, and so are all seeds.
func until(ctx context.Context, in Input, at events.Sequence) (*memlog.Log, error) {
	log := memlog.New()
	for e, err := range events.ReadCampaign(ctx, in.Log, in.Campaign, 0) {
		if err != nil {
			return nil, err
		}
		if e.Sequence > at {
			break
		}
		if _, err := log.Append(ctx, in.Campaign, e.Sequence-1, e); err != nil {
			return nil, fmt.Errorf("event %d cannot be copied: %w", e.Sequence, err)
		}
	}
	return log, nil
}

// Change returns a campaign's definition with the question's changes. The error wraps a
// [problem.Error].
//
// It changes more than an amendment may: experts can go. That is safe in a copy that no one
// continues. The objective and the constraints change as by an amendment, and are refused in
// the same cases.
func Change(reg registry.Registry, s *campaign.State, q Question) (definition.Campaign, error) {
	if q.Sought.IsZero() {
		return q.steered(reg, *s.Definition, *s.Definition)
	}
	def, err := q.Sought.in(reg, s)
	if err != nil {
		return def, err
	}
	return q.steered(reg, def, *s.Definition)
}

// steered returns a definition with another policy and without an expert; begun is the
// campaign's.
func (q Question) steered(reg registry.Registry, def, begun definition.Campaign) (definition.Campaign, error) {
	if q.same() {
		return def, nil
	}
	changed := def
	if q.Without != "" {
		at := slices.IndexFunc(def.Experts, func(e definition.Expert) bool { return e.Name == q.Without })
		if at < 0 {
			return def, problem.New(problem.NotFound, "%s has no expert %q", def.Name,
				q.Without).About(q.Without)
		}
		changed.Experts = slices.Delete(slices.Clone(def.Experts), at, at+1)
	}
	if q.Method != "" {
		all := reg.Methods.Methods()
		at := slices.IndexFunc(all, func(m policies.Method) bool { return m.Name == q.Method })
		if at < 0 {
			return def, problem.New(problem.NotFound, "there is no method %q", q.Method).About(q.Method)
		}
		changed.Policy = all[at].Policy
	}
	if def.Measures() != changed.Policy.Measures() {
		return def, problem.New(problem.NotPossible,
			"%s measures nothing, or this campaign does: they cannot take each other's place", q.Method)
	}
	completed, err := sound(reg, changed, begun)
	if err != nil && q.Method == "" && q.Without != "" && len(changed.Experts) == 0 && changed.Measures() {
		// A policy for an expert has none any more: only its own choice is left.
		changed.Policy = policies.Alone(def.Policy.Next)
		if completed, err = sound(reg, changed, begun); err != nil {
			changed.Policy = definition.Policy{}
			completed, err = sound(reg, changed, begun)
		}
	}
	if err != nil {
		return def, err
	}
	return completed, nil
}

// sound completes the definition of a campaign that began with another policy, or says why no
// campaign can be run with it.
//
// The initial answers of the other policy are left out first, as they would be
// wanted of experts now; they are kept where the definition is valid with them.
func sound(reg registry.Registry, def, begun definition.Campaign) (definition.Campaign, error) {
	asked := def.Initial
	def.Initial.Labels = nil
	def.Initial.Comparisons = nil
	def.Initial.Estimates = nil
	def = campaignfile.CompleteBegun(reg, def, begun)
	if len(def.Experts) > 0 { // what was asked at first was asked
		kept := def
		kept.Initial = asked
		if kept = campaignfile.CompleteBegun(reg, kept, begun); campaignfile.Unsound(reg, begun, kept) == nil {
			def = kept
		}
	}
	if faults := campaignfile.Unsound(reg, begun, def); faults != nil {
		return def, refused(faults)
	}
	if _, err := reg.Methods.New(def); err != nil {
		return def, problem.New(problem.NotPossible, "the campaign cannot be so: %w", err)
	}
	return def, nil
}

// Choice is a method that a campaign could have.
type Choice struct{ Name, Summary string }

// Choices returns the methods that a campaign could have instead of its own.
func Choices(reg registry.Registry, def definition.Campaign) (choices []Choice) {
	for _, m := range reg.Methods.Methods() {
		if m.Policy.Measures() != def.Measures() {
			continue
		}
		changed, err := Question{Method: m.Name}.steered(reg, def, def)
		if err == nil && campaignfile.Diff(def, changed) != nil {
			choices = append(choices, Choice{m.Name, m.Summary})
		}
	}
	return choices
}

// of tells an experiment.
func of(s *campaign.State, x *campaign.Experiment) Experiment {
	e := Experiment{ID: x.ID, Parameters: x.Parameters, Status: x.Status, Excluded: x.Excluded, Outside: x.Outside,
		Decision: x.Decision}
	if value, ok := s.Value(x); ok {
		e.Value = &value.Value
	}
	return e
}

// real fills in the experiments known before the decision, as they were known then, and those
// that really happened since. Experiments under way at the decision count as happened since.
func (a *Answer) real(now, before *campaign.State) {
	for i := range now.Experiments {
		x := &now.Experiments[i]
		if x.Reference() {
			continue
		}
		was := before.Experiment(x.ID)
		if was != nil && !was.Status.Open() {
			a.Before = append(a.Before, of(before, was))
			continue
		}
		a.Real = append(a.Real, of(now, x))
		if was == nil && a.ReallyNext == nil && x.Origin == events.OriginPolicy {
			next := of(now, x)
			a.ReallyNext = &next
		}
	}
}

// imagine lets the campaign go on in memory, and returns it as it is then.
//
// pace brings results one at a time, so that the order of goroutines changes nothing. The
// context ends with errEnough once watch has seen enough, which is not an error.
func (a *Answer) imagine(
	ctx context.Context, in Input, now, before *engine.Core, log *memlog.Log,
) (_ *engine.Core, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	changed, err := under(before, *a.Changed)
	if err != nil {
		return nil, problem.New(problem.NotPossible, "%w", err)
	}
	sp, err := space.New(changed.State().Bounded())
	if err != nil {
		return nil, problem.New(problem.NotPossible, "%w", err)
	}
	lab, err := standInFor(ctx, in.Registry, now, sp, *a.Changed, in.Environment)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, lab.close()) }()
	reviewers, recorded, err := reviewersFor(ctx, in.Registry, now, sp, *a.Changed, in.Environment.Folder)
	if err != nil {
		return nil, err
	}
	a.Recorded = recorded
	steady := pace.New(cancel)
	w := &watch{
		seen: len(before.State().Experiments), limit: a.limit(), open: make(map[string]bool),
		enough: func() { cancel(errEnough) }, heard: in.Heard,
	}
	switch {
	case lab != nil:
		a.StandIn, steady.Instrument = lab.from(), lab
		if m := lab.models.Objective(); m != nil {
			a.Fitted = len(m.Observations)
		}
	default: // only the suggestion can be known
		w.limit = 0
		steady.Instrument = &standIn{def: *a.Changed, space: sp}
	}
	r := &drive.Runner{
		Registry: in.Registry, Log: log, Campaign: in.Campaign, Reviewers: reviewers, Build: in.Build,
		Now: clockFrom(before.Last()), Eager: true, Meter: w, Observe: steady.Observe,
	}
	if a.Changed.Measures() {
		r.Instrument = imagined{steady}
	}
	if err := r.Start(ctx); err != nil {
		return nil, err
	}
	w.tell()
	if err := r.Run(ctx); err != nil && !errors.Is(context.Cause(ctx), errEnough) {
		if cause := context.Cause(ctx); cause != nil {
			return nil, cause
		}
		return nil, err
	}
	a.tell(r.Core().State(), before.State(), w)
	return r.Core(), nil
}

// under returns a campaign as it would be with another definition, for reading: a
// core of its own where that differs.
func under(core *engine.Core, def definition.Campaign) (*engine.Core, error) {
	changes := campaignfile.Diff(*core.State().Definition, def)
	if changes == nil {
		return core, nil
	}
	return core.Amended(events.CampaignAmended{Definition: def, Changes: changes})
}

// limit is for how many experiments to go on.
func (a *Answer) limit() int {
	if a.Experiments > 0 {
		return a.Experiments
	}
	return min(max(len(a.Real), Least), Most)
}

// tell fills in the imagined course. A result's From and Was are read from the identity that
// the stand-in gave it.
func (a *Answer) tell(s, before *campaign.State, w *watch) {
	if w.first != nil {
		suggested := *w.first
		suggested.At = 0 // the log that it stood in is forgotten, and what came before it there in which order
		a.Suggested, a.Policy = &suggested, suggested.Policy
	}
	if s.Status.Ended() {
		a.Ended = s.Reason
	}
	for i := range s.Experiments {
		x := &s.Experiments[i]
		was := before.Experiment(x.ID)
		if x.Reference() || was != nil && !was.Status.Open() {
			continue
		}
		e := of(s, x)
		if x.Measurement != nil {
			e.From, e.Was, _ = strings.Cut(x.Measurement.Identity, " ")
		}
		if was == nil && a.Next == nil && x.Origin == events.OriginPolicy {
			next := e
			a.Next = &next
		}
		if a.StandIn != "" && !x.Status.Open() {
			a.Imagined = append(a.Imagined, e)
		}
	}
	for i := range s.Questions {
		q := &s.Questions[i]
		if q.Status != campaign.Answered || before.Question(q.ID) != nil &&
			before.Question(q.ID).Status != campaign.Asked ||
			!slices.Contains(a.Recorded, q.Expert) {
			continue
		}
		if q.Answer.Unsure() {
			a.Unanswered++
		} else {
			a.Repeated++
		}
	}
}

// clockFrom returns a clock that goes on from the last event, by so little with
// each reading that no one is late: the same question has the same answer.
func clockFrom(last time.Time) func() time.Time {
	return func() time.Time {
		last = last.Add(time.Microsecond)
		return last
	}
}

// watch looks on while a campaign is imagined, and ends it when it has gone far
// enough. Its methods are called from the engine's loop.
type watch struct {
	seen   int // how many experiments there were
	limit  int // of outcomes; 0: of one decision
	done   int
	open   map[string]bool
	first  *events.DecisionMade
	made   int // decisions
	enough func()
	heard  func(done, of int)
}

// tell reports the progress, where someone listens.
func (w *watch) tell() {
	if w.heard != nil {
		w.heard(w.done, w.limit)
	}
}

// Trace implements drive.Meter.
func (*watch) Trace(parent, _ string) (string, func(error)) { return parent, func(error) {} }

// ObserveDuration implements drive.Meter.
func (*watch) ObserveDuration(string, time.Duration) {}

// CountEvent implements drive.Meter. It counts outcomes of experiments requested in the
// imagined course, not of those that were under way before.
func (w *watch) CountEvent(e events.Event) {
	payload, err := events.Decode(e)
	if err != nil {
		return
	}
	switch p := payload.(type) {
	case *events.DecisionMade:
		w.made++
		if w.first == nil {
			w.first = p
		}
	case *events.ExperimentRequested:
		w.open[p.Experiment] = p.Origin != events.OriginReference
	case *events.ExperimentMeasured, *events.ExperimentFailed, *events.ExperimentInfeasible:
		if w.open[payload.Subject()] {
			w.done++
			w.tell()
		}
	}
	if w.limit == 0 && w.first != nil || w.limit > 0 &&
		(w.done >= w.limit || w.made >= mostDecisions*w.limit) {
		w.enough()
	}
}
