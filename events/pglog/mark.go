package pglog

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/campaignd/campaignd/events"
)

// Marks record the fate of a store. Empty ones say nothing.
type Marks struct {
	// Moved is the address that it was moved to: nothing is appended here any
	// more.
	Moved string
	// Unfinished is the address of the store that this one is a copy of, while
	// the copy is not all there.
	Unfinished string
}

// Marks returns those of a store, none where the store does not exist.
func (d *Database) Marks(ctx context.Context, store string) (Marks, error) {
	m, err := attempts(ctx, d, func(ctx context.Context, c *conn) (m Marks, err error) {
		err = c.query(ctx, `select coalesce(moved, ''), coalesce(unfinished, '') from cd_head where name = $1`, store).
			one(&m.Moved, &m.Unfinished)
		if errors.Is(err, errNoRow) {
			return Marks{}, nil
		}
		return m, err
	})
	if err != nil {
		return m, fmt.Errorf("store: %q: %w", store, err)
	}
	return m, nil
}

// Mark sets the marks of the store, which this log holds, in one statement that
// matches only while the store has this head: where anybody has appended since,
// it fails and marks nothing. From then on no log appends to a store that has
// been moved, whenever it was opened.
func (l *Log) Mark(ctx context.Context, head tlog.Tree, m Marks) error {
	marked, err := attempts(ctx, l.db, func(ctx context.Context, c *conn) (int64, error) {
		return c.exec(ctx, `update cd_head set moved = nullif($5, ''), unfinished = nullif($6, '')
			where store = $1 and size = $2 and root = $3 and epoch = $4`,
			l.id, head.N, head.Hash[:], l.epoch.Load(), m.Moved, m.Unfinished)
	})
	if err == nil && marked == 0 {
		err = fmt.Errorf("something was appended meanwhile, or another process has taken hold of it: %w",
			events.ErrInUse)
	}
	if err != nil {
		return fmt.Errorf("store: mark %q: %w", l.name, err)
	}
	return nil
}
