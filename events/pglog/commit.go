package pglog

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/internal/merkle"
	"github.com/campaignd/campaignd/events/internal/queue"
)

// Append implements [events.Log].
//
// What has been taken by the committer cannot be withdrawn: a context that ends
// then leaves it open whether the batch is stored ([events.ErrUncertain]), which
// the next read of the campaign shows. While the database does not answer, it
// waits.
func (l *Log) Append(
	ctx context.Context, campaign string, expected events.Sequence, batch ...events.Event,
) ([]events.Event, error) {
	if ctx.Err() != nil || l.readOnly {
		return nil, fmt.Errorf("store: append: %w", l.writable(ctx))
	}
	return l.committer.queue.Append(ctx, campaign, expected, batch, nil, nil)
}

// committer stores the batches of a log's queue. It knows the newest head that it has seen and the
// sequences of campaigns at that head. Others append as well, so it is only true where a statement
// matches.
type committer struct {
	log    *Log
	queue  *queue.Queue
	work   sync.WaitGroup
	giveUp chan struct{} // closed some time after close: an unknown end stays one

	edge      *merkle.Edge // nil: not known
	epoch     int64        // of the store's holder
	sequences map[string]events.Sequence
}

// maxSequences is how many campaigns the committer remembers.
const maxSequences = 10_000

// run stores batches until the queue is closed.
func (k *committer) run() {
	var taken []*queue.Request
	for {
		taken = k.queue.Take(taken)
		if len(taken) == 0 {
			return
		}
		for rest := taken; len(rest) > 0; {
			n, size := 0, 0
			for n < len(rest) && size < queue.MaxGroupSize {
				for _, e := range rest[n].Batch {
					size += len(e.Data) + 300 // the envelope, about
				}
				n++
			}
			k.store(rest[:n])
			rest = rest[n:]
		}
		clear(taken)
	}
}

// closePatience is how long Close waits for a database that does not answer.
const closePatience = 10 * time.Second

// close has what was queued stored, and waits for that.
func (k *committer) close() {
	k.queue.Close()
	timer := time.AfterFunc(closePatience, func() { close(k.giveUp) })
	defer timer.Stop()
	k.work.Wait()
}

// store stores a group, and answers it: readers see it first, then the writers
// hear, then other processes.
func (k *committer) store(group []*queue.Request) {
	p, err := k.write(group)
	if err != nil {
		for _, r := range group {
			r.Stored, r.Err = nil, err
		}
	} else {
		k.log.extent.sees(p.head.N)
	}
	for _, r := range group {
		if r.Err != nil {
			r.Err = fmt.Errorf("store: append: %w", r.Err)
		}
		r.Done <- struct{}{}
	}
	if err == nil && len(p.records) > 0 {
		k.log.db.wake.tell(k.log.id, p.head.N)
	}
}

// write has a group stored, however long the database takes to answer. It returns the stored plan,
// with the requests answered for themselves; or an error for all of them, which wraps
// [events.ErrUncertain] unless nothing is stored or ever will be.
func (k *committer) write(group []*queue.Request) (*plan, error) {
	var (
		open  *plan // was sent, and what became of it is not known
		late  bool  // another writer was quicker: this one queues at the row
		fresh bool
	)
	for n := 0; ; n++ {
		if err := k.log.Err(); err != nil {
			return nil, unsettled(open, err)
		}
		p, err := ask(context.Background(), k.log.db, use{write: true, fresh: fresh},
			func(ctx context.Context, c *conn) (*plan, error) {
				return k.attempt(ctx, c, group, &open, late, fresh)
			})
		switch {
		case err == nil && p != nil:
			return p, nil
		case err == nil:
			late = true
			continue
		case errors.Is(err, events.ErrClosed):
			return nil, unsettled(open, err)
		case errors.Is(err, ErrFenced) || errors.Is(err, events.ErrDamaged) || !passing(err):
			k.log.fail(err)
			return nil, unsettled(open, err)
		}
		fresh = true
		select {
		case <-k.giveUp:
			return nil, unsettled(open, fmt.Errorf("%w; the database does not answer: %w",
				events.ErrClosed, plainly(err)))
		default:
		}
		_ = pause(k.log.db.life, backoff(n)) // the next attempt finds it closed
	}
}

// unsettled is the error of a group that may have a statement on its way.
func unsettled(open *plan, err error) error {
	if open != nil {
		return fmt.Errorf("%w: %w", events.ErrUncertain, err)
	}
	return err
}

