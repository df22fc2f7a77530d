package drive

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/campaignd/campaignd/adapters/humans"
	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/adapters/methods"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/projections/campaign"
)

// couriers carry commands to the instruments and questions to the experts, and bring back the
// answers. They keep track of both; the loop never waits for an adapter itself.
//
// All fields belong to the loop. A goroutine gets all it needs when it begins, and reports by
// messages.
type couriers struct {
	instruments map[string]instruments.Instrument // by the campaign's names for them
	reviewers   map[string]humans.Reviewer
	method      methods.Method // nil if none is run here

	inFlight   map[string]context.CancelFunc // subjects of commands and questions waited for
	calls      map[string]*call              // that commands are off, by their subjects
	securing   map[string]*call              // that devices are to be safe, by the campaign's names for them
	unheard    map[string]bool               // commands that this process sent, and whose start is not confirmed
	recovery   *recovery                     // nil unless one is under way
	collecting map[string]bool               // experiments whose late quantities it is asked for
	listening  map[string]context.CancelFunc // experiments whose late values it may report unasked
	prompted   string                        // the expert who is asked for examples
	examples   *examples                     // that were given and not recorded yet
	consulting engine.Consult                // what the method is asked; zero for nothing
	dismiss    context.CancelFunc            // ends that question
}

// How often an instrument that is out of reach is asked again, and a command
// started that it certainly has not acted on.
const (
	attempts   = 3
	retryPause = time.Second
)

// release ends the wait for an experiment or a question.
func (c *couriers) release(id string) {
	if cancel, ok := c.inFlight[id]; ok {
		cancel()
		delete(c.inFlight, id)
	}
}

// releaseSettled ends the wait for experiments that are no longer open. An instrument is
// awaited until it answers, even after a person has settled its experiment: a late answer is
// recorded. A person at the bench is not awaited.
func (c *couriers) releaseSettled(s *campaign.State) {
	for id := range c.inFlight {
		q, o := s.Question(id), s.Order(id)
		answered := q != nil && q.Status != campaign.Asked
		byHand := o.Command != nil && !o.Open && s.Definition.At(o.Resource).ByHand
		if answered || byHand {
			c.release(id)
		}
	}
}

// world fills in the commands and questions in flight. The maps are made anew each time: a
// decision in the background keeps the world that it began with.
func (c *couriers) world(w *engine.World, s *campaign.State) {
	if w.Recovering = c.recovery != nil; w.Recovering {
		w.AskedSince = c.recovery.since
	}
	w.CallingOff = make(map[string]engine.CallingOff, len(c.calls))
	for id, call := range c.calls {
		w.CallingOff[id] = engine.CallingOff{Order: call.order, Why: call.why}
	}
	w.SecuringBy = make(map[string]engine.CallingOff, len(c.securing))
	for name, call := range c.securing {
		w.SecuringBy[name] = engine.CallingOff{Order: call.order, Why: call.why}
	}
	w.Collecting = maps.Clone(c.collecting)
	w.Prompted = c.prompted
	w.Consulting = c.consulting
	w.InFlight = make(map[string]bool, len(c.inFlight))
	for id := range c.inFlight {
		w.InFlight[id] = true
		q := s.Question(id)
		if q == nil || c.reviewers[q.Expert] == nil || !c.reviewers[q.Expert].Describe().OneAtATime {
			continue
		}
		if w.Occupied == nil {
			w.Occupied = make(map[string]bool)
		}
		w.Occupied[q.Expert] = true
	}
}

// simulatedExpert reports whether an expert is a simulation.
func (c *couriers) simulatedExpert(name string) bool {
	reviewer := c.reviewers[name]
	return reviewer != nil && reviewer.Describe().Simulated
}

// describe asks an instrument to describe itself.
func (t *team) describe(d *device, answer func(instruments.Description, error) message) {
	t.consult(func() {
		description, err := describe(t.awaiting, d.instrument, attempts)
		t.send(t.awaiting, answer(description, err))
	})
}

