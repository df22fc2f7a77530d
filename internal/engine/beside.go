package engine

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/campaignd/campaignd/events"
)

// Fits, decisions and judgments of measurements take long where there are many
// measurements. They are made beside the loop, on a core of their own that folds
// the same events, so that results, answers, deadlines and requests are seen to
// meanwhile. One is made at a time.
//
// What comes back counts only where the campaign still calls for it. A fit reads
// nothing that its basis does not cover, so it is recorded behind whatever else
// has happened meanwhile, with the sequence that it was made from. A decision
// stands at the very sequence that it was made from; where something has
// happened in between it is made again.

// Computation is what is being computed beside the loop.
type Computation struct {
	// What says it in words, "fitting the model of 2,000 measurements".
	What string
	// Since is when it began.
	Since time.Time
}

// summarize works out the best composition so far, for [Runner.Summarized].
type summarize struct{ of Revision }

func (summarize) step() {}

// errOvertaken ends the trace of a computation that is not called for any more.
var errOvertaken = errors.New("engine: something happened meanwhile")

// computation is a step that is being made beside the loop.
type computation struct {
	step   Step
	at     events.Sequence // the last event that it is made from
	basis  string          // of a fit
	began  time.Time
	trace  string
	end    func(error)
	cancel context.CancelFunc
	shown  bool
	result *computed // nil until it is there
}

// computed is what came of a computation.
type computed struct {
	payloads []events.Payload
	summary  *Summary // where it could be worked out
	took     time.Duration
	err      error
	panicked any
}

// overtaken is how often in a row a decision is made again because something has
// happened meanwhile. The next one is made before anything else is taken in:
// otherwise somebody who remarks on everything would keep the campaign from
// deciding.
const overtaken = 3

// shownAfter is how long a computation takes before it is worth telling.
const shownAfter = 200 * time.Millisecond

// compute makes a step beside the loop: it begins it, waits for it or for
// something else to happen, or records its result.
func (r *Runner) compute(ctx, awaiting context.Context, step Step) error {
	c := r.computing
	if c != nil && !r.calledFor(c, step) {
		if c.result == nil {
			c.cancel() // another one begins when it has gone
			return r.attend(ctx, c)
		}
		r.drop(c)
		c = nil
	}
	if c == nil {
		c = r.begin(awaiting, step)
	}
	if c.result == nil {
		return r.attend(ctx, c)
	}
	r.computing = nil
	return r.take(ctx, c)
}

// calledFor reports whether a computation is what the step asks for.
func (r *Runner) calledFor(c *computation, step Step) bool {
	if c.step != step {
		return false
	}
	switch step := step.(type) {
	case Fit:
		return c.basis == r.core.basis(step.Model, step.Expert)
	case Decide:
		return c.at == r.core.State().Sequence
	}
	return true // it names what it is made from
}

// drop forgets a computation that has ended and is not called for.
func (r *Runner) drop(c *computation) {
	c.end(errOvertaken)
	if _, decision := c.step.(Decide); decision {
		r.overtaken++
	}
	r.computing = nil
}

// begin starts the goroutine that makes a step.
func (r *Runner) begin(awaiting context.Context, step Step) *computation {
	s := r.core.State()
	c := &computation{step: step, at: s.Sequence, began: time.Now(), trace: s.Trace, end: func(error) {}}
	var world World
	if _, name := measuredAs(step); name != "" {
		c.trace, c.end = r.Meter.Trace(s.Trace, name)
	}
	switch step := step.(type) {
	case Fit:
		c.basis = r.core.basis(step.Model, step.Expert)
	case Decide:
		world = r.world()
	}
	ctx, cancel := context.WithCancel(awaiting)
	c.cancel = cancel
	r.computing = c
	behind := r.behind
	r.behind, r.followed = nil, true
	_, decision := step.(Decide)
	awaited := decision && r.overtaken >= overtaken // nothing is taken in until it is made
	r.wg.Go(func() {
		var result computed
		began := time.Now()
		defer func() {
			if p := recover(); p != nil { // the loop's caller knows what to do about it
				result.panicked = fmt.Sprintf("%v\n\n%s", p, debug.Stack())
			}
			result.took = time.Since(began)
			r.computed <- result // there is room for the one
			cancel()
		}()
		if r.hold != nil {
			r.hold(ctx, step)
		}
		if result.err = r.catchUp(ctx, c.at, behind); result.err != nil {
			return
		}
		if !awaited {
			if result.err = r.slot(ctx); result.err != nil { // only now: what is behind is folded once
				return
			}
			defer r.freeSlot()
		}
		began = time.Now()
		result.make(ctx, r.aside, step, r.Build, world)
	})
	return c
}

