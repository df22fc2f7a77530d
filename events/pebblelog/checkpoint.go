package pebblelog

import (
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/campaignd/campaignd/events"
)

// Head returns the head of the log's Merkle tree: the number of events and the
// root hash over their records (RFC 6962, section 2.1).
func (l *Log) Head() tlog.Tree {
	head, _, _ := l.state()
	return head
}

// ErrNotExtended means that a log does not extend an earlier head of it:
// events before that head were changed or removed.
var ErrNotExtended = errors.New("the log does not extend the earlier checkpoint")

// VerifyExtends checks that the log still begins with the events of an earlier
// head, in constant time. It trusts the hashes that the store keeps, which
// [Log.Verify] compares with the events. An error that wraps [ErrNotExtended]
// says that the log is another one.
func (l *Log) VerifyExtends(old tlog.Tree) error {
	head := l.Head()
	if old.N < 0 || old.N > head.N {
		return fmt.Errorf("pebblelog: %w: it had %d events, the log has %d", ErrNotExtended, old.N, head.N)
	}
	return l.use(func(db *pebble.DB) error {
		hash, err := tlog.TreeHash(old.N, hashReader{db})
		if err != nil {
			return fmt.Errorf("pebblelog: verify checkpoint: %w", err)
		}
		if hash != old.Hash {
			return fmt.Errorf("pebblelog: %w: the root hash of the first %d events is %v, the checkpoint's is %v",
				ErrNotExtended, old.N, hash, old.Hash)
		}
		return nil
	})
}

// ProveEvent returns the proof that the event at a position is in the tree of
// the first size events. Anyone with the event's record can check it with
// [tlog.CheckRecord], whose record number is the position minus one.
func (l *Log) ProveEvent(p events.Position, size int64) (tlog.RecordProof, error) {
	if head := l.Head(); p == 0 || int64(p) > size || size > head.N {
		return nil, fmt.Errorf("pebblelog: no proof of position %d among %d events: the log has %d", p, size, head.N)
	}
	var proof tlog.RecordProof
	err := l.use(func(db *pebble.DB) (err error) {
		proof, err = tlog.ProveRecord(size, int64(p)-1, hashReader{db})
		return err
	})
	return proof, err
}

// ProveExtends returns the proof that the tree of the first size events begins
// with that of the first old, for [tlog.CheckTree].
func (l *Log) ProveExtends(old, size int64) (tlog.TreeProof, error) {
	if head := l.Head(); old < 1 || old > size || size > head.N {
		return nil, fmt.Errorf("pebblelog: no proof that %d events extend %d: the log has %d", size, old, head.N)
	}
	var proof tlog.TreeProof
	err := l.use(func(db *pebble.DB) (err error) {
		proof, err = tlog.ProveTree(size, old, hashReader{db})
		return err
	})
	return proof, err
}
