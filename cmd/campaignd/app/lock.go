package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"time"

	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/adapters/instruments/instrumenttest"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/lock"
)

// takeDevice takes a device for this process, by the identity that it described, or
// its name where it has none.
func takeDevice(d instruments.Description, campaign, where string, remark func(format string, args ...any)) (release func(), err error) {
	h := lock.Holder{
		Device: cmp.Or(d.Identity, d.Name), Campaign: campaign, Store: where, PID: os.Getpid(), Since: time.Now().UTC(),
		User: fmt.Sprintf("user %d", os.Getuid()),
	}
	if who, err := user.Current(); err == nil {
		h.User = who.Username
	}
	if path, err := filepath.Abs(where); err == nil {
		h.Store = path
	}
	release, err = lock.Take(lock.Dir(), h)
	if errors.Is(err, errors.ErrUnsupported) {
		remark("nothing keeps other campaigns off %s: %v", h.Device, err)
		return func() {}, nil
	}
	return release, err
}

// lock takes the device for as long as this run lives.
func (r *running) lock(d instruments.Description) (err error) {
	if r.unlock == nil {
		r.unlock, err = takeDevice(d, r.runner.Campaign, r.target.store, func(format string, args ...any) { r.display.remark(fmt.Sprintf(format, args...)) })
	}
	return err
}

// lockNew is lock for a campaign that is not defined yet: whoever is refused has
// written nothing.
func (r *running) lockNew(ctx context.Context, def definition.Campaign) error {
	if r.instrument == nil {
		return nil
	}
	d, err := r.instrument.Describe(ctx)
	if err != nil || !engine.Exclusive(def, d) {
		return err
	}
	return r.lock(d)
}

// lockForCheck takes the device for a check that moves it.
func (a *app) lockForCheck(ctx context.Context, t target, env instrumenttest.Env) (release func(), err error) {
	instrument, err := env.Open(ctx)
	if err != nil {
		return nil, err
	}
	d, err := instrument.Describe(ctx)
	err = errors.Join(err, closeInstrument(instrument))
	if err != nil || !engine.Exclusive(env.Definition, d) {
		return func() {}, err
	}
	return takeDevice(d, "", t.path, a.remark)
}
