//go:build unix

package process_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// Law: a command that certainly was not sent, since the program is out of reach, is
// refused: the experiment is put off and nobody has to look. The command may still
// be sent later.
func TestOutOfReachIsRefused(t *testing.T) {
	t.Parallel()
	cfg, dir := misbehaving(t, "fails")
	up := filepath.Join(dir, "up")
	must.Do(t, os.WriteFile(up, nil, 0o600))
	cfg.Command = append([]string{"sh", "-c", `test -e "$0" && exec "$@"`, up}, cfg.Command...)
	cfg.ReplyWithin = definition.Duration(2 * time.Second)
	inst, _ := open(t, cfg)
	inst.Hurry()
	ctx := within(t, 20*time.Second)
	must.Get(inst.Describe(ctx))(t)
	must.Do(t, errors.Join(os.Remove(up), inst.Program().Kill()))
	for inst.Program() != nil {
		time.Sleep(time.Millisecond)
	}
	if err := inst.Start(ctx, command(1)); !errors.Is(err, instruments.ErrRefused) ||
		errors.Is(err, instruments.ErrPermanent) {
		t.Errorf("out of reach, Start says %v", err)
	}
	starts(t, dir, 0)
	must.Do(t, os.WriteFile(up, nil, 0o600))
	if err := inst.Start(ctx, command(1)); err != nil {
		t.Error(err)
	}
	starts(t, dir, 1)
}
