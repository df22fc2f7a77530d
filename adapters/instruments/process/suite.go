package process

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/adapters/instruments/internal/wire"
)

// This file holds what only the conformance suite needs.

// Kill implements [instruments.Killer]. It ends the whole process group. severed cuts the pipes
// first, so that the program's last output is lost, as with a machine that loses its power. The end
// is not counted among the program's exits (Watch); commands under way fare as after a crash.
func (i *Instrument) Kill(ctx context.Context, severed bool) error {
	i.mu.Lock()
	p := i.peer
	i.mu.Unlock()
	if p == nil {
		return nil
	}
	p.KillFor(severed)
	select {
	case <-p.Exited:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// holdWithin is how long the system may take to stop a program.
const holdWithin = 5 * time.Second

// Hold implements [instruments.Holder] for the whole process group. It returns once
// the program stands still: a busy machine takes its time to tell all threads.
func (i *Instrument) Hold() (release func(), err error) {
	i.mu.Lock()
	p := i.peer
	i.mu.Unlock()
	if p == nil {
		return nil, errors.New(i.host.Name() + " is not running")
	}
	release, err = p.Hold()
	limit := time.Now().Add(holdWithin)
	for err == nil && !stopped(p.Cmd.Process.Pid) && time.Now().Before(limit) {
		time.Sleep(time.Millisecond)
	}
	return release, err
}

// Redeliver implements [instruments.Redeliverer]. Nothing that this adapter
// knows of the command keeps the start from being sent. It is how the suite
// finds a program that acts twice on one ID; a campaign never calls it.
func (i *Instrument) Redeliver(ctx context.Context, cmd instruments.Command) error {
	c, err := i.known(cmd)
	if err != nil {
		return err
	}
	p, err := i.reconnect(ctx)
	if err != nil {
		return fmt.Errorf("%w: command %s was not sent: %w", instruments.ErrRefused, cmd.ID, err)
	}
	i.mu.Lock()
	c.sent = true
	i.mu.Unlock()
	type answer struct {
		reply wire.Reply
		err   error
	}
	answered := make(chan answer, 1)
	request := wire.Request{Op: wire.OpStart, Command: &c.Command}
	_, err = p.ask(ctx, request, func(r wire.Reply, err error) { answered <- answer{r, err} })
	if err != nil {
		return err
	}
	var a answer
	select {
	case a = <-answered:
	case <-ctx.Done():
		return fmt.Errorf("%s did not answer a start of command %s that was delivered again: %w",
			i.host.Name(), cmd.ID, ctx.Err())
	}
	switch {
	case a.err != nil:
		return a.err
	case a.reply.Refused != "":
		return fmt.Errorf("%w: %s", instruments.ErrRefused, a.reply.Refused)
	case !a.reply.OK:
		return errors.New(i.host.Name() + " answered a start without ok, refused or error")
	}
	i.mu.Lock()
	c.accepted = true
	i.mu.Unlock()
	return nil
}

// Watch implements [instruments.Watched]. Left is given only while that program
// still runs.
func (i *Instrument) Watch() instruments.Watch {
	i.mu.Lock()
	defer i.mu.Unlock()
	w := i.watch
	if p := i.left; p != nil {
		select {
		case <-p.Ended:
		default:
			w.Left = p.Cmd.Process.Pid
		}
	}
	return w
}
