package process

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/adapters/instruments/internal/wire"
)

// peer is one run of the program. Requests may be made from any goroutine; one
// goroutine handles what the program writes, in order. After its end a peer
// stays as it is: the next run is another one.
type peer struct {
	i         *Instrument
	cmd       *exec.Cmd
	stdin     *os.File
	stdout    *os.File
	startedAt time.Time

	// What the handshake and describe gave; set before the peer is used.
	recovers    bool // it can say what became of earlier commands
	finishes    bool // it finishes its work when campaignd is gone
	delivers    bool // it gives quantities after an experiment has ended
	description instruments.Description

	writing  chan struct{} // holds a token: one line is written at a time
	exited   chan struct{} // closed when the program has ended and its output was read
	exitErr  error         // why; set before exited is closed
	ended    chan struct{} // closed when the program has ended, also if it was detached
	detached chan struct{} // closed when it is left to finish on its own

	enlisted atomic.Bool // it is in the record of running instances
	over     bool        // its end was noted, and exitErr is set; guarded by Instrument.mu

	mu       sync.Mutex
	lastID   uint64
	pending  map[uint64]*request
	awaited  map[uint64]string // command of each await that was answered
	stopping bool              // its end is expected: no failure
	killed   bool              // by Kill

	// Of the goroutine that reads standard output:
	garbage int            // lines that were no messages
	garbled map[string]int // answers that could not be read, by command

	stderrTail string // last line of standard error; of the goroutine that reads it
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

var (
	// errExited is wrapped by the error of a request whose program ended before
	// the answer.
	errExited = errors.New("the program ended")
	// errNotAsked is wrapped by the error of a request that was never written.
	errNotAsked = errors.New("nothing was sent")
)

// spawn starts the program, with pipes of our own: unlike those of exec.Cmd
// they allow deadlines, and Wait does not close them before all is read. The
// child's ends are closed here once it has them: a pipe ends only when no one
// holds its other end any more.
func (i *Instrument) spawn() (*peer, error) {
	cmd := exec.Command(i.argv[0], i.argv[1:]...)
	cmd.Dir = i.dir
	cmd.Env = i.env
	ownGroup(cmd)
	var files []*os.File // ours, then the child's
	defer func() {
		for _, f := range files {
			f.Close()
		}
	}()
	pipe := func() (r, w *os.File, err error) {
		if r, w, err = os.Pipe(); err == nil {
			files = append(files, r, w)
		}
		return r, w, err
	}
	inR, inW, err := pipe()
	if err != nil {
		return nil, err
	}
	outR, outW, err := pipe()
	if err != nil {
		return nil, err
	}
	errR, errW, err := pipe()
	if err != nil {
		return nil, err
	}
	cmd.Stdin = inR
	cmd.Stdout = outW
	cmd.Stderr = errW
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("cannot start %s: %w", i.argv[0], err)
	}
	files = []*os.File{inR, outW, errW}
	p := &peer{
		i:         i,
		cmd:       cmd,
		stdin:     inW,
		stdout:    outR,
		startedAt: time.Now(),
		writing:   make(chan struct{}, 1),
		exited:    make(chan struct{}),
		ended:     make(chan struct{}),
		detached:  make(chan struct{}),
		pending:   make(map[uint64]*request),
		awaited:   make(map[uint64]string),
		garbled:   make(map[string]int),
	}
	// A channel as a lock, so that waiting for it can end with a context or
	// with the program.
	p.writing <- struct{}{}
	i.wg.Add(1)
	go p.supervise(outR, errR)
	return p, nil
}

// supervise reads what the program writes until it has ended, then finishes the
// peer. It owns all goroutines of the peer but the one that reaps a detached
// program.
//
// Its order at the end: the program has ended, its helpers are killed, what it
// wrote is read to the end or for as long as drain, and only then the waiting
// callers get an error. A result that was written just before the end is not
// lost. Closing the pipes ends the two readers where a helper still holds the
// other end.
func (p *peer) supervise(stdout, stderr *os.File) {
	defer p.i.wg.Done()
	var reading sync.WaitGroup
	reading.Go(func() { wire.EachLine(stdout, p.handle, p.oversized) })
	reading.Go(func() {
		wire.EachLine(stderr, p.logStderr, func(o wire.Oversized) {
			p.i.logf("%s: a line of %d bytes on standard error begins: %s",
				p.i.program(), o.Length, wire.Clip(o.Head))
		})
	})
	ended := make(chan error, 1)
	go func() { // reaps the program even if it is detached
		ended <- p.cmd.Wait()
		close(p.ended)
	}()

	var err error
	select {
	case err = <-ended:
		// Its helpers must not hold its devices or its output any longer.
		kill(p.cmd)
	case <-p.detached:
	}
	// What it wrote before its end counts, but a surviving helper process must
	// not keep us waiting for more.
	drained := make(chan struct{})
	go func() { reading.Wait(); close(drained) }()
	select {
	case <-drained:
	case <-p.detached:
	case <-time.After(p.i.pauses.drain):
	}
	stdout.Close()
	stderr.Close()
	<-drained
	p.stdin.Close()
	p.finish(err)
}

