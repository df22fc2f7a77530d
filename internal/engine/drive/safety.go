package drive

import (
	"context"

	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/projections/campaign"
)

// secures are the campaign's instruments whose devices have a safe state, by its names for them.
func (r *Runner) secures() map[string]string {
	by := make(map[string]string)
	for name, d := range r.devices {
		if safer, ok := d.instrument.(instruments.Safer); ok && safer.Secures() {
			by[name] = d.description.Name
		}
	}
	return by
}

// secure tells an instrument to bring its device to its safe state, until it has answered: past every
// queue, in a goroutine of its own, and under no lease or ticket.
func (c *couriers) secure(t *team, d campaign.Safety) {
	if before := c.securing[d.Resource]; before != nil {
		before.cancel()
	}
	ctx, cancel := context.WithCancel(t.awaiting)
	if c.securing == nil {
		c.securing = make(map[string]*call)
	}
	c.securing[d.Resource] = &call{order: d.Order, cancel: cancel}
	safer, ok := c.instruments[d.Resource].(instruments.Safer)
	if !ok {
		c.securing[d.Resource].why = "the instrument that is there now has no safe state"
		return
	}
	t.consult(func() {
		defer cancel()
		answered := func(err error) { t.send(ctx, secured{d.Resource, d.Order, err}) }
		if untilDone(ctx, func() error { return safe(ctx, safer, d.Reason) }, answered) {
			answered(nil)
		}
	})
}

// safe asks once.
func safe(ctx context.Context, safer instruments.Safer, reason string) error {
	ctx, stop := context.WithTimeout(ctx, callOffWithin)
	defer stop()
	return safer.Safe(ctx, reason)
}

// releaseSecured ends the calls whose orders do not hold any more: the campaign was resumed.
func (c *couriers) releaseSecured(s *campaign.State) {
	for name, call := range c.securing {
		if d := s.SecuringAt(name); d == nil || d.Order != call.order {
			call.cancel()
			delete(c.securing, name)
		}
	}
}

// secured is an instrument's answer to the order to bring its device to its safe state.
type secured struct {
	resource, order string
	err             error
}

// apply records that it is there, or keeps the reason that it is not, for readers of the campaign.
func (m secured) apply(ctx context.Context, r *Runner) error {
	s := r.core.State()
	if m.err != nil {
		if c := r.couriers.securing[m.resource]; c != nil && c.order == m.order {
			c.why = m.err.Error()
		}
		return nil
	}
	answered := engine.Secured(s, m.resource, m.order)
	if answered == nil {
		return nil
	}
	return r.append(ctx, "instrument:"+answered.Instrument, m.order, answered)
}
