package engine

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/campaignd/campaignd/adapters/humans"
	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/projections/campaign"
)

// How often an instrument that is out of reach is asked again, and a command
// started that it certainly has not acted on.
const (
	attempts   = 3
	retryPause = time.Second
)

// awaitExperiment starts a goroutine that brings one command to its outcome.
func (r *Runner) awaitExperiment(
	awaiting context.Context, x campaign.Experiment, fate instruments.Fate, p past,
) {
	ctx, cancel := context.WithCancel(awaiting)
	r.inFlight[x.ID] = cancel
	cmd, guard := command(r.core.State(), &x), r.guard()
	r.consult(awaiting, func() {
		outcome, err := r.startAndAwait(ctx, cmd, fate, p, guard, x.Status == campaign.Dispatched)
		if ctx.Err() == nil {
			r.send(ctx, message{experiment: x.ID, outcome: &outcome, err: err})
		}
	})
}

// startAndAwait starts a command, unless the instrument has it already, and awaits
// its outcome. A start whose confirmation is lost is looked into, never
// repeated on a guess. Where certainly nothing took place the experiment is put
// off, which costs nothing and says nothing about its composition; only what
// would be refused for ever has failed.
func (r *Runner) startAndAwait(
	ctx context.Context, cmd instruments.Command, fate instruments.Fate, p past, guard guard, announce bool,
) (instruments.Outcome, error) {
	for attempt := 1; fate == instruments.FateNotStarted; attempt++ {
		if why := guard.ask(ctx); why != "" {
			r.send(ctx, message{lost: why, leased: guard.leased})
			return instruments.Outcome{Status: instruments.Deferred, Cause: "it was not sent: " + why}, nil
		}
		err := r.Instrument.Start(ctx, cmd)
		if err == nil {
			break
		}
		switch {
		case errors.Is(err, instruments.ErrPermanent):
			once := errors.Is(err, instruments.ErrOnce)
			return instruments.Outcome{Status: instruments.Failed, Cause: err.Error(), Once: once}, nil
		case errors.Is(err, instruments.ErrRefused):
			return instruments.Outcome{Status: instruments.Deferred, Cause: err.Error()}, nil
		}
		if ctx.Err() != nil {
			return instruments.Outcome{}, ctx.Err()
		}
		var cause string
		if fate, cause = r.fate(ctx, cmd, p); fate == instruments.FateUnknown {
			return instruments.Outcome{
				Status: instruments.Unknown,
				Cause:  fmt.Sprintf("the start was not confirmed (%v) and %s", err, cause),
			}, nil
		}
		if fate == instruments.FateNotStarted {
			if attempt == attempts {
				return instruments.Outcome{
					Status: instruments.Deferred,
					Cause:  fmt.Sprintf("the instrument did not start it in %d attempts: %v", attempt, err),
				}, nil
			}
			if !pause(ctx, retryPause) {
				return instruments.Outcome{}, ctx.Err()
			}
		}
	}
	if announce {
		r.send(ctx, message{experiment: cmd.Experiment, started: true})
	}
	outcome, err := r.Instrument.Await(ctx, cmd)
	if errors.Is(err, instruments.ErrNotStarted) {
		err = fmt.Errorf("the instrument had confirmed the command and now denies it: %w", err)
	}
	return outcome, err
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

// consult runs what calls an adapter in a goroutine of its own.
func (r *Runner) consult(awaiting context.Context, call func()) {
	r.wg.Go(func() {
		defer func() {
			if p := recover(); p != nil {
				r.send(awaiting, message{panicked: fmt.Sprintf("%v\n\n%s", p, debug.Stack())})
			}
		}()
		call()
	})
}

// send hands a message to the loop, unless the loop is gone.
func (r *Runner) send(ctx context.Context, m message) {
	select {
	case r.inbox <- m:
	case <-ctx.Done():
	}
}

// ask starts a goroutine that puts one question.
func (r *Runner) ask(ctx, awaiting context.Context, q campaign.Question) error {
	reviewer := r.Reviewers[q.Expert]
	if reviewer == nil {
		return r.append(
			ctx, "engine", q.LastEvent,
			withdrawn(&q, fmt.Sprintf("nobody here can ask %s", q.Expert)),
		)
	}
	question := r.core.asked(&q)
	asking, cancel := context.WithCancel(awaiting)
	r.inFlight[q.ID] = cancel
	r.consult(awaiting, func() {
		answer, err := reviewer.Ask(asking, question)
		if over := asking.Err() != nil; !over || err == nil { // somebody may have answered meanwhile, too
			r.send(awaiting, message{question: q.ID, answer: &answer, over: over, err: err})
		}
	})
	return nil
}

// examples records an expert's initial examples.
func (r *Runner) examples(ctx context.Context, step Examples) (err error) {
	s := r.core.State()
	var payloads []events.Payload
	what := "labels"
	if step.Options > 0 {
		what = "comparisons"
		payloads, err = r.comparisons(ctx, step)
	} else {
		payloads, err = r.labels(ctx, step)
	}
	if err != nil {
		return fmt.Errorf("the initial %s of %s: %w", what, step.Expert, err)
	}
	if len(payloads) != step.N {
		return fmt.Errorf(
			"the expert %s gave %d initial %s, %d were asked for", step.Expert, len(payloads), what,
			step.N,
		)
	}
	return r.append(ctx, "expert:"+step.Expert, s.LastEvent, payloads...)
}

func (r *Runner) labels(ctx context.Context, step Examples) ([]events.Payload, error) {
	exampler, ok := r.Reviewers[step.Expert].(humans.InitialLabeler)
	if !ok {
		return nil, errors.New("this expert cannot name examples; set initial.labels to 0")
	}
	examples, err := exampler.Examples(ctx, step.N, step.Balanced)
	if err != nil {
		return nil, err
	}
	payloads := make([]events.Payload, len(examples))
	for i, example := range examples {
		payloads[i] = &events.QuestionAnswered{
			Question: events.QuestionID(len(r.core.State().Questions) + 1 + i),
			Form:     events.FormLabel, Expert: step.Expert,
			Options: []definition.Point{example.Point}, Answer: events.Answer{Label: example.Label},
			Volunteered: true,
		}
	}
	return payloads, nil
}

func (r *Runner) comparisons(ctx context.Context, step Examples) ([]events.Payload, error) {
	comparer, ok := r.Reviewers[step.Expert].(humans.InitialComparer)
	if !ok {
		return nil, errors.New("this expert cannot compare examples; set initial.comparisons to 0")
	}
	compared, err := comparer.Comparisons(ctx, step.N, step.Options)
	if err != nil {
		return nil, err
	}
	payloads := make([]events.Payload, len(compared))
	for i, c := range compared {
		payloads[i] = &events.QuestionAnswered{
			Question: events.QuestionID(len(r.core.State().Questions) + 1 + i),
			Form:     events.FormComparison, Expert: step.Expert,
			Options: c.Points, Answer: events.Answer{Order: c.Order}, Volunteered: true,
		}
	}
	return payloads, nil
}

// receive records what a goroutine or a person told.
func (r *Runner) receive(ctx context.Context, m message) error {
	m, remarks := tidy(m)
	switch {
	case m.panicked != nil:
		panic(m.panicked)
	case m.request != nil:
		return r.handle(ctx, m)
	case m.queued != nil:
		r.ticketed(m)
		return nil
	case m.lost != "":
		if m.leased == r.leased {
			r.lose(m.lost)
		}
		return nil
	case m.recovered != nil:
		r.recovery.told = m.recovered // recorded before the next step
		return nil
	case m.question != "":
		return r.receiveAnswer(ctx, m)
	}
	s := r.core.State()
	x := s.Experiment(m.experiment)
	if m.started {
		if x.Status != campaign.Dispatched {
			return nil
		}
		return r.appendTraced(ctx, r.actor(), x.LastEvent, x.Trace,
			&events.ExperimentStarted{Experiment: x.ID, Command: x.Command, Instrument: x.Instrument})
	}
	if cancel, ok := r.inFlight[x.ID]; ok { // its goroutine has ended
		cancel()
		delete(r.inFlight, x.ID)
	}
	if m.err != nil {
		if x.Status != campaign.Dispatched && x.Status != campaign.Started {
			return nil // that the line is gone says nothing new
		}
		m.outcome = &instruments.Outcome{Status: instruments.Unknown, Cause: m.err.Error()}
	}
	payload := r.core.conclude(x, *m.outcome, r.description)
	var payloads []events.Payload
	if payload != nil {
		payloads = r.core.withFollowUps(payload)
	}
	if payloads = append(payloads, remarks...); payloads == nil {
		return nil
	}
	trace, end := r.Meter.Trace(x.Trace, "measurement")
	end(nil)
	return r.appendTraced(ctx, r.actor(), x.LastEvent, trace, payloads...)
}

func (r *Runner) actor() string { return "instrument:" + r.description.Name }

func (r *Runner) receiveAnswer(ctx context.Context, m message) error {
	q := r.core.State().Question(m.question)
	if q.Status == campaign.Answered && m.err == nil {
		return r.receiveBeside(ctx, q, *m.answer)
	}
	if m.over || q.Status != campaign.Asked &&
		(q.Status != campaign.Expired || m.err != nil || r.core.Answerable(q) != nil) {
		return nil
	}
	actor := "expert:" + q.Expert
	if m.err != nil {
		return r.append(ctx, "engine", q.LastEvent, withdrawn(q, "it could not be asked: "+m.err.Error()))
	}
	payloads, err := r.core.answered(q, *m.answer)
	if err != nil && q.Status == campaign.Expired {
		return nil // nobody waits for it any more, and it says nothing
	}
	if err != nil {
		return r.append(
			ctx, "engine", q.LastEvent,
			withdrawn(q, legible("the answer could not be taken: "+err.Error())),
		)
	}
	return r.appendTraced(ctx, actor, q.LastEvent, q.Trace, payloads...)
}

// receiveBeside keeps an answer of an expert to a question that somebody else has answered while
// they were asked. An answer that cannot be recorded is dropped.
func (r *Runner) receiveBeside(ctx context.Context, q *campaign.Question, answer humans.Reply) error {
	actor := "expert:" + q.Expert
	if events.ActorName(q.AnsweredBy) == q.Expert && answer.Answer.Equal(q.Answer) {
		return nil // they have said it where it was heard first
	}
	payloads, err := r.core.contested(q, answer, actor)
	if err != nil {
		return nil
	}
	return r.appendTraced(ctx, actor, q.LastEvent, q.Trace, payloads...)
}

// handle fulfills a person's request. What is wrong with it goes to the person, a failure
// of the log ends the loop as well.
func (r *Runner) handle(ctx context.Context, m message) error {
	if first, err := r.core.repeated(ctx, r.Log, *m.request); first != nil || err != nil {
		m.reply <- reply{events: first, err: err}
		return nil
	}
	batch, err := r.core.requested(*m.request, r.Now(), r.simulated)
	if err != nil {
		m.reply <- reply{err: err}
		return nil
	}
	if m.request.Resume != nil && r.lost != "" {
		if err := r.retake(ctx); err != nil {
			m.reply <- reply{err: err}
			return nil
		}
	}
	stored, err := r.record(ctx, batch)
	m.reply <- reply{events: stored, err: err}
	return err
}
