package sdk

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/adapters/instruments/internal/wire"
	"github.com/campaignd/campaignd/adapters/internal/program"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
)

// server is one life of the program: it reads requests one after the other and
// performs commands side by side.
type server struct {
	inst   Instrument
	ledger *ledger

	writing sync.Mutex
	out     io.Writer

	// Set by the handshake, before any command.
	description instruments.Description
	slots       chan struct{} // as many as the instrument's capacity
	introduced  bool
	later       string // the reason for a missing description
	intake      bool   // this instance is the one that accepts commands

	working sync.WaitGroup // jobs
	waiting sync.WaitGroup // answers to await

	mu     sync.Mutex
	jobs   map[string]*job // by command ID: what this life performs or performed
	ending bool            // nothing more is taken up
}

// serve reads until the input ends, then finishes the work under way. The order at the end matters:
// nothing more is taken up, the next instance may read commands, jobs finish, and only then are the
// requests that wait for outcomes let go.
func (s *server) serve(ctx context.Context, in io.Reader) error {
	// The reading goroutine may be blocked in Read when ctx ends; it ends with
	// in.
	lines := make(chan []byte)
	ended := make(chan struct{})
	stop := make(chan struct{})
	defer close(stop)
	go func() {
		defer close(ended)
		pass := func(line []byte) {
			select {
			case lines <- append([]byte(nil), line...):
			case <-stop:
			}
		}
		program.EachLine(in, pass, func(o program.Oversized) {
			s.say(wire.Reply{
				ID: o.ID,
				Error: fmt.Sprintf("a line of %d bytes is longer than the protocol's %d", o.Length,
					program.MaxLine),
			})
		})
	}()

	awaits, done := context.WithCancel(context.Background())
	var err error
	for err == nil {
		select {
		case line := <-lines:
			err = s.handle(ctx, awaits, ended, line)
			continue
		case <-ended:
		case <-ctx.Done():
		}
		break
	}
	s.mu.Lock()
	s.ending = true
	s.mu.Unlock()
	s.ledger.handOver()
	s.working.Wait()
	done()
	s.waiting.Wait()
	return err
}

// say writes a reply. It ignores errors: if campaignd is gone, the ledger holds
// what matters.
func (s *server) say(r wire.Reply) {
	data, err := json.Marshal(r)
	if err != nil {
		data, _ = json.Marshal(wire.Reply{ID: r.ID,
			Error: "the reply cannot be written as JSON: " + err.Error()})
	}
	s.writing.Lock()
	defer s.writing.Unlock()
	_, _ = s.out.Write(append(data, '\n'))
}

// handle answers one line. The error it returns ends the program.
func (s *server) handle(ctx, awaits context.Context, ended <-chan struct{}, line []byte) error {
	var req wire.Request
	if err := json.Unmarshal(line, &req); err != nil {
		s.say(wire.Reply{Error: fmt.Sprintf("a line is not a request: %v: %s", err, program.Clip(line))})
		return nil
	}
	reply := wire.Reply{ID: &req.ID}
	switch req.Op {
	case wire.OpHandshake:
		err := s.introduce(ctx, req)
		if err != nil {
			reply.Error = err.Error()
		} else {
			reply.Protocol = wire.Version
			reply.Recover = true
			reply.Finishes = true
			reply.Voids = true
			_, reply.Signs = s.inst.(Signaller)
			_, reply.Batches = s.inst.(Batcher)
			_, reply.Safe = s.inst.(Safer)
			_, reply.Delivers = s.inst.(Deliverer)
			if keeper, ok := s.inst.(Keeper); ok && keeper.Keeps() && !s.ledger.fresh {
				reply.Ledger = wire.LedgerDurable
			}
		}
		s.say(reply)
		return err
	case wire.OpDescribe:
		s.say(s.describe(reply))
	case wire.OpSafe:
		s.waiting.Go(func() { s.say(s.safe(ctx, req.Reason, reply)) }) // past all that is being asked
	case wire.OpStart, wire.OpAwait, wire.OpCancel, wire.OpRecover, wire.OpDeliver:
		if err := s.ready(ctx, ended, req); err != nil {
			reply.Error = err.Error()
			s.say(reply)
			return nil
		}
		if req.Op == wire.OpDeliver {
			s.deliver(awaits, req, reply)
			return nil
		}
		s.command(ctx, awaits, req.Op, *req.Command, reply)
	default:
		reply.Error = fmt.Sprintf("the protocol has no operation %q", req.Op)
		s.say(reply)
	}
	return nil
}

var errNotIntroduced = errors.New("the first request must be the handshake")

// describe answers with the device's description, or that it is not available yet.
func (s *server) describe(reply wire.Reply) wire.Reply {
	switch {
	case !s.introduced:
		reply.Error = errNotIntroduced.Error()
	case s.later != "":
		reply.Later = s.later
	default:
		reply.Description = &s.description
	}
	return reply
}