// slot waits until there is room for a computation, first come, first served.
func (r *Runner) slot(ctx context.Context) error {
	if r.Slots == nil {
		return nil
	}
	select {
	case r.Slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (r *Runner) freeSlot() {
	if r.Slots != nil {
		<-r.Slots
	}
}

// catchUp folds what has happened since the last computation. Only the goroutine
// of a computation touches the core aside.
func (r *Runner) catchUp(ctx context.Context, at events.Sequence, behind []events.Event) error {
	if r.aside == nil {
		r.aside, behind = NewCore(r.Registry), nil
		for e, err := range events.ReadCampaign(context.WithoutCancel(ctx), r.Log, r.Campaign, 0) {
			if err != nil {
				r.aside = nil
				return err
			}
			behind = append(behind, e)
			if e.Sequence == at {
				break
			}
		}
	}
	for _, e := range behind {
		if e.Sequence <= r.aside.State().Sequence {
			continue
		}
		if err := r.aside.Apply(e); err != nil {
			return err
		}
	}
	return nil
}

// make makes a step on the core aside.
func (result *computed) make(ctx context.Context, core *Core, step Step, build events.Build, w World) {
	// The model is what takes long, and it is needed by all but its own fit.
	if fit, ok := step.(Fit); !ok || fit.Model == events.ModelBelief {
		if _, err := core.objective.Model(ctx); err != nil && ctx.Err() != nil {
			result.err = err
			return
		}
	}
	switch step := step.(type) {
	case Fit:
		var payload events.Payload
		payload, result.err = core.Fit(ctx, step, build)
		result.payloads = []events.Payload{payload}
	case Decide:
		result.payloads, result.err = core.Decide(ctx, step, build, w)
	case Judge:
		var payload *events.MeasurementsJudged
		payload, result.err = core.Judge(ctx, build)
		result.payloads = []events.Payload{payload}
	case summarize:
		if summary, err := core.Summarize(ctx); err == nil { // else once something has changed
			result.summary = &summary
		}
	}
}

// computeHere makes a step in the loop, where nothing else goes on: somebody waits for
// a suggestion.
func (r *Runner) computeHere(ctx context.Context, step Step) error {
	if err := r.slot(ctx); err != nil {
		return err
	}
	defer r.freeSlot()
	s := r.core.State()
	kind, name := measuredAs(step)
	began := time.Now()
	trace, end := r.Meter.Trace(s.Trace, name)
	var result computed
	result.make(ctx, r.core, step, r.Build, r.byHand())
	end(result.err)
	if result.err != nil {
		return result.err
	}
	r.Meter.ObserveDuration(kind, time.Since(began))
	return r.appendTraced(ctx, "engine", s.LastEvent, trace, result.payloads...)
}

// measuredAs is what the time of a step counts for, and the name of its trace; both are
// empty where nothing comes of it that is recorded.
func measuredAs(step Step) (kind, trace string) {
	switch step := step.(type) {
	case Fit:
		return "fit", "fit " + step.Model
	case Judge:
		return "judgment", "judgment"
	case Decide:
		return "decision", "decision"
	}
	return "", ""
}

// attend waits for a computation, or for whatever else happens.
func (r *Runner) attend(ctx context.Context, c *computation) error {
	inbox := r.inbox
	if _, decision := c.step.(Decide); decision && r.overtaken >= overtaken {
		inbox = nil
	}
	return r.waitFor(ctx, deadline(r.core.State(), r.world()), inbox)
}

// arrived notes the result of the computation.
func (r *Runner) arrived(result computed) {
	if result.panicked != nil {
		panic(result.panicked)
	}
	c := r.computing
	c.result = &result
	if step, ok := c.step.(summarize); ok {
		r.computing = nil
		r.summarized = step.of
		if result.summary != nil {
			r.Summarized(step.of, *result.summary)
		}
	}
}

// take records what came of a computation that is called for.
func (r *Runner) take(ctx context.Context, c *computation) error {
	result := c.result
	c.end(result.err)
	if result.err != nil {
		return result.err
	}
	s := r.core.State()
	if _, decision := c.step.(Decide); decision {
		r.overtaken = 0
	}
	kind, _ := measuredAs(c.step)
	r.Meter.ObserveDuration(kind, result.took)
	return r.appendTraced(ctx, "engine", s.LastEvent, c.trace, result.payloads...)
}

// summarize has the summary worked out anew, where somebody is told of it, something has changed,
// and nothing else is being computed.
func (r *Runner) summarize(awaiting context.Context) {
	now := r.core.Revision()
	if r.Summarized != nil && r.computing == nil && r.summarized != now {
		r.begin(awaiting, summarize{now})
	}
}

// Computing says what is being computed; it is zero where nothing is. It may be
// called from Observe and Working alone.
func (r *Runner) Computing() Computation {
	c := r.computing
	if c == nil || c.result != nil {
		return Computation{}
	}
	return Computation{What: r.core.inWords(c.step), Since: c.began}
}

// inWords says what a step computes.
func (c *Core) inWords(step Step) string {
	measurements := countOf(c.objective.Observed(), "measurement")
	switch step := step.(type) {
	case Fit:
		if step.Model == events.ModelObjective {
			return "fitting the model of " + measurements
		}
		return fmt.Sprintf("fitting the model of what %s says", step.Expert)
	case Decide:
		if !c.State().Definition.Measures() {
			return "deciding what is compared next"
		}
		return "deciding what is measured next, from " + measurements
	case Judge:
		return "comparing " + measurements + " with what was expected of them"
	}
	return "working out the best composition of " + measurements
}

// countOf writes a number of things, in groups of three digits.
func countOf(n int, thing string) string {
	text := fmt.Sprint(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	if n != 1 {
		thing += "s"
	}
	return text + " " + thing
}
