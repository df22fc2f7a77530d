package events

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
)

// Log is an ordered, durable, append-only record of events of one store.
//
// A batch becomes visible whole, and once it is durable: what one reader has
// been given, every reader finds from then on, at the same position, also after
// the log was closed and opened again. A batch is acknowledged when its Append
// returns without error, which may be later: a reader can have an event before
// its writer knows its position. So these follow each other, and nothing may be
// concluded from the time in between:
//
//	Append is called → the batch is durable → readers see it → Append returns
//
// All methods may be called from many goroutines. Events returned by a log are
// the caller's to keep, but their Data must not be modified.
type Log interface {
	// Append adds a batch to one campaign, atomically and durably: when it returns without error,
	// every event of the batch is on disk, in order and without another writer's event of the same
	// campaign between them. It returns the events as stored, with Position, Sequence and ID filled
	// in.
	//
	// expected is the campaign's sequence the writer has seen, 0 for a new campaign, or
	// [AnySequence]. If the campaign is not there, Append returns a [ConflictError]. A batch with
	// an invalid event ([ErrInvalidEvent]) is refused whole. An empty batch stores nothing, but
	// reports a conflict.
	//
	// An error that does not wrap [ErrUncertain] is a promise: nothing of the batch is stored, and
	// nothing of it ever will be, not later, not by opening the log again, not together with what
	// others write. A conflict is always such a promise. A log that retries after an attempt with
	// an unknown end must tell its own events from another writer's: if the first attempt moved the
	// campaign on, that is not a conflict.
	//
	// A cancelled context may abandon the wait, not the write: see [ErrUncertain].
	Append(ctx context.Context, campaign string, expected Sequence, batch ...Event) ([]Event, error)

	// Read yields the events with a position greater than after, in order,
	// without gap or repeat. Where it ends is settled by the call: it yields
	// every event that this log had acknowledged, or given to a reader, before
	// it, and none that became durable after it. The first error ends the
	// sequence.
	Read(ctx context.Context, after Position) iter.Seq2[Event, error]

	// Follow is Read that goes on: having caught up, it yields each further
	// event once it is durable, until the context is done (which ends the
	// sequence without an error), the log is closed ([ErrClosed]) or damaged.
	Follow(ctx context.Context, after Position) iter.Seq2[Event, error]

	// Last returns a lower bound of the newest durable event's position,
	// without asking anybody: at least the greatest that this log has
	// acknowledged or given to a reader, 0 before that. It never falls. Durable
	// events may lie beyond it, of other writers or not acknowledged yet, so
	// that it says how far at least one can read, never where the log ends.
	Last() Position

	// LastSequence returns the sequence of the campaign's newest durable event,
	// 0 where it has none: at least that of each event that this log had
	// acknowledged, or given to a reader, before the call. Only the expected
	// sequence of Append holds off another writer.
	LastSequence(ctx context.Context, campaign string) (Sequence, error)

	// Close releases the log. Appends under way finish first; later operations return [ErrClosed].
	// Closing again waits for the first and succeeds.
	Close() error
}

// CampaignReader is a Log that can read one campaign without visiting the
// events of the others. Use [ReadCampaign], which falls back on filtering.
type CampaignReader interface {
	// ReadCampaign is Read restricted to one campaign, after a sequence.
	ReadCampaign(ctx context.Context, campaign string, after Sequence) iter.Seq2[Event, error]
}

// KindReader is a Log that can read the events of some kinds without handing
// over the others. Use [ReadKinds], which falls back on filtering.
type KindReader interface {
	// ReadKinds reads the events of some kinds, of one campaign or, where its
	// name is empty, of all.
	ReadKinds(ctx context.Context, campaign string, kinds ...Kind) iter.Seq2[Event, error]
}

// OffsetStore is a Log that keeps consumers' offsets along with the events. An
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
	// ErrUnavailable means that what keeps the store takes nothing now, since its
	// disk is full, or it is about to end. Nothing is wrong with the store itself.
	ErrUnavailable = errors.New("what keeps the store takes nothing now")
	// ErrMoved is wrapped by [MovedError], ErrUnfinished by [UnfinishedError].
	ErrMoved      = errors.New("the store has been moved")
	ErrUnfinished = errors.New("the store is an unfinished copy")
	// ErrDamaged means that the stored bytes differ from those written. The error that wraps it
	// names the loss.
	ErrDamaged = errors.New("the store is damaged")
	// ErrNewerFormat means that a newer campaignd wrote the store.
	ErrNewerFormat = errors.New("the store was written by a newer version of campaignd")
	// ErrEarlierFormat means that a campaignd from before 0.1.0 wrote the
	// store.
	ErrEarlierFormat = errors.New("the store was written by a campaignd from before 0.1.0")
	// ErrUncertain means that an Append may or may not have become durable: the disk failed, the
	// database did not answer, or the caller stopped waiting. The log shows which once it is opened
	// or read again; nothing was acknowledged.
	ErrUncertain = errors.New("the write may or may not be stored")
)

// ConflictError reports an Append whose writer had not seen the campaign's
// newest events. Nothing of its batch is stored, or ever will be.
type ConflictError struct {
	Campaign         string
	Expected, Actual Sequence
}

func (e *ConflictError) Error() string {
	return fmt.Sprintf("campaign %q is at sequence %d, the writer expected %d: read the new events and decide again",
		e.Campaign, e.Actual, e.Expected)
}

// ReadCampaign yields one campaign's events with a sequence greater than after,
// in order, directly where the log can and by filtering where it can't.
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

// ReadKinds yields the events of some kinds, in order: of one campaign or,
// where its name is empty, of all.
func ReadKinds(ctx context.Context, log Log, campaign string, kinds ...Kind) iter.Seq2[Event, error] {
	if r, ok := log.(KindReader); ok {
		return r.ReadKinds(ctx, campaign, kinds...)
	}
	all := log.Read(ctx, 0)
	if campaign != "" {
		all = ReadCampaign(ctx, log, campaign, 0)
	}
	return func(yield func(Event, error) bool) {
		for e, err := range all {
			wanted := err != nil || slices.Contains(kinds, e.Kind)
			if wanted && !yield(e, err) {
				return
			}
		}
	}
}
