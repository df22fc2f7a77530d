package pglog

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

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

	queue *queue.Queue
	done  chan struct{} // closed when the committer has ended

	closing  sync.Once
	closeErr error
	giveUp   chan struct{} // closed some time after Close: an unknown end stays one

	epoch     atomic.Int64 // of this log's hold on the store, 0 without one
	worker    *Worker      // that holds it; set before epoch is
	followers atomic.Int64
	at        map[*atomic.Int64]struct{} // of mu: how far each of them is

	mu      sync.Mutex
	seen    int64 // the number of events that were acknowledged or shown
	hint    int64 // the number that other processes say there are; never believed, only looked for
	closed  bool
	changed chan struct{} // closed and replaced whenever one of those above changes
	failure error         // why the log takes no more events
	failed  chan struct{}

	committer committer // the committer's own
}

var _ events.Store = (*Log)(nil)

// ErrFenced means that another process has taken hold of the store since this log did ([Log.Hold]).
// A refused batch is not stored.
var ErrFenced = fmt.Errorf("another process has taken hold of the store: %w", events.ErrInUse)

// newLog returns a log, and makes it known to its database.
func newLog(d *Database, name string, id, size int64, readOnly bool) (*Log, error) {
	l := &Log{
		db: d, name: name, id: id, readOnly: readOnly, seen: size,
		queue: queue.New(), done: make(chan struct{}), giveUp: make(chan struct{}),
		changed: make(chan struct{}), failed: make(chan struct{}),
	}
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
	seen, _, _, _ := l.state()
	return events.Position(seen)
}

// state returns how many events were seen, how many there are said to be, and a
// channel that is closed when that has changed.
func (l *Log) state() (seen, hint int64, closed bool, changed <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.seen, max(l.seen, l.hint), l.closed, l.changed
}

// sees notes that the store has size events, durably, and wakes those who
// follow. It never falls.
func (l *Log) sees(size int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if size > l.seen {
		l.seen = size
		l.change()
	}
}

// hears notes that others say that there are size events.
func (l *Log) hears(size int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if size > max(l.seen, l.hint) {
		l.hint = size
		l.change()
	}
}

// forgets takes back what others said, where a look has shown less.
func (l *Log) forgets(hint int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.hint == hint {
		l.hint = 0
	}
}

// change wakes those who wait; mu is held.
func (l *Log) change() {
	close(l.changed)
	l.changed = make(chan struct{})
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
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return events.ErrClosed
	}
	return nil
}

// closePatience is how long Close waits for a database that does not answer.
const closePatience = 10 * time.Second

// Close implements [events.Log]. It returns the failure of a log that has
// stopped. What was queued before is still written and answered; where the
// database does not answer for ten seconds, it stays uncertain.
func (l *Log) Close() error {
	l.closing.Do(func() {
		l.mu.Lock()
		l.closed = true
		l.change()
		l.mu.Unlock()
		if !l.readOnly {
			l.queue.Close()
			timer := time.AfterFunc(closePatience, func() { close(l.giveUp) })
			<-l.done
			timer.Stop()
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
