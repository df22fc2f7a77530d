package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/campaignd/campaignd/adapters/humans"
	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/problem"
	"github.com/campaignd/campaignd/internal/registry"
	"github.com/campaignd/campaignd/projections/campaign"
)

// Runner drives one campaign: the only loop, and the owner of every goroutine
// and effect. Its fields are set before Run and not changed after.
type Runner struct {
	// Registry holds what the campaign's definition may name.
	Registry registry.Registry
	// Log holds the campaign; Campaign names it.
	Log      events.Log
	Campaign string
	// Instrument measures; nil where the campaign measures nothing. Reviewers
	// answer, by the experts' names.
	Instrument instruments.Instrument
	Reviewers  map[string]humans.Reviewer
	// Account is the system's user that runs the campaign, as in [events.Event].
	Account string
	// Build is recorded with fits and decisions.
	Build events.Build
	// Epoch, if set, is recorded when the run begins, and commands carry it from
	// then on: see [events.RecoveryDone].
	Epoch string
	// Now is the clock of event times and deadlines. Default time.Now.
	Now func() time.Time
	// Observe, if set, is called from the loop with what it is about to wait
	// for, after every change; For is empty once it has nothing to wait for. It must be quick.
	Observe func(core *Core, wait Wait)
	// Working, if set, is called from the loop once a fit or a decision has taken a
	// while, and again when it has ended; [Runner.Computing] says which. It must be quick.
	Working func(core *Core)
	// Summarized, if set, is called from the loop with the summary of the campaign at a revision,
	// once it has been worked out in the background: after every change, as far as nothing else
	// is computed. Observe is called again after it. It must be quick.
	Summarized func(at Revision, summary Summary)
	// Meter, if set, hears how long things took.
	Meter Meter
	// Lock, if set, is called where something physical is to be driven, before anything
	// moves: by Start, and when a campaign that has lost its lease is resumed. It leases
	// the device to the campaign, or says who has it already.
	Lock func(instruments.Description) (Lease, error)
	// Slots, if set, has room for as many computations as may go on at once in the process:
	// without a bound, those of many campaigns take the processors away from whoever answers,
	// writes or looks on.
	Slots chan struct{}
	// Eager is for campaigns in memory, whose clock does not pass and where nobody
	// is: an instrument in trouble is left no time to recover.
	Eager bool

	core        *Core
	description instruments.Description
	inbox       chan message
	over        chan struct{}                 // closed when Run has returned
	inFlight    map[string]context.CancelFunc // experiments and questions waited for
	recovery    *recovery                     // nil unless one is under way
	lease       Lease                         // nil where there is none, or not any more
	lost        string                        // why there is none any more
	leased      int                           // how often it was taken anew
	queued      *queued                       // nil where no ticket is waited for or unused
	tickets     map[string]HeldTicket         // of experiments that the device may be at work on
	wg          sync.WaitGroup

	// What is made beside the loop; see beside.go.
	computing *computation   // nil where nothing is
	computed  chan computed  // its result
	aside     *Core          // belongs to the goroutine of the computation
	followed  bool           // there is, or will soon be, a core aside
	behind    []events.Event // that the core aside has not folded
	overtaken int            // decisions in a row that something came before
	// summarized is the revision of the last summary.
	summarized Revision
	// hold, if set by a test, is called before each computation, beside the loop.
	hold func(context.Context, Step)
}

// Meter hears how long things took and what happened; see internal/telemetry.
type Meter interface {
	// Trace begins a span named name, child of the W3C traceparent parent (or
	// a new trace), and returns its traceparent and the function that ends it.
	Trace(parent, name string) (traceparent string, end func(error))
	// ObserveDuration records the duration of "append", "fit" or "decision".
	ObserveDuration(what string, d time.Duration)
	// CountEvent counts an appended event.
	CountEvent(e events.Event)
}

// message is what a goroutine tells the loop.
type message struct {
	// started and outcome are about an experiment, answer and over about a question,
	// recovered about all commands that were asked about.
	experiment, question string
	started              bool
	outcome              *instruments.Outcome
	answer               *humans.Reply
	over                 bool // the wait for the answer had ended before it came
	err                  error
	recovered            []told
	// queued is about the ticket of the next command; behind says who comes first.
	queued *queued
	ticket HeldTicket
	behind string
	// lost says why the device is not the campaign's any more, of the lease number leased.
	lost   string
	leased int

	request *Request
	reply   chan<- reply

	// panicked is a programmer's mistake in an adapter. The loop panics for it, where its
	// caller can know what to do about it: elsewhere it would end the whole process.
	panicked any
}

type reply struct {
	events []events.Event
	err    error
}

// inboxSize lets goroutines finish while the loop fits or decides.
const inboxSize = 64

