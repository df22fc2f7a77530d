// Package transfer copies a store into another one, whatever the media, so that proofs of the one
// hold for the other: the same events at the same positions, under the same root hash.
package transfer

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/campaignd/campaignd/events"
)

// Report sums up a copy.
type Report struct {
	// Head is that of both stores in the end.
	Head tlog.Tree
	// Copied counts the events that were copied, Already those that the
	// destination had before, of a copy that was interrupted or of an earlier one.
	Copied, Already int64
	// Values counts the copied values.
	Values int
}

// ErrDiffers means that the destination holds, or came to hold, other events than the source. It is
// not a copy of it.
var ErrDiffers = errors.New("the two stores hold different events")

// A batch is a few hundred events of one campaign: a store that is far away
// answers once for each batch.
const (
	mostEvents = 512
	mostBytes  = 1 << 20
)

// copySound copies all events of a sound store, and all its values, to a store that
// is empty or holds the first events of from, as one that an interrupted copy has
// left. What is appended to from meanwhile is copied too.
//
// It fails with [ErrDiffers] unless the root hashes are the same at the end. What
// has been copied until an error stays, and the next copy goes on from it.
//
// Offsets of consumers are not copied: a consumer of the copy begins anew, and is
// given events again.
func copySound(ctx context.Context, from, to events.Store) (r Report, err error) {
	head, err := to.Head(ctx)
	if err != nil {
		return r, err
	}
	if err := from.VerifyExtends(ctx, head); err != nil {
		if errors.Is(err, events.ErrNotExtended) {
			err = fmt.Errorf("%w: the destination has %d events, which are not the first of the source",
				ErrDiffers, head.N)
		}
		return r, err
	}
	r.Already = head.N
	// The values first: an event that names a value must find it.
	if r.Values, err = copyValues(ctx, from, to); err != nil {
		return r, err
	}
	for {
		if err := copyEvents(ctx, from, to, events.Position(head.N)); err != nil {
			return r, err
		}
		want, err := from.Head(ctx)
		if err != nil {
			return r, err
		}
		if head, err = to.Head(ctx); err != nil {
			return r, err
		}
		r.Head, r.Copied = head, head.N-r.Already
		switch {
		case head.N < want.N: // the source has grown meanwhile
		case head != want:
			return r, fmt.Errorf("%w: the source has %d events with the root hash %v, the copy %d with %v",
				ErrDiffers, want.N, want.Hash, head.N, head.Hash)
		default:
			return r, nil
		}
	}
}

// sound refuses an altered store: its copy would look sound.
func sound(ctx context.Context, s events.Store) error {
	report, err := s.Verify(ctx)
	if err != nil {
		return err
	}
	if !report.Sound() {
		return fmt.Errorf("%w: %v", events.ErrDamaged, report.Faults[0])
	}
	return nil
}

// copyEvents copies the events after a position, as they are stored.
func copyEvents(ctx context.Context, from, to events.Store, after events.Position) error {
	var batch []events.Event
	size := 0
	flush := func() error {
		if len(batch) == 0 {
			return nil
		}
		first := batch[0]
		stored, err := to.Append(ctx, first.Campaign, first.Sequence-1, batch...)
		if err != nil {
			return err
		}
		if at := stored[0].Position; at != first.Position {
			return fmt.Errorf("%w: the event at position %d of the source is at %d of the copy",
				ErrDiffers, first.Position, at)
		}
		batch, size = batch[:0], 0
		return nil
	}
	for e, err := range from.Read(ctx, after) {
		if err != nil {
			return err
		}
		full := len(batch) == mostEvents || size+len(e.Data) > mostBytes
		if len(batch) > 0 && (full || batch[0].Campaign != e.Campaign) {
			if err := flush(); err != nil {
				return err
			}
		}
		batch, size = append(batch, e), size+len(e.Data)
	}
	return flush()
}

// copyValues makes the values of a store those of another. One that is there and
// not in the source was forgotten in the source since an earlier copy.
func copyValues(ctx context.Context, from, to events.Store) (n int, err error) {
	kept := make(map[string]bool)
	for kv, err := range from.Values(ctx, "") {
		if err != nil {
			return n, err
		}
		kept[kv.Key] = true
		if err := to.SetValues(ctx, kv); err != nil {
			return n, err
		}
		n++
	}
	for kv, err := range to.Values(ctx, "") {
		if err != nil {
			return n, err
		}
		if !kept[kv.Key] {
			if err := to.SetValues(ctx, events.KeyValue{Key: kv.Key}); err != nil {
				return n, err
			}
		}
	}
	return n, nil
}
