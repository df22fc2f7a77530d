package instrumenttest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/campaignd/campaignd/adapters/instruments"
)

// handled is a command that was measured, and the handle that the instrument gave it.
type handled struct {
	command instruments.Command
	handle  string
	outcome instruments.Outcome
}

// handle asks a new process by a handle alone. The suite cannot reach into a ledger, so it asks about a
// command that no ledger has, as about one whose ledger is lost: with the handle of a run that there
// was, and with one of a run that never was. What has a handle has begun, so that "not started" is wrong of
// both; the outcome of a run is that of its handle, and the other one has none.
func handle(ctx context.Context, s *Session) error {
	if err := s.mustRecover(); err != nil {
		return err
	}
	if s.handled == nil {
		return skip("it gave no handle: where its ledger is lost, commands under way are unknown")
	}
	if err := s.restart(ctx); err != nil {
		return err
	}
	there := s.commandAt(s.handled.command.Parameters)
	there.Handle = s.handled.handle
	o, err := s.byHandle(ctx, there)
	switch {
	case err != nil:
		return err
	case o.Status == instruments.Unknown:
		s.remark("a run is not found by its handle where the ledger is lost: a person would have to look")
	case o.Status != instruments.Measured:
		return fmt.Errorf("asked by the handle %q of a run that was measured, with its ledger lost, it says %q (%s)",
			there.Handle, o.Status, o.Cause)
	case !reflect.DeepEqual(values(o), values(s.handled.outcome)):
		return fmt.Errorf("asked by the handle %q it gives %v, and the run of that handle measured %v: it is another one's",
			there.Handle, values(o), values(s.handled.outcome))
	}
	never := s.commandAt(s.handled.command.Parameters)
	never.Handle = "no-run-" + strings.ToLower(rand.Text()[:10])
	o, err = s.byHandle(ctx, never)
	if err == nil && o.Status != instruments.Unknown {
		err = fmt.Errorf("asked by the handle %q, which no run has, it says %q: it did not ask its device. "+
			"What the device does not know is unknown", never.Handle, o.Status)
	}
	return err
}

// values are the quantities that were measured.
func values(o instruments.Outcome) (list []string) {
	for _, q := range o.Measurement.All() {
		list = append(list, fmt.Sprintf("%s %v %s", q.Name, q.Value, q.Unit))
	}
	return list
}

// byHandle returns a new process's account of a command that its ledger does not have. An answer that
// it does not know, and an error, are unknown.
func (s *Session) byHandle(ctx context.Context, cmd instruments.Command) (instruments.Outcome, error) {
	unknown := instruments.Outcome{Status: instruments.Unknown}
	fate, _, err := s.fate(ctx, cmd)
	switch {
	case errors.As(err, new(*ignoredContextError)):
		return unknown, err
	case fate == instruments.FateNotStarted:
		return unknown, fmt.Errorf("its Recover says that a command with the handle %q was not started: what has a handle has begun. "+
			"Ask the device by it, or answer \"unknown\"", cmd.Handle)
	case err != nil || fate == instruments.FateUnknown:
		return unknown, s.acts.acted(cmd, 0)
	}
	o, err := s.await(ctx, cmd)
	if err != nil {
		return unknown, fmt.Errorf("its Await of a command with the handle %q, which it says is %s: %w", cmd.Handle, fate, err)
	}
	return o, s.acts.acted(cmd, 0)
}
