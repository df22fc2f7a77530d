package pglog

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/campaignd/campaignd/events"
)

// defaultLeaseTime is how long a worker is believed after its last heartbeat.
// It ceases to believe itself earlier, by its own clock, from before it sent
// that one (lapseTime).
const defaultLeaseTime = 5 * time.Second

func (d *Database) lapseTime() time.Duration { return d.leaseTime * 4 / 5 }
func (d *Database) beatTime() time.Duration  { return d.leaseTime / 5 }

// beatPatience is how long a heartbeat may take before its connection is cut.
func (d *Database) beatPatience() time.Duration { return d.leaseTime * 2 / 5 }

// forgetTime is when the row of a worker, or a letter, is deleted that no one
// has deleted.
const forgetTime = 10 * time.Minute

// Worker is a process to the others that use a database: one that can hold
// stores, for as long as its heartbeats are seen. Its methods may be called from
// many goroutines.
type Worker struct {
	db *Database
	id string

	say func() []byte

	life context.Context
	end  context.CancelFunc
	done chan struct{}
	said []byte // the heartbeat's own: what the row says, nil where that is not known

	mu     sync.Mutex
	beaten time.Time      // when the newest heartbeat was sent that was answered
	steady time.Time      // since when none was missing
	held   map[int64]*Log // nil while it is being taken hold of
	mail   chan struct{}  // gets a value when there may be letters
}

// Work makes this process a worker, under an identifier that no other process
// has or had. Say is asked, with each heartbeat, what others learn of it
// ([Database.Workers]). It returns after the first heartbeat.
func (d *Database) Work(ctx context.Context, id string, say func() []byte) (*Worker, error) {
	w := &Worker{
		db: d, id: id, say: say, done: make(chan struct{}),
		mail: make(chan struct{}, 1), held: make(map[int64]*Log),
	}
	w.life, w.end = context.WithCancel(d.life)
	d.mu.Lock()
	there := d.worker != nil
	if !there {
		d.worker = w
	}
	d.mu.Unlock()
	if there {
		return nil, errors.New("database: this process is a worker already")
	}
	first := make(chan error, 1)
	if !d.begin() {
		return nil, fmt.Errorf("database: work: %w", events.ErrClosed)
	}
	go func() {
		defer d.work.Done()
		w.live(first)
	}()
	d.wake.want()
	ctx, cancel := context.WithTimeout(ctx, d.patience)
	defer cancel()
	var err error
	for {
		select {
		case err = <-first:
			switch {
			case err == nil:
				return w, nil
			case passing(err):
				continue
			}
		case <-ctx.Done():
			err = cmp.Or(err, context.Cause(ctx))
		}
		w.Close()
		return nil, fmt.Errorf("database: work: %w", plainly(err))
	}
}

// ID returns the worker's identifier.
func (w *Worker) ID() string { return w.id }

// Close ends the worker: its stores can be taken at once. A log that is not closed yet takes no
// more events.
func (w *Worker) Close() {
	w.lapsed()
	w.end()
	<-w.done
	w.db.mu.Lock()
	if w.db.worker == w {
		w.db.worker = nil
	}
	w.db.mu.Unlock()
}

// live sends heartbeats until the worker is closed, on a connection of its own,
// so that nothing else holds them up. They are commits that a standby confirms:
// a primary of the past confirms none.
func (w *Worker) live(first chan error) {
	defer close(w.done)
	lapse := time.AfterFunc(time.Hour, w.lapsed)
	defer lapse.Stop()
	var c *conn
	defer func() {
		if c == nil {
			return
		}
		// A worker that has ended need not be waited for. It is not missed where
		// it fails: the lease ends by itself.
		ctx, cancel := context.WithTimeout(context.Background(), w.db.beatPatience())
		defer cancel()
		_, _ = c.exec(ctx, `delete from cd_worker where worker = $1`, w.id)
		w.db.cut(c)
	}()
	forgotten := time.Now()
	for tick := time.NewTicker(w.db.beatTime()); ; {
		sent := time.Now()
		err := w.beat(&c)
		now := time.Now()
		if err != nil && w.life.Err() == nil {
			w.db.counts.missed.Add(1)
		}
		w.mu.Lock()
		switch {
		case err != nil:
		case w.beaten.IsZero() || sent.Sub(w.beaten) > w.db.leaseTime/2:
			w.beaten, w.steady = sent, now
		default:
			w.beaten = sent
		}
		beaten := w.beaten
		w.mu.Unlock()
		if err == nil {
			lapse.Reset(time.Until(beaten.Add(w.db.lapseTime())))
			if now.Sub(forgotten) > forgetTime/10 {
				forgotten = now
				w.forget(c)
			}
		}
		if first != nil {
			select {
			case <-first: // was not read, and is older
			default:
			}
			first <- err
			if err == nil {
				first = nil
			}
		}
		select {
		case <-w.life.Done():
			return
		case <-tick.C:
		}
	}
}

