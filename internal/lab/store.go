package lab

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/events/store"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/engine/control"
	"github.com/campaignd/campaignd/internal/files/registry"
	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/internal/view"
	"github.com/campaignd/campaignd/projections/campaign"
)

// Store is a store of campaigns to those who ask something of it, wherever it
// is: held by this process ([Local]), by another one ([Peer]) or by a server
// ([Remote]), or read where it is kept ([Copy]).
type Store interface {
	// Log is the store's log, for reading.
	Log() events.Log
	// Record returns the record of a campaign, for readers.
	Record(ctx context.Context, campaign string) (*view.Record, error)
	// Submit has a person's request recorded, by the loop of the campaign where
	// it is run. An error that wraps [events.ErrClosed] says that the run has
	// just ended: nothing was recorded, and the store is free, or soon will be.
	Submit(ctx context.Context, campaign string, r engine.Request) ([]events.Event, error)
	// Attach is Submit of a request that attaches a file, with its bytes, which
	// are on the disk before the event is: the digest and the size that it
	// records are theirs.
	Attach(ctx context.Context, campaign string, r engine.Request, content io.Reader) ([]events.Event, error)
	// OpenFile opens a file of a campaign that is kept. The reader gives the whole file as it
	// was attached, or ends with an error.
	OpenFile(ctx context.Context, campaign string, f *campaign.File) (io.ReadCloser, error)
	// Status says who holds the store, and which campaigns it runs.
	Status() control.Status
	// Close lets go of the store. Another process that holds it is not
	// affected.
	Close() error
}

// holdable is a store that this process holds, or can take for a moment.
type holdable interface {
	Store
	// hold calls do while this process holds the store.
	hold(ctx context.Context, do func(*Local) error) error
	// drives reports whether a campaign of the store is driven, or about to be.
	drives(c *Campaign) bool
}

// Take takes a store for this process, or connects to the process that holds
// it.
func Take(ctx context.Context, address string, o LocalOptions) (Store, error) {
	peer, err := dial(ctx, address, o.Registry)
	if err == nil {
		return peer, nil
	}
	if !errors.Is(err, control.ErrNobody) {
		return nil, err
	}
	local, err := OpenLocal(ctx, address, o)
	if err != nil {
		return nil, err
	}
	return local, nil
}

// Look opens a store for reading: through the process that holds it, or as it
// is on the disk where none can be spoken to. That may be a copy on a read-only
// disk, a store of another user, or one that another command holds for a
// moment.
func Look(ctx context.Context, address string, reg registry.Registry) (Store, error) {
	if peer, err := dial(ctx, address, reg); err == nil {
		return peer, nil
	}
	return OpenCopy(address, reg)
}

// Copy is a store past the process that holds it: as it was on the disk when it
// was opened, or, in a database, as it is.
type Copy struct {
	address  string
	log      events.Store
	registry registry.Registry
}

// OpenCopy opens a store as it is on the disk, or in the database.
func OpenCopy(address string, reg registry.Registry) (*Copy, error) {
	log, err := store.Open(address, store.Options{ReadOnly: true})
	if err != nil {
		return nil, err
	}
	return &Copy{address: address, log: log, registry: reg}, nil
}

// Log implements [Store]. On the disk it does not grow.
func (c *Copy) Log() events.Log { return c.log }

// Record implements [Store]. It folds the log, and notices any damage in it; a snapshot would
// not be read faster than one campaign is folded.
func (c *Copy) Record(ctx context.Context, campaign string) (*view.Record, error) {
	return view.FoldRecord(ctx, c.registry, c.log, campaign)
}

// Submit implements [Store]; it always fails, with [events.ErrReadOnly].
func (c *Copy) Submit(context.Context, string, engine.Request) ([]events.Event, error) {
	return nil, events.ErrReadOnly
}

// Status implements [Store]: it runs nothing.
func (c *Copy) Status() control.Status { return control.Status{} }

// Close implements [Store].
func (c *Copy) Close() error { return c.log.Close() }

// Peer is a store that another process holds: of this machine, or of any that
// reaches the store's database.
type Peer struct {
	*control.Client
	address  string
	registry registry.Registry
	log      events.Store // in a database, where all read it; nil elsewhere
}

// dial connects to the process that holds a store. The error wraps [control.ErrNobody] if none
// does.
func dial(ctx context.Context, address string, reg registry.Registry) (*Peer, error) {
	client, err := control.Dial(ctx, address)
	if err != nil {
		return nil, err
	}
	peer := &Peer{Client: client, address: address, registry: reg}
	if store.InDatabase(address) {
		peer.log, err = store.Open(address, store.Options{ReadOnly: true})
	}
	if err != nil {
		return nil, errors.Join(err, client.Close())
	}
	return peer, nil
}

