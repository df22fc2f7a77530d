package engine

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/problem"
	"github.com/campaignd/campaignd/projections/campaign"
)

// World is what the core cannot know from the log. All of it is of one process
// and one moment. Where an event depends on it, such as on ByHand, the event
// says so, and an audit can hold it to that.
type World struct {
	// Now is the present time.
	Now time.Time
	// Even is the time since when the clock has not been set back; zero where
	// that is not known. What is recorded of a time after Now counts as of then.
	Even time.Time
	// Ahead is how far the clock was set ahead in this process since the campaign
	// was last resumed.
	Ahead time.Duration
	// InFlight names the experiments and questions that a goroutine waits for
	// in this process.
	InFlight map[string]bool
	// Occupied are the experts who have a question before them and are shown
	// one at a time.
	Occupied map[string]bool
	// CallingOff are the calls that a command is off, by its experiment.
	CallingOff map[string]CallingOff
	// Capacity is how many experiments the instrument works on at once. How
	// many may be requested at once is the definition's business.
	Capacity int
	// Recovering is set while the instrument is being asked what became of
	// commands another process dispatched.
	Recovering bool
	// AskedSince is since when it is asked, where it is.
	AskedSince time.Time
	// Eager is set for campaigns in memory: see Eager of drive.Runner.
	Eager bool
	// ByHand is set where people run the experiments (see Suggest of drive.Runner).
	// Questions record it.
	ByHand bool
	// Delivers is set where the instrument gives quantities after an experiment has
	// ended, and is asked for them; Collecting names the experiments of which it
	// is.
	Delivers   bool
	Collecting map[string]bool
	// Lost says why the campaign does not have its instrument any more, the
	// device Device; empty while it has.
	Lost, Device string
	// Undescribed is set before the instrument has said what it is, and
	// Describing while it is asked.
	Undescribed, Describing bool
	// Consulting is the question that the program is asked which is the
	// campaign's method; zero while it is asked none.
	Consulting Consult
	// Prompted is the expert who is being asked for examples, empty where
	// no one is.
	Prompted string
	// Ticket is the campaign's place in the queue of an instrument that
	// campaigns share.
	Ticket Ticket
}

// Attended returns a world in which every open experiment and question
// is waited for: what the core does next then, it does by itself. An audit asks
// what comes next in such a world, with a Capacity of 0, as if the instrument
// were busy.
func Attended(s *campaign.State, w World) World {
	w.CallingOff = make(map[string]CallingOff)
	for _, x := range s.BeingCalledOff() {
		w.CallingOff[x.ID] = CallingOff{Order: x.CallOff.Order}
	}
	w.InFlight = make(map[string]bool, len(s.Experiments)+len(s.Questions))
	for i := range s.Experiments {
		w.InFlight[s.Experiments[i].ID] = true
	}
	for i := range s.Questions {
		w.InFlight[s.Questions[i].ID] = true
	}
	return w
}

// Step is the next thing to do. A step has one effect. Those that are computed
// can be compared with ==, by which drive's bench knows whether what it makes is
// still called for.
type Step interface{ step() }

