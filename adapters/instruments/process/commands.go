package process

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/adapters/instruments/internal/wire"
	"github.com/campaignd/campaignd/adapters/internal/program"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
)

// command is the adapter's knowledge of a command. Instrument.mu guards all fields but Command,
// which never changes, done, and filed, which filing guards. sent is set before the start is
// written and taken back only where nothing was written, or the program says that it did not start
// it: a start that may have been sent counts as sent (law 3 of docs/architecture.md).
type command struct {
	instruments.Command
	// sent: a start was written to a program, which has neither refused it nor
	// said later that it never started it.
	sent bool
	// accepted: the program confirmed it.
	accepted bool
	// off: it was called off, and is never sent any more.
	off      bool
	starting *starting            // the Start under way, nil for none
	awaiting *awaiting            // the latest request for the outcome, nil for none
	outcome  *instruments.Outcome // the first one, which stands; nil while open
	done     chan struct{}        // closed when outcome is set

	handle string           // the device's own name of the run, or ""
	signs  chan events.Sign // that came, and were not taken yet

	collecting *collecting               // the request for values to come, or nil
	deliveries chan instruments.Delivery // that came, and were not taken yet

	filing chan struct{} // holds one while filed is worked out
	filed  *filing       // what became of the outcome's files; nil before
}

// underWay reports whether the command may be acting, or about to act. The
// caller holds Instrument.mu.
func (c *command) underWay() bool { return c.outcome == nil && (c.sent || c.awaiting != nil) }

// starting is a Start under way. Any number of callers wait for it, so that a
// command is sent once however often Start is called. err is set before done is
// closed.
type starting struct {
	done chan struct{}
	err  error
}

// awaiting is the request for an outcome, put to one run of the program. After
// a restart there is another. Several answers may end one request (an exit and
// a late reply); once sees to it that failed is closed once.
type awaiting struct {
	peer   *peer
	failed chan struct{} // closed when no outcome will come of this request
	once   sync.Once
	err    error // set before failed is closed
}

// known returns the record of a command, creating it if need be. Other parameters under a known ID
// are an error: an ID stands for one experiment for ever. The record is kept for the life of the
// adapter: the first outcome of an ID stands for as long. The parameters are cloned: the caller's
// map may change, and the comparison must be with those that were sent.
func (i *Instrument) known(cmd instruments.Command) (*command, error) {
	if cmd.ID == "" {
		return nil, fmt.Errorf("%w: the command has no ID", instruments.ErrRefused)
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	c := i.commands[cmd.ID]
	if c == nil {
		cmd = cmd.Cloned()
		c = &command{Command: cmd, done: make(chan struct{}), filing: make(chan struct{}, 1),
			deliveries: make(chan instruments.Delivery, maxDeliveries), signs: make(chan events.Sign, maxSigns)}
		i.commands[cmd.ID] = c
	}
	if !c.Same(cmd) {
		return nil, fmt.Errorf("command %s was given before with other parameters (%v, now %v): "+
			"an ID stands for one experiment for ever",
			cmd.ID, c.Compositions(), cmd.Compositions())
	}
	definition.Default(&c.handle, cmd.Handle)
	return c, nil
}

// Describe implements [instruments.Instrument]. A program describes itself once in each run. By the
// last description shown the campaign has checked its limits and locked its device; Start compares
// with it.
func (i *Instrument) Describe(ctx context.Context) (instruments.Description, error) {
	p, err := i.connect(ctx)
	if err != nil {
		return instruments.Description{}, err
	}
	i.mu.Lock()
	i.shown = &p.description
	i.mu.Unlock()
	d := p.description
	d.Parameters = slices.Clone(d.Parameters)
	d.Outputs = slices.Clone(d.Outputs)
	return d, nil
}

// Start implements [instruments.Instrument]. A command that the program
// confirmed, or whose outcome is known, is not sent again. One that was sent
// without a confirmation is sent again only if the program says that it never
// started it. A composition outside the limits that the program described is
// refused without being sent, and so is every command where the program has
// become that of another device since it was last described.
func (i *Instrument) Start(ctx context.Context, cmd instruments.Command) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	c, err := i.known(cmd)
	if err != nil {
		return err
	}
	i.mu.Lock()
	settled := c.accepted || c.outcome != nil
	off := c.off && !c.sent
	i.mu.Unlock()
	if settled {
		return nil
	}
	if off {
		return calledOff(c)
	}
	// Nothing is sent for a caller who has stopped waiting: a pump must not
	// move after the campaign was stopped.
	p, err := i.reconnect(ctx)
	if err != nil {
		i.mu.Lock()
		defer i.mu.Unlock()
		// Never a refusal then: the engine takes a refusal for a promise that
		// nothing has moved.
		if c.sent || c.starting != nil {
			return fmt.Errorf("command %s was sent before and never confirmed, and the program is out of reach: %w",
				cmd.ID, err)
		}
		return fmt.Errorf("%w: command %s was not sent: %w", instruments.ErrRefused, cmd.ID, err)
	}
	i.mu.Lock()
	if err := ctx.Err(); err != nil {
		i.mu.Unlock()
		return err
	}
	s := c.starting
	// A goroutine of the instrument's own, since the first caller may stop
	// waiting while others do not.
	if s == nil && !i.closing {
		s = &starting{done: make(chan struct{})}
		c.starting = s
		i.wg.Go(func() {
			err := i.start(p, c)
			i.mu.Lock()
			c.starting = nil
			i.mu.Unlock()
			s.err = err
			close(s.done)
		})
	}
	i.mu.Unlock()
	if s == nil {
		return ErrClosed
	}
	select {
	case <-s.done:
		return s.err
	case <-ctx.Done():
		return fmt.Errorf("command %s may have been started: %w", cmd.ID, ctx.Err())
	}
}

