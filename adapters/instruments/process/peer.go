package process

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/adapters/instruments/internal/wire"
	"github.com/campaignd/campaignd/adapters/internal/program"
)

// peer is one run of the program. Requests may be made from any goroutine; one goroutine handles
// the program's output, in order. After its end a peer stays as it is: the next run is another one.
type peer struct {
	*program.Run
	i *Instrument

	// What the handshake and describe gave; set before the peer is used.
	recovers    bool // it can say what became of earlier commands
	finishes    bool // it finishes its work when campaignd is gone
	voids       bool // it never begins what was called off
	keeps       bool // its ledger is durable and complete
	signs       bool // it gives signs of life of each command
	batches     bool // it performs acts for several experiments
	safe        bool // the device has a safe state
	delivers    bool // it gives quantities after an experiment has ended
	description instruments.Description

	enlisted atomic.Bool // it is in the record of running instances
	over     bool        // its end was noted, and ExitErr is set; guarded by Instrument.mu

	mu      sync.Mutex
	lastID  uint64
	pending map[uint64]*request
	left    map[uint64]*request // what was pending at the end
	awaited map[uint64]string   // command of each await that was answered

	// Of the goroutine that reads standard output:
	garbage int            // lines that were no messages
	garbled map[string]int // answers that could not be read, by command
}

// request is a request that the program has not answered yet. After its caller
// has stopped waiting it stays in pending, so that a late answer still counts.
// late is guarded by the peer's mu; the others never change.
type request struct {
	op, command string
	// deliver is called once, by the reading goroutine: with the reply, or with
	// the reason why none will come.
	deliver func(wire.Reply, error)
	late    bool // its caller has stopped waiting
}

// spawn starts the program. Its lines are heard once the peer is whole.
func (i *Instrument) spawn() (*peer, error) {
	run, err := i.host.Start()
	if err != nil {
		return nil, err
	}
	p := &peer{
		Run: run, i: i,
		pending: make(map[uint64]*request),
		awaited: make(map[uint64]string),
		garbled: make(map[string]int),
	}
	i.wg.Go(func() { run.Supervise(p) })
	return p, nil
}

