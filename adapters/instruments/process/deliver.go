package process

import (
	"context"
	"errors"
	"fmt"

	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/adapters/instruments/internal/wire"
	"github.com/campaignd/campaignd/adapters/internal/program"
)

// maxDeliveries is how many deliveries of one command are kept that no one has
// taken yet.
const maxDeliveries = 16

// collecting is the request for the values that a command is still to give, put to one run of the
// program. Its answers go the way of unsolicited ones, so that nothing is lost.
type collecting struct {
	peer   *peer
	failed chan error // has room for the reason of a missing answer
}

// Deliver implements [instruments.Deliverer]. It waits through exits and restarts of the program,
// and asks each run of it; unsolicited values count too. A program that did not declare that it
// delivers is not asked.
func (i *Instrument) Deliver(
	ctx context.Context, cmd instruments.Command, quantities []string,
) (instruments.Delivery, error) {
	c, err := i.known(cmd)
	if err != nil {
		return instruments.Delivery{}, err
	}
	for {
		if err := ctx.Err(); err != nil {
			return instruments.Delivery{}, err
		}
		p, err := i.connect(ctx)
		switch {
		case errors.Is(err, ErrClosed):
			return instruments.Delivery{}, err
		case err != nil:
			continue // logged where it was tried; the next attempt waits longer
		case !p.delivers:
			return instruments.Delivery{}, fmt.Errorf("%w: %s does not declare that it delivers",
				instruments.ErrNoDelivery, i.host.Name())
		}
		select {
		case d := <-c.deliveries:
			return d, nil
		case err := <-i.collect(p, c, quantities).failed:
			if !errors.Is(err, program.ErrExited) {
				return instruments.Delivery{}, err
			}
		case <-ctx.Done():
		case <-i.life.Done():
			return instruments.Delivery{}, ErrClosed
		}
	}
}

// Unasked implements [instruments.Listener].
func (i *Instrument) Unasked(ctx context.Context, cmd instruments.Command) (instruments.Delivery, error) {
	c, err := i.known(cmd)
	if err != nil {
		return instruments.Delivery{}, err
	}
	select {
	case d := <-c.deliveries:
		return d, nil
	case <-ctx.Done():
		return instruments.Delivery{}, ctx.Err()
	case <-i.life.Done():
		return instruments.Delivery{}, ErrClosed
	}
}

// collect asks a run of the program for the values that a command is still to give, once until it
// answers, without a time limit.
func (i *Instrument) collect(p *peer, c *command, quantities []string) *collecting {
	i.mu.Lock()
	asked := c.collecting
	if asked != nil && asked.peer == p {
		i.mu.Unlock()
		return asked
	}
	asked = &collecting{peer: p, failed: make(chan error, 1)}
	c.collecting = asked
	i.mu.Unlock()
	// Over before it is kept: the taker of a kept value may ask again at once.
	over := func(reply wire.Reply, err error) {
		i.mu.Lock()
		if c.collecting == asked {
			c.collecting = nil
		}
		i.mu.Unlock()
		if err == nil {
			err = i.keepDelivery(c, reply)
		}
		if err != nil {
			asked.failed <- err
		}
	}
	request := i.about(c, wire.OpDeliver)
	request.Awaited = quantities
	if _, err := p.ask(i.life, request, over); err != nil {
		over(wire.Reply{}, err)
	}
	return asked
}

// keepDelivery keeps values of a command that has ended, for the next call of Deliver.
func (i *Instrument) keepDelivery(c *command, reply wire.Reply) error {
	d, err := wire.DecodeDelivery(reply.Delivered)
	if err != nil {
		return fmt.Errorf("%s: a delivery for command %s cannot be read: %w", i.host.Name(), c.ID, err)
	}
	select {
	case c.deliveries <- d:
	default:
		i.host.Logf("%s: a further delivery for command %s is dropped", i.host.Name(), c.ID)
	}
	return nil
}

// deliveredUnasked is keepDelivery for unsolicited values.
func (i *Instrument) deliveredUnasked(c *command, reply wire.Reply, line []byte) {
	if c == nil {
		i.host.Logf("%s: a delivery for command %q, which awaits none, is dropped: %s",
			i.host.Name(), reply.Command, program.Clip(line))
		return
	}
	if err := i.keepDelivery(c, reply); err != nil {
		i.host.Logf("%v: %s", err, program.Clip(line))
	}
}

var _ instruments.Listener = (*Instrument)(nil)
