package pglog

import (
	"context"
	"crypto/rand"
	"errors"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/campaignd/campaignd/events"
)

// Refuses says why the server takes nothing: it has refused something since its disk
// was full, or it had no other means, and has taken no write since. Nil where it takes
// writes, as far as this process knows. It asks the database nothing.
func (d *Database) Refuses() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.refuses
}

// refused notes that the server has refused a request, for [Database.Refuses]. From then on
// attempts to write find out when it accepts writes again. A server that shuts down does not count:
// another one is the primary in a moment.
func (d *Database) refused(err error) {
	var answer *pgconn.PgError
	if !errors.Is(err, events.ErrUnavailable) || !errors.As(err, &answer) ||
		answer.SeverityUnlocalized != "ERROR" {
		return
	}
	why := "it is out of resources"
	switch answer.Code {
	case "53100":
		why = "its disk is full"
	case "53200":
		why = "it is out of memory"
	default:
		if answer.Code[:2] == "58" {
			why = "its files fail"
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.refuses == nil && d.life.Err() == nil {
		d.refuses = errors.New("the database takes nothing now: " + why)
		d.work.Go(d.retry)
	}
}

// retry tries whether the server takes writes again, until it does or says something
// else, as to a user who may not write.
func (d *Database) retry() {
	for pause(d.life, d.pollTime) == nil {
		err := d.try()
		if err != nil && (errors.Is(err, events.ErrUnavailable) || passing(err)) {
			continue
		}
		d.mu.Lock()
		d.refuses = nil
		d.mu.Unlock()
		return
	}
}

// trySize is how much try writes: no table has as much room in pages of its own that
// are begun. A server whose disk is full takes a commit, a heartbeat, and small events
// for a while.
const trySize = 64 << 10

// try writes where events are, and takes it back.
func (d *Database) try() error {
	_, err := ask(d.life, d, use{fresh: true}, func(ctx context.Context, c *conn) ([]int64, error) {
		bytes := make([]byte, trySize)
		_, _ = rand.Read(bytes) // never fails; what can be compressed takes no room
		return c.execTogether(ctx,
			c.query(ctx, `begin`),
			c.query(ctx, `insert into cd_event (store, position, campaign, sequence, append, record, hashes)
				select store, 0, '', 0, '', $1, '' from cd_head limit 1`, bytes),
			c.query(ctx, `rollback`))
	})
	return err
}
