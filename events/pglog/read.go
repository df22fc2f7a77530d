package pglog

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/internal/records"
)

// Readers fetch events in chunks, each by one statement, and hold no connection
// while the caller's code runs. The first chunk is small, for those who want one
// event.
const (
	firstChunk   = 16
	largestChunk = 512
	// maxChunkSize is the size of the records, in bytes, that ends a chunk.
	maxChunkSize = 1 << 20
)

// glance asks the store something. f also returns how many events the store has
// at that moment, which must be as many as were seen before, and then were seen
// too.
func glance[T any](
	ctx context.Context, l *Log, f func(context.Context, *conn) (T, int64, error),
) (none T, err error) {
	if err := l.usable(ctx); err != nil {
		return none, err
	}
	first := true
	value, err := attempts(ctx, l.db, func(ctx context.Context, c *conn) (T, error) {
		fresh := !first
		first = false
		seen, _, _, _ := l.extent.state() // before the look: it may rise meanwhile
		value, size, err := f(ctx, c)
		if errors.Is(err, errNoRow) {
			err = gone(fresh)
		}
		if err != nil {
			return value, err
		}
		if err := fewer(size, seen, fresh); err != nil {
			return value, err
		}
		l.extent.sees(size)
		return value, nil
	})
	if err != nil {
		return none, err
	}
	return value, nil
}

// Read implements [events.Log]. Its end is the store's at the call: what other
// processes have appended before is read as well.
func (l *Log) Read(ctx context.Context, after events.Position) iter.Seq2[events.Event, error] {
	head, headErr := l.head(ctx)
	return func(yield func(events.Event, error) bool) {
		err := headErr
		if err == nil {
			_, err = l.yieldAll(ctx, records.NewOrder(after), after, events.Position(head.N), yield)
		}
		if err != nil {
			yield(events.Event{}, fmt.Errorf("store: read after %d: %w", after, err))
		}
	}
}

// yieldAll yields the events in (after, last] and reports whether to go on. It
// returns an error that was not yielded.
func (l *Log) yieldAll(
	ctx context.Context, seen *records.Order, after, last events.Position,
	yield func(events.Event, error) bool,
) (bool, error) {
	for n := firstChunk; ; n = min(2*n, largestChunk) {
		if err := l.usable(ctx); err != nil || after >= last {
			return err == nil, err
		}
		end := last
		if last-after > events.Position(n) {
			end = after + events.Position(n)
		}
		rows, _, err := l.chunk(ctx, after, end)
		if err != nil {
			return false, err
		}
		if len(rows) == 0 {
			return false, records.Missing(after+1, end)
		}
		more := false
		if after, more, err = yieldRows(ctx, seen, after, rows, yield); err != nil || !more {
			return false, err
		}
	}
}

// yieldNews yields the events after a position, as far as there are any, and
// returns how many there are. Where nothing new is there it has asked once, where
// little is, too. more is false where yield wants no more.
func (l *Log) yieldNews(
	ctx context.Context, seen *records.Order, after events.Position,
	yield func(events.Event, error) bool,
) (size events.Position, more bool, err error) {
	for n := events.Position(firstChunk); ; n = min(2*n, largestChunk) {
		if err := l.usable(ctx); err != nil {
			return 0, false, err
		}
		rows, size, err := l.chunk(ctx, after, after+n)
		if err != nil {
			return 0, false, err
		}
		if len(rows) == 0 && after < size {
			return 0, false, records.Missing(after+1, min(size, after+n))
		}
		if after, more, err = yieldRows(ctx, seen, after, rows, yield); err != nil || !more || after >= size {
			return size, more, err
		}
	}
}

// yieldRows yields the events of rows, which must follow on a position, and
// returns the position of the last one that was yielded. more is false where yield
// wants no more.
func yieldRows(
	ctx context.Context, seen *records.Order, after events.Position, rows []row,
	yield func(events.Event, error) bool,
) (last events.Position, more bool, err error) {
	for _, r := range rows {
		if r.position != after+1 {
			return after, false, records.Missing(after+1, r.position-1)
		}
		e, err := r.event()
		if err == nil {
			err = seen.Check(&e)
		}
		if err == nil && ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		if err != nil {
			return after, false, err
		}
		if after = e.Position; !yield(e, nil) {
			return after, false, nil
		}
	}
	return after, true, nil
}

// row is the stored form of an event.
type row struct {
	position       events.Position
	campaign       string
	sequence       events.Sequence
	record, hashes []byte
}

// event returns the event of a row, whose columns must say the same as its
// record: readers of a campaign find it by them.
func (r *row) event() (events.Event, error) {
	e, err := records.Decode(r.position, r.record)
	if err == nil {
		err = r.misnamed(e)
	}
	return e, err
}

// misnamed is the error of a row whose columns name another event.
func (r *row) misnamed(e events.Event) error {
	if e.Campaign == r.campaign && e.Sequence == r.sequence {
		return nil
	}
	return fmt.Errorf("%w: position %d holds sequence %d of campaign %q, and is kept as %d of %q",
		events.ErrDamaged, r.position, e.Sequence, e.Campaign, r.sequence, r.campaign)
}

