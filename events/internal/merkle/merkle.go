// Package merkle grows the Merkle tree of a log (RFC 6962, section 2.1), for
// every store of package events: so that the same events have the same tree
// whatever keeps them.
//
// With each leaf a store keeps the hashes that the leaf completes, its own
// first: those of [tlog.StoredHashes], in the same order. From them every proof
// can be made, and the edge be loaded again.
package merkle

import (
	"math/bits"

	"golang.org/x/mod/sumdb/tlog"
)

// LeafPrefix is the byte that the hash of a leaf begins with (RFC 6962, 2.1): a
// leaf's hash is that of this byte and the record, as [tlog.RecordHash] has it.
const LeafPrefix = 0

// Edge is the right edge of the growing tree: the hashes that suffice to add a leaf and to compute
// the root. The zero value is that of the empty tree. It is a binary counter: where bit i of size
// is set, hashes[i] is the root of a complete subtree of 2^i leaves. 64 hashes are 2 KiB, whatever
// the size of the log.
type Edge struct {
	size   uint64
	hashes [64]tlog.Hash
}

// Size is the number of leaves.
func (t *Edge) Size() uint64 { return t.size }

// Add adds a leaf and appends to dst the hashes it completes, the leaf's first.
// Adding a leaf is counting up by one: a carry from level to level is a subtree
// that is complete.
func (t *Edge) Add(dst []byte, leaf tlog.Hash) []byte {
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

// Head returns the size and the root hash (RFC 6962, 2.1). The complete
// subtrees are joined from the smallest to the greatest, as the RFC splits a
// tree at the largest power of two.
func (t *Edge) Head() tlog.Tree {
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

// Load returns the edge of the tree over the first n leaves. It reads one hash
// for each bit that is set in n.
func Load(n uint64, r tlog.HashReader) (*Edge, error) {
	t := &Edge{size: n}
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

// Append appends the edge's hashes to dst, that of the smallest subtree first.
// With the size, [Restore] has the edge again.
func (t *Edge) Append(dst []byte) []byte {
	for level := range t.hashes {
		if t.size>>level&1 != 0 {
			dst = append(dst, t.hashes[level][:]...)
		}
	}
	return dst
}

// Restore returns the edge of n leaves whose hashes [Edge.Append] gave; false
// where they are not so many.
func Restore(n uint64, hashes []byte) (*Edge, bool) {
	t := &Edge{size: n}
	if len(hashes) != bits.OnesCount64(n)*tlog.HashSize {
		return nil, false
	}
	for level := range t.hashes {
		if n>>level&1 != 0 {
			hashes = hashes[copy(t.hashes[level][:], hashes):]
		}
	}
	return t, true
}

// HashCount returns how many hashes are kept with the n'th leaf, counted from
// 1: the leaf's and one for each subtree that it completes. The n'th leaf
// completes a subtree for each trailing zero of n: with every even one its pair
// is complete, and so on.
func HashCount(n uint64) int { return 1 + bits.TrailingZeros64(n) }

// Locate returns where the hash of an index of package tlog is kept: with which
// leaf, counted from 1, and as which of that leaf's hashes, from 0. The hash
// (level, i) is complete with leaf (i+1)<<level.
func Locate(index int64) (leaf uint64, which int) {
	level, i := tlog.SplitStoredHashIndex(index)
	return uint64(i+1) << level, level
}
