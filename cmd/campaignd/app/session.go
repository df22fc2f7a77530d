package app

import (
	"context"
	"errors"
	"io/fs"
	"strings"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/store"
	"github.com/campaignd/campaignd/internal/control"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/lab"
)

// session is access to a campaign in its store, wherever that is kept. Only
// what differs by that asks which it is.
type session struct {
	lab.Store
	// folder is the store's folder; the campaign's identifier where it is on a
	// server.
	folder string
	// name is the campaign the command is about.
	name string
}

// access says what a command does with a store.
type access int

const (
	reading access = iota
	writing
)

// openToRead opens the store that a command's arguments name, or the only one
// there is, for reading.
func (a *app) openToRead(ctx context.Context, args []string) (target, *session, error) {
	t, err := a.optionalTarget(args)
	if err != nil {
		return target{}, nil, err
	}
	s, err := a.open(ctx, t, reading)
	return t, s, err
}

// open opens the target's store, which must exist, and finds the campaign.
func (a *app) open(ctx context.Context, t target, mode access) (*session, error) {
	s, err := a.openStore(ctx, t, mode)
	if err != nil || s.name != "" {
		return s, err
	}
	if s.name, err = onlyOf(lab.Campaigns(ctx, s)); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// openStore opens a store that must exist, or speaks to the process that holds
// it.
func (a *app) openStore(ctx context.Context, t target, mode access) (*session, error) {
	if t.remote {
		return a.dial(ctx, t)
	}
	s := &session{folder: t.store, name: t.campaign}
	err := lab.Patiently(ctx, func() (err error) {
		if mode == reading {
			s.Store, err = lab.Look(ctx, t.store, a.registry)
		} else {
			o := a.holding(lab.LocalOptions{MustExist: true, Campaign: t.campaign})
			s.Store, err = lab.Take(ctx, t.store, o)
		}
		return err
	})
	if err != nil {
		return nil, openingFailed(t.store, err)
	}
	return s, nil
}

// openCopy opens a store as it is on the disk, past the process that runs it:
// for what needs the log's own hashes or takes long.
func openCopy(folder string) (events.Store, error) {
	log, err := store.Open(folder, store.Options{ReadOnly: true})
	if err != nil {
		return nil, openingFailed(folder, err)
	}
	return log, nil
}

// openingFailed says what can be done about a store that cannot be opened.
func openingFailed(store string, err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist) && !errors.Is(err, events.ErrDamaged):
		return badStore("there is no store %s yet; `campaignd run FILE` makes one", store)
	case errors.Is(err, fs.ErrPermission):
		return badStore("%w; a store is private: its owner can let others read it with chmod "+
			"-R go+rX %s",
			err, shellArg(store))
	}
	return storeError{err}
}

// holding completes the options with which this program holds a store.
func (a *app) holding(o lab.LocalOptions) lab.LocalOptions {
	o.Registry = a.registry
	o.Build = thisBuild().Build
	o.Account = control.OwnAccount()
	return o
}

// openLocal opens a store for this process alone, or makes it.
func (a *app) openLocal(ctx context.Context, store string, o lab.LocalOptions) (*lab.Local, error) {
	local, err := lab.OpenLocal(ctx, store, a.holding(o))
	if err != nil {
		return nil, storeError{err}
	}
	return local, nil
}

// core folds the campaign.
func (s *session) core(ctx context.Context) (*engine.Core, error) { return s.Load(ctx, s.name) }

// held reports whether another process holds the session's store, on this
// machine or not.
func (s *session) held() bool {
	switch s.Store.(type) {
	case *lab.Peer, *lab.Remote:
		return true
	}
	return false
}

// onlyOf returns the only one of the campaigns in a store.
func onlyOf(names []string, err error) (string, error) {
	switch {
	case err != nil:
		return "", err
	case len(names) == 0:
		return "", badStore("the store holds no campaign yet; `campaignd run FILE` starts one")
	case len(names) == 1:
		return names[0], nil
	}
	return "", badInput("the store holds several campaigns: choose one of %s with --campaign",
		strings.Join(names, ", "))
}