// load folds the campaign and fills in the fields that were left out.
func (r *Runner) load(ctx context.Context) (err error) {
	if r.Now == nil {
		r.Now = time.Now
	}
	if r.Meter == nil {
		r.Meter = noMeter{}
	}
	r.inbox = make(chan message, inboxSize)
	r.over = make(chan struct{})
	r.inFlight = make(map[string]context.CancelFunc)
	r.tickets = make(map[string]HeldTicket)
	r.computed = make(chan computed, 1)
	r.core, err = Load(ctx, r.Registry, r.Log, r.Campaign)
	return err
}

// Start loads the campaign and makes the runner ready; Run follows.
func (r *Runner) Start(ctx context.Context) (err error) {
	if err := r.load(ctx); err != nil {
		return err
	}
	if s := r.core.State(); s.Status.Ended() && s.Count(campaign.Dispatched, campaign.Started) == 0 {
		return nil
	}
	if !r.core.State().Definition.Measures() {
		return nil // nothing is measured
	}
	return r.describe(ctx)
}

// describe asks the instrument what it is, and whether it fits the campaign.
func (r *Runner) describe(ctx context.Context) error {
	description, err := r.Instrument.Describe(ctx)
	if r.core.State().Sequence > 1 { // it has answered before: it may only be slow to come back
		for attempt := 1; err != nil && attempt < attempts && pause(ctx, retryPause); attempt++ {
			description, err = r.Instrument.Describe(ctx)
		}
	}
	switch {
	case errors.Is(err, instruments.ErrLater):
		return err // it says so itself
	case err != nil:
		return fmt.Errorf("the instrument does not describe itself: %w", err)
	}
	if err := instruments.Compatible(description, *r.core.State().Definition); err != nil {
		return err
	}
	if err := r.takeLease(description); err != nil {
		return err
	}
	r.description = description
	return nil
}

// Core returns the runner's core. It must not be used while Run runs.
func (r *Runner) Core() *Core { return r.core }

// Run drives the campaign until it has ended, or the context is done. Then
// nothing new is started; what instruments are doing goes on, and the next Run
// asks them about it.
func (r *Runner) Run(ctx context.Context) error {
	awaiting, stopAwaiting := context.WithCancel(ctx)
	defer close(r.over)
	defer r.leaveTickets()
	defer r.wg.Wait()
	defer stopAwaiting()

	s := r.core.State()
	resumed := s.Sequence > 1 && !s.Status.Ended() && s.Count(campaign.Dispatched, campaign.Started) == 0
	if resumed || r.Epoch != "" {
		done := &events.RecoveryDone{Build: r.Build, Epoch: r.Epoch}
		if err := r.append(ctx, "engine", s.LastEvent, r.withReplacement(done)...); err != nil {
			return err
		}
	}
	for {
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		if r.recovery != nil && r.recovery.told != nil {
			if err := r.recovered(ctx, awaiting); err != nil {
				return err
			}
		}
		r.checkLease()
		step, err := r.core.Next(r.world())
		if err != nil {
			return err
		}
		switch step := step.(type) {
		case Wait:
			r.summarize(awaiting)
			r.observe(step)
			if err := r.wait(ctx, step.Until); err != nil {
				return err
			}
			continue
		case Done:
			select {
			case m := <-r.inbox: // it came before the end
				if err := r.receive(ctx, m); err != nil {
					return err
				}
				continue
			default:
			}
			r.observe(Wait{})
			return nil
		case Fit, Decide, Judge:
			err = r.compute(ctx, awaiting, step)
		default:
			err = r.perform(ctx, awaiting, step)
		}
		if err != nil {
			return err
		}
		if err := r.takeWaiting(ctx); err != nil {
			return err
		}
	}
}

func (r *Runner) observe(wait Wait) {
	if r.Observe != nil {
		r.Observe(r.core, wait)
	}
}

func (r *Runner) world() World {
	w := World{
		Now: r.Now(), Eager: r.Eager, Recovering: r.recovery != nil,
		Capacity: max(1, r.description.Capacity), InFlight: make(map[string]bool, len(r.inFlight)),
		Undescribed: r.description.Name == "", Ticket: r.ticket(),
	}
	for id := range r.inFlight {
		w.InFlight[id] = true
		q := r.core.State().Question(id)
		if q == nil || r.Reviewers[q.Expert] == nil || !r.Reviewers[q.Expert].Describe().OneAtATime {
			continue
		}
		if w.Occupied == nil {
			w.Occupied = make(map[string]bool)
		}
		w.Occupied[q.Expert] = true
	}
	if r.lost != "" {
		w.Lost, w.Device = r.lost, deviceOf(r.description)
	}
	return w
}

// wait takes one message, or returns at the deadline.
func (r *Runner) wait(ctx context.Context, until time.Time) error {
	return r.waitFor(ctx, until, r.inbox)
}

