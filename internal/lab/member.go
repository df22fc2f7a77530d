package lab

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/control"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/problem"
)

// retryAfter is how soon a store is tried again that could not be opened.
const retryAfter = 2 * time.Second

// store is a store of the lab: held by this process, or read through the one that holds it.
type member struct {
	lab  *Lab
	path string

	mu        sync.Mutex
	host      *Local          // nil where another process holds the store
	owner     *control.Client // that process; nil where this one holds it
	err       error           // why the store cannot be used now
	campaigns map[string]*Campaign
	order     []string // of their beginnings
	// ready is closed once everything that was in the store is folded, or it has turned
	// out that it cannot be.
	ready chan struct{}
	once  sync.Once
}

func newMember(l *Lab, path string) *member {
	return &member{lab: l, path: path, campaigns: make(map[string]*Campaign), ready: make(chan struct{})}
}

// base is the store's name without its ending.
func (s *member) base() string { return strings.TrimSuffix(filepath.Base(s.path), StoreEnding) }

// wait waits until the store has been read for the first time.
func (s *member) wait(ctx context.Context) error {
	select {
	case <-s.ready:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-s.lab.ctx.Done():
		return events.ErrClosed
	}
}

// hold opens the store and follows its log until the lab is closed.
func (s *member) hold() {
	for s.lab.ctx.Err() == nil {
		log, release, err := s.open(s.lab.ctx)
		if err == nil {
			ctx, done := s.mending(s.lab.ctx, log)
			err = s.follow(ctx, log)
			mended := context.Cause(ctx) == errMended
			done()
			release()
			if mended {
				continue
			}
		}
		if s.lab.ctx.Err() != nil {
			return
		}
		s.mu.Lock()
		if !errors.Is(err, events.ErrClosed) { // else the owner has let go of it: it is our turn
			s.err = err
		}
		s.mu.Unlock()
		s.once.Do(func() { close(s.ready) })
		s.lab.announce()
		select {
		case <-time.After(retryAfter):
		case <-s.lab.ctx.Done():
		}
	}
}

// errMended ends the following of a log that has stopped, on a disk that takes writes again.
var errMended = errors.New("the disk takes writes again")

// mending returns a context that ends, for errMended, once a log that has stopped can be opened
// again. Until then what it holds is read, and what is to be recorded is refused: nothing that was
// acknowledged is lost. Opening compares the log with its head, as after a crash. done ends
// watching.
func (s *member) mending(ctx context.Context, log events.Log) (_ context.Context, done func()) {
	own, ok := log.(events.Store)
	if !ok {
		return ctx, func() {} // of another process, which sees to it
	}
	ctx, cancel := context.WithCancelCause(ctx)
	s.lab.wg.Go(func() {
		select {
		case <-own.Failed():
		case <-ctx.Done():
			return
		}
		s.mu.Lock()
		s.err = own.Err()
		s.mu.Unlock()
		s.lab.options.Log("%s takes no events: %v", s.path, own.Err())
		s.lab.announce()
		for {
			select {
			case <-time.After(retryAfter):
			case <-ctx.Done():
				return
			}
			if own.Probe() == nil {
				s.lab.options.Log("%s is opened again: its disk takes writes", s.path)
				cancel(errMended)
				return
			}
		}
	})
	return ctx, func() { cancel(nil) }
}

// open takes the store, or connects to the process that holds it.
func (s *member) open(ctx context.Context) (log events.Log, release func(), err error) {
	owner, err := control.Dial(ctx, s.path)
	if err == nil {
		s.mu.Lock()
		s.owner, s.err = owner, nil
		s.mu.Unlock()
		return owner, func() {
			s.mu.Lock()
			s.owner = nil
			s.mu.Unlock()
			_ = owner.Close()
		}, nil
	}
	if !errors.Is(err, control.ErrNobody) {
		return nil, nil, err
	}
	h, err := OpenLocal(ctx, s.path, LocalOptions{
		Registry: s.lab.options.Registry,
		Build:    s.lab.options.Build,
		Account:  s.lab.options.Account,
		Slots:    s.lab.slots,
		Open:     s.lab.options.open,
		Remark:   func(campaign, text string) { s.lab.options.Log("%s: %s", campaign, text) },
	})
	if err != nil {
		return nil, nil, err
	}
	server, err := h.Serve()
	if err != nil {
		s.lab.options.Log("other commands cannot reach %s: %v", s.path, err)
	}
	s.mu.Lock()
	s.host, s.err = h, nil
	s.mu.Unlock()
	return h.Log(), func() {
		for _, c := range s.list() {
			c.halt() // every run ends before the store does
		}
		if server != nil {
			server.Close()
		}
		s.mu.Lock()
		s.host = nil
		s.mu.Unlock()
		if err := h.Close(); err != nil {
			s.lab.options.Log("the store %s did not close: %v", s.path, err)
		}
	}, nil
}

