package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"

	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/lock"
)

// lock takes the device for as long as this run lives, by the identity that it
// described, or its name where it has none.
func (r *running) lock(d instruments.Description) error {
	if r.unlock != nil {
		return nil
	}
	h := lock.Holder{
		Device: cmp.Or(d.Identity, d.Name), Campaign: r.runner.Campaign, Store: r.target.store, PID: os.Getpid(), Since: r.began,
		User: fmt.Sprintf("user %d", os.Getuid()),
	}
	if who, err := user.Current(); err == nil {
		h.User = who.Username
	}
	if path, err := filepath.Abs(h.Store); err == nil {
		h.Store = path
	}
	release, err := lock.Take(lock.Dir(), h)
	if errors.Is(err, errors.ErrUnsupported) {
		r.display.remark(fmt.Sprintf("nothing keeps other campaigns off %s: %v", h.Device, err))
		return nil
	}
	r.unlock = release
	return err
}

// lockNew is lock for a campaign that is not defined yet: whoever is refused has
// written nothing.
func (r *running) lockNew(ctx context.Context, def events.Definition) error {
	if r.instrument == nil {
		return nil
	}
	d, err := r.instrument.Describe(ctx)
	if err != nil || !engine.Exclusive(def, d) {
		return err
	}
	return r.lock(d)
}
