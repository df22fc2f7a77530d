// Package remote keeps the contract of instruments for a device that campaignd asks by itself, with
// no program between the two. A driver says how a command is handed over, asked about and stopped
// ([Device]); the rest is here: a ledger on the disk, written before anything is sent, one hand-over
// for each command however often it is started, outcomes that stand, and signs of life.
//
// # Whether it has begun
//
// A command that the ledger does not have was never handed over by this ledger's owner; the device
// is asked even so, since a ledger may be lost. One that is in the ledger, and that the device does
// not know, is unknown: what was handed over may still be on its way. One whose handle is known has
// begun, whatever else is known of it.
package remote

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/adapters/instruments/internal/keep"
	"github.com/campaignd/campaignd/adapters/instruments/internal/wire"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
)

// Device is how a driver reaches its device. Each method returns within a bound of its own, also
// where its context goes on.
type Device interface {
	// Describe returns what the device is. Where it cannot be reached the error wraps ErrLater.
	Describe(ctx context.Context) (instruments.Description, error)
	// Prepare makes a command ready, with no effect that the device could see.
	Prepare(ctx context.Context, cmd instruments.Command) error
	// Submit hands a command over that is ready and in the ledger. It returns the device's handle of the
	// run, or "". An error that wraps ErrRefused says that the command certainly did not and will not
	// begin, [ErrInfeasible] that its composition cannot be made. After any other one the device is asked.
	Submit(ctx context.Context, cmd instruments.Command) (handle string, err error)
	// Ask returns what the device knows of a command, without an effect. confirmed says that it was
	// handed over for certain.
	Ask(ctx context.Context, cmd instruments.Command, confirmed bool) (Report, error)
	// Stop calls off a command that the device has. withdrawn says that it had not begun, and never
	// will. The error wraps ErrUnstoppable where it goes on.
	Stop(ctx context.Context, cmd instruments.Command) (withdrawn bool, err error)
}

// Report is a device's account of a command.
type Report struct {
	// Known says that the device has it, or had it.
	Known bool
	// Ready says that it was not handed over, and is not by itself: Submit does so, and Stop prevents it.
	Ready bool
	// Handle is the device's own name of the run, where it has one.
	Handle string
	// Sign is a sign of life, nil for none.
	Sign *events.Sign
	// Outcome is how it ended, nil while it has not.
	Outcome *instruments.Outcome
}

// ErrInfeasible is wrapped by the error of a Submit whose composition the device cannot make.
var ErrInfeasible = errors.New("the device cannot make the composition")

// Options are those of an instrument.
type Options struct {
	// Ledger is the folder of the ledger.
	Ledger string
	// Durable declares that the ledger is durable and complete ([instruments.Keeper]).
	Durable bool
	// Every is how often the device is asked about a command.
	Every time.Duration
	// Signals declares that each command gives signs of life.
	Signals bool
	// Folder is where the files that outcomes name lie, and Store the address of the campaign's store,
	// which keeps their bytes; empty without one.
	Folder, Store string
	// Logf takes remarks.
	Logf func(format string, args ...any)
}

// Instrument is an instrument in front of a device.
type Instrument struct {
	Options
	device Device
	ledger ledger
	files  keep.Files

	life context.Context // ends with Close
	end  context.CancelFunc
	wg   sync.WaitGroup // hand-overs

	mu        sync.Mutex
	closed    bool
	described instruments.Description
	runs      map[string]*run
	remarked  string // what was said last
}

// run is this process's knowledge of a command. Instrument.mu guards starting.
type run struct {
	starting *starting        // the hand-over under way, nil for none
	asking   chan struct{}    // holds one while the device is asked
	signs    chan events.Sign // that came and were not taken yet
}

type starting struct {
	done chan struct{} // closed when err is set
	err  error
}

// New returns the instrument in front of a device. Nothing is sent.
func New(device Device, o Options) (*Instrument, error) {
	files, err := keep.Open(o.Folder, o.Store)
	if err != nil {
		return nil, err
	}
	if o.Logf == nil {
		o.Logf = func(string, ...any) {}
	}
	i := &Instrument{Options: o, device: device, ledger: ledger{dir: o.Ledger}, files: files, runs: make(map[string]*run)}
	i.life, i.end = context.WithCancel(context.Background())
	return i, nil
}

// Close waits for hand-overs under way: one that is broken off leaves its command unknown.
func (i *Instrument) Close() error {
	i.mu.Lock()
	i.closed = true
	i.mu.Unlock()
	i.wg.Wait()
	i.end()
	return i.files.Close()
}

