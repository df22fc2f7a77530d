package pebblelog

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/internal/merkle"
	"github.com/campaignd/campaignd/events/internal/queue"
	"github.com/campaignd/campaignd/internal/ground/guardfs"
)

// Options says how to open a store. The zero value opens it for reading and writing, and creates a
// missing one.
type Options struct {
	// FS is the file system that holds the store; nil is the system's own.
	FS vfs.FS
	// MustExist refuses, with an error that wraps [io/fs.ErrNotExist], to
	// create a store.
	MustExist bool
	// ReadOnly opens an existing store without changing it, and without a lock:
	// the log as it is now, also while another process writes to it. It does
	// not grow; Append and SetOffset answer [events.ErrReadOnly].
	ReadOnly bool
	// Check, if set, is called before a store that exists is opened for
	// writing, with the log for reading; if it returns an error, the store is
	// refused with that, and is as it was. The log must not be closed by it,
	// nor used later. Without it only the end of the log is checked.
	Check func(events.Store) error

	// memTableSize is Pebble's, for tests that want many small files.
	memTableSize uint64
}

// Log is an [events.Store] on disk.
//
// Three parties share it: the committer and the syncer, one goroutine each, and
// any number of callers. What each may touch is said at the fields. The
// committer closes groups, which is how the syncer learns that there will be no
// more; the syncer closes done, when the last request is answered.
type Log struct {
	db       *pebble.DB
	files    vfs.FS    // of the database,
	database string    // which is in this folder
	lock     io.Closer // a reader's is its snapshot
	guard    *guardfs.Guard
	head     *headFile // the syncer's; nil when read-only
	readOnly bool
	notes    []string // what Open found worth mentioning
	probe    func() error

	queue  *queue.Queue
	groups chan *group // from the committer to the syncer
	done   chan struct{}

	// So that closing twice, also at once, closes the database once; closeErr is the result of the
	// first call.
	closing  sync.Once
	closeErr error

	// readers is held, shared, around each use of db, and exclusively to close
	// it. It is never held while a caller's code runs.
	readers sync.RWMutex

	// swapping is held, shared, by who changes values, and exclusively by who
	// compares one first.
	swapping sync.RWMutex

	mu      sync.Mutex
	durable tlog.Tree // on disk, and so visible
	closed  bool
	changed chan struct{} // closed and replaced whenever durable or closed changes

	// The committer's own: the log as it will be once all groups are durable.
	edge      *merkle.Edge
	sequences map[string]events.Sequence
}

var _ events.Store = (*Log)(nil)

// Last implements [events.Log]. As a store has one writer, it is the position
// of the newest durable event, and that of a log opened with Options.ReadOnly
// the newest it has.
func (l *Log) Last() events.Position {
	l.mu.Lock()
	defer l.mu.Unlock()
	return events.Position(l.durable.N)
}

// state returns the durable head, and a channel that is closed when it has
// changed.
func (l *Log) state() (head tlog.Tree, closed bool, changed <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.durable, l.closed, l.changed
}

// announce sets the durable head and wakes those who follow. A channel that is
// closed wakes any number of followers, and a slow one misses nothing: it looks
// at the head again before it waits.
func (l *Log) announce(head tlog.Tree) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.durable = head
	// Head and channel change together, under mu: a follower with the old head
	// has a channel that is closed.
	close(l.changed)
	l.changed = make(chan struct{})
}

// use calls f with the database, which stays open meanwhile. f must not call
// back into code of a caller, which might close the log. Pebble panics where a
// database is read that has been closed. Closing waits for every f, which is
// why they are short (a chunk, a key).
func (l *Log) use(f func(*pebble.DB) error) error {
	l.readers.RLock()
	defer l.readers.RUnlock()
	if l.db == nil {
		return events.ErrClosed
	}
	return f(l.db)
}

// stopped returns the error of a log that has failed, nil for one that has not.
// A log that has failed once never writes again; it is opened anew.
func (l *Log) stopped() error {
	if err := l.guard.Err(); err != nil {
		return fmt.Errorf("%w: %w; nothing acknowledged is lost: "+
			"make sure that the disk works and has room, then open the store again",
			events.ErrStopped, err)
	}
	return nil
}

// Failed implements [events.Store].
func (l *Log) Failed() <-chan struct{} { return l.guard.Failed() }

// Err implements [events.Store].
func (l *Log) Err() error { return l.stopped() }

// Probe implements [events.Store], by a file in the store's folder.
func (l *Log) Probe() error {
	if l.readOnly {
		return events.ErrReadOnly
	}
	return l.probe()
}

// Close implements [events.Log]. It returns the failure of a log that has
// stopped. Closing again waits for the first to end, and answers the same. What
// was queued before is still written and answered.
func (l *Log) Close() error {
	l.closing.Do(func() { l.closeErr = l.close() })
	return l.closeErr
}

// close makes the log invisible to new callers first, then lets the committer and the syncer finish
// their work, and only then closes the database.
func (l *Log) close() error {
	l.mu.Lock()
	l.closed = true
	close(l.changed)
	l.changed = make(chan struct{})
	l.mu.Unlock()

	if l.readOnly {
		return l.release()
	}
	l.queue.Close()
	<-l.done
	return errors.Join(l.release(), l.stopped())
}

// release closes the database and the lock. No append is under way.
func (l *Log) release() error {
	l.readers.Lock()
	defer l.readers.Unlock()
	var errs []error
	if !l.readOnly {
		if l.guard.Err() == nil {
			// Tables are checked more strictly than the write-ahead log, and
			// opening need not replay them.
			errs = append(errs, l.db.Flush())
		}
		errs = append(errs, l.head.file.Sync(), l.head.file.Close())
	}
	errs = append(errs, l.db.Close())
	l.db = nil
	if !l.readOnly && l.guard.Err() == nil && errors.Join(errs...) == nil {
		removeFlushed(l.files, l.database)
	}
	errs = append(errs, l.lock.Close())
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("store: close: %w", err)
	}
	return nil
}

// removeFlushed removes the write-ahead logs of a closed database whose
// memtables had all been flushed. Pebble keeps them, to write over them, until
// it is opened again: also the newest, that of the memtable since, which is
// empty, stands in the file of an earlier one and takes as much room as that
// did, after an import of 20,000 rows three times that of the tables. A log
// that cannot be removed only takes room.
func removeFlushed(fsys vfs.FS, dir string) {
	names, err := fsys.List(dir)
	if err != nil {
		return
	}
	for _, name := range names {
		if strings.HasSuffix(name, ".log") {
			_ = fsys.Remove(fsys.PathJoin(dir, name))
		}
	}
}