// safe brings the device to its safe state, and answers.
func (s *server) safe(ctx context.Context, reason string, reply wire.Reply) wire.Reply {
	safer, ok := s.inst.(Safer)
	if !ok {
		reply.Error = "this device has no safe state"
	} else if err := safer.Safe(ctx, reason); err != nil {
		reply.Error = err.Error()
	} else {
		reply.OK = true
	}
	return reply
}

// ready returns why a request about a command cannot be looked at.
func (s *server) ready(ctx context.Context, ended <-chan struct{}, req wire.Request) error {
	switch {
	case !s.introduced:
		return errNotIntroduced
	case s.later != "":
		return fmt.Errorf("the device is not described yet: %s", s.later)
	case req.Command == nil || req.Command.ID == "":
		return errors.New("the request names no command")
	}
	if err := s.takeOver(ctx, ended); err != nil {
		return fmt.Errorf("an earlier instance of the instrument still reads commands: %w", err)
	}
	return nil
}

// command carries out a request about a command, and answers.
func (s *server) command(
	ctx, awaits context.Context, op string, cmd instruments.Command, reply wire.Reply,
) {
	if op != wire.OpStart {
		other, err := s.other(cmd)
		if err != nil {
			reply.Error = err.Error()
			s.say(reply)
			return
		}
		if other != nil { // the ID is known, but with other parameters
			s.say(answerOther(op, other, reply))
			return
		}
	}
	switch op {
	case wire.OpStart:
		switch err := s.start(ctx, cmd); {
		case errors.Is(err, instruments.ErrRefused):
			reply.Refused = err.Error()
		case err != nil:
			reply.Error = err.Error()
		default:
			reply.OK = true
		}
	case wire.OpAwait:
		s.waiting.Go(func() { s.answerAwait(awaits, cmd, reply) })
		return
	case wire.OpCancel:
		j, err := s.cancel(cmd)
		if err != nil {
			reply.Error = err.Error()
		} else {
			reply.OK = true
		}
		if j != nil {
			s.waiting.Go(func() { s.answerCancel(j, reply) })
			return
		}
	case wire.OpRecover:
		_, _, fate, err := s.look(cmd)
		if err != nil {
			reply.Error = err.Error()
		}
		reply.Fate = fate
	}
	s.say(reply)
}

// answerOther answers about a command whose ID was used for other parameters:
// nothing is known of the one that is asked about, and nothing may be done to
// the one that is there.
func answerOther(op string, other error, reply wire.Reply) wire.Reply {
	switch op {
	case wire.OpAwait:
		outcome := instruments.Outcome{Status: instruments.Unknown, Cause: other.Error()}
		reply.Outcome, _ = json.Marshal(outcome) // plain data
	case wire.OpRecover:
		reply.Fate = instruments.FateUnknown
	default:
		reply.Error = other.Error()
	}
	return reply
}

// answerAwait waits for a command's outcome and answers with it.
func (s *server) answerAwait(awaits context.Context, cmd instruments.Command, reply wire.Reply) {
	outcome, err := s.await(awaits, cmd)
	if awaits.Err() != nil {
		return
	}
	if err == nil {
		reply.Outcome, err = json.Marshal(s.fit(outcome))
	}
	if err != nil {
		reply.Error = err.Error()
	}
	s.say(reply)
}

// deliver waits for the values that a command is still to give and answers with them. For an ID
// that was used with other parameters it delivers nothing.
func (s *server) deliver(awaits context.Context, req wire.Request, reply wire.Reply) {
	deliverer, ok := s.inst.(Deliverer)
	other, err := s.other(*req.Command)
	switch {
	case !ok:
		reply.Error = "this instrument delivers nothing after an experiment has ended"
	case err != nil:
		reply.Error = err.Error()
	case other != nil:
		reply.Error = other.Error()
	}
	if reply.Error != "" {
		s.say(reply)
		return
	}
	s.waiting.Go(func() {
		d, err := deliverer.Deliver(awaits, *req.Command, req.Awaited)
		if awaits.Err() != nil {
			return
		}
		if err == nil {
			reply.Delivered, err = json.Marshal(d)
		}
		if err != nil {
			reply.Error = err.Error()
		}
		s.say(reply)
	})
}

