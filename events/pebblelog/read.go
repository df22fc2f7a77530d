package pebblelog

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/internal/records"
)

// Readers fetch events in chunks and use the database only meanwhile, so that
// one who stops in the middle holds nothing. The first chunk is small, for
// those who want one event.
const (
	// A follower that has caught up fetches a few at a time.
	firstChunk   = 16
	largestChunk = 512
	// maxChunkSize is the size of the records, in bytes, that ends a chunk.
	maxChunkSize = 1 << 20
)

// errEnough ends a scan.
var errEnough = errors.New("enough")

// scan calls f with each event's value in (after, last], in order. The value is valid during the
// call. A gap is [events.ErrDamaged]. Positions are compared one by one: a missing event must be an
// error, and never a shorter log.
func scan(
	db pebble.Reader, after, last events.Position, f func(events.Position, []byte) error,
) error {
	if after >= last {
		return nil
	}
	it, err := db.NewIter(&pebble.IterOptions{
		LowerBound: appendEventKey(nil, after+1),
		UpperBound: appendEventKey(nil, last+1),
	})
	if err != nil {
		return err
	}
	want := after + 1
	for ok := it.First(); ok; ok = it.Next() {
		p, isEvent := parseEventKey(it.Key())
		if !isEvent || p != want {
			return errors.Join(records.Missing(want, p-1), it.Close())
		}
		value, err := it.ValueAndErr()
		if err != nil {
			return errors.Join(unreadable(p, err), it.Close())
		}
		if err := f(p, value); err != nil {
			return errors.Join(err, it.Close())
		}
		want++
	}
	if err := errors.Join(it.Error(), it.Close()); err != nil {
		return unreadable(want, err)
	}
	if want <= last {
		return records.Missing(want, last)
	}
	return nil
}

// unreadable tells damage from a failure of the disk, which may pass.
func unreadable(p events.Position, err error) error {
	if pebble.IsCorruptionError(err) {
		return fmt.Errorf("%w: the events from position %d on cannot be read: %w",
			events.ErrDamaged, p, err)
	}
	return err
}

// bounds returns the first and the last position of the database, 0 and 0 if it
// has no event. Two looks, at the first and at the last key, however long the
// log is.
func bounds(db pebble.Reader) (first, last events.Position, err error) {
	it, err := db.NewIter(&pebble.IterOptions{
		LowerBound: []byte{eventPrefix},
		UpperBound: []byte{eventPrefix + 1},
	})
	if err != nil {
		return 0, 0, err
	}
	ok := true
	if it.First() {
		first, ok = parseEventKey(it.Key())
	}
	err = it.Error() // which Last forgets
	if it.Last() && ok {
		last, ok = parseEventKey(it.Key())
	}
	if err := errors.Join(err, it.Error(), it.Close()); err != nil {
		return 0, 0, unreadable(first, err)
	}
	if !ok || (first == 0) != (last == 0) {
		return 0, 0, fmt.Errorf("%w: a key is not an event's", events.ErrDamaged)
	}
	return first, last, nil
}

// chunk appends to dst up to n events in (after, last]. Events that were
// decoded before an error are returned with it: a reader gets all that lies
// before the damage.
func (l *Log) chunk(
	dst []events.Event, seen *records.Order, after, last events.Position, n int,
) ([]events.Event, error) {
	size := 0
	err := l.use(func(db *pebble.DB) error {
		return scan(db, after, min(last, after+events.Position(n)),
			func(p events.Position, value []byte) error {
				e, err := decodeValue(p, value)
				if err == nil {
					err = seen.Check(&e)
				}
				if err != nil {
					return err
				}
				dst = append(dst, e)
				if size += len(value); size > maxChunkSize {
					return errEnough
				}
				return nil
			})
	})
	if errors.Is(err, errEnough) {
		err = nil
	}
	return dst, err
}

// Read implements [events.Log]. What is appended after the call is not read.
func (l *Log) Read(ctx context.Context, after events.Position) iter.Seq2[events.Event, error] {
	last := l.Last()
	return func(yield func(events.Event, error) bool) {
		l.yieldAll(ctx, records.NewOrder(after), after, last, yield)
	}
}

// yieldAll yields the events in (after, last] and reports whether to go on.
// Chunks grow, so that one event costs little and a whole log few looks at the
// database. The caller's code runs between chunks, never while the database is
// held: it may close the log, or take as long as it likes.
func (l *Log) yieldAll(
	ctx context.Context, seen *records.Order, after, last events.Position,
	yield func(events.Event, error) bool,
) bool {
	fail := func(err error) bool {
		yield(events.Event{}, fmt.Errorf("store: read after %d: %w", after, err))
		return false
	}
	if err := l.usable(ctx); err != nil {
		return fail(err)
	}
	var buf []events.Event
	for n := firstChunk; after < last; n = min(2*n, largestChunk) {
		var err error
		buf, err = l.chunk(buf[:0], seen, after, last, n)
		for i := range buf {
			if err := ctx.Err(); err != nil {
				return fail(err)
			}
			if !yield(buf[i], nil) {
				return false
			}
			after = buf[i].Position
		}
		if err != nil {
			return fail(err)
		}
		clear(buf)
	}
	return true
}

