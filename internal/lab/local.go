package lab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/store"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/engine/control"
	"github.com/campaignd/campaignd/internal/files/registry"
	"github.com/campaignd/campaignd/internal/ground/clock"
	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/internal/ground/telemetry"
	"github.com/campaignd/campaignd/internal/lab/devices"
	"github.com/campaignd/campaignd/internal/lab/equip"
	"github.com/campaignd/campaignd/internal/lab/stocks"
	"github.com/campaignd/campaignd/internal/view"
)

// LocalOptions say how a store is opened and its campaigns are run.
type LocalOptions struct {
	// Registry holds the entries that definitions may name.
	Registry registry.Registry
	// Build is the program, as recorded with its events.
	Build events.Build
	// Account is the system's user that runs the campaigns, as in
	// [events.Event].
	Account string
	// Slots bounds how many computations go on at once: see
	// [drive.Runner.Slots].
	Slots chan struct{}
	// Devices is the queue of the lab's devices to the store. Where it is nil, and the store is in
	// a database, the lab's log there is opened; a folder's has none but with its server.
	Devices *devices.Store
	// Stocks are those of the lab to the store, likewise.
	Stocks *stocks.Store
	// Services are those of the lab's instruments, likewise.
	Services *devices.Services
	// Remark, if set, takes messages about a campaign for a person that are in no event. It may
	// be called by several goroutines.
	Remark func(campaign, text string)

	// MustExist makes a missing store an error; otherwise one is made.
	MustExist bool
	// Campaign is the one that must be readable whole before anything is
	// written; empty for all.
	Campaign string
	// Open opens the store; nil is [store.Open]. Tests have their disks fail.
	Open func(address string, o store.Options) (events.Store, error)
}

// Local is a store that this process holds. It runs any number of its campaigns side by side,
// and offers the store to other processes. It prints nothing and has no prompt: a campaign's
// progress goes to [Hooks], and messages for a person that are in no event to
// [LocalOptions.Remark]. Its methods may be called by several goroutines.
type Local struct {
	options LocalOptions
	address string
	log     events.Store
	began   time.Time

	// direct is held while a request is recorded without a loop, and while a
	// loop is registered: so that none begins from a state that a request has
	// just left behind.
	direct sync.Mutex

	mu      sync.Mutex
	devices *ownDevices // nil where they are given, or there are none
	running []*Run      // in the order of their start
	metrics *metrics    // nil before the first campaign is started
}

// OpenLocal opens a store. Its contents are read first, so that a damaged store stays as it is.
// The error wraps [events.ErrInUse] where another process holds the store.
func OpenLocal(ctx context.Context, address string, o LocalOptions) (*Local, error) {
	h := &Local{options: o, address: address}
	open := o.Open
	if open == nil {
		open = store.Open
	}
	patiently := Patiently
	if store.InDatabase(address) { // who holds it there answers, or is waited for by the caller
		patiently = func(_ context.Context, open func() error) error { return open() }
	}
	err := patiently(ctx, func() (err error) {
		h.log, err = open(address, store.Options{
			MustExist: o.MustExist,
			Check:     func(log events.Store) error { return log.Check(ctx, o.Campaign) },
		})
		return err
	})
	if err != nil {
		return nil, err
	}
	h.began = clock.Now()
	return h, nil
}

// hold implements [holdable].
func (h *Local) hold(_ context.Context, do func(*Local) error) error { return do(h) }

// drives implements [holdable].
func (h *Local) drives(c *Campaign) bool { return c.current() != nil }

// Log implements [Store].
func (h *Local) Log() events.Log { return h.log }

// Events returns the store itself, for callers that need more than a log. It belongs to the
// Local.
func (h *Local) Events() events.Store { return h.log }

// Close lets go of the store. No campaign may be run any more.
func (h *Local) Close() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.metrics != nil {
		h.metrics.close()
		h.metrics = nil
	}
	err := h.devices.close()
	h.devices = nil
	return errors.Join(err, h.log.Close())
}

// Record implements [Store].
func (h *Local) Record(ctx context.Context, name string) (*view.Record, error) {
	return view.FoldRecord(ctx, h.options.Registry, h.log, name)
}

// Load folds a campaign of the store, for decisions from it.
func (h *Local) Load(ctx context.Context, name string) (*engine.Core, error) {
	return engine.Load(ctx, h.options.Registry, h.log, name)
}

