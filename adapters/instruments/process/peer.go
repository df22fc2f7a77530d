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

// peer is one life of the program. Requests may be made from any goroutine;
// what the program writes is dealt with by one, in order.
type peer struct {
	i      *Instrument
	cmd    *exec.Cmd
	stdin  *os.File
	stdout *os.File
	born   time.Time

	// What the handshake and describe gave; set before the peer is used.
	recovers    bool
	finishes    bool
	description instruments.Description

	writing chan struct{} // holds a token: one line is written at a time
	gone    chan struct{} // closed when the program has ended and all it wrote was read
	death   error         // why; set before gone is closed
	left    chan struct{} // closed when it is left to finish by itself

	enlisted atomic.Bool // in the record
	over     bool        // its end was noted, and death is set; guarded by Instrument.mu

	mu      sync.Mutex
	lastID  uint64
	pending map[uint64]*request
	awaited map[uint64]string // command of each await that was answered
	leaving bool              // its end is expected

	// Of the goroutine that reads standard output:
	garbage int            // lines that were no messages
	garbled map[string]int // answers that could not be read, by command

	lastWords string // on standard error; of the goroutine that reads it
}

// request is a question that was put to the program.
type request struct {
	op, command string
	// deliver is called once, by the reading goroutine: with the reply, or with
	// the error for which there is none.
	deliver func(wire.Reply, error)
	late    bool // whoever asked has stopped waiting
}

var (
	// errDied is wrapped by the error of a request whose program died before the
	// answer.
	errDied = errors.New("the program ended")
	// errNotAsked is wrapped by the error of a request that was never written.
	errNotAsked = errors.New("nothing was sent")
)

// spawn starts the program.
func (i *Instrument) spawn() (*peer, error) {
	cmd := exec.Command(i.argv[0], i.argv[1:]...)
	cmd.Dir, cmd.Env = i.dir, i.env
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
	cmd.Stdin, cmd.Stdout, cmd.Stderr = inR, outW, errW
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("cannot start %s: %w", i.argv[0], err)
	}
	files = []*os.File{inR, outW, errW}
	p := &peer{
		i: i, cmd: cmd, stdin: inW, stdout: outR, born: time.Now(),
		writing: make(chan struct{}, 1),
		gone:    make(chan struct{}),
		left:    make(chan struct{}),
		pending: make(map[uint64]*request),
		awaited: make(map[uint64]string),
		garbled: make(map[string]int),
	}
	p.writing <- struct{}{}
	i.wg.Add(1)
	go p.live(outR, errR)
	return p, nil
}

// live reads what the program writes until it has ended, then buries it.
func (p *peer) live(stdout, stderr *os.File) {
	defer p.i.wg.Done()
	var reading sync.WaitGroup
	reading.Go(func() { wire.EachLine(stdout, p.handle, p.oversized) })
	reading.Go(func() {
		wire.EachLine(stderr, p.complain, func(o wire.Oversized) {
			p.i.logf("%s: a line of %d bytes on standard error begins: %s", p.i.program(), o.Length, wire.Clip(o.Head))
		})
	})
	ended := make(chan error, 1)
	go func() { ended <- p.cmd.Wait() }() // reaps the program even if it is left to itself

	var err error
	select {
	case err = <-ended:
		// Its helpers must not hold its devices or its output any longer.
		kill(p.cmd)
	case <-p.left:
	}
	// What it wrote before its end counts; a helper that survived must not keep
	// us waiting for more.
	drained := make(chan struct{})
	go func() { reading.Wait(); close(drained) }()
	select {
	case <-drained:
	case <-p.left:
	case <-time.After(p.i.pauses.drain):
	}
	stdout.Close()
	stderr.Close()
	<-drained
	p.stdin.Close()
	p.bury(err)
}

// complain passes on a line that the program wrote to its standard error.
func (p *peer) complain(line []byte) {
	line = bytes.TrimRight(line, "\r")
	if len(bytes.TrimSpace(line)) > 0 {
		p.lastWords = wire.Clip(line)
	}
	p.i.logf("%s: %s", p.i.program(), instruments.Legible(string(line), 10_000))
}

// ask puts a request to the program; deliver gets the answer, unless ask
// returns an error, which wraps errNotAsked: then nothing was written.
func (p *peer) ask(ctx context.Context, req wire.Request, deliver func(wire.Reply, error)) (uint64, error) {
	select {
	case <-p.writing:
		defer func() { p.writing <- struct{}{} }()
	case <-p.gone:
		return 0, fmt.Errorf("%w: %w", errNotAsked, p.death)
	case <-ctx.Done():
		return 0, fmt.Errorf("%w: %w", errNotAsked, ctx.Err())
	}
	p.mu.Lock()
	p.lastID++
	req.ID = p.lastID
	p.mu.Unlock()
	line, err := json.Marshal(req)
	if err != nil {
		return 0, fmt.Errorf("%w: cannot encode the request %q: %w", errNotAsked, req.Op, err)
	}
	if len(line) >= wire.MaxLine {
		return 0, fmt.Errorf("%w: the request %q is longer than the protocol's %d bytes", errNotAsked, req.Op, wire.MaxLine)
	}
	p.mu.Lock()
	if p.pending == nil {
		p.mu.Unlock()
		return 0, fmt.Errorf("%w: %w", errNotAsked, p.death)
	}
	r := &request{op: req.Op, deliver: deliver}
	if req.Command != nil {
		r.command = req.Command.ID
	}
	p.pending[req.ID] = r
	p.mu.Unlock()

	// A program that does not read fills the pipe. After part of a line nothing
	// more can be said to it, so that it has to be ended; whether it read the
	// line is then for recovery to find out.
	_ = p.stdin.SetWriteDeadline(time.Now().Add(p.i.replyWithin))
	if _, err := p.stdin.Write(append(line, '\n')); err != nil {
		p.i.logf("%s: cannot write the request %q (%v): the program is ended", p.i.program(), req.Op, err)
		kill(p.cmd)
	}
	return req.ID, nil
}

