package engine

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/projections/campaign"
)

// World holds the facts that the core cannot know from the log, all of one process and one
// moment. An event that depends on one of them, such as ByHand, records it, so that an audit
// can check it.
type World struct {
	// Now is the present time.
	Now time.Time
	// Even is the time since when the clock has not been set back; zero if unknown. An event
	// recorded with a time after Now counts as of then.
	Even time.Time
	// Ahead is the time by which the clock was set ahead in this process since the campaign was
	// last resumed.
	Ahead time.Duration
	// InFlight names the experiments and questions that a goroutine waits for
	// in this process.
	InFlight map[string]bool
	// Occupied are the experts who have a question before them and are shown
	// one at a time.
	Occupied map[string]bool
	// CallingOff are the calls that a command is off, by its experiment.
	CallingOff map[string]CallingOff
	// SecuringBy are the calls to bring a device to its safe state, by the campaign's name for it.
	SecuringBy map[string]CallingOff
	// Resources are the instruments, by the campaign's names for them; the only one of a campaign
	// without a procedure has the empty name.
	Resources map[string]Resource
	// Recovering is set while instruments are being asked for the fate of commands another
	// process dispatched.
	Recovering bool
	// AskedSince is since when it is asked, where it is.
	AskedSince time.Time
	// Eager is set for campaigns in memory: see Eager of drive.Runner.
	Eager bool
	// ByHand is set where people run the experiments (see Suggest of drive.Runner).
	// Questions record it.
	ByHand bool
	// Collecting names the experiments for whose late quantities the instrument is being asked.
	Collecting map[string]bool
	// Consulting is the question that the program is asked which is the
	// campaign's method; zero while it is asked none.
	Consulting Consult
	// Prompted is the expert who is being asked for examples, empty where
	// no one is.
	Prompted string
	// LabStocks are the stocks of the lab.
	LabStocks LabStocks
	// LabPlaces are the places of the lab.
	LabPlaces LabPlaces
}

// Resource is the knowledge of a process about an instrument at one moment.
type Resource struct {
	// Capacity is the number of commands that the instrument works on at once. The
	// definition limits how many experiments may be requested at once.
	Capacity int
	// Delivers is set if the instrument gives quantities after an experiment has ended, and
	// must be asked for them.
	Delivers bool
	// Lost says why the campaign does not have its instrument any more, the
	// device Device; empty while it has.
	Lost, Device string
	// Undescribed is set before the instrument has described itself, and Describing while it is
	// being asked to.
	Undescribed, Describing bool
	// Ticket is the campaign's place in the queue of an instrument that
	// campaigns share.
	Ticket Ticket
	// Service is its service, if it is the lab's.
	Service Service
}

// Only is the one instrument of a campaign without a procedure.
func Only(r Resource) map[string]Resource { return map[string]Resource{"": r} }

// Attended returns a world in which every open experiment and question is waited for: the core
// takes its next step there by itself. An audit asks for the next step in such a world, with a
// Capacity of 0, as if the instrument were busy.
func Attended(s *campaign.State, w World) World {
	w.CallingOff = make(map[string]CallingOff)
	for _, o := range s.BeingCalledOff() {
		w.CallingOff[o.Subject] = CallingOff{Order: o.CallOff.Order}
	}
	w.SecuringBy = make(map[string]CallingOff)
	for _, d := range s.Securing() {
		w.SecuringBy[d.Resource] = CallingOff{Order: d.Order}
	}
	w.InFlight = make(map[string]bool, len(s.Experiments)+len(s.Questions))
	for i := range s.Experiments {
		w.InFlight[s.Experiments[i].ID] = true
	}
	for i := range s.Acts {
		w.InFlight[s.Acts[i].ID] = true
	}
	for i := range s.Questions {
		w.InFlight[s.Questions[i].ID] = true
	}
	return w
}

// Step is the next thing to do. A step has one effect. Computing steps can be compared with ==,
// so that drive's bench knows whether its computation is still called for.
type Step interface{ step() }

