package lab

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/campaignd/campaignd/adapters/console"
	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/ground/clock"
	"github.com/campaignd/campaignd/internal/ground/format"
	"github.com/campaignd/campaignd/internal/ground/lock"
	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/internal/lab/equip"
)

// driving is a campaign that this process runs, or is about to.
type driving struct {
	cancel context.CancelFunc
	done   chan struct{}
}

// Start has the lab run the campaign, now and after restarts, until it has ended. It returns
// once the campaign is under way, or says why it cannot be. It waits for a device that another
// campaign has. by gives the requester, as in [Lab.Begin].
func (c *Campaign) Start(ctx context.Context, by engine.Request) error {
	if err := c.store.custody.setStarted(c.name, true, by); err != nil {
		return err
	}
	return c.store.lab.custodian.start(ctx, c)
}

// goOn goes on with a campaign that was started and has not ended. It is called
// whenever a campaign may have become able to go on: after the store was taken,
// and after an amendment or a resumption.
func (c *Campaign) goOn() {
	started, err := c.store.custody.isStarted(c.name)
	if err != nil {
		c.mu.Lock()
		c.trouble = err // it is not known whether to go on
		c.mu.Unlock()
	}
	if !started || c.over() {
		return
	}
	c.start()
}

// over reports whether there is nothing left to be run.
func (c *Campaign) over() bool {
	over := c.record.Broken() != nil
	if !over {
		c.record.Read(func(core *engine.Core) { over = Over(core) })
	}
	return over
}

// Over reports whether a campaign has ended and nothing of it is left to be
// done or recorded.
func Over(core *engine.Core) bool {
	if !core.State().Status.Ended() {
		return false
	}
	step, err := core.Next(engine.World{Now: clock.Now()})
	return err == nil && step == engine.Step(engine.Done{})
}