// rows reads rows by a statement whose first column is the number of events in the store, and whose
// others are all NULL where no event matches. The selection is bounded by the size of the records,
// and is one row at least.
func (l *Log) rows(
	ctx context.Context, from string, args ...any,
) (_ []row, size events.Position, err error) {
	statement := `select h.size, e.position, e.campaign, e.sequence, e.record, e.hashes
		from cd_head h left join (
			select *, sum(octet_length(record)) over (order by position) - octet_length(record) as before
			from (` + from + `) as chosen
		) as e on e.before < $2
		where h.store = $1 order by e.position`
	type answer struct {
		rows []row
		size int64
	}
	a, err := glance(ctx, l, func(ctx context.Context, c *conn) (a answer, size int64, err error) {
		var position, sequence *int64
		var campaign *string
		var r row
		a.size = -1
		err = c.query(ctx, statement, append([]any{l.id, maxChunkSize}, args...)...).each(func() error {
			if position != nil {
				r.position = events.Position(*position)
				r.campaign = *campaign
				r.sequence = events.Sequence(*sequence)
				a.rows = append(a.rows, r)
			}
			return nil
		}, &a.size, &position, &campaign, &sequence, &r.record, &r.hashes)
		if err == nil && a.size < 0 {
			err = errNoRow
		}
		return a, a.size, err
	})
	return a.rows, events.Position(a.size), err
}

// chunk returns rows in (after, end], from the first on, and how many events the
// store has.
func (l *Log) chunk(ctx context.Context, after, end events.Position) ([]row, events.Position, error) {
	return l.rows(ctx, `select position, campaign, sequence, record, hashes from cd_event
		where store = $1 and position > $3 and position <= $4`, int64(after), int64(end))
}

// Follow implements [events.Log]. It waits for a database that does not answer,
// and ends without an error when ctx does.
func (l *Log) Follow(ctx context.Context, after events.Position) iter.Seq2[events.Event, error] {
	return func(yield func(events.Event, error) bool) {
		at, leave := l.extent.follow(after)
		defer leave()
		l.db.wake.want()
		order, after := records.NewOrder(after), after // of this iteration; there may be others
		for asked := false; ; {
			_, hint, closed, changed := l.extent.state()
			if ctx.Err() != nil {
				return
			}
			if closed {
				yield(events.Event{}, fmt.Errorf("store: follow: %w", events.ErrClosed))
				return
			}
			if !asked || events.Position(hint) > after {
				size, more, err := l.yieldNews(ctx, order, after, func(e events.Event, err error) bool {
					after = e.Position
					at.Store(int64(after))
					return ctx.Err() == nil && yield(e, err)
				})
				if err == nil {
					asked = true
					if more && int64(size) < hint {
						l.extent.forgets(hint)
					}
				}
				switch {
				case ctx.Err() != nil:
					return
				case err != nil && passing(err) && !errors.Is(err, events.ErrClosed):
					_ = pause(ctx, backoff(6))
					continue
				case err != nil:
					yield(events.Event{}, fmt.Errorf("store: follow after %d: %w", after, err))
					return
				case !more:
					return
				}
				continue
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
	head, headErr := l.head(ctx)
	return func(yield func(events.Event, error) bool) {
		err := headErr
		if err == nil {
			err = l.yieldCampaign(ctx, campaign, after, head.N, yield)
		}
		if err != nil {
			yield(events.Event{}, fmt.Errorf("store: read campaign %q after %d: %w", campaign, after, err))
		}
	}
}

// yieldCampaign yields the events of a campaign after a sequence, none beyond
// last. It returns an error that was not yielded.
func (l *Log) yieldCampaign(
	ctx context.Context, campaign string, after events.Sequence, last int64,
	yield func(events.Event, error) bool,
) error {
	for n := firstChunk; ; n = min(2*n, largestChunk) {
		if err := l.usable(ctx); err != nil || !nameable(campaign) || after >= math.MaxInt64 {
			return err
		}
		rows, _, err := l.rows(ctx, `select position, campaign, sequence, record, hashes from cd_event
			where store = $1 and campaign = $3 and sequence > $4 and position <= $5
			order by sequence limit $6`, campaign, int64(after), last, n)
		if err != nil || len(rows) == 0 {
			return err
		}
		for _, r := range rows {
			if r.sequence != after+1 {
				return fmt.Errorf("%w: sequence %d of campaign %q is missing",
					events.ErrDamaged, after+1, campaign)
			}
			e, err := r.event()
			if err == nil && ctx.Err() != nil {
				err = context.Cause(ctx)
			}
			if err != nil {
				return err
			}
			if !yield(e, nil) {
				return nil
			}
			after = e.Sequence
		}
	}
}

// Campaigns implements [events.Store], by the index of first events.
func (l *Log) Campaigns(ctx context.Context) ([]string, error) {
	names, err := glance(ctx, l, func(ctx context.Context, c *conn) (names []string, size int64, err error) {
		err = c.query(ctx, `select size, array(select campaign from cd_event
			where store = $1 and sequence = 1 order by position)
			from cd_head where store = $1`, l.id).one(&size, &names)
		return names, size, err
	})
	if err != nil {
		return nil, fmt.Errorf("store: campaigns: %w", err)
	}
	return names, nil
}

// LastSequence implements [events.Log].
func (l *Log) LastSequence(ctx context.Context, campaign string) (events.Sequence, error) {
	if !nameable(campaign) {
		if err := l.usable(ctx); err != nil {
			return 0, fmt.Errorf("store: last sequence: %w", err)
		}
		return 0, nil
	}
	s, err := glance(ctx, l, func(ctx context.Context, c *conn) (s, size int64, err error) {
		err = c.query(ctx, `select size, coalesce((select sequence from cd_event
			where store = $1 and campaign = $2 order by sequence desc limit 1), 0)
			from cd_head where store = $1`, l.id, campaign).one(&size, &s)
		return s, size, err
	})
	if err != nil {
		return 0, fmt.Errorf("store: last sequence of %q: %w", campaign, err)
	}
	return events.Sequence(s), nil
}
