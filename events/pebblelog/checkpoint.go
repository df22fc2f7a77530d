package pebblelog

import (
	"context"
	"fmt"

	"github.com/cockroachdb/pebble/v2"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/campaignd/campaignd/events"
)

// Head implements [events.Store]. It returns the durable head, never one with the committer's
// additions since: a crash could contradict a checkpoint of those.
func (l *Log) Head(ctx context.Context) (tlog.Tree, error) {
	if err := l.usable(ctx); err != nil {
		return tlog.Tree{}, fmt.Errorf("store: head: %w", err)
	}
	return l.durableHead(), nil
}

// durableHead returns the head on disk. It is taken once in a call and used throughout: the log may
// grow meanwhile.
func (l *Log) durableHead() tlog.Tree {
	head, _, _ := l.state()
	return head
}

// VerifyExtends implements [events.Store], in constant time. The stored hashes
// give the root at any earlier size with at most one look for each bit of it,
// so that nothing is hashed again. That they are those of the records is for
// [Log.Verify].
func (l *Log) VerifyExtends(ctx context.Context, old tlog.Tree) error {
	if err := l.usable(ctx); err != nil {
		return fmt.Errorf("store: verify checkpoint: %w", err)
	}
	head := l.durableHead()
	// The size comes from outside. tlog would index hashes that are not there.
	if old.N < 0 || old.N > head.N {
		return fmt.Errorf("store: %w: it had %d events, the log has %d",
			events.ErrNotExtended, old.N, head.N)
	}
	return l.use(func(db *pebble.DB) error {
		hash, err := tlog.TreeHash(old.N, hashReader{db})
		if err != nil {
			return fmt.Errorf("store: verify checkpoint: %w", err)
		}
		if hash != old.Hash {
			return fmt.Errorf("store: %w: the root hash of the first %d events is %v, the "+
				"checkpoint's is %v",
				events.ErrNotExtended, old.N, hash, old.Hash)
		}
		return nil
	})
}

// ProveEvent implements [events.Store]. The proof holds for the tree of size
// events, which may be an earlier one: a checkpoint of that size is then enough
// to check it.
func (l *Log) ProveEvent(
	ctx context.Context, p events.Position, size int64,
) (tlog.RecordProof, error) {
	if err := l.usable(ctx); err != nil {
		return nil, fmt.Errorf("store: prove: %w", err)
	}
	if head := l.durableHead(); p == 0 || int64(p) > size || size > head.N {
		return nil, fmt.Errorf("store: no proof of position %d among %d events: the log has %d",
			p, size, head.N)
	}
	var proof tlog.RecordProof
	err := l.use(func(db *pebble.DB) (err error) {
		proof, err = tlog.ProveRecord(size, int64(p)-1, hashReader{db})
		return err
	})
	return proof, err
}

// ProveExtends implements [events.Store]. An empty log has no proof: every log extends it.
func (l *Log) ProveExtends(ctx context.Context, old, size int64) (tlog.TreeProof, error) {
	if err := l.usable(ctx); err != nil {
		return nil, fmt.Errorf("store: prove: %w", err)
	}
	if head := l.durableHead(); old < 1 || old > size || size > head.N {
		return nil, fmt.Errorf("store: no proof that %d events extend %d: the log has %d",
			size, old, head.N)
	}
	var proof tlog.TreeProof
	err := l.use(func(db *pebble.DB) (err error) {
		proof, err = tlog.ProveTree(size, old, hashReader{db})
		return err
	})
	return proof, err
}
