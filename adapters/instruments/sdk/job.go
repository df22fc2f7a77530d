package sdk

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/adapters/instruments/internal/wire"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/ground/clock"
)

// job is a command that this run of the program performs.
type job struct {
	entry   *entry
	cancel  context.CancelFunc
	done    chan struct{} // closed when outcome is set
	outcome instruments.Outcome
}

// act performs a command: for one experiment, which it measures, or for several.
type act func(context.Context, instruments.Command) (*events.Measurement, []events.Given, error)

func measure(f func(context.Context, instruments.Command) (events.Measurement, error)) act {
	return func(ctx context.Context, cmd instruments.Command) (*events.Measurement, []events.Given, error) {
		m, err := f(ctx, cmd)
		return &m, nil, err
	}
}

func batch(f func(context.Context, instruments.Command) ([]events.Given, error)) act {
	return func(ctx context.Context, cmd instruments.Command) (*events.Measurement, []events.Given, error) {
		gave, err := f(ctx, cmd)
		return nil, gave, err
	}
}

// performs is how a command is performed; nil where the instrument cannot.
func (s *server) performs(cmd instruments.Command) act {
	if cmd.Experiments == nil {
		return measure(s.inst.Measure)
	}
	if b, ok := s.inst.(Batcher); ok {
		return batch(b.Batch)
	}
	return nil
}

// resumes is how a command that was cut short is resumed; nil where the instrument cannot.
func (s *server) resumes(cmd instruments.Command) act {
	if r, ok := s.inst.(Resumer); ok && cmd.Experiments == nil {
		return measure(r.Resume)
	}
	if r, ok := s.inst.(BatchResumer); ok && cmd.Experiments != nil {
		return batch(r.ResumeBatch)
	}
	return nil
}

// run performs the command of an entry whose lock is held. The caller holds s.mu. The entry's lock
// is held until the outcome is kept: it tells other processes that the command is being performed.
func (s *server) run(e *entry, act act, resumed bool) *job {
	ctx, cancel := context.WithCancel(context.Background())
	j := &job{entry: e, cancel: cancel, done: make(chan struct{})}
	s.jobs[e.command.ID] = j
	s.working.Go(func() {
		defer cancel()
		cmd := e.command
		o := s.perform(ctx, cmd, s.signals(e), act, resumed)
		o.Files = s.filesOf(cmd)
		s.finish(j, o)
	})
	return j
}

// filesOf are the files that the instrument names of a command, where it leaves
// any. A panic there costs the files and not the result.
func (s *server) filesOf(cmd instruments.Command) (files []instruments.File) {
	filer, ok := s.inst.(Filer)
	if !ok {
		return nil
	}
	defer func() {
		if r := recover(); r != nil {
			s.say(wire.Reply{Error: fmt.Sprintf("the files of command %s: the instrument's program panicked: %v",
				cmd.ID, r)})
			files = nil
		}
	}()
	return filer.Files(context.Background(), cmd.Cloned())
}

// finish keeps the outcome of a job in the ledger and releases the entry's
// lock. The outcome is kept before it is sent: campaignd must not know of one
// that a crash could take back.
func (s *server) finish(j *job, o instruments.Outcome) {
	e := j.entry
	line, err := json.Marshal(o)
	if err != nil { // NaN or infinite
		o = instruments.Outcome{
			Status: instruments.Failed,
			Cause:  "the instrument's result cannot be used: " + err.Error(),
		}
		line = []byte(fmt.Sprintf(`{"status":%q,"cause":%q}`, o.Status, o.Cause))
	}
	if o.Status != instruments.Unknown { // the lack of a line says that already
		if err := e.end(&o, line); err != nil {
			// It is still reported: a result that was sent but not kept is
			// better than a lost one.
			text := fmt.Sprintf("the outcome of command %s cannot be kept in the ledger: %v",
				e.command.ID, err)
			s.say(wire.Reply{Error: text})
		}
	}
	j.outcome = o
	close(j.done)
	e.file.Close()
}

// perform waits for a slot and calls act, once. The error that act's error wraps decides its
// meaning; a panic and any other error leave it unknown whether anything moved.
func (s *server) perform(
	ctx context.Context, cmd instruments.Command, signal func(events.Sign), act act, resumed bool,
) (o instruments.Outcome) {
	calledOff := ctx.Done()
	if resumed { // it has begun already
		calledOff = nil
	}
	select {
	case s.slots <- struct{}{}:
		defer func() { <-s.slots }()
	case <-calledOff:
	}
	if ctx.Err() != nil && !resumed {
		return instruments.Outcome{Status: instruments.Cancelled,
			Cause: "it was cancelled before it began"}
	}
	defer func() {
		if r := recover(); r != nil {
			o = instruments.Outcome{
				Status: instruments.Unknown,
				Cause:  fmt.Sprintf("the instrument's program panicked: %v", r),
			}
		}
	}()
	began := time.Now()
	m, gave, err := act(context.WithValue(ctx, signalling{}, signal), cmd.Cloned())
	switch {
	case errors.Is(err, ErrNotPerformed):
		return instruments.Outcome{Status: instruments.Cancelled, Cause: err.Error()}
	case errors.Is(err, ErrTryAgain):
		return instruments.Outcome{Status: instruments.Deferred, Cause: err.Error()}
	case errors.Is(err, ErrInfeasible):
		return instruments.Outcome{Status: instruments.Infeasible, Cause: err.Error()}
	case errors.Is(err, ErrUnknown):
		return instruments.Outcome{Status: instruments.Unknown, Cause: err.Error()}
	case errors.Is(err, ErrFailed):
		return instruments.Outcome{Status: instruments.Failed, Cause: err.Error()}
	case errors.Is(err, context.Canceled) && ctx.Err() != nil:
		return instruments.Outcome{
			Status: instruments.Failed,
			Cause:  fmt.Sprintf("it was cancelled while it was under way: %v", err),
		}
	case err != nil: // who knows that it took place says so
		return instruments.Outcome{Status: instruments.Unknown, Cause: err.Error()}
	}
	if m == nil || cmd.Idle() && len(m.Actual) == 0 {
		return instruments.Outcome{Status: instruments.Done, Gave: gave}
	}
	if m.Actual == nil && cmd.Act == "" { // a stage may be sent a part of the composition
		m.Actual = maps.Clone(cmd.Parameters)
	}
	if m.Identity == "" {
		m.Identity = s.description.Identity
	}
	if m.Began.IsZero() && !resumed {
		m.Began = began.UTC()
	}
	if m.Ended.IsZero() {
		m.Ended = clock.Now().UTC()
	}
	return instruments.Outcome{Status: instruments.Measured, Measurement: m}
}