// start does the work of Start once for all its callers. It ends with the instrument's life, not
// with any caller's context: a start that was sent cannot be taken back.
//
// Its order: a settled command needs nothing; one that was sent without a confirmation is asked
// about; the device must be the one that was described; the composition must be within its limits;
// and then, noted as sent before it is written, the command goes out.
func (i *Instrument) start(p *peer, c *command) error {
	i.mu.Lock()
	sent := c.sent
	settled := c.accepted || c.outcome != nil
	meant := cmp.Or(i.shown, &p.description)
	i.mu.Unlock()
	switch {
	case settled:
		return nil
	case sent && !p.recovers:
		return fmt.Errorf("command %s was sent before and never confirmed, "+
			"and %s cannot say what became of it: it is not sent again",
			c.ID, i.host.Name())
	case sent:
		fate, cause, err := i.askFate(i.life, p, c)
		switch {
		case err != nil:
			return fmt.Errorf("command %s was sent before and never confirmed: %w", c.ID, err)
		case fate == instruments.FateUnknown:
			return fmt.Errorf("command %s was sent before, and %s does not know what became of it%s: "+
				"it is not sent again",
				c.ID, i.host.Name(), cause)
		case fate != instruments.FateNotStarted:
			return nil
		}
	}
	// The description may be of another device than the one that the campaign
	// has locked and checked.
	if now := p.description; meant.Name != now.Name || meant.Identity != now.Identity {
		return fmt.Errorf("%w: command %s was meant for %s %s, and %s was started again and is %s %s",
			instruments.ErrRefused, c.ID, meant.Name, meant.Identity, i.host.Name(), now.Name, now.Identity)
	}
	if len(c.Experiments) > 0 && !p.batches {
		return fmt.Errorf("%w: command %s: %w", instruments.ErrRefused, c.ID, oneByOne(i.host.Name(), c.Stage))
	}
	if err := wire.CheckCommand(p.description, c.Command); err != nil {
		return fmt.Errorf("%w: %w (%w)", instruments.ErrRefused, err, instruments.ErrPermanent)
	}
	i.enlist(p) // by now the folder of the record is there
	i.mu.Lock()
	off := c.off
	c.sent = c.sent || !off
	i.mu.Unlock()
	switch {
	case off && sent:
		return fmt.Errorf("command %s was sent before and called off since: it is not sent again", c.ID)
	case off:
		return calledOff(c)
	}
	late := func(reply wire.Reply, err error) {
		if i.confirm(c, reply, err) == nil {
			i.confirmedLate(c)
		}
	}
	reply, err := p.call(i.life, wire.Request{Op: wire.OpStart, Command: &c.Command}, late)
	return i.confirm(c, reply, err)
}

