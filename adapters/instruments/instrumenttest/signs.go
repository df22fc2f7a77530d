package instrumenttest

import (
	"context"
	"fmt"

	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/events"
)

// signs holds an instrument to what it says while it works on a command: people wait by it, and its
// silence is measured from it.
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
	_, err := s.expectMeasured(ctx, cmd)
	stop()
	<-over
	if err != nil {
		return err
	}
	if len(heard) == 0 && signaller.Signals() {
		return fmt.Errorf("it declares signs of life, and gave none of command %s until its end", cmd.ID)
	}
	if len(heard) == 0 {
		return skip("it gave no sign of life: its silence is measured from the start of a command")
	}
	return checkSigns(cmd, heard)
}

// checkSigns checks what was said of a command, in order.
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
		for _, text := range []string{sign.Handle, sign.Text} {
			if text != instruments.Legible(text, instruments.MaxSign) {
				return fmt.Errorf("a sign of command %s cannot be recorded as it is, since it is longer than %d characters, "+
					"or some of them control a terminal: %q", cmd.ID, instruments.MaxSign, text)
			}
		}
		if sign.Fraction == nil {
			continue
		}
		if f := *sign.Fraction; !(f >= 0 && f <= 1) {
			return fmt.Errorf("a sign of command %s says that %v of it is done: a fraction is from 0 to 1", cmd.ID, f)
		}
		if *sign.Fraction < done {
			return fmt.Errorf("a sign of command %s says that %v of it is done, and an earlier one %v",
				cmd.ID, *sign.Fraction, done)
		}
		done = *sign.Fraction
	}
	return nil
}
