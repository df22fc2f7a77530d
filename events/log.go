package events

import (
	"context"
	"errors"
	"fmt"
	"iter"
)

// Log is an ordered, durable, append-only record of events of one store.
//
// All methods may be called from many goroutines. Events returned by a log are
// the caller's to keep, but their Data must not be modified.
type Log interface {
	// Append adds a batch to one campaign, atomically and durably: when it
	// returns without error, every event of the batch is on disk, in order and
	// without another writer's event of the same campaign between them; when
	// it returns an error, none is visible, unless the error wraps
	// [ErrUncertain]. It returns the events as stored, with Position, Sequence
	// and ID filled in.
	//
	// expected is the campaign's sequence the writer has seen, 0 for a new
	// campaign, or [AnySequence]. If the campaign has moved on, Append stores nothing
	// and returns a [ConflictError]. A batch with an invalid event ([ErrInvalidEvent]) is refused
	// whole. An empty batch stores nothing, but reports a conflict.
	//
	// A cancelled context may abandon the wait, not the write: see
	// [ErrUncertain].
	Append(ctx context.Context, campaign string, expected Sequence, batch ...Event) ([]Event, error)

	// Read yields the events with a position greater than after, in order,
	// without gap or repeat, up to the last one acknowledged before the call.
	// The first error ends the sequence.
	Read(ctx context.Context, after Position) iter.Seq2[Event, error]

	// Follow is Read that goes on: having caught up, it yields each further
	// event once it is durable, until the context is done (which ends the
	// sequence without an error), the log is closed ([ErrClosed]) or damaged.
	Follow(ctx context.Context, after Position) iter.Seq2[Event, error]

	// Last returns the position of the newest durable event, 0 for an empty log.
	Last() Position

	// LastSequence returns the sequence of the campaign's newest durable
	// event, 0 where it has none.
	LastSequence(ctx context.Context, campaign string) (Sequence, error)

	// Close releases the log. Appends under way finish first; later operations
	// return [ErrClosed]. Closing again waits for the first and is no error.
	Close() error
}

// CampaignReader is a Log that can read one campaign without visiting the
// events of the others. Use [ReadCampaign], which falls back on filtering.
type CampaignReader interface {
	// ReadCampaign is Read restricted to one campaign, after a sequence.
	ReadCampaign(ctx context.Context, campaign string, after Sequence) iter.Seq2[Event, error]
}

// OffsetStore is a Log that keeps consumers' offsets beside the events. An
// offset is a convenience, not a fact: it is written without waiting for the
// disk, may be lost in a crash (the consumer then sees events again), and is
// never an event.
type OffsetStore interface {
	// Offset returns the position the consumer has processed, 0 for none.
	Offset(consumer string) (Position, error)
	// SetOffset records that the consumer has processed up to position.
	SetOffset(consumer string, position Position) error
}

// AnySequence makes Append unconditional.
const AnySequence = ^Sequence(0)

var (
	// ErrClosed is returned by operations on a closed log.
	ErrClosed = errors.New("the log is closed")
	// ErrInUse means that another process holds the store.
	ErrInUse = errors.New("the store is open in another process")
	// ErrDamaged means that the stored bytes are not what was written. The
	// error that wraps it says what is lost.
	ErrDamaged = errors.New("the store is damaged")
	// ErrNewerFormat means that a newer campaignd wrote the store.
	ErrNewerFormat = errors.New("the store was written by a newer version of campaignd")
	// ErrUncertain means that an Append may or may not have become durable:
	// the disk failed, or the caller stopped waiting. The log shows which once
	// it is opened or read again; nothing was acknowledged.
	ErrUncertain = errors.New("the write may or may not have reached the disk")
)

// ConflictError reports an Append whose writer had not seen the campaign's
// newest events.
type ConflictError struct {
	Campaign         string
	Expected, Actual Sequence
}

func (e *ConflictError) Error() string {
	return fmt.Sprintf("campaign %q is at sequence %d, the writer expected %d: read the new events and decide again",
		e.Campaign, e.Actual, e.Expected)
}

// ReadCampaign yields one campaign's events with a sequence greater than
// after, in order, directly where the log can and by filtering where it can't.
func ReadCampaign(ctx context.Context, log Log, campaign string, after Sequence) iter.Seq2[Event, error] {
	if r, ok := log.(CampaignReader); ok {
		return r.ReadCampaign(ctx, campaign, after)
	}
	return func(yield func(Event, error) bool) {
		for e, err := range log.Read(ctx, 0) {
			if err == nil && (e.Campaign != campaign || e.Sequence <= after) {
				continue
			}
			if !yield(e, err) {
				return
			}
		}
	}
}
