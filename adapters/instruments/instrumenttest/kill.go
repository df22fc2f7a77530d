package instrumenttest

import (
	"context"
	"fmt"
	"time"

	"github.com/campaignd/campaignd/adapters/instruments"
)

// mustKill skips what cannot, or must not, be killed. A real instrument is
// spared with Env.NoKill.
func (s *Session) mustKill() error {
	if _, ok := s.inst.(instruments.Killer); !ok {
		return skip("the instrument has no program that could be killed")
	}
	if s.env.NoKill && !s.description.Simulated {
		return skip("the program of a real instrument would be killed in the middle of an experiment, " +
			"which was not allowed")
	}
	return s.mustRecover()
}

// kill ends the program and opens the instrument as a new process would.
// severed cuts the connection with it, as where both ends die.
//
// The instrument must be a Killer: mustKill has seen to that.
func (s *Session) kill(ctx context.Context, severed bool) error {
	killer := s.inst.(instruments.Killer)
	if _, err := call(s, ctx, "Kill",
		func(ctx context.Context) (struct{}, error) {
			return struct{}{},
				killer.Kill(ctx, severed)
		}); err != nil {
		return fmt.Errorf("its Kill: %w", err)
	}
	return s.restart(ctx)
}

// killAfterCompletion looks for an outcome that was confirmed before it was on
// the disk.
func killAfterCompletion(ctx context.Context, s *Session) error {
	if err := s.mustKill(); err != nil {
		return err
	}
	// Not the command that other checks share: this one ended in the run that
	// is killed.
	cmd, first, err := s.measured(ctx, 0)
	if err != nil {
		return err
	}
	if err := s.kill(ctx, false); err != nil {
		return err
	}
	return s.survived(ctx, cmd, &first)
}

// killWhileRunning kills right after the confirmation, before the act may have
// begun. What was confirmed must be in the ledger by then: it is the
// confirmation that the engine relies on.
func killWhileRunning(ctx context.Context, s *Session) error {
	return s.killRunning(ctx, 0, false)
}

// killWithCampaignd kills in the middle of the act, with the connection cut as
// well: nothing that the program says last can help.
func killWithCampaignd(ctx context.Context, s *Session) error {
	return s.killRunning(ctx, s.lasts/2, true)
}

// killRunning kills the program after a confirmed start. Where acts are counted
// the act has begun before the wait: otherwise a program that is slow to begin
// would only ever be killed before it.
func (s *Session) killRunning(ctx context.Context, after time.Duration, severed bool) error {
	if err := s.mustKill(); err != nil {
		return err
	}
	cmd := s.command(0)
	if err := s.start(ctx, cmd); err != nil {
		return fmt.Errorf("its Start: %w", err)
	}
	if after > 0 && s.acts.counted() { // in the middle of its act
		if _, err := s.carriesOut(ctx, cmd); err != nil {
			return err
		}
	}
	if err := s.pause(ctx, after); err != nil {
		return err
	}
	if err := s.kill(ctx, severed); err != nil {
		return err
	}
	return s.survived(ctx, cmd, nil)
}

// killedThrice kills one process after the other that finds the command in the
// ledger. A program that takes its queue up again after so many starts does so
// in the last one: it is given the time to.
func killedThrice(ctx context.Context, s *Session) error {
	if err := s.mustKill(); err != nil {
		return err
	}
	cmd := s.command(0)
	if err := s.start(ctx, cmd); err != nil {
		return fmt.Errorf("its Start: %w", err)
	}
	if s.acts.counted() {
		if _, err := s.carriesOut(ctx, cmd); err != nil {
			return err
		}
	}
	for range 3 {
		if err := s.pause(ctx, min(s.lasts/2, s.env.Prompt/4)); err != nil {
			return err
		}
		if err := s.kill(ctx, false); err != nil {
			return err
		}
		if _, _, err := s.fate(ctx, cmd); err != nil { // which has the next process begin
			return fmt.Errorf("its Recover after the program was killed: %w", err)
		}
	}
	if err := s.survived(ctx, cmd, nil); err != nil {
		return err
	}
	acts, err := s.acts.on(cmd)
	if err != nil {
		return err
	}
	if err := s.pauseForActs(ctx); err != nil {
		return err
	}
	return s.acts.acted(cmd, acts)
}

// survived asks the restarted program about a command that it had confirmed
// before. If before is not nil, it is the outcome with which the command had
// ended. That it was not started is the one answer that is never right: the
// engine would send it again. That its fate is unknown is honest, and costs a
// person's look.
func (s *Session) survived(
	ctx context.Context, cmd instruments.Command, before *instruments.Outcome,
) error {
	fate, _, err := s.fate(ctx, cmd)
	switch {
	case err != nil:
		return fmt.Errorf("its Recover after the program was killed: %w", err)
	case fate == instruments.FateNotStarted:
		what := "whose start was confirmed,"
		if before != nil {
			what = "which was measured,"
		}
		return fmt.Errorf("after the program was killed its Recover says that command %s, %s was not started: "+
			"it would be acted on twice. Write a command to the ledger, and sync it to disk, before confirming it",
			cmd.ID, what)
	case fate == instruments.FateUnknown:
		s.remark("after the program was killed the instrument does not know what became of the command: " +
			"a person would have to look")
		s.issued[cmd.ID].exhausted = true // nothing to wait for
		return s.rest(ctx)
	}
	first, err := s.await(ctx, cmd)
	switch {
	case err != nil:
		return fmt.Errorf("after the program was killed and said that command %s is %s, its Await: %w",
			cmd.ID, fate, err)
	case first.Status == instruments.Unknown:
		s.remark("after the program was killed the command ended as unknown: a person would have to look")
		return s.rest(ctx)
	}
	if err := instruments.CheckOutcome(s.env.Definition, first); err != nil {
		return fmt.Errorf("after the program was killed, command %s: %w", cmd.ID, err)
	}
	if before != nil {
		if err := s.sameResult(cmd, *before, first); err != nil {
			return err
		}
	}
	if err := s.acts.reallyEnded(cmd, first); err != nil {
		return err
	}
	if err := s.startAgain(ctx, cmd); err != nil {
		return fmt.Errorf("its Start after the program was killed and the command had ended: %w", err)
	}
	second, err := s.await(ctx, cmd)
	if err != nil {
		return fmt.Errorf("its Await after that Start: %w", err)
	}
	return s.sameResult(cmd, first, second)
}

// rest gives a real device, whose program was killed, the time to come to rest. No program is left
// to ask, so it waits for as long as a measurement lasts.
func (s *Session) rest(ctx context.Context) error {
	if s.description.Simulated {
		return nil
	}
	return s.pause(ctx, s.lasts)
}

// pause waits, at most with the patience of the suite.
func (s *Session) pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(min(d, s.env.Patience)):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