type (
	// Record writes facts that need no effect first.
	Record struct{ Payloads []events.Payload }
	// Recover asks instruments for the fate of commands another process dispatched, by their
	// subjects.
	Recover struct{ Subjects []string }
	// CallOff tells the instrument that the command of a subject is off.
	CallOff struct{ Subject string }
	// Secure tells an instrument to bring its device to its safe state.
	Secure struct{ Resource string }
	// Describe asks an instrument to describe itself, before the first command.
	Describe struct{ Resource string }
	// Queue asks for the ticket that an experiment or an act is dispatched with, at an
	// instrument that campaigns share.
	Queue struct{ Resource, Subject string }
	// Unqueue gives back a ticket that is not used, so that others get it.
	Unqueue struct{ Resource string }
	// Dispatch hands an experiment to the instrument, or where Due is set an act to its own.
	Dispatch struct {
		Experiment string
		Due        *Due
	}
	// Collect asks the instrument for the late quantities of an experiment that has ended.
	Collect struct{ Experiment string }
	// Ask puts a question to its expert.
	Ask struct{ Question string }
	// Examples asks an expert for initial examples: labels, or comparisons of
	// so many options.
	Examples struct {
		Expert   string
		N        int
		Balanced bool
		Options  int
	}
	// Fit fits a model.
	Fit struct {
		events.ModelName
		Seed uint64
	}
	// Judge computes the expected values of measurements.
	Judge struct {
		// Version is that of the observations and their fit.
		Version [2]int
	}
	// Decide makes a decision.
	Decide struct {
		Decision string
		Seed     uint64
		// Version is that of the policy's family; 0 for the present one. The engine's
		// own next step has none: an audit names those before.
		Version int
	}
	// Consult asks the program that is the campaign's method for the next composition to
	// measure.
	Consult struct {
		Decision string
		Seed     uint64
		Attempt  int
	}
	// Wait waits for something to arrive, at most until Until (if not zero). Remedies are a
	// person's options, if the wait is for a person. Pending is set if an instrument or an
	// expert has been asked for something that must come before all else: the fate of earlier
	// commands, the description of the instrument, initial examples.
	Wait struct {
		For      string
		Remedies []problem.Remedy
		Until    time.Time
		Pending  bool
	}
	// Done ends the run.
	Done struct{}
)

func (Record) step()   {}
func (Recover) step()  {}
func (CallOff) step()  {}
func (Secure) step()   {}
func (Describe) step() {}
func (Queue) step()    {}
func (Unqueue) step()  {}
func (Dispatch) step() {}
func (Collect) step()  {}
func (Ask) step()      {}
func (Examples) step() {}
func (Fit) step()      {}
func (Judge) step()    {}
func (Decide) step()   {}
func (Consult) step()  {}
func (Wait) step()     {}
func (Done) step()     {}

// record is the step of a rule that writes facts.
func record(payloads ...events.Payload) (Step, error) { return Record{payloads}, nil }

// errUndefined is returned by Next before campaign.defined.
var errUndefined = errors.New("engine: the campaign is not defined")

// Rules determine a campaign's next step: the first rule that has one gives it.
//
// Their order is part of the record: an audit asks the same list, so that moving a rule would
// change what earlier logs are checked against.
type Rules []func(Now) (Step, error)

// Present are the rules of this version.
var Present = RulesCounting(occurrences)

// RulesCounting returns the rules with a way to group experiments without a result
// as the circuit breaker counts them. Earlier versions had another.
func RulesCounting(group func([]*campaign.Experiment) [][]*campaign.Experiment) Rules {
	return Rules{
		nextSafe,
		nextCallOff,
		nextLost,
		nextContradicted,
		nextRecovery,
		nextWatch,
		nextRecovered,
		nextProcedure,
		nextDrift,
		nextEnd,
		nextArrival,
		nextCollect,
		nextQuestion,
		nextExcluded,
		nextOvertaken,
		func(c Now) (Step, error) { return nextCircuitBreak(c, group) },
		nextActBreak,
		nextDispatch,
		nextPause,
		nextService,
		nextStock,
		nextReference,
		nextOutlier,
		nextInitial,
		nextReplicate,
		nextDecision,
	}
}

