package process

import (
	"context"

	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/adapters/instruments/internal/wire"
	"github.com/campaignd/campaignd/adapters/internal/program"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
)

// about is a request about a command, with the handle that is known of it.
func (i *Instrument) about(c *command, op string) wire.Request {
	cmd := c.Command
	i.mu.Lock()
	cmd.Handle = c.handle
	i.mu.Unlock()
	return wire.Request{Op: op, Command: &cmd}
}

// maxSigns is how many signs of a command are kept that no one has taken yet. The oldest make room.
const maxSigns = 16

// Sign implements [instruments.Signaller].
func (i *Instrument) Sign(ctx context.Context, cmd instruments.Command) (events.Sign, error) {
	c, err := i.known(cmd)
	if err != nil {
		return events.Sign{}, err
	}
	select {
	case s := <-c.signs:
		return s, nil
	case <-ctx.Done():
		return events.Sign{}, ctx.Err()
	case <-i.life.Done():
		return events.Sign{}, ErrClosed
	}
}

// Signals implements [instruments.Signaller]: the declaration of the latest run of the program.
func (i *Instrument) Signals() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.signs
}

// signal keeps a sign for the next call of Sign. The caller holds Instrument.mu, so that no other
// sign takes the room.
func (c *command) signal(s events.Sign) {
	if s.Handle != "" {
		c.handle = s.Handle
	}
	if len(c.signs) == maxSigns {
		select {
		case oldest := <-c.signs:
			definition.Default(&s.Handle, oldest.Handle)
		default:
		}
	}
	c.signs <- s
}

// named notes the handle that came with the answer to start.
func (i *Instrument) named(id, handle string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if c := i.commands[id]; c != nil && handle != "" {
		c.signal(events.Sign{Handle: handle})
	}
}

// signalled handles a sign that the program sends. One that cannot be read is reported, and
// still counts as a sign of life.
func (i *Instrument) signalled(c *command, reply wire.Reply, line []byte) {
	if c == nil {
		i.host.Logf("%s: a sign of command %q, which was not started, is dropped: %s",
			i.host.Name(), reply.Command, program.Clip(line))
		return
	}
	s, err := wire.DecodeSign(reply.Sign)
	if err != nil {
		i.host.Logf("%s: a sign of command %s cannot be read: %v: %s",
			i.host.Name(), c.ID, err, program.Clip(line))
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	c.signal(s)
}

var _ instruments.Signaller = (*Instrument)(nil)