// describe asks an instrument for its description, several times: one that has answered before
// may only be slow to come back.
func describe(
	ctx context.Context, instrument instruments.Instrument, times int,
) (instruments.Description, error) {
	description, err := instrument.Describe(ctx)
	for attempt := 1; err != nil && attempt < times && pause(ctx, retryPause); attempt++ {
		description, err = instrument.Describe(ctx)
	}
	if err != nil && !errors.Is(err, instruments.ErrLater) { // which says so itself
		err = fmt.Errorf("the instrument does not describe itself: %w", err)
	}
	return description, err
}

// await brings one command to its outcome.
//
// The wait ends by release, which says nothing about the command: a message is
// sent only where the instrument has answered.
func (c *couriers) await(
	t *team, instrument instruments.Instrument, cmd instruments.Command, known verdict, e evidence, guard guard,
	announce bool,
) {
	ctx, cancel := context.WithCancel(t.awaiting)
	c.inFlight[cmd.Subject()] = cancel
	sent := sending{t, instrument, cmd, e, guard}
	if signaller, ok := instrument.(instruments.Signaller); ok {
		t.consult(func() {
			for {
				sign, err := signaller.Sign(ctx, cmd)
				if err != nil {
					return
				}
				t.send(ctx, signalled{cmd.Subject(), sign})
			}
		})
	}
	t.consult(func() {
		outcome, err := sent.startAndAwait(ctx, known, announce)
		if ctx.Err() == nil {
			t.send(ctx, concluded{cmd.Subject(), outcome, err})
		}
	})
}

// Pauses between attempts to get late quantities from an instrument that has failed to give
// them.
const (
	firstCollectPause   = time.Second
	longestCollectPause = time.Minute
)

// collect asks the instrument for quantities of an experiment that has ended,
// until it delivers one of them.
func (c *couriers) collect(t *team, cmd instruments.Command, quantities []string) {
	deliverer := c.instruments[""].(instruments.Deliverer) // what Collect calls for
	if c.collecting == nil {
		c.collecting = make(map[string]bool)
	}
	c.collecting[cmd.Experiment] = true
	if stop, ok := c.listening[cmd.Experiment]; ok { // what comes now is for the one who asks
		stop()
		delete(c.listening, cmd.Experiment)
	}
	t.consult(func() {
		for wait := firstCollectPause; ; wait = min(2*wait, longestCollectPause) {
			d, err := deliverer.Deliver(t.awaiting, cmd, quantities)
			wanted := func(name string) bool { return slices.Contains(quantities, name) }
			if errors.Is(err, instruments.ErrNoDelivery) || err == nil && slices.ContainsFunc(d.Names(), wanted) {
				t.send(t.awaiting, delivered{cmd.Experiment, d, err})
				return
			}
			if err == nil && !d.Empty() {
				t.send(t.awaiting, unasked{cmd.Experiment, d})
			}
			if !pause(t.awaiting, wait) {
				return
			}
		}
	})
}

// listen takes unsolicited values of the instrument for an experiment that awaits nothing any
// more.
func (c *couriers) listen(t *team, cmd instruments.Command) {
	listener, ok := c.instruments[""].(instruments.Listener)
	if !ok || c.listening[cmd.Experiment] != nil {
		return
	}
	if c.listening == nil {
		c.listening = make(map[string]context.CancelFunc)
	}
	ctx, stop := context.WithCancel(t.awaiting)
	c.listening[cmd.Experiment] = stop
	t.consult(func() {
		for {
			d, err := listener.Unasked(ctx, cmd)
			if err != nil {
				return
			}
			t.send(t.awaiting, unasked{cmd.Experiment, d})
		}
	})
}

// sending is a command on its way, in a goroutine of its own.
type sending struct {
	team       *team
	instrument instruments.Instrument
	cmd        instruments.Command
	evidence   evidence
	guard      guard
}

