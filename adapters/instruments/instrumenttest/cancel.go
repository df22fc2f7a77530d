package instrumenttest

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/campaignd/campaignd/adapters/instruments"
)

// cancelBeforeStart also starts the command afterwards, as a pipe does that is
// read late, and another one after a crash of the program. An instrument that
// voids must not begin them; of any other one it is only said.
func cancelBeforeStart(ctx context.Context, s *Session) error {
	off := []instruments.Command{s.command(0)}
	if err := s.void(ctx, off[0]); err != nil {
		return err
	}
	if err := s.startVoid(ctx, off[0]); err != nil || !s.voids() {
		return err
	}
	if _, ok := s.inst.(instruments.Recoverer); ok && !s.env.AnswersUnseen {
		off = append(off, s.command(1))
		if err := s.void(ctx, off[1]); err != nil {
			return err
		}
		if err := s.crash(ctx); err != nil {
			return err
		}
		if err := s.startVoidAfterRestart(ctx, off[1]); err != nil {
			return err
		}
	}
	if err := s.pauseForActs(ctx); err != nil {
		return err
	}
	for _, cmd := range off {
		if err := s.acts.acted(cmd, 0); err != nil {
			return err
		}
	}
	return nil
}

// crash kills the program where that is allowed, and restarts campaignd's side
// alone elsewhere.
func (s *Session) crash(ctx context.Context) error {
	if s.mustKill() == nil {
		return s.kill(ctx, false)
	}
	return s.restart(ctx)
}

// voids reports whether the instrument says that an answered Cancel is binding.
func (s *Session) voids() bool {
	v, ok := s.inst.(instruments.Voider)
	return ok && v.Voids()
}

// void calls off a command that was never started.
func (s *Session) void(ctx context.Context, cmd instruments.Command) error {
	if err := s.cancel(ctx, cmd); err != nil {
		return fmt.Errorf("its Cancel of a command that was never started: %w", err)
	}
	return s.acts.acted(cmd, 0)
}

// startVoid starts a command that was called off before. One that voids gives it
// no act and no measurement.
func (s *Session) startVoid(ctx context.Context, cmd instruments.Command) error {
	switch err := s.start(ctx, cmd); {
	case errors.As(err, new(*noMeasurement)):
		return s.acts.acted(cmd, 0) // refused
	case err != nil:
		return fmt.Errorf("its Start of a command that was called off: %w", err)
	case !s.voids():
		s.remark("a command that is called off before its start arrives is begun even so: " +
			"the instrument does not keep what was called off (voids)")
		_, err := s.expectMeasured(ctx, cmd)
		return err
	}
	o, err := s.await(ctx, cmd)
	switch {
	case err != nil:
		return fmt.Errorf("its Await of a command that was called off: %w", err)
	case o.Status == instruments.Measured || o.Status == instruments.Deferred:
		return fmt.Errorf("command %s was called off, which was answered, and started afterwards: it ended as %q, "+
			"and should be \"cancelled\", or refused", cmd.ID, o.Status)
	case o.Cause == "":
		return fmt.Errorf("the outcome %q of a command that was called off has no cause", o.Status)
	}
	return s.acts.acted(cmd, 0)
}

// startVoidAfterRestart is startVoid in a new process, which first reports the command's fate: it
// may answer that the command was never started, since a simulation may have forgotten.
func (s *Session) startVoidAfterRestart(ctx context.Context, cmd instruments.Command) error {
	fate, _, err := s.fate(ctx, cmd)
	switch {
	case err != nil:
		return fmt.Errorf("its Recover of a command that was called off: %w", err)
	case fate == instruments.FateNotStarted && s.description.Simulated:
		return nil // nothing physical can begin
	case fate == instruments.FateUnknown: // it remembers nothing, and campaignd repeats nothing
		return nil
	}
	if err := s.startVoid(ctx, cmd); err != nil {
		return fmt.Errorf("after a restart: %w. Keep what was called off in the ledger", err)
	}
	return nil
}

// nothingBegins checks that there are no more acts for the command than before.
func (s *Session) nothingBegins(ctx context.Context, cmd instruments.Command, before int) error {
	if err := s.pauseForActs(ctx); err != nil {
		return err
	}
	acts, err := s.acts.on(cmd)
	if err == nil && acts > before {
		err = beganVoid(cmd)
	}
	return err
}

// pauseForActs waits for much longer than a start takes, where acts are counted.
func (s *Session) pauseForActs(ctx context.Context) error {
	if !s.acts.counted() {
		return nil
	}
	return s.pause(ctx, s.lasts+s.env.Prompt/4)
}

// beganVoid is the fault of an instrument whose cancel means nothing.
func beganVoid(cmd instruments.Command) error {
	return fmt.Errorf("the instrument began to act on command %s after its cancel had been answered",
		cmd.ID)
}

