package instrumenttest

import (
	"context"
	"fmt"

	"github.com/campaignd/campaignd/adapters/instruments"
)

// safe has the device brought to its safe state in the middle of a command, and again with nothing
// under way. It comes last: a device may take no command afterwards until a person has been there.
func safe(ctx context.Context, s *Session) error {
	safer, ok := s.inst.(instruments.Safer)
	if !ok || !safer.Secures() {
		return skip("it declares no safe state: an abort calls off the commands under way, and no more")
	}
	order := func(when string) error {
		_, err := call(s, ctx, "Safe", func(ctx context.Context) (struct{}, error) {
			return struct{}{}, safer.Safe(ctx, "a check of campaignd")
		})
		if err != nil {
			return fmt.Errorf("its Safe, %s: %w", when, err)
		}
		return nil
	}
	cmd := s.command(0)
	if err := s.start(ctx, cmd); err != nil {
		return err
	}
	if err := order("in the middle of a command"); err != nil {
		return err
	}
	if _, err := s.await(ctx, cmd); err != nil {
		return fmt.Errorf("command %s was under way when the device was brought to its safe state, and has no end: %w", cmd.ID, err)
	}
	for range 2 {
		if err := order("with nothing under way"); err != nil {
			return err
		}
	}
	return nil
}
