package lab

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/store"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/files/campaignfile"
	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/internal/view"
)

// retryAfter is the time after which a store that could not be opened is tried again. Soon
// enough for a person who waits for another program to let go, seldom enough for a disk that is
// full.
const retryAfter = 2 * time.Second

// member is a store of the lab: held by this process, or read through the one
// that holds it. Its log is followed, and the campaigns in it are folded.
type member struct {
	lab     *Lab
	path    string
	custody *custodyLog
	// folded is the position up to which all events are folded.
	folded atomic.Int64

	mu sync.Mutex
	// at is a *Local, or a *Peer where another process holds it, nil in between. In
	// a database it is a *Local where this process drives a campaign of it, and a
	// *watched elsewhere.
	at Store
	// log is that of a store in a database, for reading: it is there all the time,
	// also while the store changes hands. Nil in a folder.
	log       events.Store
	wanted    bool                    // it is to be held, in a database
	turn      context.CancelCauseFunc // ends following it as it is held now
	snapshots *view.Snapshots         // nil but where this process holds it
	err       error                   // why the store cannot be used now
	campaigns map[string]*Campaign
	order     []string // of their beginnings
	// ready is closed once everything that was in the store is folded, and read once the
	// readers of its log have caught up, or it has turned out that they cannot.
	ready  chan struct{}
	once   sync.Once
	read   chan struct{}
	caught func()
}

// newMember is a store that is not open yet. hold opens it, in a goroutine of
// its own, so that one store that cannot be opened holds up no other.
func newMember(l *Lab, path string) *member {
	read := make(chan struct{})
	return &member{
		lab:       l,
		path:      path,
		custody:   &custodyLog{own: l.own, stream: events.StoreStream(l.relative(path)), worker: l.worker},
		campaigns: make(map[string]*Campaign),
		ready:     make(chan struct{}),
		read:      read,
		caught:    sync.OnceFunc(func() { close(read) }),
	}
}

// base is the store's name without its ending.
func (s *member) base() string { return store.Name(s.path) }

// relative is the path of a store from the lab's folder on, with slashes, or the path itself if
// no relative path leads there. It names the store's stream in the lab's log, so that a folder
// that is moved keeps its stores' history.
func (l *Lab) relative(path string) string {
	if store.InDatabase(path) {
		return store.Name(path)
	}
	if rel, err := filepath.Rel(l.options.Folder, path); err == nil {
		return filepath.ToSlash(rel)
	}
	return path
}

// wait waits until the store has been read for the first time. A store that cannot be opened
// counts as read: nothing more than its failure can be known.
func (s *member) wait(ctx context.Context) error {
	for _, done := range []chan struct{}{s.ready, s.read} {
		select {
		case <-done:
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-s.lab.ctx.Done():
			return events.ErrClosed
		}
	}
	return nil
}

// hold opens the store and follows its log until the lab is closed.
//
// One turn is one holding: by this process until its disk fails, or through
// another process until that lets go. Trouble is announced and tried again after
// a pause; a mended disk and a store that was let go of are no trouble.
func (s *member) hold() {
	defer s.stopReading()
	for s.lab.ctx.Err() == nil {
		ctx, turn := context.WithCancelCause(s.lab.ctx)
		s.mu.Lock()
		s.turn = turn
		s.mu.Unlock()
		at, release, err := s.open(ctx)
		if err == nil {
			done := s.mending(ctx, turn, at)
			err = s.follow(ctx, at)
			turn(nil)
			done()
			release()
		}
		turn(nil)
		if cause := context.Cause(ctx); cause == errMended || cause == errTurn {
			continue
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
		s.caught()
		s.lab.announce()
		select {
		case <-time.After(retryAfter):
		case <-s.lab.ctx.Done():
		}
	}
}

var (
	// errMended ends the following of a log that has stopped, on a disk that takes
	// writes again.
	errMended = errors.New("the store takes writes again")
	// errTurn ends it where the store is to be held by another process from now on,
	// or by this one.
	errTurn = errors.New("the store changes hands")
)

// want has the store, which is in a database, held by this process, or not any
// more.
func (s *member) want(wanted bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.wanted != wanted {
		s.wanted = wanted
		s.endTurn()
	}
}

// again has the store opened again, as it is to be held or read now.
func (s *member) again() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.endTurn()
}

// endTurn ends the turn, if there is one. The caller holds mu.
func (s *member) endTurn() {
	if s.turn != nil {
		s.turn(errTurn)
	}
}

// local returns the store where this process holds it.
func (s *member) local() (*Local, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	local, ours := s.at.(*Local)
	return local, ours
}

// mine reports whether this process holds the store, or is about to.
func (s *member) mine() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ours := s.at.(*Local)
	return ours || s.wanted
}

// drives reports whether this process drives a campaign of the store.
func (s *member) drives() bool {
	return slices.ContainsFunc(s.list(), func(c *Campaign) bool { return c.current() != nil })
}

// wants reports whether the store has a campaign that is to go on.
func (s *member) wants() bool {
	return slices.ContainsFunc(s.list(), func(c *Campaign) bool { return s.custody.started(c.name) && !c.over() })
}

// instrument is the instrument of the lab at which a campaign of the store is to
// go on; empty where it names none.
func (s *member) instrument() (name string) {
	for _, c := range s.list() {
		if name == "" && s.custody.started(c.name) {
			c.Read(func(core *engine.Core) { name = campaignfile.LabInstrument(core.State().Source) })
		}
	}
	return name
}