// Next is [Present.Next] in a world.
func (c *Core) Next(w World) (Step, error) { return Present.Next(c.At(w)) }

// Next returns the next step. It depends on the folded events and the world alone,
// and changes nothing.
//
// A ticket that is held is given back before any step that would keep others
// waiting for it.
func (all Rules) Next(c Now) (Step, error) {
	if c.Status == campaign.Undefined {
		return nil, errUndefined
	}
	for _, rule := range all {
		step, err := rule(c)
		if step != nil && !keepsTicket(step) {
			for _, name := range c.Definition.Resources() {
				if c.Resources[name].Ticket.Place == Held {
					return Unqueue{Resource: name}, err
				}
			}
		}
		if wait, ok := step.(Wait); ok {
			if payload := Remake(c.State); payload != nil {
				return record(payload) // last of all: earlier programs left it to a person
			}
			step = firstSafe(c, firstCalledOff(c, wait))
		}
		if step != nil || err != nil {
			return step, err
		}
	}
	return nil, errors.New("engine: no rule applies") // nextDecision always answers
}

// nextLost pauses a campaign that does not have its device any more. After the loss of a lease
// nothing may be sent, not even a step that another rule has ready, except orders to call a
// command off.
func nextLost(c Now) (Step, error) {
	if c.Status == campaign.Paused || c.Status.Ended() {
		return nil, nil
	}
	for _, name := range c.Definition.Resources() {
		if r := c.Resources[name]; r.Lost != "" {
			return record(&events.CampaignPaused{
				Reason: legible(r.Lost) + ". Nothing more is sent to it. " +
					"See that it is there and that nobody else uses it; resuming takes it anew",
				Device: r.Device,
			})
		}
	}
	return nil, nil
}

// nextRecovery looks for commands that another process dispatched.
//
// A command that is under way, but that no goroutine of this process waits for, was dispatched
// by another process (law 3). While the device is lost there is nothing to ask; an ended
// campaign asks even then, since it sends nothing.
func nextRecovery(c Now) (Step, error) {
	if c.Recovering {
		return nil, nil
	}
	var lost []string
	for o := range c.Orders() {
		asked := c.Resources[o.Resource].Lost == "" || c.Status.Ended()
		if o.UnderWay() && !c.InFlight[o.Subject] && asked {
			lost = append(lost, o.Subject)
		}
	}
	if lost == nil {
		return nil, nil
	}
	return Recover{Subjects: lost}, nil
}

// nextWatch reports that an instrument is silent, and gives up a command whose instrument
// has been silent for too long: its fate is then unknown.
//
// Both events give the time that the definition allows and not that of the clock, so that an
// audit can check them.
func nextWatch(c Now) (Step, error) {
	for o := range c.Orders() {
		if !o.UnderWay() {
			continue
		}
		stallAfter, giveUpAfter := c.Definition.At(o.Resource).Silence()
		stall, giveUp := watchTimes(c, o)
		_, longer := o.Silence(stallAfter)
		switch {
		case !giveUp.IsZero() && !c.Now.Before(giveUp):
			return record(UnresolvedFor(o, fmt.Sprintf("the instrument has been silent for %s", giveUpAfter+longer)))
		case !o.Stalled && !stall.IsZero() && !c.Now.Before(stall):
			stalled := &events.InstrumentStalled{
				Command: o.ID, Instrument: o.Instrument, Waited: (stallAfter + longer).Seconds(),
			}
			stalled.Experiment, stalled.Act = subject(o)
			return record(stalled)
		}
	}
	return nil, nil
}

// subject names the experiment that a command is about, or the act.
func subject(o campaign.Order) (experiment, act string) {
	if events.ActNumber(o.Subject) > 0 {
		return "", o.Subject
	}
	return o.Subject, ""
}

