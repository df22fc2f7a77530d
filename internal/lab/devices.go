package lab

import (
	"context"

	"github.com/campaignd/campaignd/internal/equip"
)

// review frees what a campaign has left in the queue of the lab's devices that no process
// drives: others wait behind it. What the device may be at work on is kept, until a person
// resolves it or the campaign is driven again.
//
// A process that drives the campaign sees to that itself, also one that is about to.
func (l *Lab) review(path, name string) {
	l.mu.Lock()
	var s *member
	for _, m := range l.ordered {
		if l.relative(m.path) == path {
			s = m
		}
	}
	l.mu.Unlock()
	if s == nil {
		return
	}
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
	switch at := at.(type) {
	case *Local:
		err = at.leaveDevices(l.ctx, name, !started)
	case *watched:
		if started || l.cluster.held(s.base()) {
			return
		}
		err = at.hold(l.ctx, func(local *Local) error { return local.leaveDevices(l.ctx, name, true) })
	}
	if err != nil {
		l.options.Log("what %s has left at its device cannot be freed yet: %v", name, err)
	}
}

// leaveDevices frees what a campaign of the store has left in the queue of the lab's devices,
// and is not run; all frees the campaign's own ticket, too.
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
	return equip.EndTickets(h.address, h.options.Devices.Campaign(name), core.State(), all)
}