// introduce handles the handshake: it configures and describes the instrument. An error ends the
// program; a device that cannot be described yet is introduced even so and says that.
func (s *server) introduce(ctx context.Context, req wire.Request) error {
	if req.Protocol != wire.Version {
		return fmt.Errorf("campaignd speaks version %d of the protocol and this instrument version %d: "+
			"use matching versions",
			req.Protocol, wire.Version)
	}
	if s.introduced {
		return errors.New("there was a handshake already")
	}
	if c, ok := s.inst.(Configurer); ok {
		campaign := Campaign{
			Name: req.Campaign, Parameters: req.Parameters,
			Quantities: req.Quantities, Settings: req.Settings,
		}
		if req.Objective != nil {
			campaign.Objective = *req.Objective
		}
		if err := c.Configure(ctx, campaign); err != nil {
			return fmt.Errorf("configure: %w", err)
		}
	}
	d, err := s.inst.Describe(ctx)
	if errors.Is(err, ErrTryAgain) {
		s.later = err.Error()
		s.introduced = true
		return nil
	}
	if err != nil {
		return fmt.Errorf("describe: %w", err)
	}
	if d.Capacity == 0 {
		d.Capacity = 1
	}
	if err := instruments.CheckDescription(d); err != nil {
		return fmt.Errorf("the instrument's description cannot be used: %w", err)
	}
	s.description = d
	s.slots = make(chan struct{}, d.Capacity)
	s.introduced = true
	return nil
}

// takeOver makes this instance the one that accepts commands. An earlier
// instance stops accepting as soon as it has read all its input. Requests that
// were not read by the time campaignd is gone are not acted on.
func (s *server) takeOver(ctx context.Context, ended <-chan struct{}) error {
	if s.intake {
		return nil
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		select {
		case <-ended:
			stop()
		case <-ctx.Done():
		}
	}()
	if err := s.ledger.takeOver(ctx); err != nil {
		return err
	}
	s.intake = true
	return nil
}

// start accepts a command: one that the ledger has is confirmed and not performed again. The claim
// in the ledger comes before the job, so that a crash between the two leaves a command begun and
// never one that could begin twice.
func (s *server) start(ctx context.Context, cmd instruments.Command) error {
	e, err := s.ledger.read(cmd.ID)
	if err != nil {
		return err
	}
	if e != nil {
		e.file.Close()
		if e.begun && !e.command.Same(cmd) {
			return s.otherParameters(e.command)
		}
		if e.begun {
			return nil
		}
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("%w: the program is ending", instruments.ErrRefused)
	}
	perform := s.performs(cmd)
	if perform == nil {
		return fmt.Errorf("%w: it takes one experiment at a time", instruments.ErrRefused)
	}
	if err := wire.CheckCommand(s.description, cmd); err != nil {
		return fmt.Errorf("%w: %w", instruments.ErrRefused, err)
	}
	if e, err = s.ledger.claim(cmd); err != nil || e == nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.run(e, perform, false)
	return nil
}

// other is the error for a command whose ID is known with other parameters. It
// happens to a campaign whose store is an old copy: the outcome of the first
// experiment must not be given for the second.
func (s *server) other(cmd instruments.Command) (is, err error) {
	if cmd.Parameters == nil && cmd.Experiments == nil { // not every program that asks tells them
		return nil, nil
	}
	s.mu.Lock()
	j := s.jobs[cmd.ID]
	s.mu.Unlock()
	known := cmd
	if j != nil {
		known = j.entry.command
	} else if e, err := s.ledger.read(cmd.ID); err != nil {
		return nil, err
	} else if e != nil {
		e.file.Close()
		if e.begun {
			known = e.command
		}
	}
	if known.Same(cmd) {
		return nil, nil
	}
	return s.otherParameters(known), nil
}

// otherParameters is the refusal of an identifier that was used for another
// experiment.
func (s *server) otherParameters(known instruments.Command) error {
	return fmt.Errorf("the ledger %s holds command %s with other parameters (%v): "+
		"an ID stands for one experiment for ever; is the campaign's store an old copy?",
		s.ledger.dir, known.ID, known.Compositions())
}

// look finds the state of a command: it is being performed by the job, has finished with the
// outcome, or has the fate. A command that an earlier life has left half done is resumed here,
// where the instrument can: a request about it shows that it matters. One that the ledger does not
// have and whose handle is known has begun: the ledger is gone, and the device is found by it.
func (s *server) look(cmd instruments.Command) (j *job, o *instruments.Outcome, fate instruments.Fate, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if j := s.jobs[cmd.ID]; j != nil {
		select {
		case <-j.done:
			if j.outcome.Status == instruments.Unknown {
				return j, nil, instruments.FateUnknown, nil
			}
			return j, &j.outcome, instruments.FateFinished, nil
		default:
			return j, nil, instruments.FateRunning, nil
		}
	}
	e, err := s.ledger.read(cmd.ID)
	if err == nil && cmd.Handle != "" && (e == nil || !e.begun) {
		if e != nil {
			e.file.Close()
		}
		j, fate, err = s.find(cmd)
		return j, nil, fate, err
	}
	if err != nil || e == nil {
		return nil, nil, instruments.FateNotStarted, err
	}
	keep := false
	defer func() {
		if !keep {
			e.file.Close()
		}
	}()
	resume := s.resumes(e.command)
	free, err := tryLock(e.file, resume == nil)
	if err == nil {
		err = e.load(cmd.ID) // anew: it may have been finished in between
	}
	switch {
	case err != nil:
		return nil, nil, "", err
	case e.outcome != nil:
		return nil, e.outcome, instruments.FateFinished, nil
	case !free:
		return nil, nil, instruments.FateRunning, nil // by an earlier instance
	case !e.begun:
		return nil, nil, instruments.FateNotStarted, nil
	case resume != nil && !s.ending:
		keep = true
		definition.Default(&e.command.Handle, cmd.Handle)
		return s.run(e, resume, true), nil, instruments.FateRunning, nil
	}
	return nil, nil, instruments.FateUnknown, nil
}

