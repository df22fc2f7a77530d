package drive

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/campaignd/campaignd/adapters/humans"
	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/adapters/methods"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/files/registry"
	"github.com/campaignd/campaignd/internal/ground/clock"
	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/projections/campaign"
)

// Runner drives one campaign: the only loop, and the owner of every goroutine
// and effect. Its fields are set before Run and not changed after.
//
// A caller makes one and calls Start and then Run, or Suggest alone, from one
// goroutine; Submit and nothing else may be called from others while Run runs.
type Runner struct {
	// Registry holds the entries that the campaign's definition may name.
	Registry registry.Registry
	// Log holds the campaign; Campaign names it.
	Log      events.Log
	Campaign string
	// Instrument measures; nil where the campaign measures nothing. Instruments take its place
	// where the campaign has a procedure, by its names for them. Reviewers answer, by the experts'
	// names.
	Instrument  instruments.Instrument
	Instruments map[string]instruments.Instrument
	Reviewers   map[string]humans.Reviewer
	// Method proposes compositions if the campaign's method is a program; without it the
	// campaign chooses by itself.
	Method methods.Method
	// Account is the system's user that runs the campaign, as in
	// [events.Event].
	Account string
	// Build is recorded with fits and decisions.
	Build events.Build
	// Epoch, if set, is recorded when the run begins, and commands carry it
	// from then on: see [events.RecoveryDone].
	Epoch string
	// Now is the clock of event times and deadlines. Default [clock.Now].
	Now func() time.Time
	// Observe, if set, is called from the loop with its next wait, after every change; For is
	// empty once it has nothing to wait for. It must be quick.
	Observe func(core *engine.Core, wait engine.Wait)
	// Working, if set, is called from the loop once a fit or a decision has
	// taken a while, and again when it has ended; [Runner.Computing] says
	// which. It must be quick.
	Working func(core *engine.Core)
	// Summarized, if set, is called from the loop with the summary of the campaign at a
	// revision, once it has been computed in the background: after every change, unless
	// something else is being computed. Observe is called again after it. It must be quick. It
	// is not called in a campaign with measurements whose decisions read no model: a fit for
	// each summary would be most of the work.
	Summarized func(at engine.Revision, summary engine.Summary)
	// Meter, if set, hears how long things took.
	Meter Meter
	// Lock, if set, is called with the campaign's name for an instrument where something physical is to be driven, before
	// anything moves: by Start, and when a campaign that has lost its lease is
	// resumed. It leases the device to the campaign, or says who has it
	// already.
	Lock func(resource string, is instruments.Description) (Lease, error)
	// Stocks, if set, are the stocks and places of the lab. Without them, as in a campaign in memory,
	// nothing limits draws from a stock of the lab, and its places have room for any number.
	Stocks Stocks
	// Services, if set, knows the service of the lab's instruments. Without it all are in service.
	Services Services
	// Slots, if set, has room for as many computations as may go on at once in
	// the process: without a bound, those of many campaigns take the processors
	// away from pages, requests and answers.
	Slots chan struct{}
	// Eager is for campaigns in memory, whose clock does not pass and where
	// no one is: an instrument in trouble is left no time to recover.
	Eager bool

	core *engine.Core
	over chan struct{} // closed when Run has returned

	team     *team
	timing   timing
	bench    bench
	devices  map[string]*device
	taking   taking
	couriers couriers
	// reserviced is closed once what was said of instruments may have changed.
	reserviced <-chan struct{}
	// summarized is the revision of the last summary.
	summarized engine.Revision
}

// Meter receives durations and events; see internal/ground/telemetry.
type Meter interface {
	// Trace begins a span named name, child of the W3C traceparent parent (or a
	// new trace), and returns its traceparent and the function that ends it.
	Trace(parent, name string) (traceparent string, end func(error))
	// ObserveDuration records the duration of "append", "fit", "decision" or
	// "proposal", of a program.
	ObserveDuration(what string, d time.Duration)
	// CountEvent counts an appended event.
	CountEvent(e events.Event)
}