// beat sends a heartbeat. A connection that does not answer in time is cut, and
// the next heartbeat makes another one.
func (w *Worker) beat(c **conn) (err error) {
	ctx, cancel := context.WithTimeout(w.life, w.db.beatPatience())
	defer cancel()
	if *c == nil {
		if *c, err = w.db.connect(ctx); err != nil {
			*c = nil
			return err
		}
	}
	said := w.say()
	// A context that ends cuts the connection, and sends no cancel: see dial.
	until := int64(0)
	if w.said != nil && bytes.Equal(said, w.said) {
		until, err = (*c).exec(ctx, `update cd_worker set until = clock_timestamp() + $2::interval where worker = $1`,
			w.id, w.db.leaseTime)
	}
	if err == nil && until == 0 {
		w.said = append([]byte{}, said...)
		_, err = (*c).exec(ctx, `insert into cd_worker (worker, until, said)
			values ($1, clock_timestamp() + $2::interval, $3)
			on conflict (worker) do update set until = excluded.until, said = excluded.said`,
			w.id, w.db.leaseTime, w.said)
	}
	if err != nil {
		w.db.refused(unavailable(err))
		w.said = nil
		w.db.cut(*c)
		*c = nil
	}
	return err
}

// forget deletes the traces of workers and askers that ended without a word. Where it fails, the
// next heartbeat finds that out.
func (w *Worker) forget(c *conn) {
	ctx, cancel := context.WithTimeout(w.life, w.db.beatPatience())
	defer cancel()
	_, _ = c.exec(ctx, `delete from cd_worker where until < clock_timestamp() - $1::interval`, forgetTime)
	_, _ = c.exec(ctx, `delete from cd_letter where written < clock_timestamp() - $1::interval`, forgetTime)
}

// lapsed fails the logs that this worker holds: another one may take them from
// now on.
func (w *Worker) lapsed() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for id, l := range w.held {
		if l != nil {
			l.fail(ErrLapsed)
			delete(w.held, id)
		}
	}
}

// Sure reports whether no other worker can believe that this one has ended: a
// heartbeat, which a standby confirms, was answered a moment ago.
func (w *Worker) Sure() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return time.Since(w.beaten) < w.db.lapseTime()
}

// believes is how long it takes until this worker may take others for dead. A worker that could not
// reach the database a moment ago does not know whether others could: after a failover all of them
// come back at once.
func (w *Worker) believes() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return time.Until(w.steady.Add(w.db.leaseTime))
}

// WorkerRow is a worker as the database knows it.
type WorkerRow struct {
	ID    string
	Since time.Time // of its first heartbeat
	Alive bool
	Said  []byte
}

const workersQuery = `select worker, since, until > clock_timestamp(), said from cd_worker order by worker`

// columns are those of workersQuery.
func (r *WorkerRow) columns() []any { return []any{&r.ID, &r.Since, &r.Alive, &r.Said} }

// Workers returns the workers, in the order of their identifiers.
func (d *Database) Workers(ctx context.Context) ([]WorkerRow, error) {
	rows, err := attempts(ctx, d, func(ctx context.Context, c *conn) ([]WorkerRow, error) {
		return all(c.query(ctx, workersQuery), (*WorkerRow).columns)
	})
	if err != nil {
		return nil, fmt.Errorf("database: workers: %w", err)
	}
	return rows, nil
}

// StoreRow is a store of a database.
type StoreRow struct {
	Name   string
	Size   int64  // events
	Holder string // the worker that holds it, empty where none does or it has ended
	// Epoch is how often a worker has taken hold of it.
	Epoch int64
}

const storesQuery = `select name, size, coalesce(w.worker, ''), epoch
	from cd_head left join cd_worker w on w.worker = holder and w.until > clock_timestamp()
	where $1::text[] is null or name = any($1) order by name`

// columns are those of storesQuery.
func (r *StoreRow) columns() []any { return []any{&r.Name, &r.Size, &r.Holder, &r.Epoch} }

// Stores returns the stores of the database that have these names, or all of them
// where none is given, in the order of their names.
func (d *Database) Stores(ctx context.Context, names ...string) ([]StoreRow, error) {
	rows, err := attempts(ctx, d, func(ctx context.Context, c *conn) ([]StoreRow, error) {
		return all(c.query(ctx, storesQuery, names), (*StoreRow).columns)
	})
	if err != nil {
		return nil, fmt.Errorf("database: stores: %w", err)
	}
	return rows, nil
}

// Holder returns the worker that holds a store, empty where none does or it has
// ended.
func (d *Database) Holder(ctx context.Context, store string) (string, error) {
	holder, err := attempts(ctx, d, func(ctx context.Context, c *conn) (holder string, err error) {
		err = c.query(ctx, `select worker from cd_head join cd_worker on worker = holder
			where name = $1 and until > clock_timestamp()`, store).one(&holder)
		if errors.Is(err, errNoRow) {
			err = nil
		}
		return holder, err
	})
	if err != nil {
		return "", fmt.Errorf("database: holder of %q: %w", store, err)
	}
	return holder, nil
}