// find resumes a command by its handle, where the ledger has lost it. The caller holds s.mu.
func (s *server) find(cmd instruments.Command) (*job, instruments.Fate, error) {
	resume := s.resumes(cmd)
	if resume == nil || s.ending {
		return nil, instruments.FateUnknown, nil
	}
	e, err := s.ledger.claim(cmd)
	switch {
	case err != nil:
		return nil, "", err
	case e == nil: // another instance was quicker
		return nil, instruments.FateRunning, nil
	}
	return s.run(e, resume, true), instruments.FateRunning, nil
}

// await polls for a command of an earlier instance, which can only be seen by
// its lock and its file.
func (s *server) await(ctx context.Context, cmd instruments.Command) (instruments.Outcome, error) {
	for {
		j, o, fate, err := s.look(cmd)
		switch {
		case err != nil:
			return instruments.Outcome{}, err
		case o != nil:
			return *o, nil
		case fate == instruments.FateNotStarted:
			return instruments.Outcome{}, fmt.Errorf("command %s was never started", cmd.ID)
		case fate == instruments.FateUnknown && j != nil:
			return j.outcome, nil
		case fate == instruments.FateUnknown:
			return instruments.Outcome{
				Status: instruments.Unknown,
				Cause:  "the instrument's program ended while the experiment was under way",
			}, nil
		}
		if j != nil {
			select {
			case <-j.done:
			case <-ctx.Done():
				return instruments.Outcome{}, ctx.Err()
			}
			continue
		}
		select {
		case <-time.After(poll):
		case <-ctx.Done():
			return instruments.Outcome{}, ctx.Err()
		}
	}
}

// fit shortens an outcome to the longest line of the protocol. The objective is always sent; the
// ledger keeps the rest.
func (s *server) fit(o instruments.Outcome) instruments.Outcome {
	o.Cause = instruments.Legible(o.Cause, instruments.MaxCause)
	if data, err := json.Marshal(o.Gave); err == nil && len(data) > program.MaxLine-4096 {
		o.Gave = slices.Clone(o.Gave)
		for k, g := range o.Gave {
			if g.Measurement != nil {
				m := *g.Measurement
				m.Further = nil
				o.Gave[k].Measurement = &m
			}
		}
	}
	if o.Measurement == nil {
		return o
	}
	m := *o.Measurement
	m.Identity = instruments.Legible(m.Identity, instruments.MaxIdentity)
	if data, err := json.Marshal(m); err == nil && len(data) > program.MaxLine-4096 {
		m.Unread = []events.Unread{{Field: "further", Reason: fmt.Sprintf(
			"the result with its %d further quantities has %d bytes, more than a line of the protocol; "+
				"it is in the ledger %s", len(m.Further), len(data), s.ledger.dir)}}
		m.Further = nil
	}
	o.Measurement = &m
	return o
}

// heed is how long the answer to a cancel waits for the job to end. Measure may
// have been called a moment before: it takes notice of the end of its context
// before campaignd hears that nothing begins any more.
const heed = 250 * time.Millisecond

// answerCancel answers once a job that was called off has ended, or goes on.
func (s *server) answerCancel(j *job, reply wire.Reply) {
	select {
	case <-j.done:
	case <-time.After(heed):
	}
	s.say(reply)
}

// cancel ends the context of a job, and returns it. A command that was never started is void from
// now on: the ledger holds it as cancelled, so that no start of it acts, in this run of the program
// or in a later one. For one that has ended it does nothing.
func (s *server) cancel(cmd instruments.Command) (*job, error) {
	j, _, fate, err := s.look(cmd)
	switch {
	case err != nil:
		return nil, err
	case j != nil:
		j.cancel()
		return j, nil
	case fate == instruments.FateRunning:
		return nil, fmt.Errorf("command %s is performed by an earlier instance of the program, "+
			"which cannot be reached any more",
			cmd.ID)
	case fate == instruments.FateNotStarted:
		return nil, s.ledger.void(cmd)
	}
	return nil, nil
}