// usable reports a context that is done or a log that is closed.
func (l *Log) usable(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if _, closed, _ := l.state(); closed {
		return events.ErrClosed
	}
	return nil
}

// Follow implements [events.Log]. It waits without polling, and ends without an error when ctx
// does. The channel is taken together with the head, before the events are read: an announcement in
// between has closed it, so that no wake-up is lost.
func (l *Log) Follow(ctx context.Context, after events.Position) iter.Seq2[events.Event, error] {
	return func(yield func(events.Event, error) bool) {
		seen, after := records.NewOrder(after), after // of this iteration; there may be others
		for {
			head, closed, changed := l.state()
			if ctx.Err() != nil {
				return
			}
			if closed {
				yield(events.Event{}, fmt.Errorf("store: follow: %w", events.ErrClosed))
				return
			}
			last := events.Position(head.N)
			more := l.yieldAll(ctx, seen, after, last, func(e events.Event, err error) bool {
				return ctx.Err() == nil && yield(e, err)
			})
			if !more {
				return
			}
			after = max(after, last)
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
	last := l.Last()
	return func(yield func(events.Event, error) bool) {
		fail := func(err error) {
			yield(events.Event{}, fmt.Errorf("store: read campaign %q after %d: %w",
				campaign, after, err))
		}
		if err := l.usable(ctx); err != nil {
			fail(err)
			return
		}
		if len(campaign) > events.MaxStringSize {
			return // no campaign has such a name
		}
		var buf []events.Event
		for n, more := firstChunk, true; more; n = min(2*n, largestChunk) {
			var err error
			buf, err = l.campaignChunk(buf[:0], campaign, after, last, n)
			more = len(buf) > 0 // only an empty chunk shows the end
			for i := range buf {
				if err := ctx.Err(); err != nil {
					fail(err)
					return
				}
				if !yield(buf[i], nil) {
					return
				}
				after = buf[i].Sequence
			}
			if err != nil {
				fail(err)
				return
			}
			clear(buf)
		}
	}
}

// campaignChunk appends to dst up to n events of a campaign after a sequence,
// none beyond last. Records are found through the index, and checked against
// it: an index that names another campaign's event is damage, and must not show
// that event to this campaign's reader.
func (l *Log) campaignChunk(
	dst []events.Event, campaign string, after events.Sequence, last events.Position, n int,
) ([]events.Event, error) {
	if after == events.AnySequence {
		return dst, nil
	}
	err := l.use(func(db *pebble.DB) error {
		index, err := db.NewIter(&pebble.IterOptions{
			LowerBound: appendSequenceKey(nil, campaign, after+1),
			UpperBound: appendSequenceKey(nil, campaign, events.AnySequence),
		})
		if err != nil {
			return err
		}
		kept, err := db.NewIter(&pebble.IterOptions{
			LowerBound: []byte{eventPrefix},
			UpperBound: []byte{eventPrefix + 1},
		})
		if err != nil {
			return errors.Join(err, index.Close())
		}
		dst, err = join(dst, index, kept, after, last, n)
		return errors.Join(err, index.Close(), kept.Close())
	})
	return dst, err
}

// join appends to dst the events that an iterator over one campaign's index
// names, up to n. The two iterators move together: where the next record is the
// one that is wanted, a step costs far less than a search.
func join(
	dst []events.Event, index, kept *pebble.Iterator, after events.Sequence,
	last events.Position, n int,
) ([]events.Event, error) {
	at, size := events.Position(0), 0
	for ok := index.First(); ok && n > 0 && size <= maxChunkSize; ok = index.Next() {
		campaign, s, okKey := parseSequenceKey(index.Key())
		value, err := index.ValueAndErr()
		if err != nil {
			return dst, unreadable(at, err)
		}
		p, okValue := parsePosition(value)
		if !okKey || !okValue || s != after+1 {
			return dst, fmt.Errorf("%w: sequence %d of campaign %q is missing in the index",
				events.ErrDamaged, after+1, campaign)
		}
		if p > last {
			break // later than the call
		}
		// Events of one campaign are mostly next to each other.
		if at != 0 && p == at+1 {
			ok = kept.Next()
		} else {
			ok = kept.SeekGE(appendEventKey(nil, p))
		}
		if found, isEvent := parseEventKey(keyOf(kept, ok)); !ok || !isEvent || found != p {
			if err := kept.Error(); err != nil {
				return dst, unreadable(p, err)
			}
			return dst, records.Missing(p, p)
		}
		if value, err = kept.ValueAndErr(); err != nil {
			return dst, unreadable(p, err)
		}
		e, err := decodeValue(p, value)
		if err != nil {
			return dst, err
		}
		if e.Campaign != campaign || e.Sequence != s {
			return dst, fmt.Errorf("%w: position %d holds sequence %d of campaign %q, not %d of %q",
				events.ErrDamaged, p, e.Sequence, e.Campaign, s, campaign)
		}
		dst = append(dst, e)
		at = p
		after = s
		size = size + len(value)
		n--
	}
	if err := index.Error(); err != nil {
		return dst, unreadable(at, err)
	}
	return dst, nil
}

// keyOf is nil for an iterator that stands nowhere.
func keyOf(it *pebble.Iterator, valid bool) []byte {
	if !valid {
		return nil
	}
	return it.Key()
}

// Campaigns implements [events.Store]: one look at the index for each. It skips
// from the first entry of a campaign to the first one of the next, and so takes
// time by the campaigns and not by the events.
func (l *Log) Campaigns(ctx context.Context) ([]string, error) {
	if err := l.usable(ctx); err != nil {
		return nil, fmt.Errorf("store: campaigns: %w", err)
	}
	last := l.Last()
	first := make(map[string]events.Position)
	err := l.use(func(db *pebble.DB) error {
		it, err := db.NewIter(&pebble.IterOptions{
			LowerBound: []byte{sequencePrefix},
			UpperBound: []byte{sequencePrefix + 1},
		})
		if err != nil {
			return err
		}
		for ok := it.First(); ok; {
			campaign, _, okKey := parseSequenceKey(it.Key())
			value, err := it.ValueAndErr()
			if err != nil {
				return errors.Join(unreadable(last, err), it.Close())
			}
			p, okValue := parsePosition(value)
			if !okKey || !okValue {
				err := fmt.Errorf("%w: the index of campaigns is not readable", events.ErrDamaged)
				return errors.Join(err, it.Close())
			}
			if p <= last { // else it is not durable yet
				first[campaign] = p
			}
			ok = it.SeekGE(appendSequenceKey(nil, campaign, events.AnySequence))
		}
		if err := errors.Join(it.Error(), it.Close()); err != nil {
			return unreadable(last, err)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("store: campaigns: %w", err)
	}
	return slices.SortedFunc(maps.Keys(first), func(a, b string) int {
		return cmp.Compare(first[a], first[b])
	}), nil
}

// LastSequence implements [events.Log].
func (l *Log) LastSequence(ctx context.Context, campaign string) (s events.Sequence, err error) {
	if err := l.usable(ctx); err != nil {
		return 0, fmt.Errorf("store: last sequence: %w", err)
	}
	if len(campaign) > events.MaxStringSize {
		return 0, nil
	}
	last := l.Last()
	err = l.use(func(db *pebble.DB) error {
		s, err = lastSequence(db, campaign, last)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("store: last sequence of %q: %w", campaign, err)
	}
	return s, nil
}

// lastSequence returns the sequence of the campaign's newest event up to last.
// Backward from the newest: all but a few entries of groups under way are
// durable.
func lastSequence(
	db pebble.Reader, campaign string, last events.Position,
) (events.Sequence, error) {
	it, err := db.NewIter(&pebble.IterOptions{
		LowerBound: appendSequenceKey(nil, campaign, 0),
		UpperBound: appendSequenceKey(nil, campaign, events.AnySequence),
	})
	if err != nil {
		return 0, err
	}
	var s events.Sequence
	// The database also has events that are not durable yet.
	for ok := it.Last(); ok; ok = it.Prev() {
		_, sequence, okKey := parseSequenceKey(it.Key())
		value, err := it.ValueAndErr()
		if err != nil {
			return 0, errors.Join(unreadable(last, err), it.Close())
		}
		p, okValue := parsePosition(value)
		if !okKey || !okValue {
			return 0, errors.Join(fmt.Errorf("%w: the index of campaign %q is not readable",
				events.ErrDamaged, campaign), it.Close())
		}
		if p <= last {
			s = sequence
			break
		}
	}
	if err := errors.Join(it.Error(), it.Close()); err != nil {
		return 0, unreadable(last, err)
	}
	return s, nil
}

// Offset implements [events.OffsetStore].
func (l *Log) Offset(consumer string) (events.Position, error) {
	var position events.Position
	err := l.use(func(db *pebble.DB) error {
		value, closer, err := db.Get(offsetKey(consumer))
		if errors.Is(err, pebble.ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		position, _ = parsePosition(value) // an unreadable offset counts as 0
		return closer.Close()
	})
	if err != nil {
		return 0, fmt.Errorf("store: offset of %q: %w", consumer, err)
	}
	return position, nil
}

// SetOffset implements [events.OffsetStore]. It is not synced: after a power
// failure a consumer may be given events again, which it must bear anyhow. It
// takes no part in the committer's order: an offset says nothing about events,
// and the committer need not know of it.
func (l *Log) SetOffset(consumer string, position events.Position) error {
	err := l.use(func(db *pebble.DB) error {
		if l.readOnly {
			return events.ErrReadOnly
		}
		if err := l.stopped(); err != nil {
			return err
		}
		value := appendEventKey(nil, position)[1:]
		if err := db.Set(offsetKey(consumer), value, pebble.NoSync); err != nil {
			return err
		}
		return l.stopped()
	})
	if err != nil {
		return fmt.Errorf("store: set offset of %q: %w", consumer, err)
	}
	return nil
}
