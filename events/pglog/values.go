package pglog

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"sync/atomic"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/internal/records"
)

// Value implements [events.ValueStore]. An empty value is not nil: nil means that the key has no
// value.
func (l *Log) Value(ctx context.Context, key string) ([]byte, error) {
	found, err := l.values(ctx, `select key, value from cd_value where store = $1 and key = $2`, []byte(key))
	if err != nil {
		return nil, fmt.Errorf("store: value of %q: %w", key, err)
	}
	if len(found) == 0 {
		return nil, nil
	}
	return found[0].Value, nil
}

// Values implements [events.ValueStore].
func (l *Log) Values(ctx context.Context, prefix string) iter.Seq2[events.KeyValue, error] {
	all, err := l.values(ctx, `select key, value from cd_value
		where store = $1 and key >= $2 and substr(key, 1, octet_length($2)) = $2 order by key`, []byte(prefix))
	return records.Values(prefix, all, err)
}

// values returns the selection of a statement.
func (l *Log) values(ctx context.Context, statement string, key []byte) ([]events.KeyValue, error) {
	if err := l.usable(ctx); err != nil {
		return nil, err
	}
	return attempts(ctx, l.db, func(ctx context.Context, c *conn) (found []events.KeyValue, err error) {
		var name, value []byte
		err = c.query(ctx, statement, l.id, key).each(func() error {
			found = append(found, events.KeyValue{Key: string(name), Value: value})
			return nil
		}, &name, &value)
		return found, err
	})
}

// SetValues implements [events.ValueStore]. A connection that breaks leaves it
// uncertain, and it is not tried again: what another writer has set since would
// be undone.
func (l *Log) SetValues(ctx context.Context, changes ...events.KeyValue) error {
	return l.setValues(ctx, changes, func(ctx context.Context, c *conn, statement string, args ...any) error {
		_, err := c.exec(ctx, statement, args...)
		return err
	})
}

// SetValuesLazily implements [events.ValueStore].
func (l *Log) SetValuesLazily(ctx context.Context, changes ...events.KeyValue) error {
	return l.setValues(ctx, changes, lazily)
}

// lazily executes a statement without waiting for the disk, or for a standby.
// The setting is that of the transaction alone: the connection goes on to be
// used for what must wait.
func lazily(ctx context.Context, c *conn, statement string, args ...any) error {
	_, err := c.execTogether(ctx,
		c.query(ctx, `begin`),
		c.query(ctx, `set local synchronous_commit = off`),
		c.query(ctx, statement, args...),
		c.query(ctx, `commit`))
	return err
}

// changeValues makes all changes at once. Keys are locked in their order, so
// that two writers do not wait for each other.
const changeValues = `with removed as (
	delete from cd_value where store = $1 and key = any($2::bytea[])
)
insert into cd_value (store, key, value)
select $1, k.key, k.value from unnest($3::bytea[], $4::bytea[]) as k (key, value) order by k.key
on conflict (store, key) do update set value = excluded.value`

// setValues makes all changes or none.
func (l *Log) setValues(
	ctx context.Context, changes []events.KeyValue,
	exec func(ctx context.Context, c *conn, statement string, args ...any) error,
) error {
	err := events.CheckValues(changes)
	if err == nil {
		err = l.writable(ctx)
	}
	if err != nil {
		return fmt.Errorf("store: set values: %w", err)
	}
	if len(changes) == 0 {
		return nil
	}
	// Of changes of the same key the last counts. The caller's bytes are copied:
	// the statement may outlive the call.
	last := make(map[string][]byte)
	for _, c := range changes {
		last[c.Key] = slices.Clone(c.Value)
	}
	var removed, keys, values [][]byte
	for _, key := range slices.Sorted(maps.Keys(last)) {
		if value := last[key]; value == nil {
			removed = append(removed, []byte(key))
		} else {
			keys, values = append(keys, []byte(key)), append(values, value)
		}
	}
	if err := l.once(ctx, func(ctx context.Context, c *conn) error {
		return exec(ctx, c, changeValues, l.id, removed, keys, values)
	}); err != nil {
		return fmt.Errorf("store: set values: %w", err)
	}
	return nil
}

