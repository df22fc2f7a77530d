package decisions

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/files/registry"
)

// Mismatch is a record that does not follow from the records before it.
type Mismatch struct {
	// Position and Event are the place in the log and the kind of the record.
	Position events.Position `json:"position"`
	Event    events.Kind     `json:"event"`
	// Subject is the decision, the model, the experiment or the question;
	// "history" for a contradiction that ended the audit.
	Subject string `json:"subject"`
	// Problem is the difference.
	Problem string `json:"problem"`
}

// Counts hold the results of making fits and decisions again, of one campaign or of several.
type Counts struct {
	// Decisions counts the recorded decisions, Reproduced the reproduced ones. Fits and
	// FitsReproduced count fits, including failed ones.
	Decisions  int `json:"decisions"`
	Reproduced int `json:"reproduced"`
	// OtherVersion counts the decisions, fits and judgments of a version of policies or models that
	// this program lacks, and does not make again: they are neither confirmed nor refuted, and the
	// audit is incomplete.
	OtherVersion int `json:"other_version,omitempty"`
	// Unmade lists the methods and versions of the decisions that were not made again.
	Unmade []Unmade `json:"unmade,omitempty"`
	// Proposals counts the answers of programs that are a campaign's method, and ProgramAnswers
	// those of programs in an expert's place. For all of them the audit checks that they were shown
	// the state of the log; their answers are recorded facts, and made again only for
	// ProposalsAgain, by programs that declare themselves deterministic, if the audit may start
	// them.
	Proposals      int `json:"proposals,omitempty"`
	ProposalsAgain int `json:"proposals_again,omitempty"`
	ProgramAnswers int `json:"program_answers,omitempty"`
	Fits           int `json:"fits"`
	FitsReproduced int `json:"fits_reproduced"`
	// Builds are the programs that made the decisions and fits, in the order of their first record,
	// with their shares.
	Builds []BuildShare `json:"builds,omitempty"`
}

// Add adds the counts of another campaign. Common builds and methods are merged.
func (c *Counts) Add(other Counts) {
	c.Decisions += other.Decisions
	c.Reproduced += other.Reproduced
	c.OtherVersion += other.OtherVersion
	c.Proposals += other.Proposals
	c.ProposalsAgain += other.ProposalsAgain
	c.ProgramAnswers += other.ProgramAnswers
	c.Fits += other.Fits
	c.FitsReproduced += other.FitsReproduced
	for _, u := range other.Unmade {
		c.unmade(u).Decisions += u.Decisions
	}
	for _, b := range other.Builds {
		share := c.share(b.Build)
		share.Decisions += b.Decisions
		share.Reproduced += b.Reproduced
		share.OtherVersion += b.OtherVersion
		share.Fits += b.Fits
	}
}

// share returns the share of a program, beginning at zero.
func (c *Counts) share(build events.Build) *BuildShare {
	for i := range c.Builds {
		if c.Builds[i].Build == build {
			return &c.Builds[i]
		}
	}
	c.Builds = append(c.Builds, BuildShare{Build: build})
	return &c.Builds[len(c.Builds)-1]
}

// unmade returns the count of decisions like one, beginning at zero.
func (c *Counts) unmade(like Unmade) *Unmade {
	like.Decisions = 0
	for i := range c.Unmade {
		u := c.Unmade[i]
		if u.Decisions = 0; u == like {
			return &c.Unmade[i]
		}
	}
	c.Unmade = append(c.Unmade, like)
	return &c.Unmade[len(c.Unmade)-1]
}

// Report is the result of making every fit and decision of a campaign again.
type Report struct {
	// Events counts the events of the campaign.
	Events int `json:"events"`
	Counts
	// OtherModels is how many of OtherVersion are fits and judgments.
	OtherModels int `json:"other_models,omitempty"`
	// Exact is true if everything was compared bit for bit; otherwise some records come from
	// another build and were compared to a tolerance.
	Exact      bool       `json:"exact"`
	Mismatches []Mismatch `json:"mismatches"`
	// Remarks are facts that are possible in an honest log and that an auditor should see: a clock
	// that was set back, an instrument that changed its name.
	Remarks []Mismatch `json:"remarks,omitempty"`
	// Last is when the last event was recorded.
	Last time.Time `json:"last,omitzero"`
}

// Tolerance is the relative tolerance to which records of another build are
// compared: floating-point arithmetic differs between architectures, and a
// search amplifies the difference.
const Tolerance = 1e-4