// ask sends a request to the program; deliver gets the answer. An error of ask
// wraps [program.ErrNotAsked]: then nothing was written, and deliver is not
// called.
//
// The request is in pending before it is written, so that an answer can never
// come too early.
func (p *peer) ask(ctx context.Context, req wire.Request, deliver func(wire.Reply, error)) (uint64, error) {
	err := p.Write(ctx, req.Op, func() ([]byte, error) {
		p.mu.Lock()
		// Under the token of Write, so that IDs go out in order.
		p.lastID++
		req.ID = p.lastID
		p.mu.Unlock()
		line, err := json.Marshal(req)
		if err != nil {
			return nil, fmt.Errorf("cannot encode the request %q: %w", req.Op, err)
		}
		if len(line) >= program.MaxLine {
			return nil, fmt.Errorf("the request %q is longer than the protocol's %d bytes",
				req.Op, program.MaxLine)
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		// It has finished since the token was taken: a request that was added now
		// would never be answered.
		if p.pending == nil {
			return nil, p.ExitErr
		}
		r := &request{op: req.Op, deliver: deliver}
		if req.Command != nil {
			r.command = req.Command.ID
		}
		p.pending[req.ID] = r
		return line, nil
	})
	return req.ID, err
}

// call sends a request and waits for the answer, at most reply_within. An answer that comes later
// goes to late, unless that is nil. Giving up does not cancel: the program goes on, and a late
// answer is still the truth about it.
func (p *peer) call(
	ctx context.Context, req wire.Request, late func(wire.Reply, error),
) (wire.Reply, error) {
	type answer struct {
		reply wire.Reply
		err   error
	}
	answered := make(chan answer, 1)
	var mu sync.Mutex
	gaveUp := false
	// Begun before the request is written, since a program that does not read
	// is slow as well.
	limit := time.NewTimer(p.i.host.ReplyWithin)
	defer limit.Stop()
	id, err := p.ask(ctx, req, func(r wire.Reply, err error) {
		mu.Lock()
		defer mu.Unlock()
		if !gaveUp {
			answered <- answer{r, err}
		} else if late != nil {
			late(r, err)
		}
	})
	if err != nil {
		return wire.Reply{}, err
	}
	select {
	case a := <-answered:
		return a.reply, a.err
	case <-ctx.Done():
		err = ctx.Err()
	case <-limit.C:
		err = fmt.Errorf("%s did not answer the request %q within %v: "+
			"where it needs longer, raise reply_within in the campaign file",
			p.i.host.Name(), req.Op, p.i.host.ReplyWithin)
		if names, are := p.i.earlier(p); names != "" {
			err = fmt.Errorf("%w; an earlier instance, which may hold the device, %s: %s", err, are, names)
		}
		err = slowError{err}
	}
	// From here on an answer goes to late: mu decides which of the two comes
	// first.
	mu.Lock()
	defer mu.Unlock()
	select {
	case a := <-answered: // just in time
		return a.reply, a.err
	default:
	}
	gaveUp = true
	p.mu.Lock()
	if r := p.pending[id]; r != nil {
		r.late = true
	}
	p.mu.Unlock()
	return wire.Reply{}, err
}

// slowError is that of a request which was not answered within reply_within: a
// program that works is silent, and one that hangs, too.
type slowError struct{ error }

func (e slowError) Unwrap() error { return e.error }

// Timeout reports that the answer may still come.
func (slowError) Timeout() bool { return true }

// Line handles one line of standard output.
//
// It must not block: everything that the program says comes through it, in
// order. An unknown field is reported and ignored: a program may be newer, or
// its author may have mistyped one.
func (p *peer) Line(line []byte) {
	line = bytes.TrimRight(line, "\r")
	if len(bytes.TrimSpace(line)) == 0 {
		return
	}
	reply, err := wire.DecodeReply(line)
	var nonFinite *program.NonFiniteError
	switch {
	case errors.As(err, &nonFinite) && (reply.ID != nil || reply.Command != ""):
		p.i.host.Logf("%s: a reply cannot be used as it is: %v", p.i.host.Name(), err)
		if len(reply.Outcome) > 0 { // a result with an invalid number is still an outcome
			reply.NonFinite = err
			reply.Line = bytes.Clone(line)
			err = nil
		}
	case err != nil:
		p.unreadable(line, err)
		return
	default:
		if slip := wire.UnknownFields(line); slip != "" {
			p.i.host.Logf("%s: a reply holds an %s, which is ignored: %s",
				p.i.host.Name(), slip, program.Clip(line))
		}
	}
	switch {
	case reply.ID != nil:
		p.answer(*reply.ID, reply, line, err)
	case reply.Command != "":
		p.i.pushed(p, reply, line)
	case reply.Error != "":
		p.i.host.Logf("%s reports: %s", p.i.host.Name(), reply.Error)
	default:
		p.notProtocol(line,
			errors.New("it has neither the id of a request nor a command with an outcome"))
	}
}

// answer delivers the reply to request id, or its decoding error. awaited remembers which requests
// had an outcome as their answer, so that a second result is reported as such.
func (p *peer) answer(id uint64, reply wire.Reply, line []byte, err error) {
	p.mu.Lock()
	r := p.pending[id]
	last := p.lastID
	command, again := p.awaited[id]
	delete(p.pending, id)
	if r != nil && r.op == wire.OpAwait {
		p.awaited[id] = r.command
	}
	late := r != nil && r.late
	p.mu.Unlock()
	switch {
	case r != nil:
		if late {
			p.i.host.Logf("%s: the answer to the request %q came late, when its caller had stopped waiting",
				p.i.host.Name(), r.op)
		}
		if err == nil && reply.Error != "" {
			err = fmt.Errorf("%s answered the request %q with an error: %s",
				p.i.host.Name(), r.op, reply.Error)
		}
		if r.op == wire.OpStart && err == nil && reply.OK {
			p.i.named(r.command, reply.Handle) // before any sign that the program sends afterwards
		}
		r.deliver(reply, err)
	case again:
		p.i.host.Logf("%s: a second result for command %s is dropped, the first stands: %s",
			p.i.host.Name(), command, program.Clip(line))
	case id >= 1 && id <= last:
		p.i.host.Logf("%s: a second answer to request %d is dropped: %s",
			p.i.host.Name(), id, program.Clip(line))
	default:
		p.i.host.Logf("%s: an answer to request %d, which was never made, is dropped: %s",
			p.i.host.Name(), id, program.Clip(line))
	}
}

// notProtocol reports a line that is not a message. It reports only the first 20: some programs
// print a lot. The count goes on beyond that, and is shown with the instrument.
func (p *peer) notProtocol(line []byte, err error) {
	const most = 20
	p.garbage++
	p.i.mu.Lock()
	if p.i.watch.StrayLines++; p.i.watch.StrayLines == 1 {
		p.i.watch.FirstStray = program.Clip(line)
	}
	p.i.mu.Unlock()
	switch {
	case p.garbage <= most:
		p.i.host.Logf("%s: a line on standard output is not a message (%v) and is ignored; "+
			"print to standard error instead: %s",
			p.i.host.Name(), err, program.Clip(line))
	case p.garbage == most+1:
		p.i.host.Logf("%s: further lines that are not messages are ignored silently", p.i.host.Name())
	}
}

// Ending closes the peer after the program has ended and its output was read.
// The instrument hears of the end first, then the callers ([peer.Over]): one who
// asks again at once must not find this peer. pending becomes nil under the
// lock: from then on ask adds nothing.
func (p *peer) Ending() {
	p.mu.Lock()
	p.left = p.pending
	p.pending = nil
	p.mu.Unlock()
	select {
	case <-p.Detached: // it goes on
	default:
		p.i.delist(p)
	}
	expected, killed := p.Expected()
	p.i.exited(p, expected, killed)
}

// Over tells callers who wait for an answer why none comes.
func (p *peer) Over() {
	for _, r := range p.left {
		r.deliver(wire.Reply{}, p.ExitErr)
	}
}

// shutdown ends the program: by the end of its input, then by SIGTERM, then by
// SIGKILL. A program that finishes its work by itself is detached instead, if
// commands are open. Only a program that said so in its handshake is left to
// itself; any other one could go on unseen.
func (p *peer) shutdown(open []string) {
	if p.EndInput(p.i.host.Grace) {
		return
	}
	h := &p.i.host
	if p.finishes && len(open) > 0 {
		h.Logf("%s (process %d) goes on with %s by itself and keeps the result; the next run asks for it",
			h.Name(), p.Cmd.Process.Pid, strings.Join(open, ", "))
		p.i.mu.Lock()
		p.i.left = p
		p.i.mu.Unlock()
		close(p.Detached)
		<-p.Exited
		return
	}
	if len(open) > 0 {
		h.Logf("%s did not end with its input and is ended during %s",
			h.Name(), strings.Join(open, ", "))
	}
	p.Terminate()
}