// follow folds the log for as long as it can be read.
func (s *member) follow(ctx context.Context, log events.Log) error {
	var names []string
	for e, err := range log.Read(ctx, 0) { // once, so that ready means: everything up to now
		if err != nil {
			return err
		}
		s.take(e)
		if !slices.Contains(names, e.Campaign) {
			names = append(names, e.Campaign)
		}
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	s.mu.Lock()
	ours := s.host != nil
	s.mu.Unlock()
	if ours {
		for _, name := range names {
			s.campaign(name).goOn()
		}
	}
	s.once.Do(func() { close(s.ready) }) // after that: what was started is not driven by hand
	s.lab.announce()
	for e, err := range log.Follow(ctx, 0) {
		if err != nil {
			return err
		}
		s.take(e)
	}
	return context.Cause(ctx)
}

// take folds an event into its campaign. An event that was folded before is left alone.
func (s *member) take(e events.Event) {
	s.mu.Lock()
	c := s.campaigns[e.Campaign]
	if c == nil {
		c = newCampaign(s, e.Campaign)
		s.campaigns[e.Campaign] = c
		s.order = append(s.order, e.Campaign)
	}
	s.mu.Unlock()
	c.take(e)
}

// list returns the campaigns in the order of their beginnings.
func (s *member) list() []*Campaign {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([]*Campaign, len(s.order))
	for i, name := range s.order {
		all[i] = s.campaigns[name]
	}
	return all
}

// campaign returns the campaign of a name, nil where there is none.
func (s *member) campaign(name string) *Campaign {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.campaigns[name]
}

// failure is why the store cannot be used, or takes no events now.
func (s *member) failure() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// holder returns what writes to the store: this process's host or another process.
func (s *member) holder() (*Local, *control.Client, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.host != nil:
		return s.host, nil, nil
	case s.owner != nil:
		return nil, s.owner, nil
	case s.err != nil:
		return nil, nil, s.err
	}
	return nil, nil, problem.New(problem.Unavailable, "the store %s is just being opened", filepath.Base(s.path)).
		With(problem.Remedy{Text: "try again in a moment"})
}

// log returns the store's log, for reading.
func (s *member) log() (events.Log, error) {
	h, owner, err := s.holder()
	switch {
	case err != nil:
		return nil, err
	case h != nil:
		return h.Log(), nil
	}
	return owner, nil
}

// define begins a campaign in the store.
func (s *member) define(ctx context.Context, defined events.CampaignDefined, by engine.Request) error {
	h, owner, err := s.holder()
	if err != nil {
		return err
	}
	if owner != nil {
		return problem.New(problem.Unavailable, "the store %s is held by process %d, which begins its campaigns itself",
			filepath.Base(s.path), owner.Status().PID)
	}
	return h.Define(ctx, defined, by)
}

// await waits until a campaign is folded up to a sequence.
func (s *member) await(ctx context.Context, name string, at events.Sequence) (*Campaign, error) {
	for {
		changed := s.lab.Changed()
		if c := s.campaign(name); c != nil && c.Sequence() >= at {
			return c, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-s.lab.ctx.Done():
			return nil, events.ErrClosed
		}
	}
}

// load folds a campaign anew, for what takes longer than a list may.
func (s *member) load(ctx context.Context, name string) (*engine.Core, error) {
	log, err := s.log()
	if err != nil {
		return nil, err
	}
	return engine.Load(ctx, s.lab.options.Registry, log, name)
}