// calledOff refuses a command that was called off before it was sent.
func calledOff(c *command) error {
	return fmt.Errorf("%w: command %s: %w", instruments.ErrRefused, c.ID, instruments.ErrCalledOff)
}

// maxLate is how many late confirmations of starts are kept for [Instrument.Confirmed].
const maxLate = 256

// confirmedLate notes that a start was confirmed when no one waited for that any
// more. It must not block: the reading goroutine calls it.
func (i *Instrument) confirmedLate(c *command) {
	select {
	case i.late <- c.Command:
	default:
		i.host.Logf("%s: that command %s was started came late, and was heard by no one",
			i.host.Name(), c.ID)
	}
}

// Confirmed implements [instruments.Confirmer].
func (i *Instrument) Confirmed(ctx context.Context) (instruments.Command, error) {
	select {
	case cmd := <-i.late:
		return cmd, nil
	case <-ctx.Done():
		return instruments.Command{}, ctx.Err()
	case <-i.life.Done():
		return instruments.Command{}, ErrClosed
	}
}

// confirm records the answer to the start of a command, which may come after
// Start has given up waiting, and returns what Start reports of it. An answer
// with neither ok, refused nor error leaves the command as sent: whatever the
// program meant by it, it may be acting.
func (i *Instrument) confirm(c *command, reply wire.Reply, err error) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	switch {
	case errors.Is(err, program.ErrNotAsked):
		c.sent = false
		return fmt.Errorf("%w: command %s was not sent: %w", instruments.ErrRefused, c.ID, err)
	case err != nil:
		return fmt.Errorf("it is not known whether command %s was started: %w", c.ID, err)
	case c.outcome != nil || reply.OK:
		c.accepted = true
		return nil
	case reply.Refused != "":
		c.sent = false
		return fmt.Errorf("%w: %s", instruments.ErrRefused, reply.Refused)
	default:
		return fmt.Errorf("it is not known whether command %s was started: %s answered without ok, refused or error",
			c.ID, i.host.Name())
	}
}

// Await implements [instruments.Instrument]. It waits through exits and
// restarts of the program, and through failed attempts to start it.
//
// Any number of callers may wait for one command; the program is asked once in
// each of its runs. A program that ended is started again by connect, and
// reconcile has then asked about the command before it is asked to wait for it.
func (i *Instrument) Await(ctx context.Context, cmd instruments.Command) (instruments.Outcome, error) {
	c, err := i.known(cmd)
	if err != nil {
		return instruments.Outcome{}, err
	}
	for {
		if err := ctx.Err(); err != nil {
			return instruments.Outcome{}, err
		}
		if o, ok := i.outcomeOf(c); ok {
			return i.withFiles(ctx, c, o)
		}
		p, err := i.connect(ctx)
		switch {
		case errors.Is(err, ErrClosed):
			return instruments.Outcome{}, err
		case err != nil:
			continue // logged where it was tried; the next attempt waits longer
		}
		a := i.await(p, c)
		if a == nil {
			if o, ok := i.outcomeOf(c); ok {
				return i.withFiles(ctx, c, o)
			}
			return instruments.Outcome{}, fmt.Errorf("command %s was not started by this process, "+
				"and %s cannot say what became of commands of an earlier one",
				c.ID, i.host.Name())
		}
		select {
		case <-c.done:
		case <-a.failed:
			// An outcome that came unasked counts, also where the request for it failed since.
			if _, known := i.outcomeOf(c); !known && !errors.Is(a.err, program.ErrExited) {
				return instruments.Outcome{}, a.err
			}
		case <-ctx.Done():
		case <-i.life.Done():
			return instruments.Outcome{}, ErrClosed
		}
	}
}

// await sends the request for the outcome, once in each run of the program. It
// returns nil where there is nothing to ask: the outcome is known, or this run
// knows nothing of the command. The look and the note that it was asked are
// under one lock, so that no two callers ask the same run.
func (i *Instrument) await(p *peer, c *command) *awaiting {
	i.mu.Lock()
	defer i.mu.Unlock()
	if c.outcome != nil || i.closing || !p.recovers && !c.sent {
		return nil
	}
	if c.awaiting != nil && c.awaiting.peer == p {
		return c.awaiting
	}
	a := &awaiting{peer: p, failed: make(chan struct{})}
	c.awaiting = a
	i.wg.Go(func() { i.askOutcome(c, a) })
	return a
}