type (
	// Record writes facts that need no effect first.
	Record struct{ Payloads []events.Payload }
	// Recover asks the instrument what became of commands another process
	// dispatched.
	Recover struct{ Experiments []string }
	// CallOff tells the instrument that an experiment's command is off.
	CallOff struct{ Experiment string }
	// Describe asks the instrument what it is, before the first command.
	Describe struct{}
	// Queue asks for the ticket that an experiment is dispatched with, at an
	// instrument that campaigns share.
	Queue struct{ Experiment string }
	// Unqueue gives back a ticket that is not used, so that others get it.
	Unqueue struct{}
	// Dispatch hands an experiment to the instrument.
	Dispatch struct{ Experiment string }
	// Collect asks the instrument for what an experiment that has ended is still to
	// give.
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
	// Judge works out what is expected of measurements.
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
	// Consult asks the program that is the campaign's method what to measure
	// next.
	Consult struct {
		Decision string
		Seed     uint64
		Attempt  int
	}
	// Wait waits for something to arrive, at most until Until (if not zero).
	// Remedies are what a person can do, where it is a person who is waited
	// for. Pending says that an instrument or an expert has been asked for
	// something before which nothing else begins: what became of earlier
	// commands, what the instrument is, initial examples.
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

// Rules are what a campaign does next: the first that has a step gives it.
//
// Their order is part of what is recorded: an audit asks the same list, so a rule
// that moves changes what logs of before are held to.
type Rules []func(Now) (Step, error)

// Present are the rules of this version.
var Present = RulesCounting(occurrences)

// RulesCounting returns the rules with a way to group experiments without a result
// as the circuit breaker counts them. Earlier versions had another.
func RulesCounting(group func([]*campaign.Experiment) [][]*campaign.Experiment) Rules {
	return Rules{
		nextCallOff,
		nextLost,
		nextContradicted,
		nextRecovery,
		nextWatch,
		nextRecovered,
		nextEnd,
		nextArrival,
		nextCollect,
		nextQuestion,
		nextExcluded,
		nextOvertaken,
		func(c Now) (Step, error) { return nextCircuitBreak(c, group) },
		nextDispatch,
		nextPause,
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
		if step != nil && c.Ticket.Place == Held && !keepsTicket(step) {
			return Unqueue{}, err
		}
		if wait, ok := step.(Wait); ok {
			step = firstCalledOff(c, wait)
		}
		if step != nil || err != nil {
			return step, err
		}
	}
	return nil, errors.New("engine: no rule applies") // nextDecision always answers
}

// nextLost pauses a campaign that does not have its device any more. Under a
// lease that is lost nothing may be sent, not even what another rule has ready,
// but that a command is called off.
func nextLost(c Now) (Step, error) {
	if c.Lost == "" || c.Status == campaign.Paused || c.Status.Ended() {
		return nil, nil
	}
	return record(&events.CampaignPaused{
		Reason: legible(c.Lost) + ". Nothing more is sent to it. " +
			"See that it is there and that nobody else uses it; resuming takes it anew",
		Device: c.Device,
	})
}

// nextRecovery looks for commands that another process dispatched.
//
// A command that is under way and waited for by no goroutine of this process is
// one of another process (law 3). While the device is lost no one is there to
// ask; an ended campaign asks all the same, since it sends nothing.
func nextRecovery(c Now) (Step, error) {
	if c.Recovering || c.Lost != "" && !c.Status.Ended() {
		return nil, nil
	}
	var lost []string
	for x := range among(c.State, underway...) {
		if !c.InFlight[x.ID] {
			lost = append(lost, x.ID)
		}
	}
	if lost == nil {
		return nil, nil
	}
	return Recover{Experiments: lost}, nil
}

// nextWatch says that an instrument is silent, and gives an experiment up whose
// instrument has been silent for too long: its fate is then unknown.
//
// Both events say the time that the definition allows and not that of the clock,
// so that an audit can hold them to it.
func nextWatch(c Now) (Step, error) {
	stallAfter, giveUpAfter := c.Definition.Silence()
	for x := range among(c.State, underway...) {
		stall, giveUp := watchTimes(c, x)
		switch {
		case !giveUp.IsZero() && !c.Now.Before(giveUp):
			return record(&events.ExperimentUnresolved{
				Experiment: x.ID, Command: x.Command, Instrument: x.Instrument,
				Cause: fmt.Sprintf("the instrument has been silent for %s", giveUpAfter),
			})
		case !x.Stalled && !stall.IsZero() && !c.Now.Before(stall):
			return record(&events.InstrumentStalled{
				Experiment: x.ID, Command: x.Command, Instrument: x.Instrument,
				Waited: stallAfter.Seconds(),
			})
		}
	}
	return nil, nil
}

// firstWord is how long an instrument has to say what became of a command that
// another process sent, before its silence until then is held against it. No
// process may have listened in the meantime.
const firstWord = 10 * time.Second

// watchTimes returns when a dispatched experiment counts as stalled and when it
// is given up; zero means never. Silence begins when the command was sent, or
// when the instrument said what had become of it.
func watchTimes(c Now, x *campaign.Experiment) (stall, giveUp time.Time) {
	since := x.DispatchedAt
	if x.RecalledAt.After(since) {
		since = x.RecalledAt
	}
	after := func(allowed time.Duration) time.Time {
		if allowed <= 0 {
			return time.Time{}
		}
		at := since.Add(allowed)
		if asked := c.AskedSince.Add(firstWord); c.Recovering && asked.After(at) {
			return asked
		}
		return at
	}
	stallAfter, giveUpAfter := c.Definition.Silence()
	return after(stallAfter), after(giveUpAfter)
}

// nextRecovered waits for the instrument's word on commands another process
// dispatched: until it is recorded, nothing begins and nothing ends but what
// has its time. Requests of people are seen to by the loop all the while.
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
	if x := firstWith(c.State, underway...); x != nil {
		wait.For = fmt.Sprintf("%s to say what became of %s", x.Instrument, x.ID)
	}
	return wait, nil
}

// overdue reports whether an open question was not answered in time.
func overdue(c Now, q *campaign.Question) bool {
	expires := c.end(q.AskedAt, q.Expires)
	return !expires.IsZero() && !c.Now.Before(expires)
}