// load folds the campaign and fills in the fields that were left out.
func (r *Runner) load(ctx context.Context) (err error) {
	if r.Now == nil {
		r.Now = clock.Now
		r.timing.steps = new(clock.Steps)
	}
	r.over = make(chan struct{})
	r.team = &team{inbox: make(chan message, inboxSize), urgent: make(chan message, inboxSize)}
	r.core, err = engine.Load(ctx, r.Registry, r.Log, r.Campaign)
	r.equip()
	return err
}

// equip gives the parts of the runner their tools. Run calls it again, for the fields that its caller
// sets between Start and Run; tools already in place stay.
func (r *Runner) equip() {
	if r.Meter == nil {
		r.Meter = noMeter{}
	}
	b := &r.bench
	b.registry = r.Registry
	b.log = r.Log
	b.campaign = r.Campaign
	b.build = r.Build
	b.meter = r.Meter
	b.slots = r.Slots
	if b.results == nil {
		b.results = make(chan result, 1)
	}
	if r.devices == nil {
		r.devices = make(map[string]*device)
	}
	all := r.Instruments
	if len(all) == 0 {
		all = map[string]instruments.Instrument{"": r.Instrument}
	}
	for name, instrument := range all {
		if r.devices[name] == nil {
			r.devices[name] = &device{resource: name, tickets: make(map[string]HeldTicket)}
		}
		r.devices[name].instrument = instrument
	}
	c := &r.couriers
	c.instruments = all
	c.reviewers = r.Reviewers
	c.method = r.Method
	if c.inFlight == nil {
		c.inFlight = make(map[string]context.CancelFunc)
		c.unheard = make(map[string]bool)
	}
}

// Start loads the campaign and makes the runner ready; Run follows.
//
// It asks the instruments for their descriptions and takes the leases, so that a caller learns of a
// missing device before anything is running.
func (r *Runner) Start(ctx context.Context) (err error) {
	if err := r.load(ctx); err != nil {
		return err
	}
	s := r.core.State()
	if !engine.NeedsDevices(s) {
		return nil
	}
	times := 1
	if s.Sequence > 1 { // it has answered before
		times = attempts
	}
	for _, name := range slices.Sorted(maps.Keys(r.devices)) {
		d := r.devices[name]
		description, err := describe(ctx, d.instrument, times)
		if err != nil {
			return ofResource(name, err)
		}
		if err := r.take(d, description); err != nil {
			return ofResource(name, err)
		}
	}
	return nil
}

// ofResource says which instrument an error is about, where there are several.
func ofResource(name string, err error) error {
	if name == "" {
		return err
	}
	return fmt.Errorf("%s: %w", name, err)
}

// take makes the described instrument the campaign's, if it fits.
func (r *Runner) take(d *device, is instruments.Description) error {
	s := r.core.State()
	if err := engine.Fits(s.Definition, d.resource, is); err != nil {
		return err
	}
	return d.take(s, is, r.Lock)
}

// lost returns a device that the campaign has lost, or nil.
func (r *Runner) lost() *device {
	for _, name := range slices.Sorted(maps.Keys(r.devices)) {
		if d := r.devices[name]; d.lost != "" {
			return d
		}
	}
	return nil
}

// Core returns the runner's core. It must not be used while Run runs.
func (r *Runner) Core() *engine.Core { return r.core }

// Run drives the campaign until it has ended, or the context is done. Then nothing new is
// started; the work of instruments goes on, and the next Run asks them about it.
//
// The deferred calls run in this order: waits are cancelled, then all goroutines are awaited
// and the device is given back, and last Submit learns that the run is over.
func (r *Runner) Run(ctx context.Context) error {
	r.equip()
	awaiting, stop := context.WithCancel(ctx)
	r.team.awaiting = awaiting
	r.couriers.listening = nil // of an earlier run
	defer close(r.over)
	defer r.leave()
	defer stop()
	if err := r.begin(ctx); err != nil {
		return err
	}
	r.couriers.calls, r.couriers.securing = nil, nil // of an earlier run
	r.couriers.hear(r.team)
	for _, x := range r.core.State().Experiments {
		r.listen(x.ID) // what an earlier process asked about
	}
	for ctx.Err() == nil {
		over, err := r.turn(ctx)
		if over || err != nil {
			return err
		}
	}
	return context.Cause(ctx)
}

