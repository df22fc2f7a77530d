package pglog

import (
	"context"
	"fmt"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/internal/merkle"
)

// hashReader reads the stored hashes of a store's tree.
type hashReader struct {
	ctx   context.Context
	db    *Database
	store int64
}

// ReadHashes implements [tlog.HashReader], by one statement.
func (r hashReader) ReadHashes(indexes []int64) ([]tlog.Hash, error) {
	if len(indexes) == 0 {
		return nil, nil
	}
	positions := make([]int64, len(indexes))
	for i, index := range indexes {
		leaf, _ := merkle.Locate(index)
		positions[i] = int64(leaf)
	}
	kept, err := attempts(r.ctx, r.db, func(ctx context.Context, c *conn) (map[int64][]byte, error) {
		kept := make(map[int64][]byte)
		var position int64
		var hashes []byte
		err := c.query(ctx, `select position, hashes from cd_event
			where store = $1 and position = any($2)`, r.store, positions).each(func() error {
			kept[position] = hashes
			return nil
		}, &position, &hashes)
		return kept, err
	})
	if err != nil {
		return nil, err
	}
	out := make([]tlog.Hash, len(indexes))
	for i, index := range indexes {
		leaf, which := merkle.Locate(index)
		hashes := kept[int64(leaf)]
		if len(hashes) != merkle.HashCount(leaf)*tlog.HashSize {
			return nil, fmt.Errorf("%w: the hash at position %d cannot be read", events.ErrDamaged, leaf)
		}
		copy(out[i][:], hashes[which*tlog.HashSize:])
	}
	return out, nil
}

// hashes returns the reader of the store's hashes.
func (l *Log) hashes(ctx context.Context) hashReader { return hashReader{ctx, l.db, l.id} }

// Head implements [events.Store].
func (l *Log) Head(ctx context.Context) (tlog.Tree, error) {
	head, err := l.head(ctx)
	if err != nil {
		return tlog.Tree{}, fmt.Errorf("store: head: %w", err)
	}
	return head, nil
}

// head returns the store's head, which then was seen.
func (l *Log) head(ctx context.Context) (tlog.Tree, error) {
	return glance(ctx, l, func(ctx context.Context, c *conn) (tlog.Tree, int64, error) {
		var size int64
		var root, edge []byte
		err := c.query(ctx, `select size, root, edge from cd_head where store = $1`, l.id).
			one(&size, &root, &edge)
		if err != nil {
			return tlog.Tree{}, 0, err
		}
		restored, err := restore(size, root, edge)
		if err != nil {
			return tlog.Tree{}, size, err
		}
		return restored.Head(), size, nil
	})
}

// VerifyExtends implements [events.Store]. The stored hashes give the root at
// any earlier size with at most one look for each bit of it. That they are those
// of the records is for [Log.Verify].
func (l *Log) VerifyExtends(ctx context.Context, old tlog.Tree) error {
	head, err := l.head(ctx)
	if err != nil {
		return fmt.Errorf("store: verify checkpoint: %w", err)
	}
	// The size comes from outside. tlog would index hashes that are not there.
	if old.N < 0 || old.N > head.N {
		return fmt.Errorf("store: %w: it had %d events, the log has %d",
			events.ErrNotExtended, old.N, head.N)
	}
	hash, err := tlog.TreeHash(old.N, l.hashes(ctx))
	if err != nil {
		return fmt.Errorf("store: verify checkpoint: %w", err)
	}
	if hash != old.Hash {
		return fmt.Errorf("store: %w: the root hash of the first %d events is %v, the checkpoint's is %v",
			events.ErrNotExtended, old.N, hash, old.Hash)
	}
	return nil
}

// ProveEvent implements [events.Store]. The proof holds for the tree of size
// events, which may be an earlier one.
func (l *Log) ProveEvent(ctx context.Context, p events.Position, size int64) (tlog.RecordProof, error) {
	head, err := l.head(ctx)
	if err != nil {
		return nil, fmt.Errorf("store: prove: %w", err)
	}
	if p == 0 || int64(p) > size || size > head.N {
		return nil, fmt.Errorf("store: no proof of position %d among %d events: the log has %d",
			p, size, head.N)
	}
	return tlog.ProveRecord(size, int64(p)-1, l.hashes(ctx))
}

// ProveExtends implements [events.Store]. An empty log has no proof: every log extends it.
func (l *Log) ProveExtends(ctx context.Context, old, size int64) (tlog.TreeProof, error) {
	head, err := l.head(ctx)
	if err != nil {
		return nil, fmt.Errorf("store: prove: %w", err)
	}
	if old < 1 || old > size || size > head.N {
		return nil, fmt.Errorf("store: no proof that %d events extend %d: the log has %d",
			size, old, head.N)
	}
	return tlog.ProveTree(size, old, l.hashes(ctx))
}
