// Package projections is the contract of state that is computed from events.
//
// A projection is a pure fold: its state is data and values read from events,
// never the clock, never chance, never the outcome of a search. Models that
// follow from that state (a factorised Gaussian process, a confidence set) are
// caches, rebuilt in one canonical form and kept out of the snapshot. So live,
// replayed and restored projections agree to the last bit, and [Digest] can
// prove it.
package projections

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/campaignd/campaignd/events"
)

// Version is raised whenever the same observations could lead to another fit,
// or another judgment of a measurement, than before. Those of another version
// are not made again: an audit says that it is incomplete.
const Version = 2

// Projection is state folded from the events of one campaign.
type Projection interface {
	// Name identifies the projection in a digest, for example "campaign".
	Name() string
	// Apply folds one event, which the caller has decoded into payload. Events
	// come in sequence order without gap. An event that contradicts the state
	// (a measurement of an experiment that was not requested) is an error and
	// leaves the state as it was; kinds a projection does not care about are
	// ignored.
	Apply(e events.Event, payload events.Payload) error
	// Snapshot returns the state in a canonical form: equal states give equal
	// bytes.
	Snapshot() ([]byte, error)
	// Restore replaces the state by that of a snapshot.
	Restore(snapshot []byte) error
}

// Digest returns the SHA-256 of the projections' names and snapshots in the
// given order, in hexadecimal.
func Digest(projections ...Projection) (string, error) {
	hash := sha256.New()
	for _, p := range projections {
		snapshot, err := p.Snapshot()
		if err != nil {
			return "", fmt.Errorf("snapshot of %s: %w", p.Name(), err)
		}
		fmt.Fprintf(hash, "%s %d\n", p.Name(), len(snapshot))
		hash.Write(snapshot)
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
}

// InconsistentError reports an event that contradicts the state it is folded
// into.
type InconsistentError struct {
	Kind     events.Kind
	Sequence events.Sequence
	Problem  string
}

func (e *InconsistentError) Error() string {
	return fmt.Sprintf("event %d (%s) contradicts the campaign's history: %s", e.Sequence, e.Kind, e.Problem)
}