// askOutcome asks for the outcome and settles the command with the answer, whenever it comes. It
// sets no time limit: only the experiment knows its length. An error of ask means that nothing
// was written and deliver is not called; the two never both happen.
func (i *Instrument) askOutcome(c *command, a *awaiting) {
	deliver := func(reply wire.Reply, err error) {
		switch {
		case err != nil:
			i.failAwait(c, a, err)
		case len(reply.Outcome) == 0 && reply.Lost == "":
			i.failAwait(c, a, fmt.Errorf("%s answered the request %q for command %s without an outcome",
				i.host.Name(), wire.OpAwait, c.ID))
		default:
			i.settle(c, reply.Result(c.Command))
		}
	}
	_, err := a.peer.ask(i.life, i.about(c, wire.OpAwait), deliver)
	if err != nil {
		i.failAwait(c, a, err)
	}
}

// failAwait ends a request for an outcome that will not be answered. a.failed
// belongs to this request alone: callers that wait for it look again, and find
// another run, the outcome, or the error.
func (i *Instrument) failAwait(c *command, a *awaiting, err error) {
	i.mu.Lock()
	// After an exit the command stays under way: the next run is asked about
	// it. A program that declines to wait for it says that it is not under way.
	if c.awaiting == a && !errors.Is(err, program.ErrExited) {
		c.awaiting = nil
	}
	i.mu.Unlock()
	a.once.Do(func() {
		a.err = err
		close(a.failed)
	})
}

// outcomeOf returns a copy of a command's outcome, which callers may change.
// What it points to is copied too, for the first outcome stands for the life of
// the adapter.
func (i *Instrument) outcomeOf(c *command) (instruments.Outcome, bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if c.outcome == nil {
		return instruments.Outcome{}, false
	}
	o := *c.outcome
	o.Measurement = cloned(o.Measurement)
	o.Gave = slices.Clone(o.Gave)
	for k := range o.Gave {
		o.Gave[k].Measurement = cloned(o.Gave[k].Measurement)
	}
	return o, true
}

func cloned(of *events.Measurement) *events.Measurement {
	if of == nil {
		return nil
	}
	m := *of
	m.Actual = maps.Clone(m.Actual)
	m.Further = slices.Clone(m.Further)
	m.Quantities = slices.Clone(m.Quantities)
	m.Missing = slices.Clone(m.Missing)
	m.Unread = slices.Clone(m.Unread)
	return &m
}

// oneByOne refuses an act for several experiments: a program that knows nothing of them would read
// that it has no parameters.
func oneByOne(program, stage string) error {
	return fmt.Errorf("stage %s is done for several experiments together, and %s does not say that it can "+
		"(`batches` in the handshake, see docs/process-instrument.md)", stage, program)
}

// settle records the outcome of a command. The first one stands: another one is
// logged, and false is returned. Comparing takes place without the lock: an
// outcome that is set never changes.
func (i *Instrument) settle(c *command, o instruments.Outcome) bool {
	i.mu.Lock()
	first := c.outcome
	if first == nil {
		c.outcome = &o
		close(c.done)
	}
	i.mu.Unlock()
	if first == nil {
		return true
	}
	// A repeated question may get an equal answer.
	old, _ := json.Marshal(first)
	second, _ := json.Marshal(o)
	if !bytes.Equal(old, second) {
		i.host.Logf("%s: a second result for command %s is dropped, the first stands: %s, and now %s",
			i.host.Name(), c.ID, program.Clip(old), program.Clip(second))
	}
	return false
}

