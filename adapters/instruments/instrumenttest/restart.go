package instrumenttest

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/events/definition"
)

// mustRecover skips a check that an instrument without memory cannot pass. The lack is allowed,
// since the engine then asks a person.
func (s *Session) mustRecover() error {
	if _, ok := s.inst.(instruments.Recoverer); !ok {
		return skip("the instrument cannot say what became of a command after a restart: a person will have to look")
	}
	return nil
}

// restartBeforeStart: a process that has seen no command must not claim one, and
// must take it when it comes.
func restartBeforeStart(ctx context.Context, s *Session) error {
	if err := s.mustRecover(); err != nil {
		return err
	}
	if err := s.restart(ctx); err != nil {
		return err
	}
	cmd := s.command(0)
	switch fate, _, err := s.fate(ctx, cmd); {
	case err != nil:
		return fmt.Errorf("its Recover: %w", err)
	case fate == instruments.FateUnknown:
		return skip("the instrument does not know what became of commands of an earlier process: " +
			"a person will have to look")
	case fate != instruments.FateNotStarted && !s.env.AnswersUnseen:
		return fmt.Errorf("its Recover says that a command that was never started is %s", fate)
	}
	if err := s.acts.acted(cmd, 0); err != nil {
		return err
	}
	if err := s.start(ctx, cmd); err != nil {
		return fmt.Errorf("its Start: %w", err)
	}
	_, err := s.expectMeasured(ctx, cmd)
	return err
}

// restartWhileRunning: a confirmed command may be found running, finished or of
// unknown fate. “Not started” would have campaignd send it again; only a
// simulation may say so. Where its fate is known, its outcome must then be
// there and stay, like that of any other.
func restartWhileRunning(ctx context.Context, s *Session) error {
	if err := s.mustRecover(); err != nil {
		return err
	}
	cmd := s.command(0)
	if err := s.start(ctx, cmd); err != nil {
		return fmt.Errorf("its Start: %w", err)
	}
	if err := s.restart(ctx); err != nil {
		return err
	}
	fate, _, err := s.fate(ctx, cmd)
	switch {
	case err != nil:
		return fmt.Errorf("its Recover: %w", err)
	case fate == instruments.FateUnknown:
		s.issued[cmd.ID].exhausted = true // nothing to wait for
		s.remark("the instrument does not know a command that was running when campaignd was restarted: " +
			"a person would have to look")
		return nil
	case fate == instruments.FateNotStarted && !s.description.Simulated:
		return fmt.Errorf("its Recover says that command %s, whose start was confirmed, is %s",
			cmd.ID, fate)
	case fate == instruments.FateNotStarted: // nothing physical is lost with it
		if err := s.start(ctx, cmd); err != nil {
			return fmt.Errorf("its Start after the restart: %w", err)
		}
	}
	first, err := s.expectMeasured(ctx, cmd)
	if err != nil {
		return fmt.Errorf("after the restart: %w", err)
	}
	return s.startFinished(ctx, cmd, first)
}

// restartAfterCompletion asks a new process for the outcome, starts the command
// again, and asks a third process: the second start must not have overwritten
// anything. A simulation may have forgotten, as it can compute the same again.
func restartAfterCompletion(ctx context.Context, s *Session) error {
	if err := s.mustRecover(); err != nil {
		return err
	}
	cmd, first, err := s.done(ctx)
	if err != nil {
		return err
	}
	if err := s.restart(ctx); err != nil {
		return err
	}
	fate, _, err := s.fate(ctx, cmd)
	switch {
	case err != nil:
		return fmt.Errorf("its Recover: %w", err)
	case fate == instruments.FateUnknown:
		return skip("the instrument does not know what became of commands of an earlier process: " +
			"a person will have to look")
	case fate == instruments.FateNotStarted && s.description.Simulated:
		// Nothing physical is lost with it.
	case fate != instruments.FateFinished:
		return fmt.Errorf("its Recover says that command %s, which was measured, is %s", cmd.ID, fate)
	default:
		second, err := s.await(ctx, cmd)
		if err != nil {
			return fmt.Errorf("its Await from a new process: %w", err)
		}
		if err := s.sameResult(cmd, first, second); err != nil {
			return err
		}
	}
	if err := s.startFinished(ctx, cmd, first); err != nil {
		return err
	}
	if fate != instruments.FateFinished {
		return nil
	}
	// What was started again must not have taken the place of the first
	// outcome.
	if err := s.restart(ctx); err != nil {
		return err
	}
	last, err := s.await(ctx, cmd)
	if err != nil {
		return fmt.Errorf("its Await from a new process, after the start was delivered again: %w", err)
	}
	return s.sameResult(cmd, first, last)
}

// otherParameters: an identifier that comes back with another composition, as
// from a store restored from an old copy, is another experiment. An honest
// ledger keeps the parameters next to the identifier; by the identifier alone
// it would hand out the result of another experiment.
func otherParameters(ctx context.Context, s *Session) error {
	if err := s.mustRecover(); err != nil {
		return err
	}
	cmd, _, err := s.done(ctx)
	if err != nil {
		return err
	}
	other := slices.IndexFunc(s.env.Points,
		func(p definition.Point) bool { return !maps.Equal(p, cmd.Parameters) })
	if other < 0 {
		return unjudged("there is only one composition to measure at: name another one")
	}
	// As a new process: this one knows the command itself.
	if err := s.restart(ctx); err != nil {
		return err
	}
	cmd.Parameters = s.env.Points[other]
	fate, _, err := s.fate(ctx, cmd)
	if err == nil && (fate == instruments.FateFinished || fate == instruments.FateRunning) {
		return fmt.Errorf("its Recover says that command %s is %s, "+
			"which it knows with other parameters: the outcome of one experiment would be taken for that of another. "+
			"Keep the parameters in the ledger, and answer \"unknown\"", cmd.ID, fate)
	}
	return s.restart(ctx) // which forgets what was asked
}