// notBegun is the cause of a command that was called off in time.
const notBegun = "it was called off before it began"

// startAndAwait starts a command, unless the instrument has it already, and
// awaits its outcome. The start is announced where the log does not have it
// yet.
//
// known is the knowledge at the beginning: a new command was not started; for one from another
// process, recovery has found its state. An instrument that denies a command which it had
// confirmed has lost its memory, and the fate is unknown (law 3).
func (s sending) startAndAwait(
	ctx context.Context, known verdict, announce bool,
) (instruments.Outcome, error) {
	if known.fate == instruments.FateNotStarted && s.evidence.off {
		return instruments.Outcome{Status: instruments.Cancelled, Cause: notBegun}, nil
	}
	if known.void {
		return instruments.Outcome{Status: instruments.Deferred, Cause: known.cause}, nil
	}
	if known.fate == instruments.FateNotStarted {
		ended, err := s.start(ctx)
		switch {
		case err != nil:
			return instruments.Outcome{}, err
		case ended != nil:
			return *ended, nil
		}
	}
	if announce {
		s.team.send(ctx, started{s.cmd.Subject(), s.cmd.ID})
	}
	outcome, err := s.instrument.Await(ctx, s.cmd)
	if errors.Is(err, instruments.ErrNotStarted) {
		err = fmt.Errorf("the instrument had confirmed the command and now denies it: %w", err)
	}
	return outcome, err
}

// start starts a command; ended is its outcome if there is nothing to await. A start whose
// confirmation is lost is looked into, never repeated on a guess. Where certainly nothing took
// place the experiment is put off, which costs nothing and says nothing about its composition;
// only a command that would be refused for ever has failed.
//
// The guard is asked before each attempt, not once: between two attempts the lease can be lost
// or the device exchanged. fateOf compares the device's answer with the confirmations in the
// log.
func (s sending) start(ctx context.Context) (ended *instruments.Outcome, err error) {
	deferred := func(cause string) *instruments.Outcome {
		return &instruments.Outcome{Status: instruments.Deferred, Cause: cause}
	}
	for attempt := 1; ; attempt++ {
		if why := s.guard.ask(ctx); why != "" {
			s.team.send(ctx, lost{s.guard.device, why, s.guard.leased})
			return deferred("it was not sent: " + why), nil
		}
		err := s.instrument.Start(ctx, s.cmd)
		switch {
		case err == nil:
			return nil, nil
		case errors.Is(err, instruments.ErrCalledOff):
			return &instruments.Outcome{Status: instruments.Cancelled, Cause: notBegun}, nil
		case errors.Is(err, instruments.ErrPermanent):
			once := errors.Is(err, instruments.ErrOnce)
			return &instruments.Outcome{Status: instruments.Failed, Cause: err.Error(), Once: once}, nil
		case errors.Is(err, instruments.ErrRefused):
			return deferred(err.Error()), nil
		case ctx.Err() != nil:
			return nil, ctx.Err()
		}
		switch v := fateOf(ctx, s.instrument, s.cmd, s.evidence); {
		case v.fate == instruments.FateUnknown:
			return &instruments.Outcome{
				Status: instruments.Unknown,
				Cause:  fmt.Sprintf("the start was not confirmed (%v) and %s", err, v.cause),
			}, nil
		case v.fate != instruments.FateNotStarted:
			return nil, nil
		case v.void:
			return deferred(v.cause), nil
		case attempt == attempts:
			return deferred(
				fmt.Sprintf("the instrument did not start it in %d attempts: %v", attempt, err),
			), nil
		}
		if !pause(ctx, retryPause) {
			return nil, ctx.Err()
		}
	}
}