// waitFor is wait for messages of the given inbox and for what is being computed.
func (r *Runner) waitFor(ctx context.Context, until time.Time, inbox <-chan message) error {
	var timeout, while <-chan time.Time
	if !until.IsZero() {
		timer := time.NewTimer(until.Sub(r.Now()))
		defer timer.Stop()
		timeout = timer.C
	}
	if r.computing != nil && r.Working != nil && !r.computing.shown {
		timer := time.NewTimer(shownAfter)
		defer timer.Stop()
		while = timer.C
	}
	var lease <-chan time.Time
	if r.lease != nil {
		ticker := time.NewTicker(leaseEvery)
		defer ticker.Stop()
		lease = ticker.C
	}
	for {
		select {
		case m := <-inbox:
			return r.receive(ctx, m)
		case <-lease:
			if r.checkLease(); r.lost != "" {
				return nil
			}
		case result := <-r.computed:
			shown := r.computing.shown
			r.arrived(result)
			if shown {
				r.Working(r.core)
			}
			return nil
		case <-while:
			r.computing.shown = true
			r.Working(r.core)
		case <-timeout:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// takeWaiting takes the messages that have arrived, without waiting.
func (r *Runner) takeWaiting(ctx context.Context) error {
	if r.computing != nil && r.computing.result != nil {
		return nil // what was computed comes first: a message could overtake it
	}
	for {
		select {
		case m := <-r.inbox:
			if err := r.receive(ctx, m); err != nil {
				return err
			}
		default:
			return nil
		}
	}
}

// perform does one step. awaiting is the context of what outlives it.
func (r *Runner) perform(ctx, awaiting context.Context, step Step) error {
	s := r.core.State()
	switch step := step.(type) {
	case Record:
		return r.append(ctx, "engine", s.LastEvent, step.Payloads...)
	case Recover:
		r.recover(awaiting, step.Experiments)
		return nil
	case Describe:
		return r.describe(ctx)
	case Queue:
		r.queue(awaiting)
		return nil
	case Unqueue:
		r.unqueue()
		return nil
	case Dispatch:
		return r.dispatch(ctx, awaiting, s.Experiment(step.Experiment))
	case Ask:
		return r.ask(ctx, awaiting, *s.Question(step.Question))
	case Examples:
		return r.examples(ctx, step)
	case Fit, Decide, Judge:
		return r.computeHere(ctx, step)
	}
	panic(fmt.Sprintf("engine: unknown step %T", step))
}

// dispatch hands an experiment to the instrument: it is on disk as dispatched before the
// instrument hears of it.
func (r *Runner) dispatch(ctx, awaiting context.Context, x *campaign.Experiment) error {
	s := r.core.State()
	command := commandID(s, x.ID)
	if r.queued != nil {
		if err := r.useTicket(x.ID, command); err != nil {
			r.lose(err.Error())
			return nil
		}
	}
	err := r.append(ctx, "engine", x.LastEvent, &events.ExperimentDispatched{
		Experiment: x.ID, Command: command, Instrument: r.description.Name,
		Identity: r.description.Identity,
	})
	if err != nil {
		return err
	}
	x = s.Experiment(x.ID)
	r.awaitExperiment(awaiting, *x, instruments.FateNotStarted, r.past(x))
	return nil
}

// releaseSettled ends the wait for what is no longer open. An instrument is waited
// for until it answers, also after a person has settled its experiment: a late
// answer is recorded. A person at the bench is not.
func (r *Runner) releaseSettled() {
	s := r.core.State()
	for id, cancel := range r.inFlight {
		q, x := s.Question(id), s.Experiment(id)
		answered := q != nil && q.Status != campaign.Asked
		told := x != nil && !x.Status.Open() && s.Definition.Instrument.ByHand
		if answered || told {
			cancel()
			delete(r.inFlight, id)
		}
	}
}

// ErrOver is returned by Submit once Run has returned: whether the request was
// recorded, the log shows.
var ErrOver = problem.New(problem.Uncertain, "the campaign is no longer being run").
	With(problem.Remedy{Text: "look whether it was recorded, and ask again if not", Action: problem.Review})

// Submit hands a person's request to the loop and waits until it is recorded.
// It may be called from any goroutine while Run runs.
func (r *Runner) Submit(ctx context.Context, request Request) ([]events.Event, error) {
	answer := make(chan reply, 1)
	select {
	case r.inbox <- message{request: &request, reply: answer}:
	case <-r.over:
		return nil, ErrOver
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	select {
	case a := <-answer:
		return a.events, a.err
	case <-r.over:
		select {
		case a := <-answer: // recorded by the loop's last look
			return a.events, a.err
		default:
			return nil, ErrOver
		}
	case <-ctx.Done():
	}
	select {
	case a := <-answer: // it was quicker than the context
		return a.events, a.err
	default:
		return nil, context.Cause(ctx)
	}
}

// noMeter measures nothing.
type noMeter struct{}

func (noMeter) Trace(parent, _ string) (string, func(error)) { return parent, func(error) {} }
func (noMeter) ObserveDuration(string, time.Duration)        {}
func (noMeter) CountEvent(events.Event)                      {}
