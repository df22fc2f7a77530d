package pebblelog

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"

	"github.com/cockroachdb/pebble/v2"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/internal/merkle"
	"github.com/campaignd/campaignd/events/internal/queue"
)

// group is the content of one batch of the database. It belongs to the committer until it is sent,
// and to the syncer from then on.
type group struct {
	requests []*queue.Request
	batch    *pebble.Batch // nil if there is nothing to write
	head     tlog.Tree     // the tree with the group
}

// Append implements [events.Log].
//
// What has been taken by the committer cannot be withdrawn: a context that ends
// then leaves it open whether the batch is stored ([events.ErrUncertain]), which
// the next read of the campaign shows.
func (l *Log) Append(
	ctx context.Context, campaign string, expected events.Sequence, batch ...events.Event,
) ([]events.Event, error) {
	if ctx.Err() != nil {
		return nil, fmt.Errorf("store: append: %w", context.Cause(ctx))
	}
	if l.readOnly {
		return nil, fmt.Errorf("store: append: %w", events.ErrReadOnly)
	}
	// The disk may fail while the committer is stuck in the database, so that the
	// answer does not wait for it.
	return l.queue.Append(ctx, campaign, expected, batch, l.guard.Failed(), l.stopped)
}

// start starts the committer and the syncer. Eight groups may be on their way
// to the disk, so that the committer seldom waits for the syncer.
func (l *Log) start() {
	l.queue = queue.New()
	l.sequences = make(map[string]events.Sequence)
	l.groups = make(chan *group, 8)
	l.done = make(chan struct{})
	go l.commit()
	go l.sync()
}

// commit is the committer: it owns the positions, the sequences, the tree and
// the batch. It ends when the queue is closed.
//
// A request with an error adds nothing and stays in its group, so that requests
// are answered in the order in which they came. Everything that it decides on
// is its own, in memory, and ahead of the disk by the groups under way: a
// conflict is found without a read, and against events that are not yet
// durable. That is sound because a group never becomes durable without those
// before it; if one fails, the log stops.
func (l *Log) commit() {
	defer close(l.groups)
	var taken []*queue.Request
	var scratch []byte
	for {
		taken = l.queue.Take(taken)
		if len(taken) == 0 {
			return
		}
		// A batch of the database for each group, whatever its size: the group
		// is durable as a whole.
		for rest := taken; len(rest) > 0; {
			g := &group{batch: l.db.NewBatch()}
			for len(rest) > 0 && g.batch.Len() < queue.MaxGroupSize {
				r := rest[0]
				rest = rest[1:]
				g.requests = append(g.requests, r)
				if r.Err = l.stopped(); r.Err == nil {
					scratch, r.Err = l.add(g.batch, r, scratch)
				}
				if r.Err != nil {
					r.Err = fmt.Errorf("store: append: %w", r.Err)
				}
			}
			g.index()
			// Also of a group without events, which then repeats the head of
			// the one before.
			g.head = l.edge.Head()
			l.apply(g)
			l.groups <- g
		}
		clear(taken)
	}
}

// add adds a request's events to the batch. If it returns an error, it has
// added nothing. The campaign's sequence moves only when the whole request has
// been added, so that the next request of the same group is judged by it.
func (l *Log) add(batch *pebble.Batch, r *queue.Request, scratch []byte) ([]byte, error) {
	actual, err := l.sequence(r.Campaign)
	if err != nil {
		return scratch, err
	}
	if r.Expected != events.AnySequence && r.Expected != actual {
		return scratch, &events.ConflictError{Campaign: r.Campaign, Expected: r.Expected, Actual: actual}
	}
	stored, err := events.Assign(r.Campaign, actual, r.Batch)
	if err != nil || len(stored) == 0 {
		return scratch, err
	}
	for i := range stored {
		e := &stored[i]
		// Assign has refused events without a record, so that a batch is added whole; a failure
		// here would be a mistake of this program. The record stands behind the byte that a leaf is
		// hashed with.
		if scratch, err = events.AppendRecord(append(scratch[:0], merkle.LeafPrefix), *e); err != nil {
			l.guard.Fail(err)
			return scratch, err
		}
		scratch = l.edge.Add(scratch, sha256.Sum256(scratch))
		e.Position = events.Position(l.edge.Size())
		value := scratch[1:]

		op := batch.SetDeferred(eventKeySize, len(value))
		appendEventKey(op.Key[:0], e.Position)
		copy(op.Value, value)
		_ = op.Finish() // only fails for an indexed batch
	}
	l.sequences[r.Campaign] = stored[len(stored)-1].Sequence
	r.Stored = stored
	return scratch, nil
}