// begin records that another process goes on with the campaign, if no command is under way that
// it has to ask about first. Otherwise recovery.done is recorded with the commands' fates.
func (r *Runner) begin(ctx context.Context) error {
	s := r.core.State()
	resumed := s.Sequence > 1 && !s.Status.Ended() && !underWay(s)
	if !resumed && r.Epoch == "" {
		return nil
	}
	done := &events.RecoveryDone{Build: r.Build, Epoch: r.Epoch}
	return r.append(ctx, "engine", s.LastEvent, withReplacement(s, r.devices, done)...)
}

// underWay reports whether a command is.
func underWay(s *campaign.State) bool {
	for o := range s.Orders() {
		if o.UnderWay() {
			return true
		}
	}
	return false
}

// leave waits for all goroutines, and releases the device and its tickets. The
// inbox is emptied after they have ended: a ticket that lies in it would never
// be given back.
func (r *Runner) leave() {
	r.bench.wg.Wait()
	for _, d := range r.devices {
		d.wg.Wait()
	}
	r.team.wg.Wait()
	for {
		select {
		case m := <-r.team.inbox:
			if m, ok := m.(ticketed); ok && m.ticket != nil {
				m.ticket.End()
			}
			continue
		default:
		}
		break
	}
	for _, d := range r.devices {
		d.leave()
	}
}

// turn takes the next step; over is true if none is left.
//
// The results of recovery are recorded before anything else, since Next waits for them. After a
// step that wrote something the messages that have arrived are applied, so that a step is
// decided on all that is known.
func (r *Runner) turn(ctx context.Context) (over bool, err error) {
	if done := r.couriers.recovered(); done != nil {
		if err := r.recovered(ctx, done); err != nil {
			return false, err
		}
	}
	r.check()
	step, err := r.core.Next(r.world())
	if err != nil {
		return false, err
	}
	switch step := step.(type) {
	case engine.Wait:
		r.summarize()
		r.observe(step)
		return false, r.wait(ctx, step.Until)
	case engine.Done:
		select {
		case m := <-r.team.inbox: // it came before the end
			return false, m.apply(ctx, r)
		case m := <-r.team.urgent:
			return false, m.apply(ctx, r)
		default:
		}
		r.observe(engine.Wait{})
		return true, nil
	case engine.Fit, engine.Decide, engine.Judge:
		err = r.compute(ctx, step)
	default:
		err = r.perform(ctx, step)
	}
	if err != nil {
		return false, err
	}
	return false, r.takeWaiting(ctx)
}

// observe shows the campaign to those who look on, in the loop: the core does
// not change meanwhile.
func (r *Runner) observe(wait engine.Wait) {
	if r.Observe != nil {
		r.Observe(r.core, wait)
	}
}

// world returns the facts of this moment that the core cannot know from the log.
func (r *Runner) world() engine.World {
	now := r.Now()
	r.timing.look(now, r.core.State())
	w := engine.World{
		Now: now, Even: r.timing.even, Ahead: r.timing.ahead,
		Eager: r.Eager, Resources: make(map[string]engine.Resource, len(r.devices)),
	}
	r.lab(&w)
	said := r.serviced(false)
	for name, d := range r.devices {
		resource := d.world()
		resource.Service = said[name]
		w.Resources[name] = resource
	}
	r.couriers.world(&w, r.core.State())
	return w
}

// check looks whether the devices are still the campaign's.
func (r *Runner) check() {
	for _, d := range r.devices {
		d.check()
	}
}

// leased reports whether a device is leased.
func (r *Runner) leased() bool {
	for _, d := range r.devices {
		if d.lease != nil {
			return true
		}
	}
	return false
}