// pause waits, and reports whether it was not interrupted.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// ask puts one question.
//
// An error that comes after the wait has ended is that end itself, and is not
// sent.
func (c *couriers) ask(t *team, id string, question humans.Question) {
	reviewer := c.reviewers[question.Expert]
	asking, cancel := context.WithCancel(t.awaiting)
	c.inFlight[id] = cancel
	t.consult(func() {
		answer, err := reviewer.Ask(asking, question)
		// When the wait ended, an answer may have come at the same time.
		if over := asking.Err() != nil; !over || err == nil {
			t.send(t.awaiting, replied{id, answer, over, err})
		}
	})
}

// noMethod is the reason that a campaign whose method is a program goes on without it.
const noMethod = "the program is not run here"

// consult asks the method for the next composition to measure. A question that is still open is
// dismissed: the campaign has changed since.
func (c *couriers) consult(t *team, step engine.Consult, q methods.Question) {
	if c.dismiss != nil {
		c.dismiss()
	}
	ctx, cancel := context.WithCancel(t.awaiting)
	c.consulting, c.dismiss = step, cancel
	method := c.method
	t.consult(func() {
		defer cancel()
		answer := events.MethodAnswered{Cause: noMethod}
		var err error
		began := time.Now()
		if method != nil {
			answer, err = method.Propose(ctx, q)
		}
		if err == nil && ctx.Err() == nil {
			answer.Program.At = q.Shown.At
			answer.Program.Format = q.Shown.Format
			answer.Program.View = q.Shown.View
			t.send(ctx, proposed{step, answer, time.Since(began)})
		}
	})
}

// examples carries an expert's answer to the campaign's request for examples.
type examples struct {
	step     engine.Examples // by which they were asked for
	labels   []humans.Example
	rankings []humans.Ranking
	err      error
}

// prompt asks an expert for examples.
func (c *couriers) prompt(t *team, step engine.Examples) {
	reviewer := c.reviewers[step.Expert]
	c.prompted = step.Expert
	t.consult(func() {
		given := prompted{examplesOf(t.awaiting, reviewer, step)}
		t.send(t.awaiting, given)
	})
}

// examplesOf asks a reviewer for examples.
//
// Fewer examples than requested are an error: the rest would be requested again, and an
// expert's examples need not go on where they stopped.
func examplesOf(ctx context.Context, r humans.Reviewer, step engine.Examples) examples {
	given := examples{step: step}
	what := "labels"
	given.err = errors.New("this expert cannot name examples; set initial.labels to 0")
	if step.Options > 0 {
		what = "comparisons"
		given.err = errors.New("this expert cannot compare examples; set initial.comparisons to 0")
		if comparer, ok := r.(humans.InitialComparer); ok {
			given.rankings, given.err = comparer.Comparisons(ctx, step.N, step.Options)
		}
	} else if labeler, ok := r.(humans.InitialLabeler); ok {
		given.labels, given.err = labeler.Examples(ctx, step.N, step.Balanced)
	}
	n := len(given.labels) + len(given.rankings)
	switch {
	case given.err != nil:
		given.err = fmt.Errorf("the initial %s of %s: %w", what, step.Expert, given.err)
	case n != step.N:
		given.err = fmt.Errorf(
			"the expert %s gave %d initial %s, %d were asked for", step.Expert, n, what, step.N,
		)
	}
	return given
}

// payloads are the events of the examples, the first of them with that number
// of a question.
func (g *examples) payloads(number int) []events.Payload {
	var all []events.Payload
	add := func(form events.Form, options []definition.Point, answer events.Answer) {
		all = append(all, &events.QuestionAnswered{
			Question: events.QuestionID(number + len(all)), Form: form, Expert: g.step.Expert,
			Options: options, Answer: answer, Volunteered: true,
		})
	}
	for _, e := range g.labels {
		add(events.FormLabel, []definition.Point{e.Point}, events.Answer{Label: e.Label})
	}
	for _, e := range g.rankings {
		add(events.FormComparison, e.Points, events.Answer{Order: e.Order})
	}
	return all
}
