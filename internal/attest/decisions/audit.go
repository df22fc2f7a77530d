package decisions

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/registry"
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

// Counts count what came of making fits and decisions again, of one campaign or
// of several.
type Counts struct {
	// Decisions counts the recorded decisions, Reproduced those that came out
	// the same. Fits and FitsReproduced count fits, failed ones included.
	Decisions  int `json:"decisions"`
	Reproduced int `json:"reproduced"`
	// OtherVersion counts the decisions, fits and judgments of a version of
	// policies or models that this program does not have, and does not make
	// again: they are neither confirmed nor refuted, and the audit is
	// incomplete.
	OtherVersion int `json:"other_version,omitempty"`
	// Unmade says of which methods and versions the decisions are that were not
	// made again.
	Unmade []Unmade `json:"unmade,omitempty"`
	// Proposals counts the answers of programs that are a campaign's method, and
	// ProgramAnswers those of programs in an expert's place. That each was shown
	// what the log said is checked of all; what they said is recorded, and made
	// again only of ProposalsAgain, by programs that say that they are
	// deterministic, where the audit is to start them.
	Proposals      int `json:"proposals,omitempty"`
	ProposalsAgain int `json:"proposals_again,omitempty"`
	ProgramAnswers int `json:"program_answers,omitempty"`
	Fits           int `json:"fits"`
	FitsReproduced int `json:"fits_reproduced"`
	// Builds are the programs that made the decisions and fits, in the order in
	// which they first did, with what they made.
	Builds []BuildShare `json:"builds,omitempty"`
}

// Add adds what came of another campaign. Builds and methods that both have are
// counted together.
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

// share returns the share of a program, counted from nothing where it has none.
func (c *Counts) share(build events.Build) *BuildShare {
	for i := range c.Builds {
		if c.Builds[i].Build == build {
			return &c.Builds[i]
		}
	}
	c.Builds = append(c.Builds, BuildShare{Build: build})
	return &c.Builds[len(c.Builds)-1]
}

// unmade returns the count of decisions like one, counted from nothing where
// there is none.
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

// Report is what came of making every fit and decision of a campaign again.
type Report struct {
	// Events counts the events of the campaign.
	Events int `json:"events"`
	Counts
	// OtherModels is how many of OtherVersion are fits and judgments.
	OtherModels int `json:"other_models,omitempty"`
	// Exact is true where everything was compared bit for bit; otherwise some
	// records come from another build and were compared to a tolerance.
	Exact      bool       `json:"exact"`
	Mismatches []Mismatch `json:"mismatches"`
	// Remarks are what an honest log can hold and an auditor should have seen:
	// a clock that was set back, an instrument that changed its name.
	Remarks []Mismatch `json:"remarks,omitempty"`
	// Last is when the last event was recorded.
	Last time.Time `json:"last,omitzero"`
}

// Tolerance is the relative tolerance to which records of another build are
// compared: floating-point arithmetic differs between architectures, and a
// search amplifies the difference.
const Tolerance = 1e-4

// Audit folds a campaign's events and, from the state before each, works out
// again what the engine did on its own: every fit, every decision with all that
// it led to, every request of the initial design, of replicates and of repeats,
// and the end of the campaign. What people, instruments and experts said are
// facts: of these it checks what follows from other events, that is who can
// have said it, what led to it, that it is about what was asked, and that the
// campaign's definition admits it. For the rest the log's own integrity
// vouches. Contradictions in the history itself are mismatches too and end the
// audit, since nothing after them means anything.
//
// Programs of the user's that say that they are deterministic answer again. A nil
// programs starts none: the log may be anybody's, and names what is started.
//
// It writes nothing, and reads the log twice: which versions of methods decided
// has to be known before the first event that one of them led to (see
// [deciders]). A mismatch is part of the report and no error; errors are those
// of the log and of the context, a kind that this program does not know, and
// [engine.ErrNoCampaign].
func Audit(
	ctx context.Context, reg registry.Registry, log events.Log, name string, build events.Build,
	programs Programs,
) (Report, error) {
	a := &auditor{
		core: engine.NewCore(reg), build: build, programs: programs,
		report:     Report{Exact: true, Mismatches: []Mismatch{}},
		dispatched: make(map[string]events.Sequence),
	}
	var err error
	if a.deciders, a.shown, err = decidersOf(ctx, log, name); err != nil {
		return a.report, err
	}
	a.ahead = lookAhead(ctx, reg, log, name, build)
	defer a.ahead.end()
	defer a.closeMethod()
	err = a.walk(ctx, log, name)
	if err == nil && a.report.Events == 0 {
		err = fmt.Errorf("%w: %q", engine.ErrNoCampaign, name)
	}
	a.checkClock()
	byPosition := func(x, y Mismatch) int { return int(x.Position) - int(y.Position) }
	slices.SortStableFunc(a.report.Mismatches, byPosition)
	slices.SortStableFunc(a.report.Remarks, byPosition)
	return a.report, err
}

