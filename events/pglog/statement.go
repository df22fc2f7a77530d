package pglog

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/internal/merkle"
	"github.com/campaignd/campaignd/events/internal/queue"
)

// appendStatement is the one statement (see doc.go). It changes no row where
// the head is not the one that was planned for, or where the store has another
// holder, or has been moved; where it waits for another's append, it compares with what that has
// made of the row. An epoch of 0 is that of a log without a hold.
const appendStatement = `with head as (
	update cd_head set size = $3, root = $4, edge = $5
	where store = $1 and size = $2 and root = $6 and ($7::bigint = 0 or epoch = $7) and moved is null
	returning store
)
insert into cd_event (store, position, campaign, sequence, append, record, hashes)
select head.store, $2 + e.n, e.campaign, e.sequence, $8, e.record, e.hashes
from head, unnest($9::text[], $10::bigint[], $11::bytea[], $12::bytea[])
	with ordinality as e (campaign, sequence, record, hashes, n)`

// newID returns the identifier of an append.
func newID() []byte {
	id := make([]byte, 16)
	_, _ = rand.Read(id) // never fails
	return id
}

// send sends the statement, and returns how many events it has stored: all, or
// none.
func (p *plan) send(ctx context.Context, c *conn, store int64) (int64, error) {
	args := []any{
		store, p.base.N, p.head.N, p.head.Hash[:], p.edge.Append(nil), p.base.Hash[:], p.epoch,
		p.id, p.campaigns, p.numbers, p.records, p.hashes,
	}
	if !p.locked {
		return c.exec(ctx, appendStatement, args...)
	}
	rows, err := c.execTogether(ctx, c.query(ctx, appendStatement, args...), c.query(ctx, `commit`))
	if err != nil {
		return 0, err
	}
	return rows[0], nil
}

// lockHead begins a transaction and locks the head's row. The server ends a
// session that then does nothing for a while: a process that was stopped there
// would keep all others from appending.
func lockHead(ctx context.Context, c *conn, store int64) error {
	_, err := c.execTogether(ctx,
		c.query(ctx, `begin`),
		c.query(ctx, `set local idle_in_transaction_session_timeout = '5s'`),
		c.query(ctx, `select from cd_head where store = $1 for update`, store))
	return err
}

// place is a store's head, with what stands at a position.
type place struct {
	size, epoch int64
	append      []byte // who wrote the event behind the position, nil without one
	moved       *string
}

// errStale means that a server has less than was seen. A new connection shows
// whether it is a server of the past, or the events are gone.
var errStale = errors.New("the server has fewer events than were seen")

// look has the committer know the head, and the sequences of the group's
// campaigns, of one moment; and returns what stands behind a position.
func (k *committer) look(
	ctx context.Context, c *conn, group []*queue.Request, after int64, fresh bool,
) (place, error) {
	seen, _, _, _ := k.log.extent.state() // before: it may rise meanwhile
	var campaigns []string
	for _, r := range group {
		if nameable(r.Campaign) {
			campaigns = append(campaigns, r.Campaign)
		}
	}
	var p place
	var root, edge []byte
	var sequences []int64
	err := c.query(ctx, `select size, root, edge, epoch, moved,
		(select append from cd_event where store = $1 and position = $2 + 1),
		array(select coalesce((select sequence from cd_event
				where store = $1 and campaign = c.name order by sequence desc limit 1), 0)
			from unnest($3::text[]) with ordinality as c (name, n) order by c.n)
		from cd_head where store = $1`,
		k.log.id, after, campaigns).one(&p.size, &root, &edge, &p.epoch, &p.moved, &p.append, &sequences)
	if errors.Is(err, errNoRow) {
		err = gone(fresh)
	}
	if err != nil {
		return p, err
	}
	if err := fewer(p.size, seen, fresh); err != nil {
		return p, err
	}
	restored, err := restore(p.size, root, edge)
	if err != nil {
		return p, err
	}
	if k.edge == nil || k.edge.Head() != restored.Head() || len(k.sequences) > maxSequences {
		k.sequences = make(map[string]events.Sequence)
	}
	k.edge, k.epoch = restored, p.epoch
	for i, campaign := range campaigns {
		k.sequences[campaign] = events.Sequence(sequences[i])
	}
	k.log.extent.sees(p.size)
	return p, nil
}

// fewer is the error of a server that has less than was seen: of a connection
// that is not believed, that it is not; of one behind a new barrier, damage.
func fewer(size, seen int64, fresh bool) error {
	switch {
	case size >= seen:
		return nil
	case !fresh:
		return errStale
	}
	return fmt.Errorf("%w: the database has %d events, and %d were seen: those at positions %d to %d are lost; "+
		"restore the database to a later time", events.ErrDamaged, size, seen, size+1, seen)
}

// gone is the error of a server that does not have the store.
func gone(fresh bool) error {
	if !fresh {
		return errStale
	}
	return fmt.Errorf("%w: the store is not in the database any more", events.ErrDamaged)
}

// restore returns the edge of a head's row, whose parts must agree.
func restore(size int64, root, edge []byte) (*merkle.Edge, error) {
	restored, ok := merkle.Restore(uint64(size), edge)
	if ok {
		hash := restored.Head().Hash
		ok = string(hash[:]) == string(root)
	}
	if !ok {
		return nil, fmt.Errorf("%w: the head of %d events is not that of their tree",
			events.ErrDamaged, size)
	}
	return restored, nil
}

// nameable reports whether the database could hold a campaign of that name. It
// knows no zeros in texts, and no text that is not UTF-8.
func nameable(campaign string) bool {
	return len(campaign) <= events.MaxStringSize && utf8.ValidString(campaign) &&
		!strings.Contains(campaign, "\x00")
}
