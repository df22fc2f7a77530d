package lab

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/engine/control"
	"github.com/campaignd/campaignd/internal/engine/drive"
	"github.com/campaignd/campaignd/internal/ground/clock"
	"github.com/campaignd/campaignd/internal/lab/equip"
	"github.com/campaignd/campaignd/internal/view"
)

// Hooks are called from a campaign's loop as it goes on: they must be quick,
// and may read the core only while they are called.
type Hooks struct {
	// Observe, if set, gets the campaign's next wait, after every change.
	Observe func(core *engine.Core, wait engine.Wait)
	// Summarized, if set, gets the summary of the campaign at a revision, once it has been
	// computed: see [drive.Runner.Summarized].
	Summarized func(at engine.Revision, summary engine.Summary)
	// Working, if set, is called once something has been computed for a while,
	// and when it has been done: the computation is zero then.
	Working func(core *engine.Core, computation engine.Computation)
}

// Run is a campaign that this process runs, in a store that it holds.
//
// started and over bound the time in which requests are taken: before, they
// wait; after, they fail with errEnded, which [Persist] takes for a reason to
// look for the store's next holder.
type Run struct {
	store  *Local
	hooks  Hooks
	runner *drive.Runner
	meter  *meter
	seen   *seen // nil where nothing is to be remembered of the store
	since  time.Time
	began  time.Time // since, by time itself
	close  sync.Once

	started chan struct{}   // closed once requests can be taken
	over    context.Context // done once none will be taken any more
	end     context.CancelCauseFunc

	mu        sync.Mutex
	wait      engine.Wait
	computing engine.Computation
}

// Start makes a campaign of the store ready: its equipment is there, its instrument describes
// itself and fits, its device is taken. [Run.Run] follows, or [Run.Close]. The equipment stays
// the caller's, to be closed after that.
func (h *Local) Start(
	ctx context.Context, name string, equipment *equip.Equipment, hooks Hooks,
) (*Run, error) {
	c := &Run{store: h, hooks: hooks, since: clock.Now(), began: time.Now(), started: make(chan struct{})}
	c.over, c.end = context.WithCancelCause(context.WithoutCancel(ctx))
	var err error
	if equipment.Devices, err = h.queue(name); err != nil {
		return nil, err
	}
	c.runner = &drive.Runner{
		Registry:    h.options.Registry,
		Log:         h.log,
		Campaign:    name,
		Instruments: equipment.Instruments,
		Reviewers:   equipment.Reviewers,
		Method:      equipment.Method,
		Build:       h.options.Build,
		Account:     h.options.Account,
		Observe:     c.observe,
		Working:     c.working,
		Summarized:  hooks.Summarized,
		Slots:       h.options.Slots,
	}
	c.runner.Lock = func(resource string, d instruments.Description) (drive.Lease, error) {
		lease, err := equipment.Lease(resource, d, name, c.runner.Core().State().Source)
		if held, ok := h.log.(holding); ok && err == nil {
			return sureLease{lease, held}, nil
		}
		return lease, err
	}
	if err := h.register(c); err != nil {
		return nil, err
	}
	err = h.settle(ctx, name)
	if err == nil {
		err = c.runner.Start(ctx)
	}
	if err != nil {
		c.Close()
		return nil, err
	}
	state := c.runner.Core().State()
	c.runner.Stocks, err = h.stocksOf(state, equipment.Folder())
	if err != nil {
		c.Close()
		return nil, err
	}
	c.runner.Services = h.servicesOf()
	c.meter = h.metrics.begin(view.CampaignOf(c.runner.Core(), view.Shown{}, ""))
	c.runner.Meter = c.meter
	c.watch(ctx, state)
	close(c.started)
	return c, nil
}

// holding is a store that another process may have taken, which a log in a
// database may learn late.
type holding interface {
	// Sure fails where the store is lost, or may be.
	Sure() error
}

// sureLease is a lease of a device for as long as the store is held, too: who has
// lost the campaign sends nothing more.
type sureLease struct {
	drive.Lease
	store holding
}

// Check implements [drive.Lease].
func (l sureLease) Check() error {
	if err := l.store.Sure(); err != nil {
		return err
	}
	return l.Lease.Check()
}

// Core returns the campaign's core. Only its hooks may use it while Run runs.
func (c *Run) Core() *engine.Core { return c.runner.Core() }

// Run drives the campaign until it has ended, or the context is done: see
// [drive.Runner.Run].
func (c *Run) Run(ctx context.Context) error {
	defer c.Close()
	return c.runner.Run(ctx)
}

// Close lets go of a campaign that is not run, or not any more. Calling it
// twice does nothing more.
func (c *Run) Close() {
	c.close.Do(func() {
		c.end(errEnded)
		c.store.unregister(c)
		if c.meter != nil {
			c.meter.metrics.end(c.meter)
		}
		c.closeSeen()
	})
}

// submit hands a request to the loop and waits until it is recorded. If the run ends while the
// loop records the request, the run was cancelled, and not the caller: [Persist] looks for the
// outcome.
func (c *Run) submit(asker context.Context, r engine.Request) ([]events.Event, error) {
	ctx, cancel := context.WithCancelCause(asker)
	defer cancel(nil)
	defer context.AfterFunc(c.over, func() { cancel(errEnded) })()
	select {
	case <-c.started:
		stored, err := c.runner.Submit(ctx, r)
		switch {
		case asker.Err() != nil || !errors.Is(err, context.Canceled):
			return stored, err
		case errors.Is(err, events.ErrUncertain):
			return nil, drive.ErrOver
		}
		return nil, errEnded
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// observe keeps the loop's wait, for status, before the hook is called. Nothing is being
// computed then.
func (c *Run) observe(core *engine.Core, wait engine.Wait) {
	c.mu.Lock()
	c.wait, c.computing = wait, engine.Computation{}
	c.mu.Unlock()
	if c.hooks.Observe != nil {
		c.hooks.Observe(core, wait)
	}
}

// working keeps the current computation; a zero one means that it is done.
func (c *Run) working(core *engine.Core) {
	computation := c.runner.Computing()
	c.mu.Lock()
	c.wait, c.computing = engine.Wait{}, computation
	c.mu.Unlock()
	if c.hooks.Working != nil {
		c.hooks.Working(core, computation)
	}
}

// status describes the campaign's present activity.
func (c *Run) status() control.Running {
	c.mu.Lock()
	defer c.mu.Unlock()
	return control.Running{
		Campaign:       c.runner.Campaign,
		Since:          c.since,
		WaitingFor:     c.wait.For,
		Remedies:       c.wait.Remedies,
		Computing:      c.computing.What,
		ComputingSince: c.computing.Since,
		Clock:          clockSetSince(c.began),
	}
}

// remark reports something to a person that is in no event.
func (c *Run) remark(format string, args ...any) {
	c.store.remark(c.runner.Campaign, format, args...)
}