// voids stops the program where it stands, as a serial port does that hangs. A
// start is sent and given up, and the command is called off. The program then
// reads both. Nothing may begin once the cancel is answered: on that answer
// campaignd repeats the experiment by another command.
func voids(ctx context.Context, s *Session) error {
	holder, ok := s.inst.(instruments.Holder)
	if !ok {
		return skip("the instrument has no program that could be stopped: a start cannot lie unread")
	}
	cmd := s.command(0)
	release, err := holder.Hold()
	if errors.Is(err, errors.ErrUnsupported) {
		return skip("this system cannot stop a program where it stands")
	}
	if err != nil {
		return fmt.Errorf("its program cannot be stopped: %w", err)
	}
	defer release()
	given, cancel := context.WithTimeout(ctx, s.env.Prompt/4)
	defer cancel()
	if err := s.start(given, cmd); err == nil || given.Err() == nil {
		return unjudged("its program answered a start while it was stopped: %v", err)
	}
	answered := make(chan error, 1)
	go func() { answered <- s.callOff(ctx, cmd) }()
	if err := s.pause(ctx, s.env.Prompt/10); err != nil { // the cancel lies behind the start
		return err
	}
	release()
	if err := <-answered; err != nil {
		return fmt.Errorf("its Cancel of a command whose start was given up: %w", err)
	}
	if err := s.aftermath(ctx, cmd); err != nil {
		return err
	}
	if !s.voids() {
		s.remark("it does not say that an answered cancel is binding (\"voids\" in its handshake): " +
			"before a command is repeated, its program has to be ended")
	}
	return nil
}

// aftermath looks at a command whose cancel was answered just now: movements under way may go on,
// no new one begins, and Recover and Await tell the truth.
//
// An act counts as begun before the answer where its line comes at once: a worker that had taken
// the command up was about to write it.
func (s *Session) aftermath(ctx context.Context, cmd instruments.Command) error {
	if err := s.pause(ctx, s.env.Prompt/8); err != nil {
		return err
	}
	before, err := s.acts.on(cmd)
	if err != nil {
		return err
	}
	fate, recovers, err := s.fate(ctx, cmd)
	if err != nil {
		return fmt.Errorf("its Recover of a command that was called off: %w", err)
	}
	if s.acts.counted() && before == 0 && fate == instruments.FateRunning {
		if err := s.beginsLate(ctx, cmd); err != nil {
			return err
		}
	}
	var ended instruments.Status
	switch {
	case recovers && fate == instruments.FateNotStarted:
	case recovers && fate == instruments.FateUnknown:
		s.issued[cmd.ID].exhausted = true // nothing to wait for
		s.remark("the instrument does not know what became of the command: a person would have to look")
		return s.rest(ctx)
	default:
		o, err := s.await(ctx, cmd)
		if err != nil {
			return fmt.Errorf("its Await of a command that was called off: %w", err)
		}
		if err := instruments.CheckOutcome(s.env.Definition, o); err != nil {
			return err
		}
		ended = o.Status
		s.remark("it ended as %q", ended)
	}
	acts, err := s.acts.on(cmd)
	if err != nil {
		return err
	}
	if err := s.nothingBegins(ctx, cmd, acts); err != nil || !s.acts.counted() {
		return err
	}
	switch {
	case acts == 0 && ended == instruments.Measured:
		return fmt.Errorf("command %s was called off, the instrument did not act on it, "+
			"and a measurement of it is given", cmd.ID)
	case acts > 0 && (fate == instruments.FateNotStarted || ended == instruments.Deferred):
		return fmt.Errorf("the instrument acted on command %s, and says that nothing took place (%s)",
			cmd.ID, cmp.Or(string(ended), string(fate)))
	case acts > 0 && ended == instruments.Cancelled:
		s.remark("\"cancelled\" says that nothing took place, and it had begun: \"failed\" says so")
	}
	return nil
}

// beginsLate waits for an act on a command that is reported under way although its cancel was
// answered and nothing had moved. A line without a mark may stand for the end of an act: it stands
// for the beginning where the command goes on.
func (s *Session) beginsLate(ctx context.Context, cmd instruments.Command) error {
	if _, err := s.carriesOut(ctx, cmd); err != nil {
		return err
	}
	r, err := s.acts.record()
	if err != nil || r.acts[cmd.ID] == 0 {
		return err
	}
	if r.begun[cmd.ID] == 0 {
		if err := s.pause(ctx, s.lasts/2); err != nil {
			return err
		}
		if fate, _, err := s.fate(ctx, cmd); err != nil || fate != instruments.FateRunning {
			return err
		}
	}
	return beganVoid(cmd)
}