// SwapValue implements [events.ValueStore]. Each of the statements changes a row
// or none; where another writer has the row, it waits, and compares with what
// that has made of it.
func (l *Log) SwapValue(ctx context.Context, key string, before, after []byte) (swapped bool, err error) {
	change := []events.KeyValue{{Key: key, Value: slices.Clone(after)}}
	if err = events.CheckValues(change); err == nil {
		err = l.writable(ctx)
	}
	if err != nil {
		return false, fmt.Errorf("store: swap a value: %w", err)
	}
	statement, args := "", []any{l.id, []byte(key)}
	switch {
	case before == nil && after == nil:
		now, err := l.Value(ctx, key)
		return now == nil && err == nil, err
	case before == nil:
		statement = `insert into cd_value (store, key, value) values ($1, $2, $3) on conflict do nothing`
		args = append(args, change[0].Value)
	case after == nil:
		statement = `delete from cd_value where store = $1 and key = $2 and value = $3`
		args = append(args, slices.Clone(before))
	default:
		statement = `update cd_value set value = $3 where store = $1 and key = $2 and value = $4`
		args = append(args, change[0].Value, slices.Clone(before))
	}
	var rows atomic.Int64 // the statement may outlive the call
	err = l.once(ctx, func(ctx context.Context, c *conn) error {
		n, err := c.exec(ctx, statement, args...)
		rows.Store(n)
		return err
	})
	if err != nil {
		return false, fmt.Errorf("store: swap a value: %w", err)
	}
	return rows.Load() == 1, nil
}

// writable reports a context that is done, or a log that does not write.
func (l *Log) writable(ctx context.Context) error {
	if err := l.usable(ctx); err != nil {
		return err
	}
	if l.readOnly {
		return events.ErrReadOnly
	}
	return l.Err()
}

// once executes a change that must not be made twice: it is tried again only
// where the server has said that it was not made.
func (l *Log) once(ctx context.Context, f func(context.Context, *conn) error) error {
	var sent error
	_, err := attempts(ctx, l.db, func(ctx context.Context, c *conn) (struct{}, error) {
		if sent == nil {
			if err := f(ctx, c); err != nil && !unknown(err) {
				return struct{}{}, err
			} else if err != nil {
				sent = err
			}
		}
		return struct{}{}, nil
	})
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("%w: %w", events.ErrUncertain, err)
	case err != nil:
		return err
	case sent != nil:
		return fmt.Errorf("%w: %w", events.ErrUncertain, sent)
	}
	return nil
}

// Offset implements [events.OffsetStore].
func (l *Log) Offset(consumer string) (events.Position, error) {
	position, err := int64(0), l.usable(context.Background())
	if err == nil {
		position, err = attempts(context.Background(), l.db, func(ctx context.Context, c *conn) (p int64, err error) {
			err = c.query(ctx, `select position from cd_offset where store = $1 and consumer = $2`,
				l.id, []byte(consumer)).one(&p)
			if errors.Is(err, errNoRow) {
				return 0, nil
			}
			return p, err
		})
	}
	if err != nil {
		return 0, fmt.Errorf("store: offset of %q: %w", consumer, err)
	}
	return events.Position(position), nil
}

// SetOffset implements [events.OffsetStore], without waiting for the disk. It is
// tried again as often as it takes: to be set back by that only has the consumer
// see events again.
func (l *Log) SetOffset(consumer string, position events.Position) error {
	err := l.writable(context.Background())
	if err == nil {
		_, err = attempts(context.Background(), l.db, func(ctx context.Context, c *conn) (struct{}, error) {
			return struct{}{}, lazily(ctx, c, `insert into cd_offset values ($1, $2, $3)
				on conflict (store, consumer) do update set position = excluded.position`,
				l.id, []byte(consumer), int64(position))
		})
	}
	if err != nil {
		return fmt.Errorf("store: set offset of %q: %w", consumer, err)
	}
	return nil
}
