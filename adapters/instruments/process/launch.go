package process

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/adapters/instruments/internal/wire"
	"github.com/campaignd/campaignd/adapters/internal/program"
)

// launch is one attempt to start the program. Any number of callers wait for
// it, so that the program runs once.
type launch struct {
	done chan struct{}
	peer *peer
	err  error
}

// connect returns the program, ready for requests, and starts it if need be. It
// returns the error of the first failed attempt. ctx ends the caller's wait, not
// the launch: others may wait for it too. The pause before a start is part of
// the launch, so that callers who come meanwhile wait for the same one.
func (i *Instrument) connect(ctx context.Context) (*peer, error) {
	i.mu.Lock()
	if i.closing {
		i.mu.Unlock()
		return nil, ErrClosed
	}
	if p := i.peer; p != nil {
		i.mu.Unlock()
		return p, nil
	}
	l := i.launch
	if l == nil {
		l = &launch{done: make(chan struct{})}
		i.launch = l
		i.wg.Add(1)
		go i.bringUp(l, i.host.PauseAfter(i.shortRuns, i.lastExit))
	}
	i.mu.Unlock()
	select {
	case <-l.done:
		return l.peer, l.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// reconnect is connect with retries, for as long as the program may take to answer a request. Each
// failed attempt makes the next pause longer, so that this never becomes a tight loop.
func (i *Instrument) reconnect(ctx context.Context) (*peer, error) {
	begin := time.Now()
	for {
		p, err := i.connect(ctx)
		if err == nil || ctx.Err() != nil || errors.Is(err, ErrClosed) ||
			time.Since(begin) > i.host.ReplyWithin {
			return p, err
		}
	}
}

// bringUp makes one attempt and publishes its result. A program that cannot be
// used is ended before that.
//
// The peer is published only in working order, under the lock under which Close
// looks for one: none is left running unseen. A program that says "later" ends
// as expected: it is not reported as one that fails.
func (i *Instrument) bringUp(l *launch, pause time.Duration) {
	defer i.wg.Done()
	p, err := i.handshake(pause)
	i.mu.Lock()
	i.launch = nil
	switch {
	case err != nil:
	case p.over:
		err = p.ExitErr
	case i.closing:
		err = ErrClosed // Close came in between and did not see this peer
	default:
		i.peer = p
	}
	i.mu.Unlock()
	switch {
	case err == nil || p == nil:
	case i.life.Err() != nil:
		p.shutdown(nil)
	default:
		if errors.Is(err, instruments.ErrLater) {
			p.Expect() // it has done nothing wrong
		}
		p.Kill()
		<-p.Exited
	}
	if err != nil && i.life.Err() != nil {
		err = ErrClosed
	}
	l.peer = p
	l.err = err
	if err != nil {
		l.peer = nil
		if err != ErrClosed {
			i.host.Logf("%s cannot be used: %v", i.host.Name(), err)
		}
	}
	close(l.done)
}

// handshake starts the program, exchanges handshake and description with it, and asks about every
// command that was under way in earlier runs. A peer that is returned with an error has to be ended
// by the caller.
//
// It ends with reconcile, so that nothing is sent to a restarted program before the fate of the
// earlier commands is known. The earlier instances are reported before the first start: one of them
// may hold the device that the new program is about to open.
func (i *Instrument) handshake(pause time.Duration) (*peer, error) {
	select {
	case <-time.After(pause):
	case <-i.life.Done():
		return nil, i.life.Err()
	}
	i.reported.Do(i.reportEarlier)
	p, err := i.spawn()
	if err != nil {
		i.mu.Lock()
		i.shortRuns++
		i.lastExit = time.Now()
		i.mu.Unlock()
		return nil, err
	}
	i.enlist(p)
	reply, err := p.call(i.life, i.greeting, nil)
	if err != nil {
		return p, fmt.Errorf("handshake: %w", err)
	}
	if reply.Protocol != wire.Version {
		return p, fmt.Errorf("handshake: %s speaks version %d of the protocol and campaignd version %d: "+
			"use matching versions (docs/process-instrument.md)", i.host.Name(), reply.Protocol, wire.Version)
	}
	p.recovers = reply.Recover
	p.delivers = reply.Delivers
	p.finishes = reply.Finishes
	p.voids = reply.Voids
	p.signs = reply.Signs
	p.batches = reply.Batches
	p.safe = reply.Safe
	if i.together != "" && !p.batches {
		return p, oneByOne(i.host.Name(), i.together)
	}
	p.keeps = reply.Ledger == wire.LedgerDurable && p.recovers && p.voids
	if reply.Ledger != "" && !p.keeps {
		i.host.Logf("%s declares its ledger to be %q, which counts for nothing: it is to be %q, with recover and voids",
			i.host.Name(), reply.Ledger, wire.LedgerDurable)
	}
	reply, err = p.call(i.life, wire.Request{Op: wire.OpDescribe}, nil)
	switch {
	case err != nil: // it answered the handshake: it can be run, and its device is not there
		return p, fmt.Errorf("%w: describe: %w", instruments.ErrLater, err)
	case reply.Later != "":
		return p, fmt.Errorf("%w: %s", instruments.ErrLater, reply.Later)
	}
	if reply.Description == nil {
		return p, errors.New("describe: the answer holds no description")
	}
	p.description = *reply.Description
	if p.description.Capacity == 0 {
		p.description.Capacity = 1
	}
	if err := instruments.CheckDescription(p.description); err != nil {
		return p, fmt.Errorf("describe: the description of %s cannot be used: %w", i.host.Name(), err)
	}
	i.mu.Lock()
	// The first description stands: that of each later run is compared with it.
	before := i.described
	if before == nil {
		i.described = &p.description
	}
	i.voids, i.keeps = p.voids, p.keeps
	i.signs, i.batches, i.secures = p.signs, p.batches, p.safe
	i.mu.Unlock()
	if before != nil && !reflect.DeepEqual(*before, p.description) {
		i.host.Logf("%s describes itself differently than before: %+v, and was %+v",
			i.host.Name(), p.description, *before)
	}
	i.reconcile(p)
	return p, nil
}

// reconcile asks a restarted program what became of each command that was under
// way. If the program exits meanwhile they stay open for the next run. In the
// order of IDs, so that two programs that are restarted alike are asked alike.
func (i *Instrument) reconcile(p *peer) {
	i.mu.Lock()
	var open []*command
	for _, id := range slices.Sorted(maps.Keys(i.commands)) {
		if c := i.commands[id]; c.underWay() {
			open = append(open, c)
		}
	}
	i.mu.Unlock()
	for _, c := range open {
		if !p.recovers {
			i.settle(c, unknownOutcome("%s was started again and cannot say what became of it",
				i.host.Name()))
			continue
		}
		fate, cause, err := i.askFate(i.life, p, c)
		if errors.Is(err, program.ErrExited) || i.life.Err() != nil {
			return
		}
		switch {
		case err != nil:
			// Its fate is still open: Await asks again.
			i.host.Logf("%s was started again and could not be asked about command %s: %v",
				i.host.Name(), c.ID, err)
		case fate == instruments.FateUnknown:
			i.settle(c, unknownOutcome("%s was started again and does not know what became of it%s",
				i.host.Name(), cause))
		default:
			i.host.Logf("%s was started again and says that command %s is %s",
				i.host.Name(), c.ID, fate)
		}
	}
}

// askFate asks the program what became of a command and records the answer. A
// program that had confirmed a command and now says that it never started it
// has lost its memory: then the fate is unknown. "Finished" and "running" mean
// that a start arrived, whether or not its confirmation did.
func (i *Instrument) askFate(ctx context.Context, p *peer, c *command) (
	fate instruments.Fate, cause string, err error,
) {
	reply, err := p.call(ctx, i.about(c, wire.OpRecover), nil)
	if err != nil {
		return "", "", err
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	switch reply.Fate {
	case instruments.FateRunning, instruments.FateFinished:
		c.sent = true
		c.accepted = true
	case instruments.FateNotStarted:
		if c.accepted {
			cause = ", although it had confirmed it: it now says that it never started it"
			return instruments.FateUnknown, cause, nil
		}
		c.sent = false
	case instruments.FateUnknown:
	default:
		return "", "", fmt.Errorf("%s answered the request %q with the fate %q, which the protocol does not have",
			i.host.Name(), wire.OpRecover, reply.Fate)
	}
	return reply.Fate, "", nil
}

// exited records the end of the program. expected is an end by Close, killed one by Kill. It is
// called before the pending requests get their errors, so that callers who retry do not find the
// program.
//
// A program that can recover is asked by the next run; a command of any other program is of unknown
// fate at once. A run that lasted long enough starts the count of short runs anew; its own end
// counts as one, so that the first pause is short rather than absent.
func (i *Instrument) exited(p *peer, expected, killed bool) {
	i.mu.Lock()
	p.over = true
	if i.peer == p {
		i.peer = nil
	}
	if time.Since(p.StartedAt) > i.host.Healthy {
		i.shortRuns = 0
	}
	i.shortRuns++
	i.lastExit = time.Now()
	if !expected && !killed {
		i.watch.Exits++
		i.watch.LastExit = p.ExitErr.Error()
	}
	var open []*command
	for _, id := range slices.Sorted(maps.Keys(i.commands)) {
		if c := i.commands[id]; c.underWay() {
			open = append(open, c)
		}
	}
	i.mu.Unlock()
	if expected {
		return
	}
	i.host.Logf("%s: %v; experiments under way: %d", i.host.Name(), p.ExitErr, len(open))
	if p.recovers {
		return // the next run is asked
	}
	for _, c := range open {
		i.settle(c, unknownOutcome("%v, and cannot say what became of its commands", p.ExitErr))
	}
}

// unknownOutcome is the outcome of a command whose fate is unknown, with the
// cause.
func unknownOutcome(format string, args ...any) instruments.Outcome {
	return instruments.Outcome{Status: instruments.Unknown, Cause: fmt.Sprintf(format, args...)}
}