// UnresolvedFor is the event by which the fate of a command becomes unknown.
func UnresolvedFor(o campaign.Order, cause string) events.Payload {
	if _, act := subject(o); act != "" {
		return &events.ActUnresolved{Act: act, Command: o.ID, Instrument: o.Instrument, Cause: cause}
	}
	return &events.ExperimentUnresolved{
		Experiment: o.Subject, Command: o.ID, Instrument: o.Instrument, Cause: cause,
	}
}

// firstWord is the time that an instrument has to report the fate of a command from another
// process, before its silence until then counts against it: perhaps no process has listened in
// the meantime.
const firstWord = 10 * time.Second

// watchTimes returns when a command counts as stalled and when it is given up;
// zero means never. Silence begins with the last word of the instrument on the command; by its own
// promise it may be silent for longer.
func watchTimes(c Now, o campaign.Order) (stall, giveUp time.Time) {
	stallAfter, giveUpAfter := c.Definition.At(o.Resource).Silence()
	since, longer := o.Silence(stallAfter)
	after := func(allowed time.Duration) time.Time {
		if allowed <= 0 {
			return time.Time{}
		}
		at := since.Add(allowed + longer)
		if asked := c.AskedSince.Add(firstWord); c.Recovering && asked.After(at) {
			return asked
		}
		return at
	}
	return after(stallAfter), after(giveUpAfter)
}

// nextRecovered waits for the instrument's word on commands another process dispatched: until
// it is recorded, nothing begins, and nothing ends except what is due. The loop goes on serving
// people's requests meanwhile.
func nextRecovered(c Now) (Step, error) {
	if !c.Recovering {
		return nil, nil
	}
	for q := range open(c.State) {
		if overdue(c, q) {
			return record(&events.QuestionExpired{Question: q.ID})
		}
	}
	if step, err := nextArrival(c); step != nil || err != nil {
		return step, err
	}
	wait := Wait{
		For:     "the instrument to say what became of what was under way",
		Until:   Deadline(c),
		Pending: true,
	}
	for o := range c.Orders() {
		if o.UnderWay() {
			wait.For = fmt.Sprintf("%s to say what became of %s", o.Instrument, o.Subject)
			break
		}
	}
	return wait, nil
}

// overdue reports whether an open question was not answered in time.
func overdue(c Now, q *campaign.Question) bool {
	expires := c.end(q.AskedAt, q.Expires)
	return !expires.IsZero() && !c.Now.Before(expires)
}

// end returns the end of a period that began at one recorded time and was to last until
// another; zero for never. A period that began after Now did so before the clock was set back:
// after an hour or a year back nothing must last so much longer. One that began within drift of
// Now began now.
func (w World) end(since, until time.Time) time.Time {
	const drift = 5 * time.Second
	if w.Even.IsZero() || until.IsZero() || since.Sub(w.Now) <= drift {
		return until
	}
	return w.Even.Add(until.Sub(since))
}

// nextEnd winds an ended campaign up: nothing new starts, and experiments under way are
// awaited.
//
// Their results still count, though no decision reads them.
func nextEnd(c Now) (Step, error) {
	if !c.Status.Ended() {
		return nil, nil
	}
	const ended = "the campaign has ended"
	if payloads := cancelled(c.State, func(*campaign.Experiment) string { return ended },
		func(*campaign.Question) string { return ended }); payloads != nil {
		return record(payloads...)
	}
	if c.Count(underway...) > 0 || c.BeingCalledOff() != nil || securing(c) != nil || openBatch(c.State) != nil {
		return waitForWork(c), nil
	}
	for _, place := range c.Definition.LabPlaces() {
		if p := c.LabPlaces[place]; p.Fault != "" { // its places are freed before it ends
			return Wait{For: occupied(c, place)}, nil
		}
	}
	for _, q := range c.quantities.All() {
		if q.Stale() { // the result is stated by the posterior, whatever ended the campaign
			return fitOf(c.State, q.Fits(), q.Revision()), nil
		}
	}
	return Done{}, nil
}