// Log implements [Store].
func (p *Peer) Log() events.Log {
	if p.log != nil {
		return p.log
	}
	return p.Client
}

// Close implements [Store].
func (p *Peer) Close() error {
	var err error
	if p.log != nil {
		err = p.log.Close()
	}
	return errors.Join(err, p.Client.Close())
}

// Record implements [Store]. The campaign is read from the disk, which holds all acknowledged
// events: to send a long campaign takes ten times as long, of the other process's time too. If
// it cannot be read there the process is asked for it.
func (p *Peer) Record(ctx context.Context, campaign string) (*view.Record, error) {
	if p.log != nil {
		return view.FoldRecord(ctx, p.registry, p.log, campaign)
	}
	if c, err := OpenCopy(p.address, p.registry); err == nil {
		record, err := c.Record(ctx, campaign)
		if err = errors.Join(err, c.Close()); err == nil {
			return record, nil
		}
	}
	return view.FoldRecord(ctx, p.registry, p.Client, campaign)
}

// Load returns a campaign of a store for readers. The core is the caller's.
func Load(ctx context.Context, s Store, campaign string) (core *engine.Core, err error) {
	record, err := s.Record(ctx, campaign)
	if err == nil {
		record.Read(func(now *engine.Core) { core = now.Clone() })
	}
	return core, err
}

// Running is a process that runs a campaign, and the campaign's activity.
type Running struct {
	PID int `json:"pid"`
	// Host is its machine, empty for this one.
	Host string `json:"host,omitempty"`
	control.Running
	Build events.Build `json:"build"`
	// Last is the position of the newest event in the store.
	Last events.Position `json:"last"`
}

// RunningIn returns the run of a campaign of a store, nil if it is not run.
func RunningIn(s Store, campaign string) *Running {
	status := s.Status()
	for _, r := range status.Campaigns {
		if r.Campaign == campaign {
			return &Running{PID: status.PID, Host: status.Host, Running: r, Build: status.Build, Last: status.Last}
		}
	}
	return nil
}

// Campaigns returns the names of the campaigns in a store, in the order of
// their beginning.
func Campaigns(ctx context.Context, s Store) ([]string, error) {
	if own, ok := s.Log().(events.Store); ok {
		return own.Campaigns(ctx)
	}
	var names []string
	for e, err := range events.ReadKinds(ctx, s.Log(), "", events.KindCampaignDefined) {
		if err != nil {
			return nil, err
		}
		names = append(names, e.Campaign)
	}
	return names, nil
}

// Definition returns a campaign's definition in force, without folding the
// campaign: it reads the kinds of event alone that hold one. The last one is in
// force.
func Definition(ctx context.Context, s Store, campaign string) (def *definition.Campaign, err error) {
	defining := []events.Kind{events.KindCampaignDefined, events.KindCampaignAmended}
	for e, err := range events.ReadKinds(ctx, s.Log(), campaign, defining...) {
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
		return nil, fmt.Errorf("%w: %q", engine.ErrNoCampaign, campaign)
	}
	return def, nil
}

// Patience is the time to wait for a store that is changing hands.
const Patience = 3 * time.Second

// retryPause lies between two attempts to use a store that is changing hands.
const retryPause = 50 * time.Millisecond

// Patiently tries to open a store until it is not in use any more, up to
// [Patience]: most commands have one open for a moment only.
func Patiently(ctx context.Context, open func() error) error {
	return Persist(ctx, false, open, func() error { return nil })
}

// Persist finds a store and has it do something, and tries again, up to
// [Patience], while the store changes hands: where another process has it open
// for a moment, or where the run that a request was on its way to has just
// ended, so that nothing was recorded.
//
// A request that can be repeated, because it has an identifier, is also
// repeated where it is uncertain whether it was recorded: the process that
// holds the store by then knows. As a store whose process was killed is
// recovered first, that may take longer.
func Persist(ctx context.Context, repeatable bool, find, do func() error) error {
	var unsure error // of an attempt before: it may be recorded
	patience := Patience
	for began := time.Now(); ; {
		err := find()
		if err == nil {
			err = do()
		} else if unsure != nil { // the store is being taken over
			err = unsure
		}
		if repeatable && problem.CodeOf(err) == problem.Uncertain &&
			!errors.Is(err, control.ErrCutOffEarlier) {
			unsure = err
			patience = 3 * Patience
		}
		again := errors.Is(err, events.ErrInUse) || errors.Is(err, events.ErrClosed) ||
			unsure != nil && errors.Is(err, unsure)
		if err == nil || !again || time.Since(began) > patience {
			return err
		}
		select {
		case <-time.After(retryPause):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
