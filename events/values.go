package events

import (
	"context"
	"errors"
	"fmt"
	"iter"
)

// ValueStore keeps small values outside the events of a store, for data that a lab must be able to
// forget: the hash of a password, a session, a counter. A value is never an event and never hashed,
// so that removing it breaks no proof; and no proof vouches for it.
//
// An event that refers to a value names its key, under a reference that was never used before. The
// value is written first, then the event that names it: so whatever a crash leaves, a value without
// its event is rubbish that can be removed, and an event without its value says that the value was
// forgotten.
//
// Changes of one call happen all or none. A crash leaves the changes up to one of the calls, at
// least to the newest that waited for the disk.
type ValueStore interface {
	// Value returns the value of a key, nil for a key without one.
	Value(ctx context.Context, key string) ([]byte, error)

	// Values yields the values whose keys begin with a prefix, in the order of
	// their keys, as they were at the call. The first error ends the sequence.
	Values(ctx context.Context, prefix string) iter.Seq2[KeyValue, error]

	// SetValues makes changes durable: when it returns without error, they are
	// on disk. Of an error that wraps [ErrUncertain] it is not known whether
	// they are.
	SetValues(ctx context.Context, changes ...KeyValue) error

	// SetValuesLazily makes changes without waiting for the disk. Readers see
	// them at once; a crash may lose them.
	SetValuesLazily(ctx context.Context, changes ...KeyValue) error

	// SwapValue sets the value of a key, durably as SetValues does, if the current one equals
	// before: nil stands for a key without a value, and after nil removes it. It reports whether it
	// did; of several callers that swap the same value at the same time one succeeds, and the
	// others change nothing.
	SwapValue(ctx context.Context, key string, before, after []byte) (swapped bool, err error)
}

// KeyValue is a value under its key. As a change, a nil Value removes the key.
type KeyValue struct {
	Key   string
	Value []byte
}

// MaxValueSize is the greatest length in bytes of a value. A key is a text as
// those of an envelope are, and not empty.
const MaxValueSize = 1 << 20

// ErrInvalidValue means that a store refused changes of values because one of them is malformed.
// None was made.
var ErrInvalidValue = errors.New("the value cannot be kept")

// CheckValues refuses, with [ErrInvalidValue], changes that a [ValueStore] cannot keep.
func CheckValues(changes []KeyValue) error {
	for _, c := range changes {
		switch err := checkString(c.Key); {
		case err != nil:
			return fmt.Errorf("%w: its key %w", ErrInvalidValue, err)
		case c.Key == "":
			return fmt.Errorf("%w: its key is empty", ErrInvalidValue)
		case len(c.Value) > MaxValueSize:
			return fmt.Errorf("%w: %q has %d bytes, and the most is %d", ErrInvalidValue, c.Key,
				len(c.Value), MaxValueSize)
		}
	}
	return nil
}
