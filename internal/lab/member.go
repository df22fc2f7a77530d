package lab

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/bus"
	"github.com/campaignd/campaignd/events/store"
	"github.com/campaignd/campaignd/internal/campaignfile"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/problem"
	"github.com/campaignd/campaignd/internal/view"
	"github.com/campaignd/campaignd/projections/campaign"
)

// retryAfter is how soon a store is tried again that could not be opened. Soon
// enough for a person who waits for another program to let go, seldom enough
// for a disk that is full.
const retryAfter = 2 * time.Second

// member is a store of the lab: held by this process, or read through the one
// that holds it. Its log is followed, and the campaigns in it are folded.
type member struct {
	lab     *Lab
	path    string
	custody *custodian
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
	// ready is closed once everything that was in the store is folded, and read
	// once what reads its log has caught up, or it has turned out that this
	// cannot be.
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
		custody:   l.custodian(events.StoreStream(l.relative(path))),
		campaigns: make(map[string]*Campaign),
		ready:     make(chan struct{}),
		read:      read,
		caught:    sync.OnceFunc(func() { close(read) }),
	}
}

// base is the store's name without its ending.
func (s *member) base() string { return store.Name(s.path) }

// relative is the path of a store from the lab's folder on, with slashes, or
// the path itself where there is no way from there. It names the store's stream
// in the lab's log, so that a folder that is moved keeps its stores' history.
func (l *Lab) relative(path string) string {
	if store.InDatabase(path) {
		return store.Name(path)
	}
	if rel, err := filepath.Rel(l.options.Folder, path); err == nil {
		return filepath.ToSlash(rel)
	}
	return path
}

// wait waits until the store has been read for the first time. A store that
// cannot be opened counts as read: its failure is what there is to know.
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

// mending ends the turn, for errMended, once a log that has stopped can be
// opened again. Until then what it holds is read, and what is to be recorded is
// refused: nothing that was acknowledged is lost. Opening compares the log with
// its head, as after a crash. done waits until it watches no more, once the turn
// has ended.
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

// open takes the store, or connects to the process that holds it. The order
// matters: what the lab's log says is read before the store is taken, the hold
// is recorded before the store is offered, and on the way out runs end before
// what serves and reads the log, and that before the store.
func (s *member) open(ctx context.Context) (at Store, release func(), err error) {
	seen, err := s.custody.look()
	if err != nil {
		return nil, nil, err
	}
	if err := s.openToRead(); err != nil {
		return nil, nil, err
	}
	if at, err = s.take(ctx); err != nil {
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
		Remark:   func(campaign, text string) { s.lab.options.Log("%s: %s", campaign, text) },
	}
}

// take takes the store, or connects to the process that holds it. In a database
// it is taken only where this process wants it; another one may be quicker.
func (s *member) take(ctx context.Context) (Store, error) {
	o := s.localOptions()
	if s.lab.cluster == nil {
		return Take(ctx, s.path, o)
	}
	s.mu.Lock()
	wanted := s.wanted
	s.mu.Unlock()
	if wanted {
		local, err := OpenLocal(ctx, s.path, o)
		if err == nil {
			return local, nil
		}
		s.mu.Lock()
		s.wanted = false
		s.mu.Unlock()
		if !errors.Is(err, events.ErrInUse) {
			return nil, err
		}
	}
	return &watched{s.lab.cluster, s.path, o, s.reading()}, nil
}

// openToRead opens the log of a store in a database for reading, where that is not
// open, or has stopped.
func (s *member) openToRead() error {
	if s.lab.cluster == nil {
		return nil
	}
	if log := s.reading(); log != nil && log.Err() == nil {
		return nil
	}
	s.stopReading()
	log, err := store.Open(s.path, store.Options{Shared: true})
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.log = log
	s.mu.Unlock()
	return nil
}

// reading is the log of a store in a database, nil before it is open.
func (s *member) reading() events.Store {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.log
}