// index adds to the batch the campaigns' sequences of its events: after them
// all, because Pebble takes keys that follow each other with less work.
func (g *group) index() {
	for _, r := range g.requests {
		for i := range r.Stored {
			e := &r.Stored[i]
			op := g.batch.SetDeferred(3+len(e.Campaign)+8, 8)
			appendSequenceKey(op.Key[:0], e.Campaign, e.Sequence)
			binary.BigEndian.PutUint64(op.Value, uint64(e.Position))
			_ = op.Finish() // only fails for an indexed batch
		}
	}
}

// sequence returns the campaign's sequence as the committer knows it. The first time it is read
// from the database, before the committer's own additions. An absent campaign is not remembered:
// callers could fill a map that grew with every name they ask for.
func (l *Log) sequence(campaign string) (events.Sequence, error) {
	if s, ok := l.sequences[campaign]; ok {
		return s, nil
	}
	if len(campaign) > events.MaxStringSize {
		return 0, nil // Assign refuses it
	}
	s, err := lastSequence(l.db, campaign, events.Position(l.edge.Size()))
	if err == nil && s > 0 {
		l.sequences[campaign] = s
	}
	return s, err
}

// apply hands the batch to the database, without waiting for the disk. The
// order of groups is that of these calls: the committer alone makes them, and
// Pebble syncs its log in that order.
func (l *Log) apply(g *group) {
	// Pebble answers some failures with a panic. The guard keeps those away
	// that are known.
	defer func() {
		if r := recover(); r != nil {
			l.guard.Fail(fmt.Errorf("pebble: %v", r))
			g.batch = nil
		}
	}()
	if g.batch.Empty() || l.guard.Err() != nil {
		_ = g.batch.Close() // never applied: nothing to fail
		g.batch = nil
		return
	}
	if err := l.db.ApplyNoSyncWait(g.batch, pebble.Sync); err != nil {
		l.guard.Fail(err)
		g.batch = nil
	}
}

// headSyncInterval is the number of groups after which HEAD is synced. HEAD is written after each
// group and left to the system. Syncing it each time would double the waits for the disk; once in a
// while bounds the part that a power failure can make it forget.
const headSyncInterval = 1024

// sync is the syncer: it waits for the disk, group by group, and tells readers and writers. It ends
// when the committer has.
//
// "Acknowledged means durable" rests on its order: the database is synced, then HEAD is written,
// then readers see the events, then the writer is answered. Batches under way when the disk fails
// are answered as uncertain.
func (l *Log) sync() {
	defer close(l.done)
	// Counted from opening, when HEAD has been synced.
	written := 0
	for g := range l.groups {
		if g.batch != nil {
			if err := g.batch.SyncWait(); err != nil {
				l.guard.Fail(err)
			} else {
				_ = g.batch.Close() // only returns the batch's memory
			}
			// After a failure HEAD stays as it is: it must never name more than
			// the database has.
			if l.guard.Err() == nil {
				if err := l.head.write(g.head); err != nil {
					l.guard.Fail(err)
				}
				if written++; written%headSyncInterval == 0 {
					_ = l.head.file.Sync() // the guard knows of a failure
				}
			}
		}
		if err := l.stopped(); err != nil {
			for _, r := range g.requests {
				if r.Err == nil {
					r.Stored, r.Err = nil, fmt.Errorf("store: append: %w: %w",
						events.ErrUncertain, err)
				}
				r.Done <- struct{}{}
			}
			continue
		}
		if g.batch != nil {
			l.announce(g.head)
		}
		// The writers hear last: one that asks the log at once finds its own
		// events (the law "Seen" of package logtest).
		for _, r := range g.requests {
			r.Done <- struct{}{}
		}
	}
}
