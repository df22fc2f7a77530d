// Package lablog opens the log of a lab: the lab's own memory, as events.
//
// It is a store like those of campaigns, whose streams belong to the parts of the lab that keep
// them. A process opens it once: its parts share the result of [Log.Store].
//
// For a lab in a folder it is FOLDER/.campaignd/lab, and one process holds it at a time. For a lab
// in a database it is the store .campaignd there, and any number of processes append to it
// ([Log.Shared]): an append decided without another's events is refused ([events.ConflictError]);
// the process reads those, and decides anew.
package lablog

import (
	"context"
	"crypto/rand"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/store"
	"github.com/campaignd/campaignd/internal/ground/clock"
	"github.com/campaignd/campaignd/internal/ground/problem"
)

// Dir returns the folder of the log of a lab whose stores are in a folder.
func Dir(folder string) string { return filepath.Join(folder, ".campaignd", "lab") }

// Name is the name of the log of a lab among the stores of a database.
const Name = ".campaignd"

// Address returns the address of the log of the lab at a place: a folder, or a database.
func Address(place string) string {
	if store.InDatabase(place) {
		return store.In(place, Name)
	}
	return Dir(place)
}

// Is reports whether an address is that of a lab's log; in a folder, of an existing one.
func Is(address string) bool {
	if store.InDatabase(address) {
		return store.Name(address) == Name
	}
	return IsDir(address)
}

// IsDir reports whether a folder has the form of [Dir], and holds a log.
func IsDir(dir string) bool {
	abs, err := filepath.Abs(dir)
	return err == nil && Dir(filepath.Dir(filepath.Dir(abs))) == abs && Exists(dir)
}

// Exists reports whether there is a log in a folder of the form of [Dir].
func Exists(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "FORMAT"))
	return err == nil
}

// Options are the options of opening the log. The zero value of each means its default.
type Options struct {
	// Now is the clock; clock.Now by default.
	Now func() time.Time
	// Open opens the store; tests make their disks fail.
	Open func(address string) (events.Store, error)
}

// Log is the log of a lab, open in this process. Its methods may be called by
// several goroutines.
type Log struct {
	address string
	o       Options

	mu     sync.Mutex
	store  events.Store // nil if reopening failed
	closed bool
}

// Open opens the log at an address, as returned by [Address], and creates it if missing. The error
// is [ErrInUse] if another process holds it, has the code [problem.Damaged] if acknowledged data
// are missing, and [problem.Unsupported] next to files that cannot be read any more: see [Unread].
func Open(address string, o Options) (*Log, error) {
	if o.Now == nil {
		o.Now = clock.Now
	}
	if o.Open == nil {
		o.Open = func(address string) (events.Store, error) {
			return store.Open(address, store.Options{Shared: true})
		}
	}
	if err := Unread(address); err != nil {
		return nil, err
	}
	l := &Log{address: address, o: o}
	if err := l.open(); err != nil {
		return nil, err
	}
	return l, nil
}

// open opens the store.
func (l *Log) open() error {
	if !l.Shared() {
		if err := os.MkdirAll(filepath.Dir(l.address), 0o700); err != nil {
			return Fault(err)
		}
	}
	log, err := l.o.Open(l.address)
	if err != nil {
		return Fault(err)
	}
	if err := l.begin(log); err != nil {
		return errors.Join(Fault(err), log.Close())
	}
	l.store = log
	return nil
}

// Shared reports whether other processes may append to the log as well.
func (l *Log) Shared() bool { return store.InDatabase(l.address) }

// beginTime is the database's time limit for the first event.
const beginTime = 10 * time.Second

// begin gives an empty log its first event, which distinguishes it from every other lab's. Of two
// processes that begin it at once one is refused, and finds the other's.
func (l *Log) begin(log events.Store) error {
	if log.Last() > 0 {
		return nil
	}
	begun, err := events.Lab.New(events.LabStream, events.KindLabBegun,
		&events.LabBegun{Instance: rand.Text()[:10]})
	if err != nil {
		return err
	}
	begun.Actor = "engine"
	begun.Time = l.o.Now().UTC().Round(0).Truncate(time.Microsecond)
	ctx, cancel := context.WithTimeout(context.Background(), beginTime)
	defer cancel()
	_, err = log.Append(ctx, events.LabStream, 0, begun)
	if late := new(events.ConflictError); errors.As(err, &late) {
		return nil
	}
	return err
}

// Store returns the log as this process holds it now. If its disk had failed and accepts writes
// again, it is another store than before, which was compared with its head as after a crash; the
// old one answers [events.ErrClosed]. So a part of the lab asks each time, and refolds its state if
// the answer has changed: an event of uncertain fate may be in it.
func (l *Log) Store() (events.Store, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, Fault(events.ErrClosed)
	}
	if l.store != nil {
		if l.store.Err() == nil || l.store.Probe() != nil {
			return l.store, nil
		}
		_ = l.store.Close() // it repeats the failure
		l.store = nil
	}
	if err := l.open(); err != nil {
		return nil, err
	}
	return l.store, nil
}

// Close releases the log.
func (l *Log) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil
	}
	l.closed = true
	if l.store == nil {
		return nil
	}
	return l.store.Close()
}

// ErrInUse means that another process holds the log of a lab.
var ErrInUse = problem.New(problem.Unavailable,
	"another process holds the lab's log of this folder")

// restart is the remedy for a failed write, on a disk or in a database: the accompanying error says
// which.
var restart = problem.Remedy{
	Text:   "mend what failed, a full disk by making room, and look whether it was recorded",
	Action: problem.Trail,
}

// Fault returns the answer to an error of a lab's log, nil for nil.
func Fault(err error) error {
	var unknown *events.UnknownKindError
	var known *problem.Error
	switch {
	case err == nil || errors.As(err, &known):
		return err
	case errors.Is(err, events.ErrInUse):
		return ErrInUse
	case errors.Is(err, events.ErrDamaged):
		return problem.New(problem.Damaged, "the lab's log is damaged: %w; nothing was changed; "+
			"restore it from a copy", err)
	case errors.Is(err, events.ErrNewerFormat), errors.As(err, &unknown):
		return problem.New(problem.Unsupported, "the lab's log: %w", err)
	case errors.Is(err, events.ErrUncertain):
		return problem.New(problem.Uncertain,
			"it may or may not be recorded: the lab's log could not be written: %w", err).With(restart)
	case errors.Is(err, context.DeadlineExceeded):
		return problem.New(problem.Unavailable, "the database of the lab's log does not answer").
			With(problem.Remedy{Text: "try again in a moment"})
	}
	return problem.New(problem.Unavailable, "the lab's log cannot be read or written: %w", err)
}