func (s *member) stopReading() {
	s.mu.Lock()
	log := s.log
	s.log = nil
	s.mu.Unlock()
	if log != nil {
		_ = log.Close() // it says again what failed
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

// readers begins what reads the log of a store; end ends it, and waits for
// that. It has a context of its own and not the lab's: release ends it at its
// place in the order.
func (s *member) readers(log events.Log) (end func()) {
	reads, forwards := s.lab.options.Reads, s.lab.options.Forwards
	if s.lab.cluster != nil && !s.lab.cluster.forwards() {
		forwards = nil
	}
	b := bus.New(log, bus.Config{})
	ctx, cancel := context.WithCancel(context.Background())
	var reading sync.WaitGroup
	if forwards != nil {
		reading.Go(func() { forwards(ctx, s.base(), b) })
	}
	reading.Go(func() {
		defer s.caught()
		if reads != nil {
			reads(ctx, s.base(), b, s.caught)
		}
	})
	return func() {
		cancel()
		reading.Wait()
		_ = b.Close() // it has nothing left to close
	}
}

// follow folds the log for as long as it can be read. Campaigns that were
// started go on before ready is closed, and only where this process holds the
// store.
func (s *member) follow(ctx context.Context, at Store) error {
	last, err := s.catchUp(ctx, at)
	if err != nil {
		return err
	}
	s.has(last)
	if _, ours := at.(*Local); ours {
		for _, c := range s.list() {
			c.goOn()
		}
	}
	s.once.Do(func() { close(s.ready) }) // after that: what was started is not driven by hand
	s.lab.announce()
	for e, err := range at.Log().Follow(ctx, last) {
		if err != nil {
			return err
		}
		s.fold(e)
		if away, ok := at.(*watched); ok && gives(e) {
			var state campaign.State
			s.campaign(e.Campaign).Read(func(core *engine.Core) { state = *core.State() })
			away.witness(ctx, &state)
		}
		s.has(e.Position)
		s.lab.announce()
	}
	return context.Cause(ctx)
}

// catchUp folds what is in a store, so that ready means: everything up to now.
// It returns the position of an event that is folded with all before it.
// Campaigns are folded side by side, each from where its record was or a
// snapshot has it, in the order of its events.
func (s *member) catchUp(ctx context.Context, at Store) (last events.Position, err error) {
	last = at.Status().Last
	names, err := Campaigns(ctx, at)
	if err != nil {
		return 0, err
	}
	next := make(chan string)
	failed := make([]error, runtime.GOMAXPROCS(0))
	var folding sync.WaitGroup
	for i := range failed {
		folding.Go(func() {
			for name := range next {
				if failed[i] == nil {
					failed[i] = s.bring(ctx, at.Log(), name)
				}
			}
		})
	}
	for _, name := range names {
		next <- name
	}
	close(next)
	folding.Wait()
	began := make(map[string]int)
	for i, name := range names {
		began[name] = i
	}
	s.mu.Lock()
	slices.SortStableFunc(s.order, func(a, b string) int { return began[a] - began[b] })
	s.mu.Unlock()
	if err := errors.Join(failed...); err != nil {
		return 0, err
	}
	if ctx.Err() != nil {
		return 0, context.Cause(ctx)
	}
	return last, nil
}

// bring folds the events of a campaign up to the end of its log. A snapshot
// serves only where no event that it skips must still be given to Heard. A
// restored record that holds nothing is not entered: what is listed has a
// definition.
func (s *member) bring(ctx context.Context, log events.Log, name string) error {
	c := s.campaign(name)
	if snapshots := s.kept(); c == nil && snapshots != nil {
		restored := newCampaign(s, name)
		snapshots.Restore(ctx, restored.record)
		if restored.Sequence() > 0 {
			c = restored
			s.enter(c)
		}
	}
	var after events.Sequence
	if c != nil {
		after = c.Sequence()
	}
	for e, err := range events.ReadCampaign(ctx, log, name, after) {
		if err != nil {
			return err
		}
		s.fold(e)
	}
	return nil
}

// enter lists a campaign, which has a definition.
func (s *member) enter(c *Campaign) {
	s.mu.Lock()
	s.campaigns[c.name] = c
	s.order = append(s.order, c.name)
	s.mu.Unlock()
	s.lab.mu.Lock()
	s.lab.campaigns = nil
	s.lab.came++
	s.lab.mu.Unlock()
}

// kept are the snapshots in the store, nil where another process holds it.
func (s *member) kept() *view.Snapshots {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.snapshots
}

// closingWithin is how long a store that is let go of waits for snapshots:
// without them the next one to open it takes longer.
const closingWithin = 2 * time.Second

// keep writes the snapshots of campaigns that have changed since theirs.
func (s *member) keep() {
	ctx, cancel := context.WithTimeout(context.Background(), closingWithin)
	defer cancel()
	snapshots := s.kept()
	for _, c := range s.list() {
		if snapshots == nil || ctx.Err() != nil || snapshots.Write(ctx, c.record) != nil {
			return // what is missing is folded from the log
		}
	}
}

// rest takes campaigns out of memory that were not read since the last call.
// Their snapshots make it cheap to bring them back.
func (s *member) rest() {
	snapshots := s.kept()
	for _, c := range s.list() {
		if s.lab.ctx.Err() != nil {
			return
		}
		if c.record.Rest() && snapshots != nil {
			_ = snapshots.Write(s.lab.ctx, c.record) // else it is folded from the log
		}
	}
}

// fold folds an event into its campaign. An event that was folded before is
// left alone. It may be called side by side for events of different campaigns.
// Events of one campaign must come in order and not side by side.
func (s *member) fold(e events.Event) {
	c := s.campaign(e.Campaign)
	if c != nil {
		c.record.Take(e)
		return
	}
	c = newCampaign(s, e.Campaign)
	c.record.Take(e)
	s.enter(c) // and not before: a campaign that is listed has a definition
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
	switch at := at.(type) {
	case *Local:
		return at.Define(ctx, defined, by)
	case *watched: // the store is new, or free
		return at.hold(ctx, func(local *Local) error { return local.Define(ctx, defined, by) })
	}
	return problem.New(problem.Unavailable, "the store %s is held by process %d, which "+
		"begins its campaigns itself",
		s.base(), at.Status().PID)
}

// await waits until a campaign is folded up to a sequence. The channel is taken
// before looking, so that no change between the two is missed.
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
