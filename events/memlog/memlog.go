// Package memlog keeps a log in memory: for tests, and for looking at a
// campaign without a store. It is as strict as a log on disk, and forgets
// everything when the process ends.
package memlog

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"sync"

	"github.com/campaignd/campaignd/events"
)

// Log is an [events.Log], [events.CampaignReader] and [events.OffsetStore] in
// memory.
type Log struct {
	mu        sync.RWMutex
	events    []events.Event // the event at position p is events[p-1]
	campaigns map[string][]events.Position
	offsets   map[string]events.Position
	closed    bool
	changed   chan struct{} // closed and replaced whenever events or closed change
}

var (
	_ events.Log            = (*Log)(nil)
	_ events.CampaignReader = (*Log)(nil)
	_ events.OffsetStore    = (*Log)(nil)
)

// New returns an empty log.
func New() *Log {
	return &Log{
		campaigns: make(map[string][]events.Position),
		offsets:   make(map[string]events.Position),
		changed:   make(chan struct{}),
	}
}

// Append implements [events.Log]. A batch is stored whole under the lock, so
// that no reader sees a part of it.
func (l *Log) Append(
	ctx context.Context, campaign string, expected events.Sequence, batch ...events.Event,
) ([]events.Event, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("memlog: append: %w", err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, fmt.Errorf("memlog: append: %w", events.ErrClosed)
	}
	actual := events.Sequence(len(l.campaigns[campaign]))
	if expected != events.AnySequence && expected != actual {
		return nil, &events.ConflictError{Campaign: campaign, Expected: expected, Actual: actual}
	}
	stored, err := events.Assign(campaign, actual, batch)
	if err != nil || len(stored) == 0 {
		return nil, err
	}
	for i := range stored {
		stored[i].Position = events.Position(len(l.events) + i + 1)
		stored[i].Data = bytes.Clone(stored[i].Data) // the caller may reuse its own
		l.campaigns[campaign] = append(l.campaigns[campaign], stored[i].Position)
	}
	l.events = append(l.events, stored...)
	l.announce()
	return stored, nil
}

// announce wakes those who follow. l.mu must be held.
func (l *Log) announce() {
	close(l.changed)
	l.changed = make(chan struct{})
}

// Read implements [events.Log]. Where it ends is settled by the call. The lock
// is taken for each event, and not while the caller looks at it: a reader may
// append.
func (l *Log) Read(ctx context.Context, after events.Position) iter.Seq2[events.Event, error] {
	last := l.Last()
	return func(yield func(events.Event, error) bool) {
		if err := l.usable(ctx); err != nil {
			yield(events.Event{}, fmt.Errorf("memlog: read: %w", err))
			return
		}
		for p := after; p < last; p++ {
			e, err := l.at(ctx, p+1)
			if !yield(e, err) || err != nil {
				return
			}
		}
	}
}

// Follow implements [events.Log]. The channel is taken together with the length,
// so that no event between the two is missed.
func (l *Log) Follow(ctx context.Context, after events.Position) iter.Seq2[events.Event, error] {
	return func(yield func(events.Event, error) bool) {
		for next := after + 1; ; {
			l.mu.RLock()
			last := events.Position(len(l.events))
			closed := l.closed
			changed := l.changed
			l.mu.RUnlock()
			if ctx.Err() != nil {
				return
			}
			if closed {
				yield(events.Event{}, fmt.Errorf("memlog: follow: %w", events.ErrClosed))
				return
			}
			for ; next <= last; next++ {
				e, err := l.at(ctx, next)
				if ctx.Err() != nil {
					return
				}
				if !yield(e, err) || err != nil {
					return
				}
			}
			select {
			case <-ctx.Done():
				return
			case <-changed:
			}
		}
	}
}

// ReadCampaign implements [events.CampaignReader].
func (l *Log) ReadCampaign(
	ctx context.Context, campaign string, after events.Sequence,
) iter.Seq2[events.Event, error] {
	l.mu.RLock()
	positions := l.campaigns[campaign] // only ever appended to
	l.mu.RUnlock()
	return func(yield func(events.Event, error) bool) {
		if err := l.usable(ctx); err != nil {
			yield(events.Event{}, fmt.Errorf("memlog: read: %w", err))
			return
		}
		for s := after; s < events.Sequence(len(positions)); s++ {
			e, err := l.at(ctx, positions[s])
			if !yield(e, err) || err != nil {
				return
			}
		}
	}
}

// at returns the event at a position that the log has.
func (l *Log) at(ctx context.Context, p events.Position) (events.Event, error) {
	if err := l.usable(ctx); err != nil {
		return events.Event{}, fmt.Errorf("memlog: read: %w", err)
	}
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.events[p-1], nil
}

// usable reports a context that is done or a log that is closed.
func (l *Log) usable(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	l.mu.RLock()
	defer l.mu.RUnlock()
	if l.closed {
		return events.ErrClosed
	}
	return nil
}

// Last implements [events.Log]. It is the position of the newest event.
func (l *Log) Last() events.Position {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return events.Position(len(l.events))
}

// LastSequence implements [events.Log].
func (l *Log) LastSequence(ctx context.Context, campaign string) (events.Sequence, error) {
	if err := ctx.Err(); err != nil {
		return 0, fmt.Errorf("memlog: last sequence: %w", err)
	}
	l.mu.RLock()
	defer l.mu.RUnlock()
	if l.closed {
		return 0, fmt.Errorf("memlog: last sequence: %w", events.ErrClosed)
	}
	return events.Sequence(len(l.campaigns[campaign])), nil
}

// Offset implements [events.OffsetStore].
func (l *Log) Offset(consumer string) (events.Position, error) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	if l.closed {
		return 0, fmt.Errorf("memlog: offset: %w", events.ErrClosed)
	}
	return l.offsets[consumer], nil
}

// SetOffset implements [events.OffsetStore].
func (l *Log) SetOffset(consumer string, position events.Position) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return fmt.Errorf("memlog: set offset: %w", events.ErrClosed)
	}
	l.offsets[consumer] = position
	return nil
}

// Close implements [events.Log]. Closing twice is not an error. Readers are
// woken, and find it closed.
func (l *Log) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.closed {
		l.closed = true
		l.announce()
	}
	return nil
}