// Describe implements [instruments.Instrument].
func (i *Instrument) Describe(ctx context.Context) (instruments.Description, error) {
	d, err := i.device.Describe(ctx)
	if err == nil {
		err = instruments.CheckDescription(d)
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if err == nil {
		i.described = d
		err = i.ledger.open()
	}
	return d, err
}

// Voids implements [instruments.Voider]: a command that is called off is in the ledger.
func (i *Instrument) Voids() bool { return true }

// Keeps implements [instruments.Keeper]. A ledger that has just begun tells nothing of the time before.
func (i *Instrument) Keeps() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.Durable && !i.ledger.fresh
}

// Signals implements [instruments.Signaller].
func (i *Instrument) Signals() bool { return i.Options.Signals }

// run is the record of a command, made at need.
func (i *Instrument) run(id string) *run {
	i.mu.Lock()
	defer i.mu.Unlock()
	r := i.runs[id]
	if r == nil {
		r = &run{asking: make(chan struct{}, 1), signs: make(chan events.Sign, maxSigns)}
		i.runs[id] = r
	}
	return r
}

// Start implements [instruments.Instrument]. The hand-over goes on where its caller stops waiting.
func (i *Instrument) Start(ctx context.Context, cmd instruments.Command) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	r := i.run(cmd.ID)
	i.mu.Lock()
	s := r.starting
	if s == nil && !i.closed {
		s = &starting{done: make(chan struct{})}
		r.starting = s
		cmd.Parameters = maps.Clone(cmd.Parameters)
		i.wg.Go(func() {
			s.err = i.handOver(cmd)
			i.mu.Lock()
			r.starting = nil
			i.mu.Unlock()
			close(s.done)
		})
	}
	i.mu.Unlock()
	if s == nil {
		return fmt.Errorf("%w: the instrument is closed", instruments.ErrRefused)
	}
	select {
	case <-s.done:
		return s.err
	case <-ctx.Done():
		return fmt.Errorf("command %s may have been started: %w", cmd.ID, ctx.Err())
	}
}

// handOver hands a command over that the ledger does not have, and finds out about any other.
func (i *Instrument) handOver(cmd instruments.Command) error {
	known, err := i.ledger.read(cmd.ID)
	if err != nil {
		return err
	}
	if known != nil {
		return i.startedBefore(known, cmd)
	}
	i.mu.Lock()
	described := i.described
	i.mu.Unlock()
	if described.Name == "" {
		if described, err = i.Describe(i.life); err != nil {
			return fmt.Errorf("%w: %w", instruments.ErrRefused, err)
		}
	}
	if err := wire.CheckCommand(described, cmd); err != nil {
		return fmt.Errorf("%w: %w (%w)", instruments.ErrRefused, err, instruments.ErrPermanent)
	}
	if err := i.device.Prepare(i.life, cmd); err != nil {
		return fmt.Errorf("%w: %w", instruments.ErrRefused, err)
	}
	if claimed, err := i.ledger.claim(cmd); err != nil {
		return err
	} else if !claimed { // by another process, just now
		return fmt.Errorf("command %s is handed over by another process at this moment", cmd.ID)
	}
	return i.submit(cmd)
}

// submit hands a command over that is in the ledger, and was not handed over.
func (i *Instrument) submit(cmd instruments.Command) error {
	handle, err := i.device.Submit(i.life, cmd)
	switch {
	case err == nil:
		i.confirm(cmd.ID, handle)
		return nil
	case errors.Is(err, ErrInfeasible):
		i.finish(cmd.ID, instruments.Outcome{Status: instruments.Infeasible, Cause: err.Error()})
		return nil
	case errors.Is(err, instruments.ErrRefused):
		i.finish(cmd.ID, instruments.Outcome{Status: instruments.Cancelled, Cause: err.Error()})
		return err
	}
	report, asked := i.device.Ask(i.life, cmd, false)
	return i.arrived(cmd, report, errors.Join(err, asked))
}

// arrived is the answer to a start that was not confirmed, by what the device knows of it.
func (i *Instrument) arrived(cmd instruments.Command, report Report, why error) error {
	if report.Known {
		i.confirm(cmd.ID, report.Handle)
		return nil
	}
	return fmt.Errorf("command %s may have been started, and the device does not know it: %w", cmd.ID, why)
}

