package pglog

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/internal/queue"
)

// Log is an [events.Store] in a database. Any number of them, in any number of
// processes, may be of the same store.
type Log struct {
	db       *Database
	name     string
	id       int64 // of the head's row
	readOnly bool

	closing  sync.Once
	closeErr error

	epoch  atomic.Int64 // of this log's hold on the store, 0 without one
	worker *Worker      // that holds it; set before epoch is

	extent    extent
	committer committer

	mu      sync.Mutex
	failure error // why the log takes no more events
	failed  chan struct{}
}

// extent is the size of a store, as far as this process knows it, with those who wait for more.
type extent struct {
	mu        sync.Mutex
	seen      int64 // the number of events that were acknowledged or shown
	hint      int64 // the number that other processes say there are; never believed, only looked for
	closed    bool
	changed   chan struct{}              // closed and replaced whenever one of those above changes
	followers map[*atomic.Int64]struct{} // how far each of them is
}

var _ events.Store = (*Log)(nil)

// ErrFenced means that another process has taken hold of the store since this log did ([Log.Hold]).
// A refused batch is not stored.
var ErrFenced = fmt.Errorf("another process has taken hold of the store: %w", events.ErrInUse)

// newLog returns a log, and makes it known to its database.
func newLog(d *Database, name string, id, size int64, readOnly bool) (*Log, error) {
	l := &Log{
		db: d, name: name, id: id, readOnly: readOnly, failed: make(chan struct{}),
		extent: extent{
			seen: size, changed: make(chan struct{}), followers: make(map[*atomic.Int64]struct{}),
		},
	}
	l.committer = committer{log: l, queue: queue.New(), giveUp: make(chan struct{})}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil, events.ErrClosed
	}
	d.logs[l] = true
	return l, nil
}

// Last implements [events.Log].
func (l *Log) Last() events.Position {
	seen, _, _, _ := l.extent.state()
	return events.Position(seen)
}

// state returns how many events were seen, how many there are said to be, and a
// channel that is closed when that has changed.
func (x *extent) state() (seen, hint int64, closed bool, changed <-chan struct{}) {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.seen, max(x.seen, x.hint), x.closed, x.changed
}

// sees notes that the store has size events, durably, and wakes those who
// follow. It never falls.
func (x *extent) sees(size int64) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if size > x.seen {
		x.seen = size
		x.change()
	}
}

// hears notes that others say that there are size events.
func (x *extent) hears(size int64) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if size > max(x.seen, x.hint) {
		x.hint = size
		x.change()
	}
}

// forgets takes back what others said, where a look has shown less.
func (x *extent) forgets(hint int64) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.hint == hint {
		x.hint = 0
	}
}

// change wakes those who wait; mu is held.
func (x *extent) change() {
	close(x.changed)
	x.changed = make(chan struct{})
}

// close wakes those who wait: nothing more is told.
func (x *extent) close() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.closed = true
	x.change()
}

// fail stops the log: it takes no more events, readers go on.
func (l *Log) fail(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.failure == nil {
		if errors.Is(err, ErrLapsed) || errors.Is(err, ErrFenced) {
			l.db.counts.lost.Add(1)
		}
		l.failure = err
		close(l.failed)
	}
}

// Failed implements [events.Store]. A database that does not answer is not a
// failed write: it is waited for.
func (l *Log) Failed() <-chan struct{} { return l.failed }

// Err implements [events.Store].
func (l *Log) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.failure == nil {
		return nil
	}
	if errors.Is(l.failure, events.ErrInUse) {
		return &lostError{l.failure}
	}
	return fmt.Errorf("%w: %w; nothing acknowledged is lost", events.ErrStopped, l.failure)
}

// lostError is [events.ErrStopped] of a log whose store another process has, which is not a disk
// failure.
type lostError struct{ cause error }

func (e *lostError) Error() string   { return e.cause.Error() }
func (e *lostError) Unwrap() []error { return []error{events.ErrStopped, e.cause} }

// Probe implements [events.Store], by a commit that a standby confirms; where the
// server was full, by a write for all logs ([Database.Refuses]).
func (l *Log) Probe() error {
	if l.readOnly {
		return events.ErrReadOnly
	}
	if err := l.db.Refuses(); err != nil {
		return err
	}
	_, err := ask(l.db.life, l.db, use{fresh: true}, func(context.Context, *conn) (struct{}, error) {
		return struct{}{}, nil
	})
	return plainly(err)
}

// usable reports a context that is done or a log that is closed.
func (l *Log) usable(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if _, _, closed, _ := l.extent.state(); closed {
		return events.ErrClosed
	}
	return nil
}

// Close implements [events.Log]. It returns the failure of a log that has
// stopped. What was queued before is still written and answered; where the
// database does not answer for ten seconds, it stays uncertain.
func (l *Log) Close() error {
	l.closing.Do(func() {
		l.extent.close()
		if !l.readOnly {
			l.committer.close()
			l.release()
		}
		l.db.mu.Lock()
		delete(l.db.logs, l)
		l.db.mu.Unlock()
		if err := l.Err(); err != nil && !errors.Is(err, events.ErrInUse) {
			l.closeErr = fmt.Errorf("store: close: %w", err)
		}
	})
	return l.closeErr
}