// wait takes one message or one result, or returns at the deadline.
//
// While a decision is exclusive the inbox is a nil channel, which never
// delivers: only the decision, the lease, deadlines and orders to call off are
// heard. until is a time of the clock, and a timer runs by time itself: the clock
// may be set meanwhile, or the machine sleep, while timers stand still. So no
// timer runs for long before the clock is looked at again.
func (r *Runner) wait(ctx context.Context, until time.Time) error {
	var timer *time.Timer
	var timeout, slow <-chan time.Time
	if !until.IsZero() {
		timer = time.NewTimer(clock.Pause(until.Sub(r.Now())))
		defer timer.Stop()
		timeout = timer.C
	}
	if c := r.bench.current; c != nil && r.Working != nil && !c.shown {
		timer := time.NewTimer(shownAfter)
		defer timer.Stop()
		slow = timer.C
	}
	var lease <-chan time.Time
	if r.leased() {
		ticker := time.NewTicker(leaseEvery)
		defer ticker.Stop()
		lease = ticker.C
	}
	inbox := r.team.inbox
	if r.bench.exclusive() {
		inbox = nil
	}
	for {
		select {
		case m := <-inbox:
			return m.apply(ctx, r)
		case m := <-r.team.urgent:
			return m.apply(ctx, r)
		case <-r.taking.wake:
			r.taking.fault = ""
			r.taking.wake = nil
			return nil
		case <-r.reserviced:
			return nil
		case <-lease:
			if r.check(); r.lost() != nil {
				return nil
			}
		case made := <-r.bench.results:
			r.arrived(made)
			return nil
		case <-slow:
			r.bench.current.shown = true
			r.Working(r.core)
		case <-timeout:
			now := r.Now()
			if !now.Before(until) || now.Before(r.timing.last) { // set back, it is another deadline
				return nil
			}
			timer.Reset(clock.Pause(until.Sub(now)))
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// takeWaiting takes the messages that have arrived, without waiting. A result
// that is there goes first, for a message could overtake it.
func (r *Runner) takeWaiting(ctx context.Context) error {
	if r.bench.isMade() || r.bench.exclusive() {
		return nil
	}
	for {
		var m message
		select {
		case m = <-r.team.urgent:
		case m = <-r.team.inbox:
		default:
			return nil
		}
		if err := m.apply(ctx, r); err != nil {
			return err
		}
	}
}

// perform does one step.
func (r *Runner) perform(ctx context.Context, step engine.Step) error {
	s := r.core.State()
	switch step := step.(type) {
	case engine.Record:
		return r.append(ctx, "engine", s.LastEvent, step.Payloads...)
	case engine.Recover:
		r.couriers.recover(r.team, s, r.devices, step.Subjects, r.Now())
	case engine.CallOff:
		r.couriers.callOff(r.team, s, s.Order(step.Subject))
	case engine.Secure:
		r.couriers.secure(r.team, *s.SecuringAt(step.Resource))
	case engine.Describe:
		d := r.devices[step.Resource]
		d.describing = true
		r.team.describe(d, func(is instruments.Description, err error) message {
			return described{d, is, err}
		})
	case engine.Queue:
		r.devices[step.Resource].queue(r.team.awaiting, engine.CommandID(s, step.Subject), r.tell)
	case engine.Unqueue:
		r.devices[step.Resource].unqueue()
	case engine.Take:
		r.takeStocks(step)
	case engine.Occupy:
		r.place(r.Stocks.Occupy, step.Place, step.Batch)
	case engine.Vacate:
		r.vacate(step)
	case engine.Dispatch:
		return r.dispatch(ctx, step)
	case engine.Collect:
		r.collect(s.Experiment(step.Experiment))
	case engine.Ask:
		return r.ask(ctx, s.Question(step.Question))
	case engine.Examples:
		return r.examples(ctx, step)
	case engine.Consult:
		r.couriers.consult(r.team, step, engine.Question(r.core.At(engine.World{}), step))
	default:
		panic(fmt.Sprintf("engine: unknown step %T", step))
	}
	return nil
}

// tell hands news of a ticket to the loop, and reports whether it did.
func (r *Runner) tell(ctx context.Context, m ticketed) bool {
	select {
	case r.team.inbox <- m:
		return true
	case <-ctx.Done():
		return false
	}
}

// dispatch hands an experiment, or an act, to its instrument: it is on disk as dispatched
// before the instrument hears of it.
//
// The order is law 3: the ticket has the command, then the log, and only then a
// goroutine that may send it. A crash after the log is a command whose fate is
// asked for; one before it leaves a ticket that others see as taken, until the
// next run forgets it. First of all it is looked whether a person has just taken
// the instrument out of service, in whichever process of the lab.
func (r *Runner) dispatch(ctx context.Context, step engine.Dispatch) error {
	s := r.core.State()
	subject, command := engine.Named(s, step)
	resource, cause := "", s.LastEvent
	if step.Due != nil {
		resource = step.Due.Resource
	} else {
		cause = s.Experiment(subject).LastEvent
	}
	if r.serviced(true)[resource].Withheld(r.Now()) != "" {
		return nil // the next step waits for it
	}
	d := r.devices[resource]
	if err := d.use(subject, command); err != nil {
		d.lose(err.Error())
		return nil
	}
	if err := r.append(ctx, "engine", cause, engine.Dispatched(s, step, d.description, engine.LabStocks{Taken: r.taking.taken})); err != nil {
		return err
	}
	delete(r.taking.taken, subject)
	o := s.Order(subject)
	r.couriers.unheard[subject] = true
	r.await(o, verdict{fate: instruments.FateNotStarted}, evidenceOf(o.Command, d.description))
	return nil
}

// await has a command brought to its outcome.
func (r *Runner) await(o campaign.Order, known verdict, e evidence) {
	s := r.core.State()
	d := r.devices[o.Resource]
	guard := d.guard(s.Definition)
	announce := o.Fate == campaign.Sent
	r.couriers.await(r.team, d.instrument, engine.CommandOf(s, o.Subject), known, e, guard, announce)
}

// collect has the instrument asked for the late quantities of an experiment.
func (r *Runner) collect(x *campaign.Experiment) {
	s := r.core.State()
	var names []string
	for _, a := range s.Awaited(x) {
		names = append(names, a.Quantity)
	}
	r.couriers.collect(r.team, engine.CommandOf(s, x.ID), names)
}

// listen takes what the instrument may still report about an experiment that it was asked about
// and that awaits nothing.
func (r *Runner) listen(experiment string) {
	s := r.core.State()
	x := s.Experiment(experiment)
	if len(x.Later) == 0 || x.Command.ID == "" || s.Awaited(x) != nil {
		return
	}
	r.couriers.listen(r.team, engine.CommandOf(s, x.ID))
}

// ask has a question put to its expert.
func (r *Runner) ask(ctx context.Context, q *campaign.Question) error {
	if r.Reviewers[q.Expert] == nil {
		why := fmt.Sprintf("nobody here can ask %s", q.Expert)
		return r.append(ctx, "engine", q.LastEvent, engine.Withdrawn(q, why))
	}
	r.couriers.ask(r.team, q.ID, engine.Posed(r.core.At(engine.World{}), q))
	return nil
}

// examples records the examples that an expert has given, or requests them. The given examples
// are used once, and only for the step that requested them.
func (r *Runner) examples(ctx context.Context, step engine.Examples) error {
	given := r.couriers.examples
	r.couriers.examples = nil
	if given == nil || given.step != step {
		r.couriers.prompt(r.team, step)
		return nil
	}
	if given.err != nil {
		return given.err
	}
	s := r.core.State()
	payloads := given.payloads(len(s.Questions) + 1)
	return r.append(ctx, "expert:"+step.Expert, s.LastEvent, payloads...)
}

// recovered records the fates of the commands that another process dispatched, and goes on
// accordingly.
func (r *Runner) recovered(ctx context.Context, done *recovery) error {
	s := r.core.State()
	payloads, await := done.payloads(s, r.devices, r.Build)
	if err := r.append(ctx, "engine", s.LastEvent, payloads...); err != nil {
		return err
	}
	for _, i := range await {
		q := done.queries[i]
		r.await(s.Order(q.subject), done.verdicts[i], q.evidence)
	}
	return nil
}

// shownAfter is the duration from which a computation is worth reporting.
const shownAfter = 200 * time.Millisecond

// compute makes a step in the background: it begins it, waits for it or for
// something else to happen, or records its result.
//
// It is called again with the same step until the result is there, since each
// thing that happens in between leads back to Next, which may call for another
// step.
func (r *Runner) compute(ctx context.Context, step engine.Step) error {
	b := &r.bench
	if b.current != nil && !b.calledFor(r.core, step) {
		if !b.isMade() {
			b.current.cancel() // another one begins when it has gone
			return r.attend(ctx)
		}
		b.drop()
	}
	if b.current == nil {
		b.begin(r.team.awaiting, r.core, step, r.worldOf(step))
	}
	if !b.isMade() {
		return r.attend(ctx)
	}
	c := b.take()
	if c.result.err != nil {
		return c.result.err
	}
	kind, _ := measuredAs(c.step)
	r.Meter.ObserveDuration(kind, c.result.took)
	return r.appendTraced(ctx, "engine", r.core.State().LastEvent, c.trace, c.result.payloads...)
}

// worldOf is the world that a computation depends on: a decision's alone does. A
// fit has none, so that it cannot come to depend on one.
func (r *Runner) worldOf(step engine.Step) (w engine.World) {
	if _, decision := step.(engine.Decide); decision {
		w = r.world()
	}
	return w
}

// attend waits for a computation, or for any other message.
func (r *Runner) attend(ctx context.Context) error {
	return r.wait(ctx, engine.Deadline(r.core.At(r.world())))
}

// arrived notes the result of a computation. A summary counts as of the revision that it was
// begun at; one that could not be computed is not tried again until something has changed.
func (r *Runner) arrived(made result) {
	shown := r.bench.current.shown
	if of, summary := r.bench.arrived(made); r.bench.current == nil {
		r.summarized = of
		if summary != nil {
			r.Summarized(of, *summary)
		}
	}
	if shown {
		r.Working(r.core)
	}
}

// summarize has the summary worked out anew, if Summarized is set,
// something has changed, and nothing else is being computed. It is the lowest of
// the computations: any step cancels it.
func (r *Runner) summarize() {
	if r.Summarized == nil || r.bench.current != nil || r.summarized == r.core.Revision() ||
		r.core.State().Definition.Measures() && !r.core.ReadsModel() {
		return
	}
	r.bench.begin(r.team.awaiting, r.core, nil, engine.World{})
}

// Computing returns the current computation; zero if nothing is being computed. It may be
// called from Observe and Working alone.
func (r *Runner) Computing() engine.Computation {
	c := r.bench.current
	if c == nil || c.result != nil {
		return engine.Computation{}
	}
	return engine.Computation{What: engine.InWords(r.core.At(engine.World{}), c.step), Since: c.began}
}

// ErrOver is returned by Submit once Run has returned: whether the request was
// recorded, the log shows.
var ErrOver = problem.New(problem.Uncertain, "the campaign is no longer being run").
	With(problem.Remedy{Text: "look whether it was recorded, and ask again if not", Action: problem.Review})

// Submit hands a person's request to the loop and waits until it is recorded.
// It may be called from any goroutine while Run runs.
//
// An error of the context leaves open whether the request is recorded; with an
// identifier it can be sent again.
func (r *Runner) Submit(ctx context.Context, asked engine.Request) ([]events.Event, error) {
	answer := make(chan reply, 1)
	inbox := r.team.inbox
	if asked.Cancel != nil || asked.Abort != nil {
		inbox = r.team.urgent
	}
	select {
	case inbox <- request{asked, answer}:
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
