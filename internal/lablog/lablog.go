// Package lablog opens the log of a lab: what a lab must remember of itself, as
// events.
//
// It is a store like those of campaigns, whose streams belong to the parts of
// the lab that keep them. A process opens it once: its parts share what
// [Log.Store] gives them.
//
// Of a lab in a folder it is FOLDER/.campaignd/lab, and one process holds it at
// a time. Of a lab in a database it is the store .campaignd there, and any
// number of processes append to it ([Log.Shared]): each is
// refused what it decided without another's events
// ([events.ConflictError]), reads those, and decides anew.
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
	"github.com/campaignd/campaignd/internal/clock"
	"github.com/campaignd/campaignd/internal/problem"
)

// Dir is the folder of the log of a lab whose stores are in a folder.
func Dir(folder string) string { return filepath.Join(folder, ".campaignd", "lab") }

// Name is the name of the log of a lab among the stores of a database.
const Name = ".campaignd"

// Address is the address of the log of the lab at a place: a folder, or a
// database.
func Address(place string) string {
	if store.InDatabase(place) {
		return store.In(place, Name)
	}
	return Dir(place)
}

// Is reports whether an address is that of a lab's log: in a folder, that of one
// that is there.
func Is(address string) bool {
	if store.InDatabase(address) {
		return store.Name(address) == Name
	}
	return IsDir(address)
}

// IsDir reports whether a folder is such as [Dir] gives, and holds a log.
func IsDir(dir string) bool {
	abs, err := filepath.Abs(dir)
	return err == nil && Dir(filepath.Dir(filepath.Dir(abs))) == abs && Exists(dir)
}

// Exists reports whether there is a log in a folder such as [Dir] gives.
func Exists(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "FORMAT"))
	return err == nil
}

// Options say how the log is opened. The zero value of each means its default.
type Options struct {
	// Now is the clock; clock.Now by default.
	Now func() time.Time
	// Open opens the store; tests have their disks fail.
	Open func(address string) (events.Store, error)
}

// Log is the log of a lab, open in this process. Its methods may be called by
// several goroutines.
type Log struct {
	address string
	o       Options

	mu     sync.Mutex
	store  events.Store // nil where it was to be opened again and could not be
	closed bool
}

// Open opens the log at an address such as [Address] gives, and begins it where
// there is none. The error is [ErrInUse] where another process holds it, and has
// the code [problem.Damaged] where something is missing that was acknowledged, and
// [problem.Unsupported] next to files that are not read any more: see [Unread].
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

// beginTime is how long a database may take for the first event.
const beginTime = 10 * time.Second

// begin gives an empty log its first event, which tells it from every other
// lab's. Of two processes that begin it at once one is refused, and finds the
// other's.
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

// Store returns the log as this process holds it now. Where its disk had failed
// and takes writes again, that is another store than before, which was compared
// with its head as after a crash; the one from before answers
// [events.ErrClosed]. So a part of the lab asks each time, and reads again what
// it made from the log where the answer has changed: something whose fate was
// uncertain may be in it.
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
		_ = l.store.Close() // it says again what failed
		l.store = nil
	}
	if err := l.open(); err != nil {
		return nil, err
	}
	return l.store, nil
}

// Close lets go of the log.
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

// ErrInUse says that another process holds the log of a lab.
var ErrInUse = problem.New(problem.Unavailable,
	"another process holds the lab's log of this folder")

// restart is the remedy for a write that failed, on a disk or in a database: which
// one, the error says that goes with it.
var restart = problem.Remedy{
	Text:   "mend what failed, a full disk by making room, and look whether it was recorded",
	Action: problem.Trail,
}

// Fault is the answer to an error of a lab's log; nil to none.
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