// nextQuestion expires questions and puts open ones. Experts who are asked one
// thing at a time (Occupied) get the next question once the one before is over.
func nextQuestion(c Now) (Step, error) {
	for q := range open(c.State) {
		if overdue(c, q) {
			return record(&events.QuestionExpired{Question: q.ID})
		}
		if !c.InFlight[q.ID] && !c.Occupied[q.Expert] {
			return Ask{Question: q.ID}, nil
		}
	}
	return nil, nil
}

// nextExcluded calls off experiments and questions that an amendment has put outside the space
// since.
func nextExcluded(c Now) (Step, error) {
	why := func(x *campaign.Experiment) string { return reasonOf(c.space.Contains(x.Parameters)) }
	payloads := cancelled(c.State, why, func(q *campaign.Question) string { return reasonOf(outside(c, q)) })
	if payloads == nil {
		return nil, nil
	}
	return record(payloads...)
}

// nextDispatch hands requested experiments to the instrument, as many as it works on at once.
// While the fate of an experiment is unknown, the state of the instrument is too: nothing is
// dispatched until a person has looked, and until commands that were given up cannot begin any
// more.
//
// That holds for an instrument with several channels too: neither a description
// nor a command says which channel it is, so that nothing tells which of them
// are in order. And an instrument in trouble is left alone for a while (see
// backoff.go).
func nextDispatch(c Now) (Step, error) {
	if c.Status == campaign.Paused || c.Count(campaign.Unresolved) > 0 || c.BeingCalledOff() != nil {
		return nil, nil
	}
	r := c.Resources[""]
	if c.Count(underway...) >= r.Capacity || len(c.Definition.Procedure) > 0 {
		return nil, nil
	}
	x := firstWith(c.State, campaign.Requested)
	if x == nil || restsUntil(c).After(c.Now) || heldBack(c.State, x) || Short(c) != nil || withheld(c) != nil {
		return nil, nil
	}
	switch {
	case r.Describing:
		return Wait{For: "the instrument to say what it is", Until: Deadline(c), Pending: true}, nil
	case r.Undescribed: // the campaign had ended when the run began, and was amended since
		return Describe{}, nil
	case r.Ticket.Place == Unqueued:
		return Queue{Subject: x.ID}, nil
	case r.Ticket.Place == Waiting:
		return nil, nil
	}
	if step := take(c, c.Definition.Draws(), x.ID, []string{x.ID}); step != nil {
		return step, nil
	}
	return Dispatch{Experiment: x.ID}, nil
}

// nextPause keeps a paused campaign from beginning anything. The rules before it go on:
// experiments under way end, questions are put and expire.
func nextPause(c Now) (Step, error) {
	if c.Status == campaign.Paused {
		wait := Wait{For: "a person: the campaign is paused", Remedies: AfterPause(c.State), Until: Deadline(c)}
		if c.Reason != "" {
			wait.For += ": " + c.Reason
		}
		return wait, nil
	}
	return nil, nil
}

// AfterPause returns the remedies for a pause. If the budget is spent, resuming ends the
// campaign, unless the cost of experiments without a result is recovered first.
func AfterPause(s *campaign.State) []problem.Remedy {
	resume := problem.Remedy{Text: "let the campaign go on", Action: problem.Resume}
	spent := s.Left() <= 0
	lost := func(x campaign.Experiment) bool { return withoutResult(&x) }
	if !spent || !slices.ContainsFunc(s.Experiments, lost) {
		return []problem.Remedy{resume}
	}
	return []problem.Remedy{
		{Text: "to make up for experiments without a result, raise the budget first", Action: problem.Amend},
		{
			Text: "say that they did not take place", Action: problem.Correct,
			Ways: []string{string(events.ResolvedNotPerformed)},
		},
		resume,
	}
}