// mending ends the turn, for errMended, once a log that has stopped can be opened again. Until
// then its events are read, and new ones are refused: nothing that was acknowledged is lost.
// Opening compares the log with its head, as after a crash. done waits until it watches no
// more, once the turn has ended.
//
// A log that has lost its store to another process, or may have, ends the turn
// at once: its runs must end before that one's begin.
func (s *member) mending(ctx context.Context, turn context.CancelCauseFunc, at Store) (done func()) {
	local, ok := at.(*Local)
	if !ok {
		return func() {} // of another process, which sees to it
	}
	own := local.log
	var watching sync.WaitGroup
	watching.Go(func() {
		select {
		case <-own.Failed():
		case <-ctx.Done():
			return
		}
		if errors.Is(own.Err(), events.ErrInUse) {
			s.lab.options.Log("%s is driven here no more: %v", s.base(), own.Err())
			s.want(false)
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
				s.lab.options.Log("%s is opened again: it takes writes", s.path)
				turn(errMended)
				return
			}
		}
	})
	return watching.Wait
}

// open takes the store, or connects to the process that holds it. The order matters: the lab's
// log is read before the store is taken, the hold is recorded before the store is offered, and
// on the way out runs end before the servers and readers of the log, and these before the
// store.
func (s *member) open(ctx context.Context) (at Store, release func(), err error) {
	seen, err := s.custody.look()
	if err != nil {
		return nil, nil, err
	}
	if err := s.openToRead(); err != nil {
		return nil, nil, err
	}
	if at, err = s.lab.custodian.take(ctx, s); err != nil {
		return nil, nil, err
	}
	if err := s.holds(at, seen); err != nil {
		return nil, nil, errors.Join(err, at.Close())
	}
	stopServing := func() {}
	if local, ours := at.(*Local); ours {
		server, err := local.Serve()
		if err != nil {
			s.lab.options.Log("other commands cannot reach %s: %v", s.path, err)
		} else {
			stopServing = server.Close
		}
	}
	stopReading := s.readers(at.Log())
	s.mu.Lock()
	s.at, s.err = at, nil
	if own, ok := at.Log().(events.Store); ok {
		s.snapshots = view.NewSnapshots(own, s.lab.options.Build)
	}
	s.mu.Unlock()
	return at, func() {
		for _, c := range s.list() {
			c.halt() // every run ends before the store does
		}
		stopServing()
		stopReading()
		s.keep()
		s.mu.Lock()
		s.at, s.snapshots = nil, nil
		s.mu.Unlock()
		if err := at.Close(); err != nil {
			s.lab.options.Log("the store %s did not close: %v", s.path, err)
		}
		if err := s.custody.release(); err != nil {
			s.lab.options.Log("that %s is let go of is not in the lab's log: %v", s.path, err)
		}
	}, nil
}

// localOptions are those with which this process holds the store.
func (s *member) localOptions() LocalOptions {
	return LocalOptions{
		Registry: s.lab.options.Registry,
		Build:    s.lab.options.Build,
		Account:  s.lab.options.Account,
		Slots:    s.lab.slots,
		Open:     s.lab.options.open,
		Devices:  s.lab.devices.Store(s.lab.relative(s.path)),
		Stocks:   s.lab.stocks.Store(s.lab.relative(s.path)),
		Services: s.lab.services,
		Remark:   func(campaign, text string) { s.lab.options.Log("%s: %s", campaign, text) },
	}
}

// holds has the lab's log say who holds the store. Where this process cannot
// say so of itself, it does not take the store. Of another process's hold the
// lab's log is only the better informed.
func (s *member) holds(at Store, seen events.Sequence) error {
	if _, other := at.(*watched); other {
		return nil // who holds it says so
	}
	status := at.Status()
	holder := events.StoreHeld{PID: status.PID, Build: status.Build}
	holder.Host, _ = os.Hostname() // a socket reaches no further
	_, ours := at.(*Local)
	if ours {
		holder.Worker = s.custody.worker
	}
	err := s.custody.hold(seen, holder)
	if err != nil && !ours {
		s.lab.options.Log("that process %d holds %s is not in the lab's log: %v", status.PID, s.path, err)
		return nil
	}
	return err
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

// campaign returns the campaign of a name, or nil.
func (s *member) campaign(name string) *Campaign {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.campaigns[name]
}

// failure is the reason that the store cannot be used, or takes no events now.
func (s *member) failure() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// holder returns the store as it is held now: by this process or by another
// one. The store may change hands right after, or just be doing so, which is an
// error that wraps [events.ErrClosed]: [Persist] asks again.
func (s *member) holder() (Store, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.at != nil:
		return s.at, nil
	case s.err != nil:
		return nil, s.err
	}
	opening := problem.New(problem.Unavailable, "the store %s is just being opened: %w",
		s.base(), events.ErrClosed)
	return nil, opening.With(problem.Remedy{Text: "try again in a moment"})
}

// define begins a campaign in the store. Only the process that holds a store
// can, since it alone appends.
func (s *member) define(
	ctx context.Context, defined events.CampaignDefined, by engine.Request,
) error {
	var at Store
	err := Patiently(ctx, func() (err error) {
		at, err = s.holder()
		return err
	})
	if err != nil {
		return err
	}
	if own, ok := at.(holdable); ok {
		return own.hold(ctx, func(local *Local) error { return local.Define(ctx, defined, by) })
	}
	return problem.New(problem.Unavailable, "the store %s is held by process %d, which "+
		"begins its campaigns itself",
		s.base(), at.Status().PID)
}
