package instrumenttest

import (
	"context"
	"fmt"

	"github.com/campaignd/campaignd/adapters/instruments"
)

// secondProcess gives a second process of the program a start that the first
// one is working on, as after a crash of campaignd that the first one has
// survived.
func secondProcess(ctx context.Context, s *Session) error {
	if err := s.mustRecover(); err != nil {
		return err
	}
	if _, ok := s.inst.(instruments.Redeliverer); !ok {
		return skip("the instrument has no program that could run twice")
	}
	cmd := s.command(0)
	if err := s.start(ctx, cmd); err != nil {
		return fmt.Errorf("its Start: %w", err)
	}
	// The second one may only answer once the input of the first has ended.
	first := s.inst
	if err := s.open(ctx); err != nil {
		return err
	}
	closed := make(chan error, 1)
	go func() { closed <- closeInstrument(first) }()
	err := s.meets(ctx, cmd)
	if closing := <-closed; err == nil && closing != nil {
		err = fmt.Errorf("its Close: %w", closing)
	}
	return err
}

// meets delivers the start of a command, which another process works on, to the
// present one. That it was not started is excused of a simulation alone; that
// it is not known is always honest.
func (s *Session) meets(ctx context.Context, cmd instruments.Command) error {
	fate, _, err := s.fate(ctx, cmd)
	switch {
	case err != nil:
		return fmt.Errorf("its Recover in a second process: %w", err)
	case fate == instruments.FateUnknown:
		s.issued[cmd.ID].exhausted = true // nothing to wait for
		return skip("the instrument does not know what became of commands of an earlier process: " +
			"a person will have to look")
	case fate == instruments.FateNotStarted && s.description.Simulated:
		s.issued[cmd.ID].exhausted = true
		return skip("a simulation may forget: nothing physical is lost with it")
	case fate == instruments.FateNotStarted:
		return fmt.Errorf("its Recover in a second process says that command %s, whose start was confirmed, is %s",
			cmd.ID, fate)
	case fate == instruments.FateFinished:
		s.remark("the command had ended before the second process received it: its start came again after its end, " +
			"and not while it was worked on")
	}
	if err := s.redeliver(ctx, s.inst, cmd); err != nil {
		return err
	}
	first, err := s.await(ctx, cmd)
	switch {
	case err != nil:
		return fmt.Errorf("its Await in a second process: %w", err)
	case first.Status == instruments.Unknown:
		s.remark("the second process does not know how the command ended: a person would have to look")
		return nil
	}
	if err := instruments.CheckOutcome(s.env.Definition, first); err != nil {
		return fmt.Errorf("in a second process, command %s: %w", cmd.ID, err)
	}
	return s.acts.over(cmd, first.Status)
}