// timeIsUp completes the campaign when its time is spent, and is nil before. It is called only
// where something new would begin, so that neither the last experiment nor its late quantities
// are cut off.
//
// Where it is spent only because the clock was set ahead, the campaign pauses and
// a person says: a machine that starts without a clock of its own is in another
// year until it reaches a time server.
func timeIsUp(c Now) Step {
	limit := time.Duration(c.Definition.Budget.Time)
	over := c.Now.Sub(c.DefinedAt) - limit
	if limit == 0 || over < 0 {
		return nil
	}
	if over < c.Ahead && c.Status != campaign.Paused {
		return Record{[]events.Payload{&events.CampaignPaused{Reason: fmt.Sprintf(
			"the clock of this machine was set ahead while the campaign ran, and only by that its %s are over. "+
				"Resuming ends it; to go on, raise budget.time first, which counts from %s",
			limit, c.DefinedAt.UTC().Format("2006-01-02 15:04 MST"))}}}
	}
	if wait := lastArrivals(c); wait != nil {
		return wait
	}
	return Record{[]events.Payload{&events.CampaignCompleted{
		Reason: events.CompletedTime, Detail: fmt.Sprintf("the campaign has run for its %s", limit),
	}}}
}

// waitingForInstrument says what a campaign with experiments under way or requested waits for,
// in the order of a person's means to help: a silent instrument, one that rests, another
// campaign.
func waitingForInstrument(c Now) string {
	if x := firstWith(c.State, underway...); x != nil {
		who, what := x.Command.Instrument, x.ID
		if c.Definition.ByHand() {
			who, what = "a person", events.ExperimentList(notMeasured(c.State))
		}
		if x.Command.Stalled {
			return fmt.Sprintf("%s to measure %s (silent for longer than it should be)", who, x.ID)
		}
		return fmt.Sprintf("%s to measure %s", who, what)
	}
	if x, until := firstWith(c.State, campaign.Requested), restsUntil(c); x != nil && until.After(c.Now) {
		return rest(c.State, x, until.In(c.Now.Location()))
	} else if t := c.Resources[""].Ticket; x != nil && t.Place == Waiting {
		return fmt.Sprintf("its turn to measure %s: %s", x.ID, t.Behind)
	} else if awaited := c.AllAwaited(); x == nil && awaited != nil {
		return awaitedText(awaited)
	}
	return "the instrument"
}

// notMeasured are the experiments that are to be measured, or are being.
func notMeasured(s *campaign.State) (ids []string) {
	for x := range among(s, campaign.Requested, campaign.Dispatched, campaign.Started) {
		ids = append(ids, x.ID)
	}
	return ids
}

// Deadline returns when the core must be asked again though nothing has
// arrived: the first question expires, or an instrument counts as stalled or is
// given up, or has rested, or a calibration expires. Zero means never. A deadline that is passed stays
// one: the rule that it belongs to answers first. When a question expires is [Expiry].
func Deadline(c Now) time.Time {
	var first time.Time
	add := func(t time.Time) {
		if !t.IsZero() && (first.IsZero() || t.Before(first)) {
			first = t
		}
	}
	for q := range open(c.State) {
		add(c.end(q.AskedAt, q.Expires))
	}
	for o := range c.Orders() {
		if !o.UnderWay() {
			continue
		}
		stall, giveUp := watchTimes(c, o)
		if !o.Stalled {
			add(stall)
		}
		add(giveUp)
	}
	add(actDeadline(c))
	for _, name := range c.Definition.Resources() {
		if until := c.Resources[name].Service.CalibratedUntil; until.After(c.Now) {
			add(until)
		}
	}
	for _, d := range securing(c) {
		add(d.At.Add(safetyHolds))
	}
	if !c.Status.Ended() {
		add(awaitedUntil(c))
	}
	add(referenceDue(c))
	if until := restsUntil(c); until.After(c.Now) && firstWith(c.State, campaign.Requested) != nil {
		add(until)
	}
	return first
}