// call puts a request and waits for the answer, as long as the campaign allows.
// If the answer comes after that, late (if not nil) gets it.
func (p *peer) call(ctx context.Context, req wire.Request, late func(wire.Reply, error)) (wire.Reply, error) {
	type answer struct {
		reply wire.Reply
		err   error
	}
	answered := make(chan answer, 1)
	var mu sync.Mutex
	gaveUp := false
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
		err = fmt.Errorf("%s did not answer the request %q within %v (reply_within in the campaign file)", p.i.program(), req.Op, p.i.replyWithin)
		if names := p.i.earlier(p); names != "" {
			err = fmt.Errorf("%w; an earlier instance, which may hold the device, is still alive: %s", err, names)
		}
	}
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

// handle deals with one line of the program.
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
		if len(reply.Outcome) > 0 { // a result, some of which is not a number: that is an outcome
			reply.NonFinite, reply.Line, err = err, bytes.Clone(line), nil
		}
	case err != nil:
		p.unreadable(line, err)
		return
	default:
		if slip := wire.UnknownFields(line); slip != "" {
			p.i.logf("%s: a reply holds an %s, which is ignored: %s", p.i.program(), slip, wire.Clip(line))
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

func (p *peer) answer(id uint64, reply wire.Reply, line []byte, err error) {
	p.mu.Lock()
	r, last := p.pending[id], p.lastID
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
			p.i.logf("%s: the answer to the request %q came late, after nobody waited for it any more", p.i.program(), r.op)
		}
		if err == nil && reply.Error != "" {
			err = fmt.Errorf("%s answered the request %q with an error: %s", p.i.program(), r.op, reply.Error)
		}
		r.deliver(reply, err)
	case again:
		p.i.logf("%s: a second result for command %s is dropped, the first stands: %s", p.i.program(), command, wire.Clip(line))
	case id >= 1 && id <= last:
		p.i.logf("%s: a second answer to request %d is dropped: %s", p.i.program(), id, wire.Clip(line))
	default:
		p.i.logf("%s: an answer to request %d, which was never made, is dropped: %s", p.i.program(), id, wire.Clip(line))
	}
}

// notProtocol reports a line that says nothing. A program that prints a lot is
// reported only at first.
func (p *peer) notProtocol(line []byte, err error) {
	const most = 20
	p.garbage++
	switch {
	case p.garbage <= most:
		p.i.logf("%s: a line on standard output is not a message (%v) and is ignored; print to standard error instead: %s", p.i.program(), err, wire.Clip(line))
	case p.garbage == most+1:
		p.i.logf("%s: further lines that are not messages are ignored without a word", p.i.program())
	}
}

// bury ends the peer: the program has ended, and what it wrote has been read.
func (p *peer) bury(err error) {
	p.mu.Lock()
	if err == nil {
		err = errors.New("exit status 0")
	}
	p.death = fmt.Errorf("%w (%w)", errDied, err)
	if p.lastWords != "" {
		p.death = fmt.Errorf("%w; its last words on standard error: %s", p.death, p.lastWords)
	}
	pending := p.pending
	p.pending = nil
	leaving := p.leaving
	p.mu.Unlock()
	select {
	case <-p.left: // to itself, and goes on
	default:
		p.i.strike(p)
	}
	p.i.died(p, leaving)
	close(p.gone)
	for _, r := range pending {
		r.deliver(wire.Reply{}, p.death)
	}
}

// dismiss ends the program while the commands open are under way.
func (p *peer) dismiss(open []string) {
	p.mu.Lock()
	p.leaving = true
	p.mu.Unlock()
	p.stdin.Close()
	farewell := p.i.pauses.farewell
	if p.goneWithin(farewell) {
		return
	}
	if p.finishes && len(open) > 0 {
		p.i.logf("%s goes on with %s by itself and keeps the result; the next run asks for it", p.i.program(), strings.Join(open, ", "))
		close(p.left)
		<-p.gone
		return
	}
	if len(open) > 0 {
		p.i.logf("%s did not end with its input and is ended during %s", p.i.program(), strings.Join(open, ", "))
	}
	terminate(p.cmd)
	if !p.goneWithin(farewell) {
		kill(p.cmd)
		<-p.gone
	}
}

func (p *peer) goneWithin(d time.Duration) bool {
	limit := time.NewTimer(d)
	defer limit.Stop()
	select {
	case <-p.gone:
		return true
	case <-limit.C:
		return false
	}
}
