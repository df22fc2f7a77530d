package pebblelog

import (
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/internal/merkle"
)

// hashReader reads the stored hashes of the tree.
type hashReader struct{ pebble.Reader }

// ReadHashes implements [tlog.HashReader].
func (r hashReader) ReadHashes(indexes []int64) ([]tlog.Hash, error) {
	out := make([]tlog.Hash, len(indexes))
	for i, index := range indexes {
		leaf, which := merkle.Locate(index)
		p := events.Position(leaf)
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
			copy(out[i][:], hashes[which*tlog.HashSize:])
		}
		_ = closer.Close() // only releases the value
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}
