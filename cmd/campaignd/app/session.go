package app

import (
	"context"
	"errors"
	"io/fs"
	"strings"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/store"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/engine/control"
	"github.com/campaignd/campaignd/internal/lab"
	"github.com/campaignd/campaignd/internal/lab/lablog"
)

// session is an open store and the campaign in it that a command is about. The store is held by
// this process (lab.Local), by another one of this machine (lab.Peer), by a server (lab.Remote), or
// is read as it is on disk (lab.Copy). Only code that differs between these asks which it is.
type session struct {
	lab.Store
	// folder is the store's folder; on a server, the campaign's identifier
	// there.
	folder string
	// name is the campaign the command is about.
	name string
}

// access is a command's way to use a store. A reader never waits for the store's lock, a writer
// takes it or speaks to the process that has it. `reading` never blocks a run, and works on a store
// that cannot be written to.
type access int

const (
	reading access = iota
	writing
)

// openToRead opens for reading the store that a command's optional argument names, or the only one
// there is. The target is returned as well, since the output names it.
func (a *app) openToRead(ctx context.Context, args []string) (target, *session, error) {
	t, err := a.optionalTarget(args)
	if err != nil {
		return target{}, nil, err
	}
	s, err := a.open(ctx, t, reading)
	return t, s, err
}

// reading opens for reading the store that a command's optional argument names,
// and has its campaign looked at as it stands.
func (c *call) reading(args []string, look func(t target, s *session, core *engine.Core) error) error {
	t, s, err := c.openToRead(c.ctx, args)
	if err != nil {
		return err
	}
	defer s.Close()
	core, err := s.core(c.ctx)
	if err != nil {
		return err
	}
	return look(t, s, core)
}

// open opens the target's store, which must exist, and finds the campaign: the
// one that was named, or the only one. The caller closes the session.
func (a *app) open(ctx context.Context, t target, mode access) (*session, error) {
	if err := holdsCampaigns(t); err != nil {
		return nil, err
	}
	s, err := a.openStore(ctx, t, mode)
	if err != nil || s.name != "" {
		return s, err
	}
	if s.name, err = onlyOf(lab.Campaigns(ctx, s)); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// holdsCampaigns refuses the log of a lab, which is a store but has no
// campaign. Without it a command would say that the store holds no campaign
// yet, and suggest to begin one there.
func holdsCampaigns(t target) error {
	if t.remote || !lablog.Is(t.store) {
		return nil
	}
	where := shellArg(t.store)
	return badInput("%s is the log of a lab, and holds no campaign: `campaignd events %s` shows it, `campaignd audit %s` checks it",
		t.store, where, where)
}

// openStore opens a store that must exist, or connects to the process that
// holds it. The session has a name only where the target has one.
func (a *app) openStore(ctx context.Context, t target, mode access) (*session, error) {
	if t.remote {
		return a.dial(ctx, t)
	}
	s := &session{folder: t.store, name: t.campaign}
	// A store can change hands between the look at its lock and the connection to its socket.
	// Patiently tries again while nothing else is wrong.
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
		return nil, openingFailed(t, err)
	}
	if mode == reading {
		a.remarkMarks(ctx, t.store)
	}
	return s, nil
}

// remarkMarks says where a store that is read was moved to, or that it is not all
// there.
func (a *app) remarkMarks(ctx context.Context, address string) {
	marks, err := store.MarksOf(ctx, address)
	switch {
	case err != nil: // the store has been read, as the command asked
	case marks.Moved != "":
		a.remark("%s was moved to %s: this is how it was then.", address, marks.Moved)
	case marks.Unfinished != "":
		a.remark("%s is a copy of %s that was not finished: not all may be there.", address, marks.Unfinished)
	}
}

// openCopy opens a store as it is on the disk, without asking the process that runs it: for
// commands that need the hashes of the log itself (audit, checkpoint, export), and for those that
// take so long that a running campaign should not serve them.
//
// It is the log as it is at this moment; later events of a run are not seen.
func openCopy(folder string) (events.Store, error) {
	log, err := store.Open(folder, store.Options{ReadOnly: true})
	if err != nil {
		return nil, openingFailed(target{store: folder}, err)
	}
	return log, nil
}

// openingFailed adds the remedies to the error of a store that cannot be opened.
func openingFailed(t target, err error) error {
	switch {
	// A missing file within a store is damage, and is reported as that.
	case errors.Is(err, fs.ErrNotExist) && !errors.Is(err, events.ErrDamaged):
		return badStore("there is no store %s yet; %s", t.store, t.howToBegin())
	case errors.Is(err, fs.ErrPermission):
		return badStore("%w; a store is private: its owner can let others read it with chmod "+
			"-R go+rX %s",
			err, shellArg(t.store))
	}
	return storeError{err}
}

// holding completes the options with which this program holds a store: the names for campaign
// files, the build that decisions record, and the account that requests come from.
func (a *app) holding(o lab.LocalOptions) lab.LocalOptions {
	o.Registry = a.registry
	o.Build = thisBuild().Build
	o.Account = control.OwnAccount()
	return o
}

// openLocal opens a store for this process alone, or makes a missing one. The caller closes it.
func (a *app) openLocal(ctx context.Context, store string, o lab.LocalOptions) (*lab.Local, error) {
	local, err := lab.OpenLocal(ctx, store, a.holding(o))
	if err != nil {
		return nil, storeError{err}
	}
	return local, nil
}

// core is the session's campaign as it stands.
func (s *session) core(ctx context.Context) (*engine.Core, error) {
	return lab.Load(ctx, s, s.name)
}

// held reports whether another process holds the session's store, on this
// machine or on a server. Then the log is read over a connection.
func (s *session) held() bool {
	switch s.Store.(type) {
	case *lab.Peer, *lab.Remote:
		return true
	}
	return false
}

// onlyOf returns the only campaign of a store. It takes the results of a call
// that lists them, so that it can be wrapped around one.
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