// Define writes the event that opens a campaign, and with it the trace that everything in the
// campaign is part of. The instance and the build are filled in. by gives the requester and the
// identifier, as in [engine.DefineBy].
func (h *Local) Define(
	ctx context.Context, defined events.CampaignDefined, by engine.Request,
) error {
	defined.Instance, defined.Build = engine.NewInstance(), h.options.Build
	name := defined.Definition.Name
	ctx, span := telemetry.Start(ctx, "campaign", attribute.String("campaign", name))
	err := engine.DefineBy(ctx, h.log, defined, by, clock.Now(), telemetry.Inject(ctx))
	telemetry.End(span, err)
	return err
}

// Submit has a person's request fulfilled: by the loop that runs the campaign,
// or directly where none does.
//
// The loop is looked for twice, the second time with direct held: between the
// two looks one may have begun, and two writers of one campaign would meet in
// conflicts.
func (h *Local) Submit(ctx context.Context, name string, r engine.Request) ([]events.Event, error) {
	if err := h.confirm(ctx, r); err != nil {
		return nil, err
	}
	if c := h.find(name); c != nil {
		return c.submit(ctx, r)
	}
	h.direct.Lock()
	c := h.find(name)
	if c != nil { // begun just now
		h.direct.Unlock()
		return c.submit(ctx, r)
	}
	defer h.direct.Unlock()
	if err := h.settle(ctx, name); err != nil {
		return nil, err
	}
	core, err := h.Load(ctx, name)
	if err != nil {
		return nil, err
	}
	underWay := core.State().AtWork() > 0
	stored, err := engine.Submit(ctx, h.log, core, r, clock.Now())
	if err == nil && underWay {
		h.endTickets(core, false)
	}
	return stored, err
}

// endTickets makes room at the devices of a campaign that is not run, as [equip.EndTickets]
// does. Where that fails, those who wait behind the campaign have it looked at again.
func (h *Local) endTickets(core *engine.Core, all bool) {
	name := core.State().Name
	queue, err := h.queue(name)
	if err == nil {
		err = equip.EndTickets(h.address, queue, core.State(), all)
	}
	if err != nil {
		h.remark(name, "the lab's log does not have yet that %s is done with its device: %v", name, err)
	}
}

// remark reports something about a campaign to a person that is in no event.
func (h *Local) remark(campaign, format string, args ...any) {
	if h.options.Remark != nil {
		h.options.Remark(campaign, fmt.Sprintf(format, args...))
	}
}

// settle waits until events that an earlier writer of the campaign left on their way to the
// disk, when its context ended, are there or never will be. A decision made before that would
// rest on an outdated campaign.
func (h *Local) settle(ctx context.Context, name string) error {
	_, err := h.log.Append(ctx, name, events.AnySequence) // batches are stored in their order
	return err
}

// Status says who holds the store and which campaigns it runs, in the order of
// their start.
func (h *Local) Status() control.Status {
	h.mu.Lock()
	running := slices.Clone(h.running)
	h.mu.Unlock()
	status := control.Status{
		PID:       os.Getpid(),
		Since:     h.began,
		Build:     h.options.Build,
		Last:      h.log.Last(),
		Campaigns: make([]control.Running, len(running)),
	}
	for i, c := range running {
		status.Campaigns[i] = c.status()
	}
	return status
}

// Service is the store's service to other processes.
func (h *Local) Service() control.Service {
	return control.Service{
		Log:    h.log,
		Submit: h.Submit,
		Status: h.Status,
	}
}

// Serve offers the store to other processes of this user, on the socket in the
// store. Close the server before the store.
func (h *Local) Serve() (*control.Server, error) { return control.Serve(h.address, h.Service()) }

// find returns the campaign of a name that is run, nil where none is.
func (h *Local) find(name string) *Run {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, c := range h.running {
		if c.runner.Campaign == name {
			return c
		}
	}
	return nil
}

// register adds a campaign to those that are run, once. It waits for a request
// that is just being recorded directly.
func (h *Local) register(c *Run) error {
	h.direct.Lock()
	defer h.direct.Unlock()
	if h.find(c.runner.Campaign) != nil {
		return problem.New(problem.NotNow, "%s is being run already", c.runner.Campaign)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.metrics == nil {
		m, err := newMetrics()
		if err != nil {
			return err
		}
		h.metrics = m
	}
	h.running = append(h.running, c)
	return nil
}

// unregister takes a campaign out of those that are run.
func (h *Local) unregister(c *Run) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.running = slices.DeleteFunc(h.running, func(other *Run) bool { return other == c })
}

// errEnded means that a run ended while a request was on its way to it. The
// request was not recorded.
var errEnded = fmt.Errorf("%w: the run has just ended; try again", events.ErrClosed)
