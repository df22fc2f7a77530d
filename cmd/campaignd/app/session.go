package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/events/store"
	"github.com/campaignd/campaignd/internal/control"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/lab"
)

// session is access to a store: opened by this process, or through the socket
// of the process that holds it. Commands cannot tell the difference.
type session struct {
	app *app
	// log is for reading.
	log events.Log
	// owner is the process that holds the store, nil where this one does.
	owner *control.Client
	own   events.Store
	// host writes; nil where the store is only read, or held by another process.
	host *lab.Local
	// store is the folder.
	store string
	// name is the campaign the command is about.
	name string
	// remote is set where the owner is a server: the store is not on this machine.
	remote bool
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
	if err != nil {
		return nil, err
	}
	if s.remote {
		return s, nil // a server is asked for a campaign
	}
	if err := s.choose(ctx, t.campaign); err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

// choose finds the campaign that a command is about; empty: the only one there is.
func (s *session) choose(ctx context.Context, name string) (err error) {
	if s.name = name; name == "" {
		s.name, err = onlyCampaign(ctx, s.log)
	}
	return err
}

// openStore opens a store that must exist, or speaks to the process that holds it.
// For reading, it is opened as it is now where nobody can be spoken to: a copy on a
// read-only disk, a store of another user, one that is held by another command.
func (a *app) openStore(ctx context.Context, t target, mode access) (s *session, err error) {
	if t.remote {
		return a.dial(ctx, t)
	}
	err = lab.Patiently(ctx, func() error {
		owner, err := control.Dial(ctx, t.store)
		if err == nil {
			s = &session{app: a, log: owner, owner: owner, store: t.store}
			return nil
		}
		if mode == reading {
			s, err = a.openDirectly(t.store)
			return err
		}
		if !errors.Is(err, control.ErrNobody) {
			return storeError{err}
		}
		h, err := a.openHost(ctx, t.store, lab.LocalOptions{MustExist: true, Campaign: t.campaign})
		if err != nil {
			return openingFailed(t.store, err)
		}
		s = a.sessionOf(h, t)
		return nil
	})
	return s, err
}

// openDirectly opens a store for reading, past the process that runs it: for what
// needs the log's own hashes or takes long.
func (a *app) openDirectly(folder string) (*session, error) {
	own, err := store.Open(folder, store.Options{ReadOnly: true})
	if err != nil {
		return nil, openingFailed(folder, err)
	}
	return &session{app: a, log: own, own: own, store: folder}, nil
}

// openingFailed says what can be done about a store that cannot be opened.
func openingFailed(store string, err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist) && !errors.Is(err, events.ErrDamaged):
		return badStore("there is no store %s yet; `campaignd run FILE` makes one", store)
	case errors.Is(err, fs.ErrPermission):
		return badStore("%w; a store is private: its owner can let others read it with chmod -R go+rX %s",
			err, shellArg(store))
	}
	return storeError{err}
}

// openHost opens a store for this process alone, and makes it where there is none.
func (a *app) openHost(ctx context.Context, store string, o lab.LocalOptions) (*lab.Local, error) {
	o.Registry = a.registry
	o.Build = thisBuild().Build
	o.Account = control.OwnAccount()
	h, err := lab.OpenLocal(ctx, store, o)
	if err != nil {
		return nil, storeError{err}
	}
	return h, nil
}

// sessionOf is access to a store that this process holds.
func (a *app) sessionOf(h *lab.Local, t target) *session {
	return &session{app: a, log: h.Log(), own: h.Log(), host: h, store: t.store, name: t.campaign}
}

func (s *session) close() error {
	if s.host != nil {
		return s.host.Close()
	}
	return s.log.Close()
}

// core folds the campaign. Past the process that holds the store it is read from the
// disk, where everything is that was ever acknowledged: to send a long campaign takes
// ten times as long, of that process's time too. What cannot be read there is asked for.
func (s *session) core(ctx context.Context) (*engine.Core, error) {
	if s.owner != nil && !s.remote {
		if direct, err := s.app.openDirectly(s.store); err == nil {
			core, err := engine.Load(ctx, s.app.registry, direct.log, s.name)
			if err = errors.Join(err, direct.close()); err == nil {
				return core, nil
			}
		}
	}
	return engine.Load(ctx, s.app.registry, s.log, s.name)
}

// submit has a request fulfilled, by the process that runs the campaign if
// there is one.
func (s *session) submit(ctx context.Context, r engine.Request) ([]events.Event, error) {
	if s.owner != nil {
		return s.owner.Submit(ctx, s.name, r)
	}
	r.Account = control.OwnAccount()
	return s.host.Submit(ctx, s.name, r)
}

// definition returns the campaign's definition in force, without folding the campaign. It is read from the disk where
// the process that held the store has ended meanwhile, as it does once it has recorded that the campaign is stopped.
func (s *session) definition(ctx context.Context) (*definition.Campaign, error) {
	def, err := definitionIn(ctx, s.log, s.name)
	if err == nil || s.owner == nil || s.remote {
		return def, err
	}
	direct, failed := s.app.openDirectly(s.store)
	if failed != nil {
		return nil, err
	}
	def, err = definitionIn(ctx, direct.log, s.name)
	return def, errors.Join(err, direct.close())
}

func definitionIn(ctx context.Context, log events.Log, name string) (def *definition.Campaign, err error) {
	for e, err := range lab.ReadKinds(ctx, log, name, events.KindCampaignDefined, events.KindCampaignAmended) {
		if err != nil {
			return nil, err
		}
		payload, err := events.Decode(e)
		if err != nil {
			return nil, err
		}
		switch p := payload.(type) {
		case *events.CampaignDefined:
			def = &p.Definition
		case *events.CampaignAmended:
			def = &p.Definition
		}
	}
	if def == nil {
		return nil, fmt.Errorf("%w: %q", engine.ErrNoCampaign, name)
	}
	return def, nil
}

// onlyCampaign returns the name of the campaign in a store that holds one.
func onlyCampaign(ctx context.Context, log events.Log) (string, error) {
	names, err := lab.Campaigns(ctx, log)
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