// walk checks and folds one event after the other. An audit believes nothing that
// was folded before, so it reads the log itself and no snapshot.
//
// The order for each event: decode, check against the state before, fold, and
// only then note what it changes. A contradiction ends the walk without an
// error.
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
		a.noteShown()
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
	a.checkOwed()
	return nil
}

// auditor is an audit under way.
//
// Batches are not marked in a log. The audit finds them by what an event calls
// for (due), by what may join the batch before it (members), and by cause, time
// and actor.
type auditor struct {
	core   *engine.Core
	build  events.Build
	report Report

	begun int // the version of the event that began the campaign

	event events.Event   // that is being checked
	last  events.Payload // of the event before
	now   time.Time      // of the event before
	times []time.Time    // of all events before

	batch   events.Event   // the first event of the batch that the last event is in
	opening events.Payload // of that event
	// reported is the experiment of which the batch has reported a result last.
	reported string
	resolved *events.ExperimentResolved // that the batch has settled last; nil for none
	owed     []string                   // experiments whose commands the batch has yet to call off
	clock    []dated                    // of all batches

	// due is what the decision or event named by source led to and the log has
	// yet to show, in the same batch.
	due    []due
	source string

	bases engine.Bases // since when what fits read has been as it is

	unmade   string // the event of the last decision that is not made again
	deciders deciders
	amended  int // how often the definition was, before the event

	running events.Build // the program that wrote a fit, a decision or that it took over last

	ahead        *ahead
	own          *stretch // that the audit makes itself
	measurements int      // before the event

	shown    map[events.Sequence]*shownThen // what programs were shown, by the event that it was made from
	programs Programs                       // nil where none is to answer again
	opened   openedMethod

	dispatched map[string]events.Sequence // by experiment: when it was handed out last
	recovered  events.Sequence            // when another process took over last
	device     device
}

// due is an event that an earlier one of the batch calls for.
type due struct {
	what string // in words
	// again is the payload that is called for; it is compared bit for bit where
	// exact. It is nil where what the event says is a fact, and fits says of
	// what.
	again events.Payload
	exact bool
	fits  func(events.Payload) bool
}

// expect notes that payloads follow in the same batch. Those of another source
// that were still due have been reported by check before.
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

// meets reports whether a payload is of the kind that is called for.
func (d due) meets(payload events.Payload) bool {
	if d.again != nil {
		return events.KindOf(d.again) == events.KindOf(payload)
	}
	return d.fits(payload)
}

// found is a mismatch at the event that is being checked.
func (a *auditor) found(subject, format string, args ...any) Mismatch {
	return Mismatch{
		Position: a.event.Position, Event: a.event.Kind, Subject: subject,
		Problem: fmt.Sprintf(format, args...),
	}
}

// mismatch notes what an honest log cannot hold.
func (a *auditor) mismatch(subject, format string, args ...any) {
	a.report.Mismatches = append(a.report.Mismatches, a.found(subject, format, args...))
}

// remark notes what an honest log can hold, and an auditor should know.
func (a *auditor) remark(subject, format string, args ...any) {
	a.report.Remarks = append(a.report.Remarks, a.found(subject, format, args...))
}

// check compares an event with what the engine would have written, or could
// have.
//
// Its order: who wrote it and about what, whether it is what the batch still
// calls for, whether it belongs to the batch at all, then envelope and facts,
// which every event has, and last what the engine would have written in its
// place. The error is that of the context.
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
	member := called != nil || ofUnmade || a.joins(in)
	if !member {
		a.checkOwed()
		a.batch, a.opening = a.event, payload
		a.clock = append(a.clock, dated{place: a.found(in.subject(), ""), time: a.event.Time})
	}
	a.note(payload, member, called != nil)
	a.checkEnvelope(in, member)
	a.checkFact(in)
	switch {
	case called != nil && called.again != nil:
		if problem := a.compare(called.again, payload, called.exact); problem != "" {
			a.mismatch(a.source, "it led to something else than what follows: %s", problem)
		}
		a.checkExpiry(payload)
		return nil
	case member && events.KindOf(payload) != events.KindExperimentDeferred: // which leads to something in any place
		return nil
	}
	return a.checkDerived(ctx, in)
}

// next is the engine's next step at a time, everything open being attended to
// and the instrument busy: where a request was recorded it had nothing to
// dispatch.
func (a *auditor) next(now time.Time) engine.Step { return nextAttended(a.core, now) }

// nextAttended is what [auditor.next] returns. Where failures have cost the
// last of the budget, a campaign in memory goes on to its end.
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
