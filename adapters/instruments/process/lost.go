package process

import (
	"errors"
	"fmt"
	"slices"

	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/adapters/instruments/internal/wire"
	"github.com/campaignd/campaignd/adapters/internal/program"
)

// unreadable handles a line that is not a message. If it was the answer about a command whose
// outcome is awaited, that is asked for again, once. It runs in the reading goroutine, as Long and
// lost do, and so must not wait for an answer. The id may be readable where the rest is not; then
// the request that it answers names the command.
func (p *peer) unreadable(line []byte, err error) {
	p.notProtocol(line, err)
	why := fmt.Sprintf("%s answered what cannot be read (%v), and did so again when it was asked again: %s",
		p.i.host.Name(), err, instruments.Legible(string(line), instruments.MaxCause/2))
	subject := program.SubjectOf(line)
	if subject.ID != nil {
		p.mu.Lock()
		if r := p.pending[*subject.ID]; r != nil && r.op == wire.OpAwait {
			subject.Command = r.command
		}
		p.mu.Unlock()
	}
	if subject.Command != "" {
		p.lost(why, subject.Command)
	}
}

// Long handles a line that is longer than the protocol allows. A request
// that it answers is not repeated: the answer would be as long the next time. A
// request for an outcome gets the reason as its outcome, and any other one an
// error.
func (p *peer) Long(o program.Oversized) {
	p.i.host.Logf("%s: a line of %d bytes on standard output is longer than the protocol's %d and cannot be read: %s",
		p.i.host.Name(), o.Length, program.MaxLine, program.Clip(o.Head[:min(len(o.Head), 120)]))
	why := fmt.Sprintf("%s wrote a line of %d bytes, and the longest that the protocol allows is %d: "+
		"put large data into a file and name it in the result", p.i.host.Name(), o.Length, program.MaxLine)
	switch {
	case o.ID != nil:
		p.mu.Lock()
		r := p.pending[*o.ID]
		delete(p.pending, *o.ID)
		p.mu.Unlock()
		switch {
		case r == nil:
		case r.op == wire.OpAwait:
			r.deliver(wire.Reply{Lost: why}, nil)
		default:
			r.deliver(wire.Reply{}, errors.New(why))
		}
	case o.Command != "":
		p.i.pushed(p, wire.Reply{Command: o.Command, Lost: why}, o.Head)
	// Neither an ID nor a command could be read from its beginning: it may be
	// the answer to any request for an outcome.
	case o.Object:
		p.mu.Lock()
		var commands []string
		for _, r := range p.pending {
			if r.op == wire.OpAwait && !slices.Contains(commands, r.command) {
				commands = append(commands, r.command)
			}
		}
		p.mu.Unlock()
		// Pending requests are in a map, and the order of the questions to the
		// program is to be the same each time.
		slices.Sort(commands)
		p.lost(why, commands...)
	}
}

// lost records that the answer about one of the commands was lost. Each outcome
// is asked for once more. If that answer is lost as well the outcome is
// unknown, unless the program says that the command still runs. Its own
// goroutine for the second: it asks for the fate and waits, and the reading
// goroutine would wait for itself.
func (p *peer) lost(why string, commands ...string) {
	for _, id := range commands {
		p.garbled[id]++
		if p.garbled[id] == 1 {
			p.i.askAgain(p, id)
			continue
		}
		p.i.wg.Go(func() { p.i.giveUp(p, id, why) })
	}
}

// open returns a command that is under way, with the latest request for its
// outcome; nil for any other command. It may have been settled meanwhile, by
// another line.
func (i *Instrument) open(id string) (*command, *awaiting) {
	i.mu.Lock()
	defer i.mu.Unlock()
	c := i.commands[id]
	if c == nil || !c.underWay() {
		return nil, nil
	}
	return c, c.awaiting
}

// askAgain asks this run of the program for an outcome once more. Where this
// run was not asked yet, Await does so.
func (i *Instrument) askAgain(p *peer, id string) {
	c, a := i.open(id)
	if a == nil || a.peer != p {
		return
	}
	i.host.Logf("%s: asked for the outcome of command %s again", i.host.Name(), id)
	i.wg.Go(func() { i.askOutcome(c, a) })
}

// giveUp settles a command whose outcome was asked for again, in vain. A
// command that still runs may yet give a readable outcome, and where its fate
// could not be asked for, Await will ask the next run.
func (i *Instrument) giveUp(p *peer, id, why string) {
	c, _ := i.open(id)
	if c == nil {
		return
	}
	if p.recovers {
		if fate, _, err := i.askFate(i.life, p, c); err != nil || fate == instruments.FateRunning {
			return
		}
	}
	i.settle(c, unknownOutcome("%s", why))
}