// attempt tries to store a group on a connection, once. It returns nil and no
// error where another writer was quicker. *open is a statement that was sent
// before, on another connection, and may yet be stored; with one, the connection
// is behind a barrier of its own.
func (k *committer) attempt(
	ctx context.Context, c *conn, group []*queue.Request, open **plan, late, fresh bool,
) (*plan, error) {
	p := *open
	if p != nil {
		at, err := k.look(ctx, c, group, p.base.N, fresh)
		switch {
		case err != nil:
			return nil, err
		case string(at.append) == string(p.id):
			k.log.db.counts.settled.Add(1)
			*open = nil
			return p, nil
		case at.epoch != p.epoch && p.epoch != 0:
			*open = nil // the epoch only rises: it never will match
			return nil, ErrFenced
		case at.moved != nil:
			*open = nil // nor will it then
			return nil, &events.MovedError{To: *at.moved}
		case at.size != p.base.N:
			*open, p = nil, nil // and that it never will, either
			late = true
		}
	}
	if p == nil {
		known, err := k.know(ctx, c, group, late, fresh)
		if err != nil {
			return nil, err
		}
		if epoch := k.log.epoch.Load(); epoch != 0 && k.epoch != epoch {
			return nil, ErrFenced
		}
		if p, err = k.plan(group); err != nil {
			return nil, err
		}
		if len(p.records) == 0 {
			return k.nothing(ctx, c, p, group, late, known)
		}
		p.locked = late
	}
	// From here on it may be stored, whatever is returned.
	resent := *open != nil
	if resent {
		k.log.db.counts.resent.Add(1)
	}
	*open = p
	rows, err := p.send(ctx, c, k.log.id)
	switch {
	case err != nil && (unknown(err) || resent):
		p.locked = false // who sends it again has no lock
		return nil, err
	case err != nil:
		*open = nil
		return nil, err
	case rows == 0:
		k.edge = nil
		if !resent {
			*open = nil
		}
		return nil, nil
	}
	*open = nil
	k.edge = p.edge
	for campaign, s := range p.sequences {
		k.sequences[campaign] = s
	}
	return p, nil
}

// nothing answers a group without anything to store: empty batches and conflicts. They are answered
// by the present state of the store, not by an earlier one.
func (k *committer) nothing(
	ctx context.Context, c *conn, p *plan, group []*queue.Request, late, known bool,
) (*plan, error) {
	if late {
		_, err := c.exec(ctx, `rollback`) // which lets go of the row
		return p, err
	}
	if !known {
		if _, err := k.look(ctx, c, group, 0, false); err != nil {
			return nil, err
		}
		if k.edge.Head() != p.base {
			return nil, nil
		}
	}
	return p, nil
}

// know makes sure that the committer knows the head and the sequences of the
// group's campaigns, and reports whether it has just looked. After it was late
// it locks the head's row first, in a transaction: the process that has the lock
// appends next. A process that stops in the middle loses the lock by itself.
func (k *committer) know(
	ctx context.Context, c *conn, group []*queue.Request, late, fresh bool,
) (looked bool, err error) {
	if late {
		if err := lockHead(ctx, c, k.log.id); err != nil {
			return false, err
		}
	}
	known := !late && k.edge != nil
	for _, r := range group {
		if _, ok := k.sequences[r.Campaign]; !ok && nameable(r.Campaign) {
			known = false
		}
	}
	if known {
		return false, nil
	}
	at, err := k.look(ctx, c, group, 0, fresh)
	if err == nil && at.moved != nil {
		err = &events.MovedError{To: *at.moved}
	}
	return true, err
}

// plan is the effect of a group at a head, with the statement that brings it about.
type plan struct {
	base, head tlog.Tree
	edge       *merkle.Edge // at head
	epoch      int64
	id         []byte // of the append
	locked     bool   // in a transaction that has the head's row
	sequences  map[string]events.Sequence

	campaigns []string
	numbers   []int64 // sequences
	records   [][]byte
	hashes    [][]byte
}

// plan decides on each request, in their order: its events are added to the
// statement, or it is refused and adds nothing.
func (k *committer) plan(group []*queue.Request) (*plan, error) {
	edge := *k.edge
	p := &plan{
		base: edge.Head(), edge: &edge, epoch: k.log.epoch.Load(), id: newID(),
		sequences: make(map[string]events.Sequence),
	}
	for _, r := range group {
		r.Stored, r.Err = nil, nil
		actual, ok := p.sequences[r.Campaign]
		if !ok {
			actual = k.sequences[r.Campaign]
		}
		if r.Expected != events.AnySequence && r.Expected != actual {
			r.Err = &events.ConflictError{Campaign: r.Campaign, Expected: r.Expected, Actual: actual}
			continue
		}
		stored, err := events.Assign(r.Campaign, actual, r.Batch)
		if err != nil || len(stored) == 0 {
			r.Err = err
			continue
		}
		for i := range stored {
			e := &stored[i]
			// Assign has refused events without a record.
			record, err := events.AppendRecord(nil, *e)
			if err != nil {
				return nil, err
			}
			p.campaigns = append(p.campaigns, e.Campaign)
			p.numbers = append(p.numbers, int64(e.Sequence))
			p.records = append(p.records, record)
			p.hashes = append(p.hashes, edge.Add(nil, tlog.RecordHash(record)))
			e.Position = events.Position(edge.Size())
		}
		p.sequences[r.Campaign] = stored[len(stored)-1].Sequence
		r.Stored = stored
	}
	p.head = edge.Head()
	return p, nil
}