// pushed handles a result that the program sends without being asked. It ignores a command that
// this process never sent. A program that can recover may push the result of an earlier run of it;
// if this process has asked about the command, that counts.
func (i *Instrument) pushed(p *peer, reply wire.Reply, line []byte) {
	i.mu.Lock()
	c := i.commands[reply.Command]
	expected := c != nil && (c.sent || c.outcome != nil || c.awaiting != nil)
	settled := expected && c.outcome != nil
	i.mu.Unlock()
	if len(reply.Delivered) > 0 {
		i.deliveredUnasked(c, reply, line)
		return
	}
	if len(reply.Sign) > 0 {
		i.signalled(c, reply, line)
		return
	}
	switch {
	case !expected:
		i.host.Logf("%s: a result for command %q, which was not started, is dropped: %s",
			i.host.Name(), reply.Command, program.Clip(line))
	case settled:
		i.host.Logf("%s: a second result for command %s is dropped, the first stands: %s",
			i.host.Name(), reply.Command, program.Clip(line))
	case len(reply.Outcome) == 0 && reply.Lost == "":
		p.notProtocol(line, errors.New("it names a command and gives no outcome"))
	default:
		i.settle(c, reply.Result(c.Command))
	}
}

// Voids implements [instruments.Voider]: the declaration of the latest run of the program.
func (i *Instrument) Voids() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.voids
}

// Batches implements [instruments.Batcher]: the declaration of the latest run of the program.
func (i *Instrument) Batches() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.batches
}

// Keeps implements [instruments.Keeper]: the declaration of the latest run of the program about its
// ledger.
func (i *Instrument) Keeps() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.keeps
}

// Cancel implements [instruments.Instrument]. The command is not sent any more from here on. Where
// nothing was sent, and the program neither knows earlier commands nor remembers cancelled ones, it
// has nothing to cancel. A command of unknown fate is not over: it may be on its way. Await reports
// how a command ended.
//
// The answer of this run of the program does not cover an earlier one that still lives: it may yet
// read a start from its input, whose other end has gone.
func (i *Instrument) Cancel(ctx context.Context, cmd instruments.Command) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	c, err := i.known(cmd)
	if err != nil {
		return err
	}
	i.mu.Lock()
	c.off = true
	i.mu.Unlock()
	p, err := i.reconnect(ctx)
	if err != nil {
		return fmt.Errorf("command %s was not cancelled: %w", cmd.ID, err)
	}
	i.mu.Lock()
	sent := c.sent
	over := c.outcome != nil && c.outcome.Status != instruments.Unknown
	nothing := c.outcome == nil && !c.sent && !p.recovers && !p.voids
	i.mu.Unlock()
	if over {
		return nil
	}
	if names, are := i.earlier(p); names != "" && !sent {
		return fmt.Errorf("an earlier instance of the program %s and may hold command %s: %s",
			are, cmd.ID, names)
	}
	if nothing {
		return nil
	}
	reply, err := p.call(ctx, i.about(c, wire.OpCancel), nil)
	switch {
	case reply.Cannot:
		return fmt.Errorf("%w: command %s: %s", instruments.ErrUnstoppable, cmd.ID, reply.Error)
	case err == nil && !reply.OK:
		err = fmt.Errorf("%s answered without ok or error", i.host.Name())
	}
	if err != nil {
		return fmt.Errorf("command %s may not have been cancelled: %w", cmd.ID, err)
	}
	return nil
}

// Recover implements [instruments.Recoverer]. Where the program did not declare
// that it can recover, only what happened in its present run is known;
// otherwise the fate is unknown. An outcome that is known is not asked about
// again, so that the answers of this adapter never contradict each other.
func (i *Instrument) Recover(ctx context.Context, cmd instruments.Command) (instruments.Fate, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	c, err := i.known(cmd)
	if err != nil {
		return "", err
	}
	// Wait for a start under way: until the program has answered it, its account of the command
	// could be out of date at once.
	i.mu.Lock()
	s := c.starting
	i.mu.Unlock()
	if s != nil {
		select {
		case <-s.done:
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}
	p, err := i.reconnect(ctx)
	if err != nil {
		return "", err
	}
	i.mu.Lock()
	outcome, accepted := c.outcome, c.accepted
	i.mu.Unlock()
	switch {
	case outcome != nil && outcome.Status == instruments.Unknown:
		return instruments.FateUnknown, nil
	case outcome != nil:
		return instruments.FateFinished, nil
	case !p.recovers && accepted:
		return instruments.FateRunning, nil // this run confirmed it, or its end would have settled it
	case !p.recovers:
		return instruments.FateUnknown, nil
	}
	fate, cause, err := i.askFate(ctx, p, c)
	if err == nil && cause != "" {
		i.host.Logf("%s does not know what became of command %s%s", i.host.Name(), c.ID, cause)
	}
	return fate, err
}
