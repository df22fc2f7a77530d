package lab

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/bus"
	"github.com/campaignd/campaignd/events/store"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/problem"
	"github.com/campaignd/campaignd/internal/view"
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

	mu        sync.Mutex
	at        Store           // a *Local, or a *Peer where another process holds it; nil in between
	snapshots *view.Snapshots // nil but where this process holds it
	err       error           // why the store cannot be used now
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
	for s.lab.ctx.Err() == nil {
		at, release, err := s.open(s.lab.ctx)
		if err == nil {
			ctx, done := s.mending(s.lab.ctx, at)
			err = s.follow(ctx, at)
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
		s.caught()
		s.lab.announce()
		select {
		case <-time.After(retryAfter):
		case <-s.lab.ctx.Done():
		}
	}
}

// errMended ends the following of a log that has stopped, on a disk that takes
// writes again.
var errMended = errors.New("the disk takes writes again")

// mending returns a context that ends, for errMended, once a log that has
// stopped can be opened again. Until then what it holds is read, and what is to
// be recorded is refused: nothing that was acknowledged is lost. Opening
// compares the log with its head, as after a crash. done ends watching.
func (s *member) mending(ctx context.Context, at Store) (_ context.Context, done func()) {
	local, ok := at.(*Local)
	if !ok {
		return ctx, func() {} // of another process, which sees to it
	}
	own := local.log
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

// open takes the store, or connects to the process that holds it. The order
// matters: what the lab's log says is read before the store is taken, the hold
// is recorded before the store is offered, and on the way out runs end before
// what serves and reads the log, and that before the store.
func (s *member) open(ctx context.Context) (at Store, release func(), err error) {
	seen, err := s.custody.look()
	if err != nil {
		return nil, nil, err
	}
	at, err = Take(ctx, s.path, LocalOptions{
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
	if local, ours := at.(*Local); ours {
		s.snapshots = view.NewSnapshots(local.Events(), s.lab.options.Build)
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

// holds has the lab's log say who holds the store. Where this process cannot
// say so of itself, it does not take the store. Of another process's hold the
// lab's log is only the better informed.
func (s *member) holds(at Store, seen events.Sequence) error {
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
	if s.lab.options.Reads == nil {
		s.caught()
		return func() {}
	}
	b := bus.New(log, bus.Config{})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer s.caught()
		s.lab.options.Reads(ctx, s.base(), b, s.caught)
	}()
	return func() {
		cancel()
		<-done
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
		s.take(e)
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
		s.take(e)
	}
	return nil
}

// enter lists a campaign, which has a definition.
func (s *member) enter(c *Campaign) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.campaigns[c.name] = c
	s.order = append(s.order, c.name)
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

// take folds an event into its campaign. An event that was folded before is
// left alone. It may be called side by side for events of different campaigns.
// Events of one campaign must come in order and not side by side.
func (s *member) take(e events.Event) {
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
// one. The store may change hands right after: [Persist] asks again.
func (s *member) holder() (Store, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.at != nil:
		return s.at, nil
	case s.err != nil:
		return nil, s.err
	}
	opening := problem.New(problem.Unavailable, "the store %s is just being opened",
		filepath.Base(s.path))
	return nil, opening.With(problem.Remedy{Text: "try again in a moment"})
}

// define begins a campaign in the store. Only the process that holds a store
// can, since it alone appends.
func (s *member) define(
	ctx context.Context, defined events.CampaignDefined, by engine.Request,
) error {
	at, err := s.holder()
	if err != nil {
		return err
	}
	local, ours := at.(*Local)
	if !ours {
		return problem.New(problem.Unavailable, "the store %s is held by process %d, which "+
			"begins its campaigns itself",
			filepath.Base(s.path), at.Status().PID)
	}
	return local.Define(ctx, defined, by)
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