// Audit folds a campaign's events and, from the state before each, repeats the engine's own work:
// every fit, every decision with all its consequences, every request of the initial design, of
// replicates and of repeats, and the end of the campaign. Statements of people, instruments and
// experts are facts: of these it checks the parts that follow from other events, that is their
// possible authors, their causes, that they refer to the request, and that the campaign's
// definition admits them. For the rest the log's own integrity vouches. Contradictions in the
// history itself are mismatches too and end the audit, since nothing after them means anything.
//
// Programs of the user's that declare themselves deterministic answer again. A nil open starts
// none: the log may be anybody's, and names the programs to start.
//
// It writes nothing, and reads the log twice: the deciding versions of methods must be known before
// the first event that one of them led to (see [deciders]). A mismatch is part of the report, not
// an error; errors are those of the log and of the context, an unknown kind of event, and
// [engine.ErrNoCampaign].
func Audit(
	ctx context.Context, reg registry.Registry, log events.Log, name string, build events.Build,
	open Programs,
) (Report, error) {
	a := &auditor{
		core: engine.NewCore(reg), build: build, programs: programs{open: open},
		report:     Report{Exact: true, Mismatches: []Mismatch{}},
		devices:    make(map[string]*device),
		dispatched: make(map[string]events.Sequence),
	}
	var err error
	if a.deciders, a.programs.shown, err = decidersOf(ctx, log, name); err != nil {
		return a.report, err
	}
	a.ahead = lookAhead(ctx, reg, log, name, build)
	defer a.ahead.end()
	defer a.programs.close()
	err = a.walk(ctx, log, name)
	if err == nil && a.report.Events == 0 {
		err = fmt.Errorf("%w: %q", engine.ErrNoCampaign, name)
	}
	checkClock(a)
	byPosition := func(x, y Mismatch) int { return int(x.Position) - int(y.Position) }
	slices.SortStableFunc(a.report.Mismatches, byPosition)
	slices.SortStableFunc(a.report.Remarks, byPosition)
	return a.report, err
}

// walk checks and folds one event after the other. An audit trusts no earlier fold, so it reads the
// log itself and no snapshot.
//
// The order for each event: decode, check against the state before, fold, and only then note its
// effects. A contradiction ends the walk without an error.
func (a *auditor) walk(ctx context.Context, log events.Log, name string) error {
	for e, err := range events.ReadCampaign(ctx, log, name, 0) {
		if err != nil {
			return err
		}
		a.report.Events++
		a.event, a.report.Last = e, e.Time
		if a.report.Events == 1 {
			a.begun = e.Version
		}
		payload, err := events.Decode(e)
		var unknown *events.UnknownKindError
		if errors.As(err, &unknown) {
			return err
		}
		if err != nil {
			a.mismatch("history", "%v", err)
			return nil
		}
		if err := a.core.Complete(e, payload); err != nil {
			a.mismatch("history", "%v", err)
			return nil
		}
		if err := a.check(ctx, payload); err != nil {
			return err
		}
		if err := a.core.Apply(e); err != nil {
			a.mismatch("history", "%v", err)
			return nil
		}
		a.bases.Note(a.core)
		a.programs.note(a.core)
		switch payload.(type) {
		case *events.ExperimentMeasured:
			a.measurements++
		case *events.CampaignAmended:
			a.amended++
		}
		a.last, a.now = payload, e.Time
		a.times = append(a.times, e.Time)
	}
	if len(a.due) > 0 {
		a.mismatch("history", "the log ends before what %s led to: %s", a.source, a.due[0].what)
	}
	checkOwed(a)
	return nil
}

// auditor is an audit in progress.
//
// Batches are not marked in a log. The audit finds them by the events that an event requires (due),
// by those that may join a batch (members), and by cause, time and actor.
type auditor struct {
	core   *engine.Core
	build  events.Build
	report Report

	begun int // the version of the event that began the campaign

	event events.Event   // being checked
	last  events.Payload // of the event before
	now   time.Time      // of the event before
	times []time.Time    // of all events before

	batch batch   // that the last event is in
	clock []dated // of all batches

	// due are the consequences of the decision or event source that the log has yet to show, in the
	// same batch.
	due    []due
	source string

	bases engine.Bases // since when the inputs of fits have been unchanged

	unmade   string // the event of the last decision that is not made again
	deciders deciders
	amended  int // how often the definition was, before the event

	running events.Build // the program that last wrote a fit or a decision, or took over

	ahead        *ahead
	own          *stretch // made by the audit itself
	measurements int      // before the event

	programs programs

	dispatched map[string]events.Sequence // by experiment: when it was handed out last
	recovered  events.Sequence            // when another process took over last
	devices    map[string]*device         // by the campaign's names for its instruments
}

