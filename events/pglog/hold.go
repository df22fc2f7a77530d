package pglog

import (
	"context"
	"errors"
	"fmt"

	"github.com/campaignd/campaignd/events"
)

// ErrLapsed means that the heartbeats of this process were not answered for so
// long that another process may have taken hold of the store.
var ErrLapsed error = &lapsedError{}

type lapsedError struct{}

func (*lapsedError) Error() string {
	return "the database has not answered for a while, and another process may have taken hold of the store"
}

// Unwrap makes it an [events.ErrInUse].
func (*lapsedError) Unwrap() error { return events.ErrInUse }

// HeldError is the refusal of a hold: another worker has it, and lives.
type HeldError struct {
	Store, Worker string
}

func (e *HeldError) Error() string { return fmt.Sprintf("worker %s holds %q", e.Worker, e.Store) }

// Unwrap makes it an [events.ErrInUse].
func (e *HeldError) Unwrap() error { return events.ErrInUse }

// Hold takes hold of the store for a worker of this process: from then on no
// append of a log that held it before can succeed, whatever of it is still on
// its way. It is called once, before anything is appended.
//
// Where another worker has it and lives, the error is a [*HeldError]; one that
// has ended without a word is taken for dead after five seconds. A log that
// lost its store answers [ErrFenced], and [ErrLapsed] where its worker cannot
// know. A log that never took hold is not fenced: it appends next to the one that
// holds the store.
func (l *Log) Hold(ctx context.Context, w *Worker) error {
	if err := l.hold(ctx, w); err != nil {
		return fmt.Errorf("store: hold %q: %w", l.name, err)
	}
	return nil
}

func (l *Log) hold(ctx context.Context, w *Worker) error {
	switch err := l.usable(ctx); {
	case err != nil:
		return err
	case l.readOnly:
		return events.ErrReadOnly
	case l.epoch.Load() != 0:
		return errors.New("this log has taken hold of it before")
	}
	w.mu.Lock()
	_, taken := w.held[l.id]
	if !taken {
		w.held[l.id] = nil
	}
	w.mu.Unlock()
	if taken {
		return &HeldError{l.name, w.id}
	}
	epoch, err := w.takeHold(ctx, l)
	w.mu.Lock()
	if err == nil {
		w.held[l.id] = l
	} else {
		delete(w.held, l.id)
	}
	w.mu.Unlock()
	if err != nil {
		return err
	}
	l.worker = w
	l.epoch.Store(epoch)
	return l.Sure() // the lapse may have come before the log was entered
}

// takeHold makes the worker the holder of a log's store, and returns the epoch.
func (w *Worker) takeHold(ctx context.Context, l *Log) (int64, error) {
	type answer struct {
		epoch  int64
		holder string // the one before, where it was taken
	}
	for {
		wait := w.believes()
		// An attempt with an unknown end has raised the epoch or not: both are right.
		a, err := attempts(ctx, l.db, func(ctx context.Context, c *conn) (a answer, err error) {
			c.warning = nil
			err = c.query(ctx, `update cd_head h set epoch = h.epoch + 1, holder = $2
				from cd_head before where h.store = $1 and before.store = $1 and (h.holder in ('', $2) or not exists (
					select from cd_worker where worker = h.holder and (not $3 or until > clock_timestamp())))
				returning h.epoch, before.holder`, l.id, w.id, wait <= 0).one(&a.epoch, &a.holder)
			if errors.Is(err, errNoRow) {
				err = c.query(ctx, `select holder from cd_head where store = $1`, l.id).one(&a.holder)
			}
			return a, errors.Join(err, c.warned())
		})
		switch {
		case err != nil:
			return 0, err
		case a.epoch != 0:
			if a.holder != "" && a.holder != w.id {
				l.db.counts.takenOver.Add(1)
			}
			return a.epoch, nil
		case wait <= 0:
			return 0, &HeldError{l.name, a.holder}
		}
		// It may be dead, and this worker cannot know that yet.
		alive, err := l.db.lives(ctx, a.holder)
		switch {
		case err != nil:
			return 0, err
		case alive:
			return 0, &HeldError{l.name, a.holder}
		}
		if err := pause(ctx, wait); err != nil {
			return 0, context.Cause(ctx)
		}
	}
}

// lives reports whether a worker's heartbeats are seen.
func (d *Database) lives(ctx context.Context, worker string) (alive bool, err error) {
	return attempts(ctx, d, func(ctx context.Context, c *conn) (alive bool, err error) {
		err = c.query(ctx, `select exists (select from cd_worker where worker = $1 and until > clock_timestamp())`,
			worker).one(&alive)
		return alive, err
	})
}

// release lets go of the hold, where there is one, so that the next worker need
// not wait. It is called once nothing is appended any more.
func (l *Log) release() {
	epoch := l.epoch.Load()
	if epoch == 0 {
		return
	}
	w := l.worker
	w.mu.Lock()
	if w.held[l.id] == l {
		delete(w.held, l.id)
	}
	w.mu.Unlock()
	if l.Err() != nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), l.db.beatPatience())
	defer cancel()
	// Where it fails, the hold ends with the worker.
	_, _ = attempts(ctx, l.db, func(ctx context.Context, c *conn) (int64, error) {
		return c.exec(ctx, `update cd_head set holder = '' where store = $1 and epoch = $2`, l.id, epoch)
	})
}

// Sure fails, with [ErrFenced] or [ErrLapsed], where this log's hold is lost or may be: effects
// outside the store must then stop. Without a hold it succeeds, since none can be lost.
func (l *Log) Sure() error {
	if err := l.Err(); err != nil || l.epoch.Load() == 0 {
		return err
	}
	if !l.worker.Sure() {
		l.worker.lapsed()
		return ErrLapsed
	}
	return nil
}
