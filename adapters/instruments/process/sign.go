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

// Sign implements [instruments.Signaller]. Of several signs the latest is returned, with the handle
// that one of them gave.
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

// signal keeps a sign for the next call of Sign. The caller holds Instrument.mu, so that no other
// sign takes the room.
func (c *command) signal(s events.Sign) {
	if s.Handle != "" {
		c.handle = s.Handle
	}
	select {
	case before := <-c.signs:
		definition.Default(&s.Handle, before.Handle)
	default:
	}
	c.signs <- s
}

// name keeps the handle that came with the answer to start. Signs that the program sent after that
// answer may have been heard before, and stand. The caller holds Instrument.mu.
func (c *command) name(handle string) {
	if handle == "" || c.handle != "" {
		return
	}
	sign := events.Sign{}
	select {
	case sign = <-c.signs:
	default:
	}
	sign.Handle = handle
	c.signal(sign)
}

// signalled handles a sign that the program sends. One that cannot be read is reported, and is a
// sign of life all the same.
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
