package pglog

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/internal/merkle"
	"github.com/campaignd/campaignd/events/internal/records"
)

// Options says how to open a store. The zero value opens it for reading and writing, and creates a
// missing one.
type Options struct {
	// ReadOnly opens an existing store that is not changed by this log. It goes
	// on with what others append. Append and SetOffset answer
	// [events.ErrReadOnly].
	ReadOnly bool
	// MustExist refuses, with an error that wraps [io/fs.ErrNotExist], to
	// create a store.
	MustExist bool
	// Check, if set, is called before a store that exists is opened for
	// writing, with the log for reading; if it returns an error, the store is
	// refused with that. The log must not be closed by it, nor used later.
	// Without it only the end of the log is checked. Others may append
	// meanwhile.
	Check func(events.Store) error
	// Marked opens for writing a store that has been moved, whose log appends
	// nothing, or is an unfinished copy, too ([Log.Mark]).
	Marked bool
}

// MaxNameSize is the greatest length in bytes of a store's name.
const MaxNameSize = 200

// Open opens the store of a name, or creates it. Any number of logs may have it open, in any number
// of processes, for writing too: a writer that has not seen another's event is refused
// ([events.ConflictError]), and a process that must be the only writer takes hold of it
// ([Log.Hold]).
//
// A store that has been moved, or is an unfinished copy, is opened for reading alone. Open answers
// with [events.ErrDamaged], which names the loss, where events are missing or differ from the
// acknowledged ones.
func (d *Database) Open(ctx context.Context, name string, o Options) (*Log, error) {
	l, err := d.open(ctx, name, o)
	if err != nil {
		return nil, fmt.Errorf("store: open %q: %w", name, err)
	}
	return l, nil
}

func (d *Database) open(ctx context.Context, name string, o Options) (*Log, error) {
	if !nameable(name) || name == "" || len(name) > MaxNameSize || strings.ContainsFunc(name, func(r rune) bool {
		return r < 0x20 || r == 0x7f
	}) {
		return nil, fmt.Errorf("a store's name is a text of 1 to %d bytes without control characters",
			MaxNameSize)
	}
	end, err := attempts(ctx, d, func(ctx context.Context, c *conn) (*storeEnd, error) {
		return loadEnd(ctx, c, name)
	})
	if err != nil {
		return nil, err
	}
	created := end == nil
	if created {
		if o.ReadOnly || o.MustExist {
			return nil, fmt.Errorf("there is no store of that name in the database: %w", fs.ErrNotExist)
		}
		end, err = attempts(ctx, d, func(ctx context.Context, c *conn) (*storeEnd, error) {
			// A store that another process has created meanwhile will do, and so will that of an
			// earlier attempt with an unknown end.
			_, err := c.exec(ctx, `insert into cd_head (name, root) values ($1, $2) on conflict do nothing`,
				name, emptyRoot())
			if err != nil {
				return nil, err
			}
			return loadEnd(ctx, c, name)
		})
		if err != nil {
			return nil, err
		}
	}
	if err := end.check(ctx, d); err != nil {
		return nil, err
	}
	switch {
	case o.ReadOnly, o.Marked:
	case end.moved != nil:
		return nil, &events.MovedError{To: *end.moved}
	case end.unfinished != nil:
		return nil, &events.UnfinishedError{Of: *end.unfinished}
	}
	if o.Check != nil && !created && !o.ReadOnly {
		first, err := newLog(d, name, end.id, end.size, true)
		if err != nil {
			return nil, err
		}
		if err := errors.Join(o.Check(first), first.Close()); err != nil {
			return nil, err
		}
	}
	l, err := newLog(d, name, end.id, end.size, o.ReadOnly)
	if err != nil {
		return nil, err
	}
	if !o.ReadOnly {
		l.committer.work.Go(l.committer.run)
	}
	return l, nil
}

// storeEnd is the end of a store, at one moment.
type storeEnd struct {
	id, size       int64
	root, edge     []byte
	first, last    int64 // positions, 0 without events
	record, hashes []byte

	moved, unfinished *string
}

// loadEnd returns the end of a store, nil where the store does not exist.
func loadEnd(ctx context.Context, c *conn, name string) (*storeEnd, error) {
	e := new(storeEnd)
	err := c.query(ctx, `select h.store, h.size, h.root, h.edge,
		coalesce((select min(position) from cd_event where store = h.store), 0),
		coalesce((select max(position) from cd_event where store = h.store), 0),
		e.record, e.hashes, h.moved, h.unfinished
		from cd_head h left join cd_event e on e.store = h.store and e.position = h.size
		where h.name = $1`, name).
		one(&e.id, &e.size, &e.root, &e.edge, &e.first, &e.last, &e.record, &e.hashes, &e.moved,
			&e.unfinished)
	if errors.Is(err, errNoRow) {
		return nil, nil
	}
	return e, err
}

// check compares the newest event with the head. The root is computed from its
// record at least, and not only read back.
func (e *storeEnd) check(ctx context.Context, d *Database) error {
	restored, err := restore(e.size, e.root, e.edge)
	switch {
	case err != nil:
		return err
	case e.last > 0 && e.first != 1:
		return fmt.Errorf("%w: the events at positions 1 to %d are lost; restore the database from a copy",
			events.ErrDamaged, e.first-1)
	case e.last < e.size:
		return fmt.Errorf("%w: %d events were acknowledged and %d are there: those at "+
			"positions %d to %d are lost; restore the database from a copy",
			events.ErrDamaged, e.size, e.last, e.last+1, e.size)
	case e.last > e.size:
		return fmt.Errorf("%w: there are events up to position %d, and the head says %d; restore the database "+
			"from a copy", events.ErrDamaged, e.last, e.size)
	case e.size == 0:
		return nil
	}
	if _, err := records.Decode(events.Position(e.size), e.record); err != nil {
		return err
	}
	before, err := merkle.Load(uint64(e.size-1), hashReader{ctx, d, e.id})
	if err != nil {
		return err
	}
	if want := before.Add(nil, tlog.RecordHash(e.record)); !bytes.Equal(e.hashes, want) {
		return fmt.Errorf("%w: the hashes stored at position %d are not those of the events",
			events.ErrDamaged, e.size)
	}
	if before.Head() != restored.Head() {
		return fmt.Errorf("%w: the events up to position %d are not those that were acknowledged: their root hash "+
			"is %v and was %v; restore the database from a copy",
			events.ErrDamaged, e.size, before.Head().Hash, restored.Head().Hash)
	}
	return nil
}
