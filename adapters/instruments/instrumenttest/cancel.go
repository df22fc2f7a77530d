package instrumenttest

import (
	"context"
	"fmt"

	"github.com/campaignd/campaignd/adapters/instruments"
)

// cancelBeforeStart also starts the command afterwards: the Cancel must not be
// remembered against it. A word about a command that there is not yet means
// nothing.
func cancelBeforeStart(ctx context.Context, s *Session) error {
	cmd := s.command(0)
	if err := s.cancel(ctx, cmd); err != nil {
		return fmt.Errorf("its Cancel of a command that was never started: %w", err)
	}
	if err := s.acted(cmd, 0); err != nil {
		return err
	}
	if err := s.start(ctx, cmd); err != nil {
		return fmt.Errorf("its Start after a Cancel that meant nothing: %w", err)
	}
	_, err := s.expectMeasured(ctx, cmd)
	return err
}

// cancelWhileRunning takes any end for good, since an instrument need not be
// able to stop; what it must do is to end, once and for all. It must not be
// asked for again by its own outcome, either: what a person called off is not
// deferred.
func cancelWhileRunning(ctx context.Context, s *Session) error {
	cmd := s.command(0)
	if err := s.start(ctx, cmd); err != nil {
		return fmt.Errorf("its Start: %w", err)
	}
	if err := s.cancel(ctx, cmd); err != nil {
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
		err := fmt.Errorf("command %s was called off and ended as \"deferred\", which asks for it again", cmd.ID)
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
		return s.acted(cmd, 1)
	}
	return nil
}

// atRest checks that nothing moves any more for a command that has ended: it
// waits for as long as a measurement lasts. An end that was said while the
// device still moves would let the next command begin into it.
func (s *Session) atRest(ctx context.Context, cmd instruments.Command, status instruments.Status) error {
	if !s.counted() || status == instruments.Unknown {
		return nil
	}
	if err := s.actOver(cmd, status); err != nil {
		return err
	}
	before, err := s.record()
	if err != nil {
		return err
	}
	if err := s.pause(ctx, s.lasts); err != nil {
		return err
	}
	after, err := s.record()
	if err == nil && after.acts[cmd.ID] != before.acts[cmd.ID] {
		err = fmt.Errorf("the instrument acted on command %s after it had said that it was %q",
			cmd.ID, status)
	}
	return err
}

// cancelAfterCompletion is what happens when a person calls off an experiment
// whose outcome is on its way. The outcome stays: a measurement that was made
// is not lost by a word that came late.
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
	return s.acted(cmd, 1)
}