// logStderr logs a line that the program wrote to its standard error. The last
// line is kept, for it is mostly why a program ended.
func (p *peer) logStderr(line []byte) {
	line = bytes.TrimRight(line, "\r")
	if len(bytes.TrimSpace(line)) > 0 {
		p.stderrTail = wire.Clip(line)
	}
	p.i.logf("%s: %s", p.i.program(), instruments.Legible(string(line), 10_000))
}

// ask sends a request to the program; deliver gets the answer. An error of ask
// wraps errNotAsked: then nothing was written, and deliver is not called.
//
// The request is in pending before it is written, so that an answer can never
// come too early.
func (p *peer) ask(ctx context.Context, req wire.Request, deliver func(wire.Reply, error)) (uint64, error) {
	select {
	case <-p.writing:
		defer func() { p.writing <- struct{}{} }()
	case <-p.exited:
		return 0, fmt.Errorf("%w: %w", errNotAsked, p.exitErr)
	case <-ctx.Done():
		return 0, fmt.Errorf("%w: %w", errNotAsked, ctx.Err())
	}
	p.mu.Lock()
	// Under writing, so that IDs go out in order.
	p.lastID++
	req.ID = p.lastID
	p.mu.Unlock()
	line, err := json.Marshal(req)
	if err != nil {
		return 0, fmt.Errorf("%w: cannot encode the request %q: %w", errNotAsked, req.Op, err)
	}
	if len(line) >= wire.MaxLine {
		return 0, fmt.Errorf("%w: the request %q is longer than the protocol's %d bytes",
			errNotAsked, req.Op, wire.MaxLine)
	}
	p.mu.Lock()
	// It has finished since the token was taken: a request that was added now
	// would never be answered.
	if p.pending == nil {
		p.mu.Unlock()
		return 0, fmt.Errorf("%w: %w", errNotAsked, p.exitErr)
	}
	r := &request{op: req.Op, deliver: deliver}
	if req.Command != nil {
		r.command = req.Command.ID
	}
	p.pending[req.ID] = r
	p.mu.Unlock()

	// A program that does not read fills the pipe. After part of a line nothing
	// more can be sent, so the program is killed; recovery then finds out
	// whether it read the line.
	_ = p.stdin.SetWriteDeadline(time.Now().Add(p.i.replyWithin))
	if _, err := p.stdin.Write(append(line, '\n')); err != nil {
		p.i.logf("%s: cannot write the request %q (%v): the program is ended", p.i.program(), req.Op, err)
		kill(p.cmd)
	}
	return req.ID, nil
}

// call sends a request and waits for the answer, at most reply_within. An
// answer that comes later goes to late, unless that is nil. Giving up is no
// cancellation: what the program does goes on, and a late answer is still the
// truth about it.
func (p *peer) call(ctx context.Context, req wire.Request, late func(wire.Reply, error)) (wire.Reply, error) {
	type answer struct {
		reply wire.Reply
		err   error
	}
	answered := make(chan answer, 1)
	var mu sync.Mutex
	gaveUp := false
	// Begun before the request is written, since a program that does not read
	// is slow as well.
	limit := time.NewTimer(p.i.replyWithin)
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
			p.i.program(), req.Op, p.i.replyWithin)
		if names := p.i.earlier(p); names != "" {
			err = fmt.Errorf("%w; an earlier instance, which may hold the device, is still alive: %s",
				err, names)
		}
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

// handle handles one line of standard output.
//
// It must not block: everything that the program says comes through it, in
// order. An unknown field is reported and ignored: a program may be newer, or
// its author may have mistyped one.
func (p *peer) handle(line []byte) {
	line = bytes.TrimRight(line, "\r")
	if len(bytes.TrimSpace(line)) == 0 {
		return
	}
	reply, err := wire.DecodeReply(line)
	var nonFinite *wire.NonFiniteError
	switch {
	case errors.As(err, &nonFinite) && (reply.ID != nil || reply.Command != ""):
		p.i.logf("%s: a reply cannot be used as it is: %v", p.i.program(), err)
		if len(reply.Outcome) > 0 { // a result with something that is no number is still an outcome
			reply.NonFinite = err
			reply.Line = bytes.Clone(line)
			err = nil
		}
	case err != nil:
		p.unreadable(line, err)
		return
	default:
		if slip := wire.UnknownFields(line); slip != "" {
			p.i.logf("%s: a reply holds an %s, which is ignored: %s",
				p.i.program(), slip, wire.Clip(line))
		}
	}
	switch {
	case reply.ID != nil:
		p.answer(*reply.ID, reply, line, err)
	case reply.Command != "":
		p.i.pushed(p, reply, line)
	case reply.Error != "":
		p.i.logf("%s reports: %s", p.i.program(), reply.Error)
	default:
		p.notProtocol(line, errors.New("it has neither the id of a request nor a command with an outcome"))
	}
}

