package instrumenttest

import (
	"context"
	"fmt"

	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/events"
)

// signs examines the signs of life of a command: people wait by them, and the instrument's silence
// is measured from them.
func signs(ctx context.Context, s *Session) error {
	signaller, ok := s.inst.(instruments.Signaller)
	if !ok {
		return skip("it gives no signs of life: its silence is measured from the start of a command")
	}
	cmd := s.command(0)
	listening, stop := context.WithCancel(ctx)
	defer stop()
	var heard []events.Sign
	over := make(chan struct{})
	go func() {
		defer close(over)
		for {
			sign, err := signaller.Sign(listening, cmd)
			if err != nil {
				return
			}
			heard = append(heard, sign)
		}
	}()
	if err := s.start(ctx, cmd); err != nil {
		return err
	}
	outcome, err := s.expectMeasured(ctx, cmd)
	stop()
	<-over
	if err != nil {
		return err
	}
	for _, sign := range heard {
		if sign.Handle != "" {
			s.handled = &handled{cmd, sign.Handle, outcome}
		}
	}
	if len(heard) == 0 && signaller.Signals() {
		return fmt.Errorf("it declares signs of life, and gave none of command %s until its end", cmd.ID)
	}
	if len(heard) == 0 {
		return skip("it gave no sign of life: its silence is measured from the start of a command")
	}
	return checkSigns(cmd, heard)
}

// checkSigns checks the signs of a command, in order.
func checkSigns(cmd instruments.Command, heard []events.Sign) error {
	handle, done := "", 0.0
	for _, sign := range heard {
		if handle != "" && sign.Handle != "" && sign.Handle != handle {
			return fmt.Errorf("command %s had the handle %q, and now %q: by the first it cannot be found any more",
				cmd.ID, handle, sign.Handle)
		}
		if sign.Handle != "" {
			handle = sign.Handle
		}
		kept := instruments.RecordableSign(sign)
		if kept.Handle != sign.Handle || kept.Text != sign.Text || kept.NextBy != sign.NextBy {
			return fmt.Errorf("a sign of command %s cannot be recorded as it is, since a text is longer than %d characters, "+
				"or some of them control a terminal: %+v", cmd.ID, instruments.MaxSign, sign)
		}
		if sign.Fraction == nil {
			continue
		}
		if kept.Fraction == nil {
			return fmt.Errorf("a sign of command %s says that %v of it is done: a fraction is from 0 to 1",
				cmd.ID, *sign.Fraction)
		}
		if *sign.Fraction < done {
			return fmt.Errorf("a sign of command %s says that %v of it is done, and an earlier one %v",
				cmd.ID, *sign.Fraction, done)
		}
		done = *sign.Fraction
	}
	return nil
}