// end is when something ends that began at one recorded time and was to last
// until another; zero for never. What began after Now did so before the clock
// was set back: after an hour or a year back nothing must last so much longer.
// What began within drift of Now began now.
func (w World) end(since, until time.Time) time.Time {
	const drift = 5 * time.Second
	if w.Even.IsZero() || until.IsZero() || since.Sub(w.Now) <= drift {
		return until
	}
	return w.Even.Add(until.Sub(since))
}

// nextEnd winds an ended campaign up: nothing new starts, what is under way is
// awaited.
//
// Results of what is under way still count, though nothing is decided with them.
func nextEnd(c Now) (Step, error) {
	if !c.Status.Ended() {
		return nil, nil
	}
	const ended = "the campaign has ended"
	if payloads := cancelled(c.State, func(*campaign.Experiment) string { return ended },
		func(*campaign.Question) string { return ended }); payloads != nil {
		return record(payloads...)
	}
	if c.Count(underway...) > 0 || c.BeingCalledOff() != nil {
		return Wait{For: waitingForInstrument(c), Until: Deadline(c)}, nil
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

// nextExcluded calls off what an amendment has put outside the space since it
// was requested or asked.
func nextExcluded(c Now) (Step, error) {
	why := func(x *campaign.Experiment) string { return reasonOf(c.space.Contains(x.Parameters)) }
	payloads := cancelled(c.State, why, func(q *campaign.Question) string { return reasonOf(outside(c, q)) })
	if payloads == nil {
		return nil, nil
	}
	return record(payloads...)
}

// nextDispatch hands requested experiments to the instrument, as many as it
// works on at once. While the fate of an experiment is unknown, the state of
// the instrument is too: nothing is dispatched until a person has looked, and
// until what was given up cannot begin any more.
//
// That holds for an instrument with several channels too: neither a description
// nor a command says which channel it is, so that nothing tells which of them
// are in order. And an instrument in trouble is left alone for a while (see
// backoff.go).
func nextDispatch(c Now) (Step, error) {
	if c.Status == campaign.Paused || c.Count(campaign.Unresolved) > 0 || c.BeingCalledOff() != nil {
		return nil, nil
	}
	if c.Count(underway...) >= c.Capacity {
		return nil, nil
	}
	x := firstWith(c.State, campaign.Requested)
	if x == nil || restsUntil(c).After(c.Now) || heldBack(c.State, x) {
		return nil, nil
	}
	switch {
	case c.Describing:
		return Wait{For: "the instrument to say what it is", Until: Deadline(c), Pending: true}, nil
	case c.Undescribed: // the campaign had ended when the run began, and was amended since
		return Describe{}, nil
	case c.Ticket.Place == Unqueued:
		return Queue{Experiment: x.ID}, nil
	case c.Ticket.Place == Waiting:
		return nil, nil
	}
	return Dispatch{Experiment: x.ID}, nil
}

// nextPause keeps a paused campaign from beginning anything. The rules before it
// go on: what is under way ends, questions are put and expire.
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

// AfterPause is what can be done about a pause. Where the budget is spent,
// going on is the end, unless what experiments without a result cost is had
// back first.
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

// timeIsUp completes the campaign when its time is spent, and is nil before. It
// is asked only where something new would begin, so that the last experiment is
// never cut off, nor what it is still to give.
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

// waitingForInstrument says what a campaign waits for that has experiments under
// way or requested, in the order of what a person can do about it: a silent
// instrument, one that rests, another campaign.
func waitingForInstrument(c Now) string {
	if x := firstWith(c.State, underway...); x != nil {
		who, what := x.Instrument, x.ID
		if c.Definition.ByHand() {
			who, what = "a person", events.ExperimentList(notMeasured(c.State))
		}
		if x.Stalled {
			return fmt.Sprintf("%s to measure %s (silent for longer than it should be)", who, x.ID)
		}
		return fmt.Sprintf("%s to measure %s", who, what)
	}
	if x, until := firstWith(c.State, campaign.Requested), restsUntil(c); x != nil && until.After(c.Now) {
		return rest(c.State, x, until.In(c.Now.Location()))
	} else if x != nil && c.Ticket.Place == Waiting {
		return fmt.Sprintf("its turn to measure %s: %s", x.ID, c.Ticket.Behind)
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
// given up, or has rested. Zero means never. A deadline that is passed stays
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
	for x := range among(c.State, underway...) {
		stall, giveUp := watchTimes(c, x)
		if !x.Stalled {
			add(stall)
		}
		add(giveUp)
	}
	if !c.Status.Ended() {
		add(awaitedUntil(c))
	}
	if until := restsUntil(c); until.After(c.Now) && firstWith(c.State, campaign.Requested) != nil {
		add(until)
	}
	return first
}