// startedBefore answers the start of a command that the ledger has.
func (i *Instrument) startedBefore(e *entry, cmd instruments.Command) error {
	switch {
	case !e.command.Same(cmd):
		return i.other(e)
	case e.outcome != nil && e.outcome.Status == instruments.Cancelled && !e.confirmed:
		return fmt.Errorf("%w: %w: %s", instruments.ErrRefused, instruments.ErrCalledOff, e.outcome.Cause)
	case e.outcome != nil || e.confirmed:
		return nil
	}
	report, err := i.device.Ask(i.life, e.command, false)
	if report.Ready && err == nil {
		return i.submit(e.command)
	}
	return i.arrived(e.command, report, errors.Join(errors.New("it was handed over before, without a confirmation"), err))
}

// errOther is wrapped by the error for an ID that was used for another experiment, as by a campaign
// whose store is an old copy.
var errOther = errors.New("an ID stands for one experiment for ever; is the campaign's store an old copy?")

func (i *Instrument) other(e *entry) error {
	return fmt.Errorf("the ledger %s holds command %s with other parameters (%v): %w",
		i.ledger.dir, e.command.ID, e.command.Parameters, errOther)
}

// confirm notes that the device has a command, and passes its handle on.
func (i *Instrument) confirm(id, handle string) {
	i.note(id, line{Confirmed: true, Handle: handle})
	if handle != "" {
		i.signal(id, events.Sign{Handle: handle})
	}
}

// finish notes an outcome.
func (i *Instrument) finish(id string, o instruments.Outcome) { i.note(id, line{Outcome: &o}) }

// note adds to the ledger. What cannot be kept is said, and asked for again.
func (i *Instrument) note(id string, l line) {
	if err := i.ledger.add(id, l); err != nil {
		i.remark("what became of command %s cannot be kept in the ledger: %v", id, err)
	}
}

// remark says something once, until something else is said.
func (i *Instrument) remark(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	i.mu.Lock()
	again := i.remarked == text
	i.remarked = text
	i.mu.Unlock()
	if !again {
		i.Logf("%s", text)
	}
}

// look asks for the state of a command: of the ledger where it has ended, and of the device. e is nil
// for one that was never started.
func (i *Instrument) look(ctx context.Context, cmd instruments.Command) (e *entry, fate instruments.Fate, err error) {
	if err := ctx.Err(); err != nil {
		return nil, "", err
	}
	r := i.run(cmd.ID)
	select {
	case r.asking <- struct{}{}: // one at a time: an outcome is worked out once
		defer func() { <-r.asking }()
	case <-ctx.Done():
		return nil, "", ctx.Err()
	}
	i.mu.Lock()
	s := r.starting
	i.mu.Unlock()
	if s != nil {
		select {
		case <-s.done:
		case <-ctx.Done():
			return nil, "", ctx.Err()
		}
	}
	if e, err = i.ledger.read(cmd.ID); err != nil {
		return nil, "", err
	}
	asked := cmd
	if e != nil {
		if !e.command.Same(cmd) {
			return nil, "", i.other(e)
		}
		if e.outcome != nil {
			return e, e.fate(), nil
		}
		asked = e.command
		definition.Default(&asked.Handle, cmd.Handle)
	}
	report, err := i.device.Ask(ctx, asked, e != nil && e.confirmed)
	switch {
	case err != nil:
		return e, "", err
	case report.Known:
	case report.Ready && (e == nil || !e.confirmed):
		return e, instruments.FateNotStarted, nil
	case e == nil && cmd.Handle == "":
		return nil, instruments.FateNotStarted, nil
	case e != nil && e.stopped:
		report.Outcome = &instruments.Outcome{Status: instruments.Failed,
			Cause: "it was called off, and the device, which stopped it, does not know it any more"}
	default:
		return e, instruments.FateUnknown, nil
	}
	if e == nil { // the ledger has lost it
		if _, err := i.ledger.claim(asked); err != nil {
			return nil, "", err
		}
		e = &entry{command: asked}
	}
	if !e.confirmed || e.command.Handle == "" && report.Handle != "" {
		i.confirm(cmd.ID, report.Handle)
	}
	if report.Sign != nil {
		i.signal(cmd.ID, *report.Sign)
	}
	if report.Outcome == nil {
		return e, instruments.FateRunning, nil
	}
	kept, remarks, err := i.files.Keep(ctx, report.Outcome.Files)
	if err != nil {
		return e, "", err
	}
	report.Outcome.Files, report.Outcome.Remarks = kept, append(report.Outcome.Remarks, remarks...)
	i.finish(cmd.ID, *report.Outcome)
	e.outcome = report.Outcome
	return e, e.fate(), nil
}