// batch holds the events that were recorded at once, as far as they were read.
type batch struct {
	first    events.Event
	opening  events.Payload // of that event
	reported string         // the experiment of its last reported result
	resolved settlement     // the last one of a person, zero for none
	owed     []string       // subjects whose commands it has yet to call off
}

// due is an event that an earlier one of the batch requires.
type due struct {
	what string // in words
	// again is the required payload; it is compared bit for bit if exact. It is nil for a fact,
	// which fits then checks.
	again events.Payload
	exact bool
	fits  func(events.Payload) bool
}

// expect notes that payloads follow in the same batch. check has already reported the outstanding
// ones of another source.
func (a *auditor) expect(source string, exact bool, payloads ...events.Payload) {
	a.source = source
	for _, p := range payloads {
		a.due = append(a.due, due{what: string(events.KindOf(p)), again: p, exact: exact})
	}
}

// expectFacts notes that n facts follow in the same batch.
func (a *auditor) expectFacts(source string, n int, what string, fits func(events.Payload) bool) {
	a.source = source
	for range n {
		a.due = append(a.due, due{what: what, fits: fits})
	}
}

// meets reports whether a payload is of the required kind.
func (d due) meets(payload events.Payload) bool {
	if d.again != nil {
		return events.KindOf(d.again) == events.KindOf(payload)
	}
	return d.fits(payload)
}

// found is a mismatch at the event being checked.
func (a *auditor) found(subject, format string, args ...any) Mismatch {
	return Mismatch{
		Position: a.event.Position, Event: a.event.Kind, Subject: subject,
		Problem: fmt.Sprintf(format, args...),
	}
}

// mismatch notes a fact that an honest log cannot hold.
func (a *auditor) mismatch(subject, format string, args ...any) {
	a.report.Mismatches = append(a.report.Mismatches, a.found(subject, format, args...))
}

// remark notes a fact that is possible in an honest log, and that an auditor should know.
func (a *auditor) remark(subject, format string, args ...any) {
	a.report.Remarks = append(a.report.Remarks, a.found(subject, format, args...))
}

// check compares an event with the engine's possible records.
//
// It checks, in this order, the author and the subject, whether the batch still requires the event,
// whether it belongs to the batch at all, then envelope and facts, which every event has, and last
// the engine's own record in its place. The error is that of the context.
func (a *auditor) check(ctx context.Context, payload events.Payload) error {
	if _, defines := payload.(*events.CampaignDefined); !defines && a.core.State().Definition == nil {
		return nil // the projections refuse it
	}
	in, ok := a.identify(payload)
	if !ok {
		return nil
	}
	var called *due
	_, note := payload.(*events.NoteAdded) // that the instrument was replaced stands before what it does not know
	if len(a.due) > 0 && !(note && a.source == "recovery") {
		if first := a.due[0]; first.meets(payload) {
			called, a.due = &first, a.due[1:]
		} else {
			a.mismatch(a.source, "it led to %s, which is not there", first.what)
			a.due = nil
		}
	}
	ofUnmade := a.unmade != "" && a.event.Cause == a.unmade // what such a decision led to, in the same batch
	member := called != nil || ofUnmade || a.batch.joins(in, a.core.State().LastEvent)
	if !member {
		checkOwed(a)
		a.batch = batch{first: a.event, opening: payload}
		a.clock = append(a.clock, dated{place: a.found(in.subject(), ""), time: a.event.Time})
	}
	a.batch.note(payload, called != nil)
	checkEnvelope(a, in, member)
	checkFact(a, in)
	switch {
	case called != nil && called.again != nil:
		if problem := a.compare(called.again, payload, called.exact); problem != "" {
			a.mismatch(a.source, "it led to something else than what follows: %s", problem)
		}
		checkExpiry(a, payload)
		return nil
	case member && events.KindOf(payload) != events.KindExperimentDeferred: // which leads to something in any place
		return nil
	}
	return checkDerived(a, ctx, in)
}

// next is the engine's next step at a time, with everything open attended to and the instrument
// busy: at a recorded request it had nothing to dispatch.
func (a *auditor) next(now time.Time) engine.Step { return nextAttended(a.core, now) }

// nextAttended is the result of [auditor.next]. If failures have used the last of the budget, a
// campaign in memory goes on to its end.
func nextAttended(core *engine.Core, now time.Time) engine.Step {
	s := core.State()
	eager := s.Definition != nil && s.Left() <= 0
	return nextIn(core, engine.World{Now: now, Eager: eager}, engine.Present)
}

// nextIn is nextAttended in another world, or by the rules of another version.
func nextIn(core *engine.Core, w engine.World, rules engine.Rules) engine.Step {
	step, err := rules.Next(core.At(engine.Attended(core.State(), w)))
	if err != nil {
		return nil
	}
	return step
}
