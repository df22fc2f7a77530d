package drive

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/files/registry"
)

// bench makes the computations that take long with many measurements: fits, decisions,
// judgments of measurements and the summary. It makes one at a time, in the background, on a
// shadow core that folds the same events, so that the loop sees to results, answers, deadlines
// and requests meanwhile.
//
// A result counts only if the campaign still calls for it. A fit reads nothing that its basis
// does not cover, so it is recorded behind anything that has happened meanwhile, with the
// sequence that it was made from. A decision is valid only at the very sequence that it was
// made from; if something has happened in between it is made again.
//
// All of it but the shadow core belongs to the loop. A result comes back through
// results, which has room for the one there can be: the goroutine never waits
// for the loop.
type bench struct {
	registry registry.Registry
	log      events.Log
	campaign string
	build    events.Build
	meter    Meter
	// slots has room for as many computations as may go on at once in the
	// process; nil for any.
	slots chan struct{}

	current *computation // nil where nothing is computed
	results chan result  // has room for the one
	// shadow belongs to the goroutine of the current computation, and folds the
	// log up to the event that this one is made from; nil before the first.
	shadow    *engine.Core
	overtaken int // decisions in a row that something came before
	wg        sync.WaitGroup

	// hold, if set by a test, is called before each computation, in the
	// background.
	hold func(context.Context, engine.Step)
}

// mostOvertaken is the number of times in a row that a decision is made again because something
// has happened meanwhile. The next one is made before anything else is taken in: otherwise a
// person who adds notes all the time would keep the campaign from deciding.
const mostOvertaken = 3

// errOvertaken ends the trace of a computation that is not called for any more.
var errOvertaken = errors.New("engine: something happened meanwhile")

// computation is a step that is being made in the background; without a step it
// is the summary. The steps that are computed are small values, and compare with
// ==.
type computation struct {
	step   engine.Step
	at     events.Sequence // the last event that it is made from
	basis  string          // of a fit
	of     engine.Revision // of the summary
	began  time.Time
	trace  string
	end    func(error)
	cancel context.CancelFunc
	shown  bool    // it has taken so long that Working was called
	result *result // nil until it is there
}

// result is the outcome of a computation.
type result struct {
	payloads []events.Payload
	summary  *engine.Summary // where it could be worked out
	took     time.Duration
	err      error
	// panicked is a programmer's mistake, thrown again in the loop: see
	// [panicked].
	panicked any
}

// exclusive reports whether the current decision was overtaken so often that
// nothing is taken in until it is made: it waits neither for a slot nor for a
// message.
func (b *bench) exclusive() bool {
	if b.current == nil || b.isMade() || b.overtaken < mostOvertaken {
		return false
	}
	_, decision := b.current.step.(engine.Decide)
	return decision
}

// isMade reports whether the result of the current computation is there. It
// comes before messages, which could overtake it.
func (b *bench) isMade() bool { return b.current != nil && b.current.result != nil }

// calledFor reports whether the current computation is the one that the step asks for.
//
// A judgment names the version of its observations, so that an equal step means the same
// judgment.
func (b *bench) calledFor(core *engine.Core, step engine.Step) bool {
	c := b.current
	if c.step != step {
		return false
	}
	switch step := step.(type) {
	case engine.Fit:
		return c.basis == core.Basis(step.ModelName)
	case engine.Decide:
		return c.at == core.State().Sequence
	}
	return true // it names what it is made from
}

// begin makes a step in the background; nil is the summary. The world is that
// of a decision.
//
// It may be called only while nothing is computed. All that the goroutine reads
// is copied here, in the loop.
func (b *bench) begin(ctx context.Context, core *engine.Core, step engine.Step, world engine.World) {
	s := core.State()
	c := &computation{
		step: step, at: s.Sequence, of: core.Revision(), began: time.Now(), trace: s.Trace,
		end: func(error) {},
	}
	if _, name := measuredAs(step); name != "" {
		c.trace, c.end = b.meter.Trace(s.Trace, name)
	}
	if fit, ok := step.(engine.Fit); ok {
		c.basis = core.Basis(fit.ModelName)
	}
	ctx, c.cancel = context.WithCancel(ctx)
	b.current = c
	exclusive := b.exclusive()
	b.wg.Go(func() {
		defer c.cancel()
		b.results <- b.compute(ctx, step, c.at, world, exclusive)
	})
}

// compute is the work of the goroutine of a computation, which alone touches
// the shadow core.
//
// Its order matters: the backlog is folded before it waits for a slot, since it
// was taken out of the bench; the time that counts begins behind the slot. A
// panic becomes a result, and is thrown again in the loop.
func (b *bench) compute(
	ctx context.Context, step engine.Step, at events.Sequence, world engine.World, exclusive bool,
) (made result) {
	began := time.Now()
	defer func() {
		if p := recover(); p != nil {
			made.panicked = fmt.Sprintf("%v\n\n%s", p, debug.Stack())
		}
		made.took = time.Since(began)
	}()
	if b.hold != nil {
		b.hold(ctx, step)
	}
	if b.shadow == nil {
		b.shadow = engine.NewCore(b.registry)
	}
	// The shadow core is kept, so it is brought forward even if this computation is dropped.
	err := b.shadow.Forward(context.WithoutCancel(ctx), b.log, b.campaign, at)
	if err != nil {
		return result{err: err}
	}
	if !exclusive {
		if err := b.slot(ctx); err != nil {
			return result{err: err}
		}
		defer b.freeSlot()
	}
	began = time.Now()
	if step != nil {
		payloads, err := b.shadow.Make(ctx, step, b.build, world)
		return result{payloads: payloads, err: err}
	}
	if summary, err := b.shadow.Summarize(ctx); err == nil { // else once something has changed
		made.summary = &summary
	}
	return made
}

// slot waits until there is room for a computation, first come, first served.
func (b *bench) slot(ctx context.Context) error {
	if b.slots == nil {
		return nil
	}
	select {
	case b.slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// freeSlot makes room for the next computation of the process.
func (b *bench) freeSlot() {
	if b.slots != nil {
		<-b.slots
	}
}

// arrived notes the result of the current computation. A summary is returned:
// nothing waits for it.
func (b *bench) arrived(made result) (of engine.Revision, summary *engine.Summary) {
	if made.panicked != nil {
		panic(made.panicked)
	}
	b.current.result = &made
	if b.current.step != nil {
		return of, nil
	}
	of = b.current.of
	b.current = nil
	return of, made.summary
}

// drop forgets a computation that has ended and is not called for. Its result is discarded,
// even an error: the state that it was made from has changed.
func (b *bench) drop() {
	b.current.end(errOvertaken)
	if _, decision := b.current.step.(engine.Decide); decision {
		b.overtaken++
	}
	b.current = nil
}

// take hands over the computation that has ended and is called for. A decision
// that failed does not end the count of overtaken ones; the run ends with its
// error.
func (b *bench) take() *computation {
	c := b.current
	b.current = nil
	c.end(c.result.err)
	if _, decision := c.step.(engine.Decide); decision && c.result.err == nil {
		b.overtaken = 0
	}
	return c
}

// measuredAs returns the kind of computation that a step's time counts for, and the name of its
// trace; both are empty for a step that records nothing.
func measuredAs(step engine.Step) (kind, trace string) {
	switch step := step.(type) {
	case engine.Fit:
		return "fit", "fit " + step.Model
	case engine.Judge:
		return "judgment", "judgment"
	case engine.Decide:
		return "decision", "decision"
	}
	return "", ""
}