// answer delivers the reply to request id, or its decoding error. awaited
// remembers which requests had an outcome as their answer, so that a second
// result is named as what it is.
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
			p.i.logf("%s: the answer to the request %q came late, when its caller had stopped waiting",
				p.i.program(), r.op)
		}
		if err == nil && reply.Error != "" {
			err = fmt.Errorf("%s answered the request %q with an error: %s",
				p.i.program(), r.op, reply.Error)
		}
		r.deliver(reply, err)
	case again:
		p.i.logf("%s: a second result for command %s is dropped, the first stands: %s",
			p.i.program(), command, wire.Clip(line))
	case id >= 1 && id <= last:
		p.i.logf("%s: a second answer to request %d is dropped: %s",
			p.i.program(), id, wire.Clip(line))
	default:
		p.i.logf("%s: an answer to request %d, which was never made, is dropped: %s",
			p.i.program(), id, wire.Clip(line))
	}
}

// notProtocol reports a line that is no message. It reports only the first 20:
// some programs print a lot. The count goes on beyond that, and is shown with
// the instrument.
func (p *peer) notProtocol(line []byte, err error) {
	const most = 20
	p.garbage++
	p.i.mu.Lock()
	if p.i.watch.StrayLines++; p.i.watch.StrayLines == 1 {
		p.i.watch.FirstStray = wire.Clip(line)
	}
	p.i.mu.Unlock()
	switch {
	case p.garbage <= most:
		p.i.logf("%s: a line on standard output is not a message (%v) and is ignored; "+
			"print to standard error instead: %s",
			p.i.program(), err, wire.Clip(line))
	case p.garbage == most+1:
		p.i.logf("%s: further lines that are not messages are ignored silently", p.i.program())
	}
}

// finish closes the peer after the program has ended with err and its output
// was read: callers who wait for an answer get the reason why none comes. The
// instrument hears of the end first, then the callers: one who asks again at
// once must not find this peer. pending becomes nil under the lock: from then
// on ask adds nothing.
func (p *peer) finish(err error) {
	p.mu.Lock()
	if err == nil {
		err = errors.New("exit status 0")
	}
	p.exitErr = fmt.Errorf("%w (%w)", errExited, err)
	if p.stderrTail != "" {
		p.exitErr = fmt.Errorf("%w; the last line on standard error: %s", p.exitErr, p.stderrTail)
	}
	pending := p.pending
	p.pending = nil
	expected := p.stopping
	killed := p.killed
	p.mu.Unlock()
	select {
	case <-p.detached: // it goes on
	default:
		p.i.delist(p)
	}
	p.i.exited(p, expected, killed)
	close(p.exited)
	for _, r := range pending {
		r.deliver(wire.Reply{}, p.exitErr)
	}
}

// shutdown ends the program: by the end of its input, then by SIGTERM, then by
// SIGKILL. A program that finishes its work by itself is detached instead, if
// commands are open. The end of input comes first because a program may have a
// device to park. Only a program that said so in its handshake is left to
// itself; any other one could go on unseen.
func (p *peer) shutdown(open []string) {
	p.mu.Lock()
	p.stopping = true
	p.mu.Unlock()
	p.stdin.Close()
	gracePeriod := p.i.pauses.gracePeriod
	if p.exitedWithin(gracePeriod) {
		return
	}
	if p.finishes && len(open) > 0 {
		p.i.logf("%s (process %d) goes on with %s by itself and keeps the result; the next run asks for it",
			p.i.program(), p.cmd.Process.Pid, strings.Join(open, ", "))
		p.i.mu.Lock()
		p.i.left = p
		p.i.mu.Unlock()
		close(p.detached)
		<-p.exited
		return
	}
	if len(open) > 0 {
		p.i.logf("%s did not end with its input and is ended during %s",
			p.i.program(), strings.Join(open, ", "))
	}
	terminate(p.cmd)
	if !p.exitedWithin(gracePeriod) {
		kill(p.cmd)
		<-p.exited
	}
}

// exitedWithin reports whether the program ends within a time.
func (p *peer) exitedWithin(d time.Duration) bool {
	limit := time.NewTimer(d)
	defer limit.Stop()
	select {
	case <-p.exited:
		return true
	case <-limit.C:
		return false
	}
}