// start begins to run the campaign, unless it is run; ready yields whether that
// went well.
//
// Whether the campaign is over is asked with starting held, so that no step by
// hand comes between the question and the run.
func (c *Campaign) start() (ready <-chan error) {
	c.starting.Lock()
	defer c.starting.Unlock()
	answer := make(chan error, 1)
	at, err := c.store.holder()
	local, ours := at.(*Local)
	_, due := at.(*watched)
	switch {
	case err != nil:
		answer <- err
		return answer
	case due:
		answer <- nil // the process that is to drive it takes the store
		return answer
	case !ours:
		answer <- problem.New(problem.Unavailable,
			"process %d holds the store and runs its campaigns", at.Status().PID)
		return answer
	case c.over():
		answer <- problem.New(problem.Gone, "the campaign has ended").About(c.name)
		return answer
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.run != nil {
		answer <- nil
		return answer
	}
	ctx, cancel := context.WithCancel(c.store.lab.ctx)
	r := &driving{cancel: cancel, done: make(chan struct{})}
	c.run, c.trouble = r, nil
	c.store.lab.wg.Go(func() {
		defer close(r.done)
		err := c.drive(ctx, local, answer)
		cancel()
		c.mu.Lock()
		c.run = nil
		failed := err != nil && c.store.lab.ctx.Err() == nil
		if failed {
			c.trouble = err
		}
		c.mu.Unlock()
		c.store.lab.custodian.ended(c.store.base(), failed && !errors.Is(err, events.ErrInUse))
		c.store.lab.announce()
	})
	return answer
}

// Halt ends the run without a word in the log, so that the campaign can go on
// later; it does not go on by itself after a restart.
func (c *Campaign) Halt(by engine.Request) error {
	err := c.store.custody.setStarted(c.name, false, by)
	c.halt()
	return err
}

// stopped ends the run if the lab's log does not go on with it. It does not wait for that.
func (c *Campaign) stopped() {
	if r := c.current(); r != nil {
		r.cancel()
	}
}

// current is the campaign's run, nil where this process does not run it.
func (c *Campaign) current() *driving {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.run
}

// halt ends the run and waits for its end; without one it does nothing. Nothing
// is written in the lab's log.
func (c *Campaign) halt() {
	if r := c.current(); r != nil {
		r.cancel()
		<-r.done
	}
}

// lostPause is the pause before a device is requested again after the place in its queue was
// lost.
const lostPause = time.Second

// drive runs the campaign until it has ended or ctx is done. began gets one
// value, as soon as it is known whether the campaign can be run, or that it
// waits for its device: a person who starts a campaign is not kept waiting for
// a device.
//
// Each attempt opens the instruments anew: while the campaign waits for its
// turn, others may use them. The end of the campaign is recorded as the end of
// the run, so that a restart does not begin it again.
func (c *Campaign) drive(ctx context.Context, h *Local, began chan<- error) error {
	var once sync.Once
	answer := func(err error) { once.Do(func() { began <- err }) }
	var place equip.Place
	defer place.Leave()
	waits := func(err error) {
		c.mu.Lock()
		c.trouble = problem.New(problem.Unavailable, "it waits for its instrument: %w", err)
		c.mu.Unlock()
		c.store.lab.announce()
	}
	try := func() error { return c.once(ctx, h, &place, func() { answer(nil) }) }
	off := func(err error, again time.Duration) {
		waits(fmt.Errorf("%w; it is asked again in %s", err, format.Duration(again)))
		answer(nil)
	}
	for {
		err := equip.Described(ctx, try, off)
		var held *lock.HeldError
		if !errors.As(err, &held) {
			answer(err)
			if ctx.Err() != nil {
				return nil
			}
			if err == nil {
				err = c.store.custody.setStarted(c.name, false, ourselves)
			}
			return err
		}
		waits(err)
		answer(nil)
		if err := place.Wait(ctx, waits); err != nil && ctx.Err() == nil {
			place.Leave() // the place is lost: at the next look it gets another one
			select {
			case <-time.After(lostPause):
			case <-ctx.Done():
			}
		}
		if ctx.Err() != nil {
			return nil
		}
	}
}

// once opens the campaign's equipment and runs it to its end. A programmer's mistake, of a
// method or an instrument that a lab has added perhaps, ends this campaign's run and no
// other's.
func (c *Campaign) once(
	ctx context.Context, h *Local, place *equip.Place, began func(),
) (err error) {
	defer problem.Recover(&err, c.store.lab.options.Log, "the run of "+c.name)
	core, err := h.Load(ctx, c.name)
	if err != nil {
		return err
	}
	environment := c.store.lab.environment(c.store.path, c.name)
	equipment, err := equip.Open(ctx, core.Registry(), *core.State().Definition, environment)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, equipment.Close()) }()
	equipment.Place = place
	running, err := h.Start(ctx, c.name, equipment, Hooks{
		Observe: func(*engine.Core, engine.Wait) { c.store.lab.announce() },
		Summarized: func(at engine.Revision, summary engine.Summary) {
			c.cache.found.keep(at, summary, nil)
		},
		Working: func(*engine.Core, engine.Computation) { c.store.lab.announce() },
	})
	if err != nil {
		return err
	}
	defer running.Close()
	c.mu.Lock()
	c.trouble = nil
	c.mu.Unlock()
	began()
	return running.Run(ctx)
}

// environment returns the environment of the instruments and experts of a campaign in a store.
func (l *Lab) environment(store, campaign string) instruments.Environment {
	return instruments.Environment{
		Folder:   l.options.Folder,
		Store:    store,
		Prompter: console.PromptFunc(elsewhere),
		Logf: func(format string, args ...any) {
			l.options.Log("%s: %s", campaign, fmt.Sprintf(format, args...))
		},
	}
}

// elsewhere is the prompter of a process without a terminal: requests answer its questions, and
// a form stays open for as long as it is wanted.
func elsewhere(ctx context.Context, _ console.Form) (string, error) {
	<-ctx.Done()
	return "", ctx.Err()
}