// cancelWhileRunning accepts any end, since an instrument need not be able to stop; but the command
// must end, once and for all. Its own outcome must not ask for it again, either: a command that a
// person called off is not deferred.
func cancelWhileRunning(ctx context.Context, s *Session) error {
	cmd := s.command(0)
	if err := s.start(ctx, cmd); err != nil {
		return fmt.Errorf("its Start: %w", err)
	}
	if err := s.callOff(ctx, cmd); err != nil {
		return fmt.Errorf("its Cancel: %w", err)
	}
	first, err := s.await(ctx, cmd)
	if err != nil {
		return fmt.Errorf("its Await after Cancel: %w", err)
	}
	if err := instruments.CheckOutcome(s.env.Definition, first); err != nil {
		return err
	}
	switch first.Status {
	case instruments.Deferred:
		// It may have been deferred honestly before the Cancel came. An
		// instrument that otherwise never defers means the Cancel.
		err := fmt.Errorf("command %s was called off and ended as \"deferred\", which asks for it again",
			cmd.ID)
		if s.calledOff++; s.calledOff < attempts || s.deferrals > 0 {
			return &noMeasurement{why: err}
		}
		return err
	case instruments.Failed, instruments.Infeasible, instruments.Cancelled, instruments.Unknown:
		if first.Cause == "" {
			return fmt.Errorf("the outcome %q has no cause", first.Status)
		}
	}
	s.remark("the cancelled command ended as %q", first.Status)
	if err := s.atRest(ctx, cmd, first.Status); err != nil {
		return err
	}
	// The same command again is not a new one: it stays cancelled.
	if err := s.startAgain(ctx, cmd); err != nil {
		return fmt.Errorf("its Start of the cancelled command: %w", err)
	}
	second, err := s.await(ctx, cmd)
	if err != nil {
		return fmt.Errorf("its Await again: %w", err)
	}
	if err := same(cmd, first, second); err != nil {
		return err
	}
	if first.Status == instruments.Measured {
		return s.acts.acted(cmd, 1)
	}
	return nil
}

// callOff calls off a command that is under way, until that is answered. That the
// device cannot stop it is an answer: the command goes on to its end, and is
// waited for. A program that reads nothing while it measures answers afterwards.
func (s *Session) callOff(ctx context.Context, cmd instruments.Command) error {
	err := s.cancel(ctx, cmd)
	var slow interface{ Timeout() bool }
	switch {
	case errors.Is(err, instruments.ErrUnstoppable):
		s.remark("%v", err)
		return nil
	case !errors.As(err, &slow) || !slow.Timeout() || ctx.Err() != nil:
		return err
	}
	if _, awaited := s.await(ctx, cmd); awaited != nil {
		return err
	}
	if err := s.cancel(ctx, cmd); err != nil {
		return err
	}
	s.remark("a cancel is answered only after the command has ended: nothing stops it")
	return nil
}

// cancelOneOfTwo waits for the other one, which may not end as cancelled, and not
// fail more often than it does undisturbed.
func cancelOneOfTwo(ctx context.Context, s *Session) error {
	if s.description.Capacity < 2 {
		return skip("the instrument works on one command at a time")
	}
	off, stays := s.command(0), s.command(1)
	for _, cmd := range []instruments.Command{off, stays} {
		if err := s.start(ctx, cmd); err != nil {
			return fmt.Errorf("its Start: %w", err)
		}
	}
	if err := s.callOff(ctx, off); err != nil {
		return fmt.Errorf("its Cancel of one of two commands: %w", err)
	}
	if _, err := s.expectMeasured(ctx, stays); err != nil {
		return fmt.Errorf("while command %s was called off: %w", off.ID, err)
	}
	return nil
}

// atRest checks that nothing moves any more for a command that has ended: it
// waits for as long as a measurement lasts. An end that was said while the
// device still moves would let the next command begin into it.
func (s *Session) atRest(ctx context.Context, cmd instruments.Command, status instruments.Status) error {
	if status == instruments.Unknown { // it may be at work
		return s.rest(ctx)
	}
	if !s.acts.counted() {
		return nil
	}
	if err := s.acts.over(cmd, status); err != nil {
		return err
	}
	before, err := s.acts.record()
	if err != nil {
		return err
	}
	if err := s.pause(ctx, s.lasts); err != nil {
		return err
	}
	after, err := s.acts.record()
	if err == nil && after.moves[cmd.ID] != before.moves[cmd.ID] {
		err = fmt.Errorf("the instrument acted on command %s after it had said that it was %q",
			cmd.ID, status)
	}
	return err
}

// cancelAfterCompletion cancels a command whose outcome is on its way, as a person does who calls
// an experiment off late. The outcome stays: a late word must not lose a finished measurement.
func cancelAfterCompletion(ctx context.Context, s *Session) error {
	cmd, first, err := s.done(ctx)
	if err != nil {
		return err
	}
	if err := s.cancel(ctx, cmd); err != nil {
		return fmt.Errorf("its Cancel after completion: %w", err)
	}
	second, err := s.await(ctx, cmd)
	if err != nil {
		return fmt.Errorf("its Await after that: %w", err)
	}
	if err := s.sameResult(cmd, first, second); err != nil {
		return err
	}
	return s.acts.acted(cmd, 1)
}