// fate is that of a command with an outcome.
func (e *entry) fate() instruments.Fate {
	if e.outcome.Status == instruments.Unknown {
		return instruments.FateUnknown
	}
	return instruments.FateFinished
}

// patience is how often a device may deny a command that it was given before that counts: one that
// starts up answers before it has read its own memory.
const patience = 3

// Await implements [instruments.Instrument]. A device that cannot be reached is asked again: that
// says nothing of its work.
func (i *Instrument) Await(ctx context.Context, cmd instruments.Command) (instruments.Outcome, error) {
	for denied := 0; ; {
		e, fate, err := i.look(ctx, cmd)
		switch {
		case ctx.Err() != nil:
			return instruments.Outcome{}, ctx.Err()
		case errors.Is(err, errOther):
			return instruments.Outcome{}, err
		case err != nil:
			i.remark("command %s: the device is asked again: %v", cmd.ID, err)
		case e != nil && e.outcome != nil:
			return *e.outcome, nil
		case fate == instruments.FateNotStarted:
			return instruments.Outcome{}, fmt.Errorf("%w: %s", instruments.ErrNotStarted, cmd.ID)
		case fate == instruments.FateUnknown:
			if denied++; denied == patience {
				return instruments.Outcome{Status: instruments.Unknown,
					Cause: "it was handed over, or was about to be, and the device does not know it"}, nil
			}
		default:
			denied = 0
		}
		select {
		case <-time.After(i.Every):
		case <-ctx.Done():
			return instruments.Outcome{}, ctx.Err()
		case <-i.life.Done():
			return instruments.Outcome{}, errors.New("the instrument was closed")
		}
	}
}

// Recover implements [instruments.Recoverer].
func (i *Instrument) Recover(ctx context.Context, cmd instruments.Command) (instruments.Fate, error) {
	_, fate, err := i.look(ctx, cmd)
	return fate, err
}

// Cancel implements [instruments.Instrument].
func (i *Instrument) Cancel(ctx context.Context, cmd instruments.Command) error {
	e, fate, err := i.look(ctx, cmd)
	switch {
	case err != nil:
		return fmt.Errorf("command %s was not called off: %w", cmd.ID, err)
	case fate == instruments.FateNotStarted && e == nil:
		off := instruments.Outcome{Status: instruments.Cancelled, Cause: "it was called off before it was started"}
		claimed, err := i.ledger.claim(cmd, line{Outcome: &off})
		if err == nil && !claimed {
			err = errors.New("it has been started meanwhile")
		}
		return err
	case e != nil && e.outcome != nil:
		return nil
	case e != nil:
		definition.Default(&cmd.Handle, e.command.Handle)
	}
	withdrawn, err := i.device.Stop(ctx, cmd)
	switch {
	// It may still be on its way, whatever a device answers about a run that it does not know.
	case fate == instruments.FateUnknown && !withdrawn && (e == nil || !e.confirmed):
		return fmt.Errorf("command %s may still reach the device, which does not know it: it was not called off (%v)", cmd.ID, err)
	case err != nil:
		return fmt.Errorf("command %s: %w", cmd.ID, err)
	case withdrawn:
		return i.ledger.add(cmd.ID, line{Outcome: &instruments.Outcome{
			Status: instruments.Cancelled, Cause: "it was called off before the device had begun"}})
	}
	return i.ledger.add(cmd.ID, line{Stopped: true})
}

// maxSigns is how many signs of a command are kept that no one has taken yet.
const maxSigns = 16

// Sign implements [instruments.Signaller].
func (i *Instrument) Sign(ctx context.Context, cmd instruments.Command) (events.Sign, error) {
	select {
	case s := <-i.run(cmd.ID).signs:
		return s, nil
	case <-ctx.Done():
		return events.Sign{}, ctx.Err()
	case <-i.life.Done():
		return events.Sign{}, errors.New("the instrument was closed")
	}
}

// signal keeps a sign for the next call of Sign; the oldest make room, and leave their handle.
func (i *Instrument) signal(id string, s events.Sign) {
	s = instruments.RecordableSign(s)
	r := i.run(id)
	i.mu.Lock()
	defer i.mu.Unlock()
	if len(r.signs) == maxSigns {
		select {
		case oldest := <-r.signs:
			definition.Default(&s.Handle, oldest.Handle)
		default:
		}
	}
	r.signs <- s
}

var (
	_ instruments.Recoverer = (*Instrument)(nil)
	_ instruments.Keeper    = (*Instrument)(nil)
	_ instruments.Voider    = (*Instrument)(nil)
	_ instruments.Signaller = (*Instrument)(nil)
)
