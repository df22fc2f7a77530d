package lab

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/store"
	"github.com/campaignd/campaignd/internal/lab/devices"
	"github.com/campaignd/campaignd/internal/lab/lablog"
	"github.com/campaignd/campaignd/internal/lab/stocks"
)

// review frees the tickets that a campaign without a driver has left in the queue of the lab's
// devices: others wait behind them. The ticket of a command that the device may be at work on
// is kept, until a person resolves it or the campaign is driven again.
//
// A process that drives the campaign, or is about to, does that itself.
func (l *Lab) review(path, name string) {
	i := slices.IndexFunc(l.list(), func(s *member) bool { return l.relative(s.path) == path })
	if i < 0 {
		l.reviewGone(path, name)
		return
	}
	s := l.list()[i]
	c := s.campaign(name)
	if c == nil {
		return
	}
	c.starting.Lock() // it is not begun meanwhile
	defer c.starting.Unlock()
	at, err := s.holder()
	if err != nil || c.current() != nil {
		return
	}
	started := s.custody.started(name) && !c.over()
	if away, ok := at.(*watched); ok && (started || away.cluster.held(s.base())) {
		return
	}
	if own, ok := at.(holdable); ok {
		err = own.hold(l.ctx, func(local *Local) error { return local.leaveDevices(l.ctx, name, !started) })
	}
	if err != nil && !errors.Is(err, events.ErrInUse) {
		l.options.Log("what %s has left at its device cannot be freed yet: %v", name, err)
	}
}

// reviewGone frees the tickets of a campaign whose store a person has removed from the folder:
// the fate of its commands will never be known.
func (l *Lab) reviewGone(path, name string) {
	if !l.custodian.gone(path) {
		return
	}
	if err := l.devices.Store(path).Campaign(name).Forget(func(string) bool { return true }, true); err == nil {
		l.options.Log("the store %s is gone: what %s had at its device is free", path, name)
	}
}

// leaveDevices frees the tickets that a campaign of the store, which is not run, has left in
// the queue of the lab's devices; all frees the campaign's own ticket, too.
func (h *Local) leaveDevices(ctx context.Context, name string, all bool) error {
	h.direct.Lock()
	defer h.direct.Unlock()
	if h.find(name) != nil {
		return nil
	}
	if err := h.settle(ctx, name); err != nil {
		return err
	}
	core, err := h.Load(ctx, name)
	if err != nil {
		return err
	}
	h.endTickets(core, all)
	return nil
}

// ownDevices is the queue of a lab in a database for a program that holds one store of it.
type ownDevices struct {
	log      *lablog.Log
	queue    *devices.Queue
	database string
	options  LocalOptions

	stocks    *stocks.Stocks    // nil until a campaign draws from them
	services  *devices.Services // nil until a campaign is run
	ctx       context.Context   // ends what follows the log
	stop      context.CancelFunc
	following sync.WaitGroup
}

// queue returns the queue of the lab's devices to a campaign of the store; nil without a lab's
// log.
func (h *Local) queue(name string) (*devices.Campaign, error) {
	if h.options.Devices != nil || !store.InDatabase(h.address) {
		return h.options.Devices.Campaign(name), nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.devices == nil {
		database, _, err := store.Split(h.address)
		if err != nil {
			return nil, err
		}
		log, err := lablog.Open(lablog.Address(database), lablog.Options{})
		if err != nil {
			return nil, err
		}
		own := &ownDevices{log: log, database: database, options: h.options}
		own.ctx, own.stop = context.WithCancel(context.Background())
		own.queue = devices.New(log, devices.Options{Review: own.review})
		h.devices = own
	}
	return h.devices.queue.Store(store.Name(h.address)).Campaign(name), nil
}

// review is [Lab.review] of a program that holds one store of the lab.
func (o *ownDevices) review(name, of string) {
	ctx := context.Background()
	log, err := o.log.Store()
	if err != nil {
		return
	}
	if started, err := ToGoOn(ctx, log, name); err != nil || slices.Contains(started, of) {
		return
	}
	local, err := OpenLocal(ctx, store.In(o.database, name), LocalOptions{
		Registry: o.options.Registry, Build: o.options.Build, MustExist: true, Devices: o.queue.Store(name),
	})
	if err != nil {
		return // another process has it
	}
	_ = local.leaveDevices(ctx, of, true) // it is looked at again
	_ = local.Close()
}

// close lets go of the lab's log; nil does nothing.
func (o *ownDevices) close() error {
	if o == nil {
		return nil
	}
	o.stop()
	o.following.Wait()
	o.queue.Close()
	return o.log.Close()
}
