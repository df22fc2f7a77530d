package pebblelog

import (
	"errors"
	"fmt"
	"math/bits"

	"github.com/cockroachdb/pebble/v2"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/campaignd/campaignd/events"
)

// leafPrefix is the byte that the hash of a leaf begins with (RFC 6962, 2.1): a
// leaf's hash is that of this byte and the record, as [tlog.RecordHash] has it.
const leafPrefix = 0

// edge is the right edge of the growing Merkle tree: what is needed to add a
// leaf and to compute the root. It is a binary counter: where bit i of size is
// set, hashes[i] is the root of a complete subtree of 2^i leaves. Only the
// committer adds to it. 64 hashes are 2 KiB, whatever the size of the log.
type edge struct {
	size   uint64
	hashes [64]tlog.Hash
}

// add adds a leaf and appends to dst the hashes it completes, the leaf's first:
// those of tlog.StoredHashes, in the same order. Adding a leaf is counting up
// by one: a carry from level to level is a subtree that is complete.
func (t *edge) add(dst []byte, leaf tlog.Hash) []byte {
	dst = append(dst, leaf[:]...)
	h, level := leaf, 0
	for ; t.size>>level&1 != 0; level++ {
		h = tlog.NodeHash(t.hashes[level], h)
		dst = append(dst, h[:]...)
	}
	t.hashes[level] = h
	t.size++
	return dst
}

// head returns the size and the root hash (RFC 6962, 2.1). The complete
// subtrees are joined from the smallest to the greatest, as the RFC splits a
// tree at the largest power of two.
func (t *edge) head() tlog.Tree {
	if t.size == 0 {
		empty, _ := tlog.TreeHash(0, nil)
		return tlog.Tree{Hash: empty}
	}
	level := bits.TrailingZeros64(t.size)
	h := t.hashes[level]
	for level++; t.size>>level != 0; level++ {
		if t.size>>level&1 != 0 {
			h = tlog.NodeHash(t.hashes[level], h)
		}
	}
	return tlog.Tree{N: int64(t.size), Hash: h}
}

// loadEdge returns the edge of the tree over the first n events. It reads one
// hash for each bit that is set in n.
func loadEdge(n events.Position, r tlog.HashReader) (*edge, error) {
	t := &edge{size: uint64(n)}
	var levels []int
	var indexes []int64
	for level := range 63 {
		if t.size>>level&1 != 0 {
			levels = append(levels, level)
			indexes = append(indexes, tlog.StoredHashIndex(level, int64(t.size>>level)-1))
		}
	}
	hashes, err := r.ReadHashes(indexes)
	if err != nil {
		return nil, err
	}
	for i, level := range levels {
		t.hashes[level] = hashes[i]
	}
	return t, nil
}

// hashReader reads the stored hashes of the tree: the hash (level, n) is the
// level'th of those stored with leaf (n+1)<<level − 1, which completes it.
type hashReader struct{ pebble.Reader }

// ReadHashes implements [tlog.HashReader].
func (r hashReader) ReadHashes(indexes []int64) ([]tlog.Hash, error) {
	out := make([]tlog.Hash, len(indexes))
	for i, index := range indexes {
		level, n := tlog.SplitStoredHashIndex(index)
		p := events.Position((n + 1) << level)
		value, closer, err := r.Get(appendEventKey(nil, p))
		switch {
		case errors.Is(err, pebble.ErrNotFound) || pebble.IsCorruptionError(err):
			return nil, fmt.Errorf("%w: the hash at position %d cannot be read: %w",
				events.ErrDamaged, p, err)
		case err != nil:
			return nil, fmt.Errorf("the hash at position %d cannot be read: %w", p, err)
		}
		_, hashes, err := splitValue(p, value)
		if err == nil {
			copy(out[i][:], hashes[level*tlog.HashSize:])
		}
		_ = closer.Close() // only releases the value
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}
